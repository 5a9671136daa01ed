/* test_regression_tail.c -- reports beyond limits against plain counting, whatever the order, the
 * parts and the way they travelled; and the chi-square tail against forty digits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "moments.h"
#include "regression.h"

enum { N = 5, RELEASED = 4, ROWS = 3000, LARGEST = 300 };

static const struct tremolo_tail_limits limits = {
    RELEASED, {40000, 90000, 120000, 160000, 200000}, 250, false};

struct rows {
    int16_t value[ROWS][N];
    uint8_t bucket[ROWS];
};

static void make(struct rows *rows, uint64_t seed)
{
    struct tremolo_random random = tremolo_random_from(seed, 0);
    for (size_t r = 0; r < ROWS; r++) {
        rows->bucket[r] = (uint8_t)(tremolo_random_bits(&random) % 7); /* the others stay empty */
        for (size_t i = 0; i < N; i++) {
            rows->value[r][i] =
                (int16_t)((int)(tremolo_random_bits(&random) % (2 * LARGEST + 1)) - LARGEST);
        }
    }
}

static struct tremolo_moments *watched(const struct tremolo_tail_limits *by)
{
    struct tremolo_moments *moments = NULL;
    assert_int_equal(tremolo_moments_new(&moments, N, LARGEST, LARGEST), TREMOLO_OK);
    assert_int_equal(tremolo_moments_watch(moments, by), TREMOLO_OK);
    return moments;
}

static void add(struct tremolo_moments *moments, const struct rows *rows, size_t first, size_t end)
{
    assert_int_equal(
        tremolo_moments_add(moments, rows->value[first], rows->bucket + first, end - first),
        TREMOLO_OK);
}

static int64_t norm2(const int16_t *row)
{
    int64_t sum = 0;
    for (size_t i = 0; i < RELEASED; i++) {
        sum += row[i] * row[i];
    }
    return sum;
}

static uint8_t *encoded(size_t *length, const struct tremolo_moments *moments)
{
    *length = tremolo_moments_encoded_bytes(moments);
    uint8_t *bytes = malloc(*length);
    assert_non_null(bytes);
    assert_int_equal(tremolo_moments_encode(moments, bytes, *length), TREMOLO_OK);
    return bytes;
}

static void assert_same(const struct tremolo_moments *a, const struct tremolo_moments *b)
{
    size_t length_a;
    size_t length_b;
    uint8_t *bytes_a = encoded(&length_a, a);
    uint8_t *bytes_b = encoded(&length_b, b);
    assert_int_equal(length_a, length_b);
    assert_memory_equal(bytes_a, bytes_b, length_a);
    free(bytes_a);
    free(bytes_b);
}

static void test_counts_are_plain_counts(void **state)
{
    static struct rows rows;
    struct tremolo_tail tail;
    uint64_t beyond[TREMOLO_TAIL_LIMITS] = {0};
    uint64_t high[N] = {0};
    uint64_t low[N] = {0};
    (void)state;
    make(&rows, 1);
    struct tremolo_moments *moments = watched(&limits);
    add(moments, &rows, 0, ROWS);
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t k = 0; k < TREMOLO_TAIL_LIMITS; k++) {
            beyond[k] += norm2(rows.value[r]) > limits.norm2[k];
        }
        for (size_t i = 0; i < RELEASED; i++) {
            high[i] += rows.value[r][i] > limits.value;
            low[i] += rows.value[r][i] < -limits.value;
        }
    }
    assert_true(tremolo_moments_tail(&tail, moments));
    assert_int_equal(tail.reports, ROWS);
    assert_memory_equal(tail.beyond, beyond, sizeof beyond);
    assert_memory_equal(tail.high, high, sizeof high);
    assert_memory_equal(tail.low, low, sizeof low);
    assert_int_equal(tail.set_aside, beyond[TREMOLO_TAIL_CUT]);
    assert_true(beyond[4] > 0 && beyond[0] < ROWS && high[0] > 0);
    tremolo_moments_free(moments);
}

/* All minus those beyond is what those within give. */
static void test_within_is_without_those_beyond(void **state)
{
    static struct rows rows;
    struct tremolo_moments *within = NULL;
    struct tremolo_moments *expected = NULL;
    (void)state;
    for (int values = 0; values < 2; values++) {
        struct tremolo_tail_limits by = limits;
        by.cut_values = values != 0;
        make(&rows, 2);
        struct tremolo_moments *moments = watched(&by);
        add(moments, &rows, 0, ROWS);
        assert_int_equal(tremolo_moments_within(&within, moments), TREMOLO_OK);
        assert_int_equal(tremolo_moments_new(&expected, N, LARGEST, LARGEST), TREMOLO_OK);
        size_t left_out = 0;
        for (size_t r = 0; r < ROWS; r++) {
            bool far = norm2(rows.value[r]) > limits.norm2[TREMOLO_TAIL_CUT];
            for (size_t i = 0; i < RELEASED && values != 0; i++) {
                far = far || abs(rows.value[r][i]) > limits.value;
            }
            left_out += far;
            if (!far) {
                add(expected, &rows, r, r + 1);
            }
        }
        assert_true(left_out > 0);
        assert_same(within, expected);
        tremolo_moments_free(moments);
        tremolo_moments_free(within);
        tremolo_moments_free(expected);
    }
    struct tremolo_moments *plain = NULL;
    assert_int_equal(tremolo_moments_new(&plain, N, LARGEST, LARGEST), TREMOLO_OK);
    assert_int_equal(tremolo_moments_within(&within, plain), TREMOLO_BAD_ARGUMENT);
    tremolo_moments_free(plain);
}

