/* generator.c -- ChaCha20 with fast key erasure.
 *
 * One generator serves one release: it is seeded with 32 bytes of the
 * platform's entropy, hedged, and wiped at the end.
 * A refill computes four blocks (RFC 8439 layout, nonce zero, counters 0..3)
 * under the current key; the first 32 bytes replace the key and the other
 * 224 are handed out in order and erased as they go. An attacker who reads the
 * memory later learns nothing about bytes handed out before. */
#include "parts.h"

enum {
    MOST_EQUAL = 14,
    ROUND_PAIRS = 10,
    KEY_BYTES = TREMOLO_SEED_BYTES,
    REFILL_BYTES = 256,
    BLOCK_BYTES = 64
};

/* Counter and nonce stand right before the buffer. */
enum {
    NONCE_AT = offsetof(struct tremolo_generator, state[12]),
    BLOCK_AT = offsetof(struct tremolo_generator, block)
};

/* One word of TREMOLO_LANES blocks side by side. */
#if TREMOLO_LANES == 1
typedef uint32_t lanes;
#define LANE(word, lane) (word)
#define QUARTER          TREMOLO_APART
#else
typedef uint32_t lanes __attribute__((vector_size(4 * TREMOLO_LANES)));
#define LANE(word, lane) ((word)[lane])
#define QUARTER          inline
#endif

static lanes rotate_lanes(lanes value, unsigned count)
{
    return value << count | value >> (32 - count);
}

static QUARTER void quarter_round(lanes *pa, lanes *pb, lanes *pc, lanes *pd)
{
    lanes a = *pa;
    lanes b = *pb;
    lanes c = *pc;
    lanes d = *pd;
    a += b;
    d = rotate_lanes(d ^ a, 16);
    c += d;
    b = rotate_lanes(b ^ c, 12);
    a += b;
    d = rotate_lanes(d ^ a, 8);
    c += d;
    b = rotate_lanes(b ^ c, 7);
    *pa = a;
    *pb = b;
    *pc = c;
    *pd = d;
}

/* Four columns, then four diagonals: there row r starts r places further right. */
static inline void step(lanes *x, unsigned i)
{
    unsigned right = i >> 2;
    quarter_round(x + (i & 3), x + 4 + ((i + right) & 3), x + 8 + ((i + 2 * right) & 3),
                  x + 12 + ((i + 3 * right) & 3));
}

static inline void double_round(lanes *x)
{
#if TREMOLO_LANES == 1
    unsigned i;
    for (i = 0; i < 8; i++) {
        step(x, i);
    }
#else
    step(x, 0);
    step(x, 1);
    step(x, 2);
    step(x, 3);
    step(x, 4);
    step(x, 5);
    step(x, 6);
    step(x, 7);
#endif
}

/* The next blocks: the counter moves on. */
TREMOLO_PART void tremolo_chacha_blocks(uint8_t out[64 * TREMOLO_LANES], uint32_t state[16],
                                        unsigned round_pairs)
{
    lanes x[16];
    unsigned lane;
    unsigned i;
    for (lane = 0; lane < TREMOLO_LANES; lane++) {
        for (i = 0; i < 16; i++) {
            LANE(x[i], lane) = state[i] + (i == 12 ? lane : 0);
        }
    }
    for (i = 0; i < round_pairs; i++) {
        double_round(x);
    }
    for (lane = 0; lane < TREMOLO_LANES; lane++) {
        for (i = 0; i < 16; i++) {
            uint32_t word = LANE(x[i], lane) + state[i] + (i == 12 ? lane : 0);
            tremolo_bytes_store(out + BLOCK_BYTES * lane + 4 * i, word);
        }
    }
    state[12] += TREMOLO_LANES;
    tremolo_bytes_wipe(x, sizeof x);
}

/* The first 32 bytes of the buffer become the key and leave the buffer; the
 * counter and the nonce are zero again. */
TREMOLO_APART TREMOLO_PART void tremolo_generator_key(struct tremolo_generator *generator)
{
    unsigned i;
    generator->state[0] = 0x61707865;
    generator->state[1] = 0x3320646e;
    generator->state[2] = 0x79622d32;
    generator->state[3] = 0x6b206574;
    for (i = 0; i < 8; i++) {
        generator->state[4 + i] = tremolo_bytes_load(generator->block + 4 * i);
    }
    tremolo_bytes_wipe((uint8_t *)generator + NONCE_AT, BLOCK_AT + KEY_BYTES - NONCE_AT);
}

TREMOLO_PART void tremolo_generator_refill(struct tremolo_generator *generator)
{
    unsigned at;
    for (at = 0; at < REFILL_BYTES; at += TREMOLO_LANES * BLOCK_BYTES) {
        tremolo_chacha_blocks(generator->block + at, generator->state, ROUND_PAIRS);
    }
    tremolo_generator_key(generator);
    generator->next = KEY_BYTES;
}

/* The health test: how many bytes of the seed are equal and a multiple of four
 * apart. It sees what SP 800-90B's tests of repetition and of proportion see: a byte
 * that has a third of the places, a run of 14, and words or a period up to 16 bytes
 * that come again. Fewer than 2^-32 of uniform seeds have so many; the caller asks again. */
static int looks_stuck(const uint8_t *seed)
{
    unsigned equal = 0;
    unsigned i;
    unsigned j;
    for (i = 0; i < KEY_BYTES; i++) {
        for (j = i + 4; j < KEY_BYTES; j += 4) {
            equal += seed[i] == seed[j];
        }
    }
    return equal >= MOST_EQUAL;
}

/* The key is the platform's entropy with two strings added to it, each of 32
 * bytes. Fails closed: after NO_ENTROPY the generator is zero. */
TREMOLO_PART enum tremolo_status tremolo_generator_seed(struct tremolo_generator *generator,
                                                        const struct tremolo_platform *platform,
                                                        const uint8_t *one, const uint8_t *other)
{
    uint8_t *seed = generator->block;
    unsigned i;
    if (platform->entropy(platform->context, seed, KEY_BYTES) != 0 || looks_stuck(seed)) {
        tremolo_bytes_wipe(generator, sizeof *generator);
        return TREMOLO_NO_ENTROPY;
    }
    for (i = 0; i < KEY_BYTES; i++) {
        seed[i] ^= one[i] ^ other[i];
    }
    tremolo_generator_key(generator);
    generator->next = REFILL_BYTES;
    generator->stuck = 0;
    return TREMOLO_OK;
}

TREMOLO_PART void tremolo_generator_fill(struct tremolo_generator *generator, uint8_t *bytes,
                                         unsigned count)
{
    while (count-- > 0) {
        *bytes++ = tremolo_generator_byte(generator);
    }
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

/* Uniform on 0..count-1 for 1 <= count <= 256. */
TREMOLO_APART TREMOLO_PART unsigned tremolo_generator_below(struct tremolo_generator *generator,
                                                            unsigned count)
{
    unsigned mask = 1;
    unsigned draw;
    while (mask < count - 1) {
        mask = mask << 1 | 1;
    }
    do {
        draw = tremolo_generator_byte(generator) & mask;
    } while (draw >= count);
    return draw;
}
