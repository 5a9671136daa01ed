/* server_reports.h -- studies and reports for tests of the server's parts. */
#ifndef TREMOLO_SERVER_REPORTS_H
#define TREMOLO_SERVER_REPORTS_H

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "check_report.h"
#include "tremolo_device.h"
#include "tremolo_host.h"
#include "tremolo_study_file.h"

static const char server_study_open[] = "{\"tremolo\": 1, \"title\": \"open\", \"features\": "
                                        "[{\"name\": \"a\", \"low\": 0, \"high\": 1},"
                                        "{\"name\": \"b\", \"low\": 0, \"high\": 1}], "
                                        "\"response\": {\"name\": \"y\", \"low\": 0, \"high\": 1},"
                                        "\"privacy\": {\"epsilon\": 4, \"protects\": "
                                        "\"features\"}, \"protocol\": {\"kind\": \"one-shot\"}}";

static const char server_study_rounds[] =
    "{\"tremolo\": 1, \"title\": \"rounds\", \"features\": [{\"name\": \"a\", \"low\": 0, "
    "\"high\": 1},"
    "{\"name\": \"b\", \"low\": 0, \"high\": 1}], \"response\": {\"name\": \"y\", \"low\": 0, "
    "\"high\": 1},"
    "\"privacy\": {\"epsilon\": 8, \"protects\": \"all\"}, \"limits\": {\"enrolment\": \"keys\"},"
    "\"protocol\": {\"kind\": \"iterative\", \"rounds\": 3, \"vectors\": 1, \"lambda\": 0.2, "
    "\"omega\": 1,"
    " \"alpha\": 0.1}}";

struct server_report {
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    size_t length;
};

/* One honest report with fresh randomness; vectors and key may be NULL. */
static inline void server_report_make(struct server_report *report,
                                      const struct tremolo_study *study, unsigned round,
                                      const int16_t *vectors, const uint8_t *key)
{
    static struct tremolo_work work;
    struct tremolo_host_memory memory;
    int32_t features[4] = {(int32_t)randombytes_random() / 4, (int32_t)randombytes_random() / 4, 0,
                           0};
    struct tremolo_sample sample = {features, (int32_t)randombytes_random() / 4, 0};
    struct tremolo_round broadcast = {vectors, (uint16_t)round};
    memset(&memory, 0, sizeof memory);
    struct tremolo_platform platform = tremolo_host_memory_platform(&memory);
    platform.mac_key = key;
    report->length = sizeof report->bytes;
    if (tremolo_device_enrol(&work, &platform, UINT32_MAX / 2, UINT32_MAX / 2) != TREMOLO_OK ||
        tremolo_device_report(&work, report->bytes, &report->length, study, &broadcast, &sample,
                              &platform) != TREMOLO_OK) {
        report->length = 0;
    }
}

#endif
