/* reproduction.c -- the paper's tasks, swept over epsilon: its methods, tuned, or any two people.
 *
 * A trial repeats one method with one set of options, taking the given splits in turn, and keeps
 * what R^2 was. Trials are independent, so they are what is spread over threads; each runs on
 * one. All else is lists of trials: those of tuning, of which the best is kept, and those of the
 * sweep.
 *
 * Seeds are spread so that no noise is drawn twice where it should be independent: splits, tuning
 * and the sweep have their own. Methods that are compared at one epsilon start from the same
 * seed. */
#include "reproduction.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment.h"
#include "refuse.h"
#include "table.h"
#include "regression.h"

/* --------------------------------------------------------------- tasks
 *
 * Built from Debian's copies of the data sets. */

static const char *const modes[] = {"mode", "choice", "ttme", "invc", "invt", "hinc", "psize"};

const struct tremolo_task tremolo_tasks[TREMOLO_TASKS] = {
    {"co2", "CO2", "co2.csv", NULL, NULL, 0, 2284, 7, 0.999, 0.80, 2.00, 2.249, 0.05},
    {"fair", "Fair (yrs_married)", "fair.csv", "yrs_married", NULL, 0, 6366, 8, 0.853, 0.80, 1.00,
     2.059, 0.10},
    {"modechoice", "ModeChoice", "modechoice.csv", "gc", modes, 7, 840, 7, 0.967, 1.00, 0.50, 1.816,
     0.05},
    {"lncoins", "RandHIE (lncoins)", "randhie.csv", "lncoins", NULL, 0, 20190, 9, 0.406, 0.80, 0.50,
     2.270, 0.10},
    {"fmde", "RandHIE (fmde)", "randhie.csv", "fmde", NULL, 0, 20190, 9, 0.389, 0.50, 0.50, 2.256,
     0.10},
};

/* Days since the year 0 of a proleptic Gregorian date written YYYYMMDD. The year is counted from
 * March, so that a leap day is its last. Five months from March have 153 days, which (153 m -
 * 457) / 5 spreads as the calendar does. */
static double day_number(const char *text)
{
    long date = strtol(text, NULL, 10);
    long year = date / 10000, month = date / 100 % 100, day = date % 100;
    year -= month <= 2;
    month += month <= 2 ? 12 : 0;
    long leap_days = year / 4 - year / 100 + year / 400;
    long days_before_month = (153 * month - 457) / 5;
    return (double)(365 * year + leap_days + days_before_month + day);
}

/* Fill gaps on the straight line between their neighbours; gaps at the ends take the nearest
 * value. Without any value all stay NaN. */
static void interpolate(double *values, size_t count)
{
    size_t last = count; /* the latest value that is there */
    for (size_t r = 0; r < count; r++) {
        if (isnan(values[r])) {
            continue;
        }
        for (size_t gap = last == count ? 0 : last + 1; gap < r; gap++) {
            values[gap] = last == count
                              ? values[r]
                              : values[last] + (values[r] - values[last]) * (double)(gap - last) /
                                                   (double)(r - last);
        }
        last = r;
    }
    for (size_t gap = last + 1; last < count && gap < count; gap++) {
        values[gap] = values[last];
    }
}

/* A cubic trend and two harmonics of a year. */
static void season_row(double *x, double years)
{
    const double turn = 6.283185307179586;
    x[0] = years;
    x[1] = years * years;
    x[2] = years * years * years;
    x[3] = sin(turn * years);
    x[4] = cos(turn * years);
    x[5] = sin(2 * turn * years);
    x[6] = cos(2 * turn * years);
}

/* A cubic trend and two harmonics of the year, from weekly measurements. Years are counted from
 * the first row, in units of 365.25 days, so that the cubic stays of a moderate size. */
