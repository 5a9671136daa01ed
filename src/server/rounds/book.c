/* book.c -- making a book, and bringing it back from the store.
 *
 * What is stored of a study, by kind and key (docs/storage.md):
 *
 *     study       tag                the published JSON of the study
 *     round       tag, round (2)     opened_at (8), closed_at (8), beta (8 d), vectors (2 m d)
 *     checkpoint  tag, round (2)     position (8), serialised moments
 *
 * Integers big-endian, doubles by their bits. Recovery reads the whole log once
 * for the ids and folds only what follows each round's checkpoint. */
#include "book.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bytes_order.h"
#include "rounds.h"

enum { KEY_BYTES = STORE_STUDY_BYTES + 2, ROUND_HEAD_BYTES = 16 };

static void round_key(uint8_t key[KEY_BYTES], const struct book *book, unsigned round)
{
    memcpy(key, book->id, STORE_STUDY_BYTES);
    key[STORE_STUDY_BYTES] = (uint8_t)(round >> 8);
    key[STORE_STUDY_BYTES + 1] = (uint8_t)round;
}

/* ---------------------------------------------------------------- making */

static void free_round(struct book_round *round)
{
    free(round->beta);
    free(round->vectors);
    tremolo_moments_free(round->moments);
    *round = (struct book_round){0};
}

bool book_prepare_round(struct book *book, unsigned round)
{
    struct book_round *made = &book->rounds[round];
    size_t d = book->study->dimension;
    if (made->moments != NULL) {
        return true;
    }
    made->beta = calloc(d, sizeof *made->beta);
    made->vectors = calloc(d * book->study->vectors + 1, sizeof *made->vectors);
    if (made->beta == NULL || made->vectors == NULL ||
        tremolo_moments_new(&made->moments, d + 1, book->release.wire_max,
                            book->release.response_max) != TREMOLO_OK) {
        free_round(made);
        return false;
    }
    return true;
}

void book_free(struct book *book)
{
    if (book == NULL) {
        return;
    }
    for (unsigned t = 0; book->rounds != NULL && t < book->terms->rounds; t++) {
        free_round(&book->rounds[t]);
    }
    free(book->rounds);
    index_free(&book->log_ids);
    index_free(&book->log_devices);
    index_free(&book->log_pending_ids);
    index_free(&book->log_pending_devices);
    segment_free(&book->log_segment);
    free(book->log_rows);
    free(book->log_buckets);
    free(book->log_decided);
    free(book->log_cache);
    free(book->published);
    free(book->estimate);
    free(book->history.text);
    tremolo_study_file_free(book->file);
    (void)pthread_mutex_destroy(&book->lock);
    free(book);
}

