/* experiment.c -- one data set, one split, one method.
 *
 * Rows are shuffled, split and scaled on the training rows; the method runs on them. Methods with
 * reports run a fleet (fleet.h). The others, which reproductions compare with, read the rows:
 * least squares, DP-SGD's noisy gradients, and a server that is trusted (AdaSSP).
 *
 * Everything is in scaled units from the split on. The outcome stays in them; callers that show
 * coefficients lead them back by the split's centres and scales. */
#include "experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "accountant.h"
#include "fleet.h"
#include "release.h"
#include "report_file.h"
#include "study_internal.h"
#include "regression.h"

/* ------------------------------------------------------------- splits */

/* Fisher and Yates, with draws that follow from the seed and the place alone. The remainder
 * favours small places by less than 2^-38 for as many rows as a table may have. */
static void shuffle(size_t *order, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        order[i] = i;
    }
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)(tremolo_random_hash(seed, i) % i);
        size_t kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

/* A feature of the training rows, or the response, and where its centre and scale are kept. With
 * it features, which lie row by row, and the response are measured by the same code. */
struct column {
    const char *name;
    double *values, *centre, *scale;
    size_t count, stride; /* of the training rows, and from one to the next */
};

/* Column i of the split, the response being the last. */
static struct column column_of(struct tremolo_split *split, const struct tremolo_design *design,
                               size_t i)
{
    return i < split->d
               ? (struct column){design->name[i],  split->X + i, &split->centre[i],
                                 &split->scale[i], split->train, split->d}
               : (struct column){design->response,       split->y,     &split->response_centre,
                                 &split->response_scale, split->train, 1};
}

/* Of the training rows: rows that are held out must not influence the scale. */
static double mean_of(const struct column *column)
{
    double sum = 0;
    for (size_t r = 0; r < column->count; r++) {
        sum += column->values[r * column->stride];
    }
    return sum / (double)column->count;
}

/* Find centre and scale; false when all values are the same. Standard scaling divides by the
 * standard deviation of the training rows; by bounds the lowest value becomes -1 and the highest
 * 1. An infinite scale, of values too far apart, is refused like a constant. */
static bool measure(const struct column *column, enum tremolo_scaling scaling)
{
    const double *values = column->values;
    double low = values[0], high = values[0], squares = 0;
    double mean = mean_of(column);
    for (size_t r = 0; r < column->count; r++) {
        double value = values[r * column->stride];
        low = fmin(low, value);
        high = fmax(high, value);
        squares += (value - mean) * (value - mean);
    }
    bool standard = scaling == TREMOLO_SCALING_STANDARD;
    *column->centre = standard ? mean : (low + high) / 2;
    *column->scale = standard ? sqrt(squares / (double)column->count) : (high - low) / 2;
    return high > low && *column->scale > 0 && isfinite(*column->scale);
}

/* By the range that nine of ten values lie in; false, too, without memory. A copy is sorted for
 * the quantiles, because the rows must stay in place. Centre and scale are written in either
 * case; they are of use only after true. */
static bool measure_range(const struct column *column)
{
    double low = 0, high = 0;
    double *copy = malloc(column->count * sizeof *copy);
    for (size_t r = 0; copy != NULL && r < column->count; r++) {
        copy[r] = column->values[r * column->stride];
    }
    bool found = copy != NULL && tremolo_study_typical_range(&low, &high, copy, column->count);
    free(copy);
    *column->centre = (low + high) / 2;
    *column->scale = (high - low) / 2;
    return found;
}

/* To all rows, those that are held out too. */
static void apply(const struct column *column, size_t rows)
{
    for (size_t r = 0; r < rows; r++) {
        double *value = &column->values[r * column->stride];
        *value = (*value - *column->centre) / *column->scale;
    }
}

/* Room for all rows. What was allocated before a failure is freed with the split. */
static bool allocate(struct tremolo_split *split, size_t rows)
{
    split->X = malloc(rows * split->d * sizeof *split->X);
    split->y = calloc(rows, sizeof *split->y);
    split->centre = malloc(split->d * sizeof *split->centre);
    split->scale = malloc(split->d * sizeof *split->scale);
    return split->X != NULL && split->y != NULL && split->centre != NULL && split->scale != NULL;
}

/* Scale by public bounds, which nothing in the data can change, or by the training rows; the name
 * of a constant column, or NULL. With public bounds no column is refused as constant: what the
 * data hold has no influence. The text belongs to the design. */
