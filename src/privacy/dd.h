/* dd.h -- a number as the unevaluated sum of two doubles, about 106 bits.
 *
 * Internal to the accountant. The sums and products below are the classical
 * error-free transformations; every operation's relative error is below
 * DD_ERROR, which leaves room beside the published constants (3u^2 for the
 * sum of like signs, 5u^2 for the product, 15u^2 for the quotient). A
 * difference is accurate relative to its larger operand.
 *
 * The build never contracts or reorders floating point (-ffp-contract=off,
 * no -ffast-math): that is what these rely on. */
#ifndef TREMOLO_PRIVACY_DD_H
#define TREMOLO_PRIVACY_DD_H

#include <float.h>
#include <math.h>

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

#endif
