/* estimate.c -- from evidence to a table for conclusions and a prediction.
 *
 * The table is the unbiased estimator's, the prediction the shrunken one's, and the two
 * are kept apart. */
#include "tremolo_estimate.h"

#include <math.h>
#include <stdlib.h>

void tremolo_estimate_begin(struct tremolo_estimate *estimate)
{
    *estimate = (struct tremolo_estimate){
        .unit = "",
        .response_range = NAN,
        .response_cut = NAN,
        .round = TREMOLO_UNKNOWN,
        .rounds = TREMOLO_UNKNOWN,
        .reports = TREMOLO_UNKNOWN,
        .devices = TREMOLO_UNKNOWN,
        .round_reports = TREMOLO_UNKNOWN,
        .repeated = TREMOLO_UNKNOWN,
        .devices_needed = NAN,
        .level = 0.95,
        .evidence_round = TREMOLO_UNKNOWN,
        .r2 = NAN,
        .r2_low = NAN,
        .r2_high = NAN,
        .noise_ratio = NAN,
        .shift_max = NAN,
        .condition = NAN,
        .noise_sd = NAN,
        .negative = TREMOLO_UNKNOWN,
    };
    tremolo_diagnosis_begin(&estimate->diagnosis);
}

const char *tremolo_estimate_name(const struct tremolo_estimate *estimate, size_t row)
{
    return row < estimate->features ? estimate->names[row] : "(intercept)";
}

/* Does the table say anything of a feature? */
static bool is_identified(const struct tremolo_estimate *estimate)
{
    for (size_t i = 0; estimate->rows != NULL && i < estimate->features; i++) {
        if (estimate->rows[i].identified) {
            return true;
        }
    }
    return false;
}

