/* writer.c -- the queue, the write lock and the writer thread.
 *
 * Whoever holds the write lock decides about a batch. Mostly that is the request thread
 * which brought it: waking another thread and being woken by it costs more than a
 * small batch's work, and while it waits for the disk other threads have the
 * processor. The writer thread takes what others leave: changes, chores, large batches,
 * and every batch where syncs are slow, because request threads must not wait for
 * a slow disk. */
#include "writer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "log.h"

enum {
    IDLE_US = 200000,     /* between looks at the clock for rounds and checkpoints */
    HERE_SYNC_US = 600,   /* a request thread writes while syncs take less than this, */
    LOCK_US = 2000,       /* waits so long for the write lock, */
    HERE_BYTES = 1 << 16, /* and writes no more than this */
    SLOW_SYNC_US = 1000,  /* from here on it pays to wait for company */
};

int64_t writer_seconds(void)
{
    return (int64_t)time(NULL);
}

/* ---------------------------------------------------------------- health */

void writer_note_failure(struct writer *writer, enum tremolo_status status, const char *words,
                         bool for_good)
{
    enum tremolo_status now = for_good ? TREMOLO_NOT_SYNCED : status;
    struct log *log = NULL;
    (void)atomic_fetch_add(&writer->counters.store_errors, 1);
    background_lock(&writer->thread);
    if (!writer->for_good) {
        writer->for_good = for_good;
        log = writer->health != now ? writer->log : NULL;
        writer->health = now;
        (void)snprintf(writer->words, sizeof writer->words, "%s: %s",
                       tremolo_status_sentence(status), words);
    }
    background_unlock(&writer->thread);
    if (log != NULL) {
        log_event(log, "error", "store", "{s:s, s:s}", "state",
                  for_good ? "nothing is taken until a restart" : "nothing is taken for now",
                  "reason", words);
    }
}

void writer_note_success(struct writer *writer)
{
    struct log *log = NULL;
    background_lock(&writer->thread);
    if (!writer->for_good) {
        log = writer->health != TREMOLO_OK ? writer->log : NULL;
        writer->health = TREMOLO_OK;
        writer->words[0] = '\0';
    }
    background_unlock(&writer->thread);
    if (log != NULL) {
        log_event(log, "info", "store", "{s:s}", "state", "reports are taken again");
    }
}

void writer_note_lesser(struct writer *writer, const char *event, const struct served_study *served,
                        enum tremolo_status status, const char *words)
{
    (void)atomic_fetch_add(&writer->counters.store_errors, 1);
    background_lock(&writer->thread);
    struct log *log = writer->log;
    background_unlock(&writer->thread);
    if (log != NULL) {
        log_event(log, "error", event, "{s:s, s:s, s:s}", "study", served->id_text, "status",
                  tremolo_status_name(status), "words", words);
    }
}

void writer_set_log(struct writer *writer, struct log *log)
{
    background_lock(&writer->thread);
    writer->log = log;
    background_unlock(&writer->thread);
}

enum tremolo_status writer_health(struct writer *writer, char words[TREMOLO_WORDS_BYTES])
{
    background_lock(&writer->thread);
    enum tremolo_status health = writer->health;
    if (words != NULL) {
        (void)snprintf(words, TREMOLO_WORDS_BYTES, "%s", writer->words);
    }
    background_unlock(&writer->thread);
    return health;
}

void writer_note_sync(struct writer *writer, int64_t took_us)
{
    (void)atomic_fetch_add(&writer->counters.sync_microseconds, (uint64_t)took_us);
    (void)atomic_fetch_add(&writer->counters.syncs, 1);
}

/* ---------------------------------------------------------------- batches */

void writer_finish_batch(struct writer *writer, struct job *jobs)
{
    while (jobs != NULL) {
        struct job *job = jobs; /* its owner may free it once it is done */
        jobs = job->next;
        writer_count(writer, job->served, job->reports.arrivals, job->reports.count);
        job->done(job);
    }
}

/* A change or a large job: nothing a request thread does itself. */
static bool is_for_writer(const struct job *job)
{
    return job != NULL && (job->kind != JOB_REPORTS || job->bytes > HERE_BYTES);
}

/* Take from the queue's head what belongs into one batch: reports up to the
 * byte limit, or a single change; `here`, on a request thread, few reports and no change.
 * Lock held. */
