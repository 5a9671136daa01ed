/* test_estimate_ballots.c -- ballots become the rows that the device core says, and their
 * sums are exact whatever the order, the parts and the way they travelled. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake_device.h"
#include "fake_inputs.h"
#include "report_file.h"
#include "testing.h"
#include "release.h"

enum { BALLOTS = 61 };

static struct fake_entropy random_source = {.state = 815};

static struct tremolo_study study_of(unsigned dimension, unsigned response)
{
    struct tremolo_study study = fake_study(dimension, 9);
    study.release = TREMOLO_RELEASE_BALLOT;
    study.rounds = 1;
    study.response = (uint8_t)response;
    study.constant = 282;
    study.response_weight = response == TREMOLO_RESPONSE_PRIVATE ? 515 : 0;
    study.rank_first = 57;
    study.rank_top = UINT32_C(2923410234);
    for (unsigned i = 0; i < TREMOLO_STUDY_ID_BYTES; i++) {
        study.id[i] = (uint8_t)fake_random(&random_source);
    }
    return study;
}

/* Ballots as they are decoded, and what the fold takes. */
struct ballots {
    struct tremolo_report report[BALLOTS];
    uint8_t id[BALLOTS][TREMOLO_REPORT_ID_BYTES];
    uint8_t answer[BALLOTS];
    uint8_t bucket[BALLOTS];
    int16_t row[BALLOTS * EXPAND_ROW_VALUES];
};

static void make(struct ballots *made, const struct tremolo_study *study)
{
    for (size_t i = 0; i < BALLOTS; i++) {
        for (size_t k = 0; k < TREMOLO_REPORT_ID_BYTES; k++) {
            made->id[i][k] = (uint8_t)fake_random(&random_source);
        }
        made->answer[i] = (uint8_t)fake_random(&random_source);
        made->bucket[i] = (uint8_t)tremolo_bucket_of(made->id[i]);
        made->report[i] = (struct tremolo_report){
            .study_tag = study->id,
            .id = made->id[i],
            .coordinates = &made->answer[i],
            .coordinate_bytes = 1,
            .has_response = study->response == TREMOLO_RESPONSE_PUBLIC,
        };
        if (made->report[i].has_response != 0) {
            made->report[i].response =
                (int16_t)fake_between(&random_source, -TREMOLO_RESPONSE_MAX, TREMOLO_RESPONSE_MAX);
        }
        assert_status(
            tremolo_row_unpack(made->row + i * EXPAND_ROW_VALUES, &made->report[i], study),
            TREMOLO_OK);
    }
}

/* Both kernels, directions that end inside and at the end of a chunk. */
static void test_rows_are_those_of_the_core(void **state)
{
    static const unsigned dimensions[] = {1, 2, 3, 10, 14, 40, 256};
    static struct ballots made;
    static int8_t core[TREMOLO_MAX_BALLOT_ENTRIES], ours[TREMOLO_MAX_BALLOT_ENTRIES];
    (void)state;
    for (size_t t = 0; t < 14; t++) {
        struct tremolo_study study = study_of(dimensions[t / 2], t % 2);
        size_t entries = tremolo_ballot_entries(&study);
        make(&made, &study);
        for (size_t i = 0; i < 19; i++) {
            assert_status(tremolo_ballot_expand(core, sizeof core, &made.report[i], &study),
                          TREMOLO_OK);
            for (int wide = 0; wide < 2; wide++) {
                memset(ours, 99, sizeof ours);
                expand_rows(ours, entries, study.id, made.row + i * EXPAND_ROW_VALUES, 1,
                            wide != 0);
                assert_memory_equal(ours, core, entries);
                assert_true(entries == sizeof ours || ours[entries] == 99);
            }
        }
    }
}

