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
#include "progress.h"

static const char command[] = "simulate";

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
        simulate_print(options, design, &result);
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
    bool chosen = options.without_count == 0 || simulate_leave_out(&options, table, error);
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