static struct job *take_batch(struct writer *writer, bool here)
{
    size_t most = here ? HERE_BYTES : WRITER_BATCH_BYTES_MAX;
    struct job *batch = writer->first;
    struct job *end = batch;
    if (batch == NULL || (here && is_for_writer(batch))) {
        return NULL;
    }
    size_t bytes = batch->bytes;
    while (batch->kind == JOB_REPORTS && end->next != NULL && end->next->kind == JOB_REPORTS &&
           bytes + end->next->bytes <= most) {
        end = end->next;
        bytes += end->bytes;
    }
    writer->first = end->next;
    if (writer->first == NULL) {
        writer->last = &writer->first;
    }
    end->next = NULL;
    writer->queued_bytes -= bytes;
    return batch;
}

/* ---------------------------------------------------------------- thread */

/* Clients that were just answered come again at once. Where syncs are slow it pays to
 * let them in before the next one: for as long as more keep coming within a
 * quarter of what a sync takes, and three quarters of it in all. Lock held. */
static void wait_for_company(struct writer *writer)
{
    int64_t usual = atomic_load(&writer->sync_usual_us);
    size_t before = 0;
    for (int i = 0; i < 3 && usual >= SLOW_SYNC_US && !writer->thread.stopping; i++) {
        if (writer->queued_bytes == before || writer->queued_bytes >= WRITER_BATCH_BYTES_MAX) {
            return;
        }
        before = writer->queued_bytes;
        background_wait_us(&writer->thread, usual / 4);
    }
}

/* Decide about the next batch, or make the next change. Write lock held. The writer thread, once
 * called, goes on until nothing is left; a request thread leaves the rest to those who
 * brought it, because each of them writes after it, or calls. */
static bool write_next(struct writer *writer, bool here)
{
    background_lock(&writer->thread);
    struct job *batch = take_batch(writer, here);
    writer->wanted = writer->wanted || (!here && writer->first != NULL);
    background_unlock(&writer->thread);
    if (batch == NULL) {
        return false;
    }
    if (batch->kind == JOB_REPORTS) {
        writer->backend->run_batch(writer, batch);
    } else {
        writer->backend->run_change(writer, batch);
    }
    return true;
}

static void *writer_main(void *argument)
{
    struct writer *writer = argument;
    bool stopping = false;
    bool wrote = false;
    while (!stopping || wrote) {
        background_lock(&writer->thread);
        if (!writer->wanted && !writer->thread.stopping) {
            background_wait_us(&writer->thread, IDLE_US);
        }
        wait_for_company(writer);
        writer->wanted = false;
        stopping = writer->thread.stopping;
        background_unlock(&writer->thread);
        (void)pthread_mutex_lock(&writer->write_lock);
        wrote = write_next(writer, false);
        writer->backend->idle(writer);
        (void)pthread_mutex_unlock(&writer->write_lock);
    }
    writer->backend->end(writer);
    return NULL;
}

/* ---------------------------------------------------------------- submitting */

static void call_writer(struct writer *writer)
{
    background_lock(&writer->thread);
    if (!writer->wanted) {
        writer->wanted = true;
        background_signal(&writer->thread);
    }
    background_unlock(&writer->thread);
}

/* Put what there is room for into the queue and return the rest. *small is whether little
 * waits now. */
static struct job *enqueue(struct writer *writer, struct job *jobs, bool *small)
{
    background_lock(&writer->thread);
    while (jobs != NULL && !writer->thread.stopping &&
           writer->queued_bytes + jobs->bytes <= WRITER_QUEUE_BYTES_MAX) {
        struct job *job = jobs;
        jobs = job->next;
        job->next = NULL;
        *writer->last = job;
        writer->last = &job->next;
        writer->queued_bytes += job->bytes;
    }
    *small = writer->queued_bytes <= HERE_BYTES;
    background_unlock(&writer->thread);
    return jobs;
}

/* What we brought may be what we left: then nobody else would call the writer. */
static bool is_next_for_writer(struct writer *writer)
{
    background_lock(&writer->thread);
    bool is = is_for_writer(writer->first);
    background_unlock(&writer->thread);
    return is;
}

/* Be the writer for a batch, unless that might take long. (Should somebody set the clock
 * back meanwhile, we wait until the write lock is free: it always will be.) */
static bool write_here(struct writer *writer)
{
    struct timespec until = clock_after(CLOCK_REALTIME, LOCK_US);
    if (writer->backend->is_due == NULL || atomic_load(&writer->sync_usual_us) >= HERE_SYNC_US ||
        pthread_mutex_timedlock(&writer->write_lock, &until) != 0) {
        return false;
    }
    (void)write_next(writer, true);
    bool due = writer->backend->is_due(writer) || is_next_for_writer(writer);
    (void)pthread_mutex_unlock(&writer->write_lock);
    return !due;
}

