/* test_device_hedge.c -- a source of entropy that repeats itself, or is broken.
 *
 * Fresh entropy is not all that a release's draws follow from: study, round, sample number,
 * the ledger's sequence and the secret it keeps enter, too. With a source that says the
 * same for ever no two reports share their draws, and a source that is visibly broken
 * gives none. That the core adds exactly this, and nothing public in the secret's place, is what the
 * vectors hold it to (tests/vectors/mechanism.py). */
#include "fake_device.h"
#include "parts.h"
#include "testing.h"

enum { D = 3, ID_AT = 23, MOST = 96 };

static const int32_t features[D] = {100, -200, 300};

static struct {
    struct tremolo_platform platform;
    struct fake_device device;
    uint8_t entropy[TREMOLO_SEED_BYTES]; /* what the source says each time */
    struct tremolo_study study;
    struct tremolo_round round;
    struct tremolo_sample sample;
    uint8_t report[TREMOLO_MAX_REPORT_BYTES];
    uint8_t ids[MOST][TREMOLO_REPORT_ID_BYTES]; /* all that were seen */
    unsigned seen;
} world;

static int repeat_entropy(void *context, uint8_t *bytes, size_t length)
{
    (void)context;
    memcpy(bytes, world.entropy, length);
    return 0;
}

static enum tremolo_status enrol(void)
{
    struct tremolo_work work;
    return tremolo_device_enrol(&work, &world.platform, 100 * (uint32_t)TREMOLO_CHARGE_ONE,
                                100 * (uint32_t)TREMOLO_CHARGE_ONE);
}

static void set_up(unsigned release)
{
    memset(&world, 0, sizeof world);
    fake_device_init(&world.device, 12);
    assert_int_equal(fake_entropy_fill(&world.device.entropy, world.entropy, TREMOLO_SEED_BYTES),
                     0);
    world.platform = fake_device_platform(&world.device, 1, 0);
    world.platform.entropy = repeat_entropy;
    world.study = fake_study(D, 5);
    if (release == TREMOLO_RELEASE_BALLOT) {
        struct tremolo_study ballot = {.release = TREMOLO_RELEASE_BALLOT,
                                       .rank_first = 57,
                                       .rank_top = UINT32_C(2923410234),
                                       .constant = 282,
                                       .dimension = D,
                                       .rounds = 1,
                                       .samples = 8,
                                       .bounds = world.study.bounds,
                                       .response_bounds = world.study.response_bounds};
        memcpy(ballot.id, world.study.id, sizeof ballot.id);
        world.study = ballot;
    }
    world.sample = (struct tremolo_sample){features, 17, 0};
    assert_status(enrol(), TREMOLO_OK);
}

static enum tremolo_status report(void)
{
    struct tremolo_work work;
    size_t length = sizeof world.report;
    return tremolo_device_report(&work, world.report, &length, &world.study, &world.round,
                                 &world.sample, &world.platform);
}

/* The next report's id is one that was not seen before. It comes from the same stream as
 * noise and rank. */
static void assert_new(void)
{
    assert_status(report(), TREMOLO_OK);
    for (unsigned i = 0; i < world.seen; i++) {
        assert_memory_not_equal(world.ids[i], world.report + ID_AT, TREMOLO_REPORT_ID_BYTES);
    }
    assert_true(world.seen < MOST);
    memcpy(world.ids[world.seen++], world.report + ID_AT, TREMOLO_REPORT_ID_BYTES);
}

static void test_a_source_that_repeats_itself(void **state)
{
    (void)state;
    set_up(TREMOLO_RELEASE_SAMPLE);
    for (unsigned i = 0; i < 8; i++) {
        world.round.number = (uint16_t)(i / 2);
        world.sample.number = (uint16_t)(i % 2);
        assert_new();
    }
    set_up(TREMOLO_RELEASE_BALLOT);
    for (world.sample.number = 0; world.sample.number < 8; world.sample.number++) {
        assert_new();
    }
}

