/* decide.c -- exact dedup, rounds and samples, and the fold after the sync.
 *
 * A repeat is looked for first, because the same bytes must succeed even when
 * their round has closed meanwhile. Candidates from the index are compared
 * with the record itself: with the log's for durable ones, with the segment
 * under construction for those of the same group. */
#include "decide.h"

#include <stdlib.h>
#include <string.h>

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
static bool load_segment(struct book *book, struct store *store, uint64_t position)
{
    struct store_segment segment = {0};
    if (book->log_cached == position) {
        return true;
    }
    if (store->read(store, position, &segment) != TREMOLO_OK || segment.position != position) {
        return false;
    }
    uint8_t *copy = realloc(book->log_cache, segment.length);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, segment.bytes, segment.length);
    book->log_cache = copy;
    book->log_cache_length = segment.length;
    book->log_cached = position;
    return true;
}

static bool load_record(struct segment_record *record, struct book *book, struct store *store,
                        uint64_t place)
{
    uint32_t offset = (uint32_t)(place & 0xffffff);
    return load_segment(book, store, place >> 24) &&
           segment_next(record, &offset, book->log_cache, book->log_cache_length);
}

/* The segment under construction has no check value yet; its room is there. */
static bool pending_record(struct segment_record *record, const struct book *book, uint64_t place)
{
    uint32_t offset = (uint32_t)(place & 0xffffff);
    return segment_next(record, &offset, book->log_segment.bytes,
                        book->log_segment.length + SEGMENT_CHECK_BYTES);
}

/* PENDING: the id is new. */
static enum server_outcome find_repeat(struct book *book, const struct arrival *arrival,
                                       struct store *store)
{
    struct segment_record record;
    uint64_t place;
    size_t cursor = 0;
    while ((place = index_find(&book->log_ids, arrival->hash, &cursor)) != 0) {
        if (!load_record(&record, book, store, place)) {
            return OUTCOME_NOT_STORED;
        }
        if (same_id(&record, arrival)) {
            return same_bytes(&record, arrival) ? OUTCOME_REPEATED : OUTCOME_OTHER_BYTES;
        }
    }
    cursor = 0;
    while ((place = index_find(&book->log_pending_ids, arrival->hash, &cursor)) != 0) {
        if (pending_record(&record, book, place) && same_id(&record, arrival)) {
            /* Durable only together with this group; the writer settles it. */
            return same_bytes(&record, arrival) ? OUTCOME_REPEATED : OUTCOME_OTHER_BYTES;
        }
    }
    return OUTCOME_PENDING;
}

static enum server_outcome count_samples(struct book *book, const struct arrival *arrival,
                                         struct store *store)
{
    uint8_t key[BOOK_DEVICE_KEY_BYTES];
    struct segment_record record;
    unsigned used = 0;
    uint64_t place;
    size_t cursor = 0;
    size_t length = book_device_key(key, arrival);
    uint64_t hash = index_hash(book->hash_key, key, length);
    while ((place = index_find(&book->log_devices, hash, &cursor)) != 0) {
        if (!load_record(&record, book, store, place)) {
            return OUTCOME_NOT_STORED;
        }
        used += same_device_round(&record, arrival);
    }
    cursor = 0;
    while ((place = index_find(&book->log_pending_devices, hash, &cursor)) != 0) {
        used += pending_record(&record, book, place) && same_device_round(&record, arrival);
    }
    return used < book->terms->samples ? OUTCOME_PENDING : OUTCOME_SAMPLES_USED;
}

static enum server_outcome check_round(const struct book *book, const struct arrival *arrival,
                                       int64_t now)
{
    unsigned newest = book->opened - 1;
    const struct book_round *round = &book->rounds[newest];
    uint64_t taken = tremolo_moments_count(round->moments) + book->log_segment.count;
    if (now < book->terms->opens) {
        return OUTCOME_TOO_EARLY;
    }
    if (arrival->round > newest) {
        return OUTCOME_WRONG_ROUND;
    }
    bool full = taken >= book->terms->devices * book->terms->samples;
    bool closed = arrival->round < newest || round->closed_at != 0 || now >= book->terms->closes;
    return closed || full ? OUTCOME_CLOSED : OUTCOME_PENDING;
}

