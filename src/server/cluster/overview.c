/* overview.c -- what a clustered store holds and who works on it, as JSON.
 *
 * Everything is read from the broker: leases, checkpoints, the state of streams.
 * Whether a lease is alive is seen by looking twice, a lease's time apart at most. */
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bus.h"
#include "mirror.h"
#include "tremolo_server.h"

static const char *phase_name(enum cluster_phase phase)
{
    switch (phase) {
    case CLUSTER_OPEN: return "open";
    case CLUSTER_CLOSING: return "closing";
    case CLUSTER_DONE: return "done";
    }
    return "unknown";
}

/* Messages of the shard that no checkpoint holds: none, or at most the distance from the
 * first of them to the stream's end. */
static enum tremolo_status behind(uint64_t *messages, struct bus *bus, const struct mirror *study,
                                  unsigned number, uint64_t last)
{
    char subjects[BUS_NAME_BYTES];
    struct bus_value next;
    cluster_shard_all(subjects, study->tag, number);
    enum tremolo_status status =
        bus->next(bus, study->stream, subjects, study->shard[number].position + 1, &next);
    if (status == TREMOLO_OK) {
        *messages = next.revision == 0 || next.revision > last ? 0 : last - next.revision + 1;
        free(next.bytes);
    }
    return status;
}

static json_t *shard_json(struct bus *bus, const struct mirror *study, unsigned number,
                          uint64_t last)
{
    const struct mirror_shard *shard = &study->shard[number];
    char key[BUS_NAME_BYTES];
    struct bus_value lease;
    uint64_t lag = 0;
    cluster_key_of(key, "lease", study->tag, number);
    if (bus->get(bus, key, &lease) != TREMOLO_OK ||
        behind(&lag, bus, study, number, last) != TREMOLO_OK) {
        return NULL;
    }
    bool owned = lease.bytes != NULL && strcmp((const char *)lease.bytes, "-") != 0;
    json_t *json = json_pack(
        "{s:i, s:s, s:I, s:I, s:I, s:I, s:i, s:I, s:I, s:I, s:I, s:I}", "shard", (int)number,
        "owner", owned ? (const char *)lease.bytes : "", "lease", (json_int_t)lease.revision,
        "fence", (json_int_t)shard->fence, "position", (json_int_t)shard->position, "behind",
        (json_int_t)lag, "ended", (int)shard->ended, "counted", (json_int_t)shard->counts.counted,
        "repeated", (json_int_t)shard->counts.repeated, "late", (json_int_t)shard->counts.late,
        "refused", (json_int_t)shard->counts.refused, "damaged", (json_int_t)shard->counts.damaged);
    free(lease.bytes);
    return json;
}

static json_t *study_json(struct bus *bus, struct mirror *study)
{
    struct bus_state stream = {0};
    const struct served_study *served = study->served;
    if (mirror_refresh(study, bus, true) != TREMOLO_OK ||
        bus->state(bus, study->stream, NULL, &stream) != TREMOLO_OK) {
        return NULL;
    }
    json_t *shards = json_array();
    for (unsigned n = 0; n < study->shards; n++) {
        json_t *shard = shard_json(bus, study, n, stream.last);
        if (shard == NULL) {
            json_decref(shards);
            return NULL;
        }
        (void)json_array_append_new(shards, shard);
    }
    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:I, s:{s:s, s:I, s:I, s:I, s:i, s:i, s:s}, s:o}",
                     "id", served->id_text, "title", served->terms->title, "state",
                     phase_name(study->phase), "round", (int)study->round, "rounds",
                     (int)served->terms->rounds, "reports", (json_int_t)served->reports, "stream",
                     "name", study->stream, "last", (json_int_t)stream.last, "messages",
                     (json_int_t)stream.messages, "bytes", (json_int_t)stream.bytes, "replicas",
                     (int)stream.replicas, "current", (int)stream.current, "leader", stream.leader,
                     "shards", shards);
}

/* Leases that did not move for a renewal and a half have no living owner. */
static void mark_silent(json_t *studies, struct bus *bus)
{
    size_t i;
    size_t n;
    json_t *study;
    json_t *shard;
    (void)usleep(1600000);
    json_array_foreach(studies, i, study)
    {
        json_array_foreach(json_object_get(study, "shards"), n, shard)
        {
            char key[BUS_NAME_BYTES];
            struct bus_value lease = {0};
            const char *stream =
                json_string_value(json_object_get(json_object_get(study, "stream"), "name"));
            cluster_key_of(key, "lease", stream + strlen("TREMOLO-"), (unsigned)n);
            bool known = bus->get(bus, key, &lease) == TREMOLO_OK;
            bool moved = known && (json_int_t)lease.revision !=
                                      json_integer_value(json_object_get(shard, "lease"));
            free(lease.bytes);
            bool owned = json_string_length(json_object_get(shard, "owner")) > 0;
            (void)json_object_set_new(shard, "alive", json_boolean(owned && moved));
        }
    }
}

static enum tremolo_status list_studies(json_t *studies, struct bus *bus)
{
    uint8_t *tags = NULL;
    size_t count = 0;
    enum tremolo_status status = cluster_list(bus, &tags, &count);
    for (size_t i = 0; i < count && status == TREMOLO_OK; i++) {
        struct mirror *study = NULL;
        status = mirror_open(&study, bus, tags + i * STORE_STUDY_BYTES, NULL, NULL);
        json_t *line = status == TREMOLO_OK ? study_json(bus, study) : NULL;
        if (status == TREMOLO_OK && line == NULL) {
            status = TREMOLO_NETWORK_FAILED;
        }
        if (line != NULL) {
            (void)json_array_append_new(studies, line);
        }
        mirror_free(study);
    }
    free(tags);
    return status;
}

enum tremolo_status tremolo_store_overview(char **json, const struct tremolo_store_options *options,
                                           char *words, size_t words_capacity)
{
    struct bus *bus = NULL;
    if (sodium_init() < 0) {
        return TREMOLO_NO_ENTROPY;
    }
    enum tremolo_status status = bus_open_nats(&bus, options, "reader", words, words_capacity);
    if (status != TREMOLO_OK) {
        return status;
    }
    json_t *studies = json_array();
    status = list_studies(studies, bus);
    if (status == TREMOLO_OK && json_array_size(studies) > 0) {
        mark_silent(studies, bus);
    }
    json_t *answer = json_pack("{s:o}", "studies", studies);
    char *text = status == TREMOLO_OK ? json_dumps(answer, JSON_COMPACT) : NULL;
    json_decref(answer);
    if (status == TREMOLO_OK && text == NULL) {
        status = TREMOLO_NO_MEMORY;
    }
    if (status != TREMOLO_OK) {
        (void)snprintf(words, words_capacity, "%s: %s (%s)", options->url,
                       tremolo_status_sentence(status), bus->explain(bus));
    } else {
        *json = text;
    }
    bus->close(bus);
    return status;
}
