/* routes.c -- the table of requests, and the handlers that only read. */
#include "routes.h"

#include <string.h>
#include <time.h>

enum { ID_CHARACTERS = TREMOLO_STUDY_ID_TEXT_BYTES - 1 };

/* ---------------------------------------------------------------- reading */

static void answer_study(struct request *request)
{
    request_answer_text(request, 200, TREMOLO_OK, strdup(request->served->published));
}

void routes_round(struct request *request)
{
    char *body = NULL;
    enum tremolo_status status =
        round_json(&body, request->served, request->server->signing_key, (int64_t)time(NULL));
    request_answer_text(request, 200, status, body);
}

static void answer_guarantee(struct request *request)
{
    char *body = NULL;
    enum tremolo_status status = estimate_guarantee_json(&body, request->served);
    request_answer_text(request, 200, status, body);
}

static void answer_estimate(struct request *request)
{
    char *kept = estimate_kept(request->served);
    if (kept != NULL) {
        request_answer_text(request, 200, TREMOLO_OK, kept);
    } else {
        request_ask(request);
    }
}

static void answer_estimated(struct request *request)
{
    struct question *question = &request->question;
    if (question->status == TREMOLO_OK && question->json == NULL) {
        request_problem(request, 503, "the server is stopping");
        return;
    }
    request_answer_text(request, 200, question->status, question->json);
    question->json = NULL;
}

static void answer_history(struct request *request)
{
    char *body = NULL;
    enum tremolo_status status = history_json(&body, request->served, (int64_t)time(NULL));
    request_answer_text(request, 200, status, body);
}

static void answer_health(struct request *request)
{
    char words[TREMOLO_WORDS_BYTES];
    enum tremolo_status health = batcher_health(&request->server->writer->batcher, words);
    if (health != TREMOLO_OK) {
        request_problem(request, 503, words);
    } else {
        request_answer_text(request, 200, TREMOLO_OK, strdup("{\"status\":\"ok\"}"));
    }
}

/* ---------------------------------------------------------------- finding */

static const struct route routes[] = {
    {"POST", "/v1/studies/{id}/reports", FOR_DEVICES, REQUEST_BODY_MAX, reports_run,
     reports_finish},
    {"GET", "/v1/studies/{id}/round", FOR_DEVICES, 0, routes_round, NULL},
    {"GET", "/v1/studies/{id}/estimate", FOR_READERS, 0, answer_estimate, answer_estimated},
    {"GET", "/v1/studies/{id}/guarantee", FOR_DEVICES, 0, answer_guarantee, NULL},
    {"GET", "/v1/studies/{id}/history", FOR_READERS, 0, answer_history, NULL},
    {"GET", "/v1/studies/{id}", FOR_DEVICES, 0, answer_study, NULL},
    {"GET", "/v1/studies", FOR_READERS, 0, list_run, NULL},
    {"POST", "/v1/studies", FOR_OPERATOR, TREMOLO_STUDY_MAX_BYTES, operator_create,
     operator_create_finish},
    {"POST", "/v1/studies/{id}/round/close", FOR_OPERATOR, 1024, operator_close,
     operator_close_finish},
    {"POST", "/v1/studies/{id}/discard", FOR_OPERATOR, 1024, operator_discard,
     operator_discard_finish},
    {"POST", "/v1/studies/{id}/devices", FOR_OPERATOR, 4096, operator_enrol, NULL},
    {"GET", "/healthz", FOR_READERS, 0, answer_health, NULL},
    {"GET", "/metrics", FOR_READERS, 0, metrics_run, NULL},
    {"GET", "/", FOR_READERS, 0, pages_dashboard, NULL},
    {"GET", "/studies", FOR_READERS, 0, pages_dashboard, NULL},
    {"GET", "/studies/{id}/about", FOR_READERS, 0, pages_about, NULL},
    {"GET", "/studies/{id}", FOR_READERS, 0, pages_dashboard, NULL},
    {"GET", "/assets/*", FOR_READERS, 0, pages_asset, NULL},
};

/* Does the path match, {id} taking exactly the characters of an id and a
 * final * whatever is left? */
static bool path_matches(const char *pattern, const char *path, char id[64])
{
    const char *hole = strstr(pattern, "{id}");
    if (hole == NULL) {
        size_t fixed = strcspn(pattern, "*");
        id[0] = '\0';
        return pattern[fixed] == '*' ? strncmp(pattern, path, fixed) == 0
                                     : strcmp(pattern, path) == 0;
    }
    size_t before = (size_t)(hole - pattern);
    size_t length = strlen(path);
    if (length < before + ID_CHARACTERS || strncmp(pattern, path, before) != 0 ||
        strcmp(hole + 4, path + before + ID_CHARACTERS) != 0) {
        return false;
    }
    memcpy(id, path + before, ID_CHARACTERS);
    id[ID_CHARACTERS] = '\0';
    return true;
}

const struct route *route_find(const char *method, const char *path, char id[64], bool *path_known)
{
    /* The library leaves out the body of an answer to HEAD. */
    const char *asked = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0 ? MHD_HTTP_METHOD_GET : method;
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        if (path_matches(routes[i].path, path, id)) {
            *path_known = true;
            if (strcmp(routes[i].method, asked) == 0) {
                return &routes[i];
            }
        }
    }
    return NULL;
}
