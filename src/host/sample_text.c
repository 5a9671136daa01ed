/* sample_text.c -- a sample from JSON or CSV into the device's integers.
 *
 * Both become a list of values by feature, as text or number; then each
 * feature's kind decides. Every feature and the response must be there once,
 * and nothing else: a misspelt name would otherwise be a wrong sample. */
#include "client_parts.h"

#include <csv.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tremolo_host.h"
#include "inputs.h"
#include "tremolo_words.h"
#include "study_internal.h"

static const struct tremolo_bounds raw_bounds = TREMOLO_HOST_BOUNDS;

struct reading {
    const struct tremolo_study_file *file;
    double values[TREMOLO_MAX_COORDINATES]; /* by feature, as inputs.h has them */
    bool seen[TREMOLO_MAX_COORDINATES];     /* by feature; the response is the last */
    char *why;
    size_t why_bytes;
};

/* Every fault is added to the sentence: whoever mends a sample wants them all. */
__attribute__((format(printf, 2, 3))) static bool complain(const struct reading *reading,
                                                           const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t used = strnlen(reading->why, reading->why_bytes);
    if (used > 0 && used + 3 < reading->why_bytes) {
        memcpy(reading->why + used, "; ", 3);
        used += 2;
    }
    if (used < reading->why_bytes) {
        (void)vsnprintf(reading->why + used, reading->why_bytes - used, format, arguments);
    }
    va_end(arguments);
    return false;
}

/* ---------------------------------------------------------------- one value */

static const struct tremolo_study_feature *feature_at(const struct tremolo_study_file *file,
                                                      size_t index)
{
    return index < tremolo_study_file_feature_count(file) ? tremolo_study_file_feature(file, index)
                                                          : tremolo_study_file_response(file);
}

enum { LIST_BYTES = 320 };

static bool complain_of_value(const struct reading *reading,
                              const struct tremolo_study_feature *feature)
{
    char list[LIST_BYTES];
    if (feature->kind == TREMOLO_STUDY_CATEGORY) {
        tremolo_words_list(list, sizeof list, feature->levels, feature->level_count);
        return complain(reading, "%s must be one of %s", feature->name, list);
    }
    return complain(reading, "%s must be %s", feature->name,
                    feature->kind == TREMOLO_STUDY_YES_NO ? "yes or no" : "a number");
}

static bool complain_of_name(const struct reading *reading, const char *name)
{
    const char *names[TREMOLO_MAX_COORDINATES];
    char list[LIST_BYTES];
    size_t count = tremolo_study_file_feature_count(reading->file) + 1;
    for (size_t i = 0; i < count; i++) {
        names[i] = feature_at(reading->file, i)->name;
    }
    tremolo_words_list(list, sizeof list, names, count);
    return complain(reading, "the study has no feature named %.64s; it has %s", name, list);
}

/* What stands for it by the study, or a fault. */
static bool set_missing(struct reading *reading, size_t index)
{
    const struct tremolo_study_feature *feature = feature_at(reading->file, index);
    reading->values[index] = feature->missing;
    return !isnan(feature->missing) || complain(reading, "%s is missing", feature->name);
}

/* `text` is the value as written, whatever its JSON type was. */
static bool set_value(struct reading *reading, const char *name, const char *text)
{
    size_t count = tremolo_study_file_feature_count(reading->file);
    size_t index = 0;
    while (index <= count && strcmp(feature_at(reading->file, index)->name, name) != 0) {
        index++;
    }
    if (index > count) {
        return complain_of_name(reading, name);
    }
    const struct tremolo_study_feature *feature = feature_at(reading->file, index);
    if (reading->seen[index]) {
        return complain(reading, "%s is given twice", feature->name);
    }
    reading->seen[index] = true;
    if (text[0] == '\0') {
        return set_missing(reading, index);
    }
    const struct tremolo_input input = {
        .kind = feature->kind, .level = feature->levels, .levels = feature->level_count};
    return tremolo_input_read(&reading->values[index], &input, text) ||
           complain_of_value(reading, feature);
}

static bool all_seen(struct reading *reading)
{
    bool all = true;
    for (size_t i = 0; i <= tremolo_study_file_feature_count(reading->file); i++) {
        if (!reading->seen[i]) {
            all = set_missing(reading, i) && all;
        }
    }
    return all;
}

/* ---------------------------------------------------------------- JSON */

static bool set_json(struct reading *reading, const char *name, const json_t *value)
{
    char number[64];
    if (json_is_string(value)) {
        return set_value(reading, name, json_string_value(value));
    }
    if (json_is_boolean(value)) {
        return set_value(reading, name, json_is_true(value) ? "true" : "false");
    }
    if (json_is_null(value)) {
        return set_value(reading, name, "");
    }
    if (!json_is_number(value)) {
        return complain(reading, "%.64s must be a number, text or true or false", name);
    }
    (void)snprintf(number, sizeof number, "%.17g", json_number_value(value));
    bool good = set_value(reading, name, number);
    explicit_bzero(number, sizeof number);
    return good;
}

static bool read_json(struct reading *reading, const char *text, size_t length)
{
    json_error_t error = {.line = 0};
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    json_t *again = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    /* jansson's lexer drops digits when memory runs out; see study/file_parse.c. */
    if (root != NULL && json_equal(root, again) != 1) {
        json_decref(root);
        root = NULL;
    }
    json_decref(again);
    /* The parser's own words quote the text, which is private. */
    bool good = root != NULL || complain(reading, "line %d is not JSON", error.line);
    for (void *at = json_object_iter(root); at != NULL; at = json_object_iter_next(root, at)) {
        good = set_json(reading, json_object_iter_key(at), json_object_iter_value(at)) && good;
    }
    bool whole = root == NULL || all_seen(reading);
    json_decref(root);
    return good && whole;
}

