/* test_device_replay.c -- the same randomness on neighbouring samples.
 *
 * Two devices with the same entropy and neighbouring samples make whole
 * reports. The grid is chosen so that the wire carries every fine unit
 * (wire_shift 0) and noise cannot saturate it, so the reports differ exactly
 * by what the samples were mapped to. That distance must stay within
 *
 *     tremolo_study_sensitivity()      without modulation, and
 *     the paper's (1-alpha) r + (lambda / sqrt m) omega r, plus rounding,
 *                                      with it: here the phase is the same
 *                                      for both, as if it were known.
 *
 * Hypothesis: no pair exceeds its bound. Pairs are searched at random and
 * astride the clip's edge, SEED fixed; there is no false alarm, as the bounds
 * are certain. Two broken clips must exceed them. */
#include <math.h>

#include "fake_device.h"
#include "parts.h"
#include "testing.h"

enum {
    D = 5,
    N_MAX = D + 1,
    RAW_PER_FINE = 64,
    UNIT = 8000,
    CLIP = 6000,
    PAIRS = 12000,
    SEED = 100
};

static struct fake_entropy random_source = {.state = SEED};
static struct tremolo_bounds bounds[D];

static const int16_t vectors[2 * D] = {7327,  7327,   7327, 7327, 7327, /* 1/sqrt 5 */
                                       11585, -11585, 0,    0,    0};

static struct tremolo_study study_of(unsigned m, uint32_t distance, uint8_t response)
{
    struct tremolo_study study = fake_study(D, 4);
    for (unsigned i = 0; i < D; i++) {
        bounds[i] = (struct tremolo_bounds){-UNIT * RAW_PER_FINE, UNIT * RAW_PER_FINE};
    }
    study.bounds = bounds;
    study.response_bounds = bounds[0];
    study.unit = UNIT;
    study.clip = CLIP;
    study.distance = distance;
    study.vectors = (uint16_t)m;
    study.amplitude = m == 0 ? 0 : 4000;
    study.frequency = m == 0 ? 0 : (uint32_t)(ldexp(1, 40) / 30000); /* a turn in 30000 units */
    study.noise_log2 = 10;
    study.wire_shift = 0;
    study.wire_bits = 16;
    study.response = response;
    return study;
}

/* A sample: features, then the response, in raw steps. */
struct point {
    int32_t at[N_MAX];
};

static void release(int16_t *wire, const struct tremolo_study *study, const struct point *point,
                    uint64_t seed)
{
    static struct fake_device device;
    static struct tremolo_work work;
    static uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    struct tremolo_sample sample = {point->at, point->at[D], 0};
    struct tremolo_round round = {study->vectors == 0 ? NULL : vectors, 0};
    struct tremolo_platform platform = fake_device_platform(&device, 1, 0);
    struct tremolo_report report;
    size_t length = sizeof bytes;
    device.entropy.state = seed;
    device.storage.power = ULONG_MAX;
    memset(device.storage.slot, 0, 2 * FAKE_SLOT_BYTES);
    assert_status(tremolo_device_enrol(&work, &platform, UINT32_MAX, 0), TREMOLO_OK);
    assert_status(tremolo_device_report(&work, bytes, &length, study, &round, &sample, &platform),
                  TREMOLO_OK);
    assert_status(tremolo_report_decode(&report, bytes, length), TREMOLO_OK);
    assert_status(tremolo_report_unpack(wire, N_MAX, &report, study), TREMOLO_OK);
}

/* How far apart the reports of two samples are under the same randomness. */
static double apart(const struct tremolo_study *study, const struct point *a, const struct point *b)
{
    uint64_t seed = fake_random(&random_source);
    int16_t one[N_MAX] = {0};
    int16_t other[N_MAX] = {0};
    double sum = 0;
    release(one, study, a, seed);
    release(other, study, b, seed);
    for (unsigned i = 0; i < tremolo_study_coordinates(study); i++) {
        assert_true(abs(one[i]) < INT16_MAX && abs(other[i]) < INT16_MAX);
        sum += (double)(one[i] - other[i]) * (one[i] - other[i]);
    }
    return sqrt(sum);
}

