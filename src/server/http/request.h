/* request.h -- one HTTP request on its way, and what handlers may use. */
#ifndef SERVER_REQUEST_H
#define SERVER_REQUEST_H

#include <microhttpd.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "estimate.h"
#include "log.h"
#include "loops.h"
#include "sources.h"
#include "tremolo_server.h"
#include "tremolo_study_file.h"
#include "web_files.h"
#include "writer.h"

enum {
    REQUEST_BODY_MAX = 4 << 20,     /* of a sequence of reports */
    REQUEST_BODIES_MAX = 128 << 20, /* of all bodies in memory at once */
    REQUEST_TOKEN_MAX = 1024,
    REQUEST_SMALL_BODY = 512,   /* bytes that a request has room for itself, */
    REQUEST_SMALL_ROWS = 64,    /* and values */
    ANSWER_TAG_BYTES = 32,      /* W/, a hash, "-gz", quotes */
    ANSWER_LOCATION_BYTES = 96, /* the longest path with an id */
};

struct tremolo_server {
    struct loops *loops;
    struct writer *writer;
    struct mqtt *mqtt; /* of a gateway */
    struct sampler *sampler;
    struct estimator *estimator;
    struct connections *connections;
    struct tls *tls;
    struct sources *sources;   /* NULL: no quota */
    const char *source_header; /* NULL: a source is who connects */
    struct log log;
    uint16_t port;
    unsigned request_seconds;
    char token[REQUEST_TOKEN_MAX + 1];
    uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES];
    uint8_t signing_key[TREMOLO_SIGNING_SECRET_BYTES];
    uint8_t device_secret[TREMOLO_DEVICE_SECRET_BYTES];
    int64_t started_at;
    bool has_started;            /* it listens, so that its end is worth a line */
    _Atomic uint64_t body_bytes; /* held by requests */
    _Atomic uint64_t answers[6]; /* by hundreds of status */
    _Atomic bool stopping;
    struct MHD_Response *receipt[2]; /* of one report: accepted, repeated */
};

/* What will be sent: `body`, malloc'd and handed over, or `constant` bytes of
 * a file in the program, with the headers that belong to it. */
struct answer {
    unsigned status;
    struct MHD_Response *ready; /* the server's own; nothing else counts then */
    char *body;
    size_t length;
    const char *type;
    unsigned retry_after; /* seconds; 0: no header */
    const unsigned char *constant;
    const char *policy;                   /* what the page may load; NULL: no file */
    char tag[ANSWER_TAG_BYTES];           /* with its quotes; "": none */
    char location[ANSWER_LOCATION_BYTES]; /* where a redirection leads; "": none */
    bool gzip;                            /* the bytes are compressed */
    bool keep;                            /* its name changes with its bytes */
    bool last;                            /* the connection ends with it */
    bool shared;                          /* pages of other origins may read it */
};

struct request {
    struct tremolo_server *server;
    struct loop *loop;
    struct request *next; /* of the loop's orphans, or of its spares */
    struct MHD_Connection *connection;
    struct connection *record;
    const struct route *route;
    const char *method;
    const char *path;
    struct served_study *served;
    struct answer answer;
    bool answered; /* answer is ready */
    enum { NOBODY, WRITER, ESTIMATOR } waits_for;
    _Atomic bool decided; /* hands their results over, whatever the library does */
    bool sequence;        /* many reports, answered by index */
    size_t quota_taken;   /* reports charged to `source` */
    uint64_t source;
    unsigned quota_seconds; /* until those fit that are over their source's quota; 0: none are */
    uint8_t *body;
    size_t length;
    size_t capacity;
    int64_t started_us;
    struct job job;
    struct question question;
    struct arrival *arrivals;
    struct arrival single; /* arrivals, when there is one */
    uint8_t device[TREMOLO_DEVICE_ID_MAX];
    struct tremolo_study_problems *problems;
    /* A single report, the usual thing, needs no other memory. Nobody clears these. */
    uint8_t small_body[REQUEST_SMALL_BODY];
    int16_t small_rows[REQUEST_SMALL_ROWS];
};

/* Who asks. What devices need is open to pages of other origins, because a device may be one; and
 * no more than that. */
enum audience { FOR_READERS, FOR_DEVICES, FOR_OPERATOR };

/* A handler answers, or submits request->job (request_wait) or asks (request_ask) and is
 * called again through route->finish. */
struct route {
    const char *method;
    const char *path; /* {id} stands for a study's id, a final * for anything */
    enum audience audience;
    size_t body_max; /* 0: no body */
    void (*run)(struct request *request);
    void (*finish)(struct request *request);
};

/* The request's head: find route and study, refuse what can be refused before the body is read. */
void request_read_head(struct request *request, const char *url);

const struct route *route_find(const char *method, const char *path, char id[64], bool *path_known);

/* Answers. request_problem is RFC 9457; detail may be NULL. */
void request_answer(struct request *request, unsigned status, const char *type, char *body);
void request_problem(struct request *request, unsigned status, const char *detail);

/* JSON that was made, or a problem when its making failed; the body is handed over. */
void request_answer_text(struct request *request, unsigned status, enum tremolo_status made,
                         char *body);
/* A document (document.h), which is handed over. */
struct json_t;
void request_answer_json(struct request *request, unsigned status, struct json_t *document);

/* Hand the job over with the others of this turn; route->finish follows. */
void request_wait(struct request *request);

/* Ask for the estimate of the request's study, which may take seconds; route->finish follows. */
void request_ask(struct request *request);

const char *request_header(struct request *request, const char *name);
/* Who sends it, for the quota. */
uint64_t request_source(struct request *request);

const char *request_query(struct request *request, const char *name);

#endif
