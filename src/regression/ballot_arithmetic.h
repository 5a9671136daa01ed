/* ballot_arithmetic.h -- sums of products in a fixed order; for this module only.
 *
 * Four numbers side by side. What they compute is inlined where wide registers are allowed and
 * where not; nothing is contracted or reordered, so the bits are the same. */
#ifndef TREMOLO_BALLOT_ARITHMETIC_H
#define TREMOLO_BALLOT_ARITHMETIC_H

#include <stdbool.h>
#include <stddef.h>

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

/* A matrix whose entry (i, k) is at[i * down + k * along]. */
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

#endif
