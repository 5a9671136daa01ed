/* study_table.c -- a study as one table of keys, which reads, checks, writes, hashes and describes it.
 *
 * A new key is a row: name, type, limits, place in the struct, the condition under which it belongs to
 * a study, how it enters the id, and its meaning in words, which are the schema's description and the
 * starter's comment. The rows are in the order of the encoding (docs/reference/protocol.md, section 2).
 * What depends on several keys is checked after reading, in check_together(); the coordinates of
 * features and terms are in expand.c, the device's integers in mechanism.c.
 *
 * A typical range, of a feature and of the response, is one that nine of ten people lie in
 * (TREMOLO_STUDY_TYPICAL). It is described in words, because bounds that are read off the data of a
 * study are not private; a simulation takes the quantiles from 5% to 95%. Half a range is a ballot's
 * unit, so a wider one makes effects smaller relative to the noise: a normal response needs twice the
 * devices when 98 of 100 lie within. Devices clip a response outside its range, which draws slopes to
 * zero by about a tenth; a range that about 99 of 100 lie in avoids that and takes more devices. */
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study_file.h"

enum {
    STUDY_VERSION = 1,
    STUDY_VERSION_BALLOT = 2,  /* of the encoding alone: studies of samples keep their ids */
    STUDY_VERSION_DERIVED = 2, /* more, with terms or values that replace missing ones */
    STUDY_VERSION_TYPICAL = 4, /* more, where a ballot's ranges need not be the written ones */
};

static const char *const sent_words[] = {"public", "private", NULL};
static const char *const protocol_words[] = {"one-shot", "iterative", NULL};
static const char *const release_words[] = {"sample", "ballot", NULL};
static const char *const enrolment_words[] = {"open", "keys", NULL};

/* Short names for this table. */
enum {
    OPTIONAL = DOCUMENT_OPTIONAL,
    ELSEWHERE = DOCUMENT_ELSEWHERE,
    SPARSE = DOCUMENT_SPARSE,
    DECIDES = DOCUMENT_DECIDES,
    ABOVE = DOCUMENT_ABOVE,
    BELOW = DOCUMENT_BELOW,
};

/* ---------------------------------------------------------------- conditions */

/* A condition for members that are skipped after a wrong member that decides, such as the kind. */
static bool is_always(const void *of)
{
    (void)of;
    return true;
}

/* Of features. They are read in the order of the rows, so the kind is known when these are asked. */
static bool is_numeric(const void *of)
{
    return ((const struct study_feature *)of)->shown.kind == TREMOLO_STUDY_NUMERIC;
}

static bool is_category(const void *of)
{
    return ((const struct study_feature *)of)->shown.kind == TREMOLO_STUDY_CATEGORY;
}

static bool takes_typical(const void *of)
{
    return ((const struct study_feature *)of)->ballot && !is_category(of);
}

/* Of terms; the release is known before anything is read. */
static bool is_sample(const void *of)
{
    return ((const struct tremolo_study_terms *)of)->release == TREMOLO_RELEASE_SAMPLE;
}

static bool is_iterative(const void *of)
{
    return is_sample(of) &&
           ((const struct tremolo_study_terms *)of)->protocol == TREMOLO_STUDY_ITERATIVE;
}

static bool is_modulated(const void *of)
{
    return ((const struct tremolo_study_terms *)of)->vectors > 0;
}

#define OF_SAMPLES   "belongs to noisy samples, \"release\": \"sample\", only"
#define OF_ITERATIVE "belongs to iterative studies of noisy samples only"

/* ---------------------------------------------------------------- features */

static json_t *missing_json(const void *of)
{
    return input_missing_json(&((const struct study_feature *)of)->shown);
}

/* What replaces a missing value has the feature's own kind. */
static bool read_missing(struct document_reader *reader, const struct document_row *row, void *into)
{
    struct tremolo_study_feature *feature = &((struct study_feature *)into)->shown;
    const json_t *missing = json_object_get(reader->at.value, row->key);
    double *value = &feature->missing;
    bool number = feature->kind == TREMOLO_STUDY_NUMERIC;
    *value = NAN;
    if (missing == NULL) {
        return true;
    }
    if (number) {
        *value = json_latch_value(missing) + 0.0; /* minus zero becomes zero */
        return fabs(*value) <= 1e100 ||
               document_problem(reader, row->key, "must be a number from -1e100 to 1e100");
    }
    return (json_is_string(missing) &&
            tremolo_input_read(value, feature, json_string_value(missing))) ||
           document_problem(reader, row->key, "must be %s",
                            feature->kind == TREMOLO_STUDY_YES_NO ? "yes or no"
                                                                  : "one of the levels");
}

