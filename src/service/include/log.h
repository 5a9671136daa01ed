/* log.h -- what a server says: one JSON object a line, never a report's contents or a key; and a
 * sentence for the program that started it. */
#ifndef SERVICE_LOG_H
#define SERVICE_LOG_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "tremolo_status.h"

enum { LOG_LINES_PER_SECOND_MAX = 100 };

struct log {
    FILE *stream; /* NULL: silent */
    pthread_mutex_t lock;
    int64_t second;
    unsigned lines;
    uint64_t dropped;
};

void log_open(struct log *log, FILE *stream);
void log_close(struct log *log);

/* {"time":..., "level":..., "event":..., then what the jansson pack format
 * gives, as in log_event(log, "info", "listening", "{s:i}", "port", 8787). Lines
 * beyond the limit of a second are counted, and the next line says how many. */
void log_event(struct log *log, const char *level, const char *event, const char *format, ...);

/* Say why something failed, and pass the status on. */
enum tremolo_status words_say(char words[TREMOLO_WORDS_BYTES], enum tremolo_status status,
                              const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
