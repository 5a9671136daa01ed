/* fleet_ballot.c -- ballots of many devices, answer for answer as the core would give them.
 *
 * The map of docs/reference/wire-format.md: the sample's point, scores of 8 blocks of 5
 * directions, and the answer at the rank that was drawn. Nearly all of the time goes into the
 * directions, B k D words of ChaCha8 a device. The eight blocks fill the lanes: word p of block b
 * is lane b of vector p. So their bits are counted in the registers that made them and multiplied
 * with one number of the point for all of them, and nothing is stored. An entry counts from 16
 * down; that is subtracted from each row at once.
 *
 * All arithmetic is that of the device: 32-bit integers, the same shifts, the same rounding. A
 * test that compares answers with the core's would fail if a single step differed. Lanes that
 * need a sign are cast to signed_lanes for the shift or comparison alone. */
#include "fleet.h"

#include <math.h>
#include <string.h>

#include "chacha_lanes.h"
#include "regression.h"

enum {
    SIGNS = TREMOLO_BALLOT_SIGNS,
    PATTERNS = 1 << SIGNS,
    DIRECTION_PAIRS = 4,
    MIDDLE = 16, /* of the bits of a word */
    PLACE_LOG2 = 16,
    CONSTANT_LOG2 = 8,
    ROUGH_SHIFT = 9,
    LENGTH_LOG2 = 15,
    ROW_SHIFT = 6,
    KEY_BITS = 24, /* a score of 16 bits, and the answer */
};

typedef int32_t signed_lanes __attribute__((vector_size(4 * CHACHA_LANES)));

/* ------------------------------------------------------------- the point */

/* A raw value in half ranges about the middle of its range, in 2^-16, clamped to `reach`; rounded
 * toward zero as by the device. The product of distance and 2^16 needs 64 bits, since a width has
 * up to 31 bits itself. */
static int32_t place(int32_t raw, const struct tremolo_bounds *range, int64_t reach)
{
    int64_t width = (int64_t)range->high - range->low, most = width * reach;
    int64_t off = 2 * (int64_t)raw - range->low - range->high;
    off = off < -most ? -most : off > most ? most : off;
    return (int32_t)(off * (1 << PLACE_LOG2) / width);
}

/* To nearest. */
static int32_t halve(int32_t value, unsigned shift)
{
    return (value + (1 << shift >> 1)) >> shift;
}

/* Modulo 2^32, as on the device. The largest value is below 2^16 once it is shifted. */
static uint32_t square_of(int32_t value)
{
    return (uint32_t)value * (uint32_t)value;
}

/* For the length alone: its leading bit decides the shift. The low ROUGH_SHIFT bits are dropped
 * first, so that the squares of all coordinates can be summed in 32 bits. */
static uint32_t rough_square(int32_t value)
{
    return square_of(value >> ROUGH_SHIFT);
}

/* Below 2^32 the square root of a double is never rounded up to a whole number. */
static uint32_t root(uint32_t square)
{
    return (uint32_t)sqrt((double)square);
}

/* What the products of a row have in common. The response, if it is entry `last` of the point,
 * counts 3/2 times with the constant and half with itself. Entries of directions count bits of a
 * word, which are MIDDLE on average. `after` sums the factors to the right of the diagonal, so
 * that `start` subtracts MIDDLE times all factors of the row at once; it also holds the half that
 * rounds the row's shift to nearest. 46341 / 2^16 is 1 / sqrt(2). */
static void find_rows(struct ballot_point *point, size_t last)
{
    int32_t *value = point->value;
    uint32_t after = 0;
    memcpy(point->first, value, point->count * sizeof *value);
    point->first[last] += value[last] >> 1;
    for (size_t i = point->count; i-- > 0;) {
        if (i == 0 && point->has_beside) {
            after += (uint32_t)(value[last] >> 1);
        }
        point->diagonal[i] = (uint32_t)((value[i] * (46341 >> (i == last)) + 32768) >> 16);
        point->start[i] = (1 << ROW_SHIFT >> 1) - MIDDLE * (point->diagonal[i] + after);
        after += (uint32_t)value[i];
    }
}

/* All values are shifted until the sum of their squares fits 32 bits; the response is weighed,
 * and what its length lacks is added by an entry of its own. */
