/* operator.c -- what needs the operator's token: new studies, the end of a round, discarded
 * reports, device keys.
 *
 * The service has compared the token before a handler runs. Changes of a study are jobs of the
 * writer, like reports, so all changes have one order. The answer to a job that is refused is the
 * sentence of its status. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "document.h"
#include "routes.h"
#include "study_internal.h"

/* The body is the study file. It is parsed by the writer's job, which has the keys and the list
 * of studies; problems lists everything that is wrong with it. The job reads the body in place;
 * the request keeps it until the job is done. */
static void operator_create(struct request *request)
{
    struct study_request *own = own_of(request);
    if (request->length == 0) {
        request_problem(request, 400, "the body is empty; send the study file");
        return;
    }
    own->problems = calloc(1, sizeof *own->problems);
    if (own->problems == NULL) {
        request_problem(request, 503, "out of memory");
        return;
    }
    own->job.create.text = (const char *)request->body;
    own->job.create.length = request->length;
    own->job.create.problems = own->problems;
    submit_job(own, JOB_CREATE);
}

/* Every problem of a study file with the path of its member, for people and for `tremolo study
 * publish`. */
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

/* Answer a job that failed with its status's own sentence. False, without an answer, when the job
 * succeeded. */
static bool refuse_failed(struct request *request)
{
    struct study_request *own = own_of(request);
    enum tremolo_status status = own->job.status;
    unsigned answer =
        status == TREMOLO_BAD_ARGUMENT ? 500 : 422; /* our bug, or the study's fault */
    switch (tremolo_status_kind(status)) {
    case TREMOLO_KIND_DONE: return false;
    case TREMOLO_KIND_SYSTEM:
    case TREMOLO_KIND_STORE: answer = 503; break;
    case TREMOLO_KIND_OPERATOR: answer = status == TREMOLO_STUDY_DONE ? 410 : 409; break;
    default: break;
    }
    request_problem_with(request, answer, tremolo_status_sentence(status),
                         own->problems != NULL && own->problems->count > 0
                             ? json_pack("{s:o}", "problems", problem_list(own->problems))
                             : NULL);
    return true;
}

/* 201 also when the study was there before: its id is the hash of its content, so publishing
 * twice is harmless. */
static void operator_create_finish(struct request *request)
{
    struct study_request *own = own_of(request);
    if (refuse_failed(request)) {
        return;
    }
    log_event(&server_of(request)->log, "info", "study", "{s:s}", "study",
              own->job.served->id_text);
    request_answer_text(request, 201, strdup(own->job.served->published));
}

/* ?round=N closes that round and no other, so that asking again is harmless. False after an
 * answer. */
static bool read_round(struct request *request)
{
    struct study_request *own = own_of(request);
    const char *text = request_query(request, "round");
    unsigned rounds = study_of(request)->terms->rounds;
    char *end = NULL;
    if (text == NULL) {
        return true;
    }
    unsigned long number = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number >= rounds) {
        request_problem(request, 400, "round is not the number of a round of this study");
        return false;
    }
    served_lock(study_of(request));
    /* A gateway may not have heard of it yet, and asks before it closes anything. */
    bool begun = number < study_of(request)->sums.opened || study_of(request)->mirror != NULL;
    served_unlock(study_of(request));
    if (!begun) {
        request_problem(request, 409, tremolo_status_sentence(TREMOLO_ROUND_NOT_BEGUN));
        return false;
    }
    own->job.close.named = true;
    own->job.close.round = (unsigned)number;
    return true;
}

/* The job decides whether the round can be closed; here only its number is read. */
static void operator_close(struct request *request)
{
    if (read_round(request)) {
        submit_job(own_of(request), JOB_CLOSE);
    }
}

/* The answer is the round that is open now, as devices get it. */
static void operator_close_finish(struct request *request)
{
    if (refuse_failed(request)) {
        return;
    }
    log_event(&server_of(request)->log, "info", "round closed", "{s:s}", "study",
              study_of(request)->id_text);
    devices_answer_round(request);
}

/* ?from=DATE&to=DATE: reports that came in between no longer count. */
static void operator_discard(struct request *request)
{
    struct study_request *own = own_of(request);
    const char *from = request_query(request, "from");
    const char *to = request_query(request, "to");
    if (study_of(request)->mirror != NULL) {
        request_problem(request, 409, tremolo_status_sentence(TREMOLO_NOT_IN_CLUSTER));
        return;
    }
    /* Not into the job yet: until that is submitted its union holds reports, which are freed. */
    int64_t first = 0, end = 0;
    if (from == NULL || to == NULL || !tremolo_study_date_read(&first, from) ||
        !tremolo_study_date_read(&end, to) || first >= end) {
        request_problem(request, 400,
                        "from and to are needed, from before to, like 2026-03-01T12:00:00Z");
        return;
    }
    own->job.discard.from = first;
    own->job.discard.to = end;
    submit_job(own, JOB_DISCARD);
}

