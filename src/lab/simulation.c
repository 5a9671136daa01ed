/* simulation.c -- repeats of an experiment, and what the first of them says.
 *
 * One repeat shuffles the rows and holds some out (a split), fits least squares to the others, lets
 * each of the others report as a device and fits the reports (experiment.c), and measures the R^2 of
 * both fits on the rows held out. Every repeat has new noise. The first one's coefficients, intervals and
 * prediction become the estimate, by the same calls that an estimate of real reports takes; the others
 * only show how much R^2 varies. */
#include "experiment.h"
#include "tremolo_simulation.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "simulation_json.h"
#include "regression.h"

/* Of the intervals. */
static const double usual_level = 0.95;

bool tremolo_simulation_clamps(const struct tremolo_simulation *simulation,
                               const struct tremolo_design *design)
{
    enum tremolo_experiment_method method = simulation->experiment.method;
    return design->low != NULL && simulation->scaling == TREMOLO_SCALING_BOUNDS &&
           method != TREMOLO_EXPERIMENT_OLS && method != TREMOLO_EXPERIMENT_DP_SGD;
}

bool tremolo_simulation_cuts(const struct tremolo_simulation *simulation)
{
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    return experiment->release == TREMOLO_RELEASE_BALLOT &&
           experiment->method != TREMOLO_EXPERIMENT_OLS;
}

bool tremolo_simulation_clips(const struct tremolo_simulation *simulation,
                              const struct tremolo_design *design)
{
    return simulation->clip > 0 && tremolo_simulation_clamps(simulation, design);
}

static struct tremolo_units units_of(const struct tremolo_split *split)
{
    return (struct tremolo_units){split->centre, split->scale, split->response_centre,
                                  split->response_scale};
}

/* Ordinary least squares has its own standard errors, those of the textbook. They are
 * computed in the columns' own units, because the intercept's does not follow from the
 * scaled columns' standard errors. */
static enum tremolo_status infer_ols(struct tremolo_estimate *estimate,
                                     const struct tremolo_split *split)
{
    size_t d = split->d;
    double beta[TREMOLO_DESIGN_FEATURES_MAX + 1], error[TREMOLO_DESIGN_FEATURES_MAX + 1];
    double degrees = (double)(split->train - d) - 1;
    double *X = malloc(split->train * d * sizeof *X);
    double *y = malloc(split->train * sizeof *y);
    struct tremolo_coefficient *rows = calloc(d + 1, sizeof *rows);
    enum tremolo_status status =
        X != NULL && y != NULL && rows != NULL ? TREMOLO_OK : TREMOLO_NO_MEMORY;
    for (size_t r = 0; r < split->train && status == TREMOLO_OK; r++) {
        y[r] = split->response_centre + split->response_scale * split->y[r];
        for (size_t i = 0; i < d; i++) {
            X[r * d + i] = split->centre[i] + split->scale[i] * split->X[r * d + i];
        }
    }
    if (status == TREMOLO_OK) {
        status = tremolo_ols(beta, &beta[d], error, NULL, NULL, X, y, split->train, d, true);
    }
    free(X);
    free(y);
    if (status != TREMOLO_OK) {
        free(rows);
        return status;
    }
    double width = tremolo_student_quantile(0.5 + 0.5 * usual_level, degrees);
    for (size_t i = 0; i <= d; i++) {
        rows[i] = (struct tremolo_coefficient){.estimate = beta[i],
                                               .standard_error = error[i],
                                               .z = beta[i] / error[i],
                                               .low = beta[i] - width * error[i],
                                               .high = beta[i] + width * error[i],
                                               .degrees = degrees,
                                               .identified = true};
        rows[i].score_low = rows[i].low; /* the textbook's interval is exact */
        rows[i].score_high = rows[i].high;
        rows[i].p = 2 * tremolo_student_cdf(-fabs(rows[i].z), degrees);
    }
    estimate->rows = rows;
    return TREMOLO_OK;
}

