/* tremolo_experiment.h -- what is asked of one experiment: a method, a guarantee, a mechanism.
 *
 * Simulations take one from their caller (tremolo_simulation.h); reproductions sweep over many. */
#ifndef TREMOLO_EXPERIMENT_H
#define TREMOLO_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "tremolo_design.h"
#include "tremolo_mechanism.h"
#include "tremolo_progress.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How coefficients are made: from one release (auto, one-shot), from rounds (iterative, pooled),
 * or from the rows themselves by what the others are compared with. */
enum tremolo_experiment_method {
    TREMOLO_EXPERIMENT_AUTO,
    TREMOLO_EXPERIMENT_ONE_SHOT,
    TREMOLO_EXPERIMENT_ITERATIVE,
    TREMOLO_EXPERIMENT_POOLED,
    TREMOLO_EXPERIMENT_OLS,
    /* What reproductions compare with. */
    TREMOLO_EXPERIMENT_DP_SGD,
    TREMOLO_EXPERIMENT_ADASSP, /* a trusted server's */
};

enum tremolo_scaling {
    TREMOLO_SCALING_BOUNDS,   /* least value -1, largest 1 on the training rows */
    TREMOLO_SCALING_RANGES,   /* half a typical range is 1, features about their mean */
    TREMOLO_SCALING_STANDARD, /* mean 0, variance 1 on the training rows: the paper's */
};

/* Where reports are kept. Both are borrowed until the run ends; the file is written by one thread
 * and not closed. */
struct tremolo_experiment_save {
    FILE *file;
    const struct tremolo_design *design; /* for the names */
};

/* Members that a method does not use are ignored. Lengths are in the split's scaled units. All
 * pointers are borrowed for the run. */
struct tremolo_experiment_options {
    enum tremolo_experiment_method method;
    enum tremolo_release_kind release; /* ballots: AUTO only, neighbours, distance, delta and all
                                          that belongs to noisy samples are not read */
    double epsilon, delta;
    enum tremolo_neighbours neighbours;
    double distance;
    bool protect_all; /* the response too */
    enum tremolo_calibration calibration;
    size_t rounds, vectors;
    size_t samples; /* of a device in each round that its noise pays for; 0: one */
    double alpha, lambda, omega;
    double ridge;  /* one-shot */
    double step;   /* iterative: c of c / |S|; dp-sgd: learning rate */
    double radius; /* iterative: projection, 0 for none */
    double clip;   /* dp-sgd: C */
    unsigned threads;
    const struct tremolo_progress *progress;    /* may be NULL */
    const struct tremolo_experiment_save *save; /* may be NULL */
    const struct tremolo_study
        *study; /* that is simulated at its own epsilon, or NULL. Ballots take
                                          its law if it has as many features. Reports are its own
                                          if all integers are the same. */
};

#ifdef __cplusplus
}
#endif

#endif
