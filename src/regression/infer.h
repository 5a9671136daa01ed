/* infer.h -- what the two halves of inference share; for this room only.
 *
 * Inference treats the constant 1 as a noise-free feature, so the intercept is a
 * coefficient like the others: p = d + 1 features with an intercept, d without,
 * and joint rows (x, [1], y) of q = p + 1 coordinates. Everything is about zero,
 * nothing is centred. */
#ifndef TREMOLO_INFER_H
#define TREMOLO_INFER_H

#include "evidence.h"

enum { INFER_MAX = TREMOLO_MAX_FEATURES + 2 };

struct system {
    size_t p;
    size_t q;
    double devices;
    double *raw;  /* q * q, noise included */
    double *bias; /* q * q */
};

/* Allocate and fill; `skip` as in evidence_raw. NO_MEMORY or OK. */
TREMOLO_MUST_USE enum tremolo_status system_take(struct system *system,
                                                 const struct tremolo_debiased *evidence,
                                                 bool intercept, size_t skip);
void system_drop(struct system *system);

/* Solve the debiased normal equations; `inverse` (p * p) gets S^-1. */
TREMOLO_MUST_USE enum tremolo_status system_solve(double *beta, double *inverse,
                                                  const struct system *system);

/* The score-test set of w'beta for any w; see score.c. */
struct score_set {
    size_t p;
    double *inverse; /* of the quadric's matrix, p * p */
    double *centre;  /* p */
    double minimum;  /* of the quadric; at most 0 when it is convex */
    size_t negative; /* negative eigenvalues of its matrix */
    bool usable;     /* false when the matrix is singular: every set is ALL */
};

TREMOLO_MUST_USE enum tremolo_status score_new(struct score_set *set, const struct system *system,
                                               double level);
void score_drop(struct score_set *set);
enum tremolo_interval_shape score_interval(double *low, double *high, const struct score_set *set,
                                           const double *w);

#endif
