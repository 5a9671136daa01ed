/* expand.c -- the coordinates of a study: what a device releases, from features and terms.
 *
 * Without "terms" every feature is a coordinate, and a category one for each level but the first.
 * With them "features" is what a device asks for, and the coordinates are the terms'. A value as
 * it is keeps its feature's bounds; everything that is computed has public bounds of its own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study_file.h"

/* `feature` is NULL for what is computed: that has no unit and no answers of its own. */
static void set_coordinate(struct tremolo_study_file *file, size_t index,
                           const struct tremolo_study_feature *feature, const char *level,
                           double low, double high)
{
    bool yes_no = feature != NULL && feature->kind == TREMOLO_STUDY_YES_NO;
    const char *from = level != NULL ? feature->levels[0] : NULL;
    file->coordinates[index] =
        (struct tremolo_study_coordinate){.name = file->names[index],
                                          .unit = feature != NULL ? feature->unit : "",
                                          .from = yes_no ? "no" : from,
                                          .to = yes_no ? "yes" : level,
                                          .low = low,
                                          .high = high,
                                          .written = {low, high}};
}

/* A feature as it is, or one level of a category as "feature=level". */
static void add_plain_coordinate(struct tremolo_study_file *file, size_t index,
                                 const struct tremolo_study_feature *feature, const char *level)
{
    (void)snprintf(file->names[index], sizeof file->names[index], "%s%s%s", feature->name,
                   level != NULL ? "=" : "", level != NULL ? level : "");
    set_coordinate(file, index, feature, level, feature->low, feature->high);
}

/* Whether the formula's reader did it; else its sentence is a problem, or memory was. */
static bool is_done(struct document_reader *reader, const char *key, enum tremolo_status status,
                    const char *error)
{
    reader->no_memory = reader->no_memory || status == TREMOLO_NO_MEMORY;
    return status == TREMOLO_OK || document_problem(reader, key, "%.160s", error);
}

/* Of UTF-8: a name that is cut before a whole character is at most this much shorter. */
enum { CHARACTER_BYTES_MAX = 4 };

/* ---------------------------------------------------------------- terms */

const struct document_row study_term_rows[] = {
    DOCUMENT_ROW("comment", ANY, DOCUMENT_OPTIONAL | DOCUMENT_ELSEWHERE,
                 .rules = "{\"description\": \"for people; ignored\"}"),
    DOCUMENT_ROW("term", TEXT, 0, DOCUMENT_AT(struct study_term, text), .low = 1,
                 .high = STUDY_MAX_TERM_BYTES, .id = STUDY_ID,
                 .words = "as in age:sleep, age^2, log(income), I((age-50)*(sleep-7))"),
    DOCUMENT_ROW("low", REAL, DOCUMENT_OPTIONAL, DOCUMENT_AT(struct study_term, low), .low = -1e100,
                 .high = 1e100, .fallback = NAN, .id = STUDY_ID,
                 .words = "the lower end of a typical range of what is computed"),
    DOCUMENT_ROW("high", REAL, DOCUMENT_OPTIONAL, DOCUMENT_AT(struct study_term, high),
                 .low = -1e100, .high = 1e100, .fallback = NAN, .id = STUDY_ID,
                 .words = "its upper end"),
    {.key = NULL}};

/* A term is text, or an object of study_term_rows with bounds. False when it has a problem, which is
 * noted. */
static bool read_term(struct document_reader *reader, struct study_term *term)
{
    size_t before = reader->problems->count;
    *term =
        (struct study_term){.text = json_string_value(reader->at.value), .low = NAN, .high = NAN};
    if (json_is_object(reader->at.value)) {
        document_read(reader, study_term_rows, term);
        return reader->problems->count == before;
    }
    return (term->text != NULL && strlen(term->text) <= STUDY_MAX_TERM_BYTES) ||
           document_problem(reader, "", "must be a term, or {\"term\", \"low\", \"high\"}");
}

/* One string is one term, and a sum of others: what stands here has bounds of its own. */
static bool is_one_term(struct document_reader *reader, const char *text)
{
    char error[TREMOLO_TERMS_ERROR_BYTES];
    struct tremolo_formula *formula = NULL;
    if (!is_done(reader, "", study_formula_parse(&formula, text, error), error)) {
        return false;
    }
    bool one = formula->summands == 1 && formula->count == 1 && formula->response == NULL;
    if (!one) {
        document_problem(reader, "",
                         "must be one term, as in \"age\", \"age:sleep\" or \"log(age)\"");
    }
    tremolo_formula_free(formula);
    return one;
}

