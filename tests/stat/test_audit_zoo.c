/* test_audit_zoo.c -- broken builds, each of which the audit must catch and name.
 *
 * The core's own files are compiled into this program with calls to some of their parts going
 * through functions of the zoo, which do what the part does, or what one fault makes of it.
 * Nothing in the core knows of it. For every fault the audit must fail, and the check that is
 * meant for it must be among those that do; where one sentence says it, it must hold these
 * words. Seeds are fixed; a sound build fails with probability 1e-6.
 *
 * TREMOLO_AUDIT_SEEDS=200 tries so many seeds of the sound build instead of two. */
#include "parts.h"

#include "testing.h"
#include "audit.h"
#include "release.h"

static const char *fault = "";

static int is(const char *name)
{
    return strcmp(fault, name) == 0;
}

/* ---------------------------------------------------------------- hooks */

static int32_t zoo_noise_draw(struct tremolo_generator *generator, unsigned noise_log2);
static uint32_t zoo_generator_word(struct tremolo_generator *generator);
static void zoo_modulate(int32_t *value, const struct tremolo_study *study,
                         const struct tremolo_round *round, uint32_t *phase);
static void zoo_sample_prepare(int32_t *value, const struct tremolo_study *study,
                               const struct tremolo_sample *sample);
static size_t zoo_report_encode(struct tremolo_work *work);
static void zoo_ballot_draw(struct tremolo_work *work);
static enum tremolo_status zoo_ledger_commit(struct tremolo_work *work, uint32_t charge,
                                             size_t length);
static enum tremolo_status zoo_ledger_stored(const struct tremolo_work *work, size_t *length);
static uint32_t zoo_paid(const struct tremolo_study *study);
static enum tremolo_status zoo_ledger_find(struct tremolo_work *work, const uint8_t *study_tag,
                                           unsigned release);
static enum tremolo_status zoo_generator_seed(struct tremolo_generator *generator,
                                              const struct tremolo_platform *platform,
                                              const uint8_t *one, const uint8_t *other);
static void zoo_chacha_blocks(uint8_t out[64 * TREMOLO_LANES], uint32_t state[16],
                              unsigned round_pairs);
enum tremolo_status sound_device_report(struct tremolo_work *work, uint8_t *report, size_t *length,
                                        const struct tremolo_study *study,
                                        const struct tremolo_round *round,
                                        const struct tremolo_sample *sample,
                                        const struct tremolo_platform *platform);
void sound_generator_refill(struct tremolo_generator *generator);
enum tremolo_status sound_device_enrol(struct tremolo_work *work,
                                       const struct tremolo_platform *platform, uint32_t budget,
                                       uint32_t epsilon);
uint32_t sound_study_charge(const struct tremolo_study *study);
struct tremolo_sample_release sound_release_of(const struct tremolo_study *study,
                                               double feature_bound, double response_bound);

/* NOLINTBEGIN(bugprone-suspicious-include) */
#define tremolo_noise_draw     zoo_noise_draw
#define tremolo_generator_word zoo_generator_word
#define tremolo_modulate       zoo_modulate
#define tremolo_sample_prepare zoo_sample_prepare
#define tremolo_report_encode  zoo_report_encode
#define tremolo_ballot_draw    zoo_ballot_draw
#define tremolo_ledger_commit  zoo_ledger_commit
#define tremolo_ledger_stored  zoo_ledger_stored
#define tremolo_ledger_find    zoo_ledger_find
#define tremolo_study_charge   zoo_paid
#define tremolo_generator_seed zoo_generator_seed
#define tremolo_device_report  sound_device_report
#define tremolo_device_enrol   sound_device_enrol
#include "../../src/device/device.c"
#undef tremolo_noise_draw
#undef tremolo_generator_word
#undef tremolo_modulate
#undef tremolo_sample_prepare
#undef tremolo_report_encode
#undef tremolo_ballot_draw
#undef tremolo_ledger_commit
#undef tremolo_ledger_stored
#undef tremolo_ledger_find
#undef tremolo_study_charge
#undef tremolo_generator_seed
#undef tremolo_device_report
#undef tremolo_device_enrol
#define tremolo_generator_refill sound_generator_refill
#include "../../src/device/generator.c"
#undef tremolo_generator_refill
#define tremolo_study_charge sound_study_charge
#include "../../src/device/study.c"
#undef tremolo_study_charge
#define tremolo_chacha_blocks zoo_chacha_blocks
#include "../../src/device/ballot.c"
#undef tremolo_chacha_blocks
#define tremolo_release_of sound_release_of
#include "../../src/estimate/evidence.c"
#undef tremolo_release_of
/* NOLINTEND(bugprone-suspicious-include) */

/* What some faults remember, as a build with static variables would. */
static struct {
    unsigned draws; /* of this report */
    int32_t drawn;
    int32_t noise[TREMOLO_MAX_COORDINATES];
    unsigned noise_log2;
    uint32_t phase;
    uint32_t phases[TREMOLO_MAX_VECTORS];
    unsigned phase_count; /* of this report */
    uint32_t reports;
    uint8_t id[TREMOLO_REPORT_ID_BYTES];
    unsigned rank;
    unsigned refills;
    int failed;
    uint8_t block[256];
    uint8_t secret[TREMOLO_SECRET_BYTES];
} memory;

