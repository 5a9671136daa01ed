/* embedded.c -- the backend that keeps its own log: decide about a batch of reports, append, sync, fold.
 *
 * Invariants (docs/reference/storage.md numbers them):
 *   - done() is called only after the sync that made the job's reports durable;
 *   - a report is folded exactly once, after that sync, by the holder of write_lock;
 *   - after a failed sync nothing of the batch is kept in memory either.
 *
 * A sync that the disk did not confirm, or a fold that fails after a sync, stops the intake until a restart:
 * memory and disk may no longer agree. A full disk does not: its transaction was rolled back, and clients
 * are asked to come again.
 *
 * All of struct embedded, the store and each study's `log` are guarded by the writer's write_lock; a study's
 * `sums` are read under it, and changed under their own lock too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "encoder.h"
#include "writer.h"
#include "log.h"

enum {
    CHECKPOINT_REPORTS = 1 << 20, /* or after a minute */
    CHECKPOINT_SECONDS = 60,
    SYNC_US_MAX = 100000, /* a stall is not what syncs usually take */
    PREFETCH_AHEAD = 8,   /* the index is far larger than any cache; that hides it */
};

struct embedded {
    struct writer *writer;
    struct store *store;
    int64_t checkpointed_at;
    int64_t tried_at; /* to write, while the store takes nothing */
    uint64_t since_checkpoint;
    bool round_due; /* for `idle` to close */
    struct served_study *touched;
    int8_t expanded[ROWS_EXPANDED_BYTES]; /* ballots of a study that is folded */
};

/* Wall clock: rounds and times of arrival are in the time of the world. */
static int64_t seconds_now(void)
{
    return (int64_t)time(NULL);
}

/* ---------------------------------------------------------------- one report
 *
 * Candidates from the index are compared with the record itself: with the log's for durable ones, with the
 * segment under construction for those of the same batch. write_lock is held from the first decide() of a
 * batch to its commit or drop; when it is released no study has anything collected. */

/* Of a place in the segment under construction: positions in the log count from 1. */
enum { PENDING_POSITION = 0 };

/* Names are compared by their bytes; reports without a name have length 0. */
static bool same_device(const struct segment_record *record, const struct arrival *arrival)
{
    return record->device_length == arrival->device_length &&
           (arrival->device_length == 0 ||
            memcmp(record->device, arrival->device, arrival->device_length) == 0);
}

/* A repeat is the same report of the same device, byte for byte. Anything else under the same id
 * is refused. */
static bool same_bytes(const struct segment_record *record, const struct arrival *arrival)
{
    return record->length == arrival->length && same_device(record, arrival) &&
           memcmp(record->report, arrival->bytes, arrival->length) == 0;
}

/* Segments come whole and repeats come in runs, so the last one is kept. */
static bool load_segment(struct served_study *served, struct store *store, uint64_t position)
{
    struct store_segment segment = {0};
    if (served->log.cached == position) {
        return true;
    }
    if (store->read(store, position, &segment) != TREMOLO_OK || segment.position != position ||
        memcmp(segment.study, served->id, STORE_STUDY_BYTES) != 0 ||
        segment_check(segment.bytes, segment.length) != TREMOLO_OK) {
        return false;
    }
    uint8_t *copy = realloc(served->log.cache, segment.length);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, segment.bytes, segment.length);
    served->log.cache = copy;
    served->log.cache_length = segment.length;
    served->log.cached = position;
    return true;
}

/* The record at a place of the log or of the batch. False when it cannot be read: the outcome is then "not
 * stored", never a guess. The segment under construction has no check value yet; its room is there. */
static bool load_record(struct segment_record *record, struct tremolo_report *report,
                        struct served_study *served, struct store *store, uint64_t place)
{
    const struct served_log *log = &served->log;
    uint32_t offset = (uint32_t)(place & 0xffffff);
    bool pending = place >> 24 == PENDING_POSITION;
    if (!pending && !load_segment(served, store, place >> 24)) {
        return false;
    }
    return segment_next(record, &offset, pending ? log->segment.bytes : log->cache,
                        pending ? log->segment.length + SEGMENT_CHECK_BYTES : log->cache_length) &&
           tremolo_report_decode(report, record->report, record->length) == TREMOLO_OK;
}

