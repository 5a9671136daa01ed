/* batcher.c -- the queue, the write lock and the batcher's thread.
 *
 * The holder of the write lock decides about a batch. Mostly that is the request thread that
 * brought it: waking another thread and being woken by it costs more than the work of a small
 * batch, and while it waits for the disk other threads have the processor. The batcher's own thread
 * takes what others leave: jobs that run alone, large batches, idle work, and every batch where
 * syncs are slow, because request threads must not wait for a slow disk. */
#include "batcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "log.h"
#include "prometheus.h"

enum {
    IDLE_US = 200000,     /* between calls of idle() */
    HERE_SYNC_US = 600,   /* a request thread writes while syncs take less than this, */
    LOCK_US = 2000,       /* waits so long for the write lock, */
    HERE_BYTES = 1 << 16, /* and writes no more than this */
    SLOW_SYNC_US = 1000,  /* from here on it pays to wait for company */
};

/* ---------------------------------------------------------------- health
 *
 * What the backend found when it last wrote. It is a fact for balancers and operators, not a
 * switch: the backend itself decides what it takes. */

/* thread.lock guards health and words; the line of the log is written without it, because
 * writing may block. */
void batcher_note(struct batcher *batcher, enum tremolo_status status, const char *words,
                  bool until_restart)
{
    enum tremolo_status now = until_restart ? TREMOLO_NOT_SYNCED : status;
    struct log *log = NULL;
    (void)atomic_fetch_add(&batcher->failures, status != TREMOLO_OK);
    background_lock(&batcher->thread);
    if (!batcher->until_restart) {
        batcher->until_restart = until_restart;
        log = batcher->health != now ? batcher->log : NULL;
        batcher->health = now;
        (void)snprintf(batcher->words, sizeof batcher->words, "%s%s%s",
                       now != TREMOLO_OK ? tremolo_status_sentence(status) : "",
                       now != TREMOLO_OK ? ": " : "", words);
    }
    background_unlock(&batcher->thread);
    if (log != NULL && now == TREMOLO_OK) {
        log_event(log, "info", "store", "{s:s}", "state", "reports are taken again");
    } else if (log != NULL) {
        log_event(log, "error", "store", "{s:s, s:s}", "state",
                  until_restart ? "nothing is taken until a restart" : "nothing is taken for now",
                  "reason", words);
    }
}

void batcher_set_log(struct batcher *batcher, struct log *log)
{
    background_lock(&batcher->thread);
    batcher->log = log;
    background_unlock(&batcher->thread);
}

/* Status and words are of one moment. */
enum tremolo_status batcher_health(struct batcher *batcher, char words[TREMOLO_WORDS_BYTES])
{
    background_lock(&batcher->thread);
    enum tremolo_status health = batcher->health;
    if (words != NULL) {
        (void)snprintf(words, TREMOLO_WORDS_BYTES, "%s", batcher->words);
    }
    background_unlock(&batcher->thread);
    return health;
}

void batcher_note_sync(struct batcher *batcher, int64_t took_us)
{
    (void)atomic_fetch_add(&batcher->sync_microseconds, (uint64_t)took_us);
    (void)atomic_fetch_add(&batcher->syncs, 1);
}

/* ---------------------------------------------------------------- batches
 *
 * A batch is what waits at one moment, up to a bound. Its order is that of the queue, and a job
 * that runs alone is a batch by itself, so changes and reports have one order. */

/* A job that runs alone or is large: no request thread does it. */
static bool is_for_thread(const struct batch_job *job)
{
    return job != NULL && (job->alone || job->bytes > HERE_BYTES);
}

/* Take from the queue's head what belongs into one batch: jobs up to the byte limit, or one that
 * runs alone; `here`, on a request thread, a small batch and none that runs alone. Lock held. */
static struct batch_job *take_batch(struct batcher *batcher, bool here)
{
    size_t most = here ? HERE_BYTES : BATCHER_BATCH_BYTES_MAX;
    struct batch_job *batch = batcher->first;
    struct batch_job *end = batch;
    if (batch == NULL || (here && is_for_thread(batch))) {
        return NULL;
    }
    size_t bytes = batch->bytes;
    while (!batch->alone && end->next != NULL && !end->next->alone &&
           bytes + end->next->bytes <= most) {
        end = end->next;
        bytes += end->bytes;
    }
    batcher->first = end->next;
    if (batcher->first == NULL) {
        batcher->last = &batcher->first;
    }
    end->next = NULL;
    batcher->queued_bytes -= bytes;
    return batch;
}

/* ---------------------------------------------------------------- thread
 *
 * There is always a thread that can write, whatever request threads do: it takes what they
 * leave. */

/* Clients that were just answered come again at once. Where syncs are slow it pays to
 * let them in before the next one: for as long as more keep coming within a
 * quarter of what a sync takes, and three quarters of it in all. Lock held. */
static void wait_for_company(struct batcher *batcher)
{
    int64_t usual = atomic_load(&batcher->sync_usual_us);
    size_t before = 0;
    for (int i = 0; i < 3 && usual >= SLOW_SYNC_US && !batcher->thread.stopping; i++) {
        if (batcher->queued_bytes == before || batcher->queued_bytes >= BATCHER_BATCH_BYTES_MAX) {
            return;
        }
        before = batcher->queued_bytes;
        background_wait_us(&batcher->thread, usual / 4);
    }
}

/* Run the next batch. Write lock held. The thread, once called, goes on until the queue is empty; a
 * request thread leaves the rest to the threads that brought it: each of them writes after it, or
 * calls the thread. */
