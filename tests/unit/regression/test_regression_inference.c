/* test_regression_inference.c -- distributions against tables, and the algebra of
 * inference: own units, combinations, shapes, sentences, planning, formulas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evidence.h"
#include "fast_reports.h"

static void assert_near(double value, double expected, double relative)
{
    assert_true(fabs(value - expected) <= relative * fabs(expected));
}

static void test_distributions(void **state)
{
    (void)state;
    /* Normal: erfc's own accuracy. Student: closed forms for 1 and 2 degrees. */
    assert_near(tremolo_normal_quantile(0.975), 1.959963984540054, 1e-13);
    assert_near(tremolo_normal_cdf(-10.0), 7.619853024160527e-24, 1e-12);
    for (int i = -43; i <= 43; i++) {
        double x = 0.7 * i;
        assert_near(tremolo_student_cdf(x, 2.0), 0.5 + x / (2.0 * sqrt(2.0 + x * x)),
                    x < -5.0 ? 1e-10 : 1e-12);
        assert_near(tremolo_student_cdf(x, 1.0), 0.5 + atan(x) / M_PI, x < -5.0 ? 1e-10 : 1e-12);
    }
    assert_near(tremolo_student_quantile(0.975, 31.0), 2.039513446, 1e-9);
    assert_near(tremolo_student_quantile(0.975, 1.0), tan(0.475 * M_PI), 1e-11);
    for (int i = 0; i <= 12; i++) {
        double p = 0.001 + 0.083 * i;
        assert_near(tremolo_student_cdf(tremolo_student_quantile(p, 7.0), 7.0), p, 1e-11);
    }
    /* Nothing known is nothing said, and at once: a standard error of 0 gives this z. */
    assert_true(isnan(tremolo_student_cdf(NAN, 31.0)));
}

enum { D = 4 };

static struct fast_fold fold;

static struct tremolo_debiased *simulate(double noise_sd, size_t devices, uint64_t seed)
{
    static double factor[D * D];
    static const double beta[D] = {0.5, -0.3, 0.0, 0.2};
    static const double mean[D] = {0.2, 0.0, -0.1, 0.3};
    fast_equicorrelation(factor, D, 0.4);
    struct fast_study study = {D, devices, factor, mean, beta, 0.6, 0.5, noise_sd};
    struct fast_random random;
    fast_seed(&random, seed);
    fast_run(&fold, &study, &random);
    struct tremolo_sample_release release = fast_release(&study);
    struct tremolo_debiased *evidence = NULL;
    assert_int_equal(tremolo_debias_new(&evidence, fold.view, &release), TREMOLO_OK);
    return evidence;
}

static void test_estimates_are_the_unbiased_fit(void **state)
{
    (void)state;
    struct tremolo_debiased *evidence = simulate(0.3, 3000, 1);
    struct tremolo_coefficient rows[D + 1];
    struct tremolo_fit fit;
    struct tremolo_fit_options options = {TREMOLO_METHOD_UNBIASED, true, 0.0};
    double beta[D];
    assert_int_equal(tremolo_fit(beta, &fit, evidence, &options), TREMOLO_OK);
    assert_int_equal(tremolo_infer(rows, evidence, NULL, 0.95), TREMOLO_OK);
    for (size_t j = 0; j < D; j++) {
        /* the fit divides by K - 1, inference by K: a relative 1/3000 of the noise */
        assert_true(fabs(rows[j].estimate - beta[j]) < 1e-3 * rows[j].standard_error + 1e-4);
        assert_true(rows[j].low < rows[j].estimate && rows[j].estimate < rows[j].high);
        assert_true(rows[j].identified);
        assert_true(rows[j].degrees == 31.0);
    }
    tremolo_debias_free(evidence);
}

