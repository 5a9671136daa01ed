/* experiment.h -- run one method on one split of a design: what a simulation repeats and a
 * reproduction sweeps.
 *
 *     struct tremolo_split split;
 *     struct tremolo_outcome outcome;
 *     status = tremolo_split_make(&split, &constant, &design, 0, 0.2, scaling, true, seed);
 *     status = tremolo_experiment_run(&outcome, &split, &options, seed);
 *     r2 = tremolo_split_r2(&split, TREMOLO_SPLIT_TEST, outcome.beta, outcome.intercept, INFINITY);
 *
 * A design's rows are shuffled and split, scaled on the training rows, given to simulated devices,
 * and the fitted coefficients are judged on rows that no device held. */
#ifndef TREMOLO_LAB_EXPERIMENT_H
#define TREMOLO_LAB_EXPERIMENT_H

#include <stdint.h>

#include "regression.h"
#include "tremolo_experiment.h"
#include "tremolo_regression.h"

/* The method makes several releases per device. */
bool tremolo_experiment_takes_rounds(enum tremolo_experiment_method method);
const char *tremolo_experiment_method_name(enum tremolo_experiment_method method);

/* Releases of a device that its guarantee covers. */
size_t tremolo_experiment_releases(const struct tremolo_experiment_options *options);

/* Scaled rows of one split; `centre` and `scale` lead back to own units. Owned; free with
 * tremolo_split_free(). */
struct tremolo_split {
    size_t d, train, valid, test;
    double *X, *y; /* train rows, then valid, then test */
    double *centre, *scale;
    double response_centre, response_scale;
    double bound;          /* largest size of a released coordinate among train rows */
    double radius;         /* largest norm of a released row */
    double response_bound; /* largest size of the response */
};

/* From lowest to highest value of each feature and then of the response: by the bounds
 * where there are some, else as the table has them. features + 1 numbers. */
void tremolo_design_ranges(double *ranges, const struct tremolo_design *design);

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
/* Features count up to `reach`: tremolo_experiment_reach() of the release. `beta` and `intercept`
 * are in scaled units. */
double tremolo_split_r2(const struct tremolo_split *split, enum tremolo_split_part part,
                        const double *beta, double intercept, double reach);
double tremolo_experiment_reach(const struct tremolo_experiment_options *options);

/* What a run gave, in scaled units: evidence of noisy samples or ballots, neither for dp-sgd and
 * ols. Evidence and ballots are owned, and freed by tremolo_outcome_free(). */
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
/* Leaves an outcome that can be freed again. */
void tremolo_outcome_free(struct tremolo_outcome *outcome);

/* Processors of this machine, within the fold's limit. */
unsigned tremolo_processors(void);

#endif
