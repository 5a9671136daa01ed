/* background.c -- starting, waking and ending a thread.
 *
 * Every thread of a server has the same needs: a lock, something to wait for, and a way to end it. With one
 * way for all of them no thread can be left running, and none is ended in the middle of its work: it
 * sees `stopping` when it next holds the lock. Waits go by the monotonic clock (clock.h). */
#include "background.h"

void background_init(struct background *thread)
{
    *thread = (struct background){.stopping = false};
    (void)pthread_mutex_init(&thread->lock, NULL);
    clock_cond_init(&thread->wake);
}

/* Under no lock: the owner starts its threads before any other knows of it. */
bool background_start(struct background *thread, void *(*run)(void *), void *argument)
{
    bool started = thread->count < BACKGROUND_THREADS &&
                   pthread_create(&thread->ids[thread->count], NULL, run, argument) == 0;
    thread->count += started;
    return started;
}

/* Once all have ended it may be called again. */
void background_stop(struct background *thread)
{
    background_lock(thread);
    thread->stopping = true;
    background_signal(thread);
    background_unlock(thread);
    while (thread->count > 0) {
        (void)pthread_join(thread->ids[--thread->count], NULL);
    }
}

/* Stops and joins first, so the lock is free when it is destroyed. */
void background_free(struct background *thread)
{
    background_stop(thread);
    (void)pthread_mutex_destroy(&thread->lock);
    (void)pthread_cond_destroy(&thread->wake);
}
