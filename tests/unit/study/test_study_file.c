/* test_study_file.c -- what is a study, what is not and why, and what it says. */
#include <math.h>

#include "study_internal.h"
#include "study_json.h"
#include "explain.h"
#include "release.h"

/* ---------------------------------------------------------------- problems */

struct fault {
    const char *path;
    const char *json;   /* NULL: remove */
    const char *where;  /* path of the problem; NULL: same as `path` */
    const char *reason; /* part of it */
};

static const struct fault faults[] = {
    {"tremolo", "2", NULL, "must be 1"},
    {"tremolo", NULL, NULL, "required"},
    {"title", "\"\"", NULL, "1 to 200 bytes"},
    {"title", "7", NULL, "text"},
    {"title", "\"a\\nb\"", NULL, "control"},
    {"title", "\"a\\u0085b\"", NULL, "control"},
    {"title", "\"a\\u202eb\"", NULL, "direction"},
    {"purpose", "\"\\u2028\"", NULL, "direction"},
    {"features[1].name", "\"\\u200fage\"", NULL, "direction"},
    {"features[1].unit", "\"\\u2067kg\\u2069\"", NULL, "direction"},
    {"features[2].levels[1]", "\"\\u202dy\"", NULL, "direction"},
    {"response.name", "\"\\u061c\"", NULL, "direction"},
    {"response.unit", "\"\\ufeff\"", NULL, "direction"},
    {"titel", "\"x\"", NULL, "is not a key of a study; did you mean title?"},
    {"privacy.epsylon", "1", NULL, "did you mean epsilon?"},
    {"zzzzz", "1", NULL, "is not a key of a study"},
    {"features", "[]", NULL, "1 to 256"},
    {"features", "{}", NULL, "1 to 256"},
    {"features[1]", "3", NULL, "object"},
    {"features[1].name", NULL, NULL, "required"},
    {"features[1].name", "\"a\"", NULL, "features[0]"},
    {"features[1].name", "\"c=y\"", "features", "two coordinates"},
    {"features[1].kind", "\"number\"", NULL, "\"numeric\", \"category\" or \"yes-no\""},
    {"features[1].low", NULL, NULL, "required"},
    {"features[1].low", "1", "features[1].high", "above low"},
    {"features[1].low", "\"0\"", NULL, "number"},
    {"features[1].high", "1e200", NULL, "at most"},
    {"features[1].levels", "[\"p\", \"q\"]", NULL, "categories only"},
    {"features[1].colour", "1", NULL, "not a key"},
    {"features[1].comment", "1", NULL, "text"},
    {"features[2].levels", "[\"x\"]", NULL, "2 to 64"},
    {"features[2].levels[1]", "\"x\"", NULL, "same as level 0"},
    {"features[2].levels[2]", "\"\"", NULL, "name"},
    {"features[2].low", "0", NULL, "numeric features only"},
    {"features[3].high", "0", NULL, "numeric features only"},
    {"response", NULL, NULL, "required"},
    {"response", "[]", NULL, "object"},
    {"response.name", "\"d\"", NULL, "features[3]"},
    {"response.high", "0", NULL, "above low"},
    {"response.sent", "\"public\"", "privacy.protects", "sent \"public\""},
    {"response.kind", "\"numeric\"", NULL, "belongs to features only, a response is a number"},
    {"privacy", NULL, NULL, "required"},
    {"privacy.epsilon", "0", NULL, "above 0"},
    {"privacy.epsilon", "101", NULL, "at most 100"},
    {"privacy.epsilon", NULL, NULL, "required"},
    {"privacy", "{\"epsilon\": 1e-9, \"delta\": 1e-12, \"protects\": \"all\"}", NULL,
     "no amount of noise"},
    {"privacy.delta", "0", NULL, "at least"},
    {"privacy.protects", "\"nothing\"", NULL, "\"features\" or \"all\""},
    {"privacy.neighbours", "\"some\"", NULL, "any"},
    {"privacy.neighbours", "{}", "privacy.neighbours.distance", "required"},
    {"privacy.neighbours", "{\"distance\": 0}", "privacy.neighbours.distance", "above 0"},
    {"privacy.neighbours", "{\"distance\": 9}", "privacy.neighbours.distance", "twice the clip"},
    {"privacy.clip", "0", NULL, "above 0"},
    {"protocol", NULL, NULL, "required"},
    {"protocol.kind", "\"once\"", NULL, "\"one-shot\" or \"iterative\""},
    {"protocol.kind", "\"iterative\"", "protocol.rounds", "required"},
    {"protocol.rounds", "3", NULL, "belongs to iterative studies"},
    {"protocol.step", "3", NULL, "belongs to iterative studies"},
    {"protocol.lambda", "1", NULL, "studies with vectors only"},
    {"protocol.vectors", "6", NULL, "0 to 5"},
    {"protocol.vectors", "1.5", NULL, "whole"},
    {"protocol.vectors", "1", "protocol.lambda", "required"},
    {"protocol.alpha", "1", NULL, "below 1"},
    {"protocol.calibration", "\"loose\"", NULL, "\"exact\""},
    {"limits", "{\"samples\": 0}", "limits.samples", "1 to 1000"},
    {"limits", "{\"devices\": 1e10}", "limits.devices", "8000000000"},
    {"limits", "{\"opens\": \"2026-02-29\"}", "limits.opens", "date"},
    {"limits", "{\"opens\": \"2026-2-9\"}", "limits.opens", "date"},
    {"limits", "{\"closes\": \"2026-02-09T24:00:00Z\"}", "limits.closes", "date"},
    {"limits", "{\"closes\": \"1969-12-31\"}", "limits.closes", "date"},
    {"limits", "{\"opens\": \"2026-01-02\", \"closes\": \"2026-01-02\"}", "limits.closes", "after"},
    {"limits", "{\"enrolment\": \"all\"}", "limits.enrolment", "\"open\" or \"keys\""},
    {"mechanism", "{}", "mechanism.noise_log2", "required"},
};

