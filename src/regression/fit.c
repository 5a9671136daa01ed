/* fit.c -- coefficients for prediction, from noisy samples and from ballots.
 *
 * Samples: `auto`, the paper's one-shot ridge and `unbiased`. All three solve S beta = Z for debiased moments. `unbiased` takes S as it is,
 * possibly indefinite; `one-shot` adds a ridge; `auto` replaces S and Z by positive,
 * shrunken estimates (shrink.c). The intercept comes from the means.
 *
 * Prediction and conclusion are apart on purpose: a shrunken coefficient predicts better and has no
 * honest interval, so tables come from infer.c and never from here. What a fit says of itself, its
 * R^2, is withheld (NaN) where noise hides it, by a rule that does not look at the R^2.
 *
 * The second part of the file is for ballots. */
#include "evidence.h"
#include "linear.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where a coordinate's mean lies before reports, variances as shares of the largest: */
#define MEAN_MIDDLE 0.95  /* this likely near the middle of the bounds */
#define MEAN_NEAR   0.004 /* with this variance */
#define MEAN_WIDE   0.15  /* else with this one */

/* Debiased, about the means when there is an intercept. */
struct moments {
    double *S; /* d * d */
    double Z[TREMOLO_MAX_FEATURES];
    double yy;
};

static size_t count_negative(const double *values, size_t d)
{
    size_t negative = 0;
    while (negative < d && values[negative] < 0.0) {
        negative++;
    }
    return negative;
}

/* Of a symmetric matrix, from its eigenvalues in any order. */
static double condition_of(const double *values, size_t d)
{
    double largest = 0.0;
    double smallest = INFINITY;
    for (size_t k = 0; k < d; k++) {
        largest = fmax(largest, fabs(values[k]));
        smallest = fmin(smallest, fabs(values[k]));
    }
    return largest / smallest;
}

/* (S + ridge I) beta = Z through the eigenvectors; S is overwritten. */
static enum tremolo_status solve_ridge(double *beta, struct tremolo_fit *fit,
                                       struct moments *moments, size_t d, double ridge)
{
    double solution[TREMOLO_MAX_FEATURES] = {0}, values[TREMOLO_MAX_FEATURES];
    if (!linear_eigen(values, moments->S, d)) {
        return TREMOLO_NOT_CONVERGED;
    }
    size_t negative = count_negative(values, d);
    for (size_t k = 0; k < d; k++) {
        values[k] += ridge;
    }
    double condition = condition_of(values, d);
    if (!(condition * (double)d * DBL_EPSILON < 1.0)) {
        return TREMOLO_SINGULAR;
    }
    for (size_t k = 0; k < d; k++) {
        const double *u = moments->S + k * d;
        double weight = linear_dot(u, moments->Z, d) / values[k];
        for (size_t i = 0; i < d; i++) {
            solution[i] += weight * u[i];
        }
    }
    memcpy(beta, solution, d * sizeof *beta);
    double explained = 2.0 * linear_dot(beta, moments->Z, d);
    for (size_t k = 0; k < d; k++) {
        double along = linear_dot(moments->S + k * d, beta, d);
        explained -= (values[k] - ridge) * along * along;
    }
    *fit = (struct tremolo_fit){
        .r2 = explained / moments->yy,
        .residual_variance = moments->yy - explained,
        .condition = condition,
        .negative = negative,
    };
    return TREMOLO_OK;
}

/* S is overwritten; `raw` holds n * n. */
static enum tremolo_status solve_auto(double *beta, struct tremolo_fit *fit, double *S, double *raw,
                                      const struct tremolo_debiased *evidence, bool centred)
{
    size_t d = evidence->d;
    double solution[TREMOLO_MAX_FEATURES], values[TREMOLO_MAX_FEATURES];
    struct tremolo_fit made;
    double devices = evidence_raw(raw, NULL, evidence, centred, TREMOLO_BUCKETS);
    const struct shrink_problem problem = {
        .d = d,
        .devices = centred ? devices - 1.0 : devices,
        .noise = evidence->noise,
        .largest = evidence->largest,
        .raw = raw,
        .bias = evidence->bias,
    };
    if (!linear_eigenvalues(values, S, d)) {
        return TREMOLO_NOT_CONVERGED;
    }
    size_t negative = count_negative(values, d);
    enum tremolo_status status = shrink_solve(solution, S, &made, &problem);
    if (status != TREMOLO_OK) {
        return status;
    }
    if (!linear_eigenvalues(values, S, d)) {
        return TREMOLO_NOT_CONVERGED;
    }
    memcpy(beta, solution, d * sizeof *beta);
    *fit = made;
    fit->condition = condition_of(values, d);
    fit->negative = negative;
    return TREMOLO_OK;
}

