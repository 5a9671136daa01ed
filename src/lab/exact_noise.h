/* exact_noise.h -- floor(2^p N) for a standard normal N, exactly, many at a time.
 *
 *     struct exact_noise source;
 *     exact_noise_seed(&source, seed, stream);
 *     exact_noise_fill(&source, noise, count, study->noise_log2);
 *
 * The law is the device's (src/device/noise.c), without a rounding; the way is another, fast on a
 * host and not constant in time. For simulations only: the numbers follow from the seed. */
#ifndef TREMOLO_LAB_EXACT_NOISE_H
#define TREMOLO_LAB_EXACT_NOISE_H

#include <stddef.h>
#include <stdint.h>

#include "chacha_lanes.h"

enum {
    EXACT_NOISE_LOG2_MAX = 24,
    EXACT_NOISE_LANES = CHACHA_LANES,
    EXACT_NOISE_WORDS = 16 * EXACT_NOISE_LANES, /* that the generator makes at once */
};

/* ChaCha with 8 rounds, eight blocks side by side. */
struct exact_words {
    uint32_t key[8];
    uint64_t block; /* the next eight begin here */
    uint32_t stream;
    uint32_t used; /* of `word` */
    uint32_t word[EXACT_NOISE_WORDS];
};

struct exact_noise {
    struct exact_words words; /* one for each number */
    struct exact_words more;  /* where one does not decide */
};

void exact_noise_seed(struct exact_noise *source, uint64_t seed, uint64_t stream);

/* Uniform 32-bit words. */
void exact_noise_words(struct exact_noise *source, uint32_t *out, size_t count);

/* 0 <= noise_log2 <= EXACT_NOISE_LOG2_MAX. */
void exact_noise_fill(struct exact_noise *source, int32_t *out, size_t count, unsigned noise_log2);

/* ---- the parts, for tests */

enum {
    EXACT_NOISE_CELLS = 192,     /* of 1/64: up to 3 */
    EXACT_NOISE_TAIL = 192,      /* stands for all beyond, */
    EXACT_NOISE_REST = 255,      /* and this for the residual, or for nothing */
    EXACT_NOISE_INDEX_BITS = 13, /* of a word: into `cell` */
    EXACT_NOISE_LOW_BITS = 18,   /* of a word: within a cell */
    EXACT_NOISE_SLOT_BITS = 12,
};

struct exact_noise_tables {
    uint8_t cell[1 << EXACT_NOISE_INDEX_BITS];
    uint8_t slot[1 << EXACT_NOISE_SLOT_BITS];
    uint8_t share[EXACT_NOISE_CELLS + 1];   /* entries of a cell in `cell`, */
    uint16_t weight[EXACT_NOISE_CELLS + 1]; /* and in `slot`; the last is the tail's */
};

/* Where a proposal for the residual lies: `low` in 2^-24 from the cell's beginning or, in the tail,
 * from 3 + block / 4. */
struct exact_noise_trial {
    unsigned slot;
    unsigned block;
    uint32_t low;
    uint32_t further[8]; /* the next 256 bits of the deviate, */
    uint32_t uniform[8]; /* and those of the number that it must exceed; first words first */
};

const struct exact_noise_tables *exact_noise_tables(void);

/* Is the proposal taken? By double precision: 1 and 0, or -1 where its error bound leaves it open.
 * By 256 bits: the same; -1 hardly ever, and beyond 22. */
int exact_noise_quick(const struct exact_noise_tables *tables,
                      const struct exact_noise_trial *trial);
int exact_noise_sure(const struct exact_noise_tables *tables,
                     const struct exact_noise_trial *trial);

/* floor(2^24 |N|) given that it is in the residual. */
uint32_t exact_noise_rest(const struct exact_noise_tables *tables, struct exact_words *words);

#endif
