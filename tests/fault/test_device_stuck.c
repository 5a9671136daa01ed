/* test_device_stuck.c -- a generator that breaks down in the middle of the noise.
 *
 * No entropy makes the real sampler notice that its generator is broken, so
 * this program brings its own tremolo_noise_draw, which the linker takes in
 * place of the library's. It marks the generator stuck at a draw of our
 * choosing; the device must then refuse, charge nothing and leave nothing. */
#include "ledger_world.h"
#include "parts.h"

static unsigned draws;
static unsigned breaking; /* the draw at which the generator breaks */

int32_t tremolo_noise_draw(struct tremolo_generator *generator, unsigned noise_log2)
{
    generator->stuck |= ++draws == breaking;
    return (int32_t)(tremolo_generator_word(generator) >> (32 - noise_log2));
}

static void test_refuses_at_every_draw(void **state)
{
    static struct world world;
    (void)state;
    for (breaking = 1; breaking <= 2; breaking++) {
        world_init(&world, 0);
        assert_status(enrol(&world), TREMOLO_OK);
        unsigned long written = world.device.storage.written;
        draws = 0;
        assert_status(release(&world, 0, 0, 0), TREMOLO_NO_ENTROPY);
        assert_int_equal(world.device.storage.written, written);
        assert_int_equal(world.keys_seen, 0);
        assert_true(is_zero(&world.work, sizeof world.work));
        assert_int_equal(left(&world), budget_of(&world));
        /* The next generator is a new one. */
        assert_status(release(&world, 0, 0, 0), TREMOLO_OK);
        assert_int_equal(draws, 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refuses_at_every_draw)};
    return cmocka_run_group_tests_name("device stuck generator", tests, NULL, NULL);
}
