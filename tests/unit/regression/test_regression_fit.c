/* test_regression_fit.c -- debiasing and the estimators on data without randomness.
 *
 * With noise off every method must return ordinary least squares; with a known
 * bias injected by hand, debiasing must remove exactly that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evidence.h"
#include "fast_reports.h"

enum { D = 3, ROWS = 400, SCALE = 1000 };

/* Of numbers near 1 that took sums over 400 rows and a solve whose condition is
 * below 20: 400 * 20 * 2^-53 is 9e-13. */
#define ROUNDING 1e-12

struct fixture {
    double X[ROWS * D];
    double y[ROWS];
    struct fast_fold fold;
};

/* Integer rows with correlated features and a response off the plane. */
static void make(struct fixture *fixture, uint64_t seed)
{
    struct fast_random random;
    fast_seed(&random, seed);
    fast_fold_reset(&fixture->fold, D + 1);
    for (size_t i = 0; i < ROWS; i++) {
        int64_t row[D + 1];
        double common = fast_normal(&random);
        for (size_t j = 0; j < D; j++) {
            row[j] = llrint(SCALE * (0.2 + 0.5 * common + 0.7 * fast_normal(&random)));
            fixture->X[i * D + j] = (double)row[j] / SCALE;
        }
        double y = 1.5 + 0.8 * fixture->X[i * D] - 0.3 * fixture->X[i * D + 1];
        row[D] = llrint(SCALE * (y + 0.4 * fast_normal(&random)));
        fixture->y[i] = (double)row[D] / SCALE;
        fast_fold_add(&fixture->fold, i % TREMOLO_BUCKETS, row);
    }
}

static struct tremolo_sample_release silent_release(void)
{
    return (struct tremolo_sample_release){
        .dimension = D, .keep = 1.0, .feature_scale = SCALE, .response_scale = SCALE};
}

static struct fixture shared;

static void check_close(const double *a, const double *b, size_t count, double tolerance)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(fabs(a[i] - b[i]) <= tolerance);
    }
}

static void test_without_noise_methods_are_least_squares(void **state)
{
    (void)state;
    make(&shared, 1);
    struct tremolo_sample_release release = silent_release();
    for (int intercept = 0; intercept < 2; intercept++) {
        struct tremolo_debiased *evidence = NULL;
        double ols[D];
        double constant = 0.0;
        double beta[D];
        struct tremolo_fit fit;
        struct tremolo_fit_options options = {TREMOLO_METHOD_UNBIASED, intercept == 1, 0.0};
        assert_int_equal(tremolo_debias_new(&evidence, shared.fold.view, &release), TREMOLO_OK);
        assert_int_equal(
            tremolo_ols(ols, &constant, NULL, shared.X, shared.y, ROWS, D, intercept == 1),
            TREMOLO_OK);
        assert_int_equal(tremolo_fit(beta, &fit, evidence, &options), TREMOLO_OK);
        /* normal equations square the condition number (about 10 here) */
        check_close(beta, ols, D, ROUNDING);
        assert_true(fabs(fit.intercept - constant) < ROUNDING);
        options.method = TREMOLO_METHOD_ONE_SHOT;
        assert_int_equal(tremolo_fit(beta, &fit, evidence, &options), TREMOLO_OK);
        check_close(beta, ols, D, ROUNDING);
        /* auto keeps its pseudo-devices, worth about one in 400 rows */
        options.method = TREMOLO_METHOD_AUTO;
        assert_int_equal(tremolo_fit(beta, &fit, evidence, &options), TREMOLO_OK);
        check_close(beta, ols, D, 0.02);
        tremolo_debias_free(evidence);
    }
}

static void test_ridge_is_the_paper_s(void **state)
{
    (void)state;
    make(&shared, 2);
    struct tremolo_sample_release release = silent_release();
    struct tremolo_debiased *evidence = NULL;
    double S[D * D];
    double Z[D];
    double beta[D];
    struct tremolo_fit fit;
    const double ridge = 0.7;
    struct tremolo_fit_options options = {TREMOLO_METHOD_ONE_SHOT, false, ridge};
    assert_int_equal(tremolo_debias_new(&evidence, shared.fold.view, &release), TREMOLO_OK);
    assert_int_equal(tremolo_fit(beta, &fit, evidence, &options), TREMOLO_OK);
    tremolo_debias_moments(S, Z, NULL, evidence, false);
    for (size_t i = 0; i < D; i++) {
        double left = ridge * beta[i];
        for (size_t j = 0; j < D; j++) {
            left += S[i * D + j] * beta[j];
        }
        assert_true(fabs(left - Z[i]) < ROUNDING);
    }
    tremolo_debias_free(evidence);
}

