/* rules.c -- calibration by name, and what releases cost by each rule.
 *
 * exact and zcdp see T equal releases as one with mu^2 or rho T times larger. exact asks the
 * Gaussian curve itself. zcdp is the paper's way: rho = mu^2/2 and the conversion
 *
 *     epsilon = rho + 2 sqrt(rho ln(1/delta)),
 *
 * which is solved for each letter in a form without cancellation.
 *
 * The classical rule, sigma = sensitivity sqrt(2 ln(1.25/delta)) / epsilon, knows single releases
 * only, so T of them split epsilon and delta evenly (basic composition). Its proof needs an epsilon
 * of at most 1 per release; above that it may add too little noise (at epsilon 10, delta 1e-5 it
 * asks for 0.484 where 0.4999 is needed), so it is refused. */
#include "interval.h"

/* ---- the paper's conversion */

static struct tremolo_certified zcdp_delta(double rho, double epsilon)
{
    if (epsilon <= rho) {
        return interval_exact(1.0);
    }
    struct dd gap = dd_two_sum(epsilon, -rho);
    struct dd exponent = dd_div(dd_mul(gap, gap), dd_of(4.0 * rho));
    struct scaled number = {dd_neg(exponent), 1.0, 16.0 * DD_ERROR * (exponent.hi + 1.0)};
    return interval_from_scaled(&number);
}

static struct tremolo_certified zcdp_epsilon(double rho, double delta)
{
    return interval_around(rho + 2.0 * sqrt(rho * -log(delta)), 8.0 * UNIT_ROUNDOFF);
}

static struct tremolo_certified zcdp_rho(double epsilon, double delta)
{
    double log_inverse = -log(delta);
    double root = epsilon / (sqrt(log_inverse + epsilon) + sqrt(log_inverse));
    return interval_around(root * root, 24.0 * UNIT_ROUNDOFF);
}

/* ---- what releases cost */

enum tremolo_status tremolo_rule_epsilon(struct tremolo_certified *epsilon, enum tremolo_rule rule,
                                         const struct tremolo_gaussian *cost, double delta)
{
    if (rule == TREMOLO_RULE_EXACT) {
        return tremolo_gaussian_epsilon(epsilon, cost, delta);
    }
    if (epsilon == NULL || cost == NULL || rule != TREMOLO_RULE_ZCDP || !is_delta(delta) ||
        !(cost->mu_squared > 0.0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    /* At both ends of rho, with which epsilon grows. */
    struct tremolo_certified rho = tremolo_gaussian_rho(cost);
    *epsilon = (struct tremolo_certified){zcdp_epsilon(rho.lower, delta).lower,
                                          zcdp_epsilon(rho.value, delta).value,
                                          zcdp_epsilon(rho.upper, delta).upper};
    return TREMOLO_OK;
}

enum tremolo_status tremolo_rule_delta(struct tremolo_certified *delta, enum tremolo_rule rule,
                                       const struct tremolo_gaussian *cost, double epsilon)
{
    if (rule == TREMOLO_RULE_EXACT) {
        return tremolo_gaussian_delta(delta, cost, epsilon);
    }
    if (delta == NULL || cost == NULL || rule != TREMOLO_RULE_ZCDP || !is_epsilon(epsilon) ||
        !(cost->mu_squared > 0.0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct tremolo_certified rho = tremolo_gaussian_rho(cost);
    *delta = (struct tremolo_certified){zcdp_delta(rho.lower, epsilon).lower,
                                        zcdp_delta(rho.value, epsilon).value,
                                        zcdp_delta(rho.upper, epsilon).upper};
    return TREMOLO_OK;
}

/* ---- calibration */

enum tremolo_status tremolo_rule_rho(struct tremolo_certified *rho, enum tremolo_rule rule,
                                     double epsilon, double delta)
{
    struct tremolo_certified mu = {0.0, 0.0, 0.0};
    if (rho == NULL || !is_epsilon(epsilon) || !is_delta(delta) ||
        (rule != TREMOLO_RULE_EXACT && rule != TREMOLO_RULE_ZCDP)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (rule == TREMOLO_RULE_EXACT) {
        enum tremolo_status status = tremolo_gaussian_mu_for(&mu, epsilon, delta);
        if (status == TREMOLO_OK) {
            rho->lower = nextafter(0.5 * mu.lower * mu.lower, 0.0);
            rho->upper = nextafter(0.5 * mu.upper * mu.upper, INFINITY);
            rho->value = rho->lower;
        }
        return status;
    }
    if (epsilon == 0.0) {
        return TREMOLO_UNREACHABLE; /* this conversion never reaches 0 */
    }
    *rho = zcdp_rho(epsilon, delta);
    rho->value = rho->lower;
    return TREMOLO_OK;
}

static enum tremolo_status classical_sigma(struct tremolo_certified *sigma, double epsilon,
                                           double delta, double sensitivity, uint64_t releases)
{
    if (epsilon == 0.0) {
        return TREMOLO_UNREACHABLE;
    }
    double each_epsilon = epsilon / (double)releases;
    double each_delta = delta / (double)releases;
    if (each_epsilon > 1.0) {
        return TREMOLO_INVALID_CALIBRATION;
    }
    if (each_delta < DBL_MIN) {
        return TREMOLO_OVERFLOWED;
    }
    double value = sensitivity * sqrt(2.0 * log(1.25 / each_delta)) / each_epsilon;
    *sigma = interval_around(value, 12.0 * UNIT_ROUNDOFF);
    return TREMOLO_OK;
}

/* spread / mu with the largest mu that the budget allows, rounded outward. */
static enum tremolo_status composed_sigma(struct tremolo_certified *sigma, enum tremolo_rule rule,
                                          double epsilon, double delta, double spread)
{
    struct tremolo_certified mu = {0.0, 0.0, 0.0};
    enum tremolo_status status;
    if (rule == TREMOLO_RULE_EXACT) {
        status = tremolo_gaussian_mu_for(&mu, epsilon, delta);
    } else {
        status = tremolo_rule_rho(&mu, rule, epsilon, delta);
        mu.lower = nextafter(sqrt(2.0 * mu.lower), 0.0);
        mu.upper = nextafter(sqrt(2.0 * mu.upper), INFINITY);
    }
    if (status == TREMOLO_OK) {
        sigma->lower = interval_around(spread / mu.upper, 3.0 * UNIT_ROUNDOFF).lower;
        sigma->upper = interval_around(spread / mu.lower, 3.0 * UNIT_ROUNDOFF).upper;
    }
    return status;
}

enum tremolo_status tremolo_rule_sigma(struct tremolo_certified *sigma, enum tremolo_rule rule,
                                       double epsilon, double delta, double sensitivity,
                                       uint64_t releases)
{
    if (sigma == NULL || !is_epsilon(epsilon) || !is_delta(delta) || !is_positive(sensitivity) ||
        !is_releases(releases)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct tremolo_certified found = {0.0, 0.0, 0.0};
    enum tremolo_status status =
        rule == TREMOLO_RULE_CLASSICAL
            ? classical_sigma(&found, epsilon, delta, sensitivity, releases)
            : composed_sigma(&found, rule, epsilon, delta, sensitivity * sqrt((double)releases));
    if (status == TREMOLO_OK && !(found.upper <= DBL_MAX && found.lower > 0.0)) {
        status = TREMOLO_OVERFLOWED;
    }
    if (status == TREMOLO_OK) {
        *sigma = (struct tremolo_certified){found.lower, found.upper, found.upper};
    }
    return status;
}
