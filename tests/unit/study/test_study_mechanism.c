/* test_study_mechanism.c -- requests become integers that never promise less
 * privacy than was asked, and waste little of what was. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tremolo_mechanism.h"
#include "release.h"

static struct tremolo_bounds bounds[TREMOLO_MAX_DIMENSION];
static struct tremolo_study empty_study;

static int setup(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < TREMOLO_MAX_DIMENSION; i++) {
        bounds[i] = (struct tremolo_bounds){-1000, 1000};
    }
    empty_study.bounds = bounds;
    empty_study.response_bounds = bounds[0];
    return 0;
}

/* The device's own charge over all rounds, as mu, against the request. */
static void check(const struct tremolo_mechanism_request *request, double waste_max)
{
    struct tremolo_study study = empty_study;
    struct tremolo_mechanism_scales scales;
    struct tremolo_certified mu;
    assert_int_equal(tremolo_mechanism_fill(&study, &scales, request), TREMOLO_OK);
    assert_int_equal(tremolo_study_check(&study), TREMOLO_OK);
    assert_int_equal(tremolo_gaussian_mu_for(&mu, request->epsilon, request->delta), TREMOLO_OK);
    double charged = sqrt((double)request->rounds * tremolo_study_sensitivity(&study) *
                          tremolo_study_sensitivity(&study)) /
                     ldexp(1, study.noise_log2);
    assert_true(charged <= mu.lower);
    assert_true(scales.mu <= mu.upper);
    assert_true(scales.epsilon <= request->epsilon);
    if (request->calibration == TREMOLO_CALIBRATION_EXACT) {
        assert_true(charged >= mu.lower * (1 - waste_max));
    }
    /* What is debiased is what the integers do. */
    struct tremolo_sample_release release = tremolo_release_of(&study, request->bound, 1);
    double wire = ldexp(1, study.wire_shift);
    assert_true(fabs(release.feature_scale * wire * request->bound - study.unit) <
                1e-6 * study.unit);
    assert_true(release.noise_variance >= 64.0 && release.noise_variance <= 4097.0);
    if (request->neighbours == TREMOLO_NEIGHBOURS_DISTANCE) {
        assert_true(study.distance >= request->distance * study.unit / request->bound);
    } else {
        assert_int_equal(study.distance, 0);
        assert_true(study.clip >= request->radius * study.unit / request->bound * (1 - 1e-12));
    }
}

static void test_grid_of_requests(void **unused)
{
    (void)unused;
    static const double epsilons[] = {0.05, 0.5, 1, 2, 5, 10};
    static const size_t dimensions[] = {1, 7, 30, 256};
    for (size_t e = 0; e < sizeof epsilons / sizeof epsilons[0]; e++) {
        for (size_t i = 0; i < sizeof dimensions / sizeof dimensions[0]; i++) {
            for (int variant = 0; variant < 8; variant++) {
                struct tremolo_mechanism_request request = TREMOLO_MECHANISM_DEFAULTS;
                request.dimension = dimensions[i];
                request.epsilon = epsilons[e];
                request.response_private = (variant & 1) != 0;
                request.bound = (variant & 2) != 0 ? 1 : 6;
                request.radius = request.bound * sqrt((double)dimensions[i] + 1);
                request.neighbours =
                    (variant & 2) != 0 ? TREMOLO_NEIGHBOURS_ANY : TREMOLO_NEIGHBOURS_DISTANCE;
                request.rounds = (variant & 4) != 0 ? 10 : 1;
                /* Rounding costs about 3 sqrt(d) + 4 fine units of at least
                 * 0.015 / sqrt(10) 2^p, p = 20 or so: below 2% in the worst case. */
                check(&request, 0.02);
            }
        }
    }
}

