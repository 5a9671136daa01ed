/* test_regression_theory.c -- the paper's identities through the real device core.
 *
 * Fixed data on K devices, many independent releases. Every report is made by the
 * device core from seeded entropy, decoded from its bytes, folded and debiased.
 *
 * Hypotheses: S, Z and the gradient G = S beta - Z have mean equal to the data's own
 * moments, for one vector and for several, and with a private response; and
 * E|G - grad|^2 is the theorem's.
 *
 * Sample size 4,000 releases of 40 devices. Every mean is compared within 5 of its
 * estimated standard errors; about 60 comparisons of 6e-7 each give a false-alarm
 * probability of 4e-5 had the seed not been fixed. The variance over 4,000 releases
 * has a relative standard error near 1%; 5% is allowed, 5 sigma.
 *
 * Removing the modulation's share from the correction must be caught. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fast_reports.h"
#include "tremolo_device.h"

enum { D = 5, DEVICES = 40, RELEASES = 4000, MAX_M = 3, MOMENTS = (D + 1) * (D + 1) };

/* ---------------------------------------------------------------- one device */

struct memory {
    struct tremolo_slot slots[2];
    struct fast_random *random;
};

static int take_entropy(void *context, uint8_t *bytes, size_t length)
{
    struct memory *memory = context;
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (uint8_t)(fast_bits(memory->random) >> 32);
    }
    return 0;
}

static int read_slot(void *context, unsigned slot, uint8_t *bytes, size_t length)
{
    struct memory *memory = context;
    memcpy(bytes, &memory->slots[slot], length);
    return 0;
}

static int write_slot(void *context, unsigned slot, const uint8_t *bytes, size_t length)
{
    struct memory *memory = context;
    memcpy(&memory->slots[slot], bytes, length);
    return 0;
}

static void release_one(int64_t *row, const struct tremolo_study *study,
                        const struct tremolo_round *round, const struct tremolo_sample *sample,
                        struct fast_random *random)
{
    static struct tremolo_work work;
    static struct memory memory;
    memset(&memory, 0, sizeof memory);
    memory.random = random;
    struct tremolo_platform platform = {.context = &memory,
                                        .entropy = take_entropy,
                                        .read = read_slot,
                                        .write = write_slot,
                                        .studies = 1};
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    size_t length = sizeof bytes;
    struct tremolo_report report;
    int16_t values[D + 1];
    assert_int_equal(tremolo_device_enrol(&work, &platform, tremolo_study_charge(study), 0),
                     TREMOLO_OK);
    assert_int_equal(tremolo_device_report(&work, bytes, &length, study, round, sample, &platform),
                     TREMOLO_OK);
    assert_int_equal(tremolo_report_decode(&report, bytes, length), TREMOLO_OK);
    assert_int_equal(tremolo_report_unpack(values, D + 1, &report, study), TREMOLO_OK);
    for (size_t j = 0; j < D; j++) {
        row[j] = values[j];
    }
    row[D] = study->response == TREMOLO_RESPONSE_PRIVATE ? values[D] : report.response;
}

/* ---------------------------------------------------------------- the study */

enum { RANGE = 30000, UNIT = 1 << 18, NOISE_LOG2 = 17, WIRE_SHIFT = 11 };

struct laboratory {
    struct tremolo_bounds bounds[D];
    int16_t vectors[MAX_M * D];
    double V[MAX_M * D];
    int32_t features[DEVICES][D];
    int32_t responses[DEVICES];
    double x[DEVICES][D + 1]; /* scaled, response last */
    struct tremolo_study study;
    struct tremolo_round round;
    struct tremolo_sample_release release;
    double beta[D];
};

static struct laboratory lab;
static struct fast_fold fold;

static void make_data(struct laboratory *l)
{
    struct fast_random random;
    fast_seed(&random, 2024);
    for (size_t i = 0; i < DEVICES; i++) {
        double common = fast_normal(&random);
        for (size_t j = 0; j < D; j++) {
            double value = 0.3 * tanh(0.6 * common + 0.8 * fast_normal(&random));
            l->features[i][j] = (int32_t)lrint(value * RANGE);
            l->x[i][j] = (double)l->features[i][j] / RANGE;
        }
        double y = 0.5 * l->x[i][0] - 0.7 * l->x[i][2] + 0.1 * tanh(fast_normal(&random));
        l->responses[i] = (int32_t)lrint(y * RANGE);
        l->x[i][D] = (double)l->responses[i] / RANGE;
    }
}

