/* reproduce.c -- `tremolo reproduce`: the paper's experiments, end to end.
 *
 * Fetch the data sets, build the five tasks, tune the paper's three methods, sweep epsilon for
 * them and for `auto` (lab/reproduction.c), and write what came out. Numbers go into CSV tables,
 * all digits, for programs. One JSON document has the curves and the words; the text and the
 * page are made from it, as of every other result, and the page draws the curves with the
 * dashboard's charts.
 *
 * A run takes minutes, so all files are made in a hidden folder inside the output folder and
 * moved at the end, the page last: where report.html is, all the rest is, and a run that fails
 * leaves an earlier result as it was. The data sets are fetched once and stay. The same seed is
 * used always, so two runs on any number of threads write the same tables. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "document.h"
#include "explain.h"
#include "files.h"
#include "options.h"
#include "progress.h"
#include "result.h"
#include "study_internal.h"
#include "text.h"
#include "reproduction.h"

static const char command[] = "reproduce";

struct reproduce_options {
    const char *out, *data; /* folders; data NULL: "data" in `out` */
    struct tremolo_reproduction reproduction;
    bool any_two;                 /* the sweep at any two people in place of the paper's */
    bool force;                   /* replace an earlier report */
    char line[RESULT_LINE_BYTES]; /* the command as typed, for the report */
};

/* What came out of a run. The first `count` of `cases` are filled, one for each task that was
 * wanted. */
struct outcome {
    const struct reproduce_options *options;
    const struct tremolo_sweep *sweep;
    struct tremolo_reproduction_case cases[TREMOLO_TASKS];
    size_t count;
    double seconds; /* that the run took, reading the data included */
};

/* ---------------------------------------------------------------- options */

/* A list replaces the default list: defaults are stored first, so `wanted` is cleared here. */
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
                .help = "noise draws for each point, each on a random split of its own; 100 unless "
                        "given, 10 with --any-two; the paper has one split"),
    OPTION_RULE("force", NULL, FLAG, TO(force), .help = "replace an earlier report"),
};

/* False when there is nothing to run, with the exit code in *code. Paths are built in fixed buffers
 * later, which is why long names of folders are refused here.
 *
 * How many repeats are usual depends on the sweep. Splits beyond the usual number would cost
 * memory and narrow no band, so that more repeats take them in turn. */
static bool parse(struct reproduce_options *options, int *code, int argc, char **argv)
{
    struct options_given given;
    *options = (struct reproduce_options){
        .reproduction = {.seed = 1, .threads = tremolo_processors(), .progress = &progress_bar}};
    result_command_line(options->line, argc, argv);
    if (!options_parse(&given, options, code, &cli_reproduce, argc, argv)) {
        return false;
    }
    struct tremolo_reproduction *reproduction = &options->reproduction;
    reproduction->sweep = options->any_two ? &tremolo_sweep_any_two : &tremolo_sweep_paper;
    size_t usual = options->any_two ? 10 : 100;
    reproduction->repeats = reproduction->repeats > 0 ? reproduction->repeats : usual;
    reproduction->splits = reproduction->repeats < usual ? reproduction->repeats : usual;
    if (strlen(options->out) >= PATH_MAX - 64 ||
        (options->data != NULL && strlen(options->data) >= PATH_MAX)) {
        *code = cli_fail(CLI_USAGE, command, "the folder's name is too long");
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------- data
 *
 * The program makes no request for data itself: a script fetches them, which a person can read
 * first or replace. Nothing is fetched when all files are there. */

extern char **environ;

/* Run a program with nothing on its standard input and its standard output thrown away. True when
 * it exits 0. */
static bool run_program(char *const argv[])
{
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int ended = 0;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return false;
    }
    bool good = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0 &&
                posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) == 0 &&
                posix_spawn(&child, argv[0], &actions, NULL, argv, environ) == 0;
    (void)posix_spawn_file_actions_destroy(&actions);
    while (good && waitpid(child, &ended, 0) < 0) {
        good = errno == EINTR;
    }
    return good && WIFEXITED(ended) && WEXITSTATUS(ended) == 0;
}

