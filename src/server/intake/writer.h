/* writer.h -- the one writer at a time, and the queue before it.
 *
 * Request threads check reports (check_report.h), then hand a job over and are told
 * when it is decided. The writer takes all that waits at once: that is the
 * group commit. It decides repeats, rounds and samples, appends one segment
 * per study, syncs, folds, and only then says done. While it syncs, the next
 * group gathers, so no timer is needed to make groups. Who writes is settled
 * group by group: the request thread that brings a small one, or the writer thread.
 *
 * Whatever changes a study (its creation, the end of a round) is a job
 * too, so every change has its place in one order. */
#ifndef SERVER_WRITER_H
#define SERVER_WRITER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "served_study.h"
#include "check_report.h"
#include "store.h"

struct log;

enum {
    WRITER_QUEUE_BYTES_MAX = 64 << 20, /* of bodies waiting; BUSY beyond */
    WRITER_GROUP_BYTES_MAX = 4 << 20,  /* of bodies in one group commit */
    WRITER_STUDIES_MAX = 1024,
    WRITER_CHECKPOINT_REPORTS = 1 << 20, /* or after a minute */
    WRITER_CHECKPOINT_SECONDS = 60,
};

struct writer;
struct job;

struct job {
    struct job *next;
    struct served_study *served;
    struct arrival *arrivals; /* outcome of each is set when done is called */
    int16_t *rows;            /* check.row_values for each arrival */
    size_t count;
    size_t bytes; /* of the body, for the bounds */
    /* Instead of reports: work for the writer thread, and its result. */
    enum tremolo_status (*call)(struct writer *writer, struct job *job);
    enum tremolo_status status;
    bool round_named; /* a round to close: this one, or else the newest */
    unsigned round;
    const char *text; /* of a study to create */
    size_t text_length;
    struct tremolo_study_problems *problems;
    /* Called once, from whatever thread wrote; the job is the caller's again. */
    void (*done)(struct job *job);
    void *context;
};

/* Numbers for /metrics. */
struct writer_counters {
    _Atomic uint64_t outcome[OUTCOME_COUNT];
    _Atomic uint64_t groups;
    _Atomic uint64_t sync_microseconds;
    _Atomic uint64_t queued_bytes;
    _Atomic uint64_t store_errors;
    _Atomic uint64_t mqtt_taken; /* publications, of gateways */
    _Atomic uint64_t mqtt_malformed;
    _Atomic uint64_t mqtt_unknown; /* for no study we know */
};

/* Start on an open store (taken over on success). `signing_key` and `secret` must
 * outlive it. Recovers every study first. `words` says what was wrong. */
TREMOLO_MUST_USE enum tremolo_status embedded_start(struct writer **writer, struct store *store,
                                                    const uint8_t *signing_key,
                                                    const uint8_t *secret, char *words,
                                                    size_t words_capacity);

/* Decide all that waits, checkpoint, close the store. NULL is fine. */
void writer_stop(struct writer *writer);

/* False, with nothing done, when the queue is full. */
bool writer_submit(struct writer *writer, struct job *job);

/* Many at once, linked by `next`, in this order. Returns the first that found no
 * room, with those after it, or NULL. The caller may become the writer for a group, its own
 * and what else waits: their done() may come before this returns. */
struct job *writer_submit_all(struct writer *writer, struct job *jobs);

/* The same for one, and wait: for callers with a thread to spare. False without memory, too. */
bool writer_submit_and_wait(struct writer *writer, struct job *job);

/* Calls for job.call. Create: job.text is the study; job.served is the new study,
 * or the existing one with the same id. Close: ends job.study's newest round. */
enum tremolo_status writer_create_study(struct writer *writer, struct job *job);
enum tremolo_status writer_close_round(struct writer *writer, struct job *job);

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

/* OK, or why the store takes nothing any more; the words live on. */
enum tremolo_status writer_health(struct writer *writer, char *words, size_t capacity);

/* ---------------------------------------------------------------- inside
 *
 * From here on for writer.c and the two deciders, embedded.c and gateway.c. Queue, studies,
 * counters and health are the same for both. Who decides about what was queued is a `decider`:
 * the embedded one appends to its own store and knows every report; a gateway publishes to a
 * stream that others fold. */

/* All but `unsure` and `end` called with the write lock in hand, and on the writer thread but for the
 * first two. */
struct decider {
    /* Settle the outcomes of a list of jobs with reports, and finish each. */
    void (*run_group)(struct writer *writer, struct job *jobs);
    /* After a group on another thread: is there something for `idle` to do now? NULL: groups
     * are for the writer thread only. */
    bool (*is_due)(struct writer *writer);
    /* Do what job->call asks for; job->done may come later and from another thread. */
    void (*run_call)(struct writer *writer, struct job *job);
    void (*idle)(struct writer *writer); /* between groups, and five times a second */
    void (*end)(struct writer *writer);  /* the last thing, when all jobs are done */
    /* Might a study that is not among the studies exist all the same? NULL: no. */
    bool (*unsure)(struct writer *writer, const uint8_t id[TREMOLO_STUDY_ID_BYTES]);
};

struct writer {
    const struct decider *decider;
    void *context;       /* of the decider */
    struct store *store; /* of the embedded one */
    const uint8_t *signing_key;
    const uint8_t *secret;
    struct writer_counters counters;

    pthread_rwlock_t studies_lock;
    struct served_study *studies[WRITER_STUDIES_MAX];
    size_t study_count;

    pthread_mutex_t lock; /* guards from here to `words` */
    pthread_cond_t wake;
    struct job *first;
    struct job **last;
    size_t queued_bytes;
    bool wanted; /* there is something that only the writer thread will do */
    bool stopping;
    enum tremolo_status health;
    bool for_good;   /* and it stays so until a restart */
    struct log *log; /* where its changes are told; NULL: nowhere */
    char words[200];

    pthread_t thread;
    _Atomic int64_t sync_usual_us; /* a moving average */
    pthread_mutex_t write_lock;    /* whoever holds it writes; guards all below and the store */
    int64_t checkpointed_at;
    int64_t tried_at; /* to write, while the store takes nothing */
    uint64_t since_checkpoint;
    bool round_due; /* for `idle` to close */
    struct served_study *touched;
};

int64_t writer_seconds(void); /* Unix time */

/* An writer with nothing in it; writer_run lets its thread run. */
struct writer *writer_new(const struct decider *decider, void *context);
TREMOLO_MUST_USE enum tremolo_status writer_run(struct writer *writer);
void writer_free(struct writer *writer);

/* Studies never go away again. */
void writer_add_study(struct writer *writer, struct served_study *served);

/* Count the outcomes and tell whoever waits. */
void writer_finish_job(struct writer *writer, struct job *job);
/* Whatever leaned on this group failed with it. */
void writer_fail_job(struct job *job);

/* What /healthz says. for_good: nothing is taken until a restart. */
void writer_note_failure(struct writer *writer, enum tremolo_status status, const char *words,
                         bool for_good);
void writer_note_success(struct writer *writer);

/* Sync the store, and count it. */
TREMOLO_MUST_USE enum tremolo_status writer_sync(struct writer *writer);

/* After whatever was staged: note the store's health, and on a failure
 * discard what is staged. */
void writer_settle(struct writer *writer, enum tremolo_status status);

/* End every round whose count or time has come. */
void writer_close_due_rounds(struct writer *writer);

#endif
