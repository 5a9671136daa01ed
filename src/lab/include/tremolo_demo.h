/* tremolo_demo.h -- a made-up population with a known truth: wearers of a fitness tracker. */
#ifndef TREMOLO_DEMO_H
#define TREMOLO_DEMO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TREMOLO_DEMO_FEATURES = 3 };

enum tremolo_demo_question { TREMOLO_DEMO_PAPER, TREMOLO_DEMO_BALLOT, TREMOLO_DEMO_STUDIES };

struct tremolo_demo_study {
    const char *title;
    const char *json;
    const char *policy; /* of the demo's devices, a policy file */
    unsigned rounds;    /* each of them a report of every device */
};

/* Names, true coefficients in own units (the intercept last), the two studies. */
extern const char *const tremolo_demo_names[TREMOLO_DEMO_FEATURES + 1];
extern const double tremolo_demo_truth[TREMOLO_DEMO_FEATURES + 1];
extern const struct tremolo_demo_study tremolo_demo_study[TREMOLO_DEMO_STUDIES];
extern const double tremolo_demo_epsilon; /* of the ballot */
extern const double tremolo_demo_r2;      /* of the truth */

/* Person `index`: age, steps, hours of sleep; and resting pulse. The same
 * index and seed give the same person. */
void tremolo_demo_person(double features[TREMOLO_DEMO_FEATURES], double *pulse, size_t index,
                         uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
