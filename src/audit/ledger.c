/* ledger.c -- the checks that need no counting: charges, ledger, entropy, bytes.
 *
 * Nothing here is left to chance: each expectation is part of the device's contract, and one exception
 * is a finding. What is expected:
 *
 *   charges  a release is charged at least what it costs by docs/reference/proofs.md, once;
 *   ledger   charge and bytes are stored in both slots before a byte leaves, a repetition gives the
 *            same bytes, and damage, older copies or failing storage never give a charge back;
 *   entropy  a report's chance comes from the platform's entropy alone, all of it; if the source
 *            repeats itself, the ledger's secret, the study, the round and the sample number still
 *            make reports differ (P8b);
 *   bytes    reports of a study have one length, a MAC that notices every change, and the response
 *            only where the study says so. */
#include "audit_parts.h"

#include <math.h>
#include <string.h>

enum {
    STUDIES = 300, /* random ones, to compare charges with costs */
    RELEASES = 4,  /* rounds of the study that most checks use */
    SAMPLES = 60,  /* from one end of the range to the other, and beyond */
    DRAINED = 64,  /* reports that a drain asks for */
    ENTROPY_BITS_MAX = 8 * 96,
};

/* ---------------------------------------------------------------- one device */

/* One device from its enrolment on. */
struct audit_life {
    struct audit *audit;
    struct tremolo_study study;
    struct audit_sample sample;
    uint16_t number; /* of the sample */
    int16_t vectors[TREMOLO_MAX_VECTORS * TREMOLO_MAX_DIMENSION];
    const uint8_t *mac_key; /* NULL: none */
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    size_t length;
};

/* A round of the device's study, with the study's vectors if it has any. */
static struct tremolo_round round_of(const struct audit_life *life, unsigned number)
{
    return (struct tremolo_round){life->study.vectors > 0 ? life->vectors : NULL, (uint16_t)number};
}

/* Report number `release`, straight from the core. Here a refusal may be what is expected, so
 * that it does not end the run. The bytes are filled beforehand, to show what the core leaves in
 * them. */
static enum tremolo_status ask(struct audit_life *life, unsigned release)
{
    struct audit *audit = life->audit;
    struct tremolo_platform platform = audit_platform(audit);
    const struct tremolo_round round = round_of(life, release);
    const struct tremolo_sample sample = {life->sample.features, life->sample.response,
                                          life->number};
    platform.mac_key = life->mac_key;
    memset(life->bytes, 0xff, sizeof life->bytes);
    life->length = sizeof life->bytes;
    enum tremolo_status status = tremolo_device_report(&audit->work, life->bytes, &life->length,
                                                       &life->study, &round, &sample, &platform);
    audit_expect_wiped(audit);
    return status;
}

/* The first report, where a refusal is a failure. */
static bool make_report(struct audit_life *life)
{
    return life->audit->status == TREMOLO_OK && audit_goes_on(life->audit, ask(life, 0));
}

/* True if the core left neither bytes nor a length. */
static bool is_wiped(const struct audit_life *life)
{
    for (size_t i = 0; i < sizeof life->bytes; i++) {
        if (life->bytes[i] != 0) {
            return false;
        }
    }
    return life->length == 0;
}

/* True if the core refuses for this reason, or with TREMOLO_OK for any, and nothing leaves. */
static bool refuses(struct audit_life *life, unsigned release, enum tremolo_status reason)
{
    enum tremolo_status status = ask(life, release);
    return status != TREMOLO_OK && (reason == TREMOLO_OK || status == reason) && is_wiped(life);
}

/* The rest of the budget that the study's release spends; -1 when the ledger is refused. */
static double budget_left(struct audit_life *life)
{
    struct audit *audit = life->audit;
    const struct tremolo_platform platform = audit_platform(audit);
    uint32_t value = 0;
    enum tremolo_status status = life->study.release == TREMOLO_RELEASE_BALLOT
                                     ? tremolo_device_epsilon(&audit->work, &value, &platform)
                                     : tremolo_device_budget(&audit->work, &value, &platform);
    return status == TREMOLO_OK ? value : -1.0;
}

/* Enrol with a budget of so many charges, rounded up to what the ledger counts in. */
static bool enrol_for(struct audit_life *life, double charges)
{
    double budget = charges * tremolo_study_charge(&life->study);
    if (life->study.release == TREMOLO_RELEASE_BALLOT) {
        return audit_enrol(life->audit, 0, (uint32_t)(ceil(budget / 65536.0) * 65536.0));
    }
    return audit_enrol(life->audit, (uint32_t)budget, 0);
}

