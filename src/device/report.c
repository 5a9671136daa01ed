/* report.c -- the bytes that leave the device, and reading them back.
 *
 * A report is one CBOR array; docs/reference/wire-format.md has its bytes and is normative. All
 * reports of a study have the same length, because a length that depends on the response would
 * give it away: that is why numbers take three bytes where CBOR has shorter forms. The decoder
 * accepts this one encoding and no other, so that a report cannot be changed without its id. */
#include "parts.h"

enum {
    VERSION = 2,
    HEAD_UINT_2 = 0x19,
    MAJOR_BYTES = 0x40,
    HEAD_ARRAY_6 = 0x86,
    HEAD_ARRAY_7 = 0x87, /* the MAC is the last item */
    HEAD_BYTES_16 = MAJOR_BYTES + 16,
    NULL_ITEM = 0xf6,
};

/* A build without MACs neither makes nor reads them. */
#ifdef TREMOLO_WITHOUT_MAC
#define WITH_MAC(condition) 0
#else
#define WITH_MAC(condition) (condition)
#endif

/* ------------------------------------------------------------- encoding */

static TREMOLO_APART uint8_t *put_number(uint8_t *out, uint32_t value)
{
    *out++ = HEAD_UINT_2;
    *out++ = (uint8_t)(value >> 8);
    *out++ = (uint8_t)value;
    return out;
}

static int32_t response_of(const struct tremolo_work *work)
{
#ifndef TREMOLO_WITHOUT_BALLOT
    if (tremolo_release(work->study) == TREMOLO_RELEASE_BALLOT) {
        return tremolo_ballot_response(work);
    }
#endif
#ifndef TREMOLO_WITHOUT_SAMPLE
    return tremolo_scale(work->sample->response, &work->study->response_bounds,
                         TREMOLO_RESPONSE_MAX);
#else
    return 0;
#endif
}

static uint8_t *put_response(uint8_t *out, const struct tremolo_work *work)
{
    if (work->study->response == TREMOLO_RESPONSE_PRIVATE) {
        *out++ = NULL_ITEM;
        return out;
    }
    return put_number(out, (uint32_t)(response_of(work) + TREMOLO_RESPONSE_MAX));
}

#ifndef TREMOLO_WITHOUT_SAMPLE

/* The head of a byte string in its shortest form. */
static TREMOLO_APART uint8_t *put_head(uint8_t *out, uint32_t length)
{
    if (length >= 256) {
        *out++ = MAJOR_BYTES | 25;
        *out++ = (uint8_t)(length >> 8);
    } else if (length >= 24) {
        *out++ = MAJOR_BYTES | 24;
    } else {
        length |= MAJOR_BYTES;
    }
    *out++ = (uint8_t)length;
    return out;
}

/* floor(sum / 2^shift + 1/2), saturating at the wire's symmetric ends. Noise
 * was rounded down, so this is the real sum rounded once to the wire grid.
 * C99 leaves >> of a negative number to the compiler; all we know of shift
 * arithmetically, and the vectors would show one that does not. */
static int32_t to_wire(int32_t sum, const struct tremolo_study *study)
{
    int32_t end = (INT32_C(1) << study->wire_bits >> 1) - 1;
    sum = (sum + (INT32_C(1) << study->wire_shift >> 1)) >> study->wire_shift;
    sum += (end - sum) & (int32_t)tremolo_sign((uint32_t)(end - sum));
    return sum - ((end + sum) & (int32_t)tremolo_sign((uint32_t)(end + sum)));
}

/* Most significant bits first; the last byte is filled with zeros. The top
 * `held` bits of `bits` wait for the rest of their byte. */
static TREMOLO_APART uint8_t *put_coordinates(uint8_t *out, const struct tremolo_work *work)
{
    const struct tremolo_study *study = work->study;
    unsigned count = tremolo_study_coordinates(study);
    uint32_t bits = 0;
    unsigned held = 0;
    unsigned i;
    for (i = 0; i < count; i++) {
        uint32_t wire = (uint32_t)to_wire(work->value[i] + work->noise[i], study);
        bits |= wire << (32 - study->wire_bits) >> held;
        for (held += study->wire_bits; held >= 8; held -= 8) {
            *out++ = (uint8_t)(bits >> 24);
            bits <<= 8;
        }
    }
    if (held != 0) {
        *out++ = (uint8_t)(bits >> 24);
    }
    return out;
}