/* A table from ballots, or else from evidence; *table stays as it is without one. */
static enum tremolo_status infer(struct tremolo_coefficient **table,
                                 const struct tremolo_estimate *estimate,
                                 const struct tremolo_debiased *evidence,
                                 const struct tremolo_ballot *ballots,
                                 const struct tremolo_units *units)
{
    struct tremolo_coefficient *rows = calloc(estimate->features + 1, sizeof *rows);
    if (rows == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    enum tremolo_status status = ballots != NULL
                                     ? tremolo_ballot_infer(rows, ballots, units, estimate->level)
                                     : tremolo_infer(rows, evidence, units, estimate->level);
    if (status != TREMOLO_OK) {
        free(rows);
        return status;
    }
    *table = rows;
    return TREMOLO_OK;
}

/* The table's rows, or why there are none. */
static enum tremolo_status set_rows(struct tremolo_estimate *estimate,
                                    const struct tremolo_debiased *evidence,
                                    const struct tremolo_ballot *ballots,
                                    const struct tremolo_units *units)
{
    enum tremolo_status status = infer(&estimate->rows, estimate, evidence, ballots, units);
    if (status == TREMOLO_NO_MEMORY) {
        return status;
    }
    if (status != TREMOLO_OK) {
        estimate->remark =
            status == TREMOLO_SINGULAR
                ? "the debiased moment is singular at this noise: no unbiased estimate"
                : tremolo_status_sentence(status);
    } else if (isnan(estimate->devices_needed)) { /* the study said it, or the rows do */
        estimate->devices_needed = estimate->rows[0].devices_needed;
    }
    return TREMOLO_OK;
}

enum tremolo_status tremolo_estimate_infer(struct tremolo_estimate *estimate,
                                           const struct tremolo_debiased *evidence,
                                           const struct tremolo_units *units)
{
    return set_rows(estimate, evidence, NULL, units);
}

enum tremolo_status tremolo_estimate_robust(struct tremolo_estimate *estimate,
                                            const struct tremolo_debiased *evidence,
                                            const struct tremolo_ballot *ballots,
                                            const struct tremolo_units *units)
{
    if (evidence == NULL && ballots == NULL) {
        return TREMOLO_OK;
    }
    enum tremolo_status status = infer(&estimate->robust, estimate, evidence, ballots, units);
    return status == TREMOLO_NO_MEMORY ? status : TREMOLO_OK;
}

/* Without an interval there is no R^2 either. */
static enum tremolo_status set_r2(struct tremolo_estimate *estimate,
                                  const struct tremolo_debiased *evidence, const double *beta,
                                  const struct tremolo_fit *fit)
{
    double error = NAN;
    if (evidence == NULL || isnan(fit->r2) || !is_identified(estimate)) {
        return TREMOLO_OK;
    }
    enum tremolo_status status =
        tremolo_fit_r2_error(&error, evidence, beta, fit->intercept != 0.0);
    double half =
        error * tremolo_student_quantile(0.5 + estimate->level / 2, estimate->rows[0].degrees);
    if (status == TREMOLO_OK && isfinite(half)) {
        estimate->r2 = fit->r2;
        estimate->r2_low = fit->r2 - half;
        estimate->r2_high = fmin(fit->r2 + half, 1.0);
    }
    return status;
}

/* What noise hides has no error, and no covariance with others either. */
static void hide_covariance(struct tremolo_estimate *estimate)
{
    size_t p = estimate->features + 1;
    double *covariance = estimate->diagnosis.covariance;
    for (size_t i = 0; covariance != NULL && i < p * p; i++) {
        if (estimate->rows == NULL || !estimate->rows[i / p].identified ||
            !estimate->rows[i % p].identified) {
            covariance[i] = NAN;
        }
    }
}

static enum tremolo_status diagnose(struct tremolo_estimate *estimate,
                                    const struct tremolo_debiased *evidence,
                                    const struct tremolo_ballot *ballots, const double *beta,
                                    const struct tremolo_fit *fit,
                                    const struct tremolo_units *units)
{
    struct tremolo_fit judged = *fit;
    bool solved = !isnan(fit->condition);
    if (evidence == NULL && ballots == NULL) {
        estimate->diagnosis.residual_sd.estimate =
            solved ? sqrt(fmax(0.0, fit->residual_variance)) * units->response_scale : NAN;
        return TREMOLO_OK;
    }
    judged.residual_variance = solved ? fit->residual_variance : NAN;
    enum tremolo_status status = tremolo_diagnose(&estimate->diagnosis, evidence, ballots, beta,
                                                  &judged, units, estimate->level);
    hide_covariance(estimate);
    return status;
}

static enum tremolo_status predict(struct tremolo_estimate *estimate,
                                   const struct tremolo_debiased *evidence,
                                   const struct tremolo_ballot *ballots, const double *beta,
                                   const struct tremolo_fit *fit, const struct tremolo_units *units)
{
    size_t d = estimate->features;
    double *own = calloc(d + 1, sizeof *own);
    if (own == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    tremolo_fit_to_own(own, &own[d], beta, fit->intercept, d, units);
    estimate->prediction = own;
    if (!isnan(fit->condition)) { /* else no matrix was solved */
        estimate->condition = fit->condition;
        estimate->negative = (int64_t)fit->negative;
    }
    enum tremolo_status status = diagnose(estimate, evidence, ballots, beta, fit, units);
    return status == TREMOLO_OK ? set_r2(estimate, evidence, beta, fit) : status;
}

enum tremolo_status tremolo_estimate_predict(struct tremolo_estimate *estimate,
                                             const struct tremolo_debiased *evidence,
                                             const double *beta, const struct tremolo_fit *fit,
                                             const struct tremolo_units *units)
{
    return predict(estimate, evidence, NULL, beta, fit, units);
}

enum tremolo_status tremolo_estimate_solve(struct tremolo_estimate *estimate,
                                           const struct tremolo_debiased *evidence,
                                           const struct tremolo_units *units,
                                           const struct tremolo_fit_options *options)
{
    double beta[TREMOLO_MAX_FEATURES];
    struct tremolo_fit fit;
    enum tremolo_status status = tremolo_estimate_infer(estimate, evidence, units);
    if (status == TREMOLO_OK) {
        status = tremolo_fit(beta, &fit, evidence, options);
    }
    return status == TREMOLO_OK ? tremolo_estimate_predict(estimate, evidence, beta, &fit, units)
                                : status;
}

enum tremolo_status tremolo_estimate_ballots(struct tremolo_estimate *estimate,
                                             const struct tremolo_ballot *ballots,
                                             const struct tremolo_units *units,
                                             enum tremolo_method method)
{
    double beta[TREMOLO_MAX_FEATURES];
    struct tremolo_ballot_fit fit;
    enum tremolo_status status = set_rows(estimate, NULL, ballots, units);
    if (status == TREMOLO_OK) {
        status = tremolo_ballot_fit(beta, &fit, ballots, method, estimate->level);
    }
    if (status == TREMOLO_OK) {
        status = predict(estimate, NULL, ballots, beta, &fit.fit, units);
    }
    if (status == TREMOLO_OK) {
        estimate->r2 = fit.fit.r2;
        estimate->r2_low = fit.r2_low;
        estimate->r2_high = fit.r2_high;
        estimate->noise_ratio = fit.noise_ratio;
        estimate->shift_max = fit.shift_max;
    }
    return status;
}

void tremolo_estimate_free(struct tremolo_estimate *estimate)
{
    free(estimate->rows);
    free(estimate->robust);
    estimate->robust = NULL;
    free(estimate->prediction);
    tremolo_diagnosis_free(&estimate->diagnosis);
    estimate->rows = NULL;
    estimate->prediction = NULL;
}

size_t tremolo_estimate_extents(struct tremolo_extent *extents,
                                const struct tremolo_estimate *estimate,
                                const struct tremolo_units *units, bool response_private)
{
    size_t d = estimate->features;
    if (estimate->ranges == NULL) {
        return 0;
    }
    for (size_t i = 0; i < d; i++) {
        double range = estimate->ranges[i];
        extents[i] =
            (struct tremolo_extent){estimate->names[i], "", range, range / units->feature_scale[i]};
    }
    double range = estimate->response_range;
    extents[d] = (struct tremolo_extent){estimate->response, estimate->unit, range,
                                         range / units->response_scale};
    return d + response_private;
}

double tremolo_extents_diameter(const struct tremolo_extent *extents, size_t count)
{
    double square = 0;
    for (size_t i = 0; i < count; i++) {
        square += extents[i].distance * extents[i].distance;
    }
    return sqrt(square);
}