/* Each level is checked at its own place in the list. Levels that are wrong count as "", so that the
 * number of coordinates is right for later checks. */
static bool read_levels(struct document_reader *reader, const struct document_row *row, void *into)
{
    struct study_feature *feature = into;
    const json_t *levels = json_object_get(reader->at.value, row->key);
    size_t count = json_array_size(levels);
    if (!json_is_array(levels) || count < 2 || count > TREMOLO_STUDY_MAX_LEVELS) {
        return document_problem(reader, row->key, "must be a list of 2 to %d names",
                                TREMOLO_STUDY_MAX_LEVELS);
    }
    for (size_t i = 0; i < count; i++) {
        struct document_place before = document_enter_element(reader, row->key, i);
        const char *text = json_string_value(reader->at.value);
        size_t length = json_string_length(reader->at.value);
        if (text == NULL || length < 1 || length > TREMOLO_STUDY_MAX_NAME ||
            !tremolo_text_is_plain(text)) {
            document_problem(reader, "",
                             "must be a name of 1 to %d bytes without characters that control a "
                             "line or turn its direction",
                             TREMOLO_STUDY_MAX_NAME);
            text = "";
        }
        for (size_t j = 0; j < i && *text != '\0'; j++) {
            if (strcmp(feature->level[j], text) == 0) {
                document_problem(reader, "", "is the same as level %zu", j);
                break;
            }
        }
        document_leave(reader, before);
        feature->level[i] = text;
    }
    feature->shown.levels = feature->level;
    feature->shown.level_count = count;
    feature->shown.width = count - 1;
    return true;
}

/* For rows that another part reads. */
static bool skip(struct document_reader *reader, const struct document_row *row, void *into)
{
    (void)reader;
    (void)row;
    (void)into;
    return true;
}

/* For people, in every object; only starters write one. */
#define COMMENT_IS      "{\"description\": \"for people; ignored\"}"
#define COMMENT         DOCUMENT_ROW("comment", ANY, OPTIONAL | ELSEWHERE, .rules = COMMENT_IS)
#define FEATURE(member) DOCUMENT_AT(struct study_feature, member)
#define NAME_ROWS                                                                                  \
    DOCUMENT_ROW("comment", TEXT, OPTIONAL | SPARSE, FEATURE(comment), .read = skip,               \
                 .rules = COMMENT_IS),                                                             \
        DOCUMENT_ROW("name", TEXT, 0, FEATURE(shown.name), .low = 1,                               \
                     .high = TREMOLO_STUDY_MAX_NAME, .id = STUDY_ID),                              \
        DOCUMENT_ROW("unit", TEXT, OPTIONAL, FEATURE(shown.unit), .high = TREMOLO_STUDY_MAX_NAME,  \
                     .id = STUDY_ID)
/* Wide enough for every unit, narrow enough that no width overflows. */
#define ANY_BOUND .low = -1e100, .high = 1e100

static const struct document_row level_row = {
    .type = DOCUMENT_TEXT, .bytes = sizeof(const char *), .low = 1, .high = TREMOLO_STUDY_MAX_NAME};

static const struct document_row feature_rows[] = {
    NAME_ROWS,
    DOCUMENT_ROW("kind", CHOICE, OPTIONAL | DECIDES, FEATURE(shown.kind), .choices = study_kinds,
                 .id = STUDY_ID,
                 .words =
                     "numeric, or yes-no, or category with a list of levels; numeric unless given"),
    DOCUMENT_ROW("low", REAL, 0, FEATURE(shown.low), .when = is_numeric,
                 .otherwise = "belongs to numeric features only", ANY_BOUND, .fallback = NAN,
                 .id = STUDY_ID,
                 .words = "the lower end of a typical range, in which " TREMOLO_STUDY_TYPICAL
                          "; choose it from common knowledge, never from the data"),
    DOCUMENT_ROW(
        "high", REAL, 0, FEATURE(shown.high), .when = is_numeric,
        .otherwise = "belongs to numeric features only", ANY_BOUND, .fallback = NAN, .id = STUDY_ID,
        .words = "its upper end; a value outside counts as it is, up to eight half ranges from the "
                 "middle, and weighs less; each feature costs all others precision"),
    DOCUMENT_ROW(
        "levels", LIST, 0, DOCUMENT_LIST_AT(struct study_feature, shown.levels, shown.level_count),
        .read = read_levels, .when = is_category, .otherwise = "belongs to categories only",
        .element = &level_row, .low = 2, .high = TREMOLO_STUDY_MAX_LEVELS, .id = STUDY_ID,
        .words = "of a category; the first is the reference, best the most common one: noise costs "
                 "it least"),
    DOCUMENT_ROW(
        "missing", ANY, OPTIONAL | SPARSE, FEATURE(shown.missing), .make = missing_json,
        .read = read_missing, .when = is_always, .fallback = NAN,
        .words = "what replaces a missing value: a number, one of the levels, yes or no; a sample "
                 "without the value is refused otherwise",
        .rules = "{\"type\": [\"number\", \"string\"]}"),
    DOCUMENT_ROW(
        "typical", REAL, OPTIONAL | SPARSE, FEATURE(shown.typical), .when = takes_typical,
        .otherwise = "belongs to ballots, \"release\": \"ballot\", and there to numbers and yes/no "
                     "only",
        ANY_BOUND, .fallback = NAN,
        .words =
            "ballots only: what you would guess of a person, the average as far as it is "
            "publicly known, between low and high; of yes/no the share that says yes. The nearer "
            "to the truth, the fewer devices it takes; privacy does not depend on it"),
    {.key = NULL}};

