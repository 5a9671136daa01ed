/* study_json.h -- a small study as JSON that tests can bend, and its parse.
 *
 * study_edit() replaces, adds or (with NULL) removes one member, addressed as
 * problems are: "features[1].high". */
#ifndef TREMOLO_TESTS_STUDY_JSON_H
#define TREMOLO_TESTS_STUDY_JSON_H

#include <jansson.h>

#include "testing.h"
#include "tremolo_study_file.h"

static const char study_base_text[] =
    "{\"tremolo\": 1, \"title\": \"Base\", \"features\": ["
    "{\"name\": \"a\", \"low\": 0, \"high\": 10},"
    "{\"name\": \"b\", \"unit\": \"m\", \"low\": -1, \"high\": 1},"
    "{\"name\": \"c\", \"kind\": \"category\", \"levels\": [\"x\", \"y\", \"z\"]},"
    "{\"name\": \"d\", \"kind\": \"yes-no\"}],"
    "\"response\": {\"name\": \"r\", \"low\": 0, \"high\": 100},"
    "\"privacy\": {\"epsilon\": 1, \"protects\": \"all\"},"
    "\"protocol\": {\"kind\": \"one-shot\", \"release\": \"sample\"}}";

/* What one device measured for it. */
static const char study_base_sample[] =
    "{\"a\": 3, \"b\": 0.5, \"c\": \"y\", \"d\": true, \"r\": 50}";

static inline json_t *study_base(void)
{
    json_t *root = json_loads(study_base_text, 0, NULL);
    assert_non_null(root);
    return root;
}

/* The container of the last step of `path`, which is left in `last`. */
static inline json_t *study_walk(json_t *root, const char *path, char last[64])
{
    char step[64];
    json_t *at = root;
    for (;;) {
        size_t length = strcspn(path + (*path == '['), ".[");
        length += *path == '[';
        assert_true(length < sizeof step);
        memcpy(step, path, length);
        step[length] = '\0';
        path += length + (path[length] == '.');
        if (*path == '\0') {
            (void)snprintf(last, 64, "%s", step);
            return at;
        }
        at = step[0] == '[' ? json_array_get(at, strtoul(step + 1, NULL, 10))
                            : json_object_get(at, step);
        assert_non_null(at);
    }
}

static inline void study_edit(json_t *root, const char *path, const char *json)
{
    char last[64];
    json_t *at = study_walk(root, path, last);
    if (json == NULL) {
        assert_int_equal(json_object_del(at, last), 0);
        return;
    }
    json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
    assert_non_null(value);
    assert_int_equal(last[0] == '[' ? json_array_set_new(at, strtoul(last + 1, NULL, 10), value)
                                    : json_object_set_new(at, last, value),
                     0);
}

static inline enum tremolo_status study_parse(struct tremolo_study_file **file,
                                              struct tremolo_study_problems *problems,
                                              const json_t *root)
{
    char *text = json_dumps(root, JSON_REAL_PRECISION(17));
    assert_non_null(text);
    enum tremolo_status status = tremolo_study_file_parse(file, problems, text, strlen(text));
    free(text);
    return status;
}

/* The base with up to two edits, which must be a study. */
static inline struct tremolo_study_file *study_with(const char *path, const char *json,
                                                    const char *path2, const char *json2)
{
    struct tremolo_study_file *file = NULL;
    struct tremolo_study_problems problems;
    json_t *root = study_base();
    if (path != NULL) {
        study_edit(root, path, json);
    }
    if (path2 != NULL) {
        study_edit(root, path2, json2);
    }
    enum tremolo_status status = study_parse(&file, &problems, root);
    for (size_t i = 0; i < problems.stored; i++) {
        print_message("%s: %s\n", problems.item[i].path, problems.item[i].reason);
    }
    assert_status(status, TREMOLO_OK);
    json_decref(root);
    return file;
}

#endif
