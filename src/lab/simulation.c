/* simulation.c -- repeats of an experiment on a table, and the document of the first of them.
 *
 * One repeat shuffles the rows and holds some out (a split), fits least squares to the others,
 * lets each of the others report as a device and fits the reports (experiment.c), and measures
 * the R^2 of both fits on the rows held out. Every repeat has new noise. The first one's
 * coefficients, intervals and prediction become the estimate, by the same calls that an estimate
 * of real reports takes; the others only show how much R^2 varies.
 *
 * Before that, a request is settled: what a caller leaves open follows from the study and the
 * method. A simulation reads the raw table, so what it measures on raw rows is not private; that
 * is in the member "simulation". What reports of real devices would say and promise is in the
 * same members as in every estimate.
 *
 * A request thus passes four steps: begin, take a study, settle, run. The first three change the
 * request alone; only the last reads rows and takes long, so every mistake that can be found
 * without rows is found before it. */
#include "simulation_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "experiment.h"
#include "inputs.h"
#include "ledger_file.h"
#include "refuse.h"
#include "regression.h"
#include "study_internal.h"
#include "words.h"

/* Of the intervals. */
static const double usual_level = 0.95;

/* ---------------------------------------------------------------- what is asked for
 *
 * What was not asked for follows from the method, the guarantee and the study. What was asked for
 * and would have no effect is refused, because the caller expects one. The paper's mechanism
 * (modulation, step, ball) has no parameters here: a study file fixes it, and without one the
 * paper's own values hold. */

/* Without the system's entropy the seed is 1: a simulation has no real people to
 * protect, so that is no failure. */
void tremolo_simulation_begin(struct tremolo_simulation *simulation)
{
    *simulation = (struct tremolo_simulation){
        .experiment = {.epsilon = NAN,
                       .delta = NAN,
                       .neighbours = TREMOLO_NEIGHBOURS_ANY,
                       .protect_all = true,
                       .ridge = 0.5,
                       .threads = tremolo_processors()},
        .release_follows = true,
        .test_share = 0.2,
        .repeats = 1,
    };
    if (tremolo_host_entropy(NULL, (uint8_t *)&simulation->seed, sizeof simulation->seed) != 0) {
        simulation->seed = 1;
    }
    simulation->seed &= UINT64_C(0xffffffff); /* short enough to be typed again */
}

/* The order is the caller's: what is set after this overrides the study. */
void tremolo_simulation_take_study(struct tremolo_simulation *simulation,
                                   const struct tremolo_study_file *study)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(study);
    struct tremolo_experiment_options *experiment = &simulation->experiment;
    size_t coordinates = tremolo_study_file_dimension(study) + terms->response_private;
    /* The whole box is that of the columns which are simulated, and has their size. */
    simulation->clip = terms->clip != sqrt((double)coordinates) ? terms->clip : 0;
    simulation->release_follows = false;
    experiment->study = tremolo_study_file_device(study);
    experiment->release = terms->release;
    experiment->epsilon = terms->epsilon;
    experiment->delta = terms->release == TREMOLO_RELEASE_SAMPLE ? terms->delta : NAN;
    experiment->neighbours =
        terms->distance > 0 ? TREMOLO_NEIGHBOURS_DISTANCE : TREMOLO_NEIGHBOURS_ANY;
    experiment->distance = terms->distance;
    experiment->protect_all = terms->response_private;
    experiment->calibration = terms->calibration;
    experiment->samples = terms->samples;
    experiment->vectors = terms->vectors;
    experiment->alpha = terms->alpha;
    experiment->lambda = terms->lambda;
    experiment->omega = terms->omega;
    if (terms->protocol != TREMOLO_STUDY_ONE_SHOT) {
        experiment->method = TREMOLO_EXPERIMENT_ITERATIVE;
        experiment->rounds = terms->rounds;
    }
}

/* ---------------------------------------------------------------- what has no effect */

/* A ballot has one method and no delta. The limits hold for one ballot: a device that casts
 * several divides its epsilon among them. */