/* The conditions of the rows above in the schema's own words, for editors. */
static const char feature_rules[] =
    "{\"allOf\": ["
    "{\"if\": {\"properties\": {\"kind\": {\"const\": \"category\"}}, \"required\": [\"kind\"]},"
    " \"then\": {\"required\": [\"levels\"],"
    " \"properties\": {\"low\": false, \"high\": false, \"typical\": false}}},"
    "{\"if\": {\"properties\": {\"kind\": {\"const\": \"yes-no\"}}, \"required\": [\"kind\"]},"
    " \"then\": {\"properties\": {\"low\": false, \"high\": false, \"levels\": false}}},"
    "{\"if\": {\"not\": {\"properties\": {\"kind\": {\"enum\": [\"category\", \"yes-no\"]}},"
    " \"required\": [\"kind\"]}},"
    " \"then\": {\"required\": [\"low\", \"high\"], \"properties\": {\"levels\": false}}}]}";

static const struct document_row response_rows[] = {
    NAME_ROWS,
    DOCUMENT_ROW("low", REAL, 0, FEATURE(shown.low), ANY_BOUND, .fallback = NAN, .id = STUDY_ID,
                 .words = "the lower end of a typical range, in which " TREMOLO_STUDY_TYPICAL),
    DOCUMENT_ROW(
        "high", REAL, 0, FEATURE(shown.high), ANY_BOUND, .fallback = NAN, .id = STUDY_ID,
        .words =
            "its upper end; a response outside is clipped, which draws effects to zero by about "
            "the share outside. Where their size matters, choose a range that about 99 of 100 "
            "lie in, which takes two to three times the devices"),
    DOCUMENT_ROW("sent", CHOICE, OPTIONAL, FEATURE(sent), .choices = sent_words,
                 .fallback = STUDY_SENT_UNSAID, .words = "must agree with privacy.protects"),
    DOCUMENT_ROW(
        "kind", ANY, DOCUMENT_SECRET,
        .otherwise =
            "belongs to features only, a response is a number; for yes and no leave kind out, "
            "with low 0 and high 1, and write 1 for yes and 0 for no"),
    {.key = NULL}};

/* ---------------------------------------------------------------- privacy */

#define TERM(member) DOCUMENT_AT(struct tremolo_study_terms, member)

static const struct document_row distance_rows[] = {
    COMMENT,
    DOCUMENT_ROW("distance", REAL, ABOVE, TERM(distance), .high = 1e6, .words = "in half ranges"),
    {.key = NULL}};

static json_t *neighbours_json(const void *of)
{
    return ((const struct tremolo_study_terms *)of)->distance > 0 ? document_json(distance_rows, of)
                                                                  : json_string("any");
}

/* Left out it means any two people. */
static bool read_neighbours(struct document_reader *reader, const struct document_row *row,
                            void *into)
{
    const json_t *found = json_object_get(reader->at.value, row->key);
    const char *word = json_string_value(found);
    if (found == NULL || (word != NULL && strcmp(word, "any") == 0)) {
        return true;
    }
    if (!json_is_object(found)) {
        return document_problem(reader, row->key, "must be \"any\" or {\"distance\": r}");
    }
    struct document_place before = document_enter(reader, row->key);
    document_read(reader, distance_rows, into);
    document_leave(reader, before);
    return true;
}

