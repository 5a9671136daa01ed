/* bus_nats_store.c -- values and streams on NATS: reading, replacing, making, forgetting. */
#include "bus.h"

#ifdef TREMOLO_HAS_NATS

#include <inttypes.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus_nats.h"

static const char bucket[] = "tremolo";
static const char bucket_stream[] = "KV_tremolo";

/* ---------------------------------------------------------------- values */

void bus_nats_take(struct bus_value *value, natsMsg *message)
{
    size_t length = (size_t)natsMsg_GetDataLength(message);
    value->bytes = malloc(length + 1);
    if (value->bytes == NULL) {
        return;
    }
    if (length > 0) {
        memcpy(value->bytes, natsMsg_GetData(message), length);
    }
    value->bytes[length] = '\0';
    value->length = length;
    value->revision = natsMsg_GetSequence(message);
    (void)snprintf(value->subject, sizeof value->subject, "%s", natsMsg_GetSubject(message));
}

/* Takes the message. One that says that a value was erased is none. */
static enum tremolo_status keep(struct bus_value *value, natsMsg *message)
{
    const char *operation = NULL;
    bool erased =
        natsMsgHeader_Get(message, "KV-Operation", &operation) == NATS_OK && operation != NULL;
    if (!erased) {
        bus_nats_take(value, message);
    }
    natsMsg_Destroy(message);
    return erased || value->bytes != NULL ? TREMOLO_OK : TREMOLO_NO_MEMORY;
}

/* Values are read from the leader: compare-and-set does refuse writes, so replicas may
 * number what they hold differently (see serial_header in bus_nats_messages.c). */
