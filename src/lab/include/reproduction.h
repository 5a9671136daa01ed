/* reproduction.h -- the paper's experiments, end to end, and the same tasks at any
 * two people.
 *
 *     struct tremolo_reproduction_case *cases = calloc(TREMOLO_TASKS, sizeof *cases);
 *     tremolo_reproduction_load(cases, &count, &reproduction, "data", error);
 *     status = tremolo_reproduction_run(cases, count, &reproduction);
 *
 * Five tasks, of which each row is a device: the paper's three methods are tuned on
 * validation rows, and epsilon is swept for them and for `auto`. Or, at any two people and
 * with nothing tuned, for noisy samples, ballots and a trusted server. */
#ifndef TREMOLO_LAB_REPRODUCTION_H
#define TREMOLO_LAB_REPRODUCTION_H

#include "experiment.h"

enum {
    TREMOLO_TASKS = 5,
    TREMOLO_SWEEP_EPSILONS = 39, /* at most */
    TREMOLO_SWEEP_METHODS = 6,   /* at most */
};

/* One of the five regression tasks. */
struct tremolo_task {
    const char *key;             /* in file names and on the command line */
    const char *title;           /* as the paper prints it */
    const char *file;            /* in the data folder */
    const char *response;        /* NULL: built by hand */
    const char *const *features; /* of columns */
    size_t feature_count;        /* 0: all other columns */
    /* What the paper's two tables say. */
    size_t paper_rows, paper_dimension;
    double paper_r2_ols;
    double paper_step, paper_ridge, paper_clip, paper_rate;
};

extern const struct tremolo_task tremolo_tasks[TREMOLO_TASKS];

/* What is compared, and where. */
struct tremolo_sweep_method {
    const char *name;  /* in tables */
    const char *title; /* in figures */
    enum tremolo_scaling scaling;
    struct tremolo_experiment_options options; /* before tuning; epsilon is the sweep's */
};
/* `epsilon` gives the epsilon of each place, from 0 to epsilon_count - 1, in ascending order. */
struct tremolo_sweep {
    const struct tremolo_sweep_method *methods;
    size_t method_count;
    size_t epsilon_count;
    double (*epsilon)(size_t index);
    double valid_share; /* of the rows, for tuning */
};
extern const struct tremolo_sweep tremolo_sweep_paper;   /* neighbours at distance 1 */
extern const struct tremolo_sweep tremolo_sweep_any_two; /* any two people */

/* What is asked of a reproduction. All pointers are borrowed for the calls. */
struct tremolo_reproduction {
    const struct tremolo_sweep *sweep;
    bool wanted[TREMOLO_TASKS];
    size_t repeats; /* noise draws for each point */
    size_t splits;  /* that the repeats take in turn */
    uint64_t seed;
    unsigned threads;
    const struct tremolo_progress *progress; /* may be NULL */
};

/* R^2 on test rows, over the repeats: mean, standard deviation, and what a tenth of them is
 * below and above. */
struct tremolo_sweep_point {
    double mean, sd;
    double low, high;
};

/* One task with its rows and results. Filled by load and run, and freed with the whole array. */
struct tremolo_reproduction_case {
    const struct tremolo_task *task;
    struct tremolo_design design;
    struct tremolo_split *splits; /* the first one is tuned on */
    size_t split_count;
    struct tremolo_sweep_point ols;                                   /* over the splits */
    struct tremolo_experiment_options options[TREMOLO_SWEEP_METHODS]; /* tuned */
    struct tremolo_sweep_point sweep[TREMOLO_SWEEP_METHODS][TREMOLO_SWEEP_EPSILONS];
};

/* Build the wanted tasks from the files in `folder`; `cases` has room for all, zeroed.
 * False with a sentence. Free them in either case. */
bool tremolo_reproduction_load(struct tremolo_reproduction_case *cases, size_t *count,
                               const struct tremolo_reproduction *reproduction, const char *folder,
                               char error[TREMOLO_TABLE_ERROR_BYTES]);
/* Fill `ols`, `options` and `sweep` of every case. STOPPED if the progress asked for that. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_reproduction_run(struct tremolo_reproduction_case *cases, size_t count,
                         const struct tremolo_reproduction *reproduction);
void tremolo_reproduction_free(struct tremolo_reproduction_case *cases, size_t count);

#endif
