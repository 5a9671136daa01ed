/* tremolo_regression.h -- from exact sums over reports to coefficients.
 *
 * Reports are noisy on purpose. This room removes the known bias from their
 * moments, estimates a linear regression from what is left, and says how far
 * the result can be trusted. All of it is post-processing of what the devices
 * released, so nothing here costs privacy; the exceptions, which read raw
 * data, say so (`ols` on data, the `dp-sgd` baseline).
 *
 *     struct tremolo_debiased *evidence = NULL;
 *     status = tremolo_debias_new(&evidence, sums, &release);
 *     ...
 *     double beta[D];
 *     struct tremolo_fit fit;
 *     struct tremolo_fit_options options = TREMOLO_FIT_DEFAULTS;
 *     status = tremolo_fit(beta, &fit, evidence, &options);       (to predict)
 *     struct tremolo_coefficient rows[D + 1];
 *     status = tremolo_infer(rows, evidence, &units, 0.95);       (to conclude)
 *     tremolo_debias_free(evidence);
 *
 * Units. "Wire" integers are what reports carry. "Scaled" features and
 * response are what the device starts from: (value - centre) / scale of
 * struct tremolo_units, usually within [-1, 1] or standardised. "Own" units are
 * the analyst's. Moments and `beta` are scaled unless a function says own.
 *
 * Limits: d in 1..TREMOLO_MAX_FEATURES, TREMOLO_BUCKETS buckets.
 * Matrices are row-major. Every function is deterministic and may run in
 * several threads on different outputs; objects are not changed by reading.
 * On failure outputs are untouched. */
#ifndef TREMOLO_REGRESSION_H
#define TREMOLO_REGRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_moments.h"
#include "tremolo_status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TREMOLO_MAX_FEATURES = 256 };

/* ---------------------------------------------------------------- debiasing */

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

/* Debiased moments, apart for every bucket. Opaque; owns its memory. */
struct tremolo_debiased;

/* Debias the sums of all buckets, of d + 1 coordinates. Buckets
 * may be empty; fewer than two devices in all are refused (BAD_ARGUMENT). The
 * release's V is copied. Free with tremolo_debias_free (NULL is fine). */
TREMOLO_MUST_USE enum tremolo_status
tremolo_debias_new(struct tremolo_debiased **evidence,
                   const struct tremolo_sums buckets[TREMOLO_BUCKETS],
                   const struct tremolo_sample_release *release);
void tremolo_debias_free(struct tremolo_debiased *evidence);

/* The unbiased S = mean x x' (d * d), Z = mean y x (d) and yy = mean y^2, about
 * zero as in the paper, or about the means when `centred` (then divided by
 * K - 1; what a fit with intercept uses). Any output may be NULL. S is symmetric
 * but, with noise, need not be positive. */
void tremolo_debias_moments(double *S, double *Z, double *yy,
                            const struct tremolo_debiased *evidence, bool centred);

/* Pool several releases of the same devices (rounds) into one: moments are
 * averaged with weights inverse to their noise^2, which is close to optimal
 * when noise dominates. All must agree in dimension, bucket count and the
 * bucket's device counts. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_debias_pool(struct tremolo_debiased **pooled, const struct tremolo_debiased *const *rounds,
                    size_t count);

/* ---------------------------------------------------------------- prediction */

enum tremolo_method {
    TREMOLO_METHOD_AUTO,     /* default: regularised from the reports alone */
    TREMOLO_METHOD_ONE_SHOT, /* the paper's (S + ridge I) beta = Z */
    TREMOLO_METHOD_UNBIASED, /* S beta = Z: OLS in expectation; what inference uses */
};

struct tremolo_fit_options {
    enum tremolo_method method;
    bool intercept; /* centre the moments; the paper's convention is false */
    double ridge;   /* ONE_SHOT only: gamma >= 0, scaled units */
};
#define TREMOLO_FIT_DEFAULTS                                                                       \
    {                                                                                              \
        TREMOLO_METHOD_AUTO, true, 0.0                                                             \
    }

