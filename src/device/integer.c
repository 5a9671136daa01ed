/* integer.c -- exact division and square root without a divide instruction.
 *
 * Small cores have no divider, and a library division would be an outside
 * symbol. All functions are exact; the proofs of docs/reference/proofs.md rest on their
 * rounding directions. They work on the sample, so each takes the same
 * instructions whatever its arguments: choices are masks, and loops have a
 * fixed length on hosts too, where a divider would take less time for less. */
#include "parts.h"

/* a * b by 16-bit halves: the smallest cores multiply 32 by 32 to 32 bits, and
 * the compiler's helper for more is longer and slower than this. Every sum
 * stays below 2^32, as (2^16 - 1)^2 + 2^16 - 1 does. */
TREMOLO_PART uint64_t tremolo_product(uint32_t a, uint32_t b)
{
#if TREMOLO_LANES > 1
    return (uint64_t)a * b;
#else
    uint32_t low = (a & 0xffff) * (b & 0xffff);
    uint32_t middle = (a >> 16) * (b & 0xffff) + (low >> 16);
    uint32_t other = (a & 0xffff) * (b >> 16) + (middle & 0xffff);
    uint32_t high = (a >> 16) * (b >> 16) + (middle >> 16) + (other >> 16);
    return (uint64_t)high << 32 | other << 16 | (low & 0xffff);
#endif
}

/* floor(numerator / divisor) for 0 < divisor < 2^31 and a quotient below 2^32.
 *
 * The upper word is less than the divisor then. The lower word gives a bit to
 * the rest from its top and takes one of the quotient at its end; the rest
 * stays below 2^32, and its highest bit says whether the divisor was too much. */
TREMOLO_PART uint32_t tremolo_divide(uint64_t numerator, uint32_t divisor)
{
    uint32_t rest = (uint32_t)(numerator >> 32);
    uint32_t low = (uint32_t)numerator;
    unsigned i;
    for (i = 0; i < 32; i++) {
        uint32_t missing;
        rest = 2 * rest + (low >> 31) - divisor;
        missing = tremolo_sign(rest);
        rest += divisor & missing;
        low = 2 * low + 1 + missing;
    }
    return low;
}

#ifndef TREMOLO_WITHOUT_BALLOT

/* The largest r with r * r <= square, for square < 2^31. A trial root is below 3 * 2^14, or it is
 * 2^15 itself, so no difference leaves 32 bits. */
TREMOLO_PART uint32_t tremolo_root(uint32_t square)
{
    uint32_t root = 0;
    uint32_t bit;
    for (bit = UINT32_C(1) << 15; bit != 0; bit >>= 1) {
        uint32_t larger = root | bit;
        root |= bit & ~tremolo_sign(square - larger * larger);
    }
    return root;
}

#endif

/* Twice the distance of `raw` from the middle of its bounds, cut at -reach and
 * reach, plus reach. */
TREMOLO_PART uint64_t tremolo_place(int32_t raw, const struct tremolo_bounds *bounds,
                                    uint64_t reach)
{
    uint64_t place = 2 * (uint64_t)raw - (uint64_t)bounds->low - (uint64_t)bounds->high + reach;
    uint64_t beyond;
    place &= ~tremolo_mask(place);
    beyond = place - 2 * reach;
    return 2 * reach + (beyond & tremolo_mask(beyond));
}

#ifndef TREMOLO_WITHOUT_SAMPLE

/* floor(a b / 2^shift) modulo 2^32, for 0 < shift < 32. */
TREMOLO_PART uint32_t tremolo_product_shifted(uint32_t a, uint32_t b, unsigned shift)
{
    uint64_t product = tremolo_product(a, b);
    return (uint32_t)(product >> 32) << (32 - shift) | (uint32_t)product >> shift;
}

/* The smallest r with r * r >= square, for square <= 2^62. */
TREMOLO_PART uint32_t tremolo_root_up(uint64_t square)
{
    uint32_t below = 0;
    uint32_t bit;
    for (bit = UINT32_C(1) << 30; bit != 0; bit >>= 1) {
        uint32_t larger = below | bit;
        below |= bit & (uint32_t)tremolo_mask(tremolo_product(larger, larger) - square);
    }
    return below - (uint32_t)tremolo_mask(0 - square);
}

/* value * factor / 2^shift truncated toward zero, for 0 < shift < 32 and
 * results below 2^31. An opposite argument gives the opposite result, to the
 * bit. */
TREMOLO_PART int32_t tremolo_product_down(int32_t value, int32_t factor, unsigned shift)
{
    uint32_t value_sign = tremolo_sign((uint32_t)value);
    uint32_t factor_sign = tremolo_sign((uint32_t)factor);
    uint32_t size = tremolo_product_shifted(tremolo_signed((uint32_t)value, value_sign),
                                            tremolo_signed((uint32_t)factor, factor_sign), shift);
    return (int32_t)tremolo_signed(size, value_sign ^ factor_sign);
}

#endif
