/* tremolo_progress.h -- how far a long computation is, for a caller that shows it or stops it.
 *
 * begin() and end() are called by the thread that computes, add() by any. All functions take
 * NULL for a caller that does not want to know. */
#ifndef TREMOLO_PROGRESS_H
#define TREMOLO_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "tremolo_status.h"

/* The caller's three functions, all needed, and what they are called with. `what` is a static
 * phrase for people; `steps` is how many there are in all. */
struct tremolo_progress {
    void (*begin)(void *context, const char *what, size_t steps);
    bool (*add)(void *context, size_t steps); /* false: stop, and say TREMOLO_STOPPED */
    void (*end)(void *context);
    void *context;
};

static inline void tremolo_progress_begin(const struct tremolo_progress *progress, const char *what,
                                          size_t steps)
{
    if (progress != NULL) {
        progress->begin(progress->context, what, steps);
    }
}

/* Count steps that ended with this status; STOPPED instead of OK when the caller wants no more. */
static inline enum tremolo_status tremolo_progress_add(const struct tremolo_progress *progress,
                                                       size_t steps, enum tremolo_status status)
{
    bool go_on = progress == NULL || progress->add(progress->context, steps);
    return status == TREMOLO_OK && !go_on ? TREMOLO_STOPPED : status;
}

static inline void tremolo_progress_end(const struct tremolo_progress *progress)
{
    if (progress != NULL) {
        progress->end(progress->context);
    }
}

#endif
