/* release.c -- decoded reports as rows, and rows added to exact sums.
 *
 * A ballot's row keeps its id and its answer, and is expanded to its entries only when it is
 * added: rows that wait would take hundreds of times the room otherwise.
 *
 * Expanding is most of a server's work on ballots, so ChaCha runs in eight lanes here. A ballot's
 * key is a block of ChaCha20 under the study's id, with the report's id in place of counter and
 * nonce: eight ballots fill the lanes. Its directions are a stream of ChaCha8 under that key:
 * eight blocks of one ballot fill them. The generator is written once, in vectors of the
 * compiler; on processors with AVX2 it is built for them, and their instructions count the bits. */
#include "release.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- rows
 *
 * The strict decoder has checked the report's form; what is checked here depends on the study. */

/* Bits come most significant first; `held` keeps the newest of them below. */
static enum tremolo_status unpack_values(int16_t *values, const uint8_t *packed, unsigned count,
                                         unsigned width)
{
    uint32_t held = 0;
    unsigned bits = 0;
    uint32_t sign = UINT32_C(1) << (width - 1);
    for (unsigned i = 0; i < count; i++) {
        while (bits < width) {
            held = held << 8 | *packed++;
            bits += 8;
        }
        bits -= width;
        uint32_t code = held >> bits & (2 * sign - 1);
        if (code == sign) {
            return TREMOLO_OUT_OF_BOUNDS;
        }
        values[i] = (int16_t)((int32_t)(code ^ sign) - (int32_t)sign);
    }
    return (held & ((UINT32_C(1) << bits) - 1)) == 0 ? TREMOLO_OK : TREMOLO_MALFORMED;
}

size_t tremolo_row_values(const struct tremolo_study *study)
{
    return study->release == TREMOLO_RELEASE_BALLOT ? EXPAND_ROW_VALUES : study->dimension + 1u;
}

/* A report of another study, or in another form than the study asks for, is refused here; its
 * code for "no number" and bits beyond the last value are, too, so that equal rows have equal
 * bytes. */
enum tremolo_status tremolo_row_unpack(int16_t *row, const struct tremolo_report *report,
                                       const struct tremolo_study *study)
{
    unsigned count = tremolo_study_coordinates(study);
    bool ballot = study->release == TREMOLO_RELEASE_BALLOT;
    size_t released_bytes = ballot ? 1 : ((size_t)count * study->wire_bits + 7) / 8;
    bool public_response = study->response == TREMOLO_RESPONSE_PUBLIC;
    if (report->has_response != public_response || report->coordinate_bytes != released_bytes) {
        return TREMOLO_MALFORMED;
    }
    if (memcmp(report->study_tag, study->id, TREMOLO_STUDY_TAG_BYTES) != 0) {
        return TREMOLO_WRONG_STUDY;
    }
    if (ballot) {
        memcpy(row, report->id, TREMOLO_REPORT_ID_BYTES);
        row[EXPAND_ANSWER] = report->coordinates[0];
        row[EXPAND_RESPONSE] = report->response;
        return TREMOLO_OK;
    }
    if (public_response) {
        row[count] = report->response;
    }
    return unpack_values(row, report->coordinates, count, study->wire_bits);
}

/* At most 257 squares of 16-bit integers: no overflow. */
double tremolo_row_norm2(const int16_t *row, const struct tremolo_study *study)
{
    unsigned n = study->release == TREMOLO_RELEASE_BALLOT ? 0 : tremolo_study_coordinates(study);
    int64_t norm2 = 0;
    for (unsigned i = 0; i < n; i++) {
        norm2 += (int32_t)row[i] * row[i];
    }
    return (double)norm2;
}

/* ---------------------------------------------------------------- the directions of ballots */

enum {
    KEY_PAIRS = 10,
    DIRECTION_PAIRS = 4,
    CHUNK = 16 * EXPAND_LANES, /* words that all lanes make at once */
    STEP = 16,                 /* entries added at once */
    MIDDLE = 16,               /* of the bits of a word */
};