/* A ballot has none, and published ballots say 0. */
static bool read_delta(struct document_reader *reader, const struct document_row *row, void *into)
{
    const json_t *delta = json_object_get(reader->at.value, row->key);
    if (is_sample(into)) {
        return document_read_member(reader, row, into);
    }
    return delta == NULL || (json_is_number(delta) && json_number_value(delta) == 0) ||
           document_problem(reader, row->key,
                            "must be 0 or left out: a ballot keeps its epsilon without one");
}

static const struct document_row privacy_rows[] = {
    COMMENT,
    DOCUMENT_ROW("epsilon", REAL, ABOVE, TERM(epsilon), .high = 100, .id = STUDY_ID,
                 .words = "of a device, all releases together"),
    DOCUMENT_ROW("delta", REAL, OPTIONAL, TERM(delta), .read = read_delta, .low = 1e-12,
                 .high = 0.1, .fallback = 1e-5, .id = STUDY_ID_SAMPLE,
                 .words = "of noisy samples; 0 for ballots", .rules = "{\"minimum\": 0}"),
    DOCUMENT_ROW("neighbours", ANY, OPTIONAL, TERM(distance), .make = neighbours_json,
                 .read = read_neighbours, .id = STUDY_ID_SAMPLE, .rows = distance_rows,
                 .words = "'any' two people, or only people within {'distance': r} "
                          "half ranges of each other, which is far less",
                 .rules = "{\"const\": \"any\"}"),
    DOCUMENT_ROW("clip", REAL, OPTIONAL | ABOVE, TERM(clip), .when = is_sample,
                 .otherwise = OF_SAMPLES, .high = 1e3, .id = STUDY_ID_SAMPLE,
                 .words = "samples are shortened to this norm, in half ranges"),
    DOCUMENT_ROW("protects", CHOICE, 0, TERM(response_private), .choices = study_protects,
                 .id = STUDY_ID, .words = "all, or features when everybody's response may be seen"),
    {.key = NULL}};

/* ---------------------------------------------------------------- protocol */

/* Optional for ballots, which are always one-shot. */
static bool read_kind(struct document_reader *reader, const struct document_row *row, void *into)
{
    struct tremolo_study_terms *terms = into;
    if (json_object_get(reader->at.value, row->key) == NULL) {
        return !is_sample(terms) || document_problem(reader, row->key, "is required");
    }
    bool good = document_read_member(reader, row, into);
    if (terms->release == TREMOLO_RELEASE_BALLOT && terms->protocol == TREMOLO_STUDY_ITERATIVE) {
        terms->protocol = TREMOLO_STUDY_ONE_SHOT;
        document_problem(reader, row->key,
                         "must be \"one-shot\": a device answers one ballot for each sample, and "
                         "rounds need \"release\": \"sample\"");
    }
    return good;
}

static const struct document_row close_rows[] = {
    COMMENT,
    DOCUMENT_ROW("reports", WHOLE, OPTIONAL | SPARSE, TERM(close_reports), .low = 1, .high = 1e12,
                 .id = STUDY_ID_SAMPLE, .words = "close a round at so many"),
    DOCUMENT_ROW("seconds", WHOLE, OPTIONAL | SPARSE, TERM(close_seconds), .low = 1, .high = 1e9,
                 .id = STUDY_ID_SAMPLE, .words = "close a round after so long"),
    {.key = NULL}};