static void test_parts_merge_and_travel(void **state)
{
    static struct rows rows;
    struct tremolo_moments *back = NULL;
    size_t length;
    (void)state;
    make(&rows, 3);
    struct tremolo_moments *whole = watched(&limits);
    struct tremolo_moments *parts = watched(&limits);
    add(whole, &rows, 0, ROWS);
    for (size_t first = 0; first < ROWS; first += ROWS / 3) {
        struct tremolo_moments *part = watched(&limits);
        add(part, &rows, first, first + ROWS / 3);
        uint8_t *bytes = encoded(&length, part);
        assert_int_equal(tremolo_moments_decode(&back, bytes, length), TREMOLO_OK);
        assert_same(back, part);
        assert_int_equal(tremolo_moments_merge(parts, back), TREMOLO_OK);
        tremolo_moments_free(back);
        tremolo_moments_free(part);
        free(bytes);
    }
    assert_same(parts, whole);
    /* Of sums that were not watched, and of other limits, nothing is known any more. */
    struct tremolo_tail tail;
    struct tremolo_tail_limits others = limits;
    others.value++;
    struct tremolo_moments *other = watched(&others);
    assert_int_equal(tremolo_moments_merge(whole, other), TREMOLO_OK);
    assert_false(tremolo_moments_tail(&tail, whole));
    tremolo_moments_unwatch(parts);
    assert_same(parts, whole);
    tremolo_moments_free(other);
    tremolo_moments_free(whole);
    tremolo_moments_free(parts);
}

static void test_damage_is_found(void **state)
{
    static struct rows rows;
    struct tremolo_moments *back = NULL;
    size_t length;
    (void)state;
    make(&rows, 4);
    struct tremolo_moments *moments = watched(&limits);
    add(moments, &rows, 0, 40);
    uint8_t *bytes = encoded(&length, moments);
    assert_int_equal(bytes[4], 3); /* the version */
    for (size_t i = 0; i < length; i++) {
        bytes[i] ^= 1;
        assert_int_not_equal(tremolo_moments_decode(&back, bytes, length), TREMOLO_OK);
        bytes[i] ^= 1;
        uint8_t *cut = malloc(i + 1); /* so that a sanitizer sees reads past it */
        assert_non_null(cut);
        memcpy(cut, bytes, i);
        assert_int_not_equal(tremolo_moments_decode(&back, cut, i), TREMOLO_OK);
        free(cut);
    }
    free(bytes);
    tremolo_moments_free(moments);
}

static void test_limits_are_checked(void **state)
{
    struct tremolo_moments *moments = NULL;
    struct tremolo_tail_limits wrong = limits;
    (void)state;
    assert_int_equal(tremolo_moments_new(&moments, N, LARGEST, LARGEST), TREMOLO_OK);
    wrong.released = N + 1;
    assert_int_equal(tremolo_moments_watch(moments, &wrong), TREMOLO_BAD_ARGUMENT);
    wrong = limits;
    wrong.norm2[3] = wrong.norm2[2];
    assert_int_equal(tremolo_moments_watch(moments, &wrong), TREMOLO_BAD_ARGUMENT);
    const int16_t row[N] = {1, 2, 3, 4, 5};
    const uint8_t bucket = 0;
    assert_int_equal(tremolo_moments_add(moments, row, &bucket, 1), TREMOLO_OK);
    assert_int_equal(tremolo_moments_watch(moments, &limits), TREMOLO_BAD_ARGUMENT);
    tremolo_moments_free(moments);
}

/* Upper tails computed with mpmath at 40 digits; 1e-9 is what sums of a few thousand
 * exponentials of logarithms keep. */
static void test_chi_square(void **state)
{
    static const struct {
        unsigned degrees;
        double noncentrality, x, tail;
    } known[] = {
        {4, 0, 23.5, 0.000100588891547},   {1, 0, 9, 0.00269979606326},
        {5, 0.25, 30, 2.70158470444e-5},   {9, 4, 45, 0.000114001281157},
        {1, 100, 200, 1.72043380519e-5},   {256, 30, 420, 1.27388505735e-6},
        {2, 2000, 2400, 1.03244559009e-5}, {0, 2, 3, 0.252206942426039},
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        double tail = tremolo_chi2_tail(known[i].degrees, known[i].noncentrality, known[i].x);
        assert_true(fabs(tail / known[i].tail - 1.0) < 1e-9);
        double x = tremolo_chi2_quantile(known[i].degrees, known[i].noncentrality, known[i].tail);
        assert_true(fabs(x / known[i].x - 1.0) < 1e-9);
    }
    /* Far from the centre it is a bound, and not a loose one: one coordinate is a normal. */
    double tail = tremolo_chi2_tail(1, 1e6, 1004.0 * 1004.0);
    assert_true(tail >= 0.5 * erfc(4.0 / M_SQRT2) && tail < 1.01 * erfc(4.0 / M_SQRT2));
    assert_true(tremolo_chi2_tail(3, 2.0, 0.0) == 1.0);
    assert_true(tremolo_chi2_tail(0, 0.0, 1e-9) == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_are_plain_counts),
        cmocka_unit_test(test_within_is_without_those_beyond),
        cmocka_unit_test(test_parts_merge_and_travel),
        cmocka_unit_test(test_damage_is_found),
        cmocka_unit_test(test_limits_are_checked),
        cmocka_unit_test(test_chi_square),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
