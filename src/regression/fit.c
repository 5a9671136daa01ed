/* fit.c -- coefficients for prediction: auto, the paper's one-shot ridge, unbiased.
 *
 * All three solve S beta = Z for debiased moments. `unbiased` takes S as it is,
 * possibly indefinite; `one-shot` adds a ridge; `auto` replaces S and Z by positive,
 * shrunken estimates (shrink.c). The intercept comes from the means. */
#include "evidence.h"
#include "linear.h"
#include "shrink.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where a coordinate's mean lies before reports, variances as shares of the largest: */
#define MEAN_MIDDLE 0.95  /* this likely near the middle of the bounds */
#define MEAN_NEAR   0.004 /* with this variance */
#define MEAN_WIDE   0.15  /* else with this one */

struct moments {
    double *raw; /* n * n */
    double *S;   /* d * d */
    double *Z;   /* d */
    double *values;
    double mean[TREMOLO_MAX_FEATURES + 1];
    double yy;
    double devices;
};

static bool moments_take(struct moments *moments, const struct tremolo_debiased *evidence,
                         bool centred)
{
    size_t d = evidence->d;
    size_t n = evidence->n;
    moments->raw = linear_new(n * n);
    moments->S = linear_new(d * d);
    moments->Z = linear_new(d);
    moments->values = linear_new(d);
    if (!moments->raw || !moments->S || !moments->Z || !moments->values) {
        return false;
    }
    moments->devices =
        evidence_raw(moments->raw, moments->mean, evidence, centred, TREMOLO_BUCKETS);
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++) {
            moments->S[i * d + j] = moments->raw[i * n + j] - evidence->bias[i * n + j];
        }
        moments->Z[i] = moments->raw[i * n + d] - evidence->bias[i * n + d];
    }
    moments->yy = moments->raw[n * n - 1] - evidence->bias[n * n - 1];
    return true;
}

static void moments_drop(struct moments *moments)
{
    free(moments->raw);
    free(moments->S);
    free(moments->Z);
    free(moments->values);
}

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
    double solution[TREMOLO_MAX_FEATURES] = {0};
    if (!linear_eigen(moments->values, moments->S, d)) {
        return TREMOLO_NOT_CONVERGED;
    }
    size_t negative = count_negative(moments->values, d);
    for (size_t k = 0; k < d; k++) {
        moments->values[k] += ridge;
    }
    double condition = condition_of(moments->values, d);
    if (!(condition * (double)d * DBL_EPSILON < 1.0)) {
        return TREMOLO_SINGULAR;
    }
    for (size_t k = 0; k < d; k++) {
        const double *u = moments->S + k * d;
        double weight = linear_dot(u, moments->Z, d) / moments->values[k];
        for (size_t i = 0; i < d; i++) {
            solution[i] += weight * u[i];
        }
    }
    memcpy(beta, solution, d * sizeof *beta);
    double explained = 2.0 * linear_dot(beta, moments->Z, d);
    for (size_t k = 0; k < d; k++) {
        double along = linear_dot(moments->S + k * d, beta, d);
        explained -= (moments->values[k] - ridge) * along * along;
    }
    *fit = (struct tremolo_fit){
        .r2 = explained / moments->yy,
        .residual_variance = moments->yy - explained,
        .condition = condition,
        .negative = negative,
    };
    return TREMOLO_OK;
}

static enum tremolo_status solve_auto(double *beta, struct tremolo_fit *fit,
                                      struct moments *moments,
                                      const struct tremolo_debiased *evidence, bool centred)
{
    size_t d = evidence->d;
    double solution[TREMOLO_MAX_FEATURES];
    struct shrink_result result;
    struct shrink_problem problem = {
        .d = d,
        .devices = centred ? moments->devices - 1.0 : moments->devices,
        .noise = evidence->noise,
        .largest = evidence->largest,
        .raw = moments->raw,
        .bias = evidence->bias,
    };
    if (!linear_eigenvalues(moments->values, moments->S, d)) {
        return TREMOLO_NOT_CONVERGED;
    }
    size_t negative = count_negative(moments->values, d);
    enum tremolo_status status = shrink_solve(solution, moments->S, &result, &problem);
    if (status != TREMOLO_OK) {
        return status;
    }
    if (!linear_eigenvalues(moments->values, moments->S, d)) {
        return TREMOLO_NOT_CONVERGED;
    }
    memcpy(beta, solution, d * sizeof *beta);
    *fit = (struct tremolo_fit){
        .r2 = result.identified ? 1.0 - result.residual_variance / result.response_variance : NAN,
        .residual_variance = result.residual_variance,
        .condition = condition_of(moments->values, d),
        .negative = negative,
        .iterations = result.iterations,
        .shrink_features = result.pseudo_features,
        .shrink_beta = result.pseudo_beta,
    };
    return TREMOLO_OK;
}

