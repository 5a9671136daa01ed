/* test_device_modulate.c -- the paper's client map in integers against the
 * same in double precision, and the checks of the modulation vectors. */
#include <math.h>

#include "fake_device.h"
#include "parts.h"
#include "testing.h"

static struct fake_entropy random_source = {.state = 40};
static int16_t rows[TREMOLO_MAX_VECTORS * TREMOLO_MAX_DIMENSION];

/* Rows of the discrete cosine transform: orthonormal, then rounded. */
static void cosine_rows(int16_t *out, unsigned m, unsigned d)
{
    const double pi = acos(-1.0);
    for (unsigned j = 0; j < m; j++) {
        for (unsigned i = 0; i < d; i++) {
            double entry = sqrt((j == 0 ? 1.0 : 2.0) / d) * cos(pi * j * (2 * i + 1) / (2.0 * d));
            out[j * d + i] = (int16_t)lrint(entry * TREMOLO_VECTOR_ONE);
        }
    }
}

static struct tremolo_study wave_study(unsigned d, unsigned m)
{
    struct tremolo_study study = fake_study(d, 3);
    study.vectors = (uint16_t)m;
    study.amplitude = m == 0 ? 0 : 1 + fake_below(&random_source, 1 << 20);
    study.frequency = m == 0 ? 0 : 1 + fake_below(&random_source, UINT32_C(1) << 31);
    study.keep = (uint16_t)(1 + fake_below(&random_source, TREMOLO_KEEP_ONE));
    study.response = (uint8_t)fake_below(&random_source, 2);
    return study;
}

/* Coordinate i of the real-valued map. The angle is brought to one turn in
 * integers first: a product of 2^31 turns has no digits left in a double. */
static double mapped(const struct tremolo_study *study, const int32_t *x, const uint32_t *phase,
                     unsigned i)
{
    const double turn = 2 * acos(-1.0);
    double sum = (double)study->keep / TREMOLO_KEEP_ONE * x[i];
    for (unsigned j = 0; j < study->vectors && i < study->dimension; j++) {
        const int16_t *row = rows + j * study->dimension;
        int64_t product = 0;
        for (unsigned k = 0; k < study->dimension; k++) {
            product += (int64_t)x[k] * row[k];
        }
        /* 2^-14 fine units times 2^-40 turns: a turn is 2^54. */
        uint64_t within = ((uint64_t)product * study->frequency) & ((UINT64_C(1) << 54) - 1);
        double angle = ldexp((double)within, -54) + ldexp(phase[j], -32);
        sum += study->amplitude * cos(turn * angle) * row[i] / TREMOLO_VECTOR_ONE;
    }
    return sum;
}

/* What rounding may do to a coordinate: 1 for the shrink; for every vector
 * the cosine's 1.9 units of 2^-15 (and 2^-32 of a turn for the angle) times
 * the amplitude, 1 for the wave's height and 1 for its product with an entry,
 * which itself is at most 1. */
static double allowed_error(const struct tremolo_study *study)
{
    double wave = study->amplitude * (1.9 / 32768 + 7 * ldexp(1, -32));
    return 1 + study->vectors * (wave + 2);
}

static void check_map(unsigned d, unsigned m)
{
    struct tremolo_study study = wave_study(d, m);
    struct tremolo_round round = {m == 0 ? NULL : rows, 0};
    unsigned n = tremolo_study_coordinates(&study);
    int32_t x[TREMOLO_MAX_COORDINATES];
    int32_t value[TREMOLO_MAX_COORDINATES];
    uint32_t phase[TREMOLO_MAX_VECTORS];
    uint32_t used[TREMOLO_MAX_VECTORS];
    for (unsigned i = 0; i < n; i++) {
        x[i] = value[i] = fake_between(&random_source, -(1 << 18), 1 << 18);
    }
    for (unsigned j = 0; j < m; j++) {
        phase[j] = used[j] = (uint32_t)fake_random(&random_source);
    }
    tremolo_modulate(value, &study, &round, used);
    for (unsigned i = 0; i < n; i++) {
        assert_true(fabs(value[i] - mapped(&study, x, phase, i)) <= allowed_error(&study));
    }
}