/* ---------------------------------------------------------------- CSV */

struct csv_cells {
    char *names[TREMOLO_MAX_COORDINATES];
    char *values[TREMOLO_MAX_COORDINATES];
    size_t columns[2];
    size_t line;
    bool failed;
};

static void on_cell(void *bytes, size_t length, void *context)
{
    struct csv_cells *cells = context;
    if (cells->line > 1 || cells->columns[cells->line] == TREMOLO_MAX_COORDINATES) {
        cells->failed = true;
        return;
    }
    char **place = cells->line == 0 ? cells->names : cells->values;
    char *copy = strndup(length > 0 ? bytes : "", length);
    cells->failed = cells->failed || copy == NULL;
    place[cells->columns[cells->line]++] = copy;
}

static void on_line_end(int separator, void *context)
{
    (void)separator;
    ((struct csv_cells *)context)->line++;
}

static void free_cells(struct csv_cells *cells)
{
    for (size_t i = 0; i < TREMOLO_MAX_COORDINATES; i++) {
        free(cells->names[i]);
        if (cells->values[i] != NULL) {
            explicit_bzero(cells->values[i], strlen(cells->values[i]));
        }
        free(cells->values[i]);
    }
    free(cells);
}

static bool split_csv(struct csv_cells *cells, const char *text, size_t length)
{
    struct csv_parser parser;
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) {
        return false;
    }
    bool good = csv_parse(&parser, text, length, on_cell, on_line_end, cells) == length &&
                csv_fini(&parser, on_cell, on_line_end, cells) == 0;
    csv_free(&parser);
    return good && !cells->failed && cells->line == 2 && cells->columns[0] == cells->columns[1];
}

static bool read_csv(struct reading *reading, const char *text, size_t length)
{
    struct csv_cells *cells = calloc(1, sizeof *cells);
    if (cells == NULL) {
        return complain(reading, "out of memory");
    }
    bool good = split_csv(cells, text, length) ||
                complain(reading, "must be a JSON object, or one CSV line of names and one of "
                                  "as many values");
    bool known = good;
    for (size_t i = 0; known && i < cells->columns[0]; i++) {
        good = set_value(reading, cells->names[i], cells->values[i]) && good;
    }
    bool whole = !known || all_seen(reading);
    free_cells(cells);
    return good && whole;
}

/* ---------------------------------------------------------------- both */

enum tremolo_status sample_from_values(int32_t *features, int32_t *response,
                                       const struct tremolo_study_file *file, const double *values)
{
    int32_t raw[TREMOLO_MAX_COORDINATES];
    size_t d = tremolo_study_file_dimension(file);
    for (size_t i = 0; i <= d; i++) {
        struct tremolo_study_coordinate reach = tremolo_study_file_reach(file, i);
        struct tremolo_host_range range = {reach.low, reach.high};
        enum tremolo_status status = tremolo_host_raw(&raw[i], values[i], &range);
        if (status != TREMOLO_OK) {
            explicit_bzero(raw, sizeof raw);
            return status;
        }
    }
    memcpy(features, raw, d * sizeof *raw);
    *response = raw[d];
    explicit_bzero(raw, sizeof raw);
    return raw_bounds.high == TREMOLO_STUDY_RAW_MAX ? TREMOLO_OK : TREMOLO_BAD_BOUNDS;
}

/* The coordinates from the features' values, and their integers. */
static enum tremolo_status derive(struct reading *reading, int32_t *features, int32_t *response)
{
    const struct tremolo_inputs *inputs = tremolo_study_file_inputs(reading->file);
    double values[TREMOLO_MAX_COORDINATES];
    bool finite = tremolo_inputs_features(values, inputs, reading->values);
    values[inputs->features] = reading->values[inputs->count];
    enum tremolo_status status =
        finite ? sample_from_values(features, response, reading->file, values) : TREMOLO_BAD_SAMPLE;
    if (!finite) {
        (void)complain(reading, "a term of the study has no value for this sample");
    }
    explicit_bzero(values, sizeof values);
    return status;
}

enum tremolo_status sample_from_text(int32_t *features, int32_t *response, char *why, size_t bytes,
                                     const struct tremolo_study_file *file, const char *text,
                                     size_t length)
{
    struct reading reading = {.file = file, .why_bytes = bytes};
    reading.why = why;
    why[0] = '\0';
    size_t start = length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; /* UTF-8's mark */
    text += start;
    length -= start;
    start = 0;
    while (start < length && strchr(" \t\r\n", text[start]) != NULL && text[start] != '\0') {
        start++;
    }
    bool is_json = start < length && text[start] == '{';
    bool good = length <= TREMOLO_CLIENT_MAX_SAMPLE_BYTES ||
                complain(&reading, "has more than %d bytes", TREMOLO_CLIENT_MAX_SAMPLE_BYTES);
    good = good && (is_json ? read_json(&reading, text, length) : read_csv(&reading, text, length));
    enum tremolo_status status = good ? derive(&reading, features, response) : TREMOLO_BAD_SAMPLE;
    explicit_bzero(&reading, sizeof reading);
    return status;
}
