/* What attackers can do: tests, reconstruction, counting, sensitivity, words. */
#include "accountant.h"
#include "explain.h"

#include "mpfr_privacy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* z with Q(z) = rate: by halving in doubles, then four of Newton's steps at 300 bits, each of which
 * doubles the digits. That Q is on either side of the rate 1e-34 to the left and right proves it. */
static void reference_quantile(mpfr_t z, double rate)
{
    mpfr_t tail, density;
    mpfr_inits2(REFERENCE_BITS, tail, density, (mpfr_ptr)NULL);
    double low = -40.0;
    double high = 40.0;
    for (int step = 0; step < 60; step++) {
        double middle = 0.5 * (low + high);
        *(0.5 * erfc(middle * sqrt(0.5)) > rate ? &low : &high) = middle;
    }
    mpfr_set_d(z, low, MPFR_RNDN);
    for (int step = 0; step < 4; step++) {
        reference_tail(tail, z);
        mpfr_sub_d(tail, tail, rate, MPFR_RNDN);
        mpfr_sqr(density, z, MPFR_RNDN);
        mpfr_div_si(density, density, -2, MPFR_RNDN);
        mpfr_exp(density, density, MPFR_RNDN);
        mpfr_div(tail, tail, density, MPFR_RNDN);
        mpfr_const_pi(density, MPFR_RNDN);
        mpfr_mul_ui(density, density, 2, MPFR_RNDN);
        mpfr_sqrt(density, density, MPFR_RNDN);
        mpfr_mul(tail, tail, density, MPFR_RNDN);
        mpfr_add(z, z, tail, MPFR_RNDN);
    }
    for (int side = -1; side <= 1; side += 2) {
        mpfr_set_d(density, side * 1e-34, MPFR_RNDN);
        mpfr_add(density, z, density, MPFR_RNDN);
        reference_tail(tail, density);
        assert_true(side * mpfr_cmp_d(tail, rate) < 0);
    }
    mpfr_clears(tail, density, (mpfr_ptr)NULL);
}

static void tradeoff_holds_the_truth(void **state)
{
    (void)state;
    uint64_t seed = 9;
    mpfr_t z, miss;
    mpfr_inits2(REFERENCE_BITS, z, miss, (mpfr_ptr)NULL);
    for (int i = 0; i < 60; i++) {
        double mu = 5.0 * next_uniform(&seed);
        double rate = i % 2 == 0 ? next_uniform(&seed) : exp(-600.0 * next_uniform(&seed));
        struct tremolo_certified miss_rate;
        assert_int_equal(tremolo_tradeoff_gaussian(&miss_rate, mu, rate), TREMOLO_OK);
        reference_quantile(z, rate);
        mpfr_d_sub(z, mu, z, MPFR_RNDN);
        reference_tail(miss, z);
        assert_true(mpfr_cmp_d(miss, miss_rate.lower) >= 0);
        assert_true(mpfr_cmp_d(miss, miss_rate.upper) <= 0);
        assert_true(miss_rate.upper - miss_rate.lower <= 1e-11 * miss_rate.upper + 1e-15);
    }
    mpfr_clears(z, miss, (mpfr_ptr)NULL);
}

/* A guarantee in (epsilon, delta) alone is weaker than mu itself. */
static void budget_alone_says_less(void **state)
{
    (void)state;
    struct tremolo_certified by_mu, by_budget, mu;
    assert_int_equal(tremolo_gaussian_mu_for(&mu, 1.0, 1e-5), TREMOLO_OK);
    for (int i = 0; i <= 100; i++) {
        double rate = i / 100.0;
        assert_int_equal(tremolo_tradeoff_gaussian(&by_mu, mu.lower, rate), TREMOLO_OK);
        assert_int_equal(tremolo_tradeoff_budget(&by_budget, 1.0, 1e-5, rate), TREMOLO_OK);
        assert_true(by_mu.upper >= by_budget.lower);
    }
}