static bool build_co2(struct tremolo_design *design, const struct tremolo_table *table, char *error)
{
    static const char *const names[7] = {"t", "t^2", "t^3", "sin1", "cos1", "sin2", "cos2"};
    size_t date = tremolo_table_find(table, "date"), co2 = tremolo_table_find(table, "co2");
    struct tremolo_design made = {.rows = table->rows, .features = 7};
    if (date == table->columns || co2 == table->columns) {
        return refuse(error, "the columns date and co2 are not there");
    }
    made.name = calloc(made.features, sizeof *made.name);
    made.X = malloc(made.rows * made.features * sizeof *made.X);
    made.y = malloc(made.rows * sizeof *made.y);
    if (made.name == NULL || made.X == NULL || made.y == NULL) {
        tremolo_design_free(&made);
        return refuse(error, "out of memory");
    }
    double first = day_number(tremolo_table_cell(table, 0, date));
    for (size_t r = 0; r < made.rows; r++) {
        const char *text = tremolo_table_cell(table, r, co2);
        made.y[r] = NAN;
        if (!tremolo_table_is_missing(text) && !tremolo_table_is_number(text, &made.y[r])) {
            tremolo_design_free(&made);
            return refuse(error, "line %zu, column 'co2': '%.40s' is not a finite number",
                          table->line[r], text);
        }
        season_row(made.X + r * made.features,
                   (day_number(tremolo_table_cell(table, r, date)) - first) / 365.25);
    }
    interpolate(made.y, made.rows);
    for (size_t i = 0; i < made.features; i++) {
        (void)snprintf(made.name[i], TREMOLO_NAME_BYTES, "%s", names[i]);
    }
    (void)snprintf(made.response, TREMOLO_NAME_BYTES, "co2");
    *design = made;
    return true;
}

/* All tasks but the one built by hand are columns of a file. */
static bool task_load(struct tremolo_design *design, const struct tremolo_task *task,
                      const char *folder, char error[TREMOLO_TABLE_ERROR_BYTES])
{
    char path[4096];
    struct tremolo_table *table = NULL;
    (void)snprintf(path, sizeof path, "%s/%s", folder, task->file);
    if (!tremolo_table_read(&table, path, error)) {
        return false;
    }
    const struct tremolo_design_wish wish = {.response = task->response,
                                             .features = task->features,
                                             .feature_count = task->feature_count};
    bool good = task->response == NULL ? build_co2(design, table, error)
                                       : tremolo_design_build(design, table, &wish, error);
    tremolo_table_free(table);
    return good;
}

/* --------------------------------------------------------------- trials */

/* One point of a list: a method with its options, repeated. The splits are borrowed and shared by
 * trials; only the thread that took a trial writes its result. */
struct trial {
    const struct tremolo_split *splits;
    size_t split_count;
    struct tremolo_experiment_options options;
    enum tremolo_split_part part; /* where R^2 is measured */
    size_t repeats;
    uint64_t seed;
    struct tremolo_sweep_point r2; /* the result */
};

/* What the threads share. `next` is the first trial that no thread took; a status other than OK
 * ends all of them after the trial at hand. */
struct queue {
    struct trial *trials;
    size_t count;
    atomic_size_t next;
    atomic_int status;
    const struct tremolo_progress *progress;
};

/* Ascending, for qsort. */
static int compare(const void *first, const void *second)
{
    double a = *(const double *)first, b = *(const double *)second;
    return a < b ? -1 : a > b;
}

/* The value below which this share of the sorted numbers lies, interpolated between two of them. */
static double quantile(const double *sorted, size_t count, double share)
{
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    size_t above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}

/* Mean, standard deviation and the middle 80% of R^2, which is sorted on the way. `repeats` is at
 * least 1; a single one has no standard deviation, and 0 is given. */
static struct tremolo_sweep_point point_of(double *r2, size_t repeats)
{
    double sum = 0, squares = 0, count = (double)repeats;
    for (size_t r = 0; r < repeats; r++) {
        sum += r2[r];
        squares += r2[r] * r2[r];
    }
    double variance = (squares - sum * sum / count) / (count - 1);
    qsort(r2, repeats, sizeof *r2, compare);
    return (struct tremolo_sweep_point){.mean = sum / count,
                                        .sd = repeats > 1 && variance > 0 ? sqrt(variance) : 0,
                                        .low = quantile(r2, repeats, 0.1),
                                        .high = quantile(r2, repeats, 0.9)};
}

