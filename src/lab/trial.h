/* trial.h -- many experiments on all processors.
 *
 * A trial repeats one method with one set of options, taking the given splits
 * in turn, and keeps what R^2 was. Trials are independent, so they are what is spread over
 * threads; each runs on one. */
#ifndef TREMOLO_LAB_TRIAL_H
#define TREMOLO_LAB_TRIAL_H

#include "tremolo_reproduction.h"

struct trial {
    const struct tremolo_split *splits;
    size_t split_count;
    struct tremolo_experiment_options options;
    enum tremolo_split_part part; /* where R^2 is measured */
    size_t repeats;
    uint64_t seed;
    struct tremolo_sweep_point r2; /* the result */
};

/* Run all; the first failure's status, if any. Results do not depend on the
 * number of threads. `what` is said with the progress. */
enum tremolo_status trials_run(struct trial *trials, size_t count, const char *what,
                               const struct tremolo_reproduction *reproduction);

/* Build the task's design from the files in `folder`. */
bool task_load(struct tremolo_design *design, const struct tremolo_task *task, const char *folder,
               char error[TREMOLO_TABLE_ERROR_BYTES]);

/* Choose one configuration per task and method on the validation rows. */
enum tremolo_status tune(struct tremolo_reproduction_case *cases, size_t count,
                         const struct tremolo_reproduction *reproduction);

#endif