static bool write_next(struct batcher *batcher, bool here)
{
    background_lock(&batcher->thread);
    struct batch_job *batch = take_batch(batcher, here);
    batcher->wanted = batcher->wanted || (!here && batcher->first != NULL);
    background_unlock(&batcher->thread);
    if (batch == NULL) {
        return false;
    }
    if (!batch->alone) {
        batcher->backend->run_batch(batcher->owner, batch);
    } else {
        batcher->backend->run_alone(batcher->owner, batch);
    }
    return true;
}

/* A turn: wait, let others bring their jobs, run one batch, then idle work. Ends when it is
 * stopped and nothing is left. */
static void *batcher_main(void *argument)
{
    struct batcher *batcher = argument;
    bool stopping = false;
    bool wrote = false;
    while (!stopping || wrote) {
        background_lock(&batcher->thread);
        if (!batcher->wanted && !batcher->thread.stopping) {
            background_wait_us(&batcher->thread, IDLE_US);
        }
        wait_for_company(batcher);
        batcher->wanted = false;
        stopping = batcher->thread.stopping;
        background_unlock(&batcher->thread);
        (void)pthread_mutex_lock(&batcher->write_lock);
        wrote = write_next(batcher, false);
        batcher->backend->idle(batcher->owner);
        (void)pthread_mutex_unlock(&batcher->write_lock);
    }
    batcher->backend->end(batcher->owner);
    return NULL;
}

/* ---------------------------------------------------------------- submitting
 *
 * The queue is bounded in bytes; what finds no room is the caller's again and was not touched. */

/* `wanted` is set under the lock and before the signal, so a wake-up cannot be missed. */
static void call_thread(struct batcher *batcher)
{
    background_lock(&batcher->thread);
    if (!batcher->wanted) {
        batcher->wanted = true;
        background_signal(&batcher->thread);
    }
    background_unlock(&batcher->thread);
}

/* Queue the jobs that there is room for and return the rest. *small: the whole queue is small. */
static struct batch_job *enqueue(struct batcher *batcher, struct batch_job *jobs, bool *small)
{
    background_lock(&batcher->thread);
    while (jobs != NULL && !batcher->thread.stopping &&
           batcher->queued_bytes + jobs->bytes <= BATCHER_QUEUE_BYTES_MAX) {
        struct batch_job *job = jobs;
        jobs = job->next;
        job->next = NULL;
        *batcher->last = job;
        batcher->last = &job->next;
        batcher->queued_bytes += job->bytes;
    }
    *small = batcher->queued_bytes <= HERE_BYTES;
    background_unlock(&batcher->thread);
    return jobs;
}

/* If our own job is still queued, call the thread; no other thread will. */
static bool is_next_for_thread(struct batcher *batcher)
{
    background_lock(&batcher->thread);
    bool is = is_for_thread(batcher->first);
    background_unlock(&batcher->thread);
    return is;
}

/* Write a batch on this thread, unless that might take long. (If the clock is set back during the
 * wait, the wait ends when the write lock is free.) */
static bool write_here(struct batcher *batcher)
{
    struct timespec until = clock_after(CLOCK_REALTIME, LOCK_US);
    if (batcher->backend->is_due == NULL || atomic_load(&batcher->sync_usual_us) >= HERE_SYNC_US ||
        pthread_mutex_timedlock(&batcher->write_lock, &until) != 0) {
        return false;
    }
    (void)write_next(batcher, true);
    bool due = batcher->backend->is_due(batcher->owner) || is_next_for_thread(batcher);
    (void)pthread_mutex_unlock(&batcher->write_lock);
    return !due;
}

struct batch_job *batcher_submit_all(struct batcher *batcher, struct batch_job *jobs)
{
    bool small;
    jobs = enqueue(batcher, jobs, &small);
    if (!small || !write_here(batcher)) {
        call_thread(batcher);
    }
    return jobs;
}

/* Never on the caller's thread: it may be one that must not wait for a disk. */
bool batcher_submit(struct batcher *batcher, struct batch_job *job)
{
    bool small;
    job->next = NULL;
    if (enqueue(batcher, job, &small) != NULL) {
        return false;
    }
    call_thread(batcher);
    return true;
}

/* ---------------------------------------------------------------- starting
 *
 * Init makes the struct usable for queueing; no batch runs before start. */

void batcher_init(struct batcher *batcher, const struct batcher_backend *backend, void *owner)
{
    *batcher = (struct batcher){.backend = backend, .owner = owner};
    batcher->last = &batcher->first;
    (void)pthread_mutex_init(&batcher->write_lock, NULL);
    background_init(&batcher->thread);
}

enum tremolo_status batcher_start(struct batcher *batcher, char words[TREMOLO_WORDS_BYTES])
{
    if (background_start(&batcher->thread, batcher_main, batcher)) {
        return TREMOLO_OK;
    }
    return words_say(words, TREMOLO_NO_MEMORY, "the thread that writes cannot be started");
}

/* The thread ends after the last job and end(). */
void batcher_free(struct batcher *batcher)
{
    background_free(&batcher->thread);
    (void)pthread_mutex_destroy(&batcher->write_lock);
}

void batcher_write_metrics(struct prometheus *out, struct batcher *batcher)
{
    prometheus_value(out, "tremolo_group_commits_total", "counter", "Syncs of the log.",
                     (double)atomic_load(&batcher->syncs));
    prometheus_value(out, "tremolo_sync_seconds_total", "counter", "Time spent in syncs.",
                     (double)atomic_load(&batcher->sync_microseconds) / 1e6);
    prometheus_value(out, "tremolo_store_errors_total", "counter", "Failures of the store.",
                     (double)atomic_load(&batcher->failures));
}
