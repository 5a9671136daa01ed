/* test_server_parts.c -- segments, index and checks, each on its own. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>

#include "encoder.h"
#include "index.h"
#include "segment.h"
#include "server_reports.h"
#include "store.h"
#include "release.h"

static void test_segment_round_trip(void **state)
{
    struct segment segment = {0};
    struct segment_record record = {0};
    uint8_t report[300];
    uint32_t offset = 0;
    uint32_t first = 0;
    (void)state;
    memset(report, 7, sizeof report);
    for (unsigned i = 0; i < 500; i++) {
        report[0] = (uint8_t)i;
        struct segment_record in = {.report = report,
                                    .length = (uint16_t)(1 + i % 300),
                                    .device = (const uint8_t *)"0123456789abcdef0123456789abcdef",
                                    .device_length = (uint8_t)(i % 33)};
        assert_int_equal(segment_add(&segment, &in, &offset), TREMOLO_OK);
        first = i == 0 ? offset : first;
    }
    assert_int_equal(first, SEGMENT_HEAD_BYTES);
    assert_int_equal(segment_seal(&segment, 1234567890), TREMOLO_OK);
    assert_int_equal(segment_check(segment.bytes, segment.length), TREMOLO_OK);
    assert_int_equal(segment_arrived(segment.bytes), 1234567890);
    offset = SEGMENT_HEAD_BYTES;
    for (unsigned i = 0; i < 500; i++) {
        assert_true(segment_next(&record, &offset, segment.bytes, segment.length));
        assert_int_equal(record.length, 1 + i % 300);
        assert_int_equal(record.device_length, i % 33);
        assert_int_equal(record.report[0], (uint8_t)i);
    }
    assert_false(segment_next(&record, &offset, segment.bytes, segment.length));
    segment_free(&segment);
}

/* A segment of another format is refused. */
static void test_other_segment(void **state)
{
    uint8_t bytes[] = "TSG1\1\0\0\0\3\0\0abc............0123456789abcdef";
    const size_t length = sizeof bytes - 1;
    (void)state;
    (void)crypto_generichash(bytes + length - SEGMENT_CHECK_BYTES, SEGMENT_CHECK_BYTES, bytes,
                             length - SEGMENT_CHECK_BYTES, NULL, 0);
    assert_int_equal(segment_check(bytes, length), TREMOLO_MALFORMED);
    bytes[3] = '2';
    (void)crypto_generichash(bytes + length - SEGMENT_CHECK_BYTES, SEGMENT_CHECK_BYTES, bytes,
                             length - SEGMENT_CHECK_BYTES, NULL, 0);
    assert_int_equal(segment_check(bytes, length), TREMOLO_OK);
}

static void test_segment_shows_any_damage(void **state)
{
    struct segment segment = {0};
    struct segment_record in = {.report = (const uint8_t *)"a report", .length = 8};
    uint32_t offset;
    (void)state;
    assert_int_equal(segment_add(&segment, &in, &offset), TREMOLO_OK);
    assert_int_equal(segment_seal(&segment, 1234567890), TREMOLO_OK);
    for (size_t i = 0; i < segment.length; i++) {
        segment.bytes[i] ^= 1;
        assert_int_equal(segment_check(segment.bytes, segment.length), TREMOLO_MALFORMED);
        segment.bytes[i] ^= 1;
    }
    for (size_t length = 0; length < segment.length; length++) {
        assert_int_equal(segment_check(segment.bytes, length), TREMOLO_MALFORMED);
    }
    segment_free(&segment);
}

static void test_segment_is_bounded(void **state)
{
    struct segment segment = {0};
    uint8_t report[600] = {0};
    struct segment_record in = {.report = report, .length = sizeof report};
    enum tremolo_status status = TREMOLO_OK;
    uint32_t offset;
    (void)state;
    while ((status = segment_add(&segment, &in, &offset)) == TREMOLO_OK) {
    }
    assert_int_equal(status, TREMOLO_SHORT_BUFFER);
    assert_int_equal(segment_seal(&segment, 1234567890), TREMOLO_OK);
    assert_true(segment.length <= STORE_SEGMENT_BYTES_MAX);
    segment_free(&segment);
}

