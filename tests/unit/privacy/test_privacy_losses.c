/* Loss distributions: the two sides bracket what is known exactly, down to 1e-265, within 1% of
 * epsilon; any pair of laws composes; modulation only ever helps. */
#include "accountant.h"

#include "mpfr_privacy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static const struct tremolo_gaussian none = {0.0, 0.0};

static struct tremolo_losses *modulated(double shift, double sigma, double amplitude,
                                        uint64_t releases)
{
    struct tremolo_losses *losses = NULL;
    assert_int_equal(tremolo_losses_modulated(&losses, shift, sigma, amplitude), TREMOLO_OK);
    assert_int_equal(tremolo_losses_compose(losses, releases), TREMOLO_OK);
    return losses;
}

static struct tremolo_certified delta_of(const struct tremolo_losses *losses, double epsilon)
{
    struct tremolo_certified delta;
    assert_int_equal(tremolo_losses_delta(&delta, losses, &none, epsilon), TREMOLO_OK);
    assert_true(delta.lower <= delta.value && delta.value <= delta.upper);
    return delta;
}

/* Any sigma, number of releases and epsilon without modulation: the exact delta, at 300 bits, is
 * never outside. The interval is narrow in terms of the noise: half a percent more or less of it
 * would move delta further. */
static void brackets_hold_the_truth(void **state)
{
    (void)state;
    uint64_t seed = 11;
    mpfr_t mu, truth;
    mpfr_inits2(REFERENCE_BITS, mu, truth, (mpfr_ptr)NULL);
    for (int i = 0; i < 24; i++) {
        double wanted = 5.0 * next_uniform(&seed) + 0.01;
        uint64_t releases = (uint64_t)exp(7.0 * next_uniform(&seed));
        double sigma = sqrt((double)releases) / wanted;
        double away = 34.0 * next_uniform(&seed) * next_uniform(&seed) - 1.0;
        double epsilon = fmax(0.0, wanted * (0.5 * wanted + away));
        struct tremolo_losses *losses = modulated(1.0, sigma, 0.0, releases);
        struct tremolo_certified delta = delta_of(losses, epsilon);
        mpfr_set_ui(mu, (unsigned long)releases, MPFR_RNDN);
        mpfr_sqrt(mu, mu, MPFR_RNDN);
        mpfr_div_d(mu, mu, sigma, MPFR_RNDN);
        reference_gaussian_delta(truth, mu, epsilon);
        assert_true(mpfr_cmp_d(truth, delta.lower) >= 0 && mpfr_cmp_d(truth, delta.upper) <= 0);
        mpfr_mul_d(mu, mu, 0.995, MPFR_RNDN);
        reference_gaussian_delta(truth, mu, epsilon);
        assert_true(mpfr_cmp_d(truth, delta.lower) < 0);
        mpfr_mul_d(mu, mu, 1.005 / 0.995, MPFR_RNDN);
        reference_gaussian_delta(truth, mu, epsilon);
        assert_true(mpfr_cmp_d(truth, delta.upper) > 0);
        tremolo_losses_free(losses);
    }
    mpfr_clears(mu, truth, (mpfr_ptr)NULL);
}

/* Up to 64 releases and with any modulation epsilon is known within 1%; without modulation the
 * closed form lies in the bracket, down to the smallest deltas. */
static void epsilon_is_known_within_a_percent(void **state)
{
    (void)state;
    static const double deltas[] = {1e-3, 1e-9, 1e-250};
    static const struct {
        double sigma, contrast;
        uint64_t releases;
    } cases[] = {{0.5, 0.0, 64}, {4.0, 0.0, 7},   {40.0, 0.0, 64}, {4.0, 0.3, 64},
                 {40.0, 2.0, 7}, {40.0, 8.0, 64}, {4.0, 16.0, 7}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double sigma = cases[i].sigma;
        double contrast = cases[i].contrast;
        uint64_t releases = cases[i].releases;
        struct tremolo_losses *losses = modulated(1.0, sigma, contrast * sigma, releases);
        struct tremolo_gaussian cost = {0};
        assert_int_equal(tremolo_gaussian_add(&cost, 1.0, sigma, releases), TREMOLO_OK);
        for (size_t j = 0; j < sizeof deltas / sizeof deltas[0]; j++) {
            struct tremolo_certified epsilon, exact;
            assert_int_equal(tremolo_losses_epsilon(&epsilon, losses, &none, deltas[j]),
                             TREMOLO_OK);
            assert_int_equal(tremolo_gaussian_epsilon(&exact, &cost, deltas[j]), TREMOLO_OK);
            assert_true(epsilon.upper - epsilon.lower <= 0.01 * epsilon.upper);
            assert_true(epsilon.lower <= exact.upper);
            assert_true(contrast > 0.0 || epsilon.upper >= exact.lower);
        }
        tremolo_losses_free(losses);
    }
}

