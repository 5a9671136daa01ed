/* Gaussian composition against MPFR: every interval holds the truth and is
 * narrow, every inverse lies on its safe side, nonsense is refused. */
#include "tremolo_privacy.h"

#include "mpfr_privacy.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* The documented relative width of a delta. */
#define WIDTH 1e-12

static void cost_of(struct tremolo_gaussian *cost, mpfr_t mu, double sensitivity, double sigma,
                    uint64_t releases)
{
    *cost = (struct tremolo_gaussian){0.0, 0.0};
    assert_int_equal(tremolo_gaussian_add(cost, sensitivity, sigma, releases), TREMOLO_OK);
    mpfr_set_ui(mu, (unsigned long)releases, MPFR_RNDN);
    mpfr_sqrt(mu, mu, MPFR_RNDN);
    mpfr_mul_d(mu, mu, sensitivity, MPFR_RNDN);
    mpfr_div_d(mu, mu, sigma, MPFR_RNDN);
}

/* Spread over mu 1e-14..30 (beyond, 1 - delta drowns in 300 bits), epsilon 0..5000 and all magnitudes of delta. */
static void delta_holds_the_truth(void **state)
{
    (void)state;
    uint64_t seed = 1;
    mpfr_t mu, truth;
    mpfr_inits2(REFERENCE_BITS, mu, truth, (mpfr_ptr)NULL);
    int normal = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t releases = 1 + (uint64_t)(100.0 * next_uniform(&seed) * next_uniform(&seed));
        double sigma = sqrt((double)releases) * exp(-3.4 + 35.0 * next_uniform(&seed));
        struct tremolo_gaussian cost;
        cost_of(&cost, mu, 1.0, sigma, releases);
        double m = mpfr_get_d(mu, MPFR_RNDN);
        /* epsilon so that a = epsilon/mu - mu/2 falls in -mu/2 .. 45 */
        double epsilon = fmax(0.0, m * (0.5 * m + 45.0 * pow(next_uniform(&seed), 2.0) - 2.0));
        if (i % 10 == 0) {
            epsilon = 0.0;
        }
        struct tremolo_certified delta;
        assert_int_equal(tremolo_gaussian_delta(&delta, &cost, epsilon), TREMOLO_OK);
        reference_gaussian_delta(truth, mu, epsilon);
        assert_true(mpfr_cmp_d(truth, delta.lower) >= 0);
        assert_true(mpfr_cmp_d(truth, delta.upper) <= 0);
        assert_true(delta.lower <= delta.value && delta.value <= delta.upper);
        assert_true(delta.lower >= 0.0 && delta.upper <= 1.0);
        if (delta.lower > 0.0) {
            normal++;
            assert_true(delta.upper - delta.lower <= WIDTH * delta.value);
        }
    }
    assert_true(normal > 600); /* the grid must exercise the narrow case */
    mpfr_clears(mu, truth, (mpfr_ptr)NULL);
}

static void epsilon_in_the_thousands(void **state)
{
    (void)state;
    static const double cases[][2] = {{0.02, 1000.0},    {0.02, 3000.0}, {0.01, 5000.0},
                                      {0.001, 500000.0}, {0.05, 400.0},  {1e-3, 499000.0}};
    mpfr_t mu, truth;
    mpfr_inits2(REFERENCE_BITS, mu, truth, (mpfr_ptr)NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tremolo_gaussian cost;
        struct tremolo_certified delta;
        cost_of(&cost, mu, 1.0, cases[i][0], 1);
        assert_int_equal(tremolo_gaussian_delta(&delta, &cost, cases[i][1]), TREMOLO_OK);
        reference_gaussian_delta(truth, mu, cases[i][1]);
        assert_true(mpfr_cmp_d(truth, delta.lower) >= 0);
        assert_true(mpfr_cmp_d(truth, delta.upper) <= 0);
        assert_true(delta.upper - delta.lower <= WIDTH * delta.value);
    }
    mpfr_clears(mu, truth, (mpfr_ptr)NULL);
}

static void epsilon_brackets_its_delta(void **state)
{
    (void)state;
    uint64_t seed = 2;
    mpfr_t mu, truth;
    mpfr_inits2(REFERENCE_BITS, mu, truth, (mpfr_ptr)NULL);
    for (int i = 0; i < 400; i++) {
        double sigma = exp(-3.0 + 14.0 * next_uniform(&seed));
        double delta = exp(-690.0 * pow(next_uniform(&seed), 3.0) - 1e-3);
        struct tremolo_gaussian cost;
        struct tremolo_certified epsilon;
        cost_of(&cost, mu, 1.0, sigma, 3);
        assert_int_equal(tremolo_gaussian_epsilon(&epsilon, &cost, delta), TREMOLO_OK);
        assert_true(0.0 <= epsilon.lower && epsilon.lower <= epsilon.value &&
                    epsilon.value <= epsilon.upper);
        reference_gaussian_delta(truth, mu, epsilon.upper);
        assert_true(mpfr_cmp_d(truth, delta) <= 0); /* upper really suffices */
        if (epsilon.lower > 0.0) {
            reference_gaussian_delta(truth, mu, epsilon.lower);
            assert_true(mpfr_cmp_d(truth, delta) >= 0); /* and is not wasteful */
            assert_true(epsilon.upper - epsilon.lower <= 1e-10 * epsilon.upper + 1e-13);
        }
    }
    mpfr_clears(mu, truth, (mpfr_ptr)NULL);
}

