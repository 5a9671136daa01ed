/* test_estimate_answers.c -- the sentences of the three answers, from documents made by hand. */
#include "testing.h"

#include <jansson.h>
#include <string.h>

#include "estimate_json.h"

#define STEPS                                                                                      \
    "{\"name\":\"steps\",\"unit\":\"steps\",\"range\":20000,\"identified\":true,"                  \
    "\"estimate\":-0.00102,\"standard_error\":0.0001,\"low\":-0.0012,\"high\":-0.0008}"
#define SLEEP                                                                                      \
    "{\"name\":\"sleep\",\"unit\":\"hours\",\"range\":8,\"identified\":true,\"estimate\":1.25,"    \
    "\"standard_error\":0.4,\"low\":0.4,\"high\":2.1}"
#define UNCERTAIN                                                                                  \
    "{\"name\":\"sleep\",\"unit\":\"hours\",\"range\":8,\"identified\":true,\"estimate\":0.3,"     \
    "\"standard_error\":0.4,\"low\":-0.5,\"high\":1.1}"
#define HIDDEN    "{\"name\":\"watch\",\"identified\":false,\"low\":null,\"high\":null}"
#define INTERCEPT "{\"name\":\"(intercept)\",\"identified\":true,\"low\":0,\"high\":2}"
#define PULSE     "\"response\":{\"name\":\"pulse\",\"unit\":\"beats a minute\"},\"level\":0.95,"

static const char *joined(char text[1024], const json_t *parts)
{
    size_t index, used = 0;
    json_t *part;
    text[0] = '\0';
    json_array_foreach(parts, index, part)
    {
        const json_t *words = json_is_string(part) ? part : json_object_get(part, "name");
        used += (size_t)snprintf(text + used, 1024 - used, "%s", json_string_value(words));
    }
    return text;
}

/* Set answers in a document of these rows and other members; the caller frees it. */
static json_t *answered(const char *rows, const char *members)
{
    char text[4096];
    (void)snprintf(text, sizeof text, "{%s \"coefficients\":[%s]}", members, rows);
    json_t *document = json_loads(text, 0, NULL);
    assert_non_null(document);
    estimate_set_answers(&document);
    return document;
}

static json_t *answer(json_t *document, size_t place)
{
    return json_array_get(json_object_get(document, "answers"), place);
}

static void expect_text(const char *rows, const char *members, size_t place, const char *wanted)
{
    char text[1024];
    json_t *document = answered(rows, members);
    assert_string_equal(joined(text, json_object_get(answer(document, place), "text")), wanted);
    json_decref(document);
}

static void expect_fact(const char *rows, const char *members, size_t place, size_t fact,
                        const char *wanted)
{
    char text[1024];
    json_t *document = answered(rows, members);
    const json_t *facts = json_object_get(answer(document, place), "facts");
    assert_string_equal(joined(text, json_array_get(facts, fact)), wanted);
    json_decref(document);
}

static void an_effect_is_a_sentence_of_its_numbers(void **state)
{
    static const char effect[] = "{\"name\":\"%s\",\"from\":\"%s\",\"to\":\"%s\",\"range\":1,"
                                 "\"identified\":true,\"estimate\":%g,\"standard_error\":0.5,"
                                 "\"low\":%g,\"high\":%g}," INTERCEPT;
    char row[512];
    (void)state;
    expect_text(STEPS "," INTERCEPT, PULSE, 0,
                "More steps go with a lower pulse: -1.0 beats a minute per 1,000 steps, between "
                "-1.2 and -0.8");
    expect_text(SLEEP "," INTERCEPT, PULSE, 0,
                "Higher sleep goes with a higher pulse: 1.3 beats a minute per hour, between 0.4 "
                "and 2.1");
    (void)snprintf(row, sizeof row, effect, "watch=ring", "wrist", "ring", 2.0, 1.0, 3.0);
    expect_text(row, PULSE, 0,
                "watch=ring goes with a higher pulse than wrist: 2.0 beats a minute, between 1.0 "
                "and 3.0");
    (void)snprintf(row, sizeof row, effect, "smoker", "no", "yes", -2.0, -3.0, -1.0);
    expect_text(row, "\"response\":{\"name\":\"points\",\"unit\":\"\"},", 0,
                "\"Yes\" to smoker goes with lower points: -2.0, between -3.0 and -1.0");
    /* An end that would look like zero keeps the digit that shows that it is not. */
    expect_text("{\"name\":\"sleep\",\"unit\":\"hours\",\"range\":8,\"identified\":true,"
                "\"estimate\":0.8,\"standard_error\":0.4,\"low\":0.03,\"high\":1.6}," INTERCEPT,
                PULSE, 0,
                "Higher sleep goes with a higher pulse: 0.80 beats a minute per hour, between 0.03 "
                "and 1.60");
}

