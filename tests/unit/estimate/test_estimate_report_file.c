/* test_estimate_report_file.c -- what a file of reports may leave out must be sound where
 * it is, names from outside are shown as text, and a document is read at another level. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "estimate_json.h"
#include "fake_device.h"
#include "testing.h"
#include "tremolo_report_file.h"

enum { TEXT_BYTES = 4096 };

static const double ranges[3] = {2, 4, 0.5};

/* A file of ballots' first two lines; with ranges, or as older files are. */
static void write_lines(char text[TEXT_BYTES], bool with_ranges)
{
    double centre[2] = {0, 0}, scale[2] = {1, 2};
    double range[3];
    char names[2][TREMOLO_NAME_BYTES] = {"a", "b"};
    memcpy(range, ranges, sizeof range);
    struct tremolo_report_header header = {.study = fake_study(2, 9),
                                           .feature_bound = 1,
                                           .response_bound = 1,
                                           .centre = centre,
                                           .scale = scale,
                                           .range = with_ranges ? range : NULL,
                                           .response_scale = 1,
                                           .name = names,
                                           .response = "y",
                                           .unit = "kg"};
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
}

/* Put `json` in the place of the value of the last `member` there is. */
static void replace(char text[TEXT_BYTES], const char *member, const char *json)
{
    char key[32];
    char rest[TEXT_BYTES];
    (void)snprintf(key, sizeof key, "\"%s\"", member);
    char *from = text;
    for (char *next = strstr(text, key); next != NULL; next = strstr(next + 1, key)) {
        from = next;
    }
    assert_true(from != text);
    char *end = from + strlen(key);
    end += strspn(end, ": ");
    end += *end == '[' ? strcspn(end, "]") + 1 : strcspn(end, ",}");
    (void)snprintf(rest, sizeof rest, "%s", end);
    (void)snprintf(from, TEXT_BYTES - (size_t)(from - text), "%s: %s%s", key, json, rest);
}

static bool open_text(struct tremolo_report_header *header, char *text,
                      char error[TREMOLO_REPORT_FILE_ERROR_BYTES])
{
    FILE *file = fmemopen(text, strlen(text), "r");
    assert_non_null(file);
    bool good = tremolo_report_file_open(header, file, error);
    (void)fclose(file);
    return good;
}

static void test_later_members_may_be_missing(void **state)
{
    char text[TEXT_BYTES];
    char error[TREMOLO_REPORT_FILE_ERROR_BYTES] = "";
    struct tremolo_report_header header;
    (void)state;
    write_lines(text, true);
    assert_true(open_text(&header, text, error));
    assert_memory_equal(header.range, ranges, sizeof ranges);
    assert_string_equal(header.unit, "kg");
    tremolo_report_header_free(&header);
    write_lines(text, false);
    assert_null(strstr(text, "\"range\""));
    assert_true(open_text(&header, text, error));
    assert_null(header.range);
    tremolo_report_header_free(&header);
}

static void test_malformed_is_not_missing(void **state)
{
    static const char *const wrong[][2] = {
        {"range", "null"},
        {"range", "7"},
        {"range", "[]"},
        {"range", "[2, 4]"},
        {"range", "[2, 4, 1, 1]"},
        {"range", "[2, \"4\", 1]"},
        {"range", "[2, 0, 1]"},
        {"range", "[2, -4, 1]"},
        {"range", "{}"},
        {"unit", "null"},
        {"unit", "5"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[TEXT_BYTES];
        char error[TREMOLO_REPORT_FILE_ERROR_BYTES] = "";
        char named[32];
        struct tremolo_report_header header;
        write_lines(text, true);
        replace(text, wrong[i][0], wrong[i][1]);
        assert_false(open_text(&header, text, error));
        (void)snprintf(named, sizeof named, ": %s must be", wrong[i][0]);
        assert_non_null(strstr(error, named));
        assert_true(header.range == NULL && header.name == NULL);
    }
}

static void test_names_are_text(void **state)
{
    char text[TEXT_BYTES];
    char error[TREMOLO_REPORT_FILE_ERROR_BYTES] = "";
    struct tremolo_report_header header;
    (void)state;
    write_lines(text, true);
    replace(text, "names", "[\"\\u001b[31ma\", \"b\\u202e\"]");
    replace(text, "unit", "\"\\u0007\"");
    assert_true(open_text(&header, text, error));
    assert_string_equal(header.name[0], "?[31ma");
    assert_string_equal(header.name[1], "b?");
    assert_string_equal(header.unit, "?");
    tremolo_report_header_free(&header);
}

/* Several samples of a device are counted, of which no file that has one says anything. */
static void test_samples(void **state)
{
    static const char *const wrong[] = {"0", "-1", "1001", "\"3\"", "null", "2.5"};
    char text[TEXT_BYTES];
    char error[TREMOLO_REPORT_FILE_ERROR_BYTES] = "";
    struct tremolo_report_header header;
    (void)state;
    write_lines(text, true);
    assert_null(strstr(text, "samples"));
    replace(text, "rounds", "1, \"samples\": 3");
    assert_true(open_text(&header, text, error));
    assert_int_equal(header.study.samples, 3);
    tremolo_report_header_free(&header);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        replace(text, "samples", wrong[i]);
        assert_false(open_text(&header, text, error));
    }
}

/* At another level what a prediction rests on is judged anew, and robust rows keep the degrees of
 * freedom that their intervals had. */
static void test_another_level(void **state)
{
    char text[TEXT_BYTES];
    char *made = NULL;
    double high = 1 + 0.5 * tremolo_student_quantile(0.975, 20);
    (void)state;
    int length = snprintf(
        text, sizeof text,
        "{\"tremolo_estimate\": %d, \"level\": 0.95, \"release\": \"ballot\", \"r2\": null, "
        "\"coefficients\": [{\"identified\": false}, {\"identified\": true}], \"inference\": "
        "{\"degrees\": 31}, \"prediction\": {\"told\": false}, \"diagnostics\": {\"f_test\": "
        "{\"p\": 0.1}}, \"tails\": {\"robust\": [{\"estimate\": 1, \"standard_error\": 0.5, "
        "\"low\": 0, \"high\": %.17g}]}}",
        ESTIMATE_DOCUMENT_VERSION, high);
    assert_int_equal(tremolo_estimate_json_level(&made, text, (size_t)length, 0.8), TREMOLO_OK);
    json_t *read = json_loads(made, 0, NULL);
    const json_t *row =
        json_array_get(json_object_get(json_object_get(read, "tails"), "robust"), 0);
    double wanted = 1 + 0.5 * tremolo_student_quantile(0.9, 20);
    assert_true(fabs(json_number_value(json_object_get(row, "high")) - wanted) < 1e-12);
    assert_true(json_is_true(json_object_get(json_object_get(read, "prediction"), "told")));
    json_decref(read);
    free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_later_members_may_be_missing),
        cmocka_unit_test(test_malformed_is_not_missing),
        cmocka_unit_test(test_names_are_text),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_another_level),
    };
    return cmocka_run_group_tests_name("estimate: files of reports", tests, NULL, NULL);
}