static const char *scale_all(struct tremolo_split *split, const struct tremolo_design *design,
                             enum tremolo_scaling scaling)
{
    bool ranges = scaling == TREMOLO_SCALING_RANGES;
    bool bounds = scaling != TREMOLO_SCALING_STANDARD && design->low != NULL;
    for (size_t i = 0; i <= split->d; i++) {
        const struct column column = column_of(split, design, i);
        if (bounds) {
            bool typical = ranges && design->typical != NULL && i < split->d;
            *column.centre = typical ? design->typical[i] : (design->low[i] + design->high[i]) / 2;
            *column.scale = (design->high[i] - design->low[i]) / 2;
        } else if (!(ranges ? measure_range(&column) : measure(&column, scaling))) {
            return column.name;
        } else if (ranges && i < split->d) { /* what a study may call typical */
            double middle = *column.centre, half = *column.scale;
            *column.centre = fmin(fmax(mean_of(&column), middle - half), middle + half);
        }
        apply(&column, split->train + split->valid + split->test);
    }
    return NULL;
}

/* The least bounds and radius that alter no training row; a hair more, so that rounding cannot
 * clip. These are read off the data without public bounds, which is not private; a real study
 * states them. */
static void measure_bounds(struct tremolo_split *split, bool protect_all, bool bounds_are_public)
{
    const double margin = 1 + 1e-9;
    if (bounds_are_public) {
        /* The study's default: the whole box; values outside are clamped. */
        split->bound = split->response_bound = 1;
        split->radius = sqrt((double)(split->d + protect_all));
        return;
    }
    for (size_t r = 0; r < split->train; r++) {
        double y = split->y[r], square = protect_all ? y * y : 0;
        split->response_bound = fmax(split->response_bound, fabs(y) * margin);
        for (size_t i = 0; i < split->d; i++) {
            double x = split->X[r * split->d + i];
            square += x * x;
            split->bound = fmax(split->bound, fabs(x) * margin);
        }
        split->radius = fmax(split->radius, sqrt(square) * margin);
    }
    if (protect_all) {
        split->bound = fmax(split->bound, split->response_bound);
    }
}

/* The rows held out are the same for every method and epsilon of a seed, so that their R^2 can be
 * compared. Shares are rounded down to whole rows, and the training rows take what is left. On
 * failure *split is untouched. */
enum tremolo_status tremolo_split_make(struct tremolo_split *split, const char **constant,
                                       const struct tremolo_design *design, double valid_share,
                                       double test_share, enum tremolo_scaling scaling,
                                       bool protect_all, uint64_t seed)
{
    struct tremolo_split made = {.d = design->features};
    size_t *order = malloc(design->rows * sizeof *order);
    if (order == NULL || !allocate(&made, design->rows)) {
        free(order);
        tremolo_split_free(&made);
        return TREMOLO_NO_MEMORY;
    }
    shuffle(order, design->rows, seed);
    for (size_t r = 0; r < design->rows; r++) {
        memcpy(made.X + r * made.d, design->X + order[r] * made.d, made.d * sizeof *made.X);
        made.y[r] = design->y[order[r]];
    }
    free(order);
    made.valid = (size_t)(valid_share * (double)design->rows);
    made.test = (size_t)(test_share * (double)design->rows);
    made.train = design->rows - made.valid - made.test;
    const char *same = scale_all(&made, design, scaling);
    if (same != NULL) {
        *constant = same;
        tremolo_split_free(&made);
        return TREMOLO_SINGULAR;
    }
    measure_bounds(&made, protect_all, scaling != TREMOLO_SCALING_STANDARD && design->low != NULL);
    *split = made;
    return TREMOLO_OK;
}

/* Only the radius changes: devices clip, the split's rows stay as they are. A device clamps each
 * coordinate to the bound before it measures the norm, so that is repeated here. */
size_t tremolo_split_clip(struct tremolo_split *split, double radius, bool protect_all)
{
    size_t beyond = 0;
    for (size_t r = 0; r < split->train; r++) {
        double y = fmin(fabs(split->y[r]), split->bound), square = protect_all ? y * y : 0;
        for (size_t i = 0; i < split->d; i++) {
            double x = fmin(fabs(split->X[r * split->d + i]), split->bound);
            square += x * x;
        }
        beyond += sqrt(square) > radius;
    }
    split->radius = radius;
    return beyond;
}

