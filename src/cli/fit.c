/* fit.c -- `tremolo fit`: a regression from a file of reports, a server or its directory. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "convergence.h"
#include "estimate_json.h"
#include "estimate_show.h"
#include "guarantee_json.h"
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

static int show(const struct fit_options *options, const struct tremolo_report_fit *fit)
{
    json_t *guarantee = guarantee_promise_json(&fit->promise, fit->epsilon);
    json_t *document = estimate_document(&fit->estimate);
    (void)json_object_set_new(document, "guarantee", guarantee != NULL ? guarantee : json_null());
    if (fit->promise.law.first == 0) { /* ballots are no gradients */
        (void)json_object_set_new(document, "convergence", convergence_json(&fit->convergence));
    }
    const struct estimate_wish wish = {.as_json = options->json,
                                       .explain = options->explain,
                                       .save = options->save,
                                       .line = options->line};
    return estimate_show(command, document, &wish);
}

static int fit_rounds(const struct fit_options *options, const struct tremolo_report_header *header,
                      struct tremolo_report_rounds *rounds)
{
    struct tremolo_report_fit fit;
    if (rounds->count < 2 && options->fit.predictor >= TREMOLO_PREDICTOR_POOLED) {
        return cli_fail(CLI_USAGE, command, "%s: one round only, and --method %s needs several",
                        options->path, tremolo_predictor_names[options->fit.predictor]);
    }
    if (header->study.release == TREMOLO_RELEASE_BALLOT &&
        options->fit.predictor == TREMOLO_PREDICTOR_ONE_SHOT) {
        return cli_fail(CLI_USAGE, command,
                        "%s: a file of ballots, from which auto or unbiased predicts",
                        options->path);
    }
    enum tremolo_status status = tremolo_report_fit(&fit, header, rounds, &options->fit);
    int code = status == TREMOLO_OK
                   ? show(options, &fit)
                   : cli_fail(cli_exit_of(status), command, "%s", tremolo_status_sentence(status));
    tremolo_report_fit_free(&fit);
    return code;
}

static int fit_file(const struct fit_options *options, FILE *file)
{
    char error[TREMOLO_REPORT_FILE_ERROR_BYTES];
    struct tremolo_report_header header;
    struct tremolo_report_rounds rounds;
    if (!tremolo_report_file_open(&header, file, error)) {
        return cli_fail(CLI_USAGE, command, "%s: %s", options->path, error);
    }
    enum tremolo_status status = tremolo_report_rounds_read(&rounds, &header, file, error);
    int code = status == TREMOLO_OK
                   ? fit_rounds(options, &header, &rounds)
                   : cli_fail(cli_exit_of(status), command, "%s: %s", options->path, error);
    tremolo_report_rounds_free(&rounds);
    tremolo_report_header_free(&header);
    return code;
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
    FILE *file = fopen(options.path, "rb");
    if (file == NULL) {
        return cli_fail(CLI_USAGE, command, "%s: %s", options.path, strerror(errno));
    }
    code = fit_file(&options, file);
    (void)fclose(file);
    return code;
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
