/* test_regression_ols.c -- least squares on problems with exactly known answers.
 *
 * Wampler's problems are polynomials of degree five on 0..20 with integer
 * responses; the disturbance of problems 3 to 5 is orthogonal to all of them,
 * which the test verifies in integers, so every coefficient is exactly 1.
 * Longley's certified values are NIST's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "regression.h"

/* Digits of agreement, as NIST counts them. */
static double digits(double value, double certified)
{
    double error = fabs(value - certified) / fmax(fabs(certified), 1e-300);
    return error > 0.0 ? -log10(error) : 16.0;
}

/* ---------------------------------------------------------------- Longley */

enum { LONGLEY_ROWS = 16, LONGLEY_FEATURES = 6 };

static const double longley_y[LONGLEY_ROWS] = {60323, 61122, 60171, 61187, 63221, 63639,
                                               64989, 63761, 66019, 67857, 68169, 66513,
                                               68655, 69564, 69331, 70551};
static const double longley_x[LONGLEY_ROWS * LONGLEY_FEATURES] = {
    83,    234289, 2356, 1590, 107608, 1947, 88.5,  259426, 2325, 1456, 108632, 1948,
    88.2,  258054, 3682, 1616, 109773, 1949, 89.5,  284599, 3351, 1650, 110929, 1950,
    96.2,  328975, 2099, 3099, 112075, 1951, 98.1,  346999, 1932, 3594, 113270, 1952,
    99,    365385, 1870, 3547, 115094, 1953, 100,   363112, 3578, 3350, 116219, 1954,
    101.2, 397469, 2904, 3048, 117388, 1955, 104.6, 419180, 2822, 2857, 118734, 1956,
    108.4, 442769, 2936, 2798, 120445, 1957, 110.8, 444546, 4681, 2637, 121950, 1958,
    112.6, 482704, 3813, 2552, 123366, 1959, 114.2, 502601, 3931, 2514, 125368, 1960,
    115.7, 518173, 4806, 2572, 127852, 1961, 116.9, 554894, 4007, 2827, 130081, 1962};
static const double longley_beta[LONGLEY_FEATURES] = {
    15.0618722713733,  -0.358191792925910e-01, -2.02022980381683,
    -1.03322686717359, -0.511041056535807e-01, 1829.15146461355};
static const double longley_error[LONGLEY_FEATURES + 1] = {
    84.9149257747669,  0.334910077722432e-01, 0.488399681651699, 0.214274163161675,
    0.226073200069370, 455.478499142212,      890420.383607373};

static void test_longley(void **state)
{
    (void)state;
    double beta[LONGLEY_FEATURES];
    double error[LONGLEY_FEATURES + 1];
    double constant = 0.0;
    assert_int_equal(tremolo_ols(beta, &constant, error, longley_x, longley_y, LONGLEY_ROWS,
                                 LONGLEY_FEATURES, true),
                     TREMOLO_OK);
    double r2 =
        tremolo_r2(beta, constant, longley_x, longley_y, LONGLEY_ROWS, LONGLEY_FEATURES, INFINITY);
    /* Certified to 15 digits; the decimals in the table (83.0, 88.5, ...) are not
     * all exact in binary, and the condition number 4.9e9 magnifies that. */
    for (size_t j = 0; j < LONGLEY_FEATURES; j++) {
        assert_true(digits(beta[j], longley_beta[j]) > 11.5);
        assert_true(digits(error[j], longley_error[j]) > 11.0);
    }
    assert_true(digits(error[LONGLEY_FEATURES], longley_error[LONGLEY_FEATURES]) > 11.0);
    assert_true(digits(constant, -3482258.63459582) > 12.0);
    assert_true(digits(r2, 0.995479004577296) > 12.0);
}

/* ---------------------------------------------------------------- Wampler */

enum { WAMPLER_ROWS = 21, WAMPLER_DEGREE = 5 };

static int64_t power(int64_t x, int exponent)
{
    int64_t result = 1;
    for (int i = 0; i < exponent; i++) {
        result *= x;
    }
    return result;
}

static int64_t disturbance(int x)
{
    static const int64_t even[] = {759, 2048, 2523, 2048, 1838, 2048, 1838, 2048, 2523, 2048, 759};
    return x % 2 == 1 ? -2048 : even[x / 2];
}

static void wampler_design(double *X)
{
    for (int x = 0; x < WAMPLER_ROWS; x++) {
        for (int k = 1; k <= WAMPLER_DEGREE; k++) {
            X[x * WAMPLER_DEGREE + k - 1] = (double)power(x, k);
        }
    }
}

static void test_wampler_disturbance_is_orthogonal(void **state)
{
    (void)state;
    for (int k = 0; k <= WAMPLER_DEGREE; k++) {
        int64_t sum = 0;
        for (int x = 0; x < WAMPLER_ROWS; x++) {
            sum += disturbance(x) * power(x, k);
        }
        assert_int_equal(sum, 0);
    }
}

