/* The accountant takes the C library's functions to be within 2 ulp. This
 * measures it where the accountant uses them, against MPFR. */
#include "mpfr_privacy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

typedef int reference_function(mpfr_t, const mpfr_t, mpfr_rnd_t);

/* The largest error in ulp over 20,000 points of [low, high]. */
static double worst_ulps(double (*f)(double), reference_function *reference, double low,
                         double high)
{
    uint64_t seed = 7;
    double worst = 0.0;
    mpfr_t x, truth;
    mpfr_inits2(REFERENCE_BITS, x, truth, (mpfr_ptr)NULL);
    for (int i = 0; i < 20000; i++) {
        double at = low + (high - low) * next_uniform(&seed);
        double value = f(at);
        mpfr_set_d(x, at, MPFR_RNDN);
        (void)reference(truth, x, MPFR_RNDN);
        mpfr_sub_d(truth, truth, value, MPFR_RNDN);
        double ulp = nextafter(fabs(value), INFINITY) - fabs(value);
        worst = fmax(worst, fabs(mpfr_get_d(truth, MPFR_RNDN)) / ulp);
    }
    mpfr_clears(x, truth, (mpfr_ptr)NULL);
    return worst;
}

static void within_two_ulp(void **state)
{
    (void)state;
    assert_true(worst_ulps(exp, mpfr_exp, -700.0, 700.0) <= 2.0);
    assert_true(worst_ulps(exp, mpfr_exp, -1.0, 1.0) <= 2.0);
    assert_true(worst_ulps(expm1, mpfr_expm1, -40.0, 1.0) <= 2.0);
    assert_true(worst_ulps(expm1, mpfr_expm1, -1e-6, 1e-6) <= 2.0);
    assert_true(worst_ulps(log, mpfr_log, 1e-300, 1.0) <= 2.0);
    assert_true(worst_ulps(log, mpfr_log, 0.5, 1.5) <= 2.0);
    assert_true(worst_ulps(log1p, mpfr_log1p, -0.9, 10.0) <= 2.0);
    assert_true(worst_ulps(log1p, mpfr_log1p, 0.0, 1e-9) <= 2.0);
    assert_true(worst_ulps(sin, mpfr_sin, 0.0, 1.6) <= 2.0);
    assert_true(worst_ulps(cos, mpfr_cos, 0.0, 3.2) <= 2.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(within_two_ulp)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