/* The next place that may hold a key: first those in the log, then those of this batch. 0: no more. */
static uint64_t next_place(const struct index *durable, const struct index *pending, uint64_t hash,
                           size_t cursor[2])
{
    uint64_t place = index_find(durable, hash, &cursor[0]);
    return place != 0 ? place : index_find(pending, hash, &cursor[1]);
}

/* PENDING: the id is new. A hash of 64 bits may collide, so the id itself is compared. A repeat of a report of this batch is durable only together with it; the writer
 * settles that. */
static enum server_outcome find_repeat(struct served_study *served, const struct arrival *arrival,
                                       struct store *store)
{
    struct segment_record record;
    struct tremolo_report report;
    uint64_t place;
    size_t cursor[2] = {0, 0};
    while ((place = next_place(&served->log.ids, &served->log.pending_ids, arrival->hash,
                               cursor)) != 0) {
        if (!load_record(&record, &report, served, store, place)) {
            return OUTCOME_NOT_STORED;
        }
        if (memcmp(report.id, arrival->id, TREMOLO_REPORT_ID_BYTES) == 0) {
            return same_bytes(&record, arrival) ? OUTCOME_REPEATED : OUTCOME_OTHER_BYTES;
        }
    }
    return OUTCOME_PENDING;
}

/* How many samples of this round the device has given, durable ones and those of this batch.
 * PENDING: it has one left. write_lock held. */
static enum server_outcome count_samples(struct served_study *served, const struct arrival *arrival,
                                         struct store *store)
{
    uint8_t key[SERVED_DEVICE_KEY_BYTES];
    struct segment_record record;
    struct tremolo_report report;
    unsigned used = 0;
    uint64_t place;
    size_t cursor[2] = {0, 0};
    size_t length = served_device_key(key, arrival);
    uint64_t hash = index_hash(served->hash_key, key, length);
    while ((place = next_place(&served->log.devices, &served->log.pending_devices, hash, cursor)) !=
           0) {
        if (!load_record(&record, &report, served, store, place)) {
            return OUTCOME_NOT_STORED;
        }
        used += report.round == arrival->round && same_device(&record, arrival);
    }
    return used < served->terms->samples ? OUTCOME_PENDING : OUTCOME_SAMPLES_USED;
}

/* Room for one more row and one more place. Both arrays grow by doubling; without memory the
 * report is not stored. */
static bool grow_rows(struct served_study *served)
{
    struct served_log *log = &served->log;
    size_t capacity = log->rows.capacity == 0 ? 256 : 2 * log->rows.capacity;
    if (log->segment.count < log->rows.capacity) {
        return true;
    }
    struct decided *decided = realloc(log->decided, capacity * sizeof *decided);
    if (decided == NULL) {
        return false;
    }
    log->decided = decided;
    return rows_reserve(&log->rows, served->check.row_values, capacity) == TREMOLO_OK;
}

/* Collect a new report: its record, its row and its names. Room is made first, so that it is
 * collected as a whole or not at all. */
static enum server_outcome stage(struct served_study *served, const struct arrival *arrival,
                                 const int16_t *row)
{
    uint8_t key[SERVED_DEVICE_KEY_BYTES];
    uint32_t offset = 0;
    size_t at = served->log.segment.count;
    struct segment_record record = {.report = arrival->bytes,
                                    .length = arrival->length,
                                    .device = arrival->device,
                                    .device_length = arrival->device_length};
    if (!grow_rows(served) || index_reserve(&served->log.pending_ids, 1) != TREMOLO_OK ||
        index_reserve(&served->log.pending_devices, 1) != TREMOLO_OK ||
        segment_add(&served->log.segment, &record, &offset) != TREMOLO_OK) {
        return OUTCOME_NOT_STORED;
    }
    uint64_t place = index_place(PENDING_POSITION, offset);
    struct decided *decided = &served->log.decided[at];
    *decided = (struct decided){arrival->hash, 0, offset};
    index_add(&served->log.pending_ids, arrival->hash, place);
    if (served->check.secret != NULL) {
        size_t length = served_device_key(key, arrival);
        decided->device_hash = index_hash(served->hash_key, key, length);
        index_add(&served->log.pending_devices, decided->device_hash, place);
    }
    rows_put(&served->log.rows, served->check.row_values, at, row, served_bucket(served, arrival));
    return OUTCOME_ACCEPTED;
}

