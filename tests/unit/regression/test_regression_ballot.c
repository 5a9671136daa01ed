/* test_regression_ballot.c -- coefficients from ballots: limits, repeats and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evidence.h"
#include "made_ballots.h"

enum { D = 4 };

static struct made_ballots ballots;

static struct tremolo_ballot *take(const struct made_population *made, uint64_t seed)
{
    struct tremolo_random random = tremolo_random_from(seed, 1);
    struct tremolo_ballot *taken = NULL;
    made_draw(&ballots, made, &random);
    assert_int_equal(tremolo_ballot_new(&taken, ballots.sums, &ballots.release), TREMOLO_OK);
    return taken;
}

static double largest_error(const double *beta, double intercept,
                            const struct made_population *made)
{
    double largest = fabs(intercept - made->intercept);
    for (size_t j = 0; j < made->d; j++) {
        largest = fmax(largest, fabs(beta[j] - made->slope[j]));
    }
    return largest;
}

/* Noise of 1e-4 leaves errors of about 1e-4 / 0.05, the smallest eigenvalue. */
static void test_becomes_weighted_least_squares(void **state)
{
    (void)state;
    for (int response_public = 0; response_public < 2; response_public++) {
        for (int method = 0; method < 2; method++) {
            struct made_population made = made_population(D, response_public, 10000, 0.01);
            struct tremolo_ballot *taken = take(&made, 5);
            double beta[D];
            struct tremolo_ballot_fit fit;
            enum tremolo_method by = method ? TREMOLO_METHOD_UNBIASED : TREMOLO_METHOD_AUTO;
            assert_int_equal(tremolo_ballot_fit(beta, &fit, taken, by, 0.95), TREMOLO_OK);
            assert_true(largest_error(beta, fit.fit.intercept, &made) < 0.01);
            assert_true(fabs(fit.fit.residual_variance - made.residual) < 0.01);
            assert_true(fit.noise_ratio < 0.21 && fit.fit.negative == 0);
            assert_true(fit.shift_max > 0.0 && fit.shift_max < 1.0);
            tremolo_ballot_free(taken);
        }
    }
}

/* At this noise R^2 is known to about 0.02 (a quarter of the interval). */
static void test_r2_has_an_interval_or_is_not_there(void **state)
{
    (void)state;
    struct made_population made = made_population(D, false, 200000, 0.67);
    struct tremolo_ballot *taken = take(&made, 6);
    double beta[D];
    struct tremolo_ballot_fit fit;
    double explained = 0.0;
    for (size_t i = 0; i < D; i++) {
        for (size_t j = 0; j < D; j++) {
            explained += made.slope[i] * made.slope[j] * (i == j ? 0.33 : 0.33 * 0.2);
        }
    }
    double truth = explained / (explained + made.residual);
    assert_int_equal(tremolo_ballot_fit(beta, &fit, taken, TREMOLO_METHOD_AUTO, 0.95), TREMOLO_OK);
    assert_true(fit.r2_high - fit.r2_low < 0.15);
    assert_true(fabs(fit.fit.r2 - truth) < 0.08);
    assert_true(fit.r2_low <= fit.fit.r2 && fit.fit.r2 <= fit.r2_high);
    tremolo_ballot_free(taken);
    made = made_population(D, false, 320, 2.5);
    taken = take(&made, 6);
    assert_int_equal(tremolo_ballot_fit(beta, &fit, taken, TREMOLO_METHOD_AUTO, 0.95), TREMOLO_OK);
    assert_true(isnan(fit.fit.r2) && isnan(fit.r2_low) && isnan(fit.r2_high));
    tremolo_ballot_free(taken);
}

/* A posterior is about normal here: half widths are as its quantiles, within the error that
 * 200 draws leave a quantile, a sixth of it at the outermost. R^2 and whether it is shown do
 * not depend on the level. */
static void test_r2_interval_has_its_level(void **state)
{
    (void)state;
    static const double levels[] = {0.5, 0.8, 0.95, 0.99, 0.9999};
    struct made_population made = made_population(D, false, 200000, 0.67);
    struct tremolo_ballot *taken = take(&made, 6);
    double beta[D];
    double usual = 0.0;
    double before = 0.0;
    struct tremolo_ballot_fit fit;
    for (size_t k = 0; k < sizeof levels / sizeof *levels; k++) {
        assert_int_equal(tremolo_ballot_fit(beta, &fit, taken, TREMOLO_METHOD_AUTO, levels[k]),
                         TREMOLO_OK);
        double width = fit.r2_high - fit.r2_low;
        double z = tremolo_normal_quantile(0.5 + 0.5 * levels[k]);
        usual = k == 0 ? width / z : usual;
        assert_true(width > before);
        assert_true(fabs(width / z / usual - 1.0) < 0.25);
        before = width;
    }
    assert_int_equal(tremolo_ballot_fit(beta, &fit, taken, TREMOLO_METHOD_AUTO, 1.0),
                     TREMOLO_BAD_ARGUMENT);
    tremolo_ballot_free(taken);
}

