/* simulate.c -- `tremolo simulate`: every row of a CSV file is a device.
 *
 * Each repeat shuffles the rows anew, holds some out, lets the others report
 * through the device core, fits, and measures R^2 on the rows held out. The
 * table of coefficients is the first repeat's.
 *
 * A study is read before all other options, so that each of them overrides it. Columns come by the
 * study's names, its response included; the bounds are taken once the data are there
 * (design_bounds.c). */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "estimate_show.h"
#include "files.h"
#include "options.h"
#include "privacy_warnings.h"
#include "progress.h"
#include "simulation_json.h"
#include "tremolo_study_file.h"
#include "inputs.h"
#include "study_internal.h"

static const char command[] = "simulate";

enum { SIMULATE_REPEATS_MAX = 100000 };

struct simulate_options {
    const char *path, *response, *features;
    const char *terms; /* a formula in place of features; NULL without */
    enum tremolo_missing missing;
    const char *study; /* bounds and all else that this file fixes; may be NULL */
    struct tremolo_study_file *study_file; /* the same, read; NULL without */
    char *listed_features; /* made from the study or --without, as --features has them */
    struct options_list without;
    char separator; /* 0: detect */
    struct tremolo_simulation simulation;
    const char *reports; /* keep the first repeat's reports in this file; may be NULL */
    struct estimate_wish wish;
};

/* ---------------------------------------------------------------- options */

/* Every name in quotes, as --features takes it. NULL without memory. */
static char *quoted_features(const struct tremolo_study_file *file)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (out == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < tremolo_study_file_feature_count(file); i++) {
        tremolo_columns_add(out, tremolo_study_file_feature(file, i)->name, i);
    }
    return fclose(out) == 0 ? text : NULL;
}

static const char *take_study(void *place, const char *path)
{
    struct simulate_options *options = place;
    if (cli_read_study(&options->study_file, command, path) != CLI_DONE) {
        return "";
    }
    options->study = path;
    options->listed_features = quoted_features(options->study_file);
    if (options->listed_features == NULL) {
        (void)cli_fail(CLI_FAILED, command, "out of memory");
        return "";
    }
    options->response = tremolo_study_file_response(options->study_file)->name;
    options->features = options->listed_features;
    options->terms = tremolo_study_file_inputs(options->study_file)->terms;
    tremolo_simulation_take_study(&options->simulation, options->study_file);
    return NULL;
}

static const char *take_neighbours(void *place, const char *text)
{
    static const char deviations[] = "deviations=";
    struct tremolo_simulation *simulation = place;
    struct tremolo_experiment_options *experiment = &simulation->experiment;
    double distance = 0;
    bool standard = strncmp(text, deviations, sizeof deviations - 1) == 0;
    const char *wanted = NULL;
    if (standard) {
        wanted = tremolo_table_is_number(text + sizeof deviations - 1, &distance) && distance > 0
                     ? NULL
                     : "deviations=R with R above 0";
    } else {
        wanted = options_take_neighbours(&distance, text);
    }
    if (wanted == NULL) {
        simulation->deviations = standard;
        experiment->neighbours =
            distance > 0 ? TREMOLO_NEIGHBOURS_DISTANCE : TREMOLO_NEIGHBOURS_ANY;
        experiment->distance = distance > 0 ? distance : experiment->distance;
    }
    return wanted;
}

static const char *take_separator(void *separator, const char *text)
{
    text = strcmp(text, "\\t") == 0 || strcmp(text, "tab") == 0 ? "\t" : text;
    memcpy(separator, text, 1);
    return strlen(text) == 1 && strchr("\"\n\r", *text) == NULL ? NULL : "one character";
}

#define TO(member)            OPTION_TO(struct simulate_options, member)
#define TO_EXPERIMENT(member) TO(simulation.experiment.member)

