/* test_regression_diagnosis.c -- what is said apart from the coefficients holds as often as it says.
 *
 * Hypothesis: at 95 % the intervals of a mean response (by the covariance), of variance
 * inflation and of the residuals' standard deviation cover 92 to 98 % of the time while the
 * noise ratio is at most 0.1, for noisy samples and for ballots; the F test rejects a true
 * hypothesis at 5 % in at most 8 % of studies however large the noise is, and finds an effect
 * that is there. 1,000 studies: a coverage has a standard deviation of 0.007, so one outside
 * 0.92..0.98 is a 4 sigma event (below 1e-4 each), and 0.08 false rejections, too. Seeds are
 * fixed.
 *
 * An analysis that forgets to remove the noise, and one with too small a t, fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fast_reports.h"
#include "made_ballots.h"
#include "regression.h"

enum { D = 4, P = D + 1, STUDIES = 1000 };

struct tally {
    double mean; /* shares of studies with an interval that held the truth: of a mean response, */
    double inflation; /* of the first feature's inflation, */
    double residual;  /* of the residual standard deviation */
    double rejected;  /* by the F test at 5 % */
    double diagonal;  /* largest relative difference to tremolo_infer()'s errors */
};

struct truth {
    double beta[FAST_MAX], intercept, inflation, residual;
};

static struct fast_fold fold;
static struct made_ballots ballots;

static void count(struct tally *tally, const struct tremolo_diagnosis *found,
                  const struct tremolo_coefficient *rows, const struct truth *truth, double t)
{
    static const double at[P] = {0.5, -0.3, 0.8, 0.1, 1.0};
    double off = 0.0;
    double variance = 0.0;
    assert_non_null(found->covariance);
    for (size_t i = 0; i < P; i++) {
        off += at[i] * (rows[i].estimate - (i < D ? truth->beta[i] : truth->intercept));
        double error = sqrt(found->covariance[i * P + i]) / rows[i].standard_error;
        tally->diagonal = fmax(tally->diagonal, fabs(error - 1.0));
        for (size_t j = 0; j < P; j++) {
            variance += at[i] * at[j] * found->covariance[i * P + j];
        }
    }
    const struct tremolo_measured *inflation = &found->inflation[0];
    const struct tremolo_measured *residual = &found->residual_sd;
    tally->mean += fabs(off) <= t * sqrt(variance) ? 1.0 / STUDIES : 0.0;
    tally->inflation += inflation->low <= truth->inflation && truth->inflation <= inflation->high
                            ? 1.0 / STUDIES
                            : 0.0;
    tally->residual +=
        residual->low <= truth->residual && truth->residual <= residual->high ? 1.0 / STUDIES : 0.0;
    tally->rejected += found->f_test.p <= 0.05 ? 1.0 / STUDIES : 0.0;
}

/* Equal correlation rho: the inflation of every feature. */
static double inflation_of(double rho, double d)
{
    return (1.0 + (d - 2.0) * rho) / ((1.0 - rho) * (1.0 + (d - 1.0) * rho));
}

struct setting {
    double ratio; /* of noise, as in test_regression_coverage.c */
    double slope;
    double t;
    uint64_t seed;
    bool broken; /* the noise is not removed */
};

static struct tally of_samples(const struct setting *setting)
{
    const size_t devices = 2000;
    double factor[FAST_MAX * FAST_MAX];
    struct tally tally = {0};
    struct truth truth = {.intercept = 0.7, .inflation = inflation_of(0.5, D), .residual = 0.5};
    struct fast_random random;
    fast_equicorrelation(factor, D, 0.5);
    for (size_t j = 0; j < D; j++) {
        truth.beta[j] = setting->slope * (j % 2 == 0 ? 1.0 : -0.5);
    }
    double noise = sqrt(setting->ratio * 0.5 / sqrt((double)D / (double)devices));
    struct fast_study study = {D, devices, factor, NULL, truth.beta, 0.7, 0.5, noise};
    fast_seed(&random, setting->seed);
    for (int k = 0; k < STUDIES; k++) {
        struct tremolo_debiased *evidence = NULL;
        struct tremolo_sample_release release = fast_release(&study);
        struct tremolo_fit_options options = {TREMOLO_METHOD_UNBIASED, true, 0.0};
        struct tremolo_fit fit;
        struct tremolo_coefficient rows[P];
        struct tremolo_diagnosis found;
        double beta[D];
        release.noise_variance *= setting->broken ? 0.0 : 1.0;
        fast_run(&fold, &study, &random);
        assert_int_equal(tremolo_debias_new(&evidence, fold.view, &release), 0);
        assert_int_equal(tremolo_infer(rows, evidence, NULL, 0.95), 0);
        assert_int_equal(tremolo_fit(beta, &fit, evidence, &options), 0);
        assert_int_equal(tremolo_diagnose(&found, evidence, NULL, beta, &fit, NULL, 0.95), 0);
        if (setting->slope != 0.0) {
            count(&tally, &found, rows, &truth, setting->t);
        } else {
            tally.rejected += found.f_test.p <= 0.05 ? 1.0 / STUDIES : 0.0;
        }
        tremolo_diagnosis_free(&found);
        tremolo_debias_free(evidence);
    }
    return tally;
}