/* A coordinate's mean, shrunk for `auto`. Where it is noisy, in a small study by more than
 * the coordinate itself varies, bounds still put zero in the middle of what is
 * possible: the posterior mean under a prior of two normals about zero, of which
 * the narrow one is believed until the reports speak against it. */
static double mean_of(const struct tremolo_debiased *evidence, size_t coordinate, bool shrunk)
{
    static const double share[2] = {MEAN_MIDDLE, 1.0 - MEAN_MIDDLE};
    static const double variance[2] = {MEAN_NEAR, MEAN_WIDE};
    double mean = evidence->all.sum[coordinate] / evidence->devices;
    double noise = evidence->bias[coordinate * evidence->n + coordinate] / evidence->devices;
    double mass = 0.0;
    double sum = 0.0;
    if (!shrunk || !(noise > 0.0) || !(evidence->largest > 0.0)) {
        return mean;
    }
    for (int k = 0; k < 2; k++) {
        double prior = variance[k] * evidence->largest;
        double total = prior + noise;
        /* Relative to the wide part's density, which never vanishes first. */
        double wide = variance[1] * evidence->largest + noise;
        double density =
            share[k] * exp(-0.5 * mean * mean * (1.0 / total - 1.0 / wide)) / sqrt(total);
        mass += density;
        sum += density * prior / total;
    }
    return mean * sum / mass;
}

/* The moments are about the means with an intercept; the intercept then makes the prediction go
 * through these means, which `auto` shrinks first. */
