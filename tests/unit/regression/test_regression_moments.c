/* test_regression_moments.c -- the fold against the naive sum, at every
 * dimension, with random and extreme values; merging, threads, and the
 * serialised form. All comparisons are of integers: exact. The kernel is that
 * of this processor; test_regression_moments_plain.c runs the same tests on the
 * one in plain C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "moments.h"

static uint64_t state;

static uint64_t next_random(void)
{
    state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

enum fill { FILL_RANDOM, FILL_LARGEST, FILL_SMALLEST, FILL_ALTERNATING };

static int16_t value_of(enum fill fill, int max, size_t r)
{
    switch (fill) {
    case FILL_LARGEST: return (int16_t)max;
    case FILL_SMALLEST: return (int16_t)-max;
    case FILL_ALTERNATING: return (int16_t)(r % 2 == 0 ? max : -max);
    default: return (int16_t)((int)(next_random() % (2 * (unsigned)max + 1)) - max);
    }
}

struct data {
    size_t n, count;
    int feature_max, response_max;
    int16_t *rows;
    uint8_t *buckets;
};

static struct data make_data(size_t n, size_t count, int feature_max, int response_max,
                             enum fill fill, unsigned buckets)
{
    struct data data = {n, count, feature_max, response_max, NULL, NULL};
    data.rows = malloc(n * count * sizeof *data.rows);
    data.buckets = malloc(count);
    assert_non_null(data.rows);
    assert_non_null(data.buckets);
    for (size_t r = 0; r < count; r++) {
        data.buckets[r] = (uint8_t)(next_random() % buckets);
        for (size_t c = 0; c < n; c++) {
            data.rows[r * n + c] = value_of(fill, c + 1 < n ? feature_max : response_max, r);
        }
    }
    return data;
}

static void free_data(struct data *data)
{
    free(data->rows);
    free(data->buckets);
}

static struct tremolo_moments *new_moments(const struct data *data)
{
    struct tremolo_moments *moments = NULL;
    assert_int_equal(tremolo_moments_new(&moments, data->n, data->feature_max, data->response_max),
                     TREMOLO_OK);
    return moments;
}

/* What the moments say of one bucket, or of all. */
static uint64_t add_sums(int64_t *sum, int64_t *product, struct tremolo_moments *moments,
                         unsigned bucket)
{
    uint64_t count = 0;
    for (unsigned b = 0; b < TREMOLO_BUCKETS; b++) {
        struct tremolo_sums sums;
        assert_int_equal(tremolo_moments_bucket(moments, &sums, b), TREMOLO_OK);
        size_t n = tremolo_moments_shape(moments).coordinates;
        assert_int_equal(sums.coordinates, n);
        for (size_t i = 0; i < n * n && (b == bucket || bucket == TREMOLO_BUCKETS); i++) {
            sum[i % n] += i < n ? sums.sum[i] : 0;
            product[i] += sums.product[i];
        }
        count += b == bucket || bucket == TREMOLO_BUCKETS ? sums.count : 0;
    }
    return count;
}

static void check_bucket(struct tremolo_moments *moments, const struct data *data, unsigned bucket)
{
    size_t n = data->n;
    uint64_t count = 0;
    size_t entries = n + n * n;
    int64_t *sum = calloc(2 * entries, sizeof *sum), *product = sum + n;
    int64_t *ours = sum + entries;
    assert_non_null(sum);
    for (size_t r = 0; r < data->count; r++) {
        const int16_t *row = data->rows + r * n;
        if (bucket < TREMOLO_BUCKETS && data->buckets[r] != bucket) {
            continue;
        }
        count++;
        for (size_t i = 0; i < n; i++) {
            sum[i] += row[i];
            for (size_t j = 0; j < n; j++) {
                product[i * n + j] += (int64_t)row[i] * row[j];
            }
        }
    }
    assert_int_equal(add_sums(ours, ours + n, moments, bucket), count);
    assert_memory_equal(ours, sum, entries * sizeof *sum);
    free(sum);
}

static void check_fold(const struct data *data, unsigned bucket)
{
    struct tremolo_moments *moments = new_moments(data);
    assert_int_equal(tremolo_moments_add(moments, data->rows, data->buckets, data->count),
                     TREMOLO_OK);
    check_bucket(moments, data, bucket);
    check_bucket(moments, data, TREMOLO_BUCKETS);
    tremolo_moments_free(moments);
}

static void test_every_dimension(void **unused)
{
    (void)unused;
    state = 1;
    for (size_t n = 2; n <= TREMOLO_MAX_FOLD_COORDINATES; n += n < 40 ? 1 : 31) {
        struct data data = make_data(n, 150, 2047, 2047, FILL_RANDOM, 3);
        check_fold(&data, 1);
        free_data(&data);
    }
    struct data widest = make_data(257, 700, 2047, 32767, FILL_RANDOM, 1);
    check_fold(&widest, 0);
    free_data(&widest);
}

