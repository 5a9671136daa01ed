/* bus_nats.c -- the bus on NATS JetStream; the only file that knows libnats.
 *
 * Keys are those of the key-value bucket "tremolo", so NATS' own tools show
 * them. A value is written with the revision it replaces. All reads are
 * answered by the leader of a stream.
 *
 * Threads: the library has its own. They call on_ack and on_hint; `lock` guards
 * what these share with the one thread that uses the bus. */
#include "bus.h"

#ifdef TREMOLO_HAS_NATS

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <nats/nats.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "moment.h"

enum {
    SERVERS_MAX = 16,
    REQUEST_MS = 2000,
    MAKE_TRIES = 5,
    SINGLE_MS = 1000,
    RETRY_MS = 100,
    REOPEN_MS = 1000,
    PULL_MS = 500,
    LISTENERS_MAX = 4,
    QUIET_MS = 1000, /* for the library's threads to be done with us */
    WORDS_BYTES = 256,
};

static const char bucket[] = "tremolo";
static const char bucket_stream[] = "KV_tremolo";
/* By this we know our messages' answers. It is not NATS' own id of a message, which would
 * make the broker drop repeats: nats-server 2.9 numbers messages differently on a replica
 * that restarts after a stream refused something that was on its way, and then what one
 * replica calls 219 is 221 on another. A log that refuses nothing has no such trouble,
 * and repeats are ours to know. */
static const char serial_header[] = "Tremolo-Serial";

struct listener {
    struct nats_bus *bus;
    natsSubscription *subscription;
    char subjects[BUS_NAME_BYTES];
    bus_hint_fn heard;
    void *context;
};

struct nats_bus {
    struct bus base;
    natsConnection *connection;
    jsCtx *stream;
    char *url; /* servers, with commas */
    char *creds;
    char *ca;
    char *cert;
    char *key;
    char name[64];
    char inbox[80]; /* so that a user can be kept from listening to others' answers */
    unsigned replicas;
    int64_t opened_ms; /* last attempt */
    struct listener listener[LISTENERS_MAX];
    size_t listeners;
    natsSubscription *pulling;
    natsMsgList pulled; /* not yet settled */
    char words[WORDS_BYTES];
    char single_name[BUS_NAME_BYTES]; /* see is_single */
    bool single;
    int64_t single_ms;
    uint64_t run; /* random: no two processes use the same message ids */

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t settled;
    struct bus_message *messages; /* of the group under way */
    natsStatus *answers;
    size_t count;
    size_t waiting;
    uint64_t first;     /* serial number of messages[0] */
    size_t outstanding; /* messages for which on_ack will still be called */
    size_t listening;   /* subscriptions whose thread may still call on_hint */
};

static struct nats_bus *self(struct bus *bus)
{
    return (struct nats_bus *)(void *)bus;
}

static void pause_ms(int64_t ms)
{
    struct timespec pause = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    (void)nanosleep(&pause, NULL);
}

/* ---------------------------------------------------------------- words */

static enum tremolo_status fail(struct nats_bus *bus, enum tremolo_status status, const char *what,
                                const char *reason)
{
    (void)snprintf(bus->words, sizeof bus->words, "%s: %s", what, reason);
    return status;
}

/* What the broker says no to. Without any answer the status is `unanswered`. */
static enum tremolo_status judge(struct nats_bus *bus, const char *what, natsStatus status,
                                 jsErrCode code, enum tremolo_status unanswered)
{
    switch (status) {
    case NATS_OK: return TREMOLO_OK;
    case NATS_NO_MEMORY: return fail(bus, TREMOLO_NO_MEMORY, what, "out of memory");
    case NATS_NO_RESPONDERS:
    case NATS_TIMEOUT:
    case NATS_CONNECTION_DISCONNECTED:
    case NATS_CONNECTION_CLOSED:
    case NATS_IO_ERROR: return fail(bus, unanswered, what, natsStatus_GetText(status));
    default: break;
    }
    const char *text = nats_GetLastError(NULL);
    text = text != NULL && text[0] != '\0' ? text : natsStatus_GetText(status);
    switch ((int)code) {
    case JSStreamWrongLastSequenceErr: return fail(bus, TREMOLO_CHANGED, what, text);
    case JSInsufficientResourcesErr:
    case JSStorageResourcesExceededErr:
    case JSMemoryResourcesExceededErr:
    case JSStreamStoreFailedErr: return fail(bus, TREMOLO_STORE_FULL, what, text);
    default: return fail(bus, TREMOLO_STORE_FAILED, what, text);
    }
}

/* ---------------------------------------------------------------- connecting */

