/* writer.h -- the queue of jobs, and the one writer at a time that decides about them.
 *
 * Request threads check reports (check_report.h), then queue a job and are told when it
 * is decided. Whoever writes takes all reports that wait at once: a batch, which is the
 * group commit. Repeats, rounds and samples are decided, one segment per study is
 * appended, the log is synced, the rows are folded, and only then is a job done. While
 * it syncs the next batch gathers, so no timer is needed to make batches. Who writes is
 * settled batch by batch: the request thread that brings a small one, or the writer thread.
 *
 * Whatever changes a study (its creation, the end of a round) is a job too, so every
 * change has its place in one order.
 *
 * Locks, in the order in which they are taken: `write_lock`, which is held to decide about
 * a batch; then a study's own lock, or `thread.lock` (the queue, health), or
 * `studies_lock` (the list of studies). done() is called without thread.lock. */
#ifndef SERVER_WRITER_H
#define SERVER_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "background.h"
#include "check_report.h"
#include "served_study.h"
#include "store.h"
#include "study_table.h"

struct log;
struct tremolo_store_options;

enum {
    WRITER_QUEUE_BYTES_MAX = 64 << 20, /* of bodies waiting; BUSY beyond */
    WRITER_BATCH_BYTES_MAX = 4 << 20,  /* of bodies in one batch */
    WRITER_STUDIES_MAX = 16384,
};

struct writer;

enum job_kind {
    JOB_REPORTS, /* decide about reports of job.served */
    JOB_CREATE,  /* job.served becomes the new study, or the one that has the same id */
    JOB_CLOSE,   /* end a round of job.served */
    JOB_DISCARD, /* reports of job.served that came in a span; not for gateways */
};

struct job {
    struct job *next;
    enum job_kind kind;
    enum tremolo_status status; /* the result, but for JOB_REPORTS */
    struct served_study *served;
    size_t bytes; /* of the body, for the bounds */
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
    /* Called once, from whatever thread wrote; the job is the caller's again. */
    void (*done)(struct job *job);
    void *context;
};

/* Numbers for /metrics. */
struct writer_counters {
    _Atomic uint64_t outcome[OUTCOME_COUNT];
    _Atomic uint64_t syncs;
    _Atomic uint64_t sync_microseconds;
    _Atomic uint64_t store_errors;
    _Atomic uint64_t mqtt_taken; /* publications, of gateways */
    _Atomic uint64_t mqtt_malformed;
    _Atomic uint64_t mqtt_unknown; /* for no study we know */
};

/* A writer with a log of its own in an open store (taken over on success), after every study
 * in it is recovered. `signing_key` and `secret` must outlive it. `words` says what was wrong. */
TREMOLO_MUST_USE enum tremolo_status
writer_start_embedded(struct writer **writer, struct store *store, const uint8_t *signing_key,
                      const uint8_t *secret, char words[TREMOLO_WORDS_BYTES]);

/* A gateway: reports go to a stream that workers fold. It holds nothing that is not also in the
 * broker or in its key files: any number of them serve the same studies, and any may die at any
 * moment. Connects and reads all studies first. */
TREMOLO_MUST_USE enum tremolo_status
writer_start_gateway(struct writer **writer, const struct tremolo_store_options *options,
                     const uint8_t *signing_key, const uint8_t *secret,
                     char words[TREMOLO_WORDS_BYTES]);

/* Decide all that waits, checkpoint, close the store. NULL is fine. */
void writer_stop(struct writer *writer);

/* False, with nothing done, when the queue is full. */
bool writer_submit(struct writer *writer, struct job *job);

/* Many at once, linked by `next`, in this order. Returns the first that found no room, with
 * those after it, or NULL. The caller may become the writer for a batch, its own and what
 * else waits: their done() may come before this returns. */
struct job *writer_submit_all(struct writer *writer, struct job *jobs);

/* Studies never go away while the server runs. */
struct served_study *writer_find(struct writer *writer, const uint8_t id[TREMOLO_STUDY_ID_BYTES]);
/* After writer_find found nothing: might such a study exist all the same, made a
 * moment ago through another gateway? */