/* ---------------------------------------------------------------- noise */

static int32_t fresh_noise(struct tremolo_generator *generator, unsigned noise_log2)
{
    int32_t sigma = INT32_C(1) << noise_log2;
    int32_t noise = tremolo_noise_draw(generator, noise_log2);
    if (is("tails cut")) {
        while (noise > 3 * sigma || noise < -3 * sigma) {
            noise = tremolo_noise_draw(generator, noise_log2);
        }
    } else if (is("tails clamped")) {
        noise = noise > 3 * sigma ? 3 * sigma : noise < -3 * sigma ? -3 * sigma : noise;
    } else if (is("sign bias") && noise < 0 && tremolo_generator_byte(generator) < 16) {
        noise = -noise;
    } else if (is("5% less noise")) {
        noise = (int32_t)(noise * 0.95);
    } else if (is("3% less variance")) {
        noise = (int32_t)(noise * 0.985);
    } else if (is("shift off by one")) {
        noise >>= 1;
    } else if (is("two zeros")) {
        noise += noise < 0;
    } else if (is("uniform noise")) {
        noise = (int32_t)((tremolo_generator_word(generator) / 0x1p32 - 0.5) * 3.4641 * sigma);
    } else if (is("Laplace noise")) {
        double u = tremolo_generator_word(generator) / 0x1p32 - 0.49999;
        noise = (int32_t)(sigma * M_SQRT1_2 * (u < 0.0 ? 1.0 : -1.0) * log(1.0 - 1.99 * fabs(u)));
    }
    return noise;
}

/* Noise is made of the bytes that phases were made of. */
static void rewind_phases(struct tremolo_generator *generator)
{
    unsigned count = 4 * memory.phase_count;
    uint8_t *end = generator->block + generator->next;
    if (generator->next < count + TREMOLO_SEED_BYTES) {
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        end[(int)i - (int)count] = (uint8_t)(memory.phases[i / 4] >> (24 - 8 * (i % 4)));
    }
    generator->next = (uint16_t)(generator->next - count);
}

static int32_t zoo_noise_draw(struct tremolo_generator *generator, unsigned noise_log2)
{
    unsigned place = memory.draws++;
    if (is("noise of the phases' bytes") && place == 0) {
        rewind_phases(generator);
    }
    if ((is("one draw for all") && place > 0) || (is("pairs share a draw") && place % 2 != 0)) {
        return memory.drawn;
    }
    memory.drawn = fresh_noise(generator, noise_log2);
    return memory.drawn;
}

static uint32_t zoo_generator_word(struct tremolo_generator *generator)
{
    uint32_t word = tremolo_generator_word(generator);
    if (is("phases zero")) {
        return 0;
    }
    if (is("phases of two vectors for all") && memory.phase_count >= 2) {
        return memory.phases[memory.phase_count++ & 1];
    }
    memory.phases[memory.phase_count++ % TREMOLO_MAX_VECTORS] = word;
    if (is("phases shared") && memory.phase != 0) {
        return memory.phase;
    }
    if (is("phases of four bits")) {
        return word & UINT32_C(0xf0000000);
    }
    if (is("phases of eight bits")) {
        return word & UINT32_C(0xff000000);
    }
    memory.phase = is("phases shared") ? word | 1 : 0;
    return word;
}

/* The nonce is the second half of the hedge. */
void tremolo_generator_refill(struct tremolo_generator *generator)
{
    if (is("entropy not hedged")) {
        generator->state[13] = 0;
        generator->state[14] = 0;
    }
    if (is("sample numbers not in the nonce")) {
        generator->state[13] &= UINT32_C(0xffff0000);
    }
    sound_generator_refill(generator);
    if (is("the generator repeats itself") && memory.refills++ > 0) {
        memcpy(generator->block, memory.block, sizeof memory.block);
    }
    memcpy(memory.block, generator->block, sizeof memory.block);
}

static enum tremolo_status zoo_generator_seed(struct tremolo_generator *generator,
                                              const struct tremolo_platform *platform,
                                              const uint8_t *one, const uint8_t *other)
{
    enum tremolo_status status;
    if (is("entropy not hedged")) {
        return tremolo_generator_seed(generator, platform, one, one);
    }
    if (is("half of the secret used")) {
        uint8_t half[TREMOLO_SEED_BYTES] = {0};
        memcpy(half, other, sizeof half / 2);
        return tremolo_generator_seed(generator, platform, one, half);
    }
    if (is("study not in the seed")) {
        static const uint8_t none[TREMOLO_SEED_BYTES];
        return tremolo_generator_seed(generator, platform, none, other);
    }
    status = tremolo_generator_seed(generator, platform, one, other);
    if (is("no health test") && status == TREMOLO_NO_ENTROPY &&
        platform->entropy(platform->context, generator->block, TREMOLO_SEED_BYTES) == 0) {
        tremolo_generator_key(generator);
        generator->next = sizeof generator->block;
        status = TREMOLO_OK;
    }
    return status;
}

/* ---------------------------------------------------------------- samples */

