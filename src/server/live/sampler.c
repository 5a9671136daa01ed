/* sampler.c -- the thread that looks at every study about once a second.
 *
 * A study with many features may need a second for one estimate; the pause
 * grows with what a tick took, so that watching costs a twentieth of a
 * processor at most and reports come first. */
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "background.h"
#include "clock.h"
#include "history.h"
#include "served_study.h"

enum { TICK_MS = 1000, PAUSE_FACTOR = 19, PAUSE_MS_MAX = 120000 };

struct sampler {
    struct studies *studies;
    struct background thread;
};

static bool is_stopping(struct sampler *sampler)
{
    background_lock(&sampler->thread);
    bool stopping = sampler->thread.stopping;
    background_unlock(&sampler->thread);
    return stopping;
}

/* False when it is time to end. */
static bool pause_for(struct sampler *sampler, int64_t ms)
{
    int64_t until = clock_ms() + ms;
    background_lock(&sampler->thread);
    for (int64_t left = ms; !sampler->thread.stopping && left > 0; left = until - clock_ms()) {
        background_wait_us(&sampler->thread, 1000 * left);
    }
    background_unlock(&sampler->thread);
    return !is_stopping(sampler);
}

static void *sampler_main(void *argument)
{
    struct sampler *sampler = argument;
    int64_t pause = TICK_MS;
    while (pause_for(sampler, pause)) {
        int64_t start = clock_ms();
        size_t count = studies_count(sampler->studies);
        for (size_t i = 0; i < count && !is_stopping(sampler); i++) {
            history_tick(studies_at(sampler->studies, i), (int64_t)time(NULL), clock_ms());
        }
        pause = PAUSE_FACTOR * (clock_ms() - start);
        pause = pause < TICK_MS ? TICK_MS : pause > PAUSE_MS_MAX ? PAUSE_MS_MAX : pause;
    }
    return NULL;
}

struct sampler *sampler_start(struct studies *studies)
{
    struct sampler *sampler = calloc(1, sizeof *sampler);
    if (sampler == NULL) {
        return NULL;
    }
    sampler->studies = studies;
    background_init(&sampler->thread);
    if (!background_start(&sampler->thread, sampler_main, sampler)) {
        sampler_stop(sampler);
        return NULL;
    }
    return sampler;
}

void sampler_stop(struct sampler *sampler)
{
    if (sampler != NULL) {
        background_free(&sampler->thread);
        free(sampler);
    }
}