bool writer_is_unsure(struct writer *writer, const uint8_t id[TREMOLO_STUDY_ID_BYTES]);
size_t writer_study_count(struct writer *writer);
struct served_study *writer_study(struct writer *writer, size_t index);

struct writer_counters *writer_counters(struct writer *writer);

/* Count what became of reports, for the server and for their study. Any thread. */
void writer_count(struct writer *writer, struct served_study *served,
                  const struct arrival *arrivals, size_t count);

/* From now on a change of health is written to the log, which must outlive it. */
void writer_set_log(struct writer *writer, struct log *log);

/* OK, or why the store takes nothing any more; words may be NULL. */
enum tremolo_status writer_health(struct writer *writer, char words[TREMOLO_WORDS_BYTES]);

/* ---------------------------------------------------------------- inside
 *
 * From here on for writer.c and the two backends, embedded.c and gateway.c. Queue, studies,
 * counters and health are the same for both. The backend decides about what was queued: the
 * embedded one appends to its own store and knows every report; a gateway publishes. */

/* run_batch, is_due, run_change and idle are called with write_lock held; run_change, idle and
 * end on the writer thread only. */
struct backend {
    /* Settle the outcomes of a list of jobs with reports, and finish each. */
    void (*run_batch)(struct writer *writer, struct job *jobs);
    /* After a batch on another thread: is there something for `idle` to do now? NULL: batches
     * are for the writer thread only. */
    bool (*is_due)(struct writer *writer);
    /* Do what a JOB_CREATE, JOB_CLOSE or JOB_DISCARD says; done may come later and from another thread. */
    void (*run_change)(struct writer *writer, struct job *job);
    void (*idle)(struct writer *writer); /* between batches, and five times a second */
    void (*end)(struct writer *writer);  /* the last thing, when all jobs are done */
    /* Might a study that is not in the list exist all the same? NULL: no. */
    bool (*unsure)(struct writer *writer, const uint8_t id[TREMOLO_STUDY_ID_BYTES]);
};

struct writer {
    const struct backend *backend;
    void *context; /* of the backend */
    const uint8_t *signing_key;
    const uint8_t *secret;
    struct writer_counters counters;

    pthread_rwlock_t studies_lock;
    struct served_study *studies[WRITER_STUDIES_MAX]; /* in the order in which they came */
    struct study_table study_table;                   /* the same */
    size_t study_count;

    pthread_mutex_t write_lock;    /* whoever holds it writes; guards what the backend has */
    _Atomic int64_t sync_usual_us; /* a moving average */

    struct background thread; /* its lock guards all below */
    struct job *first;
    struct job **last;
    size_t queued_bytes;
    bool wanted; /* there is something that only the writer thread will do */
    enum tremolo_status health;
    bool for_good;   /* and it stays so until a restart */
    struct log *log; /* where its changes are told; NULL: nowhere */
    char words[200];
};

int64_t writer_seconds(void); /* Unix time */

/* A writer without studies; writer_run starts its thread. */
struct writer *writer_new(const struct backend *backend, void *context, const uint8_t *signing_key,
                          const uint8_t *secret);
TREMOLO_MUST_USE enum tremolo_status writer_run(struct writer *writer,
                                                char words[TREMOLO_WORDS_BYTES]);
void writer_free(struct writer *writer);

void writer_add_study(struct writer *writer, struct served_study *served);

/* Count the outcomes of a batch and tell whoever waits. */
void writer_finish_batch(struct writer *writer, struct job *jobs);

/* What /healthz says. for_good: nothing is taken until a restart. */
void writer_note_failure(struct writer *writer, enum tremolo_status status, const char *words,
                         bool for_good);
void writer_note_success(struct writer *writer);

/* Something of a study could not be written that no report depends on: it is counted and logged,
 * and /healthz says what it said. */
void writer_note_lesser(struct writer *writer, const char *event, const struct served_study *served,
                        enum tremolo_status status, const char *words);

/* Count a sync, or whatever made a batch durable. */
void writer_note_sync(struct writer *writer, int64_t took_us);

#endif