/* All repeats of one trial, over its splits in turn. Each repeat has a seed of its own, from the
 * trial's and its number, so results do not depend on which thread runs it. */
static enum tremolo_status run_trial(struct trial *trial)
{
    double *r2 = trial->repeats > 0 ? calloc(trial->repeats, sizeof *r2) : NULL;
    enum tremolo_status status = r2 != NULL ? TREMOLO_OK : TREMOLO_NO_MEMORY;
    for (size_t r = 0; r < trial->repeats && status == TREMOLO_OK; r++) {
        const struct tremolo_split *split = &trial->splits[r % trial->split_count];
        struct tremolo_outcome outcome = {.evidence = NULL};
        status = tremolo_experiment_run(&outcome, split, &trial->options,
                                        tremolo_random_hash(trial->seed, r));
        if (status == TREMOLO_OK) {
            r2[r] = tremolo_split_r2(split, trial->part, outcome.beta, outcome.intercept,
                                     tremolo_experiment_reach(&trial->options));
            tremolo_outcome_free(&outcome);
        }
    }
    if (status == TREMOLO_OK) {
        trial->r2 = point_of(r2, trial->repeats);
    }
    free(r2);
    return status;
}

/* A thread's work: trials until there are no more, or one failed. */
static void *take(void *argument)
{
    struct queue *queue = argument;
    for (;;) {
        size_t mine = atomic_fetch_add(&queue->next, 1);
        if (mine >= queue->count || atomic_load(&queue->status) != TREMOLO_OK) {
            return NULL;
        }
        enum tremolo_status status = run_trial(&queue->trials[mine]);
        status = tremolo_progress_add(queue->progress, 1, status);
        if (status != TREMOLO_OK) {
            atomic_store(&queue->status, (int)status);
        }
    }
}

/* Run all; the first failure's status, if any. Results do not depend on the number of threads.
 * The progress says `what`. A thread that cannot be started is no failure: the others take its
 * trials. */
static enum tremolo_status trials_run(struct trial *trials, size_t count, const char *what,
                                      const struct tremolo_reproduction *reproduction)
{
    struct queue queue = {.trials = trials, .count = count, .progress = reproduction->progress};
    unsigned threads = reproduction->threads;
    pthread_t thread[TREMOLO_MAX_FOLD_THREADS];
    bool started[TREMOLO_MAX_FOLD_THREADS] = {false};
    tremolo_progress_begin(queue.progress, what, count);
    atomic_init(&queue.next, 0);
    atomic_init(&queue.status, TREMOLO_OK);
    for (unsigned t = 1; t < threads; t++) {
        started[t] = pthread_create(&thread[t], NULL, take, &queue) == 0;
    }
    (void)take(&queue);
    for (unsigned t = 1; t < threads; t++) {
        if (started[t]) {
            (void)pthread_join(thread[t], NULL);
        }
    }
    tremolo_progress_end(queue.progress);
    return (enum tremolo_status)atomic_load(&queue.status);
}

/* --------------------------------------------------------------- tuning
 *
 * As in the paper: a public validation split, and one configuration for each data set, held fixed
 * over the whole sweep. A configuration's score is its mean validation R^2 over five values of
 * epsilon; below zero it counts as zero, because an analyst who sees that on validation rows would
 * rather predict the mean. Step, ridge or clip are tuned first with alpha = 0.5, lambda = 0.2,
 * omega = 1, then alpha, lambda and omega, then the first once more. `auto` has nothing to tune. */

enum {
    TUNING_EPSILONS = 5,
    TUNING_REPEATS = 5,
    CANDIDATES_MAX = 40,
};

static const double tuning_epsilons[TUNING_EPSILONS] = {0.5, 1, 2, 5, 10};

/* The options that one stage of tuning tries for one method on one task. */
struct candidates {
    size_t count;
    struct tremolo_experiment_options options[CANDIDATES_MAX];
};

