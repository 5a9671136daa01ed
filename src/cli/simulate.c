/* simulate.c -- `tremolo simulate`: every row of a CSV file is a device.
 *
 * Each repeat shuffles the rows again, holds some out, lets the others report, fits, and
 * measures R^2 on the rows held out. The table of coefficients is the first repeat's. All of
 * that is lab/simulation.c; this file takes the options, reads the table and prints advice that
 * is no part of the estimate.
 *
 * A study is read before all other options, so that each of them overrides it. Columns are found
 * by the study's names; its bounds are taken once the data are there. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "result.h"
#include "files.h"
#include "options.h"
#include "privacy_warnings.h"
#include "progress.h"
#include "simulation_json.h"
#include "tremolo_study_file.h"
#include "inputs.h"
#include "study_internal.h"
#include "words.h"
#include "regression.h"

static const char command[] = "simulate";

enum { SIMULATE_REPEATS_MAX = 100000 };

/* Names of columns; they belong to the study, to the table or to the command line. */
struct names {
    size_t count;
    const char *name[TREMOLO_TABLE_COLUMNS_MAX];
};

/* Everything that the command line says. free_options() frees what take functions allocated. */
struct simulate_options {
    const char *path, *response; /* the CSV file, and a column of it */
    struct names features;       /* none: all columns but the response */
    char *listed;                /* the text that --features names are a part of */
    struct options_list without;
    const char *terms; /* a formula in place of features; NULL without */
    enum tremolo_missing missing;
    const char *study;                     /* bounds and all else that this file fixes, or NULL */
    struct tremolo_study_file *study_file; /* the same, read; NULL without */
    struct tremolo_simulation simulation;
    const char *reports; /* keep the first repeat's reports in this file; may be NULL */
    struct estimate_wish wish;
};

/* ---------------------------------------------------------------- options
 *
 * Parsing has three parts: each option alone, what concerns several of them (check_whole), and what
 * follows from all (the library's tremolo_simulation_settle). */

/* Everything is taken at once; options that follow override it. The names stay the study's own,
 * so it must live as long as the options. A study that cannot be read has had its message. */
static const char *take_study(void *place, const char *path)
{
    struct simulate_options *options = place;
    if (cli_read_study(&options->study_file, command, path) != CLI_DONE) {
        return "";
    }
    struct names *features = &options->features;
    options->study = path;
    for (size_t i = 0; i < tremolo_study_file_feature_count(options->study_file); i++) {
        features->name[i] = tremolo_study_file_feature(options->study_file, i)->name;
        features->count = i + 1;
    }
    options->response = tremolo_study_file_response(options->study_file)->name;
    options->terms = tremolo_study_file_inputs(options->study_file)->terms;
    tremolo_simulation_take_study(&options->simulation, options->study_file);
    return NULL;
}

/* Split a list of names in place: `from` is changed, and the names point into it. False when a
 * quote is not closed or is followed by anything but a comma, or when there are too many. A name
 * that holds a comma or begins with a quote is in quotes, and quotes within it are doubled, as
 * in a CSV file. */
static bool split_names(struct names *names, char *from)
{
    for (names->count = 0; names->count < TREMOLO_TABLE_COLUMNS_MAX; from++) {
        bool quoted = *from == '"';
        char *to = from;
        names->name[names->count++] = to;
        for (from += quoted; *from != '\0' && (quoted || *from != ','); *to++ = *from++) {
            if (quoted && *from == '"' && *++from != '"') {
                quoted = false;
                break;
            }
        }
        char end = *from;
        *to = '\0';
        if (quoted || end != ',') {
            return !quoted && end == '\0';
        }
    }
    return false;
}

/* A list of names replaces the study's. It is copied, because splitting in place would change
 * argv. */
static const char *take_features(void *place, const char *text)
{
    struct simulate_options *options = place;
    free(options->listed);
    options->listed = strdup(text);
    if (options->listed == NULL) {
        (void)cli_fail(CLI_FAILED, command, "out of memory");
        return "";
    }
    return split_names(&options->features, options->listed)
               ? NULL
               : "names with a comma between them; a name with a comma goes in quotes";
}

