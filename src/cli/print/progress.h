/* progress.h -- a progress bar on a terminal, nothing in a pipe.
 *
 * Steps may be added from any thread; drawing is limited to ten times a
 * second and never blocks a worker. */
#ifndef TREMOLO_CLI_PROGRESS_H
#define TREMOLO_CLI_PROGRESS_H

#include <stddef.h>

struct progress; /* NULL stands for no bar in every call */

/* NULL when stderr is no terminal, or without memory. */
struct progress *progress_new(const char *what, size_t total);
void progress_add(struct progress *progress, size_t steps);
/* Erase the bar and free it. */
void progress_free(struct progress *progress);

#endif
