/* server.h -- the server and the cluster's workers, for the command.
 *
 *     struct tremolo_server_options options = TREMOLO_SERVER_DEFAULTS;
 *     struct tremolo_server *server = NULL;
 *     char words[TREMOLO_WORDS_BYTES];
 *     options.data = "/var/lib/tremolo";
 *     if (tremolo_server_start(&server, &options, words) == TREMOLO_OK) {
 *         ...                                          wait for a signal
 *         tremolo_server_stop(server);
 *     }
 *
 * Calls on one server come from one thread; the server runs its own threads.
 * It prints only to the stream it was given, and never exits. */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tremolo_status.h"

/* A clustered store, "nats://HOST:PORT[,HOST:PORT...]"; url NULL: none. Files are
 * PEM. */
struct tremolo_store_options {
    const char *url;
    const char *ca;
    const char *cert;
    const char *key;
    unsigned shards; /* of studies made from now on; 0: 8 */
};

struct tremolo_server_options {
    const char *data;     /* directory: log and keys; made if missing */
    const char *address;  /* numeric, IPv4 or IPv6 */
    const char *tls_cert; /* PEM files, both or none */
    const char *tls_key;
    const char *token_file;             /* the operator's token; NULL: DATA/operator.token */
    FILE *log;                          /* one JSON object a line; NULL: silent */
    uint16_t port;                      /* 0: any free one */
    unsigned threads;                   /* for requests; 0: see tremolo-serve(1), at most 16 */
    unsigned request_seconds;           /* for a head, for a body, and idle */
    struct tremolo_store_options store; /* url NULL: the log is in `data` */
    unsigned quota; /* reports a minute to open studies from one source; 0: no limit */
    /* The header in which a proxy names the source; NULL: it is who connects. A gateway must have
     * one for a quota: what connects to it is a balancer. */
    const char *source_header;
    bool accept_loss; /* serve `data` although it lacks acknowledged reports: damage, or a backup */
    bool moved;       /* `data` is a copy, and the newest there is */
};
#define TREMOLO_SERVER_DEFAULTS                                                                    \
    {                                                                                              \
        NULL, "127.0.0.1", NULL, NULL, NULL, NULL, 8787, 0, 30, {NULL, NULL, NULL, NULL, 0}, 0,    \
            NULL, false, false                                                                     \
    }

struct tremolo_server; /* opaque */

/* Recover the log and listen. `words` (never NULL) says what failed. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_server_start(struct tremolo_server **server, const struct tremolo_server_options *options,
                     char words[TREMOLO_WORDS_BYTES]);

uint16_t tremolo_server_port(const struct tremolo_server *server);

/* The server's public signing key, which clients pin: 32 bytes. */
const uint8_t *tremolo_server_key(const struct tremolo_server *server);

/* Read the certificate files again. A pair that cannot be read leaves the
 * old one in use. */
TREMOLO_MUST_USE enum tremolo_status tremolo_server_reload(struct tremolo_server *server);

/* Take no new connections, answer what is under way (a few seconds at most),
 * checkpoint, close. NULL is fine. */
void tremolo_server_stop(struct tremolo_server *server);

/* Everything that is wrong with a data directory that no server is using, and what is left of it, as
 * a JSON document (tremolo-check(1)); nothing in it changes. With `rescued`, a directory that is made,
 * the studies and segments that are sound are copied there, without keys. OK whatever is found;
 * on failure *json is untouched and words says why. The caller frees *json. */
TREMOLO_MUST_USE enum tremolo_status tremolo_server_check(char **json, const char *data,
                                                          const char *rescued,
                                                          char words[TREMOLO_WORDS_BYTES]);

/* ---- folding a clustered store ---- */

struct tremolo_worker_options {
    struct tremolo_store_options store;
    const char *name;    /* unique among workers; NULL: from host, process and chance */
    FILE *log;           /* one JSON object a line; NULL: silent */
    const char *address; /* for GET /metrics and /healthz, numeric; NULL: none */
    uint16_t port;       /* 0: any free one */
};

struct tremolo_worker; /* opaque */

/* Start a worker that folds shards of all studies in the store, together with
 * whatever other workers there are. `words` (never NULL) says what failed. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_worker_start(struct tremolo_worker **worker, const struct tremolo_worker_options *options,
                     char words[TREMOLO_WORDS_BYTES]);

/* Where its metrics are; 0: nowhere. */
uint16_t tremolo_worker_port(const struct tremolo_worker *worker);

/* Checkpoint, let the shards go, end. NULL is fine. */
void tremolo_worker_stop(struct tremolo_worker *worker);

/* Studies, streams, shards, owners and how far they are, as JSON; the caller frees
 * *json. Takes about two seconds, to see which leases move. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_store_overview(char **json, const struct tremolo_store_options *options,
                       char words[TREMOLO_WORDS_BYTES]);

/* Either from a data directory into a store, or from a store into one. */
struct tremolo_move_options {
    const char *study; /* its id; may be NULL when the directory has only one */
    const char *from_data;
    const char *to_data;
    struct tremolo_store_options from_store; /* url NULL: none */
    struct tremolo_store_options to_store;
};

/* Copy a study with its rounds and compare the sums at both places; *reports is how many it
 * has. The old place keeps its copy. Neither place may be in use at that time: the
 * directory by no server, the study in the store by no gateway. */
TREMOLO_MUST_USE enum tremolo_status tremolo_study_move(uint64_t *reports,
                                                        const struct tremolo_move_options *options,
                                                        char words[TREMOLO_WORDS_BYTES]);

#endif