/* P(X >= k) at the lower bound is at most the allowed error, and no longer so
 * a little above it; likewise on the other side. MPFR sums the binomial. */
static void upper_tail(mpfr_t sum, uint64_t k, uint64_t n, double p)
{
    mpfr_t term, ratio;
    mpfr_inits2(REFERENCE_BITS, term, ratio, (mpfr_ptr)NULL);
    mpfr_set_d(ratio, p, MPFR_RNDN);
    mpfr_ui_sub(ratio, 1, ratio, MPFR_RNDN);
    mpfr_pow_ui(term, ratio, (unsigned long)n, MPFR_RNDN); /* P(X = 0) */
    mpfr_d_div(ratio, p, ratio, MPFR_RNDN);
    mpfr_set_ui(sum, 0, MPFR_RNDN);
    for (uint64_t i = 0; i <= n; i++) {
        if (i >= k) {
            mpfr_add(sum, sum, term, MPFR_RNDN);
        }
        mpfr_mul(term, term, ratio, MPFR_RNDN);
        mpfr_mul_ui(term, term, (unsigned long)(n - i), MPFR_RNDN);
        mpfr_div_ui(term, term, (unsigned long)(i + 1), MPFR_RNDN);
    }
    mpfr_clears(term, ratio, (mpfr_ptr)NULL);
}

static void proportions_are_bounded_exactly(void **state)
{
    (void)state;
    static const uint64_t cases[][2] = {{0, 10},     {1, 10},     {10, 10},   {3, 1000},
                                        {500, 1000}, {997, 1000}, {17, 4000}, {2345, 4000}};
    static const double errors[] = {0.05, 1e-3, 1e-9};
    mpfr_t tail;
    mpfr_init2(tail, REFERENCE_BITS);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t j = 0; j < 3; j++) {
            uint64_t k = cases[i][0];
            uint64_t n = cases[i][1];
            double lower = -1.0;
            double upper = -1.0;
            assert_int_equal(tremolo_binomial_bounds(&lower, &upper, k, n, errors[j]), TREMOLO_OK);
            assert_true(0.0 <= lower && lower <= (double)k / (double)n);
            assert_true((double)k / (double)n <= upper && upper <= 1.0);
            if (k > 0) {
                upper_tail(tail, k, n, lower);
                assert_true(mpfr_cmp_d(tail, errors[j]) <= 0);
                upper_tail(tail, k, n, lower * (1.0 + 1e-6));
                assert_true(mpfr_cmp_d(tail, errors[j]) > 0);
            }
            if (k < n) { /* P(X <= k) = 1 - P(X >= k+1) */
                upper_tail(tail, k + 1, n, upper);
                mpfr_ui_sub(tail, 1, tail, MPFR_RNDN);
                assert_true(mpfr_cmp_d(tail, errors[j]) <= 0);
            }
        }
    }
    mpfr_clear(tail);
}

/* Random pairs and phases never part further than the known-phase bound, and
 * a constructed pair attains it. */
