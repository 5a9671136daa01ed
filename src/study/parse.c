/* parse.c -- a study file from its first byte to a checked study.
 *
 * What comes from outside is bounded before it is parsed: the text's length,
 * then its depth by a scan that allocates nothing, then the number of features
 * by the tree.
 *
 * A reader never stops at the first problem: each call notes its own, leaves the default and returns, so
 * that the author of the file sees everything at once. Whether the file is a study is decided at the
 * end, by the number of problems. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study_file.h"

/* ---------------------------------------------------------------- members */

struct study_place study_enter(struct study_reader *reader, const char *key)
{
    struct study_place before = reader->at;
    size_t length = before.path_length;
    int written = snprintf(reader->path + length, sizeof reader->path - length, "%s%s",
                           length > 0 && *key != '\0' ? "." : "", key);
    size_t grown = length + (written > 0 ? (size_t)written : 0);
    /* Paths that do not fit are cut; the reason still stands beside them. */
    reader->at.path_length = grown < sizeof reader->path ? grown : sizeof reader->path - 1;
    reader->at.value = json_object_get(before.value, key);
    return before;
}

struct study_place study_enter_element(struct study_reader *reader, const char *key, size_t index)
{
    char element[64];
    (void)snprintf(element, sizeof element, "%s[%zu]", key, index);
    struct study_place before = study_enter(reader, element);
    reader->at.value = json_array_get(json_object_get(before.value, key), index);
    return before;
}

void study_leave(struct study_reader *reader, struct study_place before)
{
    reader->at = before;
    reader->path[before.path_length] = '\0';
}

bool study_problem(struct study_reader *reader, const char *key, const char *format, ...)
{
    struct tremolo_study_problems *problems = reader->problems;
    problems->count++;
    if (problems->stored == TREMOLO_STUDY_MAX_PROBLEMS) {
        return false;
    }
    struct tremolo_study_problem *problem = &problems->item[problems->stored++];
    struct study_place before = study_enter(reader, key);
    (void)snprintf(problem->path, sizeof problem->path, "%s", reader->path);
    study_leave(reader, before);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(problem->reason, sizeof problem->reason, format, arguments);
    va_end(arguments);
    /* Keys and values come from outside. */
    (void)tremolo_text_clean(problem->path);
    (void)tremolo_text_clean(problem->reason);
    return false;
}

static const json_t *member(struct study_reader *reader, const char *key, enum study_need need)
{
    const json_t *found = json_object_get(reader->at.value, key);
    if (found == NULL && need == STUDY_REQUIRED) {
        study_problem(reader, key, "is required");
    }
    return found;
}

bool study_number(struct study_reader *reader, double *value, const char *key, enum study_need need,
                  const struct study_interval *interval)
{
    const json_t *found = member(reader, key, need);
    if (found == NULL) {
        return need == STUDY_OPTIONAL;
    }
    if (!json_is_number(found)) {
        return study_problem(reader, key, "must be a number");
    }
    double number = json_number_value(found) + 0.0; /* minus zero becomes zero */
    bool low = interval->low_open ? number > interval->low : number >= interval->low;
    bool high = interval->high_open ? number < interval->high : number <= interval->high;
    if (!low || !high) {
        return study_problem(reader, key, "must be %s %g and %s %g, but is %g",
                             interval->low_open ? "above" : "at least", interval->low,
                             interval->high_open ? "below" : "at most", interval->high, number);
    }
    *value = number;
    return true;
}

bool study_whole(struct study_reader *reader, uint64_t *value, const char *key,
                 enum study_need need, uint64_t low, uint64_t high)
{
    const json_t *found = member(reader, key, need);
    if (found == NULL) {
        return need == STUDY_OPTIONAL;
    }
    /* 2e6 is as whole as 2000000. No limit here is near 2^53. */
    double number = json_is_number(found) ? json_number_value(found) : -1.0;
    if (number != floor(number) || !(number >= (double)low && number <= (double)high)) {
        return study_problem(reader, key, "must be a whole number from %llu to %llu",
                             (unsigned long long)low, (unsigned long long)high);
    }
    *value = (uint64_t)number;
    return true;
}

