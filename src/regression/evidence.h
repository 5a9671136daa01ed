/* evidence.h -- what struct tremolo_debiased holds; for this room's files only.
 *
 * Joint rows u = (undone features, response) have n = d + 1 coordinates in
 * scaled units: wire integers divided by their scale and by keep. Bucket b holds
 * the sums of u and u u' as they come, noise included. `bias` is the known part
 * of E u u' that is noise: what debiasing subtracts per report.
 *
 * For pooled rounds `bias` is the level a single release would need to be as
 * noisy as the pool, and the sums are lifted to match, so that everything
 * downstream can treat a pool as one release. */
#ifndef TREMOLO_EVIDENCE_H
#define TREMOLO_EVIDENCE_H

#include "tremolo_regression.h"

struct bucket {
    double count;
    double *sum;     /* n */
    double *product; /* n * n */
};

struct tremolo_debiased {
    size_t d;
    size_t n;
    double devices;
    double noise; /* per feature coordinate, scaled units^2 */
    bool response_private;
    double largest; /* second moment of a coordinate that bounds allow; 0 unknown */
    double *memory;
    double *bias; /* n * n */
    struct bucket bucket[TREMOLO_BUCKETS];
    struct bucket all; /* their sum */
};

/* Raw joint moment (noise included) of all buckets but `skip` (TREMOLO_BUCKETS or
 * more skips none): about zero, divided by K, or centred, divided by
 * K - 1. `mean` (n, may be NULL) gets the means. Returns K. */
double evidence_raw(double *raw, double *mean, const struct tremolo_debiased *evidence,
                    bool centred, size_t skip);

#endif