static void sigma_is_rounded_up(void **state)
{
    (void)state;
    uint64_t seed = 3;
    mpfr_t mu, truth;
    mpfr_inits2(REFERENCE_BITS, mu, truth, (mpfr_ptr)NULL);
    for (int i = 0; i < 400; i++) {
        double epsilon = exp(-12.0 + 20.0 * next_uniform(&seed));
        double delta = exp(-690.0 * pow(next_uniform(&seed), 3.0) - 1e-2);
        uint64_t releases = 1 + (uint64_t)(20.0 * next_uniform(&seed));
        struct tremolo_certified sigma;
        assert_int_equal(
            tremolo_rule_sigma(&sigma, TREMOLO_RULE_EXACT, epsilon, delta, 0.7, releases),
            TREMOLO_OK);
        struct tremolo_gaussian cost;
        cost_of(&cost, mu, 0.7, sigma.upper, releases);
        reference_gaussian_delta(truth, mu, epsilon);
        assert_true(mpfr_cmp_d(truth, delta) <= 0);
        cost_of(&cost, mu, 0.7, sigma.lower, releases);
        reference_gaussian_delta(truth, mu, epsilon);
        assert_true(mpfr_cmp_d(truth, delta) >= 0);
        assert_true(sigma.value == sigma.upper && sigma.upper - sigma.lower <= 1e-12 * sigma.upper);
    }
    mpfr_clears(mu, truth, (mpfr_ptr)NULL);
}

static void unequal_rounds_add_up(void **state)
{
    (void)state;
    /* 3-4-5: releases with mu 3/8 and 4/8 are one with mu 5/8, to the bit. */
    struct tremolo_gaussian two = {0.0, 0.0};
    struct tremolo_gaussian one = {0.0, 0.0};
    assert_int_equal(tremolo_gaussian_add(&two, 3.0, 8.0, 1), TREMOLO_OK);
    assert_int_equal(tremolo_gaussian_add(&two, 1.0, 2.0, 1), TREMOLO_OK);
    assert_int_equal(tremolo_gaussian_add(&one, 5.0, 8.0, 1), TREMOLO_OK);
    assert_true(two.mu_squared == one.mu_squared && two.mu_squared_tail == one.mu_squared_tail);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct tremolo_gaussian cost = {0.0, 0.0};
    struct tremolo_gaussian before = cost;
    struct tremolo_certified untouched = {1.0, 2.0, 3.0};
    assert_int_equal(tremolo_gaussian_add(&cost, 0.0, 1.0, 1), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_gaussian_add(&cost, 1.0, -1.0, 1), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_gaussian_add(&cost, 1.0, NAN, 1), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_gaussian_add(&cost, 1.0, 1.0, 0), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_gaussian_add(&cost, 1e300, 1e-300, 1), TREMOLO_OVERFLOWED);
    assert_memory_equal(&cost, &before, sizeof cost);
    assert_int_equal(tremolo_gaussian_add(&cost, 1.0, 1.0, 1), TREMOLO_OK);
    assert_int_equal(tremolo_gaussian_delta(&untouched, &cost, -1.0), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_gaussian_delta(&untouched, &cost, INFINITY), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_gaussian_epsilon(&untouched, &cost, 0.0), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_gaussian_epsilon(&untouched, &cost, 1.0), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_gaussian_epsilon(&untouched, &cost, NAN), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_gaussian_mu_for(&untouched, 0.0, 1e-200), TREMOLO_UNREACHABLE);
    assert_true(untouched.lower == 1.0 && untouched.value == 2.0 && untouched.upper == 3.0);
}

static void nothing_released_costs_nothing(void **state)
{
    (void)state;
    struct tremolo_gaussian cost = {0.0, 0.0};
    struct tremolo_certified number;
    assert_int_equal(tremolo_gaussian_delta(&number, &cost, 0.0), TREMOLO_OK);
    assert_true(number.upper == 0.0);
    assert_int_equal(tremolo_gaussian_epsilon(&number, &cost, 1e-5), TREMOLO_OK);
    assert_true(number.upper == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delta_holds_the_truth),
        cmocka_unit_test(epsilon_in_the_thousands),
        cmocka_unit_test(epsilon_brackets_its_delta),
        cmocka_unit_test(sigma_is_rounded_up),
        cmocka_unit_test(unequal_rounds_add_up),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(nothing_released_costs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
