/* moments_internal.h -- the inside of struct tremolo_moments, shared by the
 * life of the object (moments.c) and by what adds reports to it (fold.c).
 *
 * Invariants:
 * 1. Only the upper triangle (row <= column) of `product` is kept up to date;
 *    the lower one is copied from it when a caller asks for the sums.
 * 2. No bucket's count exceeds TREMOLO_MAX_FOLD_REPORTS, nor does their sum,
 *    so no 64-bit sum overflows.
 * 3. Between calls the workspace holds nothing but the panel's constant
 *    column, which is 1 throughout.
 *
 * Sums over ballots have no products and no workspace but one row: `sum` holds the parts
 * row, y row and y^2 row, each `stride` long and zero past the entries, then y and y^2;
 * only the first part when the response is private. */
#ifndef TREMOLO_MOMENTS_INTERNAL_H
#define TREMOLO_MOMENTS_INTERNAL_H

#include "moments.h"

struct bucket_sums {
    uint64_t count;
    int64_t *sum;     /* n entries, or parts */
    int64_t *product; /* n * n, see invariant 1; or NULL */
};

/* Of reports that honest noise hardly explains; see moments.c. */
struct moments_tail {
    struct tremolo_tail_limits limits;
    uint64_t beyond[TREMOLO_TAIL_LIMITS];
    uint64_t *high;                             /* n coordinates above limits.value, */
    uint64_t *low;                              /* and n below its negative, in the same memory */
    struct bucket_sums bucket[TREMOLO_BUCKETS]; /* of reports beyond the cut */
    int64_t *storage;
};

struct fold_workspace {
    size_t columns;    /* panel columns, the constant one included */
    size_t stride;     /* int16 values from one column to the next */
    size_t rows_max;   /* rows a panel takes */
    int16_t *panel;    /* 64-byte aligned */
    size_t stage_rows; /* pointers from one stage to the next */
    /* A stage of pointers to rows for each bucket, with room for a stretch of
     * rows beyond a panel's. */
    const int16_t **stages;
};

enum { BALLOT_PARTS_PUBLIC = 3, BALLOT_STEP = 16 };

struct tremolo_moments {
    size_t n;
    int feature_max;
    int response_max;    /* 0: ballots with a private response */
    size_t ballot_parts; /* 0: rows, not ballots */
    size_t stride;       /* of a part, a multiple of BALLOT_STEP */
    int8_t *ballot;      /* a row of so many */
    size_t sums;         /* entries of a bucket's sum */
    size_t products;     /* and of its product */
    bool split_response; /* see fold.c */
    const struct fold_kernel *kernel;
    struct bucket_sums bucket[TREMOLO_BUCKETS];
    int64_t *storage;
    struct moments_tail *tail; /* NULL: not watched */
    struct fold_workspace work;
};

#endif