static bool is_named(const struct tremolo_study_problems *problems, const char *path,
                     const char *reason)
{
    for (size_t i = 0; i < problems->stored; i++) {
        if (strcmp(problems->item[i].path, path) == 0 &&
            (reason == NULL || strstr(problems->item[i].reason, reason) != NULL)) {
            return true;
        }
    }
    return false;
}

static void test_each_fault_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        const struct fault *fault = &faults[i];
        struct tremolo_study_file *file = NULL;
        struct tremolo_study_problems problems;
        json_t *root = study_base();
        study_edit(root, fault->path, fault->json);
        enum tremolo_status status = study_parse(&file, &problems, root);
        const char *where = fault->where != NULL ? fault->where : fault->path;
        if (status != TREMOLO_BAD_STUDY || !is_named(&problems, where, fault->reason)) {
            fail_msg("%s = %s: wanted a problem at %s, first is %s: %s", fault->path,
                     fault->json != NULL ? fault->json : "nothing", where,
                     problems.stored > 0 ? problems.item[0].path : "-",
                     problems.stored > 0 ? problems.item[0].reason : "-");
        }
        assert_null(file);
        json_decref(root);
    }
}

/* Names of computed coordinates stand for one thing each, and none is cut to stand for two: `wide`
 * has 63 bytes, in characters of three. */