/* delta = integral of (f(x) - e^epsilon f(x-s))+ for f = arcsine * normal, by the midpoint rule in
 * plain doubles: good to 1e-6, which is what we compare. */
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
        double truth = brute_delta(0.5, contrasts[i], 0.6);
        struct tremolo_losses *losses = modulated(0.5, 1.0, contrasts[i], 1);
        struct tremolo_certified delta = delta_of(losses, 0.6);
        assert_true(delta.lower <= truth * (1.0 + 1e-5) && delta.upper >= truth * (1.0 - 1e-5));
        assert_true(delta.upper <= truth * 1.02 && delta.lower >= truth * 0.98);
        tremolo_losses_free(losses);
    }
}

static void modulation_never_hurts(void **state)
{
    (void)state;
    double last = 1.0;
    for (int i = 0; i <= 2; i++) {
        struct tremolo_losses *losses = modulated(1.0, 3.730631634815936, 4.0 * i, 1);
        struct tremolo_certified delta = delta_of(losses, 1.0);
        assert_true(delta.upper < last);
        last = delta.lower;
        tremolo_losses_free(losses);
    }
    assert_true(last > 2.1e-6 && last < 2.3e-6); /* at lambda 8 */
}

/* A pair of laws on a few outcomes, on a grid that holds none of its losses; the truth for `count`
 * releases is the sum over all ways that they can turn out. */
static double pair_delta(const double *p, const double *q, size_t outcomes, unsigned count,
                         double mass, double other, double epsilon)
{
    double sum = 0.0;
    if (count == 0) {
        return fmax(0.0, mass - exp(epsilon) * other);
    }
    for (size_t i = 0; i < outcomes; i++) {
        sum += pair_delta(p, q, outcomes, count - 1, mass * p[i], other * q[i], epsilon);
    }
    return sum;
}

static void any_pair_of_laws_composes(void **state)
{
    (void)state;
    static const double p[] = {0.4, 0.25, 0.2, 0.15};
    static const double q[] = {0.2, 0.3, 0.15, 0.35};
    struct tremolo_losses *losses = NULL;
    assert_int_equal(tremolo_losses_new(&losses, 0.001, 0.9, 1e-15), TREMOLO_OK);
    for (size_t i = 0; i < 4; i++) {
        double loss = log(p[i] / q[i]);
        assert_int_equal(tremolo_losses_put(losses, p[i], loss, 0.0), TREMOLO_OK);
    }
    assert_int_equal(tremolo_losses_compose(losses, 6), TREMOLO_OK);
    for (int i = 0; i < 10; i++) {
        double truth = pair_delta(p, q, 4, 6, 1.0, 1.0, 0.4 * i);
        struct tremolo_certified delta = delta_of(losses, 0.4 * i);
        assert_true(delta.lower <= truth * (1.0 + 1e-12) && truth * (1.0 - 1e-12) <= delta.upper);
        assert_true(delta.upper - delta.lower <= 1e-3 * truth);
    }
    tremolo_losses_free(losses);
}

/* Loss +1 with probability e/(1+e), -1 otherwise: randomised response. Two releases have loss 2
 * with probability (e/(1+e))^2, so delta(1) = (e/(1+e))^2 (1 - e^-1). Multiples of the step are
 * exact, and no loss is above 2. */
static void multiples_of_the_step_are_exact(void **state)
{
    (void)state;
    double likely = exp(1.0) / (1.0 + exp(1.0));
    struct tremolo_losses *losses = NULL;
    assert_int_equal(tremolo_losses_new(&losses, 1.0, 1.0, 1e-15), TREMOLO_OK);
    assert_int_equal(tremolo_losses_put(losses, 1.0 - likely, -1.0, 0.0), TREMOLO_OK);
    assert_int_equal(tremolo_losses_put(losses, likely, 1.0, 0.0), TREMOLO_OK);
    assert_int_equal(tremolo_losses_compose(losses, 2), TREMOLO_OK);
    struct tremolo_certified delta = delta_of(losses, 1.0);
    double truth = likely * likely * (1.0 - exp(-1.0));
    assert_true(delta.lower <= truth && truth <= delta.upper);
    assert_true(delta.upper - delta.lower <= 1e-12);
    delta = delta_of(losses, 2.0 + 1e-12);
    assert_true(delta.lower == 0.0 && delta.upper < 1e-280);
    tremolo_losses_free(losses);
}