/* CANDIDATES_MAX holds the largest of the lists below. */
static void add(struct candidates *candidates, const struct tremolo_experiment_options *options)
{
    candidates->options[candidates->count++] = *options;
}

/* Step, ridge, or clip and learning rate. */
static void vary_constant(struct candidates *candidates,
                          const struct tremolo_experiment_options *from)
{
    static const double steps[] = {0.05, 0.1, 0.2, 0.35, 0.5, 0.8, 1.0};
    static const double ridges[] = {0.2, 0.5, 1, 2, 5, 10, 20, 50};
    static const double clips[] = {0.5, 1, 2, 3}, rates[] = {0.02, 0.05, 0.1, 0.2, 0.5};
    struct tremolo_experiment_options options = *from;
    if (from->method == TREMOLO_EXPERIMENT_ITERATIVE) {
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
            options.step = steps[i];
            add(candidates, &options);
        }
    } else if (from->method == TREMOLO_EXPERIMENT_ONE_SHOT) {
        for (size_t i = 0; i < sizeof ridges / sizeof ridges[0]; i++) {
            options.ridge = ridges[i];
            add(candidates, &options);
        }
    } else if (from->method == TREMOLO_EXPERIMENT_DP_SGD) {
        for (size_t i = 0; i < 4 * 5; i++) {
            options.clip = clips[i / 5];
            options.step = rates[i % 5];
            add(candidates, &options);
        }
    }
}

/* Only two of the methods are modulated; the others keep their constants. */
static void vary_modulation(struct candidates *candidates,
                            const struct tremolo_experiment_options *from)
{
    static const double alphas[] = {0, 0.25, 0.5, 0.75}, lambdas[] = {0.02, 0.2, 1},
                        omegas[] = {0.25, 1, 4};
    struct tremolo_experiment_options options = *from;
    if (from->method != TREMOLO_EXPERIMENT_ITERATIVE &&
        from->method != TREMOLO_EXPERIMENT_ONE_SHOT) {
        return;
    }
    for (size_t i = 0; i < 4 * 3 * 3; i++) {
        options.alpha = alphas[i / 9];
        options.lambda = lambdas[i / 3 % 3];
        options.omega = omegas[i % 3];
        add(candidates, &options);
    }
}

typedef void (*vary_fn)(struct candidates *, const struct tremolo_experiment_options *);

/* The best of the candidates by the trials made for them. */
static size_t best_of(const struct trial *trials, size_t count)
{
    size_t best = 0;
    double highest = -INFINITY;
    for (size_t c = 0; c < count; c++) {
        double score = 0;
        for (size_t e = 0; e < TUNING_EPSILONS; e++) {
            score += fmax(trials[c * TUNING_EPSILONS + e].r2.mean, 0);
        }
        if (score > highest) {
            highest = score;
            best = c;
        }
    }
    return best;
}

/* A candidate is tried at every epsilon of tuning. The seed depends on epsilon alone, so that
 * candidates are compared at the same draws. */
static void fill_trials(struct trial *trials, const struct candidates *candidates,
                        const struct tremolo_split *split, uint64_t seed)
{
    for (size_t c = 0; c < candidates->count; c++) {
        for (size_t e = 0; e < TUNING_EPSILONS; e++) {
            struct trial *trial = &trials[c * TUNING_EPSILONS + e];
            /* A single release is cheap, and its blow-ups are rare enough to be missed by few. */
            bool one = candidates->options[c].method == TREMOLO_EXPERIMENT_ONE_SHOT;
            *trial = (struct trial){.splits = split,
                                    .split_count = 1,
                                    .options = candidates->options[c],
                                    .part = TREMOLO_SPLIT_VALID,
                                    .repeats = one ? 4 * TUNING_REPEATS : TUNING_REPEATS,
                                    .seed = seed + e};
            trial->options.epsilon = tuning_epsilons[e];
        }
    }
}

