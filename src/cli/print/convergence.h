/* convergence.h -- what the paper's theorems say of a protocol of rounds, in words. */
#ifndef TREMOLO_CLI_CONVERGENCE_H
#define TREMOLO_CLI_CONVERGENCE_H

#include <jansson.h>

/* A short section of text of such an object; `where` names b*: "the estimate" or "the guess". */
void convergence_print(const json_t *convergence, const char *where);

#endif
