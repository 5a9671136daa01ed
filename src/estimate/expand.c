/* expand.c -- ChaCha in eight lanes, and words counted where they are made.
 *
 * A ballot's key is a block of ChaCha20 under the study's id, with the report's id in place
 * of counter and nonce: eight ballots fill the lanes. Its directions are a stream of ChaCha8
 * under that key: eight blocks of one ballot fill them. The code is written once, in vectors
 * of the compiler, and built twice: for every processor, and for those with AVX2. */
#include "expand.h"

enum {
    KEY_PAIRS = 10,
    DIRECTION_PAIRS = 4,
    CHUNK = 16 * EXPAND_LANES, /* words that all lanes make at once */
    STEP = 16,                 /* entries added at once */
    MIDDLE = 16,               /* of the bits of a word */
};

static uint32_t load_word(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

void expand_keys(struct expand_keys *keys, const uint8_t study_id[TREMOLO_STUDY_ID_BYTES],
                 const int16_t *rows, size_t count)
{
    chacha_lanes state[16], x[16];
    chacha_begin(state);
    for (size_t i = 0; i < 8; i++) {
        state[4 + i] += load_word(study_id + 4 * i);
    }
    for (size_t lane = 0; lane < count; lane++) {
        uint8_t id[TREMOLO_REPORT_ID_BYTES];
        memcpy(id, rows + lane * EXPAND_ROW_VALUES, sizeof id);
        for (size_t i = 0; i < 4; i++) {
            state[12 + i][lane] = load_word(id + 4 * i);
        }
    }
    chacha_blocks(x, state, KEY_PAIRS);
    memcpy(keys->word, x, sizeof keys->word);
}

/* The next words of the stream, of each how many of its bits are set. */
CHACHA_INLINE void count_chunk(uint8_t counts[CHUNK], chacha_lanes state[16])
{
    chacha_lanes x[16];
    chacha_blocks(x, state, DIRECTION_PAIRS);
    state[12] += EXPAND_LANES;
    chacha_count_bits(x);
    for (unsigned i = 0; i < 16; i += 4) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        chacha_lanes four = x[i] | x[i + 1] << 8 | x[i + 2] << 16 | x[i + 3] << 24;
#else
        chacha_lanes four = x[i] << 24 | x[i + 1] << 16 | x[i + 2] << 8 | x[i + 3];
#endif
        for (size_t lane = 0; lane < EXPAND_LANES; lane++) {
            uint32_t word = four[lane];
            memcpy(counts + 16 * lane + i, &word, sizeof word);
        }
    }
}

/* Add the counts, or with flip = 255 take them away. Sums wrap, and end within -80..80. */
CHACHA_INLINE void add_counts(uint8_t *row, const uint8_t *counts, size_t count, uint8_t flip)
{
    size_t i = 0;
    for (; i + STEP <= count; i += STEP) {
        for (size_t k = 0; k < STEP; k++) {
            row[i + k] = (uint8_t)(row[i + k] + (counts[i + k] ^ flip) - flip);
        }
    }
    for (; i < count; i++) {
        row[i] = (uint8_t)(row[i] + (counts[i] ^ flip) - flip);
    }
}

/* `row` holds minus the middle of all directions. */
CHACHA_INLINE void add_directions(uint8_t *row, size_t entries, chacha_lanes state[16],
                                  unsigned answer)
{
    uint8_t counts[CHUNK];
    size_t used = CHUNK;
    for (unsigned j = 0; j < TREMOLO_BALLOT_SIGNS; j++) {
        uint8_t flip = (answer >> j & 1) != 0 ? 0 : 255;
        for (size_t i = 0; i < entries;) {
            if (used == CHUNK) {
                count_chunk(counts, state);
                used = 0;
            }
            size_t more = entries - i < CHUNK - used ? entries - i : CHUNK - used;
            add_counts(row + i, counts + used, more, flip);
            i += more;
            used += more;
        }
    }
}

static void add_directions_plain(uint8_t *row, size_t entries, chacha_lanes state[16],
                                 unsigned answer)
{
    add_directions(row, entries, state, answer);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void
add_directions_avx2(uint8_t *row, size_t entries, chacha_lanes state[16], unsigned answer)
{
    add_directions(row, entries, state, answer);
}
#define HAS_AVX2 __builtin_cpu_supports("avx2")
#else
#define add_directions_avx2 add_directions_plain
#define HAS_AVX2            0
#endif

void expand_row(int8_t *row, size_t entries, const struct expand_keys *keys, size_t lane,
                unsigned answer, bool wide)
{
    chacha_lanes state[16];
    int signs = 0;
    for (unsigned j = 0; j < TREMOLO_BALLOT_SIGNS; j++) {
        signs += (answer >> j & 1) != 0 ? 1 : -1;
    }
    chacha_begin(state);
    for (size_t i = 0; i < 8; i++) {
        state[4 + i] += keys->word[i][lane];
    }
    for (size_t i = 0; i < EXPAND_LANES; i++) {
        state[12][i] = (uint32_t)i;
    }
    state[13] += answer >> TREMOLO_BALLOT_SIGNS;
    memset(row, -MIDDLE * signs, entries);
    if (wide && HAS_AVX2) {
        add_directions_avx2((uint8_t *)row, entries, state, answer);
    } else {
        add_directions_plain((uint8_t *)row, entries, state, answer);
    }
}