/* Own units are a linear change of coordinates, so every quantity must follow. */
static void test_own_units_and_combinations(void **state)
{
    (void)state;
    struct tremolo_debiased *evidence = simulate(0.3, 3000, 2);
    const double centre[D] = {40.0, 7.0, 0.0, -3.0};
    const double scale[D] = {20.0, 2.0, 1.0, 0.5};
    const struct tremolo_units units = {centre, scale, 60.0, 15.0};
    struct tremolo_coefficient scaled[D + 1];
    struct tremolo_coefficient own[D + 1];
    assert_int_equal(tremolo_infer(scaled, evidence, NULL, 0.95), TREMOLO_OK);
    assert_int_equal(tremolo_infer(own, evidence, &units, 0.95), TREMOLO_OK);
    double constant = units.response_centre + units.response_scale * scaled[D].estimate;
    for (size_t j = 0; j < D; j++) {
        double slope = units.response_scale / scale[j];
        assert_near(own[j].estimate, slope * scaled[j].estimate, 1e-12);
        assert_near(own[j].standard_error, slope * scaled[j].standard_error, 1e-9);
        assert_near(own[j].score_low, slope * scaled[j].score_low, 1e-9);
        assert_near(own[j].p, scaled[j].p, 1e-6);
        constant -= own[j].estimate * centre[j];
    }
    assert_near(own[D].estimate, constant, 1e-12);
    tremolo_debias_free(evidence);
}

static void test_hopeless_noise_is_said(void **state)
{
    (void)state;
    struct tremolo_debiased *evidence = simulate(30.0, 500, 3);
    struct tremolo_coefficient rows[D + 1];
    assert_int_equal(tremolo_infer(rows, evidence, NULL, 0.95), TREMOLO_OK);
    char text[200];
    const char *const sleep = "sleep";
    for (size_t j = 0; j < D; j++) {
        assert_false(rows[j].identified);
        assert_int_not_equal(rows[j].score_shape, TREMOLO_INTERVAL_BOUNDED);
        assert_true(rows[j].devices_needed > 5000.0);
        tremolo_identification_summary(text, sizeof text, &sleep, &rows[j], 1, 500);
        assert_non_null(strstr(text, "sleep is not identified"));
        assert_non_null(strstr(text, "500 devices"));
    }
    rows[0].identified = true;
    tremolo_identification_summary(text, sizeof text, &sleep, &rows[0], 1, 500);
    assert_int_equal(text[0], '\0');
    tremolo_debias_free(evidence);
}

/* Tables quote the planner's number, whatever the data are and however many reported. */
static void test_devices_needed_are_the_plans(void **state)
{
    (void)state;
    static const size_t devices[] = {500, 4000};
    for (int k = 0; k < 2; k++) {
        struct tremolo_debiased *evidence = simulate(3.0, devices[k], 5);
        struct tremolo_coefficient rows[D + 1];
        struct tremolo_plan_input input = {.dimension = D,
                                           .devices = 77,
                                           .noise_sd = sqrt(evidence->noise),
                                           .feature_variance = 1.0,
                                           .r2 = TREMOLO_PLAN_R2,
                                           .response_variance = 1.0};
        double planned = tremolo_plan_needed(&input);
        assert_true(planned > 1e4 && planned < 1e7);
        assert_int_equal(tremolo_infer(rows, evidence, NULL, 0.9), TREMOLO_OK);
        for (size_t j = 0; j <= D; j++) {
            assert_near(rows[j].devices_needed, planned, 1e-9);
        }
        input.devices = 1e6;
        input.level = 0.5;
        assert_near(tremolo_plan_needed(&input), planned, 1e-12);
        struct tremolo_plan_result open;
        struct tremolo_plan_result hidden;
        assert_int_equal(tremolo_plan(&open, &input), TREMOLO_OK);
        input.response_private = true; /* its noise comes with that of the features */
        assert_int_equal(tremolo_plan(&hidden, &input), TREMOLO_OK);
        assert_true(hidden.standard_error > open.standard_error && hidden.r2_auto < open.r2_auto);
        assert_near(hidden.standard_error_public, open.standard_error_public, 1e-12);
        input.r2 = 0.0;
        assert_true(isinf(tremolo_plan_needed(&input)));
        tremolo_debias_free(evidence);
    }
}

