/* test_device_ledger_damage.c -- damaged, missing, older or failing storage, and
 * a budget that ends.
 *
 * What a ledger can still vouch for is healed; anything else refuses. The
 * oracle of ledger_world.h watches that no charge is forgotten. */
#include "ledger_world.h"

static unsigned used_bytes(const struct world *world, unsigned slot)
{
    struct tremolo_slot image;
    memcpy(&image, world->device.storage.slot[slot], sizeof image);
    return (unsigned)offsetof(struct tremolo_slot, report) + image.length;
}

/* One damaged byte in one slot: the other slot is whole and repairs it. */
static void test_damage_to_one_slot_heals(void **state)
{
    static struct world whole;
    static struct world world;
    (void)state;
    world_init(&whole, 1);
    run_script(&whole);
    for (unsigned slot = 0; slot < 2 * STUDIES; slot++) {
        for (unsigned at = 0; at < used_bytes(&whole, slot); at++) {
            world = whole;
            world.platform.context = &world.device;
            world.device.storage.slot[slot][at] ^= (uint8_t)(1u << (at & 7));
            assert_status(release(&world, 0, 1, 0), TREMOLO_OK);
            assert_status(release(&world, 1, 2, 0), TREMOLO_OK);
            check_end(&world);
            assert_memory_equal(world.device.storage.slot, whole.device.storage.slot,
                                sizeof whole.device.storage.slot);
        }
    }
}

/* The same byte, or any other, damaged in both slots of an entry: refused,
 * and enrolment does not make it good unless it cannot tell. */
static void damage_both(const struct world *whole, unsigned entry, unsigned a, unsigned b)
{
    static struct world world;
    enum tremolo_status status;
    world = *whole;
    world.platform.context = &world.device;
    world.device.storage.slot[2 * entry][a] ^= 0x10;
    world.device.storage.slot[2 * entry + 1][b] ^= 0x80;
    status = release(&world, 0, 1, 0);
    assert_true(status == TREMOLO_LEDGER_DAMAGED || status == TREMOLO_LEDGER_MISSING);
    status = release(&world, 1, 3, 1);
    assert_true(status == TREMOLO_LEDGER_DAMAGED || status == TREMOLO_LEDGER_MISSING);
    assert_int_equal(world.keys_seen, whole->keys_seen);
    assert_status(enrol(&world), TREMOLO_LEDGER_EXISTS);
}

static void test_damage_to_both_slots_refuses(void **state)
{
    static struct world whole;
    (void)state;
    world_init(&whole, 0);
    run_script(&whole);
    for (unsigned entry = 0; entry < STUDIES; entry++) {
        unsigned used = used_bytes(&whole, 2 * entry);
        for (unsigned at = 0; at < used; at++) {
            damage_both(&whole, entry, at, at);
            damage_both(&whole, entry, at, (at + used / 2) % used);
        }
    }
}

/* With one study there is no other entry to show that a ledger was there. */
static void test_enrolment_does_not_replace_a_damaged_ledger(void **state)
{
    static struct world world;
    (void)state;
    world_init(&world, 0);
    world.platform.studies = 1;
    assert_status(enrol(&world), TREMOLO_OK);
    assert_status(release(&world, 0, 0, 0), TREMOLO_OK);
    world.device.storage.slot[0][30] ^= 1;
    world.device.storage.slot[1][30] ^= 1;
    assert_status(release(&world, 0, 0, 0), TREMOLO_LEDGER_DAMAGED);
    assert_status(enrol(&world), TREMOLO_LEDGER_DAMAGED);
}

static void test_missing_ledger_refuses(void **state)
{
    static struct world world;
    uint32_t budget = 1;
    (void)state;
    world_init(&world, 1);
    assert_status(release(&world, 0, 0, 0), TREMOLO_LEDGER_MISSING);
    run_script(&world);
    memset(world.device.storage.slot, 0xff, sizeof world.device.storage.slot);
    assert_status(release(&world, 0, 1, 0), TREMOLO_LEDGER_MISSING);
    assert_status(tremolo_device_budget(&world.work, &budget, &world.platform),
                  TREMOLO_LEDGER_MISSING);
    assert_int_equal(budget, 0);
    /* The counter remembers that this device has spent. */
    assert_status(enrol(&world), TREMOLO_LEDGER_EXISTS);
}

/* Storage full of zeros, or of anything, is no ledger and can become one. */
static void test_enrolment_on_any_contents(void **state)
{
    static struct world world;
    (void)state;
    for (int fill = 0; fill < 256; fill += 51) {
        world_init(&world, 0);
        memset(world.device.storage.slot, fill, sizeof world.device.storage.slot);
        assert_status(release(&world, 0, 0, 0), TREMOLO_LEDGER_MISSING);
        run_script(&world);
        check_end(&world);
        assert_status(enrol(&world), TREMOLO_LEDGER_EXISTS);
    }
}