/* `count` reports of the study are decided next, and nothing is folded before that. */
static void decide_expect(struct served_study *served, size_t count)
{
    enum tremolo_status status = index_reserve(&served->log.pending_ids, count);
    (void)status; /* memory that is missing now is asked for again, report by report */
    served->log.room = rounds_room(served);
}

/* Decide `arrival` (outcome PENDING) and, if it is new, collect it in the study's segment. A repeat is looked
 * for first: the same bytes must succeed even when their round has closed since. */
static enum server_outcome decide(struct served_study *served, const struct arrival *arrival,
                                  const int16_t *row, struct store *store, int64_t now)
{
    enum server_outcome outcome = find_repeat(served, arrival, store);
    if (outcome == OUTCOME_PENDING) {
        struct rounds_view view = rounds_view(served, served->log.segment.count, served->log.room);
        outcome = rounds_admit(&view, served->terms, arrival->round, now);
    }
    if (outcome == OUTCOME_PENDING && served->check.secret != NULL) {
        outcome = count_samples(served, arrival, store);
    }
    return outcome == OUTCOME_PENDING ? stage(served, arrival, row) : outcome;
}

/* Stage the collected segment, with room in the indexes made, so that nothing can fail once the sync has
 * succeeded. */
static enum tremolo_status decide_append(struct served_study *served, struct store *store,
                                         int64_t now)
{
    size_t count = served->log.segment.count;
    if (count == 0) {
        return TREMOLO_OK;
    }
    enum tremolo_status status = index_reserve(&served->log.ids, count);
    if (status == TREMOLO_OK && served->check.secret != NULL) {
        status = index_reserve(&served->log.devices, count);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_moments_prepare(served_newest(served)->moments);
    }
    if (status == TREMOLO_OK) {
        served->log.time = served_arrival_time(served, now);
        status = segment_seal(&served->log.segment, served->log.time);
    }
    uint64_t position = 0;
    if (status == TREMOLO_OK) {
        status = store->append(store, served->id, served->log.segment.bytes,
                               served->log.segment.length, &position);
    }
    if (status == TREMOLO_OK) {
        served->log.staged = position;
    }
    return status;
}

/* After a failure: as if they had never come. */
static void decide_drop(struct served_study *served)
{
    segment_clear(&served->log.segment);
    index_clear(&served->log.pending_ids);
    index_clear(&served->log.pending_devices);
}

/* After the sync: from now on the indexes find these records in the log. Room was made by
 * decide_append(), so this cannot fail. */
static void learn_ids(struct served_study *served)
{
    for (size_t i = 0; i < served->log.segment.count; i++) {
        const struct decided *decided = &served->log.decided[i];
        uint64_t place = index_place(served->log.position, decided->offset);
        index_add(&served->log.ids, decided->id_hash, place);
        if (served->check.secret != NULL) {
            index_add(&served->log.devices, decided->device_hash, place);
        }
    }
}

/* Ballots take their time to expand: readers of the study wait for none of it. What they see
 * between two parts is durable, and counts what its sums hold. */
static enum tremolo_status fold(struct served_study *served, int8_t expanded[ROWS_EXPANDED_BYTES])
{
    struct served_round *newest = served_newest(served);
    size_t count = served->log.segment.count;
    enum tremolo_status status = TREMOLO_OK;
    for (size_t from = 0, taken = 0; from < count && status == TREMOLO_OK; from += taken) {
        taken = rows_expand(expanded, served->study, &served->log.rows, from, count);
        served_lock(served);
        status = rows_add(newest->moments, served->study, &served->log.rows, expanded, from, taken);
        if (status == TREMOLO_OK) {
            newest->folded_to = from + taken == count ? served->log.position : newest->folded_to;
            served->sums.reports += taken;
            served->sums.generation++;
            served->sums.reported_at = (int64_t)time(NULL);
        }
        served_unlock(served);
    }
    return status;
}