/* One stage over all tasks and methods at once, so that every thread has something to do. A
 * method without candidates keeps its options. The trials of all tasks and methods lie one after
 * the other, in the order in which they are read back. */
static enum tremolo_status tune_stage(struct tremolo_reproduction_case *cases, size_t count,
                                      vary_fn vary, const struct tremolo_reproduction *reproduction,
                                      const char *what)
{
    size_t methods = reproduction->sweep->method_count;
    size_t used = 0, most = count * methods * CANDIDATES_MAX * TUNING_EPSILONS;
    struct candidates *all = calloc(count * methods, sizeof *all);
    struct trial *trials = calloc(most, sizeof *trials);
    enum tremolo_status status = all == NULL || trials == NULL ? TREMOLO_NO_MEMORY : TREMOLO_OK;
    for (size_t i = 0; i < count * methods && status == TREMOLO_OK; i++) {
        struct tremolo_reproduction_case *chosen = &cases[i / methods];
        vary(&all[i], &chosen->options[i % methods]);
        fill_trials(trials + used, &all[i], chosen->splits, reproduction->seed + 1000);
        used += all[i].count * TUNING_EPSILONS;
    }
    if (status == TREMOLO_OK) {
        status = trials_run(trials, used, what, reproduction);
    }
    used = 0;
    for (size_t i = 0; i < count * methods && status == TREMOLO_OK; i++) {
        if (all[i].count > 0) {
            size_t best = best_of(trials + used, all[i].count);
            cases[i / methods].options[i % methods] = all[i].options[best];
            used += all[i].count * TUNING_EPSILONS;
        }
    }
    free(all);
    free(trials);
    return status;
}

/* The paper tunes in turns. The third stage repeats the first, with the modulation that the
 * second chose. */
static enum tremolo_status tune(struct tremolo_reproduction_case *cases, size_t count,
                                const struct tremolo_reproduction *reproduction)
{
    enum tremolo_status status =
        tune_stage(cases, count, vary_constant, reproduction, "tuning constants");
    if (status == TREMOLO_OK) {
        status =
            tune_stage(cases, count, vary_modulation, reproduction, "tuning alpha, lambda, omega");
    }
    if (status == TREMOLO_OK) {
        status = tune_stage(cases, count, vary_constant, reproduction, "tuning constants again");
    }
    return status;
}

/* --------------------------------------------------------------- the two sweeps */

/* Neighbours at distance 1; `auto` alone has noise that is calibrated exactly. */
#define PAPER(METHOD)                                                                              \
    .method = TREMOLO_EXPERIMENT_##METHOD, .delta = 1e-5, .distance = 1, .rounds = 10,             \
    .lambda = 0.2, .omega = 1, .ridge = 0.5, .step = 0.5, .clip = 2, .threads = 1
#define TUNED(METHOD) PAPER(METHOD), .calibration = TREMOLO_CALIBRATION_PAPER, .alpha = 0.5

static const struct tremolo_sweep_method paper_methods[] = {
    {"iterative", "modulated iterative", TREMOLO_SCALING_STANDARD,
     .options = {TUNED(ITERATIVE), .vectors = 1}},
    {"one-shot", "modulated one-shot ridge", TREMOLO_SCALING_STANDARD,
     .options = {TUNED(ONE_SHOT), .vectors = 1}},
    {"dp-sgd", "DP-SGD FedAvg", TREMOLO_SCALING_STANDARD, .options = {TUNED(DP_SGD)}},
    {"auto", "auto (one release)", TREMOLO_SCALING_STANDARD,
     .options = {PAPER(AUTO), .calibration = TREMOLO_CALIBRATION_EXACT}},
};

/* Bounds for noise, which is as large as they are wide; typical ranges for ballots. */
#define ANY_TWO                                                                                    \
    .neighbours = TREMOLO_NEIGHBOURS_ANY, .calibration = TREMOLO_CALIBRATION_EXACT, .rounds = 1,   \
    .threads = 1
