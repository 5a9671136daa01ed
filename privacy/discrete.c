/* discrete.c -- delta of the discrete Gaussian.
 *
 * With weights w(k) = exp(-k^2/(2 v)) and a shift s, the loss at k is
 * (s^2 - 2 s k)/(2 v) seen from the unshifted side, decreasing in k. delta is
 * the sum over losses above epsilon of w(k) (1 - exp(epsilon - loss)),
 * divided by the sum of all weights: positive terms only. Both sums run
 * outward from their largest term and stop when a geometric bound on what is
 * left falls below a unit of roundoff. */
#include "tremolo_privacy.h"

#include "check.h"
#include "interval.h"

enum { TERMS_MAX = 40000000 };

/* The sum over all integers of exp(-k^2/(2v)). */
static double total_weight(double variance)
{
    double sum = 0.0;
    for (int64_t k = 1; k < TERMS_MAX; k++) {
        double term = exp(-0.5 * (double)k * (double)k / variance);
        sum += term;
        /* Beyond k terms shrink at least by exp(-k/v) each. */
        if (term <= 0x1p-60 * -expm1(-(double)k / variance)) {
            break;
        }
    }
    return 1.0 + 2.0 * sum;
}

enum tremolo_status tremolo_discrete_gaussian_delta(struct tremolo_certified *delta,
                                                    double variance, uint32_t sensitivity,
                                                    double epsilon)
{
    if (delta == NULL || !(variance >= 1e-2 && variance <= 1e10) || sensitivity < 1 ||
        sensitivity > 1000000 || !is_epsilon(epsilon)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    double s = sensitivity;
    /* loss(k) > epsilon for k < s/2 - epsilon v/s. */
    double edge = 0.5 * s - epsilon * variance / s;
    double start = ceil(edge) - 1.0;
    double peak = fmin(start, 0.0);
    double anchor = -0.5 * peak * peak / variance; /* keeps the sum in range */
    double sum = 0.0;
    int64_t count = 0;
    for (double k = start; count < TERMS_MAX; k -= 1.0, count++) {
        double loss = (0.5 * s * s - s * k) / variance;
        double weight = exp(-0.5 * k * k / variance - anchor);
        sum += weight * -expm1(epsilon - loss);
        if (k < 0.0 && weight <= 0x1p-60 * sum * -expm1(k / variance)) {
            break;
        }
    }
    if (count == TERMS_MAX) {
        return TREMOLO_NOT_CONVERGED;
    }
    /* The loss's rounding moves epsilon - loss, which is at least about
     * s/(2v) away from 0 only on average: bound it by its absolute error. */
    double reach = (fabs(start) * s + s * s) / variance + epsilon;
    double error = 4.0 * UNIT_ROUNDOFF * ((double)count + 8.0 + fabs(anchor)) +
                   8.0 * UNIT_ROUNDOFF * reach * (1.0 + variance / s) + 16.0 * LIBM_ERROR;
    double log_total = log(total_weight(variance));
    struct scaled number = {dd_add(dd_of(anchor), dd_of(-log_total)), sum, error};
    *delta = interval_from_scaled(&number, 1.0);
    return TREMOLO_OK;
}