void fleet_ballot_point(struct ballot_point *point, const struct tremolo_study *study,
                        const int32_t *raw)
{
    size_t d = study->dimension;
    int32_t *value = point->value;
    int32_t constant = study->constant << (PLACE_LOG2 - CONSTANT_LOG2);
    int32_t weight = study->response_weight << (PLACE_LOG2 - CONSTANT_LOG2);
    int32_t response = place(raw[d], &study->response_bounds, 1);
    uint32_t square = rough_square(weight) + rough_square(constant), sum = 0;
    unsigned shift = 0;
    value[0] = constant;
    for (size_t i = 0; i < d; i++) {
        value[i + 1] = place(raw[i], &study->bounds[i], TREMOLO_BALLOT_REACH);
        square += rough_square(value[i + 1]);
    }
    value[d + 1] = (response * study->response_weight) >> CONSTANT_LOG2;
    for (unsigned i = 2 * (LENGTH_LOG2 - ROUGH_SHIFT); i < 32; i += 2) {
        shift += square >> i != 0;
    }
    for (size_t i = 0; i < d + 2; i++) {
        value[i] = halve(value[i], shift);
        sum += square_of(value[i]);
    }
    uint32_t square_y = square_of(value[d + 1]);
    uint32_t missing = square_of(halve(weight, shift)) - square_y;
    point->beside = (root(missing) * root(sum + missing / 2 - square_y / 8 * 3)) >> ROW_SHIFT;
    point->count = d + 1 + (study->response == TREMOLO_RESPONSE_PRIVATE);
    point->has_beside = study->response == TREMOLO_RESPONSE_PRIVATE;
    point->response = 0;
    if (study->response == TREMOLO_RESPONSE_PUBLIC) {
        point->response = (int16_t)((response * TREMOLO_RESPONSE_MAX + 32768) >> PLACE_LOG2);
    }
    find_rows(point, d + 1);
}

/* ------------------------------------------------------------- scores */

/* The generator of one device, eight blocks of directions in its lanes. Sixteen words are made at
 * a time; `used` counts those consumed. */
struct stream {
    chacha_lanes state[16];
    chacha_lanes bits[16]; /* set in each of the next words */
    unsigned used;
};

/* The next 16 words of all eight blocks, as counts of their bits. */
CHACHA_INLINE void refill(struct stream *stream)
{
    chacha_lanes *x = stream->bits;
    chacha_blocks(x, stream->state, DIRECTION_PAIRS);
    stream->state[12] += 1;
    stream->used = 0;
    chacha_count_bits(x);
}

/* sum <- sum + the next `count` entries times their factors. */
CHACHA_INLINE void add_products(chacha_lanes *sum, struct stream *stream, const int32_t *factor,
                                size_t count)
{
    for (size_t k = 0; k < count;) {
        if (stream->used == 16) {
            refill(stream);
        }
        size_t more = 16 - stream->used < count - k ? 16 - stream->used : count - k;
        for (size_t i = 0; i < more; i++) {
            *sum += stream->bits[stream->used + i] * (uint32_t)factor[k + i];
        }
        stream->used += (unsigned)more;
        k += more;
    }
}

/* The five scores of each of the eight blocks. A score is a quadratic form, computed row by row
 * from the triangle of a symmetric matrix. */
CHACHA_INLINE void score_blocks(chacha_lanes score[SIGNS], const struct ballot_point *point,
                                struct stream *stream)
{
    for (unsigned j = 0; j < SIGNS; j++) {
        chacha_lanes sum = {0};
        for (size_t i = 0; i < point->count; i++) {
            chacha_lanes row = point->start[i] + (chacha_lanes){0};
            const int32_t diagonal = (int32_t)point->diagonal[i];
            add_products(&row, stream, &diagonal, 1);
            const int32_t *factor = i == 0 ? point->first : point->value;
            add_products(&row, stream, factor + i + 1, point->count - i - 1);
            sum += (chacha_lanes)((signed_lanes)row >> ROW_SHIFT) * (uint32_t)point->value[i];
        }
        if (point->has_beside) {
            const int32_t beside = (int32_t)point->beside;
            sum -= MIDDLE * point->beside;
            add_products(&sum, stream, &beside, 1);
        }
        score[j] = sum;
    }
}

/* ------------------------------------------------------------- the answer */

/* Answers in the order of their keys: larger scores first, equal ones by number. Adding 2^30
 * makes scores below that size positive, and the shifts keep bits 15 to 30 of it: scores that
 * agree there are ties. A key holds the score inverted above the answer's number, so the order of
 * keys is total and no two keys are equal. */
CHACHA_INLINE void order_answers(chacha_lanes key[PATTERNS], const chacha_lanes score[SIGNS])
{
    for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
        chacha_lanes sum = {0};
        for (unsigned j = 0; j < SIGNS; j++) {
            sum = (pattern >> j & 1) != 0 ? sum + score[j] : sum - score[j];
        }
        sum = (sum + (UINT32_C(1) << 30)) << 1 >> 16;
        key[pattern] = (0xffff - sum) << 8;
        for (unsigned block = 0; block < CHACHA_LANES; block++) {
            key[pattern][block] |= block << SIGNS | pattern;
        }
    }
}

/* The answer with exactly `rank` smaller keys, found bit by bit: keys differ. `found` grows to
 * the largest number that has at most `rank` keys below it, which is the key itself. This takes
 * KEY_BITS passes over the keys and moves none of them. */