/* As many charges as are asked for at most, if a ledger can hold them. */
static double room(const struct audit_life *life)
{
    return fmin(3.5, (double)UINT32_MAX / tremolo_study_charge(&life->study));
}

/* Set every value of the sample to a place, in half ranges from the middle. */
static void place_all(struct audit_life *life, double place)
{
    double places[AUDIT_COORDINATES_MAX + 1];
    for (unsigned i = 0; i <= life->study.dimension; i++) {
        places[i] = place;
    }
    audit_sample_at(&life->sample, &life->study, places);
}

/* ---------------------------------------------------------------- entropy */

/* With the same seed the audit's source gives the same bytes again, so two reports can be
 * compared that differ in one bit of the entropy, of the ledger's secret or of the study's id. A
 * bit that changes nothing does not enter the device's generator. */

/* The bytes of a fresh device's report under a seed, with one bit of its entropy flipped. Notes
 * that a report takes a whole seed of entropy. */
static void report_under(struct audit_life *life, uint64_t seed, size_t flipped)
{
    struct audit_device *device = &life->audit->device;
    device->random = tremolo_random_from(seed, 1);
    device->entropy_bytes = 0;
    device->flipped = flipped;
    (void)enrol_for(life, 1.0);
    size_t enrolled = device->entropy_bytes;
    (void)make_report(life);
    device->flipped = SIZE_MAX;
    size_t drawn = device->entropy_bytes - enrolled;
    audit_note(life->audit, CHECK_ENTROPY, drawn >= TREMOLO_SEED_BYTES ? 1.0 : 0.0, (double)drawn,
               TREMOLO_SEED_BYTES, "a report takes %zu bytes of entropy, not %d", drawn,
               TREMOLO_SEED_BYTES);
}

/* The same entropy gives the same bytes, every bit of it matters, and without it no report
 * leaves. */
static void check_entropy(struct audit_life *life)
{
    struct audit *audit = life->audit;
    struct audit_device *device = &audit->device;
    const struct audit_device kept = *device;
    uint64_t seed = tremolo_random_bits(&audit->random);
    uint8_t first[TREMOLO_MAX_REPORT_BYTES];
    device->seeded = true;
    report_under(life, seed, SIZE_MAX);
    /* Every bit that enrolment and report took is flipped in turn below. */
    size_t entropy = 8 * device->entropy_bytes;
    memcpy(first, life->bytes, sizeof first);
    if (audit->status == TREMOLO_OK) {
        report_under(life, seed, SIZE_MAX);
        audit_expect(audit, CHECK_ENTROPY, memcmp(first, life->bytes, sizeof first) == 0,
                     "the same entropy gives other bytes: there is another source of chance");
    }
    for (size_t k = 0; k < entropy && k < ENTROPY_BITS_MAX && audit->status == TREMOLO_OK; k++) {
        report_under(life, seed, k);
        bool other = memcmp(first, life->bytes, sizeof first) != 0;
        audit_note(audit, CHECK_ENTROPY, other ? 1.0 : 0.0, (double)k, 0.0,
                   "bit %zu of byte %zu of the entropy changes nothing in a report", k % 8, k / 8);
    }
    if (audit->status == TREMOLO_OK) {
        (void)enrol_for(life, 1.0);
        device->without_entropy = true;
        audit_expect(audit, CHECK_ENTROPY, refuses(life, 0, TREMOLO_OK),
                     "a report leaves without entropy");
        device->without_entropy = false;
    }
    device->random = kept.random;
    device->seeded = kept.seeded;
}

/* A report under a source that repeats itself must have another id than `seen`, which becomes its
 * id. A refusal is also right. */
static void check_another(struct audit_life *life, unsigned release,
                          uint8_t seen[TREMOLO_REPORT_ID_BYTES], const char *when)
{
    struct tremolo_report report;
    if (ask(life, release) == TREMOLO_OK &&
        tremolo_report_decode(&report, life->bytes, life->length) == TREMOLO_OK) {
        audit_expect(life->audit, CHECK_HEDGED,
                     memcmp(report.id, seen, TREMOLO_REPORT_ID_BYTES) != 0,
                     "a source of entropy that repeats itself repeats a report's chance, %s", when);
        memcpy(seen, report.id, TREMOLO_REPORT_ID_BYTES);
    }
}

