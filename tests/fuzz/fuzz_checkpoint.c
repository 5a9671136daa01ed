/* fuzz_checkpoint.c -- what workers and gateways read from the broker.
 *
 * Arbitrary bytes are taken as a shard's checkpoint, as the state of a study's
 * rounds, as a segment of the log and as a chunk of names. Checkpoints get the right
 * check value, or no mutation would pass it. Properties: sums of the active round are there
 * exactly while a round is active, every count is covered by sums, and what is
 * accepted can be folded on, written again and read back as the same. */
#include <sodium.h>
#include <string.h>

#include "served_study.h"
#include "checkpoint.h"
#include "cluster.h"
#include "fake_bus.h"
#include "fuzz.h"

enum { CHECK_BYTES = 16, INPUT_MAX = 1 << 16 };

static const char study_text[] =
    "{\"tremolo\": 1, \"title\": \"t\", \"features\": [{\"name\": \"a\", \"low\": 0, \"high\": 1}],"
    "\"response\": {\"name\": \"y\", \"low\": 0, \"high\": 1},"
    "\"privacy\": {\"epsilon\": 4, \"protects\": \"features\"},"
    "\"protocol\": {\"kind\": \"one-shot\"}}";

static struct fake_broker broker;
static struct fake_bus bus;
static struct served_study *served;
static char tag[CLUSTER_TAG_BYTES];

static void no_tick(void *context)
{
    (void)context;
}

static void begin(void)
{
    static const uint8_t no_key[TREMOLO_SIGNING_SECRET_BYTES];
    static const uint8_t secret[TREMOLO_DEVICE_SECRET_BYTES];
    if (served == NULL &&
        (sodium_init() < 0 ||
         served_new(&served, NULL, study_text, strlen(study_text), no_key, secret) != TREMOLO_OK)) {
        abort();
    }
    fake_broker_clear(&broker);
    fake_bus_open(&bus, &broker);
    cluster_tag(tag, served->id);
}

/* The input as the only value under a key. */
static void put_value(const char *kind, const uint8_t *data, size_t size)
{
    uint64_t revision = 0;
    char key[BUS_NAME_BYTES];
    cluster_key(key, kind, tag);
    fuzz_require(bus.base.swap(&bus.base, key, 0, data, size, &revision) == TREMOLO_OK);
}

static void read_state(const uint8_t *data, size_t size)
{
    struct cluster_state state = {0};
    begin();
    put_value("state", data, size);
    if (cluster_get_state(&state, &bus.base, tag) == TREMOLO_OK) {
        fuzz_require(state.closed_count == state.round + (state.phase == CLUSTER_DONE ? 1 : 0));
        cluster_state_free(&state);
    }
}

/* Fold on, write it down, read it back. */
static void go_on(struct shard *shard, const uint8_t *data, size_t size)
{
    struct checkpoint_mark mark = {.fence = 1};
    struct checkpoint_mark found;
    struct shard *again = NULL;
    struct bus_value value;
    char key[BUS_NAME_BYTES];
    uint64_t next = shard->position < UINT64_MAX ? shard->position + 1 : shard->position;
    cluster_key_of(key, "fold", tag, 0);
    if (shard_take(shard, next, data, size) != TREMOLO_OK ||
        checkpoint_store(shard, &mark, &bus.base, tag, no_tick, NULL) != TREMOLO_OK) {
        return;
    }
    fuzz_require(bus.base.get(&bus.base, key, &value) == TREMOLO_OK);
    fuzz_require(checkpoint_decode(&again, &found, &bus.base, served, 0, 1, &value) == TREMOLO_OK);
    fuzz_require(again->position == shard->position && again->active == shard->active &&
                 again->counts[SHARD_COUNTED] == shard->counts[SHARD_COUNTED] && found.fence == 1);
    free(value.bytes);
    shard_free(again);
}

static void read_checkpoint(const uint8_t *data, size_t size)
{
    struct bus_value value = {.bytes = malloc(size + 1), .length = size, .revision = 1};
    struct checkpoint_mark mark;
    struct shard *shard = NULL;
    char subject[BUS_NAME_BYTES];
    begin();
    (void)snprintf(subject, sizeof subject, "tremolo.blob.%s.0.ids.0", tag);
    (void)fake_append(&broker, subject, data, size);
    (void)snprintf(subject, sizeof subject, "tremolo.blob.%s.0.active.0", tag);
    (void)fake_append(&broker, subject, data, size);
    memcpy(value.bytes, data, size);
    size_t checked = size - CHECK_BYTES;
    (void)crypto_generichash(value.bytes + checked, CHECK_BYTES, value.bytes, checked, NULL, 0);
    if (checkpoint_decode(&shard, &mark, &bus.base, served, 0, 1, &value) == TREMOLO_OK) {
        struct tremolo_moments *ended = NULL;
        fuzz_require((shard->moments != NULL) == (shard->active < served->terms->rounds));
        for (unsigned t = 0; t < shard->active; t++) {
            if (checkpoint_ended(&ended, &bus.base, shard, t) == TREMOLO_OK) {
                fuzz_require(tremolo_moments_count(ended) == shard->ended[t].count);
                tremolo_moments_free(ended);
            }
        }
        (void)!checkpoint_names(shard, &bus.base, no_tick, NULL);
        go_on(shard, data, size);
        shard_free(shard);
    }
    free(value.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX) {
        return 0;
    }
    read_state(data, size);
    if (size >= CHECK_BYTES) {
        read_checkpoint(data, size);
    }
    fake_broker_clear(&broker);
    return 0;
}
