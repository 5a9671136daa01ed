/* estimate.c -- from evidence to a table for conclusions and a prediction.
 *
 * The table is the unbiased estimator's, the prediction the shrunken one's, and the two are kept
 * apart: a shrunken coefficient has no valid interval, and an unbiased one predicts badly. Every
 * estimate is made here, in one order, whether its reports are in a file, on a server or
 * simulated.
 *
 * A source (report_file.c, the server, a simulation) fills in what it knows of the study and of
 * its reports, brings evidence, and calls tremolo_estimate_make(). A number that is not known is
 * NaN or TREMOLO_UNKNOWN and becomes null in documents, never 0. */
#include "estimate_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a source does not set stays unknown. Nothing is allocated yet; strings and lists that a
 * source sets stay its own. */
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
        .evidence_round = TREMOLO_UNKNOWN,
        .degrees = NAN,
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

/* True if the table says anything of a feature. */
static bool is_identified(const struct tremolo_estimate *estimate)
{
    for (size_t i = 0; estimate->rows != NULL && i < estimate->features; i++) {
        if (estimate->rows[i].identified) {
            return true;
        }
    }
    return false;
}

/* ---------------------------------------------------------------- the table
 *
 * Only memory can make it fail. Everything else, such as a moment that noise has made singular, is
 * itself what the reports say, and a reader gets it as a remark. */

/* The rows of samples or else of ballots. features + 1 of them, the intercept last. The caller
 * frees the table; on failure *table is untouched. */
