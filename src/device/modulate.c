/* modulate.c -- the client map (1-alpha) x + amplitude sum_j cos(...) v_j.
 *
 * The angle of vector j is omega <x, v_j> plus a phase that is uniform on the
 * 2^32 angles. Their sum modulo a turn is again uniform whatever x is, and
 * exactly so in integers: the modulation is independent of the sample, so
 * how the angle is rounded is no matter of privacy. */
#include "parts.h"

#ifndef TREMOLO_WITHOUT_SAMPLE

/* The height of one wave in fine units. The inner product is in 2^-14 fine
 * units and frequency in 2^-40 turns, so an angle in 2^-32 turns has 22 bits
 * too many. Values are at most 2^24 and a vector's norm is one, so each half
 * of the inner product is below 2^31 by Cauchy-Schwarz. The angle is taken
 * modulo a turn: what overflows in it does not matter. */
static int32_t wave_height(const int32_t *value, const int16_t *vector, uint32_t phase,
                           const struct tremolo_study *study)
{
    int32_t high = 0;
    int32_t low = 0;
    uint32_t angle;
    unsigned i;
    for (i = 0; i < study->dimension; i++) {
        high += (value[i] >> 12) * vector[i];
        low += (value[i] & 0xfff) * vector[i];
    }
    /* high 2^12 + low in words of 20 + 32 bits. */
    high += low >> 12;
    angle = phase + ((uint32_t)(high >> 20) * study->frequency << 10) +
            tremolo_product_shifted((uint32_t)high << 12 | ((uint32_t)low & 0xfff),
                                    study->frequency, 22);
    return tremolo_product_down((int32_t)study->amplitude, tremolo_cosine(angle), 15);
}

/* value[0..n), the prepared sample, becomes the modulated one. Products
 * truncate toward zero, so that the map of an opposite wave is the opposite
 * one and the mean of the modulation stays zero. The working array of phases is
 * the caller's and is overwritten with the waves' heights. */
TREMOLO_PART void tremolo_modulate(int32_t *value, const struct tremolo_study *study,
                                   const struct tremolo_round *round, uint32_t *phase)
{
    unsigned count = tremolo_study_coordinates(study);
    const int16_t *entry = round->vectors;
    unsigned i;
    unsigned j;
    for (j = 0; j < study->vectors; j++, entry += study->dimension) {
        phase[j] = (uint32_t)wave_height(value, entry, phase[j], study);
    }
    for (i = 0; i < count; i++) {
        value[i] = tremolo_product_down(value[i], study->keep, 15);
    }
    entry = round->vectors;
    for (j = 0; j < study->vectors; j++) {
        for (i = 0; i < study->dimension; i++) {
            value[i] += tremolo_product_down((int32_t)phase[j], *entry++, 14);
        }
    }
}

#else
typedef int tremolo_modulate_is_left_out;
#endif
