/* test_device_moments.c -- what whole reports say about the samples.
 *
 * Moments. Hypothesis: after subtracting lambda^2/(2m) V V', sigma^2 and the
 * wire's step^2/12, and dividing by (1-alpha)^2, the mean of g g' over the
 * reports has the mean of x x' as its expectation, and the mean of y g over
 * 1 - alpha has that of y x. Sample: REPORTS reports per configuration, made
 * by tremolo_device_report and read by the decoder; SEED fixed. Every entry's
 * error is divided by its standard error, estimated from the same reports,
 * and must be below LIMIT = 6. False alarm: 2e-9 an entry, below 10^-6 for
 * all of the fewer than 200 entries together.
 *
 * Debiasing that forgets one of its parts must be caught by the same limit.
 *
 * Expansion. The paper's lemma, mean |g(x) - g(x')|^2 = (1-alpha)^2 |h|^2 +
 * 2 lambda^2 sin^2(omega <h,v> / 2) over the phase: phases on a regular grid
 * integrate it exactly, so only the stated rounding separates the two sides
 * and nothing is left to chance. */
#include <math.h>

#include "fake_device.h"
#include "parts.h"
#include "testing.h"

enum { D = 4, N_MAX = D + 1, REPORTS = 150000, SEED = 90 };

static const double limit = 6;

/* Orthonormal rows: those of a Hadamard matrix halved. */
static const int16_t hadamard[D * D] = {8192, 8192, 8192,  8192,  8192, -8192, 8192,  -8192,
                                        8192, 8192, -8192, -8192, 8192, -8192, -8192, 8192};

struct moments {
    double reports[N_MAX][N_MAX]; /* sums of products over reports */
    double squares[N_MAX][N_MAX]; /* and of their squares */
    double samples[N_MAX][N_MAX]; /* sums of products of the true values */
    double cross[D];
    double cross_squares[D];
    double cross_samples[D];
};

static struct moments moments;

static struct tremolo_study study_of(unsigned m, uint8_t response)
{
    struct tremolo_study study = fake_study(D, 8);
    study.vectors = (uint16_t)m;
    study.amplitude = m == 0 ? 0 : (uint32_t)((1 << 19) / sqrt(m));
    study.frequency = m == 0 ? 0 : 3000000;
    study.keep = TREMOLO_KEEP_ONE / 4 * 3;
    study.clip = (1 << 18) * 3; /* clips nothing: unit * sqrt 5 is below */
    study.response = response;
    study.wire_shift = 13;
    return study;
}

/* Correlated features and a response that follows them, within the bounds. */
static void draw_sample(int32_t *features, int32_t *response, struct fake_entropy *random)
{
    int32_t common = fake_between(random, -400, 400);
    for (int i = 0; i < D; i++) {
        features[i] = common * (i + 1) / D + fake_between(random, -300, 500);
    }
    *response = (features[0] - features[2]) / 2 + fake_between(random, -100, 100);
}

/* One device's report, as wire values and the public response. */
static void report_once(int16_t *wire, double *response, const struct tremolo_study *study,
                        const int32_t *features, int32_t raw_response, uint64_t seed)
{
    static struct fake_device device;
    static struct tremolo_work work;
    static uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    struct tremolo_sample sample = {features, raw_response, 0};
    struct tremolo_round round = {study->vectors == 0 ? NULL : hadamard, 0};
    struct tremolo_platform platform = fake_device_platform(&device, 1, 0);
    struct tremolo_report report;
    size_t length = sizeof bytes;
    device.entropy.state = seed;
    device.storage.power = ULONG_MAX;
    memset(device.storage.slot, 0, 2 * FAKE_SLOT_BYTES);
    assert_status(tremolo_device_enrol(&work, &platform, UINT32_MAX, 0), TREMOLO_OK);
    assert_status(tremolo_device_report(&work, bytes, &length, study, &round, &sample, &platform),
                  TREMOLO_OK);
    assert_status(tremolo_report_decode(&report, bytes, length), TREMOLO_OK);
    assert_status(tremolo_report_unpack(wire, N_MAX, &report, study), TREMOLO_OK);
    *response = (double)report.response / TREMOLO_RESPONSE_MAX;
}

