/* request_head.c -- which route, which study, and whether the sender is allowed to. */
#include <stdlib.h>
#include <string.h>

#include "routes.h"

/* Compare in a time that depends on the length of what was sent only. */
static bool token_matches(struct request *request)
{
    const char *sent = request_header(request, MHD_HTTP_HEADER_AUTHORIZATION);
    static const char scheme[] = "Bearer ";
    if (sent == NULL || strncmp(sent, scheme, sizeof scheme - 1) != 0) {
        return false;
    }
    sent += sizeof scheme - 1;
    const char *token = request->server->token;
    size_t length = strlen(sent);
    size_t expected = strlen(token);
    unsigned difference = (unsigned)(length ^ expected);
    for (size_t i = 0; i < length; i++) {
        difference |= (unsigned)(sent[i] ^ token[expected > 0 ? i % expected : 0]);
    }
    return difference == 0 && expected > 0;
}

/* Most requests are for the study of the one before, and studies never go away. */
static void find_study(struct request *request, const char id_text[LOOP_ID_BYTES])
{
    uint8_t id[TREMOLO_STUDY_ID_BYTES];
    struct loop *loop = request->loop;
    if (strcmp(loop->recent_id, id_text) == 0) {
        request->served = loop->recent;
        return;
    }
    bool decoded = tremolo_base64_decode(id, sizeof id, id_text) == TREMOLO_OK;
    bool unsure = false;
    request->served = decoded ? writer_find(request->server->writer, &unsure, id) : NULL;
    if (request->served != NULL) {
        memcpy(loop->recent_id, id_text, LOOP_ID_BYTES);
        loop->recent = request->served;
        return;
    }
    if (unsure && !pages_is_for_people(request)) { /* the page itself asks until there is news */
        request_problem(request, 503, "this gateway has not heard of such a study yet");
        request->answer.retry_after = 1;
    } else if (!unsure) {
        pages_missing(request, "no such study");
    }
}

static void check_length(struct request *request)
{
    const char *text = request_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (text != NULL && strtoull(text, NULL, 10) > request->route->body_max) {
        request_problem(request, 413, "the body is larger than this request may be");
    }
}

static void refuse_path(struct request *request, bool path_known)
{
    if (path_known) {
        request_problem(request, 405, "this method is not for this path");
    } else if (!pages_redirect(request)) {
        pages_missing(request, "no such path");
    }
}

/* A browser asks before a page of another origin may: yes, where devices ask. */
static bool answer_preflight(struct request *request, const char *url)
{
    static const char *const methods[] = {MHD_HTTP_METHOD_POST, MHD_HTTP_METHOD_GET};
    if (strcmp(request->method, MHD_HTTP_METHOD_OPTIONS) != 0) {
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        char id[64];
        bool path_known = false;
        const struct route *route = route_find(methods[i], url, id, &path_known);
        if (route != NULL && route->audience == FOR_DEVICES) {
            request->route = route;
            request_answer(request, MHD_HTTP_NO_CONTENT, NULL, NULL);
            return true;
        }
    }
    return false;
}

void request_read_head(struct request *request, const char *url)
{
    char id[LOOP_ID_BYTES] = "";
    bool path_known = false;
    if (answer_preflight(request, url)) {
        return;
    }
    request->route = route_find(request->method, url, id, &path_known);
    if (request->route == NULL) {
        refuse_path(request, path_known);
    } else if (request->route->audience == FOR_OPERATOR && !token_matches(request)) {
        bool given = request_header(request, MHD_HTTP_HEADER_AUTHORIZATION) != NULL;
        request_problem(request, given ? 403 : 401, "this request needs the operator's token");
    } else {
        check_length(request);
        if (!request->answered && id[0] != '\0') {
            find_study(request, id);
        }
    }
}
