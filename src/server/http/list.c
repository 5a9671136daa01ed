/* list.c -- GET /v1/studies: many studies, found, sorted and a page at a time.
 *
 * Nothing is computed for it: counts are read under each study's lock, what was learnt and what is
 * promised was summed up with the last estimate (estimate.c) and is null before there is one, a
 * moment after a study or a server began. So ten thousand studies are gone through for each answer,
 * and LIST_LIMIT_MAX of them at most become JSON. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "document.h"
#include "routes.h"

enum { LIST_LIMIT_MAX = 1024, LIST_SEARCH_BYTES = 256 };

enum list_sort { BY_CREATED, BY_TITLE, BY_STATE, BY_DEVICES, BY_TOLD, BY_PRIVACY, BY_REPORT };

static const char *const sort_names[] = {"created", "title",   "state",      "devices",
                                         "told",    "privacy", "last_report"};

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

/* ---------------------------------------------------------------- what is asked */

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

/* ---------------------------------------------------------------- finding */

static bool is_found(const struct served_study *served, const char *search)
{
    return search == NULL || strcasestr(served->terms->title, search) != NULL ||
           strncmp(served->id_text, search, strlen(search)) == 0;
}

static double state_of(const struct served_study *served, int64_t now)
{
    const char *state = round_state(served, now);
    return strcmp(state, "open") == 0 ? 0.0 : strcmp(state, "waiting") == 0 ? 1.0 : 2.0;
}

static double key_of(struct served_study *served, enum list_sort sort, int64_t now)
{
    double key = 0.0;
    (void)pthread_mutex_lock(&served->sums.lock);
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
    (void)pthread_mutex_unlock(&served->sums.lock);
    return key;
}

static int by_place(const struct entry *a, const struct entry *b)
{
    return a->place < b->place ? -1 : a->place > b->place;
}

static int compare(const void *first, const void *second, void *context)
{
    const struct entry *a = first, *b = second;
    const struct wish *wish = context;
    int order = 0;
    if (wish->sort == BY_CREATED) {
        order = by_place(a, b);
    } else if (wish->sort == BY_TITLE) {
        order = strcasecmp(a->served->terms->title, b->served->terms->title);
    } else if (isnan(a->key) || isnan(b->key)) {
        return isnan(a->key) && isnan(b->key) ? by_place(a, b) : isnan(a->key) ? 1 : -1;
    } else {
        order = a->key < b->key ? -1 : a->key > b->key;
    }
    if (order == 0) {
        return by_place(a, b);
    }
    return wish->down ? -order : order;
}

static bool find(struct list *list, struct writer *writer)
{
    size_t count = studies_count(&writer->studies);
    list->entry = calloc(count + 1, sizeof *list->entry);
    for (size_t i = 0; i < count && list->entry != NULL; i++) {
        struct served_study *served = studies_at(&writer->studies, i);
        if (is_found(served, list->wish.search)) {
            double key = key_of(served, list->wish.sort, list->now);
            list->entry[list->count++] = (struct entry){served, i, key};
        }
    }
    if (list->entry != NULL) {
        qsort_r(list->entry, list->count, sizeof *list->entry, compare, &list->wish);
    }
    return list->entry != NULL;
}

/* ---------------------------------------------------------------- answering */

static json_t *line_of(struct served_study *served, int64_t now)
{
    (void)pthread_mutex_lock(&served->sums.lock);
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
    (void)pthread_mutex_unlock(&served->sums.lock);
    return line;
}

void list_run(struct request *request)
{
    struct list list = {.now = (int64_t)time(NULL)};
    const char *problem = read_wish(&list.wish, request);
    if (problem != NULL) {
        request_problem(request, 400, problem);
        return;
    }
    if (!find(&list, request->server->writer)) {
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
                                  (json_int_t)studies_count(&request->server->writer->studies)));
}
