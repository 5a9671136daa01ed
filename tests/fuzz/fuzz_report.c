/* fuzz_report.c -- any bytes at all for the decoder of reports.
 *
 * Whatever is accepted must be the one encoding of what was read: a second
 * writer (reference_report.h) makes the bytes again from the decoded fields,
 * and the packed coordinates again from the unpacked ones. Whatever is
 * refused must leave zeros.
 *
 * The first byte chooses the study the report is read for; the rest is the
 * report. Built with libFuzzer, or with -DFUZZ_STANDALONE as a program that
 * reads the files it is given. */
#include <stdio.h>
#include <stdlib.h>

#include "fake_device.h"
#include "fuzz.h"
#include "parts.h"
#include "reference_report.h"

static int is_zero(const void *object, size_t length)
{
    const uint8_t *byte = object;
    while (length > 0 && *byte == 0) {
        byte++;
        length--;
    }
    return length == 0;
}

static const uint8_t key[TREMOLO_MAC_KEY_BYTES] = "sixteen bytes...";

/* A sound study that the packed length can belong to, or at least could. */
static struct tremolo_study study_for(const struct tremolo_report *report, uint8_t choice)
{
    struct tremolo_study study = fake_study(1, 1);
    unsigned count;
    study.wire_bits = (uint8_t)(8 + choice % 9);
    study.wire_shift = 10;
    study.noise_log2 = 13;
    study.unit = study.clip = 1000;
    study.response = report->has_response ? TREMOLO_RESPONSE_PUBLIC : TREMOLO_RESPONSE_PRIVATE;
    count = report->coordinate_bytes * 8u / study.wire_bits;
    count -= count > study.response ? study.response : 0;
    study.dimension = (uint16_t)(count == 0 || count > TREMOLO_MAX_DIMENSION ? 1 : count);
    memcpy(study.id, report->study_tag, TREMOLO_STUDY_TAG_BYTES);
    return study;
}

static void check_unpack(const struct tremolo_report *report, const struct tremolo_study *study)
{
    int16_t values[TREMOLO_MAX_COORDINATES];
    uint8_t packed[2 * TREMOLO_MAX_COORDINATES];
    unsigned n = tremolo_study_coordinates(study);
    memset(values, 0x5a, sizeof values);
    if (tremolo_report_unpack(values, TREMOLO_MAX_COORDINATES, report, study) != TREMOLO_OK) {
        for (unsigned i = 0; i < TREMOLO_MAX_COORDINATES; i++) {
            fuzz_require(values[i] == 0);
        }
        return;
    }
    fuzz_require(reference_pack(packed, values, n, study->wire_bits) == report->coordinate_bytes);
    fuzz_require(memcmp(packed, report->coordinates, report->coordinate_bytes) == 0);
}

static void check_verify(const struct tremolo_report *report, const uint8_t *bytes,
                         const struct tremolo_study *study)
{
    uint8_t mac[TREMOLO_MAC_BYTES] = {0};
    int matches = 0;
    if (report->mac != NULL) {
        tremolo_report_mac(mac, key, study, bytes, report->authenticated_bytes);
        matches = memcmp(mac, report->mac, sizeof mac) == 0;
    }
    fuzz_require((tremolo_report_verify(report, bytes, study, key) == TREMOLO_OK) == matches);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tremolo_report report;
    struct reference_bytes again;
    if (size == 0) {
        return 0;
    }
    memset(&report, 0x5a, sizeof report);
    if (tremolo_report_decode(&report, data + 1, size - 1) != TREMOLO_OK) {
        fuzz_require(is_zero(&report, sizeof report));
        return 0;
    }
    reference_encode(&again, &report);
    fuzz_require(again.length == size - 1 && memcmp(again.at, data + 1, again.length) == 0);
    struct tremolo_study study = study_for(&report, data[0]);
    fuzz_require(tremolo_study_check(&study) == TREMOLO_OK);
    check_unpack(&report, &study);
    check_verify(&report, data + 1, &study);
    return 0;
}