static void test_other_number_of_entries_refuses(void **state)
{
    static struct world world;
    (void)state;
    world_init(&world, 0);
    run_script(&world);
    for (unsigned studies = 1; studies <= TREMOLO_MAX_STUDIES; studies++) {
        world.platform.studies = studies;
        if (studies != STUDIES) {
            assert_status(release(&world, 0, 3, 0), TREMOLO_LEDGER_DAMAGED);
            assert_int_not_equal(enrol(&world), TREMOLO_OK);
        }
    }
    world.platform.studies = STUDIES;
    check_end(&world);
}

/* ------------------------------------------------------------- rollback */

static void test_whole_rollback_is_seen_with_a_counter(void **state)
{
    static struct world world;
    static struct fake_storage copy;
    (void)state;
    world_init(&world, 1);
    assert_status(enrol(&world), TREMOLO_OK);
    for (unsigned i = 1; i < STEPS; i++) {
        unsigned before = world.keys_seen;
        copy = world.device.storage;
        assert_status(take(&world, &script[i]), TREMOLO_OK);
        if (world.keys_seen > before) {
            uint8_t newest[FAKE_SLOTS][FAKE_SLOT_BYTES];
            memcpy(newest, world.device.storage.slot, sizeof newest);
            memcpy(world.device.storage.slot, copy.slot, sizeof copy.slot);
            assert_status(take(&world, &script[i]), TREMOLO_LEDGER_ROLLED_BACK);
            assert_status(enrol(&world), TREMOLO_LEDGER_EXISTS);
            memcpy(world.device.storage.slot, newest, sizeof newest);
        }
    }
    check_end(&world);
}

/* One slot put back to what it held before. Slot A behind B is impossible
 * after a cut; B behind A by one looks like a cut and the newest state wins. */
static void test_partial_rollback_never_forgets(void **state)
{
    static struct world world;
    static struct fake_storage old;
    static struct fake_storage older;
    (void)state;
    world_init(&world, 0);
    assert_status(enrol(&world), TREMOLO_OK);
    older = world.device.storage;
    assert_status(release(&world, 0, 0, 0), TREMOLO_OK);
    old = world.device.storage;
    assert_status(release(&world, 0, 1, 0), TREMOLO_OK);

    memcpy(world.device.storage.slot[0], old.slot[0], FAKE_SLOT_BYTES);
    assert_status(release(&world, 0, 1, 0), TREMOLO_LEDGER_ROLLED_BACK);
    memcpy(world.device.storage.slot[0], older.slot[0], FAKE_SLOT_BYTES);
    assert_status(release(&world, 0, 1, 0), TREMOLO_LEDGER_ROLLED_BACK);
    memcpy(world.device.storage.slot[0], world.device.storage.slot[1], FAKE_SLOT_BYTES);

    memcpy(world.device.storage.slot[1], older.slot[1], FAKE_SLOT_BYTES);
    assert_status(release(&world, 0, 1, 0), TREMOLO_LEDGER_ROLLED_BACK);
    memcpy(world.device.storage.slot[1], old.slot[1], FAKE_SLOT_BYTES);
    assert_status(release(&world, 0, 1, 0), TREMOLO_OK);
    assert_status(release(&world, 0, 0, 0), TREMOLO_ROUND_PASSED);
    check_budget(&world);
    assert_false(world.violated);
}

/* A counter one behind is a cut between commit and counter; two behind, or
 * ahead, is no state this ledger was ever in. */
static void test_counter_out_of_step(void **state)
{
    static struct world world;
    (void)state;
    world_init(&world, 1);
    run_script(&world);
    assert_int_equal(world.device.storage.counter, RELEASES);
    world.device.storage.counter = RELEASES - 1;
    check_end(&world);
    assert_int_equal(world.device.storage.counter, RELEASES);
    world.device.storage.counter = RELEASES - 2;
    assert_status(release(&world, 0, 1, 0), TREMOLO_LEDGER_ROLLED_BACK);
    world.device.storage.counter = RELEASES + 1;
    assert_status(release(&world, 0, 1, 0), TREMOLO_LEDGER_ROLLED_BACK);
}

/* Slots that are sound each but belong to two ledgers: two reports under one
 * number, or two budgets. */
