/* tremolo_demo.h -- a made-up population with a known truth: wearers of a fitness tracker. */
#ifndef TREMOLO_DEMO_H
#define TREMOLO_DEMO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TREMOLO_DEMO_FEATURES = 3 };

/* Names, true coefficients in own units (the intercept last), the study. */
extern const char *const tremolo_demo_names[TREMOLO_DEMO_FEATURES + 1];
extern const double tremolo_demo_truth[TREMOLO_DEMO_FEATURES + 1];
extern const char tremolo_demo_study[];
extern const double tremolo_demo_distance; /* between the study's neighbours */

/* Person `index`: age, steps, hours of sleep; and resting pulse. The same
 * index and seed give the same person. */
void tremolo_demo_person(double features[TREMOLO_DEMO_FEATURES], double *pulse, size_t index,
                         uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
