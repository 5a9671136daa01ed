/* segment.c -- building and reading segments; docs/reference/storage.md has the byte table.
 *
 * A segment is what one group commit took for one study: a head, records, and a check value over both.
 * Records have no index: a reader walks from one to the next, and a place in the log is the
 * position of the segment with the offset of the record in it. A segment under construction is used
 * again for the next batch, so a study that gets reports all the time allocates nothing.
 *
 * Reading assumes nothing about the bytes: each length is compared with what is left before it is used. */
#include "segment.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"

static const uint8_t magic[4] = {'T', 'S', 'G', '2'};

/* The segment is the only format here with little-endian numbers. */
static void put_le(uint8_t *bytes, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
}

/* To twice what is needed: a segment is kept and used again for the next batch. */
static enum tremolo_status reserve(struct segment *segment, size_t more)
{
    size_t wanted = segment->length + more;
    if (wanted > STORE_SEGMENT_BYTES_MAX) {
        return TREMOLO_SHORT_BUFFER;
    }
    if (wanted <= segment->capacity) {
        return TREMOLO_OK;
    }
    size_t capacity = 2 * wanted < 4096 ? 4096 : 2 * wanted;
    uint8_t *grown = realloc(segment->bytes, capacity);
    if (grown == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    segment->bytes = grown;
    segment->capacity = capacity;
    return TREMOLO_OK;
}

/* The check value is written at the end (segment_seal), but its room is made with each record,
 * so that sealing cannot fail. */
enum tremolo_status segment_add(struct segment *segment, const struct segment_record *record,
                                uint32_t *offset)
{
    size_t head = segment->length == 0 ? SEGMENT_HEAD_BYTES : 0;
    if (record->length == 0 || record->device_length > SEGMENT_DEVICE_BYTES_MAX) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status =
        reserve(segment, head + SEGMENT_RECORD_OVERHEAD + record->length + SEGMENT_CHECK_BYTES);
    if (status != TREMOLO_OK) {
        return status;
    }
    segment->length += head;
    uint8_t *out = segment->bytes + segment->length;
    *offset = (uint32_t)segment->length;
    put_le(out, record->length, 2);
    out[2] = record->device_length;
    out += 3;
    if (record->device_length > 0) {
        memcpy(out, record->device, record->device_length);
        out += record->device_length;
    }
    memcpy(out, record->report, record->length);
    segment->length = (size_t)(out - segment->bytes) + record->length;
    segment->count++;
    return TREMOLO_OK;
}

/* No record follows: the check value covers everything before it. */
enum tremolo_status segment_seal(struct segment *segment, int64_t arrived)
{
    if (segment->count == 0) {
        return TREMOLO_BAD_ARGUMENT;
    }
    memcpy(segment->bytes, magic, sizeof magic);
    put_le(segment->bytes + 4, segment->count, 4);
    put_le(segment->bytes + 8, (uint64_t)arrived, 8);
    (void)crypto_generichash(segment->bytes + segment->length, SEGMENT_CHECK_BYTES, segment->bytes,
                             segment->length, NULL, 0);
    segment->length += SEGMENT_CHECK_BYTES;
    return TREMOLO_OK;
}

void segment_clear(struct segment *segment)
{
    segment->length = 0;
    segment->count = 0;
}

void segment_free(struct segment *segment)
{
    free(segment->bytes);
    *segment = (struct segment){0};
}

/* The length is that of the row; the check value is its last bytes. */
enum tremolo_status segment_check(const uint8_t *bytes, size_t length)
{
    uint8_t check[SEGMENT_CHECK_BYTES];
    if (length < SEGMENT_HEAD_BYTES + SEGMENT_CHECK_BYTES ||
        memcmp(bytes, magic, sizeof magic) != 0) {
        return TREMOLO_MALFORMED;
    }
    (void)crypto_generichash(check, sizeof check, bytes, length - sizeof check, NULL, 0);
    return memcmp(check, bytes + length - sizeof check, sizeof check) == 0 ? TREMOLO_OK
                                                                           : TREMOLO_MALFORMED;
}

uint32_t segment_count(const uint8_t *bytes)
{
    return bytes[4] | (uint32_t)bytes[5] << 8 | (uint32_t)bytes[6] << 16 | (uint32_t)bytes[7] << 24;
}

int64_t segment_arrived(const uint8_t *bytes)
{
    uint64_t time = 0;
    for (unsigned i = 0; i < 8; i++) {
        time |= (uint64_t)bytes[8 + i] << (8 * i);
    }
    return (int64_t)time;
}

/* Every length is compared with what is left before it is used: fuzzers call this with arbitrary
 * bytes. */
bool segment_next(struct segment_record *record, uint32_t *offset, const uint8_t *bytes,
                  size_t length)
{
    if (length < SEGMENT_CHECK_BYTES) {
        return false;
    }
    size_t end = length - SEGMENT_CHECK_BYTES;
    size_t at = *offset;
    if (at > end || end - at < 3 || bytes[at + 2] > SEGMENT_DEVICE_BYTES_MAX) {
        return false;
    }
    size_t report = at + 3 + bytes[at + 2];
    size_t size = (size_t)(bytes[at] | bytes[at + 1] << 8);
    if (report > end || end - report < size) {
        return false;
    }
    record->offset = *offset;
    record->device = bytes + at + 3;
    record->device_length = bytes[at + 2];
    record->report = bytes + report;
    record->length = (uint16_t)size;
    *offset = (uint32_t)(report + size);
    return true;
}

/* Nothing is visited before the check value of the whole segment was compared. */
enum tremolo_status segment_each(const uint8_t *bytes, size_t length, segment_fn visit,
                                 void *context)
{
    struct segment_record record;
    uint32_t offset = SEGMENT_HEAD_BYTES;
    uint32_t records = 0;
    enum tremolo_status status = segment_check(bytes, length);
    while (status == TREMOLO_OK && segment_next(&record, &offset, bytes, length)) {
        records++;
        status = visit != NULL ? visit(context, &record, segment_arrived(bytes)) : status;
    }
    bool whole = status != TREMOLO_OK ||
                 (offset == length - SEGMENT_CHECK_BYTES && records == segment_count(bytes));
    return whole ? status : TREMOLO_MALFORMED;
}