static void test_computed_names(void **state)
{
    static const char form[] =
        "{\"tremolo\": 1, \"title\": \"t\", \"features\": [{\"name\": \"a\", \"low\": 0, \"high\": "
        "2}, {\"name\": \"%s\", \"low\": 0, \"high\": 2}, {\"name\": \"%s\", \"low\": 0, "
        "\"high\": 2}], \"terms\": [\"a\", \"`%s`\", \"`%s`\", {\"term\": \"%s\", \"low\": "
        "0, "
        "\"high\": 4}], \"response\": {\"name\": \"%s\", \"low\": 0, \"high\": 1}, \"privacy\": "
        "{\"epsilon\": 2, \"neighbours\": \"any\", \"protects\": \"all\"}, \"protocol\": "
        "{\"release\": "
        "\"ballot\"}}";
    static const struct {
        const char *more, *term, *response, *where;
    } cases[] = {
        {"", "a:`%s`", "y", NULL},
        {"a^2", "a^2", "y", "features"},
        {"a^2", "a^3", "y", NULL},
        {"a^2", "a^3", "a^3", "features"},
        {"", "a^2:`%s`:`%s+`", "y", "terms"},
    };
    char wide[64] = "";
    (void)state;
    for (size_t i = 0; i < 21; i++) {
        memcpy(wide + 3 * i, "\xe6\xbc\xa2", 4);
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2048], term[512], more[80];
        struct tremolo_study_file *file = NULL;
        struct tremolo_study_problems problems;
        (void)snprintf(more, sizeof more, "%s%s", cases[i].more[0] != '\0' ? "" : wide,
                       cases[i].more[0] != '\0' ? cases[i].more : "+");
        (void)snprintf(term, sizeof term, cases[i].term, wide, wide);
        (void)snprintf(text, sizeof text, form, wide, more, wide, more, term, cases[i].response);
        enum tremolo_status status = tremolo_study_file_parse(&file, &problems, text, strlen(text));
        assert_status(status, cases[i].where != NULL ? TREMOLO_BAD_STUDY : TREMOLO_OK);
        assert_true(cases[i].where == NULL || is_named(&problems, cases[i].where, "name"));
        tremolo_study_file_free(file);
    }
}

static void test_all_faults_at_once(void **state)
{
    static const char *const edits[][2] = {
        {"title", "\"\""},
        {"features[0].high", "-5"},
        {"features[2].levels[1]", "\"x\""},
        {"response.low", "\"no\""},
        {"privacy.epsilon", "-1"},
        {"protocol.vectors", "99"},
        {"limits", "{\"samples\": 0, \"closes\": \"soon\"}"},
    };
    struct tremolo_study_file *file = NULL;
    struct tremolo_study_problems problems;
    json_t *root = study_base();
    (void)state;
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        study_edit(root, edits[i][0], edits[i][1]);
    }
    assert_status(study_parse(&file, &problems, root), TREMOLO_BAD_STUDY);
    assert_int_equal(problems.count, 10); /* vectors need lambda and omega, too */
    assert_int_equal(problems.stored, 10);
    json_decref(root);
}

static void test_more_problems_than_are_stored(void **state)
{
    struct tremolo_study_file *file = NULL;
    struct tremolo_study_problems problems;
    json_t *root = study_base();
    (void)state;
    for (int i = 0; i < 100; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "extra%d", i);
        assert_int_equal(json_object_set_new(root, key, json_true()), 0);
    }
    assert_status(study_parse(&file, &problems, root), TREMOLO_BAD_STUDY);
    assert_int_equal(problems.count, 100);
    assert_int_equal(problems.stored, TREMOLO_STUDY_MAX_PROBLEMS);
    json_decref(root);
}

static void refuse_text(const char *text, size_t length, const char *reason)
{
    struct tremolo_study_file *file = NULL;
    struct tremolo_study_problems problems;
    assert_status(tremolo_study_file_parse(&file, &problems, text, length), TREMOLO_BAD_STUDY);
    assert_int_equal(problems.count, 1);
    if (strstr(problems.item[0].reason, reason) == NULL) {
        fail_msg("'%s' does not say '%s'", problems.item[0].reason, reason);
    }
    assert_null(file);
}

static void test_text_that_is_no_study(void **state)
{
    static char big[TREMOLO_STUDY_MAX_BYTES + 1];
    (void)state;
    refuse_text("", 0, "line");
    refuse_text("[1]", 3, "object");
    refuse_text("{\"a\":1,\"a\":2}", 13, "duplicate");
    refuse_text("{\"a\":\"\xff\"}", 9, "decode byte");
    memset(big, '[', sizeof big);
    refuse_text(big, 17, "16 levels");
    refuse_text(big, sizeof big, "262144 bytes");
    memset(big, ' ', sizeof big);
    refuse_text(big, TREMOLO_STUDY_MAX_BYTES, "line");
}

static void test_null_arguments(void **state)
{
    struct tremolo_study_file *file = NULL;
    (void)state;
    assert_status(tremolo_study_file_parse(NULL, NULL, "{}", 2), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_study_file_parse(&file, NULL, NULL, 2), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_study_file_parse(&file, NULL, "{}", 2), TREMOLO_BAD_STUDY);
    tremolo_study_file_free(NULL);
}

