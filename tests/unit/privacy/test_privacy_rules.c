/* Rules: the paper's conversion against MPFR and inverted, the order among the rules, and the
 * classical rule's refusal. */
#include "accountant.h"

#include "mpfr_privacy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* epsilon = rho + 2 sqrt(rho ln(1/delta)) and delta = exp(-(epsilon - rho)^2 / (4 rho)). */
static void paper_conversion_holds_the_truth(void **state)
{
    (void)state;
    uint64_t seed = 4;
    mpfr_t truth, rho;
    mpfr_inits2(REFERENCE_BITS, truth, rho, (mpfr_ptr)NULL);
    for (int i = 0; i < 300; i++) {
        double mu = exp(-20.0 + 21.0 * next_uniform(&seed));
        double at = 0.5 * mu * mu;
        double epsilon = at + 2.0 * sqrt(at * 600.0) * pow(next_uniform(&seed), 2.0) + 1e-12 * at;
        double delta = exp(-1.0 - 600.0 * pow(next_uniform(&seed), 2.0));
        struct tremolo_gaussian cost = {0};
        struct tremolo_certified found;
        assert_int_equal(tremolo_gaussian_add(&cost, mu, 1.0, 1), TREMOLO_OK);
        mpfr_set_d(rho, mu, MPFR_RNDN);
        mpfr_sqr(rho, rho, MPFR_RNDN);
        mpfr_div_2ui(rho, rho, 1, MPFR_RNDN);
        assert_int_equal(tremolo_rule_delta(&found, TREMOLO_RULE_ZCDP, &cost, epsilon), TREMOLO_OK);
        mpfr_d_sub(truth, epsilon, rho, MPFR_RNDN);
        mpfr_sqr(truth, truth, MPFR_RNDN);
        mpfr_div(truth, truth, rho, MPFR_RNDN);
        mpfr_div_si(truth, truth, -4, MPFR_RNDN);
        mpfr_exp(truth, truth, MPFR_RNDN);
        assert_true(mpfr_cmp_d(truth, found.lower) >= 0 && mpfr_cmp_d(truth, found.upper) <= 0);
        assert_true(found.upper - found.lower <= 1e-12 * found.upper);
        assert_int_equal(tremolo_rule_epsilon(&found, TREMOLO_RULE_ZCDP, &cost, delta), TREMOLO_OK);
        mpfr_set_d(truth, delta, MPFR_RNDN);
        mpfr_log(truth, truth, MPFR_RNDN);
        mpfr_mul(truth, truth, rho, MPFR_RNDN);
        mpfr_neg(truth, truth, MPFR_RNDN);
        mpfr_sqrt(truth, truth, MPFR_RNDN);
        mpfr_mul_2ui(truth, truth, 1, MPFR_RNDN);
        mpfr_add(truth, truth, rho, MPFR_RNDN);
        assert_true(mpfr_cmp_d(truth, found.lower) >= 0 && mpfr_cmp_d(truth, found.upper) <= 0);
    }
    mpfr_clears(truth, rho, (mpfr_ptr)NULL);
}

static void allowances_keep_the_budget(void **state)
{
    (void)state;
    static const enum tremolo_rule rules[] = {TREMOLO_RULE_EXACT, TREMOLO_RULE_ZCDP};
    uint64_t seed = 5;
    for (int i = 0; i < 300; i++) {
        double epsilon = exp(-6.0 + 9.0 * next_uniform(&seed));
        double delta = exp(-1.0 - 600.0 * pow(next_uniform(&seed), 2.0));
        for (size_t r = 0; r < 2; r++) {
            struct tremolo_certified rho, back;
            struct tremolo_gaussian cost = {0};
            assert_int_equal(tremolo_rule_rho(&rho, rules[r], epsilon, delta), TREMOLO_OK);
            assert_true(rho.value == rho.lower && rho.lower <= rho.upper);
            assert_int_equal(tremolo_gaussian_add(&cost, sqrt(2.0 * rho.lower), 1.0, 1),
                             TREMOLO_OK);
            assert_int_equal(tremolo_rule_delta(&back, rules[r], &cost, epsilon), TREMOLO_OK);
            assert_true(back.upper <= delta * (1.0 + 1e-11)); /* sqrt and its square, twice */
            assert_int_equal(tremolo_rule_epsilon(&back, rules[r], &cost, delta), TREMOLO_OK);
            assert_true(back.lower <= epsilon * (1.0 + 1e-13) &&
                        back.upper >= epsilon * (1.0 - 1e-9));
        }
    }
}

/* Less noise suffices the more is known. */
static void rules_are_ordered(void **state)
{
    (void)state;
    uint64_t seed = 6;
    for (int i = 0; i < 300; i++) {
        double epsilon = exp(-4.0 + 7.0 * next_uniform(&seed));
        double delta = exp(-1.0 - 200.0 * pow(next_uniform(&seed), 2.0));
        uint64_t releases = 1 + (uint64_t)(30.0 * next_uniform(&seed));
        struct tremolo_certified exact, paper;
        assert_int_equal(
            tremolo_rule_sigma(&exact, TREMOLO_RULE_EXACT, epsilon, delta, 1.0, releases),
            TREMOLO_OK);
        assert_int_equal(
            tremolo_rule_sigma(&paper, TREMOLO_RULE_ZCDP, epsilon, delta, 1.0, releases),
            TREMOLO_OK);
        assert_true(exact.lower <= paper.upper);
    }
}

static void classical_is_refused_beyond_its_proof(void **state)
{
    (void)state;
    struct tremolo_certified sigma = {1.0, 2.0, 3.0};
    assert_int_equal(tremolo_rule_sigma(&sigma, TREMOLO_RULE_CLASSICAL, 10.0, 1e-5, 1.0, 1),
                     TREMOLO_INVALID_CALIBRATION);
    assert_true(sigma.value == 2.0);
    struct tremolo_certified needed;
    assert_int_equal(tremolo_rule_sigma(&needed, TREMOLO_RULE_EXACT, 10.0, 1e-5, 1.0, 1),
                     TREMOLO_OK);
    /* The reason for refusing: the formula gives less than is needed. */
    assert_true(sqrt(2.0 * log(1.25 / 1e-5)) / 10.0 < needed.lower);
    /* Ten releases of epsilon 1 each are within the proof. */
    assert_int_equal(tremolo_rule_sigma(&sigma, TREMOLO_RULE_CLASSICAL, 10.0, 1e-5, 1.0, 10),
                     TREMOLO_OK);
    /* It calibrates, and says nothing about noise that is given. */
    struct tremolo_gaussian cost = {0};
    assert_int_equal(tremolo_rule_epsilon(&sigma, TREMOLO_RULE_ZCDP, &cost, 1e-5),
                     TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_gaussian_add(&cost, 1.0, 1.0, 1), TREMOLO_OK);
    assert_int_equal(tremolo_rule_epsilon(&sigma, TREMOLO_RULE_CLASSICAL, &cost, 1e-5),
                     TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_rule_delta(&sigma, TREMOLO_RULE_CLASSICAL, &cost, 1.0),
                     TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_rule_rho(&sigma, TREMOLO_RULE_CLASSICAL, 1.0, 1e-5),
                     TREMOLO_BAD_ARGUMENT);
    assert_int_equal(tremolo_rule_rho(&sigma, TREMOLO_RULE_ZCDP, 0.0, 1e-5), TREMOLO_UNREACHABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paper_conversion_holds_the_truth),
        cmocka_unit_test(allowances_keep_the_budget),
        cmocka_unit_test(rules_are_ordered),
        cmocka_unit_test(classical_is_refused_beyond_its_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