/* What the estimate is of. */
static enum tremolo_status begin_estimate(struct tremolo_simulation_result *result,
                                          const struct tremolo_design *design,
                                          const struct tremolo_split *split,
                                          const struct tremolo_experiment_options *options,
                                          const struct tremolo_outcome *outcome)
{
    const struct tremolo_units units = units_of(split);
    struct tremolo_estimate *estimate = &result->estimate;
    size_t d = design->features;
    bool rounds = tremolo_experiment_takes_rounds(options->method);
    result->names = calloc(d, sizeof *result->names);
    result->ranges = calloc(d + 1, sizeof *result->ranges);
    result->extents = calloc(d + 1, sizeof *result->extents);
    if (result->names == NULL || result->ranges == NULL || result->extents == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t i = 0; i < d; i++) {
        result->names[i] = design->name[i];
    }
    tremolo_design_ranges(result->ranges, design);
    tremolo_estimate_begin(estimate);
    estimate->release = outcome->ballots != NULL    ? "ballot"
                        : outcome->evidence != NULL ? "sample"
                                                    : NULL;
    if (outcome->of_study) {
        tremolo_study_id_text(result->study, options->study->id);
        estimate->study = result->study;
    }
    estimate->features = d;
    estimate->names = result->names;
    estimate->inputs = design->inputs;
    estimate->ranges = result->ranges;
    estimate->response = design->response;
    estimate->unit = design->unit;
    estimate->response_range = result->ranges[d];
    estimate->rounds = rounds ? (int64_t)options->rounds : 1;
    estimate->devices = (int64_t)result->devices;
    estimate->reports = estimate->devices * estimate->rounds;
    estimate->evidence_round = rounds ? TREMOLO_UNKNOWN : 0;
    estimate->evidence_reports = result->devices;
    estimate->method = tremolo_experiment_method_name(options->method);
    estimate->noise_sd = outcome->noise_sd;
    result->extent_count =
        tremolo_estimate_extents(result->extents, estimate, &units, options->protect_all);
    return TREMOLO_OK;
}

/* The rest of the estimate, from what the first repeat's devices sent or, without reports, from the
 * raw rows. */
static enum tremolo_status conclude(struct tremolo_simulation_result *result,
                                    const struct tremolo_split *split,
                                    const struct tremolo_outcome *outcome,
                                    const struct tremolo_experiment_options *options)
{
    struct tremolo_estimate *estimate = &result->estimate;
    const struct tremolo_units units = units_of(split);
    struct tremolo_fit fit = outcome->fit;
    const struct tremolo_evidence evidence = {.samples = outcome->evidence,
                                              .ballots = outcome->ballots};
    const struct tremolo_convergence_input rounds = {.mechanism = outcome->mechanism,
                                                     .rounds = (double)options->rounds,
                                                     .B = options->radius,
                                                     .R = split->radius,
                                                     .M = split->response_bound};
    const struct tremolo_estimate_method method = {
        .fit = TREMOLO_FIT_DEFAULTS,
        .beta = outcome->beta,
        .made = &fit,
        .rounds = tremolo_experiment_takes_rounds(options->method) ? &rounds : NULL};
    enum tremolo_status status = TREMOLO_OK;
    fit.intercept = outcome->intercept;
    if (options->method == TREMOLO_EXPERIMENT_OLS) {
        status = infer_ols(estimate, split);
    } else if (outcome->evidence == NULL && outcome->ballots == NULL) {
        estimate->remark = "dp-sgd gives no standard errors";
    }
    return status == TREMOLO_OK
               ? tremolo_estimate_make(estimate, &evidence, &units, usual_level, &method)
               : status;
}

