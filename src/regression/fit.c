/* fit.c -- coefficients for prediction: auto, the paper's one-shot ridge, unbiased.
 *
 * All three solve S beta = Z for debiased moments. `unbiased` takes S as it is,
 * possibly indefinite; `one-shot` adds a ridge; `auto` replaces S and Z by positive,
 * shrunken estimates (shrink.c). The intercept comes from the means. */
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