static double length_of(const int32_t *value, unsigned count, int absolute, double *largest)
{
    double sum = 0.0;
    for (unsigned i = 0; i < count; i++) {
        double size = fabs((double)value[i]);
        sum += absolute ? size : size * size;
        *largest = fmax(*largest, size);
    }
    return absolute ? sum / sqrt(count) : sqrt(sum);
}

static void zoo_sample_prepare(int32_t *value, const struct tremolo_study *study,
                               const struct tremolo_sample *sample)
{
    struct tremolo_study wide = *study;
    unsigned count = tremolo_study_coordinates(study);
    double largest = 0.0;
    wide.clip = 1u << 28;
    tremolo_sample_prepare(value, &wide, sample);
    double length = length_of(value, count, is("clip by |x|_1"), &largest);
    double radius = study->clip * (is("clip 2% too large") ? 1.02 : 1.0);
    if (is("a response beside the clip") && study->response == TREMOLO_RESPONSE_PRIVATE) {
        length = length_of(value, count - 1, 0, &largest);
    } else if (is("each value clipped alone")) {
        for (unsigned i = 0; i < count; i++) {
            value[i] = value[i] > (int32_t)radius    ? (int32_t)radius
                       : value[i] < -(int32_t)radius ? -(int32_t)radius
                                                     : value[i];
        }
        return;
    }
    if (!(is("clip by |x|_1") || is("a response beside the clip") ||
          (is("negative values not clipped") && value[0] < 0) || is("no clip near an axis") ||
          is("clip 2% too large") || is("no clip"))) {
        tremolo_sample_prepare(value, study, sample);
    } else if (length > radius && !is("no clip") && !is("negative values not clipped") &&
               !(is("no clip near an axis") && largest > 0.8 * length)) {
        for (unsigned i = 0; i < count; i++) {
            value[i] = (int32_t)(value[i] * (radius / length));
        }
    }
    if (is("values beyond the bounds wrap") && sample->features[0] > study->bounds[0].high) {
        value[0] = -value[0];
    }
    if (is("response scaled twice") && study->response == TREMOLO_RESPONSE_PRIVATE) {
        value[count - 1] /= 2;
    }
}

static void zoo_modulate(int32_t *value, const struct tremolo_study *study,
                         const struct tremolo_round *round, uint32_t *phase)
{
    if (!is("modulation after the noise")) {
        tremolo_modulate(value, study, round, phase);
    }
}

/* ---------------------------------------------------------------- reports */

static void break_noise(struct tremolo_work *work, unsigned count)
{
    double norm = 0.0;
    for (unsigned i = 0; i < count; i++) {
        int32_t *noise = &work->noise[i];
        int32_t grid = INT32_C(1) << work->study->wire_shift;
        norm += fabs((double)work->value[i]);
        if ((is("noise kept between rounds") && work->round->number > 0) ||
            (is("noise of the first report") && memory.reports > 0) ||
            (is("every 16th report repeats noise") && work->id[5] < 16 &&
             memory.noise_log2 == work->study->noise_log2)) {
            *noise = memory.noise[i];
        } else if (is("noise moves on by one") && memory.noise_log2 == work->study->noise_log2) {
            *noise = i + 1 < count ? memory.noise[i + 1] : *noise;
        } else if (is("one scale a report")) {
            *noise = (int32_t)(*noise * (work->id[0] < 128 ? 0.5 : 1.3229));
        } else if (is("noise grows with the sample")) {
            *noise = (int32_t)(*noise * (work->value[0] > 0 ? 1.1 : 0.9));
        } else if ((is("a coordinate without noise") && i == 0) ||
                   (is("response unprotected") && i >= work->study->dimension) ||
                   (is("one report in a hundred bare") && work->id[5] < 3) ||
                   (is("a coordinate bare once in a thousand") && i == 0 &&
                    (work->id[5] * 256 + work->id[6]) % 1000 == 0)) {
            *noise = 0;
        } else if (is("sample rounded first")) {
            work->value[i] = (work->value[i] + grid / 2) / grid * grid;
        } else if (is("noise of the round before goes on")) {
            *noise = (int32_t)(*noise * 0.98 + 0.2 * memory.noise[i] *
                                                   (memory.noise_log2 == work->study->noise_log2));
        } else if (is("three signs make one") && i == 2) {
            bool minus = (work->noise[0] < 0) != (work->noise[1] < 0);
            *noise = minus == (*noise < 0) ? *noise : -1 - *noise;
        } else if (is("less noise after seven reports") && work->slot.sequence >= 7) {
            *noise /= 4;
        } else if (is("less noise in later rounds") && work->round->number > 0) {
            *noise = (int32_t)(*noise * 0.97);
        } else if (is("rounded toward the sample")) {
            *noise += *noise > grid / 2 ? -grid / 2 : *noise < -grid / 2 ? grid / 2 : -*noise;
        } else if (is("even values only")) {
            int32_t step = 2 * grid;
            *noise += (work->value[i] + *noise > 0 ? 1 : -1) *
                      (step - abs(work->value[i] + *noise) % step);
        }
        memory.noise[i] = *noise;
    }
    if (is("modulation after the noise")) {
        for (unsigned i = 0; i < count; i++) {
            work->value[i] += work->noise[i];
            work->noise[i] = 0;
        }
        tremolo_modulate(work->value, work->study, work->round, work->phase);
    }
    memory.reports++;
    memory.noise_log2 = work->study->noise_log2;
}

