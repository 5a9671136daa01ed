/* served_study.c -- making a study, and bringing it back from the store.
 *
 * What is stored of a study, by kind and key (docs/storage.md):
 *
 *     study       tag                the published JSON of the study
 *     round       tag, round (2)     opened_at (8), closed_at (8), beta (8 d), vectors (2 m d)
 *     checkpoint  tag, round (2)     position (8), serialised moments
 *
 * Integers big-endian, doubles by their bits. Recovery reads the whole log once
 * for the ids and folds only what follows each round's checkpoint. */
#include "served_study.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "encoder.h"
#include "rounds.h"

enum { KEY_BYTES = STORE_STUDY_BYTES + 2, ROUND_HEAD_BYTES = 16 };

static void round_key(uint8_t key[KEY_BYTES], const struct served_study *served, unsigned round)
{
    memcpy(key, served->id, STORE_STUDY_BYTES);
    key[STORE_STUDY_BYTES] = (uint8_t)(round >> 8);
    key[STORE_STUDY_BYTES + 1] = (uint8_t)round;
}

/* ---------------------------------------------------------------- making */

static void free_round(struct served_round *round)
{
    free(round->beta);
    free(round->vectors);
    tremolo_moments_free(round->moments);
    *round = (struct served_round){0};
}

bool served_prepare_round(struct served_study *served, unsigned round)
{
    struct served_round *made = &served->rounds[round];
    size_t d = served->study->dimension;
    if (made->moments != NULL) {
        return true;
    }
    made->beta = calloc(d, sizeof *made->beta);
    made->vectors = calloc(d * served->study->vectors + 1, sizeof *made->vectors);
    if (made->beta == NULL || made->vectors == NULL ||
        tremolo_release_sums(&made->moments, served->study) != TREMOLO_OK) {
        free_round(made);
        return false;
    }
    return true;
}

void served_free(struct served_study *served)
{
    if (served == NULL) {
        return;
    }
    for (unsigned t = 0; served->rounds != NULL && t < served->terms->rounds; t++) {
        free_round(&served->rounds[t]);
    }
    free(served->rounds);
    index_free(&served->log_ids);
    index_free(&served->log_devices);
    index_free(&served->log_pending_ids);
    index_free(&served->log_pending_devices);
    segment_free(&served->log_segment);
    rows_free(&served->log_rows);
    free(served->log_decided);
    free(served->log_cache);
    free(served->published);
    free(served->estimate);
    free(served->history.text);
    tremolo_study_file_free(served->file);
    (void)pthread_mutex_destroy(&served->lock);
    free(served);
}

