/* bytes.h -- the few byte operations a freestanding core needs.
 *
 * The core may not call memcpy and friends: a bare-metal link may lack them,
 * and an optimised memset of dead storage is no wipe. Inline, because they
 * are smaller than a call or sit in inner loops. */
#ifndef TREMOLO_DEVICE_BYTES_H
#define TREMOLO_DEVICE_BYTES_H

#include <stddef.h>
#include <stdint.h>

static inline void tremolo_bytes_copy(uint8_t *to, const uint8_t *from, size_t length)
{
    while (length-- > 0) {
        *to++ = *from++;
    }
}

/* Non-zero when any byte differs; the time does not depend on which. */
static inline int tremolo_bytes_differ(const uint8_t *a, const uint8_t *b, size_t length)
{
    int differing = 0;
    while (length-- > 0) {
        differing |= *a++ ^ *b++;
    }
    return differing;
}

/* Through a volatile pointer, so that the compiler may not drop the stores,
 * which no later code reads; in wide steps where the compiler has them. */
static inline void tremolo_bytes_wipe(void *object, size_t length)
{
    volatile uint8_t *byte = (volatile uint8_t *)object;
#if TREMOLO_LANES > 1
    typedef uint32_t wide __attribute__((vector_size(16), may_alias, aligned(1)));
    static const wide zero = {0, 0, 0, 0};
    for (; length >= sizeof(wide); length -= sizeof(wide), byte += sizeof(wide)) {
        *(volatile wide *)byte = zero;
    }
#endif
    while (length-- > 0) {
        *byte++ = 0;
    }
}

/* Little-endian 32-bit integers. */
static inline uint32_t tremolo_bytes_load(const uint8_t *from)
{
    uint32_t value = 0;
    unsigned i;
    for (i = 4; i-- > 0;) {
        value = value << 8 | from[i];
    }
    return value;
}

static inline void tremolo_bytes_store(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
    to[2] = (uint8_t)(value >> 16);
    to[3] = (uint8_t)(value >> 24);
}

#endif
