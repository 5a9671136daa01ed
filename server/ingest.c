/* ingest.c -- the queue and the writer thread.
 *
 * Invariants (docs/storage.md numbers them):
 *   - done() is called only after the sync that made the job's reports durable;
 *   - a report is folded exactly once, after that sync, by the writer;
 *   - after a failed sync nothing of the group is kept in memory either.
 *
 * A sync the disk did not confirm, or a fold that fails after a sync, stops the
 * intake for good: memory and disk can no longer be known to agree, and a
 * restart brings them together again. A full disk does not: the transaction
 * was rolled back, clients are told to come again. */
#include "ingest.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "decide.h"
#include "writer.h"

enum {
    IDLE_US = 200000,     /* between looks at the clock for rounds and checkpoints */
    COMPANY_US_MIN = 250, /* with faster syncs two groups in turn do better than one */
    SYNC_US_MAX = 100000, /* a stall is not what syncs usually take */
};

int64_t writer_seconds(void)
{
    return (int64_t)time(NULL);
}

static int64_t monotonic_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ---------------------------------------------------------------- health */

void writer_note_failure(struct ingest *ingest, enum tremolo_status status, const char *words,
                         bool for_good)
{
    (void)atomic_fetch_add(&ingest->counters.store_errors, 1);
    (void)pthread_mutex_lock(&ingest->lock);
    if (for_good || ingest->health == TREMOLO_OK || ingest->health == TREMOLO_STORE_FULL) {
        ingest->health = for_good ? TREMOLO_NOT_SYNCED : status;
        (void)snprintf(ingest->words, sizeof ingest->words, "%s: %s",
                       tremolo_status_sentence(status), words);
    }
    (void)pthread_mutex_unlock(&ingest->lock);
}

static void note_failure(struct ingest *ingest, enum tremolo_status status, bool for_good)
{
    writer_note_failure(ingest, status, ingest->store->explain(ingest->store), for_good);
}

void writer_note_success(struct ingest *ingest)
{
    (void)pthread_mutex_lock(&ingest->lock);
    if (ingest->health != TREMOLO_NOT_SYNCED) {
        ingest->health = TREMOLO_OK;
        ingest->words[0] = '\0';
    }
    (void)pthread_mutex_unlock(&ingest->lock);
}

enum tremolo_status ingest_health(struct ingest *ingest, char *words, size_t capacity)
{
    (void)pthread_mutex_lock(&ingest->lock);
    enum tremolo_status health = ingest->health;
    if (words != NULL) {
        (void)snprintf(words, capacity, "%s", ingest->words);
    }
    (void)pthread_mutex_unlock(&ingest->lock);
    return health;
}

/* Sync, and settle what a failure means. */
enum tremolo_status writer_sync(struct ingest *ingest)
{
    int64_t start = monotonic_us();
    enum tremolo_status status = ingest->store->sync(ingest->store);
    int64_t took = monotonic_us() - start;
    (void)atomic_fetch_add(&ingest->counters.sync_microseconds, (uint64_t)took);
    took = took < SYNC_US_MAX ? took : SYNC_US_MAX;
    ingest->sync_usual_us += (took - ingest->sync_usual_us) / 8;
    (void)atomic_fetch_add(&ingest->counters.groups, 1);
    return status;
}

void writer_settle(struct ingest *ingest, enum tremolo_status status)
{
    if (status == TREMOLO_OK) {
        writer_note_success(ingest);
        return;
    }
    note_failure(ingest, status, status == TREMOLO_NOT_SYNCED);
    ingest->store->discard(ingest->store);
}

/* ---------------------------------------------------------------- groups */

/* The index is far larger than any cache; a few lookups ahead hide that. */
enum { PREFETCH_AHEAD = 8 };

static void decide_job(struct ingest *ingest, struct job *job, int64_t now)
{
    struct book *book = job->book;
    if (!book->touched) {
        book->touched = true;
        book->next_touched = ingest->touched;
        ingest->touched = book;
    }
    for (size_t i = 0; i < job->count; i++) {
        struct arrival *arrival = &job->arrivals[i];
        if (i + PREFETCH_AHEAD < job->count) {
            index_prefetch(&book->log_ids, job->arrivals[i + PREFETCH_AHEAD].hash);
        }
        if (arrival->outcome == OUTCOME_PENDING) {
            const int16_t *row = job->rows + i * book->check.row_values;
            arrival->outcome = (uint8_t)decide(book, arrival, row, ingest->store, now);
        }
    }
}

