/* device.c -- one release from request to bytes.
 *
 * The order is the promise:
 *     1. check everything that came from outside;
 *     2. look into the ledger: repeat stored bytes, or see that the budget
 *        covers a new release;
 *     3. draw the id, and the rank or phases and noise, before the sample is
 *        touched, so that how long that takes, and whether it fails, say
 *        nothing about it. Nor do they about the rank, but something about
 *        noise: who can time its draw breaks assumption A4;
 *     4. find the ranked answer, or prepare, modulate, add and round; encode,
 *        all inside the work object;
 *     5. commit charge and bytes;
 *     6. hand the bytes out; wipe. */
#include "parts.h"

enum { REPORT_ID_AT = 23 }; /* wire format 2 */

unsigned tremolo_device_version(void)
{
    return TREMOLO_DEVICE_VERSION_MAJOR * 256 + TREMOLO_DEVICE_VERSION_MINOR;
}

#ifndef TREMOLO_WITHOUT_SAMPLE
static void draw_noise(struct tremolo_work *work)
{
    struct tremolo_generator *generator = &work->generator;
    unsigned count = tremolo_study_coordinates(work->study);
    unsigned i;
    for (i = 0; i < work->study->vectors; i++) {
        work->phase[i] = tremolo_generator_word(generator);
    }
    for (i = 0; i < count; i++) {
        work->noise[i] = tremolo_noise_draw(generator, work->study->noise_log2);
    }
}

static void prepare(struct tremolo_work *work)
{
    tremolo_sample_prepare(work->value, work->study, work->sample);
    tremolo_modulate(work->value, work->study, work->round, work->phase);
}
#endif

/* All that is random, the report's id included. */
static enum tremolo_status draw_all(struct tremolo_work *work)
{
    struct tremolo_generator *generator = &work->generator;
    const struct tremolo_slot *slot = &work->slot;
    enum tremolo_status status = tremolo_generator_seed(generator, work->platform, work->study->id,
                                                        slot->report + slot->length);
    if (status != TREMOLO_OK) {
        return status;
    }
    generator->state[13] = work->key;
    generator->state[14] = slot->sequence;
#ifndef TREMOLO_WITHOUT_SAMPLE
    if (tremolo_release(work->study) == TREMOLO_RELEASE_SAMPLE) {
        draw_noise(work);
        if (generator->stuck) {
            return TREMOLO_NO_ENTROPY;
        }
    }
#endif
    tremolo_generator_fill(generator, work->id, sizeof work->id);
#ifndef TREMOLO_WITHOUT_BALLOT
    if (tremolo_release(work->study) == TREMOLO_RELEASE_BALLOT) {
        tremolo_ballot_draw(work);
    }
#endif
    /* Chance that gives the id of the report before would give its noise, too. */
    return tremolo_bytes_differ(work->id, work->slot.report + REPORT_ID_AT, TREMOLO_REPORT_ID_BYTES)
               ? TREMOLO_OK
               : TREMOLO_NO_ENTROPY;
}

/* What the charge pays for: *length bytes in work->slot. */
static enum tremolo_status make(struct tremolo_work *work, size_t *length)
{
    enum tremolo_status status;
    unsigned kind = tremolo_release(work->study);
    uint32_t charge = tremolo_study_charge(work->study);
    if (charge > work->left[kind]) {
        return TREMOLO_BUDGET_EXHAUSTED;
    }
    status = draw_all(work);
    if (status != TREMOLO_OK) {
        return status;
    }
#ifndef TREMOLO_WITHOUT_SAMPLE
    if (kind == TREMOLO_RELEASE_SAMPLE) {
        prepare(work);
    }
#endif
    *length = tremolo_report_encode(work);
    return tremolo_ledger_commit(work, charge, *length);
}

static enum tremolo_status make_or_repeat(struct tremolo_work *work, size_t *length)
{
    enum tremolo_status status =
        tremolo_ledger_find(work, work->study->id, tremolo_release(work->study));
    if (status != TREMOLO_OK) {
        return status;
    }
    if (work->entry == TREMOLO_MAX_STUDIES) {
        return TREMOLO_LEDGER_FULL;
    }
    status = tremolo_ledger_stored(work, length);
    return status == TREMOLO_OK && *length == 0 ? make(work, length) : status;
}