static void sensitivity_is_a_maximum(void **state)
{
    (void)state;
    uint64_t seed = 10;
    for (int i = 0; i < 20000; i++) {
        unsigned m = 1 + (unsigned)(4.0 * next_uniform(&seed));
        struct tremolo_modulation modulation = {
            0.9 * next_uniform(&seed), 3.0 * next_uniform(&seed), 6.0 * next_uniform(&seed), m};
        struct tremolo_sensitivity bound;
        assert_int_equal(tremolo_sensitivity_of(&bound, &modulation, 1.0), TREMOLO_OK);
        assert_true(bound.exact.upper <= bound.known_phase.upper);
        assert_true(bound.known_phase.lower <= bound.paper.upper);
        /* In the basis of V plus one direction outside it. */
        double step[5];
        double norm = 0.0;
        for (unsigned j = 0; j <= m; j++) {
            step[j] = next_uniform(&seed) - 0.5;
            norm += step[j] * step[j];
        }
        double square = 0.0;
        for (unsigned j = 0; j <= m; j++) {
            double t = step[j] / sqrt(norm);
            double phase = 6.3 * next_uniform(&seed);
            double moved = (1.0 - modulation.alpha) * t;
            if (j < m) {
                moved += modulation.lambda / sqrt((double)m) *
                         (cos(modulation.omega * t + phase) - cos(phase));
            }
            square += moved * moved;
        }
        assert_true(sqrt(square) <= bound.known_phase.upper);
    }
    struct tremolo_modulation modulation = {0.5, 0.2, 1.0, 1};
    struct tremolo_sensitivity bound;
    assert_int_equal(tremolo_sensitivity_of(&bound, &modulation, 1.0), TREMOLO_OK);
    double phase = -0.5 - 1.57079632679489661923; /* centres the sine on its peak */
    double attained = 0.5 + 0.2 * (cos(1.0 + phase) - cos(phase));
    assert_true(fabs(attained - bound.known_phase.value) <= 1e-14); /* a few roundings */
    assert_true(fabs(bound.paper.value - 0.7) <= 1e-15);
}

/* About a location in contrast * cos(phase) + N(0, 1). */
static double information_at(double contrast)
{
    struct tremolo_reconstruction_setup setup = {
        .modulation = {0.0, contrast, 1.0, 1}, .dimension = 1, .sigma = 1.0, .releases = 1};
    struct tremolo_reconstruction bounds;
    assert_int_equal(tremolo_reconstruction_bounds(&bounds, &setup), TREMOLO_OK);
    return bounds.information_along_v;
}

static void information_falls_with_modulation(void **state)
{
    (void)state;
    double last = 1.0;
    assert_true(information_at(0.0) == 1.0);
    /* For small contrast the noise is nearly Gaussian: 1/(1 + c^2/2). */
    assert_true(fabs(information_at(0.05) - 1.0 / (1.0 + 0.00125)) <= 1e-6);
    for (int i = -1; i <= 6; i++) {
        double information = information_at(ldexp(1.0, i));
        assert_true(information > 0.0 && information < last);
        last = information;
    }
}

static void reconstruction_bounds_are_ordered(void **state)
{
    (void)state;
    struct tremolo_reconstruction_setup setup = {{0.5, 0.8, 2.0, 2}, 7, 1.5, 3, 2.25};
    struct tremolo_reconstruction bounds;
    assert_int_equal(tremolo_reconstruction_bounds(&bounds, &setup), TREMOLO_OK);
    assert_true(bounds.conditional <= bounds.phase_averaged);
    assert_true(bounds.phase_averaged <= bounds.phase_averaged_trace);
    assert_true(bounds.phase_averaged_trace <= bounds.marginal);
    assert_true(bounds.marginal < bounds.without_response);
    /* Without modulation and response all agree: sigma^2/(T (1-alpha)^2). */
    setup.modulation.vectors = 0;
    setup.signal = 0.0;
    assert_int_equal(tremolo_reconstruction_bounds(&bounds, &setup), TREMOLO_OK);
    double plain = 1.5 * 1.5 / (3.0 * 0.25);
    assert_true(fabs(bounds.conditional - plain) <= 1e-12 &&
                fabs(bounds.marginal - plain) <= 1e-12);
    setup.sigma = -1.0;
    assert_int_equal(tremolo_reconstruction_bounds(&bounds, &setup), TREMOLO_BAD_ARGUMENT);
}

static const struct tremolo_promise any_two = {.neighbours = TREMOLO_NEIGHBOURS_ANY,
                                               .distance = 2.0,
                                               .dimension = 8,
                                               .mu = 0.35,
                                               .releases = 1,
                                               .delta = 1e-5,
                                               .response_private = true};

/* Decimals are not doubles: a few units in the last place. */
static bool is(double x, double decimal)
{
    return fabs(x - decimal) <= 4e-16 * fabs(decimal);
}