/* A repeat may lean on a report of the same failed group, so it fails too;
 * the device sends the same bytes again. */
void writer_fail_job(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        uint8_t outcome = job->arrivals[i].outcome;
        if (outcome == OUTCOME_ACCEPTED || outcome == OUTCOME_REPEATED ||
            outcome == OUTCOME_PENDING) {
            job->arrivals[i].outcome = OUTCOME_NOT_STORED;
        }
    }
}

void writer_finish_job(struct ingest *ingest, struct job *job)
{
    ingest_count(ingest, job->book, job->arrivals, job->count);
    job->done(job);
}

static enum tremolo_status commit_group(struct ingest *ingest)
{
    enum tremolo_status status = TREMOLO_OK;
    bool any = false;
    for (struct book *book = ingest->touched; book != NULL; book = book->next_touched) {
        any = any || book->log_segment.count > 0;
        if (status == TREMOLO_OK) {
            status = decide_append(book, ingest->store);
        }
    }
    if (!any) {
        return TREMOLO_OK;
    }
    if (status == TREMOLO_OK) {
        status = writer_sync(ingest);
    }
    writer_settle(ingest, status);
    return status;
}

static void fold_group(struct ingest *ingest, enum tremolo_status status)
{
    while (ingest->touched != NULL) {
        struct book *book = ingest->touched;
        ingest->touched = book->next_touched;
        book->touched = false;
        if (status != TREMOLO_OK) {
            decide_drop(book);
            continue;
        }
        ingest->since_checkpoint += book->log_segment.count;
        enum tremolo_status folded = decide_commit(book);
        if (folded != TREMOLO_OK) {
            note_failure(ingest, folded, true);
        }
    }
}

/* Jobs with reports are one group; a call in between waits for it. */
static void run_group(struct ingest *ingest, struct job *jobs)
{
    int64_t now = writer_seconds();
    bool healthy = ingest_health(ingest, NULL, 0) != TREMOLO_NOT_SYNCED;
    for (struct job *job = jobs; job != NULL && healthy; job = job->next) {
        decide_job(ingest, job, now);
    }
    enum tremolo_status status = healthy ? commit_group(ingest) : TREMOLO_NOT_SYNCED;
    fold_group(ingest, status);
    while (jobs != NULL) {
        struct job *job = jobs;
        jobs = job->next;
        if (status != TREMOLO_OK) {
            writer_fail_job(job);
        }
        writer_finish_job(ingest, job);
    }
}

/* Take from the queue's head what belongs into one group: reports up to the
 * byte limit, or a single call. Lock held. */
static struct job *take_group(struct ingest *ingest)
{
    struct job *group = ingest->first;
    struct job *end = group;
    if (group == NULL) {
        return NULL;
    }
    size_t bytes = group->bytes;
    while (group->call == NULL && end->next != NULL && end->next->call == NULL &&
           bytes + end->next->bytes <= INGEST_GROUP_BYTES_MAX) {
        end = end->next;
        bytes += end->bytes;
    }
    ingest->first = end->next;
    if (ingest->first == NULL) {
        ingest->last = &ingest->first;
    }
    end->next = NULL;
    ingest->queued_bytes -= bytes;
    atomic_store(&ingest->counters.queued_bytes, ingest->queued_bytes);
    return group;
}

/* ---------------------------------------------------------------- checkpoints */

static void checkpoint(struct ingest *ingest)
{
    enum tremolo_status status = TREMOLO_OK;
    for (size_t i = 0; i < ingest->book_count && status == TREMOLO_OK; i++) {
        status = book_put_checkpoint(ingest->store, ingest->books[i]);
    }
    if (status == TREMOLO_OK) {
        status = writer_sync(ingest);
    }
    writer_settle(ingest, status);
    for (size_t i = 0; i < ingest->book_count && status == TREMOLO_OK; i++) {
        book_checkpointed(ingest->books[i]);
    }
    ingest->since_checkpoint = 0;
    ingest->checkpointed_at = writer_seconds();
}

