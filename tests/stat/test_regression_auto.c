/* test_regression_auto.c -- the default estimator predicts, at any noise.
 *
 * Hypotheses, on simulated studies with a population R^2 that is computed exactly:
 * `auto` reaches most of the attainable R^2 at moderate noise, beats a fixed ridge on
 * the same reports, stays at or above the plain mean when noise is overwhelming (within
 * 0.05), and returns to least squares as noise vanishes.
 *
 * 60 studies per setting with fixed seeds. Means had standard errors of at most 0.02;
 * each floor is at least 3 of them below the measured mean, so a false alarm after
 * a change of the generator would have a probability below 0.2% per floor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fast_reports.h"

enum { STUDIES = 60 };

struct setting {
    size_t d;
    size_t devices;
    double correlation;
    double r2;    /* without privacy */
    double noise; /* sd, features have sd 1 */
    double floor; /* for the mean R^2 of auto */
};

static struct fast_fold fold;

static double form(const double *factor, const double *v, size_t d)
{
    double sum = 0.0;
    for (size_t k = 0; k < d; k++) {
        double along = 0.0;
        for (size_t j = k; j < d; j++) {
            along += factor[j * d + k] * v[j];
        }
        sum += along * along;
    }
    return sum;
}

/* Population R^2 of coefficients b, the intercept being right. */
static double population_r2(const struct fast_study *study, const double *b)
{
    double off[FAST_MAX];
    for (size_t j = 0; j < study->d; j++) {
        off[j] = b[j] - study->beta[j];
    }
    double residual = study->residual_sd * study->residual_sd;
    return 1.0 - (form(study->factor, off, study->d) + residual) /
                     (form(study->factor, study->beta, study->d) + residual);
}

struct means {
    double automatic;
    double ridge;
    double claimed; /* auto's own estimate of R^2 */
};

static struct means run(const struct setting *setting, uint64_t seed)
{
    size_t d = setting->d;
    double factor[FAST_MAX * FAST_MAX];
    double beta[FAST_MAX];
    struct means means = {0};
    struct fast_random random;
    fast_seed(&random, seed);
    fast_equicorrelation(factor, d, setting->correlation);
    for (size_t t = 0; t < STUDIES; t++) {
        for (size_t j = 0; j < d; j++) {
            beta[j] = fast_normal(&random);
        }
        double length = sqrt(form(factor, beta, d) / setting->r2);
        for (size_t j = 0; j < d; j++) {
            beta[j] /= length;
        }
        struct fast_study study = {d,   setting->devices,        factor,        NULL, beta,
                                   0.0, sqrt(1.0 - setting->r2), setting->noise};
        struct tremolo_sample_release release = fast_release(&study);
        struct tremolo_debiased *evidence = NULL;
        struct tremolo_fit fit;
        double b[FAST_MAX];
        fast_run(&fold, &study, &random);
        assert_int_equal(tremolo_debias_new(&evidence, fold.view, &release), TREMOLO_OK);
        struct tremolo_fit_options options = TREMOLO_FIT_DEFAULTS;
        assert_int_equal(tremolo_fit(b, &fit, evidence, &options), TREMOLO_OK);
        means.automatic += population_r2(&study, b) / STUDIES;
        means.claimed += fit.r2 / STUDIES;
        options = (struct tremolo_fit_options){TREMOLO_METHOD_ONE_SHOT, true, 1.0};
        assert_int_equal(tremolo_fit(b, &fit, evidence, &options), TREMOLO_OK);
        means.ridge += population_r2(&study, b) / STUDIES;
        tremolo_debias_free(evidence);
    }
    return means;
}

static void check(const struct setting *setting, uint64_t seed)
{
    struct means means = run(setting, seed);
    print_message("# d=%zu K=%zu rho=%g R2=%g noise=%g: auto %.3f (claims %.3f), ridge %.3f\n",
                  setting->d, setting->devices, setting->correlation, setting->r2, setting->noise,
                  means.automatic, means.claimed, means.ridge);
    assert_true(means.automatic >= setting->floor);
    assert_true(means.automatic >= means.ridge - 0.01);
    assert_true(means.automatic <= setting->r2 + 1e-9);
}

static void test_strong_signals(void **state)
{
    (void)state;
    check(&(struct setting){8, 4000, 0.3, 0.85, 7.032, 0.50}, 1);
    check(&(struct setting){8, 4000, 0.3, 0.85, 3.731, 0.68}, 2);
    check(&(struct setting){8, 4000, 0.3, 0.85, 1.994, 0.79}, 3);
    check(&(struct setting){8, 4000, 0.3, 0.85, 0.5, 0.845}, 4);
}

