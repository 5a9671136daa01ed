/* fuzz_moments.c -- the decoder of serialised moments.
 *
 * Property: whatever is accepted encodes to exactly the bytes it came from.
 * The last eight bytes are replaced by the right checksum in every second
 * input, or else no mutation would ever get past it. */
#include <string.h>

#include "fuzz.h"
#include "moments.h"

static void put_checksum(uint8_t *bytes, size_t length)
{
    uint64_t crc = UINT64_MAX;
    for (size_t i = 0; i + 8 < length; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? UINT64_C(0xC96C5795D7870F42) : 0);
        }
    }
    for (int i = 0; i < 8; i++) {
        bytes[length - 8 + (size_t)i] = (uint8_t)(~crc >> (8 * i));
    }
}

static void check(const uint8_t *bytes, size_t length)
{
    struct tremolo_moments *moments = NULL;
    if (tremolo_moments_decode(&moments, bytes, length) != TREMOLO_OK) {
        return;
    }
    uint8_t *again = malloc(length);
    if (again == NULL || tremolo_moments_encoded_bytes(moments) != length ||
        tremolo_moments_encode(moments, again, length) != TREMOLO_OK ||
        memcmp(bytes, again, length) != 0) {
        abort();
    }
    free(again);
    tremolo_moments_free(moments);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    check(bytes, length);
    if (length < 9) {
        return 0;
    }
    uint8_t *repaired = malloc(length);
    if (repaired != NULL) {
        memcpy(repaired, bytes, length);
        put_checksum(repaired, length);
        check(repaired, length);
    }
    free(repaired);
    return 0;
}