/* Fetch all data sets into a folder; false when the script is missing or failed. Its own messages
 * reach standard error. It is in tools/ of the source tree, or in share/tremolo once installed. */
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
            return run_program(argv);
        }
    }
    return false;
}

/* All files, whichever tasks are wanted: they are fetched together. */
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

/* ------------------------------------------------------------------ tables
 *
 * Comma separated, with a line of names first. Measured numbers have 17 digits, so that two runs
 * can be compared exactly. */

/* The paper's numbers are in the last columns. */
static void write_datasets(FILE *file, const struct outcome *outcome)
{
    (void)fputs("task,rows,dimension,r2_ols,paper_rows,paper_dimension,paper_r2_ols\n", file);
    for (size_t c = 0; c < outcome->count; c++) {
        const struct tremolo_reproduction_case *studied = &outcome->cases[c];
        const struct tremolo_task *task = studied->task;
        (void)fprintf(file, "%s,%zu,%zu,%.17g,%zu,%zu,%g\n", task->key, studied->design.rows,
                      studied->design.features, studied->ols.mean, task->paper_rows,
                      task->paper_dimension, task->paper_r2_ols);
    }
}

/* Ours, and what the paper says of the constants that it states. The last three columns are the
 * paper's step, ridge and clip; a cell is empty where the method has no such constant. */
static void write_tuning(FILE *file, const struct outcome *outcome)
{
    (void)fputs(
        "task,method,step,ridge,clip,alpha,lambda,omega,paper_step,paper_ridge,paper_clip\n", file);
    size_t methods = outcome->sweep->method_count;
    for (size_t i = 0; i < outcome->count * methods; i++) {
        const struct tremolo_reproduction_case *studied = &outcome->cases[i / methods];
        const struct tremolo_task *task = studied->task;
        const struct tremolo_experiment_options *tuned = &studied->options[i % methods];
        if (tuned->method == TREMOLO_EXPERIMENT_AUTO) {
            continue; /* nothing is tuned */
        }
        (void)fprintf(file, "%s,%s,%g,%g,%g,%g,%g,%g", task->key,
                      tremolo_experiment_method_name(tuned->method), tuned->step, tuned->ridge,
                      tuned->clip, tuned->alpha, tuned->lambda, tuned->omega);
        switch (tuned->method) {
        case TREMOLO_EXPERIMENT_ITERATIVE: (void)fprintf(file, ",%g,,\n", task->paper_step); break;
        case TREMOLO_EXPERIMENT_ONE_SHOT: (void)fprintf(file, ",,%g,\n", task->paper_ridge); break;
        default: (void)fprintf(file, ",%g,,%g\n", task->paper_rate, task->paper_clip); break;
        }
    }
}

/* A line for each task, method and epsilon. */
static void write_sweep(FILE *file, const struct outcome *outcome)
{
    const struct tremolo_sweep *sweep = outcome->sweep;
    size_t points = sweep->method_count * sweep->epsilon_count;
    (void)fputs("task,method,epsilon,r2_mean,r2_sd,repeats,r2_ols\n", file);
    for (size_t i = 0; i < outcome->count * points; i++) {
        const struct tremolo_reproduction_case *studied = &outcome->cases[i / points];
        size_t m = i % points / sweep->epsilon_count, e = i % sweep->epsilon_count;
        const struct tremolo_sweep_point *point = &studied->sweep[m][e];
        (void)fprintf(file, "%s,%s,%g,%.17g,%.17g,%zu,%.17g\n", studied->task->key,
                      sweep->methods[m].name, sweep->epsilon(e), point->mean, point->sd,
                      outcome->options->reproduction.repeats, studied->ols.mean);
    }
}

/* ---------------------------------------------------------------- the document */

/* Below this the axis would show nothing but one method's blow-up. */
static const double figure_floor = -0.2;

