/* http.h -- between libmicrohttpd and the routes. */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_server.h"

struct MHD_Connection;
struct MHD_Daemon;
struct MHD_Response;
struct answer;
struct loop;
struct request;
struct tremolo_server;

enum {
    /* Of the library's buffer for a connection: heads larger than this are refused (431). */
    HTTP_CONNECTION_BYTES = 8192,
    HTTP_BACKLOG = 1024,
};

/* A daemon that `loop` runs, on a listening socket, or, with -1, on connections
 * that are added to it. NULL when it cannot be made. */
struct MHD_Daemon *http_daemon(struct loop *loop, int listener, unsigned connections);

/* The answers that almost every report gets, made once for all. */
bool http_make_receipts(struct tremolo_server *server);
void http_free_receipts(struct tremolo_server *server);

/* The writer's queue had no room for this request's job. */
void http_refuse(struct request *request);

/* Free requests whose connections ended before their jobs did, as far as these have. */
void http_free_orphans(struct loop *loop);

/* Free the memory that a loop keeps for its next requests. */
void http_free_spares(struct loop *loop);

/* ---- listen.c: the listening socket ---- */

/* Listen on a numeric IPv4 or IPv6 address; *port 0 is any free one and then says
 * which. *listener is the caller's to close. `words` says what failed. */
TREMOLO_MUST_USE enum tremolo_status listen_open(int *listener, uint16_t *port, const char *address,
                                                 char words[TREMOLO_WORDS_BYTES]);

/* ---- framing.c: requests that two parsers could read in two ways ---- */

/* The target as it came, before anything is decoded: no byte in it ends it early. */
bool framing_target_is_sound(const char *target);

/* What is wrong with the head, a sentence for an answer with *status, or NULL; method, path and version
 * are those of its first line, as the library gave them. */
const char *framing_check(unsigned *status, struct MHD_Connection *connection, const char *method,
                          const char *path, const char *version);

/* ---- connections.c: every open connection has a moment by which it must have moved on ----
 *
 * One that has not is cut. A client that drips a byte now and then never looks idle, so an idle
 * timeout alone would not end it. */

struct connections;
struct connection;

/* A step may last `seconds`; but while *held is above `held_most`, connections that hold memory
 * for a body have CONNECTION_STALLED_MS, so that those that stall lose it first. NULL when memory
 * or the thread is missing. */
enum { CONNECTION_STALLED_MS = 2000 };
struct connections *connections_new(unsigned seconds, const _Atomic uint64_t *held,
                                    uint64_t held_most);
void connections_free(struct connections *connections);

/* A socket was accepted, is about to be closed. add returns NULL without
 * memory; remove accepts NULL. */
struct connection *connections_add(struct connections *connections, int socket);
void connections_remove(struct connections *connections, struct connection *connection);

/* The next step has its full time from now. NULL is fine. */
void connection_touch(struct connection *connection);

/* The next step is ours and has all the time in the world. NULL is fine. */
void connection_leave(struct connection *connection);

/* Whether it holds memory for a body. NULL is fine. */
void connection_holds(struct connection *connection, bool body);

/* How many are open, and were ever cut. */
void connections_count(size_t *open, uint64_t *cut, struct connections *connections);

/* ---- tls.c: a certificate that can be exchanged while connections are open ---- */

/* For MHD_OPTION_HTTPS_PRIORITIES: TLS 1.2 and 1.3, keys that are made for one session and
 * forgotten with it (so that a stolen certificate opens no recording), ciphers that authenticate
 * what they encrypt. */
#define TLS_PRIORITIES                                                                             \
    "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-MAC-ALL:+AEAD"

struct tls;

TREMOLO_MUST_USE enum tremolo_status tls_new(struct tls **tls, const char *cert_file,
                                             const char *key_file, char words[TREMOLO_WORDS_BYTES]);
void tls_free(struct tls *tls);

/* Read both files again; on failure the certificate in use stays. */
TREMOLO_MUST_USE enum tremolo_status tls_reload(struct tls *tls, char words[TREMOLO_WORDS_BYTES]);

/* The callback for MHD_OPTION_HTTPS_CERT_CALLBACK. The library gives it no
 * context, so one process serves one certificate: the newest tls object's. */
void *tls_callback(void);

/* ---- represent.c: in which form an answer leaves ----
 *
 * Plain, compressed, or not at all because the client has it already. */

enum {
    REPRESENT_GZIP_MIN = 1024,     /* bytes; less fits a packet as it is */
    REPRESENT_GZIP_MAX = 16 << 20, /* more leaves plain: the copy would be held, too */
};

/* Does an Accept-Encoding (NULL: none) take gzip? */
bool represent_accepts_gzip(const char *accept_encoding);

/* Does an If-None-Match (NULL: none) name this tag, quotes and all? Compared weakly, as RFC 9110
 * has it for this header: W/ says nothing. */
bool represent_is_known(const char *if_none_match, const char *tag);

/* An answer whose body was made for it: give it a tag; drop the body when the client knows
 * it; compress it when the client takes that. Only 200 to a GET or HEAD; others stay. */
void represent_made(struct request *request);

/* The headers of what has a tag. */
void represent_headers(struct MHD_Response *response, const struct answer *answer);

#endif