static struct tally of_ballots(double devices, double slope, bool response_public, uint64_t seed)
{
    struct made_population made = made_population(D, response_public, devices, 3.0);
    struct tally tally = {0};
    struct truth truth = {.intercept = made.intercept,
                          .inflation = inflation_of(made.correlation, D),
                          .residual = sqrt(made.residual)};
    struct tremolo_random random = tremolo_random_from(seed, 0);
    for (size_t j = 0; j < D; j++) {
        made.slope[j] = truth.beta[j] = slope * (j % 2 == 0 ? 1.0 : -0.5);
    }
    for (int k = 0; k < STUDIES; k++) {
        struct tremolo_ballot *taken = NULL;
        struct tremolo_ballot_fit fit;
        struct tremolo_coefficient rows[P];
        struct tremolo_diagnosis found;
        double beta[D];
        made_draw(&ballots, &made, &random);
        assert_int_equal(tremolo_ballot_new(&taken, ballots.sums, &ballots.release), 0);
        assert_int_equal(tremolo_ballot_infer(rows, taken, NULL, 0.95), 0);
        assert_int_equal(tremolo_ballot_fit(beta, &fit, taken, TREMOLO_METHOD_UNBIASED, 0.95), 0);
        assert_int_equal(tremolo_diagnose(&found, NULL, taken, beta, &fit.fit, NULL, 0.95), 0);
        if (slope != 0.0) {
            count(&tally, &found, rows, &truth, tremolo_student_quantile(0.975, 31.0));
        } else {
            tally.rejected += found.f_test.p <= 0.05 ? 1.0 / STUDIES : 0.0;
        }
        tremolo_diagnosis_free(&found);
        tremolo_ballot_free(taken);
    }
    return tally;
}

static void show(const char *what, const struct tally *tally)
{
    print_message("# %s: mean %.3f, inflation %.3f, residual %.3f, F %.3f, diagonal %.1e\n", what,
                  tally->mean, tally->inflation, tally->residual, tally->rejected, tally->diagonal);
}

static bool holds(double covered)
{
    return covered >= 0.92 && covered <= 0.98;
}

static void check(const char *what, struct tally tally)
{
    show(what, &tally);
    assert_true(holds(tally.mean));
    assert_true(holds(tally.inflation));
    assert_true(holds(tally.residual));
    assert_true(tally.rejected > 0.99);
    assert_true(tally.diagonal < 1e-6);
}

static void test_samples(void **state)
{
    (void)state;
    double t = tremolo_student_quantile(0.975, 31.0);
    check("samples, ratio 0.03", of_samples(&(struct setting){0.03, 0.5, t, 1, false}));
    check("samples, ratio 0.1", of_samples(&(struct setting){0.1, 0.5, t, 2, false}));
}

static void test_ballots(void **state)
{
    (void)state;
    check("ballots, all", of_ballots(2e6, 0.4, false, 3));
    check("ballots, features", of_ballots(2e6, 0.4, true, 4));
}

static void test_f_keeps_its_level_at_any_noise(void **state)
{
    static const double ratios[] = {0.03, 1.0, 30.0};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct tally tally = of_samples(&(struct setting){ratios[i], 0.0, 2.0, 5 + i, false});
        print_message("# samples, ratio %g: F rejects %.3f\n", ratios[i], tally.rejected);
        assert_true(tally.rejected <= 0.08);
    }
    for (size_t i = 0; i < 2; i++) {
        struct tally tally = of_ballots(i == 0 ? 2e6 : 2e4, 0.0, i == 1, 8 + i);
        print_message("# ballots: F rejects %.3f\n", tally.rejected);
        assert_true(tally.rejected <= 0.08);
    }
}

static void test_broken_ones_are_caught(void **state)
{
    (void)state;
    double t = tremolo_student_quantile(0.975, 31.0);
    struct tally noisy = of_samples(&(struct setting){0.1, 0.5, t, 2, true});
    struct tally narrow = of_samples(&(struct setting){0.03, 0.5, 0.7 * t, 1, false});
    assert_false(holds(noisy.mean) || holds(noisy.inflation) || holds(noisy.residual));
    assert_false(holds(narrow.mean));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_ballots),
        cmocka_unit_test(test_f_keeps_its_level_at_any_noise),
        cmocka_unit_test(test_broken_ones_are_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