static void add(const double *g, double y, const double *x, double true_y, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < n; j++) {
            moments.reports[i][j] += g[i] * g[j];
            moments.squares[i][j] += g[i] * g[j] * g[i] * g[j];
            moments.samples[i][j] += x[i] * x[j];
        }
    }
    for (unsigned i = 0; i < D; i++) {
        moments.cross[i] += y * g[i];
        moments.cross_squares[i] += y * g[i] * y * g[i];
        moments.cross_samples[i] += true_y * x[i];
    }
}

/* All in units of half a feature's range. */
static void collect(const struct tremolo_study *study)
{
    struct fake_entropy random = {.state = SEED + study->vectors * 2u + study->response};
    unsigned n = tremolo_study_coordinates(study);
    memset(&moments, 0, sizeof moments);
    for (int k = 0; k < REPORTS; k++) {
        int32_t features[D];
        int32_t response;
        int16_t wire[N_MAX];
        double g[N_MAX] = {0};
        double x[N_MAX] = {0};
        double y;
        draw_sample(features, &response, &random);
        report_once(wire, &y, study, features, response, fake_random(&random));
        for (unsigned i = 0; i < n; i++) {
            g[i] = ldexp(wire[i], study->wire_shift) / study->unit;
            x[i] = (i < D ? features[i] : response) / 1000.0;
        }
        add(g, y, x, response / 1000.0, n);
    }
}

/* What debiasing subtracts; tests leave parts out. */
struct parts {
    int modulation, noise, shrink;
};
static const struct parts all_parts = {1, 1, 1};

static double bias(const struct tremolo_study *study, unsigned i, unsigned j, struct parts parts)
{
    double sigma = ldexp(1, study->noise_log2) / study->unit;
    double step = ldexp(1, study->wire_shift) / study->unit;
    double amplitude = (double)study->amplitude / study->unit;
    double sum = parts.noise && i == j ? sigma * sigma + step * step / 12 : 0;
    for (unsigned v = 0; v < study->vectors && i < D && j < D && parts.modulation; v++) {
        double outer = (double)hadamard[v * D + i] * hadamard[v * D + j];
        sum += amplitude * amplitude / 2 * outer / TREMOLO_VECTOR_ONE / TREMOLO_VECTOR_ONE;
    }
    return sum;
}

/* Error over standard error of a mean, given the sums of values and squares. */
static double deviation(double sum, double squares, double bias_of_mean, double scale, double truth)
{
    double mean = sum / REPORTS;
    double variance = squares / REPORTS - mean * mean;
    return ((mean - bias_of_mean) / scale - truth / REPORTS) * scale / sqrt(variance / REPORTS);
}

/* The largest deviation of any entry. */
static double worst_entry(const struct tremolo_study *study, struct parts parts)
{
    double keep = parts.shrink ? (double)study->keep / TREMOLO_KEEP_ONE : 1;
    unsigned n = tremolo_study_coordinates(study);
    double worst = 0;
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j <= i; j++) {
            worst = fmax(worst, fabs(deviation(moments.reports[i][j], moments.squares[i][j],
                                               bias(study, i, j, parts), keep * keep,
                                               moments.samples[i][j])));
        }
    }
    for (unsigned i = 0; i < D && study->response == TREMOLO_RESPONSE_PUBLIC; i++) {
        worst = fmax(worst, fabs(deviation(moments.cross[i], moments.cross_squares[i], 0, keep,
                                           moments.cross_samples[i])));
    }
    return worst;
}

static void check_moments(unsigned m, uint8_t response)
{
    struct tremolo_study study = study_of(m, response);
    collect(&study);
    double worst = worst_entry(&study, all_parts);
    print_message("# m = %u, response %s: worst entry %.2f standard errors\n", m,
                  response ? "private" : "public", worst);
    assert_true(worst < limit);
    assert_true(worst_entry(&study, (struct parts){1, 0, 1}) > limit);
    assert_true(worst_entry(&study, (struct parts){1, 1, 0}) > limit);
    assert_true(m == 0 || worst_entry(&study, (struct parts){0, 1, 1}) > limit);
}

static void test_moments_without_modulation(void **state)
{
    (void)state;
    check_moments(0, TREMOLO_RESPONSE_PUBLIC);
    check_moments(0, TREMOLO_RESPONSE_PRIVATE);
}

static void test_moments_of_one_vector(void **state)
{
    (void)state;
    check_moments(1, TREMOLO_RESPONSE_PUBLIC);
    check_moments(1, TREMOLO_RESPONSE_PRIVATE);
}

