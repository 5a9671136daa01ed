/* tremolo_progress.h -- how far a long computation is, for whoever shows it.
 *
 * begin() and end() are called by the thread that computes, add() by any. A pointer
 * to this that is NULL stands for nobody who wants to know. */
#ifndef TREMOLO_PROGRESS_H
#define TREMOLO_PROGRESS_H

#include <stddef.h>

struct tremolo_progress {
    void (*begin)(const char *what, size_t steps);
    void (*add)(size_t steps);
    void (*end)(void);
};

static inline void tremolo_progress_begin(const struct tremolo_progress *progress, const char *what,
                                          size_t steps)
{
    if (progress != NULL) {
        progress->begin(what, steps);
    }
}

static inline void tremolo_progress_add(const struct tremolo_progress *progress, size_t steps)
{
    if (progress != NULL) {
        progress->add(steps);
    }
}

static inline void tremolo_progress_end(const struct tremolo_progress *progress)
{
    if (progress != NULL) {
        progress->end();
    }
}

#endif
