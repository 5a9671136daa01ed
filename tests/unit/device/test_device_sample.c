/* test_device_sample.c -- scaling, clipping and the sensitivity that the noise
 * is calibrated for.
 *
 * Scaling and clipping are compared with 128-bit arithmetic. The claims on
 * neighbours are searched for counterexamples: random pairs at the distance,
 * pairs astride the clip's edge, and a climb from the worst of them. A clip
 * that rounds to nearest is shown to be caught. */
#include <math.h>

#include "fake_device.h"
#include "parts.h"
#include "testing.h"

__extension__ typedef __int128 wide;

static struct fake_entropy random_source = {.state = 20};

/* ---------------------------------------------------------------- scaling */

static wide floor_divide(wide a, wide b)
{
    wide quotient = a / b;
    return a % b < 0 ? quotient - 1 : quotient;
}

/* floor(2 unit (raw - low) / width + 1/2) - unit, with raw clamped. */
static int64_t scaled_exactly(int64_t raw, int64_t low, int64_t high, int64_t unit)
{
    int64_t inside = raw < low ? low : raw > high ? high : raw;
    wide width = (wide)high - low;
    return (int64_t)(floor_divide(4 * (wide)unit * (inside - low) + width, 2 * width) - unit);
}

static void check_scale(int32_t raw, int32_t low, int32_t high, uint32_t unit)
{
    struct tremolo_bounds bounds = {low, high};
    assert_int_equal(tremolo_scale(raw, &bounds, unit), scaled_exactly(raw, low, high, unit));
}

static void test_scale_is_exact_at_extremes(void **state)
{
    static const struct tremolo_bounds bounds[] = {
        {0, 1},
        {-1, 0},
        {INT32_MIN, INT32_MIN + 1},
        {INT32_MAX - 1, INT32_MAX},
        {INT32_MIN, -2},
        {1, INT32_MAX},
        {-1073741824, 1073741823},
        {-1073741823, 1073741823},
        {-7, 1000},
        {5, 8},
        {INT32_MIN, -1},
    };
    static const uint32_t units[] = {1, 2, 3, 32767, 1 << 18, (1 << 24) - 1, 1 << 24};
    (void)state;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        for (size_t j = 0; j < sizeof units / sizeof units[0]; j++) {
            int64_t low = bounds[i].low;
            int64_t high = bounds[i].high;
            const int64_t raws[] = {INT32_MIN,
                                    INT32_MAX,
                                    0,
                                    low,
                                    low + 1,
                                    high - 1,
                                    high,
                                    (low + high) / 2,
                                    (low + high) / 2 + 1,
                                    (low + high) / 2 - 1};
            for (size_t k = 0; k < sizeof raws / sizeof raws[0]; k++) {
                check_scale((int32_t)raws[k], bounds[i].low, bounds[i].high, units[j]);
            }
        }
    }
}

static void test_scale_is_exact_at_random(void **state)
{
    (void)state;
    for (int i = 0; i < 500000; i++) {
        uint32_t width =
            (uint32_t)(fake_random(&random_source) >> (33 + fake_below(&random_source, 30)));
        width = width == 0 ? 1 : width;
        int32_t low = fake_between(&random_source, INT32_MIN, (int32_t)(INT32_MAX - width));
        int32_t high = (int32_t)(low + (int64_t)width);
        uint32_t unit = 1 + fake_below(&random_source, 1u << fake_below(&random_source, 25));
        check_scale(fake_between(&random_source, low, high), low, high, unit);
    }
}

/* --------------------------------------------------------------- clipping */

static uint64_t square_of(const int32_t *value, unsigned count)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; i++) {
        sum += (uint64_t)((int64_t)value[i] * value[i]);
    }
    return sum;
}

/* A study with features in fine units. */
static struct tremolo_study plain_study(struct tremolo_bounds *bounds, unsigned d, uint32_t unit,
                                        uint32_t clip)
{
    struct tremolo_study study = fake_study(d, 1);
    for (unsigned i = 0; i < d; i++) {
        bounds[i] = (struct tremolo_bounds){-(int32_t)unit, (int32_t)unit};
    }
    study.bounds = bounds;
    study.response_bounds = bounds[0];
    study.unit = unit;
    study.clip = clip;
    study.noise_log2 = 24;
    return study;
}

static void prepare(int32_t *value, const struct tremolo_study *study, const int32_t *features)
{
    struct tremolo_sample sample = {features, features[0], 0};
    tremolo_sample_prepare(value, study, &sample);
}

/* Inside the ball nothing changes; outside, the result is inside, and no
 * further from the exact projection than sample.c says. */
