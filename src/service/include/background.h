/* background.h -- a thread, or a few alike, with a lock, a wake-up and a flag that ends them.
 *
 *     background_init(&owner->thread);
 *     if (!background_start(&owner->thread, run, owner)) ...
 *     background_stop(&owner->thread);      sets `stopping`, wakes and joins
 *     background_free(&owner->thread);      the same, if need be, and the end of its lock
 *
 * `lock` guards `stopping` and whatever its owner puts under it. The thread's function
 * returns once it has seen `stopping`. */
#ifndef SERVICE_BACKGROUND_H
#define SERVICE_BACKGROUND_H

#include <stdbool.h>

#include "clock.h"

enum { BACKGROUND_THREADS = 4 };

struct background {
    pthread_mutex_t lock;
    pthread_cond_t wake; /* waits with a limit go by the monotonic clock (clock.h) */
    pthread_t ids[BACKGROUND_THREADS];
    unsigned count;
    bool stopping;
};

void background_init(struct background *thread);

/* Once for each thread. False when there is no thread to be had: stop those that there are. */
bool background_start(struct background *thread, void *(*run)(void *), void *argument);

void background_stop(struct background *thread);
void background_free(struct background *thread);

static inline void background_lock(struct background *thread)
{
    (void)pthread_mutex_lock(&thread->lock);
}

static inline void background_unlock(struct background *thread)
{
    (void)pthread_mutex_unlock(&thread->lock);
}

/* Lock held: wait for a signal, for `us` at most. */
static inline void background_wait_us(struct background *thread, int64_t us)
{
    clock_wait_us(&thread->wake, &thread->lock, us);
}

/* Wake the thread, or all: several may wait for different things. Lock held. */
static inline void background_signal(struct background *thread)
{
    (void)pthread_cond_broadcast(&thread->wake);
}

#endif
