/* bytes.c -- the few byte operations a freestanding core needs.
 *
 * The core may not call memcpy and friends: a bare-metal link may lack them,
 * and an optimised memset of dead storage is no wipe. */
#include "parts.h"

TREMOLO_PART void tremolo_bytes_copy(uint8_t *to, const uint8_t *from, size_t length)
{
    while (length-- > 0) {
        *to++ = *from++;
    }
}

/* Non-zero when any byte differs; the time does not depend on which. */
TREMOLO_PART int tremolo_bytes_differ(const uint8_t *a, const uint8_t *b, size_t length)
{
    unsigned differing = 0;
    while (length-- > 0) {
        differing |= (unsigned)(*a++ ^ *b++);
    }
    return differing != 0;
}

/* Through a volatile pointer, so that the compiler may not drop the stores
 * although nobody reads them. */
TREMOLO_PART void tremolo_bytes_wipe(void *object, size_t length)
{
    volatile uint8_t *byte = (volatile uint8_t *)object;
    while (length-- > 0) {
        *byte++ = 0;
    }
}

/* Little-endian integers of one to four bytes. */
TREMOLO_PART uint32_t tremolo_bytes_load(const uint8_t *from, unsigned length)
{
    uint32_t value = 0;
    while (length-- > 0) {
        value = value << 8 | from[length];
    }
    return value;
}

TREMOLO_PART void tremolo_bytes_store(uint8_t *to, uint32_t value, unsigned length)
{
    while (length-- > 0) {
        *to++ = (uint8_t)value;
        value >>= 8;
    }
}