static const struct option_rule rules[] = {
    {.help = "What is learned from what:"},
    OPTION_RULE("study", "FILE", TEXT, .take = take_study, .first = true,
                .help = "take all that a study file fixes: columns, public bounds, guarantee and "
                        "protocol; every other option overrides it"),
    OPTION_RULE("response", "NAME", TEXT, TO(response), .help = "the column to explain"),
    OPTION_RULE("features", "A,B", TEXT, TO(features),
                .help = "the columns to explain it with, all others unless given. A name with a "
                        "comma goes in quotes, as in the file"),
    OPTION_RULE("without", "NAME", TEXT, OPTION_TO(struct simulate_options, without),
                .take = options_take_listed, .excludes = "features",
                .help = "all columns, or all of the study's, but this one; may be given several "
                        "times"),
    OPTION_RULE(
        "terms", "FORMULA", TEXT, TO(terms), .excludes = "features",
        .help =
            "the terms of the model in place of columns, as in 'age + C(region) + log(income) + "
            "I((age-50)*(sleep-7))'; 'pulse ~ age' names the response, too. Take "
            "products and squares of what is left of middle values: age:sleep is so much "
            "like age that noise hides both. Of a study, its own unless given"),
    OPTION_RULE("missing", "M", CHOICE, TO(missing), .words = "drop refuse mean",
                .otherwise = "drop",
                .help = "rows with a missing value are left out, refused, or get the column's mean "
                        "or most frequent level, which is not private; without a response they are "
                        "left out. What a study puts in its place comes first"),
    OPTION_RULE("separator", "X", TEXT, TO(separator), .take = take_separator,
                .help = "of the file; found by its first line unless given"),
    OPTION_RULE("scale", "S", CHOICE, TO(simulation.scaling), .words = "standard bounds ranges",
                .help = "scale columns to variance 1, to -1..1 between their least and largest "
                        "value, or so that half the range that nine of ten lie in is 1, features "
                        "about their mean, on the training rows; by the guarantee unless given. "
                        "None of it is private: real studies state "
                        "bounds or ranges beforehand"),
    {.help = "The guarantee:"},
    OPTION_RULE("epsilon", "E", NUMBER, TO_EXPERIMENT(epsilon), OPTION_ABOVE(0, 1e6),
                .help = "privacy budget of a device, all rounds together"),
    OPTION_RULE("delta", "D", NUMBER, TO_EXPERIMENT(delta), OPTION_BETWEEN(0, 1),
                .otherwise = "1e-5", .help = "at which epsilon holds"),
    OPTION_RULE("neighbours", "any|distance=R|deviations=R", TEXT, TO(simulation),
                .take = take_neighbours, .otherwise = "any",
                .help = "whom the guarantee keeps apart: any two samples, samples at most R half "
                        "ranges apart, as in studies and plans, or R standard deviations, as in "
                        "the paper"),
    OPTION_RULE("protect", "P", CHOICE, TO_EXPERIMENT(protect_all), .words = "features all",
                .otherwise = "all",
                .help = "what the guarantee covers: all of a sample, or its features, with the "
                        "response sent in the clear"),
    OPTION_RULE("release", "R", CHOICE, TO_EXPERIMENT(release), .words = "sample ballot",
                .help = "what a device sends: a sample with noise, as the paper has it, or a "
                        "ballot, one random answer about the sample. A ballot for any two people "
                        "and the method auto, unless given"),
    OPTION_RULE("calibration", "C", CHOICE, TO_EXPERIMENT(calibration), .words = "exact zcdp paper",
                .otherwise = "exact",
                .help = "how noise follows from the budget; the paper counts the modulation as "
                        "sensitivity"),
    {.help = "The method:"},
    OPTION_RULE("method", "M", CHOICE, TO_EXPERIMENT(method),
                .words = "auto one-shot iterative pooled dp-sgd ols", .otherwise = "auto",
                .help = "what predicts: one release regularised from the reports alone, the "
                        "paper's ridge or iteration, its rounds used together, noisy gradients, "
                        "or least squares on the raw rows, which is not private"),
    OPTION_RULE("rounds", "T", COUNT, TO_EXPERIMENT(rounds), OPTION_FROM(1, 1000),
                .otherwise = "10", .help = "of iterative, pooled and dp-sgd"),
    OPTION_RULE("ridge", "G", NUMBER, TO_EXPERIMENT(ridge), OPTION_FROM(0, 1e12),
                .help = "of one-shot; 0.5 unless given"),
    OPTION_RULE("step", "C", NUMBER, TO_EXPERIMENT(step), OPTION_ABOVE(0, 1e6),
                .help = "of iterative, pooled and dp-sgd; 0.8 unless given, 0.1 for dp-sgd"),
    OPTION_RULE("radius", "R", NUMBER, TO_EXPERIMENT(radius), OPTION_FROM(0, 1e12),
                .help = "of iterative and pooled: the ball that coefficients stay in; none unless "
                        "given"),
    OPTION_RULE("clip", "C", NUMBER, TO_EXPERIMENT(clip), OPTION_ABOVE(0, 1e12),
                .help = "of dp-sgd; 2 unless given"),
    {.help = "The paper's modulation, which shrinks a sample by 1 - alpha and adds a cosine along "
             "each of some vectors:"},
    OPTION_RULE("vectors", "M", COUNT, TO_EXPERIMENT(vectors),
                OPTION_FROM(0, TREMOLO_DESIGN_FEATURES_MAX),
                .help = "how many; the paper's methods have 1 unless given, the "
                        "others none"),
    OPTION_RULE("alpha", "A", NUMBER, TO_EXPERIMENT(alpha), OPTION_BELOW(0, 1),
                .help =
                    "by how much the sample is shrunk; the paper's methods have 0.5 unless given, "
                    "the others 0"),
    OPTION_RULE("lambda", "L", NUMBER, TO_EXPERIMENT(lambda), OPTION_ABOVE(0, 1e6),
                .help = "the amplitude; 0.2 unless given"),
    OPTION_RULE("omega", "W", NUMBER, TO_EXPERIMENT(omega), OPTION_ABOVE(0, 1e6),
                .help = "the frequency; 1 unless given"),
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
                .help = "keep the first repeat's reports, of all rounds, for 'tremolo fit'; the "
                        "device core makes them, from other random bits than without"),
    WISH_RULES(struct simulate_options),
};