/* Run lengths around the lane and panel lengths, where off-by-one errors live. */
static void test_every_run_length(void **unused)
{
    (void)unused;
    state = 2;
    static const size_t counts[] = {0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 511, 512, 513, 1024, 5000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct data data = make_data(11, counts[i] + 1, 2047, 2047, FILL_RANDOM, 1);
        data.count = counts[i];
        check_fold(&data, 0);
        free_data(&data);
    }
}

/* All products at their largest: the int32 lanes are as full as they get. A
 * kernel that took one step more than the proof allows would overflow here. */
static void test_extreme_values(void **unused)
{
    (void)unused;
    state = 3;
    static const int maxima[] = {1, 127, 128, 255, 2047, 2048, 4095, 8191, 23170, 32767};
    for (size_t m = 0; m < sizeof maxima / sizeof maxima[0]; m++) {
        for (int fill = FILL_RANDOM; fill <= FILL_ALTERNATING; fill++) {
            struct data same = make_data(9, 9000, maxima[m], maxima[m], (enum fill)fill, 1);
            struct data wide = make_data(9, 2000, maxima[m], 32767, (enum fill)fill, 2);
            struct data narrow = make_data(9, 2000, 32767, maxima[m], (enum fill)fill, 2);
            check_fold(&same, 0);
            check_fold(&wide, 0);
            check_fold(&narrow, 1);
            free_data(&same);
            free_data(&wide);
            free_data(&narrow);
        }
    }
}

static uint8_t *encoded(const struct tremolo_moments *moments, size_t *length)
{
    *length = tremolo_moments_encoded_bytes(moments);
    uint8_t *bytes = malloc(*length);
    assert_non_null(bytes);
    assert_int_equal(tremolo_moments_encode(moments, bytes, *length), TREMOLO_OK);
    return bytes;
}

static void assert_same(const struct tremolo_moments *a, const struct tremolo_moments *b)
{
    size_t length_a = 0, length_b = 0;
    uint8_t *bytes_a = encoded(a, &length_a), *bytes_b = encoded(b, &length_b);
    assert_int_equal(length_a, length_b);
    assert_memory_equal(bytes_a, bytes_b, length_a);
    free(bytes_a);
    free(bytes_b);
}

static void test_order_changes_nothing(void **unused)
{
    (void)unused;
    state = 4;
    struct data data = make_data(12, 20011, 2047, 2047, FILL_RANDOM, TREMOLO_BUCKETS);
    struct tremolo_moments *one = new_moments(&data);
    assert_int_equal(tremolo_moments_add(one, data.rows, data.buckets, data.count), TREMOLO_OK);
    struct tremolo_moments *backwards = new_moments(&data);
    for (size_t r = data.count; r-- > 0;) {
        assert_int_equal(
            tremolo_moments_add(backwards, data.rows + r * data.n, data.buckets + r, 1),
            TREMOLO_OK);
    }
    assert_same(one, backwards);
    tremolo_moments_free(backwards);
    tremolo_moments_free(one);
    free_data(&data);
}

static void test_merging_shards(void **unused)
{
    (void)unused;
    state = 5;
    struct data data = make_data(5, 1000, 100, 30000, FILL_RANDOM, TREMOLO_BUCKETS);
    struct tremolo_moments *whole = new_moments(&data), *first = new_moments(&data),
                           *second = new_moments(&data), *other = NULL;
    assert_int_equal(tremolo_moments_add(whole, data.rows, data.buckets, 1000), TREMOLO_OK);
    assert_int_equal(tremolo_moments_add(first, data.rows, data.buckets, 333), TREMOLO_OK);
    assert_int_equal(tremolo_moments_add(second, data.rows + 333 * data.n, data.buckets + 333, 667),
                     TREMOLO_OK);
    assert_int_equal(tremolo_moments_merge(first, second), TREMOLO_OK);
    assert_same(whole, first);
    assert_int_equal(tremolo_moments_merge(first, first), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_moments_new(&other, 6, 100, 30000), TREMOLO_OK);
    assert_int_equal(tremolo_moments_merge(first, other), TREMOLO_BAD_ARGUMENT);
    assert_same(whole, first);
    tremolo_moments_free(other);
    tremolo_moments_free(second);
    tremolo_moments_free(first);
    tremolo_moments_free(whole);
    free_data(&data);
}

/* A bad value far behind: nothing before it is added, with a split response and without. */
static void test_late_refusals_leave_the_sums_alone(void **unused)
{
    enum { ROWS = 9000, BEFORE = 700, COORDINATES = 23 };
    (void)unused;
    state = 16;
    for (int split = 0; split < 2; split++) {
        struct data data =
            make_data(COORDINATES, ROWS, 2047, split ? 32767 : 2047, FILL_RANDOM, TREMOLO_BUCKETS);
        struct tremolo_moments *moments = new_moments(&data), *same = new_moments(&data);
        assert_int_equal(tremolo_moments_add(moments, data.rows, data.buckets, BEFORE), TREMOLO_OK);
        assert_int_equal(tremolo_moments_add(same, data.rows, data.buckets, BEFORE), TREMOLO_OK);
        data.rows[COORDINATES * ROWS - 2] = 2048;
        memset(data.buckets + ROWS / 2, 3, 1500);
        assert_int_equal(tremolo_moments_add(moments, data.rows, data.buckets, ROWS),
                         TREMOLO_OUT_OF_BOUNDS);
        assert_same(moments, same);
        tremolo_moments_free(moments);
        tremolo_moments_free(same);
        free_data(&data);
    }
}

