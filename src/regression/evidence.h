/* evidence.h -- what the files of this module know of reports: samples and ballots.
 *
 * Noisy samples. Joint rows u = (undone features, response) have n = d + 1 coordinates in
 * scaled units: wire integers divided by their scale and by keep. Bucket b holds
 * the sums of u and u u' as they come, noise included. `bias` is the known part
 * of E u u' that is noise: what debiasing subtracts per report.
 *
 * For pooled rounds `bias` is the level a single release would need to be as
 * noisy as the pool, and the sums are lifted to match, so that everything
 * downstream can treat a pool as one release.
 *
 * Ballots. Joint coordinates are (h, x_1..x_d, w), n = d + 2 of them. The last, w, is g y
 * when the response is protected and y - mean y when it is public. M is the mean of s^2
 * times their products, in full. Coefficients are solved for as theta = M_aa^-1 M_aw, a the
 * first p = d + 1 coordinates: theta = (intercept / h, beta) in units of w. */
#ifndef REGRESSION_EVIDENCE_H
#define REGRESSION_EVIDENCE_H

#include <math.h>

#include "regression.h"

/* ---------------------------------------------------------------- noisy samples */

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

/* ---------------------------------------------------------------- the `auto` estimator's engine (shrink.c) */

/* One release seen as a covariance: raw joint moment (n = d + 1, response last),
 * the part of it that is noise, and the number of devices. */
struct shrink_problem {
    size_t d;
    double devices;
    double noise;       /* per feature coordinate */
    double largest;     /* second moment of a coordinate that bounds allow; 0 unknown */
    const double *raw;  /* n * n */
    const double *bias; /* n * n */
};

/* beta: d numbers; S: the estimated positive definite moment, d * d. The fit has neither
 * intercept nor what follows from S. */
TREMOLO_MUST_USE enum tremolo_status shrink_solve(double *beta, double *S, struct tremolo_fit *fit,
                                                  const struct shrink_problem *problem);

/* By how much coefficients count. A sum of d squares is d times `null` without any signal, give or
 * take sqrt(2 d) times `null`: up to there the answer is `least`, and from `clear_sds` standard
 * deviations above it on it is 1. */
static inline double shrink_trust(double squares, double null, double d, double least,
                                  double clear_sds)
{
    double sds = (squares - d * null) / (sqrt(2.0 * d) * null);
    return least + (1.0 - least) * fmin(fmax(sds / clear_sds, 0.0), 1.0);
}

/* ---------------------------------------------------------------- ballots */

enum { BALLOT_MAX = TREMOLO_MAX_FEATURES + 2 };

/* Noise variances of one device's M. */
struct ballot_noise {
    double entry;       /* on the diagonal; half of it off the diagonal */
    double response[2]; /* of M_0w and of M_iw */
    double square;      /* of M_ww */
};

struct tremolo_ballot {
    size_t d;
    size_t n;
    bool response_public;
    double h;
    double rest;    /* s^2 = 1/(h^2 + rest + |x|^2): g^2 or 0 */
    double w_scale; /* y = w_scale w + w_mean */
    double w_mean;
    double w_square; /* mean of w^2 when public, the largest it can be when not */
    struct ballot_noise noise;
    double devices;
    double count[TREMOLO_BUCKETS];
    double *M; /* n * n for all, then for each bucket */
};

/* M without bucket `skip` (TREMOLO_BUCKETS for none), n * n. */
void ballot_moments(double *M, const struct tremolo_ballot *ballots, size_t skip);

/* Noise variance of entry (i, j) of M over all devices. */
double ballot_variance(const struct tremolo_ballot *ballots, size_t i, size_t j);

/* What ballots leave likely of M; see posterior.c. *mean (n * n) gets the mean of it.
 * `ballots` must live as long. */
struct ballot_posterior;
enum { BALLOT_DRAWS = 200 };

TREMOLO_MUST_USE enum tremolo_status ballot_posterior_new(struct ballot_posterior **posterior,
                                                          double *mean,
                                                          const struct tremolo_ballot *ballots);

/* R^2 of theta in each of up to BALLOT_DRAWS draws of M; returns how many. */
size_t ballot_posterior_explained(double *r2, struct ballot_posterior *posterior,
                                  const double *theta);

void ballot_posterior_free(struct ballot_posterior *posterior);

/* ---------------------------------------------------------------- both */

/* Samples, or ballots: the other one is NULL. */
struct source {
    const struct tremolo_debiased *samples;
    const struct tremolo_ballot *ballots;
    size_t d;
    double devices;
    double count[TREMOLO_BUCKETS]; /* devices of each bucket */
};

struct source source_of_samples(const struct tremolo_debiased *samples);
struct source source_of_ballots(const struct tremolo_ballot *ballots);

/* The equations of inference, with the intercept as a coefficient like the others: p = d + 1 of
 * them, and joint rows of q = p + 1 coordinates about zero. For samples the constant 1 is one more
 * feature without noise and rows are (x, 1, y); for ballots they are (h, x, w), and what is known
 * of their noise is no bias. */
enum { INFER_MAX = TREMOLO_MAX_FEATURES + 2 };

struct system {
    size_t p;
    size_t q;
    double devices;
    double *memory;
    double *raw;  /* q * q, noise included */
    double *bias; /* q * q */
};

/* Allocate and fill from all buckets but `skip` (TREMOLO_BUCKETS skips none). NO_MEMORY or OK;
 * free system->memory. */
TREMOLO_MUST_USE enum tremolo_status system_take(struct system *system, const struct source *source,
                                                 size_t skip);

#endif