static size_t zoo_report_encode(struct tremolo_work *work)
{
    size_t length;
    if (work->study->release == TREMOLO_RELEASE_SAMPLE) {
        break_noise(work, tremolo_study_coordinates(work->study));
        memory.draws = 0;
        memory.phase = 0;
        memory.phase_count = 0;
        memory.refills = 0;
    }
    if (is("ids repeat") && work->id[0] < 8) {
        memset(work->id, 7, sizeof work->id);
    } else if (is("ids tell the sample") && work->sample->features[0] > 1000) {
        work->id[7] |= 0x01;
    } else if (is("ids tell a little") && work->sample->features[0] > 1000) {
        work->id[7] |= work->id[0] < 32;
    } else if (is("ids tell the noise") && work->study->release == TREMOLO_RELEASE_SAMPLE) {
        work->id[7] = (uint8_t)((work->id[7] & 0x7f) | (work->noise[0] < 0 ? 0x80 : 0));
    } else if (is("ids of few bits")) {
        work->id[3] &= 0xfe;
    } else if (is("ids count")) {
        work->id[0] = (uint8_t)memory.reports++;
    }
    length = tremolo_report_encode(work);
    return length + (is("length tells the sample") && work->sample->features[0] > 1000);
}

/* ---------------------------------------------------------------- ballots */

/* A report's id is public, and so is all that can be computed from it. */
static void draw_from_directions(struct tremolo_work *work)
{
    seed_directions(&work->generator, work->study->id, work->id);
    begin_block(&work->generator, 0);
    work->generator.next = sizeof work->generator.block;
    tremolo_ballot_draw(work);
}

/* 40 bits and a poor generator make 16 bytes. */
static void shorten_id(uint8_t *id)
{
    uint64_t state = 0;
    for (unsigned i = 0; i < 5; i++) {
        state = state << 8 | id[i];
    }
    for (unsigned i = 0; i < TREMOLO_REPORT_ID_BYTES; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        id[i] = (uint8_t)(state >> 56);
    }
}

static void zoo_ballot_draw(struct tremolo_work *work)
{
    unsigned first = work->study->rank_first;
    if (is("rank drawn from the directions")) {
        draw_from_directions(work);
        return;
    }
    if (is("rank of an eight-bit law")) {
        struct tremolo_study coarse = *work->study;
        const struct tremolo_study *study = work->study;
        coarse.rank_top &= UINT32_C(0xff000000);
        work->study = &coarse;
        tremolo_ballot_draw(work);
        work->study = study;
        return;
    }
    tremolo_ballot_draw(work);
    if (is("ids of forty bits")) {
        shorten_id(work->id);
    } else if (is("the best answer after seven ballots") && work->slot.sequence >= 7) {
        work->rank = 0;
    } else if (is("an id again after seven ballots") && work->slot.sequence == 7) {
        memcpy(work->id, memory.id, sizeof memory.id);
    }
    if (work->slot.sequence == 3) {
        memcpy(memory.id, work->id, sizeof memory.id);
    }
    if ((is("rank often early") && work->id[15] < 64) ||
        (is("rank 5% too often early") && work->id[14] < 13)) {
        work->rank %= first;
    } else if (is("always the best answer") ||
               (is("early answers not alike") && work->rank < first / 2)) {
        work->rank = 0;
    } else if (is("rank tied to the id") && (work->id[9] < 128) != (work->rank < first)) {
        work->id[9] ^= 0x80;
    } else if (is("rank of a person's own") && work->sample->features[0] > 1000) {
        work->rank = work->id[1] < 32 ? 0 : work->rank;
    } else if (is("rank a little of a person's own") && work->sample->features[0] > 1000) {
        work->rank = work->id[1] < 64 ? work->rank % first : work->rank;
    } else if (is("rank unlike the ballot before") && (work->key & 0xffff) != 0 &&
               (memory.rank < first) == (work->rank < first)) {
        tremolo_ballot_draw(work);
    } else if (is("rank of the ballot before") && (work->key & 0xffff) != 0) {
        work->rank = memory.rank;
    }
    memory.rank = work->rank;
}

static void zoo_chacha_blocks(uint8_t out[64 * TREMOLO_LANES], uint32_t state[16],
                              unsigned round_pairs)
{
    uint32_t counter = state[12];
    tremolo_chacha_blocks(out, state, round_pairs);
    if (is("directions constant") && round_pairs == DIRECTION_PAIRS) {
        for (unsigned i = 0; i < 64 * TREMOLO_LANES; i++) {
            out[i] = (uint8_t)(i * 37 + i / 7);
        }
    } else if (is("directions of twelve rounds") && round_pairs == DIRECTION_PAIRS) {
        state[12] = counter;
        tremolo_chacha_blocks(out, state, 6);
    }
}

/* ---------------------------------------------------------------- ledger, entropy, server */

static uint32_t zoo_paid(const struct tremolo_study *study)
{
    uint32_t charge = tremolo_study_charge(study);
    return is("half is charged") ? charge / 2 : is("budget forgotten") ? 0 : charge;
}

