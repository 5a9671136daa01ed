/* zcdp.c -- zCDP and its two conversions to (epsilon, delta).
 *
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
#include "tremolo_privacy.h"

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
