/* regression.h -- what the modules above use of this one: everything from sums to results that
 * tremolo_regression.h, the installed part, leaves out.
 *
 * Order: evidence from sums; prediction; ballots; diagnosis; the paper's rounds and theorems;
 * planning; baselines that read raw data and are not private (ordinary least squares, dp-sgd,
 * AdaSSP); distributions; the seeded generator.
 *
 * Limits: d in 1..TREMOLO_MAX_FEATURES, TREMOLO_BUCKETS buckets. */
#ifndef TREMOLO_REGRESSION_INTERNAL_H
#define TREMOLO_REGRESSION_INTERNAL_H

#include "moments.h"

enum { TREMOLO_MAX_FEATURES = 256 };

/* ---------------------------------------------------------------- debiasing */

/* Debias the sums of all buckets, of d + 1 coordinates. Buckets
 * may be empty; fewer than two devices in all are refused (TOO_FEW). The
 * release's V is copied. Free with tremolo_debias_free (NULL is fine). */
TREMOLO_MUST_USE enum tremolo_status
tremolo_debias_new(struct tremolo_debiased **evidence,
                   const struct tremolo_sums buckets[TREMOLO_BUCKETS],
                   const struct tremolo_sample_release *release);

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
 * `standard_error` (d, then the intercept's) may be NULL. SINGULAR when the columns are dependent to
 * working precision, TOO_FEW with fewer rows than coefficients. */
TREMOLO_MUST_USE enum tremolo_status tremolo_ols(double *beta, double *constant,
                                                 double *standard_error, const double *X,
                                                 const double *y, size_t rows, size_t dimension,
                                                 bool intercept);

/* ---------------------------------------------------------------- words and distributions */

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

/* P(X > x) of a chi-square with `degrees` (0..10^4), about `noncentrality` (above 10^4 an upper
 * bound), and the x that is exceeded with probability `tail`. */
double tremolo_chi2_tail(unsigned degrees, double noncentrality, double x);
double tremolo_chi2_quantile(unsigned degrees, double noncentrality, double tail);

/* ---------------------------------------------------------------- ballots
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
 *     status = tremolo_ballot_new(&ballots, buckets, &release);
 *     ...
 *     struct tremolo_ballot_fit fit;
 *     status = tremolo_ballot_fit(beta, &fit, ballots, TREMOLO_METHOD_AUTO, 0.95);   (to predict)
 *     status = tremolo_ballot_infer(rows, ballots, &units, 0.95);                  (to conclude)
 *     tremolo_ballot_free(ballots);
 *
 * What is estimated: the coefficients of least squares weighted by s^2, which depends on
 * the features alone. Where the linear model holds they are the coefficients of plain
 * least squares; how far the two can differ where it does not, the fit says (`shift_max`). */

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

/* Take the sums of all buckets, some of which may be empty. TOO_FEW when
 * fewer than two hold ballots, BAD_ARGUMENT when a constant is not usable, BAD_DIMENSION,
 * NO_MEMORY. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_ballot_new(struct tremolo_ballot **ballots,
                   const struct tremolo_ballot_sums buckets[TREMOLO_BUCKETS],
                   const struct tremolo_ballot_release *release);
void tremolo_ballot_free(struct tremolo_ballot *ballots); /* NULL is fine */

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

/* As tremolo_infer(): d + 1 rows, the last for the intercept. The
 * jackknife gives standard_error; devices_needed is tremolo_ballot_plan()'s for features and response of sd TREMOLO_PLAN_SD and TREMOLO_PLAN_R2. */
TREMOLO_MUST_USE enum tremolo_status tremolo_ballot_infer(struct tremolo_coefficient *rows,
                                                          const struct tremolo_ballot *ballots,
                                                          const struct tremolo_units *units,
                                                          double level);

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

/* ---------------------------------------------------------------- diagnosis
 *
 * What an analyst asks after a table of coefficients. All of it comes from the same sums in buckets
 * as the coefficients do, of noisy samples or of ballots, so it costs no privacy; uncertainty is
 * the group jackknife's over the buckets, with Student's t. What noise hides is NaN. */

/* A number with the interval that holds it at the level; NaN when it is not known. */
struct tremolo_measured {
    double estimate, low, high;
};

/* Do all slopes together differ from zero? By the covariances of features and response, which
 * are zero under the hypothesis whatever the features' own moments are: Hotelling's statistic
 * over the buckets, so that the level is kept at any noise. NaN with as many features as
 * buckets. */
struct tremolo_f_test {
    double f;
    double numerator, denominator; /* degrees of freedom */
    double p;
};

struct tremolo_diagnosis {
    /* Of the unbiased coefficients in own units, intercept last; (d + 1)^2 numbers, or NULL
     * when the moment of the features is not positive without some bucket. Its diagonal is the
     * square of tremolo_infer()'s standard errors. */
    double *covariance;
    /* By how much the variance of each coefficient grows because the other features resemble
     * its own; d of them or NULL, as above. NaN where the interval spans a factor of ten. */
    struct tremolo_measured *inflation;
    struct tremolo_measured residual_sd; /* of the prediction that was given, own units */
    struct tremolo_f_test f_test;
};

/* From the evidence of samples or from ballots, the other being NULL; `beta` and `fit` are the
 * prediction in scaled units, and its residuals are judged; a residual_variance of NaN is taken from
 * the moments. BAD_ARGUMENT, NO_MEMORY; *diagnosis is then empty. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_diagnose(struct tremolo_diagnosis *diagnosis, const struct tremolo_debiased *evidence,
                 const struct tremolo_ballot *ballots, const double *beta,
                 const struct tremolo_fit *fit, const struct tremolo_units *units, double level);
void tremolo_diagnosis_free(struct tremolo_diagnosis *diagnosis);
void tremolo_diagnosis_begin(struct tremolo_diagnosis *diagnosis); /* nothing is known */

/* ---------------------------------------------------------------- the paper's rounds */

/* One round: release with the given V (m rows of d, orthogonal to beta) and
 * answer its debiased moments in *evidence (the iteration frees them; who wants rounds pooled
 * keeps a copy). */
typedef enum tremolo_status (*tremolo_round_fn)(void *context, size_t round, const double *beta,
                                                const double *V, size_t vectors,
                                                struct tremolo_debiased **evidence);

struct tremolo_iterate_options {
    size_t rounds;       /* T >= 1; the budget per round is the callback's matter */
    size_t vectors;      /* m; at most d - 1 so that V stays orthogonal to beta */
    double step;         /* c of eta = c / |S|_op */
    double radius;       /* beta is projected onto this ball; 0 for none */
    uint64_t seed;       /* directions V */
    bool intercept;      /* centre the moments of every round */
    size_t first;        /* go on with this round, usually 0, */
    const double *start; /* from the beta it is released with; NULL for 0 */
};

/* The paper's iteration, from beta = 0 unless it goes on. Outputs (d numbers each, may be
 * NULL): the last iterate, and the average of beta_1..beta_T, only from round 0. A round depends on those before it
 * through beta alone, so going on gives the same bits. Statuses of the callback
 * are passed on. */
TREMOLO_MUST_USE enum tremolo_status tremolo_iterate(double *last, double *average,
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

/* ---------------------------------------------------------------- theory */

/* The symbols of one release by so many devices, from its wire units. */
struct tremolo_mechanism tremolo_release_mechanism(const struct tremolo_sample_release *release,
                                                   double devices);

/* The theorems for what was given. */
struct tremolo_convergence tremolo_convergence_of(const struct tremolo_convergence_input *input);

/* Evaluate at `beta` for evidence of T rounds. input has mechanism, rounds, B, R and M; a
 * B of 0 (no projection) becomes |beta|. */
struct tremolo_convergence_answer
tremolo_convergence_of_fit(const struct tremolo_convergence_input *input,
                           const struct tremolo_debiased *evidence, const double *beta);

/* What the evidence of all rounds says of R^2 at that beta; NaN when nothing. */
double tremolo_convergence_r2(const struct tremolo_convergence_answer *answer,
                              const struct tremolo_debiased *evidence);

/* ---------------------------------------------------------------- planning */

/* Guesses unless the caller gives others: R^2, and the standard deviation of features and response in
 * half ranges: nine of ten values within the range leave a normal coordinate 0.61, a uniform
 * one 0.64. */
#define TREMOLO_PLAN_R2 0.5
#define TREMOLO_PLAN_SD 0.62

/* A coefficient of this many standard errors is significant in four studies of five, by a
 * test at the level 0.95. */
#define TREMOLO_PLAN_STANDS_OUT 2.8

/* Noise ratios up to which intervals by standard errors hold, of noisy samples and of ballots
 * (docs/reference/numerics.md). Above them the score test's sets are what is left, and some coefficients may
 * stay hidden. */
#define TREMOLO_PLAN_RATIO_SAMPLE 0.12
#define TREMOLO_PLAN_RATIO_BALLOT 0.21

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

/* ---------------------------------------------------------------- the seeded generator
 *
 * Of simulations, baselines and public directions.
 *
 *     struct tremolo_random random = tremolo_random_from(seed, round);
 *     double x = tremolo_random_normal(&random);
 *
 * This is no source for a real device: it is predictable, and noise that protects
 * people comes from the device core. These numbers must only be reproducible from a
 * seed. Different streams of a seed are independent for all purposes of a simulation. */

/* A well-mixed 64-bit hash of two numbers, for seeds. */
uint64_t tremolo_random_hash(uint64_t a, uint64_t b);

/* splitmix64 */
struct tremolo_random {
    uint64_t state;
};

struct tremolo_random tremolo_random_from(uint64_t seed, uint64_t stream);
uint64_t tremolo_random_bits(struct tremolo_random *random);
double tremolo_random_uniform(struct tremolo_random *random); /* within 0 and 1 */
double tremolo_random_normal(struct tremolo_random *random);

#endif
