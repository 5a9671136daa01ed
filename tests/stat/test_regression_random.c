/* test_regression_random.c -- the simulation's normal numbers.
 *
 * Fixed seeds. With N = 2^24 numbers: the Kolmogorov distance to the normal
 * law exceeds 2.6 / sqrt(N) by chance with probability 2.7e-6; the first four
 * moments are compared at five standard errors (6e-7 each, two-sided); the
 * count beyond 4 deviations is compared with its Poisson law at 5 deviations.
 * The broken generators at the end must be caught by the same test. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tremolo_random.h"

enum { COUNT = 1 << 24, BINS = 4096 };

/* The largest distance between the sample's and the normal distribution
 * function at 4096 points within 6 deviations. */
static double distance_to_normal(const float *numbers)
{
    static double bin[BINS + 1];
    double below = 0, largest = 0;
    for (size_t i = 0; i <= BINS; i++) {
        bin[i] = 0;
    }
    for (size_t i = 0; i < COUNT; i++) {
        double at = ((double)numbers[i] + 6) / 12 * BINS;
        bin[at < 0 ? 0 : at >= BINS ? BINS : (size_t)at] += 1;
    }
    for (size_t i = 0; i < BINS; i++) {
        below += bin[i];
        double x = (double)(i + 1) / BINS * 12 - 6;
        largest = fmax(largest, fabs(below / COUNT - 0.5 * erfc(-x / sqrt(2))));
    }
    return largest;
}

static bool is_normal(const float *numbers)
{
    double power[5] = {0}, beyond = 0;
    for (size_t i = 0; i < COUNT; i++) {
        double x = (double)numbers[i], x2 = x * x;
        power[1] += x;
        power[2] += x2;
        power[3] += x * x2;
        power[4] += x2 * x2;
        beyond += fabs(x) > 4;
    }
    double root = sqrt(COUNT), expected = COUNT * erfc(4 / sqrt(2));
    return distance_to_normal(numbers) < 2.6 / root && fabs(power[1] / root) < 5 &&
           fabs(power[2] / COUNT - 1) * root < 5 * sqrt(2) &&
           fabs(power[3] / root) < 5 * sqrt(15) &&
           fabs(power[4] / COUNT - 3) * root < 5 * sqrt(96) &&
           fabs(beyond - expected) < 5 * sqrt(expected);
}

static void test_the_law(void **unused)
{
    (void)unused;
    struct tremolo_normals source;
    float *numbers = malloc(COUNT * sizeof *numbers);
    assert_non_null(numbers);
    tremolo_normals_seed(&source, 1, 2);
    tremolo_normals_fill(&source, numbers, COUNT);
    assert_true(is_normal(numbers));
    for (size_t i = 0; i < COUNT; i++) {
        numbers[i] *= 1.002F;
    }
    assert_false(is_normal(numbers));
    tremolo_normals_fill(&source, numbers, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        numbers[i] = fabsf(numbers[i]) > 4.0F ? 0 : numbers[i];
    }
    assert_false(is_normal(numbers));
    free(numbers);
}

/* Products of neighbours and of numbers a step apart average to zero: five
 * standard errors of 1 / sqrt(N). */
static void test_no_correlation(void **unused)
{
    (void)unused;
    struct tremolo_normals source;
    float *numbers = malloc(COUNT * sizeof *numbers);
    assert_non_null(numbers);
    tremolo_normals_seed(&source, 3, 4);
    tremolo_normals_fill(&source, numbers, COUNT);
    for (size_t lag = 1; lag <= 33; lag++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i + lag < COUNT; i++) {
            double x = (double)numbers[i], y = (double)numbers[i + lag];
            sum += x * y;
            squares += (x * x - 1) * (y * y - 1);
        }
        assert_true(fabs(sum) < 5 * sqrt(COUNT));
        assert_true(fabs(squares) < 5 * 2 * sqrt(COUNT));
    }
    free(numbers);
}

static void test_scalar_form_is_the_same(void **unused)
{
    (void)unused;
    static float fast[4096], slow[4096];
    struct tremolo_normals a, b;
    tremolo_normals_seed(&a, 5, 6);
    b = a;
    for (int pass = 0; pass < 64; pass++) {
        tremolo_normals_fill(&a, fast, 4096);
        tremolo_normals_fill_scalar(&b, slow, 4096);
        assert_memory_equal(fast, slow, sizeof fast);
    }
}

/* The arcsine law: mean 0, mean square 1/2, fourth moment 3/8. */
static void test_waves(void **unused)
{
    (void)unused;
    enum { WAVES = 1 << 20 };
    float *waves = malloc(WAVES * sizeof *waves);
    struct tremolo_normals source;
    double mean = 0, square = 0;
    assert_non_null(waves);
    tremolo_normals_seed(&source, 7, 8);
    tremolo_normals_waves(&source, waves, WAVES);
    for (size_t i = 0; i < WAVES; i++) {
        assert_true(fabsf(waves[i]) <= 1.000001F);
        mean += (double)waves[i];
        square += (double)waves[i] * (double)waves[i];
    }
    assert_true(fabs(mean / WAVES) < 5 * sqrt(0.5 / WAVES));
    assert_true(fabs(square / WAVES - 0.5) < 5 * sqrt(0.125 / WAVES));
    free(waves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_law),
        cmocka_unit_test(test_no_correlation),
        cmocka_unit_test(test_scalar_form_is_the_same),
        cmocka_unit_test(test_waves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
