/* bytes_order.h -- big-endian numbers in stored states. */
#ifndef SERVER_BYTES_ORDER_H
#define SERVER_BYTES_ORDER_H

#include <stdint.h>
#include <string.h>

static inline uint8_t *bytes_put_u64(uint8_t *out, uint64_t value)
{
    for (int shift = 56; shift >= 0; shift -= 8) {
        *out++ = (uint8_t)(value >> shift);
    }
    return out;
}

static inline uint64_t bytes_get_u64(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static inline uint8_t *bytes_put_double(uint8_t *out, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bytes_put_u64(out, bits);
}

static inline double bytes_get_double(const uint8_t *bytes)
{
    uint64_t bits = bytes_get_u64(bytes);
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

#endif