/* What least squares on the raw rows says, to be held against the reports. */
static enum tremolo_status keep_ols(struct tremolo_simulation_result *result,
                                    const struct tremolo_split *split,
                                    const struct tremolo_outcome *outcome)
{
    const struct tremolo_units units = units_of(split);
    result->ols = calloc(split->d + 1, sizeof *result->ols);
    if (result->ols == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    tremolo_fit_to_own(result->ols, &result->ols[split->d], outcome->beta, outcome->intercept,
                       split->d, &units);
    return TREMOLO_OK;
}

/* The share of the devices that cut their response; NAN where no device reports. */
static double cut_share(const struct tremolo_simulation_result *result,
                        const struct tremolo_simulation *simulation,
                        const struct tremolo_design *design)
{
    bool cut = tremolo_simulation_cuts(simulation) || tremolo_simulation_clamps(simulation, design);
    double beyond = cut ? (double)result->clamped[design->features] : 0.0;
    return result->estimate.release != NULL ? beyond / (double)result->devices : NAN;
}

/* One repeat; R^2 on the training rows when none are held out. */
static enum tremolo_status repeat(struct tremolo_simulation_result *result, const char **constant,
                                  const struct tremolo_simulation *simulation,
                                  const struct tremolo_design *design, size_t number)
{
    struct tremolo_experiment_options ols = simulation->experiment;
    struct tremolo_split split = {0};
    struct tremolo_outcome outcome = {.evidence = NULL};
    uint64_t seed = tremolo_random_hash(simulation->seed, number);
    enum tremolo_status status =
        tremolo_split_make(&split, constant, design, 0, simulation->test_share, simulation->scaling,
                           simulation->experiment.protect_all, tremolo_random_hash(seed, 0));
    if (status == TREMOLO_OK && number == 0) {
        tremolo_split_outside(result->clamped, &split);
    }
    if (status == TREMOLO_OK && tremolo_simulation_clips(simulation, design)) {
        size_t clipped =
            tremolo_split_clip(&split, simulation->clip, simulation->experiment.protect_all);
        result->clipped = number == 0 ? clipped : result->clipped;
    }
    struct tremolo_experiment_options chosen = simulation->experiment;
    chosen.save = number == 0 ? simulation->experiment.save : NULL;
    ols.method = TREMOLO_EXPERIMENT_OLS;
    if (status == TREMOLO_OK) {
        status = tremolo_experiment_run(&outcome, &split, &ols, seed);
    }
    if (status == TREMOLO_OK) {
        enum tremolo_split_part part = split.test > 0 ? TREMOLO_SPLIT_TEST : TREMOLO_SPLIT_TRAIN;
        result->r2_ols[number] =
            tremolo_split_r2(&split, part, outcome.beta, outcome.intercept, INFINITY);
        status = number == 0 ? keep_ols(result, &split, &outcome) : TREMOLO_OK;
        if (status == TREMOLO_OK) {
            status =
                tremolo_experiment_run(&outcome, &split, &chosen, tremolo_random_hash(seed, 1));
        }
        if (status == TREMOLO_OK) {
            result->r2[number] = tremolo_split_r2(&split, part, outcome.beta, outcome.intercept,
                                                  tremolo_experiment_reach(&chosen));
        }
    }
    if (status == TREMOLO_OK && number == 0) {
        result->dimension = split.d;
        result->devices = split.train;
        result->held_out = split.test;
        result->privacy = outcome.privacy;
        result->privacy_law = outcome.law;
        status = begin_estimate(result, design, &split, &simulation->experiment, &outcome);
        result->estimate.response_cut = cut_share(result, simulation, design);
    }
    if (status == TREMOLO_OK && number == 0) {
        status = conclude(result, &split, &outcome, &simulation->experiment);
    }
    tremolo_outcome_free(&outcome);
    tremolo_split_free(&split);
    return status;
}

static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum tremolo_status tremolo_simulation_run(struct tremolo_simulation_result **result,
                                           const char **constant,
                                           const struct tremolo_simulation *simulation,
                                           const struct tremolo_design *design)
{
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    size_t releases = tremolo_experiment_takes_rounds(experiment->method) ? experiment->rounds : 1;
    size_t train = design->rows - (size_t)(simulation->test_share * (double)design->rows);
    double start = seconds_now();
    struct tremolo_simulation_result *made = calloc(1, sizeof *made);
    *constant = NULL;
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    made->r2 = calloc(simulation->repeats, sizeof *made->r2);
    made->r2_ols = calloc(simulation->repeats, sizeof *made->r2_ols);
    made->clamped = calloc(design->features + 1, sizeof *made->clamped);
    enum tremolo_status status = made->r2 == NULL || made->r2_ols == NULL || made->clamped == NULL
                                     ? TREMOLO_NO_MEMORY
                                     : TREMOLO_OK;
    tremolo_progress_begin(experiment->progress, "simulating",
                           simulation->repeats * releases * train);
    for (size_t r = 0; r < simulation->repeats && status == TREMOLO_OK; r++) {
        status = repeat(made, constant, simulation, design, r);
    }
    tremolo_progress_end(experiment->progress);
    made->seconds = seconds_now() - start;
    if (status != TREMOLO_OK) {
        tremolo_simulation_free(made);
        return status;
    }
    *result = made;
    return TREMOLO_OK;
}

void tremolo_simulation_free(struct tremolo_simulation_result *result)
{
    if (result == NULL) {
        return;
    }
    free(result->r2);
    free(result->r2_ols);
    free(result->clamped);
    free(result->names);
    free(result->ranges);
    free(result->extents);
    free(result->ols);
    tremolo_estimate_free(&result->estimate);
    free(result);
}
