/* http_parts.h -- what the files behind http.h share.
 *
 * http.c runs the loops: connections, bodies, jobs. head.c judges a request's head before its body is
 * read. answer.c gives an answer its form. listener.c has the socket and the certificate. */
#ifndef SERVICE_HTTP_PARTS_H
#define SERVICE_HTTP_PARTS_H

#include "http.h"

/* ---- http.c ----
 *
 * A loop lets the library work on every connection that is ready, hands all jobs that came of it to the
 * batcher at once (or writes them itself, see batcher.h), sleeps until they are decided, and lets the library
 * answer. So a job costs no wake-up of its own, groups form by themselves, and a connection is touched by
 * one thread only. */

struct http {
    const struct http_program *program;
    const char *token;
    struct log *log;
    _Atomic bool *stopping;
    int64_t limit_ms; /* for a step of a connection */
    uint16_t port;
    int listener;
    struct tls *tls;             /* NULL: without */
    _Atomic uint64_t body_bytes; /* held by requests */
    _Atomic uint64_t answers[6]; /* by hundreds of status */
    struct thread *thread;       /* the loops' */
    unsigned threads;            /* that run */
    _Atomic unsigned listening;  /* that still accept */
    struct background watch;     /* its lock guards the list of connections: */
    struct connection *first;
    size_t open;
    uint64_t cut; /* ever, for being slow */
};

struct loop {
    struct http *http;
    struct MHD_Daemon *daemon;
    /* Only this loop's thread touches these. */
    struct batch_job *gathered; /* for the batcher, in order */
    struct batch_job **gathered_end;
    void *recent; /* the resource that was asked for last, */
    char recent_id[HTTP_ID_BYTES];
    struct request *spares; /* memory for the next requests */
    size_t spare_count;
    struct request *orphans; /* their connections ended before these were decided */
    size_t active;           /* requests under way */
    size_t queued;           /* of these, with the batcher or gathered */
    size_t suspended;        /* and with suspended connections */
    bool progress;           /* something happened: look again before sleeping */
    int64_t began;           /* with TLS, the latest turn: clock_us() */
    /* How another thread wakes it. */
    int wake;           /* an eventfd */
    _Atomic bool woken; /* written to, and not read yet */
};

/* A loop without a thread, for a caller that turns it itself: with `listener` -1 it serves connections that
 * are added to its daemon. False when it cannot be made. */
bool loop_open(struct loop *loop, struct http *http, int listener, unsigned connections);

/* Let the library work on all that is ready and hand over what came of it. */
void loop_turn(struct loop *loop);

/* Sleep until there is something to do; `events` is the daemon's epoll descriptor. */
void loop_pause(struct loop *loop, int events);

/* A server without threads for requests; NULL without memory or a thread. http_free() ends it. */
struct http *http_new(const struct http_options *options, const struct http_program *program);

/* ---- head.c ---- */

/* The target as it came, before anything is decoded: no byte in it ends it early. */
bool head_target_is_sound(const char *target);

/* Judge the head before the body is read: how it is framed, its route, the operator's token, the body's length,
 * the resource. What is refused is answered. */
void head_read(struct request *request, const char *version, bool target_is_sound);

/* ---- answer.c ---- */

/* The response of an answer that was made, with its headers, in the form that the client takes: plain,
 * compressed, or without a body because the client kept it. It owns the body then; NULL without memory. */
struct MHD_Response *answer_response(struct request *request);

/* ---- listener.c ---- */

struct tls;
TREMOLO_MUST_USE enum tremolo_status tls_new(struct tls **tls, const char *cert_file,
                                             const char *key_file, char words[TREMOLO_WORDS_BYTES]);
void tls_free(struct tls *tls);
TREMOLO_MUST_USE enum tremolo_status tls_reload(struct tls *tls, char words[TREMOLO_WORDS_BYTES]);

/* The callback for MHD_OPTION_HTTPS_CERT_CALLBACK. The library gives it no context, so one process serves one
 * certificate: the newest tls object's. */
void *tls_callback(void);

#endif