/* Any number of ballots, so that lanes are shared and not, and nothing is written past the rows. */
static void test_many_rows_are_those_of_the_core(void **state)
{
    static const unsigned dimensions[] = {1, 3, 10, 30, 31, 40};
    static struct ballots made;
    static int8_t core[19][1000], ours[sizeof core];
    (void)state;
    for (size_t t = 0; t < 12; t++) {
        struct tremolo_study study = study_of(dimensions[t / 2], t % 2);
        size_t entries = tremolo_ballot_entries(&study);
        assert_true(entries < sizeof core[0]);
        make(&made, &study);
        for (size_t i = 0; i < 19; i++) {
            assert_status(tremolo_ballot_expand(core[i], sizeof core[i], &made.report[i], &study),
                          TREMOLO_OK);
        }
        for (size_t count = 1; count <= 19; count++) {
            for (int wide = 0; wide < 2; wide++) {
                memset(ours, 99, sizeof ours);
                expand_rows(ours, entries, study.id, made.row, count, wide != 0);
                for (size_t i = 0; i < count; i++) {
                    assert_memory_equal(ours + i * entries, core[i], entries);
                }
                assert_int_equal(ours[count * entries], 99);
            }
        }
    }
}

static void add_slowly(int64_t sum[3][64], int64_t y[3], const struct ballots *made,
                       const struct tremolo_study *study, unsigned bucket)
{
    int8_t row[64];
    for (size_t i = 0; i < BALLOTS; i++) {
        int64_t factor = 1;
        if (made->bucket[i] != bucket) {
            continue;
        }
        assert_status(tremolo_ballot_expand(row, sizeof row, &made->report[i], study), TREMOLO_OK);
        for (size_t power = 0; power < 3; power++) {
            y[power] += factor;
            for (size_t k = 0; k < tremolo_ballot_entries(study); k++) {
                sum[power][k] += factor * row[k];
            }
            factor *= made->report[i].response;
        }
    }
}

static void test_sums_are_exact(void **state)
{
    static struct ballots made;
    (void)state;
    for (unsigned response = 0; response < 2; response++) {
        struct tremolo_study study = study_of(5, response);
        struct tremolo_moments *moments = NULL;
        make(&made, &study);
        assert_status(tremolo_release_sums(&moments, &study), TREMOLO_OK);
        assert_status(tremolo_release_fold(moments, &study, made.row, made.bucket, BALLOTS),
                      TREMOLO_OK);
        for (unsigned b = 0; b < TREMOLO_BUCKETS; b++) {
            struct tremolo_ballot_sums sums;
            int64_t slow[3][64] = {{0}};
            int64_t y[3] = {0};
            size_t bytes = tremolo_ballot_entries(&study) * sizeof slow[0][0];
            add_slowly(slow, y, &made, &study, b);
            assert_status(tremolo_moments_ballots(&sums, moments, b), TREMOLO_OK);
            assert_int_equal(sums.count, y[0]);
            assert_memory_equal(sums.row, slow[0], bytes);
            if (response == TREMOLO_RESPONSE_PUBLIC) {
                assert_memory_equal(sums.row_y, slow[1], bytes);
                assert_memory_equal(sums.row_yy, slow[2], bytes);
                assert_true(sums.y == y[1] && sums.yy == y[2]);
            } else {
                assert_null(sums.row_y);
            }
        }
        tremolo_moments_free(moments);
    }
}

static uint8_t *encoded(size_t *length, const struct tremolo_moments *moments)
{
    *length = tremolo_moments_encoded_bytes(moments);
    uint8_t *bytes = malloc(*length);
    assert_non_null(bytes);
    assert_status(tremolo_moments_encode(moments, bytes, *length), TREMOLO_OK);
    return bytes;
}

/* Two halves, one of them after a journey as bytes, are the whole. */
static void test_parts_merge_to_the_bit(void **state)
{
    static struct ballots made;
    (void)state;
    for (unsigned response = 0; response < 2; response++) {
        struct tremolo_study study = study_of(4, response);
        struct tremolo_moments *whole = NULL, *first = NULL, *second = NULL, *read = NULL;
        size_t length = 0, half = BALLOTS / 2;
        make(&made, &study);
        assert_status(tremolo_release_sums(&whole, &study), TREMOLO_OK);
        assert_status(tremolo_release_sums(&first, &study), TREMOLO_OK);
        assert_status(tremolo_release_sums(&second, &study), TREMOLO_OK);
        assert_status(tremolo_release_fold(whole, &study, made.row, made.bucket, BALLOTS),
                      TREMOLO_OK);
        assert_status(tremolo_release_fold(first, &study, made.row, made.bucket, half), TREMOLO_OK);
        assert_status(tremolo_release_fold(second, &study, made.row + half * EXPAND_ROW_VALUES,
                                           made.bucket + half, BALLOTS - half),
                      TREMOLO_OK);
        uint8_t *bytes = encoded(&length, first);
        assert_status(tremolo_moments_decode(&read, bytes, length), TREMOLO_OK);
        assert_true(tremolo_release_fits(read, &study));
        assert_status(tremolo_moments_merge(second, read), TREMOLO_OK);
        free(bytes);
        bytes = encoded(&length, whole);
        uint8_t *merged = encoded(&length, second);
        assert_memory_equal(bytes, merged, length);
        free(bytes);
        free(merged);
        tremolo_moments_free(whole);
        tremolo_moments_free(first);
        tremolo_moments_free(second);
        tremolo_moments_free(read);
    }
}

