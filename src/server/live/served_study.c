/* served_study.c -- making a study, and storing it; recover.c brings it back.
 *
 * What is stored of a study, by kind and key (docs/reference/storage.md):
 *
 *     study       tag                the published JSON of the study
 *     round       tag, round (2)     opened_at (8), closed_at (8), beta (8 d), vectors (2 m d)
 *     checkpoint  tag, round (2)     position (8), serialised moments
 *     final       tag                the last round (2), after a restore
 *     discarded   tag, number (2)    round (2), from (8), to (8), reports (8) (recover.c)
 *     history     tag                what charts show of the past (history.c)
 *
 * Integers big-endian, doubles by their bits. */
#include "served_study.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "encoder.h"
#include "rounds.h"
#include "study_internal.h"

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
    struct served_round *made = &served->sums.rounds[round];
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

void served_estimate_free(struct served_estimate *estimate)
{
    free(estimate->text);
    json_decref(estimate->summary);
    free(estimate->values);
}

void served_free(struct served_study *served)
{
    if (served == NULL) {
        return;
    }
    for (unsigned t = 0; served->sums.rounds != NULL && t < served->terms->rounds; t++) {
        free_round(&served->sums.rounds[t]);
    }
    free(served->sums.rounds);
    index_free(&served->log.ids);
    index_free(&served->log.devices);
    index_free(&served->log.pending_ids);
    index_free(&served->log.pending_devices);
    segment_free(&served->log.segment);
    rows_free(&served->log.rows);
    free(served->log.decided);
    free(served->log.discards);
    free(served->log.cache);
    free(served->published);
    served_estimate_free(&served->sums.estimate);
    free(served->sums.history.text);
    history_free(&served->sums.history);
    tremolo_study_file_free(served->file);
    (void)pthread_mutex_destroy(&served->sums.lock);
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
    tremolo_honest_law(&served->honest, served->study);
    served->check = check_study_of(served->file, secret);
    memcpy(served->id, tremolo_study_file_id(served->file), sizeof served->id);
    randombytes_buf(served->hash_key, sizeof served->hash_key);
    served->check.hash_key = served->hash_key;
    tremolo_study_id_text(served->id_text, served->id);
    enum tremolo_status status =
        tremolo_study_publish(&served->published, served->file, signing_key);
    if (status != TREMOLO_OK) {
        return status;
    }
    served->sums.round_limit = served->terms->rounds;
    served->sums.rounds = calloc(served->terms->rounds, sizeof *served->sums.rounds);
    if (served->sums.rounds == NULL) {
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
    made->sums.estimate.r2 = NAN;
    (void)pthread_mutex_init(&made->sums.lock, NULL);
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
    return served->sums.opened == served->sums.round_limit &&
           served->sums.rounds[served->sums.opened - 1].closed_at != 0;
}

uint64_t served_devices(const struct served_study *served)
{
    uint64_t most = 0;
    for (unsigned t = 0; t < served->sums.opened; t++) {
        uint64_t count = tremolo_moments_count(served->sums.rounds[t].moments);
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

/* ---------------------------------------------------------------- the list of studies */

void studies_init(struct studies *studies)
{
    (void)pthread_rwlock_init(&studies->lock, NULL);
}

void studies_free(struct studies *studies)
{
    for (size_t i = 0; i < studies->count; i++) {
        served_free(studies->study[i]);
    }
    (void)pthread_rwlock_destroy(&studies->lock);
}

/* The slot of this tag, or the free one in which it belongs. Lock held. */
static struct served_study **slot_of(struct studies *studies, const uint8_t *tag)
{
    uint64_t first;
    memcpy(&first, tag, sizeof first);
    size_t at = (size_t)first % STUDIES_SLOTS;
    while (studies->slot[at] != NULL &&
           memcmp(studies->slot[at]->id, tag, STORE_STUDY_BYTES) != 0) {
        at = (at + 1) % STUDIES_SLOTS;
    }
    return &studies->slot[at];
}

void studies_add(struct studies *studies, struct served_study *served)
{
    (void)pthread_rwlock_wrlock(&studies->lock);
    studies->study[studies->count++] = served;
    *slot_of(studies, served->id) = served;
    (void)pthread_rwlock_unlock(&studies->lock);
}

size_t studies_count(struct studies *studies)
{
    (void)pthread_rwlock_rdlock(&studies->lock);
    size_t count = studies->count;
    (void)pthread_rwlock_unlock(&studies->lock);
    return count;
}

struct served_study *studies_at(struct studies *studies, size_t index)
{
    (void)pthread_rwlock_rdlock(&studies->lock);
    struct served_study *served = index < studies->count ? studies->study[index] : NULL;
    (void)pthread_rwlock_unlock(&studies->lock);
    return served;
}

struct served_study *studies_find(struct studies *studies, const uint8_t *tag)
{
    (void)pthread_rwlock_rdlock(&studies->lock);
    struct served_study *found = *slot_of(studies, tag);
    (void)pthread_rwlock_unlock(&studies->lock);
    return found;
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
    const struct served_round *stored = &served->sums.rounds[round];
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

enum tremolo_status served_put_encoded(struct store *store, const char *kind,
                                       const struct served_study *served, unsigned number,
                                       const struct encoder *value)
{
    uint8_t key[SERVED_ROUND_KEY_BYTES];
    memcpy(key, served->id, STORE_STUDY_BYTES);
    key[STORE_STUDY_BYTES] = (uint8_t)(number >> 8);
    key[STORE_STUDY_BYTES + 1] = (uint8_t)number;
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
    return served_put_encoded(store, "round", served, round, &out);
}

/* Only the newest round moves; those before were checkpointed when closed. */
enum tremolo_status served_put_checkpoint(struct store *store, struct served_study *served)
{
    unsigned round = served->sums.opened - 1;
    struct served_round *stored = &served->sums.rounds[round];
    struct encoder out = {0};
    if (served->log.position == stored->checkpointed_to) {
        return TREMOLO_OK;
    }
    stored->folded_to = served->log.position;
    encode_number(&out, stored->folded_to, 8);
    encode_moments(&out, stored->moments);
    return served_put_encoded(store, "checkpoint", served, round, &out);
}

void served_checkpointed(struct served_study *served)
{
    struct served_round *newest = &served->sums.rounds[served->sums.opened - 1];
    newest->checkpointed_to = newest->folded_to;
    tremolo_moments_rest(newest->moments);
}

enum tremolo_status served_put_final(struct store *store, const struct served_study *served,
                                     unsigned last)
{
    uint8_t value[2] = {(uint8_t)(last >> 8), (uint8_t)last};
    return store->put(store, "final", served->id, STORE_STUDY_BYTES, value, sizeof value);
}