bool study_text(struct study_reader *reader, const char **value, const char *key,
                enum study_need need, size_t low, size_t high)
{
    const json_t *found = member(reader, key, need);
    if (found == NULL) {
        return need == STUDY_OPTIONAL;
    }
    if (!json_is_string(found)) {
        return study_problem(reader, key, "must be text");
    }
    size_t length = json_string_length(found);
    if (length < low || length > high) {
        return study_problem(reader, key, "must have %zu to %zu bytes, but has %zu", low, high,
                             length);
    }
    if (!tremolo_text_is_plain(json_string_value(found))) {
        return study_problem(reader, key,
                             "must not hold control characters, nor such that turn the "
                             "direction of writing");
    }
    *value = json_string_value(found);
    return true;
}

bool study_find(unsigned *place, const char *const *words, const char *word)
{
    for (unsigned i = 0; word != NULL && words[i] != NULL; i++) {
        if (strcmp(word, words[i]) == 0) {
            *place = i;
            return true;
        }
    }
    return false;
}

bool study_choice(struct study_reader *reader, unsigned *value, const char *key,
                  enum study_need need, const char *const *choices)
{
    const json_t *found = member(reader, key, need);
    if (found == NULL) {
        return need == STUDY_OPTIONAL;
    }
    if (study_find(value, choices, json_string_value(found))) {
        return true;
    }
    return choices[2] == NULL
               ? study_problem(reader, key, "must be \"%s\" or \"%s\"", choices[0], choices[1])
               : study_problem(reader, key, "must be \"%s\", \"%s\" or \"%s\"", choices[0],
                               choices[1], choices[2]);
}

bool study_date(struct study_reader *reader, int64_t *value, const char *key)
{
    const json_t *found = json_object_get(reader->at.value, key);
    if (found == NULL) {
        return true;
    }
    const char *text = json_string_value(found);
    if (text == NULL || !tremolo_study_date_read(value, text)) {
        return study_problem(reader, key,
                             "must be a date from 1970 to 9999 as \"2026-11-15\" or "
                             "\"2026-11-15T08:00:00Z\"");
    }
    return true;
}

/* ---------------------------------------------------------------- objects */

void study_only_keys(struct study_reader *reader, const char *const *keys)
{
    /* jansson's iterator wants a mutable object, though it changes nothing. */
    json_t *object = (json_t *)(uintptr_t)reader->at.value;
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        const char *key = json_object_iter_key(at);
        unsigned place;
        if (strcmp(key, "comment") == 0) {
            if (!json_is_string(json_object_iter_value(at))) {
                study_problem(reader, key, "must be text");
            }
        } else if (!study_find(&place, keys, key)) {
            study_problem(reader, key, "is not a key of a study");
        }
    }
}

bool study_open(struct study_reader *reader, struct study_place *before, const char *key,
                enum study_need need, const char *const *keys)
{
    const json_t *found = member(reader, key, need);
    if (found != NULL && !json_is_object(found)) {
        return study_problem(reader, key, "must be an object");
    }
    if (found == NULL) {
        return false;
    }
    *before = study_enter(reader, key);
    study_only_keys(reader, keys);
    return true;
}

/* ---------------------------------------------------------------- sections */

/* Wide enough for every unit, narrow enough that no width overflows. */
static const struct study_interval any_bound = {-1e100, 1e100, false, false};
static const struct study_interval positive = {0, 1e6, true, false};

enum { SENT_UNSAID = 2 };

static const struct tremolo_study_feature unread = {
    .name = "", .unit = "", .high = 1, .missing = NAN, .width = 1, .typical = NAN};

static void refuse_key(struct study_reader *reader, const char *key, const char *where)
{
    if (json_object_get(reader->at.value, key) != NULL) {
        study_problem(reader, key, "belongs to %s only", where);
    }
}

static void refuse_keys(struct study_reader *reader, const char *const *keys, const char *where)
{
    for (; *keys != NULL; keys++) {
        refuse_key(reader, *keys, where);
    }
}

