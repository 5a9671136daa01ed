/* writer.h -- the server's one writer: jobs about studies, in batches (batcher.h).
 *
 * Request threads check reports (check_report.h), then queue a job; its done() is called when it is
 * decided. A batch of jobs is decided together: repeats, rounds and samples first, one segment
 * per study is appended, the log is synced, the rows are folded, and only then is a job done.
 * Each change of a study (its creation, the end of a round) is a job too, so all changes have
 * one order.
 *
 * Locks, in the order in which they are taken: the batcher's `write_lock`, which is held to decide
 * about a batch; then the lock of a study's sums, or the batcher's queue, or the list of studies. */
#ifndef SERVER_WRITER_H
#define SERVER_WRITER_H

#include "batcher.h"
#include "check_report.h"
#include "served_study.h"
#include "store.h"

struct tremolo_store_options;

enum job_kind {
    JOB_REPORTS, /* decide about reports of job.served */
    JOB_CREATE,  /* job.served becomes the new study, or the one that has the same id */
    JOB_CLOSE,   /* end a round of job.served */
    JOB_DISCARD, /* reports of job.served that came in a span; not for gateways */
};

struct job {
    struct batch_job queued; /* `alone` unless reports; bytes are those of the body */
    enum job_kind kind;
    enum tremolo_status status; /* the result of a change */
    struct served_study *served;
    union {
        struct {
            struct arrival *arrivals; /* outcome of each is set when done is called */
            int16_t *rows;            /* check.row_values for each arrival */
            size_t count;
        } reports;
        struct {
            const char *text;
            size_t length;
            struct tremolo_study_problems *problems; /* may be NULL */
        } create;
        struct {
            bool named; /* this round, or else the newest */
            unsigned round;
        } close;
        struct {
            int64_t from; /* Unix seconds, [from, to) */
            int64_t to;
            uint64_t reports; /* the result: how many there were */
        } discard;
    };
    /* Called once, from the thread that wrote; the job is the caller's again. */
    void (*done)(struct job *job);
    void *context;
};

static inline struct job *job_of(struct batch_job *queued)
{
    return (struct job *)(void *)queued;
}

static inline struct job *job_next(const struct job *job)
{
    return job_of(job->queued.next);
}

struct writer {
    struct batcher batcher;
    struct studies studies;
    /* After no study with this id was found: may one exist that was made elsewhere a moment ago?
     * NULL: never. */
    bool (*unsure)(struct writer *writer, const uint8_t id[TREMOLO_STUDY_ID_BYTES]);
    const uint8_t *signing_key;
    const uint8_t *secret;
    _Atomic uint64_t outcome[OUTCOME_COUNT]; /* for metrics, like the rest */
    _Atomic uint64_t mqtt_taken;             /* publications, of gateways */
    _Atomic uint64_t mqtt_malformed;
    _Atomic uint64_t mqtt_unknown; /* for no study we know */
};

/* A writer with a log of its own in an open store (taken over on success), after every study
 * in it is recovered. `signing_key` and `secret` must outlive it. `words` says what was wrong. */
TREMOLO_MUST_USE enum tremolo_status
writer_start_embedded(struct writer **writer, struct store *store, const uint8_t *signing_key,
                      const uint8_t *secret, char words[TREMOLO_WORDS_BYTES]);

/* A gateway: reports go to a stream that workers fold. All it holds is also in the
 * broker or in its key files: any number of them serve the same studies, and any may die at any
 * moment. Connects and reads all studies first. */
TREMOLO_MUST_USE enum tremolo_status
writer_start_gateway(struct writer **writer, const struct tremolo_store_options *options,
                     const uint8_t *signing_key, const uint8_t *secret,
                     char words[TREMOLO_WORDS_BYTES]);

/* Decide all that waits, checkpoint, close the store, free the writer. NULL is fine. */
void writer_stop(struct writer *writer);

/* The study with this id. NULL: there is none; *unsure says that one may have been made elsewhere. */
struct served_study *writer_find(struct writer *writer, bool *unsure,
                                 const uint8_t id[TREMOLO_STUDY_ID_BYTES]);

/* As batcher_submit(). */
static inline bool writer_submit(struct writer *writer, struct job *job)
{
    job->queued.alone = job->kind != JOB_REPORTS;
    return batcher_submit(&writer->batcher, &job->queued);
}

/* Count what became of reports, for the server and for their study. Any thread. */
void writer_count(struct writer *writer, struct served_study *served,
                  const struct arrival *arrivals, size_t count);

/* ---- for the two backends, embedded.c and gateway.c ---- */

/* A writer without studies; NULL without memory. */
struct writer *writer_new(const struct batcher_backend *backend, void *owner,
                          const uint8_t *signing_key, const uint8_t *secret);

/* Count the outcomes of a batch of reports and call done() of each job. */
void writer_finish_batch(struct writer *writer, struct batch_job *jobs);

#endif
