/* tremolo_simulation.h -- every row of a table is a device.
 *
 * Each repeat shuffles the rows again, holds some out, lets the others report, fits, and measures
 * R^2 on the rows held out, or on the training rows where none are. Coefficients are the first
 * repeat's. */
#ifndef TREMOLO_SIMULATION_H
#define TREMOLO_SIMULATION_H

#include "tremolo_estimate.h"
#include "tremolo_experiment.h"
#include "tremolo_refusal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A request. It is filled by tremolo_simulation_begin() and the caller, and completed by
 * tremolo_simulation_settle(); it owns nothing. */
struct tremolo_simulation {
    struct tremolo_experiment_options experiment; /* delta NaN, rounds 0: not asked for */
    bool release_follows; /* ballots for any two people and the method auto, else noisy samples */
    enum tremolo_scaling scaling; /* follows from the release */
    double clip;                  /* of samples, by a study, scaled; 0: the whole box */
    double test_share;
    size_t repeats;
    uint64_t seed;
};

/* Defaults, all processors, a seed from the system; epsilon is NaN. */
void tremolo_simulation_begin(struct tremolo_simulation *simulation);

/* Take what a study fixes. What is asked for afterwards overrides it. */
void tremolo_simulation_take_study(struct tremolo_simulation *simulation,
                                   const struct tremolo_study_file *study);

/* Fill in what follows from the rest and check that all that was asked for has an effect. `study`
 * is the one that was taken, or NULL. False with the reason. */
bool tremolo_simulation_settle(struct tremolo_simulation *simulation,
                               const struct tremolo_study_file *study,
                               struct tremolo_refusal *refusal);

struct tremolo_simulation_result; /* opaque */

/* Run all repeats. OUT_OF_BOUNDS for too few rows or features, SINGULAR for a column that is
 * constant on the training rows, or features that depend on one another; after every failure
 * *result is untouched and *refusal says why. *result borrows the design, and what the simulation
 * points to; free it with tremolo_simulation_free. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_simulation_run(struct tremolo_simulation_result **result, struct tremolo_refusal *refusal,
                       const struct tremolo_simulation *simulation,
                       const struct tremolo_design *design);
void tremolo_simulation_free(struct tremolo_simulation_result *result); /* accepts NULL */

/* The estimate's document (docs/estimate.schema.json) with "simulation", "figures" and "how". The
 * caller frees it; NULL without memory. */
char *tremolo_simulation_json(const struct tremolo_simulation_result *result);

#ifdef __cplusplus
}
#endif

#endif
