/* overview.c -- what a clustered store holds and who works on it, as JSON.
 *
 * Everything is read from the broker: leases, checkpoints, the state of streams.
 * Whether a lease is alive is seen by looking twice, so far apart that a living owner
 * has renewed it in between. */
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "server.h"
#include "clock.h"
#include "document.h"
#include "lease.h"

/* What was seen of one shard, apart from its mirror. */
struct seen_shard {
    struct lease lease;
    uint64_t behind; /* messages that no checkpoint holds, at most */
    bool alive;
};

struct seen_study {
    struct mirror *mirror;
    struct bus_state stream;
    struct seen_shard *shard; /* mirror->shards of them */
};

struct overview {
    struct bus *bus;
    struct seen_study *study;
    size_t count;
};

static void free_overview(struct overview *overview)
{
    for (size_t i = 0; i < overview->count; i++) {
        mirror_free(overview->study[i].mirror);
        free(overview->study[i].shard);
    }
    free(overview->study);
}

/* ---------------------------------------------------------------- looking */

/* Messages of the shard that no checkpoint holds: none, or at most the distance from the
 * first of them to the stream's end. */
static enum tremolo_status count_behind(uint64_t *messages, struct bus *bus,
                                        const struct seen_study *study, unsigned number)
{
    const struct mirror *mirror = study->mirror;
    uint64_t last = study->stream.last;
    struct bus_value next;
    enum tremolo_status status = bus->next(bus, mirror->stream, study->shard[number].lease.subjects,
                                           mirror->shard[number].position + 1, &next);
    if (status == TREMOLO_OK) {
        *messages = next.revision == 0 || next.revision > last ? 0 : last - next.revision + 1;
        free(next.bytes);
    }
    return status;
}