/* An outcome that the other sample never has counts in full at every epsilon, and once for every
 * release; a smaller delta cannot be reached. */
static void infinite_loss_adds_up(void **state)
{
    (void)state;
    const double ruin = 0x1p-31;
    struct tremolo_losses *losses = NULL;
    struct tremolo_certified epsilon = {1.0, 2.0, 3.0};
    assert_int_equal(tremolo_losses_new(&losses, 1.0, 1.0, 0.0), TREMOLO_OK);
    assert_int_equal(tremolo_losses_put(losses, 1.0 - ruin, 0.0, 0.0), TREMOLO_OK);
    assert_int_equal(tremolo_losses_put(losses, ruin, INFINITY, 0.0), TREMOLO_OK);
    assert_int_equal(tremolo_losses_compose(losses, 3), TREMOLO_OK);
    struct tremolo_certified delta = delta_of(losses, 4.0);
    assert_true(delta.lower == 0.0);
    assert_true(delta.upper >= 3.0 * ruin * (1.0 - ruin) &&
                delta.upper <= 3.0 * ruin * (1.0 + 1e-9));
    assert_int_equal(tremolo_losses_epsilon(&epsilon, losses, &none, ruin), TREMOLO_UNREACHABLE);
    assert_true(epsilon.lower == 1.0 && epsilon.upper == 3.0);
    tremolo_losses_free(losses);
}

/* Gaussian releases in the same ledger: composing both closed forms gives the same. */
static void gaussian_releases_go_along(void **state)
{
    (void)state;
    struct tremolo_losses *losses = modulated(1.0, 2.0, 0.0, 3);
    struct tremolo_gaussian cost = {0};
    struct tremolo_gaussian all = {0};
    struct tremolo_certified epsilon, exact;
    assert_int_equal(tremolo_gaussian_add(&cost, 1.0, 1.5, 1), TREMOLO_OK);
    all = cost;
    assert_int_equal(tremolo_gaussian_add(&all, 1.0, 2.0, 3), TREMOLO_OK);
    assert_int_equal(tremolo_losses_epsilon(&epsilon, losses, &cost, 1e-6), TREMOLO_OK);
    assert_int_equal(tremolo_gaussian_epsilon(&exact, &all, 1e-6), TREMOLO_OK);
    assert_true(epsilon.lower <= exact.upper && exact.lower <= epsilon.upper);
    assert_true(epsilon.upper - epsilon.lower <= 0.01 * epsilon.upper);
    tremolo_losses_free(losses);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct tremolo_losses *losses = NULL;
    struct tremolo_certified delta;
    assert_int_equal(tremolo_losses_new(&losses, 0.0, 1.0, 0.0), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_losses_new(&losses, 1e-6, 1.0, 0.0), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_losses_new(&losses, 1.0, 1.0, 0.1), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_losses_modulated(&losses, 1.0, 0.01, 0.0), TREMOLO_OVERFLOWED);
    assert_int_equal(tremolo_losses_modulated(&losses, 1.0, 1.0, 17.0), TREMOLO_OVERFLOWED);
    assert_int_equal(tremolo_losses_modulated(&losses, 1.0, 1.0, -1.0), TREMOLO_BAD_ARGUMENT);
    assert_null(losses);
    assert_int_equal(tremolo_losses_new(&losses, 1.0, 1.0, 0.0), TREMOLO_OK);
    assert_int_equal(tremolo_losses_put(losses, 0.5, 2.0, 0.0), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_losses_put(losses, 0.5, 0.5, 0.6), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_losses_put(losses, 1.5, 0.5, 0.0), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_losses_put(losses, 0.5, (double)NAN, 0.0), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_losses_compose(losses, 0), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_losses_delta(&delta, losses, &none, -1.0), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_losses_epsilon(&delta, losses, &none, 0.0), TREMOLO_BAD_ARGUMENT);
    tremolo_losses_free(losses);
    tremolo_losses_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brackets_hold_the_truth),
        cmocka_unit_test(epsilon_is_known_within_a_percent),
        cmocka_unit_test(modulation_matches_brute_force),
        cmocka_unit_test(modulation_never_hurts),
        cmocka_unit_test(any_pair_of_laws_composes),
        cmocka_unit_test(multiples_of_the_step_are_exact),
        cmocka_unit_test(infinite_loss_adds_up),
        cmocka_unit_test(gaussian_releases_go_along),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
