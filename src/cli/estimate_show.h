/* estimate_show.h -- the former name of result.h. */
#ifndef TREMOLO_CLI_ESTIMATE_SHOW_H
#define TREMOLO_CLI_ESTIMATE_SHOW_H

#include "result.h"

#define convergence_print(convergence, where) text_convergence(stdout, convergence, where)

#endif
