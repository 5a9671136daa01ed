/* sample.c -- from raw measurements to a clipped integer vector.
 *
 * What the noise is calibrated for is decided here, so every rounding has a
 * direction and a reason. n is the number of coordinates, C the clip radius,
 * S = ceil(sqrt n); lengths are in fine units.
 *
 * Any two people. The clip multiplies by a ratio rounded down, with the norm
 * rounded up, and truncates toward zero: each coordinate is at most
 * |x_i| C / |x| in size, so |clip(x)| <= C exactly. The shrink by 1 - alpha
 * truncates toward zero too. Two people differ by at most 2 (1 - alpha) C.
 *
 * Distance r. Rounding to nearest moves two neighbours apart by at most 1 a
 * coordinate: S. The exact projection on the ball moves them no further
 * apart; ours differs from it by C (ceil|x| - |x|) / ceil|x| < 1 for the norm
 * and |x| 2^-30 <= sqrt(257) / 64 < 0.251 for the ratio, twice: 2.502, and the
 * truncation adds S.
 * The shrink scales all this and its truncation adds S. A host that rounds
 * floating-point values to 2^31 steps first adds S/64. Together
 *
 *     (1 - alpha)(r + S/64 + S + S + 2.502) + S  <=  (1 - alpha) r + 3 S + 4,
 *
 * which is what tremolo_study_sensitivity() charges (S <= 17). */
#include "parts.h"

#ifndef TREMOLO_WITHOUT_SAMPLE

/* Round to nearest: floor(2z + 1) / 2 floored is floor(z + 1/2). unit is at
 * most 2^24, so the quotient fits 32 bits. */
TREMOLO_PART int32_t tremolo_scale(int32_t raw, const struct tremolo_bounds *bounds, uint32_t unit)
{
    uint32_t width = (uint32_t)bounds->high - (uint32_t)bounds->low;
    uint32_t above_low = (uint32_t)tremolo_place(raw, bounds, width);
    uint32_t twice = tremolo_divide(tremolo_product(2 * unit, above_low), width);
    return (int32_t)((twice + 1) >> 1) - (int32_t)unit;
}

/* A sample within the radius is multiplied, too: by exactly one. */
static TREMOLO_APART void clip(int32_t *value, unsigned count, uint32_t radius)
{
    uint64_t square = 0;
    uint32_t beyond;
    uint32_t ratio;
    unsigned i;
    for (i = 0; i < count; i++) {
        uint32_t size = tremolo_signed((uint32_t)value[i], tremolo_sign((uint32_t)value[i]));
        square += tremolo_product(size, size);
    }
    beyond = tremolo_root_up(square) - radius;
    ratio = tremolo_divide((uint64_t)radius << 30, radius + (beyond & ~tremolo_sign(beyond)));
    for (i = 0; i < count; i++) {
        value[i] = tremolo_product_down(value[i], (int32_t)ratio, 30);
    }
}

/* value[0..n) becomes the scaled, clipped sample; the shrink by 1 - alpha is
 * part of the client map (modulate.c). */
TREMOLO_PART void tremolo_sample_prepare(int32_t *value, const struct tremolo_study *study,
                                         const struct tremolo_sample *sample)
{
    unsigned i;
    for (i = 0; i < study->dimension; i++) {
        value[i] = tremolo_scale(sample->features[i], &study->bounds[i], study->unit);
    }
    if (study->response == TREMOLO_RESPONSE_PRIVATE) {
        value[i++] = tremolo_scale(sample->response, &study->response_bounds, study->unit);
    }
    clip(value, i, study->clip);
}

#else
typedef int tremolo_sample_is_left_out;
#endif
