/* rules.c -- calibration by name.
 *
 * exact, zcdp and zcdp-tight see T equal releases as one with mu^2 or rho T
 * times larger. The classical rule knows single releases only, so T of them
 * split epsilon and delta evenly (basic composition). Its proof needs an
 * epsilon of at most 1 per release; above that it may add too little noise
 * (at epsilon 10, delta 1e-5 it does), so it is refused unless forced. */
#include "tremolo_privacy.h"

#include "check.h"
#include "interval.h"

static enum tremolo_conversion conversion_of(enum tremolo_rule rule)
{
    return rule == TREMOLO_RULE_ZCDP_TIGHT ? TREMOLO_CONVERSION_TIGHT : TREMOLO_CONVERSION_PAPER;
}

static bool is_rule(enum tremolo_rule rule)
{
    return rule == TREMOLO_RULE_EXACT || rule == TREMOLO_RULE_ZCDP ||
           rule == TREMOLO_RULE_ZCDP_TIGHT || rule == TREMOLO_RULE_CLASSICAL;
}

/* sensitivity sqrt(releases) / mu, with mu's ends swapped and rounded out. */
static struct tremolo_certified sigma_from_mu(double sensitivity, uint64_t releases,
                                              struct tremolo_certified mu)
{
    double spread = sensitivity * sqrt((double)releases);
    struct tremolo_certified sigma = {
        interval_around(spread / mu.upper, 3.0 * UNIT_ROUNDOFF).lower,
        0.0,
        interval_around(spread / mu.lower, 3.0 * UNIT_ROUNDOFF).upper,
    };
    sigma.value = sigma.upper;
    return sigma;
}

static enum tremolo_status classical_sigma(struct tremolo_certified *sigma, double epsilon,
                                           double delta, double sensitivity, uint64_t releases,
                                           bool force)
{
    double each_epsilon = epsilon / (double)releases;
    double each_delta = delta / (double)releases;
    if (each_epsilon > 1.0 && !force) {
        return TREMOLO_INVALID_CALIBRATION;
    }
    if (each_delta < DBL_MIN) {
        return TREMOLO_OVERFLOWED;
    }
    double value = sensitivity * sqrt(2.0 * log(1.25 / each_delta)) / each_epsilon;
    *sigma = interval_around(value, 12.0 * UNIT_ROUNDOFF);
    sigma->value = sigma->upper;
    return TREMOLO_OK;
}

