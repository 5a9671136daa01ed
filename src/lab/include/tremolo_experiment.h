/* tremolo_experiment.h -- one data set, one split, one method: what a simulation
 * repeats and a reproduction sweeps.
 *
 * A design's rows are shuffled and split, scaled on the training rows, given
 * to simulated devices, and the fitted coefficients are judged on rows that no
 * device held. */
#ifndef TREMOLO_EXPERIMENT_H
#define TREMOLO_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tremolo_ballot.h"
#include "tremolo_design.h"
#include "tremolo_mechanism.h"
#include "tremolo_progress.h"
#include "tremolo_regression.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* The method makes several releases per device. */
bool tremolo_experiment_takes_rounds(enum tremolo_experiment_method method);
const char *tremolo_experiment_method_name(enum tremolo_experiment_method method);

/* Where reports are kept. */
struct tremolo_experiment_save {
    FILE *file;
    const struct tremolo_design *design; /* for the names */
};

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
    const struct tremolo_study *study; /* that is simulated at its own epsilon: ballots have its
                                          law where its features are as many, and reports whose
                                          integers are its are its; may be NULL */
};

/* Releases of a device that its guarantee covers. */
size_t tremolo_experiment_releases(const struct tremolo_experiment_options *options);

/* Scaled rows of one split; `centre` and `scale` lead back to own units. */
struct tremolo_split {
    size_t d, train, valid, test;
    double *X, *y; /* train rows, then valid, then test */
    double *centre, *scale;
    double response_centre, response_scale;
    bool standardised;     /* by TREMOLO_SCALING_STANDARD */
    double bound;          /* largest size of a released coordinate among train rows */
    double radius;         /* largest norm of a released row */
    double response_bound; /* largest size of the response */
};

enum tremolo_scaling {
    TREMOLO_SCALING_STANDARD, /* mean 0, variance 1 on the training rows */
    TREMOLO_SCALING_BOUNDS,   /* least value -1, largest 1 on the training rows */
    TREMOLO_SCALING_RANGES,   /* half a typical range is 1, features about their mean */
};

/* Shuffle by `seed`, split by the given shares and scale. NO_MEMORY, or
 * SINGULAR with the name of a column that is constant on the training rows in
 * *constant. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_split_make(struct tremolo_split *split, const char **constant,
                   const struct tremolo_design *design, double valid_share, double test_share,
                   enum tremolo_scaling scaling, bool protect_all, uint64_t seed);
void tremolo_split_free(struct tremolo_split *split);

/* Let the devices clip their samples to `radius`. How many training rows are beyond it. */
size_t tremolo_split_clip(struct tremolo_split *split, double radius, bool protect_all);

/* Count the training values beyond the bounds of TREMOLO_SCALING_BOUNDS, which a device clamps:
 * one number for each feature, then the response's. */
void tremolo_split_outside(size_t *counts, const struct tremolo_split *split);

enum tremolo_split_part { TREMOLO_SPLIT_TRAIN, TREMOLO_SPLIT_VALID, TREMOLO_SPLIT_TEST };
/* Features count up to `reach`, as tremolo_experiment_reach() has it for the release. */
double tremolo_split_r2(const struct tremolo_split *split, enum tremolo_split_part part,
                        const double *beta, double intercept, double reach);
double tremolo_experiment_reach(const struct tremolo_experiment_options *options);

/* What a run gave, in scaled units: evidence of noisy samples or ballots, neither for
 * dp-sgd and ols. */
struct tremolo_outcome {
    double beta[TREMOLO_DESIGN_FEATURES_MAX];
    double intercept;
    struct tremolo_fit fit; /* NaN and 0 where no matrix was solved */
    bool of_study;          /* the reports are options.study's */
    double noise_sd;        /* of one release, in half ranges; NaN for dp-sgd and ols */
    struct tremolo_mechanism_scales privacy; /* zero for ols */
    struct tremolo_rank_law law;             /* of ballots */
    struct tremolo_mechanism mechanism;      /* of one release; zero for dp-sgd and ols */
    struct tremolo_debiased *evidence;
    struct tremolo_ballot *ballots;
};

TREMOLO_MUST_USE enum tremolo_status
tremolo_experiment_run(struct tremolo_outcome *outcome, const struct tremolo_split *split,
                       const struct tremolo_experiment_options *options, uint64_t seed);
void tremolo_outcome_free(struct tremolo_outcome *outcome);

/* Processors of this machine, within the fold's limit. */
unsigned tremolo_processors(void);

#ifdef __cplusplus
}
#endif

#endif
