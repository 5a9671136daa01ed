/* cosine.c -- integer cosine of a binary angle.
 *
 * The angle is a fraction of a turn in 2^-32; the result is in 2^-15. A
 * polynomial of degree seven approximates the sine of the first quadrant and
 * the others are mirrored, so cos(a + half a turn) = -cos(a) to the bit and
 * the mean over all angles is exactly zero. The largest error over all 2^32
 * angles is below 1.9 units of 2^-15 (tests/unit/device/test_device_cosine.c). */
#include "parts.h"

#ifndef TREMOLO_WITHOUT_SAMPLE

/* sin(pi/2 z) for z in 0..1, both in 2^-15; coefficients of z, z^3, z^5, z^7
 * chosen by search for the least error after all roundings. */
static uint32_t quadrant_sine(uint32_t z)
{
    uint32_t z2 = (z * z + (1u << 14)) >> 15;
    uint32_t t = (136 * z2 + (1u << 14)) >> 15;
    t = ((2592 - t) * z2 + (1u << 14)) >> 15;
    t = ((21159 - t) * z2 + (1u << 14)) >> 15;
    return ((51471 - t) * z + (1u << 14)) >> 15;
}

TREMOLO_PART int32_t tremolo_cosine(uint32_t angle)
{
    const uint32_t quarter = UINT32_C(1) << 30;
    uint32_t shifted = angle + quarter;
    uint32_t mirrored = tremolo_sign(shifted << 1);
    uint32_t within = tremolo_signed(shifted & (quarter - 1), mirrored) + (quarter & mirrored);
    uint32_t sine = quadrant_sine((within + (1u << 14)) >> 15);
    return (int32_t)tremolo_signed(sine, tremolo_sign(shifted));
}

#else
typedef int tremolo_cosine_is_left_out;
#endif
