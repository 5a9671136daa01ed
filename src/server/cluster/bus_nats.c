/* bus_nats.c -- the bus on NATS JetStream: connecting, listening, ending. This file and its
 * sisters bus_nats_*.c are the only ones that know libnats.
 *
 * Keys are those of the key-value bucket "tremolo", so NATS' own tools show
 * them. A value is written with the revision it replaces. All reads are
 * answered by the leader of a stream.
 *
 * Threads: the library has its own. They call bus_nats_on_ack and on_hint; `lock` guards
 * what these share with the one thread that uses the bus. */
#include "server.h"
#include "bus.h"

#ifdef TREMOLO_HAS_NATS

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bus_nats.h"
#include "log.h"

/* ---------------------------------------------------------------- words */

enum tremolo_status bus_nats_fail(struct nats_bus *bus, enum tremolo_status status,
                                  const char *what, const char *reason)
{
    (void)snprintf(bus->words, sizeof bus->words, "%s: %s", what, reason);
    return status;
}

enum tremolo_status bus_nats_judge(struct nats_bus *bus, const char *what, natsStatus status,
                                   jsErrCode code, enum tremolo_status unanswered)
{
    switch (status) {
    case NATS_OK: return TREMOLO_OK;
    case NATS_NO_MEMORY: return bus_nats_fail(bus, TREMOLO_NO_MEMORY, what, "out of memory");
    case NATS_NO_RESPONDERS:
    case NATS_TIMEOUT:
    case NATS_CONNECTION_DISCONNECTED:
    case NATS_CONNECTION_CLOSED:
    case NATS_IO_ERROR: return bus_nats_fail(bus, unanswered, what, natsStatus_GetText(status));
    default: break;
    }
    const char *text = nats_GetLastError(NULL);
    text = text != NULL && text[0] != '\0' ? text : natsStatus_GetText(status);
    switch ((int)code) {
    case JSStreamWrongLastSequenceErr: return bus_nats_fail(bus, TREMOLO_CHANGED, what, text);
    case JSInsufficientResourcesErr:
    case JSStorageResourcesExceededErr:
    case JSMemoryResourcesExceededErr:
    case JSStreamStoreFailedErr: return bus_nats_fail(bus, TREMOLO_STORE_FULL, what, text);
    default: return bus_nats_fail(bus, TREMOLO_STORE_FAILED, what, text);
    }
}

/* ---------------------------------------------------------------- connecting */