static enum tremolo_status check_request(struct tremolo_work *work)
{
    enum tremolo_status status = tremolo_study_check(work->study);
    if (status == TREMOLO_OK) {
        status = tremolo_round_check(work->study, work->round);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    if (work->sample == NULL || work->sample->features == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    work->key = (uint32_t)work->round->number << 16 | work->sample->number;
    return work->sample->number >= work->study->samples ? TREMOLO_BAD_SAMPLES : TREMOLO_OK;
}

/* A build without the MAC must not announce one. */
static int lacks_mac(const struct tremolo_platform *platform)
{
#ifdef TREMOLO_WITHOUT_MAC
    return platform->mac_key != NULL;
#else
    (void)platform;
    return 0;
#endif
}

static enum tremolo_status begin(struct tremolo_work *work, const struct tremolo_platform *platform)
{
    if (work == NULL || platform == NULL || platform->entropy == NULL || platform->read == NULL ||
        platform->write == NULL || (platform->counter == NULL) != (platform->advance == NULL) ||
        platform->studies - 1 >= TREMOLO_MAX_STUDIES || lacks_mac(platform)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    work->platform = platform;
    work->commits = 0;
    return TREMOLO_OK;
}

/* Every call ends here, with a wiped work object; what was in it before does
 * not matter. */
static TREMOLO_APART enum tremolo_status finish(struct tremolo_work *work,
                                                enum tremolo_status status)
{
    if (work != NULL) {
        tremolo_bytes_wipe(work, sizeof *work);
    }
    return status;
}

enum tremolo_status tremolo_device_report(struct tremolo_work *work, uint8_t *report,
                                          size_t *length, const struct tremolo_study *study,
                                          const struct tremolo_round *round,
                                          const struct tremolo_sample *sample,
                                          const struct tremolo_platform *platform)
{
    enum tremolo_status status = begin(work, platform);
    size_t made = 0;
    if (length != NULL) {
        made = *length;
        *length = 0;
    }
    if (report == NULL || length == NULL) {
        status = TREMOLO_BAD_ARGUMENT;
    } else {
        tremolo_bytes_wipe(report, made);
    }
    if (status == TREMOLO_OK && made < TREMOLO_MAX_REPORT_BYTES) {
        status = TREMOLO_SHORT_BUFFER;
    }
    if (status == TREMOLO_OK) {
        work->study = study;
        work->round = round;
        work->sample = sample;
        status = check_request(work);
    }
    if (status == TREMOLO_OK) {
        status = make_or_repeat(work, &made);
    }
    if (status == TREMOLO_OK) {
        tremolo_bytes_copy(report, work->slot.report, made);
        *length = made;
    }
    return finish(work, status);
}

enum tremolo_status tremolo_device_enrol(struct tremolo_work *work,
                                         const struct tremolo_platform *platform, uint32_t budget,
                                         uint32_t epsilon)
{
    enum tremolo_status status = begin(work, platform);
    if (status == TREMOLO_OK) {
        status = tremolo_ledger_create(work, budget, epsilon);
    }
    return finish(work, status);
}

static TREMOLO_APART enum tremolo_status find_left(struct tremolo_work *work, uint32_t *left,
                                                   const struct tremolo_platform *platform,
                                                   unsigned kind)
{
    enum tremolo_status status = begin(work, platform);
    if (left == NULL) {
        status = TREMOLO_BAD_ARGUMENT;
    } else {
        *left = 0;
    }
    if (status == TREMOLO_OK) {
        /* No study is looked for, so any tag will do. */
        status = tremolo_ledger_find(work, work->slot.study_tag, kind);
    }
    if (status == TREMOLO_OK) {
        *left = work->left[kind];
    }
    return finish(work, status);
}

#ifndef TREMOLO_WITHOUT_SAMPLE
enum tremolo_status tremolo_device_budget(struct tremolo_work *work, uint32_t *left,
                                          const struct tremolo_platform *platform)
{
    return find_left(work, left, platform, TREMOLO_RELEASE_SAMPLE);
}
#endif

#ifndef TREMOLO_WITHOUT_BALLOT
enum tremolo_status tremolo_device_epsilon(struct tremolo_work *work, uint32_t *left,
                                           const struct tremolo_platform *platform)
{
    return find_left(work, left, platform, TREMOLO_RELEASE_BALLOT);
}
#endif
