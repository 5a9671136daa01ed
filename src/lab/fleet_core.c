/* fleet_core.c -- devices that run the real core: enrol with a budget for
 * the study's rounds, report, and let the server's decoder read the bytes. */
#include "fleet.h"

#include <stdlib.h>
#include <string.h>

#include "regression.h"

static int draw_entropy(void *context, uint8_t *bytes, size_t length)
{
    struct fleet_device *device = context;
    for (size_t i = 0; i < length; i += sizeof(uint64_t)) {
        uint64_t word = tremolo_random_hash(device->key, device->counter++);
        size_t rest = length - i;
        memcpy(bytes + i, &word, rest < sizeof word ? rest : sizeof word);
    }
    return 0;
}

enum tremolo_status fleet_raw_row(int32_t *raw, const struct fleet_setup *setup, size_t row)
{
    size_t d = setup->request.dimension;
    bool ballots = setup->release == TREMOLO_RELEASE_BALLOT;
    double bound = ballots ? TREMOLO_STUDY_REACH : setup->request.bound;
    double response = ballots                           ? 1
                      : setup->request.response_private ? setup->request.bound
                                                        : setup->response_bound;
    const struct tremolo_host_range range = {-bound, bound};
    const struct tremolo_host_range response_range = {-response, response};
    enum tremolo_status status = TREMOLO_OK;
    for (size_t i = 0; i < d && status == TREMOLO_OK; i++) {
        status = tremolo_host_raw(&raw[i], setup->X[row * d + i], &range);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_host_raw(&raw[d], setup->y[row], &response_range);
    }
    return status;
}

enum tremolo_status fleet_core_prepare(struct fleet *fleet)
{
    size_t n = fleet->d + 1;
    enum tremolo_status status = TREMOLO_OK;
    fleet->raw = malloc(fleet->setup.rows * n * sizeof *fleet->raw);
    if (fleet->study.rounds > 1) {
        fleet->devices = calloc(fleet->setup.rows, sizeof *fleet->devices);
    }
    if (fleet->raw == NULL || (fleet->study.rounds > 1 && fleet->devices == NULL)) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t r = 0; r < fleet->setup.rows && status == TREMOLO_OK; r++) {
        status = fleet_raw_row(fleet->raw + r * n, &fleet->setup, r);
    }
    return status;
}

/* What the wire carries back, through the server's decoder. */
static enum tremolo_status read_report(int16_t *row, uint8_t *bucket, const struct fleet *fleet,
                                       const uint8_t *bytes, size_t length)
{
    struct tremolo_report report;
    enum tremolo_status status = tremolo_report_decode(&report, bytes, length);
    status = status == TREMOLO_OK ? tremolo_row_unpack(row, &report, &fleet->study) : status;
    if (status == TREMOLO_OK) {
        *bucket = (uint8_t)tremolo_bucket_of(report.id);
    }
    return status;
}

/* Enrol with a budget for exactly the study's rounds: a device that would
 * have to spend more refuses, and the simulation fails. */
static enum tremolo_status enrol(struct tremolo_work *work, const struct tremolo_platform *platform,
                                 const struct tremolo_study *study)
{
    uint64_t budget = (uint64_t)tremolo_study_charge(study) * study->rounds;
    if (budget > UINT32_MAX) {
        return TREMOLO_OVERFLOWED;
    }
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        /* The ledger rounds epsilon down to 1/256. */
        return tremolo_device_enrol(work, platform, 0, (uint32_t)budget + TREMOLO_CHARGE_ONE / 256);
    }
    return tremolo_device_enrol(work, platform, (uint32_t)budget, 0);
}

static enum tremolo_status run_device(int16_t *row, struct fleet *fleet, size_t number,
                                      const struct fleet_pass *pass, struct tremolo_work *work,
                                      struct fleet_device *device)
{
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    size_t length = sizeof bytes;
    const int32_t *raw = fleet->raw + number * (fleet->d + 1);
    const struct tremolo_sample sample = {.features = raw, .response = raw[fleet->d]};
    struct tremolo_platform platform = tremolo_host_memory_platform(&device->memory);
    platform.entropy = draw_entropy;
    device->key =
        tremolo_random_hash(tremolo_random_hash(fleet->setup.seed, number), pass->round.number);
    device->counter = 0;
    enum tremolo_status status = TREMOLO_OK;
    if (pass->round.number == 0) {
        status = enrol(work, &platform, &fleet->study);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_device_report(work, bytes, &length, &fleet->study, &pass->round, &sample,
                                       &platform);
    }
    if (status == TREMOLO_OK && fleet->setup.reports != NULL) {
        const uint8_t head[2] = {(uint8_t)length, (uint8_t)(length >> 8)};
        bool written = fwrite(head, sizeof head, 1, fleet->setup.reports) == 1 &&
                       fwrite(bytes, length, 1, fleet->setup.reports) == 1;
        status = written ? TREMOLO_OK : TREMOLO_STORAGE_FAILED;
    }
    uint8_t bucket = 0;
    if (status == TREMOLO_OK) {
        status = read_report(row, &bucket, fleet, bytes, length);
    }
    if (status == TREMOLO_OK && pass->round.number == 0) {
        fleet->buckets[number] = bucket;
    }
    return status;
}

/* With a single round a ledger is forgotten with its device. */
enum tremolo_status fleet_core_block(int16_t *rows, struct fleet *fleet, size_t from, size_t count,
                                     const struct fleet_pass *pass)
{
    struct tremolo_work work;
    enum tremolo_status status = TREMOLO_OK;
    for (size_t r = 0; r < count && status == TREMOLO_OK; r++) {
        struct fleet_device passing = {.key = 0};
        struct fleet_device *device = fleet->devices != NULL ? &fleet->devices[from + r] : &passing;
        status = run_device(rows + r * fleet->width, fleet, from + r, pass, &work, device);
    }
    return status;
}