static uint64_t spread(uint64_t i)
{
    return i * UINT64_C(0x9e3779b97f4a7c15);
}

/* Keys 1 to `count`, of which every tenth has the hash of the one before. */
static void assert_finds_all_and_only(const struct index *index, uint64_t count)
{
    for (uint64_t i = 1; i <= count; i++) {
        size_t cursor = 0;
        uint64_t places = 0;
        unsigned found = 0;
        uint64_t place;
        while ((place = index_find(index, spread(i), &cursor)) != 0) {
            places += place;
            found++;
        }
        unsigned expected = i % 10 == 0 ? 0 : i % 10 == 9 && i < count ? 2 : 1;
        assert_int_equal(found, expected);
        assert_int_equal(places, expected == 2 ? 2 * i + 1 : expected * i);
    }
}

static void test_index_finds_all_and_only(void **state)
{
    enum { COUNT = 20000 };
    struct index index = {0};
    unsigned looked_while_moving = 0;
    (void)state;
    for (uint64_t i = 1; i <= COUNT; i++) {
        assert_int_equal(index_reserve(&index, 1), TREMOLO_OK);
        index_add(&index, spread(i % 10 == 0 ? i - 1 : i), i);
        /* Also while some keys are here and some there. */
        if (index.old != NULL && i % 97 == 0) {
            assert_finds_all_and_only(&index, i);
            looked_while_moving++;
        }
    }
    assert_true(looked_while_moving > 5);
    assert_finds_all_and_only(&index, COUNT);
    index_clear(&index);
    size_t cursor = 0;
    assert_int_equal(index_find(&index, spread(1), &cursor), 0);
    index_free(&index);
}

/* No key that is added pays for the size of the index. */
static void test_index_grows_in_small_steps(void **state)
{
    enum { COUNT = 100000, STEP = 64 };
    struct index index = {0};
    (void)state;
    for (uint64_t i = 1; i <= COUNT; i++) {
        size_t capacity = index.capacity;
        size_t moved = index.moved;
        bool moves = index.old != NULL;
        assert_int_equal(index_reserve(&index, 1), TREMOLO_OK);
        assert_true(index.capacity == capacity || !moves); /* done long before it grows again */
        moved = index.capacity == capacity ? moved : 0;
        size_t left = index.old_capacity - moved;
        index_add(&index, spread(i), i);
        assert_true(index.old != NULL ? index.moved - moved <= STEP : left <= STEP);
    }
    index_free(&index);
}

/* The server's unpacking answers as the device's does, on honest, random and
 * damaged coordinates of every width. */
static void test_unpack_agrees_with_the_device(void **state)
{
    struct tremolo_bounds bounds[3] = {{0, 9}, {0, 9}, {0, 9}};
    unsigned refused = 0;
    (void)state;
    for (unsigned trial = 0; trial < 40000; trial++) {
        struct tremolo_study study = {.noise_log2 = 14,
                                      .wire_shift = 8,
                                      .wire_bits = (uint8_t)(8 + trial % 9),
                                      .dimension = (uint16_t)(1 + trial % 3),
                                      .keep = TREMOLO_KEEP_ONE,
                                      .rounds = 1,
                                      .samples = 1,
                                      .unit = 1 << 6,
                                      .clip = 1 << 6,
                                      .bounds = bounds,
                                      .response_bounds = {0, 9}};
        uint8_t packed[8];
        int16_t ours[4] = {0};
        int16_t theirs[4] = {0};
        randombytes_buf(packed, sizeof packed);
        struct tremolo_report report = {
            .study_tag = study.id,
            .coordinates = packed,
            .coordinate_bytes =
                (uint16_t)((study.dimension * study.wire_bits + 7) / 8 + (trial % 50 == 0)),
            .has_response = trial % 70 != 0};
        if (tremolo_study_check(&study) != TREMOLO_OK) {
            continue; /* this width does not fit; others do, see `refused` */
        }
        if (trial % 3 != 0) { /* clear the filling bits most of the time */
            unsigned spare =
                8u * report.coordinate_bytes - (unsigned)study.dimension * study.wire_bits;
            if (spare < 8) {
                packed[report.coordinate_bytes - 1] &= (uint8_t)(0xff << spare);
            }
        }
        enum tremolo_status expected = tremolo_report_unpack(theirs, 4, &report, &study);
        assert_int_equal(tremolo_row_unpack(ours, &report, &study), expected);
        refused += expected != TREMOLO_OK;
        if (expected == TREMOLO_OK) {
            assert_memory_equal(ours, theirs, study.dimension * sizeof *ours);
        }
    }
    assert_in_range(refused, 100, 30000);
}

