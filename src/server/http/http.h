/* http.h -- between libmicrohttpd and the routes. */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include <stdbool.h>

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

#endif
