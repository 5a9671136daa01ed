/* seed_checkpoint.c -- first inputs for fuzz_checkpoint: checkpoints of a shard with no
 * message, in the middle of its round and after its end, and a state. The study is the
 * target's own. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "cluster.h"
#include "fake_bus.h"

static const char study_text[] =
    "{\"tremolo\": 1, \"title\": \"t\", \"features\": [{\"name\": \"a\", \"low\": 0, \"high\": 1}],"
    "\"response\": {\"name\": \"y\", \"low\": 0, \"high\": 1},"
    "\"privacy\": {\"epsilon\": 4, \"protects\": \"features\"},"
    "\"protocol\": {\"kind\": \"one-shot\"}}";

static struct fake_broker broker;
static struct fake_bus bus;

static void no_tick(void *context)
{
    (void)context;
}

static void save(const char *folder, const char *name, const char *key)
{
    char path[1024];
    const struct fake_value *value = fake_find(&broker, key);
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = value != NULL ? fopen(path, "wb") : NULL;
    if (out == NULL || fwrite(value->bytes, 1, value->length, out) != value->length ||
        fclose(out) != 0) {
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static const uint8_t no_key[TREMOLO_SIGNING_SECRET_BYTES];
    static const uint8_t secret[TREMOLO_DEVICE_SECRET_BYTES];
    static const char *const names[] = {"empty", "folded", "ended"};
    struct checkpoint_mark mark = {.fence = 1};
    struct shard *shard = NULL;
    struct served_study *served = NULL;
    char tag[CLUSTER_TAG_BYTES];
    char key[BUS_NAME_BYTES];
    fake_bus_open(&bus, &broker);
    broker.until_fault = -1;
    if (argc != 2 || sodium_init() < 0 ||
        served_new(&served, NULL, study_text, strlen(study_text), no_key, secret) != TREMOLO_OK ||
        cluster_create(&bus.base, served, 1) != TREMOLO_OK ||
        shard_new(&shard, served, 0, 1) != TREMOLO_OK) {
        return 1;
    }
    cluster_tag(tag, served->id);
    cluster_key(key, "state", tag);
    save(argv[1], "state", key);
    cluster_key_of(key, "fold", tag, 0);
    for (unsigned i = 0; i < 3; i++) {
        enum tremolo_status status = i == 1   ? shard_take(shard, 5, (const uint8_t *)"damaged", 7)
                                     : i == 2 ? shard_end(shard, 9, 0)
                                              : TREMOLO_OK;
        if (status != TREMOLO_OK ||
            checkpoint_store(shard, &mark, &bus.base, tag, no_tick, NULL) != TREMOLO_OK) {
            return 1;
        }
        save(argv[1], names[i], key);
    }
    shard_free(shard);
    served_free(served);
    fake_broker_clear(&broker);
    return 0;
}
