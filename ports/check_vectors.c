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

#ifndef TREMOLO_WITHOUT_BALLOT
static int says_ballot(const struct tremolo_report *report, const int16_t *wanted,
                       const struct tremolo_study *study)
{
    static int8_t row[(TREMOLO_MAX_DIMENSION + 2) * (TREMOLO_MAX_DIMENSION + 3) / 2 + 1];
    unsigned entries = tremolo_ballot_entries(study);
    unsigned i;
    if (tremolo_ballot_expand(row, sizeof row, report, study) != TREMOLO_OK) {
        return 0;
    }
    for (i = 0; i < entries && row[i] == wanted[i]; i++) {
    }
    return i == entries;
}
#endif

#ifndef TREMOLO_WITHOUT_SAMPLE
static int says_sample(const struct tremolo_report *report, const int16_t *wanted,
                       const struct tremolo_study *study)
{
    static int16_t wire[TREMOLO_MAX_COORDINATES];
    return tremolo_report_unpack(wire, TREMOLO_MAX_COORDINATES, report, study) == TREMOLO_OK &&
           memcmp(wire, wanted, tremolo_study_coordinates(study) * sizeof wire[0]) == 0;
}
#endif

static int says(const struct tremolo_report *report, const int16_t *wanted,
                const struct tremolo_study *study)
{
#ifndef TREMOLO_WITHOUT_BALLOT
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        return says_ballot(report, wanted, study);
    }
#endif
#ifndef TREMOLO_WITHOUT_SAMPLE
    return says_sample(report, wanted, study);
#else
    return 0;
#endif
}

/* Does this build make the release? */
static int is_made(const struct tremolo_study *study)
{
#ifdef TREMOLO_WITHOUT_BALLOT
    return study->release == TREMOLO_RELEASE_SAMPLE;
#elif defined(TREMOLO_WITHOUT_SAMPLE)
    return study->release == TREMOLO_RELEASE_BALLOT;
#else
    (void)study;
    return 1;
#endif
}

/* The decoder must read back what the generator put in. */
static int reads_back(const struct vector_case *wanted, const struct vector_request *request,
                      const uint8_t *bytes, size_t length)
{
    const struct tremolo_study *study = &wanted->study;
    struct tremolo_report report;
    if (tremolo_report_decode(&report, bytes, length) != TREMOLO_OK ||
        !says(&report, request->wire, study)) {
        return 0;
    }
#ifndef TREMOLO_WITHOUT_MAC
    if (wanted->has_mac &&
        tremolo_report_verify(&report, bytes, study, wanted->mac_key) != TREMOLO_OK) {
        return 0;
    }
#endif
    return report.round == request->round && (report.mac != NULL) == wanted->has_mac;
}

/* Of the budget that the study's release is taken from; a build of one release has that alone. */
static int what_is_left(uint32_t *left, const struct tremolo_study *study,
                        const struct tremolo_platform *platform)
{
#ifndef TREMOLO_WITHOUT_SAMPLE
    if (study->release == TREMOLO_RELEASE_SAMPLE) {
        return (int)tremolo_device_budget(&work, left, platform);
    }
#endif
#ifndef TREMOLO_WITHOUT_BALLOT
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        return (int)tremolo_device_epsilon(&work, left, platform);
    }
#endif
    return TREMOLO_BAD_RELEASE;
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
    status = what_is_left(&left, &wanted->study, platform);
    expect(status == TREMOLO_OK && left == request->left, wanted->name, number, "what is left");
    if (request->status == TREMOLO_OK) {
        expect(reads_back(wanted, request, bytes, length), wanted->name, number, "the decoded");
    }
}

static void check_case(const struct vector_case *wanted)
{
    struct tremolo_platform platform =
        memory_platform(&device, wanted->has_mac ? wanted->mac_key : NULL);
    int ballot = wanted->study.release == TREMOLO_RELEASE_BALLOT;
    unsigned number;
#ifndef TREMOLO_WITHOUT_SAMPLE
    expect(ballot || tremolo_study_sensitivity(&wanted->study) == wanted->sensitivity, wanted->name,
           0, "the sensitivity");
#endif
    expect(tremolo_study_charge(&wanted->study) == wanted->charge, wanted->name, 0, "the charge");
    device.entropy = wanted->entropy;
    expect(tremolo_device_enrol(&work, &platform, ballot ? 0 : wanted->budget,
                                ballot ? wanted->budget : 0) == TREMOLO_OK,
           wanted->name, 0, "enrolment");
    for (number = 0; number < wanted->count; number++) {
        device.entropy = wanted->requests[number].entropy;
        check_request(wanted, number, &platform);
    }
}

#ifndef TREMOLO_WITHOUT_SAMPLE
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
#endif

int main(void)
{
    unsigned i;
    for (i = 0; i < CASES; i++) {
#ifdef TREMOLO_WITHOUT_MAC
        if (vector_cases[i].has_mac) {
            continue;
        }
#endif
        if (is_made(&vector_cases[i].study)) {
            check_case(&vector_cases[i]);
        }
    }
#ifndef TREMOLO_WITHOUT_SAMPLE
    for (i = 0; i < REFUSED; i++) {
        check_refused(&vector_refused[i]);
    }
#endif
    printf("%u vectors, %u differences\n", checked, different);
    return different != 0;
}