static void test_map_against_double(void **state)
{
    static const struct {
        unsigned d, m;
    } shapes[] = {{1, 0}, {1, 1},  {2, 1},  {5, 0},  {5, 1},
                  {5, 3}, {10, 1}, {10, 9}, {64, 4}, {256, 16}};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        cosine_rows(rows, shapes[i].m, shapes[i].d);
        for (int repeat = 0; repeat < 200; repeat++) {
            check_map(shapes[i].d, shapes[i].m);
        }
    }
}

/* Half a turn more of every phase, and the opposite sample: the opposite. */
static void test_map_is_odd(void **state)
{
    enum { D = 7, M = 3 };
    struct tremolo_round round = {rows, 0};
    (void)state;
    cosine_rows(rows, M, D);
    for (int repeat = 0; repeat < 1000; repeat++) {
        struct tremolo_study study = wave_study(D, M);
        int32_t value[D + 1];
        int32_t opposite[D + 1];
        uint32_t phase[M];
        uint32_t turned[M];
        /* cos(-a - phase + half) = -cos(a + phase). The angle is rounded
         * down, so it is odd where the product has no fraction. */
        study.frequency = (study.frequency | 1u) << 22 >> 1;
        for (unsigned i = 0; i < D + 1; i++) {
            value[i] = 2 * fake_between(&random_source, -(1 << 16), 1 << 16);
            opposite[i] = -value[i];
        }
        for (unsigned j = 0; j < M; j++) {
            phase[j] = (uint32_t)fake_random(&random_source);
            turned[j] = (UINT32_C(1) << 31) - phase[j];
        }
        tremolo_modulate(value, &study, &round, phase);
        tremolo_modulate(opposite, &study, &round, turned);
        for (unsigned i = 0; i < tremolo_study_coordinates(&study); i++) {
            assert_int_equal(value[i], -opposite[i]);
        }
    }
}

/* The wave depends on the sample only by turning the phase: for every sample
 * there is a phase, the same for all coordinates, with which the modulation
 * of any other sample is the same to the bit. This is why the modulation of a
 * device with a secret phase says nothing about its sample. */
static void test_phase_absorbs_the_sample(void **state)
{
    enum { D = 4 };
    struct tremolo_round round = {rows, 0};
    (void)state;
    cosine_rows(rows, 1, D);
    for (int repeat = 0; repeat < 2000; repeat++) {
        struct tremolo_study study = wave_study(D, 1);
        int32_t value[D + 1];
        int32_t nothing[D + 1] = {0};
        int32_t kept[D + 1];
        uint64_t product = 0;
        uint32_t phase = (uint32_t)fake_random(&random_source);
        uint32_t turned;
        for (unsigned i = 0; i < D + 1; i++) {
            value[i] = fake_between(&random_source, -(1 << 18), 1 << 18);
            kept[i] = tremolo_product_down(value[i], study.keep, 15);
            product += i < D ? (uint64_t)((int64_t)value[i] * rows[i]) : 0;
        }
        turned = phase + (uint32_t)(product * study.frequency >> 22);
        tremolo_modulate(value, &study, &round, &phase);
        tremolo_modulate(nothing, &study, &round, &turned);
        for (unsigned i = 0; i < tremolo_study_coordinates(&study); i++) {
            assert_int_equal(value[i], kept[i] + nothing[i]);
        }
    }
}

/* --------------------------------------------------------------- vectors */

static enum tremolo_status check_rows(const int16_t *vectors, unsigned m, unsigned d)
{
    struct tremolo_study study = fake_study(d, 3);
    struct tremolo_round round = {vectors, 0};
    study.vectors = (uint16_t)m;
    return tremolo_round_check(&study, &round);
}

static void test_rounded_orthonormal_sets_pass(void **state)
{
    static const unsigned dimensions[] = {1, 2, 3, 10, 64, 255, TREMOLO_MAX_DIMENSION};
    (void)state;
    for (size_t i = 0; i < sizeof dimensions / sizeof dimensions[0]; i++) {
        cosine_rows(rows, dimensions[i], dimensions[i]);
        assert_status(check_rows(rows, dimensions[i], dimensions[i]), TREMOLO_OK);
    }
}

/* 2^28 + 2^18 = 512^2 (32^2 + 1) and 2^28 - 2^18 = 512^2 (31^2 + 7^2 + 3^2 +
 * 2^2) are squares of norms exactly at the tolerance. */
