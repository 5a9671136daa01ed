/* design_bounds.h -- public bounds for a design's columns from a study file. */
#ifndef TREMOLO_CLI_DESIGN_BOUNDS_H
#define TREMOLO_CLI_DESIGN_BOUNDS_H

#include "table.h"

/* Fill design->low and high, and the response's unit, from the study file at `path`. Returns an exit
 * code; what is wrong is said on stderr. */
int design_take_bounds(struct design *design, const char *command, const char *path);

#endif
