/* checkpoint.c -- writing and reading a shard's checkpoint. */
#include "checkpoint.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "encoder.h"

static const char magic[4] = {'T', 'C', 'K', '2'};

enum { HEAD_BYTES = 104, CHECK_BYTES = CHECKPOINT_CHECK_BYTES, NONE = 0, INLINE = 1, CHUNKS = 2 };
/* The largest study's sums have 8.6 MB, and again as much set aside: 34 chunks. */
enum { SUMS_CHUNKS_MAX = 64 };

/* ---------------------------------------------------------------- chunks */

/* Where a shard's chunks go, and who is called between them. */
struct place {
    struct bus *bus;
    const char *tag;
    unsigned shard;
    void (*tick)(void *context);
    void *context;
};

static void blob_subject(char subject[BUS_NAME_BYTES], const char *tag, unsigned shard,
                         const char *kind, unsigned round)
{
    (void)snprintf(subject, BUS_NAME_BYTES, "tremolo.blob.%s.%u.%s.%u", tag, shard, kind, round);
}

/* Store bytes of a kind and round in messages of bounded size; their numbers are added
 * to `chunks`, which is the caller's to free on failure too. */
static enum tremolo_status store_chunks(struct shard_chunks *chunks, const struct place *place,
                                        const char *kind, unsigned round, const uint8_t *bytes,
                                        size_t length)
{
    enum tremolo_status status = TREMOLO_OK;
    for (size_t at = 0; at < length && status == TREMOLO_OK;) {
        size_t size =
            length - at < BUS_MESSAGE_BYTES_MAX ? length - at : (size_t)BUS_MESSAGE_BYTES_MAX;
        struct bus_message message = {.bytes = bytes + at, .length = size};
        blob_subject(message.subject, place->tag, place->shard, kind, round);
        status = place->bus->publish(place->bus, &message, 1);
        if (status == TREMOLO_OK) {
            status = shard_chunks_add(chunks, message.sequence);
        }
        at += size;
        place->tick(place->context);
    }
    return status;
}

/* Which chunks are read: of a kind and round, of a shard. A number alone would also name
 * another's chunk, if a broker ever numbers them from 1 again. */
struct source {
    struct bus *bus;
    char subject[BUS_NAME_BYTES];
};

static struct source source_of(struct bus *bus, const struct shard *shard, const char *kind,
                               unsigned round)
{
    struct source source = {.bus = bus};
    char tag[CLUSTER_TAG_BYTES];
    cluster_tag(tag, shard->served->id);
    blob_subject(source.subject, tag, shard->number, kind, round);
    return source;
}

static enum tremolo_status read_chunk(struct bus_value *chunk, const struct source *source,
                                      uint64_t sequence)
{
    enum tremolo_status status =
        source->bus->next(source->bus, CLUSTER_BLOBS, source->subject, sequence, chunk);
    if (status == TREMOLO_OK && (chunk->revision == 0 || chunk->revision != sequence)) {
        free(chunk->bytes);
        *chunk = (struct bus_value){0};
        return TREMOLO_STORAGE_FAILED; /* gone, or not yet at this replica */
    }
    return status;
}

static enum tremolo_status read_moments(struct tremolo_moments **moments,
                                        const struct source *source,
                                        const struct shard_chunks *chunks)
{
    struct encoder sums = {0};
    enum tremolo_status status = chunks->count > SUMS_CHUNKS_MAX ? TREMOLO_MALFORMED : TREMOLO_OK;
    for (size_t i = 0; i < chunks->count && status == TREMOLO_OK; i++) {
        struct bus_value chunk = {0};
        status = read_chunk(&chunk, source, chunks->sequence[i]);
        if (status == TREMOLO_OK) {
            encode_bytes(&sums, chunk.bytes, chunk.length);
            status = sums.status;
        }
        free(chunk.bytes);
    }
    if (status == TREMOLO_OK) {
        status = sums.bytes == NULL ? TREMOLO_MALFORMED
                                    : tremolo_moments_decode(moments, sums.bytes, sums.length);
    }
    free(sums.bytes);
    return status;
}

/* ---------------------------------------------------------------- writing */

