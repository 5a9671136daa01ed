/* study.c -- are the study's numbers sound, and what does a release cost?
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
};

#define UNIT_MAX      (UINT32_C(1) << 24)
#define CLIP_MAX      (UINT32_C(1) << 28)
#define LAMBDA_MAX    (UINT32_C(1) << 26)
#define FREQUENCY_MAX (UINT32_C(1) << 31)
#define WIRE_MAX      (UINT32_C(1) << 28)

unsigned tremolo_study_coordinates(const struct tremolo_study *study)
{
    return study->dimension + (study->response == TREMOLO_RESPONSE_PRIVATE ? 1u : 0u);
}

/* ceil((1 - alpha) length) for length < 2^31. */
static uint32_t kept_up(const struct tremolo_study *study, uint32_t length)
{
    return (uint32_t)(((uint64_t)length * study->keep + (TREMOLO_KEEP_ONE - 1)) / TREMOLO_KEEP_ONE);
}

/* Proved in sample.c. */
uint32_t tremolo_study_sensitivity(const struct tremolo_study *study)
{
    uint32_t any_two = kept_up(study, 2 * study->clip);
    uint32_t near;
    if (study->distance == 0) {
        return any_two;
    }
    near = kept_up(study, study->distance) +
           3 * tremolo_root_up(tremolo_study_coordinates(study)) + 4;
    return near < any_two ? near : any_two;
}

/* ceil(sensitivity^2 2^24 / 2^2p). A checked study keeps mu below 16, so the
 * result fits 32 bits and the shifted square 62. */
uint32_t tremolo_study_charge(const struct tremolo_study *study)
{
    uint32_t sensitivity = tremolo_study_sensitivity(study);
    uint64_t square = (uint64_t)sensitivity * sensitivity;
    unsigned shift = 2u * study->noise_log2;
    if (shift <= 24) {
        return (uint32_t)(square << (24 - shift));
    }
    shift -= 24;
    return (uint32_t)((square + ((UINT64_C(1) << shift) - 1)) >> shift);
}

static enum tremolo_status check_bounds(const struct tremolo_bounds *bounds)
{
    uint32_t width = (uint32_t)bounds->high - (uint32_t)bounds->low;
    return bounds->low < bounds->high && width < UINT32_C(1) << 31 ? TREMOLO_OK
                                                                   : TREMOLO_BAD_BOUNDS;
}

static enum tremolo_status check_all_bounds(const struct tremolo_study *study)
{
    enum tremolo_status status = check_bounds(&study->response_bounds);
    unsigned i;
    for (i = 0; i < study->dimension && status == TREMOLO_OK; i++) {
        status = check_bounds(&study->bounds[i]);
    }
    return status;
}

static enum tremolo_status check_modulation(const struct tremolo_study *study)
{
    if (study->vectors > study->dimension || study->vectors > TREMOLO_MAX_VECTORS) {
        return TREMOLO_BAD_VECTORS;
    }
    if (study->vectors == 0) {
        return study->amplitude != 0   ? TREMOLO_BAD_LAMBDA
               : study->frequency != 0 ? TREMOLO_BAD_OMEGA
                                       : TREMOLO_OK;
    }
    if (study->amplitude == 0 ||
        (uint64_t)study->amplitude * study->amplitude * study->vectors >
            (uint64_t)LAMBDA_MAX * LAMBDA_MAX) {
        return TREMOLO_BAD_LAMBDA;
    }
    return study->frequency == 0 || study->frequency > FREQUENCY_MAX ? TREMOLO_BAD_OMEGA
                                                                     : TREMOLO_OK;
}

/* The wire must hold the largest coordinate plus eight standard deviations:
 * saturating is post-processing and costs no privacy, but it must be too rare
 * to bias a moment. */