static natsStatus set_secrets(struct nats_bus *bus, natsOptions *options)
{
    natsStatus status = NATS_OK;
    if (bus->ca != NULL || bus->cert != NULL) {
        status = natsOptions_SetSecure(options, true);
    }
    if (status == NATS_OK && bus->ca != NULL) {
        status = natsOptions_LoadCATrustedCertificates(options, bus->ca);
    }
    if (status == NATS_OK && bus->cert != NULL) {
        status = natsOptions_LoadCertificatesChain(options, bus->cert, bus->key);
    }
    if (status != NATS_OK && bus->words[0] == '\0') {
        (void)bus_nats_fail(bus, TREMOLO_BAD_ARGUMENT, "the store's certificates or credentials",
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
    int64_t until = clock_ms() + QUIET_MS;
    (void)pthread_mutex_lock(&bus->lock);
    while (*calls > 0 && clock_ms() < until) {
        clock_wait(&bus->settled, &bus->lock, 50);
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
    natsSubscription_Destroy(bus->many);
    bus->many = NULL;
    jsCtx_Destroy(bus->stream);
    bus->stream = NULL;
    natsConnection_Destroy(bus->connection);
    bus->connection = NULL;
}

static const char *connect_reason(natsStatus status)
{
    switch (status) {
    case NATS_NO_SERVER: return "no server answers there";
    case NATS_CONNECTION_AUTH_FAILED: return "the credentials are not accepted";
    case NATS_SECURE_CONNECTION_REQUIRED:
        return "it asks for TLS, which needs the certificate of its authority";
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
    js.PublishAsync.AckHandler = bus_nats_on_ack;
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
        (void)bus_nats_fail(bus, TREMOLO_NETWORK_FAILED, bus->url, connect_reason(status));
    }
    return TREMOLO_NETWORK_FAILED;
}

/* The library gives a connection up when credentials were refused twice. The
 * files may have been renewed since, so we connect again, once a second. */
enum tremolo_status bus_nats_reopen(struct nats_bus *bus)
{
    if (bus->connection != NULL && !natsConnection_IsClosed(bus->connection)) {
        return TREMOLO_OK;
    }
    if (clock_ms() - bus->opened_ms < REOPEN_MS) {
        return TREMOLO_NETWORK_FAILED;
    }
    disconnect(bus);
    bus->opened_ms = clock_ms();
    return connect_now(bus);
}

/* ---------------------------------------------------------------- hints */

static void bus_nats_hint(struct bus *base, const char *subject)
{
    struct nats_bus *bus = self(base);
    if (bus->connection != NULL) {
        (void)natsConnection_PublishString(bus->connection, subject, "");
    }
}

static enum tremolo_status bus_nats_listen(struct bus *base, const char *subjects,
                                           bus_hint_fn heard, void *context)
{
    struct nats_bus *bus = self(base);
    if (bus->listeners == LISTENERS_MAX) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = bus_nats_reopen(bus);
    if (status != TREMOLO_OK) {
        return status;
    }
    struct listener *listener = &bus->listener[bus->listeners];
    *listener = (struct listener){.heard = heard, .context = context};
    (void)snprintf(listener->subjects, sizeof listener->subjects, "%s", subjects);
    natsStatus answer = subscribe(bus, listener);
    bus->listeners += answer == NATS_OK;
    return bus_nats_judge(bus, subjects, answer, (jsErrCode)0, TREMOLO_NETWORK_FAILED);
}

/* ---------------------------------------------------------------- public */

static const char *bus_nats_explain(const struct bus *base)
{
    return ((const struct nats_bus *)(const void *)base)->words;
}

static void bus_nats_close(struct bus *base)
{
    struct nats_bus *bus = self(base);
    bool quiet = is_quiet(bus, &bus->outstanding);
    disconnect(bus);
    quiet = is_quiet(bus, &bus->listening) && quiet;
    free(bus->url);
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

enum tremolo_status bus_open_nats(struct bus **bus, const struct tremolo_store_options *options,
                                  const char *name, char words[TREMOLO_WORDS_BYTES])
{
    struct nats_bus *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    made->base = (struct bus){.next_many = bus_nats_next_many,
                              .hint = bus_nats_hint,
                              .listen = bus_nats_listen,
                              .explain = bus_nats_explain,
                              .close = bus_nats_close};
    bus_nats_store_calls(&made->base);
    bus_nats_message_calls(&made->base);
    made->url = copy_or_null(options->url);
    made->ca = copy_or_null(options->ca);
    made->cert = copy_or_null(options->cert);
    made->key = copy_or_null(options->key);
    made->first = 1;
    (void)snprintf(made->name, sizeof made->name, "tremolo-%s", name);
    (void)snprintf(made->inbox, sizeof made->inbox, "_INBOX_%s", name);
    (void)pthread_mutex_init(&made->lock, NULL);
    clock_cond_init(&made->settled);
    enum tremolo_status status = TREMOLO_BAD_ARGUMENT;
    if (made->url == NULL || (made->cert == NULL) != (made->key == NULL)) {
        (void)bus_nats_fail(made, status, "the store", "certificate and key are given together");
    } else if (strchr(made->url, '@') != NULL) { /* it would be in every error sentence */
        (void)bus_nats_fail(made, status, "the store",
                            "credentials belong into a file, not its address");
    } else {
        randombytes_buf(&made->run, sizeof made->run);
        made->opened_ms = clock_ms();
        status = connect_now(made);
    }
    if (status == TREMOLO_OK) {
        status = bus_nats_make_bucket(made);
    }
    if (status != TREMOLO_OK) {
        (void)snprintf(words, TREMOLO_WORDS_BYTES, "%s", made->words);
        bus_nats_close(&made->base);
        return status;
    }
    *bus = &made->base;
    return TREMOLO_OK;
}

#else

enum tremolo_status bus_open_nats(struct bus **bus, const struct tremolo_store_options *options,
                                  const char *name, char words[TREMOLO_WORDS_BYTES])
{
    (void)bus;
    (void)name;
    (void)snprintf(words, TREMOLO_WORDS_BYTES,
                   "%s: this build has no NATS; install libnats-dev and build again", options->url);
    return TREMOLO_BAD_ARGUMENT;
}

#endif
