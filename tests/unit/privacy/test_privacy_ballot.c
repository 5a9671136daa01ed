/* Ballots against references at 300 bits: what one costs, what an attacker makes of it,
 * and several together with Gaussian releases. Each interval must hold the truth; the
 * bound that is promised is never below it. */
#include <math.h>
#include <stdlib.h>

#include "mpfr_privacy.h"
#include "testing.h"
#include "accountant.h"

enum { ANSWERS = TREMOLO_RANK_ANSWERS };

static bool holds(const struct tremolo_certified *number, const mpfr_t truth)
{
    return mpfr_cmp_d(truth, number->lower) >= 0 && mpfr_cmp_d(truth, number->upper) <= 0;
}

/* Probability of one early and of one late answer. */
static void reference_levels(mpfr_t early, mpfr_t late, const struct tremolo_rank_law *law)
{
    mpfr_set_ui(early, law->top, MPFR_RNDN);
    mpfr_div_2ui(early, early, 32, MPFR_RNDN);
    mpfr_ui_sub(late, 1, early, MPFR_RNDN);
    mpfr_div_ui(early, early, law->first, MPFR_RNDN);
    mpfr_div_ui(late, late, ANSWERS - law->first, MPFR_RNDN);
}

static void reference_epsilon(mpfr_t epsilon, const struct tremolo_rank_law *law)
{
    mpfr_t late;
    mpfr_init2(late, REFERENCE_BITS);
    reference_levels(epsilon, late, law);
    mpfr_div(epsilon, epsilon, late, MPFR_RNDN);
    mpfr_log(epsilon, epsilon, MPFR_RNDN);
    mpfr_clear(late);
}

static void epsilon_holds_the_logarithm(void **state)
{
    static const unsigned first[] = {1, 2, 57, 127, 128};
    (void)state;
    mpfr_t truth;
    mpfr_init2(truth, REFERENCE_BITS);
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        uint32_t least = (uint32_t)(((uint64_t)first[i] << 32) / ANSWERS) + 1;
        for (uint64_t top = least; top < UINT32_MAX; top += 1 + (UINT32_MAX - least) / 37) {
            struct tremolo_rank_law law = {first[i], (uint32_t)top};
            struct tremolo_certified epsilon;
            assert_int_equal(tremolo_rank_epsilon(&epsilon, &law), TREMOLO_OK);
            reference_epsilon(truth, &law);
            assert_true(holds(&epsilon, truth));
            assert_true(epsilon.upper - epsilon.lower <= 1e-14 * epsilon.upper);
        }
    }
    mpfr_clear(truth);
}

/* Sum over all answers of the larger probability, first sets apart: an attacker takes
 * the likelier sample. */
static void attack_holds_the_best_guess(void **state)
{
    static const double asked[] = {0.01, 0.5, 1, 2, 4, 8, 15};
    (void)state;
    mpfr_t early, late, right;
    mpfr_inits2(REFERENCE_BITS, early, late, right, (mpfr_ptr)NULL);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        struct tremolo_rank_law law;
        struct tremolo_rank_attack attack;
        assert_int_equal(tremolo_rank_law_for(&law, asked[i]), TREMOLO_OK);
        assert_int_equal(tremolo_rank_attack(&attack, &law), TREMOLO_OK);
        reference_levels(early, late, &law);
        mpfr_set_ui(right, 0, MPFR_RNDN);
        for (unsigned answer = 0; answer < ANSWERS; answer++) {
            mpfr_add(right, right, answer < 2 * law.first ? early : late, MPFR_RNDN);
        }
        mpfr_div_2ui(right, right, 1, MPFR_RNDN);
        assert_true(holds(&attack.any, right));
        /* First sets that meet in T^2/N answers on average. */
        mpfr_sub_d(right, right, 0.5, MPFR_RNDN);
        mpfr_mul_ui(right, right, ANSWERS - law.first, MPFR_RNDN);
        mpfr_div_ui(right, right, ANSWERS, MPFR_RNDN);
        mpfr_add_d(right, right, 0.5, MPFR_RNDN);
        assert_true(holds(&attack.correlated, right));
        mpfr_div(right, early, late, MPFR_RNDN);
        mpfr_add_ui(early, right, 1, MPFR_RNDN);
        mpfr_div(right, right, early, MPFR_RNDN);
        assert_true(mpfr_cmp_d(right, attack.budget.upper) <= 0);
        assert_true(attack.correlated.upper < attack.any.upper);
        assert_true(attack.any.upper <= attack.budget.upper);
    }
    mpfr_clears(early, late, right, (mpfr_ptr)NULL);
}

