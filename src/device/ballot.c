/* ballot.c -- a randomised answer to a random question about the sample.
 *
 * The report's id is public and seeds 8 blocks of 5 random directions; an
 * answer is a block and five signs, 256 in all, and its score is how well the
 * signed directions fit the sample's point on a sphere. The sample orders the
 * answers by score; which place in that order is sent was drawn beforehand.
 *
 * Privacy rests on the law of that place alone. Whatever happens below, scale,
 * products, directions and overflow included, each place of the order holds
 * one answer: given the id, an answer has probability top / 2^32 / T or
 * (2^32 - top) / 2^32 / (256 - T) for every sample. tremolo_study_charge()
 * takes the logarithm of their ratio.
 *
 * The point is v = (h, x, w), w = g y, with its products: phi = svec(vv'). When
 * the response is private, its product with h counts one and a half times
 * and its square half, since a mean is wanted more than a spread, and a last entry brings
 * |phi| to h^2 + |x|^2 + g^2. With g^2 = 10/3 h^2, as a study must have it, its square is
 *     (h^2 + |x|^2 + g^2)^2 - (h^2 + |x|^2)^2 - w^2 (9/2 h^2 + 2 |x|^2) - w^4 / 4
 *         = (g^2 - w^2) (2 h^2 + 2 |x|^2 + g^2 + w^2 / 4).
 * Scores are compared and never sent, so phi keeps whatever
 * scale is handy: products are divided by sqrt 2, which leaves those off the
 * diagonal as they are, and v by a power of two.
 *
 * From the first look at the sample on, every branch, every shift count but
 * one and every address is the same for all samples. The one shift is by a
 * register, which takes the same time on every core without a shifter that
 * works bit by bit. */
#include "parts.h"

#ifndef TREMOLO_WITHOUT_BALLOT

enum {
    BLOCKS = TREMOLO_BALLOT_ANSWERS >> TREMOLO_BALLOT_SIGNS,
    SIGNS = TREMOLO_BALLOT_SIGNS,
    ANSWERS = TREMOLO_BALLOT_ANSWERS,
    KEY_PAIRS = 10,
    DIRECTION_PAIRS = 4,
    BUFFER_BYTES = 64 * TREMOLO_LANES,
    PLACE_LOG2 = 16,   /* half a typical range */
    CONSTANT_LOG2 = 8, /* of h and g */
    ROUGH_SHIFT = 9,
    LENGTH_LOG2 = 15, /* |v| after the shift */
    ROW_SHIFT = 6,    /* a row's sum is rounded to this before it is multiplied */
    SCORE_BITS = 16,
    ANSWER_BITS = 8,
    LOG_LOG2 = 26,
};

/* ------------------------------------------------------------- directions */

/* The study's id keys the hash of the report's id: an id with favourable
 * directions in one study has other directions in every other study. */
static void seed_directions(struct tremolo_generator *generator, const uint8_t *study_id,
                            const uint8_t *report_id)
{
    unsigned i;
    tremolo_bytes_copy(generator->block, study_id, TREMOLO_STUDY_ID_BYTES);
    tremolo_generator_key(generator);
    for (i = 0; i < 4; i++) {
        generator->state[12 + i] = tremolo_bytes_load(report_id + 4 * i);
    }
    tremolo_chacha_blocks(generator->block, generator->state, KEY_PAIRS);
    tremolo_generator_key(generator);
}

static TREMOLO_APART void begin_block(struct tremolo_generator *generator, unsigned block)
{
    generator->state[12] = 0;
    generator->state[13] = block;
    generator->next = BUFFER_BYTES;
}

/* How many ones the next four bytes have. Directions are public, so a small core
 * may take as long as there are. */
static uint32_t count_ones(const struct tremolo_generator *generator)
{
    const uint8_t *byte = generator->block + generator->next;
#if TREMOLO_LANES > 1
    uint32_t word = tremolo_bytes_load(byte);
    word -= word >> 1 & 0x55555555;
    word = (word & 0x33333333) + (word >> 2 & 0x33333333);
    word = (word + (word >> 4)) & 0x0f0f0f0f;
    return word * 0x01010101 >> 24;
#else
    const uint8_t *end = byte + 4;
    uint32_t count = 0;
    do {
        uint32_t ones = *byte++;
        for (; ones != 0; ones &= ones - 1) {
            count++;
        }
    } while (byte != end);
    return count;
#endif
}

