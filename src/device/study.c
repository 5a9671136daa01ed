/* study.c -- check a study's numbers, and derive what a release costs.
 *
 * The device believes no claim about privacy: it derives the sensitivity and
 * the charge from the integers it will itself use. */
#include "parts.h"

enum {
    NOISE_LOG2_MIN = 10,
    NOISE_LOG2_MAX = 24,
    WIRE_NOISE_LOG2_MIN = 3, /* rounding to the wire adds 1/12 up to exp(-1000) */
    WIRE_BITS_MIN = 8,
    WIRE_BITS_MAX = 16,
    HEADROOM_LOG2 = 3, /* 8 standard deviations before the wire saturates */
    MU_MAX_LOG2 = 4,
    UNIT_LOG2 = 24,
    CLIP_LOG2 = 28,
    LAMBDA_LOG2 = 26,
    WIRE_LOG2_MAX = 29, /* sign included */
};

unsigned tremolo_study_coordinates(const struct tremolo_study *study)
{
    return study->dimension + (unsigned)study->response;
}

#ifndef TREMOLO_WITHOUT_SAMPLE

/* At least (1 - alpha) length, by less than one. */
static uint32_t kept(const struct tremolo_study *study, uint32_t length)
{
    return tremolo_product_shifted(length, study->keep, 15) + 1;
}

/* Proved in sample.c. */
uint32_t tremolo_study_sensitivity(const struct tremolo_study *study)
{
    uint32_t any_two = kept(study, 2 * study->clip);
    uint32_t near =
        kept(study, study->distance) + 3 * tremolo_root_up(tremolo_study_coordinates(study)) + 4;
    return study->distance != 0 && near < any_two ? near : any_two;
}

/* ceil(s^2 2^24 / 2^2p) for the sensitivity s, as floor((8s - 1)(8s + 1) /
 * 2^(2p - 18)) + 1. A checked study keeps mu below 16: s < 2^28, and the
 * result fits 32 bits. */
static uint32_t sample_charge(const struct tremolo_study *study)
{
    uint32_t s = 8 * tremolo_study_sensitivity(study);
    return tremolo_product_shifted(s - 1, s + 1, 2u * study->noise_log2 - 18) + 1;
}

/* One to 2^log2. */
static int outside(uint32_t value, unsigned log2)
{
    return (value - 1) >> log2 != 0;
}

/* A wave without vectors, or vectors without a wave, is a mistake. */
static enum tremolo_status check_modulation(const struct tremolo_study *study)
{
    if (study->vectors > study->dimension || study->vectors > TREMOLO_MAX_VECTORS) {
        return TREMOLO_BAD_VECTORS;
    }
    if (study->vectors == 0 ? study->amplitude != 0 : outside(study->amplitude, LAMBDA_LOG2)) {
        return TREMOLO_BAD_LAMBDA;
    }
    return (study->vectors == 0 ? study->frequency != 0 : (int32_t)study->frequency <= 0)
               ? TREMOLO_BAD_OMEGA
               : TREMOLO_OK;
}

/* The wire must hold the largest coordinate plus eight standard deviations:
 * saturating is post-processing and costs no privacy, but it must be too rare
 * to bias a moment. */
static TREMOLO_APART enum tremolo_status check_grid(const struct tremolo_study *study)
{
    unsigned p = study->noise_log2;
    uint32_t lambda;
    uint32_t wire;
    if (p - NOISE_LOG2_MIN > NOISE_LOG2_MAX - NOISE_LOG2_MIN ||
        study->wire_shift > p - WIRE_NOISE_LOG2_MIN ||
        study->wire_bits - (unsigned)WIRE_BITS_MIN > WIRE_BITS_MAX - WIRE_BITS_MIN ||
        study->wire_shift + study->wire_bits > WIRE_LOG2_MAX || outside(study->unit, UNIT_LOG2) ||
        outside(study->clip, CLIP_LOG2)) {
        return TREMOLO_BAD_GRID;
    }
    if (study->distance > 2 * study->clip) {
        return TREMOLO_BAD_NEIGHBOURS;
    }
    lambda = tremolo_root_up(study->vectors) * study->amplitude;
    if (lambda > UINT32_C(1) << LAMBDA_LOG2) {
        return TREMOLO_BAD_LAMBDA;
    }
    wire = (UINT32_C(1) << (study->wire_bits - 1)) - 1;
    if (wire << study->wire_shift <
            kept(study, study->unit) + lambda + (UINT32_C(1) << (p + HEADROOM_LOG2)) ||
        tremolo_study_sensitivity(study) >> (p + MU_MAX_LOG2) != 0) {
        return TREMOLO_BAD_GRID;
    }
    return TREMOLO_OK;
}