/* The law found costs no more than was asked, one step more would; no other number of
 * first answers has less variance. c^2 is known from simulations to three digits. */
static void law_is_the_best_within_epsilon(void **state)
{
    static const double asked[] = {0.5, 1, 2, 4, 6, 8};
    static const double variance[] = {25.3, 6.36, 1.636, 0.450, 0.231, 0.161};
    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        struct tremolo_rank_law law;
        struct tremolo_certified epsilon;
        double scale = 0.0;
        assert_int_equal(tremolo_rank_law_for(&law, asked[i]), TREMOLO_OK);
        assert_int_equal(tremolo_rank_epsilon(&epsilon, &law), TREMOLO_OK);
        assert_true(epsilon.upper <= asked[i] - 0x1p-22);
        assert_int_equal(tremolo_rank_scale(&scale, &law), TREMOLO_OK);
        assert_true(fabs(scale * scale / variance[i] - 1.0) < 0.01);
        struct tremolo_rank_law more = {law.first, law.top + 1};
        assert_int_equal(tremolo_rank_epsilon(&epsilon, &more), TREMOLO_OK);
        assert_true(epsilon.upper > asked[i] - 0x1p-22);
        for (unsigned first = law.first - 1; first <= law.first + 1; first += 2) {
            double early = first * exp(asked[i]);
            struct tremolo_rank_law other = {
                first, (uint32_t)(0x1p32 * early / (early + ANSWERS - first))};
            double wider = 0.0;
            if (tremolo_rank_scale(&wider, &other) == TREMOLO_OK) {
                assert_true(wider > scale * (1.0 - 1e-6));
            }
        }
    }
}

/* ---------------------------------------------------------------- together */

/* delta of `count` ballots and Gaussian releases of mu: the probabilities of all sums of losses by
 * repeated convolution, 2 count + 1 of them. */