/* Enrol a device with a source that gives the same 32 bytes at every call. */
static void repeat_entropy(struct audit_life *life)
{
    life->audit->device.seeded = true;
    life->audit->device.period = TREMOLO_SEED_BYTES;
    (void)enrol_for(life, room(life));
}

/* With the same entropy at every call, reports of other rounds, samples and studies, and of a
 * device restored from a snapshot, must differ. A seed with a period of 16 bytes or less must be
 * refused. */
static void check_repeating(struct audit_life *life)
{
    struct audit *audit = life->audit;
    struct audit_device *device = &audit->device;
    const struct audit_device kept = *device;
    const struct tremolo_study study = life->study;
    uint8_t seen[TREMOLO_REPORT_ID_BYTES] = {0};
    struct tremolo_slot stored[4];
    repeat_entropy(life);
    memcpy(stored, device->slots, sizeof stored);
    check_another(life, 0, seen, "in the first round");
    check_another(life, 1, seen, "in the next round");
    memcpy(device->slots, stored, sizeof stored);
    /* Neither a round that the restored storage knows nothing of, nor another one after it,
     * repeats anything. */
    check_another(life, 2, seen, "in a restored device");
    memcpy(device->slots, stored, sizeof stored);
    check_another(life, 3, seen, "in a device restored again");
    /* Another sample of the same round, and another study, from the same snapshot. */
    life->study.samples = 2;
    life->number = 1;
    memcpy(device->slots, stored, sizeof stored);
    check_another(life, 3, seen, "in another sample of a restored device");
    life->study = study;
    life->number = 0;
    for (unsigned bit = 0; bit < 8 * TREMOLO_STUDY_ID_BYTES; bit++) {
        life->study.id[bit / 8] ^= (uint8_t)(1u << bit % 8);
        memcpy(device->slots, stored, sizeof stored);
        check_another(life, 3, seen, "in another study of a restored device");
        life->study = study;
    }
    /* Seeds that repeat within themselves are refused by the health test. */
    for (device->period = 16; device->period > 0; device->period /= 2) {
        memcpy(device->slots, stored, sizeof stored);
        audit_expect(audit, CHECK_HEDGED, ask(life, 3) != TREMOLO_OK,
                     "a report leaves although its 32 bytes of entropy repeat after %u",
                     device->period);
    }
    device->random = kept.random;
    device->seeded = kept.seeded;
}

/* Every bit of the stored secret changes what a source that repeats itself gives. */
static void check_secret_bits(struct audit_life *life)
{
    struct audit *audit = life->audit;
    struct audit_device *device = &audit->device;
    const struct audit_device kept = *device;
    uint8_t seen[TREMOLO_REPORT_ID_BYTES] = {0};
    struct tremolo_slot stored[4];
    repeat_entropy(life);
    memcpy(stored, device->slots, sizeof stored);
    check_another(life, 0, seen, "at first");
    for (unsigned bit = 0; bit < 8 * TREMOLO_SECRET_BYTES; bit++) {
        memcpy(device->slots, stored, sizeof stored);
        audit_secret_of(&device->slots[0])[bit / 8] ^= (uint8_t)(1u << bit % 8);
        memcpy(audit_secret_of(&device->slots[1]), audit_secret_of(&device->slots[0]),
               TREMOLO_SECRET_BYTES);
        check_another(life, 0, seen, "with another secret in its ledger");
    }
    device->period = 0;
    device->random = kept.random;
    device->seeded = kept.seeded;
}

