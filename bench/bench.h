/* bench.h -- the clocks that the benchmark programs share. */
#ifndef TREMOLO_BENCH_H
#define TREMOLO_BENCH_H

#include <time.h>

static inline double bench_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Of this thread alone: what else the machine does, it hardly notices. */
static inline double bench_processor_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
