/* density.h -- what posterior.c and posterior_start.c share: sums in a fixed order, and the
 * parameters of moments, given those of ballots.
 *
 * All parameters are standard normal a priori, except those of means. See
 * posterior.c for what they mean. */
#ifndef REGRESSION_DENSITY_H
#define REGRESSION_DENSITY_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evidence.h"

/* ---------------------------------------------------------------- arithmetic
 *
 * Four numbers side by side. What they compute is inlined where wide registers are allowed and
 * where not; nothing is contracted or reordered, so the bits are the same. */

enum { LANES = 4, TILE = 4 * LANES };

typedef double four __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));
#define INLINE static inline __attribute__((always_inline))

/* A function that INLINE ones make use of wide registers in, to be called where HAS_WIDE. */
#if defined(__x86_64__)
#define WIDE     __attribute__((target("avx2"))) static
#define HAS_WIDE __builtin_cpu_supports("avx2")
#else
#define WIDE     static
#define HAS_WIDE false
#endif

/* Define `name` as `any`, which is INLINE, with wide registers where the processor has them. */
#define WIDENED(linkage, name, any, parameters, arguments)                                         \
    WIDE void name##_wide parameters                                                               \
    {                                                                                              \
        any arguments;                                                                             \
    }                                                                                              \
    linkage name parameters                                                                        \
    {                                                                                              \
        if (HAS_WIDE) {                                                                            \
            name##_wide arguments;                                                                 \
        } else {                                                                                   \
            any arguments;                                                                         \
        }                                                                                          \
    }

