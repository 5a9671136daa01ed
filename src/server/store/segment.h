/* segment.h -- the bytes of one group commit of one study; docs/reference/storage.md has the table.
 *
 * A record is found again by the offset at which it starts. */
#ifndef SERVER_SEGMENT_H
#define SERVER_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_status.h"

enum {
    SEGMENT_DEVICE_BYTES_MAX = 32,
    SEGMENT_HEAD_BYTES = 16,
    SEGMENT_CHECK_BYTES = 16,
    SEGMENT_RECORD_OVERHEAD = 3 + SEGMENT_DEVICE_BYTES_MAX,
};

struct segment_record {
    const uint8_t *report;
    const uint8_t *device;
    uint16_t length;
    uint8_t device_length; /* 0: from an open study */
    uint32_t offset;       /* of the record within the segment */
};

/* A segment under construction; zero it to begin, free with segment_free. */
struct segment {
    uint8_t *bytes;
    size_t length;
    size_t capacity;
    uint32_t count;
};

/* Add a record (its offset is not read); *offset says where it starts. NO_MEMORY, and SHORT_BUFFER when
 * the segment would exceed STORE_SEGMENT_BYTES_MAX; nothing is added then. */
TREMOLO_MUST_USE enum tremolo_status
segment_add(struct segment *segment, const struct segment_record *record, uint32_t *offset);

/* Write count, time of arrival (Unix seconds; 0: unknown) and check value: the segment is then ready
 * for the store. */
TREMOLO_MUST_USE enum tremolo_status segment_seal(struct segment *segment, int64_t arrived);

void segment_clear(struct segment *segment); /* keeps the memory */
void segment_free(struct segment *segment);

/* Called for each record of a segment with the time at which they came; 0: unknown. Anything but OK
 * stops and is passed on. */
typedef enum tremolo_status (*segment_fn)(void *context, const struct segment_record *record,
                                          int64_t arrived);

/* Visit the records of a stored segment (NULL: only count them). MALFORMED without its check value, and
 * unless they fill it exactly and are as many as its head says. */
TREMOLO_MUST_USE enum tremolo_status segment_each(const uint8_t *bytes, size_t length,
                                                  segment_fn visit, void *context);

/* The check value and the head of a stored segment; MALFORMED otherwise. */
TREMOLO_MUST_USE enum tremolo_status segment_check(const uint8_t *bytes, size_t length);

/* How many records the head of a checked segment says. */
uint32_t segment_count(const uint8_t *bytes);

/* When the records of a checked segment came; 0: unknown. */
int64_t segment_arrived(const uint8_t *bytes);

/* The record at *offset (begin with SEGMENT_HEAD_BYTES); moves *offset past it.
 * False at the end of the records, or when the record does not fit. */
bool segment_next(struct segment_record *record, uint32_t *offset, const uint8_t *bytes,
                  size_t length);

#endif
