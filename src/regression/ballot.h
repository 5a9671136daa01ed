/* ballot.h -- what the parts of estimation from ballots share; for this module only.
 *
 * Joint coordinates are (h, x_1..x_d, w), n = d + 2 of them. The last, w, is g y when the
 * response is protected and y - mean y when it is public. M is the mean of s^2 times
 * their products, in full. Coefficients are solved for as theta = M_aa^-1 M_aw, a the
 * first p = d + 1 coordinates: theta = (intercept / h, beta) in units of w. */
#ifndef TREMOLO_BALLOT_INTERNAL_H
#define TREMOLO_BALLOT_INTERNAL_H

#include "tremolo_ballot.h"

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
    size_t buckets;
    double count[TREMOLO_BUCKETS];
    double *M; /* n * n for all, then for each bucket */
};

/* M without bucket `skip` (TREMOLO_BUCKETS for none), n * n. */
void ballot_moments(double *M, const struct tremolo_ballot *ballots, size_t skip);

/* Noise variance of entry (i, j) of M over all devices. */
double ballot_variance(const struct tremolo_ballot *ballots, size_t i, size_t j);

/* theta <- M_aa^-1 M_aw; `inverse` ((d+1)^2) gets M_aa^-1. */
TREMOLO_MUST_USE enum tremolo_status ballot_solve(double *theta, double *inverse, const double *M,
                                                  size_t n);

/* What ballots leave likely of M; see ballot_posterior.c. *mean (n * n) gets the mean of it.
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

#endif
