/* infer.h -- what the two halves of inference share; for this room only.
 *
 * Inference treats the constant 1 as a noise-free feature, so the intercept is a
 * coefficient like the others: p = d + 1 features and joint rows (x, 1, y) of
 * q = p + 1 coordinates. Everything is about zero,
 * nothing is centred. */
#ifndef TREMOLO_INFER_H
#define TREMOLO_INFER_H

#include "evidence.h"

enum { INFER_MAX = TREMOLO_MAX_FEATURES + 2 };

struct system {
    size_t p;
    size_t q;
    double devices;
    double *memory;
    double *raw;  /* q * q, noise included */
    double *bias; /* q * q */
};

/* Allocate and fill; `skip` as in evidence_raw. NO_MEMORY or OK; free system->memory. */
TREMOLO_MUST_USE enum tremolo_status
system_take(struct system *system, const struct tremolo_debiased *evidence, size_t skip);

/* The score-test set of w'beta for any w; see score.c. */
struct score_set {
    size_t p;
    double *memory;
    double *inverse; /* of the quadric's matrix, p * p */
    double *centre;  /* p */
    double minimum;  /* of the quadric; at most 0 when it is convex */
    size_t negative; /* negative eigenvalues of its matrix */
    bool usable;     /* false when the matrix is singular: every set is ALL */
};

TREMOLO_MUST_USE enum tremolo_status score_new(struct score_set *set, const struct system *system,
                                               double level);
/* The same from the quadric's matrix T ((p + 1)^2), sign as in score.c. */
TREMOLO_MUST_USE enum tremolo_status score_from_quadric(struct score_set *set, const double *T,
                                                        size_t p);
enum tremolo_interval_shape score_interval(double *low, double *high, const struct score_set *set,
                                           const double *w);

/* All that the lines of a table are made of: an estimate with its two covariances and its
 * score sets. */
struct analysis {
    size_t p;
    size_t groups;                 /* buckets in use */
    double share[TREMOLO_BUCKETS]; /* K / m of each */
    double *memory;
    double *left_out;   /* groups * p: estimates without one bucket */
    double *beta;       /* p */
    double *covariance; /* p * p, sandwich */
    double *inverse;    /* p * p: of the matrix that was solved */
    double *work;       /* p * p */
    struct score_set score;
    double devices_needed;
};

/* False when there is no memory; drop it all the same. */
bool analysis_new(struct analysis *analysis, size_t p);
void analysis_drop(struct analysis *analysis);

/* The line for w'beta + constant. */
void analysis_describe(struct tremolo_coefficient *row, const struct analysis *analysis,
                       const double *w, double constant, double level);

/* Weights on the scaled coefficients (d of them, then the intercept) that make own coefficient
 * j; the return value is the part that no coefficient touches. */
double infer_carry(double *scaled, size_t j, size_t d, const struct tremolo_units *units);

#endif
