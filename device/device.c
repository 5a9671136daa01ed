/* device.c -- one release from request to bytes.
 *
 * The order is the promise:
 *     1. check everything that came from outside;
 *     2. look into the ledger: repeat stored bytes, or see that the budget
 *        covers a new release;
 *     3. draw report id, phases and noise, before the sample is touched, so
 *        that run time and failures say nothing about it;
 *     4. prepare, modulate, add, round, encode, all inside the work object;
 *     5. commit charge and bytes; 6. hand the bytes out; wipe. */
#include "parts.h"

unsigned tremolo_device_version(void)
{
    return TREMOLO_DEVICE_VERSION_MAJOR * 256 + TREMOLO_DEVICE_VERSION_MINOR;
}

static int platform_is_whole(const struct tremolo_platform *platform)
{
    return platform != NULL && platform->entropy != NULL && platform->read != NULL &&
           platform->write != NULL && (platform->counter == NULL) == (platform->advance == NULL) &&
           platform->studies >= 1 && platform->studies <= TREMOLO_MAX_STUDIES;
}

static uint8_t *report_of(struct tremolo_work *work)
{
    return work->image + TREMOLO_SLOT_HEAD_BYTES;
}

static void draw_bytes(struct tremolo_generator *generator, uint8_t *bytes, size_t length)
{
    while (length-- > 0) {
        *bytes++ = tremolo_generator_byte(generator);
    }
}

/* The report id waits where the report will be: nothing else is there yet. */
static enum tremolo_status draw_all(struct tremolo_work *work, uint8_t *report_id,
                                    const struct tremolo_study *study,
                                    const struct tremolo_platform *platform)
{
    struct tremolo_generator *generator = &work->generator;
    unsigned count = tremolo_study_coordinates(study);
    unsigned i;
    enum tremolo_status status = tremolo_generator_seed(generator, platform);
    if (status != TREMOLO_OK) {
        return status;
    }
    draw_bytes(generator, report_id, TREMOLO_REPORT_ID_BYTES);
    for (i = 0; i < study->vectors; i++) {
        uint8_t phase[4];
        draw_bytes(generator, phase, sizeof phase);
        work->phase[i] = tremolo_bytes_load(phase, 4);
    }
    for (i = 0; i < count; i++) {
        work->noise[i] = tremolo_noise_draw(generator, study->noise_log2);
        if (generator->stuck) {
            return TREMOLO_NO_ENTROPY;
        }
    }
    return TREMOLO_OK;
}

/* floor(v / 2^shift + 1/2), saturating at the wire's symmetric ends. Noise
 * was rounded down, so this is the real sum rounded once to the wire grid. */
static int32_t to_wire(int32_t value, const struct tremolo_study *study)
{
    int32_t end = (INT32_C(1) << (study->wire_bits - 1)) - 1;
    int32_t half = study->wire_shift == 0 ? 0 : INT32_C(1) << (study->wire_shift - 1);
    uint32_t shifted;
    value += half;
    shifted = value < 0 ? ~(~(uint32_t)value >> study->wire_shift)
                        : (uint32_t)value >> study->wire_shift;
    value = (int32_t)shifted;
    return value > end ? end : value < -end ? -end : value;
}

static size_t make_report(struct tremolo_work *work, const uint8_t *report_id,
                          const struct tremolo_study *study, const struct tremolo_round *round,
                          const struct tremolo_sample *sample,
                          const struct tremolo_platform *platform)
{
    unsigned count = tremolo_study_coordinates(study);
    int32_t response = 0;
    unsigned i;
    tremolo_sample_prepare(work->value, study, sample);
    tremolo_modulate(work->value, study, round, work->phase);
    for (i = 0; i < count; i++) {
        work->value[i] = to_wire(work->value[i] + work->noise[i], study);
    }
    if (study->response == TREMOLO_RESPONSE_PUBLIC) {
        response =
            tremolo_scale(sample->response, &study->response_bounds, TREMOLO_RESPONSE_MAX);
    }
    return tremolo_report_encode(report_of(work), study, round->number, report_id, response,
                                 work->value, platform->mac_key);
}

