/* starter.c -- study files to begin with, and what a typical range is.
 *
 * The example is a study as it is. A starter for a table's columns is one once its placeholders are
 * replaced; the comment beside each says so (TREMOLO_STUDY_PLACEHOLDER).
 *
 * A typical range, of a feature and of the response alike, is one that nine of ten lie in
 * (TREMOLO_STUDY_TYPICAL): people are told so in words, because bounds that are read off the data of
 * a study are not private, and a simulation takes the quantiles from 5% to 95%. Half a range is a
 * ballot's unit, so a wider one makes what is to be learnt smaller beside the same noise: a normal
 * response needs twice the devices when 98 of 100 lie within, a skewed one more, and plans
 * count on nine of ten. Of a response a device cuts what lies beyond, which draws slopes to zero by
 * about a tenth; that is said beside every table of coefficients, and whoever cannot bear it states
 * a range that about 99 of 100 lie in and brings the devices, as the starter says. */
#include "study_file.h"

#include <math.h>
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
    "    {\"comment\": \"low and high: between which " TREMOLO_STUDY_TYPICAL ". Choose them "
    "from common knowledge, never from the data. A value beyond is taken as it is, up to eight "
    "half "
    "ranges from the middle, and weighs less. Each feature costs everybody precision.\",\n"
    "     \"name\": \"sleep\", \"unit\": \"hours\", \"low\": 5, \"high\": 9},\n"
    "    {\"comment\": \"Or 'kind': 'category' with 'levels': ['wrist', 'ring', 'chest'], the "
    "first of which is the reference the others are compared with, best the most common one. "
    "typical: what you would guess "
    "of a person, here one in five; unless given, the middle of the range.\",\n"
    "     \"name\": \"smoker\", \"kind\": \"yes-no\", \"typical\": 0.2}\n"
    "  ],\n"
    "  \"response\": {\"comment\": \"The same. A response beyond counts as the nearer of the two, "
    "which draws effects to zero by about the share beyond. Where their size matters, choose a "
    "range "
    "that about 99 of 100 lie in, which takes two to three times the devices.\",\n"
    "               \"name\": \"heart rate\", \"unit\": \"beats/min\", \"low\": 50, \"high\": "
    "90},\n"
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
                                "first is the reference, best the most common one",
        [TREMOLO_LOOKS_CODE] = "looks like a code, which is no amount: name its levels, leave it "
                               "out, or give low and high in their place if it is a number",
        [TREMOLO_LOOKS_NAMES] = "has more different words than a category may have: leave it out",
        [TREMOLO_LOOKS_DATE] = "looks like a date: leave it out, or have devices give a number "
                               "with low and high, such as the days since one that you name",
    };
    if (look == TREMOLO_LOOKS_NUMBER || look == TREMOLO_LOOKS_ZERO_ONE) {
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

/* A response is a number, and of yes and no one from 0 to 1. */
static json_t *response_of(const char *name, enum tremolo_column_look look)
{
    if (look != TREMOLO_LOOKS_YES_NO && look != TREMOLO_LOOKS_ZERO_ONE) {
        return placeholder(name, TREMOLO_LOOKS_NUMBER);
    }
    return json_pack("{s:s, s:s, s:s, s:i, s:i}", "comment",
                     "1 is yes and 0 is no, in data and samples, so this range is right", "name",
                     name, "unit", "", "low", 0, "high", 1);
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
                  response_of(names[chosen], looks != NULL ? looks[chosen] : TREMOLO_LOOKS_NUMBER),
                  "privacy", "epsilon", 2.0, "neighbours", "any", "protects", "all", "protocol",
                  "release", "ballot", "limits", "comment", OPEN_MEANS, "enrolment", "open");
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

static int compare(const void *a, const void *b)
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
    qsort(values, count, sizeof *values, compare);
    size_t beyond = count / 20;
    if (!(values[count - 1 - beyond] > values[beyond])) {
        beyond = 0;
    }
    *low = values[beyond];
    *high = values[count - 1 - beyond];
    return *high > *low && isfinite(*high - *low);
}