static enum tremolo_status fill(struct served_study *served, const uint8_t *signing_key,
                                const uint8_t *secret)
{
    static const uint8_t no_key[TREMOLO_SIGNING_SECRET_BYTES];
    static const uint8_t no_secret[TREMOLO_DEVICE_SECRET_BYTES];
    signing_key = signing_key != NULL ? signing_key : no_key;
    secret = secret != NULL ? secret : no_secret;
    served->study = tremolo_study_file_device(served->file);
    served->terms = tremolo_study_file_terms(served->file);
    served->release = tremolo_release_of(served->study, 1.0, 1.0);
    served->check = check_study_of(served->file, secret);
    memcpy(served->id, tremolo_study_file_id(served->file), sizeof served->id);
    randombytes_buf(served->hash_key, sizeof served->hash_key);
    served->check.hash_key = served->hash_key;
    enum tremolo_status status = tremolo_base64_encode(served->id_text, sizeof served->id_text,
                                                       served->id, sizeof served->id);
    if (status == TREMOLO_OK) {
        status = tremolo_study_publish(&served->published, served->file, signing_key);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    served->rounds = calloc(served->terms->rounds, sizeof *served->rounds);
    if (served->rounds == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    return rounds_open_next(served, (int64_t)time(NULL));
}

enum tremolo_status served_new(struct served_study **served,
                               struct tremolo_study_problems *problems, const char *json,
                               size_t length, const uint8_t *signing_key, const uint8_t *secret)
{
    struct served_study *made = calloc(1, sizeof *made);
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
        served_free(made);
        return status;
    }
    *served = made;
    return TREMOLO_OK;
}

bool served_is_done(const struct served_study *served)
{
    return served->opened == served->terms->rounds &&
           served->rounds[served->opened - 1].closed_at != 0;
}

uint64_t served_devices(const struct served_study *served)
{
    uint64_t most = 0;
    for (unsigned t = 0; t < served->opened; t++) {
        uint64_t count = tremolo_moments_count(served->rounds[t].moments);
        most = count > most ? count : most;
    }
    return (most + served->terms->samples - 1) / served->terms->samples;
}

unsigned served_bucket(const struct served_study *served, const struct arrival *arrival)
{
    uint8_t padded[32] = {0};
    if (served->check.secret == NULL || served->terms->rounds == 1) {
        return arrival->bucket;
    }
    memcpy(padded, arrival->device, arrival->device_length);
    for (size_t i = 0; i < 16; i++) {
        padded[i] ^= padded[i + 16];
    }
    return tremolo_bucket_of(padded);
}

/* ---------------------------------------------------------------- storing */

enum tremolo_status served_put_study(struct store *store, const struct served_study *served)
{
    char *json = NULL;
    enum tremolo_status status = tremolo_study_file_json(&json, served->file);
    if (status == TREMOLO_OK) {
        status = store->put(store, "study", served->id, STORE_STUDY_BYTES, (const uint8_t *)json,
                            strlen(json));
    }
    free(json);
    return status;
}

void served_encode_round(struct encoder *out, const struct served_study *served, unsigned round)
{
    const struct served_round *stored = &served->rounds[round];
    size_t d = served->study->dimension;
    encode_number(out, (uint64_t)stored->opened_at, 8);
    encode_number(out, (uint64_t)stored->closed_at, 8);
    for (size_t i = 0; i < d; i++) {
        encode_double(out, stored->beta[i]);
    }
    for (size_t i = 0; i < d * served->study->vectors; i++) {
        encode_number(out, (uint16_t)stored->vectors[i], 2);
    }
}

/* What was encoded under the key of a round; the bytes are freed. */
static enum tremolo_status put_encoded(struct store *store, const char *kind,
                                       const struct served_study *served, unsigned round,
                                       const struct encoder *value)
{
    uint8_t key[KEY_BYTES];
    round_key(key, served, round);
    enum tremolo_status status = value->status;
    if (status == TREMOLO_OK) {
        status = store->put(store, kind, key, sizeof key, value->bytes, value->length);
    }
    free(value->bytes);
    return status;
}

enum tremolo_status served_put_round(struct store *store, const struct served_study *served,
                                     unsigned round)
{
    struct encoder out = {0};
    served_encode_round(&out, served, round);
    return put_encoded(store, "round", served, round, &out);
}

static enum tremolo_status put_checkpoint(struct store *store, struct served_study *served,
                                          unsigned round)
{
    struct served_round *stored = &served->rounds[round];
    struct encoder out = {0};
    stored->folded_to = served->log_position;
    encode_number(&out, stored->folded_to, 8);
    size_t length = tremolo_moments_encoded_bytes(stored->moments);
    uint8_t *at = encode_room(&out, length);
    if (at != NULL) {
        out.status = tremolo_moments_encode(stored->moments, at, length);
    }
    return put_encoded(store, "checkpoint", served, round, &out);
}

/* Only the newest round moves; those before were checkpointed when closed. */
enum tremolo_status served_put_checkpoint(struct store *store, struct served_study *served)
{
    unsigned newest = served->opened - 1;
    if (served->log_position == served->rounds[newest].checkpointed_to) {
        return TREMOLO_OK;
    }
    return put_checkpoint(store, served, newest);
}

void served_checkpointed(struct served_study *served)
{
    struct served_round *newest = &served->rounds[served->opened - 1];
    newest->checkpointed_to = newest->folded_to;
}

/* ---------------------------------------------------------------- recovery */

/* The round a state's key names, or -1 when it is another study's. */
static long key_round(const struct served_study *served, const uint8_t *key, size_t key_length)
{
    if (key_length != KEY_BYTES || memcmp(key, served->id, STORE_STUDY_BYTES) != 0) {
        return -1;
    }
    return key[STORE_STUDY_BYTES] << 8 | key[STORE_STUDY_BYTES + 1];
}

enum tremolo_status served_decode_round(struct served_study *served, unsigned round,
                                        const uint8_t *value, size_t length)
{
    size_t d = served->study->dimension;
    size_t m = served->study->vectors;
    if (round >= served->terms->rounds || round > served->opened ||
        length != ROUND_HEAD_BYTES + 8 * d + 2 * d * m) {
        return TREMOLO_MALFORMED;
    }
    struct served_round *stored = &served->rounds[round];
    if (!served_prepare_round(served, round)) {
        return TREMOLO_NO_MEMORY;
    }
    struct decoder in = {value, length, false};
    stored->opened_at = (int64_t)decode_number(&in, 8);
    stored->closed_at = (int64_t)decode_number(&in, 8);
    for (size_t i = 0; i < d; i++) {
        stored->beta[i] = decode_double(&in);
    }
    for (size_t i = 0; i < d * m; i++) {
        stored->vectors[i] = (int16_t)decode_number(&in, 2);
    }
    served->opened = round + 1;
    return TREMOLO_OK;
}

/* Keys come in order, so rounds come from 0 upwards without a gap. */
static enum tremolo_status recover_round(void *context, const uint8_t *key, size_t key_length,
                                         const uint8_t *value, size_t length)
{
    struct served_study *served = context;
    long round = key_round(served, key, key_length);
    return round < 0 ? TREMOLO_OK : served_decode_round(served, (unsigned)round, value, length);
}

static enum tremolo_status recover_checkpoint(void *context, const uint8_t *key, size_t key_length,
                                              const uint8_t *value, size_t length)
{
    struct served_study *served = context;
    struct tremolo_moments *moments = NULL;
    long round = key_round(served, key, key_length);
    if (round < 0) {
        return TREMOLO_OK;
    }
    if (round >= (long)served->opened || length < 8) {
        return TREMOLO_MALFORMED;
    }
    enum tremolo_status status = tremolo_moments_decode(&moments, value + 8, length - 8);
    if (status != TREMOLO_OK) {
        return status;
    }
    struct served_round *stored = &served->rounds[round];
    if (!tremolo_release_fits(moments, served->study)) {
        tremolo_moments_free(moments);
        return TREMOLO_MALFORMED;
    }
    tremolo_moments_free(stored->moments);
    stored->moments = moments;
    stored->folded_to = bytes_get_u64(value);
    stored->checkpointed_to = stored->folded_to;
    return TREMOLO_OK;
}

size_t served_device_key(uint8_t key[SERVED_DEVICE_KEY_BYTES], const struct arrival *arrival)
{
    key[0] = (uint8_t)(arrival->round >> 8);
    key[1] = (uint8_t)arrival->round;
    memcpy(key + 2, arrival->device, arrival->device_length);
    return 2u + arrival->device_length;
}

static enum tremolo_status index_record(struct served_study *served, const struct arrival *arrival,
                                        uint64_t place)
{
    uint8_t key[SERVED_DEVICE_KEY_BYTES];
    enum tremolo_status status = index_reserve(&served->log_ids, 1);
    if (status != TREMOLO_OK) {
        return status;
    }
    index_add(&served->log_ids, arrival->hash, place);
    if (served->check.secret == NULL) {
        return TREMOLO_OK;
    }
    status = index_reserve(&served->log_devices, 1);
    if (status == TREMOLO_OK) {
        size_t length = served_device_key(key, arrival);
        index_add(&served->log_devices, index_hash(served->hash_key, key, length), place);
    }
    return status;
}

/* A record that its round's checkpoint holds already: only its names are
 * needed. Its bytes were checked when it came, and the segment's check value
 * says that they are still those. */
static enum tremolo_status read_names(struct arrival *arrival, const struct served_study *served)
{
    struct tremolo_report report;
    enum tremolo_status status = tremolo_report_decode(&report, arrival->bytes, arrival->length);
    if (status == TREMOLO_OK) {
        arrival->id = report.id;
        arrival->round = report.round;
        arrival->hash = index_hash(served->hash_key, report.id, TREMOLO_REPORT_ID_BYTES);
    }
    return status;
}

static enum tremolo_status fold_record(struct served_study *served, struct arrival *arrival)
{
    int16_t row[TREMOLO_ROW_VALUES_MAX];
    struct check_study unauthenticated = served->check;
    unauthenticated.secret = NULL;
    check_report(arrival, row, &unauthenticated);
    if (arrival->outcome != OUTCOME_PENDING) {
        return TREMOLO_MALFORMED;
    }
    uint8_t bucket = (uint8_t)served_bucket(served, arrival);
    struct rows one = {row, &bucket, 1};
    return rows_fold(served->rounds[arrival->round].moments, served->study, &one, 1);
}

/* A record of the log: into the indexes, and into the fold of its round unless
 * the checkpoint has it. */
static enum tremolo_status recover_record(struct served_study *served,
                                          const struct segment_record *record, uint64_t position)
{
    struct arrival arrival = {.bytes = record->report,
                              .length = record->length,
                              .device = record->device,
                              .device_length = record->device_length};
    enum tremolo_status status = read_names(&arrival, served);
    if (status == TREMOLO_OK && arrival.round >= served->opened) {
        status = TREMOLO_MALFORMED;
    }
    if (status == TREMOLO_OK && position > served->rounds[arrival.round].folded_to) {
        status = fold_record(served, &arrival);
    }
    return status == TREMOLO_OK
               ? index_record(served, &arrival, index_place(position, record->offset))
               : status;
}

static enum tremolo_status recover_segment(struct served_study *served,
                                           const struct store_segment *segment)
{
    struct segment_record record;
    uint32_t offset = SEGMENT_HEAD_BYTES;
    enum tremolo_status status = segment_check(segment->bytes, segment->length);
    while (status == TREMOLO_OK &&
           segment_next(&record, &offset, segment->bytes, segment->length)) {
        status = recover_record(served, &record, segment->position);
    }
    if (status == TREMOLO_OK && offset != segment->length - SEGMENT_CHECK_BYTES) {
        status = TREMOLO_MALFORMED;
    }
    return status;
}

/* Segments of one study come in runs, so the last one found is looked at first. */
static struct served_study *served_of(struct served_study *const *studies, size_t count,
                                      const uint8_t *study, size_t *recent)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = (*recent + i) % count;
        if (memcmp(studies[at]->id, study, STORE_STUDY_BYTES) == 0) {
            *recent = at;
            return studies[at];
        }
    }
    return NULL;
}