/* The distance 0 is "any". */
static const char *take_neighbours(void *place, const char *text)
{
    struct tremolo_experiment_options *experiment = place;
    const char *wanted = options_take_neighbours(&experiment->distance, text);
    experiment->neighbours =
        experiment->distance > 0 ? TREMOLO_NEIGHBOURS_DISTANCE : TREMOLO_NEIGHBOURS_ANY;
    return wanted;
}

#define TO(member)            OPTION_TO(struct simulate_options, member)
#define TO_EXPERIMENT(member) TO(simulation.experiment.member)

static const struct option_rule rules[] = {
    {.help = "What is learned from what:"},
    OPTION_RULE("study", "FILE", TEXT, .take = take_study, .first = true,
                .help = "take all that a study file fixes: columns, public bounds, guarantee and "
                        "protocol; every other option overrides it"),
    OPTION_RULE("response", "NAME", TEXT, TO(response), .help = "the column to explain"),
    OPTION_RULE("features", "A,B", TEXT, .take = take_features,
                .help = "the columns to explain it with, all others unless given. A name with a "
                        "comma goes in quotes, as in the file"),
    OPTION_RULE("without", "NAME", TEXT, TO(without), .take = options_take_listed,
                .excludes = "features",
                .help = "all columns, or all of the study's, but this one; may be given several "
                        "times"),
    OPTION_RULE(
        "terms", "FORMULA", TEXT, TO(terms), .excludes = "features",
        .help =
            "the terms of the model in place of columns, as in 'age + C(region) + log(income) + "
            "I((age-50)*(sleep-7))'; 'pulse ~ age' names the response, too. Take products and "
            "squares of differences from middle values: age:sleep is so similar to age that noise "
            "hides both. The study's own terms unless given"),
    OPTION_RULE("missing", "M", CHOICE, TO(missing), .words = "drop refuse mean",
                .otherwise = "drop",
                .help = "rows with a missing value are left out, refused, or get the column's mean "
                        "or most frequent level, which is not private; rows without a response are "
                        "left out. A study's own value for missing ones comes first"),
    {.help = "The guarantee:"},
    OPTION_RULE("epsilon", "E", NUMBER, TO_EXPERIMENT(epsilon), OPTION_ABOVE(0, 1e6),
                .help = "privacy budget of a device, all rounds together"),
    OPTION_RULE("delta", "D", NUMBER, TO_EXPERIMENT(delta), OPTION_BETWEEN(0, 1),
                .help = "at which epsilon holds, of noisy samples; 1e-5 unless given"),
    OPTION_RULE("neighbours", "any|distance=R", TEXT, TO(simulation.experiment),
                .take = take_neighbours, .otherwise = "any",
                .help = "whom the guarantee protects from being told apart: any two people, or "
                        "those with samples at most R half ranges apart"),
    OPTION_RULE("protect", "P", CHOICE, TO_EXPERIMENT(protect_all), .words = "features all",
                .otherwise = "all",
                .help = "what the guarantee covers: all of a sample, or its features, with the "
                        "response sent in the clear"),
    OPTION_RULE("release", "R", CHOICE, TO_EXPERIMENT(release), .words = "sample ballot",
                .help = "what a device sends: a sample with noise, as in the paper, or a "
                        "ballot, one random answer about the sample. A ballot for any two people "
                        "and the method auto, unless given"),
    {.help = "The method:"},
    OPTION_RULE("method", "M", CHOICE, TO_EXPERIMENT(method),
                .words = "auto one-shot iterative pooled ols", .otherwise = "auto",
                .help = "what predicts: one release regularised from the reports alone, the "
                        "paper's ridge or iteration, its rounds used together, or least squares on "
                        "the raw rows, which is not private"),
    OPTION_RULE("rounds", "T", COUNT, TO_EXPERIMENT(rounds), OPTION_FROM(1, 1000),
                .help = "of iterative and pooled; 10 unless given"),
    {.help = "Trying it:"},
    OPTION_RULE("test-share", "S", NUMBER, TO(simulation.test_share), OPTION_BELOW(0, 1),
                .otherwise = "0.2", .help = "share of the rows held out to measure R^2"),
    OPTION_RULE("repeats", "N", COUNT, TO(simulation.repeats), OPTION_FROM(1, SIMULATE_REPEATS_MAX),
                .otherwise = "1", .help = "repeat with new splits and new noise"),
    OPTION_RULE("seed", "S", COUNT, TO(simulation.seed), OPTION_FROM(0, 0x1p63),
                .help = "gives the same numbers again, on any number of threads; from the system "
                        "unless given"),
    OPTION_RULE("threads", "N", COUNT, TO_EXPERIMENT(threads),
                OPTION_FROM(1, TREMOLO_MAX_FOLD_THREADS), .help = "all processors unless given"),
    {.help = "Output:"},
    OPTION_RULE("reports", "FILE", TEXT, TO(reports),
                .help =
                    "keep the first repeat's reports, of all rounds, for 'tremolo fit'; ballots "
                    "then have other random bits than without"),
    WISH_RULES(struct simulate_options),
};

