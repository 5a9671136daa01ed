/* simulation.c -- repeats of an experiment, and what the first of them says. */
#include "tremolo_simulation.h"

#include <math.h>
#include <stdlib.h>

#include "tremolo_random.h"

bool tremolo_simulation_clamps(const struct tremolo_simulation *simulation,
                               const struct tremolo_design *design)
{
    enum tremolo_experiment_method method = simulation->experiment.method;
    return design->low != NULL && simulation->scaling == TREMOLO_SCALING_BOUNDS &&
           method != TREMOLO_EXPERIMENT_OLS && method != TREMOLO_EXPERIMENT_DP_SGD;
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

/* Ordinary least squares has its own standard errors: those of the textbook. */
static enum tremolo_status infer_ols(struct tremolo_coefficient *rows,
                                     const struct tremolo_split *split, const double *prediction)
{
    double beta[TREMOLO_DESIGN_FEATURES_MAX], error[TREMOLO_DESIGN_FEATURES_MAX], constant;
    double degrees = (double)(split->train - split->d) - 1;
    enum tremolo_status status = tremolo_ols(beta, &constant, error, NULL, NULL, split->X, split->y,
                                             split->train, split->d, true);
    if (status != TREMOLO_OK) {
        return status;
    }
    double width = tremolo_student_quantile(0.5 + 0.5 * TREMOLO_SIMULATION_LEVEL, degrees);
    for (size_t i = 0; i < split->d; i++) {
        double se = error[i] * split->response_scale / split->scale[i];
        rows[i] = (struct tremolo_coefficient){.estimate = prediction[i],
                                               .standard_error = se,
                                               .z = prediction[i] / se,
                                               .low = prediction[i] - width * se,
                                               .high = prediction[i] + width * se,
                                               .degrees = degrees,
                                               .identified = true};
        rows[i].score_low = rows[i].low; /* the textbook's interval is exact */
        rows[i].score_high = rows[i].high;
        rows[i].p = 2 * tremolo_student_cdf(-fabs(rows[i].z), degrees);
    }
    rows[split->d] = (struct tremolo_coefficient){.estimate = prediction[split->d],
                                                  .standard_error = NAN,
                                                  .z = NAN,
                                                  .p = NAN,
                                                  .low = NAN,
                                                  .high = NAN,
                                                  .score_low = NAN,
                                                  .score_high = NAN,
                                                  .identified = true};
    return TREMOLO_OK;
}

static struct tremolo_convergence_answer
convergence_of(const struct tremolo_split *split, const struct tremolo_outcome *outcome,
               const struct tremolo_experiment_options *options)
{
    const struct tremolo_convergence_input input = {.mechanism = outcome->mechanism,
                                                    .rounds = (double)options->rounds,
                                                    .B = options->radius,
                                                    .R = split->radius,
                                                    .M = split->response_bound};
    return tremolo_convergence_of_fit(&input, outcome->evidence, outcome->beta);
}

static enum tremolo_status conclude(struct tremolo_simulation_result *result,
                                    const struct tremolo_split *split,
                                    const struct tremolo_outcome *outcome,
                                    const struct tremolo_experiment_options *options)
{
    enum tremolo_experiment_method method = options->method;
    const struct tremolo_units units = units_of(split);
    enum tremolo_status status = TREMOLO_OK;
    size_t d = split->d;
    result->dimension = d;
    result->devices = split->train;
    result->held_out = split->test;
    result->privacy = outcome->privacy;
    result->prediction = malloc((d + 1) * sizeof *result->prediction);
    result->coefficient = calloc(d + 1, sizeof *result->coefficient);
    if (result->prediction == NULL || result->coefficient == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    tremolo_fit_to_own(result->prediction, &result->prediction[d], outcome->beta,
                       outcome->intercept, d, &units);
    if (method == TREMOLO_EXPERIMENT_DP_SGD) {
        result->remark = "dp-sgd gives no standard errors";
        return TREMOLO_OK;
    }
    if (tremolo_experiment_takes_rounds(method)) {
        result->convergence = convergence_of(split, outcome, options);
    }
    status = method == TREMOLO_EXPERIMENT_OLS
                 ? infer_ols(result->coefficient, split, result->prediction)
                 : tremolo_infer(result->coefficient, outcome->evidence, &units, true,
                                 TREMOLO_SIMULATION_LEVEL);
    if (status == TREMOLO_SINGULAR) {
        result->remark = "the debiased moment is singular at this noise: no unbiased estimate";
        return TREMOLO_OK;
    }
    result->coefficients = status == TREMOLO_OK ? d + 1 : 0;
    return status;
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
        result->r2_ols[number] = tremolo_split_r2(&split, part, outcome.beta, outcome.intercept);
        status = tremolo_experiment_run(&outcome, &split, &chosen, tremolo_random_hash(seed, 1));
        if (status == TREMOLO_OK) {
            result->r2[number] = tremolo_split_r2(&split, part, outcome.beta, outcome.intercept);
        }
    }
    if (status == TREMOLO_OK && number == 0) {
        status = conclude(result, &split, &outcome, &simulation->experiment);
    }
    tremolo_outcome_free(&outcome);
    tremolo_split_free(&split);
    return status;
}

enum tremolo_status tremolo_simulation_run(struct tremolo_simulation_result *result,
                                           const char **constant,
                                           const struct tremolo_simulation *simulation,
                                           const struct tremolo_design *design)
{
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    size_t releases = tremolo_experiment_takes_rounds(experiment->method) ? experiment->rounds : 1;
    size_t train = design->rows - (size_t)(simulation->test_share * (double)design->rows);
    *constant = NULL;
    *result = (struct tremolo_simulation_result){
        .r2 = calloc(simulation->repeats, sizeof *result->r2),
        .r2_ols = calloc(simulation->repeats, sizeof *result->r2_ols),
        .clamped = calloc(design->features + 1, sizeof *result->clamped)};
    enum tremolo_status status =
        result->r2 == NULL || result->r2_ols == NULL || result->clamped == NULL ? TREMOLO_NO_MEMORY
                                                                                : TREMOLO_OK;
    tremolo_progress_begin(experiment->progress, "simulating",
                           simulation->repeats * releases * train);
    for (size_t r = 0; r < simulation->repeats && status == TREMOLO_OK; r++) {
        status = repeat(result, constant, simulation, design, r);
    }
    tremolo_progress_end(experiment->progress);
    return status;
}

void tremolo_simulation_free(struct tremolo_simulation_result *result)
{
    free(result->r2);
    free(result->r2_ols);
    free(result->clamped);
    free(result->prediction);
    free(result->coefficient);
    *result = (struct tremolo_simulation_result){0};
}