/* "user:password" from a file that only its owner may read. */
static natsStatus set_password(struct nats_bus *bus, natsOptions *options)
{
    char line[512];
    struct stat about;
    FILE *file = fopen(bus->creds, "re");
    if (file == NULL || fstat(fileno(file), &about) != 0) {
        (void)fail(bus, TREMOLO_BAD_ARGUMENT, bus->creds, strerror(errno));
        if (file != NULL) {
            (void)fclose(file);
        }
        return NATS_INVALID_ARG;
    }
    bool read = fgets(line, sizeof line, file) != NULL;
    (void)fclose(file);
    line[read ? strcspn(line, "\r\n") : 0] = '\0';
    char *colon = strchr(line, ':');
    if ((about.st_mode & 077) != 0 || colon == NULL) {
        explicit_bzero(line, sizeof line);
        (void)fail(bus, TREMOLO_BAD_ARGUMENT, bus->creds,
                   colon == NULL ? "neither credentials of NATS nor a line user:password"
                                 : "others may read this secret; set its mode to 0600");
        return NATS_INVALID_ARG;
    }
    *colon = '\0';
    natsStatus status = natsOptions_SetUserInfo(options, line, colon + 1);
    explicit_bzero(line, sizeof line);
    return status;
}

static bool is_nats_credentials(const char *path)
{
    char head[4096] = "";
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    size_t length = fread(head, 1, sizeof head - 1, file);
    (void)fclose(file);
    head[length] = '\0';
    bool jwt = strstr(head, "BEGIN NATS USER JWT") != NULL;
    explicit_bzero(head, sizeof head);
    return jwt;
}

static natsStatus set_secrets(struct nats_bus *bus, natsOptions *options)
{
    natsStatus status = NATS_OK;
    if (bus->creds != NULL) {
        status = is_nats_credentials(bus->creds)
                     ? natsOptions_SetUserCredentialsFromFiles(options, bus->creds, NULL)
                     : set_password(bus, options);
    }
    if (status == NATS_OK && (bus->ca != NULL || bus->cert != NULL)) {
        status = natsOptions_SetSecure(options, true);
    }
    if (status == NATS_OK && bus->ca != NULL) {
        status = natsOptions_LoadCATrustedCertificates(options, bus->ca);
    }
    if (status == NATS_OK && bus->cert != NULL) {
        status = natsOptions_LoadCertificatesChain(options, bus->cert, bus->key);
    }
    if (status != NATS_OK && bus->words[0] == '\0') {
        (void)fail(bus, TREMOLO_BAD_ARGUMENT, "the store's certificates or credentials",
                   nats_GetLastError(NULL));
    }
    return status;
}

/* A dead node is noticed within three seconds, and tried again for ever. */
static natsStatus set_habits(struct nats_bus *bus, natsOptions *options)
{
    const char *servers[SERVERS_MAX];
    int count = 0;
    char *rest = NULL;
    char *copy = strdup(bus->url);
    natsStatus status = copy == NULL ? NATS_NO_MEMORY : NATS_OK;
    for (char *at = copy == NULL ? NULL : strtok_r(copy, ",", &rest);
         at != NULL && count < SERVERS_MAX; at = strtok_r(NULL, ",", &rest)) {
        servers[count++] = at;
    }
    if (status == NATS_OK) {
        status = count > 0 ? natsOptions_SetServers(options, servers, count) : NATS_ADDRESS_MISSING;
    }
    free(copy);
    status = status == NATS_OK ? natsOptions_SetName(options, bus->name) : status;
    status = status == NATS_OK ? natsOptions_SetTimeout(options, REQUEST_MS) : status;
    status = status == NATS_OK ? natsOptions_SetMaxReconnect(options, -1) : status;
    status = status == NATS_OK ? natsOptions_SetReconnectWait(options, RETRY_MS) : status;
    status =
        status == NATS_OK ? natsOptions_SetReconnectJitter(options, RETRY_MS, RETRY_MS) : status;
    status = status == NATS_OK ? natsOptions_SetPingInterval(options, 1000) : status;
    status = status == NATS_OK ? natsOptions_SetMaxPingsOut(options, 2) : status;
    status = status == NATS_OK ? natsOptions_SetFailRequestsOnDisconnect(options, true) : status;
    status = status == NATS_OK ? natsOptions_SetCustomInboxPrefix(options, bus->inbox) : status;
    return status == NATS_OK ? natsOptions_SetSendAsap(options, true) : status;
}

/* ---------------------------------------------------------------- publishing */

/* On a thread of the library, once for each message. An answer for a group that
 * was given up, or for a message sent twice, finds no place and is dropped. */