/* Leave the columns of --without out of the study's features, or of the table's columns. */
static int leave_out(struct simulate_options *options, const struct tremolo_table *table)
{
    struct names *features = &options->features;
    const struct options_list *without = &options->without;
    size_t kept = 0;
    if (options->study_file == NULL) {
        features->count = table->columns;
        memcpy(features->name, table->name, table->columns * sizeof *table->name);
    }
    for (size_t i = 0; i < without->count; i++) {
        if (tremolo_words_find(without->text[i], features->name, features->count) ==
            features->count) {
            return cli_fail(CLI_USAGE, command, "%s: there is no column '%.80s' to leave out",
                            options->path, without->text[i]);
        }
    }
    for (size_t i = 0; i < features->count; i++) {
        const char *name = features->name[i];
        if (strcmp(name, options->response) != 0 &&
            tremolo_words_find(name, without->text, without->count) == without->count) {
            features->name[kept++] = name;
        }
    }
    features->count = kept;
    return kept > 0 ? CLI_DONE
                    : cli_fail(CLI_USAGE, command, "%s: no feature is left", options->path);
}

/* Accepts options that were never parsed, if they are zero. */
static void free_options(struct simulate_options *options)
{
    tremolo_study_file_free(options->study_file);
    free(options->listed);
}

/* Refuse to overwrite files without --force, and what is read in any case. The result must not
 * replace the reports either: both are written by this command. */
static int check_files(const struct simulate_options *options)
{
    const char *const read[] = {options->path, options->study, options->reports};
    const char *save = options->wish.save;
    int code = cli_check_apart(command, options->reports, read, 2);
    if (code == CLI_DONE) {
        code = cli_check_apart(command, save, read, 3);
    }
    if (code == CLI_DONE && options->reports != NULL) {
        code = cli_check_new(command, options->reports, options->wish.force);
    }
    return code == CLI_DONE ? result_check(command, save, options->wish.force) : code;
}

/* Check what concerns several options. Only what needs no data: the rest is checked by the library,
 * once the table is read. */
static int check_whole(const struct simulate_options *options)
{
    bool reports = options->simulation.experiment.method != TREMOLO_EXPERIMENT_OLS;
    if (options->response == NULL && (options->terms == NULL || !strchr(options->terms, '~'))) {
        return cli_fail(CLI_USAGE, command, "--response NAME is needed");
    }
    if (options->terms != NULL && options->without.count > 0) {
        return cli_fail(CLI_USAGE, command,
                        "--without leaves out columns, and the terms say which there are; give "
                        "other --terms");
    }
    if (options->reports != NULL && !reports) {
        return cli_fail(CLI_USAGE, command, "--reports needs a method that makes reports");
    }
    return check_files(options);
}

/* False with the exit code in *code when there is nothing to run (help included). */
static bool parse(struct simulate_options *options, int *code, int argc, char **argv)
{
    struct options_given given;
    struct tremolo_refusal refusal;
    *options = (struct simulate_options){.path = NULL};
    tremolo_simulation_begin(&options->simulation);
    result_command_line(options->wish.line, argc, argv);
    if (!options_parse(&given, options, code, &cli_simulate, argc, argv)) {
        return false;
    }
    options->path = given.operand[0];
    if (options_has(&given, "features")) { /* columns as they are, whatever the study has */
        options->terms = NULL;
    }
    if (options_has(&given, "release")) {
        options->simulation.release_follows = false;
    }
    *code = check_whole(options);
    if (*code == CLI_DONE &&
        !tremolo_simulation_settle(&options->simulation, options->study_file, &refusal)) {
        *code = options_refuse(command, &refusal);
    }
    return *code == CLI_DONE;
}

