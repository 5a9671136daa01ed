/* debias.c -- from exact sums on the wire grid to unbiased moments.
 *
 * A released row is keep * scale * x + W + noise. Dividing by keep * scale gives
 * u = x + noise', and
 *     E u u' = x x' + (noise_variance I + modulation V'V) / (keep * scale)^2,
 * the second term known exactly: the paper's correction, for any number of
 * vectors, with the wire grid's 1/12 inside noise_variance. A public response
 * carries no noise, a private one is a coordinate like the others. The constant 1
 * is one more coordinate without noise; its products are the plain sums, so
 * centring needs nothing else, and the sample covariance of u has the same bias
 * as its second moment. */
#include "evidence.h"
#include "linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool release_is_sane(const struct tremolo_sample_release *release)
{
    return release->dimension >= 1 && release->dimension <= TREMOLO_MAX_FEATURES &&
           release->keep > 0.0 && release->keep <= 1.0 && release->noise_variance >= 0.0 &&
           isfinite(release->noise_variance) && release->modulation >= 0.0 &&
           isfinite(release->modulation) && (release->vectors == 0 || release->V != NULL) &&
           release->feature_scale > 0.0 && isfinite(release->feature_scale) &&
           release->response_scale > 0.0 && isfinite(release->response_scale) &&
           release->largest >= 0.0 && isfinite(release->largest);
}

static struct tremolo_debiased *evidence_new(size_t d)
{
    size_t n = d + 1;
    size_t size = n + n * n + (n + n * n) % 2; /* of a bucket */
    struct tremolo_debiased *made = calloc(1, sizeof *made);
    double *bias, *sums;
    double *memory = LINEAR_NEW({&bias, n * n}, {&sums, (TREMOLO_BUCKETS + 1) * size});
    if (made == NULL || memory == NULL) {
        free(made);
        free(memory);
        return NULL;
    }
    *made = (struct tremolo_debiased){.d = d, .n = n, .memory = memory, .bias = bias};
    for (size_t b = 0; b <= TREMOLO_BUCKETS; b++) {
        struct bucket *bucket = b < TREMOLO_BUCKETS ? &made->bucket[b] : &made->all;
        bucket->product = sums + b * size;
        bucket->sum = bucket->product + n * n;
    }
    return made;
}

void tremolo_debias_free(struct tremolo_debiased *evidence)
{
    if (evidence != NULL) {
        free(evidence->memory);
        free(evidence);
    }
}

/* Wire units per scaled unit of each coordinate, keep included. */
static double unit_of(const struct tremolo_sample_release *release, size_t coordinate)
{
    if (coordinate < release->dimension) {
        return release->keep * release->feature_scale;
    }
    return release->response_private ? release->keep * release->response_scale
                                     : release->response_scale;
}

static void set_bias(struct tremolo_debiased *evidence,
                     const struct tremolo_sample_release *release)
{
    size_t n = evidence->n;
    size_t d = evidence->d;
    size_t noisy = release->response_private ? n : d;
    for (size_t i = 0; i < noisy; i++) {
        for (size_t j = 0; j < noisy; j++) {
            double wire = i == j ? release->noise_variance : 0.0;
            for (size_t k = 0; k < release->vectors && i < d && j < d; k++) {
                const double *v = release->V + k * d;
                wire += release->modulation * v[i] * v[j];
            }
            evidence->bias[i * n + j] = wire / (unit_of(release, i) * unit_of(release, j));
        }
    }
    double unit = unit_of(release, 0);
    evidence->noise = release->noise_variance / (unit * unit);
    evidence->response_private = release->response_private;
    evidence->largest = release->largest;
}

static void set_bucket(struct bucket *bucket, const struct tremolo_sums *sums,
                       const struct tremolo_sample_release *release)
{
    size_t n = release->dimension + 1;
    bucket->count = (double)sums->count;
    for (size_t i = 0; i < n; i++) {
        double unit = unit_of(release, i);
        bucket->sum[i] = (double)sums->sum[i] / unit;
        for (size_t j = 0; j < n; j++) {
            bucket->product[i * n + j] =
                (double)sums->product[i * n + j] / (unit * unit_of(release, j));
        }
    }
}

static void add_up(struct tremolo_debiased *evidence)
{
    size_t n = evidence->n;
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        evidence->all.count += evidence->bucket[b].count;
        linear_add(evidence->all.sum, 1.0, evidence->bucket[b].sum, n);
        linear_add(evidence->all.product, 1.0, evidence->bucket[b].product, n * n);
    }
}

enum tremolo_status tremolo_debias_new(struct tremolo_debiased **evidence,
                                       const struct tremolo_sums buckets[TREMOLO_BUCKETS],
                                       const struct tremolo_sample_release *release)
{
    if (evidence == NULL || buckets == NULL || release == NULL || !release_is_sane(release)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    uint64_t devices = 0;
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        if (buckets[b].count > 0 && buckets[b].coordinates != release->dimension + 1) {
            return TREMOLO_BAD_DIMENSION;
        }
        devices += buckets[b].count;
    }
    if (devices < 2) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct tremolo_debiased *made = evidence_new(release->dimension);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    set_bias(made, release);
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        if (buckets[b].count > 0) {
            set_bucket(&made->bucket[b], &buckets[b], release);
        }
    }
    add_up(made);
    made->devices = (double)devices;
    *evidence = made;
    return TREMOLO_OK;
}

uint64_t tremolo_debias_devices(const struct tremolo_debiased *evidence)
{
    return (uint64_t)evidence->devices;
}

double tremolo_debias_noise(const struct tremolo_debiased *evidence)
{
    return evidence->noise;
}

