/* problem.c -- answers: plain ones, and errors as RFC 9457 problem documents. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"

static const char *title_of(unsigned status)
{
    switch (status) {
    case 400: return "Malformed";
    case 401: return "Not authenticated";
    case 403: return "Forbidden";
    case 404: return "Not found";
    case 405: return "Method not allowed";
    case 409: return "Conflict";
    case 410: return "Closed";
    case 413: return "Too large";
    case 415: return "Wrong media type";
    case 422: return "Outside the study";
    case 425: return "Too early";
    case 429: return "Too many reports";
    case 503: return "Not available";
    default: return "Server error";
    }
}

void request_answer(struct request *request, unsigned status, const char *type, char *body)
{
    request->answer = (struct answer){
        .status = status, .body = body, .length = body != NULL ? strlen(body) : 0, .type = type};
    request->answered = true;
}

void request_problem(struct request *request, unsigned status, const char *detail)
{
    json_t *problem = json_pack("{s:s, s:s, s:i}", "type", "about:blank", "title", title_of(status),
                                "status", (int)status);
    if (detail != NULL) {
        (void)json_object_set_new(problem, "detail", json_string(detail));
    }
    if (request->problems != NULL && request->problems->count > 0) {
        json_t *list = json_array();
        for (size_t i = 0; i < request->problems->stored; i++) {
            const struct tremolo_study_problem *item = &request->problems->item[i];
            (void)json_array_append_new(
                list, json_pack("{s:s, s:s}", "path", item->path, "reason", item->reason));
        }
        (void)json_object_set_new(problem, "problems", list);
    }
    char *body = json_dumps(problem, JSON_COMPACT);
    json_decref(problem);
    request_answer(request, status, "application/problem+json", body);
    if (status == 429 || status == 503 || status == 425) {
        request->answer.retry_after = status == 429 ? 1 : 5;
    }
}
