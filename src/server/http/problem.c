/* problem.c -- answers: plain ones, and errors as RFC 9457 problem documents. */
#include <string.h>

#include "document.h"
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
    case 411: return "Length required";
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

static json_t *problem_list(const struct tremolo_study_problems *problems)
{
    json_t *list = json_array();
    for (size_t i = 0; i < problems->stored; i++) {
        const struct tremolo_study_problem *item = &problems->item[i];
        json_latch_append(&list,
                          json_pack("{s:s, s:s}", "path", item->path, "reason", item->reason));
    }
    return list;
}

void request_problem(struct request *request, unsigned status, const char *detail)
{
    json_t *problem = json_pack("{s:s, s:s, s:i}", "type", "about:blank", "title", title_of(status),
                                "status", (int)status);
    char *body = NULL;
    if (detail != NULL) {
        json_latch_set(&problem, "detail", json_string(detail));
    }
    if (request->problems != NULL && request->problems->count > 0) {
        json_latch_set(&problem, "problems", problem_list(request->problems));
    }
    (void)!json_latch_text(&body, problem, JSON_COMPACT); /* the status says enough */
    request_answer(request, status, "application/problem+json", body);
    if (status == 429 || status == 503 || status == 425) {
        request->answer.retry_after = status == 429 ? 1 : 5;
    }
}

void request_answer_text(struct request *request, unsigned status, enum tremolo_status made,
                         char *body)
{
    if (made == TREMOLO_OK && body != NULL) {
        request_answer(request, status, "application/json", body);
        return;
    }
    made = made == TREMOLO_OK ? TREMOLO_NO_MEMORY : made;
    request_problem(request, 500, tremolo_status_sentence(made));
}

void request_answer_json(struct request *request, unsigned status, json_t *document)
{
    char *body = NULL;
    enum tremolo_status made = json_latch_text(&body, document, JSON_COMPACT);
    request_answer_text(request, status, made, body);
}
