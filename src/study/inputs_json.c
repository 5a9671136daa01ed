/* inputs_json.c -- raw columns and terms as JSON, and back. */
#include "inputs_json.h"

#include <math.h>
#include <stdlib.h>

#include "json_latch.h"
#include "study_file.h"

/* ---------------------------------------------------------------- writing */

json_t *input_missing_json(const struct tremolo_input *input)
{
    return isnan(input->missing)                  ? NULL
           : input->kind == TREMOLO_STUDY_NUMERIC ? json_real(input->missing)
           : input->kind == TREMOLO_STUDY_CATEGORY
               ? json_string(input->level[(size_t)input->missing])
               : json_string(input->missing > 0 ? "yes" : "no");
}

json_t *input_levels_json(const struct tremolo_input *input)
{
    json_t *levels = input->levels > 0 ? json_array() : NULL;
    for (size_t i = 0; i < input->levels; i++) {
        (void)json_array_append_new(levels, json_string(input->level[i]));
    }
    return levels;
}

static json_t *column_json(const struct tremolo_input *input)
{
    bool bounded =
        input->kind == TREMOLO_STUDY_NUMERIC && isfinite(input->low) && isfinite(input->high);
    return json_pack("{s:s, s:s, s:o*, s:o*, s:o*, s:o*, s:o*}", "name", input->name, "kind",
                     study_kinds[input->kind], "levels", input_levels_json(input), "low",
                     bounded ? json_real(input->low) : NULL, "high",
                     bounded ? json_real(input->high) : NULL, "missing", input_missing_json(input),
                     "typical",
                     bounded && isfinite(input->typical) ? json_real(input->typical) : NULL);
}

json_t *inputs_json(const struct tremolo_inputs *inputs)
{
    if (inputs == NULL) {
        return json_null();
    }
    json_t *columns = json_array();
    for (size_t i = 0; i < inputs->count; i++) {
        (void)json_array_append_new(columns, column_json(&inputs->input[i]));
    }
    return json_pack("{s:o, s:o}", "columns", columns, "terms",
                     inputs->terms != NULL ? json_string(inputs->terms) : json_null());
}

/* ---------------------------------------------------------------- reading */

static bool read_levels(struct tremolo_input *input, const char **level, const json_t *levels)
{
    size_t count = json_array_size(levels);
    if (input->kind != TREMOLO_STUDY_CATEGORY) {
        return levels == NULL;
    }
    if (count < 2 || count > TREMOLO_STUDY_MAX_LEVELS) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        level[i] = json_string_value(json_array_get(levels, i));
        if (level[i] == NULL) {
            return false;
        }
    }
    input->level = level;
    input->levels = count;
    return true;
}

static bool read_missing(struct tremolo_input *input, const json_t *missing)
{
    input->missing = NAN;
    if (missing == NULL) {
        return true;
    }
    if (json_is_number(missing)) {
        input->missing = json_number_value(missing);
        return input->kind == TREMOLO_STUDY_NUMERIC && isfinite(input->missing);
    }
    return json_is_string(missing) && input->kind != TREMOLO_STUDY_NUMERIC &&
           tremolo_input_read(&input->missing, input, json_string_value(missing));
}

static bool read_column(struct tremolo_input *input, const char **level, const json_t *object)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    unsigned place = 0;
    bool known = study_find(&place, study_kinds, kind);
    input->kind = (enum tremolo_study_kind)place;
    input->name = json_string_value(json_object_get(object, "name"));
    input->low = json_latch_member(object, "low");
    input->high = json_latch_member(object, "high");
    input->typical = json_latch_member(object, "typical");
    return input->name != NULL && known &&
           read_levels(input, level, json_object_get(object, "levels")) &&
           read_missing(input, json_object_get(object, "missing"));
}

bool inputs_from_json(struct tremolo_inputs **inputs, const json_t *object,
                      char error[TREMOLO_TERMS_ERROR_BYTES])
{
    const json_t *columns = json_object_get(object, "columns");
    const json_t *terms = json_object_get(object, "terms");
    size_t count = json_array_size(columns);
    bool good = count >= 1 && count <= TREMOLO_INPUTS_MAX &&
                (json_is_string(terms) || json_is_null(terms) || terms == NULL);
    struct tremolo_input *input = good ? calloc(count, sizeof *input) : NULL;
    const char **level = good ? calloc(count * TREMOLO_STUDY_MAX_LEVELS, sizeof *level) : NULL;
    good = input != NULL && level != NULL;
    for (size_t i = 0; good && i < count; i++) {
        good = read_column(&input[i], level + i * TREMOLO_STUDY_MAX_LEVELS,
                           json_array_get(columns, i));
    }
    if (!good) {
        (void)study_fail(error,
                         "the columns that its features are made of are not there, or not sound");
    } else {
        good = tremolo_inputs_new(inputs, input, count, json_string_value(terms), true, error);
    }
    free(input);
    free(level);
    return good;
}