static bool check_ballot(const struct tremolo_simulation *simulation, bool delta_asked,
                         struct tremolo_refusal *refusal)
{
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    if (experiment->neighbours != TREMOLO_NEIGHBOURS_ANY) {
        return refuse_member(refusal, "neighbours",
                             "must be any for ballots, which protect any two people; a distance "
                             "needs the release sample");
    }
    if (experiment->method != TREMOLO_EXPERIMENT_AUTO &&
        experiment->method != TREMOLO_EXPERIMENT_OLS) { /* which reads what no device sends */
        return refuse_member(refusal, "method", "%s needs the release sample",
                             tremolo_experiment_method_name(experiment->method));
    }
    if (delta_asked) {
        return refuse_member(refusal, "delta",
                             "has no effect on ballots; it needs the release sample");
    }
    double ballots = (double)tremolo_experiment_releases(experiment);
    double each = experiment->epsilon / ballots;
    return (each >= TREMOLO_RANK_EPSILON_MIN && each <= TREMOLO_RANK_EPSILON_MAX) ||
           refuse_member(refusal, "epsilon", "of %s must be from %g to %g",
                         ballots > 1 ? "each of a device's ballots" : "ballots",
                         TREMOLO_RANK_EPSILON_MIN, TREMOLO_RANK_EPSILON_MAX);
}

/* A device counts its releases in 16 bits. `asked` is true only if the caller gave a number of
 * rounds, because defaults are no mistake. */
static bool check_rounds(const struct tremolo_experiment_options *experiment, bool asked,
                         struct tremolo_refusal *refusal)
{
    if (asked && !tremolo_experiment_takes_rounds(experiment->method)) {
        return refuse_member(refusal, "rounds", "has no effect with the method %s",
                             tremolo_experiment_method_name(experiment->method));
    }
    return tremolo_experiment_releases(experiment) <= UINT16_MAX ||
           refuse_member(refusal, "rounds",
                         "of %zu with %zu samples of a device in each are more than %d releases",
                         experiment->rounds, experiment->samples, UINT16_MAX);
}

/* ---------------------------------------------------------------- what follows */

/* NaN means "not asked for". */
static double or_else(double value, double otherwise)
{
    return isnan(value) ? otherwise : value;
}

/* What only the method decides. A ball is in the study's scaled units, which are the
 * simulation's, too. The constants for a method of the paper without a study are the paper's, one
 * vector among them. Ten rounds and a delta of 1e-5 are defaults for every method. */
static void set_method(struct tremolo_simulation *simulation,
                       const struct tremolo_study_file *study)
{
    struct tremolo_experiment_options *experiment = &simulation->experiment;
    const struct tremolo_study_terms *terms =
        study != NULL ? tremolo_study_file_terms(study) : NULL;
    bool paper = experiment->method != TREMOLO_EXPERIMENT_AUTO &&
                 experiment->method != TREMOLO_EXPERIMENT_OLS;
    if (study == NULL && paper) {
        experiment->vectors = 1;
        experiment->alpha = 0.5;
        experiment->lambda = 0.2;
        experiment->omega = 1;
    }
    bool theirs = terms != NULL && terms->protocol == TREMOLO_STUDY_ITERATIVE &&
                  tremolo_experiment_takes_rounds(experiment->method);
    experiment->step = theirs ? terms->step : 0.8;
    experiment->radius = theirs ? terms->radius : 0;
    experiment->rounds = experiment->rounds > 0 ? experiment->rounds : 10;
    experiment->delta = or_else(experiment->delta, 1e-5);
    simulation->scaling = experiment->release == TREMOLO_RELEASE_BALLOT ? TREMOLO_SCALING_RANGES
                                                                        : TREMOLO_SCALING_BOUNDS;
    if (terms != NULL && experiment->epsilon != terms->epsilon) {
        experiment->study = NULL; /* another guarantee has other integers */
    }
}

/* What was asked for is found before defaults replace what was not. */
bool tremolo_simulation_settle(struct tremolo_simulation *simulation,
                               const struct tremolo_study_file *study,
                               struct tremolo_refusal *refusal)
{
    struct tremolo_experiment_options *experiment = &simulation->experiment;
    const struct tremolo_study_terms *terms =
        study != NULL ? tremolo_study_file_terms(study) : NULL;
    bool theirs = terms != NULL && terms->protocol != TREMOLO_STUDY_ONE_SHOT;
    bool rounds_asked = experiment->rounds != (theirs ? terms->rounds : 0);
    bool delta_theirs = terms != NULL && terms->release == TREMOLO_RELEASE_SAMPLE &&
                        experiment->delta == terms->delta;
    bool delta_asked = !isnan(experiment->delta) && !delta_theirs;
    if (simulation->release_follows) {
        bool can = experiment->neighbours == TREMOLO_NEIGHBOURS_ANY &&
                   experiment->method == TREMOLO_EXPERIMENT_AUTO;
        experiment->release = can ? TREMOLO_RELEASE_BALLOT : TREMOLO_RELEASE_SAMPLE;
    }
    set_method(simulation, study);
    if (isnan(experiment->epsilon) && experiment->method != TREMOLO_EXPERIMENT_OLS) {
        return refuse_member(refusal, "epsilon", "is needed");
    }
    return check_rounds(experiment, rounds_asked, refusal) &&
           (experiment->release != TREMOLO_RELEASE_BALLOT ||
            check_ballot(simulation, delta_asked, refusal));
}