/* The same sample in two rounds: all of the coordinates' noise is another one. */
static void test_noise_is_not_repeated(void **state)
{
    int16_t values[2][D];
    (void)state;
    set_up(TREMOLO_RELEASE_SAMPLE);
    for (unsigned i = 0; i < 2; i++) {
        struct tremolo_report decoded;
        world.round.number = (uint16_t)i;
        assert_status(report(), TREMOLO_OK);
        assert_status(tremolo_report_decode(&decoded, world.report, 2u + 17 + 3 + 17 + 3 + 1 + 5),
                      TREMOLO_OK);
        assert_status(tremolo_report_unpack(values[i], D, &decoded, &world.study), TREMOLO_OK);
    }
    for (unsigned i = 0; i < D; i++) {
        assert_int_not_equal(values[0][i], values[1][i]);
    }
}

/* FNV-1a of a slot up to its report's end, as in ledger.c. */
static void seal(struct tremolo_slot *slot)
{
    const uint8_t *bytes = (const uint8_t *)slot;
    slot->check = UINT32_C(2166136261);
    for (size_t i = 4; i < offsetof(struct tremolo_slot, report) + slot->length; i++) {
        slot->check = (slot->check ^ bytes[i]) * UINT32_C(16777619);
    }
}

static void store(const struct tremolo_slot *slot)
{
    memcpy(world.device.storage.slot[0], slot, sizeof *slot);
    memcpy(world.device.storage.slot[1], slot, sizeof *slot);
}

/* One thing at a time is another one; the ledger is put back before each. */
static void test_everything_enters(void **state)
{
    struct tremolo_slot slot;
    (void)state;
    set_up(TREMOLO_RELEASE_SAMPLE);
    assert_new();
    memcpy(&slot, world.device.storage.slot[0], sizeof slot);
    world.round.number = 1;
    assert_new();
    for (unsigned i = 2; i < 4; i++) {
        store(&slot);
        world.round.number = (uint16_t)i;
        assert_new();
    }
    store(&slot);
    world.sample.number = 1;
    assert_new();
    for (unsigned i = 0; i < TREMOLO_SECRET_BYTES; i++) {
        struct tremolo_slot other = slot;
        other.report[slot.length + i] ^= 1;
        store(&other);
        assert_new();
    }
    for (unsigned i = 1; i < 32; i += 7) {
        struct tremolo_slot other = slot;
        other.sequence += UINT32_C(1) << i;
        seal(&other);
        store(&other);
        assert_new();
    }
    for (unsigned i = 0; i < TREMOLO_SEED_BYTES; i++) {
        store(&slot);
        world.entropy[i] ^= 2; /* a 1 would be as in the secret: the two are added */
        assert_new();
        world.entropy[i] ^= 2;
    }
}

/* Its first half is the tag, which a stored entry must have; the other half enters, too. */
static void test_the_whole_study_id_enters(void **state)
{
    struct fake_storage fresh;
    (void)state;
    set_up(TREMOLO_RELEASE_BALLOT);
    fresh = world.device.storage;
    assert_new();
    for (unsigned i = 0; i < TREMOLO_STUDY_ID_BYTES; i++) {
        world.device.storage = fresh;
        world.study.id[i] ^= 1;
        assert_new();
        world.study.id[i] ^= 1;
    }
}

/* A snapshot of the device is started twice, and its source says the same: what the
 * two are asked for differs, and so do their draws. */
static void test_a_restored_snapshot(void **state)
{
    struct fake_storage snapshot;
    (void)state;
    set_up(TREMOLO_RELEASE_SAMPLE);
    assert_new();
    snapshot = world.device.storage;
    for (unsigned i = 1; i < 4; i++) {
        world.device.storage = snapshot;
        world.round.number = (uint16_t)i;
        assert_new();
    }
}

/* Every commit keeps another secret, in both slots, and it is not in the report. */
static void test_the_secret_is_renewed(void **state)
{
    struct tremolo_slot before;
    struct tremolo_slot after;
    (void)state;
    set_up(TREMOLO_RELEASE_SAMPLE);
    memcpy(&before, world.device.storage.slot[0], sizeof before);
    assert_false(is_zero(before.report, TREMOLO_SECRET_BYTES));
    for (unsigned i = 0; i < 4; i++) {
        world.round.number = (uint16_t)i;
        assert_new();
        memcpy(&after, world.device.storage.slot[0], sizeof after);
        assert_memory_equal(&after, world.device.storage.slot[1],
                            offsetof(struct tremolo_slot, report) + after.length +
                                TREMOLO_SECRET_BYTES);
        assert_memory_not_equal(before.report + before.length, after.report + after.length,
                                TREMOLO_SECRET_BYTES);
        for (unsigned at = 0; at + 4u <= after.length; at++) {
            assert_memory_not_equal(after.report + at, after.report + after.length, 4);
        }
        before = after;
    }
}

