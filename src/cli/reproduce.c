/* reproduce.c -- `tremolo reproduce`: the paper's experiments, end to end.
 *
 * Fetch the data sets, build the five tasks, tune the paper's three methods,
 * sweep epsilon for them and for `auto`, and write tables, figures and a
 * report. */
#include "reproduce.h"
#include "result.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli.h"
#include "files.h"
#include "options.h"
#include "programs.h"
#include "progress.h"
#include "regression.h"

static const char command[] = "reproduce";

/* ---------------------------------------------------------------- options */

static const char *take_tasks(void *wanted, const char *list)
{
    static const char good[] = "of co2, fair, modechoice, lncoins, fmde";
    bool *chosen = wanted;
    memset(chosen, 0, TREMOLO_TASKS * sizeof *chosen);
    do {
        size_t length = strcspn(list, ","), t = 0;
        while (t < TREMOLO_TASKS && (strlen(tremolo_tasks[t].key) != length ||
                                     strncmp(tremolo_tasks[t].key, list, length) != 0)) {
            t++;
        }
        if (t == TREMOLO_TASKS) {
            return good;
        }
        chosen[t] = true;
        list += length + (list[length] == ',');
    } while (*list != '\0');
    return NULL;
}

#define TO(member) OPTION_TO(struct reproduce_options, member)

static const struct option_rule rules[] = {
    OPTION_RULE("out", "DIR", TEXT, TO(out), .otherwise = "tremolo-reproduce",
                .help = "where to write"),
    OPTION_RULE("data", "DIR", TEXT, TO(data),
                .help = "where the data sets are, or are fetched to; data in the output directory "
                        "unless given"),
    OPTION_RULE("tasks", "A,B", TEXT, TO(reproduction.wanted), .take = take_tasks,
                .otherwise = "co2,fair,modechoice,lncoins,fmde", .help = "which of the tasks"),
    OPTION_RULE("any-two", NULL, FLAG, TO(any_two),
                .help = "the tasks at any two people instead: noisy samples, ballots, a trusted "
                        "server and least squares, all protected and features only"),
    OPTION_RULE("repeats", "N", COUNT, TO(reproduction.repeats), OPTION_FROM(1, 10000),
                .help = "noise draws for each point; 100 unless given, 10 with --any-two"),
    OPTION_RULE("splits", "N", COUNT, TO(reproduction.splits), OPTION_FROM(1, 1000),
                .help =
                    "random splits of the rows that the repeats take in turn; 100 unless given, 10 "
                    "with --any-two; the paper has one"),
    OPTION_RULE("seed", "S", COUNT, TO(reproduction.seed), OPTION_FROM(0, 0x1p63), .otherwise = "1",
                .help = "gives the same numbers again"),
    OPTION_RULE("threads", "N", COUNT, TO(reproduction.threads),
                OPTION_FROM(1, TREMOLO_MAX_FOLD_THREADS),
                .help = "all processors unless given; changes no result"),
    OPTION_RULE("save", "FILE", TEXT, TO(save),
                .help = "save the figures once more, as one .html page or .json document"),
    OPTION_RULE("force", NULL, FLAG, TO(force), .help = "replace an earlier report"),
};

static bool parse(struct reproduce_options *options, int *code, int argc, char **argv)
{
    struct options_given given;
    *options = (struct reproduce_options){
        .reproduction = {.threads = tremolo_processors(), .progress = &progress_bar}};
    result_command_line(options->line, argc, argv);
    if (!options_parse(&given, options, code, &cli_reproduce, argc, argv)) {
        return false;
    }
    struct tremolo_reproduction *reproduction = &options->reproduction;
    reproduction->sweep = options->any_two ? &tremolo_sweep_any_two : &tremolo_sweep_paper;
    size_t usual = options->any_two ? 10 : 100;
    reproduction->repeats = reproduction->repeats > 0 ? reproduction->repeats : usual;
    reproduction->splits = reproduction->splits > 0 ? reproduction->splits : usual;
    if (strlen(options->out) >= PATH_MAX - 64 ||
        (options->data != NULL && strlen(options->data) >= PATH_MAX)) {
        *code = cli_fail(CLI_USAGE, command, "the folder's name is too long");
        return false;
    }
    *code = result_check(command, options->save, options->force);
    const char *end = options->save != NULL ? strrchr(options->save, '.') : NULL;
    if (*code == CLI_DONE && end != NULL && strcasecmp(end, ".csv") == 0) {
        *code = cli_fail(CLI_USAGE, command,
                         "the tables are in --out already; --save makes an "
                         ".html page or a .json document");
    }
    return *code == CLI_DONE;
}

