/* test_host_wrapper.c -- floating-point values to raw steps, and the platform
 * of simulated devices. */
#include <float.h>
#include <math.h>

#include "fake_entropy.h"
#include "testing.h"
#include "ledger_file.h"
#include "tremolo_host.h"

static const struct tremolo_bounds ends = TREMOLO_HOST_BOUNDS;

static int32_t raw_of(double value, double low, double high)
{
    struct tremolo_host_range range = {low, high};
    int32_t raw = 12345;
    assert_status(tremolo_host_raw(&raw, value, &range), TREMOLO_OK);
    return raw;
}

static void assert_refused(double value, double low, double high, enum tremolo_status wanted)
{
    struct tremolo_host_range range = {low, high};
    int32_t raw = 12345;
    assert_status(tremolo_host_raw(&raw, value, &range), wanted);
    assert_int_equal(raw, 0);
}

static void test_not_a_number(void **state)
{
    (void)state;
    assert_refused(NAN, 0, 1, TREMOLO_NOT_A_NUMBER);
    assert_refused(-NAN, 0, 1, TREMOLO_NOT_A_NUMBER);
    assert_refused(INFINITY, 0, 1, TREMOLO_NOT_A_NUMBER);
    assert_refused(-INFINITY, 0, 1, TREMOLO_NOT_A_NUMBER);
}

static void test_bad_ranges(void **state)
{
    (void)state;
    assert_refused(0, 1, 1, TREMOLO_BAD_BOUNDS);
    assert_refused(0, 1, 0, TREMOLO_BAD_BOUNDS);
    assert_refused(0, NAN, 1, TREMOLO_BAD_BOUNDS);
    assert_refused(0, 0, NAN, TREMOLO_BAD_BOUNDS);
    assert_refused(0, 0, INFINITY, TREMOLO_BAD_BOUNDS);
    assert_refused(0, -INFINITY, 0, TREMOLO_BAD_BOUNDS);
    /* A width beyond the largest double. */
    assert_refused(0, -DBL_MAX, DBL_MAX, TREMOLO_BAD_BOUNDS);
}

static void test_null_arguments(void **state)
{
    struct tremolo_host_range range = {0, 1};
    int32_t raw;
    (void)state;
    assert_status(tremolo_host_raw(NULL, 0, &range), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_host_raw(&raw, 0, NULL), TREMOLO_BAD_ARGUMENT);
}

static void test_ends_and_clamping(void **state)
{
    (void)state;
    assert_int_equal(raw_of(-3, -3, 7), ends.low);
    assert_int_equal(raw_of(7, -3, 7), ends.high);
    assert_int_equal(raw_of(2, -3, 7), 0);
    assert_int_equal(raw_of(-1e300, -3, 7), ends.low);
    assert_int_equal(raw_of(1e300, -3, 7), ends.high);
    assert_int_equal(raw_of(-DBL_MAX, DBL_MAX / 2, DBL_MAX), ends.low);
    assert_int_equal(raw_of(DBL_MAX, -DBL_MAX, -DBL_MAX / 2), ends.high);
    assert_int_equal(raw_of(-0.0, 0, 1), ends.low);
    assert_int_equal(raw_of(DBL_TRUE_MIN, 0, 2 * DBL_TRUE_MIN), 0);
}

/* Every step is hit by its own value and by values within half a step. The
 * share is computed in double with 22 bits to spare, so a tenth of a step is
 * far from any rounding. */
static void test_nearest_step(void **state)
{
    struct fake_entropy random = {.state = 4};
    const double steps = (double)ends.high - ends.low;
    (void)state;
    for (int i = 0; i < 100000; i++) {
        int32_t step = fake_between(&random, ends.low + 1, ends.high - 1);
        double low = (double)fake_between(&random, -1000, 0);
        double width = (double)fake_between(&random, 1, 100000) / 7;
        for (int offset = -4; offset <= 4; offset++) {
            double share = ((double)step - ends.low + offset / 10.0) / steps;
            /* low + share * width loses up to 1000 / width of its last bit. */
            if (width > 100 || offset == 0) {
                assert_int_equal(raw_of(low + share * width, low, low + width), step);
            }
        }
    }
}

static void test_order_is_kept(void **state)
{
    struct fake_entropy random = {.state = 5};
    (void)state;
    for (int i = 0; i < 100000; i++) {
        double a = ldexp((double)fake_random(&random), -64);
        double b = ldexp((double)fake_random(&random), -64);
        assert_true((a <= b) == (raw_of(a, 0, 1) <= raw_of(b, 0, 1)) ||
                    raw_of(a, 0, 1) == raw_of(b, 0, 1));
    }
}

static void test_kernel_entropy(void **state)
{
    uint8_t a[64] = {0};
    uint8_t b[64] = {0};
    (void)state;
    assert_int_equal(tremolo_host_entropy(NULL, a, sizeof a), 0);
    assert_int_equal(tremolo_host_entropy(NULL, b, sizeof b), 0);
    assert_memory_not_equal(a, b, sizeof a);
}

static void test_memory_platform(void **state)
{
    static struct tremolo_host_memory memory;
    static struct tremolo_work work;
    struct tremolo_platform platform = tremolo_host_memory_platform(&memory);
    uint32_t left = 1;
    (void)state;
    assert_status(tremolo_device_budget(&work, &left, &platform), TREMOLO_LEDGER_MISSING);
    assert_status(tremolo_device_enrol(&work, &platform, 77, 0), TREMOLO_OK);
    assert_status(tremolo_device_budget(&work, &left, &platform), TREMOLO_OK);
    assert_int_equal(left, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_a_number),   cmocka_unit_test(test_bad_ranges),
        cmocka_unit_test(test_null_arguments), cmocka_unit_test(test_ends_and_clamping),
        cmocka_unit_test(test_nearest_step),   cmocka_unit_test(test_order_is_kept),
        cmocka_unit_test(test_kernel_entropy), cmocka_unit_test(test_memory_platform),
    };
    return cmocka_run_group_tests_name("host wrapper", tests, NULL, NULL);
}