static void put_chunks(struct encoder *out, const struct shard_chunks *chunks)
{
    encode_number(out, chunks->count, 4);
    for (size_t i = 0; i < chunks->count; i++) {
        encode_number(out, chunks->sequence[i], 8);
    }
}

/* What one checkpoint adds; it becomes part of the shard once it is written. */
struct additions {
    struct shard_chunks ids;     /* all of them, old and new */
    struct shard_chunks samples; /* likewise */
    struct shard_chunks active;  /* sums of the active round, when large */
    bool names;                  /* chunks of names were written */
};

static void free_additions(struct additions *additions)
{
    free(additions->ids.sequence);
    free(additions->samples.sequence);
    free(additions->active.sequence);
}

static enum tremolo_status store_moments(struct shard_chunks *chunks, const struct place *place,
                                         const char *kind, unsigned round,
                                         const struct tremolo_moments *moments)
{
    struct encoder sums = {0};
    encode_moments(&sums, moments);
    enum tremolo_status status = sums.status;
    if (status == TREMOLO_OK) {
        status = store_chunks(chunks, place, kind, round, sums.bytes, sums.length);
    }
    free(sums.bytes);
    return status;
}

/* Sums that will not change any more are written once. */
static enum tremolo_status store_ended(struct shard *shard, const struct place *place)
{
    enum tremolo_status status = TREMOLO_OK;
    for (unsigned t = 0; t < shard->active && status == TREMOLO_OK; t++) {
        struct shard_round *ended = &shard->ended[t];
        struct shard_chunks chunks = {0};
        if (ended->moments == NULL) {
            continue;
        }
        status = store_moments(&chunks, place, "ended", t, ended->moments);
        if (status == TREMOLO_OK) {
            ended->stored = chunks;
            tremolo_moments_free(ended->moments);
            ended->moments = NULL;
        } else {
            free(chunks.sequence);
        }
    }
    return status;
}