static void read_name(struct study_reader *reader, struct tremolo_study_feature *feature)
{
    (void)study_text(reader, &feature->name, "name", STUDY_REQUIRED, 1, TREMOLO_STUDY_MAX_NAME);
    (void)study_text(reader, &feature->unit, "unit", STUDY_OPTIONAL, 0, TREMOLO_STUDY_MAX_NAME);
}

bool study_read_bounds(struct study_reader *reader, double *low, double *high)
{
    bool has_low = study_number(reader, low, "low", STUDY_REQUIRED, &any_bound);
    bool has_high = study_number(reader, high, "high", STUDY_REQUIRED, &any_bound);
    if (!has_low || !has_high) {
        return false;
    }
    double width = *high - *low;
    if (!(width > 0)) {
        return study_problem(reader, "high", "must be above low");
    }
    return width >= fmax(fabs(*low), fabs(*high)) * 1e-9 ||
           study_problem(reader, "high", "is too close to low to tell values apart");
}

/* What stands for a missing value. */
static void read_missing(struct study_reader *reader, struct tremolo_study_feature *feature)
{
    const json_t *missing = json_object_get(reader->at.value, "missing");
    const struct tremolo_input input = {
        .kind = feature->kind, .level = feature->levels, .levels = feature->level_count};
    if (missing == NULL) {
        return;
    }
    if (feature->kind == TREMOLO_STUDY_NUMERIC) {
        (void)study_number(reader, &feature->missing, "missing", STUDY_OPTIONAL, &any_bound);
    } else if (!json_is_string(missing) ||
               !tremolo_input_read(&feature->missing, &input, json_string_value(missing))) {
        study_problem(reader, "missing", "must be %s",
                      feature->kind == TREMOLO_STUDY_YES_NO ? "yes or no" : "one of the levels");
    }
}

static void read_levels(struct study_reader *reader, struct study_feature *feature)
{
    const json_t *levels = json_object_get(reader->at.value, "levels");
    size_t count = json_array_size(levels);
    if (!json_is_array(levels) || count < 2 || count > TREMOLO_STUDY_MAX_LEVELS) {
        study_problem(reader, "levels", "must be a list of 2 to %d names",
                      TREMOLO_STUDY_MAX_LEVELS);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct study_place before = study_enter_element(reader, "levels", i);
        const char *text = json_string_value(reader->at.value);
        size_t length = json_string_length(reader->at.value);
        if (text == NULL || length < 1 || length > TREMOLO_STUDY_MAX_NAME ||
            !tremolo_text_is_plain(text)) {
            study_problem(reader, "",
                          "must be a name of 1 to %d bytes without characters that control a line "
                          "or turn its direction",
                          TREMOLO_STUDY_MAX_NAME);
            text = "";
        }
        for (size_t j = 0; j < i && *text != '\0'; j++) {
            if (strcmp(feature->level[j], text) == 0) {
                study_problem(reader, "", "is the same as level %zu", j);
                break;
            }
        }
        study_leave(reader, before);
        feature->level[i] = text;
    }
    feature->shown.levels = feature->level;
    feature->shown.level_count = count;
}

/* What one expects of a person: noise on a ballot's moments is about that, and costs least there.
 * Bounds that are wrong bound nothing. */
static void read_typical(struct study_reader *reader, struct tremolo_study_feature *feature,
                         enum tremolo_release_kind release, bool bounded)
{
    const struct study_interval own = {feature->low, feature->high, false, false};
    if (release != TREMOLO_RELEASE_BALLOT) {
        refuse_key(reader, "typical", "ballots, \"release\": \"ballot\",");
    } else if (feature->kind == TREMOLO_STUDY_CATEGORY) {
        refuse_key(reader, "typical", "numbers and yes/no");
    } else {
        (void)study_number(reader, &feature->typical, "typical", STUDY_OPTIONAL,
                           bounded ? &own : &any_bound);
    }
}

