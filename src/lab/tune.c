/* tune.c -- the paper's tuning: a public validation split, and one
 * configuration per data set held fixed over the whole sweep.
 *
 * A configuration's score is its mean validation R^2 over five values of
 * epsilon; below zero it counts as zero, for whoever sees that on validation
 * rows would rather predict the mean. Step, ridge or clip are tuned first with
 * alpha = 0.5, lambda = 0.2, omega = 1, then alpha, lambda and omega, then the
 * first once more. `auto` has nothing to tune. */
#include "trial.h"

#include <math.h>
#include <stdlib.h>

enum {
    TUNING_EPSILONS = 5,
    TUNING_REPEATS = 5,
    CANDIDATES_MAX = 40,
};

static const double tuning_epsilons[TUNING_EPSILONS] = {0.5, 1, 2, 5, 10};

struct candidates {
    size_t count;
    struct tremolo_experiment_options options[CANDIDATES_MAX];
};

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

/* One stage over all tasks and methods at once, so that every thread has
 * something to do. */
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

enum tremolo_status tune(struct tremolo_reproduction_case *cases, size_t count,
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