struct tremolo_fit {
    double intercept; /* scaled units; 0 without */
    double r2;        /* share explained by its own account; AUTO: NaN when noise hides it */
    double residual_variance;
    double condition;       /* of the matrix that was solved */
    size_t negative;        /* negative eigenvalues of S that the method had to bend */
    size_t iterations;      /* of a search; 0 without one */
    double shrink_features; /* AUTO: pseudo-devices that pull S to a multiple of I */
    double shrink_beta;     /* AUTO: pseudo-devices that pull beta to 0 */
};

/* Fit `beta` (d numbers, scaled units). SINGULAR when UNBIASED or ONE_SHOT meets
 * a matrix singular to working precision. */
TREMOLO_MUST_USE enum tremolo_status tremolo_fit(double *beta, struct tremolo_fit *fit,
                                                 const struct tremolo_debiased *evidence,
                                                 const struct tremolo_fit_options *options);

/* Standard error of the share of variance that `beta` (scaled units, held) explains: group
 * jackknife over the buckets, of moments about the means when `centred`. NaN from a single
 * bucket. */
TREMOLO_MUST_USE enum tremolo_status tremolo_fit_r2_error(double *error,
                                                          const struct tremolo_debiased *evidence,
                                                          const double *beta, bool centred);

/* Carry a fit to own units: own_beta[d] and *own_intercept. Aliasing allowed. */
void tremolo_fit_to_own(double *own_beta, double *own_intercept, const double *beta,
                        double intercept, size_t dimension, const struct tremolo_units *units);

/* Plain R^2 of predictions intercept + X beta on `rows` raw rows (row-major,
 * d columns), against the mean of y on those rows. A feature counts up to `reach` from 0,
 * INFINITY: as it is. For tests and simulations. */
double tremolo_r2(const double *beta, double intercept, const double *X, const double *y,
                  size_t rows, size_t dimension, double reach);

/* Ordinary least squares on raw data by Householder QR with column scaling (not
 * private). With `intercept`, beta has d numbers and *constant the intercept.
 * `standard_error` (d, then the intercept's; may be NULL) and *r2 may be asked for. SINGULAR when the
 * columns are dependent to working precision; *rank tells (may be NULL). */
TREMOLO_MUST_USE enum tremolo_status tremolo_ols(double *beta, double *constant,
                                                 double *standard_error, double *r2, size_t *rank,
                                                 const double *X, const double *y, size_t rows,
                                                 size_t dimension, bool intercept);

/* ---------------------------------------------------------------- the paper's rounds */

/* One round: release with the given V (m rows of d, orthogonal to beta) and
 * answer its debiased moments in *evidence (the iteration frees them). */
typedef enum tremolo_status (*tremolo_round_fn)(void *context, size_t round, const double *beta,
                                                const double *V, size_t vectors,
                                                struct tremolo_debiased **evidence);

struct tremolo_iterate_options {
    size_t rounds;       /* T >= 1; the budget per round is the callback's matter */
    size_t vectors;      /* m; at most d - 1 so that V stays orthogonal to beta */
    double step;         /* c of eta = c / |S|_op, or eta itself */
    bool step_fixed;     /* step is eta */
    double radius;       /* beta is projected onto this ball; 0 for none */
    uint64_t seed;       /* directions V */
    bool intercept;      /* centre the moments of every round */
    size_t first;        /* go on with this round, usually 0, */
    const double *start; /* from the beta it is released with; NULL for 0 */
};

/* The paper's iteration, from beta = 0 unless it goes on. Outputs (d numbers each, may be
 * NULL): the last iterate, the average of beta_1..beta_T, and the fit of the pooled
 * rounds by `auto`, the last two only from round 0. A round depends on those before it
 * through beta alone, so going on gives the same bits. Statuses of the callback
 * are passed on. */