/* The next entry of the directions, -16..16 with variance 8: close enough to
 * a Gaussian for the mean of an answer to have the point's direction. */
static uint32_t next_entry(struct tremolo_generator *generator)
{
    uint32_t entry;
    if (generator->next == BUFFER_BYTES) {
        tremolo_chacha_blocks(generator->block, generator->state, DIRECTION_PAIRS);
        generator->next = 0;
    }
    entry = count_ones(generator) - 16;
    generator->next = (uint16_t)(generator->next + 4);
    return entry;
}

/* ------------------------------------------------------------- the point */

/* The place of `raw` in half ranges from the middle, 2^16 a half range, at most
 * `reach` of them and truncated toward zero. */
static TREMOLO_APART int32_t place(int32_t raw, const struct tremolo_bounds *range, unsigned reach)
{
    uint32_t width = (uint32_t)range->high - (uint32_t)range->low;
    uint64_t most = tremolo_product(width, reach);
    uint64_t size = tremolo_place(raw, range, most) - most;
    uint64_t sign = tremolo_mask(size);
    size = ((size ^ sign) - sign) << PLACE_LOG2;
    return (int32_t)tremolo_signed(tremolo_divide(size, width), (uint32_t)sign);
}

/* The response's place, cut at its bounds. */
static int32_t response_place(const struct tremolo_work *work)
{
    return place(work->sample->response, &work->study->response_bounds, 1);
}

/* Products are taken modulo 2^32: no number of a study, checked or not, makes them
 * undefined. */
static int32_t product_of(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a * (uint32_t)b);
}

static uint32_t square_of(int32_t value)
{
    return (uint32_t)value * (uint32_t)value;
}

/* A square in 2^18 units, good to a few percent: all that is wanted is how far
 * to shift. 256 features 8 half ranges out keep the sum below 2^31. */
static uint32_t rough_square(int32_t value)
{
    value >>= ROUGH_SHIFT;
    return square_of(value);
}

/* How often to halve a length of this rough square to bring it near 2^15. */
static unsigned halvings(uint32_t square)
{
    unsigned count = 0;
    unsigned i;
    for (i = 2 * (LENGTH_LOG2 - ROUGH_SHIFT); i < 32; i += 2) {
        count += (0 - (square >> i)) >> 31;
    }
    return count;
}

/* Divide by 2^shift, to nearest. */
static int32_t halve(int32_t value, unsigned shift)
{
    return (value + (INT32_C(1) << shift >> 1)) >> shift;
}

static unsigned point_entries(const struct tremolo_study *study)
{
    return study->dimension + 1u + study->response;
}

/* h or g, 2^16 a half range. */
static int32_t at_scale(uint16_t constant)
{
    return (int32_t)constant << (PLACE_LOG2 - CONSTANT_LOG2);
}

/* v into work->value, 2^16 a half range. Returns the rough square of its length,
 * or of the longest that the response could make it. */
static uint32_t place_point(struct tremolo_work *work)
{
    const struct tremolo_study *study = work->study;
    int32_t *value = work->value;
    unsigned i = study->dimension;
    uint32_t square = rough_square(at_scale(study->response_weight));
    value[i + 1] = product_of(response_place(work), study->response_weight) >> CONSTANT_LOG2;
    for (; i > 0; i--) {
        value[i] =
            place(work->sample->features[i - 1], &study->bounds[i - 1], TREMOLO_BALLOT_REACH);
        square += rough_square(value[i]);
    }
    value[0] = at_scale(study->constant);
    return square + rough_square(value[0]);
}

/* Place v in work->value, with a length within a few percent of 2^15. Returns
 * the last entry, the one that is no product, divided by sqrt 2; it is unused
 * when the response is public. */
static uint32_t find_point(struct tremolo_work *work)
{
    unsigned shift = halvings(place_point(work));
    int32_t *value = work->value;
    int32_t *response = value + work->study->dimension + 1;
    uint32_t square = 0;
    uint32_t missing;
    do {
        *value = halve(*value, shift);
        square += square_of(*value);
    } while (value++ != response);
    missing =
        square_of(halve(at_scale(work->study->response_weight), shift)) - square_of(*response);
    square += missing / 2 - square_of(*response) / 8 * 3;
    return (tremolo_root(missing) * tremolo_root(square)) >> ROW_SHIFT;
}