static void test_moments_of_three_vectors(void **state)
{
    (void)state;
    check_moments(3, TREMOLO_RESPONSE_PUBLIC);
    check_moments(3, TREMOLO_RESPONSE_PRIVATE);
}

/* ------------------------------------------------------------- expansion */

enum { PHASES = 1024 };

/* |g(x) - g(x')|^2 with all phases the same for both. */
static double apart(const struct tremolo_study *study, const int32_t *x, const int32_t *h,
                    uint32_t turn)
{
    struct tremolo_round round = {hadamard, 0};
    int32_t a[D];
    int32_t b[D];
    uint32_t phase_a[D];
    uint32_t phase_b[D];
    double sum = 0;
    for (unsigned i = 0; i < D; i++) {
        a[i] = x[i];
        b[i] = x[i] + h[i];
        /* Odd multiples run through the grid too, each in its own order. */
        phase_a[i] = phase_b[i] = turn * (2 * i + 1);
    }
    tremolo_modulate(a, study, &round, phase_a);
    tremolo_modulate(b, study, &round, phase_b);
    for (unsigned i = 0; i < D; i++) {
        sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
    }
    return sum;
}

static double predicted(const struct tremolo_study *study, const int32_t *h)
{
    double keep = (double)study->keep / TREMOLO_KEEP_ONE;
    double omega = 2 * acos(-1.0) * ldexp(study->frequency, -40);
    double lambda2 = study->vectors * ((double)study->amplitude * study->amplitude);
    double sum = 0;
    for (unsigned i = 0; i < D; i++) {
        sum += keep * keep * ((double)h[i] * h[i]);
    }
    for (unsigned j = 0; j < study->vectors; j++) {
        double along = 0;
        for (unsigned i = 0; i < D; i++) {
            along += (double)h[i] * hadamard[j * D + i] / TREMOLO_VECTOR_ONE;
        }
        sum += 2 * lambda2 / study->vectors * pow(sin(omega * along / 2), 2);
    }
    return sum;
}

/* Rounding: each of the two maps is off by at most e = 1 + m (2 + 1.9 A /
 * 32768) a coordinate, so the distance by 2 e sqrt d, and its square by
 * 2 r (2 e sqrt d) + (2 e sqrt d)^2 at a distance r, at most (1-alpha)|h| +
 * 2 lambda. */
static double allowed(const struct tremolo_study *study, const int32_t *h)
{
    double lambda = sqrt(study->vectors) * study->amplitude;
    double off = 2 * sqrt(D) * (1 + study->vectors * (2 + study->amplitude * 1.9 / 32768));
    double length = 2 * lambda;
    for (unsigned i = 0; i < D; i++) {
        length += fabs((double)h[i]);
    }
    return 2 * length * off + off * off;
}

static void test_expected_expansion(void **state)
{
    struct fake_entropy random = {.state = SEED + 10};
    double worst = 0;
    (void)state;
    for (int repeat = 0; repeat < 600; repeat++) {
        struct tremolo_study study = study_of(1 + (unsigned)repeat % 3, 0);
        int32_t x[D];
        int32_t h[D];
        double mean = 0;
        study.frequency = 1 + fake_below(&random, 8000000);
        for (unsigned i = 0; i < D; i++) {
            x[i] = fake_between(&random, -(1 << 18), 1 << 18);
            h[i] = fake_between(&random, -(1 << 18), 1 << 18) >> (repeat % 8);
        }
        for (uint32_t turn = 0; turn < PHASES; turn++) {
            mean += apart(&study, x, h, turn * (UINT32_MAX / PHASES + 1)) / PHASES;
        }
        assert_true(fabs(mean - predicted(&study, h)) <= allowed(&study, h));
        double lambda2 = study.vectors * ((double)study.amplitude * study.amplitude);
        worst = fmax(worst, fabs(mean - predicted(&study, h)) / (predicted(&study, h) + lambda2));
    }
    print_message("# largest difference %.1e of the expansion plus lambda^2\n", worst);
    /* Far closer than the bound above: errors average out over the phases. */
    assert_true(worst < 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments_without_modulation),
        cmocka_unit_test(test_moments_of_one_vector),
        cmocka_unit_test(test_moments_of_three_vectors),
        cmocka_unit_test(test_expected_expansion),
    };
    return cmocka_run_group_tests_name("device moments", tests, NULL, NULL);
}
