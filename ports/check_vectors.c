/* check_vectors.c -- does this target give the vectors' bytes?
 *
 * One program for every target with a C compiler, from a workstation to a
 * microcontroller under QEMU. It prints a line for each difference and one
 * at the end that tools/test-ports reads: 'N vectors, N differences'. */
#include <stdio.h>
#include <string.h>

#include "memory_platform.h"
#include "vectors.h"

#include "vectors_generated.h"

enum { CASES = sizeof vector_cases / sizeof vector_cases[0] };
enum { REFUSED = sizeof vector_refused / sizeof vector_refused[0] };

static struct tremolo_work work;
static struct memory_device device;
static unsigned checked;
static unsigned different;

static void expect(int holds, const char *name, unsigned number, const char *what)
{
    if (!holds) {
        different++;
        printf("# %s, %u: %s differs\n", name, number, what);
    }
}

/* The decoder must read back what the generator put in. */
static int reads_back(const struct vector_case *wanted, const struct vector_request *request,
                      const uint8_t *bytes, size_t length)
{
    static int16_t wire[TREMOLO_MAX_COORDINATES];
    const struct tremolo_study *study = &wanted->study;
    struct tremolo_report report;
    if (tremolo_report_decode(&report, bytes, length) != TREMOLO_OK ||
        tremolo_report_unpack(wire, TREMOLO_MAX_COORDINATES, &report, study) != TREMOLO_OK) {
        return 0;
    }
#ifndef TREMOLO_WITHOUT_MAC
    if (wanted->has_mac &&
        tremolo_report_verify(&report, bytes, study, wanted->mac_key) != TREMOLO_OK) {
        return 0;
    }
#endif
    return report.round == request->round && (report.mac != NULL) == wanted->has_mac &&
           memcmp(wire, request->wire, tremolo_study_coordinates(study) * sizeof wire[0]) == 0;
}

static void check_request(const struct vector_case *wanted, unsigned number,
                          const struct tremolo_platform *platform)
{
    static uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    const struct vector_request *request = &wanted->requests[number];
    struct tremolo_sample sample = {request->features, request->response, request->sample};
    struct tremolo_round round = {wanted->vectors, request->round};
    size_t length = sizeof bytes;
    uint32_t left = 0;
    int status = (int)tremolo_device_report(&work, bytes, &length, &wanted->study, &round, &sample,
                                            platform);
    checked++;
    expect(status == request->status, wanted->name, number, "the status");
    expect(length == request->length && memcmp(bytes, request->report, length) == 0, wanted->name,
           number, "the report");
    expect(tremolo_device_budget(&work, &left, platform) == TREMOLO_OK && left == request->left,
           wanted->name, number, "what is left");
    if (status == TREMOLO_OK) {
        expect(reads_back(wanted, request, bytes, length), wanted->name, number, "the decoded");
    }
}

static void check_case(const struct vector_case *wanted)
{
    struct tremolo_platform platform =
        memory_platform(&device, wanted->has_mac ? wanted->mac_key : NULL);
    unsigned number;
    expect(tremolo_study_sensitivity(&wanted->study) == wanted->sensitivity, wanted->name, 0,
           "the sensitivity");
    expect(tremolo_study_charge(&wanted->study) == wanted->charge, wanted->name, 0, "the charge");
    expect(tremolo_device_enrol(&work, &platform, wanted->budget) == TREMOLO_OK, wanted->name, 0,
           "enrolment");
    for (number = 0; number < wanted->count; number++) {
        device.entropy = wanted->requests[number].entropy;
        check_request(wanted, number, &platform);
    }
}

/* Decoding, or else unpacking for the study, must give the status. */
static void check_refused(const struct vector_refused *wanted)
{
    static int16_t wire[TREMOLO_MAX_COORDINATES];
    const struct tremolo_study *study = &vector_cases[REFUSED_FOR].study;
    struct tremolo_report report;
    int status = (int)tremolo_report_decode(&report, wanted->bytes, wanted->length);
    if (status == TREMOLO_OK) {
        status = (int)tremolo_report_unpack(wire, TREMOLO_MAX_COORDINATES, &report, study);
    }
    checked++;
    expect(status == wanted->status, wanted->name, 0, "the refusal");
}

int main(void)
{
    unsigned i;
    for (i = 0; i < CASES; i++) {
#ifdef TREMOLO_WITHOUT_MAC
        if (vector_cases[i].has_mac) {
            continue;
        }
#endif
        check_case(&vector_cases[i]);
    }
    for (i = 0; i < REFUSED; i++) {
        check_refused(&vector_refused[i]);
    }
    printf("%u vectors, %u differences\n", checked, different);
    return different != 0;
}
