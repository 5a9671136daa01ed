/* audit_ledger.c -- what can be said without counting: charges, ledger, entropy, bytes.
 *
 * Nothing here is left to chance: each expectation is part of the device's contract, and one
 * exception is a finding. */
#include "audit_parts.h"

#include <math.h>
#include <string.h>

enum { STUDIES = 300, RELEASES = 4, SAMPLES = 60, ENTROPY_BYTES_MAX = 96 };

/* ---------------------------------------------------------------- charges */

/* 2^24 mu^2, from what docs/privacy.md proves (P1 to P3). */
static double sample_cost(const struct tremolo_study *study)
{
    double keep = (double)study->keep / TREMOLO_KEEP_ONE;
    double any_two = 2.0 * keep * study->clip;
    double near = keep * study->distance + 3.0 * ceil(sqrt(tremolo_study_coordinates(study))) + 4.0;
    double mu =
        (study->distance != 0 ? fmin(near, any_two) : any_two) / ldexp(1.0, study->noise_log2);
    return TREMOLO_CHARGE_ONE * mu * mu;
}

/* 2^24 epsilon. */
static double ballot_cost(const struct tremolo_study *study)
{
    double top = study->rank_top;
    double first = study->rank_first;
    return TREMOLO_CHARGE_ONE *
           log(top * (TREMOLO_BALLOT_ANSWERS - first) / (0x1p32 - top) / first);
}

static double cost_of(const struct tremolo_study *study)
{
    return study->release == TREMOLO_RELEASE_BALLOT ? ballot_cost(study) : sample_cost(study);
}

