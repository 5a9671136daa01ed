/* fit.c -- `tremolo fit`: a regression from a file of reports, a server or its directory. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "estimate_json.h"
#include "estimate_show.h"
#include "options.h"
#include "result.h"
#include "tremolo_report_fit.h"

static const char command[] = "fit";

#define PREDICTOR_WORDS "auto one-shot unbiased pooled iterative" /* tremolo_predictor_names */

struct fit_options {
    const char *path;
    const char *study;
    struct tremolo_report_fit_options fit;
    bool json;
    bool explain;
    const char *save; /* NULL: nowhere */
    bool force;
    char line[RESULT_LINE_BYTES]; /* the command as typed */
};

/* ---------------------------------------------------------------- options */

#define TO(member) OPTION_TO(struct fit_options, member)

static const struct option_rule rules[] = {
    OPTION_RULE("study", "ID", TEXT, TO(study), .help = "which one, when a directory has several"),
    OPTION_RULE("method", "M", CHOICE, TO(fit.predictor), .words = PREDICTOR_WORDS,
                .otherwise = "auto",
                .help = "what predicts. Coefficients and intervals are the unbiased estimator's "
                        "always; pooled is auto on all rounds of a file, iterative the paper's "
                        "iteration over them, and both need a file of several rounds"),
    OPTION_RULE("ridge", "G", NUMBER, TO(fit.ridge), OPTION_FROM(0, INFINITY), .otherwise = "0.5",
                .help = "of one-shot"),
    OPTION_RULE("level", "L", NUMBER, TO(fit.level), OPTION_BETWEEN(0, 1), .otherwise = "0.95",
                .help = "confidence of the intervals"),
    RESULT_RULES(struct fit_options),
};

static bool parse(struct fit_options *options, int *code, int argc, char **argv)
{
    struct options_given given;
    *options = (struct fit_options){.path = NULL};
    result_command_line(options->line, argc, argv);
    if (!options_parse(&given, options, code, &cli_fit, argc, argv)) {
        return false;
    }
    options->path = given.operand[0];
    *code = result_check(command, options->save, options->force);
    return *code == CLI_DONE;
}

/* -------------------------------------------------------------- estimating */

static int fit_file(const struct fit_options *options)
{
    char error[TREMOLO_REPORT_FILE_ERROR_BYTES];
    json_t *document = NULL;
    const struct estimate_wish wish = {.as_json = options->json,
                                       .explain = options->explain,
                                       .save = options->save,
                                       .line = options->line};
    enum tremolo_status status =
        estimate_of_reports(&document, options->path, &options->fit, error);
    return status == TREMOLO_OK
               ? estimate_show(command, document, &wish)
               : cli_fail(cli_exit_of(status), command, "%s: %s", options->path, error);
}

static int run(int argc, char **argv)
{
    struct fit_options options;
    int code = CLI_DONE;
    if (!parse(&options, &code, argc, argv)) {
        return code;
    }
    struct stat about;
    if (strstr(options.path, "://") != NULL ||
        (stat(options.path, &about) == 0 && S_ISDIR(about.st_mode))) {
        const struct estimate_wish wish = {.study = options.study,
                                           .level = options.fit.level,
                                           .as_json = options.json,
                                           .explain = options.explain,
                                           .save = options.save,
                                           .line = options.line};
        return estimate_find(command, options.path, &wish);
    }
    return fit_file(&options);
}

const struct cli_command cli_fit = {
    .name = "fit",
    .summary = "learn the regression from a file of reports",
    .usage = "fit REPORTS [OPTIONS]\nfit URL|DIR [--study ID] [--explain] [--json] [--save FILE]",
    .about =
        "Learn the regression from a file of reports ('tremolo simulate --reports' makes one),\n"
        "from a study's address on a server, or from a server's data directory.",
    OPTION_TABLE(rules),
    .operand = "one file of reports, address or data directory",
    .run = run,
};
