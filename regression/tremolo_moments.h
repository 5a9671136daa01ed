/* tremolo_moments.h -- exact sums over reports, the only thing estimation needs.
 *
 * A report is a row of n = d + 1 small integers on the wire grid: the d
 * released feature coordinates, then the response (released with noise when
 * it is private, as it is when it is public). The fold adds up counts, sums
 * and products in 64-bit integers, apart for each of 32 hash buckets, so the
 * result does not depend on order, threads or sharding to the bit.
 *
 * The buckets are what the group jackknife needs; totals are their sum. */
#ifndef TREMOLO_MOMENTS_H
#define TREMOLO_MOMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "tremolo_status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TREMOLO_BUCKETS = 32,
    TREMOLO_MAX_FOLD_COORDINATES = 257, /* 256 features and the response */
};

/* Sums over the reports of one bucket, or of all. `sum` holds n entries,
 * `product` n * n in row-major order, symmetric. Both point into the object
 * that was asked and live as long as it does and is not changed. */
struct tremolo_sums {
    size_t coordinates;
    uint64_t count;
    const int64_t *sum;
    const int64_t *product;
};

#ifdef __cplusplus
}
#endif

#endif