/* ---------------------------------------------------------------- what devices do to values */

/* True if devices cast ballots, which take features beyond their ranges as they are and clip the
 * response alone. Least squares never does, whatever release the options name. */
static bool casts_ballots(const struct tremolo_simulation *simulation)
{
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    return experiment->release == TREMOLO_RELEASE_BALLOT &&
           experiment->method != TREMOLO_EXPERIMENT_OLS;
}

/* True if devices scale by the design's public bounds, and clamp what is beyond. */
static bool clamps(const struct tremolo_simulation *simulation, const struct tremolo_design *design)
{
    return design->low != NULL && simulation->scaling == TREMOLO_SCALING_BOUNDS &&
           simulation->experiment.method != TREMOLO_EXPERIMENT_OLS;
}

/* True if the study's clip acts on them: by bounds only, in other units its radius means nothing.
 */
static bool clips(const struct tremolo_simulation *simulation, const struct tremolo_design *design)
{
    return simulation->clip > 0 && clamps(simulation, design);
}

/* ---------------------------------------------------------------- the estimate */

/* The way back from scaled values to those of the table. Borrows the split's arrays, so it must
 * not outlive the split. */
static struct tremolo_units units_of(const struct tremolo_split *split)
{
    return (struct tremolo_units){split->centre, split->scale, split->response_centre,
                                  split->response_scale};
}

/* Ordinary least squares has its own standard errors, those of the textbook. They are computed in
 * the columns' own units, because the intercept's does not follow from the scaled columns'
 * standard errors. The intercept is the last row, as in every estimate. On failure estimate->rows
 * is as before. */
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
        status = tremolo_ols(beta, &beta[d], error, X, y, split->train, d, true);
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

/* What the estimate is about, and what people can differ in. Names, ranges and extents belong to
 * the result, and the estimate borrows what it points to. */