TREMOLO_MUST_USE enum tremolo_status tremolo_iterate(double *last, double *average, double *pooled,
                                                     size_t dimension,
                                                     const struct tremolo_iterate_options *options,
                                                     tremolo_round_fn round, void *context);

/* `vectors` orthonormal rows of d numbers, orthogonal to beta (unless beta is
 * zero), drawn from the seed and round number. BAD_VECTORS when m does not fit. */
TREMOLO_MUST_USE enum tremolo_status tremolo_directions(double *V, size_t vectors,
                                                        const double *beta, size_t dimension,
                                                        uint64_t seed, uint64_t round);

struct tremolo_dpsgd_options {
    size_t rounds;
    double clip;     /* C */
    double step;     /* learning rate */
    double noise_sd; /* per client, round and coordinate: 2 C / sqrt(2 rho_t) */
    uint64_t seed;
};

/* DP-SGD FedAvg on raw rows: each client clips its gradient x (x'beta - y) to
 * norm C and adds noise; the server averages. The mean of K Gaussian draws is
 * drawn as one of variance noise_sd^2 / K, the same distribution. The caller
 * calibrates noise_sd. `beta` gets d numbers; no intercept, as in the paper. */
TREMOLO_MUST_USE enum tremolo_status tremolo_dpsgd(double *beta, const double *X, const double *y,
                                                   size_t rows, size_t dimension,
                                                   const struct tremolo_dpsgd_options *options);

struct tremolo_adassp_options {
    double radius;         /* of the features' rows; longer ones are shortened */
    double response_bound; /* |y|; larger ones are clamped */
    bool response_private; /* neighbours differ in it, too */
    double noise_sd;       /* for a sensitivity of 1, in each of three releases */
    double delta;          /* that the noise is for */
    uint64_t seed;
};
enum { TREMOLO_ADASSP_RELEASES = 3 };

/* AdaSSP, on raw rows: what a trusted server would learn with noise on its sums alone, for
 * any two people (one row replaced). The caller calibrates noise_sd for three releases.
 * SINGULAR, NOT_CONVERGED, NO_MEMORY: outputs are untouched. */
TREMOLO_MUST_USE enum tremolo_status tremolo_adassp(double *beta, double *intercept,
                                                    const double *X, const double *y, size_t rows,
                                                    size_t dimension,
                                                    const struct tremolo_adassp_options *options);

/* ---------------------------------------------------------------- inference */

/* A confidence set of one number: [low, high], everything outside (low, high),
 * or the whole line (the data say nothing at this noise). */
enum tremolo_interval_shape {
    TREMOLO_INTERVAL_BOUNDED,
    TREMOLO_INTERVAL_OUTSIDE,
    TREMOLO_INTERVAL_ALL,
};

/* "interval", "outside" or "anything". */
const char *tremolo_interval_name(enum tremolo_interval_shape shape);

/* One line of the table, in own units when `units` were given. Estimates are
 * the UNBIASED method's, never the shrunken ones. */
