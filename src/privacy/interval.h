/* interval.h -- turning a computed number and its error bound into a proved
 * interval, inverting functions that give such, and the ranges that every function
 * accepts. Internal to the accountant.
 *
 * A number of any size is carried as exp(exponent) * factor * (1 + e) with
 * |e| <= error; the exponent has two doubles, so that nothing is lost at
 * exp(-700), where one double would leave an error of 1e-13. */
#ifndef TREMOLO_PRIVACY_INTERVAL_H
#define TREMOLO_PRIVACY_INTERVAL_H

#include <float.h>
#include <math.h>

#include "accountant.h"

/* ---- a number as the unevaluated sum of two doubles, about 106 bits ----
 *
 * The sums and products below are the classical error-free transformations; every operation's
 * relative error is below DD_ERROR, which leaves room above the published constants (3u^2 for
 * the sum of like signs, 5u^2 for the product, 15u^2 for the quotient). A difference is accurate
 * relative to its larger operand.
 *
 * The build never contracts or reorders floating point (-ffp-contract=off,
 * no -ffast-math): that is what these rely on. */

#if FLT_EVAL_METHOD != 0 || FLT_RADIX != 2 || DBL_MANT_DIG != 53
#error "the proofs need plain IEEE doubles (on 32-bit x86: -msse2 -mfpmath=sse)"
#endif
#ifdef __FAST_MATH__
#error "the proofs need IEEE arithmetic as written: no -ffast-math"
#endif

#define UNIT_ROUNDOFF 0x1p-53
#define DD_ERROR      0x1p-100

struct dd {
    double hi;
    double lo;
};

static inline struct dd dd_of(double x)
{
    return (struct dd){x, 0.0};
}

static inline struct dd dd_two_sum(double a, double b)
{
    double sum = a + b;
    double shadow = sum - a;
    return (struct dd){sum, (a - (sum - shadow)) + (b - shadow)};
}

static inline struct dd dd_normalise(double hi, double lo)
{
    double sum = hi + lo;
    return (struct dd){sum, lo - (sum - hi)};
}

static inline struct dd dd_two_prod(double a, double b)
{
    double product = a * b;
    return (struct dd){product, fma(a, b, -product)};
}

static inline struct dd dd_add(struct dd a, struct dd b)
{
    struct dd high = dd_two_sum(a.hi, b.hi);
    struct dd low = dd_two_sum(a.lo, b.lo);
    struct dd sum = dd_normalise(high.hi, high.lo + low.hi);
    return dd_normalise(sum.hi, sum.lo + low.lo);
}

static inline struct dd dd_neg(struct dd a)
{
    return (struct dd){-a.hi, -a.lo};
}

static inline struct dd dd_mul(struct dd a, struct dd b)
{
    struct dd product = dd_two_prod(a.hi, b.hi);
    return dd_normalise(product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi));
}

/* Multiplying by a power of two is exact. */
static inline struct dd dd_scale(struct dd a, double power_of_two)
{
    return (struct dd){a.hi * power_of_two, a.lo * power_of_two};
}

static inline struct dd dd_div(struct dd a, struct dd b)
{
    double first = a.hi / b.hi;
    struct dd rest = dd_add(a, dd_neg(dd_mul(dd_of(first), b)));
    double second = rest.hi / b.hi;
    rest = dd_add(rest, dd_neg(dd_mul(dd_of(second), b)));
    struct dd quotient = dd_normalise(first, second);
    return dd_add(quotient, dd_of(rest.hi / b.hi));
}

/* One Newton step from the rounded root doubles its 53 bits. */
static inline struct dd dd_sqrt(struct dd a)
{
    double root = sqrt(a.hi);
    if (root == 0.0) {
        return dd_of(0.0);
    }
    struct dd rest = dd_add(a, dd_neg(dd_two_prod(root, root)));
    return dd_normalise(root, rest.hi / (2.0 * root));
}

/* ---- intervals ---- */

/* Each comparison is written so that NaN fails it. */
static inline bool is_positive(double x)
{
    return x > 0.0 && x <= DBL_MAX;
}

static inline bool is_epsilon(double epsilon)
{
    return epsilon >= 0.0 && epsilon <= TREMOLO_EPSILON_MAX;
}

static inline bool is_delta(double delta)
{
    return delta >= DBL_MIN && delta < 1.0;
}

static inline bool is_releases(uint64_t releases)
{
    return releases >= 1 && releases <= TREMOLO_RELEASES_MAX;
}

/* We take exp, expm1, log, log1p, sin and cos to be within 2 ulp (4 units
 * of roundoff); the C library documents 1 ulp and tests/unit/privacy/test_privacy_libm.c
 * measures it. */
#define LIBM_ERROR (4.0 * UNIT_ROUNDOFF)