static void checkpoint_when_due(struct ingest *ingest)
{
    bool late = writer_seconds() - ingest->checkpointed_at >= INGEST_CHECKPOINT_SECONDS;
    if (ingest->since_checkpoint >= INGEST_CHECKPOINT_REPORTS ||
        (late && ingest->since_checkpoint > 0)) {
        checkpoint(ingest);
    }
}

/* ---------------------------------------------------------------- thread */

static void embedded_call(struct ingest *ingest, struct job *job)
{
    job->status = job->call(ingest, job);
    job->done(job);
}

static void embedded_idle(struct ingest *ingest)
{
    writer_close_due_rounds(ingest);
    checkpoint_when_due(ingest);
}

static const struct decider embedded = {
    .run_group = run_group,
    .run_call = embedded_call,
    .idle = embedded_idle,
    .end = checkpoint,
};

/* Wait for the queue to change, at most this long. Lock held. */
static void wait_for_jobs(struct ingest *ingest, int64_t microseconds)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(microseconds * 1000);
    while (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    (void)pthread_cond_timedwait(&ingest->wake, &ingest->lock, &until);
}

/* Clients that were just answered come again at once. Where syncs are slow it pays to
 * let them in before the next one: for as long as more keep coming within a
 * quarter of what a sync takes, and three quarters of it in all. Lock held. */
static void wait_for_company(struct ingest *ingest)
{
    int64_t quiet = ingest->sync_usual_us / 4;
    size_t before = 0;
    for (int i = 0; i < 3 && quiet >= COMPANY_US_MIN && !ingest->stopping; i++) {
        if (ingest->queued_bytes == before || ingest->queued_bytes >= INGEST_GROUP_BYTES_MAX) {
            return;
        }
        before = ingest->queued_bytes;
        wait_for_jobs(ingest, quiet);
    }
}

static void *writer_main(void *argument)
{
    struct ingest *ingest = argument;
    bool stopping = false;
    struct job *group = NULL;
    while (!stopping || group != NULL) {
        (void)pthread_mutex_lock(&ingest->lock);
        if (ingest->first == NULL && !ingest->stopping) {
            wait_for_jobs(ingest, IDLE_US);
        }
        wait_for_company(ingest);
        group = take_group(ingest);
        stopping = ingest->stopping;
        (void)pthread_mutex_unlock(&ingest->lock);
        if (group != NULL) {
            (group->call != NULL ? ingest->decider->run_call : ingest->decider->run_group)(ingest,
                                                                                           group);
        }
        ingest->decider->idle(ingest);
    }
    ingest->decider->end(ingest);
    return NULL;
}

struct job *ingest_submit_all(struct ingest *ingest, struct job *jobs)
{
    (void)pthread_mutex_lock(&ingest->lock);
    bool idle = ingest->first == NULL;
    while (jobs != NULL && !ingest->stopping &&
           ingest->queued_bytes + jobs->bytes <= INGEST_QUEUE_BYTES_MAX) {
        struct job *job = jobs;
        jobs = job->next;
        job->next = NULL;
        *ingest->last = job;
        ingest->last = &job->next;
        ingest->queued_bytes += job->bytes;
    }
    if (idle && ingest->first != NULL) {
        (void)pthread_cond_signal(&ingest->wake);
    }
    (void)pthread_mutex_unlock(&ingest->lock);
    return jobs;
}

bool ingest_submit(struct ingest *ingest, struct job *job)
{
    job->next = NULL;
    return ingest_submit_all(ingest, job) == NULL;
}

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool done;
};

static void wake_waiter(struct job *job)
{
    struct waiter *waiter = job->context;
    (void)pthread_mutex_lock(&waiter->lock);
    waiter->done = true;
    (void)pthread_cond_signal(&waiter->wake);
    (void)pthread_mutex_unlock(&waiter->lock);
}

bool ingest_submit_and_wait(struct ingest *ingest, struct job *job)
{
    struct waiter *waiter = calloc(1, sizeof *waiter);
    if (waiter == NULL) {
        return false;
    }
    (void)pthread_mutex_init(&waiter->lock, NULL);
    (void)pthread_cond_init(&waiter->wake, NULL);
    job->context = waiter;
    job->done = wake_waiter;
    bool taken = ingest_submit(ingest, job);
    (void)pthread_mutex_lock(&waiter->lock);
    while (taken && !waiter->done) {
        (void)pthread_cond_wait(&waiter->wake, &waiter->lock);
    }
    (void)pthread_mutex_unlock(&waiter->lock);
    (void)pthread_mutex_destroy(&waiter->lock);
    (void)pthread_cond_destroy(&waiter->wake);
    job->context = NULL;
    free(waiter);
    return taken;
}