static void on_ack(jsCtx *stream, natsMsg *message, jsPubAck *ack, jsPubAckErr *error,
                   void *context)
{
    struct nats_bus *bus = context;
    const char *id = NULL;
    (void)stream;
    (void)natsMsgHeader_Get(message, serial_header, &id);
    const char *dash = id != NULL ? strrchr(id, '-') : NULL;
    uint64_t serial = dash != NULL ? strtoull(dash + 1, NULL, 10) : 0;
    (void)pthread_mutex_lock(&bus->lock);
    bus->outstanding--;
    size_t at = (size_t)(serial - bus->first);
    if (serial >= bus->first && at < bus->count && bus->answers[at] == NATS_NOT_YET_CONNECTED) {
        struct bus_message *found = &bus->messages[at];
        if (ack != NULL) {
            bus->answers[at] = NATS_OK;
            found->sequence = ack->Sequence;
            found->status = TREMOLO_OK;
        } else {
            bus->answers[at] = error != NULL && error->Err != NATS_OK ? error->Err : NATS_ERR;
            found->status =
                judge(bus, "publish", bus->answers[at],
                      error != NULL ? error->ErrCode : (jsErrCode)0, TREMOLO_NOT_SYNCED);
            if (error != NULL && error->ErrText != NULL) {
                (void)fail(bus, found->status, "publish", error->ErrText);
            }
        }
        bus->waiting--;
    }
    (void)pthread_cond_signal(&bus->settled);
    (void)pthread_mutex_unlock(&bus->lock);
    natsMsg_Destroy(message);
}

static natsStatus send_one(struct nats_bus *bus, size_t at, int64_t wait_ms)
{
    const struct bus_message *item = &bus->messages[at];
    natsMsg *message = NULL;
    jsPubOptions options;
    char id[64];
    (void)snprintf(id, sizeof id, "%016" PRIx64 "-%" PRIu64, bus->run, bus->first + at);
    (void)jsPubOptions_Init(&options);
    options.MaxWait = wait_ms;
    natsStatus status =
        natsMsg_Create(&message, item->subject, NULL, (const char *)item->bytes, (int)item->length);
    if (status == NATS_OK) {
        status = natsMsgHeader_Set(message, serial_header, id);
    }
    if (status == NATS_OK) {
        status = js_PublishMsgAsync(bus->stream, &message, &options);
    }
    natsMsg_Destroy(message);
    return status;
}

/* Lock held. Send every message that has no place in the stream yet. */
static void send_open(struct nats_bus *bus, int64_t wait_ms)
{
    for (size_t i = 0; i < bus->count; i++) {
        if (bus->answers[i] == NATS_OK || bus->answers[i] == NATS_ERR) {
            continue;
        }
        bus->answers[i] = NATS_NOT_YET_CONNECTED;
        bus->waiting++;
        bus->outstanding++;
        (void)pthread_mutex_unlock(&bus->lock);
        natsStatus sent = send_one(bus, i, wait_ms);
        (void)pthread_mutex_lock(&bus->lock);
        bus->outstanding -= sent != NATS_OK;
        if (sent != NATS_OK && bus->answers[i] == NATS_NOT_YET_CONNECTED) {
            bus->answers[i] = NATS_NO_RESPONDERS;
            bus->messages[i].status = judge(bus, "publish", sent, (jsErrCode)0, TREMOLO_NOT_SYNCED);
            bus->waiting--;
        }
    }
}

/* Lock held. */
static void wait_settled(struct nats_bus *bus, int64_t until_ms)
{
    while (bus->waiting > 0 && moment_ms() < until_ms) {
        moment_wait(&bus->settled, &bus->lock, 50);
    }
}

/* A stream without a leader answers "no responders" for a second or two: the
 * same ids again are stored once, so trying again is harmless. */
static bool worth_repeating(const struct nats_bus *bus)
{
    for (size_t i = 0; i < bus->count; i++) {
        natsStatus answer = bus->answers[i];
        if (answer == NATS_NO_RESPONDERS || answer == NATS_CONNECTION_DISCONNECTED) {
            return true;
        }
    }
    return false;
}

static enum tremolo_status reopen(struct nats_bus *bus);

static enum tremolo_status nats_publish(struct bus *base, struct bus_message *messages,
                                        size_t count)
{
    struct nats_bus *bus = self(base);
    int64_t until = moment_ms() + BUS_PUBLISH_MS;
    natsStatus *answers = malloc((count + 1) * sizeof *answers);
    enum tremolo_status status = answers == NULL ? TREMOLO_NO_MEMORY : reopen(bus);
    for (size_t i = 0; i < count; i++) {
        messages[i].status = status == TREMOLO_OK ? TREMOLO_NOT_SYNCED : TREMOLO_STORE_FAILED;
        messages[i].sequence = 0;
    }
    if (status != TREMOLO_OK) {
        free(answers);
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        answers[i] = NATS_NO_RESPONDERS;
    }
    (void)pthread_mutex_lock(&bus->lock);
    bus->messages = messages;
    bus->answers = answers;
    bus->count = count;
    bus->waiting = 0;
    do {
        send_open(bus, until - moment_ms() > 1 ? until - moment_ms() : 1);
        wait_settled(bus, until);
        bool again = bus->waiting == 0 && worth_repeating(bus) && moment_ms() + RETRY_MS < until;
        if (!again) {
            break;
        }
        (void)pthread_mutex_unlock(&bus->lock);
        pause_ms(RETRY_MS);
        (void)pthread_mutex_lock(&bus->lock);
    } while (true);
    bus->first += count; /* whatever is answered from now on is too late */
    bus->count = 0;
    (void)pthread_mutex_unlock(&bus->lock);
    free(answers);
    for (size_t i = 0; i < count && status == TREMOLO_OK; i++) {
        status = messages[i].status;
    }
    return status;
}