/* Names and units may be written in any direction: each is a part of its own. */
static void names_are_parts(void **state)
{
    static const char *const names[] = {"steps", "pulse", "beats a minute", "steps"};
    json_t *document = answered(STEPS "," INTERCEPT, PULSE);
    const json_t *parts = json_object_get(answer(document, 0), "text");
    size_t index, found = 0;
    json_t *part;
    (void)state;
    json_array_foreach(parts, index, part)
    {
        if (json_is_object(part)) {
            assert_string_equal(json_string_value(json_object_get(part, "name")), names[found++]);
        }
    }
    assert_int_equal(found, 4);
    json_decref(document);
}

static void the_largest_effect_comes_first(void **state)
{
    json_t *document = answered(SLEEP "," STEPS "," HIDDEN "," INTERCEPT, PULSE);
    char text[1024];
    (void)state;
    assert_memory_equal(joined(text, json_object_get(answer(document, 0), "text")), "More steps",
                        10);
    const json_t *others = json_object_get(answer(document, 0), "others");
    assert_int_equal(json_array_size(others), 1);
    assert_memory_equal(joined(text, json_array_get(others, 0)), "Higher sleep", 12);
    assert_true(json_is_null(json_object_get(answer(document, 0), "share")));
    json_decref(document);
}

static void missing_devices_are_counted(void **state)
{
    static const char rows[] = UNCERTAIN "," HIDDEN "," INTERCEPT;
    static const char some[] = PULSE "\"devices\":40,\"devices_needed\":287654,";
    (void)state;
    expect_text(rows, some, 0,
                "No significant effect: 40 of about 290,000 devices, which unrelated features with "
                "effects of "
                "a usual size need");
    expect_text(
        rows, PULSE "\"devices\":1,\"devices_needed\":64,", 0,
        "No significant effect: 1 of about 64 devices, which unrelated features with effects "
        "of a usual size need");
    expect_text(rows, PULSE "\"devices\":1234,\"devices_needed\":1234,", 0,
                "No significant effect after 1,234 devices");
    expect_fact(rows, PULSE "\"devices\":1234,\"devices_needed\":1234,", 0, 0,
                "About 1,300 are usually enough: effects are smaller, or features vary less or are "
                "more alike, than usual.");
    expect_text(rows, PULSE "\"devices\":40,", 0,
                "No significant effect: 40 devices, and at this noise no reachable number of "
                "devices would be "
                "enough");
    expect_text("", PULSE "\"remark\":\"the file has no reports\",", 0,
                "Nothing was learnt: the file has no reports");
    json_t *document = answered(rows, some);
    double share = json_number_value(json_object_get(answer(document, 0), "share"));
    assert_true(share > 40 / 287654.0 - 1e-12 && share < 40 / 287654.0 + 1e-12);
    json_decref(document);
}

