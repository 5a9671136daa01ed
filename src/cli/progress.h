/* progress.h -- a progress bar on a terminal, nothing in a pipe.
 *
 * There is one at a time. Steps may be added from any thread; drawing is limited to
 * ten times a second and never blocks a worker. */
#ifndef TREMOLO_CLI_PROGRESS_H
#define TREMOLO_CLI_PROGRESS_H

#include "tremolo_progress.h"

extern const struct tremolo_progress progress_bar;

#endif
