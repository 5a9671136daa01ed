/* discrete.c -- delta of the discrete Gaussian.
 *
 * With weights w(k) = exp(-k^2/(2 v)) and a shift s, the loss at k is
 * (s^2 - 2 s k)/(2 v) seen from the unshifted side, decreasing in k. delta is
 * the sum over losses above epsilon of w(k) (1 - exp(epsilon - loss)),
 * divided by the sum of all weights: positive terms only. Both sums run
 * outward from their largest term and stop when a geometric bound on what is
 * left falls below a unit of roundoff. */
#include "tremolo_privacy.h"

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
    double slip = 0.0; /* what rounding a loss can do to its term, summed */
    int64_t count = 0;
    /* From one place beyond the edge, in case rounding misplaced it. */
    for (double k = start + 1.0; count < TERMS_MAX; k -= 1.0, count++) {
        double loss = (0.5 * s * s - s * k) / variance;
        double size = (0.5 * s * s + s * fabs(k)) / variance + epsilon;
        double weight = exp(-0.5 * k * k / variance - anchor);
        sum += weight * fmax(0.0, -expm1(epsilon - loss));
        slip += weight * fmin(1.0, 4.0 * UNIT_ROUNDOFF * size);
        if (k < 0.0 && weight <= 0x1p-60 * sum * -expm1(k / variance)) {
            break;
        }
    }
    if (count == TERMS_MAX) {
        return TREMOLO_NOT_CONVERGED;
    }
    /* Adding up, exponents (at most |anchor| + 42 in size), and the libm. */
    double error = UNIT_ROUNDOFF * ((double)count + 8.0 * (fabs(anchor) + 64.0)) + 8.0 * LIBM_ERROR;
    double total_error = UNIT_ROUNDOFF * 8.0 * (64.0 + 10.0 * sqrt(variance));
    struct scaled scale = {dd_of(anchor), 1.0 / total_weight(variance), error + total_error};
    struct tremolo_certified factor = interval_from_scaled(&scale, 1.0);
    delta->lower = fmax(0.0, sum - slip) * factor.lower * (1.0 - 4.0 * UNIT_ROUNDOFF);
    delta->value = sum * factor.value;
    delta->upper = (sum + slip) * factor.upper * (1.0 + 4.0 * UNIT_ROUNDOFF) + DBL_TRUE_MIN;
    *delta = interval_clamp(*delta, 0.0, 1.0);
    return TREMOLO_OK;
}
