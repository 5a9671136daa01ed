/* worker_metrics.c -- a worker's numbers in Prometheus' text format, and its health.
 *
 * A worker is healthy if its thread has finished a turn within the last ten seconds. */
#include "cluster.h"

#include <microhttpd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "http.h"
#include "prometheus.h"
#include "log.h"

enum { STALE_MS = 10000, CONNECTIONS = 16, TIMEOUT_S = 10 };

struct worker_metrics {
    struct MHD_Daemon *daemon;
    struct worker_counters *counters;
    uint16_t port;
};

static char *metrics_text(struct worker_counters *counters)
{
    struct prometheus out;
    prometheus_open(&out);
    prometheus_value(&out, "tremolo_fold_shards", "gauge", "Shards owned.",
                     (double)atomic_load(&counters->shards));
    prometheus_value(&out, "tremolo_fold_studies", "gauge", "Studies known.",
                     (double)atomic_load(&counters->studies));
    prometheus_head(&out, "tremolo_fold_reports", "gauge",
                    "Reports in the shards owned now, by fate.");
    for (size_t i = 0; i <= SHARD_REFUSED; i++) {
        prometheus_labelled(&out, "fate", shard_fate_names[i], atomic_load(&counters->fate[i]));
    }
    prometheus_value(&out, "tremolo_fold_claims_total", "counter", "Shards claimed.",
                     (double)atomic_load(&counters->claims));
    prometheus_value(&out, "tremolo_fold_lost_total", "counter",
                     "Shards lost to others, or failed.", (double)atomic_load(&counters->lost));
    prometheus_value(&out, "tremolo_fold_rebuilds_total", "counter",
                     "Shards folded from the start.", (double)atomic_load(&counters->rebuilds));
    prometheus_value(&out, "tremolo_fold_errors_total", "counter", "Failed calls to the store.",
                     (double)atomic_load(&counters->errors));
    return prometheus_text(&out);
}

/* The text is handed over; NULL: there was no memory for it. */
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type,
                              char *text)
{
    struct MHD_Response *response =
        text != NULL ? MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE)
                     : NULL;
    if (response == NULL) {
        free(text);
        return MHD_NO;
    }
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned status,
                                   const char *body)
{
    return answer(connection, status, "application/json", strdup(body));
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_length, void **state)
{
    struct worker_metrics *metrics = context;
    (void)version;
    (void)data;
    (void)state;
    *data_length = 0;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0) {
        return MHD_NO;
    }
    if (strcmp(url, "/metrics") == 0) {
        return answer(connection, 200, "text/plain; version=0.0.4",
                      metrics_text(metrics->counters));
    }
    if (strcmp(url, "/healthz") != 0) {
        return answer_text(connection, 404, "{\"status\":404}");
    }
    bool well = clock_ms() - atomic_load(&metrics->counters->turn_ms) < STALE_MS;
    return well ? answer_text(connection, 200, "{\"status\":\"ok\"}")
                : answer_text(connection, 503, "{\"status\":\"stuck\"}");
}

enum tremolo_status worker_metrics_start(struct worker_metrics **metrics,
                                         struct worker_counters *counters, const char *address,
                                         uint16_t port, char words[TREMOLO_WORDS_BYTES])
{
    int listener = -1;
    struct worker_metrics *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return words_say(words, TREMOLO_NO_MEMORY, "out of memory");
    }
    made->counters = counters;
    made->port = port;
    enum tremolo_status status = listen_open(&listener, &made->port, address, words);
    if (status == TREMOLO_OK) { /* the library closes the socket with the daemon */
        made->daemon = MHD_start_daemon(
            MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, on_request, made,
            MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S, MHD_OPTION_END);
        if (made->daemon == NULL) {
            (void)close(listener);
            status =
                words_say(words, TREMOLO_NO_MEMORY, "the thread for metrics cannot be started");
        }
    }
    if (status != TREMOLO_OK) {
        free(made);
        return status;
    }
    *metrics = made;
    return TREMOLO_OK;
}

uint16_t worker_metrics_port(const struct worker_metrics *metrics)
{
    return metrics != NULL ? metrics->port : 0;
}

void worker_metrics_stop(struct worker_metrics *metrics)
{
    if (metrics != NULL) {
        MHD_stop_daemon(metrics->daemon);
        free(metrics);
    }
}
