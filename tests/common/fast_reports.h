/* fast_reports.h -- simulated studies for statistical tests.
 *
 * Rows are drawn, noised with Gaussian noise of the right variance and rounded to
 * a wire grid, without the device core: the same distribution, a thousand times
 * faster. Sums are folded here, in plain loops, so that these tests do not lean
 * on the fold that other tests examine. Fixed seeds, no global state. */
#ifndef TREMOLO_FAST_REPORTS_H
#define TREMOLO_FAST_REPORTS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "regression.h"

enum { FAST_MAX = 64 };

struct fast_random {
    uint64_t state[4];
    double spare;
    int has_spare;
};

static inline void fast_seed(struct fast_random *random, uint64_t seed)
{
    for (unsigned i = 0; i < 4; i++) {
        random->state[i] = tremolo_random_hash(seed, i);
    }
    random->has_spare = 0;
}

static inline uint64_t fast_bits(struct fast_random *random)
{
    uint64_t *s = random->state;
    uint64_t sum = s[0] + s[3];
    uint64_t result = ((sum << 23) | (sum >> 41)) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}

static inline double fast_uniform(struct fast_random *random)
{
    return ((double)(fast_bits(random) >> 11) + 0.5) * 0x1p-53;
}

/* Standard normal by the polar method. */
static inline double fast_normal(struct fast_random *random)
{
    if (random->has_spare) {
        random->has_spare = 0;
        return random->spare;
    }
    double u;
    double v;
    double s;
    do {
        u = 2.0 * fast_uniform(random) - 1.0;
        v = 2.0 * fast_uniform(random) - 1.0;
        s = u * u + v * v;
    } while (s >= 1.0 || s == 0.0);
    double factor = sqrt(-2.0 * log(s) / s);
    random->spare = v * factor;
    random->has_spare = 1;
    return u * factor;
}

/* Bucket sums under construction. */
struct fast_fold {
    size_t n;
    int64_t sum[TREMOLO_BUCKETS][FAST_MAX];
    int64_t product[TREMOLO_BUCKETS][FAST_MAX * FAST_MAX];
    struct tremolo_sums view[TREMOLO_BUCKETS];
};

static inline void fast_fold_reset(struct fast_fold *fold, size_t n)
{
    memset(fold, 0, sizeof *fold);
    fold->n = n;
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        fold->view[b] = (struct tremolo_sums){n, 0, fold->sum[b], fold->product[b]};
    }
}

static inline void fast_fold_add(struct fast_fold *fold, size_t bucket, const int64_t *row)
{
    size_t n = fold->n;
    int64_t *product = fold->product[bucket];
    fold->view[bucket].count++;
    for (size_t i = 0; i < n; i++) {
        fold->sum[bucket][i] += row[i];
        for (size_t j = 0; j < n; j++) {
            product[i * n + j] += row[i] * row[j];
        }
    }
}

/* A linear study: features with covariance `factor` factor' (lower triangular,
 * d * d) about `mean`, response intercept + x'beta + residual_sd N(0,1), noise of
 * sd `noise_sd` on the features, wire grid of 64 steps per noise sd. */
struct fast_study {
    size_t d;
    size_t devices;
    const double *factor;
    const double *mean; /* may be NULL */
    const double *beta;
    double intercept;
    double residual_sd;
    double noise_sd;
};

enum { FAST_RESPONSE_STEPS = 2000 };

static inline double fast_scale(const struct fast_study *study)
{
    return study->noise_sd > 0.0 ? 64.0 / study->noise_sd : 4096.0;
}

static inline struct tremolo_sample_release fast_release(const struct fast_study *study)
{
    double scale = fast_scale(study);
    return (struct tremolo_sample_release){
        .dimension = study->d,
        .keep = 1.0,
        .noise_variance = study->noise_sd * study->noise_sd * scale * scale + 1.0 / 12.0,
        .feature_scale = scale,
        .response_scale = FAST_RESPONSE_STEPS,
    };
}

static inline void fast_run(struct fast_fold *fold, const struct fast_study *study,
                            struct fast_random *random)
{
    size_t d = study->d;
    double scale = fast_scale(study);
    fast_fold_reset(fold, d + 1);
    for (size_t i = 0; i < study->devices; i++) {
        double raw[FAST_MAX];
        int64_t row[FAST_MAX];
        double y = study->intercept + study->residual_sd * fast_normal(random);
        for (size_t j = 0; j < d; j++) {
            raw[j] = fast_normal(random);
        }
        for (size_t j = 0; j < d; j++) {
            double x = study->mean != NULL ? study->mean[j] : 0.0;
            for (size_t k = 0; k <= j; k++) {
                x += study->factor[j * d + k] * raw[k];
            }
            y += study->beta[j] * x;
            row[j] = llrint(scale * (x + study->noise_sd * fast_normal(random)));
        }
        row[d] = llrint(y * FAST_RESPONSE_STEPS);
        fast_fold_add(fold, i % TREMOLO_BUCKETS, row);
    }
}

/* Lower Cholesky factor of equal correlation `rho` (0 <= rho < 1). */
static inline void fast_equicorrelation(double *factor, size_t d, double rho)
{
    memset(factor, 0, d * d * sizeof *factor);
    for (size_t j = 0; j < d; j++) {
        for (size_t k = 0; k <= j; k++) {
            double sum = j == k ? 1.0 : rho;
            for (size_t l = 0; l < k; l++) {
                sum -= factor[j * d + l] * factor[k * d + l];
            }
            factor[j * d + k] = j == k ? sqrt(sum) : sum / factor[k * d + k];
        }
    }
}

#endif