/* Low byte first, as in ChaCha. */
static uint32_t load_word(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void make_keys_plain(chacha_lanes x[16], const chacha_lanes state[16])
{
    chacha_blocks(x, state, KEY_PAIRS);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void make_keys_avx2(chacha_lanes x[16],
                                                           const chacha_lanes state[16])
{
    chacha_blocks(x, state, KEY_PAIRS);
}
#define HAS_AVX2 __builtin_cpu_supports("avx2")
#else
#define make_keys_avx2 make_keys_plain
#define HAS_AVX2       0
#endif

/* Lanes without a ballot get a key of zeros, which nothing reads. */
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
    if (HAS_AVX2) {
        make_keys_avx2(x, state);
    } else {
        make_keys_plain(x, state);
    }
    memcpy(keys->word, x, sizeof keys->word);
}

/* ------------------------------------------------------------- words counted
 *
 * An entry of a direction is the number of bits set in a word, less 16: a binomial of 32 halves.
 * So the stream itself is never stored; each word becomes its count at once. */

/* The next block of each lane, of each word how many of its bits are set: 16 of a lane, then those
 * of the next. */
typedef void count_fn(uint8_t counts[CHUNK], const chacha_lanes state[16]);

static void count_plain(uint8_t counts[CHUNK], const chacha_lanes state[16])
{
    chacha_lanes x[16];
    chacha_blocks(x, state, DIRECTION_PAIRS);
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

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2_INLINE static inline __attribute__((always_inline, target("avx2")))

/* Of each byte. */
AVX2_INLINE __m256i count_bytes(chacha_lanes words)
{
    const __m256i of_four =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m256i low = _mm256_set1_epi8(15);
    __m256i x = (__m256i)words;
    return _mm256_add_epi8(
        _mm256_shuffle_epi8(of_four, _mm256_and_si256(x, low)),
        _mm256_shuffle_epi8(of_four, _mm256_and_si256(_mm256_srli_epi16(x, 4), low)));
}

/* Of each word of four vectors. Neighbours are added twice, and what they leave empty is filled
 * from the next vector, within each half of a register: x[0]'s words, then x[1]'s.. The last step
 * puts those of a lane side by side. */
AVX2_INLINE __m256i count_words(const chacha_lanes x[4])
{
    const __m256i one = _mm256_set1_epi8(1);
    const __m256i by_lane = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    __m256i pairs[4];
    for (unsigned i = 0; i < 4; i++) {
        pairs[i] = _mm256_maddubs_epi16(count_bytes(x[i]), one);
    }
    __m256i first = _mm256_maddubs_epi16(_mm256_packus_epi16(pairs[0], pairs[1]), one);
    __m256i second = _mm256_maddubs_epi16(_mm256_packus_epi16(pairs[2], pairs[3]), one);
    return _mm256_shuffle_epi8(_mm256_packus_epi16(first, second), by_lane);
}

AVX2_INLINE void store_halves(uint8_t *low, uint8_t *high, __m256i value)
{
    _mm_storeu_si128((__m128i *)(void *)low, _mm256_castsi256_si128(value));
    _mm_storeu_si128((__m128i *)(void *)high, _mm256_extracti128_si256(value, 1));
}

__attribute__((target("avx2"))) static void count_avx2(uint8_t counts[CHUNK],
                                                       const chacha_lanes state[16])
{
    chacha_lanes x[16];
    chacha_blocks(x, state, DIRECTION_PAIRS);
    __m256i a = count_words(x), b = count_words(x + 4);
    __m256i c = count_words(x + 8), d = count_words(x + 12);
    __m256i ab = _mm256_unpacklo_epi32(a, b), cd = _mm256_unpacklo_epi32(c, d);
    store_halves(counts, counts + 64, _mm256_unpacklo_epi64(ab, cd));
    store_halves(counts + 16, counts + 80, _mm256_unpackhi_epi64(ab, cd));
    ab = _mm256_unpackhi_epi32(a, b), cd = _mm256_unpackhi_epi32(c, d);
    store_halves(counts + 32, counts + 96, _mm256_unpacklo_epi64(ab, cd));
    store_halves(counts + 48, counts + 112, _mm256_unpackhi_epi64(ab, cd));
}

#else
#define count_avx2 count_plain
#endif

/* The kernel for the processor; both count the same. */
static count_fn *counting(bool wide)
{
    return wide && HAS_AVX2 ? count_avx2 : count_plain;
}

/* ------------------------------------------------------------- one ballot */

/* Eight blocks of one ballot. */
static void begin_ballot(chacha_lanes state[16], const struct expand_keys *keys, size_t lane,
                         unsigned answer)
{
    chacha_begin(state);
    for (size_t i = 0; i < 8; i++) {
        state[4 + i] += keys->word[i][lane];
    }
    state[12] = (chacha_lanes){0, 1, 2, 3, 4, 5, 6, 7};
    state[13] += answer >> TREMOLO_BALLOT_SIGNS;
}

/* What a row starts with: minus the middle of all directions. */
static uint8_t start_of(unsigned answer)
{
    int signs = 0;
    for (unsigned j = 0; j < TREMOLO_BALLOT_SIGNS; j++) {
        signs += (answer >> j & 1) != 0 ? 1 : -1;
    }
    return (uint8_t)(-MIDDLE * signs);
}

/* 255: the direction's counts are taken away. */
static uint8_t flip_of(unsigned answer, unsigned direction)
{
    return (answer >> direction & 1) != 0 ? 0 : 255;
}

/* Add the counts, or with flip = 255 take them away. Sums wrap, and end within -80..80. */
static void add_counts(uint8_t *row, const uint8_t *counts, size_t count, uint8_t flip)
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

/* One long row: directions follow one another in the stream, so a chunk of counts may end one and
 * begin the next. */
static void expand_row(int8_t *row, size_t entries, const struct expand_keys *keys, size_t lane,
                       unsigned answer, bool wide)
{
    chacha_lanes state[16];
    uint8_t counts[CHUNK];
    size_t used = CHUNK;
    count_fn *count_chunk = counting(wide);
    begin_ballot(state, keys, lane, answer);
    memset(row, start_of(answer), entries);
    for (unsigned j = 0; j < TREMOLO_BALLOT_SIGNS; j++) {
        for (size_t i = 0; i < entries;) {
            if (used == CHUNK) {
                count_chunk(counts, state);
                state[12] += EXPAND_LANES;
                used = 0;
            }
            size_t more = entries - i < CHUNK - used ? entries - i : CHUNK - used;
            add_counts((uint8_t *)row + i, counts + used, more, flip_of(answer, j));
            i += more;
            used += more;
        }
    }
}

/* ------------------------------------------------------------- eight ballots
 *
 * Short rows end in the middle of what eight lanes make. So eight ballots share the lanes for
 * the blocks that their own chunks leave over, and their counts are kept until a row is added up
 * in one go. */

enum {
    SHORT_WORDS = TREMOLO_BALLOT_SIGNS * EXPAND_SHORT_ENTRIES,
    SHORT_COUNTS = (SHORT_WORDS + CHUNK - 1) / CHUNK * CHUNK + STEP, /* whole steps are read */
};

struct short_counts {
    uint8_t of[EXPAND_LANES][SHORT_COUNTS];
};

/* The blocks from `first` on, of all ballots together. */
static void count_shared(struct short_counts *counts, const struct expand_keys *keys,
                         const int16_t *ballots, size_t count, size_t first, size_t blocks,
                         count_fn *count_chunk)
{
    uint8_t made[CHUNK];
    chacha_lanes state[16];
    chacha_begin(state);
    memcpy(state + 4, keys->word, sizeof keys->word);
    for (size_t lane = 0; lane < count; lane++) {
        unsigned answer = (unsigned)ballots[lane * EXPAND_ROW_VALUES + EXPAND_ANSWER];
        state[13][lane] = answer >> TREMOLO_BALLOT_SIGNS;
    }
    state[12] += (uint32_t)first;
    for (size_t block = first; block < blocks; block++) {
        count_chunk(made, state);
        state[12] += 1;
        for (size_t lane = 0; lane < count; lane++) {
            memcpy(counts->of[lane] + 16 * block, made + 16 * lane, 16);
        }
    }
}

/* The whole chunks of one ballot, in all lanes. */
static void count_own(struct short_counts *counts, const struct expand_keys *keys, size_t lane,
                      unsigned answer, size_t chunks, count_fn *count_chunk)
{
    chacha_lanes state[16];
    begin_ballot(state, keys, lane, answer);
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        count_chunk(counts->of[lane] + CHUNK * chunk, state);
        state[12] += EXPAND_LANES;
    }
}

typedef uint8_t step_bytes __attribute__((vector_size(STEP)));

/* The signed sum of one short row's counts. A step may read past the row, where its counts have
 * room. */
static void add_up(uint8_t *row, size_t entries, const uint8_t *counts, unsigned answer)
{
    const step_bytes start = start_of(answer) + (step_bytes){0};
    step_bytes flip[TREMOLO_BALLOT_SIGNS], from, sum;
    for (unsigned j = 0; j < TREMOLO_BALLOT_SIGNS; j++) {
        flip[j] = flip_of(answer, j) + (step_bytes){0};
    }
    for (size_t i = 0; i < entries; i += STEP) {
        sum = start;
        for (unsigned j = 0; j < TREMOLO_BALLOT_SIGNS; j++) {
            memcpy(&from, counts + j * entries + i, sizeof from);
            sum += (from ^ flip[j]) - flip[j];
        }
        if (entries - i >= STEP) {
            memcpy(row + i, &sum, STEP);
        } else {
            memcpy(row + i, &sum, entries - i);
        }
    }
}

/* Up to eight ballots with short rows. The blocks that do not fill a chunk are made for all of them
 * together, unless that takes as many calls as a chunk more for each. */
static void expand_short(int8_t *rows, size_t entries, const struct expand_keys *keys,
                         const int16_t *ballots, size_t count, bool wide)
{
    struct short_counts counts;
    count_fn *count_chunk = counting(wide);
    size_t blocks = (TREMOLO_BALLOT_SIGNS * entries + 15) / 16;
    size_t chunks = blocks / EXPAND_LANES;
    bool share = blocks % EXPAND_LANES < count; /* and not each a chunk more */
    if (share) {
        count_shared(&counts, keys, ballots, count, chunks * EXPAND_LANES, blocks, count_chunk);
    } else {
        chunks++;
    }
    for (size_t i = 0; i < count; i++) {
        unsigned answer = (unsigned)ballots[i * EXPAND_ROW_VALUES + EXPAND_ANSWER];
        count_own(&counts, keys, i, answer, chunks, count_chunk);
        add_up((uint8_t *)rows + i * entries, entries, counts.of[i], answer);
    }
}

/* Groups of eight: short rows share their lanes, long ones only their keys. */
void expand_rows(int8_t *rows, size_t entries, const uint8_t study_id[TREMOLO_STUDY_ID_BYTES],
                 const int16_t *ballots, size_t count, bool wide)
{
    struct expand_keys keys;
    for (size_t at = 0; at < count; at += EXPAND_LANES) {
        size_t more = count - at < EXPAND_LANES ? count - at : EXPAND_LANES;
        const int16_t *from = ballots + at * EXPAND_ROW_VALUES;
        int8_t *to = rows + at * entries;
        expand_keys(&keys, study_id, from, more);
        if (entries <= EXPAND_SHORT_ENTRIES) {
            expand_short(to, entries, &keys, from, more, wide);
            continue;
        }
        for (size_t i = 0; i < more; i++) {
            expand_row(to + i * entries, entries, &keys, i,
                       (unsigned)from[i * EXPAND_ROW_VALUES + EXPAND_ANSWER], wide);
        }
    }
}

/* ---------------------------------------------------------------- sums
 *
 * Sums of integers, exact in any order, one set for each of the jackknife's groups. */

/* No released coordinate exceeds this in magnitude; a public response has its own scale. */
static int wire_max(const struct tremolo_study *study)
{
    return (1 << (study->wire_bits - 1)) - 1;
}

/* A private response is one more noisy coordinate; a public one comes in its own steps. */
static int response_max(const struct tremolo_study *study)
{
    return study->response == TREMOLO_RESPONSE_PRIVATE ? wire_max(study) : TREMOLO_RESPONSE_MAX;
}

enum tremolo_status tremolo_release_plain_sums(struct tremolo_moments **moments,
                                               const struct tremolo_study *study)
{
    bool is_private = study->response == TREMOLO_RESPONSE_PRIVATE;
    return study->release == TREMOLO_RELEASE_BALLOT
               ? tremolo_moments_new_ballots(moments, tremolo_ballot_entries(study), !is_private)
               : tremolo_moments_new(moments, study->dimension + 1u, wire_max(study),
                                     response_max(study));
}

/* The limits are set before the first row is added, because a count of large rows cannot be made up
 * afterwards. */
enum tremolo_status tremolo_release_sums(struct tremolo_moments **moments,
                                         const struct tremolo_study *study)
{
    struct tremolo_moments *made = NULL;
    struct tremolo_honest law;
    enum tremolo_status status = tremolo_release_plain_sums(&made, study);
    if (status == TREMOLO_OK) {
        tremolo_honest_law(&law, study);
        status = tremolo_moments_watch(made, &law.limits);
    }
    if (status != TREMOLO_OK) {
        tremolo_moments_free(made);
        return status;
    }
    *moments = made;
    return TREMOLO_OK;
}

/* A sample's response is one coordinate more whether it is private or not; how large it can
 * be tells the two apart. */
bool tremolo_release_fits(const struct tremolo_moments *moments, const struct tremolo_study *study)
{
    const struct tremolo_moments_shape shape = tremolo_moments_shape(moments);
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        return shape.ballots && shape.coordinates == tremolo_ballot_entries(study) &&
               (shape.response_max != 0) == (study->response == TREMOLO_RESPONSE_PUBLIC);
    }
    return !shape.ballots && shape.coordinates == study->dimension + 1u &&
           shape.feature_max == wire_max(study) && shape.response_max == response_max(study);
}

