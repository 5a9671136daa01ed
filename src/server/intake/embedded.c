/* embedded.c -- the decider that keeps its own log, and how it begins.
 *
 * Invariants (docs/storage.md numbers them):
 *   - done() is called only after the sync that made the job's reports durable;
 *   - a report is folded exactly once, after that sync, by whoever writes;
 *   - after a failed sync nothing of the group is kept in memory either.
 *
 * A sync the disk did not confirm, or a fold that fails after a sync, stops the
 * intake for good: memory and disk can no longer be known to agree, and a
 * restart brings them together again. A full disk does not: the transaction
 * was rolled back, clients are told to come again. */
#include <stdio.h>

#include "bytes_order.h"
#include "decide.h"
#include "rounds.h"
#include "writer.h"

/* ---------------------------------------------------------------- groups */

/* The index is far larger than any cache; a few lookups ahead hide that. */
enum { PREFETCH_AHEAD = 8 };

static void prefetch_firsts(const struct job *jobs)
{
    for (const struct job *job = jobs; job != NULL; job = job->next) {
        index_prefetch(&job->book->log_ids, job->arrivals[0].hash);
    }
}

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

static void fold_group(struct ingest *ingest, enum tremolo_status status, int64_t now)
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
        ingest->round_due = ingest->round_due || rounds_is_due(book, now);
        if (folded != TREMOLO_OK) {
            writer_note_failure(ingest, folded, ingest->store->explain(ingest->store), true);
        }
    }
}

/* Jobs with reports are one group; a call in between waits for it. */
static void run_group(struct ingest *ingest, struct job *jobs)
{
    int64_t now = writer_seconds();
    bool healthy = ingest_health(ingest, NULL, 0) != TREMOLO_NOT_SYNCED;
    prefetch_firsts(jobs);
    for (struct job *job = jobs; job != NULL && healthy; job = job->next) {
        decide_job(ingest, job, now);
    }
    enum tremolo_status status = healthy ? commit_group(ingest) : TREMOLO_NOT_SYNCED;
    fold_group(ingest, status, now);
    while (jobs != NULL) {
        struct job *job = jobs;
        jobs = job->next;
        if (status != TREMOLO_OK) {
            writer_fail_job(job);
        }
        writer_finish_job(ingest, job);
    }
}

/* ---------------------------------------------------------------- checkpoints */

static void checkpoint(struct ingest *ingest)
{
    enum tremolo_status status = TREMOLO_OK;
    if (ingest_health(ingest, NULL, 0) == TREMOLO_NOT_SYNCED) {
        return; /* our sums may lack what the log has; a restart folds it again */
    }
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

/* ---------------------------------------------------------------- decider */

static void embedded_call(struct ingest *ingest, struct job *job)
{
    job->status = job->call(ingest, job);
    job->done(job);
}

/* Whoever asks for our health sends nothing while we say no, so no report would ever show that
 * the disk has room again: once a second we write the time ourselves. */
static void try_again(struct ingest *ingest)
{
    enum tremolo_status health = ingest_health(ingest, NULL, 0);
    int64_t now = writer_seconds();
    if (health == TREMOLO_OK || health == TREMOLO_NOT_SYNCED || now == ingest->tried_at) {
        return;
    }
    ingest->tried_at = now;
    struct store *store = ingest->store;
    uint8_t bytes[8];
    (void)bytes_put_u64(bytes, (uint64_t)now);
    enum tremolo_status status =
        store->put(store, "probe", (const uint8_t *)"time", 4, bytes, sizeof bytes);
    if (status == TREMOLO_OK) {
        status = writer_sync(ingest);
    }
    writer_settle(ingest, status);
}

static void embedded_idle(struct ingest *ingest)
{
    ingest->round_due = false;
    writer_close_due_rounds(ingest);
    checkpoint_when_due(ingest);
    try_again(ingest);
}

/* Is there more to do than the next group? */
static bool embedded_is_due(struct ingest *ingest)
{
    return ingest->round_due || ingest->since_checkpoint >= INGEST_CHECKPOINT_REPORTS;
}

static const struct decider embedded = {
    .run_group = run_group,
    .is_due = embedded_is_due,
    .run_call = embedded_call,
    .idle = embedded_idle,
    .end = checkpoint,
};

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
    return status == TREMOLO_OK ? book_recover_all(ingest->books, ingest->book_count, ingest->store)
                                : status;
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
