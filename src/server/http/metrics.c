/* metrics.c -- GET /metrics in Prometheus' text format. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "routes.h"

static void head(FILE *out, const char *name, const char *type, const char *help)
{
    (void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void single(FILE *out, const char *name, const char *type, const char *help, double value)
{
    head(out, name, type, help);
    (void)fprintf(out, "%s %.17g\n", name, value);
}

static double resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL) {
        return 0.0;
    }
    if (fscanf(file, "%*u %lu", &pages) != 1) {
        pages = 0;
    }
    (void)fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void write_outcomes(FILE *out, struct writer_counters *counters)
{
    head(out, "tremolo_reports_total", "counter", "Reports by what became of them.");
    for (int i = OUTCOME_PENDING + 1; i < OUTCOME_COUNT; i++) {
        char name[OUTCOME_LABEL_BYTES];
        outcome_label(name, (enum server_outcome)i);
        (void)fprintf(out, "tremolo_reports_total{outcome=\"%s\"} %llu\n", name,
                      (unsigned long long)atomic_load(&counters->outcome[i]));
    }
}

static void write_mqtt(FILE *out, struct writer_counters *counters)
{
    head(out, "tremolo_mqtt_messages_total", "counter", "Publications over MQTT.");
    (void)fprintf(out, "tremolo_mqtt_messages_total{outcome=\"taken\"} %llu\n",
                  (unsigned long long)atomic_load(&counters->mqtt_taken));
    (void)fprintf(out, "tremolo_mqtt_messages_total{outcome=\"malformed\"} %llu\n",
                  (unsigned long long)atomic_load(&counters->mqtt_malformed));
    (void)fprintf(out, "tremolo_mqtt_messages_total{outcome=\"unknown_study\"} %llu\n",
                  (unsigned long long)atomic_load(&counters->mqtt_unknown));
}

static void write_answers(FILE *out, struct tremolo_server *server)
{
    head(out, "tremolo_http_responses_total", "counter", "Answers by class of status.");
    for (int i = 2; i < 6; i++) {
        (void)fprintf(out, "tremolo_http_responses_total{class=\"%dxx\"} %llu\n", i,
                      (unsigned long long)atomic_load(&server->answers[i]));
    }
}

static void write_studies(FILE *out, struct writer *writer)
{
    size_t count = writer_study_count(writer);
    head(out, "tremolo_study_reports", "gauge", "Reports in a study's fold.");
    for (size_t i = 0; i < count; i++) {
        struct served_study *served = writer_study(writer, i);
        (void)pthread_mutex_lock(&served->lock);
        uint64_t reports = served->reports;
        (void)pthread_mutex_unlock(&served->lock);
        (void)fprintf(out, "tremolo_study_reports{study=\"%s\"} %llu\n", served->id_text,
                      (unsigned long long)reports);
    }
}

void metrics_run(struct request *request)
{
    struct tremolo_server *server = request->server;
    struct writer_counters *counters = writer_counters(server->writer);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (out == NULL) {
        request_problem(request, 503, "out of memory");
        return;
    }
    write_outcomes(out, counters);
    if (server->mqtt != NULL) {
        write_mqtt(out, counters);
    }
    write_answers(out, server);
    write_studies(out, server->writer);
    single(out, "tremolo_group_commits_total", "counter", "Syncs of the log.",
           (double)atomic_load(&counters->syncs));
    single(out, "tremolo_sync_seconds_total", "counter", "Time spent in syncs.",
           (double)atomic_load(&counters->sync_microseconds) / 1e6);
    single(out, "tremolo_store_errors_total", "counter", "Failures of the store.",
           (double)atomic_load(&counters->store_errors));
    single(out, "tremolo_connections", "gauge", "Open connections.",
           (double)connections_count(server->connections));
    single(out, "tremolo_connections_cut_total", "counter", "Connections cut for being slow.",
           (double)connections_cut(server->connections));
    single(out, "tremolo_body_bytes", "gauge", "Bytes of request bodies in memory.",
           (double)atomic_load(&server->body_bytes));
    single(out, "process_resident_memory_bytes", "gauge", "Resident memory.", resident_bytes());
    single(out, "process_start_time_seconds", "gauge", "Unix time of the start.",
           (double)server->started_at);
    (void)fclose(out);
    request_answer(request, 200, "text/plain; version=0.0.4", text);
}
