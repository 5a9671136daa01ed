/* infer.c -- standard errors, tests and intervals for the unbiased estimator.
 *
 * The estimate solves the debiased normal equations S beta = Z. Two standard
 * errors are given:
 *   group jackknife over the hash buckets, the one behind z, p and the interval. It
 *     assumes nothing about residuals or noise, needs only the buckets' sums, and
 *     pays with Student's quantile for (buckets - 1) degrees of freedom;
 *   the sandwich S^-1 Omega S^-1 / K with Omega = (b'Mb) M_xx + (D_x b)(D_x b)', b =
 *     (beta, -1): the noise terms are exact (their fourth moments are known), and the
 *     residual's share assumes equal variance. The full fourth moment of the data would
 *     need a second pass at beta, or sums of degree four; the reports' second moments
 *     already determine this form.
 * Agreement of the two is a check on the data; a jackknife well above the sandwich
 * points at unequal residual variance.
 *
 * Score-test sets come from score.c. A coefficient counts as identified when its
 * set is bounded. */
#include "infer.h"
#include "linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- systems */

/* Where joint coordinate i of the evidence stands among (x, 1, y). */
static size_t place(size_t i, size_t d)
{
    return i < d ? i : i + 1;
}

enum tremolo_status system_take(struct system *system, const struct tremolo_debiased *evidence,
                                size_t skip)
{
    size_t d = evidence->d;
    size_t n = evidence->n;
    size_t p = d + 1;
    size_t q = p + 1;
    double mean[TREMOLO_MAX_FEATURES + 1];
    double *raw;
    *system = (struct system){.p = p, .q = q};
    system->memory = LINEAR_NEW({&raw, n * n}, {&system->raw, q * q}, {&system->bias, q * q});
    if (system->memory == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    system->devices = evidence_raw(raw, mean, evidence, false, skip);
    for (size_t i = 0; i < n; i++) {
        size_t row = place(i, d);
        for (size_t j = 0; j < n; j++) {
            size_t column = place(j, d);
            system->raw[row * q + column] = raw[i * n + j];
            system->bias[row * q + column] = evidence->bias[i * n + j];
        }
        system->raw[row * q + d] = mean[i];
        system->raw[d * q + row] = mean[i];
    }
    system->raw[d * q + d] = 1.0;
    return TREMOLO_OK;
}

/* S and Z of S beta = Z. */
static void equations(double *S, double *Z, const struct system *system)
{
    size_t p = system->p;
    size_t q = system->q;
    for (size_t i = 0; i < p; i++) {
        for (size_t j = 0; j < p; j++) {
            S[i * p + j] = system->raw[i * q + j] - system->bias[i * q + j];
        }
        Z[i] = system->raw[i * q + p] - system->bias[i * q + p];
    }
}

/* Solve the debiased normal equations; `inverse` (p * p) gets S^-1. */
static enum tremolo_status solve(double *beta, double *inverse, const struct system *system)
{
    double right[INFER_MAX];
    equations(inverse, right, system);
    enum tremolo_status status = linear_inverse(inverse, system->p);
    if (status == TREMOLO_OK) {
        linear_apply(beta, inverse, right, system->p);
    }
    return status;
}

/* ---------------------------------------------------------------- standard errors */

bool analysis_new(struct analysis *analysis, size_t p)
{
    *analysis = (struct analysis){.p = p};
    analysis->memory = LINEAR_NEW({&analysis->left_out, TREMOLO_BUCKETS * p}, {&analysis->beta, p},
                                  {&analysis->covariance, p * p}, {&analysis->inverse, p * p},
                                  {&analysis->work, p * p});
    return analysis->memory != NULL;
}

void analysis_drop(struct analysis *analysis)
{
    free(analysis->memory);
    free(analysis->score.memory);
}

/* covariance <- S^-1 Omega S^-1 / K */
static void sandwich(struct analysis *analysis, const struct system *system)
{
    size_t p = system->p;
    size_t q = system->q;
    double b[INFER_MAX];
    double tilt[INFER_MAX];
    memcpy(b, analysis->beta, p * sizeof *b);
    b[p] = -1.0;
    double residual = linear_form(b, system->raw, b, q);
    for (size_t i = 0; i < p; i++) {
        tilt[i] = linear_dot(system->bias + i * q, b, q);
    }
    for (size_t i = 0; i < p; i++) {
        for (size_t j = 0; j < p; j++) {
            analysis->covariance[i * p + j] =
                (residual * system->raw[i * q + j] + tilt[i] * tilt[j]) / system->devices;
        }
    }
    linear_sandwich(analysis->covariance, analysis->work, analysis->inverse, p);
}

static enum tremolo_status leave_out(struct analysis *analysis,
                                     const struct tremolo_debiased *evidence)
{
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        double count = evidence->bucket[b].count;
        if (!(count > 0.0)) {
            continue;
        }
        struct system part;
        enum tremolo_status status = system_take(&part, evidence, b);
        if (status != TREMOLO_OK) {
            return status;
        }
        double *row = analysis->left_out + analysis->groups * analysis->p;
        equations(analysis->work, row, &part);
        status = linear_solve(row, analysis->work, analysis->p);
        free(part.memory);
        if (status != TREMOLO_OK) {
            return status;
        }
        analysis->share[analysis->groups++] = evidence->devices / count;
    }
    return analysis->groups >= 2 ? TREMOLO_OK : TREMOLO_BAD_ARGUMENT;
}