static void reference_mixture(mpfr_t delta, const struct tremolo_ballots *ballots, double mu,
                              double epsilon)
{
    size_t count = (size_t)ballots->count;
    size_t places = 2 * count + 1;
    mpfr_t *walk = calloc(places, sizeof *walk);
    mpfr_t step[3], term, rate, bar, here, before;
    assert_non_null(walk);
    mpfr_inits2(REFERENCE_BITS, step[0], step[1], step[2], term, rate, bar, here, before,
                (mpfr_ptr)NULL);
    for (size_t i = 0; i < places; i++) {
        mpfr_init2(walk[i], REFERENCE_BITS);
        mpfr_set_ui(walk[i], i == count, MPFR_RNDN);
    }
    reference_levels(step[2], step[0], &ballots->law);
    mpfr_mul_ui(step[2], step[2], ballots->law.first, MPFR_RNDN);
    mpfr_mul_ui(step[1], step[0], ANSWERS - 2 * ballots->law.first, MPFR_RNDN);
    mpfr_mul_ui(step[0], step[0], ballots->law.first, MPFR_RNDN);
    for (size_t taken = 0; taken < count; taken++) {
        mpfr_set_ui(before, 0, MPFR_RNDN);
        for (size_t i = 0; i < places; i++) {
            mpfr_set(here, walk[i], MPFR_RNDN);
            mpfr_mul(walk[i], walk[i], step[1], MPFR_RNDN);
            mpfr_mul(term, before, step[2], MPFR_RNDN);
            mpfr_add(walk[i], walk[i], term, MPFR_RNDN);
            if (i + 1 < places) {
                mpfr_mul(term, walk[i + 1], step[0], MPFR_RNDN);
                mpfr_add(walk[i], walk[i], term, MPFR_RNDN);
            }
            mpfr_set(before, here, MPFR_RNDN);
        }
    }
    mpfr_set_d(rate, mu, MPFR_RNDN);
    mpfr_set_ui(delta, 0, MPFR_RNDN);
    for (size_t i = 0; i < places; i++) {
        reference_epsilon(bar, &ballots->law);
        mpfr_mul_si(bar, bar, (long)count - (long)i, MPFR_RNDN);
        mpfr_add_d(bar, bar, epsilon, MPFR_RNDN);
        if (mu > 0.0) {
            reference_gaussian_delta_at(term, rate, bar);
        } else {
            mpfr_exp(term, bar, MPFR_RNDN);
            mpfr_ui_sub(term, 1, term, MPFR_RNDN);
        }
        if (mpfr_sgn(term) > 0) {
            mpfr_mul(term, term, walk[i], MPFR_RNDN);
            mpfr_add(delta, delta, term, MPFR_RNDN);
        }
    }
    for (size_t i = 0; i < places; i++) {
        mpfr_clear(walk[i]);
    }
    free(walk);
    mpfr_clears(step[0], step[1], step[2], term, rate, bar, here, before, (mpfr_ptr)NULL);
}

static struct tremolo_gaussian releases_of(double mu)
{
    struct tremolo_gaussian cost = {0};
    if (mu > 0.0) {
        assert_int_equal(tremolo_gaussian_add(&cost, mu, 1.0, 1), TREMOLO_OK);
    }
    return cost;
}

static void mixtures_hold_the_truth(void **state)
{
    static const double mus[] = {0.0, 0.05, 3.0};
    static const struct {
        double each;
        uint64_t count;
    } cases[] = {{1.0, 1}, {1.0, 3}, {0.7, 4}, {0.5, 40}, {2.0, 64}, {15.9, 64}, {0.01, 64}};
    (void)state;
    mpfr_t truth;
    mpfr_init2(truth, REFERENCE_BITS);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tremolo_ballots ballots = {.count = cases[i].count};
        assert_int_equal(tremolo_rank_law_for(&ballots.law, cases[i].each), TREMOLO_OK);
        double widest = cases[i].each * (double)cases[i].count;
        for (size_t j = 0; j < 3 * 6; j++) {
            struct tremolo_gaussian cost = releases_of(mus[j / 6]);
            double epsilon = widest * (double)(j % 6) / 5.5;
            struct tremolo_certified delta;
            assert_int_equal(tremolo_mixture_delta(&delta, &ballots, &cost, epsilon), TREMOLO_OK);
            reference_mixture(truth, &ballots, mus[j / 6], epsilon);
            assert_true(holds(&delta, truth));
            assert_true(delta.upper - delta.lower <= 1e-9 * delta.upper + 1e-280);
        }
    }
    mpfr_clear(truth);
}

static void epsilon_of_a_mixture_rounds_up(void **state)
{
    static const double mus[] = {0.0, 0.1, 1.0};
    static const double deltas[] = {1e-2, 1e-5, 1e-9};
    (void)state;
    struct tremolo_ballots ballots = {.count = 10};
    assert_int_equal(tremolo_rank_law_for(&ballots.law, 1.0), TREMOLO_OK);
    for (size_t i = 0; i < sizeof mus / sizeof mus[0]; i++) {
        struct tremolo_gaussian cost = releases_of(mus[i]);
        for (size_t j = 0; j < sizeof deltas / sizeof deltas[0]; j++) {
            struct tremolo_mixture_cost found;
            struct tremolo_certified delta;
            assert_int_equal(tremolo_mixture_epsilon(&found, &ballots, &cost, deltas[j]),
                             TREMOLO_OK);
            assert_true(found.exact.upper <= found.sum);
            assert_true(found.exact.upper - found.exact.lower <= 1e-9 * found.exact.upper);
            assert_true(found.sum >= found.pure + found.gaussian);
            assert_int_equal(tremolo_mixture_delta(&delta, &ballots, &cost, found.exact.upper),
                             TREMOLO_OK);
            assert_true(delta.upper <= deltas[j] * (1 + 1e-12));
            assert_int_equal(tremolo_mixture_delta(&delta, &ballots, &cost, found.exact.lower),
                             TREMOLO_OK);
            assert_true(delta.lower >= deltas[j] * (1 - 1e-12));
        }
    }
}

