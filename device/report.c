/* report.c -- the bytes that leave the device, and reading them back.
 *
 * Deterministic CBOR (RFC 8949, section 4.2): one array, shortest heads.
 *
 *     86 or 87           array of 6, or of 7 with a MAC
 *     01                 version
 *     50 <16 bytes>      study tag: first half of the study's 32-byte id
 *     <uint>             round
 *     50 <16 bytes>      report id, random
 *     <int> or f6        public response in -32767..32767, or null
 *     <bytes>            coordinates, wire_bits each, big-endian bit order,
 *                        two's complement, last byte filled with zero bits
 *     50 <16 bytes>      SipHash-2-4-128 of the 32-byte study id and of all
 *                        bytes before this item
 *
 * docs/wire-format.md is normative; the decoder accepts nothing else. */
#include "parts.h"

enum {
    VERSION = 1,
    MAJOR_UINT = 0x00,
    MAJOR_NEGATIVE = 0x20,
    MAJOR_BYTES = 0x40,
    HEAD_ARRAY_6 = 0x86,
    HEAD_BYTES_16 = MAJOR_BYTES + 16,
    NULL_ITEM = 0xf6,
};

/* ------------------------------------------------------------- encoding */

static uint8_t *put_head(uint8_t *out, unsigned major, uint32_t value)
{
    unsigned extra = value < 24 ? 0 : value < 256 ? 1 : value < 65536 ? 2 : 4;
    static const uint8_t marks[5] = {0, 24, 25, 0, 26};
    *out++ = (uint8_t)(major | (extra == 0 ? value : marks[extra]));
    while (extra-- > 0) {
        *out++ = (uint8_t)(value >> (8 * extra));
    }
    return out;
}

static uint8_t *put_16_bytes(uint8_t *out, const uint8_t *bytes)
{
    *out++ = HEAD_BYTES_16;
    tremolo_bytes_copy(out, bytes, 16);
    return out + 16;
}

static uint8_t *put_response(uint8_t *out, const struct tremolo_study *study, int32_t response)
{
    if (study->response == TREMOLO_RESPONSE_PRIVATE) {
        *out++ = NULL_ITEM;
        return out;
    }
    return response < 0 ? put_head(out, MAJOR_NEGATIVE, (uint32_t)(-1 - response))
                        : put_head(out, MAJOR_UINT, (uint32_t)response);
}

static unsigned packed_bytes(const struct tremolo_study *study)
{
    return (tremolo_study_coordinates(study) * study->wire_bits + 7) / 8;
}

static uint8_t *put_coordinates(uint8_t *out, const struct tremolo_study *study,
                                const int32_t *value)
{
    unsigned count = tremolo_study_coordinates(study);
    uint32_t mask = (UINT32_C(1) << study->wire_bits) - 1;
    uint32_t waiting = 0;
    unsigned bits = 0;
    out = put_head(out, MAJOR_BYTES, packed_bytes(study));
    while (count-- > 0) {
        waiting = waiting << study->wire_bits | ((uint32_t)*value++ & mask);
        for (bits += study->wire_bits; bits >= 8; bits -= 8) {
            *out++ = (uint8_t)(waiting >> (bits - 8));
        }
    }
    if (bits > 0) {
        *out++ = (uint8_t)(waiting << (8 - bits));
    }
    return out;
}

/* Write a report of at most TREMOLO_MAX_REPORT_BYTES and return its length.
 * value holds the coordinates on the wire grid, within wire_bits. */
TREMOLO_PART size_t tremolo_report_encode(uint8_t *out, const struct tremolo_study *study,
                                          uint32_t round, const uint8_t *id, int32_t response,
                                          const int32_t *value, const uint8_t *mac_key)
{
    uint8_t *start = out;
    *out++ = (uint8_t)(HEAD_ARRAY_6 + (mac_key != NULL));
    *out++ = VERSION;
    out = put_16_bytes(out, study->id);
    out = put_head(out, MAJOR_UINT, round);
    out = put_16_bytes(out, id);
    out = put_response(out, study, response);
    out = put_coordinates(out, study, value);
#ifndef TREMOLO_WITHOUT_MAC
    if (mac_key != NULL) {
        *out = HEAD_BYTES_16;
        tremolo_report_mac(out + 1, mac_key, study, start, (size_t)(out - start));
        out += 1 + TREMOLO_MAC_BYTES;
    }
#endif
    return (size_t)(out - start);
}