static const struct document_row protocol_rows[] = {
    COMMENT,
    DOCUMENT_ROW(
        "release", CHOICE, OPTIONAL | DECIDES, TERM(release), .choices = release_words,
        .id = STUDY_ID_BALLOT,
        .words = "ballot: one random answer about the sample. sample: the sample with noise, for "
                 "distances, with rounds and modulation"),
    DOCUMENT_ROW("kind", CHOICE, OPTIONAL | DECIDES, TERM(protocol), .read = read_kind,
                 .choices = protocol_words, .id = STUDY_ID_SAMPLE,
                 .words = "one-shot, or iterative with rounds of noisy samples"),
    DOCUMENT_ROW("calibration", CHOICE, OPTIONAL, TERM(calibration), .when = is_sample,
                 .otherwise = OF_SAMPLES, .choices = tremolo_calibration_names,
                 .id = STUDY_ID_SAMPLE),
    DOCUMENT_ROW("rounds", WHOLE, 0, TERM(rounds), .when = is_iterative, .otherwise = OF_ITERATIVE,
                 .low = 1, .high = STUDY_MAX_ROUNDS, .fallback = 1, .id = STUDY_ID_SAMPLE,
                 .words = "of an iterative study"),
    DOCUMENT_ROW("vectors", WHOLE, OPTIONAL | DECIDES, TERM(vectors), .when = is_sample,
                 .otherwise = OF_SAMPLES, .high = TREMOLO_MAX_DIMENSION, .id = STUDY_ID_SAMPLE,
                 .words = "of the modulation"),
    DOCUMENT_ROW("alpha", REAL, OPTIONAL | BELOW, TERM(alpha), .when = is_sample,
                 .otherwise = OF_SAMPLES, .high = 1, .id = STUDY_ID_SAMPLE,
                 .words = "share of the sample that the modulation takes away"),
    DOCUMENT_ROW("lambda", REAL, ABOVE, TERM(lambda), .when = is_modulated,
                 .otherwise = "belongs to studies with vectors only", .high = 1e6,
                 .id = STUDY_ID_SAMPLE, .words = "amplitude of the modulation, scaled"),
    DOCUMENT_ROW("omega", REAL, ABOVE, TERM(omega), .when = is_modulated,
                 .otherwise = "belongs to studies with vectors only", .high = 1e6,
                 .id = STUDY_ID_SAMPLE, .words = "its frequency"),
    DOCUMENT_ROW("radius", REAL, OPTIONAL | ABOVE, TERM(radius), .when = is_iterative,
                 .otherwise = OF_ITERATIVE, .high = 1e6, .fallback = 1, .id = STUDY_ID_SAMPLE,
                 .words = "ball that coefficients are kept in"),
    DOCUMENT_ROW("step", REAL, OPTIONAL | ABOVE, TERM(step), .when = is_iterative,
                 .otherwise = OF_ITERATIVE, .high = 1e6, .fallback = 1, .id = STUDY_ID_SAMPLE,
                 .words = "of the iteration, over |S|"),
    DOCUMENT_ROW("close", OBJECT, OPTIONAL, .when = is_iterative, .otherwise = OF_ITERATIVE,
                 .rows = close_rows, .id = STUDY_ID_SAMPLE),
    {.key = NULL}};

/* ---------------------------------------------------------------- limits */

static const struct document_row limits_rows[] = {
    COMMENT,
    DOCUMENT_ROW(
        "devices", WHOLE, OPTIONAL, TERM(devices), .low = 1, .high = TREMOLO_STUDY_MAX_DEVICES,
        .fallback = TREMOLO_STUDY_MAX_DEVICES, .id = STUDY_ID,
        .words = "that may report at most; 'tremolo plan --study' says what so many will teach"),
    DOCUMENT_ROW("samples", WHOLE, OPTIONAL, TERM(samples), .low = 1,
                 .high = TREMOLO_STUDY_MAX_SAMPLES, .fallback = 1, .id = STUDY_ID,
                 .words = "of a device in each round"),
    DOCUMENT_ROW("opens", DATE, OPTIONAL | SPARSE, TERM(opens), .fallback = -INFINITY,
                 .id = STUDY_ID),
    DOCUMENT_ROW("closes", DATE, OPTIONAL | SPARSE, TERM(closes), .fallback = INFINITY,
                 .id = STUDY_ID),
    DOCUMENT_ROW(
        "enrolment", CHOICE, OPTIONAL, TERM(enrolment), .choices = enrolment_words, .id = STUDY_ID,
        .words = "'open' lets anybody report, as often as they like, so a few liars can turn the "
                 "result; 'keys' takes reports of devices you enrolled, limits.samples of each"),
    {.key = NULL}};

/* ---------------------------------------------------------------- the study */

/* The list's length was bounded when its memory was allocated; a list of another length counts as
 * none. Bounds and what is typical are compared here, since a row sees one value only. */
