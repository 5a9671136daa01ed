/* rules.c -- calibration by name, and the conversions of zCDP behind it.
 *
 * exact, zcdp and zcdp-tight see T equal releases as one with mu^2 or rho T
 * times larger. The classical rule knows single releases only, so T of them
 * split epsilon and delta evenly (basic composition). Its proof needs an
 * epsilon of at most 1 per release; above that it may add too little noise
 * (at epsilon 10, delta 1e-5 it does), so it is refused unless forced.
 *
 * rho-zCDP is (epsilon, delta)-private by two conversions.
 * Paper: epsilon = rho + 2 sqrt(rho ln(1/delta)), solved for each letter in a
 * form without cancellation.
 *
 * Tight: delta = min over alpha > 1 of exp(g(alpha)) with
 *
 *     g(alpha) = (alpha-1)(alpha rho - epsilon) - ln(alpha-1) + alpha ln(1 - 1/alpha).
 *
 * g is convex (its second derivative is 2 rho + 1/(alpha (alpha-1))), so g at
 * any alpha is an upper bound, and the tangents at the two ends of a bracket
 * of the minimiser give the lower bound. With t = alpha - 1 as the variable
 * nothing cancels near alpha = 1. */
#include "interval.h"

enum { MINIMISER_STEPS_MAX = 300 };

struct zcdp_question {
    double rho;
    double epsilon;
};

/* ---- the paper's conversion */

static struct tremolo_certified paper_delta(double rho, double epsilon)
{
    if (epsilon <= rho) {
        return interval_exact(1.0);
    }
    struct dd gap = dd_two_sum(epsilon, -rho);
    struct dd exponent = dd_div(dd_mul(gap, gap), dd_of(4.0 * rho));
    struct scaled number = {dd_neg(exponent), 1.0, 16.0 * DD_ERROR * (exponent.hi + 1.0)};
    return interval_from_scaled(&number, 1.0);
}

static struct tremolo_certified paper_epsilon(double rho, double delta)
{
    return interval_around(rho + 2.0 * sqrt(rho * -log(delta)), 8.0 * UNIT_ROUNDOFF);
}

static struct tremolo_certified paper_rho(double epsilon, double delta)
{
    double log_inverse = -log(delta);
    double root = epsilon / (sqrt(log_inverse + epsilon) + sqrt(log_inverse));
    return interval_around(root * root, 24.0 * UNIT_ROUNDOFF);
}

/* ---- the tight conversion */

/* g'(1 + t), increasing in t: (2t + 1) rho - epsilon + ln(t/(1+t)). */
static double tight_slope(const struct zcdp_question *question, double t)
{
    return (2.0 * t + 1.0) * question->rho - question->epsilon - log1p(1.0 / t);
}

/* exp(g(1 + t)): the product part in two doubles, the logarithms as
 * (1+t)^-(1+t) t^t / ... = exp(-(1+t) log1p(1/t)) / t. */
static struct scaled tight_at(const struct zcdp_question *question, double t)
{
    struct dd order = dd_two_sum(1.0, t);
    struct dd inner = dd_add(dd_mul(order, dd_of(question->rho)), dd_of(-question->epsilon));
    struct dd product = dd_mul(dd_of(t), inner);
    double size = t * (order.hi * question->rho + question->epsilon);
    double entropy = order.hi * log1p(1.0 / t);
    struct scaled number;
    number.exponent = dd_add(product, dd_of(-entropy));
    number.factor = 1.0 / t;
    /* entropy: log1p, 1/t, order and the product, 7 units of its size. */
    number.error = 8.0 * DD_ERROR * size + 8.0 * UNIT_ROUNDOFF * entropy + 2.0 * UNIT_ROUNDOFF;
    return number;
}

/* Bracket the minimiser by halving in ln t, then by false position. */
static void tight_minimiser(const struct zcdp_question *question, double *low, double *high)
{
    double left = -230.0; /* ln t; further left the bound is 1 anyway */
    double right = 490.0; /* epsilon / (2 rho) is at most 5e205 */
    for (int step = 0; step < MINIMISER_STEPS_MAX; step++) {
        double middle = 0.5 * (left + right);
        if (!(middle > left && middle < right) || right - left < 0x1p-45) {
            break;
        }
        if (tight_slope(question, exp(middle)) < 0.0) {
            left = middle;
        } else {
            right = middle;
        }
    }
    *low = exp(left);
    *high = exp(right);
}

/* How far below g(1+low) the minimum can be: the tangent at the left end.
 * The slope's own rounding error is added in full. */
static double tight_sag(const struct zcdp_question *question, double low, double high)
{
    double size = (2.0 * high + 1.0) * question->rho + question->epsilon + log1p(1.0 / low);
    double slope = tight_slope(question, low);
    double width = slope > 0.0 ? high : (high - low) + 4.0 * UNIT_ROUNDOFF * high;
    /* Rounding may have put the minimiser just outside the bracket; as
     * g'' >= 2 rho, a slope of at most `slip` there costs slip^2/(2 rho). */
    double slip = 16.0 * UNIT_ROUNDOFF * size;
    return (fabs(slope) + slip) * width + slip / question->rho * slip;
}

