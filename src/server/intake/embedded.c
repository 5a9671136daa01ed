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
        index_prefetch(&job->served->log_ids, job->arrivals[0].hash);
    }
}

static void decide_job(struct writer *writer, struct job *job, int64_t now)
{
    struct served_study *served = job->served;
    if (!served->touched) {
        served->touched = true;
        served->next_touched = writer->touched;
        writer->touched = served;
    }
    for (size_t i = 0; i < job->count; i++) {
        struct arrival *arrival = &job->arrivals[i];
        if (i + PREFETCH_AHEAD < job->count) {
            index_prefetch(&served->log_ids, job->arrivals[i + PREFETCH_AHEAD].hash);
        }
        if (arrival->outcome == OUTCOME_PENDING) {
            const int16_t *row = job->rows + i * served->check.row_values;
            arrival->outcome = (uint8_t)decide(served, arrival, row, writer->store, now);
        }
    }
}

static enum tremolo_status commit_group(struct writer *writer)
{
    enum tremolo_status status = TREMOLO_OK;
    bool any = false;
    for (struct served_study *served = writer->touched; served != NULL;
         served = served->next_touched) {
        any = any || served->log_segment.count > 0;
        if (status == TREMOLO_OK) {
            status = decide_append(served, writer->store);
        }
    }
    if (!any) {
        return TREMOLO_OK;
    }
    if (status == TREMOLO_OK) {
        status = writer_sync(writer);
    }
    writer_settle(writer, status);
    return status;
}

static void fold_group(struct writer *writer, enum tremolo_status status, int64_t now)
{
    while (writer->touched != NULL) {
        struct served_study *served = writer->touched;
        writer->touched = served->next_touched;
        served->touched = false;
        if (status != TREMOLO_OK) {
            decide_drop(served);
            continue;
        }
        writer->since_checkpoint += served->log_segment.count;
        enum tremolo_status folded = decide_commit(served);
        writer->round_due = writer->round_due || rounds_is_due(served, now);
        if (folded != TREMOLO_OK) {
            writer_note_failure(writer, folded, writer->store->explain(writer->store), true);
        }
    }
}

/* Jobs with reports are one group; a call in between waits for it. */
static void run_group(struct writer *writer, struct job *jobs)
{
    int64_t now = writer_seconds();
    bool healthy = writer_health(writer, NULL, 0) != TREMOLO_NOT_SYNCED;
    prefetch_firsts(jobs);
    for (struct job *job = jobs; job != NULL && healthy; job = job->next) {
        decide_job(writer, job, now);
    }
    enum tremolo_status status = healthy ? commit_group(writer) : TREMOLO_NOT_SYNCED;
    fold_group(writer, status, now);
    while (jobs != NULL) {
        struct job *job = jobs;
        jobs = job->next;
        if (status != TREMOLO_OK) {
            writer_fail_job(job);
        }
        writer_finish_job(writer, job);
    }
}

/* ---------------------------------------------------------------- checkpoints */

static void checkpoint(struct writer *writer)
{
    enum tremolo_status status = TREMOLO_OK;
    if (writer_health(writer, NULL, 0) == TREMOLO_NOT_SYNCED) {
        return; /* our sums may lack what the log has; a restart folds it again */
    }
    for (size_t i = 0; i < writer->study_count && status == TREMOLO_OK; i++) {
        status = served_put_checkpoint(writer->store, writer->studies[i]);
    }
    if (status == TREMOLO_OK) {
        status = writer_sync(writer);
    }
    writer_settle(writer, status);
    for (size_t i = 0; i < writer->study_count && status == TREMOLO_OK; i++) {
        served_checkpointed(writer->studies[i]);
    }
    writer->since_checkpoint = 0;
    writer->checkpointed_at = writer_seconds();
}

static void checkpoint_when_due(struct writer *writer)
{
    bool late = writer_seconds() - writer->checkpointed_at >= WRITER_CHECKPOINT_SECONDS;
    if (writer->since_checkpoint >= WRITER_CHECKPOINT_REPORTS ||
        (late && writer->since_checkpoint > 0)) {
        checkpoint(writer);
    }
}

/* ---------------------------------------------------------------- decider */

static void embedded_call(struct writer *writer, struct job *job)
{
    job->status = job->call(writer, job);
    job->done(job);
}

/* Whoever asks for our health sends nothing while we say no, so no report would ever show that
 * the disk has room again: once a second we write the time ourselves. */
static void try_again(struct writer *writer)
{
    enum tremolo_status health = writer_health(writer, NULL, 0);
    int64_t now = writer_seconds();
    if (health == TREMOLO_OK || health == TREMOLO_NOT_SYNCED || now == writer->tried_at) {
        return;
    }
    writer->tried_at = now;
    struct store *store = writer->store;
    uint8_t bytes[8];
    (void)bytes_put_u64(bytes, (uint64_t)now);
    enum tremolo_status status =
        store->put(store, "probe", (const uint8_t *)"time", 4, bytes, sizeof bytes);
    if (status == TREMOLO_OK) {
        status = writer_sync(writer);
    }
    writer_settle(writer, status);
}

static void embedded_idle(struct writer *writer)
{
    writer->round_due = false;
    writer_close_due_rounds(writer);
    checkpoint_when_due(writer);
    try_again(writer);
}

/* Is there more to do than the next group? */
static bool embedded_is_due(struct writer *writer)
{
    return writer->round_due || writer->since_checkpoint >= WRITER_CHECKPOINT_REPORTS;
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
    struct writer *writer = context;
    struct served_study *served = NULL;
    (void)key;
    (void)key_length;
    if (writer->study_count == WRITER_STUDIES_MAX) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status =
        served_new(&served, NULL, (const char *)value, length, writer->signing_key, writer->secret);
    if (status == TREMOLO_OK) {
        writer->studies[writer->study_count++] = served;
    }
    return status;
}

static enum tremolo_status recover(struct writer *writer)
{
    enum tremolo_status status = served_each_study(writer->store, recover_study, writer);
    return status == TREMOLO_OK
               ? served_recover_all(writer->studies, writer->study_count, writer->store)
               : status;
}

enum tremolo_status embedded_start(struct writer **writer, struct store *store,
                                   const uint8_t *signing_key, const uint8_t *secret, char *words,
                                   size_t words_capacity)
{
    struct writer *made = writer_new(&embedded, NULL);
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
        status = writer_run(made);
        if (status != TREMOLO_OK) {
            (void)snprintf(words, words_capacity, "the writer thread cannot be started");
        }
    }
    if (status != TREMOLO_OK) {
        writer_free(made);
        return status;
    }
    *writer = made;
    return TREMOLO_OK;
}