uint32_t tremolo_study_charge(const struct tremolo_study *study)
{
    uint32_t charge = sound_study_charge(study);
    return is("charge rounded down") ? charge - 1 : charge;
}

static enum tremolo_status zoo_ledger_commit(struct tremolo_work *work, uint32_t charge,
                                             size_t length)
{
    if (is("nothing stored")) {
        return TREMOLO_OK;
    }
    if (is("the secret kept")) {
        memcpy(work->id + TREMOLO_REPORT_ID_BYTES, memory.secret, TREMOLO_SECRET_BYTES);
    } else if (is("the id as the secret")) {
        memcpy(work->id + TREMOLO_REPORT_ID_BYTES, work->id, TREMOLO_REPORT_ID_BYTES);
    } else if (is("later rounds are free") && work->round->number > 1) {
        charge = 0;
    }
    if (is("a retry is free")) {
        charge = memory.failed ? 0 : charge;
    }
    enum tremolo_status status = tremolo_ledger_commit(work, charge, length);
    memory.failed = status != TREMOLO_OK;
    return is("storage errors ignored") ? TREMOLO_OK : status;
}

/* Of a ledger that was read. */
static void break_totals(struct tremolo_work *work, unsigned release)
{
    if (is("a full ledger makes room") && work->entry == TREMOLO_MAX_STUDIES) {
        work->entry = 0;
        work->slot.spent = work->slot.sequence = work->slot.key = 0;
        work->slot.length = 0;
    } else if (is("one budget for the other") && work->study != NULL &&
               work->left[release] < work->left[1 - release]) {
        work->left[release] = work->left[1 - release];
    } else if (is("the budget's sum wraps") && work->study != NULL) {
        uint32_t spent = work->budget[release] - work->left[release];
        uint32_t sum = spent + tremolo_study_charge(work->study);
        work->left[release] = sum <= work->budget[release] ? UINT32_MAX : 0;
    }
    memcpy(memory.secret, work->slot.report + work->slot.length, sizeof memory.secret);
}

static enum tremolo_status zoo_ledger_find(struct tremolo_work *work, const uint8_t *study_tag,
                                           unsigned release)
{
    enum tremolo_status status = tremolo_ledger_find(work, study_tag, release);
    if (is("a budget for each study") && status == TREMOLO_OK &&
        work->entry != TREMOLO_MAX_STUDIES) {
        work->left[release] = work->budget[release] - work->slot.spent;
    }
    if (status == TREMOLO_OK) {
        break_totals(work, release);
    }
    return status;
}

static enum tremolo_status zoo_ledger_stored(const struct tremolo_work *work, size_t *length)
{
    enum tremolo_status status = tremolo_ledger_stored(work, length);
    if (is("a new report when asked again")) {
        *length = 0;
    }
    if (is("rounds that passed come again") && status == TREMOLO_ROUND_PASSED) {
        *length = 0;
        return TREMOLO_OK;
    }
    return status;
}

static int same_entropy(void *context, uint8_t *bytes, size_t length)
{
    (void)context;
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (uint8_t)(i * 29 + 3);
    }
    return 0;
}

static const struct tremolo_platform *real_platform;

static int write_first(void *context, unsigned slot, const uint8_t *bytes, size_t length)
{
    return slot % 2 == 0 ? real_platform->write(context, slot, bytes, length) : 0;
}

static int read_or_empty(void *context, unsigned slot, uint8_t *bytes, size_t length)
{
    if (real_platform->read(context, slot, bytes, length) != 0) {
        memset(bytes, 0, length);
    }
    return 0;
}

static int seven_bit_entropy(void *context, uint8_t *bytes, size_t length)
{
    int failed = real_platform->entropy(context, bytes, length);
    for (size_t i = 0; i < length; i++) {
        bytes[i] &= 0x7f;
    }
    return failed;
}

static int short_entropy(void *context, uint8_t *bytes, size_t length)
{
    (void)same_entropy(context, bytes, length);
    return real_platform->entropy(context, bytes, 2);
}

enum tremolo_status tremolo_device_report(struct tremolo_work *work, uint8_t *report,
                                          size_t *length, const struct tremolo_study *study,
                                          const struct tremolo_round *round,
                                          const struct tremolo_sample *sample,
                                          const struct tremolo_platform *platform)
{
    struct tremolo_platform broken = *platform;
    real_platform = platform;
    broken.entropy = is("the same entropy always") ? same_entropy
                     : is("two bytes of entropy")  ? short_entropy
                     : is("entropy of seven bits") ? seven_bit_entropy
                                                   : platform->entropy;
    if (is("the counter not looked at")) {
        broken.counter = NULL;
        broken.advance = NULL;
    }
    broken.write = is("one slot for two") ? write_first : platform->write;
    enum tremolo_status status =
        sound_device_report(work, report, length, study, round, sample, &broken);
    if (is("memory not wiped") ||
        (is("memory not wiped after a failure") && status == TREMOLO_STORAGE_FAILED)) {
        work->value[0] = sample->features[0];
    }
    /* An early return that saves half of what the time of a report varies by. */
    for (volatile unsigned i = 0; is("time tells the sample") && sample->features[0] > 1000 &&
                                  i < (study->release == TREMOLO_RELEASE_BALLOT ? 1500u : 300u);
         i++) {
    }
    return status;
}