/* After the sync: ids are known, rows are folded. */
static enum tremolo_status decide_commit(struct served_study *served,
                                         int8_t expanded[ROWS_EXPANDED_BYTES])
{
    enum tremolo_status status = TREMOLO_OK;
    if (served->log.segment.count > 0) {
        served->log.position = served->log.staged;
        learn_ids(served);
        status = fold(served, expanded);
        decide_drop(served);
    }
    return status;
}

/* ---------------------------------------------------------------- the store
 *
 * Every write ends here: it is synced or discarded, and its result is the store's health. A
 * device that asks while the store takes nothing is answered 503 and comes again. */

/* Nothing is written until a restart. Other failures may pass by themselves. */
static bool is_stopped(struct embedded *embedded)
{
    return batcher_health(&embedded->writer->batcher, NULL) == TREMOLO_NOT_SYNCED;
}

/* Sync, and measure it: batcher.c decides by the usual time whether request threads write. */
static enum tremolo_status sync_store(struct embedded *embedded)
{
    struct store *store = embedded->store;
    int64_t start = clock_us();
    enum tremolo_status status = store->sync(store);
    int64_t took = clock_us() - start;
    batcher_note_sync(&embedded->writer->batcher, took);
    took = took < SYNC_US_MAX ? took : SYNC_US_MAX;
    int64_t usual = atomic_load(&embedded->writer->batcher.sync_usual_us);
    atomic_store(&embedded->writer->batcher.sync_usual_us, usual + (took - usual) / 8);
    return status;
}

/* After whatever was staged: note the store's health, and on a failure discard it. */
static void settle(struct embedded *embedded, enum tremolo_status status)
{
    struct store *store = embedded->store;
    batcher_note(&embedded->writer->batcher, status,
                 status != TREMOLO_OK ? store->explain(store) : "", status == TREMOLO_NOT_SYNCED);
    if (status != TREMOLO_OK) {
        store->discard(store);
    }
}

/* What was staged with this status becomes durable, or is forgotten. */
static enum tremolo_status sync_and_settle(struct embedded *embedded, enum tremolo_status status)
{
    status = status == TREMOLO_OK ? sync_store(embedded) : status;
    settle(embedded, status);
    return status;
}

/* ---------------------------------------------------------------- batches
 *
 * The order is what makes an acknowledgement true: decide, append, sync, fold, answer. Nothing
 * that a later step could refuse is changed by an earlier one, except in the segment under
 * construction, which a failure drops. */

/* The first key of each job; decide_job() asks for the later ones a few reports ahead. */
static void prefetch_firsts(const struct job *jobs)
{
    for (const struct job *job = jobs; job != NULL; job = job_next(job)) {
        index_prefetch(&job->served->log.ids, job->reports.arrivals[0].hash);
    }
}

/* Decide the reports of one job in their order. The study is noted as touched once a batch, so
 * that each has one segment. write_lock held. */
static void decide_job(struct embedded *embedded, struct job *job, int64_t now)
{
    struct served_study *served = job->served;
    struct arrival *arrivals = job->reports.arrivals;
    if (!served->log.touched) {
        served->log.touched = true;
        served->log.next_touched = embedded->touched;
        embedded->touched = served;
    }
    decide_expect(served, job->reports.count);
    for (size_t i = 0; i < job->reports.count; i++) {
        if (i + PREFETCH_AHEAD < job->reports.count) {
            index_prefetch(&served->log.ids, arrivals[i + PREFETCH_AHEAD].hash);
        }
        if (arrivals[i].outcome == OUTCOME_PENDING) {
            const int16_t *row = job->reports.rows + i * served->check.row_values;
            arrivals[i].outcome = (uint8_t)decide(served, &arrivals[i], row, embedded->store, now);
        }
    }
}

/* Append one segment for each study of the batch, then sync once for all. OK also when nothing
 * was new. */
