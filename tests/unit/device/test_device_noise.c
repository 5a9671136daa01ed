/* test_device_noise.c -- what the sampler does with bytes we choose.
 *
 * Its distribution is tested in tests/stat; here the buffer of the generator
 * is filled by hand, so that single paths through the sampler are walked. */
#include "fake_device.h"
#include "parts.h"
#include "testing.h"

enum { FIRST = 32 };

static void prime(struct tremolo_generator *generator, const uint8_t *bytes, size_t length)
{
    memset(generator, 0, sizeof *generator);
    generator->next = FIRST;
    memcpy(generator->block + FIRST, bytes, length);
}

/* 00 01: the chain 1/2 > u > v breaks at once, after one step, so k = 0.
 * 00: the first face of the acceptance is the failing one, so x is accepted.
 * Three digits of x, and a sign. */
static void test_shortest_path(void **state)
{
    static const uint8_t positive[] = {0, 1, 0, 0x12, 0x34, 0x56, 2};
    static const uint8_t negative[] = {0, 1, 0, 0x12, 0x34, 0x56, 3};
    struct tremolo_generator generator;
    (void)state;
    prime(&generator, positive, sizeof positive);
    assert_int_equal(tremolo_noise_draw(&generator, 24), 0x123456);
    assert_int_equal(generator.next, FIRST + sizeof positive);
    prime(&generator, negative, sizeof negative);
    assert_int_equal(tremolo_noise_draw(&generator, 24), -0x123457);
    prime(&generator, positive, sizeof positive);
    assert_int_equal(tremolo_noise_draw(&generator, 10), 0x123456 >> 14);
    prime(&generator, negative, sizeof negative);
    assert_int_equal(tremolo_noise_draw(&generator, 10), -(0x123456 >> 14) - 1);
    assert_int_equal(generator.stuck, 0);
}

/* Zero lies between -1 and 0: the floors of its neighbours differ. */
static void test_zero_has_two_sides(void **state)
{
    static const uint8_t positive[] = {0, 1, 0, 0, 0, 0, 0};
    static const uint8_t negative[] = {0, 1, 0, 0, 0, 0, 1};
    struct tremolo_generator generator;
    (void)state;
    prime(&generator, positive, sizeof positive);
    assert_int_equal(tremolo_noise_draw(&generator, 18), 0);
    prime(&generator, negative, sizeof negative);
    assert_int_equal(tremolo_noise_draw(&generator, 18), -1);
}

/* 80: a first uniform above 1/2 succeeds, so k = 1, which needs no further
 * coin and two acceptances with four faces each. */
static void test_whole_part_of_one(void **state)
{
    static const uint8_t bytes[] = {0x80, 0, 1, 4, 8, 0xab, 0xcd, 0xef, 0};
    struct tremolo_generator generator;
    (void)state;
    prime(&generator, bytes, sizeof bytes);
    assert_int_equal(tremolo_noise_draw(&generator, 24), 0x1abcdef);
    assert_int_equal(generator.next, FIRST + sizeof bytes);
}

/* A chain of one step rejects: face 1 asks whether a fresh uniform is below
 * x, the next byte whether the chain goes on, then the failing face ends it
 * after an odd number of steps. All is drawn again. */
static void test_rejection_draws_again(void **state)
{
    static const uint8_t bytes[] = {0, 1,                /* k = 0 */
                                    1, 0x90, 0x10, 0x20, /* face 1, x = .90, fresh .10, step .20 */
                                    0,                   /* failing face: rejected */
                                    0, 1,    0,    1,    /* k = 0, accepted, x = .01... */
                                    2, 3,    0};
    struct tremolo_generator generator;
    (void)state;
    prime(&generator, bytes, sizeof bytes);
    assert_int_equal(tremolo_noise_draw(&generator, 24), 0x010203);
    assert_int_equal(generator.next, FIRST + sizeof bytes);
}

/* Digits that comparisons asked for are digits of the result. */
static void test_compared_digits_are_kept(void **state)
{
    /* Face 1 draws x = .77 and compares with .77, then .88 with .99: the
     * fresh uniform is not below, so the chain ends after zero steps. */
    static const uint8_t bytes[] = {0, 1, 1, 0x77, 0x77, 0x88, 0x99, 0x55, 0};
    struct tremolo_generator generator;
    (void)state;
    prime(&generator, bytes, sizeof bytes);
    assert_int_equal(tremolo_noise_draw(&generator, 24), 0x778855);
    assert_int_equal(generator.next, FIRST + sizeof bytes);
}

/* Uniforms that never differ, and coins that never fail. */
static void test_broken_bytes_are_noticed(void **state)
{
    uint8_t bytes[224];
    struct tremolo_generator generator;
    (void)state;
    memset(bytes, 0, sizeof bytes);
    prime(&generator, bytes, sizeof bytes);
    (void)tremolo_noise_draw(&generator, 18);
    assert_int_equal(generator.stuck, 1);
    memset(bytes, 0xff, sizeof bytes);
    prime(&generator, bytes, sizeof bytes);
    (void)tremolo_noise_draw(&generator, 18);
    assert_int_equal(generator.stuck, 1);
}

/* The same bytes at a coarser scale give the same deviate, rounded down. */
static void test_scales_agree(void **state)
{
    static struct fake_device device;
    struct tremolo_generator fine;
    struct tremolo_generator coarse;
    struct tremolo_platform platform;
    (void)state;
    fake_device_init(&device, 31);
    platform = fake_device_platform(&device, 1, 0);
    assert_status(tremolo_generator_seed(&fine, &platform, added_nothing, added_nothing),
                  TREMOLO_OK);
    for (int i = 0; i < 20000; i++) {
        unsigned p = 10 + (unsigned)i % 15;
        coarse = fine;
        int32_t draw = tremolo_noise_draw(&fine, 24);
        int64_t floor = draw >= 0 ? draw >> (24 - p) : -((-(int64_t)draw - 1) >> (24 - p)) - 1;
        assert_int_equal(tremolo_noise_draw(&coarse, p), floor);
        assert_memory_equal(&coarse, &fine, sizeof fine);
        /* Eight standard deviations: 1e-15 a draw. */
        assert_true(draw < 8 << 24 && draw > -(8 << 24));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shortest_path),
        cmocka_unit_test(test_zero_has_two_sides),
        cmocka_unit_test(test_whole_part_of_one),
        cmocka_unit_test(test_rejection_draws_again),
        cmocka_unit_test(test_compared_digits_are_kept),
        cmocka_unit_test(test_broken_bytes_are_noticed),
        cmocka_unit_test(test_scales_agree),
    };
    return cmocka_run_group_tests_name("device noise", tests, NULL, NULL);
}