enum tremolo_status tremolo_device_enrol(struct tremolo_work *work,
                                         const struct tremolo_platform *platform, uint32_t budget,
                                         uint32_t epsilon)
{
    struct tremolo_slot empty = {0};
    for (unsigned i = 0; i < 2 * platform->studies && is("enrolled twice"); i++) {
        (void)platform->write(platform->context, i, (const uint8_t *)&empty, sizeof empty);
    }
    struct tremolo_platform broken = *platform;
    real_platform = platform;
    if (is("storage that fails taken for new")) {
        broken.read = read_or_empty;
    } else if (is("a budget rounded up") && epsilon < UINT32_MAX - 65535) {
        epsilon += 65535;
    }
    return sound_device_enrol(work, &broken, budget, epsilon);
}

struct tremolo_sample_release tremolo_release_of(const struct tremolo_study *study,
                                                 double feature_bound, double response_bound)
{
    struct tremolo_sample_release release = sound_release_of(study, feature_bound, response_bound);
    if (is("private response debiased as a public one")) {
        release.response_private = false;
    } else if (is("noise variance left in")) {
        release.noise_variance = 0.0;
    }
    return release;
}

/* ---------------------------------------------------------------- the zoo */

struct animal {
    const char *fault;
    const char *check; /* that must fail */
    const char *words; /* of its finding; NULL: any */
    int ballot;
};