static void test_moderate_signals(void **state)
{
    (void)state;
    check(&(struct setting){9, 12000, 0.0, 0.4, 7.032, 0.28}, 5);
    check(&(struct setting){9, 12000, 0.0, 0.4, 3.731, 0.365}, 6);
    check(&(struct setting){20, 12000, 0.5, 0.4, 1.994, 0.35}, 7);
}

static void test_next_to_nothing(void **state)
{
    (void)state;
    check(&(struct setting){5, 600, 0.0, 0.02, 7.032, -0.08}, 8);
    check(&(struct setting){10, 3000, 0.0, 0.02, 7.032, -0.08}, 9);
    check(&(struct setting){10, 3000, 0.0, 0.02, 40.0, -0.05}, 10);
    check(&(struct setting){10, 500, 0.8, 0.5, 40.0, -0.05}, 11);
}

/* ---------------------------------------------------------------- private responses */

enum { PRIVATE_FEATURES = 6, PRIVATE_DEVICES = 2400, PRIVATE_STUDIES = 40 };

/* Six even features and a response within -1..1, R^2 0.55, and noise of the same sd
 * on all seven; the bound is printed. Answers the population R^2. */
static double private_study(struct tremolo_fit *fit, double noise_sd, struct fast_random *random)
{
    static const double beta[PRIVATE_FEATURES] = {0.25, 0.15, -0.12, 0.1, -0.06, 0.02};
    const double even = 0.28; /* half width of the residual */
    double scale = 64.0 / noise_sd;
    double b[PRIVATE_FEATURES];
    struct tremolo_debiased *evidence = NULL;
    struct tremolo_fit_options options = TREMOLO_FIT_DEFAULTS;
    struct tremolo_sample_release release = {.dimension = PRIVATE_FEATURES,
                                             .keep = 1.0,
                                             .noise_variance = 64.0 * 64.0 + 1.0 / 12.0,
                                             .feature_scale = scale,
                                             .response_scale = scale,
                                             .response_private = true,
                                             .largest = 1.0};
    fast_fold_reset(&fold, PRIVATE_FEATURES + 1);
    for (size_t i = 0; i < PRIVATE_DEVICES; i++) {
        int64_t row[PRIVATE_FEATURES + 1];
        double y = even * (2.0 * fast_uniform(random) - 1.0);
        for (size_t j = 0; j < PRIVATE_FEATURES; j++) {
            double x = 2.0 * fast_uniform(random) - 1.0;
            y += beta[j] * x;
            row[j] = llrint(scale * (x + noise_sd * fast_normal(random)));
        }
        row[PRIVATE_FEATURES] = llrint(scale * (y + noise_sd * fast_normal(random)));
        fast_fold_add(&fold, i % TREMOLO_BUCKETS, row);
    }
    assert_int_equal(tremolo_debias_new(&evidence, fold.view, &release), TREMOLO_OK);
    assert_int_equal(tremolo_fit(b, fit, evidence, &options), TREMOLO_OK);
    tremolo_debias_free(evidence);
    double residual = even * even / 3.0;
    double off = fit->intercept * fit->intercept + residual;
    double all = residual;
    for (size_t j = 0; j < PRIVATE_FEATURES; j++) {
        off += (b[j] - beta[j]) * (b[j] - beta[j]) / 3.0;
        all += beta[j] * beta[j] / 3.0;
    }
    return 1.0 - off / all;
}

/* Noise that hides the response and its mean must not be fitted, nor be taken for an
 * R^2. An uncertain mean costs a little too, so the floors are below zero. */
static void test_private_response(void **state)
{
    static const struct {
        double noise, floor, spoken; /* spoken: most studies that may claim an R^2 */
    } cases[] = {{30.0, -0.02, 0.1}, {16.0, -0.02, 0.1}, {8.0, -0.04, 0.1},
                 {4.0, -0.04, 0.1},  {1.0, 0.33, 0.9},   {0.25, 0.56, 2.0}};
    struct fast_random random;
    (void)state;
    fast_seed(&random, 12);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double mean = 0.0, spoken = 0.0;
        for (size_t t = 0; t < PRIVATE_STUDIES; t++) {
            struct tremolo_fit fit;
            mean += private_study(&fit, cases[c].noise, &random) / PRIVATE_STUDIES;
            spoken += isnan(fit.r2) ? 0.0 : 1.0 / PRIVATE_STUDIES;
        }
        print_message("# private response, noise=%g: auto %.3f, R2 claimed in %.2f\n",
                      cases[c].noise, mean, spoken);
        assert_true(mean >= cases[c].floor);
        assert_true(spoken <= cases[c].spoken);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strong_signals),
        cmocka_unit_test(test_moderate_signals),
        cmocka_unit_test(test_next_to_nothing),
        cmocka_unit_test(test_private_response),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