/* ---------------------------------------------------------------- content */

static void test_categories_expand(void **state)
{
    static const char *const names[] = {"a", "b", "c=y", "c=z", "d", "r"};
    struct tremolo_study_file *file = study_with(NULL, NULL, NULL, NULL);
    (void)state;
    assert_int_equal(tremolo_study_file_dimension(file), 5);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(tremolo_study_file_coordinate(file, i)->name, names[i]);
    }
    assert_null(tremolo_study_file_coordinate(file, 6));
    const struct tremolo_study_feature *category = tremolo_study_file_feature(file, 2);
    assert_int_equal(category->first, 2);
    assert_int_equal(category->width, 2);
    assert_string_equal(category->levels[0], "x");
    assert_true(tremolo_study_file_coordinate(file, 3)->high == 1);
    assert_true(tremolo_study_file_coordinate(file, 0)->high == 10);
    assert_int_equal(tremolo_study_file_response(file)->first, 5);
    assert_null(tremolo_study_file_feature(file, 4));
    tremolo_study_file_free(file);
}

/* 257 coordinates are too many, 256 are not: a category of 64 levels is 63. */
static void test_most_coordinates(void **state)
{
    struct tremolo_study_file *file = NULL;
    struct tremolo_study_problems problems;
    json_t *root = study_base();
    json_t *features = json_array();
    (void)state;
    for (int i = 0; i < 4; i++) {
        json_t *levels = json_array();
        for (int j = 0; j < 64; j++) {
            json_array_append_new(levels, json_sprintf("%d", j));
        }
        json_array_append_new(features, json_pack("{s:o, s:s, s:o}", "name", json_sprintf("f%d", i),
                                                  "kind", "category", "levels", levels));
    }
    for (int i = 0; i < 4; i++) {
        json_array_append_new(
            features, json_pack("{s:o, s:s}", "name", json_sprintf("g%d", i), "kind", "yes-no"));
    }
    json_object_set_new(root, "features", features);
    assert_status(study_parse(&file, &problems, root), TREMOLO_OK);
    assert_int_equal(tremolo_study_file_dimension(file), 256);
    tremolo_study_file_free(file);
    file = NULL;
    json_array_append_new(features, json_pack("{s:s, s:s}", "name", "h", "kind", "yes-no"));
    assert_status(study_parse(&file, &problems, root), TREMOLO_BAD_STUDY);
    assert_true(is_named(&problems, "features", "256 coordinates"));
    json_decref(root);
}

static void test_markup_is_text(void **state)
{
    struct tremolo_study_file *file =
        study_with("title", "\"<script>alert('x')</script> & \\\"q\\\"\"", NULL, NULL);
    (void)state;
    assert_string_equal(tremolo_study_file_terms(file)->title,
                        "<script>alert('x')</script> & \"q\"");
    tremolo_study_file_free(file);
}

static void test_defaults(void **state)
{
    struct tremolo_study_file *file = study_with(NULL, NULL, NULL, NULL);
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    (void)state;
    assert_true(terms->delta == 1e-5);
    assert_true(terms->distance == 0);
    assert_true(terms->clip == sqrt(6.0));
    assert_int_equal(terms->rounds, 1);
    assert_int_equal(terms->samples, 1);
    assert_true(terms->opens == INT64_MIN && terms->closes == INT64_MAX);
    assert_int_equal(terms->devices, TREMOLO_STUDY_MAX_DEVICES);
    assert_int_equal(terms->enrolment, TREMOLO_STUDY_OPEN);
    assert_string_equal(terms->purpose, "");
    tremolo_study_file_free(file);
}

static void test_dates(void **state)
{
    struct tremolo_study_file *file = study_with(
        "limits", "{\"opens\": \"2024-02-29\", \"closes\": \"2026-11-15T20:00:01Z\"}", NULL, NULL);
    (void)state;
    /* By `date -u -d ... +%s`. */
    assert_int_equal(tremolo_study_file_terms(file)->opens, 1709164800);
    assert_int_equal(tremolo_study_file_terms(file)->closes, 1794772801);
    tremolo_study_file_free(file);
}

/* ---------------------------------------------------------------- guarantee */

