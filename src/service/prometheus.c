/* prometheus.c -- a text that grows in memory; the stream keeps its first failure.
 *
 * Metrics are written when they are asked for, from counters that are kept anyway, so they cost nothing
 * between two requests. Without memory for the stream every call does nothing, and the end says so. */
#include "prometheus.h"

#include <unistd.h>

#include "document.h"

void prometheus_open(struct prometheus *out)
{
    *out = (struct prometheus){0};
    out->stream = open_memstream(&out->text, &out->length);
}

void prometheus_head(struct prometheus *out, const char *name, const char *type, const char *help)
{
    out->name = name;
    if (out->stream != NULL) {
        (void)fprintf(out->stream, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
    }
}

void prometheus_labelled(struct prometheus *out, const char *label, const char *value,
                         uint64_t number)
{
    if (out->stream != NULL) {
        (void)fprintf(out->stream, "%s{%s=\"%s\"} %llu\n", out->name, label, value,
                      (unsigned long long)number);
    }
}

void prometheus_value(struct prometheus *out, const char *name, const char *type, const char *help,
                      double number)
{
    prometheus_head(out, name, type, help);
    if (out->stream != NULL) {
        (void)fprintf(out->stream, "%s %.17g\n", name, number);
    }
}

void prometheus_process(struct prometheus *out, int64_t started_at)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL) {
        pages = fscanf(file, "%*u %lu", &pages) == 1 ? pages : 0;
        (void)fclose(file);
    }
    prometheus_value(out, "process_resident_memory_bytes", "gauge", "Resident memory.",
                     (double)pages * (double)sysconf(_SC_PAGESIZE));
    prometheus_value(out, "process_start_time_seconds", "gauge", "Unix time of the start.",
                     (double)started_at);
}

/* Ends the stream; the text is complete only if nothing failed before. */
char *prometheus_text(struct prometheus *out)
{
    return out->stream != NULL && document_close(out->stream, &out->text) ? out->text : NULL;
}
