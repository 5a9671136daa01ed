/* exact_noise.c -- the normal density as a table of uniform pieces, and what is left of it.
 *
 * Let f be the density of |N| and cut it into cells of 1/64 up to 3. Cell j owns share_j of 8192
 * entries of a table, share_j = floor(128 f((j + 1) / 64)): picked uniformly, an entry of cell j and
 * a uniform place within the cell have density share_j / 128 there, which f exceeds, since it
 * falls. So one word is one number, sign, entry and 18 bits of place, for 97.9% of the entries;
 * the others stand for the residual density
 *
 *     r(x) = f(x) - share_j / 128  in cell j,    r(x) = f(x)  beyond 3,
 *
 * whose mass is what the entries leave. It is drawn by rejection: cell j is proposed by weight_j of
 * 4096 slots, weight_j >= 2^11 max r, a place within it uniformly, and taken with probability
 * 2^11 r(x) / weight_j. Beyond 3 blocks of 1/4 follow each other by the toss of a coin, which is
 * more than f falls by, and a place in block i is taken with probability 2^(16 + i) f(x) / weight.
 * Rejection normalises: weights only have to be large enough and shares small enough, so neither
 * table depends on how exactly it was computed, and no probability is rounded.
 *
 * Whether a proposal is taken is decided in double precision unless the two sides are closer than
 * 2^-40 f and what 64 bits leave open of the uniform number: x and its square have relative errors
 * below 2^-51, which is below 2^-43 in exp(-x^2/2) for x < 19, and no libm errs by as much as 2^-45.
 * Otherwise, for 1e-11 of the numbers, further bits are drawn and 256-bit integers decide. What they
 * leave open, and what lies beyond 22, is rejected: together that moves the law by less than 2^-200
 * (the device's own sampler gives up in 2^-120 of the draws).
 *
 * The deviate is known to 2^-24 and as many further bits as the comparison needed, so shifting
 * its magnitude is floor(2^p |N|); below zero floor(-m - fraction) is -m - 1, all bits of m turned. */
#include "exact_noise.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "regression.h"

enum {
    CELL_WIDTH_LOG2 = 6, /* 1/64 */
    WEIGHT_LOG2 = 11,
    TAIL_LOG2 = WEIGHT_LOG2 + 5, /* a block is 16 cells wide and has half of the weight */
    TAIL_BEGIN = 3,
    BLOCK_BITS = 22,   /* 1/4 in 2^-24 */
    BLOCK_QUICK = 60,  /* double precision is argued for up to here: x < 19 */
    BLOCK_LARGEST = 76 /* 256-bit integers hold x^2/2 up to here: x < 22.6 */
};

/* ------------------------------------------------------------- uniform words */

/* Eight blocks, word by word. */
CHACHA_INLINE void make_words(struct exact_words *words)
{
    chacha_lanes state[16], x[16];
    chacha_begin(state);
    for (unsigned i = 0; i < 8; i++) {
        state[4 + i] += words->key[i];
    }
    for (unsigned lane = 0; lane < EXACT_NOISE_LANES; lane++) {
        uint64_t block = words->block + lane;
        state[12][lane] = (uint32_t)block;
        state[13][lane] = (uint32_t)(block >> 32);
    }
    state[14] += words->stream;
    chacha_blocks(x, state, 4);
    memcpy(words->word, x, sizeof words->word);
    words->block += EXACT_NOISE_LANES;
    words->used = 0;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void make_words_wide(struct exact_words *words)
{
    make_words(words);
}
#endif

static void refill(struct exact_words *words)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        make_words_wide(words);
        return;
    }
#endif
    make_words(words);
}

static uint32_t next_word(struct exact_words *words)
{
    if (words->used == EXACT_NOISE_WORDS) {
        refill(words);
    }
    return words->word[words->used++];
}

static void seed_words(struct exact_words *words, uint64_t seed, uint64_t stream, uint32_t purpose)
{
    uint64_t key = tremolo_random_hash(seed, stream);
    for (unsigned i = 0; i < 8; i += 2) {
        uint64_t half = tremolo_random_hash(key, i);
        words->key[i] = (uint32_t)half;
        words->key[i + 1] = (uint32_t)(half >> 32);
    }
    words->block = 0;
    words->stream = purpose;
    words->used = EXACT_NOISE_WORDS;
}

