/* decide.c -- exact dedup, rounds and samples, and the fold after the sync.
 *
 * A repeat is looked for first, because the same bytes must succeed even when
 * their round has closed meanwhile. Candidates from the index are compared
 * with the record itself: with the log's for durable ones, with the segment
 * under construction for those of the same group. */
#include "served_study.h"

#include <stdlib.h>
#include <string.h>

#include "rounds.h"

/* Marks a place in the segment under construction. */
enum { PENDING_POSITION = 1 };

static bool same_device(const struct segment_record *record, const struct arrival *arrival)
{
    return record->device_length == arrival->device_length &&
           (arrival->device_length == 0 ||
            memcmp(record->device, arrival->device, arrival->device_length) == 0);
}

static bool same_bytes(const struct segment_record *record, const struct arrival *arrival)
{
    return record->length == arrival->length && same_device(record, arrival) &&
           memcmp(record->report, arrival->bytes, arrival->length) == 0;
}

static bool same_id(const struct segment_record *record, const struct arrival *arrival)
{
    struct tremolo_report report;
    return tremolo_report_decode(&report, record->report, record->length) == TREMOLO_OK &&
           memcmp(report.id, arrival->id, TREMOLO_REPORT_ID_BYTES) == 0;
}

static bool same_device_round(const struct segment_record *record, const struct arrival *arrival)
{
    struct tremolo_report report;
    return tremolo_report_decode(&report, record->report, record->length) == TREMOLO_OK &&
           report.round == arrival->round && same_device(record, arrival);
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

static bool load_record(struct segment_record *record, struct served_study *served,
                        struct store *store, uint64_t place)
{
    uint32_t offset = (uint32_t)(place & 0xffffff);
    return load_segment(served, store, place >> 24) &&
           segment_next(record, &offset, served->log.cache, served->log.cache_length);
}

/* The segment under construction has no check value yet; its room is there. */
static bool pending_record(struct segment_record *record, const struct served_study *served,
                           uint64_t place)
{
    uint32_t offset = (uint32_t)(place & 0xffffff);
    return segment_next(record, &offset, served->log.segment.bytes,
                        served->log.segment.length + SEGMENT_CHECK_BYTES);
}

/* PENDING: the id is new. */
static enum server_outcome find_repeat(struct served_study *served, const struct arrival *arrival,
                                       struct store *store)
{
    struct segment_record record;
    uint64_t place;
    size_t cursor = 0;
    while ((place = index_find(&served->log.ids, arrival->hash, &cursor)) != 0) {
        if (!load_record(&record, served, store, place)) {
            return OUTCOME_NOT_STORED;
        }
        if (same_id(&record, arrival)) {
            return same_bytes(&record, arrival) ? OUTCOME_REPEATED : OUTCOME_OTHER_BYTES;
        }
    }
    cursor = 0;
    while ((place = index_find(&served->log.pending_ids, arrival->hash, &cursor)) != 0) {
        if (pending_record(&record, served, place) && same_id(&record, arrival)) {
            /* Durable only together with this group; the writer settles it. */
            return same_bytes(&record, arrival) ? OUTCOME_REPEATED : OUTCOME_OTHER_BYTES;
        }
    }
    return OUTCOME_PENDING;
}

static enum server_outcome count_samples(struct served_study *served, const struct arrival *arrival,
                                         struct store *store)
{
    uint8_t key[SERVED_DEVICE_KEY_BYTES];
    struct segment_record record;
    unsigned used = 0;
    uint64_t place;
    size_t cursor = 0;
    size_t length = served_device_key(key, arrival);
    uint64_t hash = index_hash(served->hash_key, key, length);
    while ((place = index_find(&served->log.devices, hash, &cursor)) != 0) {
        if (!load_record(&record, served, store, place)) {
            return OUTCOME_NOT_STORED;
        }
        used += same_device_round(&record, arrival);
    }
    cursor = 0;
    while ((place = index_find(&served->log.pending_devices, hash, &cursor)) != 0) {
        used += pending_record(&record, served, place) && same_device_round(&record, arrival);
    }
    return used < served->terms->samples ? OUTCOME_PENDING : OUTCOME_SAMPLES_USED;
}

static bool grow_rows(struct served_study *served)
{
    size_t capacity = served->log.capacity == 0 ? 256 : 2 * served->log.capacity;
    if (served->log.segment.count < served->log.capacity) {
        return true;
    }
    if (rows_reserve(&served->log.rows, served->check.row_values, capacity) != TREMOLO_OK) {
        return false;
    }
    struct decided *decided = realloc(served->log.decided, capacity * sizeof *decided);
    if (decided == NULL) {
        return false;
    }
    served->log.decided = decided;
    served->log.capacity = capacity;
    return true;
}

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

void decide_expect(struct served_study *served, size_t count)
{
    enum tremolo_status status = index_reserve(&served->log.pending_ids, count);
    (void)status; /* memory that is missing now is asked for again, report by report */
    served->log.room = rounds_room(served);
}

enum server_outcome decide(struct served_study *served, const struct arrival *arrival,
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

enum tremolo_status decide_append(struct served_study *served, struct store *store, int64_t now)
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
        status = tremolo_moments_prepare(served->sums.rounds[served->sums.opened - 1].moments);
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
    struct served_round *newest = &served->sums.rounds[served->sums.opened - 1];
    size_t count = served->log.segment.count;
    enum tremolo_status status = TREMOLO_OK;
    for (size_t from = 0, taken = 0; from < count && status == TREMOLO_OK; from += taken) {
        taken = rows_expand(expanded, served->study, &served->log.rows, from, count);
        (void)pthread_mutex_lock(&served->sums.lock);
        status = rows_add(newest->moments, served->study, &served->log.rows, expanded, from, taken);
        if (status == TREMOLO_OK) {
            newest->folded_to = from + taken == count ? served->log.position : newest->folded_to;
            served->sums.reports += taken;
            served->sums.generation++;
            served->sums.reported_at = (int64_t)time(NULL);
        }
        (void)pthread_mutex_unlock(&served->sums.lock);
    }
    return status;
}

enum tremolo_status decide_commit(struct served_study *served, int8_t expanded[ROWS_EXPANDED_BYTES])
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

void decide_drop(struct served_study *served)
{
    segment_clear(&served->log.segment);
    index_clear(&served->log.pending_ids);
    index_clear(&served->log.pending_devices);
}