#define SAMPLE(METHOD, ALL)                                                                        \
    .scaling = TREMOLO_SCALING_BOUNDS, .options = {ANY_TWO, .method = TREMOLO_EXPERIMENT_##METHOD, \
                                                   .delta = 1e-5, .protect_all = (ALL)}
#define BALLOT(ALL)                                                                                \
    .scaling = TREMOLO_SCALING_RANGES,                                                             \
    .options = {ANY_TWO, .release = TREMOLO_RELEASE_BALLOT, .protect_all = (ALL)}

static const struct tremolo_sweep_method any_two_methods[] = {
    {"sample-all", "noisy sample, all protected", SAMPLE(AUTO, true)},
    {"ballot-all", "ballot, all protected", BALLOT(true)},
    {"adassp-all", "trusted server, all protected", SAMPLE(ADASSP, true)},
    {"sample-features", "noisy sample, features only", SAMPLE(AUTO, false)},
    {"ballot-features", "ballot, features only", BALLOT(false)},
    {"adassp-features", "trusted server, features only", SAMPLE(ADASSP, false)},
};

/* 0.5 to 10 in steps of a quarter. */
static double paper_epsilon(size_t index)
{
    return 0.5 + 0.25 * (double)index;
}

/* 0.5 to 8, doubling. */
static double any_two_epsilon(size_t index)
{
    return ldexp(0.5, (int)index);
}

const struct tremolo_sweep tremolo_sweep_paper = {paper_methods, 4, 39, paper_epsilon, 0.2};
const struct tremolo_sweep tremolo_sweep_any_two = {any_two_methods, 6, 5, any_two_epsilon, 0};

/* Splits of another scaling replace them. */
static void free_splits(struct tremolo_reproduction_case *studied)
{
    for (size_t i = 0; i < studied->split_count; i++) {
        tremolo_split_free(&studied->splits[i]);
    }
    free(studied->splits);
    studied->splits = NULL;
    studied->split_count = 0;
}

/* Shuffled and scaled for a method; the same rows are held out for every one. A fifth is held out
 * for the test, and what the sweep says for tuning. What was made before a failure is freed with
 * the case. */
static enum tremolo_status make_splits(struct tremolo_reproduction_case *made,
                                       const struct tremolo_reproduction *reproduction,
                                       const struct tremolo_sweep_method *method)
{
    const char *constant = NULL;
    enum tremolo_status status = TREMOLO_OK;
    free_splits(made);
    made->splits = calloc(reproduction->splits, sizeof *made->splits);
    if (made->splits == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t i = 0; i < reproduction->splits && status == TREMOLO_OK; i++) {
        status = tremolo_split_make(&made->splits[i], &constant, &made->design,
                                    reproduction->sweep->valid_share, 0.2, method->scaling,
                                    method->options.protect_all, reproduction->seed + i);
        made->split_count = i + 1;
    }
    return status;
}

/* Splits are made here for the paper's sweep, which tunes on them. The other sweep makes its own
 * for each method. */
bool tremolo_reproduction_load(struct tremolo_reproduction_case *cases, size_t *count,
                               const struct tremolo_reproduction *reproduction, const char *folder,
                               char error[TREMOLO_TABLE_ERROR_BYTES])
{
    for (size_t t = 0; t < TREMOLO_TASKS; t++) {
        if (!reproduction->wanted[t]) {
            continue;
        }
        struct tremolo_reproduction_case *made = &cases[*count];
        made->task = &tremolo_tasks[t];
        if (!task_load(&made->design, made->task, folder, error)) {
            return false;
        }
        (*count)++;
        enum tremolo_status status = make_splits(made, reproduction, reproduction->sweep->methods);
        if (status != TREMOLO_OK) {
            return refuse(error, "%s: %s", made->task->title, tremolo_status_sentence(status));
        }
    }
    return true;
}

/* Accepts cases that were never loaded, if they are zero. */
void tremolo_reproduction_free(struct tremolo_reproduction_case *cases, size_t count)
{
    for (size_t c = 0; c < count; c++) {
        tremolo_design_free(&cases[c].design);
        free_splits(&cases[c]);
    }
}