static enum tremolo_status recover_log(struct served_study *const *studies, size_t count,
                                       struct store *store)
{
    struct store_segment segment = {0};
    size_t recent = 0;
    enum tremolo_status status;
    do {
        status = store->read(store, segment.position + 1, &segment);
        struct served_study *served = status == TREMOLO_OK && segment.position != 0
                                          ? served_of(studies, count, segment.study, &recent)
                                          : NULL;
        if (served != NULL) {
            status = recover_segment(served, &segment);
            served->log_position = segment.position;
        }
    } while (status == TREMOLO_OK && segment.position != 0);
    return status;
}

/* Rounds and what of them was folded up to the checkpoint. */
static enum tremolo_status recover_states(struct served_study *served, struct store *store)
{
    served->opened = 0;
    enum tremolo_status status = store->each(store, "round", recover_round, served);
    if (status == TREMOLO_OK && served->opened == 0) {
        status = TREMOLO_MALFORMED;
    }
    if (status == TREMOLO_OK) {
        status = store->each(store, "checkpoint", recover_checkpoint, served);
    }
    size_t known = 0;
    for (unsigned t = 0; t < served->opened; t++) {
        known += (size_t)tremolo_moments_count(served->rounds[t].moments);
    }
    if (status == TREMOLO_OK) { /* growing step by step would copy it again and again */
        status = index_reserve(&served->log_ids, known);
    }
    return status;
}

enum tremolo_status served_recover_all(struct served_study *const *studies, size_t count,
                                       struct store *store)
{
    enum tremolo_status status = TREMOLO_OK;
    for (size_t i = 0; i < count && status == TREMOLO_OK; i++) {
        status = recover_states(studies[i], store);
    }
    if (status == TREMOLO_OK) {
        status = recover_log(studies, count, store);
    }
    for (size_t i = 0; i < count && status == TREMOLO_OK; i++) {
        for (unsigned t = 0; t < studies[i]->opened; t++) {
            studies[i]->rounds[t].folded_to = studies[i]->log_position;
            studies[i]->reports += tremolo_moments_count(studies[i]->rounds[t].moments);
        }
    }
    return status;
}

enum tremolo_status served_each_study(struct store *store, store_state_fn visit, void *context)
{
    return store->each(store, "study", visit, context);
}