static void read_feature(struct study_reader *reader, struct study_feature *feature,
                         enum tremolo_release_kind release)
{
    static const char *const keys[] = {"name",   "unit",    "kind",    "low", "high",
                                       "levels", "missing", "typical", NULL};
    struct tremolo_study_feature *shown = &feature->shown;
    unsigned kind = TREMOLO_STUDY_NUMERIC;
    bool bounded = true;
    *shown = unread;
    if (!json_is_object(reader->at.value)) {
        study_problem(reader, "", "must be an object");
        return;
    }
    study_only_keys(reader, keys);
    read_name(reader, shown);
    if (!study_choice(reader, &kind, "kind", STUDY_OPTIONAL, study_kinds)) {
        return;
    }
    shown->kind = (enum tremolo_study_kind)kind;
    if (kind == TREMOLO_STUDY_NUMERIC) {
        bounded = study_read_bounds(reader, &shown->low, &shown->high);
    } else {
        refuse_key(reader, "low", "numeric features");
        refuse_key(reader, "high", "numeric features");
    }
    if (kind == TREMOLO_STUDY_CATEGORY) {
        read_levels(reader, feature);
        shown->width = shown->level_count > 0 ? shown->level_count - 1 : 1;
    } else {
        refuse_key(reader, "levels", "categories");
    }
    read_missing(reader, shown);
    read_typical(reader, shown, release, bounded);
}

/* How it says that it is sent, by study_sent; SENT_UNSAID where it does not say. */
static unsigned read_response(struct study_reader *reader, struct tremolo_study_file *file)
{
    static const char *const keys[] = {"name", "unit", "low", "high", "sent", "kind", NULL};
    struct tremolo_study_feature *shown = &file->features[file->feature_count].shown;
    struct study_place before;
    unsigned sent = SENT_UNSAID;
    *shown = unread;
    if (study_open(reader, &before, "response", STUDY_REQUIRED, keys)) {
        read_name(reader, shown);
        (void)study_read_bounds(reader, &shown->low, &shown->high);
        (void)study_choice(reader, &sent, "sent", STUDY_OPTIONAL, study_sent);
        if (json_object_get(reader->at.value, "kind") != NULL) {
            study_problem(reader, "kind",
                          "belongs to features only, a response is a number; for yes and no leave "
                          "kind out, with low 0 and high 1, and write 1 for yes and 0 for no");
        }
        study_leave(reader, before);
    }
    return sent;
}

/* ---------------------------------------------------------------- privacy */

static void read_neighbours(struct study_reader *reader, struct tremolo_study_terms *terms)
{
    static const char *const keys[] = {"distance", NULL};
    const json_t *found = json_object_get(reader->at.value, "neighbours");
    const char *word = json_string_value(found);
    struct study_place before;
    if (found == NULL || (word != NULL && strcmp(word, "any") == 0)) {
        return;
    }
    if (!json_is_object(found)) {
        study_problem(reader, "neighbours", "must be \"any\" or {\"distance\": r}");
    } else if (study_open(reader, &before, "neighbours", STUDY_OPTIONAL, keys)) {
        (void)study_number(reader, &terms->distance, "distance", STUDY_REQUIRED, &positive);
        study_leave(reader, before);
    }
}

/* What only noisy samples have. Of a ballot, they and a distance would promise less than it
 * keeps. */
static const char *const sample_privacy[] = {"clip", NULL};
static const char *const sample_protocol[] = {"calibration", "vectors", "alpha", "lambda", "omega",
                                              "rounds",      "radius",  "step",  "close",  NULL};
static const char of_samples[] = "noisy samples, \"release\": \"sample\",";

static void read_ballot_privacy(struct study_reader *reader, struct tremolo_study_terms *terms)
{
    const json_t *delta = json_object_get(reader->at.value, "delta");
    refuse_keys(reader, sample_privacy, of_samples);
    terms->delta = 0;
    if (delta != NULL && !(json_is_number(delta) && json_number_value(delta) == 0)) {
        study_problem(reader, "delta",
                      "must be 0 or left out: a ballot keeps its epsilon without one");
    }
    if (terms->distance > 0) {
        study_problem(reader, "neighbours",
                      "must be \"any\": a ballot protects any two people, and a distance needs "
                      "\"release\": \"sample\"");
    }
}

