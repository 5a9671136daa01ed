/* tremolo_ballot.h -- from sums over ballots to coefficients.
 *
 * A ballot is a randomised answer about a random direction of the products of one
 * sample; decoded, it is a noisy copy of them. With the scaled sample (x, y), public
 * constants h and g and the weight s = 1/sqrt(h^2 + |x|^2 + g^2), the point is
 *     u = s (h, x_1..x_d, g y)    all protected,    n = d + 2 coordinates, where the entry
 *         of h and g y counts 3/2 times and that of (g y)^2 half (device/ballot.c);
 *     u = s (h, x_1..x_d)         features only,    n = d + 1, g = 0 in s, y in the clear.
 * Ballots tell E uu' with independent noise of known size, so this part of regression
 * starts where debiasing would have ended.
 *
 *     struct tremolo_ballot *ballots = NULL;
 *     status = tremolo_ballot_new(&ballots, buckets, TREMOLO_BUCKETS, &release);
 *     ...
 *     struct tremolo_ballot_fit fit;
 *     status = tremolo_ballot_fit(beta, &fit, ballots, TREMOLO_METHOD_AUTO, 0.95);   (to predict)
 *     status = tremolo_ballot_infer(rows, ballots, &units, 0.95);                  (to conclude)
 *     tremolo_ballot_free(ballots);
 *
 * What is estimated: the coefficients of least squares weighted by s^2, which depends on
 * the features alone. Where the linear model holds they are the coefficients of plain
 * least squares; how far the two can differ where it does not, the fit says (`shift_max`).
 *
 * Units, limits and threads as in tremolo_regression.h: results are deterministic, on
 * failure outputs are untouched. */
#ifndef TREMOLO_BALLOT_H
#define TREMOLO_BALLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_regression.h"
#include "tremolo_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sums over the ballots of one bucket. A row holds the entries (0,0) (0,1) .. (0,n-1)
 * (1,1) .. of the upper triangle, n(n+1)/2 of them; what may follow is not read. `y` is on
 * the wire grid and only used when the response is public: NULL and 0 otherwise. */
struct tremolo_ballot_sums {
    uint64_t count;
    const int64_t *row;    /* sum of rows */
    const int64_t *row_y;  /* sum of y row */
    const int64_t *row_yy; /* sum of y^2 row */
    int64_t y;             /* sum of y */
    int64_t yy;            /* sum of y^2 */
};

struct tremolo_ballot_release {
    size_t dimension; /* d, features only */
    bool response_public;
    double h;
    double g; /* not used when the response is public */
    double c; /* sd of one decoded coordinate of a unit vector's image */
    /* An entry of a row, divided by row_scale and times c, has the mean of sqrt2 u_i u_j
     * off and u_i^2 on the diagonal: sqrt(5 * 8) for five directions of variance 8. */
    double row_scale;
    double response_scale; /* public response: wire units per scaled unit */
};

/* Opaque; owns its memory. */
struct tremolo_ballot;

/* Take `count` (2..TREMOLO_BUCKETS) buckets, some of which may be empty. BAD_ARGUMENT when
 * fewer than two hold ballots or a constant is not usable, BAD_DIMENSION, NO_MEMORY. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_ballot_new(struct tremolo_ballot **ballots, const struct tremolo_ballot_sums *buckets,
                   size_t count, const struct tremolo_ballot_release *release);
void tremolo_ballot_free(struct tremolo_ballot *ballots); /* NULL is fine */

/* ---------------------------------------------------------------- prediction */

struct tremolo_ballot_fit {
    struct tremolo_fit fit; /* r2: of these coefficients by AUTO; NaN when noise hides it */
    double r2_low, r2_high; /* hold it with probability `level`; NaN with it */
    /* The estimate's noise by the matrix it divides by, noise sqrt(d) / lambda_min: up to
     * 0.21 intervals by standard errors hold, above only score sets do. Infinite when
     * noise hides the smallest eigenvalue. */
    double noise_ratio;
    /* Predictions by least squares with and without weights differ by at most this many
     * residual standard deviations (root mean square), whatever the data, as long as
     * |x|^2 <= d. Under a linear model they do not differ. */
    double shift_max;
};

/* Fit `beta` (d numbers, scaled units) with an intercept. AUTO: from the posterior mean of
 * the moments; UNBIASED: as they are. `level` is that of the interval of R^2, in (0, 1).
 * ONE_SHOT is BAD_ARGUMENT. SINGULAR when UNBIASED meets a singular matrix, NOT_CONVERGED when
 * eigenvalues are not found or the fit is no number. */
TREMOLO_MUST_USE enum tremolo_status tremolo_ballot_fit(double *beta,
                                                        struct tremolo_ballot_fit *fit,
                                                        const struct tremolo_ballot *ballots,
                                                        enum tremolo_method method, double level);

/* ---------------------------------------------------------------- inference */

/* As tremolo_infer(): d + 1 rows, the last for the intercept. The
 * jackknife gives standard_error, noise and sampling give model_error; devices_needed is
 * tremolo_ballot_plan()'s for features and response of sd TREMOLO_PLAN_SD and TREMOLO_PLAN_R2. */
TREMOLO_MUST_USE enum tremolo_status tremolo_ballot_infer(struct tremolo_coefficient *rows,
                                                          const struct tremolo_ballot *ballots,
                                                          const struct tremolo_units *units,
                                                          double level);

/* ---------------------------------------------------------------- planning */

/* What is guessed before anyone reports; scaled units, as in struct tremolo_plan_input. */
struct tremolo_ballot_plan_input {
    size_t dimension;
    bool response_public;
    double h, g;
    double devices;
    double c;            /* of the ballots; 0 for a trusted server */
    double summed_noise; /* trusted server: sd of the noise on each summed coordinate; else 0 */
    double feature_variance;
    double correlation;
    double r2; /* share explained without privacy */
    double response_variance;
    double
        wider; /* times, at least 1, is the interval of the feature that varies least; 0: as all */
};

struct tremolo_ballot_plan {
    double standard_error; /* of one coefficient, scaled */
    double
        devices_needed; /* for coefficients of equal size to stand out by 2.8 standard errors, the
                            * widest, too;
                            * the same whatever `devices` is; infinite when r2 is 0 */
    double r2;          /* expected of AUTO's predictions */
    double noise_ratio; /* as in struct tremolo_ballot_fit */
};

TREMOLO_MUST_USE enum tremolo_status
tremolo_ballot_plan(struct tremolo_ballot_plan *plan,
                    const struct tremolo_ballot_plan_input *input);

/* `summed_noise` of a trusted server that keeps pure epsilon for any two samples, all
 * protected: points are unit vectors with no negative product, so a sum moves by at most
 * sqrt2, and noise of density exp(-epsilon |z| / sqrt2) covers it. */
double tremolo_ballot_trusted_noise(size_t dimension, double epsilon);

#ifdef __cplusplus
}
#endif

#endif
