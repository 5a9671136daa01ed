/* shard.c -- folding a shard's messages; see shard.h for what must hold. */
#include "shard.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

unsigned shard_of(const struct served_study *served, const struct arrival *arrival, unsigned shards)
{
    bool named = served->terms->enrolment == TREMOLO_STUDY_KEYS;
    const uint8_t *name = named ? arrival->device : arrival->id;
    size_t length = named ? arrival->device_length : TREMOLO_REPORT_ID_BYTES;
    return (unsigned)(index_hash(served->id, name, length) % shards);
}

/* ---------------------------------------------------------------- memory */

enum tremolo_status shard_new(struct shard **shard, struct served_study *served, unsigned number,
                              unsigned shards)
{
    struct shard *made = calloc(1, sizeof *made);
    enum tremolo_status status = TREMOLO_NO_MEMORY;
    if (made != NULL) {
        made->served = served;
        made->number = number;
        made->shards = shards;
        made->check = served->check;
        made->check.secret = NULL; /* gateways check MACs; a fold needs no secret */
        made->check.hash_key = NULL;
        made->named = served->terms->enrolment == TREMOLO_STUDY_KEYS;
        made->ended = calloc(served->terms->rounds, sizeof *made->ended);
        status = made->ended == NULL ? TREMOLO_NO_MEMORY
                                     : tremolo_release_sums(&made->moments, served->study);
    }
    if (status != TREMOLO_OK) {
        shard_free(made);
        return status;
    }
    *shard = made;
    return TREMOLO_OK;
}

static void free_names(struct shard_names *names)
{
    idset_free(&names->set);
    free(names->fresh);
    free(names->chunks.sequence);
}

void shard_free(struct shard *shard)
{
    if (shard == NULL) {
        return;
    }
    for (unsigned t = 0; shard->ended != NULL && t < shard->active; t++) {
        tremolo_moments_free(shard->ended[t].moments);
        free(shard->ended[t].stored.sequence);
    }
    free(shard->ended);
    tremolo_moments_free(shard->moments);
    free_names(&shard->ids);
    free_names(&shard->samples);
    rows_free(&shard->rows);
    free(shard);
}

static enum tremolo_status reserve_names(struct shard_names *names, size_t more)
{
    size_t capacity = names->capacity < 256 ? 256 : names->capacity;
    while (capacity < names->fresh_count + more) {
        capacity *= 2;
    }
    if (capacity != names->capacity) {
        uint8_t *fresh = realloc(names->fresh, capacity * IDSET_NAME_BYTES);
        if (fresh == NULL) {
            return TREMOLO_NO_MEMORY;
        }
        names->fresh = fresh;
        names->capacity = capacity;
    }
    return idset_reserve(&names->set, more);
}

/* False when it has been used before. */
static bool use_name(struct shard_names *names, const uint8_t *name, uint64_t hash)
{
    bool fresh = idset_add(&names->set, name, hash);
    if (fresh) {
        memcpy(names->fresh + names->fresh_count++ * IDSET_NAME_BYTES, name, IDSET_NAME_BYTES);
    }
    return fresh;
}

/* Room for all that a segment of `count` records can bring, before it is read. */
static enum tremolo_status reserve(struct shard *shard, size_t count)
{
    enum tremolo_status status = rows_reserve(&shard->rows, shard->check.row_values, count);
    if (status == TREMOLO_OK) {
        status = reserve_names(&shard->ids, count);
    }
    if (status == TREMOLO_OK && shard->named) {
        status = reserve_names(&shard->samples, count);
    }
    return status;
}