enum tremolo_status tremolo_rule_sigma(struct tremolo_certified *sigma, enum tremolo_rule rule,
                                       double epsilon, double delta, double sensitivity,
                                       uint64_t releases, bool force)
{
    if (sigma == NULL || !is_rule(rule) || !is_epsilon(epsilon) || !is_delta(delta) ||
        !is_positive(sensitivity) || !is_releases(releases)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct tremolo_certified found;
    enum tremolo_status status = TREMOLO_OK;
    if (rule == TREMOLO_RULE_CLASSICAL) {
        if (epsilon == 0.0) {
            return TREMOLO_UNREACHABLE;
        }
        status = classical_sigma(&found, epsilon, delta, sensitivity, releases, force);
    } else if (rule == TREMOLO_RULE_EXACT) {
        struct tremolo_certified mu;
        status = tremolo_gaussian_mu_for(&mu, epsilon, delta);
        if (status == TREMOLO_OK) {
            found = sigma_from_mu(sensitivity, releases, mu);
        }
    } else {
        struct tremolo_certified rho;
        status = tremolo_zcdp_rho(&rho, conversion_of(rule), epsilon, delta);
        if (status == TREMOLO_OK) {
            struct tremolo_certified mu = {nextafter(sqrt(2.0 * rho.lower), 0.0), 0.0,
                                           nextafter(sqrt(2.0 * rho.upper), INFINITY)};
            found = sigma_from_mu(sensitivity, releases, mu);
        }
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    if (!(found.upper <= DBL_MAX && found.lower > 0.0)) {
        return TREMOLO_OVERFLOWED;
    }
    *sigma = found;
    return TREMOLO_OK;
}

/* Evaluate a zCDP conversion at both ends of rho; both grow with rho. */
static enum tremolo_status
over_rho(struct tremolo_certified *result,
         enum tremolo_status (*convert)(struct tremolo_certified *, enum tremolo_conversion, double,
                                        double),
         enum tremolo_conversion conversion, struct tremolo_certified rho, double other)
{
    struct tremolo_certified low;
    struct tremolo_certified middle;
    struct tremolo_certified high;
    enum tremolo_status status = convert(&low, conversion, rho.lower, other);
    if (status == TREMOLO_OK) {
        status = convert(&middle, conversion, rho.value, other);
    }
    if (status == TREMOLO_OK) {
        status = convert(&high, conversion, rho.upper, other);
    }
    if (status == TREMOLO_OK) {
        *result = (struct tremolo_certified){low.lower, middle.value, high.upper};
    }
    return status;
}

enum tremolo_status tremolo_composed_epsilon(struct tremolo_certified *epsilon,
                                             enum tremolo_rule rule,
                                             const struct tremolo_gaussian *cost, double delta)
{
    if (epsilon == NULL || cost == NULL || !is_rule(rule) || rule == TREMOLO_RULE_CLASSICAL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (rule == TREMOLO_RULE_EXACT) {
        return tremolo_gaussian_epsilon(epsilon, cost, delta);
    }
    return over_rho(epsilon, tremolo_zcdp_epsilon, conversion_of(rule), tremolo_gaussian_rho(cost),
                    delta);
}

enum tremolo_status tremolo_composed_delta(struct tremolo_certified *delta, enum tremolo_rule rule,
                                           const struct tremolo_gaussian *cost, double epsilon)
{
    if (delta == NULL || cost == NULL || !is_rule(rule) || rule == TREMOLO_RULE_CLASSICAL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (rule == TREMOLO_RULE_EXACT) {
        return tremolo_gaussian_delta(delta, cost, epsilon);
    }
    return over_rho(delta, tremolo_zcdp_delta, conversion_of(rule), tremolo_gaussian_rho(cost),
                    epsilon);
}

/* Basic composition: each release has delta/T, and epsilons add up. */
static enum tremolo_status classical_epsilon(struct tremolo_certified *epsilon, double sigma,
                                             double sensitivity, uint64_t releases, double delta,
                                             bool force)
{
    double each_delta = delta / (double)releases;
    if (each_delta < DBL_MIN) {
        return TREMOLO_OVERFLOWED;
    }
    double each = sensitivity * sqrt(2.0 * log(1.25 / each_delta)) / sigma;
    if (each > 1.0 && !force) {
        return TREMOLO_INVALID_CALIBRATION;
    }
    *epsilon = interval_around(each * (double)releases, 12.0 * UNIT_ROUNDOFF);
    return TREMOLO_OK;
}

enum tremolo_status tremolo_rule_epsilon(struct tremolo_certified *epsilon, enum tremolo_rule rule,
                                         double sigma, double sensitivity, uint64_t releases,
                                         double delta, bool force)
{
    struct tremolo_gaussian cost = {0.0, 0.0};
    if (epsilon == NULL || !is_rule(rule) || !is_delta(delta)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = tremolo_gaussian_add(&cost, sensitivity, sigma, releases);
    if (status != TREMOLO_OK) {
        return status;
    }
    return rule == TREMOLO_RULE_CLASSICAL
               ? classical_epsilon(epsilon, sigma, sensitivity, releases, delta, force)
               : tremolo_composed_epsilon(epsilon, rule, &cost, delta);
}

/* The classical rule solved for delta: 1.25 exp(-(epsilon sigma/Delta)^2/2)
 * per release, T times that in all. */
static enum tremolo_status classical_delta(struct tremolo_certified *delta, double sigma,
                                           double sensitivity, uint64_t releases, double epsilon,
                                           bool force)
{
    double each = epsilon / (double)releases;
    if (each > 1.0 && !force) {
        return TREMOLO_INVALID_CALIBRATION;
    }
    struct dd reach = dd_div(dd_mul(dd_div(dd_of(epsilon), dd_of((double)releases)), dd_of(sigma)),
                             dd_of(sensitivity));
    struct dd exponent = dd_scale(dd_mul(reach, reach), -0.5);
    struct scaled number = {exponent, 1.25 * (double)releases,
                            UNIT_ROUNDOFF + 32.0 * DD_ERROR * (1.0 - exponent.hi)};
    *delta = interval_from_scaled(&number, 1.0);
    return TREMOLO_OK;
}

enum tremolo_status tremolo_rule_delta(struct tremolo_certified *delta, enum tremolo_rule rule,
                                       double sigma, double sensitivity, uint64_t releases,
                                       double epsilon, bool force)
{
    struct tremolo_gaussian cost = {0.0, 0.0};
    if (delta == NULL || !is_rule(rule) || !is_epsilon(epsilon)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = tremolo_gaussian_add(&cost, sensitivity, sigma, releases);
    if (status != TREMOLO_OK) {
        return status;
    }
    return rule == TREMOLO_RULE_CLASSICAL
               ? classical_delta(delta, sigma, sensitivity, releases, epsilon, force)
               : tremolo_composed_delta(delta, rule, &cost, epsilon);
}
