/* gaussian.c -- Gaussian releases, composed and inverted exactly.
 *
 * With a = epsilon/mu - mu/2, b = a + mu, Q the normal tail, phi the normal density,
 * R = Q/phi (the Mills ratio) and e^epsilon phi(b) = phi(a),
 *
 *     delta = Q(a) - e^epsilon Q(b) = phi(a) (R(a) - R(b)),
 *
 * which is positive term by term. a and its square are carried in two doubles, because
 * exp(-a^2/2) multiplies an error of a by a^2. Where mu > 1 and a < 0 the complement
 * 1 - delta = phi(a) (R(|a|) + R(b)) is the accurate one.
 *
 * The guarantee as error rates: between N(0,1) and N(mu,1) the best test rejects above z
 * with Q(z) the false-positive rate, and misses with probability Phi(z - mu) = Q(mu - z).
 * Any test on a mu-Gaussian-private release does at most as well.
 *
 * The Mills ratio, with error bounds. Everything follows from
 * I_k(a) = integral over t > 0 of t^k exp(-a t - t^2/2).
 * I_0 is the Mills ratio R(a). Integrating by parts, r_k = I_k / I_{k-1} obeys
 *
 *     r_k = k / (a + r_{k+1}),      R = 1 / (a + r_1),
 *
 * and by Cauchy-Schwarz r_k grows with k, which brackets it:
 *
 *     (sqrt(a^2 + 4(k-1)) - a)/2 <= r_k <= (sqrt(a^2 + 4k) - a)/2.
 *
 * For a >= 1 the recurrence runs downward from such a bracket. It only adds
 * and divides positive numbers, and a relative error e of r_{k+1} becomes at
 * most w e exp(e) with w = r_{k+1}/(a + r_{k+1}) < 1; so the bound carried
 * with the value covers truncation and rounding alike and dies out fast.
 *
 * For |a| < 1: R(a) = sqrt(pi/2) exp(a^2/2) - (a + a^3/3 + a^5/15 + ...).
 * Both terms are computed within 10 units of roundoff and are below 2.07 and
 * 1.42, so R is within 32 units in absolute terms.
 *
 * The difference R(a) - R(a + mu), without cancellation:
 *   - a >= 1 and mu <= a/4: the alternating series
 *         mu I_1 - mu^2 I_2/2! + mu^3 I_3/3! - ...
 *     nested as mu R r_1 (1 - (mu r_2/2)(1 - (mu r_3/3)(1 - ...))). Its
 *     factors are below 1/4, and its partial sums bracket the result
 *     because those of 1 - exp(-mu t) do for each t;
 *   - a < 1 and mu <= 1: ten-point Gauss-Legendre on -R'(t) = I_1(t) =
 *     1 - t R(t). The remainder I_21(a) mu^21 (10!)^4/(21 (20!)^3) is below
 *     1e-20, as I_21(-1/2) < 1e11;
 *   - otherwise plainly: R(a + mu) is then at most 0.88 R(a). */
#include "interval.h"

#include <assert.h>
#include <stddef.h>

/* ---- the normal tail */

#define INV_SQRT_2PI 0.39894228040143267794

enum {
    SERIES_TERMS_MAX = 28,   /* 4^-28 is below a unit of roundoff */
    LADDER_STEPS_MAX = 1024, /* 20^2 + 8 + the terms, at a = 1 */
};

/* A positive number with a bound on its relative error. */
struct approx {
    double value;
    double error;
};

/* r_1 .. r_levels with their errors; index 0 holds the Mills ratio. */
struct ladder {
    double ratio[SERIES_TERMS_MAX + 1];
    double error[SERIES_TERMS_MAX + 1];
};

/* A first guess of r_k in the middle of its bracket, for k >= 2. */
static struct approx ladder_start(double a, int k)
{
    double low = 2.0 * (k - 1) / (sqrt(a * a + 4.0 * (k - 1)) + a);
    double high = 2.0 * k / (sqrt(a * a + 4.0 * k) + a);
    return (struct approx){0.5 * (low + high), (high - low) / low + 8.0 * UNIT_ROUNDOFF};
}

static void ladder_descend(struct ladder *ladder, double a, int levels)
{
    assert(a >= 1.0 && levels >= 1 && levels <= SERIES_TERMS_MAX);
    double reach = 20.0 / a;
    int top = levels + 8 + (int)(reach * reach);
    assert(top < LADDER_STEPS_MAX);
    struct approx r = ladder_start(a, top + 1);
    for (int k = top; k >= 0; k--) {
        double inverse = 1.0 / (a + r.value);
        double weight = r.value * inverse;
        r.error = weight * r.error * (1.0 + 2.0 * r.error) + 4.0 * UNIT_ROUNDOFF;
        r.value = (k == 0 ? 1.0 : (double)k) * inverse;
        if (k <= levels) {
            ladder->ratio[k] = r.value;
            ladder->error[k] = r.error;
        }
    }
}