/* The curve of a method: [epsilon, mean, low, high] for each epsilon. Least squares, number
 * method_count, knows no epsilon: one level. */
static json_t *series_of(const struct tremolo_reproduction_case *studied,
                         const struct tremolo_sweep *sweep, size_t method)
{
    bool reference = method == sweep->method_count;
    json_t *points = json_array();
    for (size_t e = 0; e < sweep->epsilon_count; e++) {
        const struct tremolo_sweep_point *r2 =
            reference ? &studied->ols : &studied->sweep[method][e];
        json_latch_append(&points,
                          json_pack("[f,o,o,o]", sweep->epsilon(e), json_latch_number(r2->mean),
                                    json_latch_number(r2->low), json_latch_number(r2->high)));
    }
    return json_pack("{s:s,s:s,s:o*,s:o}", "name", reference ? "ols" : sweep->methods[method].name,
                     "title",
                     reference ? "least squares (not private)" : sweep->methods[method].title,
                     "reference", reference ? json_true() : NULL, "points", points);
}

/* A figure of the page (src/web), as data. */
static json_t *figure_of(const struct tremolo_reproduction_case *studied,
                         const struct tremolo_sweep *sweep)
{
    json_t *series = json_array();
    for (size_t m = 0; m <= sweep->method_count; m++) {
        json_latch_append(&series, series_of(studied, sweep, m));
    }
    return json_pack(
        "{s:s,s:s,s:s,s:s,s:s,s:f,s:[f,f],s:o}", "key", studied->task->key, "title",
        studied->task->title, "words",
        "R\u00b2 on test rows for each epsilon: the line is the mean over splits and draws of the "
        "noise, its band holds eight of ten. A line ends where its mean falls below \u22120.2. The "
        "dotted level is least squares on the raw rows, which is not private.",
        "x", "epsilon (smaller: more private)", "y", "R\u00b2 on test rows", "floor", figure_floor,
        "include", 0.0, 1.0, "series", series);
}

/* The private method with the largest mean R^2 at epsilon number `e`; of equals the first. */
static size_t best_method(const struct tremolo_reproduction_case *studied,
                          const struct tremolo_sweep *sweep, size_t e)
{
    size_t best = 0;
    for (size_t m = 1; m < sweep->method_count; m++) {
        best = studied->sweep[m][e].mean > studied->sweep[best][e].mean ? m : best;
    }
    return best;
}

/* How `auto` compares with the paper's methods over all points of the sweep. Only for the paper's
 * sweep, which has `auto` among its methods. */
static json_t *verdict_words(const struct outcome *outcome)
{
    size_t points = 0, first = 0, negative = 0, automatic = 0;
    while (outcome->sweep->methods[automatic].options.method != TREMOLO_EXPERIMENT_AUTO) {
        automatic++;
    }
    for (size_t c = 0; c < outcome->count; c++) {
        for (size_t e = 0; e < outcome->sweep->epsilon_count; e++, points++) {
            double mine = outcome->cases[c].sweep[automatic][e].mean;
            first += best_method(&outcome->cases[c], outcome->sweep, e) == automatic;
            negative += mine < 0;
        }
    }
    return json_sprintf(
        "auto is better than the three others in %zu of %zu points of the sweep, and "
        "worse than predicting the mean in %zu.",
        first, points, negative);
}

