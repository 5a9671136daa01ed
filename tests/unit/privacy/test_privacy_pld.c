/* Loss distributions: the two sides bracket what is known exactly, down to
 * 1e-265; the FFT stays far inside the error the bounds allow it; modulation
 * only ever helps. */
#include "accountant.h"

#include "mpfr_privacy.h"

#include <fftw3.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static void sides_bracket_the_gaussian(void **state)
{
    (void)state;
    static const struct {
        double sigma;
        uint64_t releases;
        double epsilon;
        double width; /* of the interval, relative; second order in 1/cells */
    } cases[] = {
        {3.73, 1, 1.0, 2e-3},  {3.73, 1, 0.0, 2e-3},      {12.0, 10, 1.0, 2e-3},
        {4.0, 40, 10.0, 5e-3}, {100.0, 10000, 4.0, 4e-3}, {100.0, 10000, 20.0, 4e-2},
        {1.0, 2, 50.0, 1e-1},  {0.5, 3, 0.0, 1e-3},       {1000.0, 100, 0.01, 2e-3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tremolo_pld *pld = NULL;
        struct tremolo_certified delta;
        struct tremolo_certified exact;
        assert_int_equal(tremolo_pld_modulated(&pld, 1.0, cases[i].sigma, 0.0, 64), TREMOLO_OK);
        assert_int_equal(tremolo_pld_delta(&delta, pld, cases[i].releases, cases[i].epsilon),
                         TREMOLO_OK);
        assert_int_equal(tremolo_rule_delta(&exact, TREMOLO_RULE_EXACT, cases[i].sigma, 1.0,
                                            cases[i].releases, cases[i].epsilon, false),
                         TREMOLO_OK);
        assert_true(delta.lower <= exact.upper);
        assert_true(delta.upper >= exact.lower);
        assert_true(delta.upper - delta.lower <= cases[i].width * exact.upper);
        tremolo_pld_free(pld);
    }
}

/* Any sigma, number of releases, epsilon and resolution: the exact delta is
 * never outside. */
static void brackets_hold_everywhere(void **state)
{
    (void)state;
    uint64_t seed = 11;
    for (int i = 0; i < 60; i++) {
        double mu = 5.0 * next_uniform(&seed) + 0.01;
        uint64_t releases = (uint64_t)exp(7.0 * next_uniform(&seed));
        double sigma = sqrt((double)releases) / mu;
        double away = 20.0 * next_uniform(&seed) * next_uniform(&seed) - 1.0;
        double epsilon = fmax(0.0, mu * (0.5 * mu + away));
        unsigned cells = 16 + (unsigned)(64.0 * next_uniform(&seed));
        struct tremolo_pld *pld = NULL;
        struct tremolo_certified delta;
        struct tremolo_certified exact;
        assert_int_equal(tremolo_pld_modulated(&pld, 1.0, sigma, 0.0, cells), TREMOLO_OK);
        assert_int_equal(tremolo_pld_delta(&delta, pld, releases, epsilon), TREMOLO_OK);
        assert_int_equal(
            tremolo_rule_delta(&exact, TREMOLO_RULE_EXACT, sigma, 1.0, releases, epsilon, false),
            TREMOLO_OK);
        assert_true(delta.lower <= exact.upper && delta.upper >= exact.lower);
        assert_true(delta.upper <= 1.5 * exact.upper && delta.lower >= 0.5 * exact.lower);
        tremolo_pld_free(pld);
    }
}

static void epsilon_brackets_too(void **state)
{
    (void)state;
    struct tremolo_pld *pld = NULL;
    struct tremolo_certified epsilon;
    struct tremolo_certified exact;
    assert_int_equal(tremolo_pld_modulated(&pld, 1.0, 12.0, 0.0, 64), TREMOLO_OK);
    assert_int_equal(tremolo_pld_epsilon(&epsilon, pld, 10, 1e-6), TREMOLO_OK);
    assert_int_equal(tremolo_rule_epsilon(&exact, TREMOLO_RULE_EXACT, 12.0, 1.0, 10, 1e-6, false),
                     TREMOLO_OK);
    assert_true(epsilon.lower <= exact.upper && epsilon.upper >= exact.lower);
    assert_true(epsilon.upper - epsilon.lower <= 1e-3);
    tremolo_pld_free(pld);
}

/* Finer cells narrow the interval from both sides. */
static void refinement_narrows(void **state)
{
    (void)state;
    double last = 1.0;
    for (unsigned cells = 32; cells <= 128; cells *= 2) {
        struct tremolo_pld *pld = NULL;
        struct tremolo_certified delta;
        assert_int_equal(tremolo_pld_modulated(&pld, 1.0, 3.73, 4.0, cells), TREMOLO_OK);
        assert_int_equal(tremolo_pld_delta(&delta, pld, 5, 2.0), TREMOLO_OK);
        assert_true(delta.upper - delta.lower < last);
        last = delta.upper - delta.lower;
        tremolo_pld_free(pld);
    }
}

/* delta = integral of (f(x) - e^epsilon f(x-s))+ for f = arcsine * normal, by
 * the midpoint rule in plain doubles: good to 1e-6, which is what we compare. */
static double brute_delta(double shift, double contrast, double epsilon)
{
    enum { PHASES = 200 };
    double sum = 0.0;
    const double step = 1e-3;
    int points = (int)(2.0 * (12.0 + contrast) / step);
    for (int k = 0; k < points; k++) {
        double x = -12.0 - contrast + k * step;
        double here = 0.0;
        double there = 0.0;
        for (int i = 0; i < PHASES; i++) {
            double n = contrast * cos(3.14159265358979323846 * (i + 0.5) / PHASES);
            here += exp(-0.5 * (x - n) * (x - n));
            there += exp(-0.5 * (x - shift - n) * (x - shift - n));
        }
        sum += fmax(0.0, here - exp(epsilon) * there);
    }
    return sum * step * 0.39894228040143267794 / PHASES;
}

static void modulation_matches_brute_force(void **state)
{
    (void)state;
    static const double contrasts[] = {0.5, 1.0, 2.5};
    for (size_t i = 0; i < 3; i++) {
        struct tremolo_pld *pld = NULL;
        struct tremolo_certified delta;
        double truth = brute_delta(0.5, contrasts[i], 0.6);
        assert_int_equal(tremolo_pld_modulated(&pld, 0.5, 1.0, contrasts[i], 128), TREMOLO_OK);
        assert_int_equal(tremolo_pld_delta(&delta, pld, 1, 0.6), TREMOLO_OK);
        assert_true(delta.lower <= truth * (1.0 + 1e-5) && delta.upper >= truth * (1.0 - 1e-5));
        assert_true(delta.upper <= truth * 1.02 && delta.lower >= truth * 0.98);
        tremolo_pld_free(pld);
    }
}

static void modulation_never_hurts(void **state)
{
    (void)state;
    double last = 1.0;
    for (int i = 0; i <= 2; i++) {
        double lambda = 4.0 * i;
        struct tremolo_pld *pld = NULL;
        struct tremolo_certified delta;
        assert_int_equal(tremolo_pld_modulated(&pld, 1.0, 3.730631634815936, lambda, 64),
                         TREMOLO_OK);
        assert_int_equal(tremolo_pld_delta(&delta, pld, 1, 1.0), TREMOLO_OK);
        assert_true(delta.upper < last);
        last = delta.lower;
        tremolo_pld_free(pld);
    }
    assert_true(last > 2.1e-6 && last < 2.3e-6); /* at lambda 8 */
}

static void masses_compose_like_coins(void **state)
{
    (void)state;
    /* Loss +1 with probability e/(1+e), -1 otherwise: randomised response.
     * Two releases: loss 2 with probability (e/(1+e))^2, so
     * delta(1) = (e/(1+e))^2 (1 - e^-1). */
    double up = exp(1.0) / (1.0 + exp(1.0));
    double mass[3] = {1.0 - up, 0.0, up};
    struct tremolo_pld *pld = NULL;
    struct tremolo_certified delta;
    assert_int_equal(tremolo_pld_from_masses(&pld, mass, 3, -1, 1.0, 0.0), TREMOLO_OK);
    assert_int_equal(tremolo_pld_delta(&delta, pld, 2, 1.0), TREMOLO_OK);
    double truth = up * up * (1.0 - exp(-1.0));
    assert_true(delta.lower <= truth && truth <= delta.upper);
    assert_true(delta.upper - delta.lower <= 1e-9); /* the FFT's allowance */
    tremolo_pld_free(pld);
    mass[0] = 0.5;
    assert_int_equal(tremolo_pld_from_masses(&pld, mass, 3, -1, 1.0, 0.0), TREMOLO_BAD_ARGUMENT);
}

/* Masses may miss a billionth of 1. Where it lies is not known, so the upper bound has it
 * at infinity, whatever the number of releases, and the lower bound nowhere. What only
 * rounding misses costs nothing: a delta far below it stays one. */
static void missing_mass_is_infinite_loss(void **state)
{
    (void)state;
    const double hole = 0x1p-31;
    double mass[2] = {0.5, 0.5 - hole};
    struct tremolo_pld *pld = NULL;
    struct tremolo_certified delta;
    assert_int_equal(tremolo_pld_from_masses(&pld, mass, 2, 0, 1.0, 0.0), TREMOLO_OK);
    assert_int_equal(tremolo_pld_delta(&delta, pld, 1, 2.0), TREMOLO_OK);
    assert_true(delta.lower == 0.0);
    assert_true(delta.upper >= hole && delta.upper <= hole * (1.0 + 1e-9));
    assert_int_equal(tremolo_pld_delta(&delta, pld, 3, 4.0), TREMOLO_OK);
    assert_true(delta.upper >= 3.0 * hole * (1.0 - 2.0 * hole));
    assert_int_equal(tremolo_pld_epsilon(&delta, pld, 1, 0.5 * hole), TREMOLO_UNREACHABLE);
    tremolo_pld_free(pld);
    double thirds[3] = {1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0};
    assert_int_equal(tremolo_pld_from_masses(&pld, thirds, 3, -1, 1.0, 0.0), TREMOLO_OK);
    assert_int_equal(tremolo_pld_delta(&delta, pld, 1, 2.0), TREMOLO_OK);
    assert_true(delta.upper == 0.0);
    tremolo_pld_free(pld);
    /* Too much: the lower bound of delta(0) = 1/2 + 1e-10 (1 - 1/e), less the excess. */
    double heavy[2] = {0.5, 0.5 + 1e-10};
    assert_int_equal(tremolo_pld_from_masses(&pld, heavy, 2, 0, 1.0, 0.0), TREMOLO_OK);
    assert_int_equal(tremolo_pld_delta(&delta, pld, 1, 0.0), TREMOLO_OK);
    assert_true(delta.lower <= 0.5 * (1.0 - exp(-1.0)) && delta.upper >= delta.lower);
    tremolo_pld_free(pld);
}

/* The bounds allow the transform a relative 2-norm error of 8 u log2 n. A
 * forward and a backward transform must come back within a tenth of it. */
static void transform_is_far_better_than_assumed(void **state)
{
    (void)state;
    for (int bits = 10; bits <= 20; bits += 5) {
        int n = 1 << bits;
        double *data = fftw_alloc_real((size_t)n);
        double *kept = malloc((size_t)n * sizeof *kept);
        fftw_complex *spectrum = fftw_alloc_complex((size_t)n / 2 + 1);
        assert_non_null(data);
        assert_non_null(kept);
        assert_non_null(spectrum);
        fftw_plan forward = fftw_plan_dft_r2c_1d(n, data, spectrum, FFTW_ESTIMATE);
        fftw_plan backward = fftw_plan_dft_c2r_1d(n, spectrum, data, FFTW_ESTIMATE);
        uint64_t seed = 8;
        for (int i = 0; i < n; i++) {
            kept[i] = data[i] = next_uniform(&seed);
        }
        fftw_execute(forward);
        fftw_execute(backward);
        double error = 0.0;
        double norm = 0.0;
        for (int i = 0; i < n; i++) {
            double off = data[i] / n - kept[i];
            error += off * off;
            norm += kept[i] * kept[i];
        }
        assert_true(sqrt(error / norm) <= 0.1 * 8.0 * 0x1p-53 * bits);
        fftw_destroy_plan(forward);
        fftw_destroy_plan(backward);
        fftw_free(spectrum);
        fftw_free(data);
        free(kept);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sides_bracket_the_gaussian),
        cmocka_unit_test(brackets_hold_everywhere),
        cmocka_unit_test(epsilon_brackets_too),
        cmocka_unit_test(refinement_narrows),
        cmocka_unit_test(modulation_matches_brute_force),
        cmocka_unit_test(modulation_never_hurts),
        cmocka_unit_test(masses_compose_like_coins),
        cmocka_unit_test(missing_mass_is_infinite_loss),
        cmocka_unit_test(transform_is_far_better_than_assumed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