CHACHA_INLINE unsigned answer_at(const chacha_lanes key[PATTERNS], unsigned rank)
{
    uint32_t found = 0;
    for (uint32_t bit = UINT32_C(1) << (KEY_BITS - 1); bit != 0; bit >>= 1) {
        signed_lanes below = {0};
        const signed_lanes limit = (int32_t)(found | bit) + (signed_lanes){0};
        for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
            below -= (signed_lanes)key[pattern] < limit;
        }
        unsigned smaller = 0;
        for (unsigned lane = 0; lane < CHACHA_LANES; lane++) {
            smaller += (unsigned)below[lane];
        }
        found |= smaller <= rank ? bit : 0;
    }
    return found & 0xff;
}

/* The generator's key follows from the report's id; lane b of the state counts block b. */
CHACHA_INLINE unsigned answer_of(const struct ballot_point *point, const struct expand_keys *keys,
                                 size_t lane, unsigned rank)
{
    struct stream stream = {.used = 16};
    chacha_lanes score[SIGNS], key[PATTERNS];
    chacha_begin(stream.state);
    for (size_t i = 0; i < 8; i++) {
        stream.state[4 + i] += keys->word[i][lane];
    }
    for (unsigned block = 0; block < CHACHA_LANES; block++) {
        stream.state[13][block] = block;
    }
    score_blocks(score, point, &stream);
    order_answers(key, score);
    return answer_at(key, rank);
}

#if defined(__x86_64__)
/* The same code compiled for wide registers. The choice is made at run time, because the library
 * must also run on processors without them. */
__attribute__((target("avx2"))) static unsigned answer_wide(const struct ballot_point *point,
                                                            const struct expand_keys *keys,
                                                            size_t lane, unsigned rank)
{
    return answer_of(point, keys, lane, rank);
}
#define HAS_AVX2 __builtin_cpu_supports("avx2")
#else
#define answer_wide answer_of
#define HAS_AVX2    0
#endif

/* `wide` false takes the path for machines without wide registers, so that both can be tested on
 * one machine. */
unsigned fleet_ballot_answer(const struct ballot_point *point, const struct expand_keys *keys,
                             size_t lane, unsigned rank, bool wide)
{
    return wide && HAS_AVX2 ? answer_wide(point, keys, lane, rank)
                            : answer_of(point, keys, lane, rank);
}

/* ------------------------------------------------------------- every device */

/* The upper half of a draw, the better mixed one. */
static uint32_t next_word(struct tremolo_random *source)
{
    return (uint32_t)(tremolo_random_bits(source) >> 32);
}

/* Uniform below `count`, which is at most 256. Draws beyond are rejected, so every result is
 * equally likely; at least half of the draws are kept. */
static unsigned draw_below(struct tremolo_random *source, unsigned count)
{
    unsigned mask = 1, drawn;
    while (mask < count - 1) {
        mask = mask << 1 | 1;
    }
    do {
        drawn = next_word(source) & mask;
    } while (drawn >= count);
    return drawn;
}

/* The first T ranks with probability rank_top / 2^32, uniform within either group: the law of
 * docs/reference/wire-format.md. */
static unsigned draw_rank(struct tremolo_random *source, const struct tremolo_study *study)
{
    unsigned first = study->rank_first;
    return next_word(source) < study->rank_top
               ? draw_below(source, first)
               : first + draw_below(source, TREMOLO_BALLOT_ANSWERS - first);
}

/* Each block has a stream of its own, so that threads do not matter. Ids are drawn first, for all
 * devices of the block, because the keys of EXPAND_LANES devices are derived from their ids
 * together. */
void fleet_ballot_block(int16_t *rows, struct fleet *fleet, size_t from, size_t count)
{
    const struct tremolo_study *study = &fleet->study;
    struct tremolo_random source = tremolo_random_from(fleet->setup.seed, from);
    struct expand_keys keys;
    struct ballot_point point;
    for (size_t r = 0; r < count; r++) {
        uint32_t id[TREMOLO_REPORT_ID_BYTES / 4];
        for (size_t i = 0; i < sizeof id / sizeof *id; i++) {
            id[i] = next_word(&source);
        }
        memcpy(rows + r * fleet->width, id, sizeof id);
        fleet->buckets[from + r] = (uint8_t)tremolo_bucket_of((const uint8_t *)id);
    }
    for (size_t r = 0; r < count; r++) {
        int16_t *row = rows + r * fleet->width;
        if (r % EXPAND_LANES == 0) {
            size_t left = count - r;
            expand_keys(&keys, study->id, row, left < EXPAND_LANES ? left : EXPAND_LANES);
        }
        fleet_ballot_point(&point, study, fleet->raw + (from + r) * (fleet->d + 1));
        row[EXPAND_ANSWER] = (int16_t)fleet_ballot_answer(&point, &keys, r % EXPAND_LANES,
                                                          draw_rank(&source, study), true);
        row[EXPAND_RESPONSE] = point.response;
    }
}