#endif

static unsigned packed_bytes(const struct tremolo_study *study)
{
    return tremolo_release(study) == TREMOLO_RELEASE_BALLOT
               ? 1
               : (tremolo_study_coordinates(study) * study->wire_bits + 7) / 8;
}

static uint8_t *put_content(uint8_t *out, struct tremolo_work *work)
{
#ifndef TREMOLO_WITHOUT_BALLOT
    if (tremolo_release(work->study) == TREMOLO_RELEASE_BALLOT) {
        *out++ = MAJOR_BYTES | 1;
        *out++ = tremolo_ballot_answer(work);
        return out;
    }
#endif
#ifndef TREMOLO_WITHOUT_SAMPLE
    out = put_head(out, packed_bytes(work->study));
    out = put_coordinates(out, work);
#endif
    return out;
}

TREMOLO_PART size_t tremolo_report_encode(struct tremolo_work *work)
{
    uint8_t *start = work->slot.report;
    uint8_t *out = start;
    *out++ = HEAD_ARRAY_6;
    *out++ = VERSION;
    *out++ = HEAD_BYTES_16;
    tremolo_bytes_copy(out, work->study->id, TREMOLO_STUDY_TAG_BYTES);
    out = put_number(out + TREMOLO_STUDY_TAG_BYTES, work->round->number);
    *out++ = HEAD_BYTES_16;
    tremolo_bytes_copy(out, work->id, TREMOLO_REPORT_ID_BYTES);
    out = put_response(out + TREMOLO_REPORT_ID_BYTES, work);
    out = put_content(out, work);
#ifndef TREMOLO_WITHOUT_MAC
    if (work->platform->mac_key != NULL) {
        *start = HEAD_ARRAY_7;
        *out = HEAD_BYTES_16;
        tremolo_report_mac(out + 1, work->platform->mac_key, work->study, start,
                           (size_t)(out - start));
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

/* Numbers have three bytes whatever their size. */
static uint32_t take_number(struct reader *in)
{
    const uint8_t *item = take(in, 3);
    if (item == NULL || *item != HEAD_UINT_2) {
        in->at = NULL;
        return 0;
    }
    return (uint32_t)item[1] << 8 | item[2];
}

/* The length of a byte string from its head, which must be the shortest. The head of another
 * type differs by 32 or more. */
static uint32_t take_length(struct reader *in)
{
    const uint8_t *head = take(in, 1);
    uint32_t value = head == NULL ? 32 : (uint32_t)*head - MAJOR_BYTES;
    if (value < 24) {
        return value;
    }
    head = value - 24 <= 1 ? take(in, value - 23) : NULL;
    if (head != NULL && value == 25 && head[0] != 0) {
        return (uint32_t)head[0] << 8 | head[1];
    }
    if (head != NULL && value == 24 && head[0] >= 24) {
        return head[0];
    }
    in->at = NULL;
    return 0;
}

static const uint8_t *take_16_bytes(struct reader *in)
{
    const uint8_t *item = take(in, 1 + 16);
    if (item == NULL || *item != HEAD_BYTES_16) {
        in->at = NULL;
        return NULL;
    }
    return item + 1;
}

static void take_response(struct reader *in, struct tremolo_report *report)
{
    uint32_t place;
    if (in->at != NULL && in->at != in->end && *in->at == NULL_ITEM) {
        in->at++;
        return;
    }
    place = take_number(in);
    if (place > 2 * TREMOLO_RESPONSE_MAX) {
        in->at = NULL;
    }
    report->has_response = 1;
    report->response = (int16_t)((int32_t)place - TREMOLO_RESPONSE_MAX);
}

static enum tremolo_status decode(struct tremolo_report *report, const uint8_t *bytes,
                                  size_t length)
{
    struct reader in;
    uint32_t packed;
    if (length < 2 || length > TREMOLO_MAX_REPORT_BYTES ||
        (bytes[0] & ~(unsigned)WITH_MAC(1)) != HEAD_ARRAY_6) {
        return TREMOLO_MALFORMED;
    }
    if (bytes[1] != VERSION) {
        return TREMOLO_UNKNOWN_VERSION;
    }
    in.at = bytes + 2;
    in.end = bytes + length;
    report->study_tag = take_16_bytes(&in);
    report->round = (uint16_t)take_number(&in);
    report->id = take_16_bytes(&in);
    take_response(&in, report);
    packed = take_length(&in);
    report->coordinate_bytes = (uint16_t)packed;
    report->coordinates = take(&in, packed);
    if (in.at == NULL) {
        return TREMOLO_MALFORMED;
    }
    report->authenticated_bytes = (uint16_t)(in.at - bytes);
    if (WITH_MAC(bytes[0] != HEAD_ARRAY_6)) {
        report->mac = take_16_bytes(&in);
    }
    return in.at == in.end && packed != 0 ? TREMOLO_OK : TREMOLO_MALFORMED;
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

/* Is the study sound, of this release, and does the report fit it? */
static enum tremolo_status check_fit(const struct tremolo_report *report,
                                     const struct tremolo_study *study,
                                     enum tremolo_release_kind release)
{
    enum tremolo_status status = tremolo_study_check(study);
    if (status != TREMOLO_OK) {
        return status;
    }
    if (study->release != (unsigned)release || report->has_response == study->response ||
        report->coordinate_bytes != packed_bytes(study)) {
        return TREMOLO_MALFORMED;
    }
    return tremolo_bytes_differ(report->study_tag, study->id, TREMOLO_STUDY_TAG_BYTES)
               ? TREMOLO_WRONG_STUDY
               : TREMOLO_OK;
}

#ifndef TREMOLO_WITHOUT_BALLOT
enum tremolo_status tremolo_report_answer(unsigned *answer, const struct tremolo_report *report,
                                          const struct tremolo_study *study)
{
    enum tremolo_status status;
    if (answer == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    *answer = 0;
    if (report == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    status = check_fit(report, study, TREMOLO_RELEASE_BALLOT);
    if (status == TREMOLO_OK) {
        *answer = report->coordinates[0];
    }
    return status;
}
#endif

#ifndef TREMOLO_WITHOUT_SAMPLE
/* The device saturates symmetrically, so the lowest code never occurs; what is
 * left after the last coordinate is less than a byte and must be zero. A byte
 * never completes two coordinates, which have at least eight bits. */
static enum tremolo_status unpack(int16_t *values, const struct tremolo_report *report,
                                  const struct tremolo_study *study)
{
    const uint8_t *byte = report->coordinates;
    const uint8_t *end = byte + report->coordinate_bytes;
    unsigned wire_bits = study->wire_bits;
    uint32_t lowest = UINT32_C(1) << (wire_bits - 1);
    uint32_t bits = 0;
    unsigned held = 0;
    while (byte != end) {
        bits = bits << 8 | *byte++;
        held += 8;
        if (held >= wire_bits) {
            uint32_t value;
            held -= wire_bits;
            value = bits >> held;
            bits ^= value << held;
            if (value == lowest) {
                return TREMOLO_OUT_OF_BOUNDS;
            }
            *values++ = (int16_t)((int32_t)(value ^ lowest) - (int32_t)lowest);
        }
    }
    return bits == 0 ? TREMOLO_OK : TREMOLO_MALFORMED;
}

enum tremolo_status tremolo_report_unpack(int16_t *values, size_t capacity,
                                          const struct tremolo_report *report,
                                          const struct tremolo_study *study)
{
    enum tremolo_status status;
    if (values == NULL || report == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    status = check_fit(report, study, TREMOLO_RELEASE_SAMPLE);
    if (status == TREMOLO_OK && capacity < tremolo_study_coordinates(study)) {
        status = TREMOLO_SHORT_BUFFER;
    }
    if (status == TREMOLO_OK) {
        status = unpack(values, report, study);
    }
    if (status != TREMOLO_OK) {
        tremolo_bytes_wipe(values, capacity * sizeof *values);
    }
    return status;
}
#endif

#ifndef TREMOLO_WITHOUT_MAC
enum tremolo_status tremolo_report_verify(const struct tremolo_report *report, const uint8_t *bytes,
                                          const struct tremolo_study *study, const uint8_t *mac_key)
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