static void check_clip(const int32_t *x, unsigned d, uint32_t unit, uint32_t clip)
{
    static struct tremolo_bounds bounds[TREMOLO_MAX_DIMENSION];
    struct tremolo_study study = plain_study(bounds, d, unit, clip);
    int32_t value[TREMOLO_MAX_COORDINATES];
    uint64_t limit = (uint64_t)clip * clip;
    uint64_t square = square_of(x, d);
    double norm = sqrt((double)square);
    double apart = 0;
    prepare(value, &study, x);
    assert_true(square_of(value, d) <= limit);
    if (square <= limit) {
        assert_memory_equal(value, x, d * sizeof *x);
        return;
    }
    for (unsigned i = 0; i < d; i++) {
        apart += pow(value[i] - x[i] * (clip / norm), 2);
    }
    assert_true(sqrt(apart) <= 1.251 + sqrt(d));
}

static void test_clip_never_exceeds_the_radius(void **state)
{
    static int32_t x[TREMOLO_MAX_DIMENSION];
    (void)state;
    for (int i = 0; i < 20000; i++) {
        unsigned d = 1 + fake_below(&random_source, i % 10 == 0 ? TREMOLO_MAX_DIMENSION : 12);
        int32_t unit =
            (int32_t)(1 + fake_below(&random_source, 1u << (1 + fake_below(&random_source, 24))));
        for (unsigned j = 0; j < d; j++) {
            x[j] = fake_below(&random_source, 4) == 0 ? unit
                                                      : fake_between(&random_source, -unit, unit);
        }
        uint32_t norm = tremolo_root_up(square_of(x, d));
        for (uint32_t below = 0; below < 4; below++) {
            if (norm > below) {
                check_clip(x, d, (uint32_t)unit, norm - below);
            }
        }
        check_clip(x, d, (uint32_t)unit, 1 + fake_below(&random_source, norm + 1));
        check_clip(x, d, (uint32_t)unit, 1);
    }
}

/* The largest norm there is: 256 features at their bounds and a response. */
static void test_clip_of_the_largest_sample(void **state)
{
    static struct tremolo_bounds bounds[TREMOLO_MAX_DIMENSION];
    static int32_t x[TREMOLO_MAX_DIMENSION];
    int32_t value[TREMOLO_MAX_COORDINATES];
    const uint32_t unit = 1 << 24;
    (void)state;
    for (unsigned j = 0; j < TREMOLO_MAX_DIMENSION; j++) {
        x[j] = j & 1 ? (int32_t)unit : -(int32_t)unit;
    }
    for (uint32_t clip = 1; clip <= UINT32_C(1) << 28; clip = clip * 2 - (clip > 2)) {
        struct tremolo_study study = plain_study(bounds, TREMOLO_MAX_DIMENSION, unit, clip);
        study.response = TREMOLO_RESPONSE_PRIVATE;
        prepare(value, &study, x);
        assert_true(square_of(value, TREMOLO_MAX_COORDINATES) <= (uint64_t)clip * clip);
        assert_int_equal(value[256], value[0]);
    }
}

/* The clip as it must not be: nearest rounding of ratio and products. */
static void clip_to_nearest(int32_t *value, unsigned d, uint32_t clip)
{
    double norm = sqrt((double)square_of(value, d));
    for (unsigned i = 0; i < d && norm > clip; i++) {
        value[i] = (int32_t)lrint(value[i] * (clip / norm));
    }
}

static void test_nearest_clip_is_caught(void **state)
{
    int32_t x[3];
    int exceeded = 0;
    (void)state;
    for (int i = 0; i < 1000; i++) {
        for (int j = 0; j < 3; j++) {
            x[j] = fake_between(&random_source, -1000, 1000);
        }
        clip_to_nearest(x, 3, 300);
        exceeded += square_of(x, 3) > 300 * 300;
    }
    assert_true(exceeded > 0);
}

/* ------------------------------------------------------------- neighbours */

/* The distance of what is released for two samples when all randomness is the
 * same and there is no modulation. */
static uint64_t released_apart(const struct tremolo_study *study, const int32_t *a,
                               const int32_t *b)
{
    static const struct tremolo_round round = {NULL, 0};
    unsigned n = tremolo_study_coordinates(study);
    int32_t value[TREMOLO_MAX_COORDINATES];
    int32_t other[TREMOLO_MAX_COORDINATES];
    prepare(value, study, a);
    prepare(other, study, b);
    tremolo_modulate(value, study, &round, NULL);
    tremolo_modulate(other, study, &round, NULL);
    for (unsigned i = 0; i < n; i++) {
        value[i] -= other[i];
    }
    return square_of(value, n);
}

static void assert_within(const struct tremolo_study *study, const int32_t *a, const int32_t *b)
{
    uint64_t claimed = tremolo_study_sensitivity(study);
    assert_true(released_apart(study, a, b) <= claimed * claimed);
}

