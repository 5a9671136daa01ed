/* mpfr_privacy.h -- references for the accountant at 300 bits.
 *
 * Each function follows its textbook formula with no cleverness at all; the
 * precision swallows the cancellation (at most 1e30 on the grids used). */
#ifndef TESTS_MPFR_PRIVACY_H
#define TESTS_MPFR_PRIVACY_H

#include <mpfr.h>
#include <stdbool.h>
#include <stdint.h>

#include "tremolo_random.h"

enum { REFERENCE_BITS = 300 };

/* Q(x) = erfc(x / sqrt 2) / 2. */
static inline void reference_tail(mpfr_t q, const mpfr_t x)
{
    mpfr_t root;
    mpfr_init2(root, REFERENCE_BITS);
    mpfr_sqrt_ui(root, 2, MPFR_RNDN);
    mpfr_div(root, x, root, MPFR_RNDN);
    mpfr_erfc(q, root, MPFR_RNDN);
    mpfr_div_2ui(q, q, 1, MPFR_RNDN);
    mpfr_clear(root);
}

/* delta = Q(epsilon/mu - mu/2) - e^epsilon Q(epsilon/mu + mu/2), for negative epsilon too. */
static inline void reference_gaussian_delta_at(mpfr_t delta, const mpfr_t mu, const mpfr_t epsilon)
{
    mpfr_t slope, half, point, tail;
    mpfr_inits2(REFERENCE_BITS, slope, half, point, tail, (mpfr_ptr)NULL);
    mpfr_div(slope, epsilon, mu, MPFR_RNDN);
    mpfr_div_2ui(half, mu, 1, MPFR_RNDN);
    mpfr_sub(point, slope, half, MPFR_RNDN);
    reference_tail(delta, point);
    mpfr_add(point, slope, half, MPFR_RNDN);
    reference_tail(tail, point);
    mpfr_exp(point, epsilon, MPFR_RNDN);
    mpfr_mul(tail, tail, point, MPFR_RNDN);
    mpfr_sub(delta, delta, tail, MPFR_RNDN);
    mpfr_clears(slope, half, point, tail, (mpfr_ptr)NULL);
}

static inline void reference_gaussian_delta(mpfr_t delta, const mpfr_t mu, double epsilon)
{
    mpfr_t exact;
    mpfr_init2(exact, REFERENCE_BITS);
    mpfr_set_d(exact, epsilon, MPFR_RNDN);
    reference_gaussian_delta_at(delta, mu, exact);
    mpfr_clear(exact);
}

/* ln of the tight zCDP bound at order 1 + t. */
static inline void reference_tight_log(mpfr_t g, double rho, double epsilon, const mpfr_t t)
{
    mpfr_t order, product, ratio;
    mpfr_inits2(REFERENCE_BITS, order, product, ratio, (mpfr_ptr)NULL);
    mpfr_add_ui(order, t, 1, MPFR_RNDN);
    mpfr_mul_d(product, order, rho, MPFR_RNDN);
    mpfr_sub_d(product, product, epsilon, MPFR_RNDN);
    mpfr_mul(product, product, t, MPFR_RNDN);
    mpfr_div(ratio, t, order, MPFR_RNDN);
    mpfr_log(ratio, ratio, MPFR_RNDN);
    mpfr_mul(ratio, ratio, order, MPFR_RNDN);
    mpfr_add(product, product, ratio, MPFR_RNDN);
    mpfr_log(ratio, t, MPFR_RNDN);
    mpfr_sub(g, product, ratio, MPFR_RNDN);
    mpfr_clears(order, product, ratio, (mpfr_ptr)NULL);
}

/* The minimum over t by halving on the derivative's sign, 300 times in ln t. */
static inline void reference_tight_delta(mpfr_t delta, double rho, double epsilon)
{
    mpfr_t low, high, middle, t, slope, term;
    mpfr_inits2(REFERENCE_BITS, low, high, middle, t, slope, term, (mpfr_ptr)NULL);
    mpfr_set_si(low, -400, MPFR_RNDN);
    mpfr_set_si(high, 600, MPFR_RNDN);
    for (int i = 0; i < 300; i++) {
        mpfr_add(middle, low, high, MPFR_RNDN);
        mpfr_div_2ui(middle, middle, 1, MPFR_RNDN);
        mpfr_exp(t, middle, MPFR_RNDN);
        mpfr_mul_2ui(slope, t, 1, MPFR_RNDN);
        mpfr_add_ui(slope, slope, 1, MPFR_RNDN);
        mpfr_mul_d(slope, slope, rho, MPFR_RNDN);
        mpfr_sub_d(slope, slope, epsilon, MPFR_RNDN);
        mpfr_ui_div(term, 1, t, MPFR_RNDN);
        mpfr_log1p(term, term, MPFR_RNDN);
        mpfr_sub(slope, slope, term, MPFR_RNDN);
        mpfr_set(mpfr_sgn(slope) < 0 ? low : high, middle, MPFR_RNDN);
    }
    mpfr_exp(t, low, MPFR_RNDN);
    reference_tight_log(delta, rho, epsilon, t);
    mpfr_exp(delta, delta, MPFR_RNDN);
    mpfr_clears(low, high, middle, t, slope, term, (mpfr_ptr)NULL);
}

/* A fixed stream of numbers in [0, 1). */
static inline double next_uniform(uint64_t *state)
{
    struct tremolo_random random = {*state};
    double next = (double)(tremolo_random_bits(&random) >> 11) * 0x1p-53;
    *state = random.state;
    return next;
}

#endif