/* R(x) for |x| < 1; absolute error below 32 units of roundoff. */
static double mills_near_zero(double x)
{
    double square = x * x;
    double nested = 1.0;
    /* From 2k+1 = 37 on the terms are below 1/37!! < 1e-21. */
    for (int odd = 37; odd >= 3; odd -= 2) {
        nested = 1.0 + nested * (square / odd);
    }
    return 1.2533141373155002512 * exp(0.5 * square) - x * nested;
}

/* R(x) for x >= 0. */
static struct approx normal_mills(double x)
{
    assert(x >= 0.0);
    if (x < 1.0) {
        double mills = mills_near_zero(x);
        return (struct approx){mills, 32.0 * UNIT_ROUNDOFF / mills};
    }
    struct ladder ladder = {{0.0}, {0.0}};
    ladder_descend(&ladder, x, 1);
    return (struct approx){ladder.ratio[0], ladder.error[0]};
}

/* -R'(t) = I_1(t), positive. */
static struct approx mills_slope(double t)
{
    if (t < 1.0) {
        double slope = 1.0 - t * mills_near_zero(t);
        return (struct approx){slope, (32.0 * fabs(t) + 3.0) * UNIT_ROUNDOFF / slope};
    }
    struct ladder ladder = {{0.0}, {0.0}};
    ladder_descend(&ladder, t, 1);
    return (struct approx){ladder.ratio[0] * ladder.ratio[1],
                           ladder.error[0] + ladder.error[1] + 2.0 * UNIT_ROUNDOFF};
}

static struct approx drop_by_quadrature(double a, double mu)
{
    double half = 0.5 * mu;
    double centre = a + half;
    double sum = 0.0;
    double worst = 0.0;
    for (int i = 0; i < GAUSS_HALF; i++) {
        struct approx left = mills_slope(centre - half * gauss_node[i]);
        struct approx right = mills_slope(centre + half * gauss_node[i]);
        sum += gauss_weight[i] * (left.value + right.value);
        worst = fmax(worst, fmax(left.error, right.error));
    }
    /* Rounding a node moves -R' by at most its relative derivative, below 3
     * on [-1/2, 2], times 4 units; the sum adds 8 roundings of positives. */
    return (struct approx){half * sum, worst + 32.0 * UNIT_ROUNDOFF};
}

static struct approx drop_by_series(double a, double mu)
{
    int terms = 2 + (int)(38.0 / log(a / mu));
    terms = terms < SERIES_TERMS_MAX ? terms : SERIES_TERMS_MAX;
    struct ladder ladder = {{0.0}, {0.0}};
    ladder_descend(&ladder, a, terms);

    /* The tail after the last term is between 0 and 1: start in the middle. */
    struct approx y = {0.5, 1.0};
    for (int k = terms; k >= 2; k--) {
        double q = mu * ladder.ratio[k] / k;
        double product = q * y.value;
        double next = 1.0 - product;
        y.error =
            (product * (y.error + ladder.error[k] + 3.0 * UNIT_ROUNDOFF) + UNIT_ROUNDOFF) / next;
        y.value = next;
    }
    return (struct approx){
        mu * ladder.ratio[0] * ladder.ratio[1] * y.value,
        y.error * (1.0 + 0x1p-10) + ladder.error[0] + ladder.error[1] + 4.0 * UNIT_ROUNDOFF,
    };
}

static struct approx drop_plain(double a, double mu)
{
    struct approx near = normal_mills(a);
    struct approx far = normal_mills(a + mu);
    double drop = near.value - far.value;
    double error = near.value * near.error + far.value * (far.error + UNIT_ROUNDOFF);
    return (struct approx){drop, error / drop + UNIT_ROUNDOFF};
}

/* R(a) - R(a + mu) for a >= 0, mu > 0, without cancellation; also for
 * -mu/2 <= a < 0 as long as mu <= 1. */
static struct approx normal_mills_drop(double a, double mu)
{
    assert(mu > 0.0 && (a >= 0.0 || (mu <= 1.0 && a >= -0.5 * mu - 1e-9)));
    if (a < 1.0 && mu <= 1.0) {
        return drop_by_quadrature(a, mu);
    }
    if (a >= 1.0 && mu <= 0.25 * a) {
        return drop_by_series(a, mu);
    }
    return drop_plain(a, mu);
}

