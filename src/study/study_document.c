/* study_document.c -- a study as normalised JSON, and files to begin with.
 *
 * Normalised JSON writes out every default and the device's integers, so that
 * nothing is left to compute and the id is the same wherever it is read.
 * Seventeen digits bring every double back as it was.
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
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "document.h"
#include "study_file.h"

const char *const study_kinds[] = {"numeric", "category", "yes-no", NULL};
const char *const study_protects[] = {"features", "all", NULL};
const char *const study_sent[] = {"public", "private", NULL};
const char *const study_protocols[] = {"one-shot", "iterative", NULL};
const char *const study_releases[] = {"sample", "ballot", NULL};
const char *const study_enrolments[] = {"open", "keys", NULL};

/* Members that are NULL are left out; without those lost to a failed allocation the study is
 * another one, which reads_back() sees. */
static json_t *real_if(bool there, double value)
{
    return there ? json_real(value) : NULL;
}

static json_t *whole_if(bool there, uint64_t value)
{
    return there ? json_integer((json_int_t)value) : NULL;
}

static json_t *levels_json(const struct tremolo_study_feature *feature)
{
    json_t *levels = feature->level_count > 0 ? json_array() : NULL;
    for (size_t i = 0; i < feature->level_count; i++) {
        (void)json_array_append_new(levels, json_string(feature->levels[i]));
    }
    return levels;
}

static json_t *features_json(const struct tremolo_study_file *file)
{
    json_t *list = json_array();
    for (size_t i = 0; i < file->feature_count; i++) {
        const struct tremolo_study_feature *feature = &file->features[i].shown;
        const struct tremolo_input *input = &file->inputs->input[i];
        bool number = feature->kind == TREMOLO_STUDY_NUMERIC;
        (void)json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:o*, s:o*, s:o*, s:o*, s:o*}", "name", feature->name,
                            "unit", feature->unit, "kind", study_kinds[feature->kind], "low",
                            real_if(number, feature->low), "high", real_if(number, feature->high),
                            "levels", levels_json(feature), "missing", input_missing_json(input),
                            "typical", real_if(!isnan(feature->typical), feature->typical)));
    }
    return list;
}

static json_t *response_json(const struct tremolo_study_file *file)
{
    const struct tremolo_study_feature *response = &file->features[file->feature_count].shown;
    return json_pack("{s:s, s:s, s:f, s:f, s:s}", "name", response->name, "unit", response->unit,
                     "low", response->low, "high", response->high, "sent",
                     study_sent[file->terms.response_private]);
}

static json_t *privacy_json(const struct tremolo_study_terms *terms)
{
    json_t *neighbours =
        terms->distance > 0 ? json_pack("{s:f}", "distance", terms->distance) : json_string("any");
    json_t *object = json_pack("{s:f, s:f, s:o, s:s, s:f}", "epsilon", terms->epsilon, "delta",
                               terms->delta, "neighbours", neighbours, "protects",
                               study_protects[terms->response_private], "clip", terms->clip);
    if (terms->release == TREMOLO_RELEASE_BALLOT) {
        (void)json_object_del(object, "clip");
    }
    return object;
}

static json_t *protocol_json(const struct tremolo_study_terms *terms)
{
    bool iterative = terms->protocol == TREMOLO_STUDY_ITERATIVE, modulated = terms->vectors > 0;
    if (terms->release == TREMOLO_RELEASE_BALLOT) {
        return json_pack("{s:s, s:s}", "kind", study_protocols[terms->protocol], "release",
                         study_releases[terms->release]);
    }
    json_t *close =
        iterative ? json_pack("{s:o*, s:o*}", "reports",
                              whole_if(terms->close_reports > 0, terms->close_reports), "seconds",
                              whole_if(terms->close_seconds > 0, terms->close_seconds))
                  : NULL;
    return json_pack(
        "{s:s, s:s, s:I, s:f, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*}", "kind",
        study_protocols[terms->protocol], "calibration",
        tremolo_calibration_names[terms->calibration], "vectors", (json_int_t)terms->vectors,
        "alpha", terms->alpha, "lambda", real_if(modulated, terms->lambda), "omega",
        real_if(modulated, terms->omega), "rounds", whole_if(iterative, terms->rounds), "radius",
        real_if(iterative, terms->radius), "step", real_if(iterative, terms->step), "close", close);
}

static json_t *date_unless(int64_t seconds, int64_t none)
{
    char date[TREMOLO_STUDY_DATE_BYTES];
    tremolo_study_date_text(date, seconds);
    return seconds != none ? json_string(date) : NULL;
}

static json_t *limits_json(const struct tremolo_study_terms *terms)
{
    return json_pack(
        "{s:I, s:I, s:s, s:o*, s:o*}", "devices", (json_int_t)terms->devices, "samples",
        (json_int_t)terms->samples, "enrolment", study_enrolments[terms->enrolment], "opens",
        date_unless(terms->opens, INT64_MIN), "closes", date_unless(terms->closes, INT64_MAX));
}

/* As written, without comments. */
static json_t *terms_json(const json_t *written)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(written); i++) {
        json_t *term = json_deep_copy(json_array_get(written, i));
        (void)json_object_del(term, "comment");
        (void)json_array_append_new(list, term);
    }
    return list;
}

/* NULL without memory; packing consumes and frees what it was given then. */
static json_t *study_json(const struct tremolo_study_file *file)
{
    const struct tremolo_study_terms *terms = &file->terms;
    const json_t *written = json_object_get(file->root, "terms");
    json_t *mechanism =
        study_integers_json(json_object(), &file->device, study_integers_of(terms->release));
    return json_pack("{s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o*}", "tremolo",
                     STUDY_VERSION, "title", terms->title, "purpose", terms->purpose, "features",
                     features_json(file), "response", response_json(file), "privacy",
                     privacy_json(terms), "protocol", protocol_json(terms), "limits",
                     limits_json(terms), "mechanism", mechanism, "terms",
                     written != NULL ? terms_json(written) : NULL);
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

enum tremolo_status tremolo_study_file_json(char **json, const struct tremolo_study_file *file)
{
    if (json == NULL || file == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    json_t *object = study_json(file);
    char *text = object != NULL ? json_dumps(object, JSON_LATCH_EXACT) : NULL;
    json_decref(object);
    if (text == NULL || !reads_back(text, file)) {
        free(text);
        return TREMOLO_NO_MEMORY;
    }
    *json = text;
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- starters */

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