/* ---------------------------------------------------------------- opening */

static void on_hint(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                    void *context)
{
    struct listener *listener = context;
    (void)connection;
    (void)subscription;
    listener->heard(listener->context, natsMsg_GetSubject(message));
    natsMsg_Destroy(message);
}

/* The last that a subscription's thread does with us. */
static void on_quiet(void *context)
{
    struct nats_bus *bus = context;
    (void)pthread_mutex_lock(&bus->lock);
    bus->listening--;
    (void)pthread_cond_signal(&bus->settled);
    (void)pthread_mutex_unlock(&bus->lock);
}

static natsStatus subscribe(struct nats_bus *bus, struct listener *listener)
{
    natsStatus status = natsConnection_Subscribe(&listener->subscription, bus->connection,
                                                 listener->subjects, on_hint, listener);
    if (status == NATS_OK) {
        (void)pthread_mutex_lock(&bus->lock);
        bus->listening++;
        (void)pthread_mutex_unlock(&bus->lock);
        status = natsSubscription_SetOnCompleteCB(listener->subscription, on_quiet, bus);
        if (status != NATS_OK) {
            on_quiet(bus);
        }
    }
    return status;
}

/* Wait until the library's threads call us no more; false when one still might. */
static bool is_quiet(struct nats_bus *bus, const size_t *calls)
{
    int64_t until = moment_ms() + QUIET_MS;
    (void)pthread_mutex_lock(&bus->lock);
    while (*calls > 0 && moment_ms() < until) {
        moment_wait(&bus->settled, &bus->lock, 50);
    }
    bool quiet = *calls == 0;
    (void)pthread_mutex_unlock(&bus->lock);
    return quiet;
}

static void on_trouble(natsConnection *connection, natsSubscription *subscription,
                       natsStatus status, void *context)
{
    (void)connection;
    (void)subscription;
    (void)status;
    (void)context;
}

static void disconnect(struct nats_bus *bus)
{
    for (size_t i = 0; i < bus->listeners; i++) {
        natsSubscription_Destroy(bus->listener[i].subscription);
        bus->listener[i].subscription = NULL;
    }
    natsMsgList_Destroy(&bus->pulled);
    natsSubscription_Destroy(bus->pulling);
    bus->pulling = NULL;
    jsCtx_Destroy(bus->stream);
    bus->stream = NULL;
    natsConnection_Destroy(bus->connection);
    bus->connection = NULL;
}

static const char *connect_reason(natsStatus status)
{
    switch (status) {
    case NATS_NO_SERVER: return "nobody answers there";
    case NATS_CONNECTION_AUTH_FAILED: return "the credentials are not accepted";
    case NATS_SECURE_CONNECTION_REQUIRED: return "it asks for TLS: give --store-ca";
    case NATS_SECURE_CONNECTION_WANTED: return "it does not offer TLS";
    case NATS_SSL_ERROR: return "the certificates do not fit";
    case NATS_IO_ERROR: /* with TLS 1.3 a refusal comes after the handshake */
    case NATS_PROTOCOL_ERROR:
        return "it hung up: our certificate may have expired or be of another authority";
    case NATS_TIMEOUT: return "it did not answer in time";
    default: return natsStatus_GetText(status);
    }
}

static enum tremolo_status connect_now(struct nats_bus *bus)
{
    natsOptions *options = NULL;
    jsOptions js;
    bus->words[0] = '\0';
    natsStatus status = natsOptions_Create(&options);
    if (status == NATS_OK) {
        status = set_habits(bus, options);
    }
    if (status == NATS_OK) {
        status = natsOptions_SetErrorHandler(options, on_trouble, NULL);
    }
    if (status == NATS_OK) {
        status = set_secrets(bus, options);
    }
    if (status == NATS_OK) {
        status = natsConnection_Connect(&bus->connection, options);
    }
    (void)jsOptions_Init(&js);
    js.Wait = REQUEST_MS;
    js.PublishAsync.AckHandler = on_ack;
    js.PublishAsync.AckHandlerClosure = bus;
    if (status == NATS_OK) {
        status = natsConnection_JetStream(&bus->stream, bus->connection, &js);
    }
    natsOptions_Destroy(options);
    for (size_t i = 0; i < bus->listeners && status == NATS_OK; i++) {
        status = subscribe(bus, &bus->listener[i]);
    }
    if (status == NATS_OK) {
        return TREMOLO_OK;
    }
    disconnect(bus);
    if (bus->words[0] == '\0') {
        (void)fail(bus, TREMOLO_NETWORK_FAILED, bus->url, connect_reason(status));
    }
    return TREMOLO_NETWORK_FAILED;
}

