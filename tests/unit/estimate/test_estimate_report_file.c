/* test_estimate_report_file.c -- every member of a file's second line must be there and be sound. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_device.h"
#include "fake_inputs.h"
#include "report_file.h"
#include "testing.h"

enum { TEXT_BYTES = 4096 };

/* The first two lines of a file of ballots. */
static void write_lines(char text[TEXT_BYTES])
{
    double centre[2] = {0, 0}, scale[2] = {1, 2}, range[3] = {2, 4, 0.5};
    char names[2][TREMOLO_NAME_BYTES] = {"a", "b"};
    struct tremolo_report_header header = {.study = fake_study(2, 9),
                                           .feature_bound = 1,
                                           .response_bound = 1,
                                           .centre = centre,
                                           .scale = scale,
                                           .range = range,
                                           .response_scale = 1,
                                           .name = names,
                                           .response = "y",
                                           .unit = "kg",
                                           .inputs = fake_inputs(2)};
    header.study.release = TREMOLO_RELEASE_BALLOT;
    header.study.rounds = 1;
    header.study.samples = 1;
    header.study.response = TREMOLO_RESPONSE_PUBLIC;
    header.study.constant = TREMOLO_BALLOT_ONE;
    header.study.rank_first = 57;
    header.study.rank_top = UINT32_C(2923410234);
    memset(text, 0, TEXT_BYTES);
    FILE *file = fmemopen(text, TEXT_BYTES, "w");
    assert_true(file != NULL && tremolo_report_file_begin(file, &header));
    (void)fclose(file);
    tremolo_inputs_free(header.inputs);
}

/* Where the last `member` there is begins, with its quotes; its name is ours. */
static char *find_member(char text[TEXT_BYTES], const char *member)
{
    char key[32];
    char *from = NULL;
    (void)snprintf(key, sizeof key, "\"%s\":", member);
    for (char *next = strstr(text, key); next != NULL; next = strstr(next + 1, key)) {
        from = next;
    }
    assert_non_null(from);
    return from;
}

/* Put `json` in the place of its value. */
static void replace(char text[TEXT_BYTES], const char *member, const char *json)
{
    char rest[TEXT_BYTES];
    char *from = strchr(find_member(text, member), ':') + 1;
    char *end = from + strspn(from, " ");
    end += *end == '[' ? strcspn(end, "]") + 1 : strcspn(end, ",}");
    (void)snprintf(rest, sizeof rest, "%s", end);
    (void)snprintf(from, TEXT_BYTES - (size_t)(from - text), "%s%s", json, rest);
}

/* The member is there under another name only. */
static void rename_member(char text[TEXT_BYTES], const char *member)
{
    find_member(text, member)[1] = '?';
}

/* True if the two lines are sound, after which the file ends without a round. */
static bool is_sound(char *text, char error[TREMOLO_REPORT_FILE_ERROR_BYTES])
{
    const struct tremolo_report_fit_options options = {.level = 0.95};
    json_t *document = NULL;
    FILE *file = fmemopen(text, strlen(text), "r");
    assert_non_null(file);
    assert_status(tremolo_report_file_fit(&document, file, &options, error), TREMOLO_MALFORMED);
    (void)fclose(file);
    assert_null(document);
    return strcmp(error, "there is no round in it") == 0;
}

static void test_members_must_be_sound(void **state)
{
    /* What is wrong, and the word that its sentence has. */
    static const char *const wrong[][3] = {
        {"range", "null", "range"},
        {"range", "7", "range"},
        {"range", "[]", "range"},
        {"range", "[2, 4]", "range"},
        {"range", "[2, 4, 1, 1]", "range"},
        {"range", "[2, \"4\", 1]", "range"},
        {"range", "[2, 0, 1]", "range"},
        {"range", "[2, -4, 1]", "range"},
        {"range", "{}", "range"},
        {"unit", "null", "unit"},
        {"unit", "5", "unit"},
        {"columns", "[]", "inputs"},
        {"step", "-1", "numbers"},
        {"radius", "null", "numbers"},
        {"feature_bound", "0", "numbers"},
        {"response_bound", "\"1\"", "numbers"},
        {"distance", "-0.5", "numbers"},
        {"delta", "1e-5", "numbers"}, /* ballots have none */
        {"response_centre", "null", "numbers"},
        {"response_scale", "0", "numbers"},
        {"scale", "[1, 0]", "numbers"},
        {"centre", "[1]", "numbers"},
        {"names", "[\"a\"]", "numbers"},
        {"rank_top", "-1", "numbers"},
        {"dimension", "0", "numbers"},
    };
    char text[TEXT_BYTES];
    char error[TREMOLO_REPORT_FILE_ERROR_BYTES] = "";
    (void)state;
    write_lines(text);
    assert_true(is_sound(text, error));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        write_lines(text);
        replace(text, wrong[i][0], wrong[i][1]);
        assert_false(is_sound(text, error));
        assert_non_null(strstr(error, wrong[i][2]));
        write_lines(text);
        rename_member(text, wrong[i][0]);
        assert_false(is_sound(text, error));
    }
}

/* Several samples of a device are counted; a file of one sample each does not mention them. */
static void test_samples(void **state)
{
    static const char *const wrong[] = {"0", "-1", "1001", "\"3\"", "null", "2.5"};
    char text[TEXT_BYTES];
    char error[TREMOLO_REPORT_FILE_ERROR_BYTES] = "";
    (void)state;
    write_lines(text);
    assert_null(strstr(text, "samples"));
    replace(text, "rounds", "1, \"samples\": 3");
    assert_true(is_sound(text, error));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        replace(text, "samples", wrong[i]);
        assert_false(is_sound(text, error));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_must_be_sound),
        cmocka_unit_test(test_samples),
    };
    return cmocka_run_group_tests_name("estimate: files of reports", tests, NULL, NULL);
}
