/* convergence.h -- what the paper's theorems say of a protocol of rounds. */
#ifndef TREMOLO_CLI_CONVERGENCE_H
#define TREMOLO_CLI_CONVERGENCE_H

#include <jansson.h>

#include "tremolo_regression.h"

/* The evaluated theorems, with what they were evaluated for. */
struct convergence {
    struct tremolo_convergence_input input;
    struct tremolo_convergence result;
    bool known; /* false: noise hides S, there is nothing to say */
};

/* Evaluate at `beta` for evidence of T rounds. input has mechanism, rounds, B, R and M; a
 * B of 0 (no projection) becomes |beta|. */
struct convergence convergence_of_fit(const struct tremolo_convergence_input *input,
                                      const struct tremolo_debiased *evidence, const double *beta);

/* A short section of text; `where` names b*: "the estimate" or "the guess". */
void convergence_print(const struct convergence *convergence, const char *where);

/* An object, or null when nothing is known. */
json_t *convergence_json(const struct convergence *convergence);

#endif
