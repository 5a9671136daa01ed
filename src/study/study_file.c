/* study_file.c -- study files: parsed, as normalised JSON, and starters to begin with.
 *
 * What comes from outside is bounded before it is parsed: the text's length, then its depth by a scan
 * that allocates nothing, then the number of features by the tree. Whether the file is a study is
 * decided at the end, by the number of problems.
 *
 * Normalised JSON writes out every default and the device's integers, so that nothing is left to
 * compute and the id is the same wherever it is read. Seventeen digits bring every double back. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study_file.h"

/* ---------------------------------------------------------------- files */

/* The depth of brackets outside strings. Wrong JSON may mislead it, and is then
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

/* jansson's lexer goes on when its token cannot grow without memory, and a number that lost digits is
 * another study. So a second reading has to agree. */
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

/* The JSON tree, or NULL with a problem noted or no_memory set. */
static json_t *load(struct document_reader *reader, const char *json, size_t length)
{
    json_error_t error;
    if (length > TREMOLO_STUDY_MAX_BYTES) {
        document_problem(reader, "", "has more than %d bytes", TREMOLO_STUDY_MAX_BYTES);
        return NULL;
    }
    if (is_too_deep(json, length)) {
        document_problem(reader, "", "is nested more than %d levels deep", TREMOLO_STUDY_MAX_DEPTH);
        return NULL;
    }
    json_t *root = load_twice(&error, &reader->no_memory, json, length);
    if (reader->no_memory) {
        return NULL;
    }
    if (root == NULL) {
        document_problem(reader, "", "line %d, column %d: %s", error.line, error.column,
                         error.text);
    } else if (!json_is_object(root)) {
        document_problem(reader, "", "must be a JSON object");
        json_decref(root);
        root = NULL;
    }
    return root;
}

/* Room for `count` features and a response; the file takes the tree over. */
static struct tremolo_study_file *new_file(json_t *root, size_t count)
{
    struct tremolo_study_file *file = calloc(1, sizeof *file);
    struct study_feature *features = calloc(count + 1, sizeof *features);
    if (file == NULL || features == NULL) {
        free(file);
        free(features);
        json_decref(root);
        return NULL;
    }
    file->root = root;
    file->feature_count = count;
    file->features = features;
    file->response = &features[count];
    return file;
}

/* The file takes the tree over even if it turns out to be no study, and is then freed with it. */
enum tremolo_status tremolo_study_file_parse(struct tremolo_study_file **file,
                                             struct tremolo_study_problems *problems,
                                             const char *json, size_t length)
{
    struct tremolo_study_problems own = {.count = 0};
    struct document_reader reader = {.problems = problems != NULL ? problems : &own};
    reader.problems->count = 0;
    reader.problems->stored = 0;
    if (file == NULL || json == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    json_t *root = load(&reader, json, length);
    if (root == NULL) {
        return reader.no_memory ? TREMOLO_NO_MEMORY : TREMOLO_BAD_STUDY;
    }
    size_t listed = json_array_size(json_object_get(root, "features")); /* 0 of no list */
    struct tremolo_study_file *made = new_file(root, listed <= TREMOLO_MAX_DIMENSION ? listed : 0);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    enum tremolo_status status = study_read(&reader, made);
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
        free(file->term);
        free(file->canonical);
        tremolo_inputs_free(file->inputs);
        free(file);
    }
}

/* A piece lost to a failed allocation must not become another study: what was
 * dumped has to give the same id when it is read. */
static bool reads_back(const char *json, const struct tremolo_study_file *file)
{
    struct tremolo_study_file *again = NULL;
    bool same = tremolo_study_file_parse(&again, NULL, json, strlen(json)) == TREMOLO_OK &&
                memcmp(again->device.id, file->device.id, TREMOLO_STUDY_ID_BYTES) == 0;
    tremolo_study_file_free(again);
    return same;
}