static void test_slots_of_two_ledgers(void **state)
{
    static struct world one;
    static struct world other;
    (void)state;
    world_init(&one, 0);
    world_init(&other, 0);
    other.device.entropy.state = 8;
    run_script(&one);
    run_script(&other);
    memcpy(one.device.storage.slot[1], other.device.storage.slot[1], FAKE_SLOT_BYTES);
    assert_status(release(&one, 0, 1, 0), TREMOLO_LEDGER_DAMAGED);
    world_init(&one, 0);
    world_init(&other, 0);
    assert_status(tremolo_device_enrol(&one.work, &one.platform, 1000, 0), TREMOLO_OK);
    assert_status(tremolo_device_enrol(&other.work, &other.platform, 1001, 0), TREMOLO_OK);
    memcpy(one.device.storage.slot[2], other.device.storage.slot[2], 2 * FAKE_SLOT_BYTES);
    assert_status(release(&one, 0, 0, 0), TREMOLO_LEDGER_DAMAGED);
}

/* A ledger that has not spent yet and lost a slot is a ledger. */
static void test_enrolment_sees_a_single_slot(void **state)
{
    static struct world world;
    (void)state;
    for (unsigned slot = 0; slot < 2; slot++) {
        world_init(&world, 0);
        assert_status(enrol(&world), TREMOLO_OK);
        memset(world.device.storage.slot[slot], 0xff, FAKE_SLOT_BYTES);
        assert_status(enrol(&world), TREMOLO_LEDGER_EXISTS);
    }
}

static void swap_slots(struct world *world, unsigned a, unsigned b)
{
    uint8_t kept[FAKE_SLOT_BYTES];
    memcpy(kept, world->device.storage.slot[a], sizeof kept);
    memcpy(world->device.storage.slot[a], world->device.storage.slot[b], sizeof kept);
    memcpy(world->device.storage.slot[b], kept, sizeof kept);
}

static void test_swapped_slots(void **state)
{
    static struct world world;
    (void)state;
    world_init(&world, 0);
    run_script(&world);
    /* Twins hold the same, so nothing changed. */
    swap_slots(&world, 0, 1);
    check_end(&world);
    /* Slots of two studies: each is unreadable in the other's place, and the
     * twin heals it. */
    swap_slots(&world, 0, 2);
    check_end(&world);
    /* Both pairs exchanged: there is no telling, so no release. */
    swap_slots(&world, 0, 2);
    swap_slots(&world, 1, 3);
    assert_status(release(&world, 0, 1, 0), TREMOLO_LEDGER_DAMAGED);
}

/* ------------------------------------------------------ failing callbacks */

/* Every single call of the storage during `step` fails in turn: the step
 * refuses and hands out nothing, and works when asked again. */
static void fail_each_call(int has_counter, unsigned target)
{
    static struct world world;
    for (unsigned failing = 1;; failing++) {
        world_init(&world, has_counter);
        for (unsigned i = 0; i < target; i++) {
            assert_status(take(&world, &script[i]), TREMOLO_OK);
        }
        unsigned keys = world.keys_seen;
        world.device.storage.calls = 0;
        world.device.storage.failing = failing;
        enum tremolo_status status = take(&world, &script[target]);
        if (world.device.storage.calls < failing) {
            assert_status(status, TREMOLO_OK);
            assert_true(failing > 1);
            return;
        }
        /* A counter that cannot be read is a reason not to enrol. */
        assert_true(status == TREMOLO_STORAGE_FAILED ||
                    (target == 0 && status == TREMOLO_LEDGER_EXISTS));
        assert_int_equal(world.keys_seen, keys);
        world.device.storage.failing = 0;
        for (unsigned i = target; i < STEPS; i++) {
            status = take(&world, &script[i]);
            assert_true(status == TREMOLO_OK || (i == 0 && status == TREMOLO_LEDGER_EXISTS));
        }
        check_end(&world);
    }
}

static void test_failing_storage_calls(void **state)
{
    (void)state;
    for (unsigned target = 0; target < STEPS; target++) {
        fail_each_call(0, target);
        fail_each_call(1, target);
    }
}

/* ---------------------------------------------------------------- budget */

static void test_repetition_is_free_and_identical(void **state)
{
    static struct world world;
    (void)state;
    world_init(&world, 0);
    assert_status(enrol(&world), TREMOLO_OK);
    assert_status(release(&world, 0, 0, 0), TREMOLO_OK);
    uint32_t after = left(&world);
    unsigned entropy_calls = world.device.entropy.calls;
    for (int i = 0; i < 5; i++) {
        assert_status(release(&world, 0, 0, 0), TREMOLO_OK);
    }
    assert_int_equal(left(&world), after);
    assert_int_equal(world.device.entropy.calls, entropy_calls);
    assert_status(release(&world, 0, 1, 0), TREMOLO_OK);
    assert_int_equal(left(&world), after - tremolo_study_charge(&world.study[0]));
    assert_false(world.violated);
}