static void what_is_shown_never_promises_more(void **state)
{
    (void)state;
    assert_true(is(tremolo_digits_up(2.00039, 4), 2.001));
    assert_true(is(tremolo_digits_up(2.0 + 1e-13, 4), 2.0));
    assert_true(is(tremolo_digits_down(1.99999, 4), 1.999));
    assert_true(is(tremolo_digits_up(1.0001e-5, 3), 1.01e-5));
    char text[TREMOLO_PERCENT_BYTES];
    assert_string_equal(tremolo_percent_text(text, 0.79123, true), "79.2%");
    assert_string_equal(tremolo_percent_text(text, 0.792, true), "79.2%");
    assert_string_equal(tremolo_percent_text(text, 0.99999, false), "100%");
    assert_string_equal(tremolo_percent_text(text, 0.59995, true), "60%");
    assert_string_equal(tremolo_percent_text(text, 0.99999, true), ">99.9%");
    assert_string_equal(tremolo_percent_text(text, 1.0, false), "100%");
    assert_true(tremolo_digits_up(0.0, 4) == 0.0 && isinf(tremolo_digits_up(INFINITY, 4)));
}

static void words_match_the_neighbours(void **state)
{
    (void)state;
    struct tremolo_explanation words;
    struct tremolo_promise promise = any_two;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_non_null(
        strstr(words.participant, "guessing between any two candidates, is right at most 57% of"));
    assert_non_null(strstr(words.participant, "nobody sees your sample, not even us"));
    assert_non_null(strstr(words.reviewer, "any two samples of the study's domain"));
    assert_non_null(strstr(words.reviewer, "The response is one of the protected coordinates."));
    assert_non_null(strstr(words.reviewer, "Each device makes 1 release. For any two samples of"));
    promise.neighbours = TREMOLO_NEIGHBOURS_DISTANCE;
    promise.response_private = false;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_non_null(strstr(words.reviewer, "at most 2 apart, and for those only"));
    assert_non_null(strstr(words.reviewer, "The response is sent as it is, in the clear; it also"));
    promise.features = "age and steps";
    promise.response = "pulse";
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_null(strstr(words.participant, "nobody sees your sample"));
    assert_non_null(strstr(words.participant,
                           "can guess more about your age and steps than a device allows by "
                           "default: it takes part only if its settings are changed. Your pulse "
                           "is sent as it is, without noise. An attacker who knows everything but "
                           "what the noise hides, guessing"));
    assert_null(strstr(words.participant, "protected"));
    assert_null(strstr(words.participant, "not even us"));
    promise.features = NULL;
    promise.response = NULL;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_non_null(
        strstr(words.participant, "if its settings are changed. Your response is sent"));
    assert_int_equal(words.difference_count, 3);
    assert_string_equal(words.differences[1].name, "typical pair");
    assert_true(words.differences[1].distance == 4.0);
    /* At 1e-6 the unit distance has mu = 350,000: beyond any accountant's use. */
    promise.distance = 1e-6;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_true(words.differences[0].distance == 1.0 && isinf(words.differences[0].epsilon));
    assert_true(words.differences[0].attacker_right == 1.0);
    assert_string_equal(words.differences[2].name, "promised");
    assert_true(fabs(words.differences[2].mu - 0.35) < 1e-12);
    promise.distance = 2;
    /* 0.2680510...: rounded to nearest it would promise more than was proved. */
    promise.mu = 0.26805102825;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_non_null(strstr(words.reviewer, "mu = 0.268052 (rho = 0.0359257 zCDP)"));
    /* 99.94 % and more rounds up to all of the time, and is less. */
    promise.mu = 6.5;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_non_null(strstr(words.reviewer, "may be right above 99.9% of the time. The response"));
    assert_non_null(strstr(words.participant, ", may be right above 99.9% of the time; tossing"));
    assert_null(strstr(words.reviewer, "100%"));
    assert_null(strstr(words.participant, "100%"));
}

