/* simulation_json.h -- a simulation as the document of an estimate (estimate_json.h). */
#ifndef TREMOLO_SIMULATION_JSON_H
#define TREMOLO_SIMULATION_JSON_H

#include <jansson.h>

#include "estimate_json.h"
#include "tremolo_simulation.h"

struct tremolo_simulation_result {
    size_t dimension, devices, held_out;
    double *r2, *r2_ols; /* one for each repeat */
    double seconds;      /* that it took */
    /* of the first repeat */
    struct tremolo_mechanism_scales privacy;
    struct tremolo_rank_law privacy_law; /* of ballots; all zero otherwise */
    size_t clipped;                      /* devices whose sample the study's clip shortens */
    size_t *clamped; /* values beyond the study's bounds: of each feature, of the response */
    struct tremolo_estimate estimate;        /* as its reports would give; without a title */
    char study[TREMOLO_STUDY_ID_TEXT_BYTES]; /* its id, if reports are a study's */
    const char **names;                      /* of the features, for the estimate */
    double *ranges;                          /* the same */
    struct tremolo_extent *extents;          /* what people can differ in */
    size_t extent_count;
    double *ols; /* least squares on the raw rows: features, then intercept, own units */
};

/* True if devices cast ballots, which take features beyond their ranges as they are, and clip the
 * response to its own. */
bool tremolo_simulation_cuts(const struct tremolo_simulation *simulation);

/* True if devices scale by the design's public bounds, and clamp values beyond them. */
bool tremolo_simulation_clamps(const struct tremolo_simulation *simulation,
                               const struct tremolo_design *design);
/* True if the clip acts on them. By bounds only: in other units its radius means nothing. */
bool tremolo_simulation_clips(const struct tremolo_simulation *simulation,
                              const struct tremolo_design *design);

/* As tremolo_simulation_json() has it. */
json_t *simulation_document(const struct tremolo_simulation *simulation,
                            const struct tremolo_design *design,
                            const struct tremolo_simulation_result *result, bool for_saving);

/* The JSON Schema of an estimate's document with the member "simulation". The caller owns it. */
json_t *simulation_estimate_schema(void);

enum { SIMULATION_SENTENCE_BYTES = 1024 };

/* How many values were clamped, and in which columns most; "" where nothing is. Ballots
 * cut the response alone: the document has that in numbers, and where coefficients are shown it is
 * said beside them. */
void simulation_clamped_words(char text[SIMULATION_SENTENCE_BYTES],
                              const struct tremolo_simulation *simulation,
                              const struct tremolo_design *design,
                              const struct tremolo_simulation_result *result);

/* By what values were scaled, and whether that is private. */
const char *simulation_scale_words(const struct tremolo_simulation *simulation,
                                   const struct tremolo_design *design);

double simulation_mean(const double *values, size_t count);
double simulation_sd(const double *values, size_t count);

#endif