/* 20,000 honest reports all pass (the chance
 * of one refusal is below 20,000 * 1e-9 = 2e-5), and the bound is not so wide
 * that it bounds nothing. */
static void test_norm_bound(void **state)
{
    struct tremolo_study_file *file = NULL;
    struct server_report report;
    int16_t row[8];
    (void)state;
    assert_int_equal(
        tremolo_study_file_parse(&file, NULL, server_study_open, strlen(server_study_open)),
        TREMOLO_OK);
    struct check_study check = check_study_of(file, NULL);
    double largest = 0.0;
    for (unsigned i = 0; i < 20000; i++) {
        struct arrival arrival = {0};
        server_report_make(&report, check.study, 0, NULL, NULL);
        arrival.bytes = report.bytes;
        arrival.length = (uint16_t)report.length;
        check_report(&arrival, row, &check);
        assert_int_equal(arrival.outcome, OUTCOME_PENDING);
        largest = fmax(largest, (double)row[0] * row[0] + (double)row[1] * row[1]);
    }
    assert_true(check.norm2_max < 6.0 * largest);
    assert_true(check.norm2_max > largest);
    tremolo_study_file_free(file);
}

/* Whatever is read past the end is zero and leaves its mark, also for what follows. */
static void test_encoder(void **state)
{
    struct encoder out = {0};
    (void)state;
    encode_number(&out, 0x0102030405060708, 8);
    encode_number(&out, 0xfffe, 2);
    encode_double(&out, -1.5);
    encode_bytes(&out, "end", 3);
    assert_status(out.status, TREMOLO_OK);
    assert_int_equal(out.length, 21);
    assert_int_equal(out.bytes[0], 1);
    assert_int_equal(bytes_get_u64(out.bytes), 0x0102030405060708);
    struct decoder in = {out.bytes, out.length, false};
    assert_int_equal(decode_number(&in, 8), 0x0102030405060708);
    assert_int_equal((int16_t)decode_number(&in, 2), -2);
    assert_true(decode_double(&in) == -1.5);
    assert_memory_equal(decode_bytes(&in, 3), "end", 3);
    assert_false(in.failed);
    assert_int_equal(decode_number(&in, 1), 0);
    assert_true(in.failed);
    free(out.bytes);
    struct encoder failed = {.status = TREMOLO_STORE_FULL};
    encode_number(&failed, 1, 8);
    assert_null(failed.bytes);
    assert_status(failed.status, TREMOLO_STORE_FULL);
}

/* How many arrivals a body has, or -1. */
static int split(const uint8_t *body, size_t length, bool named)
{
    struct arrival *arrivals = NULL;
    size_t count = 0;
    enum tremolo_status status = check_split(&arrivals, &count, body, length, named);
    free(arrivals);
    return status == TREMOLO_OK ? (int)count : -1;
}

static void test_split(void **state)
{
    enum { STRING = 1 + 17 };
    uint8_t two[2 * STRING] = {0x51, [STRING] = 0x51};
    uint8_t named[3 + STRING] = {0x42, 'd', '1', 0x51};
    uint8_t short_ones[3 * 16] = {0};
    static const uint8_t long_head[] = {0x58, 3, 1, 2, 3};
    static const uint8_t array[] = {0x81, 0x41, 1};
    static const uint8_t empty_string[] = {0x40};
    struct arrival *arrivals = NULL;
    size_t count = 0;
    (void)state;
    assert_status(check_split(&arrivals, &count, two, sizeof two, false), TREMOLO_OK);
    assert_int_equal(count, 2);
    assert_int_equal(arrivals[0].length, 17);
    assert_ptr_equal(arrivals[1].bytes, two + STRING + 1);
    free(arrivals);
    assert_status(check_split(&arrivals, &count, named, sizeof named, true), TREMOLO_OK);
    assert_int_equal(count, 1);
    assert_int_equal(arrivals[0].device_length, 2);
    free(arrivals);
    for (size_t i = 0; i < sizeof short_ones; i += 2) { /* more strings than reports can be */
        short_ones[i] = 0x41;
    }
    assert_int_equal(split(short_ones, sizeof short_ones, false), -1);
    assert_int_equal(split(named, 3, true), -1);
    assert_int_equal(split(long_head, sizeof long_head, false), -1);
    assert_int_equal(split(array, sizeof array, false), -1);
    assert_int_equal(split(empty_string, 1, false), -1);
    assert_int_equal(split(two, 0, false), 0);
    for (size_t cut = 1; cut < sizeof two; cut++) {
        assert_int_equal(split(two, cut, false), cut == STRING ? 1 : -1);
    }
}