double evidence_raw(double *raw, double *mean, const struct tremolo_debiased *evidence,
                    bool centred, size_t skip)
{
    size_t n = evidence->n;
    bool whole = skip >= TREMOLO_BUCKETS;
    const struct bucket *all = &evidence->all;
    const struct bucket *without = whole ? NULL : &evidence->bucket[skip];
    double means[TREMOLO_MAX_FEATURES + 1];
    double count = all->count - (whole ? 0.0 : without->count);
    for (size_t i = 0; i < n; i++) {
        means[i] = (all->sum[i] - (whole ? 0.0 : without->sum[i])) / count;
    }
    for (size_t i = 0; i < n * n; i++) {
        raw[i] = (all->product[i] - (whole ? 0.0 : without->product[i])) / count;
    }
    for (size_t i = 0; centred && i < n * n; i++) {
        raw[i] = (raw[i] - means[i / n] * means[i % n]) * (count / fmax(count - 1.0, 1.0));
    }
    if (mean != NULL) {
        memcpy(mean, means, n * sizeof *mean);
    }
    return count;
}

/* One entry of the debiased moment: as evidence_raw has it, but it needs no memory and cannot
 * fail. */
static double joint_entry(const struct tremolo_debiased *evidence, const double *mean, bool centred,
                          size_t i, size_t j)
{
    size_t at = i * evidence->n + j;
    double K = evidence->devices;
    double moment = evidence->all.product[at] / K;
    if (centred) {
        moment = (moment - mean[i] * mean[j]) * (K / fmax(K - 1.0, 1.0));
    }
    return moment - evidence->bias[at];
}

void tremolo_debias_moments(double *S, double *Z, double *yy,
                            const struct tremolo_debiased *evidence, bool centred)
{
    size_t d = evidence->d;
    double mean[TREMOLO_MAX_FEATURES + 1];
    for (size_t i = 0; i <= d; i++) {
        mean[i] = evidence->all.sum[i] / evidence->devices;
    }
    for (size_t i = 0; i < d * d && S != NULL; i++) {
        S[i] = joint_entry(evidence, mean, centred, i / d, i % d);
    }
    for (size_t i = 0; i < d && Z != NULL; i++) {
        Z[i] = joint_entry(evidence, mean, centred, i, d);
    }
    if (yy != NULL) {
        *yy = joint_entry(evidence, mean, centred, d, d);
    }
}

/* ---------------------------------------------------------------- pooling */

static bool rounds_agree(const struct tremolo_debiased *const *rounds, size_t count)
{
    for (size_t t = 0; t < count; t++) {
        if (rounds[t] == NULL || rounds[t]->d != rounds[0]->d ||
            rounds[t]->response_private != rounds[0]->response_private) {
            return false;
        }
        for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
            if (rounds[t]->bucket[b].count != rounds[0]->bucket[b].count) {
                return false;
            }
        }
    }
    return true;
}

/* Weights 1 / noise^2: the variance of a noisy moment is noise^2 / K when noise
 * dominates. Rounds without noise (tests) are weighted equally. */
static double weight_of(const struct tremolo_debiased *round)
{
    return round->noise > 0.0 ? 1.0 / (round->noise * round->noise) : 1.0;
}

static void add_round(struct tremolo_debiased *pool, const struct tremolo_debiased *round,
                      double weight)
{
    size_t n = pool->n;
    for (size_t i = 0; i < n * n; i++) {
        pool->bias[i] += weight * round->bias[i];
    }
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        struct bucket *sums = &pool->bucket[b];
        sums->count = round->bucket[b].count;
        for (size_t i = 0; i < n; i++) {
            sums->sum[i] += weight * round->bucket[b].sum[i];
        }
        for (size_t i = 0; i < n * n; i++) {
            sums->product[i] += weight * round->bucket[b].product[i];
        }
    }
}

/* Replace the mean bias by the level of one release that is as noisy as the
 * pool; the debiased moments stay what they are. */
static void settle_noise(struct tremolo_debiased *pool, double factor)
{
    size_t n = pool->n;
    for (size_t i = 0; i < n * n; i++) {
        double lift = (factor - 1.0) * pool->bias[i];
        for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
            pool->bucket[b].product[i] += pool->bucket[b].count * lift;
        }
        pool->bias[i] += lift;
    }
}

enum tremolo_status tremolo_debias_pool(struct tremolo_debiased **pooled,
                                        const struct tremolo_debiased *const *rounds, size_t count)
{
    if (pooled == NULL || rounds == NULL || count == 0 || rounds[0] == NULL ||
        !rounds_agree(rounds, count)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct tremolo_debiased *pool = evidence_new(rounds[0]->d);
    if (pool == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    double total = 0.0;
    for (size_t t = 0; t < count; t++) {
        total += weight_of(rounds[t]);
    }
    double mean_noise = 0.0;
    double squares = 0.0;
    for (size_t t = 0; t < count; t++) {
        double weight = weight_of(rounds[t]) / total;
        add_round(pool, rounds[t], weight);
        mean_noise += weight * rounds[t]->noise;
        squares += weight * weight * rounds[t]->noise * rounds[t]->noise;
    }
    double factor = mean_noise > 0.0 ? sqrt(squares) / mean_noise : 1.0;
    settle_noise(pool, factor);
    add_up(pool);
    pool->noise = factor * mean_noise;
    pool->devices = rounds[0]->devices;
    pool->response_private = rounds[0]->response_private;
    pool->largest = rounds[0]->largest;
    *pooled = pool;
    return TREMOLO_OK;
}