/* A count of effects must not read as a probability. */
static void certainty_is_a_count(void **state)
{
    static const char r2[] = PULSE "\"r2\":0.42,\"r2_low\":0.31,\"r2_high\":0.55,";
    (void)state;
    expect_text(SLEEP "," STEPS "," HIDDEN "," INTERCEPT, PULSE, 1,
                "2 of 3 effects are significant");
    expect_fact(SLEEP "," STEPS "," HIDDEN "," INTERCEPT, PULSE, 1, 0,
                "Their 95% intervals exclude zero. The other one may be zero.");
    expect_text(UNCERTAIN "," INTERCEPT, PULSE, 1, "0 of 1 effect is significant");
    expect_fact(UNCERTAIN "," INTERCEPT, PULSE, 1, 0,
                "It may still be zero, at a confidence of 95%.");
    expect_fact(SLEEP "," INTERCEPT, r2, 1, 1,
                "Together they explain 42% of what pulse varies by (R-squared, between 31% and "
                "55%).");
    expect_fact(
        UNCERTAIN "," INTERCEPT, r2, 1, 1,
        "Though no single effect is certain, together they explain 42% of what pulse varies "
        "by (R-squared, between 31% and 55%).");
    expect_fact(HIDDEN "," INTERCEPT, r2, 1, 1, "");
    expect_text("", PULSE, 1, "No estimate");
    expect_fact("", PULSE, 1, 0, "Fewer than two devices have reported.");
}

static void notes_say_what_the_table_needs(void **state)
{
    static const struct {
        const char *rows, *members, *wanted;
    } cases[] = {
        {SLEEP "," INTERCEPT, PULSE "\"release\":\"ballot\",\"response_cut\":null,",
         "Devices clip responses to their range, which draws coefficients towards zero by about "
         "the "
         "share that is clipped; reports do not show it."},
        {SLEEP "," INTERCEPT,
         PULSE "\"release\":\"ballot\",\"response_cut\":0.02,\"devices\":5000,",
         "100 of 5,000 responses lie outside the range of pulse and are clipped to it: "
         "coefficients "
         "are drawn towards zero by about 2%, by more where a feature sets those people apart, and "
         "the intervals do not include this. A wider range for the response avoids it and costs "
         "devices."},
        {SLEEP "," INTERCEPT, PULSE "\"release\":\"ballot\",\"response_cut\":0,", ""},
        {SLEEP "," INTERCEPT, PULSE "\"release\":\"sample\",\"r2\":0.4,", ""},
        {HIDDEN "," INTERCEPT, PULSE "\"release\":\"ballot\",\"r2\":0.4,",
         "R-squared describes typical people. With many unusual people, or effects that are not "
         "linear, it can differ for everybody."},
        {"{\"name\":\"age:region=north\"}," INTERCEPT,
         PULSE "\"inputs\":{\"columns\":[{\"name\":\"age\"},{\"name\":\"region\",\"levels\":"
               "[\"east\",\"north\"]}]},",
         "A level is compared with its reference: region=east."},
        {"{\"name\":\"subregion=north\"}," INTERCEPT,
         PULSE "\"inputs\":{\"columns\":[{\"name\":\"region\",\"levels\":[\"east\",\"north\"]}]},",
         ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        json_t *document = answered(cases[i].rows, cases[i].members);
        const json_t *notes = json_object_get(document, "notes");
        assert_string_equal(joined(text, json_array_get(notes, 0)), cases[i].wanted);
        json_decref(document);
    }
}

static void privacy_is_the_guarantee_s_sentence(void **state)
{
    (void)state;
    expect_text("", PULSE "\"guarantee\":{\"answer\":\"Safe.\",\"caution\":\"Mind.\"},", 2,
                "Safe.");
    expect_fact("", PULSE "\"guarantee\":{\"answer\":\"Safe.\",\"caution\":\"Mind.\"},", 2, 0,
                "Mind.");
    expect_text("", PULSE "\"guarantee\":null,", 2,
                "The data were read as they are: nothing is protected.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_effect_is_a_sentence_of_its_numbers),
        cmocka_unit_test(names_are_parts),
        cmocka_unit_test(the_largest_effect_comes_first),
        cmocka_unit_test(missing_devices_are_counted),
        cmocka_unit_test(certainty_is_a_count),
        cmocka_unit_test(notes_say_what_the_table_needs),
        cmocka_unit_test(privacy_is_the_guarantee_s_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