INLINE double dot(const double *a, const double *b, size_t n)
{
    four sum = {0.0, 0.0, 0.0, 0.0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        sum += *(const four *)(a + i) * *(const four *)(b + i);
    }
    for (; i < n; i++) {
        sum[0] += a[i] * b[i];
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* y <- y + a x */
INLINE void add(double *y, double a, const double *x, size_t n)
{
    size_t k = 0;
    for (; k + LANES <= n; k += LANES) {
        *(four *)(y + k) += a * *(const four *)(x + k);
    }
    for (; k < n; k++) {
        y[k] += a * x[k];
    }
}

/* y <- a x */
INLINE void scale(double *y, double a, const double *x, size_t n)
{
    size_t k = 0;
    for (; k + LANES <= n; k += LANES) {
        *(four *)(y + k) = a * *(const four *)(x + k);
    }
    for (; k < n; k++) {
        y[k] = a * x[k];
    }
}

/* y <- y + a u v, entry by entry */
INLINE void add_products(double *y, double a, const double *u, const double *v, size_t n)
{
    size_t k = 0;
    for (; k + LANES <= n; k += LANES) {
        *(four *)(y + k) += a * *(const four *)(u + k) * *(const four *)(v + k);
    }
    for (; k < n; k++) {
        y[k] += a * u[k] * v[k];
    }
}

/* A matrix with entry (i, k) at at[i * down + k * along]. */
struct view {
    const double *at;
    size_t down;
    size_t along;
};

/* Two rows from `i` on and four registers of columns from `j` on of the product A B; one row only
 * where `last`. Every sum runs over k as it is. */
INLINE void tile(double *product, struct view A, const double *B, size_t stride, size_t count,
                 size_t i, size_t j, bool last)
{
    const double *left = A.at + i * A.down;
    const size_t below = last ? 0 : A.down;
    four a0 = {0}, a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    for (size_t k = 0; k < count; k++) {
        const four *right = (const four *)(B + k * stride + j);
        double a = left[k * A.along];
        double b = left[k * A.along + below];
        a0 += a * right[0];
        a1 += a * right[1];
        a2 += a * right[2];
        a3 += a * right[3];
        b0 += b * right[0];
        b1 += b * right[1];
        b2 += b * right[2];
        b3 += b * right[3];
    }
    four *to = (four *)(product + i * stride + j);
    to[0] = a0, to[1] = a1, to[2] = a2, to[3] = a3;
    to = (four *)(product + (i + !last) * stride + j);
    to[0] = b0, to[1] = b1, to[2] = b2, to[3] = b3;
}

/* product <- A B, `size` rows of `stride` columns, a multiple of TILE. */
INLINE void multiply(double *product, struct view A, const double *B, size_t stride, size_t count,
                     size_t size)
{
    for (size_t j = 0; j < stride; j += TILE) {
        for (size_t i = 0; i < size; i += 2) {
            tile(product, A, B, stride, count, i, j, i + 1 == size);
        }
    }
}

/* exp to 1e-14 relative, without the C library, because its last bits differ from one machine to
 * the next; 0 for NaN. */
INLINE double exponential(double x)
{
    if (!(x > -700.0 && x < 700.0)) {
        return x >= 700.0 ? INFINITY : 0.0;
    }
    int whole = (int)(x * 1.4426950408889634 + (x < 0.0 ? -0.5 : 0.5));
    double y = (x - whole * 0.693147180559945309) / 16.0;
    double sum = 1.0 / 362880;
    sum = sum * y + 1.0 / 40320;
    sum = sum * y + 1.0 / 5040;
    sum = sum * y + 1.0 / 720;
    sum = sum * y + 1.0 / 120;
    sum = sum * y + 1.0 / 24;
    sum = sum * y + 1.0 / 6;
    sum = sum * y + 0.5;
    sum = sum * y + 1.0;
    sum = sum * y + 1.0;
    sum *= sum;
    sum *= sum;
    sum *= sum;
    sum *= sum;
    union {
        uint64_t bits;
        double value;
    } power = {.bits = (uint64_t)(whole + 1023) << 52};
    return sum * power.value;
}

static inline double logarithm(double value)
{
    int power;
    double rest = frexp(value, &power);
    double x = 0.0;
    for (int k = 0; k < 6; k++) {
        x += rest * exponential(-x) - 1.0;
    }
    return x + power * 0.693147180559945309;
}

/* ---------------------------------------------------------------- the density */

/* Few fleets can show more factors apart, and one column is the mean. */
enum { DENSITY_FACTORS_MAX = 15 };

/* What is expected of moments before any ballot: x lies within -1..1 for about nine of ten
 * devices, and w within -g..g. */
#define VARIANCE_CENTRE (-1.0498221244986778) /* log 0.35: a normal one's is 0.37 */
#define SCALE_CENTRE    0.59160797830996161   /* its root */
#define VARIANCE_SPREAD 1.0
#define PUBLIC_SPREAD   0.3 /* of the log variance of a public response about its own */
#define SHARE_CENTRE    0.0 /* logit of the part of a feature's variance that is common */
#define SHARE_SPREAD    2.0
#define PART_SPREAD     2.0    /* of the logits of what each factor has of that */
#define SHARES_END      6.0    /* of the parameters of shares: beyond it slopes have no size */
#define WSHARE_CENTRE   (-4.0) /* logit of the part of w that the features explain */
#define WSHARE_SPREAD   4.0
#define MEAN_SPREAD     0.6 /* of means, which are */
#define NEAR_SHARE      0.5 /* with this probability */
#define NEAR_SPREAD     0.2 /* the spread is smaller by this factor */

/* Where each kind of parameter begins. */
struct density_layout {
    size_t A;     /* d * q: loadings of the features on the common factors */
    size_t b;     /* d: slopes */
    size_t t;     /* r: log variances */
    size_t z;     /* r: means */
    size_t share; /* 2: logits of the common part of a feature, the explained part of w */
    size_t part;  /* q: logits of what each factor has of the common part */
    size_t count;
};

/* 1/variance of the entries of M, by block. */
struct density_weight {
    double corner, mean, square, product;
    double mean_w, product_w, square_w;
};

struct density {
    const struct tremolo_ballot *ballots;
    struct density_weight weight;
    struct density_layout at;
    double w_centre; /* of the log variance of w */
    double w_spread;
    double w_mean_sd;
    size_t n;
    size_t d;
    size_t r; /* d + 1: coordinates of (x, w) */
    size_t q; /* common factors */
    size_t g; /* columns of G: factors, means, and zeros up to whole registers */
    double *memory;
    double *O;    /* d * d: the features' part of the M that ballots gave */
    double OO;    /* the sum of its squares */
    double *G;    /* d * g: loadings, and the mean in column q */
    double *OG;   /* d * g */
    double *C;    /* g * g: G'G */
    double *HG;   /* d * g: gradient by T of features times G */
    double *part; /* q: of the variance of a standardised feature */
    double *root; /* q: of the common share of it */
    double *mean; /* r */
    double *scale;
    double *own;     /* d: variances */
    double *square;  /* d: T_ii, T = M / mass */
    double *slope;   /* d */
    double *joint;   /* d: T_iw */
    double *pull;    /* d: dE/dT_iw */
    double *tied[2]; /* q each: sums of loadings by slopes and by pulls */
    double *seen;    /* q * d: directions of the factors that stand out of the noise */
    size_t factors;  /* so many, by density_start() */
    double explained;
    double common;
    double residual;   /* variance of w */
    double w_variance; /* all of it */
    double mass;
};

/* Prior standard deviation of the mean of a coordinate. */
static inline double mean_sd(const struct density *density, size_t i)
{
    return i == density->d ? density->w_mean_sd : MEAN_SPREAD;
}

/* OG <- O G, O being the features' part of the M that ballots gave. */
INLINE void multiply_by_O(struct density *density)
{
    size_t d = density->d;
    multiply(density->OG, (struct view){density->O, d, 1}, density->G, density->g, d, d);
}

/* A position where the noisy M lies (posterior_start.c). G is used to work in, and zero after;
 * `seen` and `factors` get the factors that stand out. */
void density_start(double *position, struct density *density);

/* The common part of a feature or the explained part of w, from its parameter. */
static inline double share(double logit, bool response)
{
    logit = response ? WSHARE_CENTRE + WSHARE_SPREAD * logit : SHARE_CENTRE + SHARE_SPREAD * logit;
    return 1.0 / (1.0 + exponential(-logit));
}

#endif