/* ------------------------------------------------------------------- data */

/* The script lies in the source tree beside build/, or in share/tremolo beside
 * bin/ once installed. */
static bool fetch(const char *folder)
{
    static const char *const places[] = {"/../tools/fetch-data", "/../share/tremolo/fetch-data"};
    char self[PATH_MAX], script[PATH_MAX + 64], target[2 * PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) {
        return false;
    }
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    (void)snprintf(target, sizeof target, "%s", folder);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        (void)snprintf(script, sizeof script, "%s%s", self, places[i]);
        if (access(script, X_OK) == 0) {
            char *const argv[] = {script, target, NULL};
            return program_run(argv);
        }
    }
    return false;
}

static bool data_present(const char *folder)
{
    char path[2 * PATH_MAX];
    for (size_t t = 0; t < TREMOLO_TASKS; t++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, tremolo_tasks[t].file);
        if (access(path, R_OK) != 0) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ output */

static int compute_and_write(const struct reproduce_options *options, const char *data,
                             const char *work)
{
    static struct tremolo_reproduction_case cases[TREMOLO_TASKS]; /* large */
    char error[TREMOLO_TABLE_ERROR_BYTES];
    size_t count = 0;
    double start = cli_seconds();
    int code = tremolo_reproduction_load(cases, &count, &options->reproduction, data, error)
                   ? CLI_DONE
                   : cli_fail(CLI_FAILED, command, "%s", error);
    if (code == CLI_DONE) {
        enum tremolo_status status = tremolo_reproduction_run(cases, count, &options->reproduction);
        if (status != TREMOLO_OK) {
            code = cli_fail_status(command, status);
        }
    }
    if (code == CLI_DONE) {
        bool figures = reproduce_draw(work, cases, count, options->reproduction.sweep);
        if (!figures) {
            (void)cli_fail(CLI_FAILED, command, "gnuplot failed or is missing; no figures");
        }
        if (!reproduce_write(work, cases, count, options, figures, cli_seconds() - start)) {
            code = cli_fail(CLI_FAILED, command, "%s: %s", work, strerror(errno));
        }
    }
    if (code == CLI_DONE) {
        code = reproduce_save(work, cases, count, options);
    }
    tremolo_reproduction_free(cases, count);
    return code;
}

static int make_all(const char *work, const void *context)
{
    const struct reproduce_options *options = context;
    char data[PATH_MAX];
    (void)snprintf(data, sizeof data, "%s%s", options->data != NULL ? options->data : options->out,
                   options->data != NULL ? "" : "/data");
    return data_present(data) || fetch(data)
               ? compute_and_write(options, data, work)
               : cli_fail(CLI_FAILED, command,
                          "the data sets could not be fetched to %s (tools/fetch-data)", data);
}

static int run(int argc, char **argv)
{
    static const char *const last[] = {"report.json", "report.html", "report.md", NULL};
    struct reproduce_options options;
    char report[PATH_MAX + 16];
    int code = CLI_DONE;
    if (!parse(&options, &code, argc, argv)) {
        return code;
    }
    (void)snprintf(report, sizeof report, "%s/report.md", options.out);
    code = cli_check_new(command, report, options.force);
    if (code == CLI_DONE) {
        code = cli_fill_folder(command, options.out, last, make_all, &options);
    }
    if (code == CLI_DONE) {
        (void)puts(report);
    }
    return code;
}

const struct cli_command cli_reproduce = {
    .name = "reproduce",
    .summary = "repeat the paper's experiments",
    .usage = "reproduce [--out DIR] [OPTIONS]",
    .about = "Repeat the paper's experiments on five data sets and write tables (CSV),\n"
             "figures (SVG) and a report (Markdown, HTML, JSON).",
    OPTION_TABLE(rules),
    .run = run,
};
