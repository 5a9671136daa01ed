/* test_regression_ballot.c -- intervals from ballots contain the truth as often as they say,
 * and predictions are never much worse than the mean.
 *
 * Hypothesis: nominal 95% intervals for slopes and intercept cover 94 to 96.5% of the time,
 * and both standard errors are within 5% of the empirical ones, while the noise ratio is at
 * most 0.15; score sets cover at least 94% at any noise. 2,000 studies of four coefficients:
 * one coverage has a standard deviation of 0.0049, their mean of at most 0.0025 to 0.004;
 * empirical standard deviations have a relative error of 1.6%. Seeds are fixed.
 *
 * An analysis told half of the noise's standard deviation must fail the same check of model errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made_ballots.h"

enum { D = 3, P = D + 1, STUDIES = 2000 };

struct tally {
    double covered;
    double by_score;
    double bounded;
    double error_ratio; /* mean standard error / empirical sd, averaged */
    double model_ratio;
};

static struct made_ballots ballots;

static int score_covers(const struct tremolo_coefficient *row, double truth)
{
    int inside = row->score_low <= truth && truth <= row->score_high;
    return row->score_shape == TREMOLO_INTERVAL_OUTSIDE
               ? truth <= row->score_low || truth >= row->score_high
               : inside;
}

static struct tally run(const struct made_population *made, uint64_t seed, double told)
{
    struct tremolo_random random = tremolo_random_from(seed, 0);
    struct tally tally = {0};
    double sum[P] = {0};
    double square[P] = {0};
    double error[P] = {0};
    double model[P] = {0};
    const double all = (double)STUDIES * P;
    for (int t = 0; t < STUDIES; t++) {
        struct tremolo_ballot *taken = NULL;
        struct tremolo_coefficient rows[P];
        made_draw(&ballots, made, &random);
        ballots.release.c *= told;
        ballots.release.row_scale *= told;
        assert_int_equal(
            tremolo_ballot_new(&taken, ballots.sums, TREMOLO_BUCKETS, &ballots.release),
            TREMOLO_OK);
        assert_int_equal(tremolo_ballot_infer(rows, taken, NULL, 0.95), TREMOLO_OK);
        tremolo_ballot_free(taken);
        for (size_t j = 0; j < P; j++) {
            double truth = j < D ? made->slope[j] : made->intercept;
            sum[j] += rows[j].estimate;
            square[j] += rows[j].estimate * rows[j].estimate;
            error[j] += rows[j].standard_error;
            model[j] += rows[j].model_error;
            tally.covered += (rows[j].low <= truth && truth <= rows[j].high) / all;
            tally.by_score += score_covers(&rows[j], truth) / all;
            tally.bounded += (rows[j].score_shape == TREMOLO_INTERVAL_BOUNDED) / all;
        }
    }
    for (size_t j = 0; j < P; j++) {
        double mean = sum[j] / STUDIES;
        double sd = sqrt(square[j] / STUDIES - mean * mean);
        tally.error_ratio += error[j] / STUDIES / sd / P;
        tally.model_ratio += model[j] / STUDIES / sd / P;
    }
    print_message("# devices %.0f: covered %.4f, score %.4f (bounded %.2f), errors/empirical %.3f "
                  "and %.3f\n",
                  made->devices, tally.covered, tally.by_score, tally.bounded, tally.error_ratio,
                  tally.model_ratio);
    return tally;
}

static void check(bool response_public, double devices, uint64_t seed)
{
    struct made_population made = made_population(D, response_public, devices, 1.279);
    struct tally tally = run(&made, seed, 1.0);
    assert_true(tally.covered >= 0.94 && tally.covered <= 0.965);
    assert_true(tally.by_score >= 0.94);
    assert_true(fabs(tally.error_ratio - 1.0) <= 0.05);
    assert_true(fabs(tally.model_ratio - 1.0) <= 0.05);
}

static void test_intervals(void **state)
{
    (void)state;
    check(false, 50000, 21);
    check(true, 50000, 22);
}

static void test_score_sets_at_any_noise(void **state)
{
    (void)state;
    struct made_population made = made_population(D, false, 2000, 1.279);
    assert_true(run(&made, 23, 1.0).by_score >= 0.94);
    made = made_population(D, true, 500, 1.279);
    assert_true(run(&made, 24, 1.0).by_score >= 0.94);
}

static void test_wrong_noise_is_noticed(void **state)
{
    (void)state;
    struct made_population made = made_population(D, false, 50000, 1.279);
    assert_true(run(&made, 21, 0.5).model_ratio < 0.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_score_sets_at_any_noise),
        cmocka_unit_test(test_wrong_noise_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
