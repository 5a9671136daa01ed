/* cluster.c -- names, records and the steps that change a clustered study.
 *
 * Whatever is written under a key replaces exactly the revision that was read,
 * so that two processes doing the same thing end as if one had. */
#include "cluster.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "encoder.h"

enum { STUDY_HEAD_BYTES = 6, TRIES_MAX = 20 };

static const char study_magic[4] = {'T', 'S', 'T', '1'};
static const char state_magic[4] = {'T', 'R', 'S', '1'};

/* ---------------------------------------------------------------- names */

void cluster_tag(char tag[CLUSTER_TAG_BYTES], const uint8_t study[STORE_STUDY_BYTES])
{
    (void)sodium_bin2hex(tag, CLUSTER_TAG_BYTES, study, STORE_STUDY_BYTES);
}

void cluster_key(char name[BUS_NAME_BYTES], const char *kind, const char *tag)
{
    (void)snprintf(name, BUS_NAME_BYTES, "%s.%s", kind, tag);
}

void cluster_key_of(char name[BUS_NAME_BYTES], const char *kind, const char *tag, unsigned number)
{
    (void)snprintf(name, BUS_NAME_BYTES, "%s.%s.%u", kind, tag, number);
}

void cluster_stream(char name[BUS_NAME_BYTES], const char *tag)
{
    (void)snprintf(name, BUS_NAME_BYTES, "TREMOLO-%s", tag);
}

void cluster_segments(char name[BUS_NAME_BYTES], const char *tag, unsigned shard)
{
    (void)snprintf(name, BUS_NAME_BYTES, "tremolo.log.%s.%u.seg", tag, shard);
}

void cluster_end(char name[BUS_NAME_BYTES], const char *tag, unsigned shard, unsigned round)
{
    (void)snprintf(name, BUS_NAME_BYTES, "tremolo.log.%s.%u.end.%u", tag, shard, round);
}

void cluster_shard_all(char name[BUS_NAME_BYTES], const char *tag, unsigned shard)
{
    (void)snprintf(name, BUS_NAME_BYTES, "tremolo.log.%s.%u.>", tag, shard);
}

long cluster_round_of(const char *subject)
{
    const char *end = strstr(subject, ".end.");
    return end != NULL ? strtol(end + 5, NULL, 10) : -1;
}

/* ---------------------------------------------------------------- state */

void cluster_state_free(struct cluster_state *state)
{
    free(state->closed);
    state->closed = NULL;
}

