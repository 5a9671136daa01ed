/* watch.h -- `tremolo status --watch`: what is known, and its picture. */
#ifndef TREMOLO_CLI_WATCH_H
#define TREMOLO_CLI_WATCH_H

#include <jansson.h>
#include <stdbool.h>

#include "terminal.h"

enum { WATCH_TROUBLE_BYTES = 200 };

struct watch {
    const char *url; /* of a study, or of a server */
    bool one_study;
    json_t *answer;                    /* the newest estimate, or list of studies; NULL */
    json_t *history;                   /* counts, rate and R^2 over time; NULL */
    json_t *study;                     /* as published; NULL */
    bool gone;                         /* there is no such study: no use asking again */
    char trouble[WATCH_TROUBLE_BYTES]; /* why there is nothing newer; "" */
};

/* A frame for the screen, or one line for a pipe. The caller frees it; NULL
 * without memory. */
char *watch_frame(const struct watch *watch, const struct terminal *terminal);
char *watch_line(const struct watch *watch, const char *time_text);

/* The command itself: until somebody ends it. Codes of the command line. */
int watch_run(const char *url, const char *ca_file, double every_seconds);

#endif