/* How many reports no longer count, and how many are left. A line of the log keeps the span,
 * because the answer is seen once. */
static void operator_discard_finish(struct request *request)
{
    struct study_request *own = own_of(request);
    struct served_study *served = study_of(request);
    if (refuse_failed(request)) {
        return;
    }
    served_lock(served);
    json_int_t left = (json_int_t)served->sums.reports;
    served_unlock(served);
    json_int_t gone = (json_int_t)own->job.discard.reports;
    log_event(&server_of(request)->log, "info", "reports discarded", "{s:s, s:I, s:I, s:I}",
              "study", served->id_text, "from", (json_int_t)own->job.discard.from, "to",
              (json_int_t)own->job.discard.to, "reports", gone);
    request_answer_json(request, 200, json_pack("{s:I, s:I}", "discarded", gone, "reports", left));
}

/* A device's name is bytes; most have one that can be read. */
struct device_name {
    uint8_t bytes[TREMOLO_DEVICE_ID_MAX + 1];
    size_t length;
};

/* A name is 1 to TREMOLO_DEVICE_ID_MAX bytes; the length decides, not the characters. */
static bool take_text(struct device_name *name, const char *text)
{
    name->length = strlen(text);
    if (name->length == 0 || name->length > TREMOLO_DEVICE_ID_MAX) {
        return false;
    }
    memcpy(name->bytes, text, name->length);
    return true;
}

/* {"name": text}, {"device": base64url of any bytes}, or nothing: a random one that can be read.
 * False when the body is no object or holds an unsound name. */
static bool read_name(struct device_name *name, struct request *request)
{
    json_t *sent = json_loadb((const char *)request->body, request->length, 0, NULL);
    const char *text = json_string_value(json_object_get(sent, "name"));
    const char *coded = json_string_value(json_object_get(sent, "device"));
    bool good = json_is_object(sent);
    if (good && text != NULL) {
        good = take_text(name, text);
    } else if (good && coded != NULL) {
        name->length = devices_name(name->bytes, coded);
        good = name->length > 0;
    }
    json_decref(sent);
    return good;
}

/* 16 random bytes as text: two devices that are enrolled without a name never get the same one. */
static bool random_name(struct device_name *name)
{
    uint8_t fresh[16];
    char text[TREMOLO_BASE64_BYTES(sizeof fresh)];
    randombytes_buf(fresh, sizeof fresh);
    return tremolo_base64_encode(text, sizeof text, fresh, sizeof fresh) == TREMOLO_OK &&
           take_text(name, text);
}

/* The key goes to the operator once; the server can always derive it again and stores nothing.
 * The caller owns the answer; NULL without memory. Copies of the key are wiped here. */
static json_t *enrolled_json(struct request *request, struct device_name *name)
{
    uint8_t key[TREMOLO_MAC_KEY_BYTES];
    char device[TREMOLO_BASE64_BYTES(TREMOLO_DEVICE_ID_MAX)];
    char key_text[TREMOLO_BASE64_BYTES(TREMOLO_MAC_KEY_BYTES)];
    json_t *answer = NULL;
    if (tremolo_device_key(key, server_of(request)->device_secret, name->bytes, name->length) ==
            TREMOLO_OK &&
        tremolo_base64_encode(device, sizeof device, name->bytes, name->length) == TREMOLO_OK &&
        tremolo_base64_encode(key_text, sizeof key_text, key, sizeof key) == TREMOLO_OK) {
        answer = json_pack("{s:s, s:s}", "device", device, "key", key_text);
        json_t *text = json_stringn((const char *)name->bytes, name->length);
        if (text != NULL) { /* names that are not text have none here */
            json_latch_set(&answer, "name", text);
        }
    }
    sodium_memzero(key, sizeof key);
    sodium_memzero(key_text, sizeof key_text);
    return answer;
}

/* No job: a device's key follows from its name and the server's secret, so nothing is stored. */
static void operator_enrol(struct request *request)
{
    struct device_name name = {{0}, 0};
    bool good = random_name(&name);
    if (request->length > 0 && !read_name(&name, request)) {
        request_problem(request, 400, "expected {\"name\": TEXT} or {\"device\": BASE64URL}");
        return;
    }
    request_answer_json(request, 201, good ? enrolled_json(request, &name) : NULL);
}

const struct route operator_routes[] = {
    {"POST", "/v1/studies", FOR_OPERATOR, TREMOLO_STUDY_MAX_BYTES, operator_create,
     operator_create_finish},
    {"POST", "/v1/studies/{id}/round/close", FOR_OPERATOR, 1024, operator_close,
     operator_close_finish},
    {"POST", "/v1/studies/{id}/discard", FOR_OPERATOR, 1024, operator_discard,
     operator_discard_finish},
    {"POST", "/v1/studies/{id}/devices", FOR_OPERATOR, 4096, operator_enrol, NULL},
    {0},
};
