/* gaussian.c -- Gaussian releases, composed and inverted exactly.
 *
 * With a = epsilon/mu - mu/2, b = a + mu and e^epsilon phi(b) = phi(a),
 *
 *     delta = Q(a) - e^epsilon Q(b) = phi(a) (R(a) - R(b)),
 *
 * which is positive term by term (see normal.c for the difference). a and its
 * square are carried in two doubles, because exp(-a^2/2) multiplies an error
 * of a by a^2. Where mu > 1 and a < 0 the complement
 * 1 - delta = phi(a) (R(|a|) + R(b)) is the accurate one. */
#include "tremolo_privacy.h"

#include "normal.h"

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
    result.number.factor = NORMAL_INV_SQRT_2PI * factor.value;
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
    struct tremolo_certified number = interval_from_scaled(&known.number, 1.0);
    *delta = known.is_complement ? interval_one_minus(number) : number;
    return TREMOLO_OK;
}

static struct tremolo_certified log_delta_of(struct dd mu_squared, double epsilon)
{
    struct half_known known = delta_of(mu_squared, epsilon);
    return known.is_complement ? interval_log_one_minus(interval_from_scaled(&known.number, 1.0))
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
