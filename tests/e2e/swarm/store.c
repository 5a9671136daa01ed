/* store.c -- the server's stored moments against the fold made here, byte by byte.
 * The server has stopped, or is about to: its directory has one user at a time. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store.h"
#include "swarm.h"

static enum tremolo_status compare_checkpoint(void *context, const uint8_t *key, size_t key_length,
                                              const uint8_t *value, size_t length)
{
    struct swarm *swarm = context;
    unsigned round = (unsigned)(key[key_length - 2] << 8 | key[key_length - 1]);
    size_t expected = tremolo_moments_encoded_bytes(swarm->moments[round]);
    uint8_t *bytes = malloc(expected);
    must(tremolo_moments_encode(swarm->moments[round], bytes, expected), "encode");
    if (length != expected + 8 || memcmp(value + 8, bytes, expected) != 0) {
        stop_with("the stored moments are not those of the acknowledged reports");
    }
    swarm->compared += expected;
    free(bytes);
    return TREMOLO_OK;
}

void compare_store(struct swarm *swarm)
{
    struct store *store = NULL;
    char words[TREMOLO_WORDS_BYTES];
    double until = seconds() + swarm->patience;
    while (store_open_sqlite(&store, swarm->data, STORE_CAREFUL, words) != TREMOLO_OK) {
        if (seconds() > until) {
            stop_with(words);
        }
        (void)usleep(50000);
    }
    size_t before = swarm->compared;
    must(store->each(store, "checkpoint", compare_checkpoint, swarm), "checkpoint");
    if (swarm->compared == before) {
        stop_with("there is no checkpoint");
    }
    store->close(store);
}
