/* test_estimate_ballots.c -- ballots become the rows that the device core says, and their
 * sums are exact whatever the order, the parts and the way they travelled. */
#include <stdlib.h>
#include <string.h>

#include "expand.h"
#include "fake_device.h"
#include "testing.h"
#include "tremolo_release.h"

enum { BALLOTS = 61 };

static struct fake_entropy random_source = {.state = 815};

static struct tremolo_study study_of(unsigned dimension, unsigned response)
{
    struct tremolo_study study = fake_study(dimension, 9);
    study.release = TREMOLO_RELEASE_BALLOT;
    study.rounds = 1;
    study.response = (uint8_t)response;
    study.constant = 282;
    study.response_weight = response == TREMOLO_RESPONSE_PRIVATE ? 528 : 0;
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

/* Both kernels, every lane, directions that end inside and at the end of a chunk. */
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
            struct expand_keys keys;
            size_t first = i / EXPAND_LANES * EXPAND_LANES;
            expand_keys(&keys, study.id, made.row + first * EXPAND_ROW_VALUES, i - first + 1);
            assert_status(tremolo_ballot_expand(core, sizeof core, &made.report[i], &study),
                          TREMOLO_OK);
            for (int wide = 0; wide < 2; wide++) {
                memset(ours, 99, sizeof ours);
                expand_row(ours, entries, &keys, i - first, made.answer[i], wide != 0);
                assert_memory_equal(ours, core, entries);
                assert_true(entries == sizeof ours || ours[entries] == 99);
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
    assert_status(tremolo_moments_total(ballots, &sums), TREMOLO_BAD_ARGUMENT);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_those_of_the_core), cmocka_unit_test(test_sums_are_exact),
        cmocka_unit_test(test_parts_merge_to_the_bit),     cmocka_unit_test(test_damage_is_found),
        cmocka_unit_test(test_kinds_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
