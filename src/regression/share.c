/* share.c -- how well the reports know the share of variance that a prediction explains. */
#include "evidence.h"

#include <math.h>
#include <stdlib.h>

#include "linear.h"

/* (2 b'Z - b'S b) / yy of the reports of all buckets but `skip`. */
static double share_without(double *raw, const struct tremolo_debiased *evidence,
                            const double *beta, bool centred, size_t skip)
{
    size_t d = evidence->d, n = evidence->n;
    double explained = 0.0;
    (void)evidence_raw(raw, NULL, evidence, centred, skip);
    for (size_t i = 0; i < n * n; i++) {
        raw[i] -= evidence->bias[i];
    }
    for (size_t i = 0; i < d; i++) {
        explained += beta[i] * (2.0 * raw[i * n + d] - linear_dot(raw + i * n, beta, d));
    }
    return explained / raw[n * n - 1];
}

enum tremolo_status tremolo_fit_r2_error(double *error, const struct tremolo_debiased *evidence,
                                         const double *beta, bool centred)
{
    double share[TREMOLO_BUCKETS];
    double mean = 0.0, squares = 0.0;
    size_t used = 0;
    double *raw = linear_new(evidence->n * evidence->n);
    if (raw == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t b = 0; b < evidence->buckets; b++) {
        if (evidence->bucket[b].count > 0.0) {
            share[used] = share_without(raw, evidence, beta, centred, b);
            mean += share[used++];
        }
    }
    free(raw);
    mean /= (double)used;
    for (size_t i = 0; i < used; i++) {
        squares += (share[i] - mean) * (share[i] - mean);
    }
    *error = used > 1 ? sqrt(squares * (double)(used - 1) / (double)used) : NAN;
    return TREMOLO_OK;
}