/* Opposite corners and opposite points on the edge of the ball. */
static void test_any_two_people(void **state)
{
    static struct tremolo_bounds bounds[64];
    int32_t a[64];
    int32_t b[64];
    (void)state;
    for (int i = 0; i < 20000; i++) {
        unsigned d = 1 + fake_below(&random_source, 64);
        int32_t unit = fake_between(&random_source, 1, 1 << 20);
        for (unsigned j = 0; j < d; j++) {
            a[j] = i & 1 ? unit : fake_between(&random_source, -unit, unit);
            b[j] = -a[j];
        }
        uint32_t norm = tremolo_root_up(square_of(a, d));
        struct tremolo_study study = plain_study(bounds, d, (uint32_t)unit, 1);
        study.keep = (uint16_t)fake_between(&random_source, 1, TREMOLO_KEEP_ONE);
        study.clip = norm > 3 ? norm - fake_below(&random_source, 3) : 1;
        assert_within(&study, a, b);
        study.clip = 1 + fake_below(&random_source, norm + 2);
        assert_within(&study, a, b);
    }
}

enum { RAW_PER_FINE = 64, NEAR_D = 6 };

/* Raw steps 64 times finer than the grid, so that rounding to the grid can
 * move neighbours apart as it will. */
static struct tremolo_study near_study(struct tremolo_bounds *bounds, uint32_t distance)
{
    const uint32_t unit = 1 << 16;
    struct tremolo_study study = plain_study(bounds, NEAR_D, unit, 50000);
    for (unsigned i = 0; i < NEAR_D; i++) {
        bounds[i].low *= RAW_PER_FINE;
        bounds[i].high *= RAW_PER_FINE;
    }
    study.distance = distance;
    return study;
}

/* Put b at the whole distance from a, in the direction given: exactly so, or
 * a little closer, never further. */
static void place_neighbour(int32_t *b, const int32_t *a, const double *direction,
                            uint32_t distance)
{
    double length = 0;
    for (unsigned i = 0; i < NEAR_D; i++) {
        length += direction[i] * direction[i];
    }
    for (unsigned i = 0; i < NEAR_D; i++) {
        b[i] = a[i] + (int32_t)(direction[i] / sqrt(length) * distance * RAW_PER_FINE);
    }
}

/* A sample at the edge of the ball: inside it, on it or outside, in raw steps. */
static void place_at_edge(int32_t *a, uint32_t clip, double offset)
{
    double x[NEAR_D];
    double norm = 0;
    for (unsigned i = 0; i < NEAR_D; i++) {
        x[i] = fake_between(&random_source, -1000, 1000);
        norm += x[i] * x[i];
    }
    for (unsigned i = 0; i < NEAR_D; i++) {
        a[i] = (int32_t)lrint(x[i] / sqrt(norm + 1) * (clip + offset) * RAW_PER_FINE);
    }
}

static double random_step(void)
{
    return fake_between(&random_source, -1000, 1000);
}

/* From a random pair at the edge, keep every change that moves the released
 * values further apart. */
static double climb(const struct tremolo_study *study)
{
    double direction[NEAR_D];
    int32_t a[NEAR_D];
    int32_t b[NEAR_D];
    uint64_t best = 0;
    place_at_edge(a, study->clip, fake_between(&random_source, -20, 20));
    for (unsigned i = 0; i < NEAR_D; i++) {
        direction[i] = random_step();
    }
    for (int step = 0; step < 400; step++) {
        double changed[NEAR_D];
        int32_t moved[NEAR_D];
        for (unsigned i = 0; i < NEAR_D; i++) {
            changed[i] = direction[i] + random_step() / 10;
            moved[i] = a[i] + fake_between(&random_source, -40, 40);
        }
        place_neighbour(b, moved, changed, study->distance);
        assert_within(study, moved, b);
        uint64_t apart = released_apart(study, moved, b);
        if (apart >= best) {
            best = apart;
            memcpy(direction, changed, sizeof direction);
            memcpy(a, moved, sizeof a);
        }
    }
    return sqrt((double)best);
}

static void test_neighbours_at_a_distance(void **state)
{
    static const uint32_t distances[] = {1, 2, 5, 40, 1000, 30000};
    static struct tremolo_bounds bounds[NEAR_D];
    (void)state;
    for (size_t i = 0; i < sizeof distances / sizeof distances[0]; i++) {
        struct tremolo_study study = near_study(bounds, distances[i]);
        double worst = 0;
        for (int start = 0; start < 60; start++) {
            study.keep = start & 1 ? TREMOLO_KEEP_ONE : 20000;
            worst = fmax(worst, climb(&study));
        }
        study.keep = TREMOLO_KEEP_ONE;
        print_message("# distance %u: found %.2f, charged %u\n", distances[i], worst,
                      tremolo_study_sensitivity(&study));
        /* Rounding does move neighbours further apart than they are: the
         * allowance is needed. */
        assert_true(worst > distances[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scale_is_exact_at_extremes),
        cmocka_unit_test(test_scale_is_exact_at_random),
        cmocka_unit_test(test_clip_never_exceeds_the_radius),
        cmocka_unit_test(test_clip_of_the_largest_sample),
        cmocka_unit_test(test_nearest_clip_is_caught),
        cmocka_unit_test(test_any_two_people),
        cmocka_unit_test(test_neighbours_at_a_distance),
    };
    return cmocka_run_group_tests_name("device sample", tests, NULL, NULL);
}