/* A random direction of length one over the study's coordinates. */
static void direction_of(double *direction, unsigned n)
{
    double length = 0;
    for (unsigned i = 0; i < n; i++) {
        direction[i] = fake_between(&random_source, -1000, 1000) + 0.5;
        length += direction[i] * direction[i];
    }
    for (unsigned i = 0; i < n; i++) {
        direction[i] /= sqrt(length);
    }
}

/* `from` moved by at most `length` fine units: raw steps truncate. */
static struct point moved(struct point from, const double *direction, unsigned n, double length)
{
    for (unsigned i = 0; i < n; i++) {
        from.at[i] += (int32_t)(direction[i] * length * RAW_PER_FINE);
    }
    return from;
}

static struct point near_the_edge(unsigned n)
{
    static const struct point middle = {{0}};
    double direction[N_MAX];
    direction_of(direction, n);
    return moved(middle, direction, n, CLIP + fake_between(&random_source, -30, 30) / 10.0);
}

/* Along the radius, across it, or anywhere. */
static struct point neighbour_of(struct point point, unsigned n, uint32_t distance)
{
    double direction[N_MAX];
    double norm = 0;
    direction_of(direction, n);
    for (unsigned i = 0; i < n; i++) {
        norm += pow((double)point.at[i], 2);
    }
    int kind = fake_between(&random_source, 0, 2);
    for (unsigned i = 0; i < n && kind == 0; i++) {
        direction[i] = -point.at[i] / sqrt(norm);
    }
    for (unsigned i = 0; i < n && kind == 1 && n > 1; i++) {
        direction[i] = i == 0 ? point.at[1] : i == 1 ? -point.at[0] : 0;
    }
    if (kind == 1) {
        double length = hypot(direction[0], direction[1]);
        direction[0] /= length + 1;
        direction[1] /= length + 1;
    }
    return moved(point, direction, n, distance);
}

static void test_same_sample_same_bytes(void **state)
{
    struct tremolo_study study = study_of(2, 0, TREMOLO_RESPONSE_PRIVATE);
    struct point point = near_the_edge(N_MAX);
    (void)state;
    assert_true(apart(&study, &point, &point) == 0);
}

/* Opposite people: on the edge, near it, and in the corners far outside. */
static void test_any_two_people_without_modulation(void **state)
{
    double worst = 0;
    (void)state;
    for (int i = 0; i < PAIRS; i++) {
        struct tremolo_study study = study_of(0, 0, (uint8_t)(i & 1));
        unsigned n = tremolo_study_coordinates(&study);
        struct point a = near_the_edge(n);
        struct point b = {{0}};
        study.keep = i % 3 == 0 ? 20000 : TREMOLO_KEEP_ONE;
        for (unsigned j = 0; j < n; j++) {
            a.at[j] *= i % 5 == 0 ? 100 : 1; /* clamped at the bounds */
            b.at[j] = -a.at[j];
        }
        double found = apart(&study, &a, &b) / tremolo_study_sensitivity(&study);
        assert_true(found <= 1);
        worst = fmax(worst, found);
    }
    print_message("# any two people: at most %.5f of the claim\n", worst);
    assert_true(worst > 0.999); /* the claim is no larger than it must be */
}

static void test_distance_without_modulation(void **state)
{
    static const uint32_t distances[] = {1, 3, 20, 500, 4000};
    (void)state;
    for (size_t k = 0; k < sizeof distances / sizeof distances[0]; k++) {
        double worst = 0;
        for (int i = 0; i < PAIRS / 4; i++) {
            struct tremolo_study study = study_of(0, distances[k], (uint8_t)(i & 1));
            unsigned n = tremolo_study_coordinates(&study);
            struct point a = near_the_edge(n);
            struct point b = neighbour_of(a, n, distances[k]);
            study.keep = i % 3 == 0 ? 20000 : TREMOLO_KEEP_ONE;
            double found = apart(&study, &a, &b) / tremolo_study_sensitivity(&study);
            assert_true(found <= 1);
            worst = fmax(worst, found);
        }
        print_message("# distance %u: at most %.5f of the claim\n", distances[k], worst);
    }
}

/* The paper's bound with what rounding adds: r grows by 2 S + 3 before the
 * shrink (sample.c), which adds S; the waves' heights are off by 1.9 units of
 * 2^-15 and by one, twice, and their products with m entries by one each. The
 * vectors' norms may be 2^-10 above one. */