struct ingest_counters *ingest_counters(struct ingest *ingest)
{
    return &ingest->counters;
}

void ingest_count(struct ingest *ingest, struct book *book, const struct arrival *arrivals,
                  size_t count)
{
    uint64_t tally[OUTCOME_COUNT] = {0};
    for (size_t i = 0; i < count; i++) {
        tally[arrivals[i].outcome]++;
    }
    for (size_t i = 0; i < OUTCOME_COUNT; i++) {
        if (tally[i] > 0) {
            (void)atomic_fetch_add_explicit(&ingest->counters.outcome[i], tally[i],
                                            memory_order_relaxed);
            (void)atomic_fetch_add_explicit(&book->outcome[i], tally[i], memory_order_relaxed);
        }
    }
}

/* ---------------------------------------------------------------- starting */

static enum tremolo_status recover_study(void *context, const uint8_t *key, size_t key_length,
                                         const uint8_t *value, size_t length)
{
    struct ingest *ingest = context;
    struct book *book = NULL;
    (void)key;
    (void)key_length;
    if (ingest->book_count == INGEST_STUDIES_MAX) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status =
        book_new(&book, NULL, (const char *)value, length, ingest->signing_key, ingest->secret);
    if (status == TREMOLO_OK) {
        ingest->books[ingest->book_count++] = book;
    }
    return status;
}

static enum tremolo_status recover(struct ingest *ingest)
{
    enum tremolo_status status = book_each_study(ingest->store, recover_study, ingest);
    for (size_t i = 0; i < ingest->book_count && status == TREMOLO_OK; i++) {
        status = book_recover(ingest->books[i], ingest->store);
    }
    return status;
}

void writer_free(struct ingest *ingest)
{
    for (size_t i = 0; i < ingest->book_count; i++) {
        book_free(ingest->books[i]);
    }
    (void)pthread_rwlock_destroy(&ingest->books_lock);
    (void)pthread_mutex_destroy(&ingest->lock);
    (void)pthread_cond_destroy(&ingest->wake);
    free(ingest);
}

struct ingest *writer_new(const struct decider *decider, void *context)
{
    struct ingest *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->decider = decider;
    made->context = context;
    made->last = &made->first;
    made->checkpointed_at = writer_seconds();
    (void)pthread_rwlock_init(&made->books_lock, NULL);
    (void)pthread_mutex_init(&made->lock, NULL);
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&made->wake, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return made;
}

enum tremolo_status writer_start(struct ingest *ingest)
{
    return pthread_create(&ingest->writer, NULL, writer_main, ingest) == 0 ? TREMOLO_OK
                                                                           : TREMOLO_NO_MEMORY;
}

enum tremolo_status ingest_start(struct ingest **ingest, struct store *store,
                                 const uint8_t *signing_key, const uint8_t *secret, char *words,
                                 size_t words_capacity)
{
    struct ingest *made = writer_new(&embedded, NULL);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    made->store = store;
    made->signing_key = signing_key;
    made->secret = secret;
    enum tremolo_status status = recover(made);
    if (status != TREMOLO_OK) {
        (void)snprintf(words, words_capacity, "the log cannot be recovered: %s (%s)",
                       tremolo_status_sentence(status), store->explain(store));
    } else {
        status = writer_start(made);
        if (status != TREMOLO_OK) {
            (void)snprintf(words, words_capacity, "the writer thread cannot be started");
        }
    }
    if (status != TREMOLO_OK) {
        writer_free(made);
        return status;
    }
    *ingest = made;
    return TREMOLO_OK;
}

void ingest_stop(struct ingest *ingest)
{
    if (ingest == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&ingest->lock);
    ingest->stopping = true;
    (void)pthread_cond_signal(&ingest->wake);
    (void)pthread_mutex_unlock(&ingest->lock);
    (void)pthread_join(ingest->writer, NULL);
    if (ingest->store != NULL) {
        ingest->store->close(ingest->store);
    }
    writer_free(ingest);
}
