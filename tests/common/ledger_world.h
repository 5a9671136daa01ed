/* ledger_world.h -- a device, what surrounds it, and an oracle that remembers
 * what left it.
 *
 * For every key (study, round, sample) the oracle keeps the bytes, and it
 * counts the keys. Whatever happened to the storage,
 *
 *     1. two reports for one key are the same bytes;
 *     2. what is left of the budget is at most the budget less one charge for
 *        every key that left;
 *     3. bytes are handed out only after the last write (fake_storage.h). */
#ifndef TREMOLO_TESTS_LEDGER_WORLD_H
#define TREMOLO_TESTS_LEDGER_WORLD_H

#include "fake_device.h"
#include "testing.h"

enum { STUDIES = 2, RELEASES = 5, BUDGET_RELEASES = 6, KEYS = 16 };

typedef enum tremolo_status report_function(struct tremolo_work *, uint8_t *, size_t *,
                                            const struct tremolo_study *,
                                            const struct tremolo_round *,
                                            const struct tremolo_sample *,
                                            const struct tremolo_platform *);

/* One step of a script: a release of a study, or the enrolment. */
struct step {
    int study; /* -1: enrol */
    uint16_t round;
    uint16_t sample;
};

static const struct step script[] = {{-1, 0, 0}, {0, 0, 0}, {0, 0, 0}, {1, 0, 0}, {0, 0, 1},
                                     {0, 1, 0},  {1, 0, 0}, {1, 2, 0}, {0, 1, 0}};
enum { STEPS = sizeof script / sizeof script[0] };

struct seen {
    size_t length;
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
};

/* The device, its surroundings and the oracle. */
struct world {
    struct fake_device device;
    struct tremolo_platform platform;
    struct tremolo_study study[STUDIES];
    struct tremolo_work work;
    report_function *report;
    struct seen seen[STUDIES][KEYS];
    unsigned keys_seen;
    int violated; /* invariant 1 or 2 */
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    size_t length;
};

static inline uint32_t budget_of(const struct world *world)
{
    return BUDGET_RELEASES * tremolo_study_charge(&world->study[0]);
}

static inline void world_init(struct world *world, int has_counter)
{
    memset(world, 0, sizeof *world);
    fake_device_init(&world->device, 7);
    world->platform = fake_device_platform(&world->device, STUDIES, has_counter);
    world->study[0] = fake_study(2, 0x11);
    world->study[1] = fake_study(2, 0x22);
    world->report = tremolo_device_report;
    world->device.storage.watched = world->bytes;
    world->device.storage.watched_length = sizeof world->bytes;
}

static inline enum tremolo_status enrol(struct world *world)
{
    return tremolo_device_enrol(&world->work, &world->platform, budget_of(world), 0);
}

/* Tell the oracle what left the device. */
static inline void see(struct world *world, const struct step *step)
{
    struct seen *seen = &world->seen[step->study][step->round * 2 + step->sample];
    if (seen->length == 0) {
        world->keys_seen++;
        seen->length = world->length;
        memcpy(seen->bytes, world->bytes, world->length);
    }
    world->violated |=
        seen->length != world->length || memcmp(seen->bytes, world->bytes, world->length) != 0;
}

static inline enum tremolo_status release(struct world *world, int study, uint16_t round,
                                          uint16_t number)
{
    static const int32_t features[2] = {300, -400};
    const struct step step = {study, round, number};
    struct tremolo_sample sample = {features, 5, number};
    struct tremolo_round broadcast = {NULL, round};
    enum tremolo_status status;
    world->length = sizeof world->bytes;
    memset(world->bytes, 0, sizeof world->bytes);
    status = world->report(&world->work, world->bytes, &world->length, &world->study[study],
                           &broadcast, &sample, &world->platform);
    if (!is_zero(world->bytes, sizeof world->bytes)) {
        world->length = status == TREMOLO_OK ? world->length : sizeof world->bytes;
        see(world, &step);
    }
    memset(world->bytes, 0, sizeof world->bytes);
    return status;
}

static inline enum tremolo_status take(struct world *world, const struct step *step)
{
    return step->study < 0 ? enrol(world) : release(world, step->study, step->round, step->sample);
}

static inline uint32_t left(struct world *world)
{
    uint32_t budget = 0;
    assert_status(tremolo_device_budget(&world->work, &budget, &world->platform), TREMOLO_OK);
    return budget;
}

/* Invariant 2, on a device that works. */
static inline void check_budget(struct world *world)
{
    uint32_t paid = world->keys_seen * tremolo_study_charge(&world->study[0]);
    world->violated |= left(world) > budget_of(world) - paid;
}

/* Enrol and release everything, with no mishap. */
static inline void run_script(struct world *world)
{
    for (unsigned i = 0; i < STEPS; i++) {
        assert_status(take(world, &script[i]), TREMOLO_OK);
    }
}

/* Every release was made once, charged once, and repeated byte for byte. */
static inline void check_end(struct world *world)
{
    uint32_t paid = RELEASES * tremolo_study_charge(&world->study[0]);
    assert_false(world->violated);
    assert_false(world->device.storage.was_early);
    assert_int_equal(world->keys_seen, RELEASES);
    assert_int_equal(left(world), budget_of(world) - paid);
}

#endif