static enum tremolo_status begin_estimate(struct tremolo_simulation_result *result,
                                          const struct tremolo_split *split,
                                          const struct tremolo_outcome *outcome)
{
    const struct tremolo_design *design = result->design;
    const struct tremolo_experiment_options *options = &result->simulation.experiment;
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
    (void)snprintf(result->title, sizeof result->title, "What explains %s: a simulation",
                   design->response);
    tremolo_estimate_begin(estimate);
    estimate->title = result->title;
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
    if (estimate->release != NULL) { /* else no device reports */
        size_t beyond = result->clamps ? result->clamped[d] : 0;
        estimate->response_cut = (double)beyond / (double)result->devices;
    }
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

/* The rest of the estimate, from what the first repeat's devices sent or, without reports, from
 * the raw rows. The fit that the experiment made is passed on, so that coefficients for
 * prediction are those by which R^2 was measured. */
static enum tremolo_status conclude(struct tremolo_simulation_result *result,
                                    const struct tremolo_split *split,
                                    const struct tremolo_outcome *outcome)
{
    const struct tremolo_experiment_options *options = &result->simulation.experiment;
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
    fit.intercept = outcome->intercept;
    enum tremolo_status status =
        options->method == TREMOLO_EXPERIMENT_OLS ? infer_ols(estimate, split) : TREMOLO_OK;
    return status == TREMOLO_OK
               ? tremolo_estimate_make(estimate, &evidence, &units, usual_level, &method)
               : status;
}

/* What least squares on the raw rows says, to be held against the reports. In the columns' own
 * units, the intercept last. */
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

/* ---------------------------------------------------------------- repeats
 *
 * Two draws of the same rows and the same noise differ in nothing, so all randomness of a repeat
 * comes from one seed, which comes from the simulation's seed and the repeat's number. */

/* The first repeat's facts, and the estimate of its reports. Later repeats keep their R^2 alone,
 * so a simulation of many repeats takes the memory of one. */
static enum tremolo_status keep_first(struct tremolo_simulation_result *result,
                                      const struct tremolo_split *split,
                                      const struct tremolo_outcome *outcome)
{
    bool noisy = result->simulation.experiment.release == TREMOLO_RELEASE_SAMPLE;
    result->dimension = split->d;
    result->devices = split->train;
    result->held_out = split->test;
    result->privacy = outcome->privacy;
    result->privacy_law = outcome->law;
    result->sigma = noisy ? outcome->privacy.sigma : NAN;
    result->sensitivity = noisy ? outcome->privacy.sensitivity : NAN;
    enum tremolo_status status = begin_estimate(result, split, outcome);
    return status == TREMOLO_OK ? conclude(result, split, outcome) : status;
}

/* Run one method and measure its R^2, on the training rows when none are held out. *r2 is
 * untouched on failure. */
static enum tremolo_status measure(double *r2, struct tremolo_outcome *outcome,
                                   const struct tremolo_split *split,
                                   const struct tremolo_experiment_options *options, uint64_t seed)
{
    enum tremolo_split_part part = split->test > 0 ? TREMOLO_SPLIT_TEST : TREMOLO_SPLIT_TRAIN;
    enum tremolo_status status = tremolo_experiment_run(outcome, split, options, seed);
    if (status == TREMOLO_OK) {
        *r2 = tremolo_split_r2(split, part, outcome->beta, outcome->intercept,
                               tremolo_experiment_reach(options));
    }
    return status;
}

/* Least squares on the raw rows and the simulated method, on the same rows. Least squares leaves
 * nothing to free in the outcome, so the second run may overwrite it. Clipping comes after the
 * values outside of the bounds are counted. Only the first repeat's reports are kept in a file,
 * because only they belong to the estimate. */
static enum tremolo_status repeat(struct tremolo_simulation_result *result, const char **constant,
                                  size_t number)
{
    const struct tremolo_simulation *simulation = &result->simulation;
    struct tremolo_experiment_options ols = simulation->experiment, chosen = simulation->experiment;
    struct tremolo_split split = {0};
    struct tremolo_outcome outcome = {.evidence = NULL};
    uint64_t seed = tremolo_random_hash(simulation->seed, number);
    ols.method = TREMOLO_EXPERIMENT_OLS;
    chosen.save = number == 0 ? chosen.save : NULL;
    enum tremolo_status status =
        tremolo_split_make(&split, constant, result->design, 0, simulation->test_share,
                           simulation->scaling, chosen.protect_all, tremolo_random_hash(seed, 0));
    if (status == TREMOLO_OK && number == 0) {
        tremolo_split_outside(result->clamped, &split);
    }
    if (status == TREMOLO_OK && result->clips) {
        size_t clipped = tremolo_split_clip(&split, simulation->clip, chosen.protect_all);
        result->clipped = number == 0 ? clipped : result->clipped;
    }
    if (status == TREMOLO_OK) {
        status = measure(&result->r2_ols[number], &outcome, &split, &ols, seed);
    }
    if (status == TREMOLO_OK && number == 0) {
        status = keep_ols(result, &split, &outcome);
    }
    if (status == TREMOLO_OK) {
        status =
            measure(&result->r2[number], &outcome, &split, &chosen, tremolo_random_hash(seed, 1));
    }
    if (status == TREMOLO_OK && number == 0) {
        status = keep_first(result, &split, &outcome);
    }
    tremolo_outcome_free(&outcome);
    tremolo_split_free(&split);
    return status;
}

/* From an arbitrary start that never goes back, for durations alone. */
static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* `count` is at least 1. */
static double mean_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum / (double)count;
}

/* What all repeats say together. The standard deviation is that of a sample, with one degree of
 * freedom less, and NaN for a single repeat. Ballots clip the response alone, so its count is the
 * only one of theirs. */
static void sum_up(struct tremolo_simulation_result *result)
{
    size_t repeats = result->simulation.repeats;
    size_t from = casts_ballots(&result->simulation) ? result->dimension : 0;
    double squares = 0;
    result->r2_mean = mean_of(result->r2, repeats);
    result->ols_mean = mean_of(result->r2_ols, repeats);
    for (size_t i = 0; i < repeats; i++) {
        squares += (result->r2[i] - result->r2_mean) * (result->r2[i] - result->r2_mean);
    }
    result->r2_sd = repeats > 1 ? sqrt(squares / (double)(repeats - 1)) : NAN;
    for (size_t i = from; i <= result->dimension; i++) {
        result->clamped_sum += result->clamped[i];
    }
}

/* Each feature and the intercept need a device, and one more leaves a residual. Methods with
 * rounds need a feature more than vectors. */
