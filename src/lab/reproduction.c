/* reproduction.c -- the paper's tasks, swept over epsilon: its methods, tuned, or any two people. */
#include "trial.h"
#include "refuse.h"

#include <math.h>
#include <stdlib.h>

/* Neighbours at distance 1; `auto` alone has noise that is calibrated exactly. */
#define PAPER(METHOD)                                                                              \
    .method = TREMOLO_EXPERIMENT_##METHOD, .delta = 1e-5, .distance = 1, .rounds = 10,             \
    .lambda = 0.2, .omega = 1, .ridge = 0.5, .step = 0.5, .clip = 2, .threads = 1
#define TUNED(METHOD) PAPER(METHOD), .calibration = TREMOLO_CALIBRATION_PAPER, .alpha = 0.5

static const struct tremolo_sweep_method paper_methods[] = {
    {"iterative", "modulated iterative", .options = {TUNED(ITERATIVE), .vectors = 1}},
    {"one-shot", "modulated one-shot ridge", .options = {TUNED(ONE_SHOT), .vectors = 1}},
    {"dp-sgd", "DP-SGD FedAvg", .options = {TUNED(DP_SGD)}},
    {"auto", "auto (one release)",
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

static double paper_epsilon(size_t index)
{
    return 0.5 + 0.25 * (double)index;
}

static double any_two_epsilon(size_t index)
{
    return ldexp(0.5, (int)index);
}

const struct tremolo_sweep tremolo_sweep_paper = {paper_methods, 4, 39, paper_epsilon, 0.2};
const struct tremolo_sweep tremolo_sweep_any_two = {any_two_methods, 6, 5, any_two_epsilon, 0};

static void free_splits(struct tremolo_reproduction_case *studied)
{
    for (size_t i = 0; i < studied->split_count; i++) {
        tremolo_split_free(&studied->splits[i]);
    }
    free(studied->splits);
    studied->splits = NULL;
    studied->split_count = 0;
}

/* Shuffled and scaled for a method; the same rows are held out for every one. */
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

void tremolo_reproduction_free(struct tremolo_reproduction_case *cases, size_t count)
{
    for (size_t c = 0; c < count; c++) {
        tremolo_design_free(&cases[c].design);
        free_splits(&cases[c]);
    }
}

/* --------------------------------------------------------------- the sweep */

/* Methods `from` to `to` of all cases at once, on the splits that these have. */
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