static enum tremolo_status look_at_study(struct seen_study *study, struct bus *bus,
                                         const uint8_t *tag)
{
    struct lease_holder reader = {.bus = bus};
    enum tremolo_status status = mirror_open(&study->mirror, bus, tag, NULL, NULL);
    if (status == TREMOLO_OK) {
        status = mirror_refresh(study->mirror, bus, true);
    }
    if (status == TREMOLO_OK) {
        status = bus->state(bus, study->mirror->stream, NULL, &study->stream);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    study->shard = calloc(study->mirror->shards, sizeof *study->shard);
    status = study->shard == NULL ? TREMOLO_NO_MEMORY : TREMOLO_OK;
    for (unsigned n = 0; n < study->mirror->shards && status == TREMOLO_OK; n++) {
        struct seen_shard *shard = &study->shard[n];
        lease_init(&shard->lease, study->mirror, n);
        status = lease_look(&shard->lease, &reader);
        if (status == TREMOLO_OK) {
            status = count_behind(&shard->behind, bus, study, n);
        }
    }
    return status;
}

static enum tremolo_status look_at_all(struct overview *overview)
{
    uint8_t *tags = NULL;
    size_t count = 0;
    enum tremolo_status status = cluster_list(overview->bus, &tags, &count);
    overview->study = calloc(count + 1, sizeof *overview->study);
    if (status == TREMOLO_OK && overview->study == NULL) {
        status = TREMOLO_NO_MEMORY;
    }
    while (overview->count < count && status == TREMOLO_OK) {
        const uint8_t *tag = tags + overview->count * STORE_STUDY_BYTES;
        status = look_at_study(&overview->study[overview->count++], overview->bus, tag);
    }
    free(tags);
    return status;
}

/* A lease that did not move in between, or cannot be read, has no living owner. */
static void look_again(struct overview *overview)
{
    struct lease_holder reader = {.bus = overview->bus};
    for (size_t i = 0; i < overview->count; i++) {
        struct seen_study *study = &overview->study[i];
        for (unsigned n = 0; n < study->mirror->shards; n++) {
            struct lease now = study->shard[n].lease;
            bool read = lease_look(&now, &reader) == TREMOLO_OK;
            study->shard[n].alive = read && study->shard[n].lease.owner[0] != '\0' &&
                                    now.revision != study->shard[n].lease.revision;
        }
    }
}

/* ---------------------------------------------------------------- writing */

static const char *phase_name(enum cluster_phase phase)
{
    switch (phase) {
    case CLUSTER_OPEN: return "open";
    case CLUSTER_CLOSING: return "closing";
    case CLUSTER_DONE: return "done";
    }
    return "unknown";
}

static json_t *shard_json(const struct seen_study *study, unsigned number)
{
    const struct mirror_shard *folded = &study->mirror->shard[number];
    const struct seen_shard *shard = &study->shard[number];
    json_t *made =
        json_pack("{s:i, s:s, s:I, s:I, s:I, s:I, s:i}", "shard", (int)number, "owner",
                  shard->lease.owner, "lease", (json_int_t)shard->lease.revision, "fence",
                  (json_int_t)folded->fence, "position", (json_int_t)folded->position, "behind",
                  (json_int_t)shard->behind, "ended", (int)folded->ended);
    for (size_t i = 0; i < SHARD_FATES; i++) {
        json_latch_set(&made, shard_fate_names[i], json_integer((json_int_t)folded->counts[i]));
    }
    json_latch_set(&made, "alive", json_boolean(shard->alive));
    return made;
}

static json_t *study_json(const struct seen_study *study)
{
    const struct mirror *mirror = study->mirror;
    const struct served_study *served = mirror->served;
    const struct bus_state *stream = &study->stream;
    json_t *shards = json_array();
    for (unsigned n = 0; n < mirror->shards; n++) {
        json_latch_append(&shards, shard_json(study, n));
    }
    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:I, s:{s:s, s:I, s:I, s:I, s:i, s:i, s:s}, s:o}",
                     "id", served->id_text, "title", served->terms->title, "state",
                     phase_name(mirror->phase), "round", (int)mirror->round, "rounds",
                     (int)served->terms->rounds, "reports", (json_int_t)served->sums.reports,
                     "stream", "name", mirror->stream, "last", (json_int_t)stream->last, "messages",
                     (json_int_t)stream->messages, "bytes", (json_int_t)stream->bytes, "replicas",
                     (int)stream->replicas, "current", (int)stream->current, "leader",
                     stream->leader, "shards", shards);
}

static enum tremolo_status write_overview(char **json, const struct overview *overview)
{
    json_t *studies = json_array();
    for (size_t i = 0; i < overview->count; i++) {
        json_latch_append(&studies, study_json(&overview->study[i]));
    }
    return json_latch_text(json, json_pack("{s:o}", "studies", studies), JSON_COMPACT);
}

/* ---------------------------------------------------------------- public */

enum tremolo_status cluster_overview(char **json, struct bus *bus, int64_t pause_ms)
{
    struct overview overview = {.bus = bus};
    enum tremolo_status status = look_at_all(&overview);
    if (status == TREMOLO_OK && overview.count > 0) {
        clock_pause(pause_ms);
        look_again(&overview);
    }
    if (status == TREMOLO_OK) {
        status = write_overview(json, &overview);
    }
    free_overview(&overview);
    return status;
}

enum tremolo_status tremolo_store_overview(char **json, const struct tremolo_store_options *options,
                                           char words[TREMOLO_WORDS_BYTES])
{
    struct bus *bus = NULL;
    if (sodium_init() < 0) {
        return TREMOLO_NO_ENTROPY;
    }
    enum tremolo_status status = bus_open_nats(&bus, options, "reader", words);
    if (status != TREMOLO_OK) {
        return status;
    }
    status = cluster_overview(json, bus, LEASE_RENEW_MS * 8 / 5);
    if (status != TREMOLO_OK) {
        (void)snprintf(words, TREMOLO_WORDS_BYTES, "%s: %s (%s)", options->url,
                       tremolo_status_sentence(status), bus->explain(bus));
    }
    bus->close(bus);
    return status;
}
