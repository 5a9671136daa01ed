/* simulate.c -- `tremolo simulate`: every row of a CSV file is a device.
 *
 * Each repeat shuffles the rows anew, holds some out, lets the others report
 * through the device core, fits, and measures R^2 on the rows held out. The
 * table of coefficients is the first repeat's. */
#include "simulate.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "coefficients.h"
#include "privacy_warnings.h"
#include "progress.h"

static const char command[] = "simulate";

/* ---------------------------------------------------------------- what is said after the estimate */

static void print_clip(const struct simulate_options *options, const struct tremolo_design *design,
                       const struct tremolo_simulation_result *result)
{
    char text[200];
    (void)snprintf(text, sizeof text,
                   "The study clips samples to a norm of %g in scaled units: %zu of %zu devices "
                   "sent a shorter one, which biases the estimates.",
                   options->simulation.clip, result->clipped, result->devices);
    if (tremolo_simulation_clips(&options->simulation, design)) {
        coefficients_paragraph(text);
    }
}

static void print_privacy(const struct simulate_options *options,
                          const struct tremolo_design *design,
                          const struct tremolo_simulation_result *result)
{
    char clamped[SIMULATION_SENTENCE_BYTES];
    const struct tremolo_experiment_options *experiment = &options->simulation.experiment;
    if (experiment->method == TREMOLO_EXPERIMENT_OLS) {
        printf("Privacy: none; ordinary least squares reads the raw data.\n");
        return;
    }
    if (experiment->release == TREMOLO_RELEASE_BALLOT) {
        printf("Epsilon %.4g of the %g asked for, by ballots.\n",
               tremolo_digits_up(result->privacy.epsilon, 4), experiment->epsilon);
    } else {
        printf("Epsilon %.4g of the %g asked for; noise sd %.4g in scaled units.\n",
               tremolo_digits_up(result->privacy.epsilon, 4), experiment->epsilon,
               result->privacy.sigma);
    }
    bool half_ranges =
        experiment->neighbours == TREMOLO_NEIGHBOURS_DISTANCE && !options->simulation.deviations;
    privacy_warnings_print(&(struct privacy_terms){
        .epsilon = experiment->epsilon, .distance = half_ranges ? experiment->distance : 0});
    simulation_clamped_words(clamped, &options->simulation, design, result);
    if (clamped[0] != '\0') {
        coefficients_paragraph(clamped);
    }
    print_clip(options, design, result);
    if (options->simulation.scaling == TREMOLO_SCALING_STANDARD || options->study == NULL) {
        coefficients_paragraph(simulation_scale_words(&options->simulation, design));
    }
    if (experiment->method == TREMOLO_EXPERIMENT_DP_SGD) {
        coefficients_paragraph(
            "What is released are clipped gradients: the diameter is theirs, twice --clip, "
            "whatever "
            "the samples are. Their noise comes from a generator for simulations; the device core "
            "was not run.");
    }
}

/* Nothing stands for a response. */
static void print_dropped(const struct tremolo_design *design)
{
    size_t fillable = design->dropped - design->unanswered;
    printf("%zu rows dropped for missing values", design->dropped);
    if (fillable > 0) {
        printf(" (--missing mean keeps %zu)", fillable);
    } else if (design->dropped > 0) {
        printf(" of the response");
    }
    (void)putchar('\n');
}

static void print_rest(const struct simulate_options *options, const struct tremolo_design *design,
                       const struct tremolo_simulation_result *result)
{
    const struct tremolo_simulation *simulation = &options->simulation;
    printf("\nSimulated with method %s: %zu devices, %zu rows held out, ",
           tremolo_experiment_method_name(simulation->experiment.method), result->devices,
           result->held_out);
    print_dropped(design);
    if (design->means) {
        coefficients_paragraph("Columns' means or most frequent levels stand for missing values, "
                               "which is not private; a study says beforehand what does.");
    }
    printf("R-squared %.4f on %s", simulation_mean(result->r2, simulation->repeats),
           result->held_out > 0 ? "rows held out" : "the training rows");
    if (simulation->repeats > 1) {
        printf(" (sd %.4f over %zu repeats)", simulation_sd(result->r2, simulation->repeats),
               simulation->repeats);
    }
    printf("; without privacy (ols) %.4f\n", simulation_mean(result->r2_ols, simulation->repeats));
    print_privacy(options, design, result);
    printf("Seed %llu, %.2f seconds.\n", (unsigned long long)simulation->seed, result->seconds);
}

/* ---------------------------------------------------------------- running */

static int run_design(struct simulate_options *options, const struct tremolo_design *design)
{
    struct tremolo_simulation_result result;
    const char *constant = NULL;
    char error[TREMOLO_TABLE_ERROR_BYTES];
    int code = CLI_DONE;
    if (!tremolo_simulation_fits(&options->simulation, design, error)) {
        return cli_fail(CLI_USAGE, command, "%s", error);
    }
    double start = cli_seconds();
    options->simulation.experiment.progress = &progress_bar;
    enum tremolo_status status =
        tremolo_simulation_run(&result, &constant, &options->simulation, design);
    result.seconds = cli_seconds() - start;
    if (status != TREMOLO_OK) {
        tremolo_simulation_explain(error, status, constant, &options->simulation);
        code = cli_fail(status == TREMOLO_SINGULAR ? CLI_USAGE : cli_exit_of(status), command, "%s",
                        error);
    } else {
        code = estimate_show(
            command,
            simulation_document(&options->simulation, design, &result, options->wish.save != NULL),
            &options->wish);
    }
    if (status == TREMOLO_OK && !options->wish.json) {
        print_rest(options, design, &result);
    }
    tremolo_simulation_free(&result);
    return code;
}

/* Reports are kept under a name of their own until all is well. */
static int run_and_keep(struct simulate_options *options, const struct tremolo_design *design)
{
    char path[PATH_MAX];
    struct tremolo_experiment_save save = {.design = design};
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
    options->simulation.experiment.save = &save;
    int code = run_design(options, design);
    options->simulation.experiment.save = NULL;
    bool closed = fclose(save.file) == 0;
    if (code == CLI_DONE && !(closed && rename(path, options->reports) == 0)) {
        code = cli_fail(CLI_FAILED, command, "%s: %s", options->reports, strerror(errno));
    }
    if (code != CLI_DONE) {
        (void)unlink(path);
    }
    return code;
}

int simulate_run(int argc, char **argv)
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
    bool chosen = options.without.count == 0 || simulate_leave_out(&options, table, error);
    const struct tremolo_design_wish wish = {.study = options.study_file,
                                             .response = options.response,
                                             .features = options.features,
                                             .terms = options.terms,
                                             .missing = options.missing};
    if (!chosen || !tremolo_design_build(&design, table, &wish, error)) {
        code = cli_fail(CLI_USAGE, command, "%s: %s", options.path, error);
    }
    tremolo_table_free(table);
    if (code == CLI_DONE && design.remark[0] != '\0') {
        (void)fprintf(stderr, "tremolo %s: %s\n", command, design.remark);
    }
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