static struct scaled tight_minimum(const struct zcdp_question *question, double *sag)
{
    double low = 0.0;
    double high = 0.0;
    tight_minimiser(question, &low, &high);
    *sag = tight_sag(question, low, high);
    return tight_at(question, low);
}

static struct tremolo_certified tight_log_delta(const struct zcdp_question *question)
{
    double sag = 0.0;
    struct scaled number = tight_minimum(question, &sag);
    struct tremolo_certified result = interval_log_scaled(&number);
    result.lower -= sag * (1.0 + 0x1p-20);
    /* A probability: the bound never exceeds 1. */
    return interval_clamp(result, -DBL_MAX, 0.0);
}

static struct tremolo_certified tight_delta(const struct zcdp_question *question)
{
    double sag = 0.0;
    struct scaled number = tight_minimum(question, &sag);
    struct tremolo_certified delta = interval_from_scaled(&number, 1.0);
    delta.lower = fmax(0.0, delta.lower * (1.0 - fmin(1.0, sag * (1.0 + 0x1p-20))));
    return delta;
}

static struct tremolo_certified log_delta_at_epsilon(double epsilon, const void *context)
{
    const double *rho = context;
    struct zcdp_question question = {*rho, epsilon};
    return tight_log_delta(&question);
}

static struct tremolo_certified log_delta_at_rho(double rho, const void *context)
{
    const double *epsilon = context;
    struct zcdp_question question = {rho, *epsilon};
    return tight_log_delta(&question);
}

static enum tremolo_status tight_epsilon(struct tremolo_certified *epsilon, double rho,
                                         double delta)
{
    double high = paper_epsilon(rho, delta).upper; /* never below the tight one */
    struct inversion problem = {log_delta_at_epsilon, &rho, log(delta), INVERT_DECREASING, true};
    if (log_delta_at_epsilon(0.0, &rho).upper <= problem.target) {
        *epsilon = interval_exact(0.0);
        return TREMOLO_OK;
    }
    return invert(epsilon, &problem, 0.0, high * (1.0 + 0x1p-20));
}

static enum tremolo_status tight_rho(struct tremolo_certified *rho, double epsilon, double delta)
{
    double low = paper_rho(epsilon, delta).lower;
    /* rho = 0 gives a delta of 0, and delta <= 2.5 sqrt(rho) near there. */
    double start = fmax(low, 0.1 * delta * delta) * (1.0 - 0x1p-20);
    struct inversion problem = {log_delta_at_rho, &epsilon, log(delta), INVERT_INCREASING, false};
    if (start < 1e-200) {
        return TREMOLO_UNREACHABLE;
    }
    double high = start;
    for (int step = 0; log_delta_at_rho(high, &epsilon).value < problem.target; step++) {
        high *= 2.0;
        if (high > TREMOLO_EPSILON_MAX || step > 700) {
            return TREMOLO_UNREACHABLE;
        }
    }
    enum tremolo_status status = invert(rho, &problem, start, high * 1.001);
    if (status == TREMOLO_OK) {
        rho->value = rho->lower;
    }
    return status;
}

/* ---- public */

static bool is_rho(double rho)
{
    return rho >= 1e-200 && rho <= TREMOLO_EPSILON_MAX;
}

enum tremolo_status tremolo_zcdp_delta(struct tremolo_certified *delta,
                                       enum tremolo_conversion conversion, double rho,
                                       double epsilon)
{
    if (delta == NULL || !is_rho(rho) || !is_epsilon(epsilon)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    const struct zcdp_question question = {rho, epsilon};
    *delta =
        conversion == TREMOLO_CONVERSION_PAPER ? paper_delta(rho, epsilon) : tight_delta(&question);
    return TREMOLO_OK;
}

enum tremolo_status tremolo_zcdp_epsilon(struct tremolo_certified *epsilon,
                                         enum tremolo_conversion conversion, double rho,
                                         double delta)
{
    if (epsilon == NULL || !is_rho(rho) || !is_delta(delta)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (conversion == TREMOLO_CONVERSION_PAPER) {
        *epsilon = paper_epsilon(rho, delta);
        return TREMOLO_OK;
    }
    return tight_epsilon(epsilon, rho, delta);
}

enum tremolo_status tremolo_zcdp_rho(struct tremolo_certified *rho,
                                     enum tremolo_conversion conversion, double epsilon,
                                     double delta)
{
    if (rho == NULL || !is_epsilon(epsilon) || !is_delta(delta)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (conversion == TREMOLO_CONVERSION_TIGHT) {
        return tight_rho(rho, epsilon, delta);
    }
    if (epsilon == 0.0) {
        return TREMOLO_UNREACHABLE; /* this conversion never reaches 0 */
    }
    *rho = paper_rho(epsilon, delta);
    rho->value = rho->lower;
    return TREMOLO_OK;
}

/* ---- rules */

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