static enum tremolo_status commit_batch(struct embedded *embedded, int64_t now)
{
    enum tremolo_status status = TREMOLO_OK;
    bool any = false;
    for (struct served_study *at = embedded->touched; at != NULL; at = at->log.next_touched) {
        any = any || at->log.segment.count > 0;
        if (status == TREMOLO_OK) {
            status = decide_append(at, embedded->store, now);
        }
    }
    return any ? sync_and_settle(embedded, status) : TREMOLO_OK;
}

/* After the sync each study's rows are added to its sums; after a failure its part of the batch
 * is dropped. A fold that fails after its sync stops the intake: the log has what the sums lack. */
static void fold_batch(struct embedded *embedded, enum tremolo_status status, int64_t now)
{
    while (embedded->touched != NULL) {
        struct served_study *served = embedded->touched;
        embedded->touched = served->log.next_touched;
        served->log.touched = false;
        if (status != TREMOLO_OK) {
            decide_drop(served);
            continue;
        }
        embedded->since_checkpoint += served->log.segment.count;
        enum tremolo_status folded = decide_commit(served, embedded->expanded);
        embedded->round_due = embedded->round_due || rounds_is_due(served, now);
        if (folded != TREMOLO_OK) {
            batcher_note(&embedded->writer->batcher, folded,
                         embedded->store->explain(embedded->store), true);
        }
    }
}

/* Whatever was decided with the failed batch in mind: what it would have made durable, and
 * what was refused because of it (a repeat, other bytes, samples used up, a study that
 * was full). The device sends the same bytes again and learns what holds then. */
static bool depends_on_batch(enum server_outcome outcome)
{
    return outcome == OUTCOME_ACCEPTED || outcome == OUTCOME_REPEATED ||
           outcome == OUTCOME_PENDING || outcome == OUTCOME_OTHER_BYTES ||
           outcome == OUTCOME_SAMPLES_USED || outcome == OUTCOME_CLOSED;
}

/* The batch is not durable, so no report may be answered as if it were. */
static void fail_job(struct job *job)
{
    for (size_t i = 0; i < job->reports.count; i++) {
        struct arrival *arrival = &job->reports.arrivals[i];
        if (depends_on_batch(arrival->outcome)) {
            arrival->outcome = OUTCOME_NOT_STORED;
        }
    }
}

/* A batch from the queue to its answers: decide, append, sync, fold, and only then done().
 * write_lock held. */
static void embedded_batch(void *owner, struct batch_job *queued)
{
    struct embedded *embedded = owner;
    struct job *jobs = job_of(queued);
    int64_t now = seconds_now();
    bool stopped = is_stopped(embedded);
    prefetch_firsts(jobs);
    for (struct job *job = jobs; job != NULL && !stopped; job = job_next(job)) {
        decide_job(embedded, job, now);
    }
    enum tremolo_status status = stopped ? TREMOLO_NOT_SYNCED : commit_batch(embedded, now);
    fold_batch(embedded, status, now);
    for (struct job *job = jobs; job != NULL && status != TREMOLO_OK; job = job_next(job)) {
        fail_job(job);
    }
    writer_finish_batch(embedded->writer, queued);
}

/* ---------------------------------------------------------------- changes
 *
 * A change is durable before it can be seen: readers of the study wait on the lock of its sums
 * while it is stored. After a failure everything is as before. */

/* The study and its first round are one transaction: a study without a round would be damage. */
static enum tremolo_status store_new_study(struct embedded *embedded, struct served_study *served)
{
    struct store *store = embedded->store;
    enum tremolo_status status = served_put_study(store, served);
    if (status == TREMOLO_OK) {
        status = served_put_round(store, served, 0);
    }
    return sync_and_settle(embedded, status);
}

/* A study that is there already is the answer, because its id is the hash of its content. It is
 * listed once it is durable. */
