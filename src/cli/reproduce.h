/* reproduce.h -- what the files of `tremolo reproduce` share. */
#ifndef TREMOLO_CLI_REPRODUCE_H
#define TREMOLO_CLI_REPRODUCE_H

#include "result.h"
#include "tremolo_reproduction.h"
#include "trial.h"

enum {
    SWEEP_EPSILONS = 39, /* 0.5, 0.75, ..., 10 */
    SWEEP_METHODS = 4,
};

extern const enum method sweep_methods[SWEEP_METHODS];
double sweep_epsilon(size_t index);

/* One task on its way through the command. */
struct study_case {
    const struct tremolo_task *task;
    struct tremolo_design design;
    struct split *splits; /* the first one is tuned on */
    size_t split_count;
    double r2_ols;                                    /* mean over the splits */
    struct experiment_options options[SWEEP_METHODS]; /* tuned */
    struct trial sweep[SWEEP_METHODS][SWEEP_EPSILONS];
};

struct reproduce_options {
    const char *out, *data;
    bool wanted[TREMOLO_TASKS];
    size_t repeats, splits;
    uint64_t seed;
    unsigned threads;
    bool exact_noise, force;
    char line[RESULT_LINE_BYTES]; /* the command as typed, for the report */
};

/* Choose one configuration per task and method on the validation rows. */
enum tremolo_status reproduce_tune(struct study_case *cases, size_t count,
                                   const struct reproduce_options *options);

/* Write datasets.csv, tuning.csv, sweep.csv, the figures' scripts and
 * report.md into `folder`; false with errno set. */
bool reproduce_write(const char *folder, const struct study_case *cases, size_t count,
                     const struct reproduce_options *options, bool figures, double seconds);

/* Write report.html and report.json into `folder`. Codes of the command line. */
int reproduce_save(const char *folder, const struct study_case *cases, size_t count,
                   const struct reproduce_options *options);

/* Write figures.gp and run gnuplot on it. False when that cannot be done. */
bool reproduce_draw(const char *folder, const struct study_case *cases, size_t count);

#endif
