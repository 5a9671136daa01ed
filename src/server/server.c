/* server.c -- starting and stopping, in the order that loses nothing.
 *
 * Start: keys, store, recovery, then the listener: no request is read before the
 * log is back. Stop: no new connections, what is under way is answered, the
 * listener ends, the writer drains and checkpoints, the store closes. */
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "history.h"
#include "keys.h"
#include "mqtt.h"
#include "routes.h"
#include "study_internal.h"

/* ---------------------------------------------------------------- pieces
 *
 * Each piece can fail with a sentence in `words`; the caller stops what was started before it. */

/* Signing key, secret of devices and operator's token, from files that only we may read. The seed
 * is wiped. `create` lets a missing key be made. A token file that the options name is the
 * operator's own and is never made. Each piece stays in the server's struct, which is wiped when
 * it stops. */
static enum tremolo_status load_keys(struct tremolo_server *server,
                                     const struct tremolo_server_options *options, bool create,
                                     char words[TREMOLO_WORDS_BYTES])
{
    uint8_t seed[TREMOLO_SIGNING_SEED_BYTES];
    char path[4096];
    enum tremolo_status status =
        keys_load(seed, sizeof seed, options->data, "signing.seed", create, words);
    if (status == TREMOLO_OK) {
        status = tremolo_signing_keys(server->public_key, server->signing_key, seed);
    }
    sodium_memzero(seed, sizeof seed);
    if (status == TREMOLO_OK) {
        status = keys_load(server->device_secret, sizeof server->device_secret, options->data,
                           "device.secret", create, words);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    (void)snprintf(path, sizeof path, "%s/operator.token", options->data);
    bool given = options->token_file != NULL;
    status = keys_token(server->token, sizeof server->token, given ? options->token_file : path,
                        !given, words);
    return status;
}

/* For a store's each(): there is at least one study. The values are not parsed here: the writer
 * does that when it recovers. */
static enum tremolo_status note_study(void *context, const uint8_t *key, size_t key_length,
                                      const uint8_t *value, size_t length)
{
    bool *any = context;
    (void)key;
    (void)key_length;
    (void)value;
    (void)length;
    *any = true;
    return TREMOLO_OK;
}

/* New keys are made for new directories only: clients would not accept studies that other keys
 * signed. The studies of a gateway are in a store elsewhere, so its own directory may be new at
 * any time. On success the writer owns the store; after a failure it is closed here. */
static enum tremolo_status start_writer(struct tremolo_server *server,
                                        const struct tremolo_server_options *options,
                                        char words[TREMOLO_WORDS_BYTES])
{
    struct store *store = NULL;
    if (options->store.url != NULL) {
        (void)mkdir(options->data, 0700); /* what is wrong with it shows in a moment */
        enum tremolo_status status = load_keys(server, options, true, words);
        if (status == TREMOLO_OK) {
            status = writer_start_gateway(&server->writer, &options->store, server->signing_key,
                                          server->device_secret, words);
        }
        return status == TREMOLO_OK
                   ? mqtt_start(&server->mqtt, server->writer, &options->store, words)
                   : status;
    }
    enum store_consent consent = options->accept_loss ? STORE_ACCEPT_LOSS
                                 : options->moved     ? STORE_MOVED
                                                      : STORE_CAREFUL;
    enum tremolo_status status = store_open_sqlite(&store, options->data, consent, words);
    if (status != TREMOLO_OK) {
        return status;
    }
    bool any = false;
    status = store->each(store, "study", note_study, &any);
    if (status != TREMOLO_OK) {
        (void)snprintf(words, TREMOLO_WORDS_BYTES, "the studies cannot be read: %s",
                       store->explain(store));
    } else {
        status = load_keys(server, options, !any, words);
    }
    if (status == TREMOLO_OK) {
        status = writer_start_embedded(&server->writer, store, server->signing_key,
                                       server->device_secret, words);
    }
    if (status != TREMOLO_OK) {
        store->close(store);
    }
    return status;
}

/* The threads that compute and sample, the quota, and the answers that are made once. What was
 * started is stopped by tremolo_server_stop(), also after a failure. */
static bool start_helpers(struct tremolo_server *server,
                          const struct tremolo_server_options *options)
{
    server->sampler = sampler_start(&server->writer->studies);
    server->estimator = estimator_start(&server->stopping);
    server->sources = options->quota > 0 ? sources_new(options->quota) : NULL;
    server->source_header = options->source_header;
    return server->sampler != NULL && server->estimator != NULL && routes_open(server) &&
           (server->sources != NULL || options->quota == 0);
}

/* Last of all: the first request finds everything in its place. A failure of a helper is one of
 * memory. */
static enum tremolo_status start_listening(struct tremolo_server *server,
                                           const struct tremolo_server_options *options,
                                           char words[TREMOLO_WORDS_BYTES])
{
    struct http_options http = {.address = options->address,
                                .port = options->port,
                                .tls_cert = options->tls_cert,
                                .tls_key = options->tls_key,
                                .token = server->token,
                                .threads = options->threads,
                                .request_seconds = options->request_seconds,
                                .log = &server->log,
                                .stopping = &server->stopping};
    return start_helpers(server, options)
               ? http_start(&server->http, &http, &server->program, words)
               : words_say(words, TREMOLO_NO_MEMORY, "out of memory");
}

/* ---------------------------------------------------------------- public
 *
 * Calls come from one thread. Everything that requests need is in struct tremolo_server,
 * constant while it listens. */

/* What the options say about each other; what each may be is the command's to check. Nothing is
 * opened or made here, so a refusal leaves no trace on the disk. */
static enum tremolo_status check_options(const struct tremolo_server_options *options,
                                         char words[TREMOLO_WORDS_BYTES])
{
    if (options->data == NULL || options->address == NULL || options->request_seconds == 0) {
        return words_say(words, TREMOLO_BAD_ARGUMENT,
                         "a data directory, an address and a time limit are needed");
    }
    if ((options->tls_cert == NULL) != (options->tls_key == NULL)) {
        return words_say(words, TREMOLO_BAD_OPTIONS,
                         "certificate and key are given together or not at all");
    }
    if (options->quota > 0 && options->store.url != NULL && options->source_header == NULL) {
        return words_say(
            words, TREMOLO_BAD_OPTIONS,
            "a gateway needs the header in which its balancer names a report's source");
    }
    if (sodium_init() < 0) {
        return words_say(words, TREMOLO_NO_ENTROPY, "libsodium cannot be initialised");
    }
    return TREMOLO_OK;
}

/* Every part that was started is stopped again on a failure, by the same function that stops a
 * server. On failure *server is untouched and `words` says why. */
enum tremolo_status tremolo_server_start(struct tremolo_server **server,
                                         const struct tremolo_server_options *options,
                                         char words[TREMOLO_WORDS_BYTES])
{
    enum tremolo_status status = check_options(options, words);
    struct tremolo_server *made = NULL;
    if (status != TREMOLO_OK) {
        return status;
    }
    made = calloc(1, sizeof *made);
    if (made == NULL) {
        return words_say(words, TREMOLO_NO_MEMORY, "out of memory");
    }
    log_open(&made->log, options->log);
    made->started_at = (int64_t)time(NULL);
    status = start_writer(made, options, words);
    if (status == TREMOLO_OK) {
        batcher_set_log(&made->writer->batcher, &made->log);
        status = start_listening(made, options, words);
    }
    if (status != TREMOLO_OK) {
        tremolo_server_stop(made);
        return status;
    }
    log_event(&made->log, "info", "listening", "{s:s, s:i, s:b, s:I}", "address", options->address,
              "port", (int)http_port(made->http), "tls", options->tls_cert != NULL, "studies",
              (json_int_t)studies_count(&made->writer->studies));
    made->has_started = true;
    *server = made;
    return TREMOLO_OK;
}

/* The port that it listens on, from start to stop. */
uint16_t tremolo_server_port(const struct tremolo_server *server)
{
    return http_port(server->http);
}

/* The public key of TREMOLO_SIGNING_PUBLIC_BYTES with which clients check studies; it belongs to
 * the server and lasts until it stops. */
const uint8_t *tremolo_server_key(const struct tremolo_server *server)
{
    return server->public_key;
}

/* The log has a line of it in any case: the command only hears whether it worked. Only a server
 * with a certificate has something to reload. */
enum tremolo_status tremolo_server_reload(struct tremolo_server *server)
{
    char words[TREMOLO_WORDS_BYTES] = "";
    enum tremolo_status status = http_reload(server->http, words);
    log_event(&server->log, status == TREMOLO_OK ? "info" : "error", "reload", "{s:s}", "result",
              status == TREMOLO_OK ? "done" : words);
    return status;
}

/* HTTP first: no request is under way afterwards. The writer ends before the loops are freed,
 * because the end of a job wakes a loop. Secrets are wiped with the struct. Accepts NULL and a
 * server that was only partly started. */
void tremolo_server_stop(struct tremolo_server *server)
{
    if (server == NULL) {
        return;
    }
    http_stop(server->http);
    sampler_stop(server->sampler);
    estimator_stop(server->estimator);
    mqtt_stop(server->mqtt);
    writer_stop(server->writer);
    http_free(server->http);
    routes_close(server);
    sources_free(server->sources);
    if (server->has_started) { /* else the caller says what failed */
        log_event(&server->log, "info", "stopped", "{}");
    }
    log_close(&server->log);
    sodium_memzero(server, sizeof *server);
    free(server);
}
