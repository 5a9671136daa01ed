/* readers.c -- what analysts, dashboards and operators read: estimates, history, the list,
 * metrics.
 *
 * Nothing here changes a study, and no handler computes for long: an estimate that is not there
 * yet comes from the estimator's threads while the connection is suspended. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "document.h"
#include "prometheus.h"
#include "routes.h"

/* ---------------------------------------------------------------- one study */

/* From the estimator's thread. It only resumes the connection: the answer is made on the
 * service's thread. */
static void on_estimate(struct question *question)
{
    request_resume(question->context);
}

/* The level that the intervals should have; false for what is none. */
static bool read_level(double *level, struct request *request)
{
    const char *text = request_query(request, "level");
    json_t *value =
        text != NULL ? json_loads(text, JSON_DECODE_ANY, NULL) : json_real(ESTIMATE_LEVEL);
    *level = json_number_value(value);
    json_decref(value);
    return *level > 0.0 && *level < 1.0;
}

/* An estimate may take seconds, so it is computed by a thread of the estimator's. Only the usual
 * level's document is kept with the study; any other level is computed for its request. */
static void answer_estimate(struct request *request)
{
    struct study_request *own = own_of(request);
    double level;
    if (!read_level(&level, request)) {
        request_problem(request, 400, "level is a number between 0 and 1, as in 0.95");
        return;
    }
    char *kept = level == ESTIMATE_LEVEL ? estimate_kept(study_of(request)) : NULL;
    if (kept != NULL) {
        request_answer_text(request, 200, kept);
        return;
    }
    own->question = (struct question){
        .served = study_of(request), .level = level, .done = on_estimate, .context = request};
    if (request_suspend(request)) {
        estimator_ask(server_of(request)->estimator, &own->question);
    }
}

/* The estimator is done, or the server is stopping and it computed nothing. The text passes to
 * the answer, so the pointer is cleared before the request frees what it holds. */
static void answer_estimated(struct request *request)
{
    struct study_request *own = own_of(request);
    struct question *question = &own->question;
    if (question->status != TREMOLO_OK) {
        request_problem(request, 500, tremolo_status_sentence(question->status));
    } else if (question->json == NULL) {
        request_problem(request, 503, "the server is stopping");
    } else {
        request_answer_text(request, 200, question->json);
        question->json = NULL;
    }
}

/* Kept for a second (history.c), so many dashboards cost as much as one. */
static void answer_history(struct request *request)
{
    request_answer_text(request, 200, history_json(study_of(request), (int64_t)time(NULL)));
}

/* 503 with the reason while the store takes nothing: a balancer then sends devices elsewhere. */
static void answer_health(struct request *request)
{
    char words[TREMOLO_WORDS_BYTES];
    enum tremolo_status health = batcher_health(&server_of(request)->writer->batcher, words);
    if (health != TREMOLO_OK) {
        request_problem(request, 503, words);
    } else {
        request_answer_text(request, 200, strdup("{\"status\":\"ok\"}"));
    }
}

/* ---------------------------------------------------------------- many studies
 *
 * Nothing is computed for the list: counts are read under each study's lock; what was learnt and
 * what is promised was summed up with the last estimate (estimate.c) and is null before there is
 * one, a moment after a study or a server began. So ten thousand studies are gone through for
 * each answer, and LIST_LIMIT_MAX of them at most become JSON. */

enum { LIST_LIMIT_MAX = 1024, LIST_SEARCH_BYTES = 256 };

enum list_sort { BY_CREATED, BY_TITLE, BY_STATE, BY_DEVICES, BY_TOLD, BY_PRIVACY, BY_REPORT };

static const char *const sort_names[] = {"created", "title",   "state",      "devices",
                                         "told",    "privacy", "last_report"};

/* What the question asks for; `search` points into the request. */
struct wish {
    enum list_sort sort;
    bool down;
    size_t offset;
    size_t limit;
    const char *search; /* NULL: all */
};

/* One study of those that are found; a key that is not known is last, either way. */
struct entry {
    struct served_study *served;
    size_t place;
    double key;
};

struct list {
    struct wish wish;
    int64_t now;
    struct entry *entry;
    size_t count;
};

/* A missing number keeps its default; signs, spaces and anything beyond `most` are refused. */
static bool read_number(size_t *number, const char *text, size_t most)
{
    char *end = NULL;
    if (text == NULL) {
        return true;
    }
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    bool good = isdigit((unsigned char)text[0]) != 0 && *end == '\0' && errno == 0 && value <= most;
    *number = good ? (size_t)value : *number;
    return good;
}

/* Without a name the order is that in which studies came. */
static bool read_sort(enum list_sort *sort, const char *text)
{
    for (size_t i = 0; i < sizeof sort_names / sizeof sort_names[0]; i++) {
        if (text == NULL || strcmp(text, sort_names[i]) == 0) {
            *sort = (enum list_sort)i;
            return true;
        }
    }
    return false;
}

