/* test_device_study.c -- a study's numbers are checked one by one, and what a
 * release costs is never rounded down. */
#include "fake_device.h"
#include "testing.h"

__extension__ typedef unsigned __int128 wide;

static struct tremolo_study sound(void)
{
    struct tremolo_study study = fake_study(10, 1);
    study.vectors = 3;
    study.amplitude = 1 << 14;
    study.frequency = 1 << 20;
    return study;
}

#define assert_check(study, wanted) assert_status(tremolo_study_check(&(study)), wanted)

/* Set one field of a sound study and see its own status. */
#define assert_field(field, value, wanted)                                                         \
    do {                                                                                           \
        struct tremolo_study changed = sound();                                                    \
        changed.field = (value);                                                                   \
        assert_check(changed, wanted);                                                             \
    } while (0)

static void test_arguments(void **state)
{
    struct tremolo_study study = sound();
    (void)state;
    assert_check(study, TREMOLO_OK);
    assert_status(tremolo_study_check(NULL), TREMOLO_BAD_ARGUMENT);
    assert_field(bounds, NULL, TREMOLO_BAD_ARGUMENT);
    assert_field(response, 2, TREMOLO_BAD_ARGUMENT);
    assert_field(response, TREMOLO_RESPONSE_PRIVATE, TREMOLO_OK);
}

static void test_dimension(void **state)
{
    (void)state;
    assert_field(dimension, 0, TREMOLO_BAD_DIMENSION);
    assert_field(dimension, TREMOLO_MAX_DIMENSION, TREMOLO_OK);
    assert_field(dimension, TREMOLO_MAX_DIMENSION + 1, TREMOLO_BAD_DIMENSION);
    assert_field(dimension, UINT16_MAX, TREMOLO_BAD_DIMENSION);
}

static void test_samples_and_rounds(void **state)
{
    (void)state;
    assert_field(samples, 0, TREMOLO_BAD_SAMPLES);
    assert_field(rounds, 0, TREMOLO_BAD_SAMPLES);
    assert_field(samples, UINT16_MAX, TREMOLO_OK);
    assert_field(rounds, UINT16_MAX, TREMOLO_OK);
}

static void test_alpha(void **state)
{
    (void)state;
    assert_field(keep, 0, TREMOLO_BAD_ALPHA);
    assert_field(keep, 1, TREMOLO_OK);
    assert_field(keep, TREMOLO_KEEP_ONE, TREMOLO_OK);
    assert_field(keep, TREMOLO_KEEP_ONE + 1, TREMOLO_BAD_ALPHA);
    assert_field(keep, UINT16_MAX, TREMOLO_BAD_ALPHA);
}

static void test_modulation(void **state)
{
    struct tremolo_study study = sound();
    (void)state;
    assert_field(vectors, 11, TREMOLO_BAD_VECTORS);
    assert_field(vectors, 10, TREMOLO_OK);
    assert_field(amplitude, 0, TREMOLO_BAD_LAMBDA);
    assert_field(frequency, 0, TREMOLO_BAD_OMEGA);
    assert_field(frequency, UINT32_C(1) << 31, TREMOLO_BAD_OMEGA);
    assert_field(frequency, (UINT32_C(1) << 31) - 1, TREMOLO_OK);
    assert_field(frequency, UINT32_MAX, TREMOLO_BAD_OMEGA);
    assert_field(vectors, 0, TREMOLO_BAD_LAMBDA);
    study.vectors = 0;
    study.amplitude = 0;
    assert_check(study, TREMOLO_BAD_OMEGA);
    study.frequency = 0;
    assert_check(study, TREMOLO_OK);
}

/* amplitude ceil(sqrt m) at most 2^26, on a grid that has room for it. */
static void test_largest_lambda(void **state)
{
    struct tremolo_study study = sound();
    (void)state;
    study.noise_log2 = 23;
    study.wire_shift = 13;
    study.wire_bits = 16;
    study.vectors = 4;
    study.amplitude = UINT32_C(1) << 25;
    assert_check(study, TREMOLO_OK);
    study.amplitude++;
    assert_check(study, TREMOLO_BAD_LAMBDA);
    study.amplitude = UINT32_MAX;
    assert_check(study, TREMOLO_BAD_LAMBDA);
    study.amplitude = UINT32_C(1) << 30; /* times four wraps to zero */
    assert_check(study, TREMOLO_BAD_LAMBDA);
    study.vectors = 5;
    study.amplitude = (UINT32_C(1) << 26) / 3;
    assert_check(study, TREMOLO_OK);
    study.amplitude++;
    assert_check(study, TREMOLO_BAD_LAMBDA);
}