static enum tremolo_status decode_state(struct cluster_state *state, const struct bus_value *value)
{
    struct decoder in = {value->bytes, value->length, false};
    const uint8_t *magic = decode_bytes(&in, sizeof state_magic);
    struct cluster_state made = {.revision = value->revision};
    made.phase = (enum cluster_phase)decode_number(&in, 1);
    made.round = (unsigned)decode_number(&in, 2);
    made.closed_count = (unsigned)(in.left / 8);
    unsigned closed = made.round + (made.phase == CLUSTER_DONE ? 1 : 0);
    if (in.failed || in.left % 8 != 0 || memcmp(magic, state_magic, sizeof state_magic) != 0 ||
        made.phase < CLUSTER_OPEN || made.phase > CLUSTER_DONE || made.closed_count != closed) {
        return TREMOLO_MALFORMED;
    }
    made.closed = calloc(closed + 1, sizeof *made.closed);
    if (made.closed == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (unsigned i = 0; i < closed; i++) {
        made.closed[i] = (int64_t)decode_number(&in, 8);
    }
    *state = made;
    return TREMOLO_OK;
}

enum tremolo_status cluster_get_state(struct cluster_state *state, struct bus *bus, const char *tag)
{
    char key[BUS_NAME_BYTES];
    struct bus_value value;
    cluster_key(key, "state", tag);
    enum tremolo_status status = bus->get(bus, key, &value);
    if (status == TREMOLO_OK) {
        status = value.revision == 0 ? TREMOLO_STORE_FAILED : decode_state(state, &value);
        free(value.bytes);
    }
    return status;
}

static void hint_state(struct bus *bus, const char *tag)
{
    char subject[BUS_NAME_BYTES];
    (void)snprintf(subject, sizeof subject, CLUSTER_HINT_STATE ".%s", tag);
    bus->hint(bus, subject);
}

enum tremolo_status cluster_swap_state(struct cluster_state *state, struct bus *bus,
                                       const char *tag)
{
    char key[BUS_NAME_BYTES];
    struct encoder out = {0};
    encode_bytes(&out, state_magic, sizeof state_magic);
    encode_number(&out, (uint64_t)state->phase, 1);
    encode_number(&out, state->round, 2);
    for (unsigned i = 0; i < state->closed_count; i++) {
        encode_number(&out, (uint64_t)state->closed[i], 8);
    }
    cluster_key(key, "state", tag);
    enum tremolo_status status = out.status;
    if (status == TREMOLO_OK) {
        status = bus->swap(bus, key, state->revision, out.bytes, out.length, &state->revision);
    }
    free(out.bytes);
    if (status == TREMOLO_OK) {
        hint_state(bus, tag);
    }
    return status;
}

/* ---------------------------------------------------------------- studies */

enum tremolo_status cluster_list(struct bus *bus, uint8_t **tags, size_t *count)
{
    struct bus_value value;
    enum tremolo_status status = bus->get(bus, "studies", &value);
    if (status == TREMOLO_OK) {
        *tags = value.bytes;
        *count = value.length / STORE_STUDY_BYTES;
    }
    return status;
}

static bool list_has(const struct bus_value *list, const uint8_t *study)
{
    for (size_t at = 0; at + STORE_STUDY_BYTES <= list->length; at += STORE_STUDY_BYTES) {
        if (memcmp(list->bytes + at, study, STORE_STUDY_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

/* One try: CHANGED when another process added a study in between. */
static enum tremolo_status try_list(struct bus *bus, const uint8_t *study)
{
    struct bus_value list;
    uint64_t revision = 0;
    enum tremolo_status status = bus->get(bus, "studies", &list);
    if (status != TREMOLO_OK) {
        return status;
    }
    if (!list_has(&list, study)) {
        uint8_t *grown = realloc(list.bytes, list.length + STORE_STUDY_BYTES);
        if (grown == NULL || list.length / STORE_STUDY_BYTES >= CLUSTER_STUDIES_MAX) {
            free(grown != NULL ? grown : list.bytes);
            return grown == NULL ? TREMOLO_NO_MEMORY : TREMOLO_STUDIES_FULL;
        }
        list.bytes = grown;
        memcpy(grown + list.length, study, STORE_STUDY_BYTES);
        status = bus->swap(bus, "studies", list.revision, grown, list.length + STORE_STUDY_BYTES,
                           &revision);
    }
    free(list.bytes);
    return status;
}

enum tremolo_status cluster_add_to_list(struct bus *bus, const uint8_t study[STORE_STUDY_BYTES])
{
    char tag[CLUSTER_TAG_BYTES];
    enum tremolo_status status = TREMOLO_CHANGED;
    for (int i = 0; i < TRIES_MAX && status == TREMOLO_CHANGED; i++) {
        status = try_list(bus, study);
        if (status == TREMOLO_CHANGED) {
            (void)usleep(10000);
        }
    }
    if (status == TREMOLO_OK) {
        cluster_tag(tag, study);
        hint_state(bus, tag); /* now it can be found */
    }
    return status;
}

/* Under a key that is written once; the first writer has written the same. The bytes are freed. */
static enum tremolo_status put_once(struct bus *bus, const char *key, const struct encoder *value)
{
    uint64_t revision = 0;
    enum tremolo_status status = value->status;
    if (status == TREMOLO_OK) {
        status = bus->swap(bus, key, 0, value->bytes, value->length, &revision);
    }
    free(value->bytes);
    return status == TREMOLO_CHANGED ? TREMOLO_OK : status;
}

enum tremolo_status cluster_put_study(struct bus *bus, const struct served_study *served,
                                      unsigned shards)
{
    char tag[CLUSTER_TAG_BYTES];
    char key[BUS_NAME_BYTES];
    char *text = NULL;
    struct encoder out = {.status = tremolo_study_file_json(&text, served->file)};
    encode_bytes(&out, study_magic, sizeof study_magic);
    encode_number(&out, shards, 2);
    encode_bytes(&out, text, text != NULL ? strlen(text) : 0);
    free(text);
    cluster_tag(tag, served->id);
    cluster_key(key, "study", tag);
    return put_once(bus, key, &out);
}

enum tremolo_status cluster_get_study(struct bus *bus, const char *tag, struct bus_value *value,
                                      unsigned *shards, const char **text, size_t *length)
{
    char key[BUS_NAME_BYTES];
    cluster_key(key, "study", tag);
    enum tremolo_status status = bus->get(bus, key, value);
    if (status != TREMOLO_OK) {
        return status;
    }
    bool good = value->revision != 0 && value->length > STUDY_HEAD_BYTES &&
                memcmp(value->bytes, study_magic, sizeof study_magic) == 0;
    *shards = good ? (unsigned)(value->bytes[4] << 8 | value->bytes[5]) : 0;
    if (*shards == 0 || *shards > CLUSTER_SHARDS_MAX) {
        free(value->bytes);
        value->bytes = NULL;
        return good ? TREMOLO_MALFORMED : TREMOLO_STORE_FAILED;
    }
    *text = (const char *)value->bytes + STUDY_HEAD_BYTES;
    *length = value->length - STUDY_HEAD_BYTES;
    return TREMOLO_OK;
}

enum tremolo_status cluster_put_round(struct bus *bus, const struct served_study *served,
                                      unsigned round)
{
    char tag[CLUSTER_TAG_BYTES];
    char key[BUS_NAME_BYTES];
    struct encoder out = {0};
    served_encode_round(&out, served, round);
    cluster_tag(tag, served->id);
    cluster_key_of(key, "round", tag, round);
    return put_once(bus, key, &out);
}

enum tremolo_status cluster_make_streams(struct bus *bus, const char *tag)
{
    char stream[BUS_NAME_BYTES];
    char subjects[BUS_NAME_BYTES];
    enum tremolo_status status = bus->make(bus, CLUSTER_BLOBS, "tremolo.blob.>", 0);
    cluster_stream(stream, tag);
    (void)snprintf(subjects, sizeof subjects, "tremolo.log.%s.>", tag);
    return status == TREMOLO_OK ? bus->make(bus, stream, subjects, 0) : status;
}

enum tremolo_status cluster_create(struct bus *bus, const struct served_study *served,
                                   unsigned shards)
{
    char tag[CLUSTER_TAG_BYTES];
    struct cluster_state state = {.phase = CLUSTER_OPEN};
    cluster_tag(tag, served->id);
    enum tremolo_status status = cluster_make_streams(bus, tag);
    if (status == TREMOLO_OK) {
        status = cluster_put_study(bus, served, shards);
    }
    if (status == TREMOLO_OK) {
        status = cluster_put_round(bus, served, 0);
    }
    if (status == TREMOLO_OK) {
        status = cluster_swap_state(&state, bus, tag);
        status = status == TREMOLO_CHANGED ? TREMOLO_OK : status;
    }
    return status == TREMOLO_OK ? cluster_add_to_list(bus, served->id) : status;
}

enum tremolo_status cluster_erase(struct bus *bus, const char *tag)
{
    static const char *const kinds[] = {"study", "state", "round", "history", "lease", "fold"};
    char name[BUS_NAME_BYTES];
    (void)snprintf(name, sizeof name, "tremolo.blob.%s.>", tag);
    (void)bus->forget(bus, CLUSTER_BLOBS, name, 0); /* there may be no such stream yet */
    cluster_stream(name, tag);
    enum tremolo_status status = bus->drop(bus, name);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && status == TREMOLO_OK; i++) {
        cluster_key(name, kinds[i], tag);
        status = bus->erase(bus, name);
        if (status == TREMOLO_OK) {
            (void)snprintf(name, sizeof name, "%s.%s.>", kinds[i], tag);
            status = bus->erase(bus, name);
        }
    }
    return status;
}

/* ---------------------------------------------------------------- the log */

enum tremolo_status cluster_take(struct shard *shard, const struct bus_value *message)
{
    long round = cluster_round_of(message->subject);
    return round >= 0 ? shard_end(shard, message->revision, (unsigned)round)
                      : shard_take(shard, message->revision, message->bytes, message->length);
}

enum tremolo_status cluster_mark_end(struct bus *bus, const char *tag, unsigned shards,
                                     unsigned round)
{
    char stream[BUS_NAME_BYTES];
    char hint[BUS_NAME_BYTES];
    static const uint8_t mark[] = SHARD_END_MARK;
    enum tremolo_status status = TREMOLO_OK;
    cluster_stream(stream, tag);
    for (unsigned n = 0; n < shards && status == TREMOLO_OK; n++) {
        struct bus_message message = {.bytes = mark, .length = sizeof mark - 1};
        struct bus_value found;
        cluster_end(message.subject, tag, n, round);
        status = bus->next(bus, stream, message.subject, 1, &found);
        free(found.bytes);
        if (status == TREMOLO_OK && found.revision == 0) {
            status = bus->publish(bus, &message, 1);
        }
        if (status == TREMOLO_OK) {
            (void)snprintf(hint, sizeof hint, CLUSTER_HINT_LOG ".%s.%u", tag, n);
            bus->hint(bus, hint);
        }
    }
    return status;
}