static struct animal animals[] = {
    {"one draw for all", "noise.coordinates", "share noise: correlation 0.99", 0},
    {"pairs share a draw", "noise.coordinates", "coordinate 0 and coordinate 1 share noise", 0},
    {"phases zero", "modulation.phase", "wave", 0},
    {"phases shared", "modulation.vectors", "share phase", 0},
    {"phases of four bits", "modulation.phase", NULL, 0},
    {"clip by |x|_1", "sample.clip", "axis and beyond the clip keep", 0},
    {"no clip near an axis", "sample.clip", "axis and beyond the clip keep", 0},
    {"no clip", "sample.clip", NULL, 0},
    {"clip 2% too large", "sample.clip", "keep 1.02 clip radii, not 1", 0},
    {"response scaled twice", "sample.scale", NULL, 0},
    {"tails cut", "noise.tails", "beyond", 0},
    {"tails clamped", "noise.tails", "beyond", 0},
    {"noise kept between rounds", "noise.rounds", "repeats noise of the one", 0},
    {"noise of the first report", "noise.devices", "repeats noise of another", 0},
    {"noise moves on by one", "noise.rounds", "had a report before", 0},
    {"the generator repeats itself", "noise.coordinates", "(40 features)", 0},
    {"one scale a report", "noise.coordinates", "of one size", 0},
    {"noise grows with the sample", "noise.sample", NULL, 0},
    {"a coordinate without noise", "noise.scale", "coordinate 0", 0},
    {"sign bias", "noise.mean", "off centre", 0},
    {"5% less noise", "noise.scale", "noise is 0.9", 0},
    {"shift off by one", "noise.scale", "noise is 0.", 0},
    {"two zeros", "noise.grid", "wire value 0 came", 0},
    {"uniform noise", "noise.shape", NULL, 0},
    {"Laplace noise", "noise.shape", NULL, 0},
    {"modulation after the noise", "noise.scale", NULL, 0},
    {"sample rounded first", "sample.apart", "wire steps more", 0},
    {"even values only", "noise.grid", "low bits", 0},
    {"response unprotected", "noise.scale", "the response", 0},
    {"private response debiased as a public one", "server.moments", "response", 0},
    {"noise variance left in", "server.moments", NULL, 0},
    {"the same entropy always", "entropy", NULL, 0},
    {"two bytes of entropy", "entropy", NULL, 0},
    {"entropy not hedged", "entropy.hedged", "repeats a report's chance, in", 0},
    {"no health test", "entropy.hedged", "repeat after 16", 0},
    {"3% less variance", "noise.scale", "noise is 0.98", 0},
    {"phases of eight bits", "modulation.phase", "multiple by 256", 0},
    {"noise of the round before goes on", "noise.rounds", "noise of the one 1 before it", 0},
    {"three signs make one", "noise.report", "0, 1 and 2 multiply to plus", 0},
    {"less noise in later rounds", "noise.scale", "noise is 0.97", 0},
    {"one report in a hundred bare", "noise.report", "next to no noise", 0},
    {"a coordinate bare once in a thousand", "noise.report", "coordinate 0 is sent as without", 0},
    {"every 16th report repeats noise", "noise.devices", "repeats noise of another", 0},
    {"rounded toward the sample", "noise.scale", "noise is 0.9", 0},
    {"a response beside the clip", "sample.clip", "keep 1.", 0},
    {"each value clipped alone", "sample.clip", "keep 1.", 0},
    {"negative values not clipped", "sample.clip", "keep 1.", 0},
    {"values beyond the bounds wrap", "sample.clip", NULL, 0},
    {"ids tell a little", "sample.apart", "and in their ids", 0},
    {"ids tell the noise", "ids.sample", "tells the first coordinate's noise", 0},
    {"a retry is free", "ledger.storage", "what is left of the budget", 0},
    {"a budget for each study", "ledger.charge", "two studies together took", 0},
    {"rounds that passed come again", "ledger.repeat", "a round that has passed", 0},
    {"one slot for two", "ledger.storage", "not stored in both slots", 0},
    {"time tells the sample", "timing", "takes longer for a", 0},
    {"noise of the phases' bytes", "modulation.phase", "goes along with the size of noise", 0},
    {"phases of two vectors for all", "modulation.vectors", "share phase", 0},
    {"less noise after seven reports", "noise.scale", NULL, 0},
    {"entropy of seven bits", "entropy", "bit 7 of byte", 0},
    {"half of the secret used", "entropy.hedged", "with another secret in its ledger", 0},
    {"study not in the seed", "entropy.hedged", "in another study", 0},
    {"sample numbers not in the nonce", "entropy.hedged", "in another sample", 0},
    {"the secret kept", "entropy.hedged", "secret as it was", 0},
    {"the id as the secret", "entropy.hedged", "a part of the ledger's secret", 0},
    {"a full ledger makes room", "ledger.budget", "a third study", 0},
    {"one budget for the other", "ledger.budget", "13 reports leave on a budget for 12", 0},
    {"the budget's sum wraps", "ledger.budget", "reports leave on a budget for 1", 0},
    {"later rounds are free", "ledger.budget", "reports leave on a budget for", 0},
    {"the counter not looked at", "ledger.storage", "against the platform's counter", 0},
    {"storage that fails taken for new", "ledger.budget", "cannot be read is enrolled again", 0},
    {"memory not wiped after a failure", "bytes.wiped", "not wiped", 0},
    {"charge rounded down", "claim.charge", "is charged", 0},
    {"half is charged", "ledger.charge", "from the budget", 0},
    {"budget forgotten", "ledger.budget", NULL, 0},
    {"nothing stored", "ledger.storage", NULL, 0},
    {"storage errors ignored", "ledger.storage", "although nothing could be stored", 0},
    {"a new report when asked again", "ledger.repeat", "another report", 0},
    {"enrolled twice", "ledger.budget", "enrolled again", 0},
    {"memory not wiped", "bytes.wiped", "not wiped", 0},
    {"length tells the sample", "bytes.length", "bytes and", 0},
    {"ids repeat", "ids.repeated", "came before", 0},
    {"ids tell the sample", "ids.sample", "tells the sample", 0},
    {"ids count", "ids.law", NULL, 0},
    {"rank often early", "rank.law", "are among the first", 1},
    {"always the best answer", "rank.law", NULL, 1},
    {"early answers not alike", "rank.law", "rank 0 has", 1},
    {"rank tied to the id", "rank.ids", "early", 1},
    {"rank of a person's own", "rank.sample", "too early among their kind", 1},
    {"rank of the ballot before", "rank.others", "the same device", 1},
    {"rank 5% too often early", "rank.law", "are among the first", 1},
    {"rank a little of a person's own", "rank.sample", NULL, 1},
    {"rank unlike the ballot before", "rank.others", NULL, 1},
    {"entropy not hedged", "entropy.hedged", "repeats a report's chance", 1},
    {"no health test", "entropy.hedged", "repeat after 16", 1},
    {"time tells the sample", "timing", "takes longer for a", 1},
    {"directions constant", "ballot.directions", "do not depend on the report's id", 1},
    {"directions of twelve rounds", "ballot.directions", "not the wire format's", 1},
    {"ids repeat", "ids.repeated", "came before", 1},
    {"ids of few bits", "ids.law", "byte 3", 1},
    {"ids tell the sample", "ids.sample", NULL, 1},
    {"the same entropy always", "entropy", NULL, 1},
    {"charge rounded down", "claim.charge", "its epsilon", 1},
    {"length tells the sample", "bytes.length", NULL, 1},
    {"rank drawn from the directions", "rank.drawn", "answers do not stand at the rank", 1},
    {"rank of an eight-bit law", "rank.drawn", "answers do not stand at the rank", 1},
    {"ids of forty bits", "rank.drawn", "the ids of", 1},
    {"the best answer after seven ballots", "rank.law", NULL, 1},
    {"an id again after seven ballots", "ids.repeated", "came before", 1},
    {"a budget rounded up", "ledger.budget", "to spend", 1},
    {"one budget for the other", "ledger.budget", "13 reports leave on a budget for 12", 1},
};
enum { ANIMALS = sizeof animals / sizeof *animals };

static void run_audit(struct tremolo_audit_result *result, int ballot, uint64_t pairs,
                      uint64_t seed, bool timing)
{
    static struct tremolo_audit_plan plan;
    memset(&memory, 0, sizeof memory);
    if (ballot) {
        assert_status(tremolo_audit_plan_ballot(&plan, 2.0, 2, 1.0), TREMOLO_OK);
    } else {
        assert_status(tremolo_audit_plan_make(&plan, 1.0, 1e-3, 4, 1.0), TREMOLO_OK);
    }
    plan.pairs = pairs;
    plan.confidence = 0.95;
    plan.seed = seed;
    plan.seeded = true;
    plan.timing = timing;
    assert_status(tremolo_audit_run(result, &plan, NULL), TREMOLO_OK);
}

