/* audit_entropy.c -- where a report's chance comes from.
 *
 * From the platform's entropy alone, all of it; and, should that repeat itself, from what the
 * ledger, the study, the round and the sample add (docs/reference/proofs.md, P8b). */
#include "audit_life.h"

#include <string.h>

enum { RELEASES = 4, ENTROPY_BITS_MAX = 8 * 96 };

/* The bytes of a fresh device's report under a seed, one bit of its entropy changed. */
static void report_under(struct audit_life *life, uint64_t seed, size_t flipped)
{
    struct audit_device *device = &life->audit->device;
    device->random = tremolo_random_from(seed, 1);
    device->entropy_bytes = 0;
    device->flipped = flipped;
    (void)audit_enrol_for(life, 1.0);
    size_t enrolled = device->entropy_bytes;
    (void)audit_make(life, 0);
    device->flipped = SIZE_MAX;
    size_t drawn = device->entropy_bytes - enrolled;
    audit_note(life->audit, CHECK_ENTROPY, drawn >= TREMOLO_SEED_BYTES ? 1.0 : 0.0, (double)drawn,
               TREMOLO_SEED_BYTES, "a report takes %zu bytes of entropy, not %d", drawn,
               TREMOLO_SEED_BYTES);
}

static void check_entropy(struct audit_life *life)
{
    struct audit *audit = life->audit;
    struct audit_device *device = &audit->device;
    const struct audit_device kept = *device;
    uint64_t seed = tremolo_random_bits(&audit->random);
    uint8_t first[TREMOLO_MAX_REPORT_BYTES];
    device->seeded = true;
    report_under(life, seed, SIZE_MAX);
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
        (void)audit_enrol_for(life, 1.0);
        device->without_entropy = true;
        audit_expect(audit, CHECK_ENTROPY, audit_refuses(life, 0, TREMOLO_OK),
                     "a report leaves without entropy");
        device->without_entropy = false;
    }
    device->random = kept.random;
    device->seeded = kept.seeded;
}

/* A round's report under a source that repeats itself has chance of its own: another id than
 * `seen`, which becomes its id. To refuse is fine, too. */
static void check_another(struct audit_life *life, unsigned release,
                          uint8_t seen[TREMOLO_REPORT_ID_BYTES], const char *when)
{
    struct tremolo_report report;
    if (audit_ask(life, release) == TREMOLO_OK &&
        tremolo_report_decode(&report, life->bytes, life->length) == TREMOLO_OK) {
        audit_expect(life->audit, CHECK_HEDGED,
                     memcmp(report.id, seen, TREMOLO_REPORT_ID_BYTES) != 0,
                     "a source of entropy that repeats itself repeats a report's chance, %s", when);
        memcpy(seen, report.id, TREMOLO_REPORT_ID_BYTES);
    }
}

/* A device whose source says the same at every call. */
static void repeat_entropy(struct audit_life *life)
{
    life->audit->device.seeded = true;
    life->audit->device.period = TREMOLO_SEED_BYTES;
    (void)audit_enrol_for(life, audit_room(life));
}

/* The same entropy at every call, in every round, and after a snapshot was restored. */
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
    check_another(life, 2, seen, "in a restored device");
    memcpy(device->slots, stored, sizeof stored);
    check_another(life, 3, seen, "in a device restored again");
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
    for (device->period = 16; device->period > 0; device->period /= 2) {
        memcpy(device->slots, stored, sizeof stored);
        audit_expect(audit, CHECK_HEDGED, audit_ask(life, 3) != TREMOLO_OK,
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

/* Does a report say a part of the secret, or what was secret before it? */
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

/* Every commit renews the secret, by bytes that nothing else shows. */
static void check_secret(struct audit_life *life)
{
    struct audit *audit = life->audit;
    struct tremolo_slot *slot = audit->device.slots;
    uint8_t before[TREMOLO_SECRET_BYTES];
    unsigned made = 0;
    bool renewed = true;
    bool told = false;
    (void)audit_enrol_for(life, audit_room(life));
    memcpy(before, audit_secret_of(slot), sizeof before);
    for (; made < RELEASES && audit_ask(life, made) == TREMOLO_OK; made++) {
        renewed = renewed && memcmp(before, audit_secret_of(slot), sizeof before) != 0;
        told = told || tells(life, before) || tells(life, audit_secret_of(slot));
        memcpy(before, audit_secret_of(slot), sizeof before);
    }
    audit_expect(audit, CHECK_HEDGED, renewed, "a report leaves the ledger's secret as it was");
    audit_expect(audit, CHECK_HEDGED, !told, "a report holds a part of the ledger's secret");
}

void audit_entropy_run(struct audit_life *life)
{
    check_entropy(life);
    check_repeating(life);
    check_secret_bits(life);
    check_secret(life);
}