/* Studies of every kind: the integers pass the device's check, and what they
 * cost is at most what was asked and, except for the coarse rules, close to it. */
static void test_integers_keep_the_promise(void **state)
{
    static const struct {
        const char *privacy;
        const char *protocol;
        double least; /* share of epsilon that must be used */
    } cases[] = {
        {"{\"epsilon\": 1, \"protects\": \"all\"}", "{\"kind\": \"one-shot\"}", 0.999},
        {"{\"epsilon\": 0.1, \"protects\": \"features\"}", "{\"kind\": \"one-shot\"}", 0.999},
        {"{\"epsilon\": 10, \"protects\": \"all\", \"neighbours\": {\"distance\": 0.5}}",
         "{\"kind\": \"one-shot\", \"calibration\": \"zcdp\"}", 0.8},
        {"{\"epsilon\": 2, \"delta\": 1e-9, \"protects\": \"features\", \"clip\": 1.5}",
         "{\"kind\": \"iterative\", \"rounds\": 5, \"vectors\": 2, \"alpha\": 0.5, \"lambda\": 0.2,"
         "\"omega\": 1}",
         0.999},
        {"{\"epsilon\": 2, \"protects\": \"all\"}",
         "{\"kind\": \"one-shot\", \"calibration\": \"paper\", \"vectors\": 1, \"alpha\": 0.5,"
         "\"lambda\": 0.2, \"omega\": 1}",
         0.5},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tremolo_study_file *file =
            study_with("privacy", cases[i].privacy, "protocol", cases[i].protocol);
        const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
        const struct tremolo_study *device = tremolo_study_file_device(file);
        struct tremolo_study_guarantee guarantee;
        assert_status(tremolo_study_check(device), TREMOLO_OK);
        assert_int_equal(device->rounds, terms->rounds);
        assert_status(tremolo_study_file_guarantee(&guarantee, file, terms->delta), TREMOLO_OK);
        /* The accountant's own upper rounding. */
        assert_true(guarantee.epsilon <= terms->epsilon * (1 + 1e-9));
        assert_true(guarantee.epsilon >= terms->epsilon * cases[i].least);
        assert_int_equal(guarantee.charge, tremolo_study_charge(device));
        assert_memory_equal(device->id, tremolo_study_file_id(file), TREMOLO_STUDY_ID_BYTES);
        tremolo_study_file_free(file);
    }
}

static void test_samples_share_the_budget(void **state)
{
    struct tremolo_study_file *one = study_with(NULL, NULL, NULL, NULL);
    struct tremolo_study_file *four = study_with("limits", "{\"samples\": 4}", NULL, NULL);
    struct tremolo_study_guarantee a;
    struct tremolo_study_guarantee b;
    (void)state;
    assert_status(tremolo_study_file_guarantee(&a, one, 1e-5), TREMOLO_OK);
    assert_status(tremolo_study_file_guarantee(&b, four, 1e-5), TREMOLO_OK);
    assert_int_equal(b.releases, 4);
    assert_int_equal(tremolo_study_file_device(four)->samples, 4);
    assert_int_equal(tremolo_study_file_device(four)->rounds, 1);
    /* Equal up to the integers' rounding, a few in 2^20. */
    assert_true(fabs(b.mu / a.mu - 1) < 1e-4);
    assert_true(fabs(b.sigma / a.sigma - 2) < 1e-3);
    tremolo_study_file_free(one);
    tremolo_study_file_free(four);
}

/* mean g^2 = keep^2 scale^2 x^2 + noise + modulation must be what the wire
 * format says in fine units. */