/* Counted in scaled units, where the bounds are -1 and 1. */
void tremolo_split_outside(size_t *counts, const struct tremolo_split *split)
{
    const double margin = 1 + 1e-9; /* a value at its bound may be rounded to beyond it */
    for (size_t i = 0; i <= split->d; i++) {
        counts[i] = 0;
        for (size_t r = 0; r < split->train; r++) {
            double value = i < split->d ? split->X[r * split->d + i] : split->y[r];
            counts[i] += fabs(value) > margin;
        }
    }
}

/* Accepts a split that was never made, if it is zero. */
void tremolo_split_free(struct tremolo_split *split)
{
    free(split->X);
    free(split->y);
    free(split->centre);
    free(split->scale);
    *split = (struct tremolo_split){0};
}

/* The parts follow one another in the split's rows. */
double tremolo_split_r2(const struct tremolo_split *split, enum tremolo_split_part part,
                        const double *beta, double intercept, double reach)
{
    const size_t rows[] = {split->train, split->valid, split->test};
    const size_t starts[] = {0, split->train, split->train + split->valid};
    return tremolo_r2(beta, intercept, split->X + starts[part] * split->d, split->y + starts[part],
                      rows[part], split->d, reach);
}

/* ------------------------------------------------------------- methods */

/* In the order of enum tremolo_experiment_method. */
const char *tremolo_experiment_method_name(enum tremolo_experiment_method method)
{
    static const char *const names[] = {"auto", "one-shot", "iterative", "pooled",
                                        "ols",  "dp-sgd",   "adassp"};
    return names[method];
}

/* DP-SGD has rounds of its own, without devices that report. */
bool tremolo_experiment_takes_rounds(enum tremolo_experiment_method method)
{
    return method == TREMOLO_EXPERIMENT_ITERATIVE || method == TREMOLO_EXPERIMENT_POOLED;
}

/* A ballot counts features up to this many half ranges, so predictions from ballots do, too.
 * Least squares on raw rows takes values as they are. */
double tremolo_experiment_reach(const struct tremolo_experiment_options *options)
{
    return options->release == TREMOLO_RELEASE_BALLOT && options->method != TREMOLO_EXPERIMENT_OLS
               ? TREMOLO_BALLOT_REACH
               : INFINITY;
}

/* Rounds times samples of a device: all of them spend from one budget. DP-SGD counts too: each of
 * its rounds reads every gradient again. */
size_t tremolo_experiment_releases(const struct tremolo_experiment_options *options)
{
    bool rounds = tremolo_experiment_takes_rounds(options->method) ||
                  options->method == TREMOLO_EXPERIMENT_DP_SGD;
    return (rounds ? options->rounds : 1) * (options->samples > 1 ? options->samples : 1);
}

/* What a fleet needs to know. Modulation without vectors has no amplitude, and kept reports need
 * one thread, which writes them in order. The rows are the training rows, which come first in the
 * split, so that no device holds a row that R^2 is measured on. */
static struct fleet_setup setup_of(const struct tremolo_split *split,
                                   const struct tremolo_experiment_options *options, uint64_t seed)
{
    return (struct fleet_setup){
        .X = split->X,
        .y = split->y,
        .rows = split->train,
        .response_bound = split->response_bound,
        .request = {.dimension = split->d,
                    .response_private = options->protect_all,
                    .bound = split->bound,
                    .radius = split->radius,
                    .neighbours = options->neighbours,
                    .distance = options->distance,
                    .epsilon = options->epsilon,
                    .delta = options->delta,
                    .rounds = (uint16_t)tremolo_experiment_releases(options),
                    .calibration = options->calibration,
                    .alpha = options->alpha,
                    .lambda = options->vectors > 0 ? options->lambda : 0,
                    .omega = options->vectors > 0 ? options->omega : 0,
                    .vectors = options->vectors},
        .samples = (unsigned)options->samples,
        .release = options->release,
        .study = options->study,
        .seed = seed,
        .threads = options->save != NULL ? 1 : options->threads,
        .progress = options->progress,
        .reports = options->save != NULL ? options->save->file : NULL,
    };
}

/* ------------------------------------------------------------ keeping them */

/* The line before the reports: the study, and the way back to own units. A file of reports can be
 * fitted without the table: the header has the names, ranges and scales that a fit needs.
 * STORAGE_FAILED if it cannot be written. */