/* True if eight bytes of the secret stand anywhere in the report. */
static bool tells(const struct audit_life *life, const uint8_t *secret)
{
    enum { PART = 8 };
    for (size_t i = 0; i + PART <= life->length; i++) {
        for (unsigned k = 0; k + PART <= TREMOLO_SECRET_BYTES; k += PART) {
            if (memcmp(life->bytes + i, secret + k, PART) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Every commit renews the secret, by bytes that appear in no report. */
static void check_secret(struct audit_life *life)
{
    struct audit *audit = life->audit;
    struct tremolo_slot *slot = audit->device.slots;
    uint8_t before[TREMOLO_SECRET_BYTES];
    unsigned made = 0;
    bool renewed = true;
    bool shown = false;
    (void)enrol_for(life, room(life));
    memcpy(before, audit_secret_of(slot), sizeof before);
    for (; made < RELEASES && ask(life, made) == TREMOLO_OK; made++) {
        renewed = renewed && memcmp(before, audit_secret_of(slot), sizeof before) != 0;
        shown = shown || tells(life, before) || tells(life, audit_secret_of(slot));
        memcpy(before, audit_secret_of(slot), sizeof before);
    }
    audit_expect(audit, CHECK_HEDGED, renewed, "a report leaves the ledger's secret as it was");
    audit_expect(audit, CHECK_HEDGED, !shown, "a report holds a part of the ledger's secret");
}

/* All that concerns entropy, in order. */
static void check_chance(struct audit_life *life)
{
    check_entropy(life);
    check_repeating(life);
    check_secret_bits(life);
    check_secret(life);
}

/* ---------------------------------------------------------------- charges */

/* The cost is computed in doubles from the proofs, the charge by the device in integers. Rounding
 * of the charge must go up: over a life, charges that were rounded down would add up to a budget
 * that is larger than what was agreed. */

/* 2^24 mu^2 of a noisy sample, from what docs/reference/proofs.md proves (P1 to P4). */
static double sample_cost(const struct tremolo_study *study)
{
    double keep = (double)study->keep / TREMOLO_KEEP_ONE;
    double any_two = 2.0 * keep * study->clip;
    double near = keep * study->distance + 3.0 * ceil(sqrt(tremolo_study_coordinates(study))) + 4.0;
    double mu =
        (study->distance != 0 ? fmin(near, any_two) : any_two) / ldexp(1.0, study->noise_log2);
    return TREMOLO_CHARGE_ONE * mu * mu;
}

/* 2^24 epsilon of a ballot, from the law of the rank (P9). */
static double ballot_cost(const struct tremolo_study *study)
{
    double top = study->rank_top;
    double first = study->rank_first;
    return TREMOLO_CHARGE_ONE *
           log(top * (TREMOLO_BALLOT_ANSWERS - first) / (0x1p32 - top) / first);
}

/* What one release of the study costs in 2^-24, of mu^2 or epsilon, not rounded. */
static double cost_of(const struct tremolo_study *study)
{
    return study->release == TREMOLO_RELEASE_BALLOT ? ballot_cost(study) : sample_cost(study);
}

/* A study like the plan's with random integers. The clip is fine and the charge is coarse, so
 * that a charge that is rounded down shows. */
static struct tremolo_study draw_study(const struct tremolo_study *study,
                                       struct tremolo_random *random)
{
    struct tremolo_study drawn = *study;
    /* Large noise makes small charges of few units of 2^-24, where rounding counts. */
    drawn.noise_log2 = 24;
    drawn.wire_shift = 13;
    drawn.wire_bits = 16;
    drawn.clip = 1000 + (uint32_t)(tremolo_random_bits(random) % (1u << 20));
    drawn.unit = drawn.clip;
    drawn.keep = (uint16_t)(1 + tremolo_random_bits(random) % TREMOLO_KEEP_ONE);
    drawn.distance = (tremolo_random_bits(random) & 1) != 0 ? drawn.clip / 2 : 0;
    drawn.rank_first = (uint8_t)(1 + tremolo_random_bits(random) % 100);
    drawn.rank_top = (1u << 31) + (uint32_t)(tremolo_random_bits(random) % (1u << 30));
    return drawn;
}

/* The charge covers the cost, up to what doubles round. */
static void check_charge(struct audit *audit, const struct tremolo_study *study)
{
    double cost = cost_of(study);
    double charge = tremolo_study_charge(study);
    /* Doubles round the cost; the charge itself is an integer. */
    bool covered = charge >= cost * (1.0 - 1e-12) - 1e-6; /* what doubles round */
    audit_note(audit, CHECK_CHARGE, covered ? 1.0 : 0.0, charge, cost,
               "a release is charged %.0f / 2^24, its %s is %.3f / 2^24", charge,
               study->release == TREMOLO_RELEASE_BALLOT ? "epsilon" : "mu^2", cost);
}

/* Compare charges with costs for the plan's study and for random ones, and the plan's total with
 * its claim. */
static void check_charges(struct audit *audit)
{
    const struct tremolo_audit_plan *plan = audit->plan;
    const struct tremolo_audit_claim *claim = &plan->claim;
    check_charge(audit, &plan->study);
    for (unsigned k = 0; k < STUDIES; k++) {
        const struct tremolo_study study = draw_study(&plan->study, &audit->random);
        check_charge(audit, &study);
    }
    bool ballot = plan->study.release == TREMOLO_RELEASE_BALLOT;
    double cost = cost_of(&plan->study) / TREMOLO_CHARGE_ONE;
    double all = ballot ? cost : sqrt(cost * (double)tremolo_audit_releases(plan));
    double promised = ballot ? claim->epsilon : claim->mu_most;
    audit_note(audit, CHECK_CHARGE, all <= promised * (1.0 + 1e-9) ? 1.0 : 0.0, all, promised,
               "the study's own integers make %s %.6g, claimed %.6g", ballot ? "epsilon" : "mu",
               all, promised);
}

/* ---------------------------------------------------------------- one device's ledger */

/* Compare what was taken from the budget with so many charges. */
static void expect_spent(struct audit_life *life, double spent, double charges, const char *who)
{
    double charge = charges * tremolo_study_charge(&life->study);
    audit_note(life->audit, CHECK_LEDGER_CHARGE, spent == charge ? 1.0 : 0.0, spent, charge,
               "%s took %.0f / 2^24 from the budget, %s charge is %.0f / 2^24", who, spent,
               charges > 1.0 ? "their" : "its", charge);
}

/* A report is charged once; asked for again it has the same bytes at no charge; the next one is
 * charged, and the one before cannot be had any more. */
static void check_spending(struct audit_life *life)
{
    struct audit *audit = life->audit;
    double charge = tremolo_study_charge(&life->study);
    bool enrolled = enrol_for(life, room(life));
    double before = budget_left(life);
    if (!enrolled || !make_report(life)) {
        return;
    }
    double after = budget_left(life);
    expect_spent(life, before - after, 1.0, "a report");
    uint8_t first[TREMOLO_MAX_REPORT_BYTES];
    size_t length = life->length;
    memcpy(first, life->bytes, sizeof first);
    /* Asked again with another sample, the device must send what it sent: the sample is not part
     * of the key. */
    place_all(life, -0.5);
    bool same = ask(life, 0) == TREMOLO_OK && life->length == length &&
                memcmp(first, life->bytes, length) == 0;
    bool charged = budget_left(life) != after;
    audit_note(audit, CHECK_LEDGER_REPEAT, same && !charged ? 1.0 : 0.0, same ? 0.0 : 1.0, 0.0,
               "asked again, the device %s",
               same ? "charges again" : "makes another report of the same round and sample");
    /* The next release is charged as the first was, and then the first is gone. */
    enum tremolo_status next = ask(life, 1);
    /* A ledger with room for one report only refuses here, and that is right. */
    double twice = next == TREMOLO_OK ? before - budget_left(life) : 2.0 * charge;
    expect_spent(life, twice, 2.0, "two reports");
    audit_expect(audit, CHECK_LEDGER_REPEAT, next != TREMOLO_OK || refuses(life, 0, TREMOLO_OK),
                 "a round that has passed is reported again");
    if (next != TREMOLO_BUDGET_EXHAUSTED) { /* one is all that some ledgers hold */
        (void)audit_goes_on(audit, next);
    }
}

/* Two studies share one budget, and a third one finds no place in a ledger for two. */
static void check_shared(struct audit_life *life)
{
    struct audit *audit = life->audit;
    const struct tremolo_study study = life->study;
    audit->device.studies = 2;
    bool enrolled = enrol_for(life, room(life));
    double before = budget_left(life);
    if (enrolled && before >= 2.0 * tremolo_study_charge(&study)) {
        (void)make_report(life);
        life->study.id[0] ^= 1;
        (void)make_report(life);
        expect_spent(life, before - budget_left(life), 2.0, "two studies together");
        life->study.id[0] ^= 2;
        audit_expect(audit, CHECK_LEDGER_BUDGET, refuses(life, 0, TREMOLO_LEDGER_FULL),
                     "a third study finds a place in a ledger for two, and what one of them took "
                     "is forgotten");
    }
    life->study = study;
    audit->device.studies = 1;
}

/* No second report on a budget for one, no new budget for an enrolled device, no report without
 * any budget. */
static void check_budget(struct audit_life *life)
{
    struct audit *audit = life->audit;
    if (!enrol_for(life, 1.0) || !make_report(life)) {
        return;
    }
    if (budget_left(life) < tremolo_study_charge(&life->study)) {
        audit_expect(audit, CHECK_LEDGER_BUDGET, refuses(life, 1, TREMOLO_BUDGET_EXHAUSTED),
                     "a second report leaves on a budget for one");
    }
    const struct tremolo_platform platform = audit_platform(audit);
    audit_expect(audit, CHECK_LEDGER_BUDGET,
                 tremolo_device_enrol(&audit->work, &platform, UINT32_MAX, UINT32_MAX) ==
                     TREMOLO_LEDGER_EXISTS,
                 "a device that is enrolled again has a new budget");
    if (audit_enrol(audit, 0, 0)) {
        audit_expect(audit, CHECK_LEDGER_BUDGET, refuses(life, 0, TREMOLO_BUDGET_EXHAUSTED),
                     "a report leaves without any budget");
    }
}

/* A study so costly that the sum of two charges, of ballots of 17, does not fit the ledger's
 * integers. A drain asks for more than that. */
static struct tremolo_study dear_study(const struct tremolo_study *study)
{
    struct tremolo_study dear = *study;
    dear.noise_log2 = 24;
    dear.wire_shift = 13;
    dear.wire_bits = 16;
    dear.unit = 1u << 20;
    dear.clip = 13u << 23;
    dear.keep = TREMOLO_KEEP_ONE;
    dear.distance = 0;
    dear.rank_first = 1;
    dear.rank_top = UINT32_MAX - 140400;
    return dear;
}

/* Report until the device refuses. No more reports may leave than the budget has charges, even
 * with plenty of budget for the other release. */
static void drain(struct audit_life *life, uint32_t budget)
{
    struct audit *audit = life->audit;
    bool ballot = life->study.release == TREMOLO_RELEASE_BALLOT;
    double charge = tremolo_study_charge(&life->study);
    unsigned made = 0;
    life->study.rounds = DRAINED;
    if (!audit_enrol(audit, ballot ? UINT32_MAX : budget, ballot ? budget : UINT32_MAX)) {
        return;
    }
    double before = budget_left(life);
    audit_note(audit, CHECK_LEDGER_BUDGET, before <= budget ? 1.0 : 0.0, before, budget,
               "a device enrolled with %.0f / 2^24 has %.0f / 2^24 to spend", (double)budget,
               before);
    while (made < DRAINED && ask(life, made) == TREMOLO_OK) {
        made++;
    }
    audit_note(audit, CHECK_LEDGER_BUDGET, made * charge <= budget ? 1.0 : 0.0, made,
               floor(budget / charge), "%u reports leave on a budget for %.0f", made,
               floor(budget / charge));
}

/* Drain a usual study, and one with charges near the largest integer. */
static void check_drained(struct audit_life *life)
{
    const struct tremolo_study study = life->study;
    /* Not a whole number of charges: 13 would be a sum rounded up. */
    drain(life, (uint32_t)fmin(12.7 * tremolo_study_charge(&study), UINT32_MAX));
    life->study = dear_study(&study);
    if (tremolo_study_check(&life->study) == TREMOLO_OK) {
        drain(life, UINT32_MAX);
    }
    life->study = study;
}

/* A ledger that cannot be read is neither empty nor new. */
static void check_reading(struct audit_life *life)
{
    struct audit *audit = life->audit;
    const struct tremolo_platform platform = audit_platform(audit);
    (void)enrol_for(life, 1.0);
    audit->device.without_reading = true;
    audit_expect(audit, CHECK_LEDGER_STORAGE, refuses(life, 0, TREMOLO_OK),
                 "a report leaves although the ledger cannot be read");
    audit_expect(audit, CHECK_LEDGER_BUDGET,
                 tremolo_device_enrol(&audit->work, &platform, UINT32_MAX, UINT32_MAX) !=
                     TREMOLO_OK,
                 "a device with a ledger that cannot be read is enrolled again");
    audit->device.without_reading = false;
}

/* An older copy of the whole storage is refused, because the counter is ahead of it. */
static void check_counter(struct audit_life *life)
{
    struct audit *audit = life->audit;
    struct tremolo_slot stored[4];
    audit->device.counted = true;
    if (enrol_for(life, room(life))) {
        memcpy(stored, audit->device.slots, sizeof stored);
        (void)make_report(life);
        memcpy(audit->device.slots, stored, sizeof stored);
        audit_expect(audit, CHECK_LEDGER_STORAGE, refuses(life, 0, TREMOLO_OK),
                     "an older copy of the ledger is taken, against the platform's counter");
    }
    audit->device.counted = false;
}

/* No flipped bit in both slots gives back a charge. */
static void check_damage(struct audit_life *life)
{
    struct audit *audit = life->audit;
    struct tremolo_slot *slot = audit->device.slots;
    struct tremolo_slot stored[4];
    if (!enrol_for(life, room(life)) || !make_report(life)) {
        return;
    }
    double after = budget_left(life);
    memcpy(stored, slot, sizeof stored);
    size_t bytes = (size_t)(audit_secret_of(slot) - (uint8_t *)slot);
    /* Every byte up to the secret, every bit of it. */
    for (size_t k = 0; k < bytes; k++) {
        bool forgotten = false;
        for (unsigned flip = 1; flip < 256; flip *= 2) {
            ((uint8_t *)&slot[0])[k] ^= (uint8_t)flip;
            ((uint8_t *)&slot[1])[k] ^= (uint8_t)flip;
            forgotten |= budget_left(life) > after;
            memcpy(slot, stored, sizeof stored);
        }
        audit_note(audit, CHECK_LEDGER_STORAGE, forgotten ? 0.0 : 1.0, (double)k, 0.0,
                   "byte %zu of both slots, damaged, takes a charge back", k);
    }
}

/* The ledger is what the storage holds, and bytes leave only once they are in it: without storage
 * nothing leaves; both slots are written; an older copy of one slot changes nothing; unreadable
 * slots are refused. */
static void check_storage(struct audit_life *life)
{
    struct audit *audit = life->audit;
    struct audit_device *device = &audit->device;
    struct tremolo_slot stored[4];
    struct tremolo_slot now[4];
    (void)enrol_for(life, room(life));
    double before = budget_left(life);
    memcpy(stored, device->slots, sizeof stored);
    device->without_storage = true;
    audit_expect(audit, CHECK_LEDGER_STORAGE, refuses(life, 0, TREMOLO_OK),
                 "a report leaves although nothing could be stored");
    device->without_storage = false;
    memcpy(device->slots, stored, sizeof stored);
    (void)make_report(life);
    /* Both slots changed, and to the same content. */
    bool both = device->slots[0].check != stored[0].check &&
                device->slots[0].check == device->slots[1].check;
    audit_note(audit, CHECK_LEDGER_STORAGE, both ? 1.0 : 0.0, both ? 2.0 : 1.0, 2.0,
               "a charge is not stored in both slots");
    memcpy(now, device->slots, sizeof now);
    double after = budget_left(life);
    memcpy(device->slots, stored, sizeof stored);
    /* What the core says is left follows the storage: the old content gives the old budget, the
     * new content the new one. */
    bool reads = budget_left(life) == before;
    memcpy(device->slots, now, sizeof now);
    reads = reads && budget_left(life) == after && after < before;
    audit_note(audit, CHECK_LEDGER_STORAGE, reads ? 1.0 : 0.0, after, before,
               "what is left of the budget is not what the storage says");
    /* One slot from before the charge, the other from after it: the newer one must win. */
    device->slots[0] = stored[0];
    bool forgotten = budget_left(life) > after;
    device->slots[0] = now[0];
    device->slots[1] = stored[1];
    forgotten |= budget_left(life) > after;
    audit_expect(audit, CHECK_LEDGER_STORAGE, !forgotten,
                 "an older copy of one slot takes a charge back");
    /* Both slots unreadable: neither empty nor new. */
    memset(device->slots, 0x5a, sizeof device->slots);
    audit_expect(audit, CHECK_LEDGER_STORAGE, refuses(life, 0, TREMOLO_OK),
                 "a report leaves although the ledger is unreadable");
}

/* ---------------------------------------------------------------- bytes */

/* True if the report's MAC also holds under a key that differs in one byte. */
static bool other_key_holds(const struct audit_life *life, const struct tremolo_report *report,
                            const uint8_t *key)
{
    bool holds = false;
    for (unsigned k = 0; k < TREMOLO_MAC_KEY_BYTES; k++) {
        uint8_t other[TREMOLO_MAC_KEY_BYTES];
        memcpy(other, key, sizeof other);
        other[k] ^= 1;
        holds |= tremolo_report_verify(report, life->bytes, &life->study, other) == TREMOLO_OK;
    }
    return holds;
}

/* The MAC holds under its key and no other, and notices a change of every byte. */
static void check_mac(struct audit_life *life)
{
    static const uint8_t key[TREMOLO_MAC_KEY_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct audit *audit = life->audit;
    struct tremolo_report report;
    life->mac_key = key;
    bool made = enrol_for(life, 1.0) && make_report(life) &&
                audit_goes_on(audit, tremolo_report_decode(&report, life->bytes, life->length));
    life->mac_key = NULL;
    if (!made) {
        return;
    }
    bool holds = report.mac != NULL &&
                 tremolo_report_verify(&report, life->bytes, &life->study, key) == TREMOLO_OK;
    /* Each byte is changed in turn and put back. */
    size_t unnoticed = 0;
    for (size_t k = 0; k < life->length && holds; k++) {
        bool head = life->bytes + k + 1 == report.mac; /* of the MAC: decoders refuse another */
        life->bytes[k] ^= 1;
        unnoticed +=
            !head && tremolo_report_verify(&report, life->bytes, &life->study, key) == TREMOLO_OK;
        life->bytes[k] ^= 1;
    }
    bool other = holds && other_key_holds(life, &report, key);
    audit_note(audit, CHECK_MAC, holds && !other && unnoticed == 0 ? 1.0 : 0.0, holds ? 1.0 : 0.0,
               1.0, "%s",
               !holds  ? "the MAC of a report does not hold"
               : other ? "another key's MAC holds"
                       : "the MAC holds although a byte was changed");
}

/* Samples all over the range and beyond it are sent as the study says, and all reports have one
 * length. */
static void check_bytes(struct audit_life *life, unsigned response)
{
    struct audit *audit = life->audit;
    const struct tremolo_study own = life->study;
    struct tremolo_study *study = &life->study;
    bool is_public = response == TREMOLO_RESPONSE_PUBLIC;
    double width = (double)study->response_bounds.high - study->response_bounds.low;
    /* A raw integer may be half of one away from the place that was wanted. */
    double slack = 2.0 + TREMOLO_RESPONSE_MAX / width;
    study->response = (uint8_t)response;
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        study->response_weight = (uint16_t)(response * TREMOLO_BALLOT_WEIGHT(study->constant));
    }
    bool there = tremolo_study_check(study) == TREMOLO_OK;
    audit->length_of = there ? NULL : audit->length_of;
    for (unsigned k = 0; k < SAMPLES && there && audit->status == TREMOLO_OK; k++) {
        struct tremolo_report report = {0};
        /* From a tenth of a half range below the range to a tenth above it. */
        double place = 2.2 * k / (SAMPLES - 1.0) - 1.1;
        double inside = is_public ? fmin(fmax(place, -1.0), 1.0) : 0.0; /* half ranges */
        const struct tremolo_round round = round_of(life, 0);
        place_all(life, place);
        bool made =
            enrol_for(life, 1.0) && audit_report(audit, &report, study, &round, &life->sample, 0);
        double sent = report.response / (double)TREMOLO_RESPONSE_MAX;
        bool wrong = made && ((report.has_response != 0) != is_public ||
                              (is_public && fabs(sent - inside) * TREMOLO_RESPONSE_MAX > slack));
        audit_note(audit, CHECK_RESPONSE, wrong ? 0.0 : 1.0, sent, inside, "a %s response is %s",
                   is_public ? "public" : "private",
                   is_public ? "not sent as it is" : "sent in the clear");
    }
    life->study = own;
}

/* The same with a public and with a private response. */
static void check_responses(struct audit_life *life)
{
    check_bytes(life, TREMOLO_RESPONSE_PUBLIC);
    if (life->audit->status == TREMOLO_OK) {
        check_bytes(life, TREMOLO_RESPONSE_PRIVATE);
    }
}

/* Run all of these. A device that refuses where it must not is a finding, and does not end the
 * run. */
void audit_ledger_run(struct audit *audit)
{
    static void (*const checks[])(struct audit_life *) = {
        check_spending, check_shared, check_budget, check_drained, check_storage,  check_reading,
        check_counter,  check_damage, check_chance, check_mac,     check_responses};
    struct audit_life life = {.audit = audit, .study = audit->plan->study};
    life.study.rounds = RELEASES;
    life.study.samples = 1;
    for (unsigned j = 0; j < life.study.vectors; j++) {
        life.vectors[j * life.study.dimension + j] = TREMOLO_VECTOR_ONE;
    }
    place_all(&life, 0.5);
    check_charges(audit);
    for (size_t i = 0; i < sizeof checks / sizeof checks[0] && audit->status == TREMOLO_OK; i++) {
        checks[i](&life);
    }
    if (audit->status != TREMOLO_OK) { /* the rest of the run goes on */
        audit_note(audit, CHECK_READ, 0.0, audit->status, 0.0, "a device with a budget refuses: %s",
                   tremolo_status_sentence(audit->status));
        audit->status = TREMOLO_OK;
    }
}