/* Read back before it is returned: see reads_back(). */
enum tremolo_status tremolo_study_file_json(char **json, const struct tremolo_study_file *file)
{
    if (json == NULL || file == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    char *text = json_latch_exact(document_json(study_rows, file));
    if (text == NULL || !reads_back(text, file)) {
        free(text);
        return TREMOLO_NO_MEMORY;
    }
    *json = text;
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- starters */

#define ZERO_ONE "1 is yes and 0 is no, in data and samples, so this range is right"

/* What a column of data that looks so becomes. Levels read off the data would give away what somebody
 * answered. */
static const struct {
    enum tremolo_study_kind kind;
    const char *comment;
} placeholders[] = {
    [TREMOLO_LOOKS_NUMBER] = {TREMOLO_STUDY_NUMERIC, TREMOLO_STUDY_PLACEHOLDER},
    [TREMOLO_LOOKS_ZERO_ONE] = {TREMOLO_STUDY_NUMERIC, TREMOLO_STUDY_PLACEHOLDER},
    [TREMOLO_LOOKS_YES_NO] = {TREMOLO_STUDY_YES_NO, NULL},
    [TREMOLO_LOOKS_WORDS] =
        {TREMOLO_STUDY_CATEGORY,
         "name the levels from common knowledge, never from the data; the first "
         "is the reference, best the most common one"},
    [TREMOLO_LOOKS_CODE] = {TREMOLO_STUDY_CATEGORY,
                            "looks like a code, which is no amount: name its levels, leave it out, "
                            "or give low and high in their place if it is a number"},
    [TREMOLO_LOOKS_NAMES] = {TREMOLO_STUDY_CATEGORY,
                             "has more different words than a category may have: leave it out"},
    [TREMOLO_LOOKS_DATE] = {TREMOLO_STUDY_CATEGORY,
                            "looks like a date: leave it out, or have devices give a number with "
                            "low and high, such as the days since one that you name"},
};

static const struct study_feature example_features[] = {
    {.shown =
         {.name = "sleep", .unit = "hours", .low = 5, .high = 9, .missing = NAN, .typical = NAN}},
    {.shown = {.name = "smoker",
               .unit = "",
               .kind = TREMOLO_STUDY_YES_NO,
               .missing = NAN,
               .typical = 0.2},
     .comment =
         "Or 'kind': 'category' with 'levels': ['wrist', 'ring', 'chest'], the first of which "
         "is the reference for the others, best the most common one. typical: what you would "
         "guess of a person, here one in five; unless given, the middle of the range."},
    {.shown = {.name = "heart rate", .unit = "beats/min", .low = 50, .high = 90}},
};

/* A placeholder for a column; a response is a number, and one of answers has its range already. */
static void place_column(struct study_feature *feature, const char *name,
                         enum tremolo_column_look look, bool response)
{
    bool answer = look == TREMOLO_LOOKS_YES_NO || look == TREMOLO_LOOKS_ZERO_ONE;
    look = response ? TREMOLO_LOOKS_NUMBER : look; /* a response is a number */
    *feature = (struct study_feature){.shown = {.name = name,
                                                .unit = "",
                                                .kind = placeholders[look].kind,
                                                .high = 1,
                                                .missing = NAN,
                                                .typical = NAN},
                                      .comment = response && answer ? ZERO_ONE
                                                                    : placeholders[look].comment};
}

/* A starter is not read: it may have categories without levels. */
static enum tremolo_status write_starter(char **json, struct tremolo_study_file *file)
{
    json_t *object = document_starter(study_rows, file);
    char *text = NULL, *line = NULL;
    (void)json_object_del(object, "mechanism");
    enum tremolo_status status =
        json_latch_text(&text, object, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    if (status == TREMOLO_OK && asprintf(&line, "%s\n", text) < 0) {
        status = TREMOLO_NO_MEMORY;
    }
    free(text);
    if (status == TREMOLO_OK) {
        *json = line;
    }
    return status;
}

/* The struct is filled as if it had been read, and the table writes it; so a starter has the keys
 * that a study has. */
enum tremolo_status tremolo_study_starter(char **json, const char *const *names, size_t count,
                                          const char *response,
                                          const enum tremolo_column_look *looks)
{
    enum { EXAMPLES = sizeof example_features / sizeof example_features[0] };
    bool example = names == NULL;
    count = example ? EXAMPLES : count;
    if (json == NULL || count < 2 || count > TREMOLO_MAX_DIMENSION + 1) {
        return TREMOLO_BAD_ARGUMENT;
    }
    size_t chosen = response != NULL && !example ? 0 : count - 1;
    while (response != NULL && !example && chosen < count && strcmp(names[chosen], response) != 0) {
        chosen++;
    }
    if (chosen == count) {
        return TREMOLO_BAD_STUDY;
    }
    struct tremolo_study_file *file = new_file(NULL, count - 1);
    if (file == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    file->terms = (struct tremolo_study_terms){
        .title = example ? "Sleep and resting heart rate" : TREMOLO_STUDY_UNTITLED,
        .purpose = example ? "Does sleep predict the resting heart rate, given smoking?" : "",
        .epsilon = 2,
        .delta = 1e-5,
        .response_private = true,
        .release = TREMOLO_RELEASE_BALLOT,
        .devices = example ? 50000 : TREMOLO_STUDY_MAX_DEVICES,
        .samples = 1,
        .opens = INT64_MIN,
        .closes = example ? INT64_C(1893456000) : INT64_MAX}; /* 2030-01-01 */
    for (size_t i = 0, next = 0; i < count; i++) {
        struct study_feature *feature = i == chosen ? file->response : &file->features[next++];
        if (example) {
            *feature = example_features[i];
        } else {
            place_column(feature, names[i], looks != NULL ? looks[i] : TREMOLO_LOOKS_NUMBER,
                         i == chosen);
        }
        feature->ballot = true;
        feature->sent = STUDY_SENT_UNSAID;
    }
    enum tremolo_status status = write_starter(json, file);
    tremolo_study_file_free(file);
    return status;
}

/* ---------------------------------------------------------------- what was read */

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
    return &file->response->shown;
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

/* A ballot's coordinates reach eight half ranges to each side, and the response never more than its
 * range. */
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

const struct tremolo_inputs *tremolo_study_file_inputs(const struct tremolo_study_file *file)
{
    return file->inputs;
}
