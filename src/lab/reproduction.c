/* reproduction.c -- the paper's tasks, tuned and swept over epsilon. */
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>

const enum tremolo_experiment_method tremolo_sweep_methods[TREMOLO_SWEEP_METHODS] = {
    TREMOLO_EXPERIMENT_ITERATIVE, TREMOLO_EXPERIMENT_ONE_SHOT, TREMOLO_EXPERIMENT_DP_SGD,
    TREMOLO_EXPERIMENT_AUTO};

double tremolo_sweep_epsilon(size_t index)
{
    return 0.5 + 0.25 * (double)index;
}

/* The paper's convention: standardised on the training rows, 60/20/20. */
static enum tremolo_status make_splits(struct tremolo_reproduction_case *made,
                                       const struct tremolo_reproduction *reproduction)
{
    const char *constant = NULL;
    enum tremolo_status status = TREMOLO_OK;
    made->splits = calloc(reproduction->splits, sizeof *made->splits);
    if (made->splits == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t i = 0; i < reproduction->splits && status == TREMOLO_OK; i++) {
        status = tremolo_split_make(&made->splits[i], &constant, &made->design, 0.2, 0.2,
                                    TREMOLO_SCALING_STANDARD, false, reproduction->seed + i);
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
        enum tremolo_status status = make_splits(made, reproduction);
        if (status != TREMOLO_OK) {
            (void)snprintf(error, TREMOLO_TABLE_ERROR_BYTES, "%s: %s", made->task->title,
                           tremolo_status_sentence(status));
            return false;
        }
    }
    return true;
}

void tremolo_reproduction_free(struct tremolo_reproduction_case *cases, size_t count)
{
    for (size_t c = 0; c < count; c++) {
        tremolo_design_free(&cases[c].design);
        for (size_t i = 0; i < cases[c].split_count; i++) {
            tremolo_split_free(&cases[c].splits[i]);
        }
        free(cases[c].splits);
    }
}

/* --------------------------------------------------------------- the sweep */

static void set_options(struct tremolo_reproduction_case *cases, size_t count,
                        const struct tremolo_reproduction *reproduction)
{
    for (size_t i = 0; i < count * TREMOLO_SWEEP_METHODS; i++) {
        enum tremolo_experiment_method method = tremolo_sweep_methods[i % TREMOLO_SWEEP_METHODS];
        bool paper = method != TREMOLO_EXPERIMENT_AUTO;
        cases[i / TREMOLO_SWEEP_METHODS].options[i % TREMOLO_SWEEP_METHODS] =
            (struct tremolo_experiment_options){
                .method = method,
                .delta = 1e-5,
                .distance = 1,
                .calibration = paper ? TREMOLO_CALIBRATION_PAPER : TREMOLO_CALIBRATION_EXACT,
                .rounds = 10,
                .vectors =
                    method == TREMOLO_EXPERIMENT_ITERATIVE || method == TREMOLO_EXPERIMENT_ONE_SHOT
                        ? 1
                        : 0,
                .alpha = paper ? 0.5 : 0,
                .lambda = 0.2,
                .omega = 1,
                .ridge = 0.5,
                .step = 0.5,
                .clip = 2,
                .fast_noise = !reproduction->exact_noise,
                .threads = 1,
            };
    }
}

static enum tremolo_status sweep(struct tremolo_reproduction_case *cases, size_t count,
                                 const struct tremolo_reproduction *reproduction)
{
    size_t each = (size_t)TREMOLO_SWEEP_METHODS * TREMOLO_SWEEP_EPSILONS;
    struct trial *trials = count > 0 ? calloc(count * each, sizeof *trials) : NULL;
    if (trials == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t i = 0; i < count * each; i++) {
        struct tremolo_reproduction_case *chosen = &cases[i / each];
        size_t method = i % each / TREMOLO_SWEEP_EPSILONS, epsilon = i % TREMOLO_SWEEP_EPSILONS;
        trials[i] = (struct trial){.splits = chosen->splits,
                                   .split_count = chosen->split_count,
                                   .options = chosen->options[method],
                                   .part = TREMOLO_SPLIT_TEST,
                                   .repeats = reproduction->repeats,
                                   .seed = reproduction->seed + 100000 + epsilon};
        trials[i].options.epsilon = tremolo_sweep_epsilon(epsilon);
    }
    enum tremolo_status status = trials_run(trials, count * each, "sweeping epsilon", reproduction);
    for (size_t i = 0; i < count * each && status == TREMOLO_OK; i++) {
        cases[i / each].sweep[i % each / TREMOLO_SWEEP_EPSILONS][i % TREMOLO_SWEEP_EPSILONS] =
            trials[i].r2;
    }
    free(trials);
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
        cases[c].r2_ols = trial.r2.mean;
    }
    return status;
}

enum tremolo_status tremolo_reproduction_run(struct tremolo_reproduction_case *cases, size_t count,
                                             const struct tremolo_reproduction *reproduction)
{
    set_options(cases, count, reproduction);
    enum tremolo_status status = run_ols(cases, count);
    if (status == TREMOLO_OK) {
        status = tune(cases, count, reproduction);
    }
    return status == TREMOLO_OK ? sweep(cases, count, reproduction) : status;
}
