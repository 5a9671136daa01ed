/* modulate.c -- the client map (1-alpha) x + amplitude sum_j cos(...) v_j.
 *
 * The angle of vector j is omega <x, v_j> plus a phase that is uniform on the
 * 2^32 angles. Their sum modulo a turn is again uniform whatever x is, and
 * exactly so in integers: the modulation is independent of the sample, so
 * how precisely the inner product is computed is no matter of privacy.
 *
 * The inner product uses the sample's leading 15 bits: its size is at most
 * (2^15 + 17) * 2^14 * (1 + 2^-10) < 2^30 by Cauchy-Schwarz, for every
 * partial sum too, so 32 bits suffice. */
#include "parts.h"

static unsigned reduction_of(uint32_t radius)
{
    unsigned shift = 0;
    while (radius >> shift >= UINT32_C(1) << 15) {
        shift++;
    }
    return shift;
}

/* Arithmetic shift right, spelled out: C99 leaves it to the compiler. */
static int32_t shift_down(int32_t value, unsigned shift)
{
    return value < 0 ? -1 - (int32_t)((uint32_t)(-1 - value) >> shift) : value >> shift;
}

static int32_t inner_product(const int32_t *value, const int16_t *vector, unsigned count,
                             unsigned shift)
{
    int32_t sum = 0;
    unsigned i;
    for (i = 0; i < count; i++) {
        sum += shift_down(value[i], shift) * vector[i];
    }
    return sum;
}

/* frequency is in 2^-40 turns a fine unit, the inner product in 2^-14 reduced
 * units: 40 - 32 + 14 = 22 bits too many. Arithmetic is modulo 2^64, of which
 * the bits we keep are a part, so nothing overflows. */
static uint32_t angle_of(int32_t product, unsigned shift, uint32_t frequency)
{
    uint64_t wide = (uint64_t)((int64_t)product * (INT64_C(1) << shift));
    return (uint32_t)(wide * frequency >> 22);
}

/* The height of each wave replaces its phase, before the sample is changed. */
static int32_t wave_height(const int32_t *value, const int16_t *vector, uint32_t phase,
                           const struct tremolo_study *study)
{
    unsigned shift = reduction_of(study->clip);
    int32_t product = inner_product(value, vector, study->dimension, shift);
    int32_t cosine = tremolo_cosine(angle_of(product, shift, study->frequency) + phase);
    return (int32_t)((int64_t)study->amplitude * cosine / 32768);
}

/* value[0..n), the prepared sample, becomes the modulated one. Divisions
 * truncate toward zero, so that the map of an opposite wave is the opposite
 * and the mean of the modulation stays zero. The working array of phases is
 * the caller's and is overwritten with the waves' heights. */
TREMOLO_PART void tremolo_modulate(int32_t *value, const struct tremolo_study *study,
                                   const struct tremolo_round *round, uint32_t *phase)
{
    unsigned count = tremolo_study_coordinates(study);
    unsigned i;
    unsigned j;
    for (j = 0; j < study->vectors; j++) {
        const int16_t *vector = round->vectors + (size_t)j * study->dimension;
        phase[j] = (uint32_t)wave_height(value, vector, phase[j], study);
    }
    for (i = 0; i < count; i++) {
        value[i] = (int32_t)((int64_t)value[i] * study->keep / TREMOLO_KEEP_ONE);
    }
    for (j = 0; j < study->vectors; j++) {
        const int16_t *vector = round->vectors + (size_t)j * study->dimension;
        for (i = 0; i < study->dimension; i++) {
            value[i] += (int32_t)((int64_t)(int32_t)phase[j] * vector[i] / TREMOLO_VECTOR_ONE);
        }
    }
}
