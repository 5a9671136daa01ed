/* test_device_ballot.c -- what ballots say on average.
 *
 * Hypothesis: for a fixed sample, c / sqrt 40 times the row of the answer sent has the
 * mean phi, the products of the sample's point. BALLOTS ballots through the device's own
 * code with fixed seeds; each of the 16 means has the standard error c / sqrt BALLOTS at
 * most. One beyond 5 of them, or the mean product with phi off by as much: probability
 * below 2e-5 for honest code. Entries of 32 counted bits are not quite normal, which
 * moves phi by less than 0.3%, half a standard error here. Ballots of another point are
 * caught. */
#include <math.h>

#include "fake_device.h"
#include "parts.h"
#include "testing.h"
#include "accountant.h"

enum { D = 3, ENTRIES = (D + 2) * (D + 3) / 2 + 1, BALLOTS = 40000 };

static const int32_t features[D] = {600, -1500, 250};
static const struct tremolo_sample the_sample = {features, -400, 0};

static struct tremolo_study make_study(void)
{
    struct tremolo_study study = fake_study(D, 9);
    study.release = TREMOLO_RELEASE_BALLOT;
    study.rounds = 1;
    study.response = TREMOLO_RESPONSE_PRIVATE;
    study.constant = 154;
    study.response_weight = TREMOLO_BALLOT_WEIGHT(154);
    study.rank_first = 57;
    study.rank_top = UINT32_C(2923410234);
    return study;
}

static void true_point(double *phi, const struct tremolo_study *study)
{
    double v[D + 2];
    double g = study->response_weight / 256.0;
    double full = g * g;
    double whole = 0;
    unsigned entry = 0;
    v[0] = study->constant / 256.0;
    for (unsigned i = 0; i < D; i++) {
        double width = study->bounds[i].high - study->bounds[i].low;
        v[1 + i] = 2.0 * (features[i] - study->bounds[i].low) / width - 1.0;
    }
    for (unsigned i = 0; i <= D; i++) {
        full += v[i] * v[i];
    }
    v[D + 1] = g * the_sample.response / 1000.0;
    for (unsigned i = 0; i < D + 2; i++) {
        for (unsigned j = i; j < D + 2; j++) {
            double times = i == j ? 1.0 : sqrt(2.0);
            if (j == D + 1) {
                times *= i == 0 ? 1.5 : i == j ? 0.5 : 1.0;
            }
            phi[entry] = times * v[i] * v[j] / full;
            whole += phi[entry] * phi[entry];
            entry++;
        }
    }
    phi[entry] = sqrt(1.0 - whole);
}

/* The sum of the rows of many ballots. */
static void sum_rows(double *sums, const struct tremolo_study *study)
{
    static struct tremolo_work work;
    struct fake_device device;
    fake_device_init(&device, 811);
    struct tremolo_platform platform = fake_device_platform(&device, 1, 0);
    for (unsigned k = 0; k < BALLOTS; k++) {
        int8_t row[ENTRIES];
        uint8_t answer;
        work.study = study;
        work.sample = &the_sample;
        assert_status(
            tremolo_generator_seed(&work.generator, &platform, added_nothing, added_nothing),
            TREMOLO_OK);
        for (unsigned i = 0; i < TREMOLO_REPORT_ID_BYTES; i++) {
            work.id[i] = tremolo_generator_byte(&work.generator);
        }
        tremolo_ballot_draw(&work);
        answer = tremolo_ballot_answer(&work);
        struct tremolo_report report = {
            .study_tag = study->id, .id = work.id, .coordinates = &answer, .coordinate_bytes = 1};
        assert_status(tremolo_ballot_expand(row, sizeof row, &report, study), TREMOLO_OK);
        for (unsigned i = 0; i < ENTRIES; i++) {
            sums[i] += row[i];
        }
    }
}

static double scale_of(const struct tremolo_study *study)
{
    struct tremolo_rank_law law = {study->rank_first, study->rank_top};
    double c = 0;
    assert_status(tremolo_rank_scale(&c, &law), TREMOLO_OK);
    return c;
}

/* The largest distance of a mean from phi, and that of the mean product with phi from 1,
 * in standard errors. */
static double largest_error(const double *sums, const double *phi, double c)
{
    double error = c / sqrt(BALLOTS);
    double product = 0;
    double largest = 0;
    for (unsigned i = 0; i < ENTRIES; i++) {
        double mean = c / sqrt(40.0) * sums[i] / BALLOTS;
        largest = fmax(largest, fabs(mean - phi[i]) / error);
        product += mean * phi[i];
    }
    return fmax(largest, fabs(product - 1.0) / error);
}

static void test_ballots_are_unbiased(void **state)
{
    struct tremolo_study study = make_study();
    double phi[ENTRIES];
    double sums[ENTRIES] = {0};
    (void)state;
    sum_rows(sums, &study);
    true_point(phi, &study);
    print_message("# largest error %.2f standard errors\n",
                  largest_error(sums, phi, scale_of(&study)));
    assert_true(largest_error(sums, phi, scale_of(&study)) < 5);
    /* The same ballots, taken for those of another point. */
    double first = phi[1];
    phi[1] = phi[2];
    phi[2] = first;
    assert_true(largest_error(sums, phi, scale_of(&study)) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ballots_are_unbiased)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