static void read_privacy(struct study_reader *reader, struct tremolo_study_file *file,
                         unsigned sent)
{
    static const char *const keys[] = {"epsilon", "delta", "neighbours", "protects", "clip", NULL};
    static const struct study_interval epsilon = {0, 100, true, false};
    static const struct study_interval delta = {1e-12, 0.1, false, false};
    static const struct study_interval clip = {0, 1e3, true, false};
    struct tremolo_study_terms *terms = &file->terms;
    struct study_place before;
    unsigned protects = 0;
    if (!study_open(reader, &before, "privacy", STUDY_REQUIRED, keys)) {
        return;
    }
    (void)study_number(reader, &terms->epsilon, "epsilon", STUDY_REQUIRED, &epsilon);
    read_neighbours(reader, terms);
    if (terms->release == TREMOLO_RELEASE_BALLOT) {
        read_ballot_privacy(reader, terms);
    } else {
        (void)study_number(reader, &terms->delta, "delta", STUDY_OPTIONAL, &delta);
        (void)study_number(reader, &terms->clip, "clip", STUDY_OPTIONAL, &clip);
    }
    if (study_choice(reader, &protects, "protects", STUDY_REQUIRED, study_protects)) {
        terms->response_private = protects == 1;
        if (sent != SENT_UNSAID && sent != protects) {
            study_problem(reader, "protects", "is \"%s\", but the response is sent \"%s\"",
                          study_protects[protects], study_sent[sent]);
        }
    }
    if (terms->clip == 0) {
        terms->clip = sqrt((double)(file->dimension + terms->response_private));
    }
    if (terms->distance > 0 && tremolo_inputs_derive(file->inputs)) {
        study_problem(reader, "neighbours",
                      "must be \"any\" where terms are computed: how far apart two people are says "
                      "little of how far apart their terms are");
    }
    if (terms->release == TREMOLO_RELEASE_SAMPLE && terms->distance > 2 * terms->clip) {
        study_problem(reader, "neighbours.distance", "is more than twice the clip radius %g",
                      terms->clip);
    }
    study_leave(reader, before);
}

/* ---------------------------------------------------------------- protocol */

static void read_modulation(struct study_reader *reader, struct tremolo_study_file *file)
{
    static const struct study_interval share = {0, 1, false, true};
    struct tremolo_study_terms *terms = &file->terms;
    uint64_t vectors = 0;
    /* Iterative vectors are orthogonal to the coefficients. */
    uint64_t most = file->dimension - (terms->protocol == TREMOLO_STUDY_ITERATIVE ? 1 : 0);
    if (!study_whole(reader, &vectors, "vectors", STUDY_OPTIONAL, 0, most)) {
        return;
    }
    terms->vectors = (unsigned)vectors;
    (void)study_number(reader, &terms->alpha, "alpha", STUDY_OPTIONAL, &share);
    if (vectors > 0) {
        (void)study_number(reader, &terms->lambda, "lambda", STUDY_REQUIRED, &positive);
        (void)study_number(reader, &terms->omega, "omega", STUDY_REQUIRED, &positive);
    } else {
        refuse_key(reader, "lambda", "studies with vectors");
        refuse_key(reader, "omega", "studies with vectors");
    }
}

static void read_rounds(struct study_reader *reader, struct tremolo_study_terms *terms)
{
    static const char *const close_keys[] = {"reports", "seconds", NULL};
    struct study_place before;
    uint64_t rounds = 1;
    terms->radius = 1;
    terms->step = 1;
    (void)study_whole(reader, &rounds, "rounds", STUDY_REQUIRED, 1, STUDY_MAX_ROUNDS);
    terms->rounds = (unsigned)rounds;
    (void)study_number(reader, &terms->radius, "radius", STUDY_OPTIONAL, &positive);
    (void)study_number(reader, &terms->step, "step", STUDY_OPTIONAL, &positive);
    if (study_open(reader, &before, "close", STUDY_OPTIONAL, close_keys)) {
        (void)study_whole(reader, &terms->close_reports, "reports", STUDY_OPTIONAL, 1,
                          UINT64_C(1000000000000));
        (void)study_whole(reader, &terms->close_seconds, "seconds", STUDY_OPTIONAL, 1,
                          UINT64_C(1000000000));
        study_leave(reader, before);
    }
}