/* A distance of one half range of two, and of a deviation that is a quarter of the range. */
static void distances_are_told_in_own_units(void **state)
{
    (void)state;
    struct tremolo_explanation words;
    struct tremolo_extent extents[TREMOLO_EXPLAIN_WAYS + 2];
    for (size_t i = 0; i < TREMOLO_EXPLAIN_WAYS + 2; i++) {
        extents[i] = (struct tremolo_extent){i == 0 ? "age" : "steps", i == 0 ? "years" : "",
                                             i == 0 ? 70 : 18, i == 0 ? 2 : 4};
    }
    struct tremolo_promise promise = any_two;
    promise.neighbours = TREMOLO_NEIGHBOURS_DISTANCE;
    promise.distance = 1;
    promise.diameter = sqrt(4 + 16);
    promise.dimension = 2;
    promise.extents = extents;
    promise.extent_count = 2;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_int_equal(words.difference_count, 5);
    assert_string_equal(words.differences[0].name, "age, 70 years apart");
    assert_true(words.differences[1].distance == 4);
    /* 49.497 years are no more than 49.4: what is said is never more than what is promised. */
    assert_string_equal(words.differences[2].words, "all at once: age 49.4 years, steps 6.36");
    assert_string_equal(words.differences[3].words, "each alone: age 35 years, steps 4.5");
    assert_string_equal(words.differences[4].words, "all at once: age 70 years, steps 18");
    assert_non_null(strstr(words.reviewer, "at most 1 apart in half ranges, and for those only"));
    assert_non_null(strstr(words.participant,
                           "who differ by at most so much in one thing alone: age "
                           "35 years, steps 4.5, is right at most"));
    /* Thousands are parted; no number has an exponent. */
    extents[1].range = 25652;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_string_equal(words.differences[1].name, "steps, 25,652 apart");
    assert_string_equal(words.differences[3].words, "each alone: age 35 years, steps 6,410");
    extents[1].range = 11880000;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_string_equal(words.differences[1].name, "steps, 11,880,000 apart");
    assert_non_null(strstr(words.participant, "age 35 years, steps 2,970,000, is right at most"));
    extents[1].range = 18;
    promise.standardised = true;
    promise.extent_count = TREMOLO_EXPLAIN_WAYS + 2;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_non_null(strstr(words.reviewer, "at most 1 apart in standard deviations, and"));
    assert_int_equal(words.difference_count, TREMOLO_EXPLAIN_ROWS);
    assert_string_equal(words.differences[TREMOLO_EXPLAIN_WAYS - 1].name,
                        "one of 3 more, end to end");
    assert_true(words.differences[TREMOLO_EXPLAIN_WAYS - 1].distance == 4);
}

/* Strength is judged for any two people at the default policy's delta, whatever delta is quoted. */
static void strength_is_the_policys(void **state)
{
    (void)state;
    struct tremolo_explanation words;
    struct tremolo_promise promise = any_two;
    double mu_two = 0.5; /* epsilon 2 at delta 1e-5: between this and 0.55 */
    const double deltas[] = {1e-9, 1e-5, 1e-2};
    for (size_t i = 0; i < 3; i++) {
        promise.delta = deltas[i];
        promise.mu = mu_two;
        assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
        assert_int_equal(words.strength, TREMOLO_STRENGTH_POLICY);
        assert_int_equal(words.any_two, words.difference_count - 1);
        promise.mu = 0.55;
        assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
        assert_int_equal(words.strength, TREMOLO_STRENGTH_PAST);
    }
    promise = any_two;
    promise.mu = 4.0; /* epsilon 23 */
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_int_equal(words.strength, TREMOLO_STRENGTH_HARDLY);
    assert_non_null(strstr(words.participant, "the noise protects hardly anything"));
    promise = any_two; /* a distance: how far any two are apart decides, where it is known */
    promise.neighbours = TREMOLO_NEIGHBOURS_DISTANCE;
    promise.mu = 0.05;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_int_equal(words.strength, TREMOLO_STRENGTH_PAST);
    assert_int_equal(words.any_two, words.difference_count);
    promise.diameter = 8.0;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_int_equal(words.strength, TREMOLO_STRENGTH_POLICY);
    assert_string_equal(words.differences[words.any_two].name, "any two");
}

