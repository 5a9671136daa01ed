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
#include "ingest.h"

enum { TICK_MS = 1000, PAUSE_FACTOR = 19, PAUSE_MS_MAX = 120000 };

struct sampler {
    struct ingest *ingest;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool stopping;
};

static int64_t monotonic_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* False when it is time to end. */
static bool pause_for(struct sampler *sampler, int64_t ms)
{
    int64_t until_ms = monotonic_ms() + ms;
    struct timespec until = {(time_t)(until_ms / 1000), (long)(until_ms % 1000) * 1000000};
    (void)pthread_mutex_lock(&sampler->lock);
    int code = 0;
    while (!sampler->stopping && code == 0) {
        code = pthread_cond_timedwait(&sampler->wake, &sampler->lock, &until);
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
        int64_t start = monotonic_ms();
        size_t count = ingest_studies(sampler->ingest);
        for (size_t i = 0; i < count && !is_stopping(sampler); i++) {
            history_tick(ingest_study(sampler->ingest, i), (int64_t)time(NULL), monotonic_ms());
        }
        pause = PAUSE_FACTOR * (monotonic_ms() - start);
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

struct sampler *sampler_start(struct ingest *ingest)
{
    struct sampler *sampler = calloc(1, sizeof *sampler);
    pthread_condattr_t attributes;
    if (sampler == NULL) {
        return NULL;
    }
    sampler->ingest = ingest;
    (void)pthread_mutex_init(&sampler->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&sampler->wake, &attributes);
    (void)pthread_condattr_destroy(&attributes);
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