/* ------------------------------------------------------------- scores */

/* <direction, phi>, row by row: the off-diagonal products of a row share one
 * factor. The response's product with the constant counts 3/2 times, its square
 * counts half. Sums are unsigned so that an overflow is defined; it would take a
 * direction 14 standard deviations long. */
static uint32_t score_direction(struct tremolo_work *work, uint32_t beside)
{
    struct tremolo_generator *generator = &work->generator;
    int32_t *value = work->value;
    int32_t *end = value + point_entries(work->study);
    int32_t *response = value + work->study->dimension + 1;
    int32_t own = *response;
    int32_t diagonal = 46341; /* / 65536 is 1 / sqrt 2 within 10^-5 */
    uint32_t score = 0;
    *response += own >> 1;
    do {
        const int32_t *other = value;
        uint32_t row;
        if (value == response) {
            diagonal >>= 1;
        }
        row = next_entry(generator) * (uint32_t)((product_of(*value, diagonal) + 32768) >> 16);
        while (++other != end) {
            row += next_entry(generator) * (uint32_t)*other;
        }
        row += UINT32_C(1) << ROW_SHIFT >> 1;
        score += (uint32_t)((int32_t)row >> ROW_SHIFT) * (uint32_t)*value;
        *response = own;
    } while (++value != end);
    if (work->study->response == TREMOLO_RESPONSE_PRIVATE) {
        score += next_entry(generator) * beside;
    }
    return score;
}

/* ------------------------------------------------------------- the answer */

/* What orders the answers: their scores, kept to 16 bits around 2^15 with a standard
 * deviation of 2^11 at most, and below them 255 - answer, so that of equal scores the
 * smaller answer comes first. Bit j of an answer clear: direction j of its block counts
 * with the opposite sign. */
static uint32_t key_of(const struct tremolo_work *work, uint32_t opposite)
{
    const uint32_t *score = work->score + SIGNS * (opposite >> SIGNS);
    uint32_t bits = opposite << (32 - SIGNS);
    uint32_t sum = UINT32_C(1) << 30;
    unsigned j;
    for (j = 0; j < SIGNS; j++) {
        sum += tremolo_signed(*score++, tremolo_sign(bits));
        bits <<= 1;
    }
    return sum << 1 >> (32 - SCORE_BITS) << ANSWER_BITS | opposite;
}

/* How many keys are less than the limit; the highest bit of a difference says which is. */
static TREMOLO_APART uint32_t count_below(const struct tremolo_work *work, uint32_t limit)
{
    uint32_t count = 0;
    uint32_t opposite;
    for (opposite = 0; opposite < ANSWERS; opposite++) {
        count += (key_of(work, opposite) - limit) >> 31;
    }
    return count;
}

/* The answer with `rank` larger keys: its key is found bit by bit. */
static uint8_t answer_at(const struct tremolo_work *work, uint32_t rank)
{
    uint32_t key = 0;
    uint32_t bit = UINT32_C(1) << (SCORE_BITS + ANSWER_BITS - 1);
    do {
        uint32_t enough = count_below(work, key | bit) + rank - ANSWERS;
        key |= bit & tremolo_sign(enough);
    } while ((bit >>= 1) != 0);
    return (uint8_t)~key;
}

/* A public response, -32767..32767 between its bounds. */
TREMOLO_PART int32_t tremolo_ballot_response(const struct tremolo_work *work)
{
    return (response_place(work) * TREMOLO_RESPONSE_MAX + 32768) >> PLACE_LOG2;
}

/* An early and a late rank are drawn whichever of them is wanted: how many random
 * bytes that takes, and so how long, is independent of the rank. */
TREMOLO_PART void tremolo_ballot_draw(struct tremolo_work *work)
{
    struct tremolo_generator *generator = &work->generator;
    unsigned first = work->study->rank_first;
    unsigned is_early = 0u - (tremolo_generator_word(generator) < work->study->rank_top);
    unsigned early = tremolo_generator_below(generator, first);
    unsigned late = first + tremolo_generator_below(generator, ANSWERS - first);
    work->rank = late ^ ((late ^ early) & is_early);
}

/* The generator has done its secret work; its memory serves the directions. The
 * last one's score is the first, in the order of 255 - answer. */