/* How the numbers were made, for readers who want to judge or repeat them. */
static json_t *how_of(const struct outcome *outcome)
{
    static const char *const paper[] = {
        "Each task is split at random, 60/20/20, into training, validation and test rows; the "
        "noise "
        "draws take the splits in turn, so that no lucky or unlucky split decides (the paper has "
        "one; --repeats 1 does the same). Features and response are standardised on the training "
        "rows, which is the paper's convention and not private. Each training row is one device.",
        "Neighbours are samples at distance 1, delta is 1e-5, the response is public.",
        "Iterative and one-shot use the paper's calibration (zCDP, the modulation counted as "
        "sensitivity), one vector, and 10 rounds for iterative; DP-SGD clips to C, sensitivity 2C, "
        "10 rounds, zCDP. auto makes one release with the exact calibration and no modulation.",
        "The constants were chosen on the public validation rows, one configuration per task over "
        "the whole sweep, on the first split. A candidate's score is its mean R^2 over the sweep "
        "with values below 0 counted as 0: without that floor the blow-ups at small epsilon would "
        "decide everything. One-shot and DP-SGD may therefore lie far below 0 there; the margin of "
        "auto at those points says little. auto has no constants to choose and never sees the "
        "validation rows."};
    static const char *const any_two[] = {
        "Each task is split at random, 80/20, into devices and test rows. Bounds (least and "
        "largest "
        "value) for noisy samples and the trusted server, and typical ranges (nine of ten values, "
        "about the mean) for ballots, are taken from the training rows, which is not private. "
        "Nothing is tuned.",
        "Neighbours are any two people: of the whole sample, or of its features with the response "
        "sent in the clear. sample is the paper's release without modulation, one for each device, "
        "exact calibration, delta 1e-5, fitted by auto; ballot has delta 0. Both are local: the "
        "server sees nothing else.",
        "adassp is a server that is trusted with all raw rows (adaptive sufficient statistics "
        "perturbation, Wang 2018; one row replaced): least eigenvalue, X'X and X'y are released "
        "with Gaussian noise, a third of mu^2 each, composed exactly to (epsilon, 1e-5) instead of "
        "the article's epsilon/3 and delta/3, which would need more noise."};
    const struct tremolo_reproduction *reproduction = &outcome->options->reproduction;
    bool any = outcome->options->any_two;
    json_t *how = json_array();
    if (!any) {
        json_latch_append(&how, verdict_words(outcome));
    }
    for (size_t i = 0; i < (any ? sizeof any_two : sizeof paper) / sizeof *paper; i++) {
        json_latch_append(&how, json_string(any ? any_two[i] : paper[i]));
    }
    json_latch_append(
        &how, json_sprintf("%zu noise draws for each point over %zu splits; seed %llu; the noise "
                           "has the device's law exactly. %.0f seconds on %u threads.",
                           reproduction->repeats, reproduction->splits,
                           (unsigned long long)reproduction->seed, outcome->seconds,
                           reproduction->threads));
    return how;
}

/* The epsilon at which the answers are given, or the nearest. */
static size_t answer_place(const struct tremolo_sweep *sweep)
{
    const double wanted = 2.0;
    size_t best = 0;
    for (size_t e = 1; e < sweep->epsilon_count; e++) {
        if (fabs(sweep->epsilon(e) - wanted) < fabs(sweep->epsilon(best) - wanted)) {
            best = e;
        }
    }
    return best;
}

/* "ModeChoice 0.86 of 1.00 by auto; ...", the best private method of each task. */
static json_t *learnt_words(const struct outcome *outcome)
{
    const struct tremolo_sweep *sweep = outcome->sweep;
    size_t e = answer_place(sweep);
    char text[1024];
    size_t used =
        (size_t)snprintf(text, sizeof text,
                         "R\u00b2 of the best private method at epsilon %g, of what least "
                         "squares has on raw data: ",
                         sweep->epsilon(e));
    for (size_t c = 0; c < outcome->count && used < sizeof text; c++) {
        const struct tremolo_reproduction_case *studied = &outcome->cases[c];
        size_t best = best_method(studied, sweep, e);
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s %.2f of %.2f by %s",
                             c > 0 ? "; " : "", studied->task->title, studied->sweep[best][e].mean,
                             studied->ols.mean, sweep->methods[best].name);
    }
    return json_string(text);
}

/* How far apart any two devices are at most: rows of the widest task, twice the largest radius
 * of its splits. */