/* Sums to which the expected bias is added by hand: features shrunk by keep = 1/2,
 * noise 900 on the diagonal and modulation 500 along two vectors that are not
 * exactly orthonormal, as quantised ones are. */
static void test_known_bias_is_removed(void **state)
{
    (void)state;
    make(&shared, 3);
    const double V[2 * D] = {0.6, 0.8, 0.01, -0.8, 0.6, 0.0};
    struct tremolo_sample_release silent = silent_release();
    struct tremolo_sample_release noisy = silent;
    noisy.keep = 0.5;
    noisy.feature_scale = 2 * SCALE;
    noisy.noise_variance = 900.0;
    noisy.modulation = 500.0;
    noisy.vectors = 2;
    noisy.V = V;
    struct tremolo_debiased *clean = NULL;
    struct tremolo_debiased *debiased = NULL;
    assert_int_equal(tremolo_debias_new(&clean, shared.fold.view, &silent), TREMOLO_OK);
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        double count = (double)shared.fold.view[b].count;
        for (size_t i = 0; i < D; i++) {
            for (size_t j = 0; j < D; j++) {
                double bias = (i == j ? 900.0 : 0.0) + 500.0 * (V[i] * V[j] + V[D + i] * V[D + j]);
                shared.fold.product[b][i * (D + 1) + j] += llrint(count * bias);
            }
        }
    }
    assert_int_equal(tremolo_debias_new(&debiased, shared.fold.view, &noisy), TREMOLO_OK);
    double S[2][D * D];
    double Z[2][D];
    double yy[2];
    tremolo_debias_moments(S[0], Z[0], &yy[0], clean, true);
    tremolo_debias_moments(S[1], Z[1], &yy[1], debiased, true);
    /* integers were rounded once per bucket (1/2 of 400 * 10^6), and the centred
     * moment divides by K - 1 where the injected bias was divided by K */
    check_close(S[0], S[1], D * D, 900.0 / (SCALE * SCALE) / ROWS * 3.0);
    check_close(Z[0], Z[1], D, ROUNDING);
    assert_true(fabs(yy[0] - yy[1]) < ROUNDING);
    assert_true(fabs(debiased->noise - 900.0 / (SCALE * SCALE)) < 1e-15);
    tremolo_debias_free(clean);
    tremolo_debias_free(debiased);
}

static void test_pool_of_equals_keeps_the_moments(void **state)
{
    (void)state;
    make(&shared, 4);
    struct tremolo_sample_release release = silent_release();
    release.noise_variance = 100.0;
    struct tremolo_debiased *evidence = NULL;
    struct tremolo_debiased *pool = NULL;
    assert_int_equal(tremolo_debias_new(&evidence, shared.fold.view, &release), TREMOLO_OK);
    const struct tremolo_debiased *rounds[4] = {evidence, evidence, evidence, evidence};
    assert_int_equal(tremolo_debias_pool(&pool, rounds, 4), TREMOLO_OK);
    double S[2][D * D];
    tremolo_debias_moments(S[0], NULL, NULL, evidence, false);
    tremolo_debias_moments(S[1], NULL, NULL, pool, false);
    check_close(S[0], S[1], D * D, ROUNDING);
    /* four rounds of equal noise are as good as one with half of it */
    assert_true(fabs(pool->noise / evidence->noise - 0.5) < ROUNDING);
    tremolo_debias_free(pool);
    tremolo_debias_free(evidence);
}