static enum tremolo_status save_header(const struct tremolo_split *split, const struct fleet *fleet,
                                       const struct tremolo_experiment_options *options)
{
    bool rounds = tremolo_experiment_takes_rounds(options->method);
    bool ballots = options->release == TREMOLO_RELEASE_BALLOT; /* scaled by ranges, not bounds */
    double range[TREMOLO_DESIGN_FEATURES_MAX + 1];
    tremolo_design_ranges(range, options->save->design);
    struct tremolo_report_header header = {
        .study = fleet->study,
        .step = rounds ? options->step : 0,
        .radius = rounds ? options->radius : 0,
        .feature_bound = ballots ? 1 : split->bound,
        .response_bound = ballots ? 1 : split->response_bound,
        .distance = options->neighbours == TREMOLO_NEIGHBOURS_ANY ? 0 : options->distance,
        .delta = ballots ? 0 : options->delta,
        .centre = split->centre,
        .scale = split->scale,
        .response_centre = split->response_centre,
        .response_scale = split->response_scale,
        .name = options->save->design->name,
        .range = range,
        .inputs = options->save->design->inputs,
    };
    memcpy(header.response, options->save->design->response, sizeof header.response);
    memcpy(header.unit, options->save->design->unit, sizeof header.unit);
    return tremolo_report_file_begin(options->save->file, &header) ? TREMOLO_OK
                                                                   : TREMOLO_STORAGE_FAILED;
}

/* What opens a round in the file, if there is one. Vectors are written as they go over the wire,
 * rounded to 2^-14, because devices see only these. */
static enum tremolo_status save_round(const struct tremolo_experiment_save *save,
                                      const struct tremolo_study *study, size_t round,
                                      const double *V)
{
    size_t count = (size_t)study->vectors * study->dimension;
    int16_t *vectors = save != NULL ? calloc(count + 1, sizeof *vectors) : NULL;
    if (vectors == NULL) {
        return save != NULL ? TREMOLO_NO_MEMORY : TREMOLO_OK;
    }
    tremolo_release_to_wire(vectors, V, count);
    bool good = tremolo_report_file_begin_round(save->file, study, (unsigned)round, vectors);
    free(vectors);
    return good ? TREMOLO_OK : TREMOLO_STORAGE_FAILED;
}

/* ------------------------------------------------------------- one release */

/* By the regularised fit, unless the method has one of its own. One-shot is the paper's ridge
 * with a constant that is not chosen from the data. */
static enum tremolo_status fit(struct tremolo_outcome *outcome,
                               const struct tremolo_experiment_options *options)
{
    struct tremolo_fit_options fit_options = TREMOLO_FIT_DEFAULTS;
    if (options->method == TREMOLO_EXPERIMENT_ONE_SHOT) {
        fit_options = (struct tremolo_fit_options){TREMOLO_METHOD_ONE_SHOT, false, options->ridge};
    }
    enum tremolo_status status =
        tremolo_fit(outcome->beta, &outcome->fit, outcome->evidence, &fit_options);
    outcome->intercept = outcome->fit.intercept;
    return status;
}

/* One round of noisy samples. The vectors are drawn about zero, because there is no estimate yet.
 * What was made before a failure stays in the outcome, which the caller frees. */
static enum tremolo_status run_single(struct tremolo_outcome *outcome, struct fleet *fleet,
                                      const struct tremolo_experiment_options *options,
                                      uint64_t seed)
{
    static const double zero[TREMOLO_DESIGN_FEATURES_MAX];
    double *V = calloc(options->vectors * fleet->d + 1, sizeof *V);
    enum tremolo_status status = V == NULL ? TREMOLO_NO_MEMORY : TREMOLO_OK;
    if (status == TREMOLO_OK && options->vectors > 0) {
        status = tremolo_directions(V, options->vectors, zero, fleet->d, seed, 0);
    }
    status = status == TREMOLO_OK ? save_round(options->save, &fleet->study, 0, V) : status;
    status = status == TREMOLO_OK ? fleet_release(&outcome->evidence, NULL, fleet, 0, V) : status;
    status = status == TREMOLO_OK ? fit(outcome, options) : status;
    free(V);
    return status;
}

/* One round of ballots. There are no vectors: a ballot's directions follow from its id. */
static enum tremolo_status run_ballots(struct tremolo_outcome *outcome, struct fleet *fleet,
                                       const struct tremolo_experiment_save *save)
{
    struct tremolo_ballot_fit made;
    enum tremolo_status status = save_round(save, &fleet->study, 0, NULL);
    status = status == TREMOLO_OK ? fleet_ballots(&outcome->ballots, fleet) : status;
    if (status == TREMOLO_OK) {
        status =
            tremolo_ballot_fit(outcome->beta, &made, outcome->ballots, TREMOLO_METHOD_AUTO, 0.95);
    }
    if (status == TREMOLO_OK) {
        outcome->fit = made.fit;
        outcome->intercept = made.fit.intercept;
    }
    return status;
}