void exact_noise_seed(struct exact_noise *source, uint64_t seed, uint64_t stream)
{
    seed_words(&source->words, seed, stream, 0);
    seed_words(&source->more, seed, stream, 1);
}

void exact_noise_words(struct exact_noise *source, uint32_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = next_word(&source->words);
    }
}

/* ------------------------------------------------------------- tables */

static double density(double x)
{
    static const double root = 0.79788456080286535588; /* of 2/pi */
    return root * exp(-x * x / 2);
}

static struct exact_noise_tables made;

/* Shares are taken a little too small and weights a little too large, never the other way. */
static void make_tables(void)
{
    static const double slack = 1e-9;
    struct exact_noise_tables *tables = &made;
    size_t cells = 0, slots = 0;
    memset(tables->cell, EXACT_NOISE_REST, sizeof tables->cell);
    memset(tables->slot, EXACT_NOISE_REST, sizeof tables->slot);
    for (unsigned j = 0; j <= EXACT_NOISE_CELLS; j++) {
        double low = ldexp(j, -CELL_WIDTH_LOG2), high = ldexp(j + 1, -CELL_WIDTH_LOG2);
        double share = j < EXACT_NOISE_CELLS ? floor(128 * density(high) - slack) : 0;
        double above = density(low) - share / 128 + slack;
        tables->share[j] = (uint8_t)share;
        tables->weight[j] =
            (uint16_t)ceil(ldexp(above, j < EXACT_NOISE_CELLS ? WEIGHT_LOG2 : TAIL_LOG2));
        assert(cells + tables->share[j] <= sizeof tables->cell);
        assert(slots + tables->weight[j] <= sizeof tables->slot);
        memset(tables->cell + cells, (int)j, tables->share[j]);
        memset(tables->slot + slots, (int)j, tables->weight[j]);
        cells += tables->share[j];
        slots += tables->weight[j];
    }
}

const struct exact_noise_tables *exact_noise_tables(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_tables);
    return &made;
}

/* ------------------------------------------------------------- is a proposal taken? */

/* The deviate's first bits: floor(2^24 x). */
static uint32_t place_of(const struct exact_noise_trial *trial)
{
    return trial->slot < EXACT_NOISE_TAIL
               ? (uint32_t)trial->slot << EXACT_NOISE_LOW_BITS | trial->low
               : ((uint32_t)TAIL_BEGIN << EXACT_NOISE_LOG2_MAX) + (trial->block << BLOCK_BITS) +
                     trial->low;
}

/* The uniform number times weight, divided by two to this power, is what r(x) must exceed. */
static unsigned divisor_log2(const struct exact_noise_trial *trial)
{
    return trial->slot < EXACT_NOISE_TAIL ? WEIGHT_LOG2 : TAIL_LOG2 + trial->block;
}

int exact_noise_quick(const struct exact_noise_tables *tables,
                      const struct exact_noise_trial *trial)
{
    uint64_t bits = (uint64_t)place_of(trial) << 32 | trial->further[0];
    uint64_t uniform = (uint64_t)trial->uniform[0] << 32 | trial->uniform[1];
    double f = density(ldexp((double)bits, -56));
    double wanted =
        ldexp((double)uniform * tables->weight[trial->slot], -64 - (int)divisor_log2(trial));
    double above = f - tables->share[trial->slot] / 128.0 - wanted;
    double bound =
        ldexp(f, -40) + ldexp(tables->weight[trial->slot], -64 - (int)divisor_log2(trial));
    if (trial->block > BLOCK_QUICK) {
        return -1;
    }
    return above > bound ? 1 : above < -bound ? 0 : -1;
}

/* A fraction in 2^-256, lowest limb first. */
enum { LIMBS = 8 };
struct wide {
    uint32_t limb[LIMBS];
};