static double widest_of(const struct outcome *outcome)
{
    double radius = 0;
    for (size_t c = 0; c < outcome->count; c++) {
        for (size_t i = 0; i < outcome->cases[c].split_count; i++) {
            radius = fmax(radius, outcome->cases[c].splits[i].radius);
        }
    }
    return 2 * radius;
}

/* What is promised at an epsilon. At any two people that is the ballots' promise: at the same
 * epsilon Gaussian noise gives an attacker less. NULL where nothing can be said. */
static json_t *guarantee_at(double epsilon, const struct outcome *outcome)
{
    struct tremolo_certified mu = {0};
    bool any_two = outcome->options->any_two;
    struct tremolo_promise promise = {.neighbours = TREMOLO_NEIGHBOURS_ANY,
                                      .distance = 1,
                                      .dimension = 1,
                                      .releases = 1,
                                      .response_private = any_two};
    enum tremolo_status status;
    if (any_two) {
        status = tremolo_rank_law_for(&promise.law, epsilon);
    } else {
        promise.neighbours = TREMOLO_NEIGHBOURS_DISTANCE;
        promise.standardised = true;
        promise.diameter = widest_of(outcome);
        promise.delta = outcome->sweep->methods[0].options.delta;
        status = tremolo_gaussian_mu_for(&mu, epsilon, promise.delta);
        promise.mu = mu.lower;
    }
    return status == TREMOLO_OK ? guarantee_promise_json(&promise, epsilon) : NULL;
}

/* "60.4%", and of the paper's neighbours " and 99.1%" for any two. */
static const char *right_words(char text[64], const json_t *guarantee, bool any_two,
                               const char *between)
{
    char near[TREMOLO_PERCENT_BYTES], far[TREMOLO_PERCENT_BYTES];
    const json_t *others = json_object_get(guarantee, "any_two");
    (void)tremolo_percent_text(near, member_number(guarantee, "attacker_right"), true);
    (void)tremolo_percent_text(far, member_number(others, "attacker_right"), true);
    (void)snprintf(text, 64, "%s%s%s", near, any_two ? "" : between, any_two ? "" : far);
    return text;
}

/* The guarantee at the answers' epsilon, for the page's gauge, and in words what the sweep's ends
 * are. */
static json_t *private_answer(const struct outcome *outcome)
{
    static const char *const shown[] = {"epsilon",        "delta",   "neighbours", "protects",
                                        "attacker_right", "any_two", "strength"};
    const struct tremolo_sweep *sweep = outcome->sweep;
    const size_t places[] = {answer_place(sweep), 0, sweep->epsilon_count - 1};
    bool any_two = outcome->options->any_two;
    json_t *guarantee[3];
    char right[3][64];
    for (size_t i = 0; i < 3; i++) {
        guarantee[i] = guarantee_at(sweep->epsilon(places[i]), outcome);
        (void)right_words(right[i], guarantee[i], any_two,
                          i == 0 ? " of the time, between any two " : " and ");
    }
    json_t *gauge = guarantee[0] != NULL ? json_object() : NULL;
    for (size_t k = 0; gauge != NULL && k < sizeof shown / sizeof shown[0]; k++) {
        (void)json_object_set(gauge, shown[k], json_object_get(guarantee[0], shown[k]));
    }
    json_t *text = json_sprintf(
        "%s %g%s: between %s an attacker is right at most %s%s. At epsilon %g: %s; at %g: %s",
        any_two ? "At epsilon" : "Features only, at epsilon", sweep->epsilon(places[0]),
        any_two ? "" : " and delta 1e-5",
        any_two ? "any two people" : "people at most 1 apart in standard deviations", right[0],
        any_two ? " of the time" : "", sweep->epsilon(places[1]), right[1],
        sweep->epsilon(places[2]), right[2]);
    for (size_t i = 0; i < 3; i++) {
        json_decref(guarantee[i]);
    }
    return json_pack("{s:s,s:o,s:o*}", "title", "Private", "text", text, "guarantee", gauge);
}