static enum tremolo_status make_and_commit(struct tremolo_work *work,
                                           const struct tremolo_ledger *ledger,
                                           const struct tremolo_study *study,
                                           const struct tremolo_round *round,
                                           const struct tremolo_sample *sample,
                                           const struct tremolo_platform *platform,
                                           size_t *made)
{
    uint8_t report_id[TREMOLO_REPORT_ID_BYTES];
    enum tremolo_status status;
    if (tremolo_study_charge(study) > ledger->budget - ledger->spent) {
        return TREMOLO_BUDGET_EXHAUSTED;
    }
    status = draw_all(work, report_id, study, platform);
    if (status != TREMOLO_OK) {
        return status;
    }
    *made = make_report(work, report_id, study, round, sample, platform);
    return tremolo_ledger_commit(work, ledger, platform, study, round, sample, *made);
}

static enum tremolo_status release(struct tremolo_work *work, uint8_t *report, size_t *length,
                                   size_t capacity, const struct tremolo_study *study,
                                   const struct tremolo_round *round,
                                   const struct tremolo_sample *sample,
                                   const struct tremolo_platform *platform)
{
    struct tremolo_ledger ledger;
    size_t made = 0;
    enum tremolo_status status = tremolo_ledger_find(work, &ledger, platform, study->id);
    if (status == TREMOLO_OK && ledger.entry == platform->studies) {
        status = TREMOLO_LEDGER_FULL;
    }
    if (status == TREMOLO_OK) {
        status = tremolo_ledger_key(work, study, round, sample, &made);
    }
    if (status == TREMOLO_OK && made == 0) {
        status = make_and_commit(work, &ledger, study, round, sample, platform, &made);
    }
    if (status == TREMOLO_OK && made > capacity) {
        status = TREMOLO_SHORT_BUFFER;
    }
    if (status == TREMOLO_OK) {
        tremolo_bytes_copy(report, report_of(work), made);
        *length = made;
    }
    return status;
}

static enum tremolo_status check_request(const struct tremolo_study *study,
                                         const struct tremolo_round *round,
                                         const struct tremolo_sample *sample, size_t capacity)
{
    enum tremolo_status status = tremolo_study_check(study);
    if (status == TREMOLO_OK) {
        status = tremolo_round_check(study, round);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    if (sample == NULL || sample->features == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (sample->number >= study->samples) {
        return TREMOLO_BAD_SAMPLES;
    }
    return capacity < TREMOLO_MAX_REPORT_BYTES ? TREMOLO_SHORT_BUFFER : TREMOLO_OK;
}

enum tremolo_status tremolo_device_report(struct tremolo_work *work, uint8_t *report,
                                          size_t *length, const struct tremolo_study *study,
                                          const struct tremolo_round *round,
                                          const struct tremolo_sample *sample,
                                          const struct tremolo_platform *platform)
{
    enum tremolo_status status;
    size_t capacity;
    if (work == NULL || report == NULL || length == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    capacity = *length;
    *length = 0;
    tremolo_bytes_wipe(report, capacity);
    status = platform_is_whole(platform) ? check_request(study, round, sample, capacity)
                                         : TREMOLO_BAD_ARGUMENT;
    if (status == TREMOLO_OK) {
        status = release(work, report, length, capacity, study, round, sample, platform);
    }
    tremolo_bytes_wipe(work, sizeof *work);
    return status;
}

enum tremolo_status tremolo_device_enrol(struct tremolo_work *work,
                                         const struct tremolo_platform *platform, uint32_t budget)
{
    enum tremolo_status status;
    if (work == NULL || !platform_is_whole(platform)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    status = tremolo_ledger_create(work, platform, budget);
    tremolo_bytes_wipe(work, sizeof *work);
    return status;
}

enum tremolo_status tremolo_device_budget(struct tremolo_work *work, uint32_t *left,
                                          const struct tremolo_platform *platform)
{
    static const uint8_t no_study[TREMOLO_STUDY_TAG_BYTES] = {0};
    struct tremolo_ledger ledger;
    enum tremolo_status status;
    if (work == NULL || left == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    *left = 0;
    if (!platform_is_whole(platform)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    status = tremolo_ledger_find(work, &ledger, platform, no_study);
    if (status == TREMOLO_OK) {
        *left = ledger.budget - ledger.spent;
    }
    tremolo_bytes_wipe(work, sizeof *work);
    return status;
}