/* NULL, or what is wrong with the question. */
static const char *read_wish(struct wish *wish, struct request *request)
{
    const char *order = request_query(request, "order");
    *wish = (struct wish){.limit = LIST_LIMIT_MAX, .search = request_query(request, "search")};
    wish->down = order != NULL && strcmp(order, "down") == 0;
    if (!read_sort(&wish->sort, request_query(request, "sort"))) {
        return "sort is one of created, title, state, devices, told, privacy and last_report";
    }
    if (order != NULL && !wish->down && strcmp(order, "up") != 0) {
        return "order is up or down";
    }
    if (!read_number(&wish->offset, request_query(request, "offset"), SIZE_MAX)) {
        return "offset is a whole number";
    }
    if (!read_number(&wish->limit, request_query(request, "limit"), LIST_LIMIT_MAX)) {
        return "limit is a whole number up to 1024";
    }
    if (wish->search != NULL && strlen(wish->search) >= LIST_SEARCH_BYTES) {
        return "search has at most 255 bytes";
    }
    return NULL;
}

/* By a part of the title, or by the beginning of the id; upper and lower case are alike in
 * titles. */
static bool is_found(const struct served_study *served, const char *search)
{
    return search == NULL || strcasestr(served->terms->title, search) != NULL ||
           strncmp(served->id_text, search, strlen(search)) == 0;
}

/* Open studies first, then those that wait, then those that are done. */
static double state_of(const struct served_study *served, int64_t now)
{
    const char *state = round_state(served, now);
    return strcmp(state, "open") == 0 ? 0.0 : strcmp(state, "waiting") == 0 ? 1.0 : 2.0;
}

/* The number to sort by, read under the lock of the study's sums. NAN: unknown; such studies
 * come last. */
static double key_of(struct served_study *served, enum list_sort sort, int64_t now)
{
    double key = 0.0;
    served_lock(served);
    switch (sort) {
    case BY_CREATED:
    case BY_TITLE: break;
    case BY_STATE: key = state_of(served, now); break;
    case BY_DEVICES: key = (double)served_devices(served); break;
    case BY_TOLD: key = json_latch_member(served->sums.estimate.summary, "told"); break;
    case BY_PRIVACY:
        key = json_latch_member(json_object_get(served->sums.estimate.summary, "guarantee"),
                                "attacker_right");
        break;
    case BY_REPORT:
        key = served->sums.reported_at > 0 ? (double)served->sums.reported_at : NAN;
        break;
    }
    served_unlock(served);
    return key;
}

/* For qsort_r. Unknown keys are last in both directions. The order of creation decides between
 * equals, so that pages of the list do not overlap. */
static int compare(const void *first, const void *second, void *context)
{
    const struct entry *a = first, *b = second;
    const struct wish *wish = context;
    int order = wish->sort == BY_TITLE
                    ? strcasecmp(a->served->terms->title, b->served->terms->title)
                    : (a->key > b->key) - (a->key < b->key);
    if (isnan(a->key) != isnan(b->key)) {
        return isnan(a->key) ? 1 : -1;
    }
    if (order == 0) {
        return (a->place > b->place) - (a->place < b->place);
    }
    return wish->down ? -order : order;
}

/* Collect the studies that are found, with their keys, and sort them. False without memory. Keys
 * are read one study after the other, so they are of slightly different moments, but sorting sees
 * each of them once. The caller frees the entries. */
static bool find(struct list *list, struct writer *writer)
{
    size_t count = studies_count(&writer->studies);
    list->entry = calloc(count + 1, sizeof *list->entry);
    for (size_t i = 0; i < count && list->entry != NULL; i++) {
        struct served_study *served = studies_at(&writer->studies, i);
        if (is_found(served, list->wish.search)) {
            double key = list->wish.sort == BY_CREATED ? (double)i
                                                       : key_of(served, list->wish.sort, list->now);
            list->entry[list->count++] = (struct entry){served, i, key};
        }
    }
    if (list->entry != NULL) {
        qsort_r(list->entry, list->count, sizeof *list->entry, compare, &list->wish);
    }
    return list->entry != NULL;
}

/* One study of the list, read under the lock of its sums: all its numbers are of one moment. */
static json_t *line_of(struct served_study *served, int64_t now)
{
    served_lock(served);
    json_t *line = json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:i, s:o, s:o}", "id", served->id_text, "title",
        served->terms->title, "state", round_state(served, now), "round",
        (json_int_t)served->sums.opened - 1, "rounds", (json_int_t)served->terms->rounds, "reports",
        (json_int_t)served->sums.reports, "devices", (json_int_t)served_devices(served),
        "dimension", (int)served->study->dimension, "last_report",
        served->sums.reported_at > 0 ? json_integer(served->sums.reported_at) : json_null(),
        "summary",
        served->sums.estimate.summary != NULL ? json_deep_copy(served->sums.estimate.summary)
                                              : json_null());
    served_unlock(served);
    return line;
}