/* The chunks of names there are, and, if these are to be written down, those of the fresh ones. */
static enum tremolo_status store_names(struct shard_chunks *chunks, const struct shard_names *names,
                                       const struct place *place, const char *kind, bool write)
{
    chunks->sequence = malloc((names->chunks.count + 1) * sizeof *chunks->sequence);
    if (chunks->sequence == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    if (names->chunks.count > 0) {
        memcpy(chunks->sequence, names->chunks.sequence,
               names->chunks.count * sizeof *chunks->sequence);
    }
    chunks->count = names->chunks.count;
    return write ? store_chunks(chunks, place, kind, 0, names->fresh,
                                names->fresh_count * IDSET_NAME_BYTES)
                 : TREMOLO_OK;
}

static enum tremolo_status store_all_names(struct additions *additions, const struct shard *shard,
                                           const struct place *place)
{
    bool write = shard->ids.fresh_count >= CHECKPOINT_NAMES_MIN;
    enum tremolo_status status = store_names(&additions->ids, &shard->ids, place, "ids", write);
    if (status == TREMOLO_OK) {
        status = store_names(&additions->samples, &shard->samples, place, "samples", write);
    }
    additions->names = write && status == TREMOLO_OK;
    return status;
}

/* The active round's sums: in the value itself, or in chunks when they are large. */
static void put_active(struct encoder *out, struct additions *additions, const struct shard *shard,
                       const struct place *place)
{
    if (out->status != TREMOLO_OK || shard->moments == NULL) {
        encode_number(out, NONE, 1);
        return;
    }
    size_t length = tremolo_moments_encoded_bytes(shard->moments);
    if (length > CHECKPOINT_INLINE_MAX) {
        out->status =
            store_moments(&additions->active, place, "active", shard->active, shard->moments);
        encode_number(out, CHUNKS, 1);
        put_chunks(out, &additions->active);
    } else {
        encode_number(out, INLINE, 1);
        encode_number(out, length, 4);
        encode_moments(out, shard->moments);
    }
}

static void put_head(struct encoder *out, const struct shard *shard,
                     const struct checkpoint_mark *mark, bool names)
{
    encode_bytes(out, magic, sizeof magic);
    encode_number(out, mark->fence, 8);
    encode_number(out, mark->serial + 1, 8);
    encode_number(out, shard->position, 8);
    encode_bytes(out, shard->tail, sizeof shard->tail);
    encode_number(out, names ? shard->position : shard->names_position, 8);
    for (size_t i = 0; i < SHARD_FATES; i++) {
        encode_number(out, shard->counts[i], 8);
    }
    encode_number(out, shard->messages, 8);
    encode_number(out, shard->active, 4);
    for (unsigned t = 0; t < shard->active; t++) {
        encode_number(out, shard->ended[t].end, 8);
        encode_number(out, shard->ended[t].count, 8);
        put_chunks(out, &shard->ended[t].stored);
    }
}

static void compose(struct encoder *out, struct additions *additions, struct shard *shard,
                    const struct checkpoint_mark *mark, const struct place *place)
{
    out->status = store_ended(shard, place);
    if (out->status == TREMOLO_OK) {
        out->status = store_all_names(additions, shard, place);
    }
    put_head(out, shard, mark, additions->names);
    put_active(out, additions, shard, place);
    put_chunks(out, &additions->ids);
    put_chunks(out, &additions->samples);
    uint8_t *check = encode_room(out, CHECK_BYTES);
    if (check != NULL) {
        (void)crypto_generichash(check, CHECK_BYTES, out->bytes, out->length - CHECK_BYTES, NULL,
                                 0);
    }
    if (out->status == TREMOLO_OK && out->length > BUS_VALUE_BYTES_MAX) {
        out->status = TREMOLO_OVERFLOWED;
    }
}

/* Without an answer the value may be there or not. If what is stored is ours to
 * the byte, it is; if it carries our fence it is an earlier one of ours, and its answer
 * was lost, and we try again on top of it; otherwise somebody took over. */
static enum tremolo_status settle(struct bus *bus, const char *key, const struct encoder *out,
                                  enum tremolo_status status, struct checkpoint_mark *mark)
{
    struct bus_value stored;
    if (status != TREMOLO_CHANGED && status != TREMOLO_NOT_SYNCED) {
        return status;
    }
    if (bus->get(bus, key, &stored) != TREMOLO_OK) {
        return TREMOLO_NOT_SYNCED;
    }
    bool fenced = stored.length < HEAD_BYTES || bytes_get_u64(stored.bytes + 4) != mark->fence;
    bool newer = stored.revision > mark->revision;
    bool same = stored.length == out->length && memcmp(stored.bytes, out->bytes, out->length) == 0;
    if (newer && !fenced) {
        mark->revision = stored.revision;
        status = same ? TREMOLO_OK : TREMOLO_NOT_SYNCED;
    }
    free(stored.bytes);
    return status;
}

/* The chunks are exchanged: the old ones are freed with the rest. */
static void adopt_names(struct shard_names *names, struct shard_chunks *chunks)
{
    struct shard_chunks old = names->chunks;
    names->chunks = *chunks;
    names->fresh_count = 0;
    *chunks = old;
}

static void adopt(struct shard *shard, struct additions *additions)
{
    if (additions->names) {
        adopt_names(&shard->ids, &additions->ids);
        adopt_names(&shard->samples, &additions->samples);
        shard->names_position = shard->position;
    }
}

/* Earlier sums of the active round are of no use now. A process that reads
 * them at this moment finds them gone and reads the new value. */
static void forget_old(struct bus *bus, const char *tag, const struct shard *shard,
                       const struct additions *additions, bool ended)
{
    char subject[BUS_NAME_BYTES];
    if (ended) { /* its final sums are kept elsewhere */
        blob_subject(subject, tag, shard->number, "active", shard->active - 1);
        (void)bus->forget(bus, CLUSTER_BLOBS, subject, 0);
    }
    if (additions->active.count > 0) {
        blob_subject(subject, tag, shard->number, "active", shard->active);
        (void)bus->forget(bus, CLUSTER_BLOBS, subject, additions->active.sequence[0]);
    }
}

enum tremolo_status checkpoint_store(struct shard *shard, struct checkpoint_mark *mark,
                                     struct bus *bus, const char *tag, void (*tick)(void *context),
                                     void *context)
{
    struct place place = {bus, tag, shard->number, tick, context};
    struct additions additions = {0};
    struct encoder out = {0};
    char key[BUS_NAME_BYTES];
    char hint[BUS_NAME_BYTES];
    bool ended = shard->active > 0 && shard->ended[shard->active - 1].moments != NULL;
    compose(&out, &additions, shard, mark, &place);
    enum tremolo_status status = out.status;
    if (status == TREMOLO_OK) {
        cluster_key_of(key, "fold", tag, shard->number);
        status = bus->swap(bus, key, mark->revision, out.bytes, out.length, &mark->revision);
        status = settle(bus, key, &out, status, mark);
    }
    if (status == TREMOLO_OK) {
        mark->serial++;
        adopt(shard, &additions);
        forget_old(bus, tag, shard, &additions, ended);
        (void)snprintf(hint, sizeof hint, CLUSTER_HINT_FOLD ".%s.%u", tag, shard->number);
        bus->hint(bus, hint);
    }
    free_additions(&additions);
    free(out.bytes);
    return status;
}

/* ---------------------------------------------------------------- reading */

static void get_chunks(struct decoder *in, struct shard_chunks *chunks)
{
    uint32_t count = (uint32_t)decode_number(in, 4);
    if (in->failed || in->left / 8 < count) {
        in->failed = true;
        return;
    }
    chunks->sequence = malloc((count + 1) * sizeof *chunks->sequence);
    if (chunks->sequence == NULL) {
        in->failed = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        chunks->sequence[chunks->count++] = decode_number(in, 8);
    }
}

static void get_head(struct decoder *in, struct shard *shard, struct checkpoint_mark *mark)
{
    (void)decode_bytes(in, sizeof magic);
    mark->fence = decode_number(in, 8);
    mark->serial = decode_number(in, 8);
    shard->position = decode_number(in, 8);
    const uint8_t *tail = decode_bytes(in, sizeof shard->tail);
    if (tail != NULL) {
        memcpy(shard->tail, tail, sizeof shard->tail);
    }
    shard->names_position = decode_number(in, 8);
    for (size_t i = 0; i < SHARD_FATES; i++) {
        shard->counts[i] = decode_number(in, 8);
    }
    shard->messages = decode_number(in, 8);
    uint32_t ended = (uint32_t)decode_number(in, 4);
    if (in->failed || ended > shard->served->terms->rounds) {
        in->failed = true;
        return;
    }
    for (; shard->active < ended && !in->failed; shard->active++) {
        struct shard_round *round = &shard->ended[shard->active];
        round->end = decode_number(in, 8);
        round->count = decode_number(in, 8);
        get_chunks(in, &round->stored);
    }
}

static enum tremolo_status get_active(struct decoder *in, struct shard *shard, struct bus *bus)
{
    struct tremolo_moments *moments = NULL;
    struct shard_chunks chunks = {0};
    const uint8_t *kind = decode_bytes(in, 1);
    enum tremolo_status status = TREMOLO_OK;
    if (kind != NULL && *kind == INLINE) {
        size_t length = decode_number(in, 4);
        const uint8_t *bytes = decode_bytes(in, length);
        status =
            bytes == NULL ? TREMOLO_MALFORMED : tremolo_moments_decode(&moments, bytes, length);
    } else if (kind != NULL && *kind == CHUNKS) {
        struct source source = source_of(bus, shard, "active", shard->active);
        get_chunks(in, &chunks);
        status = in->failed ? TREMOLO_MALFORMED : read_moments(&moments, &source, &chunks);
        free(chunks.sequence);
    } else if (kind == NULL || *kind != NONE) {
        status = TREMOLO_MALFORMED;
    }
    if (status == TREMOLO_OK && moments != NULL &&
        !tremolo_release_fits(moments, shard->served->study)) {
        tremolo_moments_free(moments);
        status = TREMOLO_MALFORMED;
    }
    if (status == TREMOLO_OK) {
        tremolo_moments_free(shard->moments);
        shard->moments = moments;
    }
    return status;
}

/* Do the parts belong together? Sums of the active round are there unless all have ended,
 * and every report that counted is in the sums of one round. */
static bool is_sound(const struct shard *shard)
{
    uint64_t reports = shard->moments != NULL ? tremolo_moments_count(shard->moments) : 0;
    for (unsigned t = 0; t < shard->active; t++) {
        reports += shard->ended[t].count;
    }
    return (shard->moments != NULL) == (shard->active < shard->served->terms->rounds) &&
           reports == shard->counts[SHARD_COUNTED] && shard->names_position <= shard->position;
}

static bool is_whole(const struct bus_value *value)
{
    uint8_t check[CHECK_BYTES];
    if (value->length < HEAD_BYTES + CHECK_BYTES ||
        memcmp(value->bytes, magic, sizeof magic) != 0) {
        return false;
    }
    size_t length = value->length - CHECK_BYTES;
    (void)crypto_generichash(check, sizeof check, value->bytes, length, NULL, 0);
    return memcmp(check, value->bytes + length, CHECK_BYTES) == 0;
}

enum tremolo_status checkpoint_decode(struct shard **shard, struct checkpoint_mark *mark,
                                      struct bus *bus, struct served_study *served, unsigned number,
                                      unsigned shards, const struct bus_value *value)
{
    struct shard *made = NULL;
    struct checkpoint_mark found = {.revision = value->revision};
    if (!is_whole(value)) {
        return TREMOLO_MALFORMED;
    }
    struct decoder in = {value->bytes, value->length - CHECK_BYTES, false};
    enum tremolo_status status = shard_new(&made, served, number, shards);
    if (status != TREMOLO_OK) {
        return status;
    }
    get_head(&in, made, &found);
    status = in.failed ? TREMOLO_MALFORMED : get_active(&in, made, bus);
    if (status == TREMOLO_OK) {
        get_chunks(&in, &made->ids.chunks);
        get_chunks(&in, &made->samples.chunks);
        bool good = !in.failed && in.left == 0 && is_sound(made);
        status = good ? TREMOLO_OK : TREMOLO_MALFORMED;
    }
    if (status != TREMOLO_OK) {
        shard_free(made);
        return status;
    }
    *shard = made;
    *mark = found;
    return TREMOLO_OK;
}

enum tremolo_status checkpoint_ended(struct tremolo_moments **moments, struct bus *bus,
                                     const struct shard *shard, unsigned round)
{
    struct tremolo_moments *read = NULL;
    struct source source = source_of(bus, shard, "ended", round);
    enum tremolo_status status = read_moments(&read, &source, &shard->ended[round].stored);
    if (status == TREMOLO_OK && (tremolo_moments_count(read) != shard->ended[round].count ||
                                 !tremolo_release_fits(read, shard->served->study))) {
        tremolo_moments_free(read);
        status = TREMOLO_MALFORMED;
    }
    if (status == TREMOLO_OK) {
        *moments = read;
    }
    return status;
}

static enum tremolo_status learn_names(struct shard_names *names, const struct source *source,
                                       void (*tick)(void *context), void *context)
{
    enum tremolo_status status = TREMOLO_OK;
    for (size_t i = 0; i < names->chunks.count && status == TREMOLO_OK; i++) {
        struct bus_value chunk = {0};
        status = read_chunk(&chunk, source, names->chunks.sequence[i]);
        if (status == TREMOLO_OK) {
            status = shard_learn(&names->set, chunk.bytes, chunk.length);
        }
        free(chunk.bytes);
        tick(context);
    }
    return status;
}

enum tremolo_status checkpoint_names(struct shard *shard, struct bus *bus,
                                     void (*tick)(void *context), void *context)
{
    struct source ids = source_of(bus, shard, "ids", 0);
    struct source samples = source_of(bus, shard, "samples", 0);
    /* Once, not step by step; and never more than the chunks can hold, whatever the value says. */
    uint64_t most = (uint64_t)shard->ids.chunks.count * (BUS_MESSAGE_BYTES_MAX / IDSET_NAME_BYTES);
    uint64_t counted = shard->counts[SHARD_COUNTED];
    enum tremolo_status status =
        idset_reserve(&shard->ids.set, (size_t)(counted < most ? counted : most));
    if (status == TREMOLO_OK) {
        status = learn_names(&shard->ids, &ids, tick, context);
    }
    return status == TREMOLO_OK ? learn_names(&shard->samples, &samples, tick, context) : status;
}
