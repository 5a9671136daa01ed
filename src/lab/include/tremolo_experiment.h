/* experiment.h -- one data set, one split, one method: what `simulate` repeats
 * and `reproduce` sweeps.
 *
 * A design's rows are shuffled and split, scaled on the training rows, given
 * to simulated devices, and the fitted coefficients are judged on rows that no
 * device held. */
#ifndef TREMOLO_CLI_EXPERIMENT_H
#define TREMOLO_CLI_EXPERIMENT_H

#include "fleet.h"
#include "tremolo_design.h"

enum method {
    METHOD_AUTO,
    METHOD_ONE_SHOT,
    METHOD_ITERATIVE,
    METHOD_POOLED,
    METHOD_DP_SGD,
    METHOD_OLS,
    METHOD_COUNT,
};

/* The method makes several releases per device. */
bool method_takes_rounds(enum method method);
const char *method_name(enum method method);
/* METHOD_COUNT when there is no such method. */
enum method method_find(const char *name);

/* Where reports are kept. */
struct experiment_save {
    FILE *file;
    const struct tremolo_design *design; /* for the names */
};

struct experiment_options {
    enum method method;
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
    bool fast_noise;
    unsigned threads;
    const struct tremolo_progress *progress; /* may be NULL */
    const struct experiment_save *save;      /* may be NULL; needs exact noise */
};

/* Releases of a device that its guarantee covers. */
size_t experiment_releases(const struct experiment_options *options);

/* Scaled rows of one split; `centre` and `scale` lead back to own units. */
struct split {
    size_t d, train, valid, test;
    double *X, *y; /* train rows, then valid, then test */
    double *centre, *scale;
    double response_centre, response_scale;
    double bound;          /* largest size of a released coordinate among train rows */
    double radius;         /* largest norm of a released row */
    double response_bound; /* largest size of the response */
};

enum scaling {
    SCALING_STANDARD, /* mean 0, variance 1 on the training rows */
    SCALING_BOUNDS,   /* least value -1, largest 1 on the training rows */
};

/* Shuffle by `seed`, split by the given shares and scale. NO_MEMORY, or
 * SINGULAR with the name of a column that is constant on the training rows in
 * *constant. */
enum tremolo_status split_make(struct split *split, const char **constant,
                               const struct tremolo_design *design, double valid_share,
                               double test_share, enum scaling scaling, bool protect_all,
                               uint64_t seed);
void split_free(struct split *split);

/* Let the devices clip their samples to `radius`. How many training rows are beyond it. */
size_t split_clip(struct split *split, double radius, bool protect_all);

/* Count the training values beyond the bounds of SCALING_BOUNDS, which a device clamps:
 * one number for each feature, then the response's. */
void split_outside(size_t *counts, const struct split *split);

enum split_part { SPLIT_TRAIN, SPLIT_VALID, SPLIT_TEST };
double split_r2(const struct split *split, enum split_part part, const double *beta,
                double intercept);

/* What a run gave, in scaled units. The evidence is NULL for dp-sgd and ols. */
struct outcome {
    double beta[TREMOLO_DESIGN_FEATURES_MAX];
    double intercept;
    struct tremolo_mechanism_scales privacy; /* zero for ols */
    struct tremolo_mechanism mechanism;      /* of one release; zero for dp-sgd and ols */
    struct tremolo_debiased *evidence;
};

enum tremolo_status experiment_run(struct outcome *outcome, const struct split *split,
                                   const struct experiment_options *options, uint64_t seed);
void outcome_free(struct outcome *outcome);

#endif