/* The noise pays for neighbours that differ in every release: the words must say so, and
 * what a device gives. */
static void words_count_samples_and_rounds(void **state)
{
    (void)state;
    struct tremolo_explanation words;
    struct tremolo_promise promise = any_two;
    promise.releases = 15;
    promise.samples = 3;
    promise.clip = 1.0;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_non_null(strstr(words.reviewer,
                           "makes 15 releases, of up to 3 samples in each of 5 rounds. It "
                           "first shortens samples to a norm of at most 1 (the clip). For any "
                           "two devices, which may differ in all of their samples, not only in "
                           "one, by anything in the study's domain (diameter 2), "));
    assert_non_null(strstr(words.participant, "nobody sees your samples, not even us"));
    assert_non_null(
        strstr(words.participant, "This counts all of the 15 reports that your device may send."));
    promise.neighbours = TREMOLO_NEIGHBOURS_DISTANCE;
    promise.clip = 0.0;
    promise.samples = 15;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_non_null(strstr(words.reviewer,
                           "makes 15 releases, of up to 15 samples. For any two devices, which "
                           "may differ in all of their samples, not only in one, each pair "
                           "at most 2 apart, and for those only (metric privacy), "));
    promise.samples = 1;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_non_null(
        strstr(words.reviewer, "makes 15 releases, of one sample in each of 15 rounds. For"));
    promise.samples = 0; /* not known */
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_non_null(strstr(words.reviewer, "makes 15 releases. For any two devices, "));
    promise.samples = 4; /* of 15 releases? */
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_BAD_ARGUMENT);
    promise.samples = 3;
    promise.clip = -1.0;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_BAD_ARGUMENT);
}

/* Each row is an upper bound at its own distance, rounded up by less than a unit of what
 * is shown; the caller's ways come first, and no two people are further apart than the diameter. */
static void rows_round_up(void **state)
{
    (void)state;
    static const struct tremolo_difference ways[] = {{.name = "age", .distance = 0.7},
                                                     {.name = "far", .distance = 1e3}};
    struct tremolo_explanation words;
    struct tremolo_promise promise = any_two;
    promise.neighbours = TREMOLO_NEIGHBOURS_DISTANCE;
    promise.diameter = 6.0;
    promise.ways = ways;
    promise.way_count = 2;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_int_equal(words.difference_count, 5);
    assert_string_equal(words.differences[0].name, "age");
    assert_true(words.differences[1].distance == 6.0);
    assert_string_equal(words.differences[4].name, "any two");
    for (size_t i = 0; i < words.difference_count; i++) {
        const struct tremolo_difference *row = &words.differences[i];
        struct tremolo_gaussian cost = {0};
        struct tremolo_certified epsilon;
        struct tremolo_certified right;
        double mu = promise.mu * row->distance / promise.distance;
        assert_int_equal(tremolo_gaussian_add(&cost, mu, 1.0, 1), TREMOLO_OK);
        assert_int_equal(tremolo_gaussian_epsilon(&epsilon, &cost, promise.delta), TREMOLO_OK);
        assert_int_equal(tremolo_attack_accuracy(&right, mu), TREMOLO_OK);
        /* A billionth of the last digit is the accountant's own rounding. */
        assert_true(row->mu >= mu * (1 - 1e-12) && row->mu < mu * 1.001);
        assert_true(row->epsilon >= epsilon.upper * (1 - 1e-12));
        assert_true(row->epsilon < epsilon.upper * 1.001);
        assert_true(row->attacker_right >= right.upper);
        assert_true(row->attacker_right < right.upper + 0.001);
    }
    promise.way_count = TREMOLO_EXPLAIN_WAYS + 1;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_BAD_ARGUMENT);
    promise.way_count = 2;
    promise.ways = NULL;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_BAD_ARGUMENT);
}