/* Sums of one study are not taken for those of another release, response, dimension or
 * grid. */
static void test_sums_fit_their_study_alone(void **state)
{
    struct tremolo_study studies[7];
    (void)state;
    for (unsigned i = 0; i < 7; i++) {
        studies[i] = study_of(4 + i / 6, i & 1);
        studies[i].wire_bits = (uint8_t)(i < 4 ? 12 : 11);
        studies[i].release = i < 2 ? TREMOLO_RELEASE_BALLOT : TREMOLO_RELEASE_SAMPLE;
    }
    for (unsigned i = 0; i < 7; i++) {
        struct tremolo_moments *moments = NULL;
        assert_status(tremolo_release_sums(&moments, &studies[i]), TREMOLO_OK);
        for (unsigned j = 0; j < 7; j++) {
            assert_int_equal(tremolo_release_fits(moments, &studies[j]), i == j);
        }
        tremolo_moments_free(moments);
    }
    /* As many entries of ballots that have no public response. */
    for (unsigned d = 1; d < 40; d++) {
        struct tremolo_moments *moments = NULL;
        struct tremolo_study study = study_of(d, TREMOLO_RESPONSE_PUBLIC);
        assert_status(tremolo_moments_new_ballots(&moments, tremolo_ballot_entries(&study), false),
                      TREMOLO_OK);
        assert_false(tremolo_release_fits(moments, &study));
        tremolo_moments_free(moments);
    }
}

/* Bytes with one bit changed are never taken for others. */
static void test_damage_is_found(void **state)
{
    static struct ballots made;
    (void)state;
    struct tremolo_study study = study_of(2, TREMOLO_RESPONSE_PUBLIC);
    struct tremolo_moments *moments = NULL, *read = NULL;
    size_t length = 0;
    make(&made, &study);
    assert_status(tremolo_release_sums(&moments, &study), TREMOLO_OK);
    assert_status(tremolo_release_fold(moments, &study, made.row, made.bucket, BALLOTS),
                  TREMOLO_OK);
    uint8_t *bytes = encoded(&length, moments);
    for (size_t i = 0; i < length; i += 7) {
        bytes[i] ^= 4;
        assert_true(tremolo_moments_decode(&read, bytes, length) != TREMOLO_OK);
        bytes[i] ^= 4;
    }
    assert_status(tremolo_moments_decode(&read, bytes, length - 8), TREMOLO_MALFORMED);
    free(bytes);
    tremolo_moments_free(moments);
}

/* Sums of one kind refuse what belongs to the other. */
static void test_kinds_do_not_mix(void **state)
{
    static struct ballots made;
    (void)state;
    struct tremolo_study study = study_of(2, TREMOLO_RESPONSE_PRIVATE);
    struct tremolo_moments *ballots = NULL, *other = NULL, *rows = NULL;
    struct tremolo_sums sums;
    struct tremolo_ballot_sums ballot_sums;
    uint8_t bucket = TREMOLO_BUCKETS;
    make(&made, &study);
    assert_status(tremolo_release_sums(&ballots, &study), TREMOLO_OK);
    study.response = TREMOLO_RESPONSE_PUBLIC;
    assert_status(tremolo_release_sums(&other, &study), TREMOLO_OK);
    assert_status(tremolo_moments_new(&rows, 11, 80, 80), TREMOLO_OK);
    assert_status(tremolo_moments_add(ballots, made.row, made.bucket, 1), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_moments_bucket(ballots, &sums, 0), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_moments_ballots(&ballot_sums, rows, 0), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_release_fold(rows, &study, made.row, made.bucket, 1),
                  TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_release_fold(ballots, &study, made.row, &bucket, 1),
                  TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_moments_merge(ballots, rows), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_moments_merge(ballots, other), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_moments_count(ballots), 0);
    tremolo_moments_free(ballots);
    tremolo_moments_free(other);
    tremolo_moments_free(rows);
}

