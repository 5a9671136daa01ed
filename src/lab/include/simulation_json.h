/* simulation_json.h -- a simulation as the document of an estimate (estimate_json.h). */
#ifndef TREMOLO_SIMULATION_JSON_H
#define TREMOLO_SIMULATION_JSON_H

#include <jansson.h>

#include "tremolo_simulation.h"

/* As tremolo_simulation_json() has it. */
json_t *simulation_document(const struct tremolo_simulation *simulation,
                            const struct tremolo_design *design,
                            const struct tremolo_simulation_result *result, bool for_saving);

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