static void check_wampler(int64_t weight, double least_digits)
{
    double X[WAMPLER_ROWS * WAMPLER_DEGREE];
    double y[WAMPLER_ROWS];
    double beta[WAMPLER_DEGREE];
    double constant = 0.0;
    wampler_design(X);
    for (int x = 0; x < WAMPLER_ROWS; x++) {
        int64_t value = weight * disturbance(x);
        for (int k = 0; k <= WAMPLER_DEGREE; k++) {
            value += power(x, k);
        }
        y[x] = (double)value;
    }
    assert_int_equal(tremolo_ols(beta, &constant, NULL, X, y, WAMPLER_ROWS, WAMPLER_DEGREE, true),
                     TREMOLO_OK);
    assert_true(digits(constant, 1.0) > least_digits);
    for (int k = 0; k < WAMPLER_DEGREE; k++) {
        assert_true(digits(beta[k], 1.0) > least_digits);
    }
}

/* Refinement in extended precision returns nearly all digits; what is lost grows
 * with the disturbance, which is up to 10^7 times the smallest term. */
static void test_wampler(void **state)
{
    (void)state;
    check_wampler(0, 12.5);
    check_wampler(1, 12.5);
    check_wampler(100, 11.0);
    check_wampler(10000, 9.0);
}

static void test_wampler_decimal_coefficients(void **state)
{
    (void)state;
    double X[WAMPLER_ROWS * WAMPLER_DEGREE];
    double y[WAMPLER_ROWS];
    double beta[WAMPLER_DEGREE];
    double constant = 0.0;
    wampler_design(X);
    for (int x = 0; x < WAMPLER_ROWS; x++) {
        int64_t value = 0; /* in units of 1e-5, exact */
        for (int k = 0; k <= WAMPLER_DEGREE; k++) {
            value += power(x, k) * power(10, WAMPLER_DEGREE - k);
        }
        y[x] = (double)value / 1e5;
    }
    assert_int_equal(tremolo_ols(beta, &constant, NULL, X, y, WAMPLER_ROWS, WAMPLER_DEGREE, true),
                     TREMOLO_OK);
    /* y is rounded to doubles (2^-53 of up to 63), and the polynomial basis has a
     * condition number near 10^5 after scaling. */
    assert_true(digits(constant, 1.0) > 12.0);
    for (int k = 0; k < WAMPLER_DEGREE; k++) {
        assert_true(digits(beta[k], pow(10.0, -(k + 1))) > 11.0);
    }
}

/* ---------------------------------------------------------------- Filip's shape */

/* A polynomial of degree ten on -9 .. -3, as in Filip's problem, on quarter steps:
 * every power and every response is exact in 53 bits, so the answer is exactly 1
 * although the scaled design's condition number is about 10^13. Responses reach
 * 4e9 while each coefficient is 1, so a change in the last bit of a double response
 * (4e-7) would move the low coefficients in their third digit; extended residuals
 * leave five. */
static void test_filip_like(void **state)
{
    (void)state;
    enum { ROWS = 25, DEGREE = 10 };
    double X[ROWS * DEGREE];
    double y[ROWS];
    double beta[DEGREE];
    double constant = 0.0;
    for (int i = 0; i < ROWS; i++) {
        double x = -9.0 + 0.25 * i;
        double value = 1.0;
        double term = 1.0;
        for (int k = 0; k < DEGREE; k++) {
            term *= x;
            value += term;
            X[i * DEGREE + k] = term;
        }
        y[i] = value;
    }
    assert_int_equal(tremolo_ols(beta, &constant, NULL, X, y, ROWS, DEGREE, true), TREMOLO_OK);
    assert_true(digits(constant, 1.0) > 4.5);
    for (int k = 0; k < DEGREE; k++) {
        assert_true(digits(beta[k], 1.0) > 4.5);
    }
}

/* ---------------------------------------------------------------- refusals */

static void test_dependent_columns_are_refused(void **state)
{
    (void)state;
    const double X[] = {1, 2, 2, 4, 3, 6, 5, 10};
    const double y[] = {1, 2, 3, 4};
    double beta[2] = {7.0, 7.0};
    double constant = 7.0;
    assert_int_equal(tremolo_ols(beta, &constant, NULL, X, y, 4, 2, true), TREMOLO_SINGULAR);
    assert_true(beta[0] == 7.0 && beta[1] == 7.0 && constant == 7.0);
    assert_int_equal(tremolo_ols(beta, &constant, NULL, X, y, 2, 2, true), TREMOLO_TOO_FEW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_longley),    cmocka_unit_test(test_wampler_disturbance_is_orthogonal),
        cmocka_unit_test(test_wampler),    cmocka_unit_test(test_wampler_decimal_coefficients),
        cmocka_unit_test(test_filip_like), cmocka_unit_test(test_dependent_columns_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