static void test_bounds(void **state)
{
    struct tremolo_bounds bounds[10];
    struct tremolo_study study = sound();
    static const struct tremolo_bounds bad[] = {
        {5, 5},          {6, 5},        {INT32_MAX, INT32_MIN}, {INT32_MIN, INT32_MAX},
        {-1, INT32_MAX}, {INT32_MIN, 0}};
    static const struct tremolo_bounds good[] = {
        {5, 6}, {0, INT32_MAX}, {INT32_MIN, -1}, {-1073741824, 1073741823}};
    (void)state;
    memcpy(bounds, study.bounds, sizeof bounds);
    study.bounds = bounds;
    for (unsigned feature = 0; feature <= 10; feature++) {
        struct tremolo_bounds *at = feature < 10 ? &bounds[feature] : &study.response_bounds;
        struct tremolo_bounds before = *at;
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            *at = bad[i];
            assert_check(study, TREMOLO_BAD_BOUNDS);
        }
        for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
            *at = good[i];
            assert_check(study, TREMOLO_OK);
        }
        *at = before;
    }
}

static void test_grid(void **state)
{
    (void)state;
    assert_field(unit, 0, TREMOLO_BAD_GRID);
    assert_field(unit, (1 << 24) + 1, TREMOLO_BAD_GRID);
    assert_field(clip, 0, TREMOLO_BAD_GRID);
    assert_field(clip, (UINT32_C(1) << 28) + 1, TREMOLO_BAD_GRID);
    assert_field(clip, UINT32_MAX, TREMOLO_BAD_GRID);
    assert_field(noise_log2, 9, TREMOLO_BAD_GRID);
    assert_field(noise_log2, 25, TREMOLO_BAD_GRID);
    assert_field(noise_log2, 255, TREMOLO_BAD_GRID);
    assert_field(wire_shift, 16, TREMOLO_BAD_GRID);
    assert_field(wire_shift, 255, TREMOLO_BAD_GRID);
    assert_field(wire_shift, 15, TREMOLO_OK);
    assert_field(wire_bits, 7, TREMOLO_BAD_GRID);
    assert_field(wire_bits, 17, TREMOLO_BAD_GRID);
    assert_field(wire_bits, 0, TREMOLO_BAD_GRID);
    assert_field(wire_bits, 16, TREMOLO_OK);
    /* The wire must hold unit + lambda + 8 sigma: 11 bits of 2^12 do not. */
    assert_field(wire_bits, 10, TREMOLO_BAD_GRID);
}

/* The wire's end against the largest coordinate plus eight sigma, to the unit. */
static void test_wire_headroom_is_exact(void **state)
{
    struct tremolo_study study = fake_study(1, 1);
    uint32_t end = ((UINT32_C(1) << 11) - 1) << 10;
    (void)state;
    study.noise_log2 = 17;
    study.wire_shift = 10;
    study.clip = 1 << 17;
    study.unit = end - (8u << 17) - 1; /* kept() adds one */
    assert_check(study, TREMOLO_OK);
    study.unit++;
    assert_check(study, TREMOLO_BAD_GRID);
}

static void test_neighbours(void **state)
{
    (void)state;
    assert_field(distance, 2u << 18, TREMOLO_OK);
    assert_field(distance, (2u << 18) + 1, TREMOLO_BAD_NEIGHBOURS);
    assert_field(distance, UINT32_MAX, TREMOLO_BAD_NEIGHBOURS);
    assert_field(distance, 1, TREMOLO_OK);
}

/* ----------------------------------------------------------------- costs */

static unsigned root_up(unsigned n)
{
    unsigned root = 0;
    while (root * root < n) {
        root++;
    }
    return root;
}