/* The three answers that every page begins with. */
static json_t *answers_of(const struct outcome *outcome)
{
    const struct tremolo_reproduction *reproduction = &outcome->options->reproduction;
    return json_pack(
        "[{s:s,s:o},{s:s,s:o},o]", "title", "Learnt", "text", learnt_words(outcome), "title",
        "Certain", "text",
        json_sprintf("Means of %zu draws of the noise over %zu split%s; bands hold eight of ten",
                     reproduction->repeats, reproduction->splits,
                     reproduction->splits == 1 ? "" : "s"),
        private_answer(outcome));
}

/* All that text and page are made from. */
static json_t *document_of(const struct outcome *outcome)
{
    const struct tremolo_sweep *sweep = outcome->sweep;
    json_t *figures = json_array();
    json_t *document = json_pack("{s:i,s:s,s:s}", "tremolo_report", 1, "kind", "reproduce", "title",
                                 outcome->options->any_two ? "The paper's tasks at any two people"
                                                           : "The paper's experiments, repeated");
    result_set_made(document, outcome->options->line);
    for (size_t c = 0; c < outcome->count; c++) {
        json_latch_append(&figures, figure_of(&outcome->cases[c], sweep));
    }
    (void)json_object_update_new(
        document,
        json_pack("{s:o,s:o,s:o,s:o}", "answers", answers_of(outcome), "summary",
                  json_sprintf("%zu task%s, %zu private methods and least squares, %zu values "
                               "of epsilon from %g to %g",
                               outcome->count, outcome->count == 1 ? "" : "s", sweep->method_count,
                               sweep->epsilon_count, sweep->epsilon(0),
                               sweep->epsilon(sweep->epsilon_count - 1)),
                  "figures", figures, "how", how_of(outcome)));
    return document;
}

/* ------------------------------------------------------------------ output */

/* The order matters: --any-two tunes nothing and writes the first two only. */
static const struct table {
    const char *name;
    void (*write)(FILE *file, const struct outcome *outcome);
} tables[] = {
    {"datasets.csv", write_datasets}, {"sweep.csv", write_sweep}, {"tuning.csv", write_tuning}};

/* A file counts only when every byte of it was taken. */
static bool write_table(const char *path, const struct table *table, const struct outcome *outcome)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return false;
    }
    table->write(file, outcome);
    bool good = ferror(file) == 0;
    return fclose(file) == 0 && good;
}

/* Tables, then the three forms of the document. */
static int write_all(const char *folder, const struct outcome *outcome)
{
    static const char *const forms[] = {"report.json", "report.txt", "report.html"};
    const struct reproduce_options *options = outcome->options;
    char path[2 * PATH_MAX];
    int code = CLI_DONE;
    for (size_t i = 0; i < (options->any_two ? 2 : 3) && code == CLI_DONE;
         i++) { /* none is tuned */
        (void)snprintf(path, sizeof path, "%s/%s", folder, tables[i].name);
        if (!write_table(path, &tables[i], outcome)) {
            code = cli_fail(CLI_FAILED, command, "%s: %s", folder, strerror(errno));
        }
    }
    json_t *document = document_of(outcome);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && code == CLI_DONE; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, forms[i]);
        code = result_save(document, command, path, true);
    }
    json_decref(document);
    return code;
}

/* The time of the run is a part of the report. */
static int compute_and_write(const struct reproduce_options *options, const char *data,
                             const char *work)
{
    static struct outcome outcome; /* large */
    char error[TREMOLO_TABLE_ERROR_BYTES];
    double start = cli_seconds();
    outcome.options = options;
    outcome.sweep = options->reproduction.sweep;
    int code = CLI_DONE;
    if (!tremolo_reproduction_load(outcome.cases, &outcome.count, &options->reproduction, data,
                                   error)) {
        code = cli_fail(CLI_FAILED, command, "%s", error);
    }
    if (code == CLI_DONE) {
        enum tremolo_status status =
            tremolo_reproduction_run(outcome.cases, outcome.count, &options->reproduction);
        outcome.seconds = cli_seconds() - start;
        code = status == TREMOLO_OK ? write_all(work, &outcome) : cli_fail_status(command, status);
    }
    tremolo_reproduction_free(outcome.cases, outcome.count);
    return code;
}

