/* generator.c -- ChaCha20 with fast key erasure.
 *
 * One generator serves one release: it is seeded with 32 bytes of the
 * platform's entropy and wiped at the end, so no long-lived secret exists.
 * A refill computes four blocks (RFC 8439 layout, nonce zero, counters 0..3)
 * under the current key; the first 32 bytes replace the key and the other
 * 224 are handed out in order and erased as they go. Whoever reads the memory
 * later learns nothing of what was handed out before. */
#include "parts.h"

enum { ROUND_PAIRS = 10, KEY_BYTES = TREMOLO_SEED_BYTES, REFILL_BYTES = 256, BLOCK_BYTES = 64 };

static uint32_t rotate_32(uint32_t value, unsigned count)
{
    return value << count | value >> (32 - count);
}

static void quarter_round(uint32_t *s, unsigned a, unsigned b, unsigned c, unsigned d)
{
    s[a] += s[b];
    s[d] = rotate_32(s[d] ^ s[a], 16);
    s[c] += s[d];
    s[b] = rotate_32(s[b] ^ s[c], 12);
    s[a] += s[b];
    s[d] = rotate_32(s[d] ^ s[a], 8);
    s[c] += s[d];
    s[b] = rotate_32(s[b] ^ s[c], 7);
}

static void load_state(uint32_t state[16], const uint32_t key[8], uint32_t counter,
                       const uint32_t nonce[3])
{
    static const uint32_t constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    unsigned i;
    for (i = 0; i < 4; i++) {
        state[i] = constants[i];
    }
    for (i = 0; i < 8; i++) {
        state[4 + i] = key[i];
    }
    state[12] = counter;
    for (i = 0; i < 3; i++) {
        state[13 + i] = nonce[i];
    }
}

TREMOLO_PART void tremolo_chacha20_block(uint8_t out[64], const uint32_t key[8], uint32_t counter,
                                         const uint32_t nonce[3])
{
    uint32_t start[16];
    uint32_t state[16];
    unsigned i;
    load_state(start, key, counter, nonce);
    load_state(state, key, counter, nonce);
    for (i = 0; i < ROUND_PAIRS; i++) {
        unsigned column;
        for (column = 0; column < 4; column++) {
            quarter_round(state, column, 4 + column, 8 + column, 12 + column);
        }
        for (column = 0; column < 4; column++) {
            quarter_round(state, column, 4 + ((column + 1) & 3), 8 + ((column + 2) & 3),
                          12 + ((column + 3) & 3));
        }
    }
    for (i = 0; i < 16; i++) {
        tremolo_bytes_store(out + 4 * i, state[i] + start[i], 4);
    }
    tremolo_bytes_wipe(start, sizeof start);
    tremolo_bytes_wipe(state, sizeof state);
}

static void take_key(struct tremolo_generator *generator)
{
    unsigned i;
    for (i = 0; i < 8; i++) {
        generator->key[i] = tremolo_bytes_load(generator->block + 4 * i, 4);
    }
    tremolo_bytes_wipe(generator->block, KEY_BYTES);
}

static void refill(struct tremolo_generator *generator)
{
    static const uint32_t zero_nonce[3] = {0, 0, 0};
    uint32_t counter;
    for (counter = 0; counter < REFILL_BYTES / BLOCK_BYTES; counter++) {
        tremolo_chacha20_block(generator->block + BLOCK_BYTES * counter, generator->key, counter,
                               zero_nonce);
    }
    take_key(generator);
    generator->next = KEY_BYTES;
}

/* A source that repeats one byte is stuck: an honest one does so with
 * probability 2^-248. */
static int looks_stuck(const uint8_t *seed)
{
    unsigned i;
    for (i = 1; i < KEY_BYTES; i++) {
        if (seed[i] != seed[0]) {
            return 0;
        }
    }
    return 1;
}

/* Fails closed: after NO_ENTROPY the generator is zero. */
TREMOLO_PART enum tremolo_status tremolo_generator_seed(struct tremolo_generator *generator,
                                                        const struct tremolo_platform *platform)
{
    tremolo_bytes_wipe(generator, sizeof *generator);
    if (platform->entropy(platform->context, generator->block, KEY_BYTES) != 0 ||
        looks_stuck(generator->block)) {
        tremolo_bytes_wipe(generator, sizeof *generator);
        return TREMOLO_NO_ENTROPY;
    }
    take_key(generator);
    generator->next = REFILL_BYTES;
    return TREMOLO_OK;
}

TREMOLO_PART uint8_t tremolo_generator_byte(struct tremolo_generator *generator)
{
    uint8_t byte;
    if (generator->next == REFILL_BYTES) {
        refill(generator);
    }
    byte = generator->block[generator->next];
    generator->block[generator->next++] = 0;
    return byte;
}
