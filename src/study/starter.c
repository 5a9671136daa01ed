/* starter.c -- study files to begin with.
 *
 * Both are valid as they are, so that whoever edits one always has something
 * that `check` accepts a step behind; what must be replaced says so. */
#include "study_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STARTER_FLAGS = JSON_INDENT(2) | JSON_REAL_PRECISION(12) };

#define OPEN_MEANS                                                                                 \
    "enrolment: 'open' lets anybody report, as often as they like, so a few liars can turn the "   \
    "result; 'keys' takes reports of devices you enrolled, limits.samples of each."

static const char starter_text[] =
    "{\n"
    "  \"tremolo\": 1,\n"
    "  \"title\": \"Sleep and resting heart rate\",\n"
    "  \"purpose\": \"Does sleep predict the resting heart rate, given smoking?\",\n"
    "  \"features\": [\n"
    "    {\"comment\": \"low and high: between which about nine of ten people lie. Choose them "
    "from common knowledge, never from the data. Each feature costs everybody precision.\",\n"
    "     \"name\": \"sleep\", \"unit\": \"hours\", \"low\": 5, \"high\": 9},\n"
    "    {\"comment\": \"Or 'kind': 'category' with 'levels': ['wrist', 'ring', 'chest'], the "
    "first of which is the reference the others are compared with.\",\n"
    "     \"name\": \"smoker\", \"kind\": \"yes-no\"}\n"
    "  ],\n"
    "  \"response\": {\"comment\": \"A response beyond low and high counts as the nearer of them, "
    "which draws effects to zero: let nearly everybody lie between.\",\n"
    "               \"name\": \"heart rate\", \"unit\": \"1/min\", \"low\": 40, \"high\": 100},\n"
    "  \"privacy\": {\n"
    "    \"comment\": \"neighbours: 'any' two people, or {'distance': r} in half ranges, which is "
    "far less. protects: 'all', or 'features' when everybody's response may be seen.\",\n"
    "    \"epsilon\": 2, \"neighbours\": \"any\", \"protects\": \"all\"\n"
    "  },\n"
    "  \"protocol\": {\n"
    "    \"comment\": \"ballot: one random answer about the sample. sample: the sample with noise, "
    "for distances, with rounds and modulation if you like.\",\n"
    "    \"release\": \"ballot\", \"kind\": \"one-shot\"\n"
    "  },\n"
    "  \"limits\": {\"comment\": \"What so many devices will teach: tremolo plan "
    "--study. " OPEN_MEANS "\",\n"
    "             \"devices\": 50000, \"samples\": 1, \"closes\": \"2030-01-01\", "
    "\"enrolment\": \"open\"}\n"
    "}\n";

enum tremolo_status tremolo_study_starter(char **json)
{
    if (json == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    char *copy = strdup(starter_text);
    if (copy == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    *json = copy;
    return TREMOLO_OK;
}

static json_t *placeholder(const char *name, enum tremolo_column_look look)
{
    static const char *const to_name[] = {
        [TREMOLO_LOOKS_WORDS] = "name the levels from common knowledge, never from the data; the "
                                "first is the reference",
        [TREMOLO_LOOKS_CODE] = "looks like a code, which is no amount: name its levels, leave it "
                               "out, or give low and high in their place if it is a number",
        [TREMOLO_LOOKS_DATE] = "looks like a date: leave it out, or have devices give a number "
                               "with low and high, such as the days since one that you name",
    };
    if (look == TREMOLO_LOOKS_NUMBER) {
        return json_pack("{s:s, s:s, s:s, s:i, s:i}", "comment", TREMOLO_STUDY_PLACEHOLDER, "name",
                         name, "unit", "", "low", 0, "high", 1);
    }
    if (look == TREMOLO_LOOKS_YES_NO) {
        return json_pack("{s:s, s:s}", "name", name, "kind", "yes-no");
    }
    /* Levels read off the data would give away what somebody answered. */
    return json_pack("{s:s, s:s, s:s, s:[]}", "comment", to_name[look], "name", name, "kind",
                     "category", "levels");
}

enum tremolo_status tremolo_study_starter_for(char **json, const char *const *names, size_t count,
                                              const char *response,
                                              const enum tremolo_column_look *looks)
{
    if (json == NULL || names == NULL || count < 2 || count > TREMOLO_MAX_DIMENSION + 1) {
        return TREMOLO_BAD_ARGUMENT;
    }
    size_t chosen = response != NULL ? 0 : count - 1;
    while (response != NULL && chosen < count && strcmp(names[chosen], response) != 0) {
        chosen++;
    }
    if (chosen == count) {
        return TREMOLO_BAD_STUDY;
    }
    json_t *features = json_array();
    for (size_t i = 0; i < count; i++) {
        if (i != chosen) {
            (void)json_array_append_new(
                features, placeholder(names[i], looks != NULL ? looks[i] : TREMOLO_LOOKS_NUMBER));
        }
    }
    json_t *object =
        json_pack("{s:i, s:s, s:o, s:o, s:{s:f, s:s, s:s}, s:{s:s}, s:{s:s, s:s}}", "tremolo",
                  STUDY_VERSION, "title", TREMOLO_STUDY_UNTITLED, "features", features, "response",
                  placeholder(names[chosen], TREMOLO_LOOKS_NUMBER), "privacy", "epsilon", 2.0,
                  "neighbours", "any", "protects", "all", "protocol", "release", "ballot", "limits",
                  "comment", OPEN_MEANS, "enrolment", "open");
    char *text = object != NULL ? json_dumps(object, STARTER_FLAGS) : NULL;
    bool whole = json_array_size(json_object_get(object, "features")) == count - 1;
    json_decref(object);
    char *line = NULL;
    bool made = text != NULL && whole && asprintf(&line, "%s\n", text) >= 0;
    free(text);
    if (!made) {
        return TREMOLO_NO_MEMORY;
    }
    *json = line;
    return TREMOLO_OK;
}