static enum tremolo_status create_study(struct embedded *embedded, struct job *job)
{
    struct served_study *served = NULL;
    enum tremolo_status status =
        served_new(&served, job->create.problems, job->create.text, job->create.length,
                   embedded->writer->signing_key, embedded->writer->secret);
    if (status != TREMOLO_OK) {
        return status;
    }
    struct served_study *known = studies_find(&embedded->writer->studies, served->id);
    if (known != NULL && memcmp(known->id, served->id, sizeof served->id) == 0) {
        job->served = known;
        served_free(served);
        return TREMOLO_OK;
    }
    /* Reports name their study by its tag, so two studies may not have the same. */
    status = known != NULL                                    ? TREMOLO_TAG_TAKEN
             : embedded->writer->studies.count == STUDIES_MAX ? TREMOLO_STUDIES_FULL
                                                              : store_new_study(embedded, served);
    if (status != TREMOLO_OK) {
        served_free(served);
        return status;
    }
    studies_add(&embedded->writer->studies, served);
    job->served = served;
    return TREMOLO_OK;
}

/* Stage the end of the newest round and, unless it was the last, the next. Not when our sums may
 * lack what the log has: they would stay the round's. */
static enum tremolo_status stage_close(struct embedded *embedded, struct served_study *served,
                                       int64_t now)
{
    struct store *store = embedded->store;
    unsigned closing = served->sums.opened - 1;
    enum tremolo_status status =
        is_stopped(embedded) ? TREMOLO_NOT_SYNCED : served_put_checkpoint(store, served);
    served_newest(served)->closed_at = now;
    if (status == TREMOLO_OK && served->sums.opened < served->sums.round_limit) {
        status = rounds_open_next(served, now);
    }
    for (unsigned t = closing; t < served->sums.opened && status == TREMOLO_OK; t++) {
        status = served_put_round(store, served, t);
    }
    return status == TREMOLO_OK ? sync_store(embedded) : status;
}

/* Readers wait until the change is durable, so none sees a round that a
 * crash could take back. */
static enum tremolo_status close_newest(struct embedded *embedded, struct served_study *served)
{
    unsigned opened = served->sums.opened;
    struct served_round *closing = served_newest(served);
    served_lock(served);
    enum tremolo_status status = stage_close(embedded, served, seconds_now());
    if (status == TREMOLO_OK) {
        closing->checkpointed_to = closing->folded_to;
        tremolo_moments_rest(closing->moments);
        served->sums.generation++;
    } else {
        served->sums.opened = opened;
        closing->closed_at = 0;
    }
    served_unlock(served);
    if (status == TREMOLO_OK || tremolo_status_kind(status) == TREMOLO_KIND_STORE) {
        settle(embedded, status);
    } else {
        embedded->store->discard(embedded->store);
    }
    return status;
}

/* Close the newest round, or the one that was named: asking twice for the same round closes one.
 * write_lock held. */
static enum tremolo_status close_round(struct embedded *embedded, const struct job *job)
{
    struct served_study *served = job->served;
    unsigned newest = served->sums.opened - 1;
    if (job->close.named && (job->close.round < newest || served_is_done(served))) {
        return TREMOLO_OK; /* asked again: it is closed */
    }
    if (served_is_done(served)) {
        return TREMOLO_STUDY_DONE;
    }
    if (served_reports(served, newest) < 2) {
        return TREMOLO_TOO_FEW_REPORTS;
    }
    return close_newest(embedded, served);
}

/* Not when our sums may lack what the log has. */
static enum tremolo_status discard_span(struct embedded *embedded, struct job *job)
{
    struct store *store = embedded->store;
    enum tremolo_status status =
        is_stopped(embedded)
            ? TREMOLO_NOT_SYNCED
            : served_discard(job->served, store, job->discard.from, job->discard.to, seconds_now(),
                             &job->discard.reports);
    if (tremolo_status_kind(status) == TREMOLO_KIND_STORE) {
        settle(embedded, status);
    } else if (status != TREMOLO_OK) {
        store->discard(store);
    }
    return status;
}

/* Changes run alone, on the batcher's thread, with write_lock held. */
static void embedded_change(void *owner, struct batch_job *queued)
{
    struct embedded *embedded = owner;
    struct job *job = job_of(queued);
    job->status = job->kind == JOB_CREATE    ? create_study(embedded, job)
                  : job->kind == JOB_DISCARD ? discard_span(embedded, job)
                                             : close_round(embedded, job);
    job->done(job);
}