/* --------------------------------------------------------------- the sweep */

/* Methods `from` to `to` of all cases at once, on the splits that these have. The sweep's seeds
 * are far from tuning's, so that the noise it was tuned on is not measured again. */
static enum tremolo_status sweep_methods(struct tremolo_reproduction_case *cases, size_t count,
                                         const struct tremolo_reproduction *reproduction,
                                         size_t from, size_t to)
{
    size_t epsilons = reproduction->sweep->epsilon_count, each = (to - from) * epsilons;
    size_t total = count * each;
    struct trial *trials = total > 0 ? calloc(total, sizeof *trials) : NULL;
    if (trials == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t i = 0; i < total; i++) {
        struct tremolo_reproduction_case *chosen = &cases[i / each];
        size_t method = from + i % each / epsilons, epsilon = i % epsilons;
        trials[i] = (struct trial){.splits = chosen->splits,
                                   .split_count = chosen->split_count,
                                   .options = chosen->options[method],
                                   .part = TREMOLO_SPLIT_TEST,
                                   .repeats = reproduction->repeats,
                                   .seed = reproduction->seed + 100000 + epsilon};
        trials[i].options.epsilon = reproduction->sweep->epsilon(epsilon);
    }
    enum tremolo_status status = trials_run(trials, total, "sweeping epsilon", reproduction);
    for (size_t i = 0; i < total && status == TREMOLO_OK; i++) {
        cases[i / each].sweep[from + i % each / epsilons][i % epsilons] = trials[i].r2;
    }
    free(trials);
    return status;
}

/* Every method on splits of its own scaling. */
static enum tremolo_status sweep_each(struct tremolo_reproduction_case *cases, size_t count,
                                      const struct tremolo_reproduction *reproduction)
{
    enum tremolo_status status = TREMOLO_OK;
    for (size_t m = 0; m < reproduction->sweep->method_count && status == TREMOLO_OK; m++) {
        for (size_t c = 0; c < count && status == TREMOLO_OK; c++) {
            status = make_splits(&cases[c], reproduction, &reproduction->sweep->methods[m]);
        }
        if (status == TREMOLO_OK) {
            status = sweep_methods(cases, count, reproduction, m, m + 1);
        }
    }
    return status;
}

/* What is compared with: least squares on the raw training rows, once for each split. */
static enum tremolo_status run_ols(struct tremolo_reproduction_case *cases, size_t count)
{
    const struct tremolo_experiment_options ols = {.method = TREMOLO_EXPERIMENT_OLS};
    const struct tremolo_reproduction quiet = {.threads = 1};
    enum tremolo_status status = TREMOLO_OK;
    for (size_t c = 0; c < count && status == TREMOLO_OK; c++) {
        struct trial trial = {.splits = cases[c].splits,
                              .split_count = cases[c].split_count,
                              .options = ols,
                              .part = TREMOLO_SPLIT_TEST,
                              .repeats = cases[c].split_count};
        status = trials_run(&trial, 1, "", &quiet);
        cases[c].ols = trial.r2;
    }
    return status;
}

/* Options are copied from the sweep first, because tuning changes them. */
enum tremolo_status tremolo_reproduction_run(struct tremolo_reproduction_case *cases, size_t count,
                                             const struct tremolo_reproduction *reproduction)
{
    const struct tremolo_sweep *sweep = reproduction->sweep;
    for (size_t i = 0; i < count * sweep->method_count; i++) {
        size_t method = i % sweep->method_count;
        cases[i / sweep->method_count].options[method] = sweep->methods[method].options;
    }
    enum tremolo_status status = run_ols(cases, count);
    if (status == TREMOLO_OK && sweep == &tremolo_sweep_any_two) {
        return sweep_each(cases, count, reproduction);
    }
    status = status == TREMOLO_OK ? tune(cases, count, reproduction) : status;
    return status == TREMOLO_OK ? sweep_methods(cases, count, reproduction, 0, sweep->method_count)
                                : status;
}
