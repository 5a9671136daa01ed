/* integer.c -- exact division and square root without a divide instruction.
 *
 * Small cores have no divider, and a library division would be an outside
 * symbol. All functions are exact; the proofs of docs/privacy.md rest on their
 * rounding directions. Hosts, which compute several lanes, have wide registers
 * and get the same numbers from them. */
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

#ifndef TREMOLO_WITHOUT_SAMPLE

/* floor(a * n / w) for n <= w, 0 < w < 2^31, a < 2^31.
 *
 * The bits of a are taken from the top: quotient and remainder of the prefix
 * are doubled and, for a one, n is added. Invariant: prefix * n =
 * quotient * w + rest with rest < w; every sum stays below 2w < 2^32. */
TREMOLO_PART uint32_t tremolo_multiply_divide(uint32_t a, uint32_t n, uint32_t w)
{
#if TREMOLO_LANES > 1
    return (uint32_t)((uint64_t)a * n / w);
#else
    uint32_t quotient = 0;
    uint32_t rest = 0;
    uint32_t bit = UINT32_C(1) << 30;
    while (bit > a) {
        bit >>= 1;
    }
    for (; bit != 0; bit >>= 1) {
        quotient <<= 1;
        rest <<= 1;
        if (rest >= w) {
            rest -= w;
            quotient++;
        }
        if (a & bit) {
            rest += n;
            if (rest >= w) {
                rest -= w;
                quotient++;
            }
        }
    }
    return quotient;
#endif
}

/* floor(a b / 2^shift) modulo 2^32, for 0 < shift < 32. */
TREMOLO_PART uint32_t tremolo_product_shifted(uint32_t a, uint32_t b, unsigned shift)
{
    uint64_t product = tremolo_product(a, b);
    return (uint32_t)(product >> 32) << (32 - shift) | (uint32_t)product >> shift;
}

/* The smallest r with r * r >= square, for square < 2^62. */
TREMOLO_PART uint32_t tremolo_root_up(uint64_t square)
{
    uint32_t root = 0;
    uint32_t bit = UINT32_C(1) << 30;
#if TREMOLO_LANES > 1
    /* The root has half the bits of its square. */
    bit >>= 30 - (63 - __builtin_clzll(square | 1)) / 2;
#endif
    for (; bit != 0; bit >>= 1) {
        uint32_t larger = root | bit;
        if (tremolo_product(larger, larger) <= square) {
            root = larger;
        }
    }
    return tremolo_product(root, root) < square ? root + 1 : root;
}

/* value * factor / 2^shift truncated toward zero, for 0 < shift < 32 and
 * results below 2^31. An opposite argument gives the opposite result, to the
 * bit. */
TREMOLO_PART int32_t tremolo_product_down(int32_t value, int32_t factor, unsigned shift)
{
    int negative = (value ^ factor) < 0;
    uint32_t size = value < 0 ? 0 - (uint32_t)value : (uint32_t)value;
    uint32_t by = factor < 0 ? 0 - (uint32_t)factor : (uint32_t)factor;
    int32_t result = (int32_t)tremolo_product_shifted(size, by, shift);
    return negative ? -result : result;
}

#endif