/* The planner's number at its usual guesses and this noise: what noise hides gives no better
 * ones, and whoever planned reads the same number again. Scaled features lie in -1..1, or
 * have the variance 1 where larger ones are released. */
static double planned_devices(const struct tremolo_debiased *evidence)
{
    size_t d = evidence->d;
    double noise = 0.0;
    double sd = fabs(evidence->largest - 1.0) < 1e-6 ? TREMOLO_PLAN_SD : 1.0;
    for (size_t i = 0; i < d; i++) {
        noise += evidence->bias[i * evidence->n + i] / (double)d;
    }
    const struct tremolo_plan_input input = {.dimension = d,
                                             .devices = fmax(evidence->devices, 2.0),
                                             .noise_sd = sqrt(noise),
                                             .feature_variance = sd * sd,
                                             .r2 = TREMOLO_PLAN_R2,
                                             .response_variance = sd * sd,
                                             .response_private = evidence->response_private};
    return tremolo_plan_needed(&input);
}

static enum tremolo_status analyse(struct analysis *analysis,
                                   const struct tremolo_debiased *evidence, double level)
{
    struct system system;
    enum tremolo_status status = system_take(&system, evidence, TREMOLO_BUCKETS);
    if (status != TREMOLO_OK) {
        return status;
    }
    status = analysis_new(analysis, system.p) ? solve(analysis->beta, analysis->inverse, &system)
                                              : TREMOLO_NO_MEMORY;
    if (status == TREMOLO_OK) {
        sandwich(analysis, &system);
        status = score_new(&analysis->score, &system, level);
    }
    if (status == TREMOLO_OK) {
        analysis->devices_needed = planned_devices(evidence);
        status = leave_out(analysis, evidence);
    }
    free(system.memory);
    if (status != TREMOLO_OK) {
        analysis_drop(analysis);
    }
    return status;
}

/* Delete-a-group jackknife for groups of unequal size: pseudo-values
 * h theta - (h - 1) theta_without, h = K / m, compared with their mean. */
static double jackknife_variance(const struct analysis *analysis, const double *w)
{
    double full = linear_dot(w, analysis->beta, analysis->p);
    double g = (double)analysis->groups;
    double centre = g * full;
    for (size_t k = 0; k < analysis->groups; k++) {
        double without = linear_dot(w, analysis->left_out + k * analysis->p, analysis->p);
        centre -= (1.0 - 1.0 / analysis->share[k]) * without;
    }
    double variance = 0.0;
    for (size_t k = 0; k < analysis->groups; k++) {
        double h = analysis->share[k];
        double without = linear_dot(w, analysis->left_out + k * analysis->p, analysis->p);
        double off = h * full - (h - 1.0) * without - centre;
        variance += off * off / (h - 1.0) / g;
    }
    return variance;
}

/* ---------------------------------------------------------------- one line */

void analysis_describe(struct tremolo_coefficient *row, const struct analysis *analysis,
                       const double *w, double constant, double level)
{
    struct tremolo_coefficient line = {0};
    line.estimate = linear_dot(w, analysis->beta, analysis->p) + constant;
    line.standard_error = sqrt(jackknife_variance(analysis, w));
    line.model_error = sqrt(fmax(linear_form(w, analysis->covariance, w, analysis->p), 0.0));
    line.degrees = (double)(analysis->groups - 1);
    double t = tremolo_student_quantile(0.5 + 0.5 * level, line.degrees);
    line.z = line.estimate / line.standard_error;
    line.p = 2.0 * tremolo_student_cdf(-fabs(line.z), line.degrees);
    line.low = line.estimate - t * line.standard_error;
    line.high = line.estimate + t * line.standard_error;
    line.score_shape = score_interval(&line.score_low, &line.score_high, &analysis->score, w);
    line.score_low += constant;
    line.score_high += constant;
    line.identified = line.score_shape == TREMOLO_INTERVAL_BOUNDED;
    line.devices_needed = analysis->devices_needed;
    *row = line;
}

double infer_carry(double *scaled, size_t j, size_t d, const struct tremolo_units *units)
{
    memset(scaled, 0, (d + 1) * sizeof *scaled);
    scaled[j] = 1.0;
    if (units == NULL) {
        return 0.0;
    }
    double on_constant = j == d ? 1.0 : 0.0;
    for (size_t i = 0; i < d; i++) {
        double slope = units->response_scale / units->feature_scale[i];
        scaled[i] = slope * (scaled[i] - on_constant * units->feature_centre[i]);
    }
    scaled[d] = units->response_scale * on_constant;
    return on_constant * units->response_centre;
}

enum tremolo_status tremolo_infer(struct tremolo_coefficient *rows,
                                  const struct tremolo_debiased *evidence,
                                  const struct tremolo_units *units, double level)
{
    if (rows == NULL || evidence == NULL || !(level > 0.0 && level < 1.0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct analysis analysis;
    enum tremolo_status status = analyse(&analysis, evidence, level);
    if (status != TREMOLO_OK) {
        return status;
    }
    double scaled[INFER_MAX];
    for (size_t j = 0; j < analysis.p; j++) {
        double constant = infer_carry(scaled, j, evidence->d, units);
        analysis_describe(&rows[j], &analysis, scaled, constant, level);
    }
    analysis_drop(&analysis);
    return TREMOLO_OK;
}
