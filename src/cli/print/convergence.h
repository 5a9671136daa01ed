/* convergence.h -- what the paper's theorems say of a protocol of rounds, in words and as JSON. */
#ifndef TREMOLO_CLI_CONVERGENCE_H
#define TREMOLO_CLI_CONVERGENCE_H

#include <jansson.h>

#include "tremolo_regression.h"

/* A short section of text of such an object; `where` names b*: "the estimate" or "the guess". */
void convergence_print(const json_t *convergence, const char *where);

/* An object, or null when nothing is known. */
json_t *convergence_json(const struct tremolo_convergence_answer *convergence);

#endif
