/* mpfr_privacy.h -- references for the accountant at 300 bits.
 *
 * Each function follows its textbook formula with no cleverness at all; the
 * precision swallows the cancellation (at most 1e30 on the grids used). */
#ifndef TESTS_MPFR_PRIVACY_H
#define TESTS_MPFR_PRIVACY_H

#include <mpfr.h>
#include <stdbool.h>
#include <stdint.h>

#include "regression.h"

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

/* A fixed stream of numbers in [0, 1). */
static inline double next_uniform(uint64_t *state)
{
    struct tremolo_random random = {*state};
    double next = (double)(tremolo_random_bits(&random) >> 11) * 0x1p-53;
    *state = random.state;
    return next;
}

#endif
