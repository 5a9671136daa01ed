/* chacha_lanes.h -- eight blocks of ChaCha side by side, in vectors of the compiler.
 *
 * Inlined where wide registers are allowed and where not: the words are the same. The
 * device has its own (generator.c), which needs no such vectors. */
#ifndef TREMOLO_CHACHA_LANES_H
#define TREMOLO_CHACHA_LANES_H

#include <stdint.h>
#include <string.h>

enum { CHACHA_LANES = 8 };

typedef uint32_t chacha_lanes __attribute__((vector_size(4 * CHACHA_LANES)));

#define CHACHA_INLINE static inline __attribute__((always_inline))

#define CHACHA_ROTATE(value, count) ((value) << (count) | (value) >> (32 - (count)))
/* One quarter round, of all lanes. */
#define CHACHA_QUARTER(a, b, c, d)                                                                 \
    ((a) += (b), (d) ^= (a), (d) = CHACHA_ROTATE(d, 16), (c) += (d), (b) ^= (c),                   \
     (b) = CHACHA_ROTATE(b, 12), (a) += (b), (d) ^= (a), (d) = CHACHA_ROTATE(d, 8), (c) += (d),    \
     (b) ^= (c), (b) = CHACHA_ROTATE(b, 7))

/* All zero except the constants. */
CHACHA_INLINE void chacha_begin(chacha_lanes state[16])
{
    static const uint32_t constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    memset(state, 0, 16 * sizeof *state);
    for (unsigned i = 0; i < 4; i++) {
        state[i] += constants[i];
    }
}

/* `pairs` of rounds: 4 are ChaCha8, 10 are ChaCha20. */
CHACHA_INLINE void chacha_blocks(chacha_lanes x[16], const chacha_lanes state[16], unsigned pairs)
{
    memcpy(x, state, 16 * sizeof *x);
    for (unsigned i = 0; i < pairs; i++) {
        CHACHA_QUARTER(x[0], x[4], x[8], x[12]);
        CHACHA_QUARTER(x[1], x[5], x[9], x[13]);
        CHACHA_QUARTER(x[2], x[6], x[10], x[14]);
        CHACHA_QUARTER(x[3], x[7], x[11], x[15]);
        CHACHA_QUARTER(x[0], x[5], x[10], x[15]);
        CHACHA_QUARTER(x[1], x[6], x[11], x[12]);
        CHACHA_QUARTER(x[2], x[7], x[8], x[13]);
        CHACHA_QUARTER(x[3], x[4], x[9], x[14]);
    }
    for (unsigned i = 0; i < 16; i++) {
        x[i] += state[i];
    }
}

/* Replace each word by how many of its bits are set. */
CHACHA_INLINE void chacha_count_bits(chacha_lanes x[16])
{
    for (unsigned i = 0; i < 16; i++) {
        chacha_lanes w = x[i] - (x[i] >> 1 & 0x55555555);
        w = (w & 0x33333333) + (w >> 2 & 0x33333333);
        w = (w + (w >> 4)) & 0x0f0f0f0f;
        w += w >> 8;
        x[i] = (w + (w >> 16)) & 0x3f;
    }
}

#endif
