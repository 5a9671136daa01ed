/* tradeoff.c -- the guarantee as error rates of a hypothesis test.
 *
 * Between N(0,1) and N(mu,1) the best test rejects above z with Q(z) the
 * false-positive rate and misses with probability Phi(z - mu) = Q(mu - z).
 * Any test on a mu-Gaussian-private release does at most as well. */
#include "tremolo_privacy.h"

#include "normal.h"

static bool is_probability(double p)
{
    return p >= 0.0 && p <= 1.0;
}

enum tremolo_status tremolo_tradeoff_gaussian(struct tremolo_certified *false_negative, double mu,
                                              double false_positive)
{
    if (false_negative == NULL || !(mu >= 0.0 && mu <= TREMOLO_MU_MAX) ||
        !is_probability(false_positive)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (false_positive < DBL_MIN || false_positive == 1.0) {
        /* Rates below the smallest normal double are no rates. */
        *false_negative = interval_exact(false_positive == 1.0 ? 0.0 : 1.0);
        return TREMOLO_OK;
    }
    struct tremolo_certified z;
    enum tremolo_status status = normal_tail_inverse(&z, false_positive);
    if (status != TREMOLO_OK) {
        return status;
    }
    /* Q(mu - z) grows with z. */
    false_negative->lower = normal_tail(nextafter(mu - z.lower, INFINITY)).lower;
    false_negative->value = normal_tail(mu - z.value).value;
    false_negative->upper = normal_tail(nextafter(mu - z.upper, -INFINITY)).upper;
    return TREMOLO_OK;
}

enum tremolo_status tremolo_tradeoff_budget(struct tremolo_certified *false_negative,
                                            double epsilon, double delta, double false_positive)
{
    if (false_negative == NULL || !is_epsilon(epsilon) || !(delta >= 0.0 && delta < 1.0) ||
        !is_probability(false_positive)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    double grown = exp(epsilon) * false_positive; /* may be infinite: then it loses */
    double steep = 1.0 - delta - grown;
    double flat = exp(-epsilon) * (1.0 - delta - false_positive);
    double slack = 4.0 * UNIT_ROUNDOFF + 2.0 * LIBM_ERROR * fmin(grown, 2.0);
    double best = fmax(0.0, fmax(steep, flat));
    struct tremolo_certified found = {best - slack, best, best + slack};
    *false_negative = interval_clamp(found, 0.0, 1.0);
    return TREMOLO_OK;
}

enum tremolo_status tremolo_attack_accuracy(struct tremolo_certified *accuracy, double mu)
{
    if (accuracy == NULL || !(mu >= 0.0 && mu <= TREMOLO_MU_MAX)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    *accuracy = normal_tail(-0.5 * mu);
    return TREMOLO_OK;
}

enum tremolo_status tremolo_attack_accuracy_budget(struct tremolo_certified *accuracy,
                                                   double epsilon, double delta)
{
    if (accuracy == NULL || !is_epsilon(epsilon) || !(delta >= 0.0 && delta < 1.0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    double shrunk = exp(-epsilon);
    double best = (1.0 + delta * shrunk) / (1.0 + shrunk);
    *accuracy = interval_clamp(interval_around(best, 16.0 * UNIT_ROUNDOFF), 0.5, 1.0);
    return TREMOLO_OK;
}