/* The names --without chooses from: the study's features, or the table's columns. */
static size_t candidates(const char **names, const struct simulate_options *options,
                         const struct tremolo_table *table)
{
    const struct tremolo_study_file *file = options->study_file;
    size_t count = file != NULL ? tremolo_study_file_feature_count(file) : table->columns;
    for (size_t i = 0; i < count; i++) {
        names[i] = file != NULL ? tremolo_study_file_feature(file, i)->name : table->name[i];
    }
    return count;
}

/* List the features that --without leaves of the study's, or of the table's columns. */
static bool leave_out(struct simulate_options *options, const struct tremolo_table *table,
                      char error[TREMOLO_TABLE_ERROR_BYTES])
{
    const char *names[TREMOLO_TABLE_COLUMNS_MAX];
    struct tremolo_column_choice choice = {.name = names,
                                           .names = candidates(names, options, table),
                                           .response = options->response,
                                           .without = options->without.text,
                                           .without_count = options->without.count};
    char *list = tremolo_columns_without(&choice, error);
    free(options->listed_features);
    options->features = options->listed_features = list;
    return list != NULL;
}

static void free_options(struct simulate_options *options)
{
    tremolo_study_file_free(options->study_file);
    free(options->listed_features);
}

/* Nothing is overwritten unasked, and never what is read. */
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

/* What options must be together, and with the method. */
static int check_whole(const struct simulate_options *options)
{
    enum tremolo_experiment_method method = options->simulation.experiment.method;
    bool reports = method != TREMOLO_EXPERIMENT_DP_SGD && method != TREMOLO_EXPERIMENT_OLS;
    if (options->response == NULL && (options->terms == NULL || !strchr(options->terms, '~'))) {
        return cli_fail(CLI_USAGE, command, "--response NAME is needed");
    }
    if (options->terms != NULL && options->without.count > 0) {
        return cli_fail(CLI_USAGE, command,
                        "--without leaves out columns, and the terms say which there are; give "
                        "other --terms");
    }
    if (options->reports != NULL && !reports) {
        return cli_fail(CLI_USAGE, command, "--reports needs a method whose devices report");
    }
    return check_files(options);
}

