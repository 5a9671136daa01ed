/* trial.h -- many experiments on all processors.
 *
 * A trial repeats one method with one set of options, taking the given splits
 * in turn, and keeps mean and standard deviation of R^2. Trials are independent, so they are what
 * is spread over threads; each runs on one. */
#ifndef TREMOLO_CLI_TRIAL_H
#define TREMOLO_CLI_TRIAL_H

#include "experiment.h"

struct trial {
    const struct split *splits;
    size_t split_count;
    struct experiment_options options;
    enum split_part part; /* where R^2 is measured */
    size_t repeats;
    uint64_t seed;
    double mean, sd; /* the result */
};

/* Run all; the first failure's status, if any. Results do not depend on the
 * number of threads. */
enum tremolo_status trials_run(struct trial *trials, size_t count, unsigned threads,
                               const struct tremolo_progress *progress);

#endif
