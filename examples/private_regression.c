/* private_regression.c -- coefficients from a fleet, through the library.
 *
 * A hundred thousand wearers each hold one sample: steps, hours of sleep, and a
 * resting pulse that depends on both. The study asks for epsilon = 6 between
 * any two people within the public bounds. Every device scales, clips and
 * noises its own sample; the server folds the reports, removes the known bias
 * and prints coefficients with intervals, and the truth.
 *
 *     cc private_regression.c $(pkg-config --cflags --libs --static tremolo) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tremolo_host.h"
#include "tremolo_mechanism.h"
#include "tremolo_release.h"

enum { DEVICES = 100000, D = 2 };

/* What everybody agrees on beforehand. */
static const struct tremolo_host_range ranges[D] = {{0, 20000}, {3, 11}};
static const struct tremolo_host_range pulse_range = {40, 110};
static const double truth[D + 1] = {-0.0008, -1.5, 85};

static double uniform(void)
{
    return (double)rand() / RAND_MAX;
}

/* One wearer: own units. */
static void measure(double features[D], double *pulse)
{
    features[0] = 16000 * uniform() + 2000;
    features[1] = 6 * uniform() + 4;
    *pulse = truth[D] + truth[0] * features[0] + truth[1] * features[1] + 6 * (uniform() - 0.5);
}

/* What runs on the wearer's watch. */
static enum tremolo_status report_once(uint8_t *bytes, size_t *length,
                                       const struct tremolo_study *study)
{
    static struct tremolo_work work;
    static const struct tremolo_host_memory blank;
    struct tremolo_host_memory ledger = blank;
    const struct tremolo_platform platform = tremolo_host_memory_platform(&ledger);
    const struct tremolo_round round = {NULL, 0};
    double features[D], pulse;
    int32_t raw[D], raw_pulse = 0;
    enum tremolo_status status = TREMOLO_OK;
    measure(features, &pulse);
    for (size_t i = 0; i < D && status == TREMOLO_OK; i++) {
        status = tremolo_host_raw(&raw[i], features[i], &ranges[i]);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_host_raw(&raw_pulse, pulse, &pulse_range);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_device_enrol(&work, &platform, tremolo_study_charge(study), 0);
    }
    const struct tremolo_sample sample = {.features = raw, .response = raw_pulse};
    return status == TREMOLO_OK
               ? tremolo_device_report(&work, bytes, length, study, &round, &sample, &platform)
               : status;
}

/* What runs on the server: decode, and add to the moments. */
static enum tremolo_status take(struct tremolo_moments *moments, const uint8_t *bytes,
                                size_t length, const struct tremolo_study *study)
{
    struct tremolo_report report;
    int16_t row[D + 1];
    enum tremolo_status status = tremolo_report_decode(&report, bytes, length);
    if (status == TREMOLO_OK) {
        status = tremolo_report_unpack(row, D, &report, study);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    row[D] = report.response;
    const uint8_t bucket = (uint8_t)tremolo_bucket_of(report.id);
    return tremolo_moments_add(moments, row, &bucket, 1);
}

static enum tremolo_status collect(struct tremolo_moments *moments,
                                   const struct tremolo_study *study)
{
    enum tremolo_status status = TREMOLO_OK;
    for (size_t device = 0; device < DEVICES && status == TREMOLO_OK; device++) {
        uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
        size_t length = sizeof bytes;
        status = report_once(bytes, &length, study);
        if (status == TREMOLO_OK) {
            status = take(moments, bytes, length, study);
        }
    }
    return status;
}

static enum tremolo_status infer(struct tremolo_coefficient rows[D + 1],
                                 struct tremolo_moments *moments, const struct tremolo_study *study)
{
    const double centre[D] = {10000, 7}, half[D] = {10000, 4};
    const struct tremolo_units units = {centre, half, 75, 35};
    const struct tremolo_sample_release release = tremolo_release_of(study, 1, 1);
    struct tremolo_debiased *evidence = NULL;
    enum tremolo_status status = tremolo_release_debias(&evidence, moments, &release);
    if (status == TREMOLO_OK) {
        status = tremolo_infer(rows, evidence, &units, 0.95);
    }
    tremolo_debias_free(evidence);
    return status;
}

int main(void)
{
    static const char *const names[D + 1] = {"steps", "sleep", "(intercept)"};
    const struct tremolo_bounds raw_bounds = TREMOLO_HOST_BOUNDS,
                                bounds[D] = {raw_bounds, raw_bounds};
    struct tremolo_study study = {
        .id = "resting pulse of wearers, 2026", .bounds = bounds, .response_bounds = raw_bounds};
    struct tremolo_mechanism_request request = TREMOLO_MECHANISM_DEFAULTS;
    struct tremolo_mechanism_scales scales;
    struct tremolo_moments *moments = NULL;
    struct tremolo_coefficient rows[D + 1];
    request.dimension = D;
    request.radius = sqrt(D); /* the corners of the bounds: no one is clipped */
    request.neighbours = TREMOLO_NEIGHBOURS_ANY;
    request.epsilon = 6;
    enum tremolo_status status = tremolo_mechanism_fill(&study, &scales, &request);
    if (status == TREMOLO_OK) {
        status = tremolo_release_sums(&moments, &study);
    }
    if (status == TREMOLO_OK) {
        status = collect(moments, &study);
    }
    if (status == TREMOLO_OK) {
        status = infer(rows, moments, &study);
    }
    if (status != TREMOLO_OK) {
        (void)fprintf(stderr, "private_regression: %s\n", tremolo_status_sentence(status));
        tremolo_moments_free(moments);
        return 1;
    }
    printf("%d devices, epsilon %.3g at delta 1e-5 between any two people\n", DEVICES,
           scales.epsilon);
    for (size_t i = 0; i <= D; i++) {
        printf("%-12s %9.5f  [%9.5f, %9.5f]  truth %9.5f\n", names[i], rows[i].estimate,
               rows[i].low, rows[i].high, truth[i]);
    }
    tremolo_moments_free(moments);
    return 0;
}
