/* fit.c -- `tremolo fit`: a regression from a file of reports, a server or its directory.
 *
 * All three end in the same document, which estimate_show() prints as a table, as JSON or into a
 * file:
 *
 *   a file       estimate/report_file.c decodes and adds up its reports, removes the known noise
 *                and solves for the coefficients, here and now;
 *   a directory  server/live/offline.c does the same with a server's log, while no server runs;
 *   an address   the server has the document already, and it is fetched.
 *
 * What a server or a directory decides by itself cannot be chosen: such options are refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "estimate_json.h"
#include "fetch.h"
#include "result.h"
#include "tremolo_estimate.h"
#include "tremolo_server.h"

static const char command[] = "fit";

/* In the order of enum tremolo_predictor, once for the table of options and once for messages. */
#define PREDICTOR_WORDS "auto one-shot unbiased pooled iterative"
static const char *const predictors[] = {"auto", "one-shot", "unbiased", "pooled", "iterative"};

static const double usual_level = 0.95; /* which a server computes unasked */

struct fit_options {
    const char *study; /* its id in a directory; NULL: the only one */
    struct tremolo_report_fit_options fit;
    struct estimate_wish wish;
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
    WISH_RULES(struct fit_options),
};

/* -------------------------------------------------------------- estimating */

/* A file of reports is decoded and fitted in this process. A missing document, for lack of
 * memory, is reported by estimate_show(). */
static int fit_file(const struct fit_options *options, const char *path)
{
    char error[TREMOLO_REPORT_FILE_ERROR_BYTES], *text = NULL;
    enum tremolo_status status = tremolo_report_fit_json(&text, path, &options->fit, error);
    if (status != TREMOLO_OK) {
        return cli_fail(cli_exit_of(status), command, "%s: %s", path, error);
    }
    json_t *document = json_loads(text, 0, NULL);
    free(text);
    return estimate_show(command, document, &options->wish);
}

/* From a server, with intervals of the level that is asked for. The usual level is not sent, so
 * that the address is the one that everybody else asks. The caller frees *text. */
static int fetch_estimate(char **text, const char *where, const struct fit_options *options)
{
    char url[2048], path[64] = "/estimate";
    if (options->fit.level != usual_level) {
        (void)snprintf(path, sizeof path, "/estimate?level=%.17g", options->fit.level);
    }
    int code = fetch_join(url, sizeof url, command, where, path);
    if (code == CLI_DONE && strstr(url, "/studies/") == NULL) {
        *strrchr(url, '/') = '\0';
        return cli_fail(CLI_USAGE, command,
                        "%s is no study's address, which ends in /v1/studies/ and its id; 'tremolo "
                        "status %s' lists them",
                        url, url);
    }
    return code == CLI_DONE ? fetch_text(text, command, url, NULL) : code;
}

/* The document's text from a directory, which no server may be using; the caller frees it. */
static int read_estimate(char **text, const char *where, const struct fit_options *options)
{
    char words[TREMOLO_WORDS_BYTES];
    enum tremolo_status status =
        tremolo_server_offline(text, where, options->study, options->fit.level, words);
    const char *remedy = status == TREMOLO_STORE_IN_USE      ? "; or ask it: tremolo fit URL"
                         : status == TREMOLO_STUDY_NOT_NAMED ? "; choose by --study"
                                                             : "";
    return status == TREMOLO_OK
               ? CLI_DONE
               : cli_fail(cli_exit_of(status), command, "%s: %s%s", where, words, remedy);
}

/* From an address or a directory. What came is checked to be an estimate before it is shown: the
 * address may be of anything. */
static int fit_served(const char *where, const struct fit_options *options)
{
    char *text = NULL;
    bool remote = strncmp(where, "http://", 7) == 0 || strncmp(where, "https://", 8) == 0;
    int code =
        remote ? fetch_estimate(&text, where, options) : read_estimate(&text, where, options);
    if (code != CLI_DONE) {
        return code;
    }
    json_t *document = json_loads(text, 0, NULL);
    free(text);
    if (!estimate_document_is(document)) {
        json_decref(document);
        return cli_fail(CLI_FAILED, command, "%s: this is not an estimate", where);
    }
    return estimate_show(command, document, &options->wish);
}

/* An option without effect is refused: the reader would believe that it had one. */
static int check_effect(const struct options_given *given, const struct fit_options *options,
                        bool served)
{
    if (served && options->fit.predictor != TREMOLO_PREDICTOR_AUTO) {
        return cli_fail(CLI_USAGE, command, "--method %s needs a file of reports",
                        predictors[options->fit.predictor]);
    }
    return options_has(given, "ridge") && options->fit.predictor != TREMOLO_PREDICTOR_ONE_SHOT
               ? cli_fail(CLI_USAGE, command, "--ridge has no effect with the method %s",
                          predictors[options->fit.predictor])
               : CLI_DONE;
}

/* All that can be refused is refused first, before anything is read or fetched. */
static int run(int argc, char **argv)
{
    struct fit_options options = {.study = NULL};
    struct options_given given;
    struct stat about;
    int code = CLI_DONE;
    result_command_line(options.wish.line, argc, argv);
    if (!options_parse(&given, &options, &code, &cli_fit, argc, argv)) {
        return code;
    }
    const char *path = given.operand[0];
    bool served =
        strstr(path, "://") != NULL || (stat(path, &about) == 0 && S_ISDIR(about.st_mode));
    code = check_effect(&given, &options, served);
    if (code == CLI_DONE) {
        code = cli_check_apart(command, options.wish.save, &path, 1);
    }
    if (code == CLI_DONE) {
        code = result_check(command, options.wish.save, options.wish.force);
    }
    if (code != CLI_DONE) {
        return code;
    }
    return served ? fit_served(path, &options) : fit_file(&options, path);
}

const struct cli_command cli_fit = {
    .name = "fit",
    .summary = "learn the regression from a file of reports",
    .usage = "fit REPORTS [OPTIONS]\nfit URL|DIR [--study ID] [--explain] [--json] [--save FILE]",
    .about =
        "Learn the regression from a file of reports ('tremolo simulate --reports' makes one),\n"
        "from a study's address on a server, or from a server's data directory.",
    OPTION_TABLE(rules),
    .operand = "REPORTS|URL|DIR",
    .run = run,
};
