/* operator.c -- what needs the operator's token: studies, rounds, keys. */
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "routes.h"

void operator_create(struct request *request)
{
    request->problems = calloc(1, sizeof *request->problems);
    if (request->problems == NULL) {
        request_problem(request, 503, "out of memory");
        return;
    }
    request->job.call = ingest_create_study;
    request->job.text = (const char *)request->body;
    request->job.text_length = request->length;
    request->job.problems = request->problems;
    request_wait(request);
}

static unsigned http_of(enum tremolo_status status)
{
    switch (status) {
    case TREMOLO_BAD_STUDY: return 422;
    case TREMOLO_BAD_ARGUMENT: return 409;
    case TREMOLO_ROUND_PASSED: return 410;
    default: return status >= 50 && status < 70 ? 503 : 422;
    }
}

void operator_create_finish(struct request *request)
{
    enum tremolo_status status = request->job.status;
    if (status != TREMOLO_OK) {
        request_problem(request, http_of(status),
                        status == TREMOLO_BAD_ARGUMENT ? "the server has no room for this study"
                                                       : tremolo_status_sentence(status));
        return;
    }
    log_event(&request->server->log, "info", "study", "{s:s}", "study", request->job.book->id_text);
    request_answer(request, 201, "application/json", strdup(request->job.book->published));
}

void operator_close(struct request *request)
{
    request->job.call = ingest_close_round;
    request->job.book = request->book;
    request_wait(request);
}

void operator_close_finish(struct request *request)
{
    enum tremolo_status status = request->job.status;
    if (status != TREMOLO_OK) {
        request_problem(request, http_of(status),
                        status == TREMOLO_BAD_ARGUMENT
                            ? "a round needs at least two reports before it can be closed"
                        : status == TREMOLO_ROUND_PASSED ? "the study is done"
                                                         : tremolo_status_sentence(status));
        return;
    }
    log_event(&request->server->log, "info", "round closed", "{s:s}", "study",
              request->book->id_text);
    routes_round(request);
}

/* {"device": "base64url of a name"} or {}: a random name. The key goes to the
 * operator once; the server can always derive it again and stores nothing. */
static bool read_name(struct request *request, uint8_t *name, size_t *length)
{
    json_t *sent = json_loadb((const char *)request->body, request->length, 0, NULL);
    const char *text = json_string_value(json_object_get(sent, "device"));
    bool good = json_is_object(sent);
    if (good && text != NULL) {
        *length = strlen(text) * 3 / 4;
        good = *length > 0 && *length <= TREMOLO_DEVICE_ID_MAX &&
               tremolo_base64_decode(name, *length, text) == TREMOLO_OK;
    }
    json_decref(sent);
    return good;
}

void operator_enrol(struct request *request)
{
    uint8_t name[TREMOLO_DEVICE_ID_MAX];
    uint8_t key[TREMOLO_MAC_KEY_BYTES];
    char name_text[TREMOLO_BASE64_BYTES(TREMOLO_DEVICE_ID_MAX)];
    char key_text[TREMOLO_BASE64_BYTES(TREMOLO_MAC_KEY_BYTES)];
    size_t length = 16;
    randombytes_buf(name, length);
    if (request->length > 0 && !read_name(request, name, &length)) {
        request_problem(request, 400, "expected {\"device\": NAME}, the name in base64url");
        return;
    }
    if (tremolo_device_key(key, request->server->device_secret, name, length) != TREMOLO_OK ||
        tremolo_base64_encode(name_text, sizeof name_text, name, length) != TREMOLO_OK ||
        tremolo_base64_encode(key_text, sizeof key_text, key, sizeof key) != TREMOLO_OK) {
        request_problem(request, 500, NULL);
        return;
    }
    json_t *answer = json_pack("{s:s, s:s}", "device", name_text, "key", key_text);
    request_answer(request, 201, "application/json", json_dumps(answer, JSON_COMPACT));
    json_decref(answer);
    sodium_memzero(key, sizeof key);
    sodium_memzero(key_text, sizeof key_text);
}