static enum tremolo_status bus_nats_get(struct bus *base, const char *key, struct bus_value *value)
{
    struct nats_bus *bus = self(base);
    char subject[BUS_NAME_BYTES];
    natsMsg *message = NULL;
    jsErrCode code = (jsErrCode)0;
    *value = (struct bus_value){0};
    enum tremolo_status status = bus_nats_reopen(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    (void)snprintf(subject, sizeof subject, "$KV.%s.%s", bucket, key);
    natsStatus answer = js_GetLastMsg(&message, bus->stream, bucket_stream, subject, NULL, &code);
    if (answer == NATS_NOT_FOUND || code == JSNoMessageFoundErr) {
        return TREMOLO_OK;
    }
    status = bus_nats_judge(bus, key, answer, code, TREMOLO_NETWORK_FAILED);
    return status == TREMOLO_OK ? keep(value, message) : status;
}

static enum tremolo_status bus_nats_swap(struct bus *base, const char *key, uint64_t expected,
                                         const uint8_t *bytes, size_t length, uint64_t *revision)
{
    struct nats_bus *bus = self(base);
    char subject[BUS_NAME_BYTES];
    jsPubOptions options;
    jsPubAck *ack = NULL;
    jsErrCode code = (jsErrCode)0;
    enum tremolo_status status = bus_nats_reopen(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    (void)snprintf(subject, sizeof subject, "$KV.%s.%s", bucket, key);
    (void)jsPubOptions_Init(&options);
    options.MaxWait = REQUEST_MS;
    options.ExpectLastSubjectSeq = expected;
    options.ExpectNoMessage = expected == 0;
    natsStatus answer = NATS_NO_RESPONDERS;
    int64_t until = clock_ms() + REQUEST_MS;
    /* No server took it: the bucket is being made, or has no leader just now. */
    while (answer == NATS_NO_RESPONDERS && clock_ms() < until) {
        answer = js_Publish(&ack, bus->stream, subject, bytes, (int)length, &options, &code);
        if (answer == NATS_NO_RESPONDERS) {
            clock_pause(RETRY_MS);
        }
    }
    status = bus_nats_judge(bus, key, answer, code, TREMOLO_NOT_SYNCED);
    if (status == TREMOLO_OK && ack != NULL) {
        *revision = ack->Sequence;
    }
    jsPubAck_Destroy(ack);
    return status;
}

/* Questions about streams wait as long as others do. */
static jsOptions stream_options(void)
{
    jsOptions options;
    (void)jsOptions_Init(&options);
    options.Wait = REQUEST_MS;
    return options;
}

/* ---------------------------------------------------------------- streams */

/* Base64 as NATS writes it; an absent field is empty. */
static bool decode_data(struct bus_value *value, const json_t *data)
{
    const char *text = json_string_value(data);
    size_t length = text != NULL ? json_string_length(data) : 0;
    value->bytes = malloc(length / 4 * 3 + 4);
    if (value->bytes == NULL) {
        return false;
    }
    if (length > 0 &&
        sodium_base642bin(value->bytes, length / 4 * 3 + 3, text, length, NULL, &value->length,
                          NULL, sodium_base64_VARIANT_ORIGINAL) != 0) {
        free(value->bytes);
        value->bytes = NULL;
        return false;
    }
    value->bytes[value->length] = '\0';
    return true;
}

void bus_nats_ask_for(struct bus_nats_question *question, const char *stream, const char *subjects,
                      uint64_t from)
{
    (void)snprintf(question->subject, sizeof question->subject, "$JS.API.STREAM.MSG.GET.%s",
                   stream);
    (void)snprintf(question->text, sizeof question->text,
                   "{\"seq\":%" PRIu64 ",\"next_by_subj\":\"%s\"}", from > 0 ? from : 1, subjects);
}

enum tremolo_status bus_nats_read_answer(struct nats_bus *bus, struct bus_value *message,
                                         natsMsg *answer)
{
    json_t *json =
        json_loadb(natsMsg_GetData(answer), (size_t)natsMsg_GetDataLength(answer), 0, NULL);
    const json_t *error = json_object_get(json, "error");
    const json_t *found = json_object_get(json, "message");
    const char *subject = json_string_value(json_object_get(found, "subject"));
    enum tremolo_status status = TREMOLO_OK;
    if (error != NULL) {
        const char *text = json_string_value(json_object_get(error, "description"));
        bool none = json_integer_value(json_object_get(error, "err_code")) == JSNoMessageFoundErr;
        status = none ? TREMOLO_OK
                      : bus_nats_fail(bus, TREMOLO_STORE_FAILED, "read",
                                      text != NULL ? text : "refused");
    } else if (subject == NULL || !decode_data(message, json_object_get(found, "data"))) {
        status = bus_nats_fail(bus, TREMOLO_NETWORK_FAILED, "read",
                               "the answer is not what was expected");
    } else {
        message->revision = (uint64_t)json_integer_value(json_object_get(found, "seq"));
        (void)snprintf(message->subject, sizeof message->subject, "%s", subject);
    }
    json_decref(json);
    return status;
}

/* What is remembered of the stream, or the place for it. */
static struct copies *copies_of(struct nats_bus *bus, const char *stream)
{
    for (size_t i = 0; i < COPIES_MAX; i++) {
        if (strcmp(bus->copies[i].stream, stream) == 0) {
            return &bus->copies[i];
        }
    }
    struct copies *fresh = &bus->copies[bus->copies_next++ % COPIES_MAX];
    *fresh = (struct copies){.asked_ms = INT64_MIN / 2};
    (void)snprintf(fresh->stream, sizeof fresh->stream, "%s", stream);
    return fresh;
}

bool bus_nats_is_single(struct nats_bus *bus, const char *stream)
{
    jsStreamInfo *info = NULL;
    struct copies *copies = copies_of(bus, stream);
    if (clock_ms() - copies->asked_ms >= SINGLE_MS) {
        copies->single = js_GetStreamInfo(&info, bus->stream, stream, NULL, NULL) == NATS_OK &&
                         info->Config->Replicas == 1;
        copies->asked_ms = clock_ms();
        jsStreamInfo_Destroy(info);
    }
    return copies->single;
}

/* Bytes as they are, from whichever node has them: a third of the work of asking the leader,
 * which answers in JSON. False when that did not answer the question. */
static bool next_directly(struct nats_bus *bus, const char *stream, const char *subjects,
                          uint64_t from, struct bus_value *message, enum tremolo_status *status)
{
    jsDirectGetMsgOptions question;
    natsMsg *answer = NULL;
    (void)jsDirectGetMsgOptions_Init(&question);
    question.Sequence = from > 0 ? from : 1;
    question.NextBySubject = subjects;
    natsStatus answered = js_DirectGetMsg(&answer, bus->stream, stream, NULL, &question);
    *status = answered == NATS_OK ? keep(message, answer) : TREMOLO_OK;
    return answered == NATS_OK || answered == NATS_NOT_FOUND;
}

/* Where there are several copies the leader is asked: replicas may number what they hold
 * differently, too (see serial_header in bus_nats_messages.c), and a log's numbers are what a fold's position
 * means. */
static enum tremolo_status bus_nats_next(struct bus *base, const char *stream, const char *subjects,
                                         uint64_t from, struct bus_value *message)
{
    struct nats_bus *bus = self(base);
    struct bus_nats_question question;
    natsMsg *answer = NULL;
    *message = (struct bus_value){0};
    enum tremolo_status status = bus_nats_reopen(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    if (bus_nats_is_single(bus, stream) &&
        next_directly(bus, stream, subjects, from, message, &status)) {
        return status;
    }
    bus_nats_ask_for(&question, stream, subjects, from);
    natsStatus answered = natsConnection_RequestString(&answer, bus->connection, question.subject,
                                                       question.text, REQUEST_MS);
    status = bus_nats_judge(bus, stream, answered, (jsErrCode)0, TREMOLO_NETWORK_FAILED);
    if (status == TREMOLO_OK) {
        status = bus_nats_read_answer(bus, message, answer);
    }
    natsMsg_Destroy(answer);
    return status;
}

static void describe(struct bus_state *state, const jsStreamInfo *info)
{
    *state = (struct bus_state){.last = info->State.LastSeq,
                                .messages = info->State.Msgs,
                                .bytes = info->State.Bytes,
                                .replicas = (unsigned)info->Config->Replicas,
                                .current = 1};
    if (info->State.Subjects != NULL) {
        for (int i = 0; i < info->State.Subjects->Count; i++) {
            state->matching += info->State.Subjects->List[i].Msgs;
        }
    }
    if (info->Cluster == NULL) {
        return;
    }
    state->current = info->Cluster->Leader != NULL && info->Cluster->Leader[0] != '\0';
    if (info->Cluster->Leader != NULL) {
        (void)snprintf(state->leader, sizeof state->leader, "%s", info->Cluster->Leader);
    }
    for (int i = 0; i < info->Cluster->ReplicasLen; i++) {
        const jsPeerInfo *peer = info->Cluster->Replicas[i];
        state->current += peer->Current && !peer->Offline;
    }
}

static enum tremolo_status bus_nats_state(struct bus *base, const char *stream,
                                          const char *subjects, struct bus_state *state)
{
    struct nats_bus *bus = self(base);
    jsStreamInfo *info = NULL;
    jsOptions options = stream_options();
    jsErrCode code = (jsErrCode)0;
    enum tremolo_status status = bus_nats_reopen(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    options.Stream.Info.SubjectsFilter = subjects;
    natsStatus answer = js_GetStreamInfo(&info, bus->stream, stream, &options, &code);
    status = bus_nats_judge(bus, stream, answer, code, TREMOLO_NETWORK_FAILED);
    if (status == TREMOLO_OK) {
        describe(state, info);
    }
    jsStreamInfo_Destroy(info);
    return status;
}

static enum tremolo_status bus_nats_forget(struct bus *base, const char *stream,
                                           const char *subject, uint64_t before)
{
    struct nats_bus *bus = self(base);
    jsOptions options = stream_options();
    jsErrCode code = (jsErrCode)0;
    enum tremolo_status status = bus_nats_reopen(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    options.Stream.Purge.Subject = subject;
    options.Stream.Purge.Sequence = before;
    natsStatus answer = js_PurgeStream(bus->stream, stream, &options, &code);
    return bus_nats_judge(bus, stream, answer, code, TREMOLO_NOT_SYNCED);
}

static enum tremolo_status bus_nats_erase(struct bus *base, const char *key)
{
    char subject[BUS_NAME_BYTES];
    (void)snprintf(subject, sizeof subject, "$KV.%s.%s", bucket, key);
    return bus_nats_forget(base, bucket_stream, subject, 0);
}

static enum tremolo_status bus_nats_drop(struct bus *base, const char *stream)
{
    struct nats_bus *bus = self(base);
    jsErrCode code = (jsErrCode)0;
    enum tremolo_status status = bus_nats_reopen(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    natsStatus answer = js_DeleteStream(bus->stream, stream, NULL, &code);
    return answer == NATS_NOT_FOUND || code == JSStreamNotFoundErr
               ? TREMOLO_OK
               : bus_nats_judge(bus, stream, answer, code, TREMOLO_NOT_SYNCED);
}

/* ---------------------------------------------------------------- making */

/* Three replicas unless the broker is smaller: then as many as it has. */
static natsStatus add_stream(struct nats_bus *bus, jsStreamConfig *config, unsigned replicas,
                             jsErrCode *code)
{
    natsStatus status = NATS_ERR;
    unsigned most = replicas > 0 ? replicas : 3;
    unsigned least = replicas > 0 ? replicas : 1;
    for (unsigned count = most; count >= least && status != NATS_OK; count--) {
        config->Replicas = count;
        *code = (jsErrCode)0;
        status = js_AddStream(NULL, bus->stream, config, NULL, code);
        bool too_many = *code == JSStreamReplicasNotSupportedErr || *code == JSClusterNoPeersErr ||
                        *code == JSInsufficientResourcesErr;
        if (status == NATS_OK || !too_many || count == 1) {
            break;
        }
    }
    return status;
}

/* Ours may be there already, with whatever settings its operator gave it. */
static natsStatus find_or_add(struct nats_bus *bus, jsStreamConfig *config, unsigned replicas,
                              jsErrCode *code)
{
    jsStreamInfo *info = NULL;
    *code = (jsErrCode)0;
    natsStatus status = js_GetStreamInfo(&info, bus->stream, config->Name, NULL, code);
    jsStreamInfo_Destroy(info);
    if (status != NATS_OK && *code == JSStreamNotFoundErr) {
        status = add_stream(bus, config, replicas, code);
        if (*code == JSStreamNameExistErr) { /* somebody else was faster */
            status = NATS_OK;
        }
    }
    return status;
}

enum tremolo_status bus_nats_make_stream(struct nats_bus *bus, jsStreamConfig *config,
                                         unsigned replicas)
{
    jsErrCode code = (jsErrCode)0;
    natsStatus status = NATS_TIMEOUT;
    /* While a stream that another process has just made elects its first leader, no server
     * answers for it. */
    for (int i = 0; i < MAKE_TRIES && status == NATS_TIMEOUT; i++) {
        status = find_or_add(bus, config, replicas, &code);
    }
    if (status == NATS_NO_RESPONDERS || code == JSNotEnabledErr ||
        code == JSNotEnabledForAccountErr) {
        return bus_nats_fail(bus, TREMOLO_STORE_FAILED, bus->url, "it runs without JetStream");
    }
    return bus_nats_judge(bus, config->Name, status, code, TREMOLO_NETWORK_FAILED);
}

void bus_nats_stream_config(jsStreamConfig *config, const char *stream, const char **subjects)
{
    (void)jsStreamConfig_Init(config);
    config->Name = stream;
    config->Subjects = subjects;
    config->SubjectsLen = 1;
    config->Storage = js_FileStorage;
    config->Discard = js_DiscardNew; /* full means refused, never forgotten */
}

static enum tremolo_status bus_nats_make(struct bus *base, const char *stream, const char *subjects,
                                         unsigned replicas)
{
    struct nats_bus *bus = self(base);
    jsStreamConfig config;
    enum tremolo_status status = bus_nats_reopen(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    bus_nats_stream_config(&config, stream, &subjects);
    config.AllowDirect = true;
    return bus_nats_make_stream(bus, &config, replicas);
}

/* The bucket as NATS' own tools would make it, with one revision a key. */
enum tremolo_status bus_nats_make_bucket(struct nats_bus *bus)
{
    static const char *subjects = "$KV.tremolo.>";
    jsStreamConfig config;
    bus_nats_stream_config(&config, bucket_stream, &subjects);
    config.MaxMsgsPerSubject = 1;
    config.AllowRollup = true;
    config.DenyDelete = true;
    config.AllowDirect = true;
    return bus_nats_make_stream(bus, &config, 0);
}

void bus_nats_store_calls(struct bus *bus)
{
    bus->get = bus_nats_get;
    bus->swap = bus_nats_swap;
    bus->erase = bus_nats_erase;
    bus->make = bus_nats_make;
    bus->next = bus_nats_next;
    bus->state = bus_nats_state;
    bus->forget = bus_nats_forget;
    bus->drop = bus_nats_drop;
}

#endif
