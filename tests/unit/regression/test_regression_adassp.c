/* test_regression_adassp.c -- the trusted server's baseline: least squares without noise,
 * and with noise as large as its sensitivities say.
 *
 * The design is +1 and -1 in turn, so X'X is n times the identity and coefficients read off
 * the noise: that of X'y when y is 0, and that of the products beside it when y is 1.
 * Variances over 4,000 seeds are off by more than five of their standard errors, which is
 * what is allowed, once in 1.7 million runs. Seeds are fixed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "regression.h"

enum { ROWS = 1000, SEEDS = 4000 };

static double X[ROWS], zero[ROWS], one[ROWS];

static int make_design(void **state)
{
    (void)state;
    for (size_t r = 0; r < ROWS; r++) {
        X[r] = r % 2 == 0 ? 1.0 : -1.0;
        one[r] = 1.0;
    }
    return 0;
}

static double variance_of_slope(const double *y, bool response_private)
{
    double squares = 0.0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const struct tremolo_adassp_options options = {.radius = 1.0,
                                                       .response_bound = 1.0,
                                                       .response_private = response_private,
                                                       .noise_sd = 0.1,
                                                       .delta = 1e-5,
                                                       .seed = seed};
        double slope = 0.0, intercept = 0.0;
        assert_int_equal(tremolo_adassp(&slope, &intercept, X, y, ROWS, 1, &options), TREMOLO_OK);
        squares += slope * slope;
    }
    return squares / SEEDS;
}

static void assert_variance(double variance, double sensitivity)
{
    double expected = pow(0.1 * sensitivity / ROWS, 2);
    assert_true(fabs(variance / expected - 1.0) < 5.0 * sqrt(2.0 / SEEDS));
}

static void test_noise_covers_the_response(void **state)
{
    (void)state;
    assert_variance(variance_of_slope(zero, true), 2.0 * sqrt(2.0));
    assert_variance(variance_of_slope(zero, false), 2.0);
}

/* (n + E)^-1 (n, z): the noise of the products and the constant, and that of X'y. */
static void test_noise_covers_the_products(void **state)
{
    (void)state;
    assert_variance(variance_of_slope(one, true), sqrt(6.0 + 8.0));
}

static void test_without_noise_it_is_least_squares(void **state)
{
    (void)state;
    const struct tremolo_adassp_options options = {
        .radius = 4.0, .response_bound = 10.0, .noise_sd = 1e-13, .delta = 1e-5, .seed = 7};
    double x[ROWS * 2], y[ROWS], expected[2], beta[2], constant = 0.0, intercept = 0.0;
    for (size_t r = 0; r < ROWS; r++) {
        x[2 * r] = sin((double)r);
        x[2 * r + 1] = cos(3.0 * (double)r) + 0.5 * x[2 * r];
        y[r] = 1.0 + 2.0 * x[2 * r] - x[2 * r + 1] + sin(7.0 * (double)r);
    }
    assert_int_equal(tremolo_ols(expected, &constant, NULL, x, y, ROWS, 2, true), TREMOLO_OK);
    assert_int_equal(tremolo_adassp(beta, &intercept, x, y, ROWS, 2, &options), TREMOLO_OK);
    /* The noise left moves a coefficient by about 1e-13 * 25 / 500; normal equations keep 12 digits. */
    for (size_t j = 0; j < 2; j++) {
        assert_true(fabs(beta[j] - expected[j]) < 1e-11);
    }
    assert_true(fabs(intercept - constant) < 1e-11);
}

/* Noise that would drown the matrix is met by a ridge. It is too small with a probability of
 * at most 0.05, by the article's own bound: 24 of 200 or more once in 10,000 runs. */
static void test_ridge_holds_under_noise(void **state)
{
    (void)state;
    size_t blown_up = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        const struct tremolo_adassp_options options = {
            .radius = 1.0, .response_bound = 1.0, .noise_sd = 1e5, .delta = 1e-5, .seed = seed};
        double slope = NAN, intercept = NAN;
        assert_int_equal(tremolo_adassp(&slope, &intercept, X, one, ROWS, 1, &options), TREMOLO_OK);
        blown_up += !(fabs(slope) < 100.0 && fabs(intercept) < 100.0);
    }
    assert_true(blown_up < 24);
}

static void test_rows_beyond_the_bounds_count_as_far_as_these(void **state)
{
    (void)state;
    const struct tremolo_adassp_options options = {
        .radius = 1.0, .response_bound = 1.0, .noise_sd = 0.1, .delta = 1e-5, .seed = 3};
    double far[ROWS], high[ROWS], slope[2], intercept[2];
    for (size_t r = 0; r < ROWS; r++) {
        far[r] = 1e6 * X[r];
        high[r] = 1e6;
    }
    assert_int_equal(tremolo_adassp(&slope[0], &intercept[0], X, one, ROWS, 1, &options),
                     TREMOLO_OK);
    assert_int_equal(tremolo_adassp(&slope[1], &intercept[1], far, high, ROWS, 1, &options),
                     TREMOLO_OK);
    assert_true(slope[0] == slope[1] && intercept[0] == intercept[1]);
}

static void test_bad_arguments(void **state)
{
    (void)state;
    struct tremolo_adassp_options options = {
        .radius = 1.0, .response_bound = 1.0, .noise_sd = 0.0, .delta = 1e-5, .seed = 3};
    double slope = 7.0, intercept = 7.0;
    assert_int_equal(tremolo_adassp(&slope, &intercept, X, one, ROWS, 1, &options),
                     TREMOLO_BAD_ARGUMENT);
    options.noise_sd = 1.0;
    options.delta = 0.0;
    assert_int_equal(tremolo_adassp(&slope, &intercept, X, one, ROWS, 1, &options),
                     TREMOLO_BAD_ARGUMENT);
    assert_true(slope == 7.0 && intercept == 7.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise_covers_the_response),
        cmocka_unit_test(test_noise_covers_the_products),
        cmocka_unit_test(test_without_noise_it_is_least_squares),
        cmocka_unit_test(test_ridge_holds_under_noise),
        cmocka_unit_test(test_rows_beyond_the_bounds_count_as_far_as_these),
        cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests(tests, make_design, NULL);
}