/* ---------------------------------------------------------------- files */

enum { FILE_D = 2, FILE_BALLOTS = 300 };

static char names[FILE_D][TREMOLO_NAME_BYTES] = {"\033[31ma", "b\xe2\x80\xae"};
static double centre[FILE_D] = {10, 0};
static double scale[FILE_D] = {2, 1};
static double range[FILE_D + 1] = {4, 2, 100};

static struct tremolo_report_header header_of(const struct tremolo_study *study,
                                              struct tremolo_inputs *inputs)
{
    return (struct tremolo_report_header){.study = *study,
                                          .inputs = inputs,
                                          .range = range,
                                          .feature_bound = 1,
                                          .response_bound = 1,
                                          .centre = centre,
                                          .scale = scale,
                                          .response_scale = 50,
                                          .name = names,
                                          .response = "y",
                                          .unit = "\a"};
}

/* One device's report of a sample that its number says. */
static size_t report_of(uint8_t bytes[TREMOLO_MAX_REPORT_BYTES], const struct tremolo_study *study,
                        int number)
{
    static struct tremolo_work work;
    static struct fake_device device;
    const struct tremolo_round round = {NULL, 0};
    const int32_t features[FILE_D] = {(number * 389) % 2000 - 1000, (number * 733) % 2000 - 1000};
    const struct tremolo_sample sample = {features, (features[0] - features[1]) / 2, 0};
    size_t length = TREMOLO_MAX_REPORT_BYTES;
    fake_device_init(&device, 77 + (uint64_t)number);
    struct tremolo_platform platform = fake_device_platform(&device, 1, 0);
    assert_status(tremolo_device_enrol(&work, &platform, 0, 4 * TREMOLO_CHARGE_ONE), TREMOLO_OK);
    assert_status(tremolo_device_report(&work, bytes, &length, study, &round, &sample, &platform),
                  TREMOLO_OK);
    return length;
}

/* A file of ballots, the first of them twice, and the sums of the same. */
static FILE *write_file(struct tremolo_moments **moments, const struct tremolo_study *study)
{
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    struct tremolo_inputs *inputs = fake_inputs(FILE_D);
    const struct tremolo_report_header header = header_of(study, inputs);
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_true(tremolo_report_file_begin(file, &header));
    tremolo_inputs_free(inputs);
    assert_true(tremolo_report_file_begin_round(file, study, 0, NULL));
    assert_status(tremolo_release_sums(moments, study), TREMOLO_OK);
    for (int i = 0; i < FILE_BALLOTS; i++) {
        int16_t row[EXPAND_ROW_VALUES];
        struct tremolo_report report;
        size_t length = report_of(bytes, study, i);
        assert_status(tremolo_report_decode(&report, bytes, length), TREMOLO_OK);
        assert_status(tremolo_row_unpack(row, &report, study), TREMOLO_OK);
        uint8_t bucket = (uint8_t)tremolo_bucket_of(report.id);
        assert_status(tremolo_release_fold(*moments, study, row, &bucket, 1), TREMOLO_OK);
        for (int copy = i == 0 ? 2 : 1; copy > 0; copy--) {
            assert_int_equal(fputc((int)(length & 255), file), length & 255);
            assert_int_equal(fputc((int)(length >> 8), file), length >> 8);
            assert_int_equal(fwrite(bytes, 1, length, file), length);
        }
    }
    rewind(file);
    return file;
}

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    assert_non_null(text);
    return text;
}