static void make_study(struct laboratory *l, unsigned m, int private_response)
{
    double direction[D] = {0.6, -0.2, 0.5, 0.1, -0.4};
    memcpy(l->beta, direction, sizeof direction);
    assert_int_equal(tremolo_directions(l->V, m, l->beta, D, 99, 0), TREMOLO_OK);
    for (size_t k = 0; k < m * D; k++) {
        l->vectors[k] = (int16_t)lrint(l->V[k] * TREMOLO_VECTOR_ONE);
        l->V[k] = (double)l->vectors[k] / TREMOLO_VECTOR_ONE;
    }
    for (size_t j = 0; j < D; j++) {
        l->bounds[j] = (struct tremolo_bounds){-RANGE, RANGE};
    }
    double lambda = 0.4;
    l->study = (struct tremolo_study){
        .id = "theory",
        .bounds = l->bounds,
        .response_bounds = {-RANGE, RANGE},
        .unit = UNIT,
        .clip = 4 * UNIT,
        .dimension = D,
        .keep = TREMOLO_KEEP_ONE / 4 * 3,
        .vectors = (uint16_t)m,
        .amplitude = (uint32_t)lrint(lambda / sqrt(m) * UNIT),
        .frequency = 1u << 21,
        .rounds = 1,
        .samples = 1,
        .noise_log2 = NOISE_LOG2,
        .wire_shift = WIRE_SHIFT,
        .wire_bits = 12,
        .response = private_response ? TREMOLO_RESPONSE_PRIVATE : TREMOLO_RESPONSE_PUBLIC,
    };
    l->round = (struct tremolo_round){l->vectors, 0};
    double sd = ldexp(1.0, NOISE_LOG2 - WIRE_SHIFT);
    double wave = (double)l->study.amplitude / ldexp(1.0, WIRE_SHIFT);
    double unit = (double)UNIT / ldexp(1.0, WIRE_SHIFT);
    l->release = (struct tremolo_sample_release){
        .dimension = D,
        .keep = 0.75,
        .noise_variance = sd * sd + 1.0 / 12.0,
        .modulation = 0.5 * wave * wave,
        .vectors = m,
        .V = l->V,
        .feature_scale = unit,
        .response_scale = private_response ? unit : TREMOLO_RESPONSE_MAX,
        .response_private = private_response,
    };
    assert_int_equal(tremolo_study_check(&l->study), TREMOLO_OK);
    assert_int_equal(tremolo_round_check(&l->study, &l->round), TREMOLO_OK);
}

/* ---------------------------------------------------------------- measuring */

struct measured {
    double mean[MOMENTS]; /* S in rows 0..D-1, Z in row D, yy last */
    double square[MOMENTS];
    double gradient[D];
    double gradient_square[D];
    double variance; /* mean |G - grad|^2 */
};

static void true_moments(double *moments, double *gradient, const struct laboratory *l)
{
    memset(moments, 0, MOMENTS * sizeof *moments);
    memset(gradient, 0, D * sizeof *gradient);
    for (size_t i = 0; i < DEVICES; i++) {
        double residual = -l->x[i][D];
        for (size_t j = 0; j < D; j++) {
            residual += l->x[i][j] * l->beta[j];
        }
        for (size_t j = 0; j <= D; j++) {
            for (size_t k = 0; k <= D; k++) {
                moments[j * (D + 1) + k] += l->x[i][j] * l->x[i][k] / DEVICES;
            }
        }
        for (size_t j = 0; j < D; j++) {
            gradient[j] += l->x[i][j] * residual / DEVICES;
        }
    }
}

static void one_release(double *moments, double *gradient, const struct laboratory *l,
                        struct fast_random *random)
{
    double S[D * D];
    double Z[D];
    double yy = 0.0;
    struct tremolo_debiased *evidence = NULL;
    fast_fold_reset(&fold, D + 1);
    for (size_t i = 0; i < DEVICES; i++) {
        struct tremolo_sample sample = {l->features[i], l->responses[i], 0};
        int64_t row[D + 1];
        release_one(row, &l->study, &l->round, &sample, random);
        fast_fold_add(&fold, i % TREMOLO_BUCKETS, row);
    }
    assert_int_equal(tremolo_debias_new(&evidence, fold.view, &l->release), TREMOLO_OK);
    tremolo_debias_moments(S, Z, &yy, evidence, false);
    tremolo_debias_free(evidence);
    for (size_t i = 0; i < D; i++) {
        gradient[i] = -Z[i];
        for (size_t j = 0; j < D; j++) {
            moments[i * (D + 1) + j] = S[i * D + j];
            gradient[i] += S[i * D + j] * l->beta[j];
        }
        moments[i * (D + 1) + D] = Z[i];
        moments[D * (D + 1) + i] = Z[i];
    }
    moments[MOMENTS - 1] = yy;
}