/* ---------------------------------------------------------------- idle
 *
 * Work that belongs to no request: rounds that are due, checkpoints, and looking after a store
 * that failed or is gone. */

/* Rounds end by their count or their time. A failure is noted in the store's health, and the
 * next call tries again. */
static void close_due_rounds(struct embedded *embedded)
{
    for (size_t i = 0; i < embedded->writer->studies.count; i++) {
        if (rounds_is_due(embedded->writer->studies.study[i], seconds_now())) {
            (void)close_newest(embedded, embedded->writer->studies.study[i]);
        }
    }
}

/* Sums and history of all studies in one transaction. Nothing depends on it but the time of the
 * next start: what is not in a checkpoint is folded from the log again. write_lock held, or no
 * thread is left. */
static void checkpoint(struct embedded *embedded)
{
    struct studies *studies = &embedded->writer->studies;
    enum tremolo_status status = TREMOLO_OK;
    if (is_stopped(embedded)) {
        return; /* our sums may lack what the log has; a restart folds it again */
    }
    for (size_t i = 0; i < studies->count && status == TREMOLO_OK; i++) {
        status = served_put_checkpoint(embedded->store, studies->study[i]);
        status = status == TREMOLO_OK ? history_put(embedded->store, studies->study[i]) : status;
    }
    status = sync_and_settle(embedded, status);
    for (size_t i = 0; i < studies->count; i++) {
        if (status == TREMOLO_OK) {
            served_checkpointed(studies->study[i]);
        } else {
            history_keep(studies->study[i]); /* what was put is forgotten again */
        }
    }
    embedded->since_checkpoint = 0;
    embedded->checkpointed_at = seconds_now();
}

/* So often that a start after a crash folds a minute of reports again, or a million. */
static void checkpoint_when_due(struct embedded *embedded)
{
    bool late = seconds_now() - embedded->checkpointed_at >= CHECKPOINT_SECONDS;
    if (embedded->since_checkpoint >= CHECKPOINT_REPORTS ||
        (late && embedded->since_checkpoint > 0)) {
        checkpoint(embedded);
    }
}

/* Clients that ask for our health send nothing while it is bad, so no report would ever show that the disk
 * has room again: once a second we write the time ourselves. */
static void try_again(struct embedded *embedded)
{
    enum tremolo_status health = batcher_health(&embedded->writer->batcher, NULL);
    int64_t now = seconds_now();
    if (health == TREMOLO_OK || health == TREMOLO_NOT_SYNCED || now == embedded->tried_at) {
        return;
    }
    embedded->tried_at = now;
    uint8_t time[8];
    bytes_put_u64(time, (uint64_t)now);
    (void)sync_and_settle(embedded, embedded->store->put(embedded->store, "probe",
                                                         (const uint8_t *)"time", 4, time, 8));
}

/* A directory that was removed or replaced takes all we write with it: no acknowledgement may
 * follow, and nothing that comes back later under its name is what we read. */
static void look_for_store(struct embedded *embedded)
{
    struct store *store = embedded->store;
    enum tremolo_status status = store->present != NULL ? store->present(store) : TREMOLO_OK;
    if (status != TREMOLO_OK && !is_stopped(embedded)) {
        batcher_note(&embedded->writer->batcher, status, store->explain(store), true);
    }
}

/* Everything that no request asks for. Five times a second, and after batches. write_lock held. */
static void embedded_idle(void *owner)
{
    struct embedded *embedded = owner;
    embedded->round_due = false;
    look_for_store(embedded);
    close_due_rounds(embedded);
    checkpoint_when_due(embedded);
    try_again(embedded);
}

/* Is there more to do than the next batch? */
static bool embedded_is_due(void *owner)
{
    const struct embedded *embedded = owner;
    return embedded->round_due || embedded->since_checkpoint >= CHECKPOINT_REPORTS;
}