static void test_hidden_coefficients_are_named_once(void **state)
{
    (void)state;
    const char *const names[9] = {"a", "b", "c", "e", "f", "g", "h", "i", "k"};
    struct tremolo_coefficient rows[9] = {{.identified = false}};
    char text[300];
    for (size_t i = 0; i < 9; i++) {
        rows[i].devices_needed = 38912.4;
    }
    rows[1].identified = true;
    tremolo_identification_summary(text, sizeof text, names, rows, 3, 3200);
    assert_string_equal(text, "a and c are not identified at this noise: 3200 devices reported, "
                              "about 39,000 would be needed for unrelated features with effects "
                              "of a usual size");
    tremolo_identification_summary(text, sizeof text, names, rows, 9, 3200);
    assert_string_equal(text, "a, c, e, f, g and 3 more are not identified at this noise: 3200 "
                              "devices reported, about 39,000 would be needed for unrelated "
                              "features with effects of a usual size");
    tremolo_identification_summary(text, sizeof text, names, rows, 3, 39000);
    assert_string_equal(text, "a and c are not identified at this noise: 39000 devices reported, "
                              "about 39,000 are enough for unrelated features with effects of a "
                              "usual size; here they vary less, as rare answers do, or are more "
                              "alike");
    tremolo_identification_summary(text, sizeof text, names, rows, 3, 7);
    assert_string_equal(text, "too few reports yet: 7 devices reported, and 3 coefficients with "
                              "standard errors need at least 64");
    rows[0].devices_needed = INFINITY;
    tremolo_identification_summary(text, sizeof text, names, rows, 1, 700);
    assert_string_equal(text, "a is not identified at this noise: 700 devices reported, and no "
                              "number of devices that could be had would do");
    rows[0].devices_needed = 99.2;
    tremolo_identification_summary(text, sizeof text, names, rows, 1, 70);
    assert_non_null(strstr(text, "about 100 would"));
    rows[0].devices_needed = 1234567.0;
    tremolo_identification_summary(text, sizeof text, names, rows, 1, 700);
    assert_non_null(strstr(text, "about 1,300,000 would"));
    tremolo_identification_summary(text, 10, names, rows, 3, 3200);
    assert_string_equal(text, "a and c a"); /* cut, but terminated */
    tremolo_identification_summary(text, sizeof text, names, rows + 1, 1, 320);
    assert_string_equal(text, "");
}

/* ---------------------------------------------------------------- formulas */

static struct tremolo_convergence theorems(const struct tremolo_mechanism *mechanism,
                                           double beta_norm2, double residual_ms, double beta_cross,
                                           double trace)
{
    const struct tremolo_convergence_input input = {.mechanism = *mechanism,
                                                    .rounds = 10.0,
                                                    .smoothness = 2.0,
                                                    .trace = trace,
                                                    .beta_norm2 = beta_norm2,
                                                    .residual_ms = residual_ms,
                                                    .beta_cross = beta_cross,
                                                    .B = 1.0,
                                                    .R = 2.0,
                                                    .M = 1.0};
    return tremolo_convergence_of(&input);
}

static void test_gradient_variance_at_the_verified_point(void **state)
{
    (void)state;
    /* One device, no modulation, beta = 0: the variance is y^2 d sigma^2. */
    struct tremolo_mechanism simple = {5, 1.0, 0.0, 0.0, 2.0, false};
    assert_near(theorems(&simple, 0.0, 9.0, 0.0, 3.0).variance, 9.0 * 5.0 * 4.0, 1e-15);
    /* By hand: K=10, d=2, alpha=1/2, lambda=2, sigma=1, |b|^2=1, r^2=3, b'Sr=-0.5, tr=4:
     * (3(2+2) - 1 + 4)/(10/4) + (2 + 3)/(10/16) */
    struct tremolo_mechanism full = {2, 10.0, 0.5, 2.0, 1.0, false};
    struct tremolo_convergence made = theorems(&full, 1.0, 3.0, -0.5, 4.0);
    assert_near(made.variance, 6.0 + 8.0, 1e-14);
    assert_true(made.variance_bound >= made.variance);
    /* A private response: n^2 = 4 more in mean r^2, 1 more in |b|^2 on the trace:
     * (7(2+2) - 1 + 2*4)/(10/4) + (2 + 3)/(10/16) */
    full.response_private = true;
    assert_near(theorems(&full, 1.0, 3.0, -0.5, 4.0).variance, 14.0 + 8.0, 1e-14);
    /* L = 2, |b0-b*|^2 = 8, T = 10; (1*2 + 1)^2 = 9 bounds r^2, 6 b'Sr and 4 the trace. */
    struct tremolo_mechanism bound = {2, 10.0, 0.0, 0.0, 1.0, false};
    made = theorems(&bound, 8.0, 3.0, -0.5, 4.0);
    assert_near(made.variance_bound, (9.0 * 2.0 + 2.0 * 6.0 + 4.0 + 3.0) / 10.0, 1e-14);
    assert_near(made.printed, 0.8 + 3.7 / 40.0, 1e-14);
    assert_near(made.corrected, 1.6 + 3.7 / 4.0, 1e-14);
}

