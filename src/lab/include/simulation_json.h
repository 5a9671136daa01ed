/* simulation_json.h -- what a simulation gave, and its document. */
#ifndef TREMOLO_SIMULATION_JSON_H
#define TREMOLO_SIMULATION_JSON_H

#include <jansson.h>

#include "estimate_json.h"
#include "tremolo_simulation.h"

/* What all repeats gave, and the facts of the first. Arrays are owned unless marked; free with
 * tremolo_simulation_free(). */
struct tremolo_simulation_result {
    struct tremolo_simulation simulation;
    const struct tremolo_design *design; /* borrowed */
    double *r2, *r2_ols;                 /* one for each repeat */
    double r2_mean, r2_sd, ols_mean;
    double seconds; /* that it took */
    size_t dropped; /* rows with missing values */
    bool clamps;    /* devices clamp what is beyond the bounds; of ballots, the response */
    bool clips;     /* and shorten samples */
    /* Of the first repeat. */
    size_t dimension, devices, held_out;
    struct tremolo_mechanism_scales privacy;
    struct tremolo_rank_law privacy_law; /* of ballots; all zero otherwise */
    double sigma, sensitivity;           /* NAN of ballots */
    size_t clipped;                      /* devices with a sample that the study's clip shortens */
    size_t *clamped;    /* values beyond the study's bounds: of each feature, of the response */
    size_t clamped_sum; /* of those that devices clamp */
    struct tremolo_estimate estimate; /* as its reports would give */
    char title[TREMOLO_NAME_BYTES + 64];
    char study[TREMOLO_STUDY_ID_TEXT_BYTES]; /* its id, if reports are a study's */
    const char **names;                      /* of the features, for the estimate */
    double *ranges;                          /* the same */
    struct tremolo_extent *extents;          /* what people can differ in */
    size_t extent_count;
    double *ols; /* least squares on the raw rows: features, then intercept, own units */
};

/* The document of tremolo_simulation_json(); NULL without memory. */
json_t *simulation_document(const struct tremolo_simulation_result *result);

/* The JSON Schema of an estimate's document with the member "simulation". The caller owns it. */
json_t *simulation_estimate_schema(void);

#endif