/* Called with a folder that becomes the output when all is well. */
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

/* ---------------------------------------------------------------- the folder */

/* Move one file, or with `to` NULL remove it. Both folders are in one file system, so that each
 * move is atomic. */
static bool move_file(const char *from, const char *to, const char *name)
{
    char old[2 * PATH_MAX], new[2 * PATH_MAX];
    (void)snprintf(old, sizeof old, "%s/%s", from, name);
    (void)snprintf(new, sizeof new, "%s/%s", to != NULL ? to : "", name);
    return (to != NULL ? rename(old, new) : unlink(old)) == 0;
}

/* A list of names, ended by NULL. */
static bool is_listed(const char *const *list, const char *name)
{
    while (*list != NULL && strcmp(*list, name) != 0) {
        list++;
    }
    return *list != NULL;
}

/* Move all files of a folder but some, or with `to` NULL remove them. Goes on after a failure,
 * so that as much as possible is removed; false if any failed. Hidden files stay. */
static bool move_files(const char *from, const char *to, const char *const *but)
{
    DIR *listing = opendir(from);
    bool good = listing != NULL;
    for (struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;) {
        if (entry->d_name[0] != '.' && !is_listed(but, entry->d_name)) {
            good = move_file(from, to, entry->d_name) && good;
        }
    }
    if (listing != NULL) {
        (void)closedir(listing);
    }
    return good;
}

/* Let `make` write files into a new folder inside `out`, which is made if missing, and move them
 * to `out` at the end, those of the list `last` (ended by NULL) after all others: where one of
 * them is, the rest is, too. A failure leaves nothing behind. Two runs at once have a folder
 * each; the later one replaces the files of the earlier. Codes of the command line. */
static int fill_folder(const char *out, const char *const *last,
                       int (*make)(const char *folder, const void *context), const void *context)
{
    static const char *const none[] = {NULL};
    char work[PATH_MAX];
    bool fits = snprintf(work, sizeof work, "%s/.making-XXXXXX", out) < (int)sizeof work;
    bool made = fits && mkdir(out, 0777) == 0;
    if (!fits) {
        return cli_fail(CLI_USAGE, command, "the folder's name is too long");
    }
    if ((!made && errno != EEXIST) || mkdtemp(work) == NULL) {
        int why = errno;
        if (made) {
            (void)rmdir(out);
        }
        return cli_fail(CLI_FAILED, command, "%s: %s", out, strerror(why));
    }
    int code = make(work, context);
    if (code == CLI_DONE) {
        bool moved = move_files(work, out, last);
        for (; *last != NULL && moved; last++) {
            moved = move_file(work, out, *last);
        }
        code = moved ? CLI_DONE
                     : cli_fail(CLI_FAILED, command, "%s: not all files could be moved there", out);
    }
    (void)move_files(work, NULL, none);
    (void)rmdir(work);
    if (code != CLI_DONE && made) {
        (void)rmdir(out); /* stays when something else is in it */
    }
    return code;
}

/* The page comes last, so where it is, the rest is. */
static int run(int argc, char **argv)
{
    static const char *const last[] = {"report.json", "report.txt", "report.html", NULL};
    struct reproduce_options options;
    char report[PATH_MAX + 16];
    int code = CLI_DONE;
    if (!parse(&options, &code, argc, argv)) {
        return code;
    }
    (void)snprintf(report, sizeof report, "%s/report.html", options.out);
    code = cli_check_new(command, report, options.force);
    if (code == CLI_DONE) {
        code = fill_folder(options.out, last, make_all, &options);
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
    .about =
        "Repeat the paper's experiments on five data sets and write tables (CSV) and a report\n"
        "(a page with the curves, text, JSON).",
    OPTION_TABLE(rules),
    .run = run,
};