/* Only the studies of the page that was asked for become JSON; all that match are counted. */
static void answer_list(struct request *request)
{
    struct list list = {.now = (int64_t)time(NULL)};
    const char *problem = read_wish(&list.wish, request);
    if (problem != NULL) {
        request_problem(request, 400, problem);
        return;
    }
    if (!find(&list, server_of(request)->writer)) {
        request_problem(request, 503, "out of memory");
        return;
    }
    json_t *lines = json_array();
    size_t left = list.count > list.wish.offset ? list.count - list.wish.offset : 0;
    for (size_t i = 0; i < left && i < list.wish.limit; i++) {
        json_latch_append(&lines, line_of(list.entry[list.wish.offset + i].served, list.now));
    }
    free(list.entry);
    request_answer_json(request, 200,
                        json_pack("{s:o, s:I, s:I}", "studies", lines, "matching",
                                  (json_int_t)list.count, "total",
                                  (json_int_t)studies_count(&server_of(request)->writer->studies)));
}

/* ---------------------------------------------------------------- metrics
 *
 * Each part writes its own: the server what it knows of studies, the service what it knows of
 * itself. */

/* Counted by the writer since the start. They are atomic, so the lines may be of slightly
 * different moments. */
static void write_outcomes(struct prometheus *out, struct writer *writer)
{
    prometheus_head(out, "tremolo_reports_total", "counter", "Reports by what became of them.");
    for (int i = OUTCOME_PENDING + 1; i < OUTCOME_COUNT; i++) {
        char name[OUTCOME_LABEL_BYTES];
        outcome_label(name, (enum server_outcome)i);
        prometheus_labelled(out, "outcome", name, atomic_load(&writer->outcome[i]));
    }
}

/* Only of a gateway that also takes reports over MQTT. */
static void write_mqtt(struct prometheus *out, struct writer *writer)
{
    prometheus_head(out, "tremolo_mqtt_messages_total", "counter", "Publications over MQTT.");
    prometheus_labelled(out, "outcome", "taken", atomic_load(&writer->mqtt_taken));
    prometheus_labelled(out, "outcome", "malformed", atomic_load(&writer->mqtt_malformed));
    prometheus_labelled(out, "outcome", "unknown_study", atomic_load(&writer->mqtt_unknown));
}

/* The reports in the sums of each study, and how many of them honest devices can hardly have
 * sent, over all rounds, where that is known. */
static void write_studies(struct prometheus *out, struct writer *writer)
{
    static const struct {
        const char *name, *help;
    } gauges[] = {
        {"tremolo_study_reports", "Reports in a study's fold."},
        {"tremolo_study_reports_beyond", "Reports beyond what honest ones reach once in 10000."},
        {"tremolo_study_reports_beyond_expected", "The same of honest devices, at most."},
        {"tremolo_study_reports_suspicious",
         "1: honest devices do not explain the reports (p < 1e-6, for one look)."},
    };
    size_t count = studies_count(&writer->studies);
    for (size_t g = 0; g < sizeof gauges / sizeof gauges[0]; g++) {
        prometheus_head(out, gauges[g].name, "gauge", gauges[g].help);
        for (size_t i = 0; i < count; i++) {
            struct served_study *served = studies_at(&writer->studies, i);
            struct tremolo_tails tails = {.alarm = false};
            bool known = g == 0 || rounds_tails(&tails, served);
            served_lock(served);
            const uint64_t value[] = {served->sums.reports, tails.norm[TREMOLO_TAIL_CUT].seen,
                                      (uint64_t)ceil(tails.norm[TREMOLO_TAIL_CUT].expected),
                                      tails.alarm};
            served_unlock(served);
            if (known) {
                prometheus_labelled(out, "study", served->id_text, value[g]);
            }
        }
    }
}

/* First what is the server's, then what the service knows of itself: group commit, HTTP,
 * process. */
static void answer_metrics(struct request *request)
{
    struct tremolo_server *server = server_of(request);
    struct writer *writer = server->writer;
    struct prometheus out;
    prometheus_open(&out);
    write_outcomes(&out, writer);
    if (server->mqtt != NULL) {
        write_mqtt(&out, writer);
    }
    write_studies(&out, writer);
    batcher_write_metrics(&out, &writer->batcher);
    http_write_metrics(&out, request->http); /* set before server->http is */
    prometheus_process(&out, server->started_at);
    char *text = prometheus_text(&out);
    if (text == NULL) {
        request_problem(request, 503, "out of memory");
    } else {
        request_answer(request, 200, "text/plain; version=0.0.4", text);
    }
}

const struct route reader_routes[] = {
    {"GET", "/v1/studies/{id}/estimate", FOR_READERS, 0, answer_estimate, answer_estimated},
    {"GET", "/v1/studies/{id}/history", FOR_READERS, 0, answer_history, NULL},
    {"GET", "/v1/studies", FOR_READERS, 0, answer_list, NULL},
    {"GET", "/healthz", FOR_READERS, 0, answer_health, NULL},
    {"GET", "/metrics", FOR_READERS, 0, answer_metrics, NULL},
    {0},
};