static bool fits(const struct tremolo_simulation *simulation, const struct tremolo_design *design,
                 size_t train, struct tremolo_refusal *refusal)
{
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    size_t m = experiment->method != TREMOLO_EXPERIMENT_OLS ? experiment->vectors : 0;
    size_t more = tremolo_experiment_takes_rounds(experiment->method) ? 1 : 0;
    if (train < design->features + 2) {
        return refuse_member(refusal, NULL,
                             "%zu features need at least %zu devices, and %zu are left of %zu rows",
                             design->features, design->features + 2, train, design->rows);
    }
    if (experiment->neighbours == TREMOLO_NEIGHBOURS_DISTANCE && design->inputs != NULL &&
        tremolo_inputs_derive(design->inputs)) {
        return refuse_member(refusal, "neighbours",
                             "must be any where terms are computed: how far apart two people are "
                             "says little of how far apart their terms are");
    }
    return m == 0 || m + more <= design->features ||
           refuse_member(refusal, NULL, "%zu vectors do not fit into %zu features", m,
                         design->features);
}

/* A split can be unlucky, which a caller cannot know from the status alone. Only noise that no
 * device can make, and columns, have a remedy that we know. Returns `status` unchanged, so that a
 * caller can end with it. */
static enum tremolo_status explain(struct tremolo_refusal *refusal, enum tremolo_status status,
                                   const char *constant, double epsilon)
{
    if (status == TREMOLO_SINGULAR && constant != NULL) {
        (void)refuse_member(refusal, NULL,
                            "'%s' is the same in all training rows of a split, as a rare answer "
                            "can be, or too large to scale; try another seed or, if it is a "
                            "feature, leave its column out",
                            constant);
    } else if (status == TREMOLO_SINGULAR) {
        (void)refuse_member(refusal, NULL,
                            "the features depend linearly on one another; leave some out");
    } else if (status == TREMOLO_UNREACHABLE) {
        (void)refuse_member(refusal, NULL,
                            "no noise the device can make gives epsilon %g for this data's range; "
                            "clip outliers or ask for another epsilon",
                            epsilon);
    } else {
        (void)refuse_member(refusal, NULL, "%s", tremolo_status_sentence(status));
    }
    return status;
}

/* Memory for all repeats is taken first, so that a simulation of hours does not fail at its end. */
enum tremolo_status tremolo_simulation_run(struct tremolo_simulation_result **result,
                                           struct tremolo_refusal *refusal,
                                           const struct tremolo_simulation *simulation,
                                           const struct tremolo_design *design)
{
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    size_t releases = tremolo_experiment_takes_rounds(experiment->method) ? experiment->rounds : 1;
    size_t train = design->rows - (size_t)(simulation->test_share * (double)design->rows);
    double start = seconds_now();
    const char *constant = NULL;
    if (!fits(simulation, design, train, refusal)) {
        return TREMOLO_OUT_OF_BOUNDS;
    }
    struct tremolo_simulation_result *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return explain(refusal, TREMOLO_NO_MEMORY, NULL, 0);
    }
    made->simulation = *simulation;
    made->design = design;
    made->dropped = design->dropped;
    made->clamps = casts_ballots(simulation) || clamps(simulation, design);
    made->clips = clips(simulation, design);
    made->r2 = calloc(simulation->repeats, sizeof *made->r2);
    made->r2_ols = calloc(simulation->repeats, sizeof *made->r2_ols);
    made->clamped = calloc(design->features + 1, sizeof *made->clamped);
    enum tremolo_status status = made->r2 == NULL || made->r2_ols == NULL || made->clamped == NULL
                                     ? TREMOLO_NO_MEMORY
                                     : TREMOLO_OK;
    tremolo_progress_begin(experiment->progress, "simulating",
                           simulation->repeats * releases * train);
    for (size_t r = 0; r < simulation->repeats && status == TREMOLO_OK; r++) {
        status = repeat(made, &constant, r);
    }
    tremolo_progress_end(experiment->progress);
    if (status != TREMOLO_OK) {
        tremolo_simulation_free(made);
        return explain(refusal, status, constant, experiment->epsilon);
    }
    sum_up(made);
    made->seconds = seconds_now() - start;
    *result = made;
    return TREMOLO_OK;
}

/* Accepts NULL and a result that was only begun. The design stays the caller's. */
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

/* ---------------------------------------------------------------- how it was computed
 *
 * Bounds that are too narrow bias a study without a trace in its reports; a simulation has the raw
 * values and can count those beyond. Counted are those of the first repeat's devices. */