/* Bounds must leave room for values between them: a width below 1e-9 of the bounds would map all
 * values to one integer of the device. */
bool study_check_bounds(struct document_reader *reader, double low, double high)
{
    double width = high - low;
    if (isnan(width)) {
        return false;
    }
    if (!(width > 0)) {
        return document_problem(reader, "high", "must be above low");
    }
    return width >= fmax(fabs(low), fabs(high)) * 1e-9 ||
           document_problem(reader, "high", "is too close to low to tell values apart");
}

/* What is computed has bounds of its own, and nothing else has. */
static void check_term(struct document_reader *reader, const struct study_term *term,
                       const struct tremolo_derived *derived, const struct tremolo_inputs *inputs)
{
    bool plain = tremolo_derived_is_plain(derived);
    bool answers = tremolo_inputs_are_answers(inputs, derived);
    for (size_t k = 0; k < derived->factors; k++) {
        const struct tremolo_study_feature *factor = &inputs->input[derived->factor[k].column];
        if (derived->factor[k].kind == TREMOLO_FACTOR_LOG && !(factor->low > 0)) {
            document_problem(
                reader, "",
                "takes the logarithm of %s: its low must then be above 0, because smaller "
                "values count as low",
                factor->name);
        }
    }
    if (plain || answers) {
        if (!isnan(term->low) || !isnan(term->high)) {
            document_problem(reader, "", "has the bounds of its features, and none of its own");
        }
    } else if (!json_is_object(reader->at.value)) {
        document_problem(reader, "",
                         "is computed and needs bounds of its own: {\"term\": \"%.64s\", "
                         "\"low\": ..., \"high\": ...}",
                         term->text);
    } else if (isnan(term->low) || isnan(term->high)) {
        document_problem(reader, isnan(term->low) ? "low" : "high", "is required");
    } else {
        (void)study_check_bounds(reader, term->low, term->high);
    }
}

/* ---------------------------------------------------------------- inputs */

/* The raw columns of the features, and what the terms make of them. Logarithms are taken of `low` at
 * least, as on every device. */
