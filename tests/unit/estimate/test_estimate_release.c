/* test_estimate_release.c -- a round's vectors are taken out where they were put in,
 * whether the response is public or private. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "release.h"

enum { D = 3, VECTORS = 2, REPORTS = 200 };

/* Two vectors that are not each other's mirror image. */
static const int16_t vectors[VECTORS * D] = {TREMOLO_VECTOR_ONE, 0, 0, 0, 9830, 13107};

static struct tremolo_study study_of(bool response_private)
{
    return (struct tremolo_study){.rounds = 1,
                                  .samples = 1,
                                  .dimension = D,
                                  .unit = 1 << 10,
                                  .clip = 1 << 11,
                                  .amplitude = 300,
                                  .frequency = 1 << 20,
                                  .keep = TREMOLO_KEEP_ONE,
                                  .vectors = VECTORS,
                                  .noise_log2 = 11,
                                  .wire_shift = 5,
                                  .wire_bits = 12,
                                  .response = response_private ? TREMOLO_RESPONSE_PRIVATE
                                                               : TREMOLO_RESPONSE_PUBLIC};
}

static struct tremolo_moments *sums_of(const struct tremolo_study *study)
{
    struct tremolo_moments *moments = NULL;
    assert_int_equal(tremolo_release_sums(&moments, study), TREMOLO_OK);
    for (int r = 0; r < REPORTS; r++) {
        const int16_t row[D + 1] = {(int16_t)(r % 17 * 9), (int16_t)(r % 11 - 5),
                                    (int16_t)(r % 7 * 30), (int16_t)(r % 5)};
        const uint8_t bucket = (uint8_t)(r % TREMOLO_BUCKETS);
        assert_int_equal(tremolo_moments_add(moments, row, &bucket, 1), TREMOLO_OK);
    }
    return moments;
}

static void moments_of(double S[D * D], const struct tremolo_study *study, bool modulated)
{
    struct tremolo_moments *moments = sums_of(study);
    struct tremolo_debiased *evidence = NULL;
    struct tremolo_sample_release release = tremolo_release_of(study, 1, 1);
    release.modulation = modulated ? release.modulation : 0;
    assert_int_equal(tremolo_release_evidence(&evidence, moments, &release, vectors), TREMOLO_OK);
    tremolo_debias_moments(S, NULL, NULL, evidence, false);
    tremolo_debias_free(evidence);
    tremolo_moments_free(moments);
}

static void check_vectors(bool response_private)
{
    const struct tremolo_study study = study_of(response_private);
    const struct tremolo_sample_release release = tremolo_release_of(&study, 1, 1);
    double with[D * D], without[D * D];
    moments_of(with, &study, true);
    moments_of(without, &study, false);
    for (size_t i = 0; i < D; i++) {
        for (size_t j = 0; j < D; j++) {
            double outer = 0;
            for (size_t k = 0; k < VECTORS; k++) {
                outer += (double)vectors[k * D + i] * vectors[k * D + j];
            }
            outer *= release.modulation / TREMOLO_VECTOR_ONE / TREMOLO_VECTOR_ONE /
                     (release.feature_scale * release.feature_scale);
            /* Sums of a few numbers near 1: a few units in the last place. */
            assert_true(fabs(without[i * D + j] - with[i * D + j] - outer) < 1e-13);
        }
    }
}

static void test_vectors_public(void **state)
{
    (void)state;
    check_vectors(false);
}

static void test_vectors_private(void **state)
{
    (void)state;
    check_vectors(true);
}

static bool has_ten_bits(int64_t limit)
{
    while (limit % 2 == 0) {
        limit /= 2;
    }
    return limit < 1 << 10;
}

/* Every limit is one of few numbers, so that libraries whose last places differ agree; here all
 * are beyond ten bits, where that is more than being an integer. */
static void test_limits_have_ten_leading_bits(void **state)
{
    (void)state;
    for (uint32_t clip = 1 << 16; clip < 1 << 18; clip += 9973) {
        struct tremolo_study study = study_of(true);
        struct tremolo_honest law;
        study.clip = study.unit = clip;
        study.wire_bits = 16;
        tremolo_honest_law(&law, &study);
        assert_true(law.limits.value > 1 << 10 && has_ten_bits(law.limits.value));
        for (size_t k = 0; k < TREMOLO_TAIL_LIMITS; k++) {
            assert_true(law.limits.norm2[k] > 1 << 10 && has_ten_bits(law.limits.norm2[k]));
        }
    }
}

static void test_wire_vectors(void **state)
{
    int16_t back[VECTORS * D];
    double V[VECTORS * D];
    (void)state;
    tremolo_release_from_wire(V, vectors, (size_t)VECTORS * D, 1);
    assert_true(V[0] == 1 && V[4] == 9830.0 / TREMOLO_VECTOR_ONE);
    tremolo_release_to_wire(back, V, (size_t)VECTORS * D);
    assert_memory_equal(back, vectors, sizeof back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors_public),
        cmocka_unit_test(test_vectors_private),
        cmocka_unit_test(test_wire_vectors),
        cmocka_unit_test(test_limits_have_ten_leading_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