static struct measured measure(const struct laboratory *l, uint64_t seed)
{
    struct measured sums = {0};
    struct fast_random random;
    double truth[MOMENTS];
    double slope[D];
    true_moments(truth, slope, l);
    fast_seed(&random, seed);
    for (size_t t = 0; t < RELEASES; t++) {
        double moments[MOMENTS];
        double gradient[D];
        one_release(moments, gradient, l, &random);
        for (size_t i = 0; i < MOMENTS; i++) {
            sums.mean[i] += moments[i] / RELEASES;
            sums.square[i] += moments[i] * moments[i] / RELEASES;
        }
        for (size_t i = 0; i < D; i++) {
            double off = gradient[i] - slope[i];
            sums.gradient[i] += off / RELEASES;
            sums.gradient_square[i] += off * off / RELEASES;
            sums.variance += off * off / RELEASES;
        }
    }
    return sums;
}

/* The largest distance of a mean from its truth, in standard errors; entries
 * that do not vary (a public response's yy) are compared for equality. */
static double worst_moment(const struct measured *measured, const struct laboratory *l)
{
    double truth[MOMENTS];
    double slope[D];
    double worst = 0.0;
    true_moments(truth, slope, l);
    for (size_t i = 0; i < MOMENTS; i++) {
        double variance = measured->square[i] - measured->mean[i] * measured->mean[i];
        double error = sqrt(fmax(variance, 0.0) / RELEASES);
        double off = fabs(measured->mean[i] - truth[i]);
        /* scaling to the device's grids moves a moment by a few parts in 2^17 */
        worst = fmax(worst, fmax(off - 2e-5, 0.0) / (error + 1e-9));
    }
    for (size_t i = 0; i < D; i++) {
        double error = sqrt(measured->gradient_square[i] / RELEASES);
        worst = fmax(worst, fmax(fabs(measured->gradient[i]) - 2e-5, 0.0) / error);
    }
    return worst;
}

static double theorem(const struct laboratory *l)
{
    double truth[MOMENTS];
    double slope[D];
    double residual = 0.0;
    double cross = 0.0;
    double trace = 0.0;
    double norm = 0.0;
    true_moments(truth, slope, l);
    for (size_t i = 0; i < DEVICES; i++) {
        double r = -l->x[i][D];
        for (size_t j = 0; j < D; j++) {
            r += l->x[i][j] * l->beta[j];
        }
        residual += r * r / DEVICES;
    }
    for (size_t j = 0; j < D; j++) {
        cross += l->beta[j] * slope[j];
        trace += truth[j * (D + 1) + j];
        norm += l->beta[j] * l->beta[j];
    }
    const struct tremolo_convergence_input input = {
        .mechanism = tremolo_release_mechanism(&l->release, DEVICES),
        .rounds = 1,
        .smoothness = 1,
        .trace = trace,
        .beta_norm2 = norm,
        .residual_ms = residual,
        .beta_cross = cross};
    return tremolo_convergence_of(&input).variance;
}

/* ---------------------------------------------------------------- tests */

static void check_vectors(unsigned m)
{
    make_data(&lab);
    make_study(&lab, m, 0);
    struct measured measured = measure(&lab, 100 + m);
    double worst = worst_moment(&measured, &lab);
    double ratio = measured.variance / theorem(&lab);
    print_message("# m=%u: worst mean %.2f standard errors, variance %.4f of the theorem's\n", m,
                  worst, ratio);
    assert_true(worst < 5.0);
    assert_true(fabs(ratio - 1.0) < 0.05);
}

static void test_one_vector(void **state)
{
    (void)state;
    check_vectors(1);
}

static void test_three_vectors(void **state)
{
    (void)state;
    check_vectors(3);
}

static void test_private_response(void **state)
{
    (void)state;
    make_data(&lab);
    make_study(&lab, 1, 1);
    struct measured measured = measure(&lab, 200);
    double worst = worst_moment(&measured, &lab);
    double ratio = measured.variance / theorem(&lab);
    print_message("# private response: worst mean %.2f standard errors, variance %.4f of ours\n",
                  worst, ratio);
    assert_true(worst < 5.0);
    assert_true(fabs(ratio - 1.0) < 0.05);
}

static void test_forgotten_modulation_is_caught(void **state)
{
    (void)state;
    make_data(&lab);
    make_study(&lab, 1, 0);
    lab.release.modulation = 0.0;
    struct measured measured = measure(&lab, 101);
    assert_true(worst_moment(&measured, &lab) > 10.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_vector),
        cmocka_unit_test(test_three_vectors),
        cmocka_unit_test(test_private_response),
        cmocka_unit_test(test_forgotten_modulation_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