static void test_norm_tolerance_is_exact(void **state)
{
    static const int16_t high[4] = {16384, 512, 0, 0};
    static const int16_t too_high[4] = {16384, 512, 1, 0};
    static const int16_t low[4] = {31 * 512, 7 * 512, 3 * 512, 2 * 512};
    static const int16_t too_low[4] = {31 * 512, 7 * 512, 3 * 512, 2 * 512 - 1};
    (void)state;
    assert_status(check_rows(high, 1, 4), TREMOLO_OK);
    assert_status(check_rows(too_high, 1, 4), TREMOLO_BAD_VECTORS);
    assert_status(check_rows(low, 1, 4), TREMOLO_OK);
    assert_status(check_rows(too_low, 1, 4), TREMOLO_BAD_VECTORS);
}

static void test_orthogonality_tolerance_is_exact(void **state)
{
    static const int16_t near[] = {16384, 0, 16, 16384};
    static const int16_t off[] = {16384, 0, 17, 16384};
    static const int16_t near_below[] = {16384, 0, -16, 16384};
    static const int16_t off_below[] = {16384, 0, -17, 16384};
    static const int16_t off_in_third[] = {16384, 0, 0, 0, 16384, 0, 17, 0, 16384};
    static const int16_t repeated[] = {16384, 0, 16384, 0};
    static const int16_t opposite[] = {16384, 0, -16384, 0};
    (void)state;
    assert_status(check_rows(near, 2, 2), TREMOLO_OK);
    assert_status(check_rows(off, 2, 2), TREMOLO_BAD_VECTORS);
    assert_status(check_rows(near_below, 2, 2), TREMOLO_OK);
    assert_status(check_rows(off_below, 2, 2), TREMOLO_BAD_VECTORS);
    assert_status(check_rows(off_in_third, 3, 3), TREMOLO_BAD_VECTORS);
    assert_status(check_rows(repeated, 2, 2), TREMOLO_BAD_VECTORS);
    assert_status(check_rows(opposite, 2, 2), TREMOLO_BAD_VECTORS);
}

/* Sums beyond 32 bits, with low bits that would look right. */
static void test_huge_vectors_are_refused(void **state)
{
    (void)state;
    for (unsigned d = 1; d <= TREMOLO_MAX_DIMENSION; d++) {
        for (unsigned i = 0; i < d; i++) {
            rows[i] = INT16_MIN;
        }
        assert_status(check_rows(rows, 1, d), TREMOLO_BAD_VECTORS);
        for (unsigned i = 0; i < d; i++) {
            rows[i] = 16384;
        }
        assert_status(check_rows(rows, 1, d), d == 1 ? TREMOLO_OK : TREMOLO_BAD_VECTORS);
        memset(rows, 0, sizeof rows);
        assert_status(check_rows(rows, 1, d), TREMOLO_BAD_VECTORS);
    }
}

static void test_round_arguments(void **state)
{
    struct tremolo_study study = fake_study(2, 3);
    static const int16_t unit[2] = {16384, 0};
    struct tremolo_round round = {unit, 0};
    (void)state;
    /* Vectors where the study has none, and none where it has one. */
    assert_status(tremolo_round_check(&study, &round), TREMOLO_BAD_ARGUMENT);
    study.vectors = 1;
    assert_status(tremolo_round_check(&study, &round), TREMOLO_OK);
    round.number = study.rounds;
    assert_status(tremolo_round_check(&study, &round), TREMOLO_BAD_ARGUMENT);
    round.number = 0;
    round.vectors = NULL;
    assert_status(tremolo_round_check(&study, &round), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_round_check(&study, NULL), TREMOLO_BAD_ARGUMENT);
    assert_status(tremolo_round_check(NULL, &round), TREMOLO_BAD_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map_against_double),
        cmocka_unit_test(test_map_is_odd),
        cmocka_unit_test(test_phase_absorbs_the_sample),
        cmocka_unit_test(test_rounded_orthonormal_sets_pass),
        cmocka_unit_test(test_norm_tolerance_is_exact),
        cmocka_unit_test(test_orthogonality_tolerance_is_exact),
        cmocka_unit_test(test_huge_vectors_are_refused),
        cmocka_unit_test(test_round_arguments),
    };
    return cmocka_run_group_tests_name("device modulate", tests, NULL, NULL);
}
