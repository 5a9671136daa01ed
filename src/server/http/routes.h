/* routes.h -- the server, and a request about a study, as handlers see them. */
#ifndef SERVER_ROUTES_H
#define SERVER_ROUTES_H

#include "estimate.h"
#include "http.h"
#include "tremolo_study_file.h"
#include "writer.h"

enum { TOKEN_MAX = 1024, SMALL_ROWS = 64 };

/* What handlers need of the server; constant while it listens, except what is atomic. */
struct tremolo_server {
    struct http *http;
    struct http_program program;
    struct writer *writer;
    struct mqtt *mqtt; /* of a gateway */
    struct sampler *sampler;
    struct estimator *estimator;
    struct sources *sources;   /* NULL: no quota */
    const char *source_header; /* NULL: a source is who connects */
    struct log log;
    char token[TOKEN_MAX + 1];
    uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES];
    uint8_t signing_key[TREMOLO_SIGNING_SECRET_BYTES];
    uint8_t device_secret[TREMOLO_DEVICE_SECRET_BYTES];
    int64_t started_at;
    bool has_started; /* it listens, so that its end is worth a line */
    _Atomic bool stopping;
    struct MHD_Response *receipt[2]; /* of one report: accepted, repeated */
};

/* A request about a study, from its first byte to its answer. `request` comes first, so that a
 * pointer to it is one to the whole. The job and what it points to belong to the writer from
 * submit_job() until the route's finish is called; until then handlers must not touch them. */
struct study_request {
    struct request request; /* the service's; its resource is a served_study */
    struct job job;
    struct question question;
    struct arrival *arrivals;
    struct arrival single; /* arrivals, when there is one */
    uint8_t device[TREMOLO_DEVICE_ID_MAX];
    bool sequence;      /* many reports, answered by index */
    size_t quota_taken; /* reports charged to `source` */
    uint64_t source;
    unsigned quota_seconds; /* until those fit that are over their source's quota; 0: none are */
    struct tremolo_study_problems *problems;
    int16_t small_rows[SMALL_ROWS]; /* a single report, the usual thing, needs no other memory */
};

/* Every request is allocated with this size: http_program.request_bytes says so. */
static inline struct study_request *own_of(struct request *request)
{
    return (struct study_request *)(void *)request;
}

/* NULL for routes without an id in their path. */
static inline struct served_study *study_of(const struct request *request)
{
    return request->resource;
}

static inline struct tremolo_server *server_of(const struct request *request)
{
    return request->owner;
}

/* Submit own->job, about the request's study; the route's finish follows when it is decided. */
static inline void job_decided(struct job *job)
{
    request_decided(job->queued.request);
}

static inline void submit_job(struct study_request *own, enum job_kind kind)
{
    own->job.kind = kind;
    own->job.served = study_of(&own->request);
    own->job.done = job_decided;
    own->job.queued.alone = kind != JOB_REPORTS;
    (void)request_wait(&own->request, &own->job.queued);
}

/* ---- routes.c ---- */

/* Set server->program and make what answers need; the writer must be there. False without memory.
 */
bool routes_open(struct tremolo_server *server);
/* Frees what routes_open() made, also when that failed. */
void routes_close(struct tremolo_server *server);

/* ---- devices.c ---- */

extern const struct route device_routes[];
/* Answers with the signed round that is open now. */
void devices_answer_round(struct request *request);

/* The length of a device's name from base64url, 1 to TREMOLO_DEVICE_ID_MAX; 0: the text is no
 * name. */
size_t devices_name(uint8_t name[TREMOLO_DEVICE_ID_MAX], const char *text);
void devices_refuse(struct request *request);  /* the writer's queue had no room for its job */
void devices_release(struct request *request); /* free what it holds */

/* ---- readers.c, operator.c ---- */

extern const struct route reader_routes[];
extern const struct route operator_routes[];

#endif