static struct tremolo_study random_study(struct fake_entropy *random)
{
    struct tremolo_study study = fake_study(1 + fake_below(random, TREMOLO_MAX_DIMENSION), 1);
    study.noise_log2 = (uint8_t)(10 + fake_below(random, 15));
    study.clip = 1 + fake_below(random, UINT32_C(1) << (study.noise_log2 + 3));
    study.keep = (uint16_t)(1 + fake_below(random, TREMOLO_KEEP_ONE));
    study.distance = fake_below(random, 2) ? fake_below(random, 2 * study.clip + 1) : 0;
    study.response = (uint8_t)fake_below(random, 2);
    return study;
}

/* In units of 2^-15: what docs/reference/proofs.md proves, before any rounding. */
static uint64_t exact_sensitivity(const struct tremolo_study *study)
{
    uint64_t any_two = (uint64_t)2 * study->clip * study->keep;
    unsigned root = root_up(tremolo_study_coordinates(study));
    uint64_t near = (uint64_t)study->distance * study->keep + ((3 * root + 4) << 15);
    return study->distance != 0 && near < any_two ? near : any_two;
}

static void test_sensitivity_is_rounded_up(void **state)
{
    struct fake_entropy random = {.state = 50};
    (void)state;
    for (int i = 0; i < 200000; i++) {
        struct tremolo_study study = random_study(&random);
        uint64_t charged = (uint64_t)tremolo_study_sensitivity(&study) << 15;
        uint64_t exact = exact_sensitivity(&study);
        assert_true(charged >= exact);
        assert_true(charged <= exact + (1 << 15));
    }
}

/* ceil(s^2 2^24 / 2^2p): the smallest integer not below it. */
static void test_charge_is_rounded_up(void **state)
{
    struct fake_entropy random = {.state = 51};
    unsigned tested = 0;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        struct tremolo_study study = random_study(&random);
        wide square = tremolo_study_sensitivity(&study);
        if (square >> (study.noise_log2 + 4) != 0) {
            continue;
        }
        square = square * square << 24;
        wide charge = tremolo_study_charge(&study);
        assert_true(charge << (2 * study.noise_log2) >= square);
        assert_true((charge - 1) << (2 * study.noise_log2) < square);
        tested++;
    }
    assert_true(tested > 100000);
}

/* mu stays below 16, where the charge still fits 32 bits. */
static void test_largest_charge(void **state)
{
    struct tremolo_study study = fake_study(1, 1);
    (void)state;
    study.noise_log2 = 24;
    study.wire_shift = 13;
    study.wire_bits = 16;
    study.clip = (UINT32_C(1) << 27) - 1; /* kept() adds one to twice this */
    assert_int_equal(tremolo_study_sensitivity(&study), (UINT32_C(1) << 28) - 1);
    assert_check(study, TREMOLO_OK);
    assert_int_equal(tremolo_study_charge(&study), UINT32_MAX - 31 + 1);
    study.clip++;
    assert_check(study, TREMOLO_BAD_GRID);
}

static void test_smallest_charge(void **state)
{
    struct tremolo_study study = fake_study(1, 1);
    (void)state;
    study.noise_log2 = 24;
    study.wire_shift = 13;
    study.wire_bits = 16;
    study.clip = 1;
    study.keep = 1;
    assert_check(study, TREMOLO_OK);
    assert_int_equal(tremolo_study_charge(&study), 1);
}

/* One release of the fake study: C = sigma, any two people, mu a hair over 2. */
static void test_known_charge(void **state)
{
    struct tremolo_study study = fake_study(10, 1);
    (void)state;
    assert_int_equal(tremolo_study_sensitivity(&study), (2 << 18) + 1);
    assert_int_equal(tremolo_study_charge(&study), 4 * TREMOLO_CHARGE_ONE + 257);
    assert_int_equal(tremolo_study_coordinates(&study), 10);
    study.response = TREMOLO_RESPONSE_PRIVATE;
    assert_int_equal(tremolo_study_coordinates(&study), 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_dimension),
        cmocka_unit_test(test_samples_and_rounds),
        cmocka_unit_test(test_alpha),
        cmocka_unit_test(test_modulation),
        cmocka_unit_test(test_largest_lambda),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_grid),
        cmocka_unit_test(test_wire_headroom_is_exact),
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_sensitivity_is_rounded_up),
        cmocka_unit_test(test_charge_is_rounded_up),
        cmocka_unit_test(test_largest_charge),
        cmocka_unit_test(test_smallest_charge),
        cmocka_unit_test(test_known_charge),
    };
    return cmocka_run_group_tests_name("device study", tests, NULL, NULL);
}
