/* http.h -- an HTTP/1.1 server for a program that brings a table of routes.
 *
 *     static const struct route routes[] = {{"GET", "/healthz", FOR_READERS, 0, answer_health, NULL}, {0}};
 *     static const struct route *const tables[] = {routes, NULL};
 *     struct http_program program = {.tables = tables, .request_bytes = sizeof(struct request), ...};
 *     if (http_start(&http, &options, &program, words) == TREMOLO_OK) ...
 *     http_stop(http);      answers what is under way
 *     http_free(http);
 *
 * A few threads, one loop each, hold thousands of connections. A handler answers at once
 * (request_answer...), queues a job for group commit (request_wait) or suspends its connection until
 * another thread has the answer (request_suspend); after the last two its route's `finish` follows. A
 * request belongs to its loop's thread. Another thread touches it only between request_wait or
 * request_suspend and request_decided or request_resume, and then only what belongs to its job. */
#ifndef SERVICE_HTTP_H
#define SERVICE_HTTP_H

#include <microhttpd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batcher.h"
#include "log.h"
#include "sources.h"

struct json_t;
struct prometheus;

enum {
    HTTP_BODY_MAX = 4 << 20,     /* of any request */
    HTTP_BODIES_MAX = 128 << 20, /* of all bodies in memory at once */
    HTTP_SMALL_BODY = 512,       /* bytes that a request has room for itself */
    HTTP_ID_BYTES = 64,          /* of an id in a path, with room */
    ANSWER_TAG_BYTES = 32,       /* W/, a hash, "-gz", quotes */
    ANSWER_LOCATION_BYTES = 96,  /* the longest path with an id */
};

/* ---- requests and answers ---- */

/* What will be sent: `body`, malloc'd and handed over, or `constant` bytes of a file in the program, with the
 * headers that belong to it. */
struct answer {
    unsigned status;
    struct MHD_Response *ready; /* made by http_ready(); nothing else counts then */
    char *body;
    size_t length;
    const char *type;
    unsigned retry_after; /* seconds; 0: no header */
    const unsigned char *constant;
    const char *policy;                   /* what the page may load; NULL: no page */
    char tag[ANSWER_TAG_BYTES];           /* with its quotes; "": none */
    char location[ANSWER_LOCATION_BYTES]; /* where a redirection leads; "": none */
    bool gzip;                            /* the bytes are compressed */
    bool keep;                            /* its name changes with its bytes */
    bool last;                            /* the connection ends with it */
    bool shared;                          /* pages of other origins may read it */
};

/* A program's own request begins with this one. All of it is zero when a request begins. */
struct request {
    void *owner; /* the program's */
    struct http *http;
    struct loop *loop;
    struct request *next; /* of the loop's orphans, or of its spares */
    struct MHD_Connection *connection;
    struct connection *record;
    const struct route *route;
    const char *method;
    const char *path;
    void *resource; /* what find() gave for the id in the path */
    struct answer answer;
    bool answered; /* answer is ready */
    enum { READY, QUEUED, SUSPENDED } waits;
    _Atomic bool decided; /* set last, with release: the results of a job are there */
    uint8_t *body;
    size_t length;
    size_t capacity;
    int64_t started_us;
    uint8_t small_body[HTTP_SMALL_BODY];
};

/* Devices may be pages of other origins, so these may send and read what devices need, and no more than
 * that. What is for the operator needs the token. */
enum audience { FOR_READERS, FOR_DEVICES, FOR_OPERATOR };

struct route {
    const char *method;
    const char *path; /* {id}: a resource's id; a final *: anything */
    enum audience audience;
    size_t body_max; /* 0: no body */
    void (*run)(struct request *request);
    void (*finish)(struct request *request);
};