/* Columns that a sentence names; the document has the counts of all. */
enum { NAMED = 3 };

static const char *column_name(const struct tremolo_design *design, size_t column)
{
    return column < design->features ? design->name[column] : design->response;
}

/* The columns with most values beyond their bounds, most first; how many there are. Insertion
 * into a list of at most NAMED; of equal counts the earlier column stays first. */
static size_t worst(size_t chosen[NAMED], const size_t *counts, size_t columns)
{
    size_t found = 0;
    for (size_t i = 0; i < columns; i++) {
        size_t place = found;
        while (place > 0 && counts[chosen[place - 1]] < counts[i]) {
            place--;
        }
        if (counts[i] == 0 || place == NAMED) {
            continue;
        }
        found += found < NAMED;
        memmove(&chosen[place + 1], &chosen[place], (found - 1 - place) * sizeof *chosen);
        chosen[place] = i;
    }
    return found;
}

/* How many values were clamped, and in which columns most; NULL where nothing is. Ballots clip the
 * response alone, which the document's notes say. */
static json_t *clamped_words(const struct tremolo_simulation_result *result)
{
    const struct tremolo_design *design = result->design;
    size_t columns = design->features + 1, chosen[NAMED];
    char item[NAMED][TREMOLO_NAME_BYTES + 32], list[NAMED * sizeof item[0]];
    const char *items[NAMED] = {item[0], item[1], item[2]};
    if (!result->clamps || casts_ballots(&result->simulation)) {
        return NULL;
    }
    if (result->clamped_sum == 0) {
        return json_string("No value is outside of the study's bounds.");
    }
    size_t named = 0, found = worst(chosen, result->clamped, columns);
    for (size_t i = 0; i < found; i++) {
        (void)snprintf(item[i], sizeof item[i], "%s (%zu)", column_name(design, chosen[i]),
                       result->clamped[chosen[i]]);
        named += result->clamped[chosen[i]];
    }
    tremolo_words_list(list, sizeof list, items, found);
    return json_sprintf("%zu of %zu values are outside of the study's bounds and were clamped to "
                        "them, which biases the estimates; %s in %s.",
                        result->clamped_sum, columns * result->devices,
                        named == result->clamped_sum ? "they are" : "most are", list);
}

/* Where the scales came from, and whether that is private. The text is static. */
static const char *scale_words(const struct tremolo_simulation_result *result)
{
    return result->design->low != NULL ? "Features were scaled by the study's public bounds."
           : result->simulation.scaling == TREMOLO_SCALING_RANGES
               ? "Typical ranges and values were taken from the data, which is not private; real "
                 "studies state them beforehand."
               : "Bounds were taken from the data, which is not private; real studies state them "
                 "beforehand.";
}

/* Sentences for a reader who was not there: what was simulated, and what of it looked at the
 * data. */
static json_t *how_of(const struct tremolo_simulation_result *result)
{
    const struct tremolo_simulation *simulation = &result->simulation;
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    json_t *how = json_array(), *clamped = clamped_words(result);
    json_latch_append(
        &how, json_sprintf("Simulated from a table: %zu rows as devices, %zu held out, %zu dropped "
                           "for missing values; method %s, calibration %s, seed %llu, %zu repeats; "
                           "the table is of the first.",
                           result->devices, result->held_out, result->design->dropped,
                           tremolo_experiment_method_name(experiment->method),
                           tremolo_calibration_names[experiment->calibration],
                           (unsigned long long)simulation->seed, simulation->repeats));
    json_latch_append(&how, json_string(scale_words(result)));
    if (result->design->means) {
        json_latch_append(
            &how,
            json_string("Missing values were filled with a column's mean or most frequent level, "
                        "which is not private; a study fixes its fillings beforehand."));
    }
    if (clamped != NULL) {
        json_latch_append(&how, clamped);
    }
    if (result->clips) {
        json_latch_append(
            &how, json_sprintf("The study clips samples to a norm of %g in scaled units, which "
                               "shortened those of %zu of %zu devices and biases the estimates.",
                               simulation->clip, result->clipped, result->devices));
    }
    return how;
}

/* ---------------------------------------------------------------- the document
 *
 * That of every estimate, with three members more: "simulation" with what only raw rows can say,
 * "figures" with R^2 of each repeat, and "how" in sentences. */

