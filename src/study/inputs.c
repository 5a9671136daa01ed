/* inputs.c -- raw columns and the features made of them, in one piece that owns its strings. */
#include "study_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---------------------------------------------------------------- making */

static size_t bytes_of(const struct tremolo_input *columns, size_t count, size_t *levels)
{
    size_t bytes = 1;
    for (size_t i = 0; i < count; i++) {
        bytes += strlen(columns[i].name) + 1;
        for (size_t j = 0; j < columns[i].levels; j++) {
            bytes += strlen(columns[i].level[j]) + 1;
        }
        *levels += columns[i].levels;
    }
    return bytes;
}

static const char *copy(char **room, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *made = memcpy(*room, text, bytes);
    *room += bytes;
    return made;
}

static void copy_columns(struct tremolo_inputs *made, const struct tremolo_input *columns,
                         bool floors)
{
    char *room = made->text;
    const char **level = made->level;
    for (size_t i = 0; i < made->count; i++) {
        struct tremolo_input *input = &made->input[i];
        *input = columns[i];
        input->name = copy(&room, columns[i].name);
        input->level = columns[i].levels > 0 ? level : NULL;
        for (size_t j = 0; j < columns[i].levels; j++) {
            *level++ = copy(&room, columns[i].level[j]);
        }
        made->column[i] = (struct tremolo_term_column){
            .name = input->name,
            .level = input->level,
            .levels = input->levels,
            .question = input->kind == TREMOLO_STUDY_YES_NO,
            .floor = floors && input->low > 0 ? input->low : NAN,
        };
    }
}

/* Every column as it is. */
static bool plain_features(struct tremolo_inputs *made, char *error)
{
    for (size_t i = 0; i < made->count; i++) {
        size_t levels = made->input[i].levels;
        for (size_t level = levels > 0 ? 1 : 0; level < (levels > 0 ? levels : 1); level++) {
            if (made->features == TREMOLO_MAX_DIMENSION) {
                return study_fail(error, "more than %d features", TREMOLO_MAX_DIMENSION);
            }
            made->feature[made->features++] = tremolo_derived_plain(i, level);
        }
    }
    return true;
}

static enum tremolo_status expand_terms(struct tremolo_inputs *made, const char *terms, char *error)
{
    struct tremolo_formula *formula = NULL;
    if (terms == NULL) {
        return plain_features(made, error) ? TREMOLO_OK : TREMOLO_BAD_STUDY;
    }
    enum tremolo_status status = study_formula_parse(&formula, terms, error);
    if (status == TREMOLO_OK &&
        !tremolo_formula_expand(made->feature, &made->features, TREMOLO_MAX_DIMENSION, formula,
                                made->column, made->count, error)) {
        status = TREMOLO_BAD_STUDY;
    }
    tremolo_formula_free(formula);
    return status;
}

enum tremolo_status study_inputs_new(struct tremolo_inputs **inputs,
                                     const struct tremolo_input *columns, size_t count,
                                     const char *terms, bool floors,
                                     char error[TREMOLO_TERMS_ERROR_BYTES])
{
    enum tremolo_status status = TREMOLO_NO_MEMORY;
    size_t levels = 0;
    size_t bytes = bytes_of(columns, count, &levels);
    struct tremolo_inputs *made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->count = count;
        made->input = calloc(count + 1, sizeof *made->input);
        made->column = calloc(count + 1, sizeof *made->column);
        made->feature = calloc(TREMOLO_MAX_DIMENSION, sizeof *made->feature);
        made->text = malloc(bytes);
        made->level = calloc(levels + 1, sizeof *made->level);
        made->terms = terms != NULL ? strdup(terms) : NULL;
    }
    bool whole = made != NULL && made->input != NULL && made->column != NULL &&
                 made->feature != NULL && made->text != NULL && made->level != NULL &&
                 (terms == NULL || made->terms != NULL);
    if (whole) {
        copy_columns(made, columns, floors);
        status = expand_terms(made, terms, error);
    } else {
        (void)study_fail(error, "out of memory");
    }
    if (status != TREMOLO_OK) {
        tremolo_inputs_free(made);
        return status;
    }
    *inputs = made;
    return TREMOLO_OK;
}

bool tremolo_inputs_new(struct tremolo_inputs **inputs, const struct tremolo_input *columns,
                        size_t count, const char *terms, bool floors,
                        char error[TREMOLO_TERMS_ERROR_BYTES])
{
    return study_inputs_new(inputs, columns, count, terms, floors, error) == TREMOLO_OK;
}

void tremolo_inputs_free(struct tremolo_inputs *inputs)
{
    if (inputs != NULL) {
        free(inputs->input);
        free(inputs->column);
        free(inputs->feature);
        free(inputs->terms);
        free(inputs->text);
        free(inputs->level);
        free(inputs);
    }
}

/* ---------------------------------------------------------------- using */

bool tremolo_inputs_are_answers(const struct tremolo_inputs *inputs,
                                const struct tremolo_derived *derived)
{
    for (size_t k = 0; k < derived->factors; k++) {
        if (inputs->input[derived->factor[k].column].kind == TREMOLO_STUDY_NUMERIC) {
            return false;
        }
    }
    return true;
}

bool tremolo_inputs_derive(const struct tremolo_inputs *inputs)
{
    for (size_t i = 0; inputs != NULL && i < inputs->features; i++) {
        if (!tremolo_derived_is_plain(&inputs->feature[i])) {
            return true;
        }
    }
    return false;
}

bool tremolo_inputs_complete(double *values, const struct tremolo_inputs *inputs)
{
    bool complete = true;
    for (size_t i = 0; i < inputs->count; i++) {
        values[i] = isnan(values[i]) ? inputs->input[i].missing : values[i];
        complete = complete && !isnan(values[i]);
    }
    return complete;
}

bool tremolo_inputs_features(double *features, const struct tremolo_inputs *inputs,
                             const double *values)
{
    bool finite = true;
    for (size_t i = 0; i < inputs->features; i++) {
        features[i] = tremolo_derived_value(&inputs->feature[i], values);
        finite = finite && isfinite(features[i]);
    }
    return finite;
}

static bool read_yes_no(double *value, const char *text)
{
    static const char *const words[] = {"0", "1", "no", "yes", "false", "true"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            *value = (double)(i % 2);
            return true;
        }
    }
    return false;
}

bool tremolo_input_read(double *value, const struct tremolo_input *input, const char *text)
{
    if (input->kind == TREMOLO_STUDY_NUMERIC) {
        char *end = NULL;
        *value = strtod(text, &end);
        return end != text && *end == '\0' && isfinite(*value);
    }
    if (input->kind == TREMOLO_STUDY_YES_NO) {
        return read_yes_no(value, text);
    }
    for (size_t i = 0; i < input->levels; i++) {
        if (strcmp(input->level[i], text) == 0) {
            *value = (double)i;
            return true;
        }
    }
    return false;
}