static bool read_features(struct document_reader *reader, const struct document_row *row,
                          void *into)
{
    static const struct tremolo_study_feature unread = {
        .name = "", .unit = "", .high = 1, .missing = NAN, .width = 1, .typical = NAN};
    struct tremolo_study_file *file = into;
    for (size_t i = 0; i <= file->feature_count; i++) {
        file->features[i].shown = unread;
        file->features[i].sent = STUDY_SENT_UNSAID;
        file->features[i].ballot = file->terms.release == TREMOLO_RELEASE_BALLOT;
    }
    if (file->feature_count == 0) {
        return document_problem(reader, row->key, "must be a list of 1 to %d features",
                                TREMOLO_MAX_DIMENSION);
    }
    for (size_t i = 0; i < file->feature_count; i++) {
        struct document_place before = document_enter_element(reader, row->key, i);
        struct tremolo_study_feature *feature = &file->features[i].shown;
        if (!json_is_object(reader->at.value)) {
            document_problem(reader, "", "must be an object");
        } else {
            document_read(reader, feature_rows, &file->features[i]);
        }
        bool number = feature->kind == TREMOLO_STUDY_NUMERIC;
        if (study_check_bounds(reader, feature->low, feature->high) &&
            (feature->typical < feature->low || feature->typical > feature->high)) {
            document_problem(reader, "typical", "must be at least %g and at most %g, but is %g",
                             feature->low, feature->high, feature->typical);
        }
        /* Coordinates of wrong bounds are not looked at, but must have some. */
        feature->high = number || feature->high > 0 ? feature->high : 1;
        document_leave(reader, before);
    }
    return true;
}

/* The response has bounds as a numeric feature has, and no kind. */
static bool read_response(struct document_reader *reader, const struct document_row *row,
                          void *into)
{
    struct tremolo_study_file *file = into;
    bool good = document_read_member(reader, row, into);
    struct document_place before = document_enter(reader, row->key);
    good =
        study_check_bounds(reader, file->response->shown.low, file->response->shown.high) && good;
    document_leave(reader, before);
    return good;
}

/* Features and response are read: coordinates follow, on which later limits depend. */
static bool read_terms(struct document_reader *reader, const struct document_row *row, void *into)
{
    struct tremolo_study_file *file = into;
    (void)row;
    study_expand(reader, file);
    return true;
}

/* A term without bounds is written as text alone, as people write it. */
static json_t *term_json(const void *of)
{
    const struct study_term *term = of;
    return isnan(term->low) ? json_string(term->text) : document_json(study_term_rows, term);
}

static json_t *mechanism_json(const void *of)
{
    const struct tremolo_study_file *file = of;
    return document_json(study_integers_of(file->terms.release), &file->device);
}

#define PART(member) DOCUMENT_AT(struct tremolo_study_file, member)

static const struct document_row term_row = {
    .make = term_json,
    .rows = study_term_rows,
    .rules = "{\"type\": \"string\", \"minLength\": 1, \"maxLength\": 512,"
             " \"description\": \"a feature as it is, as in age or C(platform)\"}"};

const struct document_row study_rows[] = {
    COMMENT,
    DOCUMENT_ROW("$schema", ANY, OPTIONAL | ELSEWHERE,
                 .words = "where this schema is, for editors; ignored",
                 .rules = "{\"type\": \"string\"}"),
    DOCUMENT_ROW("tremolo", CONST, 0, .low = STUDY_VERSION),
    DOCUMENT_ROW("title", TEXT, 0, PART(terms.title), .low = 1, .high = TREMOLO_STUDY_MAX_TITLE),
    DOCUMENT_ROW("purpose", TEXT, OPTIONAL, PART(terms.purpose), .high = TREMOLO_STUDY_MAX_PURPOSE),
    DOCUMENT_ROW("features", LIST, 0,
                 DOCUMENT_LIST_AT(struct tremolo_study_file, features, feature_count),
                 .read = read_features, .rows = feature_rows, .low = 1,
                 .high = TREMOLO_MAX_DIMENSION, .id = STUDY_ID),
    DOCUMENT_ROW("response", OBJECT, DOCUMENT_POINTER, PART(response), .read = read_response,
                 .rows = response_rows),
    DOCUMENT_ROW(
        "terms", LIST, OPTIONAL | SPARSE,
        DOCUMENT_LIST_AT(struct tremolo_study_file, term, term_count), .read = read_terms,
        .element = &term_row, .low = 1, .high = TREMOLO_TERMS_MAX,
        .words =
            "features that devices compute from those above, which are then what a device asks "
            "for"),
    DOCUMENT_ROW("privacy", OBJECT, 0, PART(terms), .rows = privacy_rows),
    DOCUMENT_ROW("protocol", OBJECT, 0, PART(terms), .rows = protocol_rows),
    DOCUMENT_ROW("limits", OBJECT, OPTIONAL, PART(terms), .rows = limits_rows),
    DOCUMENT_ROW("mechanism", ANY, OPTIONAL, .make = mechanism_json,
                 .read = skip, /* study_read_mechanism() does it, after everything else */
                 .words = "the device's integers, as a published study has them",
                 .rules =
                     "{\"type\": \"object\", \"additionalProperties\": {\"type\": \"integer\"}}"),
    {.key = NULL}};