static enum tremolo_status check_grid(const struct tremolo_study *study)
{
    unsigned p = study->noise_log2;
    uint32_t largest;
    uint32_t wire;
    if (p < NOISE_LOG2_MIN || p > NOISE_LOG2_MAX || p < study->wire_shift + (unsigned)WIRE_NOISE_LOG2_MIN ||
        study->wire_bits < WIRE_BITS_MIN || study->wire_bits > WIRE_BITS_MAX) {
        return TREMOLO_BAD_GRID;
    }
    if (study->unit == 0 || study->unit > UNIT_MAX || study->clip == 0 || study->clip > CLIP_MAX) {
        return TREMOLO_BAD_GRID;
    }
    largest = kept_up(study, study->unit < study->clip ? study->unit : study->clip) +
              tremolo_root_up(study->vectors) * study->amplitude;
    wire = ((UINT32_C(1) << (study->wire_bits - 1)) - 1) << study->wire_shift;
    if (wire > WIRE_MAX || wire >> study->wire_shift == 0 ||
        wire < largest + (UINT32_C(1) << (p + HEADROOM_LOG2))) {
        return TREMOLO_BAD_GRID;
    }
    return tremolo_study_sensitivity(study) >> (p + MU_MAX_LOG2) != 0 ? TREMOLO_BAD_GRID
                                                                      : TREMOLO_OK;
}

enum tremolo_status tremolo_study_check(const struct tremolo_study *study)
{
    enum tremolo_status status;
    if (study == NULL || study->bounds == NULL || study->response > TREMOLO_RESPONSE_PRIVATE) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (study->dimension == 0 || study->dimension > TREMOLO_MAX_DIMENSION) {
        return TREMOLO_BAD_DIMENSION;
    }
    if (study->samples == 0 || study->rounds == 0) {
        return TREMOLO_BAD_SAMPLES;
    }
    if (study->keep == 0 || study->keep > TREMOLO_KEEP_ONE) {
        return TREMOLO_BAD_ALPHA;
    }
    if (study->clip <= CLIP_MAX && study->distance > 2 * study->clip) {
        return TREMOLO_BAD_NEIGHBOURS;
    }
    status = check_all_bounds(study);
    if (status == TREMOLO_OK) {
        status = check_modulation(study);
    }
    return status == TREMOLO_OK ? check_grid(study) : status;
}

/* <a, b> in 2^-28. Entries are at most 1 in size and rows are checked for
 * their norm first, so by Cauchy-Schwarz no partial sum leaves 32 bits; the
 * norm itself stops as soon as it is too large. */
static int32_t row_product(const int16_t *a, const int16_t *b, unsigned count)
{
    int32_t sum = 0;
    unsigned i;
    for (i = 0; i < count && sum < INT32_C(1) << 29; i++) {
        if (a[i] > TREMOLO_VECTOR_ONE || a[i] < -TREMOLO_VECTOR_ONE) {
            return INT32_C(1) << 30;
        }
        sum += (int32_t)a[i] * b[i];
    }
    return sum;
}

/* Rounding an exact orthonormal set of 256 dimensions to 2^-14 stays within
 * 2^-10 in both products, hence the tolerance. */
enum tremolo_status tremolo_round_check(const struct tremolo_study *study,
                                        const struct tremolo_round *round)
{
    const int32_t tolerance = INT32_C(1) << 18;
    unsigned i;
    unsigned j;
    if (study == NULL || round == NULL || (study->vectors > 0) != (round->vectors != NULL) ||
        round->number >= study->rounds) {
        return TREMOLO_BAD_ARGUMENT;
    }
    for (j = 0; j < study->vectors; j++) {
        const int16_t *row = round->vectors + (size_t)j * study->dimension;
        for (i = 0; i <= j; i++) {
            /* The row itself comes first, so its norm is known to be sound. */
            unsigned other = j - i;
            int32_t product = row_product(
                row, round->vectors + (size_t)other * study->dimension, study->dimension);
            int32_t error = product - (other == j ? INT32_C(1) << 28 : 0);
            if (error > tolerance || error < -tolerance) {
                return TREMOLO_BAD_VECTORS;
            }
        }
    }
    return TREMOLO_OK;
}
