/* normal.c -- the normal tail and its Mills ratio with error bounds.
 *
 * Everything rests on I_k(a) = integral over t > 0 of t^k exp(-a t - t^2/2).
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
 * beside the value covers truncation and rounding alike and dies out fast.
 *
 * For |a| < 1: R(a) = sqrt(pi/2) exp(a^2/2) - (a + a^3/3 + a^5/15 + ...).
 * Both terms are computed within 10 units of roundoff and are below 2.07 and
 * 1.42, so R is within 32 units in absolute terms.
 *
 * A delta is phi(a) (R(a) - R(a + mu)). To take that difference without
 * cancellation:
 *   - a >= 1 and mu <= a/4: the alternating series
 *         mu I_1 - mu^2 I_2/2! + mu^3 I_3/3! - ...
 *     nested as mu R r_1 (1 - (mu r_2/2)(1 - (mu r_3/3)(1 - ...))), whose
 *     factors are below 1/4, and whose partial sums bracket the result
 *     because those of 1 - exp(-mu t) do for each t;
 *   - a < 1 and mu <= 1: ten-point Gauss-Legendre on -R'(t) = I_1(t) =
 *     1 - t R(t). The remainder I_21(a) mu^21 (10!)^4/(21 (20!)^3) is below
 *     1e-20, as I_21(-1/2) < 1e11;
 *   - otherwise plainly: R(a + mu) is then at most 0.88 R(a). */
#include "normal.h"

#include "quadrature.h"

#include <assert.h>
#include <stddef.h>

enum {
    SERIES_TERMS_MAX = 28,   /* 4^-28 is below a unit of roundoff */
    LADDER_STEPS_MAX = 1024, /* 20^2 + 8 + the terms, at a = 1 */
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

struct approx normal_mills(double x)
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

struct approx normal_mills_drop(double a, double mu)
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
        NORMAL_INV_SQRT_2PI * mills.value,
        mills.error + 3.0 * UNIT_ROUNDOFF,
    };
}

struct tremolo_certified normal_tail(double x)
{
    struct scaled tail = tail_scaled(fabs(x));
    struct tremolo_certified q = interval_from_scaled(&tail, 1.0);
    return x >= 0.0 ? q : interval_one_minus(q);
}

static struct tremolo_certified log_tail_at(double x, const void *context)
{
    (void)context;
    struct scaled tail = tail_scaled(fabs(x));
    return x >= 0.0 ? interval_log_scaled(&tail)
                    : interval_log_one_minus(interval_from_scaled(&tail, 1.0));
}

enum tremolo_status normal_tail_inverse(struct tremolo_certified *x, double probability)
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