enum tremolo_status tremolo_fit(double *beta, struct tremolo_fit *fit,
                                const struct tremolo_debiased *evidence,
                                const struct tremolo_fit_options *options)
{
    if (beta == NULL || fit == NULL || evidence == NULL || options == NULL ||
        !(options->ridge >= 0.0) || !isfinite(options->ridge)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct moments moments;
    enum tremolo_status status = TREMOLO_BAD_ARGUMENT;
    size_t d = evidence->d;
    bool centred = options->intercept;
    double *raw;
    double *memory = LINEAR_NEW({&moments.S, d * d}, {&raw, evidence->n * evidence->n});
    if (memory == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    tremolo_debias_moments(moments.S, moments.Z, &moments.yy, evidence, centred);
    switch (options->method) {
    case TREMOLO_METHOD_AUTO:
        status = solve_auto(beta, fit, moments.S, raw, evidence, centred);
        break;
    case TREMOLO_METHOD_ONE_SHOT:
        status = solve_ridge(beta, fit, &moments, d, options->ridge);
        break;
    case TREMOLO_METHOD_UNBIASED: status = solve_ridge(beta, fit, &moments, d, 0.0); break;
    }
    free(memory);
    if (status == TREMOLO_OK && centred) {
        bool shrunk = options->method == TREMOLO_METHOD_AUTO;
        fit->intercept = mean_of(evidence, d, shrunk);
        for (size_t i = 0; i < d; i++) {
            fit->intercept -= beta[i] * mean_of(evidence, i, shrunk);
        }
    }
    return status;
}

/* ---------------------------------------------------------------- the share explained */

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
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
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

void tremolo_fit_to_own(double *own_beta, double *own_intercept, const double *beta,
                        double intercept, size_t dimension, const struct tremolo_units *units)
{
    double constant = units->response_centre + units->response_scale * intercept;
    for (size_t i = 0; i < dimension; i++) {
        double slope = units->response_scale * beta[i] / units->feature_scale[i];
        constant -= slope * units->feature_centre[i];
        own_beta[i] = slope;
    }
    *own_intercept = constant;
}

/* ---------------------------------------------------------------- ballots
 *
 * `auto` solves the posterior mean of M (posterior.c), `unbiased` M as it is. What `auto`
 * explains is judged by draws from the same posterior: R^2 of the fit, its mean and the middle
 * of it that the level asks for. Noise was known and the fit is fixed, so no part of the data is needed twice.
 *
 * Slopes are shrunk where M does not show that features and response are related at all: a
 * posterior has slopes of some size whatever is seen, and without a signal each of them costs.
 *
 * How far weights can matter. Let b solve plain least squares, r its residuals, and let
 * low <= s^2 <= high. The weighted coefficients are b + S^-1 E s^2 a r with S = E s^2 aa', and
 * E (s^2 - k) a r is the same for every k. Projecting (s^2 - k) r / s on s a bounds the
 * weighted mean square of the difference of the two predictions by E s^2 (1 - k/s^2)^2 r^2,
 * which for k = 2 low high / (low + high) is at most ((high - low)/(high + low))^2 E s^2 r^2. */

#define WIDEST_NOISE 0.4 /* of R^2 by M, one standard deviation */
#define LEAST_TRUST  0.2 /* of slopes without a sign of a signal: a third of what they explain */
#define CLEAR_SDS    3.0 /* so far from nothing is noise alone once in 50 (1 feature) to 200 (40) */

/* Loss of theta under M: E s^2 (w - prediction)^2. */
static double loss(const double *theta, const double *M, size_t n)
{
    size_t p = n - 1;
    double sum = M[p * n + p];
    for (size_t i = 0; i < p; i++) {
        sum += theta[i] * (linear_dot(M + i * n, theta, p) - 2.0 * M[i * n + p]);
    }
    return sum;
}

/* R^2 of theta under M, about the mean of w. */
static double share_explained(const double *theta, const double *M, size_t n)
{
    size_t p = n - 1;
    double total = M[p * n + p] - M[p] * M[p] / M[0];
    return 1.0 - loss(theta, M, n) / total;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

/* The share p of `count` sorted draws; beyond the outermost two it is that of a normal tail. */
static double quantile(const double *sorted, size_t count, double p, double mean, double sd)
{
    double at = p * (double)(count - 1);
    double outer = mean + sd * tremolo_normal_quantile(p);
    if (at < 1.0) {
        return fmin(outer, sorted[1]);
    }
    if (at > (double)(count - 2)) {
        return fmax(outer, sorted[count - 2]);
    }
    size_t below = (size_t)at;
    return sorted[below] + (at - floor(at)) * (sorted[below + 1] - sorted[below]);
}

/* R^2 and its interval. */
static void judge(struct tremolo_ballot_fit *fit, const double *theta,
                  struct ballot_posterior *posterior, double level)
{
    double r2[BALLOT_DRAWS];
    size_t count = ballot_posterior_explained(r2, posterior, theta);
    double mean = 0.0;
    double variance = 0.0;
    for (size_t k = 0; k < count; k++) {
        mean += r2[k] / (double)count;
    }
    for (size_t k = 0; k < count; k++) {
        variance += (r2[k] - mean) * (r2[k] - mean) / (double)count;
    }
    double sd = sqrt(variance);
    qsort(r2, count, sizeof *r2, by_size);
    fit->fit.r2 = mean;
    fit->r2_low = quantile(r2, count, 0.5 - 0.5 * level, mean, sd);
    fit->r2_high = fmin(quantile(r2, count, 0.5 + 0.5 * level, mean, sd), 1.0);
}

/* Slopes by `trust`; the prediction still goes through the means that M has. */
static void hold_back(double *theta, double trust, const double *M, size_t n)
{
    theta[0] = M[n - 1];
    for (size_t i = 1; i < n - 1; i++) {
        theta[i] *= trust;
        theta[0] -= theta[i] * M[i];
    }
    theta[0] /= M[0];
}

/* Decide whether R^2 can be quoted. Where the ballots show little, the posterior is mostly its prior, and it looks
 * certain. So R^2 is quoted only where M itself could show it: R^2 = 1 - L/T with the loss L of
 * theta and the response's variance T; both are linear in M, except for the mean, and their noise
 * is known. The decision must not depend on how large R^2 came out, or quoted values would be
 * biased: so it is made for slopes that explain half of T, under P, the posterior mean of M. */
static bool is_told(const double *theta, const double *P, const struct tremolo_ballot *ballots)
{
    const double *M = ballots->M;
    size_t n = ballots->n;
    size_t p = n - 1;
    double half[BALLOT_MAX];
    double mean = P[p] / P[0];
    double total = P[p * n + p] - mean * P[p];
    double on_total = 0.0; /* variances of T, and of R^2 */
    double variance = 0.0;
    memcpy(half, theta, p * sizeof *half);
    hold_back(half, sqrt(0.5 / share_explained(theta, P, n)), P, n);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i; j < n; j++) {
            double a = (i == p ? -1.0 : half[i]) * (j == p ? -1.0 : half[j]);
            double of_loss = i == j ? a : 2.0 * a;
            double of_total = i == p ? 1.0 : i > 0 ? 0.0 : j == p ? -2.0 * mean : 0.0;
            of_total += i == 0 && j == 0 ? mean * mean : 0.0;
            double noise = ballot_variance(ballots, i, j);
            double both = (0.5 * of_total - of_loss) / total;
            on_total += of_total * of_total * noise;
            variance += both * both * noise;
        }
    }
    double seen = M[p * n + p] - M[p] * M[p] / M[0];
    return seen > 2.0 * sqrt(on_total) && sqrt(variance) <= WIDEST_NOISE;
}

/* What slopes count for, with the posterior mean P of M: by the covariances of features and
 * response, squared and by their noise. */
static double signal_trust(const struct tremolo_ballot *ballots, const double *P)
{
    const double *M = ballots->M;
    size_t n = ballots->n;
    size_t w = n - 1;
    double mean_w = P[w] / P[0];
    double seen = 0.0;
    for (size_t i = 1; i < w; i++) {
        double mean = P[i] / P[0];
        double both = mean * mean_w;
        double covariance = M[i * n + w] - mean * M[w] - mean_w * M[i] + both * M[0];
        double noise = ballot_variance(ballots, i, w) +
                       mean * mean * ballot_variance(ballots, 0, w) +
                       mean_w * mean_w * ballot_variance(ballots, 0, i) +
                       both * both * ballot_variance(ballots, 0, 0);
        seen += covariance * covariance / noise;
    }
    return shrink_trust(seen, 1.0, (double)ballots->d, LEAST_TRUST, CLEAR_SDS);
}

/* theta <- M_aa^-1 M_aw; `inverse` (p * p) gets M_aa^-1. */
static enum tremolo_status ballot_solve(double *theta, double *inverse, const double *M, size_t n)
{
    size_t p = n - 1;
    linear_block(inverse, M, p, n);
    enum tremolo_status status = linear_inverse(inverse, p);
    if (status == TREMOLO_OK) {
        linear_apply(theta, inverse, M + p * n, p);
    }
    return status;
}

/* Eigenvalues of M_aa, ascending; `work` holds p * p. */
static bool spectrum(double *values, double *work, const double *M, size_t n)
{
    linear_block(work, M, n - 1, n);
    return linear_eigenvalues(values, work, n - 1);
}

/* What a fit says of itself except R^2; `M` is the matrix that was solved. */
static enum tremolo_status describe(struct tremolo_ballot_fit *fit, const double *theta,
                                    const double *M, double *work,
                                    const struct tremolo_ballot *ballots)
{
    size_t n = ballots->n;
    size_t p = n - 1;
    double values[BALLOT_MAX];
    if (!spectrum(values, work, ballots->M, n)) {
        return TREMOLO_NOT_CONVERGED;
    }
    double noise = sqrt(ballot_variance(ballots, 0, 1));
    double least = ballots->h * ballots->h + ballots->rest; /* of 1/s^2 */
    double most = least + (double)ballots->d;
    fit->noise_ratio = values[0] > 0.0 ? noise * sqrt((double)ballots->d) / values[0] : INFINITY;
    fit->shift_max = (most - least) / (most + least);
    fit->fit.negative = count_negative(values, p);
    if (!spectrum(values, work, M, n)) {
        return TREMOLO_NOT_CONVERGED;
    }
    fit->fit.condition = fabs(values[p - 1] / values[0]);
    double mass = M[0] / (ballots->h * ballots->h);
    double unit = ballots->w_scale * ballots->w_scale / mass;
    fit->fit.residual_variance = unit * loss(theta, M, n);
    fit->fit.intercept = ballots->h * ballots->w_scale * theta[0] + ballots->w_mean;
    return isfinite(fit->fit.residual_variance) ? TREMOLO_OK : TREMOLO_NOT_CONVERGED;
}

enum tremolo_status tremolo_ballot_fit(double *beta, struct tremolo_ballot_fit *fit,
                                       const struct tremolo_ballot *ballots,
                                       enum tremolo_method method, double level)
{
    if (beta == NULL || fit == NULL || ballots == NULL || !(level > 0.0 && level < 1.0) ||
        (method != TREMOLO_METHOD_AUTO && method != TREMOLO_METHOD_UNBIASED)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    size_t n = ballots->n;
    double theta[BALLOT_MAX];
    struct tremolo_ballot_fit made = {.fit.r2 = NAN, .r2_low = NAN, .r2_high = NAN};
    struct ballot_posterior *posterior = NULL;
    double *M, *work;
    double *memory = LINEAR_NEW({&M, n * n}, {&work, n * n});
    if (memory == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    memcpy(M, ballots->M, n * n * sizeof *M);
    enum tremolo_status status =
        method == TREMOLO_METHOD_AUTO ? ballot_posterior_new(&posterior, M, ballots) : TREMOLO_OK;
    if (status == TREMOLO_OK) {
        status = ballot_solve(theta, work, M, n);
    }
    bool told = false;
    if (status == TREMOLO_OK && posterior != NULL) {
        told = is_told(theta, M, ballots);
        hold_back(theta, signal_trust(ballots, M), M, n);
    }
    if (status == TREMOLO_OK) {
        status = describe(&made, theta, M, work, ballots);
    }
    if (status != TREMOLO_OK) {
        goto done;
    }
    if (told) {
        judge(&made, theta, posterior, level);
    }
    for (size_t i = 0; i < ballots->d; i++) {
        beta[i] = ballots->w_scale * theta[i + 1];
    }
    *fit = made;
done:
    ballot_posterior_free(posterior);
    free(memory);
    return status;
}