enum tremolo_status shard_chunks_add(struct shard_chunks *chunks, uint64_t sequence)
{
    uint64_t *grown = realloc(chunks->sequence, (chunks->count + 1) * sizeof *grown);
    if (grown == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    chunks->sequence = grown;
    grown[chunks->count++] = sequence;
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- deciding */

/* The round that counted just before `position`. */
static unsigned round_at(const struct shard *shard, uint64_t position)
{
    unsigned round = 0;
    while (round < shard->active && shard->ended[round].end < position) {
        round++;
    }
    return round;
}

static void sample_name(uint8_t name[IDSET_NAME_BYTES], const struct shard *shard,
                        const struct arrival *arrival, uint32_t sample)
{
    uint8_t text[4 + SERVED_DEVICE_KEY_BYTES];
    for (size_t i = 0; i < 4; i++) {
        text[i] = (uint8_t)(sample >> (8 * i));
    }
    size_t length = 4 + served_device_key(text + 4, arrival);
    (void)crypto_generichash(name, IDSET_NAME_BYTES, text, length, shard->served->id,
                             TREMOLO_STUDY_ID_BYTES);
}

/* The name of the first sample that the device has left; false without any. */
static bool take_sample(struct shard *shard, const struct arrival *arrival)
{
    uint8_t name[IDSET_NAME_BYTES];
    for (uint32_t sample = 0; sample < shard->served->terms->samples; sample++) {
        sample_name(name, shard, arrival, sample);
        if (use_name(&shard->samples, name, idset_hash(&shard->samples.set, name))) {
            return true;
        }
    }
    return false;
}

const char *const shard_fate_names[] = {"counted", "repeated", "late", "refused", "damaged"};

/* A repeat is looked for first, as the embedded server does. */
static enum shard_fate decide_fate(struct shard *shard, const struct arrival *arrival,
                                   unsigned round)
{
    if (arrival->outcome != OUTCOME_PENDING || (shard->named && arrival->device_length == 0)) {
        return SHARD_REFUSED;
    }
    /* In another shard it could count twice. */
    if (shard_of(shard->served, arrival, shard->shards) != shard->number) {
        return SHARD_REFUSED;
    }
    if (idset_has(&shard->ids.set, arrival->id, arrival->hash)) {
        return SHARD_REPEATED;
    }
    if (arrival->round != round) {
        return arrival->round < round ? SHARD_LATE : SHARD_REFUSED;
    }
    if (shard->named && !take_sample(shard, arrival)) {
        return SHARD_REFUSED;
    }
    (void)use_name(&shard->ids, arrival->id, arrival->hash);
    return SHARD_COUNTED;
}

/* ---------------------------------------------------------------- folding */

static const uint8_t end_mark[] = SHARD_END_MARK;

static size_t count_records(const uint8_t *bytes, size_t length)
{
    struct segment_record record;
    uint32_t offset = SEGMENT_HEAD_BYTES;
    size_t count = 0;
    while (segment_next(&record, &offset, bytes, length)) {
        count++;
    }
    return offset == length - SEGMENT_CHECK_BYTES ? count : 0;
}

/* Records that are read together, so that their places in the set come from memory at once. */
struct block {
    struct segment_record record[16];
    struct arrival arrival[16];
    size_t count;
};

/* The next records, their rows from `first` on. */
static void read_block(struct block *block, struct shard *shard, size_t first, uint32_t *offset,
                       const uint8_t *bytes, size_t length)
{
    enum { MOST = sizeof block->record / sizeof block->record[0] };
    block->count = 0;
    while (block->count < MOST &&
           segment_next(&block->record[block->count], offset, bytes, length)) {
        const struct segment_record *record = &block->record[block->count];
        struct arrival *arrival = &block->arrival[block->count];
        *arrival = (struct arrival){.bytes = record->report,
                                    .length = record->length,
                                    .device = record->device,
                                    .device_length = record->device_length};
        check_report(arrival, shard->rows.values + (first + block->count) * shard->check.row_values,
                     &shard->check);
        if (arrival->outcome == OUTCOME_PENDING) {
            arrival->hash = idset_hash(&shard->ids.set, arrival->id);
            idset_prefetch(&shard->ids.set, arrival->hash);
        }
        block->count++;
    }
}

/* The row at `at` counts, as the one after `kept` others. */
static enum tremolo_status keep(struct shard *shard, size_t kept, size_t at,
                                const struct arrival *arrival, const struct segment_record *record)
{
    size_t n = shard->check.row_values;
    rows_put(&shard->rows, n, kept, shard->rows.values + at * n,
             served_bucket(shard->served, arrival));
    return shard->counted != NULL ? shard->counted(shard->counted_context, record) : TREMOLO_OK;
}

/* Decide every record; the rows of those that count gather at the front. */
static enum tremolo_status decide_all(struct shard *shard, uint64_t counts[SHARD_FATES],
                                      unsigned round, const uint8_t *bytes, size_t length)
{
    struct block block;
    uint32_t offset = SEGMENT_HEAD_BYTES;
    enum tremolo_status status = TREMOLO_OK;
    do {
        size_t first = (size_t)counts[SHARD_COUNTED];
        read_block(&block, shard, first, &offset, bytes, length);
        for (size_t i = 0; i < block.count && status == TREMOLO_OK; i++) {
            size_t kept = (size_t)counts[SHARD_COUNTED];
            enum shard_fate fate = decide_fate(shard, &block.arrival[i], round);
            counts[fate]++;
            if (fate == SHARD_COUNTED) {
                status = keep(shard, kept, first + i, &block.arrival[i], &block.record[i]);
            }
        }
    } while (status == TREMOLO_OK && block.count > 0);
    return status;
}

void shard_tail(uint8_t tail[SHARD_TAIL_BYTES], const uint8_t *bytes, size_t length)
{
    size_t size = length < SHARD_TAIL_BYTES ? length : SHARD_TAIL_BYTES;
    memset(tail, 0, SHARD_TAIL_BYTES);
    if (size > 0) {
        memcpy(tail, bytes + length - size, size);
    }
}

enum tremolo_status shard_take(struct shard *shard, uint64_t position, const uint8_t *bytes,
                               size_t length)
{
    uint64_t counts[SHARD_FATES] = {0};
    bool again = position <= shard->position;
    size_t count = segment_check(bytes, length) == TREMOLO_OK ? count_records(bytes, length) : 0;
    enum tremolo_status status = reserve(shard, count + 1);
    if (status != TREMOLO_OK) {
        return status;
    }
    unsigned round = round_at(shard, position);
    if (count > 0) {
        status = decide_all(shard, counts, round, bytes, length);
    }
    if (again) {
        return status;
    }
    if (status == TREMOLO_OK && counts[SHARD_COUNTED] > 0) {
        status =
            shard->moments == NULL
                ? TREMOLO_BAD_ARGUMENT
                : tremolo_release_fold(shard->moments, shard->served->study, shard->rows.values,
                                       shard->rows.buckets, counts[SHARD_COUNTED]);
    }
    if (status == TREMOLO_OK) {
        shard->position = position;
        shard->messages++;
        shard_tail(shard->tail, bytes, length);
        counts[SHARD_DAMAGED] = count == 0;
        for (size_t i = 0; i < SHARD_FATES; i++) {
            shard->counts[i] += counts[i];
        }
    }
    return status;
}

enum tremolo_status shard_end(struct shard *shard, uint64_t position, unsigned round)
{
    struct tremolo_moments *next = NULL;
    if (position <= shard->position) {
        return TREMOLO_OK;
    }
    if (round != shard->active || shard->moments == NULL) {
        shard->position = position; /* a repeat, or nonsense */
        shard->messages++;
        shard_tail(shard->tail, end_mark, sizeof end_mark - 1);
        return TREMOLO_OK;
    }
    if (round + 1 < shard->served->terms->rounds) {
        enum tremolo_status status = tremolo_release_sums(&next, shard->served->study);
        if (status != TREMOLO_OK) {
            return status;
        }
    }
    shard->ended[round] = (struct shard_round){
        .end = position, .count = tremolo_moments_count(shard->moments), .moments = shard->moments};
    shard->moments = next;
    shard->active++;
    shard->position = position;
    shard->messages++;
    shard_tail(shard->tail, end_mark, sizeof end_mark - 1);
    return TREMOLO_OK;
}

enum tremolo_status shard_learn(struct idset *set, const uint8_t *bytes, size_t length)
{
    if (length % IDSET_NAME_BYTES != 0) {
        return TREMOLO_MALFORMED;
    }
    enum tremolo_status status = idset_reserve(set, length / IDSET_NAME_BYTES);
    for (size_t at = 0; at < length && status == TREMOLO_OK; at += IDSET_NAME_BYTES) {
        (void)idset_add(set, bytes + at, idset_hash(set, bytes + at));
    }
    return status;
}