static void test_release_matches_the_wire_format(void **state)
{
    struct tremolo_study_file *file =
        study_with("protocol",
                   "{\"kind\": \"one-shot\", \"vectors\": 2, \"alpha\": 0.5, \"lambda\": 0.4,"
                   "\"omega\": 1}",
                   NULL, NULL);
    const struct tremolo_study *device = tremolo_study_file_device(file);
    struct tremolo_sample_release release = tremolo_release_of(device, 1, 1);
    double step = ldexp(1, device->wire_shift);
    (void)state;
    assert_int_equal(release.dimension, 5);
    assert_true(release.keep == 0.5);
    assert_true(release.feature_scale * step == device->unit);
    assert_true(release.response_private && release.response_scale == release.feature_scale);
    assert_true(release.noise_variance ==
                ldexp(1, 2 * (device->noise_log2 - device->wire_shift)) + 1.0 / 12);
    double amplitude = 0.4 / sqrt(2.0) * release.feature_scale;
    /* The amplitude is rounded to a fine unit. */
    assert_true(fabs(release.modulation / (amplitude * amplitude / 2) - 1) < 1e-4);
    tremolo_study_file_free(file);
    file = study_with("privacy.protects", "\"features\"", NULL, NULL);
    release = tremolo_release_of(tremolo_study_file_device(file), 1, 1);
    assert_false(release.response_private);
    assert_true(release.response_scale == TREMOLO_RESPONSE_MAX);
    tremolo_study_file_free(file);
}

/* Who is further apart than the words say is promised nothing, so they round down. */
static void test_a_distance_is_rounded_down(void **state)
{
    static struct tremolo_explanation words;
    struct tremolo_study_file *file = study_with("privacy",
                                                 "{\"epsilon\": 1, \"protects\": \"features\","
                                                 "\"neighbours\": {\"distance\": 1.23456789}}",
                                                 NULL, NULL);
    (void)state;
    assert_status(tremolo_study_file_explain(&words, file, 1e-7), TREMOLO_OK);
    assert_non_null(strstr(words.reviewer, "at most 1.23456 apart"));
    tremolo_study_file_free(file);
}

static void test_words(void **state)
{
    static struct tremolo_explanation words;
    struct tremolo_study_file *file = study_with("privacy",
                                                 "{\"epsilon\": 1, \"protects\": \"features\","
                                                 "\"neighbours\": {\"distance\": 0.5}}",
                                                 NULL, NULL);
    (void)state;
    (void)snprintf(words.reviewer, sizeof words.reviewer, "untouched");
    assert_status(tremolo_study_file_explain(&words, file, 2.0), TREMOLO_BAD_ARGUMENT);
    assert_string_equal(words.reviewer, "untouched");
    assert_status(tremolo_study_file_explain(&words, file, 1e-7), TREMOLO_OK);
    assert_non_null(strstr(words.reviewer, ", 1e-07)-differential privacy"));
    assert_non_null(strstr(words.reviewer, "at most 0.5 apart"));
    assert_non_null(strstr(words.reviewer, "in the clear"));
    assert_non_null(
        strstr(words.participant, "can guess more about your a, b, c and d than a device allows"));
    assert_non_null(strstr(words.participant, "settings are changed. Your r is sent"));
    assert_null(strstr(words.participant, "not even us"));
    /* Distances are in the features' own units, not in half ranges. */
    assert_non_null(
        strstr(words.participant, "who differ by at most so much in one thing alone: "));
    assert_null(strstr(words.participant, "0.5 apart"));
    assert_non_null(strstr(words.participant, "Two who answer yes and no, or choose different "
                                              "categories, always are: between them the attacker "
                                              "may be right "));
    /* Features a to d: the whole range of each, then pairs in the features' own units. */
    size_t last = words.difference_count - 1;
    assert_true(words.differences[0].distance == 2.0);
    assert_string_equal(words.differences[last].name, "any two");
    assert_non_null(strstr(words.differences[last].words, "all at once: a "));
    assert_non_null(strstr(words.differences[last - 1].words, "each alone: a "));
    double strict = words.differences[0].epsilon;
    assert_status(tremolo_study_file_explain(&words, file, 1e-5), TREMOLO_OK);
    assert_true(words.differences[0].epsilon < strict);
    tremolo_study_file_free(file);
}

/* Rows at other distances are what the device's integers prove, rounding included: in
 * proportion to the promised distance mu would be 0.0003315 at distance 2. */