/* Studies whose clip is fine and whose charge is coarse: rounding down shows. */
static struct tremolo_study draw_study(const struct tremolo_study *study,
                                       struct tremolo_random *random)
{
    struct tremolo_study drawn = *study;
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

static void check_charge(struct audit *audit, const struct tremolo_study *study)
{
    double cost = cost_of(study);
    double charge = tremolo_study_charge(study);
    bool covered = charge >= cost * (1.0 - 1e-12) - 1e-6; /* what doubles round */
    audit_note(audit, CHECK_CHARGE, covered ? 1.0 : 0.0, charge, cost,
               "a release is charged %.0f / 2^24, its %s is %.3f / 2^24", charge,
               study->release == TREMOLO_RELEASE_BALLOT ? "epsilon" : "mu^2", cost);
}

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

struct life {
    struct audit *audit;
    struct tremolo_study study;
    struct audit_sample sample;
    int16_t vectors[TREMOLO_MAX_VECTORS * TREMOLO_MAX_DIMENSION];
    const uint8_t *mac_key; /* NULL: none */
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    size_t length;
};

static struct tremolo_round round_of(const struct life *life, unsigned number)
{
    return (struct tremolo_round){life->study.vectors > 0 ? life->vectors : NULL, (uint16_t)number};
}

/* Report number `release`, straight from the core: refusals are what is looked for. */
static enum tremolo_status ask(struct life *life, unsigned release)
{
    struct audit *audit = life->audit;
    struct tremolo_platform platform = audit_platform(audit);
    const struct tremolo_round round = round_of(life, release);
    const struct tremolo_sample sample = {life->sample.features, life->sample.response, 0};
    platform.mac_key = life->mac_key;
    memset(life->bytes, 0xff, sizeof life->bytes);
    life->length = sizeof life->bytes;
    return tremolo_device_report(&audit->work, life->bytes, &life->length, &life->study, &round,
                                 &sample, &platform);
}

/* The same where nothing may refuse it. */
static bool make(struct life *life, unsigned release)
{
    return life->audit->status == TREMOLO_OK && audit_goes_on(life->audit, ask(life, release));
}

static bool is_wiped(const struct life *life)
{
    for (size_t i = 0; i < sizeof life->bytes; i++) {
        if (life->bytes[i] != 0) {
            return false;
        }
    }
    return life->length == 0;
}

/* Nothing leaves, for this reason or, with TREMOLO_OK, for whichever. */
static bool refuses(struct life *life, unsigned release, enum tremolo_status reason)
{
    enum tremolo_status status = ask(life, release);
    return status != TREMOLO_OK && (reason == TREMOLO_OK || status == reason) && is_wiped(life);
}

static double left(struct life *life)
{
    struct audit *audit = life->audit;
    const struct tremolo_platform platform = audit_platform(audit);
    uint32_t value = 0;
    enum tremolo_status status = life->study.release == TREMOLO_RELEASE_BALLOT
                                     ? tremolo_device_epsilon(&audit->work, &value, &platform)
                                     : tremolo_device_budget(&audit->work, &value, &platform);
    return status == TREMOLO_OK ? value : -1.0;
}

/* A budget of this many charges, rounded up to what the ledger counts in. */
static bool enrol(struct life *life, double charges)
{
    double budget = charges * tremolo_study_charge(&life->study);
    if (life->study.release == TREMOLO_RELEASE_BALLOT) {
        return audit_enrol(life->audit, 0, (uint32_t)(ceil(budget / 65536.0) * 65536.0));
    }
    return audit_enrol(life->audit, (uint32_t)budget, 0);
}

/* Several charges, if a ledger can hold them. */
static double room(const struct life *life)
{
    return fmin(3.5, (double)UINT32_MAX / tremolo_study_charge(&life->study));
}

static void place_all(struct life *life, double place)
{
    double places[AUDIT_COORDINATES_MAX + 1];
    for (unsigned i = 0; i <= life->study.dimension; i++) {
        places[i] = place;
    }
    audit_sample_at(&life->sample, &life->study, places);
}

/* What reports took from the budget, and how many charges that ought to be. */
static void expect_spent(struct life *life, double spent, double charges, const char *who)
{
    double charge = charges * tremolo_study_charge(&life->study);
    audit_note(life->audit, CHECK_LEDGER_CHARGE, spent == charge ? 1.0 : 0.0, spent, charge,
               "%s took %.0f / 2^24 from the budget, %s charge is %.0f / 2^24", who, spent,
               charges > 1.0 ? "their" : "its", charge);
}

static void check_spending(struct life *life)
{
    struct audit *audit = life->audit;
    double charge = tremolo_study_charge(&life->study);
    bool enrolled = enrol(life, room(life));
    double before = left(life);
    if (!enrolled || !make(life, 0)) {
        return;
    }
    double after = left(life);
    expect_spent(life, before - after, 1.0, "a report");
    uint8_t first[TREMOLO_MAX_REPORT_BYTES];
    size_t length = life->length;
    memcpy(first, life->bytes, sizeof first);
    place_all(life, -0.5);
    bool same = ask(life, 0) == TREMOLO_OK && life->length == length &&
                memcmp(first, life->bytes, length) == 0;
    bool charged = left(life) != after;
    audit_note(audit, CHECK_LEDGER_REPEAT, same && !charged ? 1.0 : 0.0, same ? 0.0 : 1.0, 0.0,
               "asked again, the device %s",
               same ? "charges again" : "makes another report of the same round and sample");
    /* The next release is charged as the first was, and then the first is gone. */
    enum tremolo_status next = ask(life, 1);
    double twice = next == TREMOLO_OK ? before - left(life) : 2.0 * charge;
    expect_spent(life, twice, 2.0, "two reports");
    audit_expect(audit, CHECK_LEDGER_REPEAT, next != TREMOLO_OK || refuses(life, 0, TREMOLO_OK),
                 "a round that has passed is reported again");
    if (next != TREMOLO_BUDGET_EXHAUSTED) { /* one is all that some ledgers hold */
        (void)audit_goes_on(audit, next);
    }
}

/* Two studies share one budget. */
static void check_shared(struct life *life)
{
    struct audit *audit = life->audit;
    const struct tremolo_study study = life->study;
    audit->device.studies = 2;
    bool enrolled = enrol(life, room(life));
    double before = left(life);
    if (enrolled && before >= 2.0 * tremolo_study_charge(&study)) {
        (void)make(life, 0);
        life->study.id[0] ^= 1;
        (void)make(life, 0);
        expect_spent(life, before - left(life), 2.0, "two studies together");
    }
    life->study = study;
    audit->device.studies = 1;
}

/* After one report with a budget for one, and at once without any. */
static void check_budget(struct life *life)
{
    struct audit *audit = life->audit;
    if (!enrol(life, 1.0) || !make(life, 0)) {
        return;
    }
    if (left(life) < tremolo_study_charge(&life->study)) {
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

/* The ledger is what the storage holds, and bytes leave only once they are in it. */
static void check_storage(struct life *life)
{
    struct audit *audit = life->audit;
    struct audit_device *device = &audit->device;
    struct tremolo_slot stored[4];
    struct tremolo_slot now[4];
    (void)enrol(life, room(life));
    double before = left(life);
    memcpy(stored, device->slots, sizeof stored);
    device->without_storage = true;
    audit_expect(audit, CHECK_LEDGER_STORAGE, refuses(life, 0, TREMOLO_OK),
                 "a report leaves although nothing could be stored");
    device->without_storage = false;
    memcpy(device->slots, stored, sizeof stored);
    (void)make(life, 0);
    bool both = device->slots[0].check != stored[0].check &&
                device->slots[0].check == device->slots[1].check;
    audit_note(audit, CHECK_LEDGER_STORAGE, both ? 1.0 : 0.0, both ? 2.0 : 1.0, 2.0,
               "a charge is not stored in both slots");
    memcpy(now, device->slots, sizeof now);
    double after = left(life);
    memcpy(device->slots, stored, sizeof stored);
    bool reads = left(life) == before;
    memcpy(device->slots, now, sizeof now);
    reads = reads && left(life) == after && after < before;
    audit_note(audit, CHECK_LEDGER_STORAGE, reads ? 1.0 : 0.0, after, before,
               "what is left of the budget is not what the storage says");
    device->slots[0] = stored[0];
    bool forgotten = left(life) > after;
    device->slots[0] = now[0];
    device->slots[1] = stored[1];
    forgotten |= left(life) > after;
    audit_expect(audit, CHECK_LEDGER_STORAGE, !forgotten,
                 "an older copy of one slot takes a charge back");
    memset(device->slots, 0x5a, sizeof device->slots);
    audit_expect(audit, CHECK_LEDGER_STORAGE, refuses(life, 0, TREMOLO_OK),
                 "a report leaves although the ledger is unreadable");
}

/* ---------------------------------------------------------------- entropy */

/* The bytes of a fresh device's report under a seed, one of its entropy bytes changed. */
static void report_under(struct life *life, uint64_t seed, size_t flipped)
{
    struct audit_device *device = &life->audit->device;
    device->random = tremolo_random_from(seed, 1);
    device->entropy_bytes = 0;
    device->flipped = flipped;
    (void)enrol(life, 1.0);
    size_t enrolled = device->entropy_bytes;
    (void)make(life, 0);
    device->flipped = SIZE_MAX;
    size_t drawn = device->entropy_bytes - enrolled;
    audit_note(life->audit, CHECK_ENTROPY, drawn >= TREMOLO_SEED_BYTES ? 1.0 : 0.0, (double)drawn,
               TREMOLO_SEED_BYTES, "a report takes %zu bytes of entropy, not %d", drawn,
               TREMOLO_SEED_BYTES);
}

static void check_entropy(struct life *life)
{
    struct audit *audit = life->audit;
    struct audit_device *device = &audit->device;
    const struct audit_device kept = *device;
    uint64_t seed = tremolo_random_bits(&audit->random);
    uint8_t first[TREMOLO_MAX_REPORT_BYTES];
    device->seeded = true;
    report_under(life, seed, SIZE_MAX);
    size_t entropy = device->entropy_bytes;
    memcpy(first, life->bytes, sizeof first);
    if (audit->status == TREMOLO_OK) {
        report_under(life, seed, SIZE_MAX);
        audit_expect(audit, CHECK_ENTROPY, memcmp(first, life->bytes, sizeof first) == 0,
                     "the same entropy gives other bytes: there is another source of chance");
    }
    for (size_t k = 0; k < entropy && k < ENTROPY_BYTES_MAX && audit->status == TREMOLO_OK; k++) {
        report_under(life, seed, k);
        bool other = memcmp(first, life->bytes, sizeof first) != 0;
        audit_note(audit, CHECK_ENTROPY, other ? 1.0 : 0.0, (double)k, 0.0,
                   "byte %zu of the entropy changes nothing in a report", k);
    }
    if (audit->status == TREMOLO_OK) {
        (void)enrol(life, 1.0);
        device->without_entropy = true;
        audit_expect(audit, CHECK_ENTROPY, refuses(life, 0, TREMOLO_OK),
                     "a report leaves without entropy");
        device->without_entropy = false;
    }
    device->random = kept.random;
    device->seeded = kept.seeded;
}

/* A round's report under a source that repeats itself has chance of its own: another id than
 * `seen`, which becomes its id. To refuse is fine, too. */
static void check_another(struct life *life, unsigned release,
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

/* The same entropy at every call, in every round, and after a snapshot was restored. */
static void check_repeating(struct life *life)
{
    struct audit *audit = life->audit;
    struct audit_device *device = &audit->device;
    const struct audit_device kept = *device;
    uint8_t seen[TREMOLO_REPORT_ID_BYTES] = {0};
    struct tremolo_slot stored[4];
    device->seeded = true;
    device->period = TREMOLO_SEED_BYTES;
    (void)enrol(life, room(life));
    memcpy(stored, device->slots, sizeof stored);
    check_another(life, 0, seen, "in the first round");
    check_another(life, 1, seen, "in the next round");
    memcpy(device->slots, stored, sizeof stored);
    check_another(life, 2, seen, "in a restored device");
    memcpy(device->slots, stored, sizeof stored);
    check_another(life, 3, seen, "in a device restored again");
    for (device->period = 16; device->period > 0; device->period /= 2) {
        memcpy(device->slots, stored, sizeof stored);
        audit_expect(audit, CHECK_HEDGED, ask(life, 3) != TREMOLO_OK,
                     "a report leaves although its 32 bytes of entropy repeat after %u",
                     device->period);
    }
    device->random = kept.random;
    device->seeded = kept.seeded;
}

/* ---------------------------------------------------------------- bytes */

static void check_mac(struct life *life)
{
    static const uint8_t key[2][TREMOLO_MAC_KEY_BYTES] = {{1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3}};
    struct audit *audit = life->audit;
    struct tremolo_report report;
    life->mac_key = key[0];
    bool made = enrol(life, 1.0) && make(life, 0) &&
                audit_goes_on(audit, tremolo_report_decode(&report, life->bytes, life->length));
    life->mac_key = NULL;
    if (!made) {
        return;
    }
    bool holds = report.mac != NULL &&
                 tremolo_report_verify(&report, life->bytes, &life->study, key[0]) == TREMOLO_OK;
    bool other = report.mac == NULL ||
                 tremolo_report_verify(&report, life->bytes, &life->study, key[1]) == TREMOLO_OK;
    size_t place = (size_t)(report.coordinates - life->bytes);
    life->bytes[place] ^= 1;
    bool changed = report.mac == NULL ||
                   tremolo_report_verify(&report, life->bytes, &life->study, key[0]) == TREMOLO_OK;
    audit_note(audit, CHECK_MAC, holds && !other && !changed ? 1.0 : 0.0, holds ? 1.0 : 0.0, 1.0,
               "%s",
               !holds  ? "the MAC of a report does not hold"
               : other ? "another key's MAC holds"
                       : "the MAC holds although a byte was changed");
}

/* Samples all over the range, a public response among them: each is sent as the study says,
 * and all reports have one length. */
static void check_bytes(struct life *life, unsigned response)
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
        double place = 2.2 * k / (SAMPLES - 1.0) - 1.1;
        double inside = is_public ? fmin(fmax(place, -1.0), 1.0) : 0.0; /* half ranges */
        const struct tremolo_round round = round_of(life, 0);
        place_all(life, place);
        bool made =
            enrol(life, 1.0) && audit_report(audit, &report, study, &round, &life->sample, 0);
        double sent = report.response / (double)TREMOLO_RESPONSE_MAX;
        bool wrong = made && ((report.has_response != 0) != is_public ||
                              (is_public && fabs(sent - inside) * TREMOLO_RESPONSE_MAX > slack));
        audit_note(audit, CHECK_RESPONSE, wrong ? 0.0 : 1.0, sent, inside, "a %s response is %s",
                   is_public ? "public" : "private",
                   is_public ? "not sent as it is" : "sent in the clear");
    }
    life->study = own;
}

static void check_responses(struct life *life)
{
    check_bytes(life, TREMOLO_RESPONSE_PUBLIC);
    if (life->audit->status == TREMOLO_OK) {
        check_bytes(life, TREMOLO_RESPONSE_PRIVATE);
    }
}

void audit_ledger_run(struct audit *audit)
{
    static void (*const checks[])(struct life *) = {check_spending, check_shared,   check_budget,
                                                    check_storage,  check_entropy,  check_repeating,
                                                    check_mac,      check_responses};
    struct life life = {.audit = audit, .study = audit->plan->study};
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
    if (audit->status != TREMOLO_OK) { /* the rest is looked at all the same */
        audit_note(audit, CHECK_READ, 0.0, audit->status, 0.0, "a device with a budget refuses: %s",
                   tremolo_status_sentence(audit->status));
        audit->status = TREMOLO_OK;
    }
}