static bool make_inputs(struct document_reader *reader, struct tremolo_study_file *file,
                        const char *terms)
{
    char error[TREMOLO_TERMS_ERROR_BYTES];
    const char *key = terms != NULL ? "terms" : "features";
    struct tremolo_study_feature *inputs = calloc(file->feature_count + 1, sizeof *inputs);
    if (inputs == NULL) {
        return is_done(reader, key, TREMOLO_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < file->feature_count; i++) {
        inputs[i] = file->features[i].shown;
    }
    enum tremolo_status status =
        tremolo_inputs_new(&file->inputs, inputs, file->feature_count, terms, true, error);
    free(inputs);
    return is_done(reader, key, status, error);
}

/* Coordinate i of a study with terms. A name that does not fit is a problem, because a name that was
 * cut could be that of two coordinates. */
static void add_coordinate(struct document_reader *reader, struct tremolo_study_file *file,
                           size_t i, const struct study_term *term)
{
    const struct tremolo_derived *derived = &file->inputs->feature[i];
    const struct tremolo_study_feature *feature = &file->features[derived->factor[0].column].shown;
    bool plain = tremolo_derived_is_plain(derived);
    size_t level = plain ? derived->factor[0].level : 0;
    char name[sizeof file->names[i] + CHARACTER_BYTES_MAX];
    tremolo_derived_name(name, sizeof name, derived, file->inputs->input);
    tremolo_derived_name(file->names[i], sizeof file->names[i], derived, file->inputs->input);
    if (strlen(name) + 1 >= sizeof file->names[i]) { /* it is cut before a whole character */
        document_problem(reader, "terms", "make a name of more than %zu bytes: %.60s...",
                         sizeof file->names[i] - 2, file->names[i]);
    }
    bool number = plain && feature->kind == TREMOLO_STUDY_NUMERIC;
    bool own = !isnan(term->low);
    set_coordinate(file, i, plain ? feature : NULL, level > 0 ? feature->levels[level] : NULL,
                   own      ? term->low
                   : number ? feature->low
                            : 0,
                   own      ? term->high
                   : number ? feature->high
                            : 1);
}

/* A feature that no term uses must not be asked for. */
static void check_use(struct document_reader *reader, const struct tremolo_study_file *file)
{
    bool used[TREMOLO_MAX_DIMENSION] = {false};
    for (size_t i = 0; i < file->inputs->features; i++) {
        for (size_t k = 0; k < file->inputs->feature[i].factors; k++) {
            used[file->inputs->feature[i].factor[k].column] = true;
        }
    }
    for (size_t i = 0; i < file->feature_count; i++) {
        if (!used[i]) {
            document_problem(reader, "terms", "do not use %s: leave the feature out",
                             file->features[i].shown.name);
        }
    }
}

/* Coordinates from the terms that were read; a term can make several where it has levels. Bounds are
 * checked once for each term. */
static bool expand_written(struct document_reader *reader, struct tremolo_study_file *file)
{
    const struct tremolo_inputs *inputs = file->inputs;
    size_t made = inputs->features;
    if (inputs->feature[made - 1].term + 1 != file->term_count) {
        return document_problem(reader, "terms", "name a term twice");
    }
    for (size_t i = 0; i < made; i++) {
        const struct study_term *term = &file->term[inputs->feature[i].term];
        if (i == 0 || inputs->feature[i].term != inputs->feature[i - 1].term) {
            struct document_place before =
                document_enter_element(reader, "terms", inputs->feature[i].term);
            check_term(reader, term, &inputs->feature[i], inputs);
            document_leave(reader, before);
        }
        add_coordinate(reader, file, i, term);
    }
    check_use(reader, file);
    return true;
}

/* The sum of all terms, which the caller frees; NULL with a problem noted. */
static char *sum_of(struct document_reader *reader, struct study_term *terms, size_t count)
{
    char *text = NULL;
    size_t bytes = 0;
    bool good = true;
    FILE *sum = open_memstream(&text, &bytes);
    for (size_t i = 0; sum != NULL && i < count; i++) {
        struct document_place before = document_enter_element(reader, "terms", i);
        good = read_term(reader, &terms[i]) && is_one_term(reader, terms[i].text) && good;
        (void)fprintf(sum, "%s%s", i > 0 ? " + " : "", good ? terms[i].text : "");
        document_leave(reader, before);
    }
    if (sum == NULL || !document_close(sum, &text)) {
        good = is_done(reader, "terms", TREMOLO_NO_MEMORY, "out of memory");
    }
    if (!good) {
        free(text);
        text = NULL;
    }
    return text;
}

/* False when there are no coordinates, with a problem noted. Each term is read for itself first, so
 * that a problem is named by its place in the list; then all are expanded as one formula. */
static bool expand_terms(struct document_reader *reader, struct tremolo_study_file *file)
{
    const json_t *list = json_object_get(file->root, "terms");
    size_t count = json_array_size(list);
    if (list == NULL) {
        return make_inputs(reader, file, NULL);
    }
    if (!json_is_array(list) || count < 1 || count > TREMOLO_TERMS_MAX) {
        return document_problem(reader, "terms", "must be a list of 1 to %d terms",
                                TREMOLO_TERMS_MAX);
    }
    file->term = calloc(count, sizeof *file->term);
    file->term_count = count;
    reader->no_memory = reader->no_memory || file->term == NULL;
    char *sum = file->term != NULL ? sum_of(reader, file->term, count) : NULL;
    bool good = sum != NULL && make_inputs(reader, file, sum) && expand_written(reader, file);
    free(sum);
    if (good) {
        file->dimension = file->inputs->features;
    }
    return good;
}

/* ---------------------------------------------------------------- what is typical */

/* What one expects of a coordinate; NAN for the middle of its range. */
static double typical_of(const struct tremolo_study_file *file,
                         const struct tremolo_derived *derived)
{
    double share = 1.0;
    if (!tremolo_inputs_are_answers(file->inputs, derived)) {
        size_t column = derived->factor[0].column;
        return tremolo_derived_is_plain(derived) ? file->features[column].shown.typical : NAN;
    }
    for (size_t k = 0; k < derived->factors; k++) {
        const struct tremolo_study_feature *feature =
            &file->features[derived->factor[k].column].shown;
        double yes = isnan(feature->typical) ? 0.5 : feature->typical;
        share *= feature->kind == TREMOLO_STUDY_CATEGORY ? 1.0 / (double)feature->level_count : yes;
    }
    return share;
}

/* A ballot's noise is least near the middle of a coordinate's range, so the range of each is moved,
 * as wide as before, to lie about what is typical. The written bounds stay in `written`. */
static void centre(struct tremolo_study_file *file)
{
    for (size_t i = 0; i < file->dimension; i++) {
        struct tremolo_study_coordinate *at = &file->coordinates[i];
        double centre = typical_of(file, &file->inputs->feature[i]);
        double half = at->high / 2 - at->low / 2;
        if (!isnan(centre) && centre != at->low / 2 + at->high / 2) {
            at->low = centre - half;
            at->high = centre + half;
        }
    }
}

/* For qsort(). A NaN would be equal to everything: it must not be among the values. */
static int compare_reals(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* All of it where nine of ten values are a single one, as for a rare yes. */
bool tremolo_study_typical_range(double *low, double *high, double *values, size_t count)
{
    if (count == 0) {
        return false;
    }
    qsort(values, count, sizeof *values, compare_reals);
    size_t beyond = count / 20;
    if (!(values[count - 1 - beyond] > values[beyond])) {
        beyond = 0;
    }
    *low = values[beyond];
    *high = values[count - 1 - beyond];
    return *high > *low && isfinite(*high - *low);
}

/* ---------------------------------------------------------------- all */

/* Each feature is a coordinate, and a category one for each level except the reference. With terms
 * this gives a feature's width only; the coordinates are replaced. */
static bool expand_features(struct document_reader *reader, struct tremolo_study_file *file)
{
    size_t d = 0;
    for (size_t i = 0; i < file->feature_count; i++) {
        struct tremolo_study_feature *feature = &file->features[i].shown;
        if (d + feature->width > TREMOLO_MAX_DIMENSION) {
            document_problem(reader, "features", "make more than %d coordinates",
                             TREMOLO_MAX_DIMENSION);
            return false;
        }
        feature->first = d;
        for (size_t j = 0; j < feature->width; j++) {
            add_plain_coordinate(file, d++, feature,
                                 feature->level_count > 0 ? feature->levels[j + 1] : NULL);
        }
    }
    file->dimension = d;
    return true;
}

/* A name is of one thing only: features, the response, what categories expand to, and what is
 * computed. */
static void check_names(struct document_reader *reader, const struct tremolo_study_file *file)
{
    for (size_t i = 1; i <= file->feature_count; i++) {
        const char *name = file->features[i].shown.name;
        size_t j = 0;
        while (j < i && strcmp(name, file->features[j].shown.name) != 0) {
            j++;
        }
        if (j < i && *name != '\0') {
            struct document_place before = i < file->feature_count
                                               ? document_enter_element(reader, "features", i)
                                               : document_enter(reader, "response");
            document_problem(reader, "name", "is also the name of features[%zu]", j);
            document_leave(reader, before);
        }
    }
    for (size_t i = 1; i <= file->dimension; i++) {
        size_t j = 0;
        while (j < i && strcmp(file->names[i], file->names[j]) != 0) {
            j++;
        }
        bool made = strchr(file->names[i], '=') != NULL || tremolo_inputs_derive(file->inputs);
        if (j < i && made && file->names[i][0] != '\0') {
            document_problem(reader, "features", "give two coordinates the name %s",
                             file->names[i]);
        }
    }
}

/* Terms are expanded only when everything before them was right, since their sentences would name
 * features that have problems already. */
static bool expand(struct document_reader *reader, struct tremolo_study_file *file)
{
    if (!expand_features(reader, file) ||
        (reader->problems->count == 0 && !expand_terms(reader, file))) {
        return false;
    }
    if (file->terms.release == TREMOLO_RELEASE_BALLOT && reader->problems->count == 0) {
        centre(file);
    }
    file->response->shown.first = file->dimension;
    add_plain_coordinate(file, file->dimension, &file->response->shown, NULL);
    return true;
}

/* Called while the table is read, after the response: later checks depend on the number of
 * coordinates. */
void study_expand(struct document_reader *reader, struct tremolo_study_file *file)
{
    if (!expand(reader, file) || file->dimension == 0) {
        /* What follows is read for its own problems only: no limit that depends on the features shall
         * be one. */
        file->dimension = TREMOLO_MAX_DIMENSION;
    }
    check_names(reader, file);
}