/* The library gives a connection up when credentials were refused twice. The
 * files may have been renewed since, so we begin anew, once a second. */
static enum tremolo_status reopen(struct nats_bus *bus)
{
    if (bus->connection != NULL && !natsConnection_IsClosed(bus->connection)) {
        return TREMOLO_OK;
    }
    if (moment_ms() - bus->opened_ms < REOPEN_MS) {
        return TREMOLO_NETWORK_FAILED;
    }
    disconnect(bus);
    bus->opened_ms = moment_ms();
    return connect_now(bus);
}

/* ---------------------------------------------------------------- values */

static void take(struct bus_value *value, natsMsg *message)
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
        take(value, message);
    }
    natsMsg_Destroy(message);
    return erased || value->bytes != NULL ? TREMOLO_OK : TREMOLO_NO_MEMORY;
}

/* Values are read from the leader: compare-and-set does refuse writes, so replicas may
 * number what they hold differently (see serial_header). */
static enum tremolo_status nats_get(struct bus *base, const char *key, struct bus_value *value)
{
    struct nats_bus *bus = self(base);
    char subject[BUS_NAME_BYTES];
    natsMsg *message = NULL;
    jsErrCode code = (jsErrCode)0;
    *value = (struct bus_value){0};
    enum tremolo_status status = reopen(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    (void)snprintf(subject, sizeof subject, "$KV.%s.%s", bucket, key);
    natsStatus answer = js_GetLastMsg(&message, bus->stream, bucket_stream, subject, NULL, &code);
    if (answer == NATS_NOT_FOUND || code == JSNoMessageFoundErr) {
        return TREMOLO_OK;
    }
    status = judge(bus, key, answer, code, TREMOLO_NETWORK_FAILED);
    return status == TREMOLO_OK ? keep(value, message) : status;
}

static enum tremolo_status nats_swap(struct bus *base, const char *key, uint64_t expected,
                                     const uint8_t *bytes, size_t length, uint64_t *revision)
{
    struct nats_bus *bus = self(base);
    char subject[BUS_NAME_BYTES];
    jsPubOptions options;
    jsPubAck *ack = NULL;
    jsErrCode code = (jsErrCode)0;
    enum tremolo_status status = reopen(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    (void)snprintf(subject, sizeof subject, "$KV.%s.%s", bucket, key);
    (void)jsPubOptions_Init(&options);
    options.MaxWait = REQUEST_MS;
    options.ExpectLastSubjectSeq = expected;
    options.ExpectNoMessage = expected == 0;
    natsStatus answer = NATS_NO_RESPONDERS;
    int64_t until = moment_ms() + REQUEST_MS;
    /* Nobody has heard it: the bucket is being made, or has no leader just now. */
    while (answer == NATS_NO_RESPONDERS && moment_ms() < until) {
        answer = js_Publish(&ack, bus->stream, subject, bytes, (int)length, &options, &code);
        if (answer == NATS_NO_RESPONDERS) {
            pause_ms(RETRY_MS);
        }
    }
    status = judge(bus, key, answer, code, TREMOLO_NOT_SYNCED);
    if (status == TREMOLO_OK && ack != NULL) {
        *revision = ack->Sequence;
    }
    jsPubAck_Destroy(ack);
    return status;
}

static enum tremolo_status nats_erase(struct bus *base, const char *key)
{
    struct nats_bus *bus = self(base);
    char subject[BUS_NAME_BYTES];
    jsOptions options;
    jsErrCode code = (jsErrCode)0;
    enum tremolo_status status = reopen(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    (void)snprintf(subject, sizeof subject, "$KV.%s.%s", bucket, key);
    (void)jsOptions_Init(&options);
    options.Wait = REQUEST_MS;
    options.Stream.Purge.Subject = subject;
    natsStatus answer = js_PurgeStream(bus->stream, bucket_stream, &options, &code);
    return judge(bus, key, answer, code, TREMOLO_NOT_SYNCED);
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

static enum tremolo_status read_answer(struct nats_bus *bus, struct bus_value *message,
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
                      : fail(bus, TREMOLO_STORE_FAILED, "read", text != NULL ? text : "refused");
    } else if (subject == NULL || !decode_data(message, json_object_get(found, "data"))) {
        status = fail(bus, TREMOLO_NETWORK_FAILED, "read", "the answer is not what was expected");
    } else {
        message->revision = (uint64_t)json_integer_value(json_object_get(found, "seq"));
        (void)snprintf(message->subject, sizeof message->subject, "%s", subject);
    }
    json_decref(json);
    return status;
}

/* Is there one copy of the stream only? Asked at most once a second. */
static bool is_single(struct nats_bus *bus, const char *stream)
{
    jsStreamInfo *info = NULL;
    if (strcmp(bus->single_name, stream) == 0 && moment_ms() - bus->single_ms < SINGLE_MS) {
        return bus->single;
    }
    bus->single = js_GetStreamInfo(&info, bus->stream, stream, NULL, NULL) == NATS_OK &&
                  info->Config->Replicas == 1;
    jsStreamInfo_Destroy(info);
    (void)snprintf(bus->single_name, sizeof bus->single_name, "%s", stream);
    bus->single_ms = moment_ms();
    return bus->single;
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
 * differently, too (see serial_header), and a log's numbers are what a fold's position
 * means. */
static enum tremolo_status nats_next(struct bus *base, const char *stream, const char *subjects,
                                     uint64_t from, struct bus_value *message)
{
    struct nats_bus *bus = self(base);
    char subject[BUS_NAME_BYTES];
    char question[BUS_NAME_BYTES + 64];
    natsMsg *answer = NULL;
    *message = (struct bus_value){0};
    enum tremolo_status status = reopen(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    if (is_single(bus, stream) && next_directly(bus, stream, subjects, from, message, &status)) {
        return status;
    }
    (void)snprintf(subject, sizeof subject, "$JS.API.STREAM.MSG.GET.%s", stream);
    (void)snprintf(question, sizeof question, "{\"seq\":%llu,\"next_by_subj\":\"%s\"}",
                   (unsigned long long)(from > 0 ? from : 1), subjects);
    natsStatus answered =
        natsConnection_RequestString(&answer, bus->connection, subject, question, REQUEST_MS);
    status = judge(bus, stream, answered, (jsErrCode)0, TREMOLO_NETWORK_FAILED);
    if (status == TREMOLO_OK) {
        status = read_answer(bus, message, answer);
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

static enum tremolo_status nats_state(struct bus *base, const char *stream, const char *subjects,
                                      struct bus_state *state)
{
    struct nats_bus *bus = self(base);
    jsStreamInfo *info = NULL;
    jsOptions options;
    jsErrCode code = (jsErrCode)0;
    enum tremolo_status status = reopen(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    (void)jsOptions_Init(&options);
    options.Wait = REQUEST_MS;
    options.Stream.Info.SubjectsFilter = subjects;
    natsStatus answer = js_GetStreamInfo(&info, bus->stream, stream, &options, &code);
    status = judge(bus, stream, answer, code, TREMOLO_NETWORK_FAILED);
    if (status == TREMOLO_OK) {
        describe(state, info);
    }
    jsStreamInfo_Destroy(info);
    return status;
}

static enum tremolo_status nats_forget(struct bus *base, const char *stream, const char *subject,
                                       uint64_t before)
{
    struct nats_bus *bus = self(base);
    jsOptions options;
    jsErrCode code = (jsErrCode)0;
    enum tremolo_status status = reopen(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    (void)jsOptions_Init(&options);
    options.Wait = REQUEST_MS;
    options.Stream.Purge.Subject = subject;
    options.Stream.Purge.Sequence = before;
    natsStatus answer = js_PurgeStream(bus->stream, stream, &options, &code);
    return judge(bus, stream, answer, code, TREMOLO_NOT_SYNCED);
}

static enum tremolo_status nats_drop(struct bus *base, const char *stream)
{
    struct nats_bus *bus = self(base);
    jsErrCode code = (jsErrCode)0;
    enum tremolo_status status = reopen(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    natsStatus answer = js_DeleteStream(bus->stream, stream, NULL, &code);
    return answer == NATS_NOT_FOUND || code == JSStreamNotFoundErr
               ? TREMOLO_OK
               : judge(bus, stream, answer, code, TREMOLO_NOT_SYNCED);
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

static enum tremolo_status make_stream(struct nats_bus *bus, jsStreamConfig *config,
                                       unsigned replicas)
{
    jsErrCode code = (jsErrCode)0;
    natsStatus status = NATS_TIMEOUT;
    /* While a stream that somebody else has just made elects its first leader, nobody
     * answers for it. */
    for (int i = 0; i < MAKE_TRIES && status == NATS_TIMEOUT; i++) {
        status = find_or_add(bus, config, replicas, &code);
    }
    if (status == NATS_NO_RESPONDERS || code == JSNotEnabledErr ||
        code == JSNotEnabledForAccountErr) {
        return fail(bus, TREMOLO_STORE_FAILED, bus->url, "it runs without JetStream");
    }
    return judge(bus, config->Name, status, code, TREMOLO_NETWORK_FAILED);
}

static enum tremolo_status nats_make(struct bus *base, const char *stream, const char *subjects,
                                     unsigned replicas)
{
    struct nats_bus *bus = self(base);
    jsStreamConfig config;
    enum tremolo_status status = reopen(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    (void)jsStreamConfig_Init(&config);
    config.Name = stream;
    config.Subjects = &subjects;
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    config.Discard = js_DiscardNew; /* full means refused, never forgotten */
    config.AllowDirect = true;
    return make_stream(bus, &config, replicas > 0 ? replicas : bus->replicas);
}

/* The bucket as NATS' own tools would make it, with one revision a key. */
static enum tremolo_status make_bucket(struct nats_bus *bus)
{
    static const char *subjects = "$KV.tremolo.>";
    jsStreamConfig config;
    (void)jsStreamConfig_Init(&config);
    config.Name = bucket_stream;
    config.Subjects = &subjects;
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    config.Discard = js_DiscardNew;
    config.MaxMsgsPerSubject = 1;
    config.AllowRollup = true;
    config.DenyDelete = true;
    config.AllowDirect = true;
    return make_stream(bus, &config, bus->replicas);
}

/* ---------------------------------------------------------------- hints */

static void nats_hint(struct bus *base, const char *subject)
{
    struct nats_bus *bus = self(base);
    if (bus->connection != NULL) {
        (void)natsConnection_PublishString(bus->connection, subject, "");
    }
}

static enum tremolo_status nats_listen(struct bus *base, const char *subjects, bus_hint_fn heard,
                                       void *context)
{
    struct nats_bus *bus = self(base);
    if (bus->listeners == LISTENERS_MAX) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = reopen(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    struct listener *listener = &bus->listener[bus->listeners];
    *listener = (struct listener){.bus = bus, .heard = heard, .context = context};
    (void)snprintf(listener->subjects, sizeof listener->subjects, "%s", subjects);
    natsStatus answer = subscribe(bus, listener);
    bus->listeners += answer == NATS_OK;
    return judge(bus, subjects, answer, (jsErrCode)0, TREMOLO_NETWORK_FAILED);
}

/* ---------------------------------------------------------------- MQTT */

/* nats-server keeps publications of MQTT clients in this stream. Left to itself it makes
 * one that forgets what nobody listens to, so ours is there first: a queue that keeps
 * every message until it is settled. All gateways share one consumer. */
static const char mqtt_stream[] = "$MQTT_msgs";
static const char mqtt_consumer[] = "tremolo";

static enum tremolo_status make_queue(struct nats_bus *bus)
{
    static const char *subjects = "$MQTT.msgs.>";
    jsStreamConfig config;
    (void)jsStreamConfig_Init(&config);
    config.Name = mqtt_stream;
    config.Subjects = &subjects;
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    config.Retention = js_WorkQueuePolicy;
    config.Discard = js_DiscardNew;
    return make_stream(bus, &config, bus->replicas);
}

static enum tremolo_status start_pulling(struct nats_bus *bus)
{
    jsConsumerInfo *info = NULL;
    jsConsumerConfig config;
    jsSubOptions options;
    jsErrCode code = (jsErrCode)0;
    enum tremolo_status status = make_queue(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    natsStatus answer =
        js_GetConsumerInfo(&info, bus->stream, mqtt_stream, mqtt_consumer, NULL, &code);
    jsConsumerInfo_Destroy(info);
    if (answer != NATS_OK) {
        (void)jsConsumerConfig_Init(&config);
        config.Durable = mqtt_consumer;
        config.AckPolicy = js_AckExplicit;
        config.AckWait = INT64_C(30) * 1000000000;
        config.FilterSubject = "$MQTT.msgs.tremolo.*.reports";
        code = (jsErrCode)0;
        answer = js_AddConsumer(NULL, bus->stream, mqtt_stream, &config, NULL, &code);
    }
    if (answer == NATS_OK) {
        (void)jsSubOptions_Init(&options);
        options.Stream = mqtt_stream;
        options.Consumer = mqtt_consumer;
        answer = js_PullSubscribe(&bus->pulling, bus->stream, NULL, mqtt_consumer, NULL, &options,
                                  &code);
    }
    return judge(bus, mqtt_stream, answer, code, TREMOLO_NETWORK_FAILED);
}

static enum tremolo_status nats_pull(struct bus *base, struct bus_value *messages, size_t capacity,
                                     size_t *count)
{
    struct nats_bus *bus = self(base);
    jsErrCode code = (jsErrCode)0;
    *count = 0;
    natsMsgList_Destroy(&bus->pulled);
    enum tremolo_status status = reopen(bus);
    if (status == TREMOLO_OK && bus->pulling == NULL) {
        status = start_pulling(bus);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    natsStatus answer =
        natsSubscription_Fetch(&bus->pulled, bus->pulling, (int)capacity, PULL_MS, &code);
    if (answer == NATS_TIMEOUT) {
        return TREMOLO_OK;
    }
    for (int i = 0; answer == NATS_OK && i < bus->pulled.Count && *count < capacity; i++) {
        messages[*count] = (struct bus_value){0};
        take(&messages[(*count)++], bus->pulled.Msgs[i]);
    }
    return judge(bus, mqtt_stream, answer, code, TREMOLO_NETWORK_FAILED);
}

static void nats_settle(struct bus *base, size_t index)
{
    struct nats_bus *bus = self(base);
    if (index < (size_t)bus->pulled.Count && bus->pulled.Msgs[index] != NULL) {
        (void)natsMsg_Ack(bus->pulled.Msgs[index], NULL);
    }
}

/* ---------------------------------------------------------------- public */

static const char *nats_explain(const struct bus *base)
{
    return ((const struct nats_bus *)(const void *)base)->words;
}

static void nats_close(struct bus *base)
{
    struct nats_bus *bus = self(base);
    bool quiet = is_quiet(bus, &bus->outstanding);
    disconnect(bus);
    quiet = is_quiet(bus, &bus->listening) && quiet;
    free(bus->url);
    free(bus->creds);
    free(bus->ca);
    free(bus->cert);
    free(bus->key);
    if (quiet) { /* else somebody may still lock it: better lost than used after it is gone */
        (void)pthread_mutex_destroy(&bus->lock);
        (void)pthread_cond_destroy(&bus->settled);
        free(bus);
    }
}

static char *copy_or_null(const char *text)
{
    return text != NULL ? strdup(text) : NULL;
}

static const struct bus calls = {
    .get = nats_get,
    .swap = nats_swap,
    .make = nats_make,
    .publish = nats_publish,
    .next = nats_next,
    .state = nats_state,
    .forget = nats_forget,
    .drop = nats_drop,
    .erase = nats_erase,
    .hint = nats_hint,
    .listen = nats_listen,
    .pull = nats_pull,
    .settle = nats_settle,
    .explain = nats_explain,
    .close = nats_close,
};

static bool random_run(uint64_t *run)
{
    int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    bool filled = file >= 0 && read(file, run, sizeof *run) == (ssize_t)sizeof *run;
    if (file >= 0) {
        (void)close(file);
    }
    return filled;
}

enum tremolo_status bus_open_nats(struct bus **bus, const struct tremolo_store_options *options,
                                  const char *name, char *words, size_t words_capacity)
{
    struct nats_bus *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    made->base = calls;
    made->url = copy_or_null(options->url);
    made->creds = copy_or_null(options->creds);
    made->ca = copy_or_null(options->ca);
    made->cert = copy_or_null(options->cert);
    made->key = copy_or_null(options->key);
    made->replicas = options->replicas;
    made->first = 1;
    (void)snprintf(made->name, sizeof made->name, "tremolo-%s", name);
    (void)snprintf(made->inbox, sizeof made->inbox, "_INBOX_%s", name);
    (void)pthread_mutex_init(&made->lock, NULL);
    moment_cond_init(&made->settled);
    enum tremolo_status status = TREMOLO_BAD_ARGUMENT;
    if (made->url == NULL || (made->cert == NULL) != (made->key == NULL)) {
        (void)fail(made, status, "the store", "certificate and key are given together");
    } else if (strchr(made->url, '@') != NULL) { /* it would be in every error sentence */
        (void)fail(made, status, "the store", "credentials belong into a file, not its address");
    } else if (!random_run(&made->run)) {
        status = fail(made, TREMOLO_NO_ENTROPY, "/dev/urandom", "it cannot be read");
    } else {
        made->opened_ms = moment_ms();
        status = connect_now(made);
    }
    if (status == TREMOLO_OK) {
        status = make_bucket(made);
    }
    if (status != TREMOLO_OK) {
        (void)snprintf(words, words_capacity, "%s", made->words);
        nats_close(&made->base);
        return status;
    }
    *bus = &made->base;
    return TREMOLO_OK;
}

#else

#include <stdio.h>

enum tremolo_status bus_open_nats(struct bus **bus, const struct tremolo_store_options *options,
                                  const char *name, char *words, size_t words_capacity)
{
    (void)bus;
    (void)name;
    (void)snprintf(words, words_capacity,
                   "%s: this build has no NATS; install libnats-dev and build again", options->url);
    return TREMOLO_BAD_ARGUMENT;
}

#endif