struct scaled {
    struct dd exponent;
    double factor; /* positive */
    double error;  /* relative, of the whole; below 2^-20 */
};

/* [value (1-error), value (1+error)] for value >= 0, rounded outward. */
static inline struct tremolo_certified interval_around(double value, double error)
{
    double slack = fabs(value) * (error * (1.0 + 0x1p-20));
    return (struct tremolo_certified){nextafter(value - slack, -INFINITY), value,
                                      nextafter(value + slack, INFINITY)};
}

static inline struct tremolo_certified interval_exact(double value)
{
    return (struct tremolo_certified){value, value, value};
}

static inline struct tremolo_certified interval_clamp(struct tremolo_certified x, double low,
                                                      double high)
{
    x.lower = fmin(fmax(x.lower, low), high);
    x.value = fmin(fmax(x.value, low), high);
    x.upper = fmin(fmax(x.upper, low), high);
    return x;
}

/* exp(exponent) factor, a probability, as a proved interval in [0, 1]. Below the normal
 * range a double has no relative accuracy and the interval becomes
 * [0, a positive number]. */
static inline struct tremolo_certified interval_from_scaled(const struct scaled *x)
{
    double value = exp(x->exponent.hi) * x->factor;
    value += value * x->exponent.lo;
    if (!(value >= 0x1p-1000)) {
        /* Split the exponential so that no intermediate underflows early. */
        double half = 0.5 * x->exponent.hi;
        value = (exp(half) * x->factor) * exp(half);
        value += value * x->exponent.lo;
    }
    if (value < DBL_MIN) {
        return (struct tremolo_certified){0.0, value,
                                          value * (1.0 + 0x1p-30) + 16.0 * DBL_TRUE_MIN};
    }
    /* Two exponentials, products, and the second order of exponent.lo. */
    double error = x->error + 4.0 * LIBM_ERROR + x->exponent.lo * x->exponent.lo;
    return interval_clamp(interval_around(value, error), 0.0, 1.0);
}

static inline struct tremolo_certified interval_log_scaled(const struct scaled *x)
{
    double log_factor = log(x->factor);
    double value = x->exponent.hi + (x->exponent.lo + log_factor);
    double slack = x->error * (1.0 + 0x1p-10) + fabs(log_factor) * LIBM_ERROR +
                   2.0 * UNIT_ROUNDOFF * (fabs(value) + fabs(log_factor) + 1.0);
    return (struct tremolo_certified){value - slack, value, value + slack};
}

/* 1 - x for a probability x. */
static inline struct tremolo_certified interval_one_minus(struct tremolo_certified x)
{
    struct tremolo_certified rest = {nextafter(1.0 - x.upper, -1.0), 1.0 - x.value,
                                     nextafter(1.0 - x.lower, 2.0)};
    return interval_clamp(rest, 0.0, 1.0);
}

/* ln(1 - x) for a probability x. */
static inline struct tremolo_certified interval_log_one_minus(struct tremolo_certified x)
{
    return (struct tremolo_certified){
        log1p(-x.upper) * (1.0 + LIBM_ERROR) - DBL_MIN,
        log1p(-x.value),
        fmin(log1p(-x.lower) * (1.0 - LIBM_ERROR) + DBL_MIN, 0.0),
    };
}

/* ---- the ten-point Gauss-Legendre rule on [-1, 1] ----
 *
 * For positive integrands with a bounded twentieth derivative. Over an interval of width w
 * the remainder is w^21 (10!)^4 / (21 (20!)^3) f^(20) = 5.7e-31 w^21 f^(20). */
enum { GAUSS_HALF = 5 }; /* nodes come in pairs +-node */

static const double gauss_node[GAUSS_HALF] = {0.97390652851717172008, 0.86506336668898451073,
                                              0.67940956829902440623, 0.4333953941292471908,
                                              0.14887433898163121088};
static const double gauss_weight[GAUSS_HALF] = {0.066671344308688137594, 0.14945134915058059315,
                                                0.219086362515982044, 0.26926671930999635509,
                                                0.29552422471475287017};

/* ---- inversion ---- */

/* Solve f(x) = target for a monotone f that comes with bounds, and prove on which side of the
 * solution each end lies (invert.c). */
enum inversion_direction { INVERT_DECREASING = -1, INVERT_INCREASING = 1 };

struct inversion {
    struct tremolo_certified (*f)(double x, const void *context);
    const void *context;
    double target; /* a logarithm; known to within 4 units of roundoff */
    enum inversion_direction direction;
    bool low_is_safe; /* `low` is below every possible solution, needing no proof */
};

/* The solution between low and high as a proved interval. UNREACHABLE when
 * the target is not between f(low) and f(high); NOT_CONVERGED when bounds
 * are too wide to prove either side. */
enum tremolo_status invert(struct tremolo_certified *x, const struct inversion *problem, double low,
                           double high);

#endif