/* The last call: no job is left, and no other thread writes. */
static void embedded_end(void *owner)
{
    struct embedded *embedded = owner;
    checkpoint(embedded);
    embedded->store->close(embedded->store);
    free(embedded);
}

static const struct batcher_backend own_log = {
    .run_batch = embedded_batch,
    .is_due = embedded_is_due,
    .run_alone = embedded_change,
    .idle = embedded_idle,
    .end = embedded_end,
};

/* ---------------------------------------------------------------- starting
 *
 * A start reads everything that it will trust, and refuses a directory that does not agree with
 * itself. Only then is anything written. */

/* Where the store is a copy, rounds that follow may have been broadcast by the original, with
 * vectors that came from other sums; old reports of them would be debiased with ours. So they
 * are not opened here again: the study ends with its newest round. In an undecided copy the
 * operator must say so. */
static enum tremolo_status settle_rounds(struct embedded *embedded, char words[TREMOLO_WORDS_BYTES])
{
    struct store *store = embedded->store;
    enum tremolo_status status = TREMOLO_OK;
    for (size_t i = 0; i < embedded->writer->studies.count && status == TREMOLO_OK; i++) {
        struct served_study *served = embedded->writer->studies.study[i];
        if (store->past == STORE_ITS_OWN || served->sums.opened == served->sums.round_limit) {
            continue;
        }
        if (store->past == STORE_COPIED) {
            return words_say(
                words, TREMOLO_STORE_COPIED,
                "the directory is a copy, and study %s has rounds to come after round %u",
                served->id_text, served->sums.opened - 1);
        }
        status = served_put_final(store, served, served->sums.opened - 1);
        served->sums.round_limit = served->sums.opened;
    }
    status = status == TREMOLO_OK ? store->sync(store) : status;
    if (status != TREMOLO_OK) {
        (void)snprintf(words, TREMOLO_WORDS_BYTES, "%s", store->explain(store));
    }
    return status;
}

/* All studies of the store, then their rounds, sums and ids from states and log. A study that cannot be
 * served stops the start: its devices would hear that there is no such study, and give up. */
static enum tremolo_status recover(struct embedded *embedded, char words[TREMOLO_WORDS_BYTES])
{
    struct store *store = embedded->store;
    struct writer *writer = embedded->writer;
    struct studies_reader reader = {.studies = &writer->studies,
                                    .signing_key = writer->signing_key,
                                    .secret = writer->secret,
                                    .words = words};
    char why[TREMOLO_WORDS_BYTES] = "";
    words[0] = '\0';
    enum tremolo_status status = store->each(store, "study", studies_take, &reader);
    if (status == TREMOLO_OK) {
        status = served_recover_all(&writer->studies, true, store, why);
    } else {
        (void)snprintf(why, sizeof why, "%s", store->explain(store));
    }
    if (status != TREMOLO_OK && words[0] == '\0') {
        (void)words_say(words, status, "the log cannot be recovered: %s",
                        why[0] != '\0' ? why : tremolo_status_sentence(status));
    }
    return status == TREMOLO_OK ? settle_rounds(embedded, words) : status;
}

/* Nothing is written before settle_rounds(): a store that is refused stays as it was found. */
enum tremolo_status writer_start_embedded(struct writer **writer, struct store *store,
                                          const uint8_t *signing_key, const uint8_t *secret,
                                          char words[TREMOLO_WORDS_BYTES])
{
    struct embedded *embedded = calloc(1, sizeof *embedded);
    struct writer *made =
        embedded != NULL ? writer_new(&own_log, embedded, signing_key, secret) : NULL;
    if (made == NULL) {
        free(embedded);
        return words_say(words, TREMOLO_NO_MEMORY, "out of memory");
    }
    embedded->writer = made;
    embedded->store = store;
    embedded->checkpointed_at = seconds_now();
    enum tremolo_status status = recover(embedded, words);
    if (status == TREMOLO_OK) {
        status = batcher_start(&made->batcher, words);
    }
    if (status != TREMOLO_OK) {
        writer_stop(made);
        free(embedded);
        return status;
    }
    *writer = made;
    return TREMOLO_OK;
}