static bool grow_rows(struct book *book)
{
    size_t n = book->check.row_values;
    size_t capacity = book->log_capacity == 0 ? 256 : 2 * book->log_capacity;
    if (book->log_segment.count < book->log_capacity) {
        return true;
    }
    int16_t *rows = realloc(book->log_rows, capacity * n * sizeof *rows);
    if (rows == NULL) {
        return false;
    }
    book->log_rows = rows;
    uint8_t *buckets = realloc(book->log_buckets, capacity);
    if (buckets == NULL) {
        return false;
    }
    book->log_buckets = buckets;
    struct decided *decided = realloc(book->log_decided, capacity * sizeof *decided);
    if (decided == NULL) {
        return false;
    }
    book->log_decided = decided;
    book->log_capacity = capacity;
    return true;
}

static enum server_outcome stage(struct book *book, const struct arrival *arrival,
                                 const int16_t *row)
{
    uint8_t key[BOOK_DEVICE_KEY_BYTES];
    size_t n = book->check.row_values;
    uint32_t offset = 0;
    size_t at = book->log_segment.count;
    struct segment_record record = {.report = arrival->bytes,
                                    .length = arrival->length,
                                    .device = arrival->device,
                                    .device_length = arrival->device_length};
    if (!grow_rows(book) || index_reserve(&book->log_pending_ids, 1) != TREMOLO_OK ||
        index_reserve(&book->log_pending_devices, 1) != TREMOLO_OK ||
        segment_add(&book->log_segment, &record, &offset) != TREMOLO_OK) {
        return OUTCOME_NOT_STORED;
    }
    uint64_t place = index_place(PENDING_POSITION, offset);
    struct decided *decided = &book->log_decided[at];
    *decided = (struct decided){arrival->hash, 0, offset};
    index_add(&book->log_pending_ids, arrival->hash, place);
    if (book->check.secret != NULL) {
        size_t length = book_device_key(key, arrival);
        decided->device_hash = index_hash(book->hash_key, key, length);
        index_add(&book->log_pending_devices, decided->device_hash, place);
    }
    memcpy(book->log_rows + at * n, row, n * sizeof *row);
    book->log_buckets[at] =
        (uint8_t)book_bucket(book, arrival->bucket, arrival->device, arrival->device_length);
    return OUTCOME_ACCEPTED;
}

enum server_outcome decide(struct book *book, const struct arrival *arrival, const int16_t *row,
                           struct store *store, int64_t now)
{
    enum server_outcome outcome = find_repeat(book, arrival, store);
    if (outcome == OUTCOME_PENDING) {
        outcome = check_round(book, arrival, now);
    }
    if (outcome == OUTCOME_PENDING && book->check.secret != NULL) {
        outcome = count_samples(book, arrival, store);
    }
    return outcome == OUTCOME_PENDING ? stage(book, arrival, row) : outcome;
}

enum tremolo_status decide_append(struct book *book, struct store *store)
{
    size_t count = book->log_segment.count;
    if (count == 0) {
        return TREMOLO_OK;
    }
    enum tremolo_status status = index_reserve(&book->log_ids, count);
    if (status == TREMOLO_OK && book->check.secret != NULL) {
        status = index_reserve(&book->log_devices, count);
    }
    if (status == TREMOLO_OK) {
        status = segment_seal(&book->log_segment);
    }
    uint64_t position = 0;
    if (status == TREMOLO_OK) {
        status = store->append(store, book->id, book->log_segment.bytes, book->log_segment.length,
                               &position);
    }
    if (status == TREMOLO_OK) {
        book->log_staged = position;
    }
    return status;
}

static void learn_ids(struct book *book)
{
    for (size_t i = 0; i < book->log_segment.count; i++) {
        const struct decided *decided = &book->log_decided[i];
        uint64_t place = index_place(book->log_position, decided->offset);
        index_add(&book->log_ids, decided->id_hash, place);
        if (book->check.secret != NULL) {
            index_add(&book->log_devices, decided->device_hash, place);
        }
    }
}

enum tremolo_status decide_commit(struct book *book)
{
    size_t count = book->log_segment.count;
    if (count == 0) {
        return TREMOLO_OK;
    }
    book->log_position = book->log_staged;
    learn_ids(book);
    (void)pthread_mutex_lock(&book->lock);
    struct book_round *newest = &book->rounds[book->opened - 1];
    enum tremolo_status status =
        tremolo_moments_add(newest->moments, book->log_rows, book->log_buckets, count);
    if (status == TREMOLO_OK) {
        newest->folded_to = book->log_position;
        book->reports += count;
        book->generation++;
    }
    (void)pthread_mutex_unlock(&book->lock);
    decide_drop(book);
    return status;
}

void decide_drop(struct book *book)
{
    segment_clear(&book->log_segment);
    index_clear(&book->log_pending_ids);
    index_clear(&book->log_pending_devices);
}
