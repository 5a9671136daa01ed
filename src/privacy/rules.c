/* rules.c -- calibration by name.
 *
 * exact, zcdp and zcdp-tight see T equal releases as one with mu^2 or rho T
 * times larger. The classical rule knows single releases only, so T of them
 * split epsilon and delta evenly (basic composition). Its proof needs an
 * epsilon of at most 1 per release; above that it may add too little noise
 * (at epsilon 10, delta 1e-5 it does), so it is refused unless forced. */
#include "tremolo_privacy.h"

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

static enum tremolo_status classical_sigma(struct tremolo_certified *sigma, double epsilon,
                                           double delta, double sensitivity, uint64_t releases,
                                           bool force)
{
    if (epsilon == 0.0) {
        return TREMOLO_UNREACHABLE;
    }
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
    struct tremolo_certified mu = {0.0, 0.0, 0.0};
    enum tremolo_status status;
    if (rule == TREMOLO_RULE_CLASSICAL) {
        status = classical_sigma(&found, epsilon, delta, sensitivity, releases, force);
    } else if (rule == TREMOLO_RULE_EXACT) {
        status = tremolo_gaussian_mu_for(&mu, epsilon, delta);
    } else {
        status = tremolo_zcdp_rho(&mu, conversion_of(rule), epsilon, delta);
        mu.lower = nextafter(sqrt(2.0 * mu.lower), 0.0);
        mu.upper = nextafter(sqrt(2.0 * mu.upper), INFINITY);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    if (rule != TREMOLO_RULE_CLASSICAL) { /* sensitivity sqrt(releases) / mu, rounded out */
        double spread = sensitivity * sqrt((double)releases);
        found.lower = interval_around(spread / mu.upper, 3.0 * UNIT_ROUNDOFF).lower;
        found.upper = interval_around(spread / mu.lower, 3.0 * UNIT_ROUNDOFF).upper;
    }
    if (!(found.upper <= DBL_MAX && found.lower > 0.0)) {
        return TREMOLO_OVERFLOWED;
    }
    *sigma = (struct tremolo_certified){found.lower, found.upper, found.upper};
    return TREMOLO_OK;
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

/* What can be asked of a rule: epsilon, `given` delta, or delta, given epsilon. */
struct question {
    bool (*is_given)(double given);
    enum tremolo_status (*exact)(struct tremolo_certified *, const struct tremolo_gaussian *,
                                 double given);
    enum tremolo_status (*zcdp)(struct tremolo_certified *, enum tremolo_conversion, double rho,
                                double given);
    enum tremolo_status (*classical)(struct tremolo_certified *, double sigma, double sensitivity,
                                     uint64_t releases, double given, bool force);
};
static const struct question ask_epsilon = {is_delta, tremolo_gaussian_epsilon,
                                            tremolo_zcdp_epsilon, classical_epsilon};
static const struct question ask_delta = {is_epsilon, tremolo_gaussian_delta, tremolo_zcdp_delta,
                                          classical_delta};

static enum tremolo_status ask_composed(struct tremolo_certified *answer,
                                        const struct question *question, enum tremolo_rule rule,
                                        const struct tremolo_gaussian *cost, double given)
{
    if (answer == NULL || cost == NULL || !is_rule(rule) || rule == TREMOLO_RULE_CLASSICAL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (rule == TREMOLO_RULE_EXACT) {
        return question->exact(answer, cost, given);
    }
    /* At both ends of rho: epsilon and delta grow with it. */
    struct tremolo_certified rho = tremolo_gaussian_rho(cost);
    const double at[] = {rho.lower, rho.value, rho.upper};
    struct tremolo_certified found[3];
    for (size_t i = 0; i < 3; i++) {
        enum tremolo_status status = question->zcdp(&found[i], conversion_of(rule), at[i], given);
        if (status != TREMOLO_OK) {
            return status;
        }
    }
    *answer = (struct tremolo_certified){found[0].lower, found[1].value, found[2].upper};
    return TREMOLO_OK;
}

static enum tremolo_status ask_rule(struct tremolo_certified *answer,
                                    const struct question *question, enum tremolo_rule rule,
                                    double sigma, double sensitivity, uint64_t releases,
                                    double given, bool force)
{
    struct tremolo_gaussian cost = {0.0, 0.0};
    if (answer == NULL || !is_rule(rule) || !question->is_given(given)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = tremolo_gaussian_add(&cost, sensitivity, sigma, releases);
    if (status != TREMOLO_OK) {
        return status;
    }
    return rule == TREMOLO_RULE_CLASSICAL
               ? question->classical(answer, sigma, sensitivity, releases, given, force)
               : ask_composed(answer, question, rule, &cost, given);
}

enum tremolo_status tremolo_composed_epsilon(struct tremolo_certified *epsilon,
                                             enum tremolo_rule rule,
                                             const struct tremolo_gaussian *cost, double delta)
{
    return ask_composed(epsilon, &ask_epsilon, rule, cost, delta);
}

enum tremolo_status tremolo_composed_delta(struct tremolo_certified *delta, enum tremolo_rule rule,
                                           const struct tremolo_gaussian *cost, double epsilon)
{
    return ask_composed(delta, &ask_delta, rule, cost, epsilon);
}

enum tremolo_status tremolo_rule_epsilon(struct tremolo_certified *epsilon, enum tremolo_rule rule,
                                         double sigma, double sensitivity, uint64_t releases,
                                         double delta, bool force)
{
    return ask_rule(epsilon, &ask_epsilon, rule, sigma, sensitivity, releases, delta, force);
}

enum tremolo_status tremolo_rule_delta(struct tremolo_certified *delta, enum tremolo_rule rule,
                                       double sigma, double sensitivity, uint64_t releases,
                                       double epsilon, bool force)
{
    return ask_rule(delta, &ask_delta, rule, sigma, sensitivity, releases, epsilon, force);
}