static void test_own_units(void **state)
{
    (void)state;
    const double centre[D] = {10.0, -2.0, 0.0};
    const double scale[D] = {5.0, 0.5, 2.0};
    const struct tremolo_units units = {centre, scale, 100.0, 20.0};
    const double beta[D] = {0.3, -0.1, 0.7};
    double own[D];
    double constant = 0.0;
    tremolo_fit_to_own(own, &constant, beta, 0.25, D, &units);
    const double x[D] = {12.0, -1.0, 3.0};
    double scaled = 0.25;
    double direct = constant;
    for (size_t j = 0; j < D; j++) {
        scaled += beta[j] * (x[j] - centre[j]) / scale[j];
        direct += own[j] * x[j];
    }
    assert_true(fabs(100.0 + 20.0 * scaled - direct) < ROUNDING);
}

static void test_degenerate_input(void **state)
{
    (void)state;
    make(&shared, 5);
    struct tremolo_sample_release release = silent_release();
    struct tremolo_debiased *evidence = NULL;
    release.keep = 0.0;
    assert_int_equal(tremolo_debias_new(&evidence, shared.fold.view, &release),
                     TREMOLO_BAD_ARGUMENT);
    release.keep = 1.0;
    release.dimension = D + 1;
    assert_int_equal(tremolo_debias_new(&evidence, shared.fold.view, &release),
                     TREMOLO_BAD_DIMENSION);
    assert_null(evidence);
    /* a constant feature: unbiased is singular, auto answers */
    release.dimension = D;
    fast_fold_reset(&shared.fold, D + 1);
    for (int64_t i = 0; i < 64; i++) {
        int64_t row[D + 1] = {i * 37 % 64, 5, i * 11 % 64, i * 37 % 64 + i % 5};
        fast_fold_add(&shared.fold, (size_t)(i % TREMOLO_BUCKETS), row);
    }
    double beta[D] = {9.0, 9.0, 9.0};
    struct tremolo_fit fit;
    struct tremolo_fit_options options = {TREMOLO_METHOD_UNBIASED, true, 0.0};
    assert_int_equal(tremolo_debias_new(&evidence, shared.fold.view, &release), TREMOLO_OK);
    assert_int_equal(tremolo_fit(beta, &fit, evidence, &options), TREMOLO_SINGULAR);
    assert_true(beta[0] == 9.0);
    options.method = TREMOLO_METHOD_AUTO;
    assert_int_equal(tremolo_fit(beta, &fit, evidence, &options), TREMOLO_OK);
    assert_true(fabs(beta[0] - 1.0) < 0.1 && fabs(beta[1]) < 0.1);
    assert_true(fit.r2 > 0.9 && fit.r2 < 1.0);
    tremolo_debias_free(evidence);
}

/* ---------------------------------------------------------------- rounds */

/* A round without noise: the same sums whatever V is, checked to be what the
 * protocol asks for. */
static enum tremolo_status silent_round(void *context, size_t round, const double *beta,
                                        const double *V, size_t vectors,
                                        struct tremolo_debiased **evidence)
{
    struct fixture *fixture = context;
    (void)round;
    for (size_t k = 0; k < vectors; k++) {
        double along_beta = 0.0;
        for (size_t j = 0; j < D; j++) {
            along_beta += V[k * D + j] * beta[j];
        }
        assert_true(fabs(along_beta) < ROUNDING);
        for (size_t l = 0; l <= k; l++) {
            double dot = 0.0;
            for (size_t j = 0; j < D; j++) {
                dot += V[k * D + j] * V[l * D + j];
            }
            assert_true(fabs(dot - (k == l ? 1.0 : 0.0)) < ROUNDING);
        }
    }
    struct tremolo_sample_release release = silent_release();
    return tremolo_debias_new(evidence, fixture->fold.view, &release);
}

static void test_iteration_reaches_least_squares(void **state)
{
    (void)state;
    make(&shared, 6);
    double ols[D];
    double constant = 0.0;
    double last[D];
    double average[D];
    struct tremolo_iterate_options options = {
        .rounds = 300, .vectors = 2, .step = 1.0, .seed = 5, .intercept = true};
    assert_int_equal(tremolo_ols(ols, &constant, NULL, shared.X, shared.y, ROWS, D, true),
                     TREMOLO_OK);
    assert_int_equal(tremolo_iterate(last, average, D, &options, silent_round, &shared),
                     TREMOLO_OK);
    check_close(last, ols, D, 1e-9); /* (1 - 1/condition)^300, condition about 3 */
    check_close(average, ols, D, 0.05);
    options.radius = 0.1;
    assert_int_equal(tremolo_iterate(last, NULL, D, &options, silent_round, &shared), TREMOLO_OK);
    double length2 = 0.0;
    for (size_t j = 0; j < D; j++) {
        length2 += last[j] * last[j];
    }
    assert_true(fabs(sqrt(length2) - 0.1) < ROUNDING);
    options.vectors = D;
    assert_int_equal(tremolo_iterate(last, NULL, D, &options, silent_round, &shared),
                     TREMOLO_BAD_VECTORS);
}