struct job *writer_submit_all(struct writer *writer, struct job *jobs)
{
    bool small;
    jobs = enqueue(writer, jobs, &small);
    if (!small || !write_here(writer)) {
        call_writer(writer);
    }
    return jobs;
}

bool writer_submit(struct writer *writer, struct job *job)
{
    bool small;
    job->next = NULL;
    if (enqueue(writer, job, &small) != NULL) {
        return false;
    }
    call_writer(writer);
    return true;
}

struct writer_counters *writer_counters(struct writer *writer)
{
    return &writer->counters;
}

void writer_count(struct writer *writer, struct served_study *served,
                  const struct arrival *arrivals, size_t count)
{
    uint64_t tally[OUTCOME_COUNT] = {0};
    for (size_t i = 0; i < count; i++) {
        tally[arrivals[i].outcome]++;
    }
    for (size_t i = 0; i < OUTCOME_COUNT; i++) {
        if (tally[i] > 0) {
            (void)atomic_fetch_add_explicit(&writer->counters.outcome[i], tally[i],
                                            memory_order_relaxed);
            (void)atomic_fetch_add_explicit(&served->outcome[i], tally[i], memory_order_relaxed);
        }
    }
}

/* ---------------------------------------------------------------- studies */

struct served_study *writer_find(struct writer *writer, const uint8_t id[TREMOLO_STUDY_ID_BYTES])
{
    (void)pthread_rwlock_rdlock(&writer->studies_lock);
    struct served_study *found = study_table_find(&writer->study_table, id);
    (void)pthread_rwlock_unlock(&writer->studies_lock);
    return found != NULL && memcmp(found->id, id, TREMOLO_STUDY_ID_BYTES) == 0 ? found : NULL;
}

bool writer_is_unsure(struct writer *writer, const uint8_t id[TREMOLO_STUDY_ID_BYTES])
{
    return writer->backend->unsure != NULL && writer->backend->unsure(writer, id);
}

size_t writer_study_count(struct writer *writer)
{
    (void)pthread_rwlock_rdlock(&writer->studies_lock);
    size_t count = writer->study_count;
    (void)pthread_rwlock_unlock(&writer->studies_lock);
    return count;
}

struct served_study *writer_study(struct writer *writer, size_t index)
{
    (void)pthread_rwlock_rdlock(&writer->studies_lock);
    struct served_study *served = index < writer->study_count ? writer->studies[index] : NULL;
    (void)pthread_rwlock_unlock(&writer->studies_lock);
    return served;
}

void writer_add_study(struct writer *writer, struct served_study *served)
{
    (void)pthread_rwlock_wrlock(&writer->studies_lock);
    writer->studies[writer->study_count++] = served;
    study_table_add(&writer->study_table, served);
    (void)pthread_rwlock_unlock(&writer->studies_lock);
}

/* ---------------------------------------------------------------- starting */

void writer_free(struct writer *writer)
{
    for (size_t i = 0; i < writer->study_count; i++) {
        served_free(writer->studies[i]);
    }
    study_table_free(&writer->study_table);
    (void)pthread_rwlock_destroy(&writer->studies_lock);
    (void)pthread_mutex_destroy(&writer->write_lock);
    background_free(&writer->thread);
    free(writer);
}

struct writer *writer_new(const struct backend *backend, void *context, const uint8_t *signing_key,
                          const uint8_t *secret)
{
    struct writer *made = calloc(1, sizeof *made);
    if (made == NULL || !study_table_init(&made->study_table, WRITER_STUDIES_MAX)) {
        free(made);
        return NULL;
    }
    made->backend = backend;
    made->context = context;
    made->signing_key = signing_key;
    made->secret = secret;
    made->last = &made->first;
    (void)pthread_rwlock_init(&made->studies_lock, NULL);
    (void)pthread_mutex_init(&made->write_lock, NULL);
    background_init(&made->thread);
    return made;
}

enum tremolo_status writer_run(struct writer *writer, char words[TREMOLO_WORDS_BYTES])
{
    if (background_start(&writer->thread, writer_main, writer)) {
        return TREMOLO_OK;
    }
    return words_say(words, TREMOLO_NO_MEMORY, "the writer thread cannot be started");
}

void writer_stop(struct writer *writer)
{
    if (writer != NULL) {
        background_stop(&writer->thread);
        writer_free(writer);
    }
}