/* a b, all 512 bits. */
static void multiply_all(uint32_t product[2 * LIMBS], const struct wide *a, const struct wide *b)
{
    memset(product, 0, 2 * LIMBS * sizeof *product);
    for (unsigned i = 0; i < LIMBS; i++) {
        uint64_t carry = 0;
        for (unsigned j = 0; j < LIMBS; j++) {
            carry += (uint64_t)a->limb[i] * b->limb[j] + product[i + j];
            product[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        product[i + LIMBS] = (uint32_t)carry;
    }
}

static struct wide multiply(const struct wide *a, const struct wide *b)
{
    uint32_t product[2 * LIMBS];
    struct wide result;
    multiply_all(product, a, b);
    memcpy(result.limb, product + LIMBS, sizeof result.limb);
    return result;
}

static struct wide divide(struct wide a, uint32_t by)
{
    uint64_t rest = 0;
    for (unsigned i = LIMBS; i-- > 0;) {
        rest = rest << 32 | a.limb[i];
        a.limb[i] = (uint32_t)(rest / by);
        rest %= by;
    }
    return a;
}

/* a += b or a -= b, modulo one. */
static void add(struct wide *a, const struct wide *b, bool negative)
{
    uint64_t carry = negative;
    for (unsigned i = 0; i < LIMBS; i++) {
        carry += (uint64_t)a->limb[i] + (negative ? ~b->limb[i] : b->limb[i]);
        a->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static bool is_zero(const struct wide *a)
{
    static const struct wide zero;
    return memcmp(a, &zero, sizeof zero) == 0;
}

/* exp(-y) for 0 < y < 1/16 by its series: about forty terms, each with an error of one in the last
 * place from its product and one from its quotient: below 2^-249 together. */
static struct wide exponential(const struct wide *y)
{
    struct wide sum = {{0}}, term = *y;
    for (unsigned n = 1; !is_zero(&term); n++) {
        add(&sum, &term, n % 2 == 1); /* 1 is 0 modulo one */
        term = multiply(&term, y);
        term = divide(term, n + 1);
    }
    return sum;
}

/* f(x) for x in 2^-248. x^2/2 is halved twelve times, and the exponential squared as often: each
 * squaring doubles the error at most and adds one in the last place, so it ends below 2^-236. */
static struct wide sure_density(const struct wide *x)
{
    static const struct wide root = {{0x04c73a5d, 0x808e3690, 0xa24e0db1, 0xa7053e60, 0x5d5c717f,
                                      0x7e59e280, 0xa1b28468, 0xcc42299e}};
    enum { HALVINGS = 12 };
    uint32_t square[2 * LIMBS]; /* in 2^-496 */
    struct wide y;
    multiply_all(square, x, x);
    /* To x^2/2 / 2^12 in 2^-256: 496 + 1 + 12 - 256 = 253 bits down. */
    for (unsigned i = 0; i < LIMBS; i++) {
        y.limb[i] = square[i + 7] >> 29 | square[i + 8] << 3;
    }
    if (is_zero(&y)) {
        return root;
    }
    struct wide e = exponential(&y);
    for (unsigned i = 0; i < HALVINGS; i++) {
        e = multiply(&e, &e);
    }
    return multiply(&e, &root);
}

/* 256 bits that begin with these words. */
static struct wide wide_of(const uint32_t words[LIMBS])
{
    struct wide made_of;
    for (unsigned i = 0; i < LIMBS; i++) {
        made_of.limb[LIMBS - 1 - i] = words[i];
    }
    return made_of;
}

/* x in 2^-248 is the place's 32 bits and 224 further ones, so it may be 2^-248 too small; the
 * uniform number 2^-256. Neither moves its side by 2^-235, so 2^-230 covers all. */
int exact_noise_sure(const struct exact_noise_tables *tables, const struct exact_noise_trial *trial)
{
    uint32_t words[LIMBS] = {place_of(trial)};
    if (trial->block > BLOCK_LARGEST) {
        return -1;
    }
    memcpy(words + 1, trial->further, (LIMBS - 1) * sizeof words[0]);
    const struct wide x = wide_of(words), uniform = wide_of(trial->uniform);
    unsigned divisor = trial->slot < EXACT_NOISE_TAIL ? WEIGHT_LOG2 : TAIL_LOG2;
    const struct wide weight = {
        {[LIMBS - 1] = (uint32_t)tables->weight[trial->slot] << (32 - divisor)}};
    const struct wide share = {{[LIMBS - 1] = (uint32_t)tables->share[trial->slot] << 25}};
    struct wide wanted = multiply(&uniform, &weight);
    for (unsigned i = 0; i < trial->block; i++) {
        wanted = divide(wanted, 2);
    }
    add(&wanted, &share, false);
    struct wide above = sure_density(&x);
    add(&above, &wanted, true);
    bool negative = above.limb[LIMBS - 1] >> 31;
    if (negative) {
        struct wide opposite = {{0}};
        add(&opposite, &above, true);
        above = opposite;
    }
    above.limb[0] >>= 26; /* below 2^-230 nothing is sure */
    return is_zero(&above) ? -1 : !negative;
}

/* ------------------------------------------------------------- drawing */

static struct exact_noise_trial propose(const struct exact_noise_tables *tables,
                                        struct exact_words *words)
{
    uint32_t word = next_word(words);
    struct exact_noise_trial trial = {.slot = tables->slot[word >> (32 - EXACT_NOISE_SLOT_BITS)],
                                      .low = word & ((1U << EXACT_NOISE_LOW_BITS) - 1)};
    if (trial.slot == EXACT_NOISE_TAIL) {
        uint32_t coins;
        trial.low = next_word(words) >> (32 - BLOCK_BITS);
        while ((coins = next_word(words)) == 0) {
            trial.block += 32;
        }
        trial.block += (unsigned)__builtin_ctz(coins);
    }
    return trial;
}

static bool is_taken(const struct exact_noise_tables *tables, struct exact_noise_trial *trial,
                     struct exact_words *words)
{
    trial->further[0] = next_word(words);
    trial->uniform[0] = next_word(words);
    trial->uniform[1] = next_word(words);
    int taken = exact_noise_quick(tables, trial);
    if (taken >= 0) {
        return taken;
    }
    for (unsigned i = 1; i < 8; i++) {
        trial->further[i] = next_word(words);
        trial->uniform[i] = i > 1 ? next_word(words) : trial->uniform[i];
    }
    return exact_noise_sure(tables, trial) == 1;
}

uint32_t exact_noise_rest(const struct exact_noise_tables *tables, struct exact_words *words)
{
    for (;;) {
        struct exact_noise_trial trial = propose(tables, words);
        if (trial.slot != EXACT_NOISE_REST && is_taken(tables, &trial, words)) {
            return place_of(&trial);
        }
    }
}

/* Numbers of so many words that are there. The few of the residual are noted and come after. */
static void fill_some(struct exact_noise *source, int32_t *out, size_t count, unsigned down)
{
    const struct exact_noise_tables *tables = exact_noise_tables();
    const uint32_t *word = source->words.word + source->words.used;
    uint8_t rest[EXACT_NOISE_WORDS];
    size_t rests = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t cell =
            tables->cell[word[i] >> EXACT_NOISE_LOW_BITS & ((1U << EXACT_NOISE_INDEX_BITS) - 1)];
        uint32_t place =
            cell << EXACT_NOISE_LOW_BITS | (word[i] & ((1U << EXACT_NOISE_LOW_BITS) - 1));
        out[i] = (int32_t)((place >> down) ^ (0 - (word[i] >> 31)));
        rest[rests] = (uint8_t)i;
        rests += cell == EXACT_NOISE_REST;
    }
    for (size_t k = 0; k < rests; k++) {
        uint32_t place = exact_noise_rest(tables, &source->more);
        out[rest[k]] = (int32_t)((place >> down) ^ (0 - (word[rest[k]] >> 31)));
    }
    source->words.used += (uint32_t)count;
}

void exact_noise_fill(struct exact_noise *source, int32_t *out, size_t count, unsigned noise_log2)
{
    while (count > 0) {
        if (source->words.used == EXACT_NOISE_WORDS) {
            refill(&source->words);
        }
        size_t some = EXACT_NOISE_WORDS - source->words.used;
        some = some < count ? some : count;
        fill_some(source, out, some, EXACT_NOISE_LOG2_MAX - noise_log2);
        out += some;
        count -= some;
    }
}
