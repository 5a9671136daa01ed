/* log.c -- structured log lines, and sentences for a caller.
 *
 * A line is one JSON object, so that no text from outside can look like another line. A flood of bad requests
 * must not become a flood of lines on the disk, so lines are limited per second, and the next line that is
 * written says how many were left out. `lock` guards the counters and keeps lines whole. */
#include "log.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

void log_open(struct log *log, FILE *stream)
{
    *log = (struct log){.stream = stream};
    (void)pthread_mutex_init(&log->lock, NULL);
}

void log_close(struct log *log)
{
    (void)pthread_mutex_destroy(&log->lock);
}

/* Lock held. */
static int line_allowed(struct log *log, int64_t now, uint64_t *dropped)
{
    if (now != log->second) {
        log->second = now;
        log->lines = 0;
    }
    if (log->lines >= LOG_LINES_PER_SECOND_MAX) {
        log->dropped++;
        return 0;
    }
    log->lines++;
    *dropped = log->dropped;
    log->dropped = 0;
    return 1;
}

/* One write for each line, flushed: a crash loses no line that was written. Lock held. */
static void write_line(struct log *log, json_t *line)
{
    char *text = json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII);
    if (text != NULL) {
        (void)fprintf(log->stream, "%s\n", text);
        (void)fflush(log->stream);
    }
    free(text);
}

/* Fields are packed by jansson, so no text of a client can end a line or a string. */
void log_event(struct log *log, const char *level, const char *event, const char *format, ...)
{
    char when[32];
    struct tm parts;
    uint64_t dropped = 0;
    time_t now = time(NULL);
    va_list arguments;
    if (log->stream == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&log->lock);
    if (line_allowed(log, (int64_t)now, &dropped)) {
        (void)strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
        json_t *line = json_pack("{s:s, s:s, s:s}", "time", when, "level", level, "event", event);
        va_start(arguments, format);
        json_t *more = json_vpack_ex(NULL, 0, format, arguments);
        va_end(arguments);
        if (more != NULL) {
            (void)json_object_update(line, more);
            json_decref(more);
        }
        if (dropped > 0) {
            (void)json_object_set_new(line, "dropped_lines", json_integer((json_int_t)dropped));
        }
        write_line(log, line);
        json_decref(line);
    }
    (void)pthread_mutex_unlock(&log->lock);
}

enum tremolo_status words_say(char words[TREMOLO_WORDS_BYTES], enum tremolo_status status,
                              const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(words, TREMOLO_WORDS_BYTES, format, arguments);
    va_end(arguments);
    return status;
}