static enum tremolo_status check_sample(const struct tremolo_study *study)
{
    enum tremolo_status status;
    if (study->keep - 1u >= TREMOLO_KEEP_ONE) {
        return TREMOLO_BAD_ALPHA;
    }
    status = check_modulation(study);
    return status == TREMOLO_OK ? check_grid(study) : status;
}

#endif

/* A release this build does not make costs more than any budget. */
uint32_t tremolo_study_charge(const struct tremolo_study *study)
{
#ifndef TREMOLO_WITHOUT_BALLOT
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        return tremolo_ballot_charge(study);
    }
#endif
#ifndef TREMOLO_WITHOUT_SAMPLE
    if (study->release == TREMOLO_RELEASE_SAMPLE) {
        return sample_charge(study);
    }
#endif
    return UINT32_MAX;
}

static enum tremolo_status check_release(const struct tremolo_study *study)
{
#ifndef TREMOLO_WITHOUT_BALLOT
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        return tremolo_ballot_check(study);
    }
#endif
#ifndef TREMOLO_WITHOUT_SAMPLE
    if (study->release == TREMOLO_RELEASE_SAMPLE) {
        return check_sample(study);
    }
#endif
    return TREMOLO_BAD_RELEASE;
}

static enum tremolo_status check_bounds(const struct tremolo_study *study)
{
    const struct tremolo_bounds *bounds = &study->response_bounds;
    unsigned left = study->dimension;
    for (;;) {
        /* A width of 2^31 or more looks negative, as one below zero does. */
        if (bounds->low >= bounds->high ||
            (int32_t)((uint32_t)bounds->high - (uint32_t)bounds->low) < 0) {
            return TREMOLO_BAD_BOUNDS;
        }
        if (left == 0) {
            return TREMOLO_OK;
        }
        bounds = &study->bounds[--left];
    }
}

enum tremolo_status tremolo_study_check(const struct tremolo_study *study)
{
    enum tremolo_status status;
    if (study == NULL || study->bounds == NULL || study->response > TREMOLO_RESPONSE_PRIVATE) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (study->dimension - 1u >= TREMOLO_MAX_DIMENSION) {
        return TREMOLO_BAD_DIMENSION;
    }
    if (study->samples == 0 || study->rounds == 0) {
        return TREMOLO_BAD_SAMPLES;
    }
    status = check_bounds(study);
    return status == TREMOLO_OK ? check_release(study) : status;
}

#ifndef TREMOLO_WITHOUT_SAMPLE
/* |<a, b> - expected| > 2^-10, in 2^-28. A norm stops growing once it is too
 * large; rows of sound norm keep every partial sum of their product within 32
 * bits by Cauchy-Schwarz. */
static int product_is_off(const int16_t *a, const int16_t *b, unsigned count, int32_t expected)
{
    const int32_t tolerance = INT32_C(1) << 18;
    int32_t sum = 0;
    while (count-- > 0 && sum < INT32_C(1) << 29) {
        sum += (int32_t)a[count] * b[count];
    }
    return (uint32_t)(sum - expected + tolerance) > 2 * (uint32_t)tolerance;
}

/* Rounding an exact orthonormal set of 256 dimensions to 2^-14 stays within
 * 2^-10 in both products; that is the tolerance. */
static enum tremolo_status check_vectors(const struct tremolo_study *study,
                                         const struct tremolo_round *round)
{
    const int16_t *row = round->vectors;
    unsigned j;
    for (j = study->vectors; j > 0; j--, row += study->dimension) {
        const int16_t *earlier = row;
        int32_t expected = INT32_C(1) << 28;
        /* From the row itself back to the first one. */
        for (;; earlier -= study->dimension, expected = 0) {
            if (product_is_off(row, earlier, study->dimension, expected)) {
                return TREMOLO_BAD_VECTORS;
            }
            if (earlier == round->vectors) {
                break;
            }
        }
    }
    return TREMOLO_OK;
}

#endif

/* The study is checked, and one of ballots has none. */
static int lacks_vectors(const struct tremolo_study *study)
{
#ifdef TREMOLO_WITHOUT_SAMPLE
    (void)study;
    return 1;
#else
    return study->vectors == 0;
#endif
}

enum tremolo_status tremolo_round_check(const struct tremolo_study *study,
                                        const struct tremolo_round *round)
{
    if (study == NULL || round == NULL || lacks_vectors(study) != (round->vectors == NULL) ||
        round->number >= study->rounds) {
        return TREMOLO_BAD_ARGUMENT;
    }
#ifndef TREMOLO_WITHOUT_SAMPLE
    return check_vectors(study, round);
#else
    return TREMOLO_OK;
#endif
}
