/* clock.h -- the monotonic clock, and waiting by it.
 *
 * A wall clock that is set back would make a wait of 20 ms one of an hour, in which no
 * lease is renewed; so conditions that are waited for with a limit use this one. */
#ifndef SERVICE_CLOCK_H
#define SERVICE_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

static inline int64_t clock_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static inline int64_t clock_ms(void)
{
    return clock_us() / 1000;
}

/* `us` later than now, by a clock of the caller's choice. */
static inline struct timespec clock_after(clockid_t clock, int64_t us)
{
    struct timespec time;
    (void)clock_gettime(clock, &time);
    time.tv_sec += (time_t)(us / 1000000);
    time.tv_nsec += (long)(us % 1000000) * 1000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_nsec -= 1000000000;
        time.tv_sec++;
    }
    return time;
}

static inline void clock_cond_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(condition, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

/* Lock held: wait for a signal, for `us` at most. */
static inline void clock_wait_us(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t us)
{
    struct timespec until = clock_after(CLOCK_MONOTONIC, us);
    (void)pthread_cond_timedwait(condition, lock, &until);
}

static inline void clock_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t ms)
{
    clock_wait_us(condition, lock, 1000 * ms);
}

static inline void clock_pause(int64_t ms)
{
    struct timespec pause = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    (void)nanosleep(&pause, NULL);
}

#endif
