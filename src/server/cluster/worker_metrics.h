/* worker_metrics.h -- GET /metrics and /healthz of a worker. */
#ifndef SERVER_WORKER_METRICS_H
#define SERVER_WORKER_METRICS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_status.h"

/* Numbers that the worker's thread writes and requests read. */
struct worker_counters {
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

struct worker_metrics;

/* Listen on a numeric address with a thread of its own. `words` says what failed. */
TREMOLO_MUST_USE enum tremolo_status worker_metrics_start(struct worker_metrics **metrics,
                                                          struct worker_counters *counters,
                                                          const char *address, uint16_t port,
                                                          char *words, size_t words_capacity);
uint16_t worker_metrics_port(const struct worker_metrics *metrics);
void worker_metrics_stop(struct worker_metrics *metrics); /* NULL is fine */

#endif
