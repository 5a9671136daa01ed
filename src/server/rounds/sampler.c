/* sampler.c -- the thread that looks at every study about once a second.
 *
 * A study with many features may need a second for one estimate; the pause
 * grows with what a tick took, so that watching costs a twentieth of a
 * processor at most and reports come first. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "history.h"
#include "writer.h"
#include "clock.h"

enum { TICK_MS = 1000, PAUSE_FACTOR = 19, PAUSE_MS_MAX = 120000 };

struct sampler {
    struct writer *writer;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool stopping;
};

/* False when it is time to end. */
static bool pause_for(struct sampler *sampler, int64_t ms)
{
    int64_t until = clock_ms() + ms;
    (void)pthread_mutex_lock(&sampler->lock);
    for (int64_t left = ms; !sampler->stopping && left > 0; left = until - clock_ms()) {
        clock_wait(&sampler->wake, &sampler->lock, left);
    }
    bool stopping = sampler->stopping;
    (void)pthread_mutex_unlock(&sampler->lock);
    return !stopping;
}

static bool is_stopping(struct sampler *sampler)
{
    (void)pthread_mutex_lock(&sampler->lock);
    bool stopping = sampler->stopping;
    (void)pthread_mutex_unlock(&sampler->lock);
    return stopping;
}

static void *sampler_main(void *argument)
{
    struct sampler *sampler = argument;
    int64_t pause = TICK_MS;
    while (pause_for(sampler, pause)) {
        int64_t start = clock_ms();
        size_t count = writer_study_count(sampler->writer);
        for (size_t i = 0; i < count && !is_stopping(sampler); i++) {
            history_tick(writer_study(sampler->writer, i), (int64_t)time(NULL), clock_ms());
        }
        pause = PAUSE_FACTOR * (clock_ms() - start);
        pause = pause < TICK_MS ? TICK_MS : pause > PAUSE_MS_MAX ? PAUSE_MS_MAX : pause;
    }
    return NULL;
}

static void free_sampler(struct sampler *sampler)
{
    (void)pthread_mutex_destroy(&sampler->lock);
    (void)pthread_cond_destroy(&sampler->wake);
    free(sampler);
}

struct sampler *sampler_start(struct writer *writer)
{
    struct sampler *sampler = calloc(1, sizeof *sampler);
    if (sampler == NULL) {
        return NULL;
    }
    sampler->writer = writer;
    (void)pthread_mutex_init(&sampler->lock, NULL);
    clock_cond_init(&sampler->wake);
    if (pthread_create(&sampler->thread, NULL, sampler_main, sampler) != 0) {
        free_sampler(sampler);
        return NULL;
    }
    return sampler;
}

void sampler_stop(struct sampler *sampler)
{
    if (sampler == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&sampler->lock);
    sampler->stopping = true;
    (void)pthread_cond_signal(&sampler->wake);
    (void)pthread_mutex_unlock(&sampler->lock);
    (void)pthread_join(sampler->thread, NULL);
    free_sampler(sampler);
}
