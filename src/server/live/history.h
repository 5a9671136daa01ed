/* history.h -- how a study came to where it is, for dashboards.
 *
 * Everything here is an aggregate of noisy reports, or a count of them: what an
 * estimate gives away at one moment, at several moments. The sampler thread
 * takes the samples; requests only write down what is there. */
#ifndef SERVER_HISTORY_H
#define SERVER_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "tremolo_status.h"

enum {
    HISTORY_SAMPLES_MAX = 240,      /* then every second one is dropped */
    HISTORY_SPACING_FIRST = 2,      /* seconds between samples, doubled with every drop */
    HISTORY_MARKS = 12,             /* ticks that the rate is taken over */
    HISTORY_NUMBERS_MAX = 16 * 256, /* coefficients written down, newest rounds first */
};

struct served_study;
struct store;
struct studies;

struct history_sample {
    int64_t time; /* Unix seconds */
    uint64_t reports;
    double r2; /* NAN: none could be estimated */
};

/* Coefficients at one moment; their values are kept apart. */
enum { HISTORY_POINT_KINDS = 3 }; /* estimate, low, high of all features, one after the other */
struct history_point {
    int64_t time;     /* Unix seconds */
    uint64_t devices; /* that the coefficients come from */
};

struct history_mark {
    int64_t time_ms; /* monotonic */
    uint64_t reports;
};

/* Part of a study, under its lock. */
struct history {
    struct history_sample sample[HISTORY_SAMPLES_MAX];
    size_t samples;
    int64_t spacing;             /* 0: HISTORY_SPACING_FIRST */
    struct history_point *point; /* history_points_max() of them; NULL: none yet */
    float *value;                /* of the points; NAN where noise hides it */
    size_t points;
    uint32_t growth; /* between points, in eighths of an octave of devices */
    bool unstored;   /* something came since it was put into the store */
    struct history_mark mark[HISTORY_MARKS]; /* a ring */
    uint64_t marks;                          /* ever set */
    char *text;                              /* the last answer */
    int64_t text_time;
};

/* Once a second or less often: notes counts, refreshes gradients, and when it
 * is time takes a sample, for which it brings the estimate up to date. */
void history_tick(struct served_study *served, int64_t now, int64_t now_ms);

/* The body of GET .../history, at most a second old; the caller frees it. NULL without memory. */
char *history_json(struct served_study *served, int64_t now);

/* Points of a study with so many features. `values` are HISTORY_POINT_KINDS times
 * `features`; without memory nothing is added. */
size_t history_points_max(size_t features);
bool history_point_is_due(const struct history *history, uint64_t devices);
void history_add_point(struct history *history, size_t features, struct history_point point,
                       const float *values);

/* Forget what was seen of more reports than there are: a log may be older than its history. */
void history_drop_beyond(struct history *history, uint64_t reports);
static inline void history_free(struct history *history) /* its points */
{
    free(history->point);
    free(history->value);
    history->point = NULL;
    history->value = NULL;
    history->points = 0;
}

/* Stage what came since the last time under the study's tag; takes its lock. */
TREMOLO_MUST_USE enum tremolo_status history_put(struct store *store, struct served_study *served);

/* The same as bytes, for a store of another kind: NULL when nothing came, else the caller's to
 * free. It counts as stored now; history_keep says that it was not. Both take the lock. */
TREMOLO_MUST_USE enum tremolo_status history_take(uint8_t **bytes, size_t *length,
                                                  struct served_study *served);
void history_keep(struct served_study *served);

/* What was put, into an empty history; MALFORMED when it is none of so many features. */
TREMOLO_MUST_USE enum tremolo_status history_decode(struct history *history, size_t features,
                                                    const uint8_t *value, size_t length);

/* The thread that ticks for every study of the list, which must outlive it. NULL
 * without memory or thread. */
struct sampler;
struct sampler *sampler_start(struct studies *studies);
void sampler_stop(struct sampler *sampler);

#endif