/* Repeats are counted from 1. */
static json_t *points_of(const double *values, size_t count)
{
    json_t *points = json_array();
    for (size_t i = 0; i < count; i++) {
        json_latch_append(&points,
                          json_pack("[I,o]", (json_int_t)i + 1, json_latch_number(values[i])));
    }
    return points;
}

/* R^2 of every repeat, compared with that of least squares on the same rows. A single repeat
 * makes no figure, and the list is empty then. */
static json_t *figures_of(const struct tremolo_simulation_result *result)
{
    size_t repeats = result->simulation.repeats;
    if (repeats < 2) {
        return json_array();
    }
    return json_pack("[{s:s,s:s,s:s,s:s,s:b,s:[f,f],s:[{s:s,s:s,s:o},{s:s,s:s,s:b,s:o}]}]", "title",
                     "R\u00b2 of each repeat", "words",
                     "Every repeat splits the rows and draws the noise again; least squares reads "
                     "the raw rows, which is not private.",
                     "x", "repeat", "y", "R\u00b2", "dots", 1, "include", 0.0, 1.0, "series",
                     "name", result->estimate.method, "title", "private reports", "points",
                     points_of(result->r2, repeats), "name", "ols", "title",
                     "least squares (not private)", "reference", 1, "points",
                     points_of(result->r2_ols, repeats));
}

/* What the simulated devices would be promised. The distance is the whole sensitivity where any
 * two people are neighbours. The diameter is given only for a distance, where it says how far
 * apart people can be beyond it. */
static struct tremolo_promise promise_of(const struct tremolo_simulation_result *result)
{
    const struct tremolo_simulation *simulation = &result->simulation;
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    bool any = experiment->neighbours == TREMOLO_NEIGHBOURS_ANY;
    return (struct tremolo_promise){
        .law = result->privacy_law,
        .neighbours = any ? TREMOLO_NEIGHBOURS_ANY : TREMOLO_NEIGHBOURS_DISTANCE,
        .distance = any ? result->privacy.sensitivity : experiment->distance,
        .diameter = any || result->extent_count == 0
                        ? 0
                        : tremolo_extents_diameter(result->extents, result->extent_count),
        .dimension = (unsigned)result->dimension,
        .extents = result->extents,
        .extent_count = result->extent_count,
        .mu = result->privacy.mu,
        .releases = tremolo_experiment_releases(experiment),
        .samples = experiment->samples > 0 ? experiment->samples : 1,
        .clip = result->clips ? simulation->clip : 0,
        .delta = experiment->release == TREMOLO_RELEASE_BALLOT ? 0 : experiment->delta,
        .response_private = experiment->protect_all,
        .modulated = experiment->vectors > 0,
    };
}

#define AT(member) DOCUMENT_AT(struct tremolo_simulation_result, member)

static json_t *r2_json(const void *of)
{
    const struct tremolo_simulation_result *result = of;
    return json_latch_numbers(result->r2, result->simulation.repeats);
}

static json_t *ols_json(const void *of)
{
    const struct tremolo_simulation_result *result = of;
    return estimate_named_json(&result->estimate, result->ols);
}

/* In the order of the features, then the response; of ballots the response alone. */
static json_t *columns_json(const void *of)
{
    const struct tremolo_simulation_result *result = of;
    json_t *list = json_array();
    for (size_t i = casts_ballots(&result->simulation) ? result->dimension : 0;
         i <= result->dimension; i++) {
        json_latch_append(&list, json_pack("{s:s, s:I}", "name", column_name(result->design, i),
                                           "values", (json_int_t)result->clamped[i]));
    }
    return list;
}

/* "exact" is the device's law without a rounding. */
static json_t *noise_json(const void *of)
{
    const struct tremolo_simulation_result *result = of;
    return json_string(result->estimate.release != NULL ? "exact" : "none");
}

/* Only a study's bounds were fixed before anybody looked at the data. */
static json_t *is_private_json(const void *of)
{
    return json_boolean(((const struct tremolo_simulation_result *)of)->design->low != NULL);
}

static bool does_clamp(const void *of)
{
    return ((const struct tremolo_simulation_result *)of)->clamps;
}

static bool does_clip(const void *of)
{
    return ((const struct tremolo_simulation_result *)of)->clips;
}

static const char *const noises[] = {"exact", "none", NULL};
static const char *const scales[] = {"bounds", "ranges", NULL};

static const struct document_row number_row = {.type = DOCUMENT_REAL, .is = DOCUMENT_NULLABLE};

