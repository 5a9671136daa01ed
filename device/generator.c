/* generator.c -- ChaCha20 with fast key erasure.
 *
 * One generator serves one release: it is seeded with 32 bytes of the
 * platform's entropy and wiped at the end, so no long-lived secret exists.
 * A refill computes four blocks (RFC 8439 layout, nonce zero, counters 0..3)
 * under the current key; the first 32 bytes replace the key and the other
 * 224 are handed out in order and erased as they go. Whoever reads the memory
 * later learns nothing of what was handed out before. */
#include "parts.h"

enum { QUARTER_ROUNDS = 80, KEY_BYTES = TREMOLO_SEED_BYTES, REFILL_BYTES = 256, BLOCK_BYTES = 64 };

static uint32_t rotate_32(uint32_t value, unsigned count)
{
    return value << count | value >> (32 - count);
}

static void quarter_round(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
    *a += *b;
    *d = rotate_32(*d ^ *a, 16);
    *c += *d;
    *b = rotate_32(*b ^ *c, 12);
    *a += *b;
    *d = rotate_32(*d ^ *a, 8);
    *c += *d;
    *b = rotate_32(*b ^ *c, 7);
}

/* Columns and diagonals alternate: a diagonal is a column whose rows are
 * turned by 1, 2 and 3 places. */
TREMOLO_PART void tremolo_chacha20_block(uint8_t out[64], const uint32_t state[16])
{
    uint32_t x[16];
    unsigned i;
    for (i = 0; i < 16; i++) {
        x[i] = state[i];
    }
    for (i = 0; i < QUARTER_ROUNDS; i++) {
        unsigned turn = i >> 2 & 1;
        quarter_round(x + (i & 3), x + 4 + ((i + turn) & 3), x + 8 + ((i + 2 * turn) & 3),
                      x + 12 + ((i + 3 * turn) & 3));
    }
    for (i = 0; i < 16; i++) {
        tremolo_bytes_store(out + 4 * i, x[i] + state[i], 4);
    }
    tremolo_bytes_wipe(x, sizeof x);
}

/* The first 32 bytes of the buffer become the key and leave the buffer. */
static void take_key(struct tremolo_generator *generator)
{
    unsigned i;
    for (i = 0; i < 8; i++) {
        generator->state[4 + i] = tremolo_bytes_load(generator->block + 4 * i, 4);
    }
    tremolo_bytes_wipe(generator->block, KEY_BYTES);
}

static void refill(struct tremolo_generator *generator)
{
    unsigned at;
    generator->state[12] = 0;
    for (at = 0; at < REFILL_BYTES; at += BLOCK_BYTES) {
        tremolo_chacha20_block(generator->block + at, generator->state);
        generator->state[12]++;
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
    generator->state[0] = 0x61707865;
    generator->state[1] = 0x3320646e;
    generator->state[2] = 0x79622d32;
    generator->state[3] = 0x6b206574;
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

TREMOLO_PART uint32_t tremolo_generator_word(struct tremolo_generator *generator)
{
    uint32_t word = 0;
    unsigned i;
    for (i = 0; i < 4; i++) {
        word = word << 8 | tremolo_generator_byte(generator);
    }
    return word;
}