/* Names from outside are shown as text. */
static void check_document(const json_t *document)
{
    const json_t *rows = json_object_get(document, "coefficients");
    const json_t *guarantee = json_object_get(document, "guarantee");
    double epsilon = json_number_value(json_object_get(guarantee, "epsilon"));
    assert_string_equal(text_at(document, "release"), "ballot");
    assert_string_equal(text_at(json_array_get(rows, 0), "name"), "?[31ma");
    assert_string_equal(text_at(json_array_get(rows, 1), "name"), "b?");
    assert_string_equal(text_at(json_object_get(document, "response"), "unit"), "?");
    assert_int_equal(json_integer_value(json_object_get(document, "devices")), FILE_BALLOTS);
    assert_int_equal(json_integer_value(json_object_get(document, "repeated")), 1);
    assert_true(epsilon > 1 && epsilon < 4);
    assert_true(json_number_value(json_object_get(guarantee, "delta")) == 0);
}

static void check_prediction(const json_t *prediction, const double own[FILE_D + 1])
{
    const json_t *rows = json_object_get(prediction, "coefficients");
    assert_int_equal(json_array_size(rows), FILE_D + 1);
    for (size_t i = 0; i <= FILE_D; i++) {
        const json_t *value = json_object_get(json_array_get(rows, i), "estimate");
        assert_true(json_is_number(value) && json_number_value(value) == own[i]);
    }
}

static void test_a_file_says_what_its_ballots_say(void **state)
{
    const struct tremolo_report_fit_options options = {TREMOLO_PREDICTOR_AUTO, 0, 0.95};
    const struct tremolo_units units = {centre, scale, 0, 50};
    (void)state;
    for (unsigned response = 0; response < 2; response++) {
        char error[TREMOLO_REPORT_FILE_ERROR_BYTES];
        struct tremolo_study study = study_of(FILE_D, response);
        struct tremolo_moments *moments = NULL;
        struct tremolo_ballot *ballots = NULL;
        struct tremolo_coefficient rows[FILE_D + 1];
        struct tremolo_ballot_fit fit;
        double own[FILE_D + 1];
        json_t *document = NULL;
        study.samples = 1;
        FILE *file = write_file(&moments, &study);
        assert_status(tremolo_report_file_fit(&document, file, &options, error), TREMOLO_OK);
        check_document(document);
        assert_status(tremolo_release_ballots(&ballots, moments, &study), TREMOLO_OK);
        assert_status(tremolo_ballot_infer(rows, ballots, &units, 0.95), TREMOLO_OK);
        assert_status(tremolo_ballot_fit(own, &fit, ballots, TREMOLO_METHOD_AUTO, 0.95),
                      TREMOLO_OK);
        tremolo_fit_to_own(own, &own[FILE_D], own, fit.fit.intercept, FILE_D, &units);
        check_prediction(json_object_get(document, "prediction"), own);
        /* The same law, by its scale or by the sums' noise: equal up to rounding. */
        assert_true(
            fabs(tremolo_release_devices_needed(&study, NULL) / rows[0].devices_needed - 1) < 1e-9);
        json_decref(document);
        tremolo_ballot_free(ballots);
        tremolo_moments_free(moments);
        (void)fclose(file);
    }
}

/* One ballot looks like chance. */
static void test_nothing_is_said_of_one_bucket(void **state)
{
    static struct ballots made;
    (void)state;
    struct tremolo_study study = study_of(2, TREMOLO_RESPONSE_PRIVATE);
    struct tremolo_moments *moments = NULL;
    struct tremolo_ballot *ballots = NULL;
    make(&made, &study);
    memset(made.bucket, 7, sizeof made.bucket);
    assert_status(tremolo_release_sums(&moments, &study), TREMOLO_OK);
    assert_status(tremolo_release_fold(moments, &study, made.row, made.bucket, BALLOTS),
                  TREMOLO_OK);
    assert_status(tremolo_release_ballots(&ballots, moments, &study), TREMOLO_OK);
    assert_null(ballots);
    tremolo_moments_free(moments);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_those_of_the_core),
        cmocka_unit_test(test_many_rows_are_those_of_the_core),
        cmocka_unit_test(test_sums_are_exact),
        cmocka_unit_test(test_parts_merge_to_the_bit),
        cmocka_unit_test(test_sums_fit_their_study_alone),
        cmocka_unit_test(test_damage_is_found),
        cmocka_unit_test(test_kinds_do_not_mix),
        cmocka_unit_test(test_a_file_says_what_its_ballots_say),
        cmocka_unit_test(test_nothing_is_said_of_one_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