static double known_phase_bound(const struct tremolo_study *study, uint32_t distance)
{
    double root = ceil(sqrt(tremolo_study_coordinates(study)));
    double keep = (double)study->keep / TREMOLO_KEEP_ONE;
    double omega = 2 * acos(-1.0) * ldexp(study->frequency, -40);
    double r = distance + 2 * root + 3;
    double wave = study->amplitude * omega * r;
    double rounding =
        2 * sqrt(study->vectors) * (study->amplitude * 1.9 / 32768 + 1) + study->vectors * root;
    return keep * r + root + 1.001 * (wave + rounding);
}

static void test_known_phase(void **state)
{
    static const uint32_t distances[] = {1, 20, 500, 4000};
    (void)state;
    for (size_t k = 0; k < sizeof distances / sizeof distances[0]; k++) {
        double worst = 0;
        for (int i = 0; i < PAIRS / 4; i++) {
            struct tremolo_study study =
                study_of(1 + (unsigned)i % 2, distances[k], (uint8_t)(i & 1));
            unsigned n = tremolo_study_coordinates(&study);
            struct point a = near_the_edge(n);
            struct point b = neighbour_of(a, n, distances[k]);
            study.keep = i % 3 == 0 ? 20000 : TREMOLO_KEEP_ONE;
            double found = apart(&study, &a, &b) / known_phase_bound(&study, distances[k]);
            assert_true(found <= 1);
            worst = fmax(worst, found);
        }
        print_message("# known phase, distance %u: at most %.5f of the paper's bound\n",
                      distances[k], worst);
    }
}

/* ------------------------------------------------------------ broken clips */

static void scale_all(int32_t *value, const struct tremolo_study *study, const struct point *point)
{
    for (unsigned i = 0; i < tremolo_study_coordinates(study); i++) {
        value[i] = tremolo_scale(point->at[i], &bounds[0], study->unit);
    }
}

static double norm_of(const int32_t *value, unsigned n)
{
    double sum = 0;
    for (unsigned i = 0; i < n; i++) {
        sum += (double)value[i] * value[i];
    }
    return sqrt(sum);
}

/* Rounds to nearest where it must round down. */
static void clip_to_nearest(int32_t *value, unsigned n)
{
    double norm = norm_of(value, n);
    for (unsigned i = 0; i < n && norm > CLIP; i++) {
        value[i] = (int32_t)lrint(value[i] * (CLIP / norm));
    }
}

/* Forgets that the response is a private coordinate too. */
static void clip_without_response(int32_t *value, unsigned n)
{
    clip_to_nearest(value, n - 1);
}

/* The share of opposite pairs that are farther apart than the claim. */
static double share_beyond(void (*clip)(int32_t *, unsigned))
{
    struct tremolo_study study = study_of(0, 0, TREMOLO_RESPONSE_PRIVATE);
    int beyond = 0;
    for (int i = 0; i < PAIRS; i++) {
        struct point a = near_the_edge(N_MAX);
        int32_t value[N_MAX];
        int32_t opposite[N_MAX];
        struct point b;
        for (unsigned j = 0; j < N_MAX; j++) {
            a.at[j] += a.at[j] / 5;
            b.at[j] = -a.at[j];
        }
        scale_all(value, &study, &a);
        scale_all(opposite, &study, &b);
        clip(value, N_MAX);
        clip(opposite, N_MAX);
        for (unsigned j = 0; j < N_MAX; j++) {
            value[j] -= opposite[j];
        }
        beyond += norm_of(value, N_MAX) > tremolo_study_sensitivity(&study);
    }
    return (double)beyond / PAIRS;
}

static void test_broken_clips_are_caught(void **state)
{
    double nearest = share_beyond(clip_to_nearest);
    double forgetful = share_beyond(clip_without_response);
    (void)state;
    print_message("# beyond the claim: %.3f of pairs rounded to nearest, %.3f without response\n",
                  nearest, forgetful);
    assert_true(nearest > 0);
    assert_true(forgetful > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_sample_same_bytes),
        cmocka_unit_test(test_any_two_people_without_modulation),
        cmocka_unit_test(test_distance_without_modulation),
        cmocka_unit_test(test_known_phase),
        cmocka_unit_test(test_broken_clips_are_caught),
    };
    return cmocka_run_group_tests_name("device replay", tests, NULL, NULL);
}
