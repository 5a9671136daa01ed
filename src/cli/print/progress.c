/* progress.c -- draw how much is done, and guess how long the rest takes. */
#include "progress.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 30 };

struct progress {
    const char *what;
    size_t total;
    atomic_size_t done;
    pthread_mutex_t drawing;
    double start, drawn;
};

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

struct progress *progress_new(const char *what, size_t total)
{
    struct progress *progress = NULL;
    if (isatty(STDERR_FILENO) && total > 0) {
        progress = calloc(1, sizeof *progress);
    }
    if (progress != NULL) {
        progress->what = what;
        progress->total = total;
        progress->start = progress->drawn = now();
        atomic_init(&progress->done, 0);
        (void)pthread_mutex_init(&progress->drawing, NULL);
    }
    return progress;
}

static void draw(struct progress *progress, size_t done, double time)
{
    char bar[BAR_WIDTH + 1];
    double share = (double)done / (double)progress->total;
    share = share > 1 ? 1 : share;
    for (int i = 0; i < BAR_WIDTH; i++) {
        bar[i] = i < share * BAR_WIDTH ? '#' : '.';
    }
    bar[BAR_WIDTH] = '\0';
    double left = share > 0 ? (time - progress->start) * (1 - share) / share : 0;
    (void)fprintf(stderr, "\r%s [%s] %3.0f%%  %.0f s left \033[K", progress->what, bar, 100 * share,
                  left);
    (void)fflush(stderr);
}

void progress_add(struct progress *progress, size_t steps)
{
    if (progress == NULL) {
        return;
    }
    size_t done = atomic_fetch_add(&progress->done, steps) + steps;
    if (pthread_mutex_trylock(&progress->drawing) != 0) {
        return;
    }
    double time = now();
    if (time - progress->drawn >= 0.1) {
        progress->drawn = time;
        draw(progress, done, time);
    }
    (void)pthread_mutex_unlock(&progress->drawing);
}

void progress_free(struct progress *progress)
{
    if (progress == NULL) {
        return;
    }
    (void)fputs("\r\033[K", stderr);
    (void)pthread_mutex_destroy(&progress->drawing);
    free(progress);
}
