/* history.h -- how a study came to where it is, for whoever watches.
 *
 * Everything here is an aggregate of noisy reports, or a count of them: what an
 * estimate gives away at one moment, at several moments. The sampler thread
 * takes the samples; requests only write down what is there. */
#ifndef SERVER_HISTORY_H
#define SERVER_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "tremolo_status.h"

enum {
    HISTORY_SAMPLES_MAX = 240,      /* then every second one is dropped */
    HISTORY_SPACING_FIRST = 2,      /* seconds between samples, doubled with every drop */
    HISTORY_MARKS = 12,             /* ticks that the rate is taken over */
    HISTORY_NUMBERS_MAX = 16 * 256, /* coefficients written down, newest rounds first */
};

struct served_study;
struct writer;

struct history_sample {
    int64_t time; /* Unix seconds */
    uint64_t reports;
    double r2; /* NAN: none could be estimated */
};

struct history_mark {
    int64_t time_ms; /* monotonic */
    uint64_t reports;
};

/* Part of a study, under its lock. */
struct history {
    struct history_sample sample[HISTORY_SAMPLES_MAX];
    size_t samples;
    int64_t spacing;                         /* 0: HISTORY_SPACING_FIRST */
    struct history_mark mark[HISTORY_MARKS]; /* a ring */
    uint64_t marks;                          /* ever set */
    char *text;                              /* the last answer */
    int64_t text_time;
};

/* Once a second or less often: notes counts, refreshes gradients, and when it
 * is time takes a sample, for which it brings the estimate up to date. */
void history_tick(struct served_study *served, int64_t now, int64_t now_ms);

/* The body of GET .../history, at most a second old; the caller frees it. */
TREMOLO_MUST_USE enum tremolo_status history_json(char **json, struct served_study *served,
                                                  int64_t now);

/* The thread that ticks for every study of `writer`, which must outlive it. NULL
 * without memory or thread. */
struct sampler;
struct sampler *sampler_start(struct writer *writer);
void sampler_stop(struct sampler *sampler);

#endif