TREMOLO_PART uint8_t tremolo_ballot_answer(struct tremolo_work *work)
{
    uint32_t beside = find_point(work);
    uint32_t *score = work->score + BLOCKS * SIGNS;
    unsigned block;
    unsigned j;
    seed_directions(&work->generator, work->study->id, work->id);
    for (block = 0; block < BLOCKS; block++) {
        begin_block(&work->generator, block);
        for (j = 0; j < SIGNS; j++) {
            *--score = score_direction(work, beside);
        }
    }
    return answer_at(work, work->rank);
}

/* ------------------------------------------------------------- the law */

/* 2^26 log2(value) rounded down, short by less than 1.2: normalised to
 * 2^31..2^32, each squaring gives one binary digit and loses at most 2^-30. */
static TREMOLO_APART uint32_t log2_down(uint32_t value)
{
    uint32_t log2 = 31;
    unsigned i;
    for (; value >> 31 == 0; value <<= 1) {
        log2--;
    }
    for (i = 0; i < LOG_LOG2; i++) {
        uint32_t digit;
        value = (uint32_t)(tremolo_product(value, value) >> 32);
        digit = value >> 31;
        value <<= 1 - digit;
        log2 = 2 * log2 + digit;
    }
    return log2;
}

/* 2^26 log2 of the ratio of an early answer's probability to a late one's,
 * q (256 - T) / ((2^32 - q) T), off by less than 2.4. */
static uint32_t log2_ratio(const struct tremolo_study *study)
{
    uint32_t first = study->rank_first;
    return log2_down(study->rank_top) - log2_down(0 - study->rank_top) +
           log2_down(ANSWERS - first) - log2_down(first);
}

/* 2977044472 / 2^32 is just above ln 2; the result is above 2^24 epsilon, by
 * less than 3. */
TREMOLO_PART uint32_t tremolo_ballot_charge(const struct tremolo_study *study)
{
    return (uint32_t)(tremolo_product(log2_ratio(study) + 3, UINT32_C(2977044472)) >> 34) + 1;
}

/* h is at least 1/4 and at most 16, and g is h sqrt(10/3) or, where no response
 * is protected, 0. */
static int constants_are_off(const struct tremolo_study *study)
{
    const unsigned low = TREMOLO_BALLOT_ONE / 4;
    const unsigned high = 16 * TREMOLO_BALLOT_ONE;
    return study->constant - low > high - low ||
           study->response_weight != study->response * TREMOLO_BALLOT_WEIGHT(study->constant);
}

/* The first T answers must not be the less likely ones: their ratio's
 * logarithm would be negative, and look enormous. */
TREMOLO_PART enum tremolo_status tremolo_ballot_check(const struct tremolo_study *study)
{
    if (constants_are_off(study) || study->rank_first - 1u >= ANSWERS / 2 || study->rank_top == 0 ||
        study->vectors != 0 || log2_ratio(study) >> LOG_LOG2 >= TREMOLO_BALLOT_RATIO_LOG2) {
        return TREMOLO_BAD_BALLOT;
    }
    return TREMOLO_OK;
}

/* ------------------------------------------------------------- reading */

unsigned tremolo_ballot_entries(const struct tremolo_study *study)
{
    unsigned count = point_entries(study);
    return count * (count + 1) / 2 + study->response;
}

enum tremolo_status tremolo_ballot_expand(int8_t *row, size_t capacity,
                                          const struct tremolo_report *report,
                                          const struct tremolo_study *study)
{
    struct tremolo_generator generator;
    enum tremolo_status status;
    unsigned answer;
    size_t entries;
    unsigned j;
    if (row == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    tremolo_bytes_wipe(row, capacity);
    status = tremolo_report_answer(&answer, report, study);
    if (status != TREMOLO_OK) {
        return status;
    }
    entries = tremolo_ballot_entries(study);
    if (capacity < entries) {
        return TREMOLO_SHORT_BUFFER;
    }
    seed_directions(&generator, study->id, report->id);
    begin_block(&generator, answer >> SIGNS);
    for (j = 0; j < SIGNS; j++) {
        int32_t sign = (int32_t)(2 * (answer >> j & 1)) - 1;
        size_t i;
        for (i = 0; i < entries; i++) {
            row[i] = (int8_t)(row[i] + sign * (int32_t)next_entry(&generator));
        }
    }
    return TREMOLO_OK;
}

#else
typedef int tremolo_ballot_is_left_out;
#endif