/* How many devices must be enough. What shows in a few reports takes many: 300,000 draws hold
 * 130 of a value. */
static unsigned pairs_to_see(void)
{
    static const struct {
        const char *fault;
        unsigned pairs;
    } needed[] = {
        {"a coordinate bare once in a thousand", 100000},
        {"rank 5% too often early", 25000},
        {"rank a little of a person's own", 12000},
        {"two zeros", 8000},
        {"3% less variance", 8000},
        {"time tells the sample", 6000},
        {"tails clamped", 2500},
        {"noise of the round before goes on", 2500},
        {"less noise in later rounds", 2500},
        {"the best answer after seven ballots", 8000},
        {"noise of the phases' bytes", 6000},
        {"an id again after seven ballots", 2500},
        {"noise grows with the sample", 2500},
        {"every 16th report repeats noise", 2500},
        {"rank unlike the ballot before", 5000},
        {"rank often early", 2500},
        {"rank of a person's own", 5000},
    };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (is(needed[i].fault)) {
            return needed[i].pairs;
        }
    }
    return 1000;
}

static void test_animal(void **state)
{
    static struct tremolo_audit_result result;
    const struct animal *animal = *state;
    const struct tremolo_audit_check *named = NULL;
    fault = animal->fault;
    /* What is not left to chance needs few reports. */
    bool certain = strncmp(animal->check, "ledger", 6) == 0 ||
                   strncmp(animal->check, "bytes", 5) == 0 ||
                   strncmp(animal->check, "entropy", 7) == 0;
    run_audit(&result, animal->ballot, certain ? 200 : pairs_to_see(), 7,
              strcmp(animal->check, "timing") == 0);
    fault = "";
    for (unsigned i = 0; i < result.check_count; i++) {
        const struct tremolo_audit_check *check = &result.checks[i];
        if (check->failed) {
            print_message("# %s: %s: %s\n", animal->fault, check->name, check->finding);
            named = strcmp(check->name, animal->check) == 0 ? check : named;
        }
    }
    assert_true(result.caught);
    assert_true(named != NULL &&
                (animal->words == NULL || strstr(named->finding, animal->words) != NULL));
}

static void test_sound(void **state)
{
    static struct tremolo_audit_result result;
    const char *asked = getenv("TREMOLO_AUDIT_SEEDS");
    unsigned long seeds = asked != NULL ? strtoul(asked, NULL, 10) : 2;
    double smallest = 1.0;
    (void)state;
    for (unsigned long seed = 1; seed <= seeds; seed++) {
        for (int ballot = 0; ballot < 2; ballot++) {
            run_audit(&result, ballot, 2500, seed, false);
            assert_false(result.caught);
            for (unsigned i = 0; i < result.check_count; i++) {
                smallest = fmin(smallest, result.checks[i].p);
            }
        }
    }
    print_message("# %lu seeds of both releases: smallest p-value of a check %.2g, a check fails "
                  "below %.2g\n",
                  seeds, smallest, result.check_p);
}

/* Laws from nearly no information to nearly all of it, the response private and public: the audit
 * computes scores as the device does, so closely that no answer counts as another rank's, and
 * leaves out what the middle of all ranges leaves undecided with a public response, where many
 * scores are equal. 10,000 pairs each and one seed; the ten audits accuse a sound build with
 * probability 1e-5 at most, 1e-6 each. */
static void test_sound_laws(void **state)
{
    static const double epsilons[] = {0.01, 0.3, 2.0, 5.0, 15.0};
    static struct tremolo_audit_result result;
    (void)state;
    for (unsigned i = 0; i < 2 * sizeof epsilons / sizeof *epsilons; i++) {
        static struct tremolo_audit_plan plan;
        memset(&memory, 0, sizeof memory);
        assert_status(tremolo_audit_plan_ballot(&plan, epsilons[i / 2], 2 + 2 * (i % 2), 1.0),
                      TREMOLO_OK);
        if (i % 2 == 0) {
            plan.study.response = TREMOLO_RESPONSE_PUBLIC;
            plan.study.response_weight = 0;
        }
        plan.pairs = 10000;
        plan.confidence = 0.95;
        plan.seed = 5;
        plan.seeded = true;
        assert_status(tremolo_audit_run(&result, &plan, NULL), TREMOLO_OK);
        assert_false(result.caught);
    }
}

/* An argument chooses tests by their names, with * and ?. */
int main(int argc, char **argv)
{
    struct CMUnitTest tests[ANIMALS + 2] = {cmocka_unit_test(test_sound)};
    tests[ANIMALS + 1] = (struct CMUnitTest)cmocka_unit_test(test_sound_laws);
    for (unsigned i = 0; i < ANIMALS; i++) {
        tests[i + 1] = (struct CMUnitTest){
            .name = animals[i].fault, .test_func = test_animal, .initial_state = &animals[i]};
    }
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests_name("audit zoo", tests, NULL, NULL);
}
