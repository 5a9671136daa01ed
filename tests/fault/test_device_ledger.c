/* test_device_ledger.c -- no power cut makes a device release what it has not
 * paid for, or pay twice for one release.
 *
 * The power goes at every single byte of every write; then the device starts
 * again and the oracle of ledger_world.h looks at what it does. A device that
 * hands the bytes out before it charges is shown to be caught. */
#include "ledger_world.h"
#include "parts.h"

/* Run the script; when the power goes, restart and repeat the step. A second
 * cut may follow `second` bytes after the restart (ULONG_MAX: none). */
static void run_with_cuts(struct world *world, unsigned long first, unsigned long second)
{
    unsigned at = 0;
    unsigned cuts = 0;
    world->device.storage.power = first;
    while (at < STEPS) {
        enum tremolo_status status = take(world, &script[at]);
        if (world->device.storage.is_off) {
            assert_status(status, TREMOLO_STORAGE_FAILED);
            fake_storage_restart(&world->device.storage);
            world->device.storage.power = cuts++ == 0 ? second : ULONG_MAX;
            continue;
        }
        /* An enrolment that was cut after it was whole is found in place. */
        if (status != TREMOLO_OK && !(script[at].study < 0 && status == TREMOLO_LEDGER_EXISTS)) {
            world->violated = 1;
            return;
        }
        at++;
    }
    fake_storage_restart(&world->device.storage);
}

static unsigned long script_bytes(int has_counter)
{
    static struct world world;
    world_init(&world, has_counter);
    run_script(&world);
    return world.device.storage.written;
}

static void cut_everywhere(int has_counter, int tearing_erases)
{
    static struct world world;
    unsigned long total = script_bytes(has_counter);
    for (unsigned long cut = 0; cut <= total; cut++) {
        world_init(&world, has_counter);
        world.device.storage.tearing_erases = tearing_erases;
        run_with_cuts(&world, cut, ULONG_MAX);
        check_end(&world);
    }
}

static void test_power_cut_at_every_byte(void **state)
{
    (void)state;
    cut_everywhere(0, 0);
    cut_everywhere(1, 0);
    cut_everywhere(0, 1);
    cut_everywhere(1, 1);
}

/* The second cut hits the repair or the repetition of what the first hit:
 * every pair of places, thinned to every third and seventh byte. */
static void test_second_power_cut_during_recovery(void **state)
{
    static struct world world;
    unsigned long total = script_bytes(1);
    (void)state;
    for (unsigned long cut = 0; cut <= total; cut += 3) {
        for (unsigned long second = 0; second < 300; second += 7) {
            world_init(&world, 1);
            world.device.storage.tearing_erases = (int)(cut & 1);
            run_with_cuts(&world, cut, second);
            check_end(&world);
        }
    }
}

/* After every cut the device works with a budget that covers what it did. */
static void test_budget_after_every_cut(void **state)
{
    static struct world world;
    unsigned long total = script_bytes(0);
    (void)state;
    for (unsigned long cut = 0; cut <= total; cut++) {
        world_init(&world, 0);
        world.device.storage.power = cut;
        for (unsigned i = 0; i < STEPS && !world.device.storage.is_off; i++) {
            assert_true(take(&world, &script[i]) == TREMOLO_OK || world.device.storage.is_off);
        }
        fake_storage_restart(&world.device.storage);
        if (enrol(&world) != TREMOLO_OK) {
            check_budget(&world);
        } else {
            assert_int_equal(world.keys_seen, 0);
        }
        assert_false(world.violated);
    }
}

/* ------------------------------------------------- a ledger that is late */

/* tremolo_device_report as it must not be: bytes first, charge second. */
static enum tremolo_status report_late(struct tremolo_work *work, uint8_t *report, size_t *length,
                                       const struct tremolo_study *study,
                                       const struct tremolo_round *round,
                                       const struct tremolo_sample *sample,
                                       const struct tremolo_platform *platform)
{
    enum tremolo_status status;
    memset(work, 0, sizeof *work);
    work->platform = platform;
    work->study = study;
    work->round = round;
    work->sample = sample;
    status = tremolo_ledger_find(work, study->id, study->release);
    if (status == TREMOLO_OK) {
        status = tremolo_ledger_stored(work, length);
    }
    if (status == TREMOLO_OK && *length == 0) {
        assert_status(
            tremolo_generator_seed(&work->generator, platform, added_nothing, added_nothing),
            TREMOLO_OK);
        memcpy(work->id, &work->generator.state[4], sizeof work->id);
        tremolo_sample_prepare(work->value, study, sample);
        *length = tremolo_report_encode(work);
        memcpy(report, work->slot.report, *length);
        status = tremolo_ledger_commit(work, 0, *length);
    } else if (status == TREMOLO_OK) {
        memcpy(report, work->slot.report, *length);
    }
    work->round = NULL;
    work->sample = NULL;
    return status;
}

static void test_late_charge_is_seen_by_the_storage(void **state)
{
    static struct world world;
    (void)state;
    world_init(&world, 0);
    world.report = report_late;
    run_script(&world);
    assert_true(world.device.storage.was_early);
}

static void test_late_charge_is_caught_by_power_cuts(void **state)
{
    static struct world world;
    unsigned long total = script_bytes(0);
    unsigned caught = 0;
    (void)state;
    for (unsigned long cut = 0; cut <= total; cut++) {
        world_init(&world, 0);
        world.report = report_late;
        run_with_cuts(&world, cut, ULONG_MAX);
        caught += (unsigned)world.violated;
    }
    assert_true(caught > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power_cut_at_every_byte),
        cmocka_unit_test(test_second_power_cut_during_recovery),
        cmocka_unit_test(test_budget_after_every_cut),
        cmocka_unit_test(test_late_charge_is_seen_by_the_storage),
        cmocka_unit_test(test_late_charge_is_caught_by_power_cuts),
    };
    return cmocka_run_group_tests_name("device ledger, power cuts", tests, NULL, NULL);
}
