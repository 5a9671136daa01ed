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
    if (served->log_cached == position) {
        return true;
    }
    if (store->read(store, position, &segment) != TREMOLO_OK || segment.position != position ||
        memcmp(segment.study, served->id, STORE_STUDY_BYTES) != 0 ||
        segment_check(segment.bytes, segment.length) != TREMOLO_OK) {
        return false;
    }
    uint8_t *copy = realloc(served->log_cache, segment.length);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, segment.bytes, segment.length);
    served->log_cache = copy;
    served->log_cache_length = segment.length;
    served->log_cached = position;
    return true;
}

static bool load_record(struct segment_record *record, struct served_study *served,
                        struct store *store, uint64_t place)
{
    uint32_t offset = (uint32_t)(place & 0xffffff);
    return load_segment(served, store, place >> 24) &&
           segment_next(record, &offset, served->log_cache, served->log_cache_length);
}

/* The segment under construction has no check value yet; its room is there. */
static bool pending_record(struct segment_record *record, const struct served_study *served,
                           uint64_t place)
{
    uint32_t offset = (uint32_t)(place & 0xffffff);
    return segment_next(record, &offset, served->log_segment.bytes,
                        served->log_segment.length + SEGMENT_CHECK_BYTES);
}

/* PENDING: the id is new. */
static enum server_outcome find_repeat(struct served_study *served, const struct arrival *arrival,
                                       struct store *store)
{
    struct segment_record record;
    uint64_t place;
    size_t cursor = 0;
    while ((place = index_find(&served->log_ids, arrival->hash, &cursor)) != 0) {
        if (!load_record(&record, served, store, place)) {
            return OUTCOME_NOT_STORED;
        }
        if (same_id(&record, arrival)) {
            return same_bytes(&record, arrival) ? OUTCOME_REPEATED : OUTCOME_OTHER_BYTES;
        }
    }
    cursor = 0;
    while ((place = index_find(&served->log_pending_ids, arrival->hash, &cursor)) != 0) {
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
    while ((place = index_find(&served->log_devices, hash, &cursor)) != 0) {
        if (!load_record(&record, served, store, place)) {
            return OUTCOME_NOT_STORED;
        }
        used += same_device_round(&record, arrival);
    }
    cursor = 0;
    while ((place = index_find(&served->log_pending_devices, hash, &cursor)) != 0) {
        used += pending_record(&record, served, place) && same_device_round(&record, arrival);
    }
    return used < served->terms->samples ? OUTCOME_PENDING : OUTCOME_SAMPLES_USED;
}

static bool grow_rows(struct served_study *served)
{
    size_t capacity = served->log_capacity == 0 ? 256 : 2 * served->log_capacity;
    if (served->log_segment.count < served->log_capacity) {
        return true;
    }
    if (rows_reserve(&served->log_rows, served->check.row_values, capacity) != TREMOLO_OK) {
        return false;
    }
    struct decided *decided = realloc(served->log_decided, capacity * sizeof *decided);
    if (decided == NULL) {
        return false;
    }
    served->log_decided = decided;
    served->log_capacity = capacity;
    return true;
}

static enum server_outcome stage(struct served_study *served, const struct arrival *arrival,
                                 const int16_t *row)
{
    uint8_t key[SERVED_DEVICE_KEY_BYTES];
    uint32_t offset = 0;
    size_t at = served->log_segment.count;
    struct segment_record record = {.report = arrival->bytes,
                                    .length = arrival->length,
                                    .device = arrival->device,
                                    .device_length = arrival->device_length};
    if (!grow_rows(served) || index_reserve(&served->log_pending_ids, 1) != TREMOLO_OK ||
        index_reserve(&served->log_pending_devices, 1) != TREMOLO_OK ||
        segment_add(&served->log_segment, &record, &offset) != TREMOLO_OK) {
        return OUTCOME_NOT_STORED;
    }
    uint64_t place = index_place(PENDING_POSITION, offset);
    struct decided *decided = &served->log_decided[at];
    *decided = (struct decided){arrival->hash, 0, offset};
    index_add(&served->log_pending_ids, arrival->hash, place);
    if (served->check.secret != NULL) {
        size_t length = served_device_key(key, arrival);
        decided->device_hash = index_hash(served->hash_key, key, length);
        index_add(&served->log_pending_devices, decided->device_hash, place);
    }
    rows_put(&served->log_rows, served->check.row_values, at, row, served_bucket(served, arrival));
    return OUTCOME_ACCEPTED;
}

void decide_expect(struct served_study *served, size_t count)
{
    enum tremolo_status status = index_reserve(&served->log_pending_ids, count);
    (void)status; /* memory that is missing now is asked for again, report by report */
    served->log_room = rounds_room(served);
}

enum server_outcome decide(struct served_study *served, const struct arrival *arrival,
                           const int16_t *row, struct store *store, int64_t now)
{
    enum server_outcome outcome = find_repeat(served, arrival, store);
    if (outcome == OUTCOME_PENDING) {
        struct rounds_view view = rounds_view(served, served->log_segment.count, served->log_room);
        outcome = rounds_admit(&view, served->terms, arrival->round, now);
    }
    if (outcome == OUTCOME_PENDING && served->check.secret != NULL) {
        outcome = count_samples(served, arrival, store);
    }
    return outcome == OUTCOME_PENDING ? stage(served, arrival, row) : outcome;
}

enum tremolo_status decide_append(struct served_study *served, struct store *store, int64_t now)
{
    size_t count = served->log_segment.count;
    if (count == 0) {
        return TREMOLO_OK;
    }
    enum tremolo_status status = index_reserve(&served->log_ids, count);
    if (status == TREMOLO_OK && served->check.secret != NULL) {
        status = index_reserve(&served->log_devices, count);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_moments_prepare(served->rounds[served->opened - 1].moments);
    }
    if (status == TREMOLO_OK) {
        served->log_time = served_arrival_time(served, now);
        status = segment_seal(&served->log_segment, served->log_time);
    }
    uint64_t position = 0;
    if (status == TREMOLO_OK) {
        status = store->append(store, served->id, served->log_segment.bytes,
                               served->log_segment.length, &position);
    }
    if (status == TREMOLO_OK) {
        served->log_staged = position;
    }
    return status;
}

static void learn_ids(struct served_study *served)
{
    for (size_t i = 0; i < served->log_segment.count; i++) {
        const struct decided *decided = &served->log_decided[i];
        uint64_t place = index_place(served->log_position, decided->offset);
        index_add(&served->log_ids, decided->id_hash, place);
        if (served->check.secret != NULL) {
            index_add(&served->log_devices, decided->device_hash, place);
        }
    }
}

/* Ballots take their time to expand: readers of the study wait for none of it. What they see
 * between two parts is durable, and counts what its sums hold. */
static enum tremolo_status fold(struct served_study *served, int8_t expanded[ROWS_EXPANDED_BYTES])
{
    struct served_round *newest = &served->rounds[served->opened - 1];
    size_t count = served->log_segment.count;
    enum tremolo_status status = TREMOLO_OK;
    for (size_t from = 0, taken = 0; from < count && status == TREMOLO_OK; from += taken) {
        taken = rows_expand(expanded, served->study, &served->log_rows, from, count);
        (void)pthread_mutex_lock(&served->lock);
        status = rows_add(newest->moments, served->study, &served->log_rows, expanded, from, taken);
        if (status == TREMOLO_OK) {
            newest->folded_to = from + taken == count ? served->log_position : newest->folded_to;
            served->reports += taken;
            served->generation++;
            served->reported_at = (int64_t)time(NULL);
        }
        (void)pthread_mutex_unlock(&served->lock);
    }
    return status;
}

enum tremolo_status decide_commit(struct served_study *served, int8_t expanded[ROWS_EXPANDED_BYTES])
{
    enum tremolo_status status = TREMOLO_OK;
    if (served->log_segment.count > 0) {
        served->log_position = served->log_staged;
        learn_ids(served);
        status = fold(served, expanded);
        decide_drop(served);
    }
    return status;
}

void decide_drop(struct served_study *served)
{
    segment_clear(&served->log_segment);
    index_clear(&served->log_pending_ids);
    index_clear(&served->log_pending_devices);
}