static void fold_in_parts(struct tremolo_moments *moments, const struct tremolo_study *study,
                          const struct rows *rows, size_t count, size_t part_max)
{
    static int8_t expanded[ROWS_EXPANDED_BYTES];
    for (size_t from = 0, taken = 0; from < count; from += taken) {
        memset(expanded, 1, sizeof expanded); /* nothing of the part before */
        taken = rows_expand(expanded, study, rows, from, count);
        assert_true(taken >= 1 && taken <= part_max && taken <= count - from);
        assert_status(rows_add(moments, study, rows, expanded, from, taken), TREMOLO_OK);
    }
}

/* Ballots of which many, some and one fit a part; samples, which need none. */
static void test_rows_in_parts_are_the_same_sums(void **state)
{
    enum { COUNT = 4000 };
    static const struct tremolo_study studies[] = {
        {.release = TREMOLO_RELEASE_BALLOT, .dimension = 10},
        {.release = TREMOLO_RELEASE_BALLOT, .dimension = 40, .response = TREMOLO_RESPONSE_PUBLIC},
        {.release = TREMOLO_RELEASE_BALLOT, .dimension = 256},
        {.dimension = 3, .wire_bits = 12, .response = TREMOLO_RESPONSE_PUBLIC}};
    static const size_t part_max[] = {1000, 100, 1, COUNT}; /* several parts, but of samples */
    static int16_t values[COUNT * 16];
    static uint8_t buckets[COUNT];
    const struct rows rows = {values, buckets, COUNT};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        values[i] = (int16_t)randombytes_uniform(256);
        buckets[i % COUNT] = (uint8_t)randombytes_uniform(TREMOLO_BUCKETS);
    }
    for (size_t s = 0; s < sizeof studies / sizeof *studies; s++) {
        struct tremolo_moments *whole = NULL, *parts = NULL;
        size_t count = part_max[s] == 1 ? 20 : COUNT;
        assert_status(tremolo_release_plain_sums(&whole, &studies[s]), TREMOLO_OK);
        assert_status(tremolo_release_plain_sums(&parts, &studies[s]), TREMOLO_OK);
        assert_status(tremolo_release_fold(whole, &studies[s], values, buckets, count), TREMOLO_OK);
        fold_in_parts(parts, &studies[s], &rows, count, part_max[s]);
        size_t length = tremolo_moments_encoded_bytes(whole);
        uint8_t *ours = malloc(length), *theirs = malloc(length);
        assert_true(ours != NULL && theirs != NULL);
        assert_status(tremolo_moments_encode(whole, ours, length), TREMOLO_OK);
        assert_status(tremolo_moments_encode(parts, theirs, length), TREMOLO_OK);
        assert_memory_equal(ours, theirs, length);
        free(ours);
        free(theirs);
        tremolo_moments_free(whole);
        tremolo_moments_free(parts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_segment_round_trip),
        cmocka_unit_test(test_other_segment),
        cmocka_unit_test(test_segment_shows_any_damage),
        cmocka_unit_test(test_segment_is_bounded),
        cmocka_unit_test(test_index_finds_all_and_only),
        cmocka_unit_test(test_index_grows_in_small_steps),
        cmocka_unit_test(test_unpack_agrees_with_the_device),
        cmocka_unit_test(test_norm_bound),
        cmocka_unit_test(test_encoder),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_rows_in_parts_are_the_same_sums),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
