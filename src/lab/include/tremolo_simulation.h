/* tremolo_simulation.h -- every row of a table is a device.
 *
 * Each repeat shuffles the rows anew, holds some out, lets the others report
 * through the device core, fits, and measures R^2 on the rows held out, or on the
 * training rows where none are. Coefficients are the first repeat's. */
#ifndef TREMOLO_SIMULATION_H
#define TREMOLO_SIMULATION_H

#include "tremolo_estimate.h"
#include "tremolo_experiment.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is refused where it would have no effect; names as a command line has them. */
enum tremolo_simulation_option {
    TREMOLO_SIMULATION_DELTA,
    TREMOLO_SIMULATION_CALIBRATION,
    TREMOLO_SIMULATION_VECTORS,
    TREMOLO_SIMULATION_ALPHA,
    TREMOLO_SIMULATION_LAMBDA,
    TREMOLO_SIMULATION_OMEGA,
    TREMOLO_SIMULATION_ROUNDS,
    TREMOLO_SIMULATION_STEP,
    TREMOLO_SIMULATION_RADIUS,
    TREMOLO_SIMULATION_RIDGE,
    TREMOLO_SIMULATION_CLIP,
    TREMOLO_SIMULATION_SCALE,
    TREMOLO_SIMULATION_RELEASE,
    TREMOLO_SIMULATION_OPTIONS,
};
extern const char *const tremolo_simulation_option_names[TREMOLO_SIMULATION_OPTIONS];

struct tremolo_simulation {
    struct tremolo_experiment_options experiment;
    enum tremolo_scaling scaling;
    bool deviations; /* the neighbours' distance is in standard deviations, not half ranges */
    double clip;     /* of samples, by a study, scaled; 0: the whole box */
    double test_share;
    size_t repeats;
    uint64_t seed;
    uint32_t given;     /* bit 1 << OPTION for what somebody asked for */
    const char *dashes; /* before an option's name in sentences: "--" on a command line; or "" */
};

/* Defaults, with NaN, or SIZE_MAX for vectors, where they depend on the method; a seed from
 * the system, all processors. */
void tremolo_simulation_begin(struct tremolo_simulation *simulation);

/* What a study fixes of a simulation, before all else is asked for. */
void tremolo_simulation_take_study(struct tremolo_simulation *simulation,
                                   const struct tremolo_study_file *study);

/* Fill in what follows from the rest and check that all of it has an effect. `study` may be
 * NULL. False with a sentence in `error`. */
bool tremolo_simulation_settle(struct tremolo_simulation *simulation,
                               const struct tremolo_study_file *study,
                               char error[TREMOLO_TABLE_ERROR_BYTES]);

/* Are there enough rows and features for it? */
bool tremolo_simulation_fits(const struct tremolo_simulation *simulation,
                             const struct tremolo_design *design,
                             char error[TREMOLO_TABLE_ERROR_BYTES]);

/* Do devices cast ballots, which take features beyond their ranges as they are, and cut the
 * response at the ends of its own? */
bool tremolo_simulation_cuts(const struct tremolo_simulation *simulation);

/* Do devices scale by the design's public bounds, and clamp what is beyond? */
bool tremolo_simulation_clamps(const struct tremolo_simulation *simulation,
                               const struct tremolo_design *design);
/* Does the clip act on them? By bounds only: in other units its radius means nothing. */
bool tremolo_simulation_clips(const struct tremolo_simulation *simulation,
                              const struct tremolo_design *design);

struct tremolo_simulation_result; /* opaque */

/* SINGULAR with a name in *constant for a column that is constant on the training rows, and without
 * for features that depend on one another. Free *result with tremolo_simulation_free; after a failure
 * it is untouched. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_simulation_run(struct tremolo_simulation_result **result, const char **constant,
                       const struct tremolo_simulation *simulation,
                       const struct tremolo_design *design);
void tremolo_simulation_free(struct tremolo_simulation_result *result); /* accepts NULL */

/* Why it failed, in a sentence. */
void tremolo_simulation_explain(char error[TREMOLO_TABLE_ERROR_BYTES], enum tremolo_status status,
                                const char *constant, const struct tremolo_simulation *simulation);

/* The estimate's document (docs/estimate.schema.json) with the members that only a simulation
 * has; "figures" and "how" are for saved results. The caller frees it; NULL without memory. */
char *tremolo_simulation_json(const struct tremolo_simulation *simulation,
                              const struct tremolo_design *design,
                              const struct tremolo_simulation_result *result, bool for_saving);

#ifdef __cplusplus
}
#endif

#endif