static void test_same_sums_same_bits(void **state)
{
    (void)state;
    struct made_population made = made_population(D, false, 5000, 1.28);
    double beta[2][D];
    struct tremolo_ballot_fit fit[2];
    for (int k = 0; k < 2; k++) {
        struct tremolo_ballot *taken = take(&made, 7);
        assert_int_equal(tremolo_ballot_fit(beta[k], &fit[k], taken, TREMOLO_METHOD_AUTO, 0.95),
                         TREMOLO_OK);
        tremolo_ballot_free(taken);
    }
    assert_memory_equal(beta[0], beta[1], sizeof beta[0]);
    assert_true(fit[0].fit.intercept == fit[1].fit.intercept);
}

/* Own units: slopes are divided by the feature's scale, the response's multiplies all. */
static void test_units(void **state)
{
    (void)state;
    struct made_population made = made_population(D, false, 5000, 0.01);
    struct tremolo_ballot *taken = take(&made, 8);
    static const double centre[D] = {1, 2, 3, 4};
    static const double scale[D] = {2, 2, 2, 2};
    struct tremolo_units units = {centre, scale, 10.0, 5.0};
    struct tremolo_coefficient rows[D + 1];
    struct tremolo_coefficient own[D + 1];
    assert_int_equal(tremolo_ballot_infer(rows, taken, NULL, 0.95), TREMOLO_OK);
    assert_int_equal(tremolo_ballot_infer(own, taken, &units, 0.95), TREMOLO_OK);
    double intercept = 10.0 + 5.0 * rows[D].estimate;
    for (size_t j = 0; j < D; j++) {
        assert_true(fabs(own[j].estimate - 2.5 * rows[j].estimate) < 1e-9);
        assert_true(fabs(own[j].standard_error - 2.5 * rows[j].standard_error) < 1e-9);
        intercept -= 2.5 * rows[j].estimate * centre[j];
    }
    assert_true(fabs(own[D].estimate - intercept) < 1e-9);
    assert_true(own[0].identified);
    tremolo_ballot_free(taken);
}

/* Rows of zeros, and one feature twice, are what a broken or tiny study gives. */
static void test_singular_input(void **state)
{
    (void)state;
    struct made_population made = made_population(D, false, 5000, 1.28);
    struct tremolo_ballot *taken = take(&made, 9);
    double beta[D] = {-77.0};
    struct tremolo_ballot_fit fit = {.noise_ratio = -77.0};
    struct tremolo_coefficient rows[D + 1] = {{.estimate = -77.0}};
    tremolo_ballot_free(taken);
    memset(ballots.row, 0, sizeof ballots.row);
    assert_int_equal(tremolo_ballot_new(&taken, ballots.sums, &ballots.release), TREMOLO_OK);
    assert_int_equal(tremolo_ballot_fit(beta, &fit, taken, TREMOLO_METHOD_UNBIASED, 0.95),
                     TREMOLO_SINGULAR);
    assert_int_equal(tremolo_ballot_infer(rows, taken, NULL, 0.95), TREMOLO_SINGULAR);
    assert_true(beta[0] == -77.0 && fit.noise_ratio == -77.0 && rows[0].estimate == -77.0);
    assert_int_equal(tremolo_ballot_fit(beta, &fit, taken, TREMOLO_METHOD_AUTO, 0.95), TREMOLO_OK);
    for (size_t j = 0; j < D; j++) {
        assert_true(fabs(beta[j]) < 0.2);
    }
    assert_true(isinf(fit.noise_ratio));
    tremolo_ballot_free(taken);
}

static void test_refusals(void **state)
{
    (void)state;
    struct made_population made = made_population(D, false, 5000, 1.28);
    struct tremolo_ballot *taken = take(&made, 10);
    double beta[D];
    struct tremolo_ballot_fit fit;
    assert_true(taken->devices == 4992 + 31);
    assert_int_equal(taken->d, D);
    assert_int_equal(tremolo_ballot_fit(beta, &fit, taken, TREMOLO_METHOD_ONE_SHOT, 0.95),
                     TREMOLO_BAD_ARGUMENT);
    tremolo_ballot_free(taken);
    struct tremolo_ballot_release release = ballots.release;
    release.c = 0.0;
    assert_int_equal(tremolo_ballot_new(&taken, ballots.sums, &release), TREMOLO_BAD_ARGUMENT);
    release = ballots.release;
    release.dimension = 0;
    assert_int_equal(tremolo_ballot_new(&taken, ballots.sums, &release), TREMOLO_BAD_DIMENSION);
    for (size_t b = 1; b < TREMOLO_BUCKETS; b++) {
        ballots.sums[b].count = 0;
    }
    assert_int_equal(tremolo_ballot_new(&taken, ballots.sums, &ballots.release), TREMOLO_TOO_FEW);
    tremolo_ballot_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_becomes_weighted_least_squares),
        cmocka_unit_test(test_r2_has_an_interval_or_is_not_there),
        cmocka_unit_test(test_r2_interval_has_its_level),
        cmocka_unit_test(test_same_sums_same_bits),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_singular_input),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
