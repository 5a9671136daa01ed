/* demo.h -- the population of `tremolo demo`: wearers of a fitness tracker. */
#ifndef TREMOLO_CLI_DEMO_H
#define TREMOLO_CLI_DEMO_H

#include <stddef.h>
#include <stdint.h>

enum { DEMO_FEATURES = 3 };

/* Names, true coefficients in own units (the intercept last), the study. */
extern const char *const demo_names[DEMO_FEATURES + 1];
extern const double demo_truth[DEMO_FEATURES + 1];
extern const char demo_study[];
extern const double demo_distance; /* between the study's neighbours */

/* Person `index`: age, steps, hours of sleep; and resting pulse. The same
 * index and seed give the same person. */
void demo_person(double features[DEMO_FEATURES], double *pulse, size_t index, uint64_t seed);

#endif