static enum tremolo_status infer(struct tremolo_coefficient **table,
                                 const struct tremolo_estimate *estimate,
                                 const struct tremolo_debiased *samples,
                                 const struct tremolo_ballot *ballots,
                                 const struct tremolo_units *units)
{
    struct tremolo_coefficient *rows = calloc(estimate->features + 1, sizeof *rows);
    if (rows == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    enum tremolo_status status = ballots != NULL
                                     ? tremolo_ballot_infer(rows, ballots, units, estimate->level)
                                     : tremolo_infer(rows, samples, units, estimate->level);
    if (status != TREMOLO_OK) {
        free(rows);
        return status;
    }
    *table = rows;
    return TREMOLO_OK;
}

/* The table and the robust one, or the remark why there is none. OK or NO_MEMORY. A robust table
 * that cannot be made is left out without a remark, since the first one is the estimate; only
 * missing memory is a failure for either. */
static enum tremolo_status conclude(struct tremolo_estimate *estimate,
                                    const struct tremolo_evidence *evidence,
                                    const struct tremolo_units *units)
{
    enum tremolo_status status =
        infer(&estimate->rows, estimate, evidence->samples, evidence->ballots, units);
    if (status == TREMOLO_SINGULAR) {
        estimate->remark = "the debiased moment is singular at this noise: no unbiased estimate";
    } else if (status != TREMOLO_OK) {
        estimate->remark = tremolo_status_sentence(status);
    } else if (isnan(estimate->devices_needed)) { /* the study said it, or the rows do */
        estimate->devices_needed = estimate->rows[0].devices_needed;
    }
    if (status != TREMOLO_NO_MEMORY &&
        (evidence->robust_samples != NULL || evidence->robust_ballots != NULL)) {
        status = infer(&estimate->robust, estimate, evidence->robust_samples,
                       evidence->robust_ballots, units);
    }
    return status == TREMOLO_NO_MEMORY ? status : TREMOLO_OK;
}

/* ---------------------------------------------------------------- the prediction
 *
 * From ballots, from samples, or from a fit that the caller has made: rounds and raw rows are
 * fitted where they are, and their coefficients come here to be judged and carried to own units. */

/* A prediction in scaled units, with its account of itself. It lives for one call of
 * tremolo_estimate_make(); only the numbers in own units are kept. */
struct predicted {
    double beta[TREMOLO_MAX_FEATURES];
    struct tremolo_fit fit;
};

/* R^2, its interval and what is known of the weights come with the coefficients of ballots. The
 * fit of the caller is not read: ballots have one of their own. */
static enum tremolo_status predict_ballots(struct predicted *predicted,
                                           struct tremolo_estimate *estimate,
                                           const struct tremolo_ballot *ballots,
                                           const struct tremolo_estimate_method *method)
{
    struct tremolo_ballot_fit fit;
    enum tremolo_status status =
        tremolo_ballot_fit(predicted->beta, &fit, ballots, method->fit.method, estimate->level);
    if (status == TREMOLO_OK) {
        predicted->fit = fit.fit;
        estimate->r2 = fit.fit.r2;
        estimate->r2_low = fit.r2_low;
        estimate->r2_high = fit.r2_high;
        estimate->noise_ratio = fit.noise_ratio;
        estimate->shift_max = fit.shift_max;
    }
    return status;
}

/* The last iterate of rounds solves no matrix, and its account of R^2 is what all rounds say of
 * it. */
static void ask_theorems(struct tremolo_estimate *estimate, struct predicted *predicted,
                         const struct tremolo_debiased *samples,
                         const struct tremolo_convergence_input *rounds)
{
    estimate->of_rounds = true;
    estimate->convergence = tremolo_convergence_of_fit(rounds, samples, predicted->beta);
    if (isnan(predicted->fit.condition)) {
        predicted->fit.r2 = tremolo_convergence_r2(&estimate->convergence, samples);
    }
}

/* By the fit that the method asks for, or by what the caller has fitted already. */
static enum tremolo_status predict_samples(struct predicted *predicted,
                                           struct tremolo_estimate *estimate,
                                           const struct tremolo_debiased *samples,
                                           const struct tremolo_estimate_method *method)
{
    enum tremolo_status status = TREMOLO_OK;
    if (method->beta != NULL) {
        memcpy(predicted->beta, method->beta, estimate->features * sizeof *predicted->beta);
        predicted->fit = *method->made;
    } else {
        status = tremolo_fit(predicted->beta, &predicted->fit, samples, &method->fit);
    }
    if (status == TREMOLO_OK && method->rounds != NULL) {
        ask_theorems(estimate, predicted, samples, method->rounds);
    }
    return status;
}

/* R^2 and its interval by the jackknife of the samples. Where noise hides every coefficient, or
 * the interval has no end, there is no R^2 either: a number without its error would be quoted.
 * The high end stops at 1, which no R^2 exceeds; the low end may be negative, and says then that
 * the prediction may be worse than the mean. */
static enum tremolo_status set_r2(struct tremolo_estimate *estimate,
                                  const struct tremolo_debiased *evidence,
                                  const struct predicted *predicted)
{
    const struct tremolo_fit *fit = &predicted->fit;
    double error = NAN;
    if (evidence == NULL || isnan(fit->r2) || !is_identified(estimate)) {
        return TREMOLO_OK;
    }
    enum tremolo_status status =
        tremolo_fit_r2_error(&error, evidence, predicted->beta, fit->intercept != 0.0);
    double half = error * tremolo_student_quantile(0.5 + estimate->level / 2, estimate->degrees);
    if (status == TREMOLO_OK && isfinite(half)) {
        estimate->r2 = fit->r2;
        estimate->r2_low = fit->r2 - half;
        estimate->r2_high = fmin(fit->r2 + half, 1.0);
    }
    return status;
}

/* What noise hides has no error, and no covariance with others either; a reader who combines
 * coefficients would otherwise get an interval that nothing supports. The matrix is (features +
 * 1)^2, in the order of the table. */
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

/* What the prediction leaves unexplained, and what the evidence says of the coefficients
 * together. Without reports only the fit on raw rows is known, and the residuals' deviation is
 * the fit's own. */
static enum tremolo_status diagnose(struct tremolo_estimate *estimate,
                                    const struct tremolo_evidence *evidence,
                                    const struct predicted *predicted,
                                    const struct tremolo_units *units)
{
    struct tremolo_fit judged = predicted->fit;
    bool solved = !isnan(judged.condition);
    if (evidence->samples == NULL && evidence->ballots == NULL) {
        estimate->diagnosis.residual_sd.estimate =
            solved ? sqrt(fmax(0.0, judged.residual_variance)) * units->response_scale : NAN;
        return TREMOLO_OK;
    }
    judged.residual_variance = solved ? judged.residual_variance : NAN;
    enum tremolo_status status =
        tremolo_diagnose(&estimate->diagnosis, evidence->samples, evidence->ballots,
                         predicted->beta, &judged, units, estimate->level);
    hide_covariance(estimate);
    return status;
}

/* Carry the prediction to own units, and judge it. The prediction has features + 1 numbers, the
 * intercept last, and belongs to the estimate. */
static enum tremolo_status take_prediction(struct tremolo_estimate *estimate,
                                           const struct tremolo_evidence *evidence,
                                           const struct predicted *predicted,
                                           const struct tremolo_units *units)
{
    size_t d = estimate->features;
    const struct tremolo_fit *fit = &predicted->fit;
    double *own = calloc(d + 1, sizeof *own);
    if (own == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    tremolo_fit_to_own(own, &own[d], predicted->beta, fit->intercept, d, units);
    estimate->prediction = own;
    if (!isnan(fit->condition)) { /* else no matrix was solved */
        estimate->condition = fit->condition;
        estimate->negative = (int64_t)fit->negative;
    }
    enum tremolo_status status = diagnose(estimate, evidence, predicted, units);
    return status == TREMOLO_OK ? set_r2(estimate, evidence->samples, predicted) : status;
}

/* The only place that makes an estimate. The order matters: the remark and the degrees of freedom
 * come with the table, R^2 needs to know whether a coefficient is identified, and a failure of
 * the prediction must leave the table as it is. What was made before a failure stays in the
 * estimate, for tremolo_estimate_free(). */
enum tremolo_status tremolo_estimate_make(struct tremolo_estimate *estimate,
                                          const struct tremolo_evidence *evidence,
                                          const struct tremolo_units *units, double level,
                                          const struct tremolo_estimate_method *method)
{
    struct predicted predicted;
    bool any = evidence->samples != NULL || evidence->ballots != NULL;
    estimate->level = level;
    estimate->tails = evidence->tails;
    estimate->watched = evidence->watched;
    if (!any && method->beta == NULL) {
        estimate->remark = "nothing can be said before two devices have reported";
        return TREMOLO_OK;
    }
    enum tremolo_status status = any ? conclude(estimate, evidence, units) : TREMOLO_OK;
    estimate->degrees = estimate->rows != NULL ? estimate->rows[0].degrees : NAN;
    if (status == TREMOLO_OK) {
        status = evidence->ballots != NULL
                     ? predict_ballots(&predicted, estimate, evidence->ballots, method)
                     : predict_samples(&predicted, estimate, evidence->samples, method);
    }
    return status == TREMOLO_OK ? take_prediction(estimate, evidence, &predicted, units) : status;
}

/* Accepts an estimate that was only begun. What a source set is not freed. */
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

/* A range divided by what is one unit of distance is how far apart two people can be in that
 * feature. `extents` has room for features + 1. Returned is how many of them the guarantee
 * covers: a public response is written but not counted; 0 without ranges. Names are borrowed. */
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

/* In the Euclidean distance that the guarantee is about. The farthest two people can be apart: at
 * the opposite ends of every range. */
double tremolo_extents_diameter(const struct tremolo_extent *extents, size_t count)
{
    double square = 0;
    for (size_t i = 0; i < count; i++) {
        square += extents[i].distance * extents[i].distance;
    }
    return sqrt(square);
}
