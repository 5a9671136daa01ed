/* file_terms.c -- the terms of a study: features that devices compute from their raw sample.
 *
 * Without "terms" every feature is a coordinate, and a category one for each level but the first.
 * With them "features" is what a device asks for, and the coordinates are the terms'. A value as
 * it is keeps its feature's bounds; everything that is computed has public bounds of its own. */
#include "study_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct study_interval any_bound = {-1e100, 1e100, false, false};

static const char no_memory[] = "out of memory"; /* as tremolo_terms.h's functions say it */

/* A sentence of the formula's reader as a problem, or what there was no memory for. */
static void refuse(struct study_reader *reader, const char *key, const char *error)
{
    reader->no_memory = reader->no_memory || strcmp(error, no_memory) == 0;
    study_problem(reader, key, "%.160s", error);
}

/* ---------------------------------------------------------------- missing values */

void study_read_missing(struct study_reader *reader, struct tremolo_study_feature *feature,
                        const json_t *object)
{
    const json_t *missing = json_object_get(object, "missing");
    const struct tremolo_input input = {
        .kind = feature->kind, .level = feature->levels, .levels = feature->level_count};
    feature->missing = NAN;
    if (missing == NULL) {
        return;
    }
    if (feature->kind == TREMOLO_STUDY_NUMERIC) {
        (void)study_number(reader, &feature->missing, object, "missing", STUDY_OPTIONAL,
                           &any_bound);
    } else if (!json_is_string(missing) ||
               !tremolo_input_read(&feature->missing, &input, json_string_value(missing))) {
        study_problem(reader, "missing", "must be %s",
                      feature->kind == TREMOLO_STUDY_YES_NO ? "yes or no" : "one of the levels");
    }
}

/* ---------------------------------------------------------------- terms */

/* A term's text and its bounds; NAN for bounds that are not written. */
struct written {
    const char *text;
    const json_t *object; /* NULL for text alone */
    double low, high;
};

static bool read_term(struct study_reader *reader, struct written *term, const json_t *value)
{
    static const char *const keys[] = {"term", "low", "high", NULL};
    *term = (struct written){.text = json_string_value(value), .low = NAN, .high = NAN};
    if (json_is_object(value)) {
        term->object = value;
        study_only_keys(reader, value, keys);
        (void)study_text(reader, &term->text, value, "term", STUDY_REQUIRED, 1,
                         STUDY_MAX_TERM_BYTES);
        return term->text != NULL;
    }
    if (term->text == NULL || strlen(term->text) > STUDY_MAX_TERM_BYTES) {
        study_problem(reader, "", "must be a term, or {\"term\", \"low\", \"high\"}");
        return false;
    }
    return true;
}

/* One string is one term, and a sum of others: what stands here has bounds of its own. */
static bool is_one_term(struct study_reader *reader, const char *text)
{
    char error[TREMOLO_TERMS_ERROR_BYTES];
    struct tremolo_formula *formula = NULL;
    if (!tremolo_formula_parse(&formula, text, error)) {
        refuse(reader, "", error);
        return false;
    }
    bool one = formula->summands == 1 && formula->count == 1 && formula->response == NULL;
    if (!one) {
        study_problem(reader, "", "must be one term, as in \"age\", \"age:sleep\" or \"log(age)\"");
    }
    tremolo_formula_free(formula);
    return one;
}

/* Does it consist of answers and levels alone, and so lie between 0 and 1? */
static bool is_binary(const struct tremolo_derived *derived, const struct tremolo_inputs *inputs)
{
    for (size_t k = 0; k < derived->factors; k++) {
        const struct tremolo_input *input = &inputs->input[derived->factor[k].column];
        if (input->kind == TREMOLO_STUDY_NUMERIC) {
            return false;
        }
    }
    return true;
}

static void check_logarithms(struct study_reader *reader, const struct tremolo_derived *derived,
                             const struct tremolo_inputs *inputs)
{
    for (size_t k = 0; k < derived->factors; k++) {
        const struct tremolo_input *input = &inputs->input[derived->factor[k].column];
        if (derived->factor[k].kind == TREMOLO_FACTOR_LOG && !(input->low > 0)) {
            study_problem(reader, "",
                          "takes the logarithm of %s, whose low must then be above 0: smaller "
                          "values count as low",
                          input->name);
        }
    }
}

/* The bounds of a term's coordinates. */
static void bound_term(struct study_reader *reader, struct written *term,
                       const struct tremolo_derived *derived, const struct tremolo_inputs *inputs)
{
    const struct tremolo_input *input = &inputs->input[derived->factor[0].column];
    bool plain = tremolo_derived_is_plain(derived);
    check_logarithms(reader, derived, inputs);
    if (!plain && !is_binary(derived, inputs)) {
        struct tremolo_study_feature bounds = {.low = 0, .high = 0};
        if (term->object == NULL) {
            study_problem(reader, "",
                          "is computed and needs bounds of its own: {\"term\": \"%.64s\", "
                          "\"low\": ..., \"high\": ...}",
                          term->text);
            return;
        }
        study_read_bounds(reader, &bounds, term->object);
        term->low = bounds.low;
        term->high = bounds.high;
        return;
    }
    if (term->object != NULL && (json_object_get(term->object, "low") != NULL ||
                                 json_object_get(term->object, "high") != NULL)) {
        study_problem(reader, "", "has the bounds of its features, and none of its own");
    }
    bool number = plain && input->kind == TREMOLO_STUDY_NUMERIC;
    term->low = number ? input->low : 0;
    term->high = number ? input->high : 1;
}

/* ---------------------------------------------------------------- inputs */