/* What the rows cannot say of features is added: which members each kind has. */
json_t *study_schema(void)
{
    json_t *schema = document_schema(
        study_rows,
        "{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\","
        " \"$id\": \"https://tremolo.invalid/study.schema.json\","
        " \"title\": \"A tremolo study\","
        " \"description\": \"What everybody agreed on; docs/reference/protocol.md says more."
        " 'tremolo study check' has the last word: it also checks what depends on several members."
        " \\\"$schema\\\" and comments are no part of the study's id.\"}");
    json_t *features = json_object_get(json_object_get(schema, "properties"), "features");
    json_t *conditions = json_loads(feature_rules, 0, NULL);
    (void)json_object_update(json_object_get(features, "items"), conditions);
    json_decref(conditions);
    return schema;
}

/* ---------------------------------------------------------------- together */

/* A file that names no release means ballots when it says that any two people are neighbours and
 * nothing that only noisy samples have; otherwise samples. */
static enum tremolo_release_kind release_of(const json_t *root)
{
    const json_t *privacy = json_object_get(root, "privacy");
    const json_t *protocol = json_object_get(root, "protocol");
    const char *kind = json_string_value(json_object_get(protocol, "kind"));
    const char *release = json_string_value(json_object_get(protocol, "release"));
    const struct tremolo_study_terms ballot = {.release = TREMOLO_RELEASE_BALLOT, .vectors = 0};
    bool sample = json_number_value(json_object_get(privacy, "delta")) > 0 ||
                  json_object_get(json_object_get(root, "mechanism"), "noise_log2") != NULL ||
                  json_object_get(privacy, "clip") != NULL ||
                  (kind != NULL && strcmp(kind, protocol_words[TREMOLO_STUDY_ONE_SHOT]) != 0) ||
                  !json_is_string(json_object_get(privacy, "neighbours"));
    for (const struct document_row *row = protocol_rows; row->key != NULL; row++) {
        sample = sample || (row->when != NULL && !row->when(&ballot) &&
                            json_object_get(protocol, row->key) != NULL);
    }
    if (release != NULL && strcmp(release, release_words[sample ? 1 : 0]) == 0) {
        sample = !sample;
    }
    return sample ? TREMOLO_RELEASE_SAMPLE : TREMOLO_RELEASE_BALLOT;
}

/* Two keys say whether the response is private, protects and sent; they must agree. The clip has its
 * default only now, because it depends on the number of coordinates. */
static void check_privacy(struct document_reader *reader, struct tremolo_study_file *file)
{
    struct tremolo_study_terms *terms = &file->terms;
    const char *protects =
        json_string_value(json_object_get(json_object_get(file->root, "privacy"), "protects"));
    unsigned private = terms->response_private;
    if (protects != NULL && strcmp(protects, study_protects[private]) == 0 &&
        file->response->sent != STUDY_SENT_UNSAID && file->response->sent != private) {
        document_problem(reader, "privacy.protects", "is \"%s\", but the response is sent \"%s\"",
                         study_protects[private], sent_words[file->response->sent]);
    }
    file->response->sent = private;
    if (terms->clip == 0) {
        terms->clip = sqrt((double)(file->dimension + private));
    }
    if (terms->distance > 0 && terms->release == TREMOLO_RELEASE_BALLOT) {
        document_problem(reader, "privacy.neighbours",
                         "must be \"any\": a ballot protects any two people, and a distance needs "
                         "\"release\": \"sample\"");
    } else if (terms->distance > 2 * terms->clip) {
        document_problem(reader, "privacy.neighbours.distance",
                         "is more than twice the clip radius %g", terms->clip);
    }
    if (terms->distance > 0 && tremolo_inputs_derive(file->inputs)) {
        document_problem(reader, "privacy.neighbours",
                         "must be \"any\" where terms are computed: how far apart two people are "
                         "says little of how far apart their terms are");
    }
}

/* What depends on several keys, and on how many coordinates there are. */
static void check_together(struct document_reader *reader, struct tremolo_study_file *file)
{
    const struct tremolo_study_terms *terms = &file->terms;
    /* Iterative vectors are orthogonal to the coefficients. */
    size_t vectors_max = file->dimension - (terms->protocol == TREMOLO_STUDY_ITERATIVE ? 1 : 0);
    check_privacy(reader, file);
    if (terms->vectors > vectors_max) {
        document_problem(reader, "protocol.vectors", "must be a whole number from 0 to %zu",
                         vectors_max);
    }
    if ((uint64_t)terms->samples * terms->rounds > UINT16_MAX) {
        document_problem(reader, "limits.samples", "times the rounds is more than 65535 releases");
    }
    if (terms->opens >= terms->closes) {
        document_problem(reader, "limits.closes", "must be after opens");
    }
}

