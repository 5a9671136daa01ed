/* encoder.h -- big-endian numbers of one to eight bytes in stored states.
 *
 * An encoder grows by itself and keeps its first failure: put everything, then look at `status`
 * once. A decoder likewise: what is read past the end is zero, and `failed` says so at the end.
 *
 *     struct encoder out = {0};
 *     encode_number(&out, position, 8);
 *     encode_bytes(&out, text, length);
 *     if (out.status == TREMOLO_OK) ... out.bytes, out.length
 *     free(out.bytes); */
#ifndef SERVER_ENCODER_H
#define SERVER_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "moments.h"

struct encoder {
    uint8_t *bytes; /* the caller frees them, after a failure too */
    size_t length;
    size_t capacity;
    enum tremolo_status status;
};

/* Room for `size` bytes that the caller fills; NULL after a failure. */
uint8_t *encode_room(struct encoder *encoder, size_t size);
void encode_bytes(struct encoder *encoder, const void *bytes, size_t size);
void encode_number(struct encoder *encoder, uint64_t value, size_t size);
void encode_double(struct encoder *encoder, double number); /* its bits */

/* The bits of `count` numbers, of 2, 4 or 8 bytes each. */
void encode_numbers(struct encoder *encoder, const void *numbers, size_t size, size_t count);
void encode_moments(struct encoder *encoder, const struct tremolo_moments *moments);

struct decoder {
    const uint8_t *at;
    size_t left;
    bool failed;
};

/* NULL, and failed, when so many are not there. */
const uint8_t *decode_bytes(struct decoder *decoder, size_t size);
uint64_t decode_number(struct decoder *decoder, size_t size);
double decode_double(struct decoder *decoder);
void decode_numbers(struct decoder *decoder, void *numbers, size_t size, size_t count);

static inline uint64_t bytes_get_u64(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static inline void bytes_put_u64(uint8_t *bytes, uint64_t value)
{
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(value >> (56 - 8 * i));
    }
}

#endif
