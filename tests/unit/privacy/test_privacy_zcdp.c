/* zCDP conversions against MPFR, and the order among the rules. */
#include "accountant.h"

#include "mpfr_privacy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void tight_delta_holds_the_truth(void **state)
{
    (void)state;
    uint64_t seed = 4;
    mpfr_t truth;
    mpfr_init2(truth, REFERENCE_BITS);
    for (int i = 0; i < 300; i++) {
        double rho = exp(-40.0 + 43.0 * next_uniform(&seed));
        double epsilon = rho + 2.0 * sqrt(rho * 600.0) * pow(next_uniform(&seed), 2.0);
        struct tremolo_certified delta;
        assert_int_equal(tremolo_zcdp_delta(&delta, TREMOLO_CONVERSION_TIGHT, rho, epsilon),
                         TREMOLO_OK);
        reference_tight_delta(truth, rho, epsilon);
        assert_true(mpfr_cmp_d(truth, delta.lower) >= 0);
        assert_true(mpfr_cmp_d(truth, delta.upper) <= 0);
        /* The exponent's logarithms have 8 units each; 1e-11 covers orders up
         * to exp(20) where they are largest. */
        assert_true(delta.upper - delta.lower <= 1e-11 * delta.upper);
    }
    mpfr_clear(truth);
}

static void conversions_invert(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int i = 0; i < 300; i++) {
        double epsilon = exp(-6.0 + 9.0 * next_uniform(&seed));
        double delta = exp(-1.0 - 600.0 * pow(next_uniform(&seed), 2.0));
        for (int c = TREMOLO_CONVERSION_PAPER; c <= TREMOLO_CONVERSION_TIGHT; c++) {
            enum tremolo_conversion conversion = (enum tremolo_conversion)c;
            struct tremolo_certified rho;
            struct tremolo_certified back;
            assert_int_equal(tremolo_zcdp_rho(&rho, conversion, epsilon, delta), TREMOLO_OK);
            assert_int_equal(tremolo_zcdp_delta(&back, conversion, rho.lower, epsilon), TREMOLO_OK);
            assert_true(back.upper <= delta * (1.0 + 1e-12)); /* two intervals meet here */
            assert_int_equal(tremolo_zcdp_epsilon(&back, conversion, rho.lower, delta), TREMOLO_OK);
            assert_true(back.lower <= epsilon && back.upper >= epsilon * (1.0 - 1e-9));
        }
    }
}

/* Less noise suffices the more is known: exact <= tight <= paper. */
static void rules_are_ordered(void **state)
{
    (void)state;
    uint64_t seed = 6;
    for (int i = 0; i < 300; i++) {
        double epsilon = exp(-4.0 + 7.0 * next_uniform(&seed));
        double delta = exp(-1.0 - 200.0 * pow(next_uniform(&seed), 2.0));
        uint64_t releases = 1 + (uint64_t)(30.0 * next_uniform(&seed));
        struct tremolo_certified exact, tight, paper;
        assert_int_equal(
            tremolo_rule_sigma(&exact, TREMOLO_RULE_EXACT, epsilon, delta, 1.0, releases, false),
            TREMOLO_OK);
        assert_int_equal(tremolo_rule_sigma(&tight, TREMOLO_RULE_ZCDP_TIGHT, epsilon, delta, 1.0,
                                            releases, false),
                         TREMOLO_OK);
        assert_int_equal(
            tremolo_rule_sigma(&paper, TREMOLO_RULE_ZCDP, epsilon, delta, 1.0, releases, false),
            TREMOLO_OK);
        assert_true(exact.lower <= tight.upper && tight.lower <= paper.upper);
    }
}

static void classical_is_refused_beyond_its_proof(void **state)
{
    (void)state;
    struct tremolo_certified sigma = {1.0, 2.0, 3.0};
    assert_int_equal(tremolo_rule_sigma(&sigma, TREMOLO_RULE_CLASSICAL, 10.0, 1e-5, 1.0, 1, false),
                     TREMOLO_INVALID_CALIBRATION);
    assert_true(sigma.value == 2.0);
    assert_int_equal(tremolo_rule_sigma(&sigma, TREMOLO_RULE_CLASSICAL, 10.0, 1e-5, 1.0, 1, true),
                     TREMOLO_OK);
    struct tremolo_certified needed;
    assert_int_equal(tremolo_rule_sigma(&needed, TREMOLO_RULE_EXACT, 10.0, 1e-5, 1.0, 1, false),
                     TREMOLO_OK);
    assert_true(sigma.upper < needed.lower); /* the reason for refusing */
    /* Ten releases of epsilon 1 each are within the proof. */
    assert_int_equal(tremolo_rule_sigma(&sigma, TREMOLO_RULE_CLASSICAL, 10.0, 1e-5, 1.0, 10, false),
                     TREMOLO_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tight_delta_holds_the_truth),
        cmocka_unit_test(conversions_invert),
        cmocka_unit_test(rules_are_ordered),
        cmocka_unit_test(classical_is_refused_beyond_its_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