/* d = 3, the eigenvalues of S 3 and 1.5 twice, |b*| = 1. */
static void test_convergence_by_hand(void **state)
{
    (void)state;
    const struct tremolo_convergence_input input = {.mechanism = {3, 100.0, 0.0, 0.0, 1.0, false},
                                                    .rounds = 10.0,
                                                    .smoothness = 3.0,
                                                    .trace = 6.0,
                                                    .beta_norm2 = 1.0,
                                                    .residual_ms = 2.0,
                                                    .B = 1.0,
                                                    .R = 3.0,
                                                    .M = 2.0};
    struct tremolo_convergence result = tremolo_convergence_of(&input);
    /* (2*3 + 6)/100 + 4/100; the bound has r = RB + M = 5: (75 + 30 + 9)/100 + 4/100 */
    assert_near(result.variance, 0.16, 1e-14);
    assert_near(result.variance_bound, 1.18, 1e-14);
    assert_near(result.printed, 3.0 / 20.0 + 1.18 / 600.0, 1e-14);
    assert_near(result.corrected, 3.0 / 10.0 + 1.18 / 6.0, 1e-14);
}

static void test_plan_without_noise_is_least_squares(void **state)
{
    (void)state;
    struct tremolo_plan_input input = {.dimension = 5,
                                       .devices = 1000.0,
                                       .feature_variance = 2.0,
                                       .correlation = 0.5,
                                       .r2 = 0.3,
                                       .response_variance = 4.0,
                                       .level = 0.95};
    struct tremolo_plan_result plan;
    assert_int_equal(tremolo_plan(&plan, &input), TREMOLO_OK);
    assert_near(plan.prediction_error, plan.prediction_minimax, 1e-12);
    assert_near(plan.estimation_error, plan.estimation_minimax, 1e-12);
    assert_near(plan.standard_error, plan.standard_error_public, 1e-12);
    assert_near(plan.prediction_minimax, 2.8 * 5.0 / 1000.0, 1e-12);
    /* noise costs, and devices buy it back */
    input.noise_sd = 3.0;
    struct tremolo_plan_result noisy;
    assert_int_equal(tremolo_plan(&noisy, &input), TREMOLO_OK);
    assert_true(noisy.standard_error > plan.standard_error && noisy.r2_auto < plan.r2_auto);
    assert_true(noisy.r2_auto > 0.0);
    double devices = 0.0;
    assert_int_equal(tremolo_plan_devices(&devices, &input, 0.05, 0.0, 0.0), TREMOLO_OK);
    input.devices = devices;
    assert_int_equal(tremolo_plan(&noisy, &input), TREMOLO_OK);
    assert_true(noisy.half_width <= 0.05 && noisy.noise_ratio <= 0.1201);
    input.correlation = -0.5;
    assert_int_equal(tremolo_plan(&noisy, &input), TREMOLO_BAD_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_estimates_are_the_unbiased_fit),
        cmocka_unit_test(test_own_units_and_combinations),
        cmocka_unit_test(test_hopeless_noise_is_said),
        cmocka_unit_test(test_devices_needed_are_the_plans),
        cmocka_unit_test(test_hidden_coefficients_are_named_once),
        cmocka_unit_test(test_gradient_variance_at_the_verified_point),
        cmocka_unit_test(test_convergence_by_hand),
        cmocka_unit_test(test_plan_without_noise_is_least_squares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
