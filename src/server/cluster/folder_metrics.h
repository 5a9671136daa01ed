/* folder_metrics.h -- GET /metrics and /healthz of a worker. */
#ifndef SERVER_FOLDER_METRICS_H
#define SERVER_FOLDER_METRICS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_status.h"

/* Numbers that the worker's thread writes and requests read. */
struct folder_counters {
    _Atomic uint64_t shards; /* owned now */
    _Atomic uint64_t studies;
    _Atomic uint64_t counted; /* reports, in shards owned now */
    _Atomic uint64_t repeated;
    _Atomic uint64_t late;
    _Atomic uint64_t refused;
    _Atomic uint64_t claims;
    _Atomic uint64_t lost; /* shards that others took, or that failed */
    _Atomic uint64_t rebuilds;
    _Atomic uint64_t errors; /* calls to the store that failed */
    _Atomic int64_t turn_ms; /* monotonic: when the last turn ended */
};

struct folder_metrics;

/* Listen on a numeric address with a thread of its own. `words` says what failed. */
TREMOLO_MUST_USE enum tremolo_status folder_metrics_start(struct folder_metrics **metrics,
                                                          struct folder_counters *counters,
                                                          const char *address, uint16_t port,
                                                          char *words, size_t words_capacity);
uint16_t folder_metrics_port(const struct folder_metrics *metrics);
void folder_metrics_stop(struct folder_metrics *metrics); /* NULL is fine */

#endif
