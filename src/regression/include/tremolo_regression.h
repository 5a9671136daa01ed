/* tremolo_regression.h -- from sums over reports to coefficients.
 *
 * Reports are noisy on purpose. This module removes the known bias from their
 * moments, estimates a linear regression from them, and says how far
 * the result can be trusted. All of it is post-processing of what the devices
 * released, so nothing here costs privacy.
 *
 *     status = tremolo_moments_add(moments, row, &bucket, 1);      (tremolo_release.h makes them)
 *     ...
 *     struct tremolo_debiased *evidence = NULL;
 *     status = tremolo_release_debias(&evidence, moments, &release);
 *     ...
 *     struct tremolo_coefficient rows[D + 1];
 *     status = tremolo_infer(rows, evidence, &units, 0.95);
 *     tremolo_debias_free(evidence);
 *     tremolo_moments_free(moments);
 *
 * Units. "Wire" integers are what reports carry. "Scaled" features and
 * response are what the device starts from: (value - centre) / scale of
 * struct tremolo_units, usually within [-1, 1] or standardised. "Own" units are
 * the analyst's. Moments and coefficients are scaled unless a function says own.
 *
 * Matrices are row-major. Every function is deterministic and may run in
 * several threads on different outputs; objects are not changed by reading.
 * On failure outputs are untouched. */
#ifndef TREMOLO_REGRESSION_H
#define TREMOLO_REGRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- sums over reports */

/* Exact sums over the rows of reports, apart for each of 32 buckets; opaque. */
struct tremolo_moments;
void tremolo_moments_free(struct tremolo_moments *moments); /* NULL is fine */

/* The bucket of a report, 0..31, from its 16-byte id. */
unsigned tremolo_bucket_of(const uint8_t report_id[16]);

/* Add `count` rows of `coordinates` values each, row after row; buckets[i] is
 * the bucket of row i. BAD_ARGUMENT for a bucket above 31, OUT_OF_BOUNDS for
 * a value beyond its maximum, OVERFLOWED past TREMOLO_MAX_FOLD_REPORTS,
 * NO_MEMORY; after any failure the sums are what they were. */
TREMOLO_MUST_USE enum tremolo_status tremolo_moments_add(struct tremolo_moments *moments,
                                                         const int16_t *rows,
                                                         const uint8_t *buckets, size_t count);

/* ---------------------------------------------------------------- evidence */

/* What a released row is, in plain numbers:
 *     row = keep * wire_scale * scaled + W + noise,
 * W the modulation (variance `modulation` along each row of V), noise of
 * variance `noise_variance` in every released coordinate. The response is the
 * last coordinate: as it is (times response_scale) when public; multiplied by keep
 * and noised like a feature, but not modulated, when private. */
struct tremolo_sample_release {
    size_t dimension;      /* d, features only */
    double keep;           /* 1 - alpha, in (0, 1] */
    double noise_variance; /* wire units^2: sigma^2 + 1/12 for the rounding */
    double modulation;     /* wire units^2: lambda^2 / (2 m); 0 without */
    size_t vectors;        /* m; 0 without modulation */
    const double *V;       /* m rows of d numbers; used as they are, not orthonormalised */
    double feature_scale;  /* wire units per scaled unit, before keep; > 0 */
    double response_scale; /* the same for the response */
    bool response_private;
    /* Largest second moment of one scaled coordinate that public bounds allow (1 when
     * values lie within -1..1); 0 when nothing is known. Only `auto`, for means and a
     * private response, and the number of devices needed make use of it. */
    double largest;
};

/* scaled = (own - centre) / scale. NULL where an analyst works in scaled units. */
struct tremolo_units {
    const double *feature_centre; /* d numbers */
    const double *feature_scale;  /* d numbers, each > 0 */
    double response_centre;
    double response_scale; /* > 0 */
};

/* Debiased moments of noisy samples, and moments of ballots, apart for every bucket. Opaque; each
 * owns its memory. */
struct tremolo_debiased;
struct tremolo_ballot;
void tremolo_debias_free(struct tremolo_debiased *evidence); /* NULL is fine */

/* ---------------------------------------------------------------- results */

/* A prediction. */
struct tremolo_fit {
    double intercept; /* scaled units; 0 without */
    double r2;        /* share explained by its own account; AUTO: NaN when noise hides it */
    double residual_variance;
    double condition; /* of the matrix that was solved */
    size_t negative;  /* negative eigenvalues of S that the method had to bend */
};