static void test_rows_include_the_rounding(void **state)
{
    static struct tremolo_explanation words;
    struct tremolo_study_file *file = study_with("privacy",
                                                 "{\"epsilon\": 0.001, \"delta\": 1e-5,"
                                                 "\"protects\": \"features\","
                                                 "\"neighbours\": {\"distance\": 3.5}}",
                                                 NULL, NULL);
    (void)state;
    assert_status(tremolo_study_file_explain(&words, file, 1e-5), TREMOLO_OK);
    for (size_t i = 0; i < words.difference_count; i++) {
        const struct tremolo_difference *row = &words.differences[i];
        struct tremolo_study_guarantee proved;
        assert_status(tremolo_study_file_guarantee_at(&proved, file, 1e-5, row->distance),
                      TREMOLO_OK);
        /* A row may exceed what it rounds by one of its last digits, and is never below it. */
        assert_true(row->mu >= proved.mu * (1 - 1e-12) && row->mu <= proved.mu * 1.001);
        assert_true(row->epsilon >= proved.epsilon * (1 - 1e-9));
    }
    double in_proportion = words.differences[words.difference_count - 2].mu * 2 / 3.5;
    assert_true(words.differences[0].distance == 2 && words.differences[0].mu > in_proportion);
    tremolo_study_file_free(file);
}

/* What the documents say of a guarantee is what the struct says; the infinite is null. */
static void test_guarantee_json(void **state)
{
    static struct tremolo_explanation words;
    struct tremolo_study_file *file = study_with("privacy",
                                                 "{\"epsilon\": 1, \"protects\": \"features\","
                                                 "\"neighbours\": {\"distance\": 0.0001}}",
                                                 NULL, NULL);
    (void)state;
    double delta = tremolo_study_file_terms(file)->delta;
    assert_status(tremolo_study_file_explain(&words, file, delta), TREMOLO_OK);
    json_t *guarantee = guarantee_study_json(file);
    const json_t *rows = json_object_get(guarantee, "differences");
    assert_int_equal(json_array_size(rows), words.difference_count);
    assert_string_equal(json_string_value(json_object_get(guarantee, "participant")),
                        words.participant);
    assert_string_equal(json_string_value(json_object_get(guarantee, "neighbours")),
                        "distance=0.0001");
    for (size_t i = 0; i < words.difference_count; i++) {
        const json_t *row = json_array_get(rows, i);
        const json_t *epsilon = json_object_get(row, "epsilon");
        assert_string_equal(json_string_value(json_object_get(row, "name")),
                            words.differences[i].name);
        assert_true(isinf(words.differences[i].epsilon)
                        ? json_is_null(epsilon)
                        : json_real_value(epsilon) == words.differences[i].epsilon);
    }
    json_decref(guarantee);
    tremolo_study_file_free(file);
}

static void test_starters_are_studies(void **state)
{
    static const char *const columns[] = {"one", "two", "three"};
    struct tremolo_study_file *file = NULL;
    char *text = NULL;
    (void)state;
    assert_status(tremolo_study_starter(&text, NULL, 0, NULL, NULL), TREMOLO_OK);
    assert_status(tremolo_study_file_parse(&file, NULL, text, strlen(text)), TREMOLO_OK);
    tremolo_study_file_free(file);
    free(text);
    text = NULL;
    assert_status(tremolo_study_starter(&text, columns, 3, "two", NULL), TREMOLO_OK);
    assert_status(tremolo_study_file_parse(&file, NULL, text, strlen(text)), TREMOLO_OK);
    assert_string_equal(tremolo_study_file_response(file)->name, "two");
    assert_string_equal(tremolo_study_file_feature(file, 1)->name, "three");
    tremolo_study_file_free(file);
    free(text);
    text = NULL;
    assert_status(tremolo_study_starter(&text, columns, 3, "four", NULL), TREMOLO_BAD_STUDY);
    assert_status(tremolo_study_starter(&text, columns, 1, NULL, NULL), TREMOLO_BAD_ARGUMENT);
    assert_null(text);
}

/* 101 values: five below the range and five above; a rare yes has all of it. */
static void test_typical_range(void **state)
{
    double values[101], low = -77, high = -77;
    (void)state;
    for (int i = 0; i < 101; i++) {
        values[i] = (37 * i) % 101;
    }
    assert_true(tremolo_study_typical_range(&low, &high, values, 101));
    assert_true(low == 5 && high == 95);
    for (int i = 0; i < 101; i++) {
        values[i] = i == 50 ? 1 : 0;
    }
    assert_true(tremolo_study_typical_range(&low, &high, values, 101));
    assert_true(low == 0 && high == 1);
    assert_false(
        tremolo_study_typical_range(&low, &high, values, 100)); /* sorted: the yes is last */
    assert_false(tremolo_study_typical_range(&low, &high, values, 0));
    values[0] = -1.7e308;
    values[1] = 1.7e308;
    assert_false(tremolo_study_typical_range(&low, &high, values, 2));
}