/* ---------------------------------------------------------------- identity */

/* Studies without terms and without values for missing ones do without these two arrays. */
static bool has_derivation(const struct tremolo_study_file *file)
{
    bool has = file->term != NULL;
    for (size_t i = 0; i < file->feature_count; i++) {
        has = has || !isnan(file->features[i].shown.missing);
    }
    return has;
}

/* Whether the ranges of a ballot may differ from the written ones. */
static bool has_typical(const struct tremolo_study_file *file)
{
    bool has = file->term != NULL;
    for (size_t i = 0; i < file->feature_count; i++) {
        has = has || !isnan(file->features[i].shown.typical) || is_category(&file->features[i]);
    }
    return has && file->terms.release == TREMOLO_RELEASE_BALLOT;
}

/* What replaces missing values, and the terms with bounds of their own. */
static void encode_derivation(FILE *out, const struct tremolo_study_file *file)
{
    document_encode_array(out, file->feature_count);
    for (size_t i = 0; i < file->feature_count; i++) {
        document_encode_real(out, file->features[i].shown.missing);
    }
    document_encode_array(out, file->term_count);
    for (size_t i = 0; i < file->term_count; i++) {
        document_encode(out, study_term_rows, &file->term[i], STUDY_ID);
    }
}

/* The layout of docs/reference/protocol.md, section 2. Whatever it leaves out, such as comments and
 * how terms are grouped in the file, is no part of the agreement. */
static void encode(FILE *out, const struct tremolo_study_file *file)
{
    const struct tremolo_study_terms *terms = &file->terms;
    bool ballot = terms->release == TREMOLO_RELEASE_BALLOT;
    bool derived = has_derivation(file), typical = has_typical(file);
    unsigned id = ballot ? STUDY_ID_BALLOT : STUDY_ID_SAMPLE;
    unsigned version = ballot ? STUDY_VERSION_BALLOT : STUDY_VERSION;
    version += derived ? STUDY_VERSION_DERIVED : 0;
    version += typical ? STUDY_VERSION_TYPICAL : 0;
    document_encode_array(out, (size_t)10 + (derived ? 2 : 0) + (typical ? 1 : 0));
    document_encode_text(out, "tremolo study");
    document_encode_whole(out, version);
    document_encode_text(out, terms->title);
    document_encode_text(out, terms->purpose);
    document_encode_array(out, file->feature_count);
    for (size_t i = 0; i < file->feature_count; i++) {
        document_encode(out, feature_rows, &file->features[i], id);
    }
    document_encode(out, response_rows, file->response, id);
    if (derived) {
        encode_derivation(out, file);
    }
    if (typical) {
        document_encode_array(out, file->feature_count);
        for (size_t i = 0; i < file->feature_count; i++) {
            document_encode_real(out, file->features[i].shown.typical);
        }
    }
    document_encode(out, privacy_rows, terms, id);
    document_encode(out, protocol_rows, terms, id);
    document_encode(out, limits_rows, terms, id);
    document_encode(out, study_integers_of(terms->release), &file->device, id);
}

/* The canonical encoding and its hash. */
static enum tremolo_status identify(struct tremolo_study_file *file)
{
    char *bytes = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&bytes, &length);
    if (out == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    encode(out, file);
    if (!document_close(out, &bytes)) {
        return TREMOLO_NO_MEMORY;
    }
    file->canonical = (uint8_t *)bytes;
    file->canonical_length = length;
    /* Hashing needs no sodium_init(): it only picks faster code. */
    (void)crypto_generichash(file->device.id, sizeof file->device.id, file->canonical, length, NULL,
                             0);
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- all */

/* The release comes first, because conditions of many rows depend on it; the integers come last,
 * because they follow from everything else. */
enum tremolo_status study_read(struct document_reader *reader, struct tremolo_study_file *file)
{
    reader->at.value = file->root;
    file->terms.release = release_of(file->root);
    file->terms.rounds = 1;
    document_read(reader, study_rows, file);
    check_together(reader, file);
    study_read_mechanism(reader, file);
    if (reader->no_memory) {
        return TREMOLO_NO_MEMORY;
    }
    return reader->problems->count == 0 ? identify(file) : TREMOLO_BAD_STUDY;
}