/* Limits are part of the sums: sums that counted by others cannot be judged by this law. */
bool tremolo_release_watches(const struct tremolo_moments *moments,
                             const struct tremolo_study *study)
{
    struct tremolo_honest law;
    struct tremolo_tail tail;
    tremolo_honest_law(&law, study);
    return tremolo_moments_tail(&tail, moments) && tail.limits.released == law.limits.released &&
           tail.limits.value == law.limits.value &&
           memcmp(tail.limits.norm2, law.limits.norm2, sizeof law.limits.norm2) == 0;
}

/* Where next_ballot() reads from, and what it has expanded: short rows eight at a time, long ones
 * one at a time from the keys of eight, because eight long rows would not fit on the stack. */
struct expansion {
    const struct tremolo_study *study;
    const int16_t *rows;
    size_t count;
    size_t entries;
    struct expand_keys keys; /* of the rows from the last multiple of EXPAND_LANES on */
    int8_t expanded[EXPAND_LANES * EXPAND_SHORT_ENTRIES]; /* the same, when they are short */
};

/* Row i for the sums, which ask for rows in order; the ballot's public response. */
static int16_t next_ballot(int8_t *row, size_t i, void *context)
{
    struct expansion *from = context;
    const int16_t *ballot = from->rows + i * EXPAND_ROW_VALUES;
    size_t lane = i % EXPAND_LANES, left = from->count - i;
    size_t more = left < EXPAND_LANES ? left : EXPAND_LANES;
    bool is_short = from->entries <= EXPAND_SHORT_ENTRIES;
    if (lane == 0 && is_short) {
        expand_rows(from->expanded, from->entries, from->study->id, ballot, more, true);
    } else if (lane == 0) {
        expand_keys(&from->keys, from->study->id, ballot, more);
    }
    if (is_short) {
        memcpy(row, from->expanded + lane * from->entries, from->entries);
    } else {
        expand_row(row, from->entries, &from->keys, lane, (unsigned)ballot[EXPAND_ANSWER], true);
    }
    return ballot[EXPAND_RESPONSE];
}

/* Noisy samples are rows as they are; ballots are expanded on the way into the sums. */
enum tremolo_status tremolo_release_fold(struct tremolo_moments *moments,
                                         const struct tremolo_study *study, const int16_t *rows,
                                         const uint8_t *buckets, size_t count)
{
    if (study->release != TREMOLO_RELEASE_BALLOT) {
        return tremolo_moments_add(moments, rows, buckets, count);
    }
    struct expansion expansion;
    expansion.study = study;
    expansion.rows = rows;
    expansion.count = count;
    expansion.entries = tremolo_ballot_entries(study);
    return tremolo_moments_add_ballots(moments, next_ballot, &expansion, buckets, count);
}