static inline const char *request_header(struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

static inline const char *request_query(struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* Who sends it, for the quota: the last address in that header (NULL: none), or who connects. */
uint64_t request_source(struct request *request, const struct sources *sources, const char *header);

/* Does some route have this method and path? */
bool request_has_route(struct request *request, const char *path);

/* Answers. request_problem is a problem document (RFC 9457); `detail` may be NULL. The members of `more`
 * (NULL: none) are added; it is handed over. */
void request_answer(struct request *request, unsigned status, const char *type, char *body);
void request_problem(struct request *request, unsigned status, const char *detail);
void request_problem_with(struct request *request, unsigned status, const char *detail,
                          struct json_t *more);

/* JSON that was made, or a problem where it is NULL because memory was short; both hand it over. */
void request_answer_text(struct request *request, unsigned status, char *body);
void request_answer_json(struct request *request, unsigned status, struct json_t *document);

/* Bytes in the program, plain and compressed, with the hash that names them. */
struct http_file {
    const char *type;
    const char *hash;
    const unsigned char *plain, *gzip;
    size_t plain_bytes, gzip_bytes;
    bool keep;          /* its address changes with its bytes */
    const char *policy; /* what the page may load */
};

/* Send the file in the form that the client takes; 304 instead of 200 if it has the file already. */
void request_answer_file(struct request *request, unsigned status, const struct http_file *file);

/* A response that is made once and sent any number of times (answer.ready). `text` is constant JSON. NULL
 * without memory; the caller ends it with MHD_destroy_response(). */
struct MHD_Response *http_ready(const char *text);

/* Hand the job over with the others of this turn; its owner calls request_decided() from any thread once it is
 * done, after which the request may be gone. False when the server is stopping: it has answered then. */
bool request_wait(struct request *request, struct batch_job *job);
void request_decided(struct request *request);

/* For an answer that may take seconds: the connection is suspended, and never cut, until
 * request_resume() is called from any thread. False as above. */
bool request_suspend(struct request *request);
void request_resume(struct request *request);

/* ---- the server ---- */

/* Listen on a numeric IPv4 or IPv6 address; *port 0 is any free one and then says which. *listener is the caller's
 * to close. `words` says what failed. */
TREMOLO_MUST_USE enum tremolo_status listen_open(int *listener, uint16_t *port, const char *address,
                                                 char words[TREMOLO_WORDS_BYTES]);

struct http_program {
    const struct route *const *tables; /* up to a NULL; each ends with an empty route */
    size_t request_bytes;              /* of the program's own request */
    size_t id_characters;              /* of an {id} */
    const char *device_headers;        /* that pages of other origins may send */
    void *owner;
    struct batcher *batcher;
    /* The resource with this id, which stays until the end, or NULL after an answer. */
    void *(*find)(struct request *request, const char *id);
    void (*lost)(struct request *request);    /* no route has this path: answer */
    void (*refuse)(struct request *request);  /* the queue had no room for its job: answer */
    void (*release)(struct request *request); /* free what it holds */
};

struct http_options {
    const char *address;            /* numeric, IPv4 or IPv6 */
    uint16_t port;                  /* 0: any free one */
    const char *tls_cert, *tls_key; /* PEM files; NULL: without TLS */
    const char *token;              /* the operator's */
    unsigned threads;               /* 0: as many as pay */
    unsigned request_seconds;       /* for a head, for a body, and idle */
    struct log *log;
    _Atomic bool *stopping; /* set by http_stop() */
};

/* Both structs and all they point to outlive the server, except options itself. `words` says what failed. */
TREMOLO_MUST_USE enum tremolo_status http_start(struct http **http,
                                                const struct http_options *options,
                                                const struct http_program *program,
                                                char words[TREMOLO_WORDS_BYTES]);
uint16_t http_port(const struct http *http);

/* Read the certificate files again; on failure the certificate in use stays. OK without TLS. */
TREMOLO_MUST_USE enum tremolo_status http_reload(struct http *http,
                                                 char words[TREMOLO_WORDS_BYTES]);

/* Take no new connections, answer what is under way (stalled clients have a few seconds, jobs as long as they
 * need) and join the threads. Free it only after the batcher has ended, which may still be about to wake
 * a thread. Both accept NULL. */
void http_stop(struct http *http);
void http_free(struct http *http);

void http_write_metrics(struct prometheus *out, struct http *http);

#endif
