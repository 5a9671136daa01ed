/* progress.h -- a progress bar on a terminal, nothing in a pipe.
 *
 * There is one at a time. Steps may be added from any thread; drawing is limited to
 * ten times a second and never blocks a worker. It goes to standard error, so that standard output
 * has results only. */
#ifndef TREMOLO_CLI_PROGRESS_H
#define TREMOLO_CLI_PROGRESS_H

#include "tremolo_progress.h"

/* begin(), add() and end() as the library calls them; the context is not used. */
extern const struct tremolo_progress progress_bar;

#endif