static void test_budget_runs_out(void **state)
{
    static struct world world;
    (void)state;
    world_init(&world, 0);
    run_script(&world);
    assert_status(release(&world, 1, 3, 0), TREMOLO_OK);
    assert_int_equal(left(&world), 0);
    assert_status(release(&world, 1, 3, 1), TREMOLO_BUDGET_EXHAUSTED);
    assert_status(release(&world, 0, 3, 0), TREMOLO_BUDGET_EXHAUSTED);
    /* What was paid for can still be repeated. */
    assert_status(release(&world, 1, 3, 0), TREMOLO_OK);
    assert_status(release(&world, 0, 1, 0), TREMOLO_OK);
    assert_false(world.violated);
}

static void test_budget_short_by_one_unit(void **state)
{
    static struct world world;
    (void)state;
    world_init(&world, 0);
    uint32_t charge = tremolo_study_charge(&world.study[0]);
    assert_status(tremolo_device_enrol(&world.work, &world.platform, charge - 1, 0), TREMOLO_OK);
    assert_status(release(&world, 0, 0, 0), TREMOLO_BUDGET_EXHAUSTED);
    assert_int_equal(left(&world), charge - 1);
    assert_int_equal(world.device.entropy.calls, 1); /* the enrolment */
    world_init(&world, 0);
    assert_status(tremolo_device_enrol(&world.work, &world.platform, charge, 0), TREMOLO_OK);
    assert_status(release(&world, 0, 0, 0), TREMOLO_OK);
    assert_int_equal(left(&world), 0);
}

static void test_samples_and_rounds_go_forward(void **state)
{
    static struct world world;
    (void)state;
    world_init(&world, 0);
    assert_status(enrol(&world), TREMOLO_OK);
    assert_status(release(&world, 0, 0, 2), TREMOLO_BAD_SAMPLES);
    assert_status(release(&world, 0, 0, 0), TREMOLO_OK);
    assert_status(release(&world, 0, 0, 1), TREMOLO_OK);
    assert_status(release(&world, 0, 0, 0), TREMOLO_ROUND_PASSED);
    assert_status(release(&world, 0, 2, 0), TREMOLO_OK);
    assert_status(release(&world, 0, 1, 1), TREMOLO_ROUND_PASSED);
    assert_status(release(&world, 0, 0, 1), TREMOLO_ROUND_PASSED);
    assert_status(release(&world, 0, 4, 0), TREMOLO_BAD_ARGUMENT);
    /* Three releases, three charges; refusals cost nothing. */
    assert_int_equal(left(&world), budget_of(&world) - 3 * tremolo_study_charge(&world.study[0]));
}

static void test_ledger_full(void **state)
{
    static struct world world;
    (void)state;
    for (unsigned studies = 1; studies <= TREMOLO_MAX_STUDIES; studies += 5) {
        world_init(&world, 0);
        world.platform.studies = studies;
        assert_status(tremolo_device_enrol(&world.work, &world.platform,
                                           128 * (uint32_t)TREMOLO_CHARGE_ONE, 0),
                      TREMOLO_OK);
        for (unsigned i = 0; i < studies; i++) {
            memset(world.study[0].id, (int)(0x40 + i), sizeof world.study[0].id);
            assert_status(release(&world, 0, (uint16_t)(i & 3), 0), TREMOLO_OK);
            memset(&world.seen, 0, sizeof world.seen);
        }
        uint32_t before = left(&world);
        assert_status(release(&world, 1, 0, 0), TREMOLO_LEDGER_FULL);
        assert_int_equal(left(&world), before);
        /* Studies that are in it go on. */
        assert_status(release(&world, 0, 3, 1), TREMOLO_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damage_to_one_slot_heals),
        cmocka_unit_test(test_damage_to_both_slots_refuses),
        cmocka_unit_test(test_enrolment_does_not_replace_a_damaged_ledger),
        cmocka_unit_test(test_missing_ledger_refuses),
        cmocka_unit_test(test_enrolment_on_any_contents),
        cmocka_unit_test(test_other_number_of_entries_refuses),
        cmocka_unit_test(test_whole_rollback_is_seen_with_a_counter),
        cmocka_unit_test(test_partial_rollback_never_forgets),
        cmocka_unit_test(test_counter_out_of_step),
        cmocka_unit_test(test_slots_of_two_ledgers),
        cmocka_unit_test(test_enrolment_sees_a_single_slot),
        cmocka_unit_test(test_swapped_slots),
        cmocka_unit_test(test_failing_storage_calls),
        cmocka_unit_test(test_repetition_is_free_and_identical),
        cmocka_unit_test(test_budget_runs_out),
        cmocka_unit_test(test_budget_short_by_one_unit),
        cmocka_unit_test(test_samples_and_rounds_go_forward),
        cmocka_unit_test(test_ledger_full),
    };
    return cmocka_run_group_tests_name("device ledger, damage", tests, NULL, NULL);
}