/* ------------------------------------------------------------- decoding */

/* A cursor that turns sticky once anything is wrong: at == NULL. */
struct reader {
    const uint8_t *at;
    const uint8_t *end;
};

static const uint8_t *take(struct reader *in, size_t length)
{
    const uint8_t *bytes = in->at;
    if (bytes == NULL || (size_t)(in->end - bytes) < length) {
        in->at = NULL;
        return NULL;
    }
    in->at = bytes + length;
    return bytes;
}

/* One head in its shortest form: its value, and its major type in *major. */
static uint32_t take_head(struct reader *in, unsigned *major)
{
    const uint8_t *first = take(in, 1);
    const uint8_t *rest;
    uint32_t value = 0;
    unsigned extra;
    unsigned i;
    if (first == NULL) {
        return 0;
    }
    *major = *first & 0xe0u;
    value = *first & 0x1fu;
    if (value < 24) {
        return value;
    }
    extra = 1u << (value - 24);
    rest = value <= 26 ? take(in, extra) : NULL;
    if (rest == NULL) {
        in->at = NULL;
        return 0;
    }
    value = 0;
    for (i = 0; i < extra; i++) {
        value = value << 8 | rest[i];
    }
    if (value < (extra == 1 ? 24u : extra == 2 ? 256u : 65536u)) {
        in->at = NULL;
    }
    return value;
}

static uint32_t take_of(struct reader *in, unsigned wanted)
{
    unsigned major = wanted;
    uint32_t value = take_head(in, &major);
    if (major != wanted) {
        in->at = NULL;
    }
    return value;
}

static const uint8_t *take_16_bytes(struct reader *in)
{
    if (take_of(in, MAJOR_BYTES) != 16) {
        in->at = NULL;
    }
    return take(in, 16);
}

static void take_response(struct reader *in, struct tremolo_report *report)
{
    unsigned major = MAJOR_UINT;
    uint32_t value;
    if (in->at != NULL && in->at < in->end && *in->at == NULL_ITEM) {
        in->at++;
        return;
    }
    value = take_head(in, &major);
    report->has_response = 1;
    if (major == MAJOR_NEGATIVE && value < TREMOLO_RESPONSE_MAX) {
        report->response = (int16_t)(-1 - (int32_t)value);
    } else if (major == MAJOR_UINT && value <= TREMOLO_RESPONSE_MAX) {
        report->response = (int16_t)value;
    } else {
        in->at = NULL;
    }
}

static void take_coordinates(struct reader *in, struct tremolo_report *report)
{
    uint32_t length = take_of(in, MAJOR_BYTES);
    if (length == 0 || length > 2 * TREMOLO_MAX_COORDINATES) {
        in->at = NULL;
        return;
    }
    report->coordinate_bytes = (uint16_t)length;
    report->coordinates = take(in, length);
}

static enum tremolo_status decode(struct tremolo_report *report, const uint8_t *bytes,
                                  size_t length)
{
    struct reader in;
    if (length < 2 || length > TREMOLO_MAX_REPORT_BYTES ||
        (bytes[0] != HEAD_ARRAY_6 && bytes[0] != HEAD_ARRAY_6 + 1)) {
        return TREMOLO_MALFORMED;
    }
    if (bytes[1] != VERSION) {
        return TREMOLO_UNKNOWN_VERSION;
    }
    in.at = bytes + 2;
    in.end = bytes + length;
    report->study_tag = take_16_bytes(&in);
    report->round = take_of(&in, MAJOR_UINT);
    report->id = take_16_bytes(&in);
    take_response(&in, report);
    take_coordinates(&in, report);
    if (in.at != NULL) {
        report->authenticated_bytes = (uint16_t)(in.at - bytes);
    }
    if (bytes[0] != HEAD_ARRAY_6) {
        report->mac = take_16_bytes(&in);
    }
    return in.at == in.end ? TREMOLO_OK : TREMOLO_MALFORMED;
}

