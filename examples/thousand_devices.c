/* thousand_devices.c -- the protocol in one screen.
 *
 * A thousand devices each hold one sample (steps, hours of sleep, resting
 * heart rate). Each enrols, privatises its sample once through the real
 * device core and sends the report. The server side decodes the reports,
 * averages g g' and removes the bias that modulation, noise and rounding are
 * known to add. What it gets is printed next to the truth. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tremolo_device.h"
#include "tremolo_host.h"

enum { DEVICES = 1000, D = 3 };

static const char *const names[D] = {"steps", "sleep", "pulse"};
static const struct tremolo_bounds bounds[D] = {{0, 20000}, {3 * 60, 11 * 60}, {40, 100}};
static const int16_t vectors[D] = {9459, -9459, 9459};

/* unit = 2^18 and a radius of unit * sqrt 3 clip nothing; noise of 2^18. */
static const struct tremolo_study study = {
    .id = "a study of a thousand wearers...",
    .bounds = bounds,
    .response_bounds = {0, 100},
    .rounds = 1,
    .samples = 1,
    .dimension = D,
    .unit = 1 << 18,
    .clip = 454047,
    .keep = TREMOLO_KEEP_ONE / 8 * 7,
    .vectors = 1,
    .amplitude = 1 << 16,
    .frequency = 1 << 16,
    .noise_log2 = 18,
    .wire_shift = 12,
    .wire_bits = 12,
};
static const struct tremolo_round round_zero = {vectors, 0};

static double uniform(void)
{
    return (double)rand() / RAND_MAX;
}

/* A wearer: active people sleep a little longer and have a slower pulse. */
static void measure(int32_t *features, int32_t *response)
{
    double fitness = uniform() + uniform() - 1;
    features[0] = (int32_t)(9000 + 6000 * fitness + 3000 * (uniform() - 0.5));
    features[1] = (int32_t)(430 + 60 * fitness + 200 * (uniform() - 0.5));
    features[2] = (int32_t)(66 - 14 * fitness + 16 * (uniform() - 0.5));
    *response = (int32_t)(50 + 30 * fitness + 20 * (uniform() - 0.5));
}

static enum tremolo_status report_once(const int32_t *features, int32_t response,
                                       int16_t *coordinates, size_t *length)
{
    static struct tremolo_work work;
    struct tremolo_host_memory memory = {0};
    struct tremolo_platform platform = tremolo_host_memory_platform(&memory);
    struct tremolo_sample sample = {features, response, 0};
    struct tremolo_report report;
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    *length = sizeof bytes;
    enum tremolo_status status =
        tremolo_device_enrol(&work, &platform, tremolo_study_charge(&study), 0);
    if (status == TREMOLO_OK) {
        status =
            tremolo_device_report(&work, bytes, length, &study, &round_zero, &sample, &platform);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_report_decode(&report, bytes, *length);
    }
    return status == TREMOLO_OK ? tremolo_report_unpack(coordinates, D, &report, &study) : status;
}

static void add_products(double sum[D][D], const double *row)
{
    for (int i = 0; i < D; i++) {
        for (int j = 0; j < D; j++) {
            sum[i][j] += row[i] * row[j] / DEVICES;
        }
    }
}

/* Everything in units of half a feature's range. */
static double debiased(double moment, int i, int j)
{
    double keep = (double)study.keep / TREMOLO_KEEP_ONE;
    double step = ldexp(1, study.wire_shift) / study.unit;
    double sigma = ldexp(1, study.noise_log2) / study.unit;
    double lambda = (double)study.amplitude / study.unit;
    double vv = (double)vectors[i] * vectors[j] / TREMOLO_VECTOR_ONE / TREMOLO_VECTOR_ONE;
    double noise = i == j ? sigma * sigma + step * step / 12 : 0;
    return (moment - lambda * lambda / 2 * vv - noise) / (keep * keep);
}

int main(void)
{
    double truth[D][D] = {{0}}, seen[D][D] = {{0}};
    size_t length = 0;
    srand(1);
    for (int device = 0; device < DEVICES; device++) {
        int32_t features[D], response;
        int16_t wire[D];
        double x[D], g[D];
        measure(features, &response);
        enum tremolo_status status = report_once(features, response, wire, &length);
        if (status != TREMOLO_OK) {
            (void)fprintf(stderr, "device %d: %s\n", device, tremolo_status_sentence(status));
            return EXIT_FAILURE;
        }
        for (int i = 0; i < D; i++) {
            double middle = (bounds[i].low + bounds[i].high) / 2.0;
            x[i] = (features[i] - middle) / (bounds[i].high - middle);
            g[i] = ldexp(wire[i], study.wire_shift) / study.unit;
        }
        add_products(truth, x);
        add_products(seen, g);
    }
    double mu = tremolo_study_sensitivity(&study) / ldexp(1, study.noise_log2);
    (void)printf("%d devices, one sample each, %zu bytes a report\n"
                 "any two people are %.3f standard deviations of noise apart (mu), once; "
                 "the response travels in the clear\n\n"
                 "second moment      true   from private reports   standard error\n",
                 DEVICES, length, mu);
    double sigma2 = pow(ldexp(1, study.noise_log2) / study.unit, 2);
    double error = sigma2 / pow((double)study.keep / TREMOLO_KEEP_ONE, 2) / sqrt(DEVICES);
    for (int i = 0; i < D; i++) {
        for (int j = 0; j <= i; j++) {
            (void)printf("%-6s %-6s %9.3f %15.3f %18.3f\n", names[i], names[j], truth[i][j],
                         debiased(seen[i][j], i, j), i == j ? error * sqrt(2) : error);
        }
    }
    return EXIT_SUCCESS;
}
