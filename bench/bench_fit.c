/* bench_fit.c -- how long an estimate takes, by features and by noise.
 *
 * Reports of K = 40 d devices (at least 2,000) with correlated features and R^2 = 0.5, drawn here
 * without the core. `auto` is the search for the coefficients, `table` inference for all of them,
 * beside one solution of the same equations by Cholesky's factor, which is the least that
 * anybody needs. Milliseconds of processor time, the best of three; R^2 is the population's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "linear.h"
#include "evidence.h"
#include "moments.h"
#include "regression.h"

#define COMMON 0.3 /* correlation of any two features */
#define SIGNAL 0.5 /* R^2 */

enum { TIMES = 3, STEPS = 2000 };

struct study {
    size_t d;
    size_t devices;
    double noise_sd;
    double beta[TREMOLO_MAX_FEATURES];
};

static void draw_beta(struct study *study, struct tremolo_random *random)
{
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < study->d; i++) {
        study->beta[i] = tremolo_random_normal(random);
        sum += study->beta[i];
        squares += study->beta[i] * study->beta[i];
    }
    double variance = COMMON * sum * sum + (1.0 - COMMON) * squares;
    for (size_t i = 0; i < study->d; i++) {
        study->beta[i] *= sqrt(SIGNAL / variance);
    }
}

static double wire_scale(const struct study *study)
{
    return 256.0 / fmax(study->noise_sd, 1.0);
}

static void draw_row(int16_t *row, const struct study *study, struct tremolo_random *random)
{
    double common = tremolo_random_normal(random);
    double y = sqrt(1.0 - SIGNAL) * tremolo_random_normal(random);
    for (size_t i = 0; i < study->d; i++) {
        double x = sqrt(COMMON) * common + sqrt(1.0 - COMMON) * tremolo_random_normal(random);
        y += study->beta[i] * x;
        x += study->noise_sd * tremolo_random_normal(random);
        row[i] = (int16_t)lrint(wire_scale(study) * x);
    }
    row[study->d] = (int16_t)lrint(STEPS * y);
}

static struct tremolo_debiased *evidence_of(struct study *study)
{
    struct tremolo_random random = tremolo_random_from(1, study->d);
    struct tremolo_moments *moments = NULL;
    struct tremolo_debiased *evidence = NULL;
    struct tremolo_sums sums[TREMOLO_BUCKETS];
    double scale = wire_scale(study), noise = study->noise_sd * scale;
    const struct tremolo_sample_release release = {.dimension = study->d,
                                                   .keep = 1.0,
                                                   .noise_variance = noise * noise + 1.0 / 12.0,
                                                   .feature_scale = scale,
                                                   .response_scale = STEPS};
    draw_beta(study, &random);
    bool good = tremolo_moments_new(&moments, study->d + 1, TREMOLO_MAX_FOLD_VALUE,
                                    TREMOLO_MAX_FOLD_VALUE) == TREMOLO_OK;
    for (size_t k = 0; k < study->devices && good; k++) {
        int16_t row[TREMOLO_MAX_FEATURES + 1];
        uint8_t bucket = (uint8_t)(k % TREMOLO_BUCKETS);
        draw_row(row, study, &random);
        good = tremolo_moments_add(moments, row, &bucket, 1) == TREMOLO_OK;
    }
    for (unsigned b = 0; b < TREMOLO_BUCKETS && good; b++) {
        good = tremolo_moments_bucket(moments, &sums[b], b) == TREMOLO_OK;
    }
    if (!good || tremolo_debias_new(&evidence, sums, &release) != TREMOLO_OK) {
        exit(1);
    }
    tremolo_moments_free(moments);
    return evidence;
}

static double population_r2(const struct study *study, const double *beta)
{
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < study->d; i++) {
        double off = beta[i] - study->beta[i];
        sum += off;
        squares += off * off;
    }
    return SIGNAL - COMMON * sum * sum - (1.0 - COMMON) * squares;
}

/* The least: S + noise I, which is positive, factored and solved once. */
static double solve_once(const struct tremolo_debiased *evidence, size_t d)
{
    double *S = linear_new(d * d), *Z = linear_new(d);
    if (S == NULL || Z == NULL) {
        exit(1);
    }
    tremolo_debias_moments(S, Z, NULL, evidence, true);
    for (size_t i = 0; i < d; i++) {
        S[i * d + i] += evidence->noise;
    }
    double start = bench_processor_seconds();
    if (!linear_cholesky(S, d)) {
        exit(1);
    }
    linear_cholesky_solve(Z, S, d, 1);
    double spent = bench_processor_seconds() - start;
    free(S);
    free(Z);
    return spent;
}

static void measure(size_t d, double noise_sd)
{
    static struct tremolo_coefficient rows[TREMOLO_MAX_FEATURES + 1];
    struct study study = {.d = d, .devices = d < 50 ? 2000 : 40 * d, .noise_sd = noise_sd};
    struct tremolo_debiased *evidence = evidence_of(&study);
    const struct tremolo_fit_options options = TREMOLO_FIT_DEFAULTS;
    struct tremolo_fit fit;
    double beta[TREMOLO_MAX_FEATURES], least = 1e9, search = 1e9, table = 1e9;
    for (int k = 0; k < TIMES; k++) {
        least = fmin(least, solve_once(evidence, d));
        double start = bench_processor_seconds();
        if (tremolo_fit(beta, &fit, evidence, &options) != TREMOLO_OK) {
            exit(1);
        }
        double between = bench_processor_seconds();
        if (tremolo_infer(rows, evidence, NULL, 0.95) != TREMOLO_OK) {
            exit(1);
        }
        search = fmin(search, between - start);
        table = fmin(table, bench_processor_seconds() - between);
    }
    printf("  d %3zu  noise %4g   auto %8.2f ms, R^2 %6.3f   table %8.2f ms"
           "   one solution %7.3f ms\n",
           d, noise_sd, 1e3 * search, population_r2(&study, beta), 1e3 * table, 1e3 * least);
    tremolo_debias_free(evidence);
}

int main(void)
{
    static const size_t dimensions[] = {8, 16, 32, 50, 64, 128, 256};
    static const double noises[] = {0.1, 1, 4, 16, 64};
    printf(
        "an estimate from noisy samples on one core; noise in standard deviations of a feature\n");
    for (size_t i = 0; i < sizeof dimensions / sizeof *dimensions; i++) {
        for (size_t k = 0; k < sizeof noises / sizeof *noises; k++) {
            measure(dimensions[i], noises[k]);
        }
    }
    return 0;
}
