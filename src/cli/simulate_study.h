/* simulate_study.h -- what a study file fixes of a simulation. */
#ifndef TREMOLO_CLI_SIMULATE_STUDY_H
#define TREMOLO_CLI_SIMULATE_STUDY_H

#include "simulate.h"

/* Read the file and fill in all that it fixes. CLI_DONE, or the exit code after a
 * message. */
int simulate_take_study(struct simulate_options *options, const char *path);

#endif
