/* test_regression_coverage.c -- intervals contain the truth as often as they say.
 *
 * Hypothesis: nominal 95% intervals cover 94 to 96.5% of the time and average
 * standard errors are within 5% of the empirical ones while the noise ratio
 * sigma^2 sqrt(d/K) / lambda_min is at most 0.1; score sets cover at least 94% at
 * any noise.
 *
 * Sample sizes and false alarms, for the fixed seeds below: a coverage over 2,000
 * studies of d + 1 coefficients has a standard deviation of at most 0.0049 for one
 * coefficient and, coefficients being nearly independent, 0.002 for the mean of
 * six and 0.0011 for that of 21. True coverage was measured at 0.950 to 0.956 in
 * longer runs, so a mean outside 0.94..0.965 is a 4.5 sigma event (below 1e-5).
 * Empirical standard deviations over 2,000 studies have a relative error of 1.6%;
 * the check is on their mean over coefficients (0.7%), so 5% is 6 sigma. Score sets
 * measured 0.955 or more: below 0.94 is 7 sigma.
 *
 * A broken analysis, which forgets to remove the noise, must fail the same check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fast_reports.h"

struct tally {
    double covered;
    double covered_by_score;
    double error_ratio; /* mean standard error / empirical sd, averaged */
};

static struct fast_fold fold;

struct sums {
    double estimate[FAST_MAX];
    double square[FAST_MAX];
    double error[FAST_MAX];
    double covered;
    double scored;
};

static int score_covers(const struct tremolo_coefficient *row, double truth)
{
    int inside = row->score_low <= truth && truth <= row->score_high;
    return row->score_shape == TREMOLO_INTERVAL_OUTSIDE
               ? truth <= row->score_low || truth >= row->score_high
               : inside;
}

static void add_study(struct sums *sums, const struct tremolo_coefficient *rows,
                      const double *truth, size_t p)
{
    for (size_t j = 0; j < p; j++) {
        sums->estimate[j] += rows[j].estimate;
        sums->square[j] += rows[j].estimate * rows[j].estimate;
        sums->error[j] += rows[j].standard_error;
        sums->covered += rows[j].low <= truth[j] && truth[j] <= rows[j].high;
        sums->scored += score_covers(&rows[j], truth[j]);
    }
}

static struct tally conclude(const struct sums *sums, size_t p, double studies)
{
    struct tally tally = {.covered = sums->covered / (studies * (double)p),
                          .covered_by_score = sums->scored / (studies * (double)p)};
    for (size_t j = 0; j < p; j++) {
        double mean = sums->estimate[j] / studies;
        double sd = sqrt(sums->square[j] / studies - mean * mean);
        tally.error_ratio += sums->error[j] / studies / sd / (double)p;
    }
    return tally;
}

struct setting {
    size_t d;
    size_t devices;
    size_t studies;
    double ratio; /* sigma^2 sqrt(d/K) / lambda_min */
    uint64_t seed;
    int broken;
};

static struct tally run(const struct setting *setting)
{
    const double correlation = 0.5;
    size_t d = setting->d;
    double factor[FAST_MAX * FAST_MAX];
    double truth[FAST_MAX];
    double mean[FAST_MAX];
    struct sums sums = {0};
    struct fast_random random;
    fast_equicorrelation(factor, d, correlation);
    for (size_t j = 0; j < d; j++) {
        truth[j] = j % 3 == 0 ? 0.5 : j % 3 == 1 ? -0.2 : 0.0;
        mean[j] = 0.3;
    }
    truth[d] = 0.7;
    double noise2 =
        setting->ratio * (1.0 - correlation) / sqrt((double)d / (double)setting->devices);
    struct fast_study study = {d, setting->devices, factor, mean, truth, 0.7, 0.5, sqrt(noise2)};
    fast_seed(&random, setting->seed);
    for (size_t t = 0; t < setting->studies; t++) {
        struct tremolo_coefficient rows[FAST_MAX];
        struct tremolo_debiased *evidence = NULL;
        struct tremolo_sample_release release = fast_release(&study);
        if (setting->broken) {
            release.noise_variance = 0.0;
        }
        fast_run(&fold, &study, &random);
        assert_int_equal(tremolo_debias_new(&evidence, fold.view, &release), TREMOLO_OK);
        assert_int_equal(tremolo_infer(rows, evidence, NULL, 0.95), TREMOLO_OK);
        add_study(&sums, rows, truth, d + 1);
        tremolo_debias_free(evidence);
    }
    return conclude(&sums, d + 1, (double)setting->studies);
}

static void check_well_identified(const struct setting *setting)
{
    struct tally tally = run(setting);
    print_message("# d=%zu ratio=%g: covered %.4f, score %.4f, error/empirical %.3f\n", setting->d,
                  setting->ratio, tally.covered, tally.covered_by_score, tally.error_ratio);
    assert_true(tally.covered >= 0.94 && tally.covered <= 0.965);
    assert_true(tally.covered_by_score >= 0.94);
    assert_true(fabs(tally.error_ratio - 1.0) <= 0.05);
}

static void test_five_features(void **state)
{
    (void)state;
    check_well_identified(&(struct setting){5, 2000, 2000, 0.02, 11, 0});
    check_well_identified(&(struct setting){5, 2000, 2000, 0.1, 12, 0});
}

static void test_twenty_features(void **state)
{
    (void)state;
    check_well_identified(&(struct setting){20, 4000, 2000, 0.1, 13, 0});
}

static void test_score_sets_at_any_noise(void **state)
{
    (void)state;
    static const double ratios[] = {0.3, 1.0, 3.0, 30.0};
    for (size_t k = 0; k < sizeof ratios / sizeof ratios[0]; k++) {
        struct tally tally = run(&(struct setting){5, 1000, 1000, ratios[k], 14 + k, 0});
        print_message("# ratio=%g: score sets cover %.4f\n", ratios[k], tally.covered_by_score);
        assert_true(tally.covered_by_score >= 0.94);
    }
}

static void test_forgotten_debiasing_is_caught(void **state)
{
    (void)state;
    struct tally tally = run(&(struct setting){5, 2000, 300, 0.1, 12, 1});
    assert_true(tally.covered < 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_five_features),
        cmocka_unit_test(test_twenty_features),
        cmocka_unit_test(test_score_sets_at_any_noise),
        cmocka_unit_test(test_forgotten_debiasing_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