/* A coordinate's mean, for `auto`. Where it is noisy, in a small study by more than
 * the coordinate itself varies, bounds still put zero in the middle of what is
 * possible: the posterior mean under a prior of two normals about zero, of which
 * the narrow one is believed until the reports speak against it. */
static double likely_mean(const struct tremolo_debiased *evidence, size_t coordinate, double mean,
                          double devices)
{
    static const double share[2] = {MEAN_MIDDLE, 1.0 - MEAN_MIDDLE};
    static const double variance[2] = {MEAN_NEAR, MEAN_WIDE};
    double noise = evidence->bias[coordinate * evidence->n + coordinate] / devices;
    double mass = 0.0;
    double sum = 0.0;
    if (!(noise > 0.0) || !(evidence->largest > 0.0)) {
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

/* What the prediction is when every feature is zero. */
static double intercept_of(const struct tremolo_debiased *evidence, const double *beta,
                           const double *mean, double devices, bool shrunk)
{
    size_t d = evidence->d;
    double intercept = shrunk ? likely_mean(evidence, d, mean[d], devices) : mean[d];
    for (size_t i = 0; i < d; i++) {
        intercept -= beta[i] * (shrunk ? likely_mean(evidence, i, mean[i], devices) : mean[i]);
    }
    return intercept;
}

enum tremolo_status tremolo_fit(double *beta, struct tremolo_fit *fit,
                                const struct tremolo_debiased *evidence,
                                const struct tremolo_fit_options *options)
{
    if (beta == NULL || fit == NULL || evidence == NULL || options == NULL ||
        !(options->ridge >= 0.0) || !isfinite(options->ridge)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct moments moments = {0};
    enum tremolo_status status = TREMOLO_NO_MEMORY;
    size_t d = evidence->d;
    if (!moments_take(&moments, evidence, options->intercept)) {
        goto done;
    }
    switch (options->method) {
    case TREMOLO_METHOD_AUTO:
        status = solve_auto(beta, fit, &moments, evidence, options->intercept);
        break;
    case TREMOLO_METHOD_ONE_SHOT:
        status = solve_ridge(beta, fit, &moments, d, options->ridge);
        break;
    case TREMOLO_METHOD_UNBIASED: status = solve_ridge(beta, fit, &moments, d, 0.0); break;
    default: status = TREMOLO_BAD_ARGUMENT; break;
    }
    if (status == TREMOLO_OK && options->intercept) {
        fit->intercept = intercept_of(evidence, beta, moments.mean, moments.devices,
                                      options->method == TREMOLO_METHOD_AUTO);
    }
done:
    moments_drop(&moments);
    return status;
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

/* What features add to a prediction beyond the reach. */
static double beyond(const double *x, const double *beta, size_t dimension, double reach)
{
    double sum = 0.0;
    for (size_t i = 0; i < dimension; i++) {
        sum += fabs(x[i]) > reach ? beta[i] * (x[i] - copysign(reach, x[i])) : 0.0;
    }
    return sum;
}

double tremolo_r2(const double *beta, double intercept, const double *X, const double *y,
                  size_t rows, size_t dimension, double reach)
{
    double mean = 0.0;
    for (size_t i = 0; i < rows; i++) {
        mean += y[i] / (double)rows;
    }
    double residual = 0.0;
    double total = 0.0;
    for (size_t i = 0; i < rows; i++) {
        const double *x = X + i * dimension;
        double error = y[i] - intercept - linear_dot(x, beta, dimension);
        error += beyond(x, beta, dimension, reach);
        residual += error * error;
        total += (y[i] - mean) * (y[i] - mean);
    }
    return 1.0 - residual / total;
}