static bool has_any(const json_t *object, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        if (json_object_get(object, *keys) != NULL) {
            return true;
        }
    }
    return false;
}

/* A file that names no release means ballots when any two people are neighbours, unless
 * it says what only noisy samples have. */
static enum tremolo_release_kind default_release(const json_t *root)
{
    const json_t *privacy = json_object_get(root, "privacy");
    const json_t *protocol = json_object_get(root, "protocol");
    const json_t *mechanism = json_object_get(root, "mechanism");
    const json_t *neighbours = json_object_get(privacy, "neighbours");
    const char *kind = json_string_value(json_object_get(protocol, "kind"));
    bool delta = json_number_value(json_object_get(privacy, "delta")) > 0;
    bool sample = delta || json_object_get(mechanism, "noise_log2") != NULL ||
                  has_any(privacy, sample_privacy) || has_any(protocol, sample_protocol) ||
                  (kind != NULL && strcmp(kind, study_protocols[TREMOLO_STUDY_ONE_SHOT]) != 0);
    /* Files older than ballots could leave neighbours out, and keep their ids; those that
     * name any two people and nothing of noisy samples are ballots from now on. */
    return json_is_string(neighbours) && !sample ? TREMOLO_RELEASE_BALLOT : TREMOLO_RELEASE_SAMPLE;
}

/* Read first: what else a file may say depends on it. */
static void read_release(struct study_reader *reader, struct tremolo_study_file *file)
{
    unsigned release = default_release(file->root);
    struct study_place before = study_enter(reader, "protocol");
    (void)study_choice(reader, &release, "release", STUDY_OPTIONAL, study_releases);
    study_leave(reader, before);
    file->terms.release = (enum tremolo_release_kind)release;
}

static void read_ballot_protocol(struct study_reader *reader)
{
    unsigned kind = TREMOLO_STUDY_ONE_SHOT;
    refuse_keys(reader, sample_protocol, of_samples);
    if (study_choice(reader, &kind, "kind", STUDY_OPTIONAL, study_protocols) &&
        kind == TREMOLO_STUDY_ITERATIVE) {
        study_problem(reader, "kind",
                      "must be \"one-shot\": a device answers one ballot for each sample, and "
                      "rounds need \"release\": \"sample\"");
    }
}

static void read_sample_protocol(struct study_reader *reader, struct tremolo_study_file *file)
{
    static const char *const iterative_only[] = {"rounds", "radius", "step", "close", NULL};
    struct tremolo_study_terms *terms = &file->terms;
    unsigned kind = TREMOLO_STUDY_ONE_SHOT;
    unsigned calibration = TREMOLO_CALIBRATION_EXACT;
    (void)study_choice(reader, &calibration, "calibration", STUDY_OPTIONAL,
                       tremolo_calibration_names);
    terms->calibration = (enum tremolo_calibration)calibration;
    if (!study_choice(reader, &kind, "kind", STUDY_REQUIRED, study_protocols)) {
        return;
    }
    terms->protocol = (enum tremolo_study_protocol)kind;
    if (kind == TREMOLO_STUDY_ITERATIVE) {
        read_rounds(reader, terms);
    } else {
        refuse_keys(reader, iterative_only, "iterative studies");
    }
    read_modulation(reader, file);
}

static void read_protocol(struct study_reader *reader, struct tremolo_study_file *file)
{
    static const char *const keys[] = {"kind",   "release", "calibration", "vectors",
                                       "alpha",  "lambda",  "omega",       "rounds",
                                       "radius", "step",    "close",       NULL};
    struct study_place before;
    file->terms.rounds = 1;
    if (!study_open(reader, &before, "protocol", STUDY_REQUIRED, keys)) {
        return;
    }
    if (file->terms.release == TREMOLO_RELEASE_BALLOT) {
        read_ballot_protocol(reader);
    } else {
        read_sample_protocol(reader, file);
    }
    study_leave(reader, before);
}

