/* encoder.c -- numbers into bytes and back, with the first failure kept.
 *
 * Stored states are short lists of numbers, and a check after each would be longer than the format. So both
 * directions latch: after a failure an encoder takes nothing and a decoder returns zeros, and the caller
 * looks once, at the end. A decoder never reads behind its bytes, whatever lengths they claim. */
#include "encoder.h"

#include <stdlib.h>
#include <string.h>

/* Grows to twice the size, so that many small numbers cost few allocations. After a failure
 * every call does nothing. */
uint8_t *encode_room(struct encoder *encoder, size_t size)
{
    if (encoder->status != TREMOLO_OK) {
        return NULL;
    }
    if (encoder->length + size > encoder->capacity) {
        size_t needed = encoder->length + size;
        size_t capacity = needed > 2 * encoder->capacity ? needed : 2 * encoder->capacity;
        uint8_t *grown = realloc(encoder->bytes, capacity);
        if (grown == NULL) {
            encoder->status = TREMOLO_NO_MEMORY;
            return NULL;
        }
        encoder->bytes = grown;
        encoder->capacity = capacity;
    }
    uint8_t *at = encoder->bytes + encoder->length;
    encoder->length += size;
    return at;
}

void encode_bytes(struct encoder *encoder, const void *bytes, size_t size)
{
    uint8_t *at = encode_room(encoder, size);
    if (at != NULL && size > 0) {
        memcpy(at, bytes, size);
    }
}

/* Big-endian, the last `size` bytes of the value. */
void encode_number(struct encoder *encoder, uint64_t value, size_t size)
{
    uint8_t *at = encode_room(encoder, size);
    for (size_t i = 0; at != NULL && i < size; i++) {
        at[i] = (uint8_t)(value >> 8 * (size - 1 - i));
    }
}

/* By its bits: exact, NAN included. */
void encode_double(struct encoder *encoder, double number)
{
    encode_numbers(encoder, &number, sizeof number, 1);
}

/* The last byte of a number comes first on a little-endian machine: its place there has all bits of the other
 * end's, because sizes are powers of two. */
static size_t place_of(size_t i, size_t size)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? i ^ (size - 1) : i;
}

void encode_numbers(struct encoder *encoder, const void *numbers, size_t size, size_t count)
{
    const uint8_t *from = numbers;
    uint8_t *at = encode_room(encoder, size * count);
    for (size_t i = 0; at != NULL && i < size * count; i++) {
        at[i] = from[place_of(i, size)];
    }
}

void encode_moments(struct encoder *encoder, const struct tremolo_moments *moments)
{
    size_t length = tremolo_moments_encoded_bytes(moments);
    uint8_t *at = encode_room(encoder, length);
    if (at != NULL) {
        encoder->status = tremolo_moments_encode(moments, at, length);
    }
}

/* Once something was missing, everything after it is missing. */
const uint8_t *decode_bytes(struct decoder *decoder, size_t size)
{
    if (decoder->failed || decoder->left < size) {
        decoder->failed = true;
        return NULL;
    }
    const uint8_t *at = decoder->at;
    decoder->at += size;
    decoder->left -= size;
    return at;
}

uint64_t decode_number(struct decoder *decoder, size_t size)
{
    const uint8_t *at = decode_bytes(decoder, size);
    uint64_t value = 0;
    for (size_t i = 0; at != NULL && i < size; i++) {
        value = value << 8 | at[i];
    }
    return value;
}

double decode_double(struct decoder *decoder)
{
    double number;
    decode_numbers(decoder, &number, sizeof number, 1);
    return number;
}

void decode_numbers(struct decoder *decoder, void *numbers, size_t size, size_t count)
{
    const uint8_t *at = decode_bytes(decoder, size * count);
    uint8_t *to = numbers;
    for (size_t i = 0; i < size * count; i++) {
        to[place_of(i, size)] = at != NULL ? at[i] : 0;
    }
}