static bool make_inputs(struct study_reader *reader, struct tremolo_study_file *file,
                        const char *terms)
{
    char error[TREMOLO_TERMS_ERROR_BYTES];
    struct tremolo_input *inputs = calloc(file->feature_count + 1, sizeof *inputs);
    bool good = inputs != NULL;
    for (size_t i = 0; good && i < file->feature_count; i++) {
        const struct tremolo_study_feature *feature = &file->features[i].shown;
        inputs[i] = (struct tremolo_input){.name = feature->name,
                                           .kind = feature->kind,
                                           .level = feature->levels,
                                           .levels = feature->level_count,
                                           .low = feature->low,
                                           .high = feature->high,
                                           .missing = feature->missing};
    }
    if (!good) {
        (void)snprintf(error, sizeof error, "out of memory");
    }
    good =
        good && tremolo_inputs_new(&file->inputs, inputs, file->feature_count, terms, true, error);
    if (!good) {
        refuse(reader, terms != NULL ? "terms" : "features", error);
    }
    free(inputs);
    return good;
}

static void name_coordinate(struct study_reader *reader, struct tremolo_study_file *file, size_t i,
                            double low, double high)
{
    tremolo_derived_name(file->names[i], sizeof file->names[i], &file->inputs->feature[i],
                         file->inputs->column);
    if (strlen(file->names[i]) + 1 == sizeof file->names[i]) {
        study_problem(reader, "terms", "make a name of more than %zu bytes: %.60s...",
                      sizeof file->names[i] - 2, file->names[i]);
    }
    const struct tremolo_derived *derived = &file->inputs->feature[i];
    const struct tremolo_study_feature *feature = &file->features[derived->factor[0].column].shown;
    bool plain = tremolo_derived_is_plain(derived);
    bool answers = plain && feature->kind == TREMOLO_STUDY_YES_NO;
    size_t level = plain ? derived->factor[0].level : 0;
    file->coordinates[i] =
        (struct tremolo_study_coordinate){.name = file->names[i],
                                          .unit = plain ? feature->unit : "",
                                          .from = answers     ? "no"
                                                  : level > 0 ? feature->levels[0]
                                                              : NULL,
                                          .to = answers     ? "yes"
                                                : level > 0 ? feature->levels[level]
                                                            : NULL,
                                          .low = low,
                                          .high = high};
}

/* What nobody uses must not be asked for. */
static void check_use(struct study_reader *reader, const struct tremolo_study_file *file)
{
    bool used[TREMOLO_MAX_DIMENSION] = {false};
    for (size_t i = 0; i < file->inputs->features; i++) {
        for (size_t k = 0; k < file->inputs->feature[i].factors; k++) {
            used[file->inputs->feature[i].factor[k].column] = true;
        }
    }
    for (size_t i = 0; i < file->feature_count; i++) {
        if (!used[i]) {
            study_problem(reader, "terms", "do not use %s: leave the feature out",
                          file->features[i].shown.name);
        }
    }
}

static bool expand_written(struct study_reader *reader, struct tremolo_study_file *file,
                           struct written *terms, size_t count)
{
    const struct tremolo_inputs *inputs = file->inputs;
    size_t made = inputs->features;
    if (inputs->feature[made - 1].term + 1 != count) {
        study_problem(reader, "terms", "name a term twice");
        return false;
    }
    for (size_t i = 0; i < made; i++) {
        struct written *term = &terms[inputs->feature[i].term];
        if (i == 0 || inputs->feature[i].term != inputs->feature[i - 1].term) {
            size_t before = study_enter_element(reader, "terms", inputs->feature[i].term);
            bound_term(reader, term, &inputs->feature[i], inputs);
            study_leave(reader, before);
        }
        name_coordinate(reader, file, i, term->low, term->high);
    }
    check_use(reader, file);
    return true;
}

/* The sum of all terms, which the caller frees; NULL with a problem noted. */
static char *sum_of(struct study_reader *reader, struct written *terms, size_t count,
                    const json_t *list)
{
    char *text = NULL;
    size_t bytes = 0;
    bool good = true;
    FILE *sum = open_memstream(&text, &bytes);
    for (size_t i = 0; sum != NULL && i < count; i++) {
        size_t before = study_enter_element(reader, "terms", i);
        good = read_term(reader, &terms[i], json_array_get(list, i)) &&
               is_one_term(reader, terms[i].text) && good;
        (void)fprintf(sum, "%s%s", i > 0 ? " + " : "", good ? terms[i].text : "");
        study_leave(reader, before);
    }
    if (sum == NULL || fclose(sum) != 0) {
        refuse(reader, "terms", no_memory);
        good = false;
    }
    if (!good) {
        free(text);
        text = NULL;
    }
    return text;
}

bool study_expand_terms(struct study_reader *reader, struct tremolo_study_file *file)
{
    const json_t *list = json_object_get(file->root, "terms");
    size_t count = json_array_size(list);
    if (list == NULL) {
        return make_inputs(reader, file, NULL);
    }
    if (!json_is_array(list) || count < 1 || count > TREMOLO_TERMS_MAX) {
        study_problem(reader, "terms", "must be a list of 1 to %d terms", TREMOLO_TERMS_MAX);
        return false;
    }
    struct written *terms = calloc(count, sizeof *terms);
    reader->no_memory = reader->no_memory || terms == NULL;
    char *sum = terms != NULL ? sum_of(reader, terms, count, list) : NULL;
    bool good =
        sum != NULL && make_inputs(reader, file, sum) && expand_written(reader, file, terms, count);
    free(sum);
    free(terms);
    if (good) {
        file->dimension = file->inputs->features;
    }
    return good;
}

const struct tremolo_inputs *tremolo_study_file_inputs(const struct tremolo_study_file *file)
{
    return file->inputs;
}
