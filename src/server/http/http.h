/* http.h -- between libmicrohttpd and the routes. */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_status.h"

struct MHD_Connection;
struct MHD_Daemon;
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
                                                 char *words, size_t capacity);

/* ---- framing.c: requests that two parsers could read in two ways ---- */

/* The target as it came, before anything is decoded: no byte in it ends it early. */
bool framing_target_is_sound(const char *target);

/* What is wrong with the head, a sentence for an answer with *status, or NULL; method, path and version
 * are those of its first line, as the library gave them. */
const char *framing_check(unsigned *status, struct MHD_Connection *connection, const char *method,
                          const char *path, const char *version);

#endif