/* ---------------------------------------------------------------- limits */

static void read_limits(struct study_reader *reader, struct tremolo_study_file *file)
{
    static const char *const keys[] = {"devices", "samples", "opens", "closes", "enrolment", NULL};
    struct tremolo_study_terms *terms = &file->terms;
    struct study_place before;
    uint64_t samples = 1;
    unsigned enrolment = TREMOLO_STUDY_OPEN;
    terms->devices = TREMOLO_STUDY_MAX_DEVICES;
    terms->samples = 1;
    terms->opens = INT64_MIN;
    terms->closes = INT64_MAX;
    if (!study_open(reader, &before, "limits", STUDY_OPTIONAL, keys)) {
        return;
    }
    (void)study_whole(reader, &terms->devices, "devices", STUDY_OPTIONAL, 1,
                      TREMOLO_STUDY_MAX_DEVICES);
    (void)study_whole(reader, &samples, "samples", STUDY_OPTIONAL, 1, TREMOLO_STUDY_MAX_SAMPLES);
    terms->samples = (unsigned)samples;
    if (samples * terms->rounds > UINT16_MAX) {
        study_problem(reader, "samples", "times the rounds is more than 65535 releases");
    }
    bool opens = study_date(reader, &terms->opens, "opens");
    bool closes = study_date(reader, &terms->closes, "closes");
    if (opens && closes && terms->opens >= terms->closes) {
        study_problem(reader, "closes", "must be after opens");
    }
    (void)study_choice(reader, &enrolment, "enrolment", STUDY_OPTIONAL, study_enrolments);
    terms->enrolment = (enum tremolo_study_enrolment)enrolment;
    study_leave(reader, before);
}

/* ---------------------------------------------------------------- all */

static void read_head(struct study_reader *reader, struct tremolo_study_file *file)
{
    static const char *const keys[] = {"$schema",  "tremolo", "title",     "purpose",
                                       "features", "terms",   "response",  "privacy",
                                       "protocol", "limits",  "mechanism", NULL};
    uint64_t version = STUDY_VERSION;
    file->terms.title = "";
    file->terms.purpose = "";
    study_only_keys(reader, keys);
    (void)study_whole(reader, &version, "tremolo", STUDY_REQUIRED, STUDY_VERSION, STUDY_VERSION);
    (void)study_text(reader, &file->terms.title, "title", STUDY_REQUIRED, 1,
                     TREMOLO_STUDY_MAX_TITLE);
    (void)study_text(reader, &file->terms.purpose, "purpose", STUDY_OPTIONAL, 0,
                     TREMOLO_STUDY_MAX_PURPOSE);
}

static void read_sections(struct study_reader *reader, struct tremolo_study_file *file)
{
    reader->at.value = file->root;
    read_head(reader, file);
    read_release(reader, file);
    if (file->feature_count == 0) {
        study_problem(reader, "features", "must be a list of 1 to %d features",
                      TREMOLO_MAX_DIMENSION);
    }
    for (size_t i = 0; i < file->feature_count; i++) {
        struct study_place before = study_enter_element(reader, "features", i);
        read_feature(reader, &file->features[i], file->terms.release);
        study_leave(reader, before);
    }
    unsigned sent = read_response(reader, file);
    if (!study_expand(reader, file) || file->dimension == 0) {
        /* What follows is read for its own problems only: no limit that depends on
         * the features shall be one. */
        file->dimension = TREMOLO_MAX_DIMENSION;
    }
    study_check_names(reader, file);
    file->terms.delta = 1e-5;
    read_privacy(reader, file, sent);
    read_protocol(reader, file);
    read_limits(reader, file);
}

/* ---------------------------------------------------------------- files */

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
    read_sections(&reader, made);
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

const struct tremolo_inputs *tremolo_study_file_inputs(const struct tremolo_study_file *file)
{
    return file->inputs;
}
