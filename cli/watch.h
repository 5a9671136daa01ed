/* watch.h -- `tremolo status --watch`: what is known, and its picture. */
#ifndef TREMOLO_CLI_WATCH_H
#define TREMOLO_CLI_WATCH_H

#include <jansson.h>
#include <stdbool.h>

#include "terminal.h"

enum { WATCH_HISTORY = 256, WATCH_TROUBLE_BYTES = 200 };

struct watch_moment {
    double seconds; /* of a steady clock */
    double reports;
    double r2; /* NaN when there is none */
};

struct watch {
    const char *url; /* of a study, or of a server */
    bool one_study;
    json_t *answer;                            /* the newest estimate, or list of studies; NULL */
    json_t *study;                             /* the study as published, or NULL */
    struct watch_moment moment[WATCH_HISTORY]; /* oldest first */
    size_t moments;
    char trouble[WATCH_TROUBLE_BYTES]; /* why there is nothing newer; "" */
    double now;
};

/* Remember a moment; the older half is thinned out when there is no more room,
 * so that the whole time stays in view. */
void watch_remember(struct watch *watch, const struct watch_moment *moment);

/* Reports a second over the last ten seconds or so. */
double watch_rate(const struct watch *watch);

/* A frame for the screen, or one line for a pipe. The caller frees it; NULL
 * without memory. */
char *watch_frame(const struct watch *watch, const struct terminal *terminal);
char *watch_line(const struct watch *watch, const char *time_text);

/* The command itself: until somebody ends it. Codes of the command line. */
int watch_run(const char *url, const char *ca_file, double every_seconds);

#endif