static void test_refusals_leave_the_sums_alone(void **unused)
{
    (void)unused;
    state = 6;
    struct data data = make_data(4, 100, 2047, 2047, FILL_RANDOM, TREMOLO_BUCKETS);
    struct tremolo_moments *moments = new_moments(&data), *empty = new_moments(&data), *none = NULL;
    data.rows[4 * 99 + 1] = 2048;
    assert_int_equal(tremolo_moments_add(moments, data.rows, data.buckets, 100),
                     TREMOLO_OUT_OF_BOUNDS);
    data.rows[4 * 99 + 1] = INT16_MIN;
    assert_int_equal(tremolo_moments_add(moments, data.rows, data.buckets, 100),
                     TREMOLO_OUT_OF_BOUNDS);
    data.rows[4 * 99 + 1] = 0;
    data.buckets[50] = TREMOLO_BUCKETS;
    assert_int_equal(tremolo_moments_add(moments, data.rows, data.buckets, 100),
                     TREMOLO_BAD_ARGUMENT);
    assert_same(moments, empty);
    assert_int_equal(tremolo_moments_new(&none, 1, 1, 1), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_moments_new(&none, 258, 1, 1), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_moments_new(&none, 2, 0, 1), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_moments_new(&none, 2, 1, 32768), TREMOLO_BAD_ARGUMENT);
    assert_null(none);
    tremolo_moments_free(empty);
    tremolo_moments_free(moments);
    free_data(&data);
}

static void test_bytes_there_and_back(void **unused)
{
    (void)unused;
    state = 7;
    struct data data = make_data(3, 500, 2047, 30000, FILL_RANDOM, TREMOLO_BUCKETS);
    struct tremolo_moments *moments = new_moments(&data), *back = NULL;
    size_t length = 0;
    assert_int_equal(tremolo_moments_add(moments, data.rows, data.buckets, 500), TREMOLO_OK);
    uint8_t *bytes = encoded(moments, &length);
    assert_int_equal(tremolo_moments_decode(&back, bytes, length), TREMOLO_OK);
    assert_same(moments, back);
    check_bucket(back, &data, 17);
    tremolo_moments_free(back);
    back = NULL;
    assert_int_equal(tremolo_moments_encode(moments, bytes, length - 1), TREMOLO_SHORT_BUFFER);
    for (size_t i = 0; i < length; i++) {
        bytes[i] ^= 0x10;
        enum tremolo_status status = tremolo_moments_decode(&back, bytes, length);
        assert_true(status == TREMOLO_MALFORMED || status == TREMOLO_UNKNOWN_VERSION);
        bytes[i] ^= 0x10;
        assert_int_not_equal(tremolo_moments_decode(&back, bytes, i), TREMOLO_OK);
    }
    assert_null(back);
    free(bytes);
    tremolo_moments_free(moments);
    free_data(&data);
}

/* 32,000 ids: the expected chi-square is 31 with a spread of about 8; 80 is
 * exceeded by chance with probability below 1e-5, and the ids are fixed. */
static void test_buckets_are_even(void **unused)
{
    (void)unused;
    state = 8;
    for (int counting = 0; counting < 2; counting++) {
        double counts[TREMOLO_BUCKETS] = {0}, chi_square = 0;
        for (uint64_t i = 0; i < 32000; i++) {
            uint64_t half[2] = {counting ? 0 : next_random(), counting ? i : next_random()};
            uint8_t id[16];
            memcpy(id, half, sizeof id);
            unsigned bucket = tremolo_bucket_of(id);
            assert_true(bucket < TREMOLO_BUCKETS);
            counts[bucket] += 1;
        }
        for (unsigned b = 0; b < TREMOLO_BUCKETS; b++) {
            chi_square += (counts[b] - 1000) * (counts[b] - 1000) / 1000;
        }
        assert_true(chi_square < 80);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_dimension),
        cmocka_unit_test(test_every_run_length),
        cmocka_unit_test(test_extreme_values),
        cmocka_unit_test(test_order_changes_nothing),
        cmocka_unit_test(test_merging_shards),
        cmocka_unit_test(test_refusals_leave_the_sums_alone),
        cmocka_unit_test(test_late_refusals_leave_the_sums_alone),
        cmocka_unit_test(test_bytes_there_and_back),
        cmocka_unit_test(test_buckets_are_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