/* Where each coordinate of a ballot lies once its range is about what is typical. Base: a 0 to 10, b
 * -1 to 1, c of three levels, d a question. */
static void test_ranges_lie_about_what_is_typical(void **state)
{
    static const char *const computed =
        "[{\"term\": \"a:b\", \"low\": -5, \"high\": 5}, \"c:d\", \"a\"]";
    static const struct {
        const char *path, *json, *terms;
        size_t coordinate;
        double low, high;
    } rows[] = {
        {NULL, NULL, NULL, 0, 0, 10}, /* nothing is said: the middle */
        {"features[0].typical", "5", NULL, 0, 0, 10},
        {"features[0].typical", "2", NULL, 0, -3, 7},
        {"features[0].typical", "0", NULL, 0, -5, 5}, /* an end */
        {"features[0].typical", "2", NULL, 1, -1, 1}, /* others stay */
        {NULL, NULL, NULL, 2, 1.0 / 3 - 0.5, 1.0 / 3 + 0.5},
        {NULL, NULL, NULL, 3, 1.0 / 3 - 0.5, 1.0 / 3 + 0.5},
        {NULL, NULL, NULL, 4, 0, 1},
        {"features[3].typical", "0.25", NULL, 4, -0.25, 0.75},
        {"features[3].typical", "0.25", NULL, 5, 0, 100}, /* the response never moves */
        {"features[0].typical", "2", computed, 0, -5, 5}, /* computed: bounds of its own */
        {"features[3].typical", "0.25", computed, 1, 1.0 / 12 - 0.5, 1.0 / 12 + 0.5},
        {NULL, NULL, computed, 2, 1.0 / 6 - 0.5, 1.0 / 6 + 0.5}, /* half of a third */
        {"features[0].typical", "2", computed, 3, -3, 7},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *root = study_base();
        struct tremolo_study_file *file = NULL;
        study_edit(root, "protocol.release", "\"ballot\"");
        study_edit(root, "privacy.neighbours", "\"any\"");
        if (rows[i].terms != NULL) {
            study_edit(root, "terms", rows[i].terms);
        }
        if (rows[i].path != NULL) {
            study_edit(root, rows[i].path, rows[i].json);
        }
        assert_status(study_parse(&file, NULL, root), TREMOLO_OK);
        const struct tremolo_study_coordinate *at =
            tremolo_study_file_coordinate(file, rows[i].coordinate);
        /* a centre and half a width are added: two roundings */
        if (fabs(at->low - rows[i].low) > 1e-15 || fabs(at->high - rows[i].high) > 1e-15) {
            fail_msg("row %zu: %s lies in %.17g to %.17g", i, at->name, at->low, at->high);
        }
        tremolo_study_file_free(file);
        json_decref(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_typical_range),
        cmocka_unit_test(test_ranges_lie_about_what_is_typical),
        cmocka_unit_test(test_each_fault_is_named),
        cmocka_unit_test(test_computed_names),
        cmocka_unit_test(test_all_faults_at_once),
        cmocka_unit_test(test_more_problems_than_are_stored),
        cmocka_unit_test(test_text_that_is_no_study),
        cmocka_unit_test(test_null_arguments),
        cmocka_unit_test(test_categories_expand),
        cmocka_unit_test(test_most_coordinates),
        cmocka_unit_test(test_markup_is_text),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_dates),
        cmocka_unit_test(test_integers_keep_the_promise),
        cmocka_unit_test(test_samples_share_the_budget),
        cmocka_unit_test(test_release_matches_the_wire_format),
        cmocka_unit_test(test_a_distance_is_rounded_down),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_rows_include_the_rounding),
        cmocka_unit_test(test_guarantee_json),
        cmocka_unit_test(test_starters_are_studies),
    };
    return cmocka_run_group_tests_name("study file", tests, NULL, NULL);
}