/* A confidence set of one number: [low, high], everything outside (low, high),
 * or the whole line (the data say nothing at this noise). */
enum tremolo_interval_shape {
    TREMOLO_INTERVAL_BOUNDED,
    TREMOLO_INTERVAL_OUTSIDE,
    TREMOLO_INTERVAL_ALL,
};

/* One line of the table, in own units when `units` were given. Estimates are
 * the UNBIASED method's, never the shrunken ones. */
struct tremolo_coefficient {
    double estimate;
    double standard_error;        /* group jackknife over the buckets; no assumption on residuals */
    double z;                     /* estimate / standard_error */
    double p;                     /* two-sided, Student with degrees of freedom below */
    double low, high;             /* estimate -+ t * standard_error */
    double degrees;               /* buckets in use - 1 */
    double score_low, score_high; /* score test inverted: level kept at any noise */
    enum tremolo_interval_shape score_shape;
    bool identified;       /* the score set is bounded */
    double devices_needed; /* by tremolo_plan_needed() or tremolo_ballot_plan(), usual guesses */
};

/* Inference for every coefficient at confidence `level` (0 < level < 1): rows
 * 0..d-1 the features and row d the intercept (d + 1 rows must be there). `units` may be
 * NULL. SINGULAR when S cannot be inverted. */
TREMOLO_MUST_USE enum tremolo_status tremolo_infer(struct tremolo_coefficient *rows,
                                                   const struct tremolo_debiased *evidence,
                                                   const struct tremolo_units *units, double level);

/* The x that a variable with Student's distribution stays below with probability p, accurate to about
 * 1e-12 relative: half of an interval's width in standard errors. */
double tremolo_student_quantile(double p, double degrees);

/* ---------------------------------------------------------------- what is expected */

/* The paper's symbols, scaled units. */
struct tremolo_mechanism {
    size_t dimension;
    double devices; /* K */
    double alpha;
    double lambda;
    double sigma;          /* sd of the added noise */
    bool response_private; /* the response is noised as a feature is */
};

/* What the theorem, its corollary and the convergence bound are evaluated for:
 * the rounds start at beta = 0 and should end at b*. */
struct tremolo_convergence_input {
    struct tremolo_mechanism mechanism; /* of one round */
    double rounds;                      /* T */
    double smoothness;                  /* L, the largest eigenvalue of S */
    double trace;                       /* tr S */
    double beta_norm2;                  /* |b*|^2 */
    double residual_ms;                 /* mean r^2 at b* */
    double beta_cross;                  /* b*' mean x r, 0 where b* is the minimum */
    double B, R, M;                     /* |beta| <= B, |x| <= R, |y| <= M */
};

struct tremolo_convergence {
    double variance;       /* of the gradient at b*, one round */
    double variance_bound; /* wherever |beta| <= B */
    double printed;        /* excess loss after T rounds; this one does not hold */
    double corrected;
};

/* The evaluated theorems, with what they were evaluated for. */
struct tremolo_convergence_answer {
    struct tremolo_convergence_input input;
    struct tremolo_convergence result;
    bool known; /* false: noise hides S, there is nothing to say */
};

/* A guess of the population, before anyone reports. */
struct tremolo_plan_input {
    size_t dimension;
    double devices;
    double noise_sd;   /* of one whole-budget release, scaled feature units, alpha undone */
    double modulation; /* lambda^2/(2 m (1-alpha)^2) along m directions; 0 without */
    size_t vectors;
    double feature_variance; /* guess: mean square of a centred scaled feature */
    double correlation;      /* guess: equal correlation between features, in (-1/(d-1), 1) */
    double r2;               /* guess: share explained without privacy */
    double response_variance;
    bool response_private; /* the same noise on the response, which R^2 leaves out */
    double level;          /* of the interval */
};

/* What to expect under it. */
struct tremolo_plan_result {
    double standard_error;        /* of one coefficient, scaled */
    double standard_error_public; /* the same without any noise */
    double half_width;            /* of its interval */
    double r2_auto;               /* expected R^2 of the regularised prediction */
    double noise_ratio;           /* sigma^2 sqrt(d/K) / lambda_min(S) */
    double prediction_error;      /* E (b-beta)'S(b-beta), unbiased estimator */
    double prediction_minimax;    /* s^2 d / K: OLS on raw data */
    double estimation_error;      /* E |b-beta|^2 */
    double estimation_minimax;    /* s^2 tr S^-1 / K */
};

#ifdef __cplusplus
}
#endif

#endif