static void edges(void **state)
{
    (void)state;
    struct tremolo_rank_law law;
    struct tremolo_certified number;
    struct tremolo_gaussian none = {0};
    struct tremolo_gaussian some = releases_of(1.0);
    struct tremolo_mixture_cost found;
    assert_int_equal(tremolo_rank_law_for(&law, 0.0), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_rank_law_for(&law, 16.0), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_rank_law_for(&law, (double)NAN), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_rank_law_for(&law, TREMOLO_RANK_EPSILON_MIN), TREMOLO_OK);
    assert_int_equal(tremolo_rank_law_for(&law, TREMOLO_RANK_EPSILON_MAX), TREMOLO_OK);
    assert_int_equal(law.first, 1);
    const struct tremolo_rank_law bad[] = {{0, UINT32_MAX}, {129, UINT32_MAX}, {128, 1u << 31}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(tremolo_rank_epsilon(&number, &bad[i]), TREMOLO_BAD_ARGUMENT);
    }
    struct tremolo_ballots ballots = {.count = 3};
    assert_int_equal(tremolo_rank_law_for(&ballots.law, 2.0), TREMOLO_OK);
    /* Ballots alone are pure: three of epsilon 2 are epsilon 6 at delta 0. */
    assert_int_equal(tremolo_mixture_epsilon(&found, &ballots, &none, 0.0), TREMOLO_OK);
    assert_true(found.exact.upper <= 6.0 && found.exact.upper > 5.99999);
    assert_true(found.gaussian == 0.0);
    assert_int_equal(tremolo_mixture_epsilon(&found, &ballots, &some, 0.0), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_mixture_epsilon(&found, NULL, &none, 1e-5), TREMOLO_BAD_ARGUMENT);
    /* Gaussian releases alone are what they were. */
    assert_int_equal(tremolo_mixture_epsilon(&found, NULL, &some, 1e-5), TREMOLO_OK);
    assert_int_equal(tremolo_gaussian_epsilon(&number, &some, 1e-5), TREMOLO_OK);
    assert_true(fabs(found.exact.upper - number.upper) <= 1e-12);
    /* A million are known within 1%, and a delta that no composition reaches costs the sum. */
    ballots.count = 1000000;
    assert_int_equal(tremolo_rank_law_for(&ballots.law, 0.001), TREMOLO_OK);
    assert_int_equal(tremolo_mixture_epsilon(&found, &ballots, &none, 1e-5), TREMOLO_OK);
    assert_true(found.exact.upper < 10.0 && found.exact.lower > 0.99 * found.exact.upper);
    ballots.count = 3;
    assert_int_equal(tremolo_mixture_epsilon(&found, &ballots, &none, 1e-300), TREMOLO_OK);
    assert_true(found.exact.upper == found.sum);
    ballots.count = 0;
    assert_int_equal(tremolo_mixture_epsilon(&found, &ballots, &none, 1e-5), TREMOLO_BAD_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epsilon_holds_the_logarithm),
        cmocka_unit_test(attack_holds_the_best_guess),
        cmocka_unit_test(law_is_the_best_within_epsilon),
        cmocka_unit_test(mixtures_hold_the_truth),
        cmocka_unit_test(epsilon_of_a_mixture_rounds_up),
        cmocka_unit_test(edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
