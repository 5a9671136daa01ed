/* simulate.c -- `tremolo simulate`: every row of a CSV file is a device.
 *
 * Each repeat shuffles the rows anew, holds some out, lets the others report
 * through the device core, fits, and measures R^2 on the rows held out. The
 * table of coefficients is the first repeat's. */
#include "simulate.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "tremolo_design.h"
#include "progress.h"
#include "tremolo_random.h"

static const char command[] = "simulate";

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double simulate_mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum / (double)count;
}

double simulate_sd(const double *values, size_t count)
{
    double mean = simulate_mean(values, count), squares = 0;
    for (size_t i = 0; i < count; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
    }
    return count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
}

static struct tremolo_units units_of(const struct split *split)
{
    return (struct tremolo_units){split->centre, split->scale, split->response_centre,
                                  split->response_scale};
}

/* Ordinary least squares has its own standard errors: those of the textbook. */
static enum tremolo_status infer_ols(struct tremolo_coefficient *rows, const struct split *split,
                                     const double *prediction)
{
    double beta[TREMOLO_DESIGN_FEATURES_MAX], error[TREMOLO_DESIGN_FEATURES_MAX], constant;
    double degrees = (double)(split->train - split->d) - 1;
    enum tremolo_status status = tremolo_ols(beta, &constant, error, NULL, NULL, split->X, split->y,
                                             split->train, split->d, true);
    if (status != TREMOLO_OK) {
        return status;
    }
    double width = tremolo_student_quantile(0.5 + 0.5 * SIMULATE_LEVEL, degrees);
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

static struct tremolo_convergence_answer convergence_of(const struct split *split,
                                                        const struct outcome *outcome,
                                                        const struct experiment_options *options)
{
    const struct tremolo_convergence_input input = {.mechanism = outcome->mechanism,
                                                    .rounds = (double)options->rounds,
                                                    .B = options->radius,
                                                    .R = split->radius,
                                                    .M = split->response_bound};
    return tremolo_convergence_of_fit(&input, outcome->evidence, outcome->beta);
}

static enum tremolo_status conclude(struct simulate_result *result, const struct split *split,
                                    const struct outcome *outcome,
                                    const struct experiment_options *options)
{
    enum method method = options->method;
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
    if (method == METHOD_DP_SGD) {
        result->remark = "dp-sgd gives no standard errors";
        return TREMOLO_OK;
    }
    if (method_takes_rounds(method)) {
        result->convergence = convergence_of(split, outcome, options);
    }
    status = method == METHOD_OLS ? infer_ols(result->coefficient, split, result->prediction)
                                  : tremolo_infer(result->coefficient, outcome->evidence, &units,
                                                  true, SIMULATE_LEVEL);
    if (status == TREMOLO_SINGULAR) {
        result->remark = "the debiased moment is singular at this noise: no unbiased estimate";
        return TREMOLO_OK;
    }
    result->coefficients = status == TREMOLO_OK ? d + 1 : 0;
    return status;
}

/* One repeat; R^2 on the training rows when none are held out. */
static enum tremolo_status repeat(struct simulate_result *result, const char **constant,
                                  const struct simulate_options *options,
                                  const struct tremolo_design *design, size_t number)
{
    struct experiment_options ols = options->experiment;
    struct split split = {0};
    struct outcome outcome = {.evidence = NULL};
    uint64_t seed = tremolo_random_hash(options->seed, number);
    enum tremolo_status status =
        split_make(&split, constant, design, 0, options->test_share, options->scaling,
                   options->experiment.protect_all, tremolo_random_hash(seed, 0));
    if (status == TREMOLO_OK && number == 0) {
        split_outside(result->clamped, &split);
    }
    if (status == TREMOLO_OK && simulate_clips(options)) {
        size_t clipped = split_clip(&split, options->clip, options->experiment.protect_all);
        result->clipped = number == 0 ? clipped : result->clipped;
    }
    struct experiment_options chosen = options->experiment;
    chosen.save = number == 0 ? options->experiment.save : NULL;
    ols.method = METHOD_OLS;
    if (status == TREMOLO_OK) {
        status = experiment_run(&outcome, &split, &ols, seed);
    }
    if (status == TREMOLO_OK) {
        enum split_part part = split.test > 0 ? SPLIT_TEST : SPLIT_TRAIN;
        result->r2_ols[number] = split_r2(&split, part, outcome.beta, outcome.intercept);
        status = experiment_run(&outcome, &split, &chosen, tremolo_random_hash(seed, 1));
        if (status == TREMOLO_OK) {
            result->r2[number] = split_r2(&split, part, outcome.beta, outcome.intercept);
        }
    }
    if (status == TREMOLO_OK && number == 0) {
        status = conclude(result, &split, &outcome, &options->experiment);
    }
    outcome_free(&outcome);
    split_free(&split);
    return status;
}

static enum tremolo_status run_repeats(struct simulate_result *result, const char **constant,
                                       struct simulate_options *options,
                                       const struct tremolo_design *design)
{
    enum tremolo_status status = TREMOLO_OK;
    size_t releases =
        method_takes_rounds(options->experiment.method) ? options->experiment.rounds : 1;
    size_t train = design->rows - (size_t)(options->test_share * (double)design->rows);
    double start = now();
    progress_bar.begin("simulating", options->repeats * releases * train);
    options->experiment.progress = &progress_bar;
    for (size_t r = 0; r < options->repeats && status == TREMOLO_OK; r++) {
        status = repeat(result, constant, options, design, r);
    }
    progress_bar.end();
    options->experiment.progress = NULL;
    result->seconds = now() - start;
    return status;
}

static int explain_failure(enum tremolo_status status, const char *constant,
                           const struct simulate_options *options)
{
    if (status == TREMOLO_SINGULAR && constant != NULL) {
        return cli_fail(CLI_USAGE, command,
                        "column '%s' is constant on the training rows, or too large to scale",
                        constant);
    }
    if (status == TREMOLO_SINGULAR) {
        return cli_fail(CLI_USAGE, command,
                        "the features of %s depend linearly on one another; leave some out",
                        options->path);
    }
    if (status == TREMOLO_UNREACHABLE) {
        return cli_fail(CLI_REFUSED, command,
                        "no noise the device can make gives epsilon %g for this data's range; "
                        "clip outliers or ask for another epsilon",
                        options->experiment.epsilon);
    }
    return cli_fail(cli_exit_of(status), command, "%s", tremolo_status_sentence(status));
}

/* Checks that need the data. */
static int check_against(const struct simulate_options *options,
                         const struct tremolo_design *design)
{
    size_t train = design->rows - (size_t)(options->test_share * (double)design->rows);
    if (train < design->features + 2) {
        return cli_fail(CLI_USAGE, command,
                        "%zu features need at least %zu devices, and %zu are left of %zu rows",
                        design->features, design->features + 2, train, design->rows);
    }
    size_t m = options->experiment.vectors;
    if (options->experiment.method != METHOD_OLS && m > 0 &&
        m + (method_takes_rounds(options->experiment.method) ? 1 : 0) > design->features) {
        return cli_fail(CLI_USAGE, command, "%zu vectors do not fit into %zu features", m,
                        design->features);
    }
    return CLI_DONE;
}

static int run_design(struct simulate_options *options, const struct tremolo_design *design)
{
    struct simulate_result result = {.rows = design->rows, .dropped = design->dropped};
    const char *constant = NULL;
    int code = check_against(options, design);
    if (code != CLI_DONE) {
        return code;
    }
    result.r2 = calloc(options->repeats, sizeof *result.r2);
    result.r2_ols = calloc(options->repeats, sizeof *result.r2_ols);
    result.clamped = calloc(design->features + 1, sizeof *result.clamped);
    enum tremolo_status status =
        result.r2 == NULL || result.r2_ols == NULL || result.clamped == NULL
            ? TREMOLO_NO_MEMORY
            : run_repeats(&result, &constant, options, design);
    if (status != TREMOLO_OK) {
        code = explain_failure(status, constant, options);
    } else if (options->json) {
        code = simulate_print_json(options, design, &result) ? CLI_DONE : CLI_FAILED;
    } else {
        simulate_print(options, design, &result);
    }
    if (code == CLI_DONE && options->report != NULL) {
        code = simulate_save(options, design, &result);
    }
    free(result.r2);
    free(result.r2_ols);
    free(result.clamped);
    free(result.prediction);
    free(result.coefficient);
    return code;
}

/* Reports are kept under a name of their own until all is well. */
static int run_and_keep(struct simulate_options *options, const struct tremolo_design *design)
{
    char path[PATH_MAX];
    struct experiment_save save = {.design = design};
    if (options->reports == NULL) {
        return run_design(options, design);
    }
    if (snprintf(path, sizeof path, "%s.part", options->reports) >= (int)sizeof path) {
        return cli_fail(CLI_USAGE, command, "the name of the reports' file is too long");
    }
    save.file = fopen(path, "wb");
    if (save.file == NULL) {
        return cli_fail(CLI_FAILED, command, "%s: %s", path, strerror(errno));
    }
    options->experiment.save = &save;
    int code = run_design(options, design);
    options->experiment.save = NULL;
    bool closed = fclose(save.file) == 0;
    if (code == CLI_DONE && !(closed && rename(path, options->reports) == 0)) {
        code = cli_fail(CLI_FAILED, command, "%s: %s", options->reports, strerror(errno));
    }
    if (code != CLI_DONE) {
        (void)unlink(path);
    }
    return code;
}

int cli_simulate(int argc, char **argv)
{
    struct simulate_options options;
    struct tremolo_table *table = NULL;
    struct tremolo_design design = {0};
    char error[TREMOLO_TABLE_ERROR_BYTES];
    int code = CLI_DONE;
    if (!simulate_parse(&options, &code, argc, argv)) {
        simulate_options_free(&options);
        return code;
    }
    if (!tremolo_table_read(&table, options.path, options.separator, error)) {
        simulate_options_free(&options);
        return cli_fail(CLI_USAGE, command, "%s", error);
    }
    bool chosen = options.without_count == 0 || simulate_leave_out(&options, table, error);
    if (!chosen || !tremolo_design_build(&design, table, options.study_file, options.response,
                                         options.features, error)) {
        code = cli_fail(CLI_USAGE, command, "%s: %s", options.path, error);
    }
    tremolo_table_free(table);
    if (code == CLI_DONE && options.study_file != NULL &&
        !tremolo_design_bound(&design, options.study_file, error)) {
        code = cli_fail(CLI_USAGE, command, "%s: %s", options.study, error);
    }
    if (code == CLI_DONE) {
        code = run_and_keep(&options, &design);
    }
    tremolo_design_free(&design);
    simulate_options_free(&options);
    return code;
}