/* False with the exit code in *code when there is nothing to run (help included). */
static bool parse(struct simulate_options *options, int *code, int argc, char **argv)
{
    struct options_given given;
    char error[TREMOLO_TABLE_ERROR_BYTES];
    *options = (struct simulate_options){.path = NULL};
    tremolo_simulation_begin(&options->simulation);
    options->simulation.dashes = "--";
    result_command_line(options->wish.line, argc, argv);
    if (!options_parse(&given, options, code, &cli_simulate, argc, argv)) {
        return false;
    }
    options->path = given.operand[0];
    if (options_has(&given, "features")) { /* columns as they are, whatever the study has */
        options->terms = NULL;
    }
    options->simulation.given =
        options_bits(&given, tremolo_simulation_option_names, TREMOLO_SIMULATION_OPTIONS);
    *code = check_whole(options);
    if (*code == CLI_DONE &&
        !tremolo_simulation_settle(&options->simulation, options->study_file, error)) {
        *code = cli_fail(CLI_USAGE, command, "%s", error);
    }
    return *code == CLI_DONE;
}

/* What is no part of the result: how to lose fewer rows, and that a promise is weak. */
static void print_advice(const struct simulate_options *options,
                         const struct tremolo_design *design)
{
    const struct tremolo_simulation *simulation = &options->simulation;
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    size_t fillable = design->dropped - design->unanswered;
    bool half_ranges =
        experiment->neighbours == TREMOLO_NEIGHBOURS_DISTANCE && !simulation->deviations;
    if (fillable > 0) {
        (void)fprintf(stderr,
                      "tremolo %s: %zu rows dropped for missing values; --missing mean keeps %zu\n",
                      command, design->dropped, fillable);
    }
    if (experiment->method != TREMOLO_EXPERIMENT_OLS) {
        privacy_warnings_print(&(struct privacy_terms){
            .epsilon = experiment->epsilon, .distance = half_ranges ? experiment->distance : 0});
    }
}

/* ---------------------------------------------------------------- running */

static int run_design(struct simulate_options *options, const struct tremolo_design *design)
{
    struct tremolo_simulation_result *result = NULL;
    const char *constant = NULL;
    char error[TREMOLO_TABLE_ERROR_BYTES];
    int code = CLI_DONE;
    if (!tremolo_simulation_fits(&options->simulation, design, error)) {
        return cli_fail(CLI_USAGE, command, "%s", error);
    }
    options->simulation.experiment.progress = &progress_bar;
    enum tremolo_status status =
        tremolo_simulation_run(&result, &constant, &options->simulation, design);
    if (status != TREMOLO_OK) {
        tremolo_simulation_explain(error, status, constant, &options->simulation);
        code = cli_fail(status == TREMOLO_SINGULAR ? CLI_USAGE : cli_exit_of(status), command, "%s",
                        error);
    } else {
        code =
            estimate_show(command, simulation_document(&options->simulation, design, result, true),
                          &options->wish);
    }
    if (status == TREMOLO_OK && !options->wish.json) {
        print_advice(options, design);
    }
    tremolo_simulation_free(result);
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

static int run(int argc, char **argv)
{
    struct simulate_options options;
    struct tremolo_table *table = NULL;
    struct tremolo_design design = {0};
    char error[TREMOLO_TABLE_ERROR_BYTES];
    int code = CLI_DONE;
    if (!parse(&options, &code, argc, argv)) {
        free_options(&options);
        return code;
    }
    if (!tremolo_table_read(&table, options.path, options.separator, error)) {
        free_options(&options);
        return cli_fail(CLI_USAGE, command, "%s", error);
    }
    bool chosen = options.without.count == 0 || leave_out(&options, table, error);
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
    .operand = "one CSV file",
    .run = run,
};
