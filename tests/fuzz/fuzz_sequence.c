/* fuzz_sequence.c -- what arrives at POST .../reports, and what the log gives back.
 *
 * Arbitrary bytes are taken as a sequence of reports (with and without names), each
 * part checked as the server checks it, and as a stored segment. Every pointer
 * must lead into the input, and reading all of what it spans must be allowed. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "check_report.h"
#include "fuzz.h"
#include "segment.h"
#include "tremolo_study_file.h"

static const char study_text[] =
    "{\"tremolo\": 1, \"title\": \"t\", \"features\": [{\"name\": \"a\", \"low\": 0, \"high\": 1},"
    "{\"name\": \"b\", \"low\": 0, \"high\": 1}], \"response\": {\"name\": \"y\", \"low\": 0, "
    "\"high\": 1},"
    "\"privacy\": {\"epsilon\": 4, \"protects\": \"features\"}, \"protocol\": {\"kind\": "
    "\"one-shot\"}}";

static struct tremolo_study_file *file;
static volatile uint8_t sink;

static void touch(const uint8_t *bytes, size_t length, const uint8_t *data, size_t size)
{
    fuzz_require(length == 0 || (bytes >= data && bytes + length <= data + size));
    for (size_t i = 0; i < length; i++) {
        sink ^= bytes[i];
    }
}

static void split(const uint8_t *data, size_t size, bool named)
{
    static const uint8_t secret[TREMOLO_DEVICE_SECRET_BYTES] = {1};
    struct arrival *arrivals = NULL;
    size_t count = 0;
    int16_t row[8];
    struct check_study check = check_study_of(file, NULL);
    check.secret = named ? secret : NULL;
    if (check_split(&arrivals, &count, data, size, named) != TREMOLO_OK) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        touch(arrivals[i].bytes, arrivals[i].length, data, size);
        touch(arrivals[i].device, arrivals[i].device_length, data, size);
        check_report(&arrivals[i], row, &check);
        if (arrivals[i].outcome == OUTCOME_PENDING) {
            touch(arrivals[i].id, TREMOLO_REPORT_ID_BYTES, data, size);
        }
    }
    free(arrivals);
}

static void walk_segment(const uint8_t *data, size_t size)
{
    struct segment_record record;
    uint32_t offset = SEGMENT_HEAD_BYTES;
    while (segment_next(&record, &offset, data, size)) {
        touch(record.report, record.length, data, size);
        touch(record.device, record.device_length, data, size);
    }
    sink ^= (uint8_t)segment_check(data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (file == NULL &&
        (sodium_init() < 0 ||
         tremolo_study_file_parse(&file, NULL, study_text, strlen(study_text)) != TREMOLO_OK)) {
        abort();
    }
    split(data, size, false);
    split(data, size, true);
    walk_segment(data, size);
    return 0;
}
