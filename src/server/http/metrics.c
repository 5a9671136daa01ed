/* metrics.c -- GET /metrics in Prometheus' text format. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "http.h"
#include "prometheus.h"
#include "rounds.h"
#include "routes.h"

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

static void write_outcomes(struct prometheus *out, struct writer *writer)
{
    prometheus_head(out, "tremolo_reports_total", "counter", "Reports by what became of them.");
    for (int i = OUTCOME_PENDING + 1; i < OUTCOME_COUNT; i++) {
        char name[OUTCOME_LABEL_BYTES];
        outcome_label(name, (enum server_outcome)i);
        prometheus_labelled(out, "outcome", name, atomic_load(&writer->outcome[i]));
    }
}

static void write_mqtt(struct prometheus *out, struct writer *writer)
{
    prometheus_head(out, "tremolo_mqtt_messages_total", "counter", "Publications over MQTT.");
    prometheus_labelled(out, "outcome", "taken", atomic_load(&writer->mqtt_taken));
    prometheus_labelled(out, "outcome", "malformed", atomic_load(&writer->mqtt_malformed));
    prometheus_labelled(out, "outcome", "unknown_study", atomic_load(&writer->mqtt_unknown));
}

static void write_answers(struct prometheus *out, struct tremolo_server *server)
{
    static const char *const classes[] = {"2xx", "3xx", "4xx", "5xx"};
    prometheus_head(out, "tremolo_http_responses_total", "counter", "Answers by class of status.");
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        prometheus_labelled(out, "class", classes[i], atomic_load(&server->answers[i + 2]));
    }
}

static void write_studies(struct prometheus *out, struct writer *writer)
{
    size_t count = studies_count(&writer->studies);
    prometheus_head(out, "tremolo_study_reports", "gauge", "Reports in a study's fold.");
    for (size_t i = 0; i < count; i++) {
        struct served_study *served = studies_at(&writer->studies, i);
        (void)pthread_mutex_lock(&served->sums.lock);
        uint64_t reports = served->sums.reports;
        (void)pthread_mutex_unlock(&served->sums.lock);
        prometheus_labelled(out, "study", served->id_text, reports);
    }
}

/* What honest devices can hardly have sent, over all rounds. */
static void write_tails(struct prometheus *out, struct writer *writer)
{
    static const struct {
        const char *name, *help;
    } gauges[] = {
        {"tremolo_study_reports_beyond", "Reports beyond what honest ones reach once in 10000."},
        {"tremolo_study_reports_beyond_expected", "The same of honest devices, at most."},
        {"tremolo_study_reports_suspicious",
         "1: honest devices do not explain the reports (1e-6 at one look)."},
    };
    size_t count = studies_count(&writer->studies);
    for (size_t g = 0; g < sizeof gauges / sizeof gauges[0]; g++) {
        prometheus_head(out, gauges[g].name, "gauge", gauges[g].help);
        for (size_t i = 0; i < count; i++) {
            struct served_study *served = studies_at(&writer->studies, i);
            struct tremolo_tails tails;
            if (rounds_tails(&tails, served)) {
                const uint64_t value[] = {tails.norm[TREMOLO_TAIL_CUT].seen,
                                          (uint64_t)ceil(tails.norm[TREMOLO_TAIL_CUT].expected),
                                          tails.alarm};
                prometheus_labelled(out, "study", served->id_text, value[g]);
            }
        }
    }
}

static void write_process(struct prometheus *out, struct tremolo_server *server)
{
    struct batcher *batcher = &server->writer->batcher;
    size_t open = 0;
    uint64_t cut = 0;
    connections_count(&open, &cut, server->connections);
    prometheus_value(out, "tremolo_group_commits_total", "counter", "Syncs of the log.",
                     (double)atomic_load(&batcher->syncs));
    prometheus_value(out, "tremolo_sync_seconds_total", "counter", "Time spent in syncs.",
                     (double)atomic_load(&batcher->sync_microseconds) / 1e6);
    prometheus_value(out, "tremolo_store_errors_total", "counter", "Failures of the store.",
                     (double)atomic_load(&batcher->failures));
    prometheus_value(out, "tremolo_connections", "gauge", "Open connections.", (double)open);
    prometheus_value(out, "tremolo_connections_cut_total", "counter",
                     "Connections cut for being slow.", (double)cut);
    prometheus_value(out, "tremolo_body_bytes", "gauge", "Bytes of request bodies in memory.",
                     (double)atomic_load(&server->body_bytes));
    prometheus_value(out, "process_resident_memory_bytes", "gauge", "Resident memory.",
                     resident_bytes());
    prometheus_value(out, "process_start_time_seconds", "gauge", "Unix time of the start.",
                     (double)server->started_at);
}

void metrics_run(struct request *request)
{
    struct tremolo_server *server = request->server;
    struct writer *writer = server->writer;
    struct prometheus out;
    size_t length = 0;
    prometheus_open(&out);
    write_outcomes(&out, writer);
    if (server->mqtt != NULL) {
        write_mqtt(&out, writer);
    }
    write_answers(&out, server);
    write_studies(&out, writer);
    write_tails(&out, writer);
    write_process(&out, server);
    char *text = prometheus_text(&out, &length);
    if (text == NULL) {
        request_problem(request, 503, "out of memory");
    } else {
        request_answer(request, 200, "text/plain; version=0.0.4", text);
    }
}