static enum tremolo_status fill(struct book *book, const uint8_t *signing_key,
                                const uint8_t *secret)
{
    book->study = tremolo_study_file_device(book->file);
    book->terms = tremolo_study_file_terms(book->file);
    book->release = tremolo_study_file_release(book->file);
    book->check = check_study_of(book->file, secret);
    memcpy(book->id, tremolo_study_file_id(book->file), sizeof book->id);
    randombytes_buf(book->hash_key, sizeof book->hash_key);
    book->check.hash_key = book->hash_key;
    enum tremolo_status status =
        tremolo_base64_encode(book->id_text, sizeof book->id_text, book->id, sizeof book->id);
    if (status == TREMOLO_OK) {
        status = tremolo_study_publish(&book->published, book->file, signing_key);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    book->rounds = calloc(book->terms->rounds, sizeof *book->rounds);
    if (book->rounds == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    return rounds_open_next(book, (int64_t)time(NULL));
}

enum tremolo_status book_new(struct book **book, struct tremolo_study_problems *problems,
                             const char *json, size_t length, const uint8_t *signing_key,
                             const uint8_t *secret)
{
    struct book *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    made->since = (int64_t)time(NULL);
    made->estimate_r2 = NAN;
    (void)pthread_mutex_init(&made->lock, NULL);
    enum tremolo_status status = tremolo_study_file_parse(&made->file, problems, json, length);
    if (status == TREMOLO_OK) {
        status = fill(made, signing_key, secret);
    }
    if (status != TREMOLO_OK) {
        book_free(made);
        return status;
    }
    *book = made;
    return TREMOLO_OK;
}

bool book_is_done(const struct book *book)
{
    return book->opened == book->terms->rounds && book->rounds[book->opened - 1].closed_at != 0;
}

uint64_t book_devices(const struct book *book)
{
    uint64_t most = 0;
    for (unsigned t = 0; t < book->opened; t++) {
        uint64_t count = tremolo_moments_count(book->rounds[t].moments);
        most = count > most ? count : most;
    }
    return (most + book->terms->samples - 1) / book->terms->samples;
}

unsigned book_bucket(const struct book *book, unsigned report_bucket, const uint8_t *device,
                     size_t device_length)
{
    uint8_t padded[32] = {0};
    if (book->check.secret == NULL || book->terms->rounds == 1) {
        return report_bucket;
    }
    memcpy(padded, device, device_length);
    for (size_t i = 0; i < 16; i++) {
        padded[i] ^= padded[i + 16];
    }
    return tremolo_bucket_of(padded);
}

/* ---------------------------------------------------------------- storing */

enum tremolo_status book_put_study(struct store *store, const struct book *book)
{
    char *json = NULL;
    enum tremolo_status status = tremolo_study_file_json(&json, book->file);
    if (status == TREMOLO_OK) {
        status = store->put(store, "study", book->id, STORE_STUDY_BYTES, (const uint8_t *)json,
                            strlen(json));
    }
    free(json);
    return status;
}

static size_t round_bytes(const struct book *book)
{
    size_t d = book->study->dimension;
    return ROUND_HEAD_BYTES + 8 * d + 2 * d * book->study->vectors;
}

enum tremolo_status book_encode_round(uint8_t **bytes, size_t *length, const struct book *book,
                                      unsigned round)
{
    const struct book_round *stored = &book->rounds[round];
    size_t d = book->study->dimension;
    uint8_t *made = malloc(round_bytes(book));
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    uint8_t *out = made;
    out = bytes_put_u64(out, (uint64_t)stored->opened_at);
    out = bytes_put_u64(out, (uint64_t)stored->closed_at);
    for (size_t i = 0; i < d; i++) {
        out = bytes_put_double(out, stored->beta[i]);
    }
    for (size_t i = 0; i < d * book->study->vectors; i++) {
        *out++ = (uint8_t)((uint16_t)stored->vectors[i] >> 8);
        *out++ = (uint8_t)stored->vectors[i];
    }
    *bytes = made;
    *length = round_bytes(book);
    return TREMOLO_OK;
}

enum tremolo_status book_put_round(struct store *store, const struct book *book, unsigned round)
{
    uint8_t key[KEY_BYTES];
    uint8_t *bytes = NULL;
    size_t length = 0;
    enum tremolo_status status = book_encode_round(&bytes, &length, book, round);
    if (status == TREMOLO_OK) {
        round_key(key, book, round);
        status = store->put(store, "round", key, sizeof key, bytes, length);
    }
    free(bytes);
    return status;
}

static enum tremolo_status put_checkpoint(struct store *store, struct book *book, unsigned round)
{
    struct book_round *stored = &book->rounds[round];
    uint8_t key[KEY_BYTES];
    size_t length = 8 + tremolo_moments_encoded_bytes(stored->moments);
    uint8_t *bytes = malloc(length);
    if (bytes == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    stored->folded_to = book->log_position;
    (void)bytes_put_u64(bytes, stored->folded_to);
    round_key(key, book, round);
    enum tremolo_status status = tremolo_moments_encode(stored->moments, bytes + 8, length - 8);
    if (status == TREMOLO_OK) {
        status = store->put(store, "checkpoint", key, sizeof key, bytes, length);
    }
    free(bytes);
    return status;
}

/* Only the newest round moves; those before were checkpointed when closed. */
enum tremolo_status book_put_checkpoint(struct store *store, struct book *book)
{
    unsigned newest = book->opened - 1;
    if (book->log_position == book->rounds[newest].checkpointed_to) {
        return TREMOLO_OK;
    }
    return put_checkpoint(store, book, newest);
}

void book_checkpointed(struct book *book)
{
    struct book_round *newest = &book->rounds[book->opened - 1];
    newest->checkpointed_to = newest->folded_to;
}

/* ---------------------------------------------------------------- recovery */

/* The round a state's key names, or -1 when it is another study's. */
static long key_round(const struct book *book, const uint8_t *key, size_t key_length)
{
    if (key_length != KEY_BYTES || memcmp(key, book->id, STORE_STUDY_BYTES) != 0) {
        return -1;
    }
    return key[STORE_STUDY_BYTES] << 8 | key[STORE_STUDY_BYTES + 1];
}

enum tremolo_status book_decode_round(struct book *book, unsigned round, const uint8_t *value,
                                      size_t length)
{
    if (round >= book->terms->rounds || round > book->opened || length != round_bytes(book)) {
        return TREMOLO_MALFORMED;
    }
    struct book_round *stored = &book->rounds[round];
    if (!book_prepare_round(book, round)) {
        return TREMOLO_NO_MEMORY;
    }
    size_t d = book->study->dimension;
    stored->opened_at = (int64_t)bytes_get_u64(value);
    stored->closed_at = (int64_t)bytes_get_u64(value + 8);
    value += ROUND_HEAD_BYTES;
    for (size_t i = 0; i < d; i++, value += 8) {
        stored->beta[i] = bytes_get_double(value);
    }
    for (size_t i = 0; i < d * book->study->vectors; i++, value += 2) {
        stored->vectors[i] = (int16_t)(uint16_t)(value[0] << 8 | value[1]);
    }
    book->opened = round + 1;
    return TREMOLO_OK;
}

/* Keys come in order, so rounds come from 0 upwards without a gap. */
static enum tremolo_status recover_round(void *context, const uint8_t *key, size_t key_length,
                                         const uint8_t *value, size_t length)
{
    struct book *book = context;
    long round = key_round(book, key, key_length);
    return round < 0 ? TREMOLO_OK : book_decode_round(book, (unsigned)round, value, length);
}

static enum tremolo_status recover_checkpoint(void *context, const uint8_t *key, size_t key_length,
                                              const uint8_t *value, size_t length)
{
    struct book *book = context;
    struct tremolo_moments *moments = NULL;
    long round = key_round(book, key, key_length);
    if (round < 0) {
        return TREMOLO_OK;
    }
    if (round >= (long)book->opened || length < 8) {
        return TREMOLO_MALFORMED;
    }
    enum tremolo_status status = tremolo_moments_decode(&moments, value + 8, length - 8);
    if (status != TREMOLO_OK) {
        return status;
    }
    struct book_round *stored = &book->rounds[round];
    if (tremolo_moments_coordinates(moments) != (size_t)book->study->dimension + 1) {
        tremolo_moments_free(moments);
        return TREMOLO_MALFORMED;
    }
    tremolo_moments_free(stored->moments);
    stored->moments = moments;
    stored->folded_to = bytes_get_u64(value);
    stored->checkpointed_to = stored->folded_to;
    return TREMOLO_OK;
}

size_t book_device_key(uint8_t key[BOOK_DEVICE_KEY_BYTES], const struct arrival *arrival)
{
    key[0] = (uint8_t)(arrival->round >> 8);
    key[1] = (uint8_t)arrival->round;
    memcpy(key + 2, arrival->device, arrival->device_length);
    return 2u + arrival->device_length;
}

static enum tremolo_status index_record(struct book *book, const struct arrival *arrival,
                                        uint64_t place)
{
    uint8_t key[BOOK_DEVICE_KEY_BYTES];
    enum tremolo_status status = index_reserve(&book->log_ids, 1);
    if (status != TREMOLO_OK) {
        return status;
    }
    index_add(&book->log_ids, arrival->hash, place);
    if (book->check.secret == NULL) {
        return TREMOLO_OK;
    }
    status = index_reserve(&book->log_devices, 1);
    if (status == TREMOLO_OK) {
        size_t length = book_device_key(key, arrival);
        index_add(&book->log_devices, index_hash(book->hash_key, key, length), place);
    }
    return status;
}

/* A record that its round's checkpoint holds already: only its names are
 * needed. Its bytes were checked when it came, and the segment's check value
 * says that they are still those. */
static enum tremolo_status read_names(struct arrival *arrival, const struct book *book)
{
    struct tremolo_report report;
    enum tremolo_status status = tremolo_report_decode(&report, arrival->bytes, arrival->length);
    if (status == TREMOLO_OK) {
        arrival->id = report.id;
        arrival->round = report.round;
        arrival->hash = index_hash(book->hash_key, report.id, TREMOLO_REPORT_ID_BYTES);
    }
    return status;
}

static enum tremolo_status fold_record(struct book *book, struct arrival *arrival)
{
    int16_t row[TREMOLO_MAX_FOLD_COORDINATES];
    struct check_study unauthenticated = book->check;
    unauthenticated.secret = NULL;
    check_arrival(arrival, row, &unauthenticated);
    if (arrival->outcome != OUTCOME_PENDING) {
        return TREMOLO_MALFORMED;
    }
    uint8_t bucket =
        (uint8_t)book_bucket(book, arrival->bucket, arrival->device, arrival->device_length);
    return tremolo_moments_add(book->rounds[arrival->round].moments, row, &bucket, 1);
}

/* A record of the log: into the indexes, and into the fold of its round unless
 * the checkpoint has it. */
static enum tremolo_status recover_record(struct book *book, const struct segment_record *record,
                                          uint64_t position)
{
    struct arrival arrival = {.bytes = record->report,
                              .length = record->length,
                              .device = record->device,
                              .device_length = record->device_length};
    enum tremolo_status status = read_names(&arrival, book);
    if (status == TREMOLO_OK && arrival.round >= book->opened) {
        status = TREMOLO_MALFORMED;
    }
    if (status == TREMOLO_OK && position > book->rounds[arrival.round].folded_to) {
        status = fold_record(book, &arrival);
    }
    return status == TREMOLO_OK
               ? index_record(book, &arrival, index_place(position, record->offset))
               : status;
}

static enum tremolo_status recover_segment(struct book *book, const struct store_segment *segment)
{
    struct segment_record record;
    uint32_t offset = SEGMENT_HEAD_BYTES;
    enum tremolo_status status = segment_check(segment->bytes, segment->length);
    while (status == TREMOLO_OK &&
           segment_next(&record, &offset, segment->bytes, segment->length)) {
        status = recover_record(book, &record, segment->position);
    }
    if (status == TREMOLO_OK && offset != segment->length - SEGMENT_CHECK_BYTES) {
        status = TREMOLO_MALFORMED;
    }
    return status;
}

/* Segments of one study come in runs, so the last one found is looked at first. */
static struct book *book_of(struct book *const *books, size_t count, const uint8_t *study,
                            size_t *recent)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = (*recent + i) % count;
        if (memcmp(books[at]->id, study, STORE_STUDY_BYTES) == 0) {
            *recent = at;
            return books[at];
        }
    }
    return NULL;
}

static enum tremolo_status recover_log(struct book *const *books, size_t count, struct store *store)
{
    struct store_segment segment = {0};
    size_t recent = 0;
    enum tremolo_status status;
    do {
        status = store->read(store, segment.position + 1, &segment);
        struct book *book = status == TREMOLO_OK && segment.position != 0
                                ? book_of(books, count, segment.study, &recent)
                                : NULL;
        if (book != NULL) {
            status = recover_segment(book, &segment);
            book->log_position = segment.position;
        }
    } while (status == TREMOLO_OK && segment.position != 0);
    return status;
}

/* Rounds and what of them was folded up to the checkpoint. */
static enum tremolo_status recover_states(struct book *book, struct store *store)
{
    book->opened = 0;
    enum tremolo_status status = store->each(store, "round", recover_round, book);
    if (status == TREMOLO_OK && book->opened == 0) {
        status = TREMOLO_MALFORMED;
    }
    if (status == TREMOLO_OK) {
        status = store->each(store, "checkpoint", recover_checkpoint, book);
    }
    size_t known = 0;
    for (unsigned t = 0; t < book->opened; t++) {
        known += (size_t)tremolo_moments_count(book->rounds[t].moments);
    }
    if (status == TREMOLO_OK) { /* growing step by step would copy it again and again */
        status = index_reserve(&book->log_ids, known);
    }
    return status;
}

enum tremolo_status book_recover_all(struct book *const *books, size_t count, struct store *store)
{
    enum tremolo_status status = TREMOLO_OK;
    for (size_t i = 0; i < count && status == TREMOLO_OK; i++) {
        status = recover_states(books[i], store);
    }
    if (status == TREMOLO_OK) {
        status = recover_log(books, count, store);
    }
    for (size_t i = 0; i < count && status == TREMOLO_OK; i++) {
        for (unsigned t = 0; t < books[i]->opened; t++) {
            books[i]->rounds[t].folded_to = books[i]->log_position;
            books[i]->reports += tremolo_moments_count(books[i]->rounds[t].moments);
        }
    }
    return status;
}

enum tremolo_status book_each_study(struct store *store, store_state_fn visit, void *context)
{
    return store->each(store, "study", visit, context);
}