static void test_modulation_and_rules(void **unused)
{
    (void)unused;
    struct tremolo_mechanism_request request = TREMOLO_MECHANISM_DEFAULTS;
    struct tremolo_study study = empty_study;
    struct tremolo_mechanism_scales exact, zcdp, paper;
    request.dimension = 8;
    request.bound = request.radius = 10;
    request.alpha = 0.5;
    request.lambda = 0.2;
    request.omega = 1;
    request.vectors = 4;
    check(&request, 0.01);
    assert_int_equal(tremolo_mechanism_fill(&study, &exact, &request), TREMOLO_OK);
    /* sigma = (1 - alpha) 3.7306..., the analytic Gaussian for epsilon 1. */
    assert_true(fabs(exact.sigma / (0.5 * 3.7306) - 1) < 1e-3);
    struct tremolo_sample_release release = tremolo_release_of(&study, request.bound, 1);
    double lambda = sqrt(2 * 4 * release.modulation) / release.feature_scale;
    assert_true(fabs(lambda - 0.2) < 1e-3);
    request.calibration = TREMOLO_CALIBRATION_ZCDP;
    check(&request, 1);
    assert_int_equal(tremolo_mechanism_fill(&study, &zcdp, &request), TREMOLO_OK);
    assert_true(fabs(zcdp.sigma / (0.5 * 4.901) - 1) < 1e-3);
    request.calibration = TREMOLO_CALIBRATION_PAPER;
    check(&request, 1);
    assert_int_equal(tremolo_mechanism_fill(&study, &paper, &request), TREMOLO_OK);
    /* L = 0.5 + 0.2 * 1 / sqrt 4 = 0.6. */
    assert_true(fabs(paper.sigma / (0.6 * 4.901) - 1) < 1e-3);
}

/* A wide radius at little noise needs more than 12 bits, then a coarser grid. */
static void test_wire_grows_with_the_radius(void **unused)
{
    (void)unused;
    struct tremolo_mechanism_request request = TREMOLO_MECHANISM_DEFAULTS;
    struct tremolo_mechanism_scales scales;
    static const double radii[] = {3, 30, 100, 400, 1000};
    unsigned bits = 0;
    request.dimension = 3;
    request.epsilon = 10;
    for (size_t i = 0; i < sizeof radii / sizeof radii[0]; i++) {
        struct tremolo_study study = empty_study;
        request.bound = request.radius = radii[i];
        assert_int_equal(tremolo_mechanism_fill(&study, &scales, &request), TREMOLO_OK);
        assert_true(study.wire_bits >= bits);
        bits = study.wire_bits;
        check(&request, 0.05);
    }
    assert_int_equal(bits, 16);
}

static void test_refusals_touch_nothing(void **unused)
{
    (void)unused;
    struct tremolo_mechanism_scales scales, before;
    memset(&scales, 7, sizeof scales);
    before = scales;
    for (int wrong = 0; wrong < 12; wrong++) {
        struct tremolo_mechanism_request request = TREMOLO_MECHANISM_DEFAULTS;
        struct tremolo_study study = empty_study;
        switch (wrong) {
        case 0: request.dimension = 0; break;
        case 1: request.dimension = 257; break;
        case 2: request.epsilon = 0; break;
        case 3: request.epsilon = NAN; break;
        case 4: request.delta = 0; break;
        case 5: request.delta = 1; break;
        case 6: request.alpha = 1; break;
        case 7: request.lambda = 1; break;
        case 8: request.vectors = 2; break;
        case 9: request.distance = 2.1; break;
        case 10: request.rounds = 0; break;
        default: request.bound = request.radius = 1e9; break;
        }
        assert_int_not_equal(tremolo_mechanism_fill(&study, &scales, &request), TREMOLO_OK);
        assert_memory_equal(&study, &empty_study, sizeof study);
        assert_memory_equal(&scales, &before, sizeof scales);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grid_of_requests),
        cmocka_unit_test(test_modulation_and_rules),
        cmocka_unit_test(test_wire_grows_with_the_radius),
        cmocka_unit_test(test_refusals_touch_nothing),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
