/* reference_report.h -- the report's bytes written a second time, plainly.
 *
 * docs/reference/wire-format.md allows one encoding of a report. This
 * writer makes it from the fields of a decoded report; whatever the decoder accepts must come
 * out of here as the same bytes. It shares no code with device/report.c. */
#ifndef TREMOLO_TESTS_REFERENCE_REPORT_H
#define TREMOLO_TESTS_REFERENCE_REPORT_H

#include <string.h>

#include "tremolo_device.h"

struct reference_bytes {
    size_t length;
    uint8_t at[TREMOLO_MAX_REPORT_BYTES];
};

static inline void reference_put(struct reference_bytes *out, const uint8_t *bytes, size_t length)
{
    memcpy(out->at + out->length, bytes, length);
    out->length += length;
}

/* A CBOR head of the given major type (0 integer, 2 bytes, 4 array). */
static inline void reference_head(struct reference_bytes *out, unsigned major, unsigned value)
{
    uint8_t head[3] = {(uint8_t)(major << 5 | (value < 24 ? value : value < 256 ? 24 : 25)), 0, 0};
    if (value < 24) {
        reference_put(out, head, 1);
    } else if (value < 256) {
        head[1] = (uint8_t)value;
        reference_put(out, head, 2);
    } else {
        head[1] = (uint8_t)(value / 256);
        head[2] = (uint8_t)(value % 256);
        reference_put(out, head, 3);
    }
}

static inline void reference_string(struct reference_bytes *out, const uint8_t *bytes,
                                    unsigned length)
{
    reference_head(out, 2, length);
    reference_put(out, bytes, length);
}

/* Always three bytes. */
static inline void reference_number(struct reference_bytes *out, unsigned value)
{
    uint8_t item[3] = {0x19, (uint8_t)(value / 256), (uint8_t)(value % 256)};
    reference_put(out, item, 3);
}

static inline void reference_encode(struct reference_bytes *out,
                                    const struct tremolo_report *report)
{
    static const uint8_t null_item[1] = {0xf6};
    out->length = 0;
    reference_head(out, 4, report->mac != NULL ? 7 : 6);
    reference_head(out, 0, 2);
    reference_string(out, report->study_tag, TREMOLO_STUDY_TAG_BYTES);
    reference_number(out, report->round);
    reference_string(out, report->id, TREMOLO_REPORT_ID_BYTES);
    if (report->has_response) {
        reference_number(out, (unsigned)(report->response + TREMOLO_RESPONSE_MAX));
    } else {
        reference_put(out, null_item, 1);
    }
    reference_string(out, report->coordinates, report->coordinate_bytes);
    if (report->mac != NULL) {
        reference_string(out, report->mac, TREMOLO_MAC_BYTES);
    }
}

/* Pack wire values bit by bit, most significant first. Returns the bytes. */
static inline unsigned reference_pack(uint8_t *out, const int16_t *values, unsigned count,
                                      unsigned wire_bits)
{
    unsigned bits = count * wire_bits;
    memset(out, 0, (bits + 7) / 8);
    for (unsigned bit = 0; bit < bits; bit++) {
        uint16_t value = (uint16_t)values[bit / wire_bits];
        if (value >> (wire_bits - 1 - bit % wire_bits) & 1) {
            out[bit / 8] = (uint8_t)(out[bit / 8] | 0x80 >> bit % 8);
        }
    }
    return (bits + 7) / 8;
}

#endif