/* Chance that would draw the stored report's id again draws nothing. */
static void test_the_stored_id_is_refused(void **state)
{
    struct tremolo_slot slot;
    (void)state;
    set_up(TREMOLO_RELEASE_SAMPLE);
    assert_new();
    memcpy(&slot, world.device.storage.slot[0], sizeof slot);
    world.round.number = 1;
    assert_new();
    memcpy(slot.report + ID_AT, world.report + ID_AT, TREMOLO_REPORT_ID_BYTES);
    seal(&slot);
    store(&slot);
    assert_status(report(), TREMOLO_NO_ENTROPY);
    assert_true(is_zero(world.report, sizeof world.report));
    assert_memory_equal(&slot, world.device.storage.slot[0], sizeof slot);
    slot.report[ID_AT] ^= 1;
    seal(&slot);
    store(&slot);
    assert_status(report(), TREMOLO_OK);
}

static enum tremolo_status seeded_with(const uint8_t *bytes)
{
    struct tremolo_generator generator;
    memcpy(world.entropy, bytes, TREMOLO_SEED_BYTES);
    return tremolo_generator_seed(&generator, &world.platform, added_nothing, added_nothing);
}

static void test_the_health_test(void **state)
{
    uint8_t good[TREMOLO_SEED_BYTES];
    uint8_t seed[TREMOLO_SEED_BYTES];
    (void)state;
    set_up(TREMOLO_RELEASE_SAMPLE);
    memcpy(good, world.entropy, sizeof good);
    for (unsigned period = 1; period <= 16; period *= 2) {
        for (unsigned i = 0; i < sizeof seed; i++) {
            seed[i] = good[i % period];
        }
        assert_status(seeded_with(seed), TREMOLO_NO_ENTROPY);
    }
    for (unsigned start = 0; start <= 16; start++) { /* a run of half of the bytes */
        memcpy(seed, good, sizeof seed);
        memset(seed + start, 0xff, 16);
        assert_status(seeded_with(seed), TREMOLO_NO_ENTROPY);
    }
    for (unsigned i = 0; i < sizeof seed; i++) { /* every other byte */
        seed[i] = i % 2 != 0 ? 0 : good[i];
    }
    assert_status(seeded_with(seed), TREMOLO_NO_ENTROPY);
    /* 1.5e-10 of uniform seeds fail: of these 300,000 one with probability 5e-5. */
    for (unsigned i = 0; i < 300000; i++) {
        assert_int_equal(fake_entropy_fill(&world.device.entropy, seed, sizeof seed), 0);
        assert_status(seeded_with(seed), TREMOLO_OK);
    }
}

/* No secret, no ledger: nothing is written when the source fails or is stuck. */
static void test_no_enrolment_without_entropy(void **state)
{
    struct fake_storage empty;
    (void)state;
    set_up(TREMOLO_RELEASE_SAMPLE);
    fake_storage_init(&world.device.storage, 0xff);
    empty = world.device.storage;
    memset(world.entropy, 0x5a, sizeof world.entropy);
    assert_status(enrol(), TREMOLO_NO_ENTROPY);
    world.platform.entropy = fake_device_entropy;
    world.device.entropy.fails = 1;
    assert_status(enrol(), TREMOLO_NO_ENTROPY);
    assert_memory_equal(world.device.storage.slot, empty.slot, sizeof empty.slot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_source_that_repeats_itself),
        cmocka_unit_test(test_noise_is_not_repeated),
        cmocka_unit_test(test_everything_enters),
        cmocka_unit_test(test_the_whole_study_id_enters),
        cmocka_unit_test(test_a_restored_snapshot),
        cmocka_unit_test(test_the_secret_is_renewed),
        cmocka_unit_test(test_the_stored_id_is_refused),
        cmocka_unit_test(test_the_health_test),
        cmocka_unit_test(test_no_enrolment_without_entropy),
    };
    return cmocka_run_group_tests_name("device hedge", tests, NULL, NULL);
}