/* ------------------------------------------------------------------ rounds */

/* What release_round() needs from one call to the next. The list has room for all rounds; `kept`
 * of them are filled and owned here. */
struct rounds {
    struct fleet *fleet;
    const struct tremolo_experiment_save *save;
    size_t kept;
    struct tremolo_debiased **evidence; /* of the rounds so far */
};

/* One round for tremolo_iterate(): keep what opens it, let all devices report, and keep the
 * evidence for the pool. */
static enum tremolo_status release_round(void *context, size_t round, const double *beta,
                                         const double *V, size_t vectors,
                                         struct tremolo_debiased **evidence)
{
    struct rounds *rounds = context;
    (void)beta;
    enum tremolo_status status = save_round(rounds->save, &rounds->fleet->study, round, V);
    if (status == TREMOLO_OK) {
        status = fleet_release(evidence, &rounds->evidence[rounds->kept], rounds->fleet,
                               (uint16_t)round, vectors > 0 ? V : NULL);
    }
    rounds->kept += status == TREMOLO_OK;
    return status;
}

/* Inference rests on all rounds together, whichever iterate predicts. The iterative method keeps
 * the last iterate as its coefficients; the pooled one replaces it by a fit to the evidence of
 * all rounds. */
static enum tremolo_status run_rounds(struct tremolo_outcome *outcome, struct fleet *fleet,
                                      const struct tremolo_experiment_options *options,
                                      uint64_t seed)
{
    struct tremolo_iterate_options iterate = {.rounds = options->rounds,
                                              .vectors = options->vectors,
                                              .step = options->step,
                                              .radius = options->radius,
                                              .seed = seed};
    struct rounds rounds = {.fleet = fleet, .save = options->save};
    rounds.evidence = calloc(options->rounds, sizeof(struct tremolo_debiased *));
    if (rounds.evidence == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    enum tremolo_status status = tremolo_iterate(outcome->beta, NULL, fleet->study.dimension,
                                                 &iterate, release_round, &rounds);
    if (status == TREMOLO_OK) {
        status = tremolo_debias_pool(&outcome->evidence,
                                     (const struct tremolo_debiased *const *)rounds.evidence,
                                     rounds.kept);
    }
    if (status == TREMOLO_OK && options->method == TREMOLO_EXPERIMENT_POOLED) {
        status = fit(outcome, options);
    }
    for (size_t t = 0; t < rounds.kept; t++) {
        tremolo_debias_free(rounds.evidence[t]);
    }
    free(rounds.evidence);
    return status;
}

/* --------------------------------------------------------------- baselines */

/* Clipped gradients of two people differ by at most 2 C, for any two. Epsilon is computed back
 * from the noise, so that the outcome states what was spent rather than what was asked. */
static enum tremolo_status run_dp_sgd(struct tremolo_outcome *outcome,
                                      const struct tremolo_split *split,
                                      const struct tremolo_experiment_options *options,
                                      uint64_t seed)
{
    struct tremolo_certified sigma, epsilon;
    struct tremolo_gaussian cost = {0};
    enum tremolo_rule rule =
        options->calibration == TREMOLO_CALIBRATION_EXACT ? TREMOLO_RULE_EXACT : TREMOLO_RULE_ZCDP;
    enum tremolo_status status =
        tremolo_rule_sigma(&sigma, rule, options->epsilon, options->delta, 2 * options->clip,
                           tremolo_experiment_releases(options));
    if (status == TREMOLO_OK) {
        status = tremolo_gaussian_add(&cost, 2 * options->clip, sigma.upper,
                                      tremolo_experiment_releases(options));
    }
    if (status == TREMOLO_OK) {
        status = tremolo_gaussian_epsilon(&epsilon, &cost, options->delta);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    const struct tremolo_dpsgd_options dpsgd = {options->rounds, options->clip, options->step,
                                                sigma.upper, seed};
    outcome->privacy.sigma = sigma.upper;
    outcome->privacy.sensitivity = 2 * options->clip;
    outcome->privacy.mu = tremolo_gaussian_mu(&cost).upper;
    outcome->privacy.rho = tremolo_gaussian_rho(&cost).upper;
    outcome->privacy.epsilon = epsilon.upper;
    return tremolo_dpsgd(outcome->beta, split->X, split->y, split->train, split->d, &dpsgd);
}

/* Any two people, whatever neighbours the options name. The noise is for sensitivity 1 and is
 * scaled by the fit itself. The radius is the largest norm of the training rows; that is read off
 * the data and helps this baseline, so comparisons with it are cautious. */
static enum tremolo_status run_adassp(struct tremolo_outcome *outcome,
                                      const struct tremolo_split *split,
                                      const struct tremolo_experiment_options *options,
                                      uint64_t seed)
{
    struct tremolo_certified sigma;
    enum tremolo_status status = tremolo_rule_sigma(&sigma, TREMOLO_RULE_EXACT, options->epsilon,
                                                    options->delta, 1, TREMOLO_ADASSP_RELEASES);
    if (status != TREMOLO_OK) {
        return status;
    }
    double largest = 0;
    for (size_t r = 0; r < split->train; r++) {
        double square = 0;
        for (size_t i = 0; i < split->d; i++) {
            square += split->X[r * split->d + i] * split->X[r * split->d + i];
        }
        largest = fmax(largest, square);
    }
    const struct tremolo_adassp_options adassp = {.radius = sqrt(largest),
                                                  .response_bound = split->response_bound,
                                                  .response_private = options->protect_all,
                                                  .noise_sd = sigma.upper,
                                                  .delta = options->delta,
                                                  .seed = seed};
    return tremolo_adassp(outcome->beta, &outcome->intercept, split->X, split->y, split->train,
                          split->d, &adassp);
}

/* Every method with reports: make the fleet, note what its release is, and run the
 * method's rounds. */
static enum tremolo_status run_fleet(struct tremolo_outcome *outcome,
                                     const struct tremolo_split *split,
                                     const struct tremolo_experiment_options *options,
                                     uint64_t seed)
{
    struct fleet *fleet = NULL;
    const struct fleet_setup setup = setup_of(split, options, seed);
    enum tremolo_status status = fleet_new(&fleet, &setup);
    if (status == TREMOLO_OK) {
        outcome->privacy = fleet->scales;
        outcome->law = (struct tremolo_rank_law){fleet->study.rank_first, fleet->study.rank_top};
        outcome->of_study = options->study != NULL && memcmp(fleet->study.id, options->study->id,
                                                             TREMOLO_STUDY_ID_BYTES) == 0;
        if (options->release == TREMOLO_RELEASE_SAMPLE) {
            outcome->mechanism =
                tremolo_release_mechanism(&fleet->release, (double)fleet->setup.rows);
            outcome->noise_sd = ldexp(1, fleet->study.noise_log2) / fleet->study.unit;
        }
        if (options->save != NULL) {
            status = save_header(split, fleet, options);
        }
    }
    if (status == TREMOLO_OK) {
        status = options->release == TREMOLO_RELEASE_BALLOT
                     ? run_ballots(outcome, fleet, options->save)
                 : tremolo_experiment_takes_rounds(options->method)
                     ? run_rounds(outcome, fleet, options, seed)
                     : run_single(outcome, fleet, options, seed);
    }
    fleet_free(fleet);
    return status;
}

/* The outcome is made aside and copied at the end, so that a failure leaves the caller's
 * untouched. Only the fleet's methods give evidence or ballots. */
enum tremolo_status tremolo_experiment_run(struct tremolo_outcome *outcome,
                                           const struct tremolo_split *split,
                                           const struct tremolo_experiment_options *options,
                                           uint64_t seed)
{
    struct tremolo_outcome made = {.fit = {.r2 = NAN, .residual_variance = NAN, .condition = NAN},
                                   .noise_sd = NAN};
    enum tremolo_status status;
    switch (options->method) {
    case TREMOLO_EXPERIMENT_OLS:
        status = tremolo_ols(made.beta, &made.intercept, NULL, split->X, split->y, split->train,
                             split->d, true);
        break;
    case TREMOLO_EXPERIMENT_ADASSP: status = run_adassp(&made, split, options, seed); break;
    case TREMOLO_EXPERIMENT_DP_SGD: status = run_dp_sgd(&made, split, options, seed); break;
    default: status = run_fleet(&made, split, options, seed); break;
    }
    if (status != TREMOLO_OK) {
        tremolo_outcome_free(&made);
        return status;
    }
    *outcome = made;
    return TREMOLO_OK;
}

/* Only the evidence and the ballots are allocated. */
void tremolo_outcome_free(struct tremolo_outcome *outcome)
{
    tremolo_debias_free(outcome->evidence);
    tremolo_ballot_free(outcome->ballots);
    outcome->evidence = NULL;
    outcome->ballots = NULL;
}