enum tremolo_status tremolo_report_decode(struct tremolo_report *report, const uint8_t *bytes,
                                          size_t length)
{
    enum tremolo_status status;
    if (report == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    tremolo_bytes_wipe(report, sizeof *report);
    if (bytes == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    status = decode(report, bytes, length);
    if (status != TREMOLO_OK) {
        tremolo_bytes_wipe(report, sizeof *report);
    }
    return status;
}

/* The next wire_bits bits as a two's complement integer; *place counts bits. */
static int32_t unpack_one(const uint8_t *packed, uint32_t *place, unsigned wire_bits)
{
    uint32_t value = 0;
    unsigned bit;
    for (bit = 0; bit < wire_bits; bit++, ++*place) {
        value = value << 1 | (packed[*place >> 3] >> (7 - (*place & 7)) & 1u);
    }
    return (int32_t)value - (int32_t)((value >> (wire_bits - 1)) << wire_bits);
}

static enum tremolo_status unpack(int16_t *values, const struct tremolo_report *report,
                                  const struct tremolo_study *study)
{
    unsigned count = tremolo_study_coordinates(study);
    int32_t lowest = -(INT32_C(1) << (study->wire_bits - 1));
    uint32_t place = 0;
    unsigned i;
    for (i = 0; i < count; i++) {
        int32_t value = unpack_one(report->coordinates, &place, study->wire_bits);
        if (value == lowest) {
            return TREMOLO_OUT_OF_BOUNDS; /* the device saturates symmetrically */
        }
        values[i] = (int16_t)value;
    }
    if ((place & 7) != 0 && (uint8_t)(report->coordinates[place >> 3] << (place & 7)) != 0) {
        return TREMOLO_MALFORMED; /* filling bits must be zero */
    }
    return TREMOLO_OK;
}

enum tremolo_status tremolo_report_unpack(int16_t *values, size_t capacity,
                                          const struct tremolo_report *report,
                                          const struct tremolo_study *study)
{
    enum tremolo_status status;
    if (values == NULL || report == NULL || study == NULL || report->coordinates == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    tremolo_bytes_wipe(values, capacity * sizeof *values);
    if (capacity < tremolo_study_coordinates(study)) {
        return TREMOLO_SHORT_BUFFER;
    }
    if (tremolo_bytes_differ(report->study_tag, study->id, TREMOLO_STUDY_TAG_BYTES)) {
        return TREMOLO_WRONG_STUDY;
    }
    if (report->has_response == study->response ||
        report->coordinate_bytes != packed_bytes(study)) {
        return TREMOLO_MALFORMED;
    }
    status = unpack(values, report, study);
    if (status != TREMOLO_OK) {
        tremolo_bytes_wipe(values, capacity * sizeof *values);
    }
    return status;
}

#ifndef TREMOLO_WITHOUT_MAC
enum tremolo_status tremolo_report_verify(const struct tremolo_report *report,
                                          const uint8_t *bytes, const struct tremolo_study *study,
                                          const uint8_t *mac_key)
{
    uint8_t mac[TREMOLO_MAC_BYTES];
    int differ;
    if (report == NULL || bytes == NULL || study == NULL || mac_key == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (report->mac == NULL) {
        return TREMOLO_BAD_MAC;
    }
    tremolo_report_mac(mac, mac_key, study, bytes, report->authenticated_bytes);
    differ = tremolo_bytes_differ(mac, report->mac, sizeof mac);
    tremolo_bytes_wipe(mac, sizeof mac);
    return differ ? TREMOLO_BAD_MAC : TREMOLO_OK;
}
#endif
