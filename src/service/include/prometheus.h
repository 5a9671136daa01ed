/* prometheus.h -- numbers in Prometheus' text format.
 *
 *     struct prometheus out;
 *     prometheus_open(&out);
 *     prometheus_value(&out, "tremolo_connections", "gauge", "Open connections.", 3);
 *     char *text = prometheus_text(&out, &length);      NULL when anything failed
 *
 * Numbers of one name with labels follow its head, one call each. */
#ifndef SERVICE_PROMETHEUS_H
#define SERVICE_PROMETHEUS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct prometheus {
    FILE *stream; /* NULL: no memory */
    char *text;
    size_t length;    /* of the text; changes as it grows */
    const char *name; /* of the last head */
};

void prometheus_open(struct prometheus *out);

/* `type` is counter or gauge; both texts must live until the end. */
void prometheus_head(struct prometheus *out, const char *name, const char *type, const char *help);
void prometheus_labelled(struct prometheus *out, const char *label, const char *value,
                         uint64_t number);
void prometheus_value(struct prometheus *out, const char *name, const char *type, const char *help,
                      double number);

/* The memory of this process, and when it started (Unix seconds). */
void prometheus_process(struct prometheus *out, int64_t started_at);

/* The caller frees it. NULL, and nothing to free, when anything failed. */
char *prometheus_text(struct prometheus *out);

#endif
