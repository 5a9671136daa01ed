/* batcher.h -- group commit: many threads bring jobs, one at a time makes a batch of them durable.
 *
 *     static const struct batcher_backend backend = {run_batch, is_due, run_alone, idle, end};
 *     batcher_init(&owner->batcher, &backend, owner);
 *     if (batcher_start(&owner->batcher, words) == TREMOLO_OK) ...
 *     rest = batcher_submit_all(&owner->batcher, &job->queued);
 *     batcher_free(&owner->batcher);                runs what is queued, then end()
 *
 * All jobs that wait are one batch: the backend writes them, syncs once and answers each. While it
 * syncs the next batch gathers, so no timer is needed to make batches. Which thread writes is
 * settled batch by batch: the request thread that brings a small one, or the batcher's own.
 * Jobs that run alone are in the same queue, so all changes have one order.
 *
 * Locks, in this order: `write_lock`, which is held while a batch is run; then a lock of the
 * backend's, or `thread.lock` (queue and health). The backend answers jobs without `thread.lock`. */
#ifndef SERVICE_BATCHER_H
#define SERVICE_BATCHER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "background.h"
#include "tremolo_status.h"

struct log;
struct prometheus;

enum {
    BATCHER_QUEUE_BYTES_MAX = 64 << 20, /* of jobs that wait */
    BATCHER_BATCH_BYTES_MAX = 4 << 20,  /* of jobs in one batch */
};

/* The first member of a job of any kind. */
struct batch_job {
    struct batch_job *next;
    size_t bytes;  /* for the bounds */
    void *request; /* that waits for it (http.h); NULL: none */
    bool alone;    /* not in a batch with others, and on the batcher's thread */
};

/* run_batch, is_due, run_alone and idle are called with write_lock held; run_alone, idle and
 * end on the batcher's thread only. */
struct batcher_backend {
    void (*run_batch)(void *owner, struct batch_job *jobs); /* linked by next; answers each */
    /* After a batch on another thread: does idle() have something to do now? NULL: batches are for
     * the batcher's thread only. */
    bool (*is_due)(void *owner);
    void (*run_alone)(void *owner, struct batch_job *job); /* the answer may come later */
    void (*idle)(void *owner); /* between batches, and five times a second */
    void (*end)(void *owner);  /* the last call, when all jobs have run */
};

struct batcher {
    const struct batcher_backend *backend;
    void *owner;
    _Atomic uint64_t syncs; /* for metrics, like the next two */
    _Atomic uint64_t sync_microseconds;
    _Atomic uint64_t failures; /* of the store */

    pthread_mutex_t write_lock;    /* guards all state of the backend */
    _Atomic int64_t sync_usual_us; /* a moving average, kept by the backend */

    struct background thread; /* its lock guards all below */
    struct batch_job *first;
    struct batch_job **last;
    size_t queued_bytes;
    bool wanted; /* the queue holds work for the batcher's thread */
    enum tremolo_status health;
    bool until_restart; /* health stays as it is */
    struct log *log;    /* where changes of health are written; NULL: nowhere */
    char words[200];
};

/* The batcher must not move afterwards. */
void batcher_init(struct batcher *batcher, const struct batcher_backend *backend, void *owner);
TREMOLO_MUST_USE enum tremolo_status batcher_start(struct batcher *batcher,
                                                   char words[TREMOLO_WORDS_BYTES]);
void batcher_free(struct batcher *batcher);

/* False, with nothing done, when the queue is full. Runs on the batcher's thread. */
bool batcher_submit(struct batcher *batcher, struct batch_job *job);

/* Many at once, linked by `next`, in this order. Returns the first that found no room, with
 * those after it, or NULL. The caller may write a batch itself, of its own jobs and others that
 * wait: these may be answered before this returns. */
struct batch_job *batcher_submit_all(struct batcher *batcher, struct batch_job *jobs);

/* From now on changes of health are written to the log, which must outlive the batcher. */
void batcher_set_log(struct batcher *batcher, struct log *log);

/* OK, or why the store takes nothing now; words may be NULL. */
enum tremolo_status batcher_health(struct batcher *batcher, char words[TREMOLO_WORDS_BYTES]);

/* What the health is from now on, OK with "" for words or a failure. until_restart: it stays so. */
void batcher_note(struct batcher *batcher, enum tremolo_status status, const char *words,
                  bool until_restart);

/* Count a sync, or what else made a batch durable. */
void batcher_note_sync(struct batcher *batcher, int64_t took_us);

void batcher_write_metrics(struct prometheus *out, struct batcher *batcher);

#endif