static const struct document_row r2_rows[] = {
    {"mean", DOCUMENT_REAL, DOCUMENT_NULLABLE, AT(r2_mean)},
    {"sd", DOCUMENT_REAL, DOCUMENT_NULLABLE, AT(r2_sd)},
    {"values", DOCUMENT_LIST, .make = r2_json, .element = &number_row},
    {.key = NULL}};

static const struct document_row column_rows[] = {
    {"name", .type = DOCUMENT_TEXT}, {"values", .type = DOCUMENT_WHOLE}, {.key = NULL}};

static const struct document_row clamped_rows[] = {
    {"values", DOCUMENT_WHOLE, 0, AT(clamped_sum)},
    {"columns", DOCUMENT_LIST, .make = columns_json, .rows = column_rows},
    {.key = NULL}};

static const struct document_row clip_rows[] = {
    {"radius", DOCUMENT_REAL, DOCUMENT_NULLABLE, AT(simulation.clip)},
    {"devices", DOCUMENT_WHOLE, 0, AT(clipped)},
    {.key = NULL}};

/* The member "simulation": one row for each key, from which both the document and its schema are
 * made, so that the two cannot differ. */
static const struct document_row simulation_rows[] = {
    {"held_out", DOCUMENT_WHOLE, 0, AT(held_out), .words = "rows that no device held"},
    {"dropped", DOCUMENT_WHOLE, 0, AT(dropped), .words = "rows with missing values"},
    {"r2", DOCUMENT_OBJECT, .rows = r2_rows,
     .words = "of the prediction on raw rows held out, or on the training rows where none are"},
    {"r2_ols", DOCUMENT_REAL, DOCUMENT_NULLABLE, AT(ols_mean),
     .words = "least squares on the raw rows, which is not private"},
    {"noise", DOCUMENT_TEXT, .make = noise_json, .choices = noises,
     .words = "exact: the device's law without a rounding"},
    {"seed", DOCUMENT_WHOLE, 0, AT(simulation.seed)},
    {"seconds", DOCUMENT_REAL, DOCUMENT_NULLABLE, AT(seconds)},
    {"scale", DOCUMENT_CHOICE, 0, AT(simulation.scaling), .choices = scales},
    {"scale_is_private", DOCUMENT_BOOLEAN, .make = is_private_json,
     .words = "false where the scale came from the data"},
    {"sigma", DOCUMENT_REAL, DOCUMENT_NULLABLE, AT(sigma), .words = "of the noise, scaled units"},
    {"sensitivity", DOCUMENT_REAL, DOCUMENT_NULLABLE, AT(sensitivity)},
    {"epsilon_asked", DOCUMENT_REAL, DOCUMENT_NULLABLE, AT(simulation.experiment.epsilon)},
    {"ols", DOCUMENT_LIST, .make = ols_json, .rows = estimate_named_rows,
     .words = "least squares on the raw training rows of the first repeat, which is not private: a "
              "row for each of the coefficients, in own units"},
    {"clamped", DOCUMENT_OBJECT, DOCUMENT_OPTIONAL, .when = does_clamp, .rows = clamped_rows,
     .words = "values of the first repeat's devices outside the public bounds"},
    {"clip", DOCUMENT_OBJECT, DOCUMENT_OPTIONAL, .when = does_clip, .rows = clip_rows,
     .words = "the norm that the study clips samples to, and how many devices it shortens"},
    {.key = NULL}};

/* Least squares on raw rows promises nothing; everything else promises what the same study would.
 */
json_t *simulation_document(const struct tremolo_simulation_result *result)
{
    const struct tremolo_promise promise = promise_of(result);
    json_t *guarantee = result->estimate.release == NULL
                            ? json_null()
                            : guarantee_promise_json(&promise, result->privacy.epsilon);
    json_t *document = estimate_document(&result->estimate, guarantee);
    json_latch_set(&document, "simulation", document_json(simulation_rows, result));
    json_latch_set(&document, "figures", figures_of(result));
    json_latch_set(&document, "how", how_of(result));
    return document;
}

char *tremolo_simulation_json(const struct tremolo_simulation_result *result)
{
    return json_latch_exact(simulation_document(result));
}

/* The member goes next to those that every estimate has. */
json_t *simulation_estimate_schema(void)
{
    json_t *schema = estimate_schema();
    json_t *own = document_schema(
        simulation_rows, "{\"description\": \"what only a simulation knows; it reads raw rows\"}");
    if (json_object_set_new(json_object_get(schema, "properties"), "simulation", own) != 0) {
        json_decref(schema);
        return NULL;
    }
    return schema;
}
