/* moment.h -- the monotonic clock, and waiting by it.
 *
 * A wall clock that is set back would make a wait of 20 ms one of an hour, in which no
 * lease is renewed; so conditions that are waited for with a limit use this one. */
#ifndef SERVER_MOMENT_H
#define SERVER_MOMENT_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

static inline int64_t moment_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static inline void moment_cond_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(condition, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

/* Lock held: wait for a signal, for `ms` at most. */
static inline void moment_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    (void)pthread_cond_timedwait(condition, lock, &until);
}

#endif