/* A ballot has one row for all pairs; the words say how often the reply is a wrong one. */
static void words_of_ballots(void **state)
{
    (void)state;
    struct tremolo_explanation words;
    struct tremolo_rank_attack attack;
    struct tremolo_promise promise = {
        .neighbours = TREMOLO_NEIGHBOURS_ANY, .releases = 1, .response_private = true};
    assert_int_equal(tremolo_rank_law_for(&promise.law, 2.0), TREMOLO_OK);
    assert_int_equal(tremolo_rank_attack(&attack, &promise.law), TREMOLO_OK);
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_non_null(strstr(words.reviewer, "Each device sends 1 ballot. A ballot is one of 256"));
    assert_non_null(strstr(words.reviewer, "For any two samples, whatever they are, all ballots of "
                                           "a device together are 2-differentially private with "
                                           "delta = 0; no test"));
    assert_non_null(strstr(words.reviewer, "The response is protected as the features are."));
    assert_non_null(strstr(words.participant, "asked a random question about your answers"));
    assert_non_null(strstr(words.participant, "about 67 times in 100 the reply is one that fits, "
                                              "about 33 times it is a random wrong one"));
    assert_non_null(strstr(words.participant, "guessing between any two candidates, is right"));
    assert_int_equal(words.difference_count, 1);
    assert_string_equal(words.differences[0].name, "any two");
    assert_true(isinf(words.differences[0].distance) && isinf(words.differences[0].mu));
    assert_true(words.differences[0].epsilon == 2.0);
    assert_int_equal(words.strength, TREMOLO_STRENGTH_POLICY);
    assert_int_equal(words.any_two, 0);
    assert_true(words.differences[0].attacker_right >= attack.any.lower);
    assert_true(words.differences[0].attacker_right < attack.any.upper + 0.001);
    promise.releases = promise.samples = 3;
    promise.response_private = false;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_true(words.differences[0].epsilon == 6.0);
    assert_true(words.differences[0].attacker_right > attack.any.upper);
    assert_int_equal(words.strength, TREMOLO_STRENGTH_PAST);
    assert_non_null(strstr(words.reviewer, "sends 3 ballots, of up to 3 samples."));
    assert_non_null(strstr(words.participant, "Your response is sent as it is, without noise."));
    promise.releases = promise.samples = 1000000; /* epsilon 2,000,000 */
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OVERFLOWED);
    promise.releases = promise.samples = 100000; /* an attacker is right nearly always */
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_OK);
    assert_true(words.differences[0].attacker_right == 1.0);
    assert_int_equal(words.strength, TREMOLO_STRENGTH_HARDLY);
    assert_non_null(
        strstr(words.participant, "the chance protects hardly anything. Your response"));
    promise.neighbours = TREMOLO_NEIGHBOURS_DISTANCE;
    assert_int_equal(tremolo_explain(&words, &promise), TREMOLO_BAD_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tradeoff_holds_the_truth),
        cmocka_unit_test(budget_alone_says_less),
        cmocka_unit_test(proportions_are_bounded_exactly),
        cmocka_unit_test(sensitivity_is_a_maximum),
        cmocka_unit_test(information_falls_with_modulation),
        cmocka_unit_test(reconstruction_bounds_are_ordered),
        cmocka_unit_test(what_is_shown_never_promises_more),
        cmocka_unit_test(words_match_the_neighbours),
        cmocka_unit_test(distances_are_told_in_own_units),
        cmocka_unit_test(strength_is_the_policys),
        cmocka_unit_test(words_count_samples_and_rounds),
        cmocka_unit_test(rows_round_up),
        cmocka_unit_test(words_of_ballots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