/* Stopped after any round and begun again from its beta, it ends with the same bits. */
static void test_iteration_goes_on(void **state)
{
    enum { ROUNDS = 6 };
    (void)state;
    make(&shared, 8);
    double whole[D];
    double middle[D];
    double last[D];
    struct tremolo_iterate_options options = {
        .rounds = ROUNDS, .vectors = 2, .step = 0.4, .radius = 0.8, .seed = 5, .intercept = true};
    assert_int_equal(tremolo_iterate(whole, NULL, D, &options, silent_round, &shared), TREMOLO_OK);
    for (size_t stop = 1; stop < ROUNDS; stop++) {
        options.rounds = stop;
        options.first = 0;
        options.start = NULL;
        assert_int_equal(tremolo_iterate(middle, NULL, D, &options, silent_round, &shared),
                         TREMOLO_OK);
        options.rounds = ROUNDS;
        options.first = stop;
        options.start = middle;
        assert_int_equal(tremolo_iterate(last, NULL, D, &options, silent_round, &shared),
                         TREMOLO_OK);
        assert_memory_equal(last, whole, sizeof whole);
    }
    assert_int_equal(tremolo_iterate(last, middle, D, &options, silent_round, &shared),
                     TREMOLO_BAD_ARGUMENT);
    options.first = ROUNDS;
    assert_int_equal(tremolo_iterate(last, NULL, D, &options, silent_round, &shared),
                     TREMOLO_BAD_ARGUMENT);
}

static void test_dpsgd_without_noise_descends(void **state)
{
    (void)state;
    make(&shared, 7);
    double ols[D];
    double beta[D];
    struct tremolo_dpsgd_options options = {.rounds = 2000, .clip = 1e9, .step = 0.3, .seed = 1};
    assert_int_equal(tremolo_ols(ols, NULL, NULL, shared.X, shared.y, ROWS, D, false), TREMOLO_OK);
    assert_int_equal(tremolo_dpsgd(beta, shared.X, shared.y, ROWS, D, &options), TREMOLO_OK);
    check_close(beta, ols, D, 1e-9);
    options.rounds = 1;
    options.clip = 1e-3;
    options.step = 1.0;
    assert_int_equal(tremolo_dpsgd(beta, shared.X, shared.y, ROWS, D, &options), TREMOLO_OK);
    double length2 = 0.0;
    for (size_t j = 0; j < D; j++) {
        length2 += beta[j] * beta[j];
    }
    assert_true(sqrt(length2) <= 1e-3 && sqrt(length2) > 0.0);
}

/* y = x up to the reach, and there is no noise: beyond it a prediction stays where it is. */
static void test_features_count_up_to_the_reach(void **state)
{
    (void)state;
    static const double X[] = {-20.0, -8.0, 0.0, 8.0, 20.0};
    static const double y[] = {-8.0, -8.0, 0.0, 8.0, 8.0};
    const double beta = 1.0;
    assert_true(tremolo_r2(&beta, 0.0, X, y, 5, 1, 8.0) == 1.0);
    assert_true(tremolo_r2(&beta, 0.0, X, y, 5, 1, INFINITY) == 1.0 - 288.0 / 256.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_noise_methods_are_least_squares),
        cmocka_unit_test(test_ridge_is_the_paper_s),
        cmocka_unit_test(test_known_bias_is_removed),
        cmocka_unit_test(test_pool_of_equals_keeps_the_moments),
        cmocka_unit_test(test_own_units),
        cmocka_unit_test(test_degenerate_input),
        cmocka_unit_test(test_iteration_reaches_least_squares),
        cmocka_unit_test(test_iteration_goes_on),
        cmocka_unit_test(test_dpsgd_without_noise_descends),
        cmocka_unit_test(test_features_count_up_to_the_reach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