struct tremolo_coefficient {
    double estimate;
    double standard_error; /* group jackknife over the buckets; no assumption on residuals */
    double model_error;    /* sandwich with the exact noise terms and equal residual variance */
    double z;              /* estimate / standard_error */
    double p;              /* two-sided, Student with degrees of freedom below */
    double low, high;      /* estimate -+ t * standard_error */
    double degrees;        /* buckets in use - 1 */
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

/* What is not identified of all `count` rows of one tremolo_infer(), which share the
 * number of devices needed, as one sentence in `text` (always terminated): empty when
 * every row is identified. It names a few of the others and counts the rest. */
void tremolo_identification_summary(char *text, size_t capacity, const char *const *names,
                                    const struct tremolo_coefficient *rows, size_t count,
                                    uint64_t devices);

/* Distribution functions used above, accurate to about 1e-12 relative. */
double tremolo_normal_cdf(double x);
double tremolo_normal_quantile(double p);
double tremolo_student_cdf(double x, double degrees);
double tremolo_student_quantile(double p, double degrees);

/* P(X > x) of a chi-square with `degrees` (0..10^4), about `noncentrality` (above 10^4 an upper
 * bound), and the x that is exceeded with probability `tail`. */
double tremolo_chi2_tail(unsigned degrees, double noncentrality, double x);
double tremolo_chi2_quantile(unsigned degrees, double noncentrality, double tail);

/* ---------------------------------------------------------------- theory */

/* The paper's symbols, scaled units. */
struct tremolo_mechanism {
    size_t dimension;
    double devices; /* K */
    double alpha;
    double lambda;
    double sigma;          /* sd of the added noise */
    bool response_private; /* the response is noised as a feature is */
};

/* The symbols of one release by so many devices, from its wire units. */
struct tremolo_mechanism tremolo_release_mechanism(const struct tremolo_sample_release *release,
                                                   double devices);

struct tremolo_plan_input;

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

/* Take S, its norm and the residual from a plan's guess, at its own minimum; M and R stay, B becomes |b*|. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_convergence_guess(struct tremolo_convergence_input *input,
                          const struct tremolo_plan_input *plan);
struct tremolo_convergence tremolo_convergence_of(const struct tremolo_convergence_input *input);

/* The evaluated theorems, with what they were evaluated for. */
struct tremolo_convergence_answer {
    struct tremolo_convergence_input input;
    struct tremolo_convergence result;
    bool known; /* false: noise hides S, there is nothing to say */
};

/* Evaluate at `beta` for evidence of T rounds. input has mechanism, rounds, B, R and M; a
 * B of 0 (no projection) becomes |beta|. */
struct tremolo_convergence_answer
tremolo_convergence_of_fit(const struct tremolo_convergence_input *input,
                           const struct tremolo_debiased *evidence, const double *beta);

/* What the evidence of all rounds says of R^2 at that beta; NaN when nothing. */
double tremolo_convergence_r2(const struct tremolo_convergence_answer *answer,
                              const struct tremolo_debiased *evidence);

/* ---------------------------------------------------------------- planning */

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

/* What is guessed unless told: R^2, and the standard deviation of features and response in
 * half ranges: nine of ten values within the range leave a normal coordinate 0.61, a uniform
 * one 0.64. */
#define TREMOLO_PLAN_R2 0.5
#define TREMOLO_PLAN_SD 0.62

/* A coefficient of as many standard errors is told from zero in four studies of five by a
 * test at the level 0.95. */
#define TREMOLO_PLAN_STANDS_OUT 2.8

/* Noise ratios up to which intervals by standard errors hold, of noisy samples and of ballots
 * (docs/reference/numerics.md). Above them the score test's sets are what is left, and some coefficients may
 * stay hidden. */
#define TREMOLO_PLAN_RATIO_SAMPLE 0.12
#define TREMOLO_PLAN_RATIO_BALLOT 0.21

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

TREMOLO_MUST_USE enum tremolo_status tremolo_plan(struct tremolo_plan_result *result,
                                                  const struct tremolo_plan_input *input);

/* Devices for a wanted half width, or for `power` (0..1) against an effect of
 * the given size; everything else as in the input. UNREACHABLE above 1e15. */
TREMOLO_MUST_USE enum tremolo_status tremolo_plan_devices(double *devices,
                                                          const struct tremolo_plan_input *input,
                                                          double half_width, double power,
                                                          double effect);

/* Devices with which coefficients that share the guessed R^2 equally stand out, whatever
 * `devices` and `level` are: the one number that plans, tables and pages quote. Infinite
 * when there is none. */
double tremolo_plan_needed(const struct tremolo_plan_input *input);

#ifdef __cplusplus
}
#endif

#endif
