/* modulate.c -- the client map (1-alpha) x + amplitude sum_j cos(...) v_j.
 *
 * The angle of vector j is omega <x, v_j> plus a phase that is uniform on the
 * 2^32 angles. Their sum modulo a turn is again uniform whatever x is, and
 * exactly so in integers: the modulation is independent of the sample, so
 * how the angle is rounded is no matter of privacy. */
#include "parts.h"

/* The height of one wave in fine units. The inner product is in 2^-14 fine
 * units and frequency in 2^-40 turns, so an angle in 2^-32 turns has 22 bits
 * too many. The value's halves keep each product within 32 bits; the angle is
 * taken modulo a turn, so what overflows in it does not matter. */
static int32_t wave_height(const int32_t *value, const int16_t *vector, uint32_t phase,
                           const struct tremolo_study *study)
{
    int64_t product = 0;
    uint32_t angle;
    unsigned i;
    for (i = 0; i < study->dimension; i++) {
        product +=
            (int64_t)((value[i] >> 16) * vector[i]) * 65536 + (value[i] & 0xffff) * vector[i];
    }
    angle = phase + ((uint32_t)(product >> 32) * study->frequency << 10) +
            tremolo_product_shifted((uint32_t)product, study->frequency, 22);
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