/* Advice that is no part of the result: how to lose fewer rows, and that a promise is weak. Rows
 * without a response cannot be kept by filling in, so they are not counted as such. */
static void print_advice(const struct simulate_options *options,
                         const struct tremolo_design *design)
{
    const struct tremolo_simulation *simulation = &options->simulation;
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    size_t fillable = design->dropped - design->unanswered;
    if (fillable > 0) {
        (void)fprintf(stderr,
                      "tremolo %s: %zu rows dropped for missing values; --missing mean keeps %zu\n",
                      command, design->dropped, fillable);
    }
    if (experiment->method != TREMOLO_EXPERIMENT_OLS) {
        privacy_warnings_print(&(struct privacy_terms){.epsilon = experiment->epsilon,
                                                       .distance = experiment->distance});
    }
}

/* ---------------------------------------------------------------- running
 *
 * The table is read once and freed as soon as the design, the numbers of the wanted columns, is
 * made from it. */

/* A refusal is wrong usage; a failure has the exit code of its status. */
static int run_design(struct simulate_options *options, const struct tremolo_design *design)
{
    struct tremolo_simulation_result *result = NULL;
    struct tremolo_refusal refusal;
    int code = CLI_DONE;
    options->simulation.experiment.progress = &progress_bar;
    enum tremolo_status status =
        tremolo_simulation_run(&result, &refusal, &options->simulation, design);
    if (status == TREMOLO_OUT_OF_BOUNDS || status == TREMOLO_SINGULAR) {
        code = options_refuse(command, &refusal);
    } else if (status != TREMOLO_OK) {
        code = cli_fail(cli_exit_of(status), command, "%s", refusal.why);
    } else {
        code = estimate_show(command, simulation_document(result), &options->wish);
    }
    if (status == TREMOLO_OK && !options->wish.json) {
        print_advice(options, design);
    }
    tremolo_simulation_free(result);
    return code;
}

/* Reports are kept under a name of their own until all is well, so that a run that fails leaves
 * an earlier file as it was. They are written while the first repeat runs, which is why
 * cli_save(), with all its content at hand, is not used. The unfinished file is removed after a
 * failure. */
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

/* The numbers of the table's wanted columns, and the study's bounds. */
static int make_design(struct tremolo_design *design, struct simulate_options *options)
{
    char error[TREMOLO_TABLE_ERROR_BYTES];
    struct tremolo_table *table = NULL;
    if (!tremolo_table_read(&table, options->path, error)) {
        return cli_fail(CLI_USAGE, command, "%s", error);
    }
    int code = options->without.count > 0 ? leave_out(options, table) : CLI_DONE;
    const struct tremolo_design_wish wish = {.study = options->study_file,
                                             .response = options->response,
                                             .features = options->features.name,
                                             .feature_count = options->features.count,
                                             .terms = options->terms,
                                             .missing = options->missing};
    if (code == CLI_DONE && !tremolo_design_build(design, table, &wish, error)) {
        code = cli_fail(CLI_USAGE, command, "%s: %s", options->path, error);
    }
    tremolo_table_free(table);
    if (code == CLI_DONE && design->remark[0] != '\0') {
        (void)fprintf(stderr, "tremolo %s: %s\n", command, design->remark);
    }
    if (code == CLI_DONE && options->study_file != NULL &&
        !tremolo_design_bound(design, options->study_file, error)) {
        code = cli_fail(CLI_USAGE, command, "%s: %s", options->study, error);
    }
    return code;
}

/* The design is freed in any case. */
static int run(int argc, char **argv)
{
    struct simulate_options options;
    struct tremolo_design design = {0};
    int code = CLI_DONE;
    if (parse(&options, &code, argc, argv)) {
        code = make_design(&design, &options);
        code = code == CLI_DONE ? run_and_keep(&options, &design) : code;
    }
    tremolo_design_free(&design);
    free_options(&options);
    return code;
}

const struct cli_command cli_simulate = {
    .name = "simulate",
    .summary = "try a study on a CSV file, every row a device",
    .usage = "simulate DATA.csv --response NAME --epsilon E [OPTIONS]\n"
             "simulate DATA.csv --study FILE [OPTIONS]",
    .about = "Every row of the file is a device with one sample; each reports once, privately,\n"
             "and the regression is learned from the reports.",
    OPTION_TABLE(rules),
    .operand = "DATA.csv",
    .run = run,
};
