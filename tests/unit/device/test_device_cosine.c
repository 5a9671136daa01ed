/* test_device_cosine.c -- the integer cosine over all 2^32 angles.
 *
 * The result depends on the angle only through its place rounded to 2^-17 of
 * a turn, and the cosine is monotonic within such a step but where it turns,
 * which is in the middle of one. So the largest error is found at the steps'
 * ends and middles, of which there are 2^17: all are visited. */
#include <math.h>

#include "fake_entropy.h"
#include "parts.h"
#include "testing.h"

enum { STEP = 1 << 15 };

/* The bound that cosine.c states, in units of 2^-15. Half a step of angle is
 * worth pi/4 of a unit; the rest is rounding within the polynomial. */
static const double stated_error = 1.9;

static double error_at(uint32_t angle)
{
    double exact = cos((double)angle * (2 * acos(-1.0) / 4294967296.0));
    return fabs(tremolo_cosine(angle) - 32768 * exact);
}

static void test_largest_error(void **state)
{
    double worst = 0;
    (void)state;
    for (uint64_t at = 0; at < UINT64_C(1) << 32; at += STEP) {
        static const int32_t offsets[] = {-1, 0, 1, STEP / 2 - 1, STEP / 2, STEP / 2 + 1};
        for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
            worst = fmax(worst, error_at((uint32_t)at + (uint32_t)offsets[i]));
        }
    }
    print_message("# largest error %.4f units of 2^-15\n", worst);
    assert_true(worst < stated_error);
    /* The bound is close to what happens: a loose one would check nothing. */
    assert_true(worst > stated_error - 0.1);
}

/* What the argument above rests on: constant between the ends of a step. */
static void test_constant_within_a_step(void **state)
{
    struct fake_entropy random = {.state = 2};
    (void)state;
    for (int i = 0; i < 1000000; i++) {
        uint32_t middle = (uint32_t)fake_random(&random) & ~(uint32_t)(STEP - 1);
        int32_t offset = fake_between(&random, -STEP / 2 + 1, STEP / 2 - 1);
        assert_int_equal(tremolo_cosine(middle + (uint32_t)offset), tremolo_cosine(middle));
    }
}

/* To the bit, so that the modulation's mean is exactly zero; and even. */
static void test_symmetries(void **state)
{
    (void)state;
    for (uint64_t at = 0; at < UINT64_C(1) << 32; at += 16381) {
        uint32_t angle = (uint32_t)at;
        assert_int_equal(tremolo_cosine(angle + (UINT32_C(1) << 31)), -tremolo_cosine(angle));
        assert_int_equal(tremolo_cosine(0 - angle), tremolo_cosine(angle));
    }
}

static void test_quarters(void **state)
{
    (void)state;
    assert_int_equal(tremolo_cosine(UINT32_C(1) << 30), 0);
    assert_int_equal(tremolo_cosine(UINT32_C(3) << 30), 0);
    assert_in_range(tremolo_cosine(0), 32767, 32769);
    assert_in_range(-tremolo_cosine(UINT32_C(1) << 31), 32767, 32769);
}

/* Debiasing subtracts lambda^2 / (2m) V V': the mean square over all angles is
 * 1/2 to within 1e-6. Every step weighs the same. */
static void test_mean_square(void **state)
{
    double sum = 0;
    (void)state;
    for (uint64_t at = 0; at < UINT64_C(1) << 32; at += STEP) {
        double value = tremolo_cosine((uint32_t)at) / 32768.0;
        sum += value * value;
    }
    sum /= 1 << 17;
    print_message("# mean square %.9f\n", sum);
    assert_true(fabs(sum - 0.5) < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_largest_error), cmocka_unit_test(test_constant_within_a_step),
        cmocka_unit_test(test_symmetries),    cmocka_unit_test(test_quarters),
        cmocka_unit_test(test_mean_square),
    };
    return cmocka_run_group_tests_name("device cosine", tests, NULL, NULL);
}
