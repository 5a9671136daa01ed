/* file_parse.c -- a study file from its first byte to a checked study.
 *
 * What comes from outside is bounded before it is parsed: the text's length,
 * then its depth by a scan that allocates nothing, then the number of features
 * by the tree. */
#include "study_file.h"

#include <stdlib.h>

/* The depth of brackets outside strings. Wrong JSON may fool it, and is then
 * refused by the parser. */
static bool is_too_deep(const char *json, size_t length)
{
    size_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < length; i++) {
        char c = json[i];
        if (in_string && c == '\\') {
            i++;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string && (c == '{' || c == '[')) {
            depth++;
        } else if (!in_string && (c == '}' || c == ']') && depth > 0) {
            depth--;
        }
        if (depth > TREMOLO_STUDY_MAX_DEPTH) {
            return true;
        }
    }
    return false;
}

/* jansson's lexer goes on when its token cannot grow for want of memory, and a
 * number that lost digits is another study. A second reading has to agree. */
static json_t *load_twice(json_error_t *error, bool *no_memory, const char *json, size_t length)
{
    json_t *first = json_loadb(json, length, JSON_REJECT_DUPLICATES, error);
    json_t *second = json_loadb(json, length, JSON_REJECT_DUPLICATES, error);
    if (first == NULL && second == NULL) { /* twice the same mistake, unless it says otherwise */
        *no_memory = json_error_code(error) == json_error_out_of_memory;
        return NULL;
    }
    if (json_equal(first, second) != 1) {
        *no_memory = true;
        json_decref(first);
        first = NULL;
    }
    json_decref(second);
    return first;
}

static json_t *load(struct study_reader *reader, const char *json, size_t length)
{
    json_error_t error;
    if (length > TREMOLO_STUDY_MAX_BYTES) {
        study_problem(reader, "", "has more than %d bytes", TREMOLO_STUDY_MAX_BYTES);
        return NULL;
    }
    if (is_too_deep(json, length)) {
        study_problem(reader, "", "is nested more than %d levels deep", TREMOLO_STUDY_MAX_DEPTH);
        return NULL;
    }
    json_t *root = load_twice(&error, &reader->no_memory, json, length);
    if (reader->no_memory) {
        return NULL;
    }
    if (root == NULL) {
        study_problem(reader, "", "line %d, column %d: %s", error.line, error.column, error.text);
    } else if (!json_is_object(root)) {
        study_problem(reader, "", "must be a JSON object");
        json_decref(root);
        root = NULL;
    }
    return root;
}

/* Everything but the tree, which the file takes over. */
static struct tremolo_study_file *new_file(json_t *root)
{
    struct tremolo_study_file *file = calloc(1, sizeof *file);
    size_t listed = json_array_size(json_object_get(root, "features")); /* 0 of no list */
    size_t count = listed <= TREMOLO_MAX_DIMENSION ? listed : 0;
    struct study_feature *features = calloc(count + 1, sizeof *features);
    if (file == NULL || features == NULL) {
        free(file);
        free(features);
        return NULL;
    }
    file->root = root;
    file->feature_count = count;
    file->features = features;
    return file;
}

enum tremolo_status tremolo_study_file_parse(struct tremolo_study_file **file,
                                             struct tremolo_study_problems *problems,
                                             const char *json, size_t length)
{
    struct tremolo_study_problems own;
    struct study_reader reader = {.problems = problems};
    if (problems == NULL) {
        reader.problems = &own;
    }
    reader.problems->count = 0;
    reader.problems->stored = 0;
    if (file == NULL || json == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    json_t *root = load(&reader, json, length);
    if (root == NULL) {
        return reader.no_memory ? TREMOLO_NO_MEMORY : TREMOLO_BAD_STUDY;
    }
    struct tremolo_study_file *made = new_file(root);
    if (made == NULL) {
        json_decref(root);
        return TREMOLO_NO_MEMORY;
    }
    study_read_sections(&reader, made);
    study_read_mechanism(&reader, made);
    enum tremolo_status status = reader.no_memory              ? TREMOLO_NO_MEMORY
                                 : reader.problems->count == 0 ? study_identify(made)
                                                               : TREMOLO_BAD_STUDY;
    if (status == TREMOLO_OK) {
        *file = made;
    } else {
        tremolo_study_file_free(made);
    }
    return status;
}

void tremolo_study_file_free(struct tremolo_study_file *file)
{
    if (file != NULL) {
        json_decref(file->root);
        free(file->features);
        free(file->canonical);
        tremolo_inputs_free(file->inputs);
        free(file);
    }
}

/* ---------------------------------------------------------------- reading it */

const struct tremolo_study_terms *tremolo_study_file_terms(const struct tremolo_study_file *file)
{
    return &file->terms;
}

size_t tremolo_study_file_feature_count(const struct tremolo_study_file *file)
{
    return file->feature_count;
}

const struct tremolo_study_feature *
tremolo_study_file_feature(const struct tremolo_study_file *file, size_t index)
{
    return index < file->feature_count ? &file->features[index].shown : NULL;
}

const struct tremolo_study_feature *
tremolo_study_file_response(const struct tremolo_study_file *file)
{
    return &file->features[file->feature_count].shown;
}

size_t tremolo_study_file_dimension(const struct tremolo_study_file *file)
{
    return file->dimension;
}

const struct tremolo_study_coordinate *
tremolo_study_file_coordinate(const struct tremolo_study_file *file, size_t index)
{
    return index <= file->dimension ? &file->coordinates[index] : NULL;
}

struct tremolo_study_coordinate tremolo_study_file_reach(const struct tremolo_study_file *file,
                                                         size_t index)
{
    struct tremolo_study_coordinate reach = file->coordinates[index];
    if (file->terms.release == TREMOLO_RELEASE_BALLOT && index < file->dimension) {
        double middle = reach.low / 2 + reach.high / 2;
        double half = reach.high / 2 - reach.low / 2;
        reach.low = middle - TREMOLO_STUDY_REACH * half;
        reach.high = middle + TREMOLO_STUDY_REACH * half;
    }
    return reach;
}

const struct tremolo_study *tremolo_study_file_device(const struct tremolo_study_file *file)
{
    return &file->device;
}

const uint8_t *tremolo_study_file_id(const struct tremolo_study_file *file)
{
    return file->device.id;
}

size_t tremolo_study_file_canonical(const uint8_t **bytes, const struct tremolo_study_file *file)
{
    *bytes = file->canonical;
    return file->canonical_length;
}