/* Q(x) for x >= 0 as exp(-x^2/2) times a moderate factor. */
static struct scaled tail_scaled(double x)
{
    struct approx mills = normal_mills(x);
    return (struct scaled){
        dd_neg(dd_scale(dd_two_prod(x, x), 0.5)),
        INV_SQRT_2PI * mills.value,
        mills.error + 3.0 * UNIT_ROUNDOFF,
    };
}

/* Q(x), the upper tail, for any finite x. */
static struct tremolo_certified normal_tail(double x)
{
    struct scaled tail = tail_scaled(fabs(x));
    struct tremolo_certified q = interval_from_scaled(&tail);
    return x >= 0.0 ? q : interval_one_minus(q);
}

static struct tremolo_certified log_tail_at(double x, const void *context)
{
    (void)context;
    struct scaled tail = tail_scaled(fabs(x));
    return x >= 0.0 ? interval_log_scaled(&tail)
                    : interval_log_one_minus(interval_from_scaled(&tail));
}

/* The x with Q(x) = probability, for probability in [DBL_MIN, 1). */
static enum tremolo_status normal_tail_inverse(struct tremolo_certified *x, double probability)
{
    if (!(probability >= DBL_MIN && probability < 1.0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (probability > 0.5) {
        /* Only p in (1/2, 1) close to 1 costs accuracy, and 1 - p is exact. */
        struct tremolo_certified mirrored;
        enum tremolo_status status = normal_tail_inverse(&mirrored, 1.0 - probability);
        if (status == TREMOLO_OK) {
            *x = (struct tremolo_certified){-mirrored.upper, -mirrored.value, -mirrored.lower};
        }
        return status;
    }
    struct inversion problem = {log_tail_at, NULL, log(probability), INVERT_DECREASING, false};
    return invert(x, &problem, -0.001, 40.0);
}

/* ---- cost and noise */

static struct dd mu_squared_of(const struct tremolo_gaussian *cost)
{
    return (struct dd){cost->mu_squared, cost->mu_squared_tail};
}

enum tremolo_status tremolo_gaussian_add(struct tremolo_gaussian *cost, double sensitivity,
                                         double sigma, uint64_t releases)
{
    if (cost == NULL || !is_positive(sensitivity) || !is_positive(sigma) ||
        !is_releases(releases)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    double rough = sensitivity / sigma;
    if (!(rough >= TREMOLO_MU_MIN && rough <= TREMOLO_MU_MAX)) {
        return TREMOLO_OVERFLOWED;
    }
    struct dd ratio = dd_div(dd_of(sensitivity), dd_of(sigma));
    struct dd share = dd_mul(dd_mul(ratio, ratio), dd_of((double)releases));
    struct dd sum = dd_add(mu_squared_of(cost), share);
    if (!(sum.hi <= TREMOLO_MU_MAX * TREMOLO_MU_MAX)) {
        return TREMOLO_OVERFLOWED;
    }
    cost->mu_squared = sum.hi;
    cost->mu_squared_tail = sum.lo;
    return TREMOLO_OK;
}

struct tremolo_certified tremolo_gaussian_mu(const struct tremolo_gaussian *cost)
{
    struct dd mu = dd_sqrt(mu_squared_of(cost));
    return mu.hi > 0.0 ? interval_around(mu.hi, 2.0 * UNIT_ROUNDOFF) : interval_exact(0.0);
}

struct tremolo_certified tremolo_gaussian_rho(const struct tremolo_gaussian *cost)
{
    double rho = 0.5 * cost->mu_squared;
    return rho > 0.0 ? interval_around(rho, 2.0 * UNIT_ROUNDOFF) : interval_exact(0.0);
}

/* delta itself, or 1 - delta when that is the accurate one. */
struct half_known {
    struct scaled number;
    bool is_complement;
};

static struct half_known delta_of(struct dd mu_squared, double epsilon)
{
    struct dd mu = dd_sqrt(mu_squared);
    struct dd slope = dd_div(dd_of(epsilon), mu);
    struct dd a = dd_add(slope, dd_neg(dd_scale(mu, 0.5)));
    double size = slope.hi + mu.hi;
    struct half_known result;
    result.is_complement = a.hi < 0.0 && mu.hi > 1.0;
    result.number.exponent = dd_neg(dd_scale(dd_mul(a, a), 0.5));
    struct approx factor;
    if (result.is_complement) {
        struct approx near = normal_mills(-a.hi);
        struct approx far = normal_mills(slope.hi + 0.5 * mu.hi);
        factor.value = near.value + far.value;
        factor.error = fmax(near.error, far.error);
    } else {
        factor = normal_mills_drop(a.hi, mu.hi);
    }
    result.number.factor = INV_SQRT_2PI * factor.value;
    /* 3 roundings here, 8 units for rounding a, b and mu to doubles (the
     * factor's relative derivative in ln a and ln mu is below 4), and what
     * the two doubles of a miss, times a. */
    result.number.error =
        factor.error + 11.0 * UNIT_ROUNDOFF + 16.0 * DD_ERROR * (size * size + 1.0);
    return result;
}

enum tremolo_status tremolo_gaussian_delta(struct tremolo_certified *delta,
                                           const struct tremolo_gaussian *cost, double epsilon)
{
    if (delta == NULL || cost == NULL || !is_epsilon(epsilon)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (cost->mu_squared == 0.0) {
        *delta = interval_exact(0.0);
        return TREMOLO_OK;
    }
    struct half_known known = delta_of(mu_squared_of(cost), epsilon);
    struct tremolo_certified number = interval_from_scaled(&known.number);
    *delta = known.is_complement ? interval_one_minus(number) : number;
    return TREMOLO_OK;
}

static struct tremolo_certified log_delta_of(struct dd mu_squared, double epsilon)
{
    struct half_known known = delta_of(mu_squared, epsilon);
    return known.is_complement ? interval_log_one_minus(interval_from_scaled(&known.number))
                               : interval_log_scaled(&known.number);
}

static struct tremolo_certified log_delta_at_epsilon(double epsilon, const void *context)
{
    const struct dd *mu_squared = context;
    return log_delta_of(*mu_squared, epsilon);
}

static struct tremolo_certified log_delta_at_mu(double mu, const void *context)
{
    const double *epsilon = context;
    return log_delta_of(dd_two_prod(mu, mu), *epsilon);
}

enum tremolo_status tremolo_gaussian_epsilon(struct tremolo_certified *epsilon,
                                             const struct tremolo_gaussian *cost, double delta)
{
    if (epsilon == NULL || cost == NULL || !is_delta(delta)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct tremolo_certified at_zero;
    enum tremolo_status status = tremolo_gaussian_delta(&at_zero, cost, 0.0);
    if (status != TREMOLO_OK) {
        return status;
    }
    if (at_zero.upper <= delta) {
        *epsilon = interval_exact(0.0);
        return TREMOLO_OK;
    }
    /* The Chernoff bound: delta(high) <= exp(-(high - mu^2/2)^2 / (2 mu^2)). */
    struct dd mu_squared = mu_squared_of(cost);
    double mu = sqrt(mu_squared.hi);
    double high =
        (0.5 * mu_squared.hi + mu * sqrt(2.0 * -log(delta)) + mu * 0x1p-20) * (1.0 + 0x1p-20);
    high = fmin(high, TREMOLO_EPSILON_MAX);
    struct inversion problem = {log_delta_at_epsilon, &mu_squared, log(delta), INVERT_DECREASING,
                                true};
    double log_at_zero = problem.f(0.0, &mu_squared).value;
    bool hardly_any = log_at_zero <= problem.target; /* delta(0) within its rounding */
    if (hardly_any) {
        problem.target = nextafter(log_at_zero, -INFINITY);
    }
    struct tremolo_certified found;
    status = invert(&found, &problem, 0.0, high);
    if (status != TREMOLO_OK) {
        return status == TREMOLO_UNREACHABLE ? TREMOLO_OVERFLOWED : status;
    }
    *epsilon = found;
    if (hardly_any) {
        epsilon->lower = 0.0; /* the solution for a smaller delta bounds from above only */
    }
    return TREMOLO_OK;
}

enum tremolo_status tremolo_gaussian_mu_for(struct tremolo_certified *mu, double epsilon,
                                            double delta)
{
    if (mu == NULL || !is_epsilon(epsilon) || !is_delta(delta)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    /* Two safe values to start from: zCDP's, and delta <= mu/sqrt(2 pi). */
    double log_inverse = -log(delta);
    double by_zcdp =
        2.0 * epsilon / (sqrt(2.0 * (log_inverse + epsilon)) + sqrt(2.0 * log_inverse));
    double low = fmax(by_zcdp, 2.5 * delta) * (1.0 - 0x1p-20);
    struct inversion problem = {log_delta_at_mu, &epsilon, log(delta), INVERT_INCREASING, false};
    if (low < TREMOLO_MU_MIN) {
        return TREMOLO_UNREACHABLE;
    }
    double high = low;
    do {
        high *= 1.5;
        if (high > TREMOLO_MU_MAX) {
            return TREMOLO_OVERFLOWED;
        }
    } while (problem.f(high, &epsilon).value < problem.target);
    enum tremolo_status status = invert(mu, &problem, low, high * 1.001);
    if (status == TREMOLO_OK) {
        mu->value = mu->lower;
    }
    return status;
}

/* ---- error rates of a test */

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
