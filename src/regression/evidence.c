/* evidence.c -- from exact sums over reports to moments with noise of known size.
 *
 * Noisy samples. A released row is keep * scale * x + W + noise. Dividing by keep * scale gives
 * u = x + noise', and
 *     E u u' = x x' + (noise_variance I + modulation V'V) / (keep * scale)^2,
 * the second term known exactly: the paper's correction, for any number of
 * vectors, with the wire grid's 1/12 inside noise_variance. A public response
 * carries no noise, a private one is a coordinate like the others. The constant 1
 * is one more coordinate without noise; its products are the plain sums, so
 * centring needs nothing else, and the sample covariance of u has the same bias
 * as its second moment.
 *
 * Ballots. A decoded ballot has the mean phi = svec(uu') and the variance c^2 in each coordinate,
 * so an entry of the mean of uu' has the variance c^2/K on and c^2/(2K) off the diagonal. A
 * protected response's product with the constant counts 3/2 times in phi and its square counts
 * half: these two entries have the variances 2/9 c^2/K and 4 c^2/K.
 *
 * A public response is multiplied in here. Its mean is taken off first (it is public), so
 * that the noise of the products is uncorrelated with that of the features' moments:
 *     M_0w = E s^2 h w   = E w u_0^2 / h      with the variance c^2 E w^2 / (h^2 K),
 *     M_iw = E s^2 x_i w = E w u_0 u_i / h    with half of it,
 *     M_ww = E s^2 w^2   = E w^2 u_0^2 / h^2  with c^2 E w^4 / (h^4 K); E w^4 is taken as
 *                                            three times (E w^2)^2, as if w were normal. */
#include "evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linear.h"

/* ---------------------------------------------------------------- noisy samples */

static bool positive(double value)
{
    return value > 0.0 && isfinite(value);
}

static bool release_is_sane(const struct tremolo_sample_release *release)
{
    return release->dimension >= 1 && release->dimension <= TREMOLO_MAX_FEATURES &&
           release->keep > 0.0 && release->keep <= 1.0 && release->noise_variance >= 0.0 &&
           release->modulation >= 0.0 && release->largest >= 0.0 &&
           isfinite(release->noise_variance + release->modulation + release->largest) &&
           (release->vectors == 0 || release->V != NULL) && positive(release->feature_scale) &&
           positive(release->response_scale);
}

/* Empty evidence in two pieces of memory; NULL when there is none. */
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

/* The known part of E u u' that is noise, in scaled units. Modulation touches features alone. */
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

/* Wire integers to scaled units. */
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
        return TREMOLO_TOO_FEW;
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

/* Entry (i, j) of the mean product, about the means when `centred`, over `count` reports: those of
 * `all` but without those of `skipped`, unless it is NULL. */
static double raw_entry(const struct bucket *all, const struct bucket *skipped, const double *mean,
                        double count, bool centred, size_t i, size_t j, size_t n)
{
    size_t at = i * n + j;
    double raw = (all->product[at] - (skipped != NULL ? skipped->product[at] : 0.0)) / count;
    return centred ? (raw - mean[i] * mean[j]) * (count / fmax(count - 1.0, 1.0)) : raw;
}

/* Their means; returns how many reports there are. */
static double take_means(double *mean, const struct bucket *all, const struct bucket *skipped,
                         size_t n)
{
    double count = all->count - (skipped != NULL ? skipped->count : 0.0);
    for (size_t i = 0; i < n; i++) {
        mean[i] = (all->sum[i] - (skipped != NULL ? skipped->sum[i] : 0.0)) / count;
    }
    return count;
}

double evidence_raw(double *raw, double *mean, const struct tremolo_debiased *evidence,
                    bool centred, size_t skip)
{
    size_t n = evidence->n;
    const struct bucket *skipped = skip < TREMOLO_BUCKETS ? &evidence->bucket[skip] : NULL;
    double means[TREMOLO_MAX_FEATURES + 1];
    double count = take_means(means, &evidence->all, skipped, n);
    for (size_t i = 0; i < n * n; i++) {
        raw[i] = raw_entry(&evidence->all, skipped, means, count, centred, i / n, i % n, n);
    }
    if (mean != NULL) {
        memcpy(mean, means, n * sizeof *mean);
    }
    return count;
}

/* One entry of the debiased moment. */
static double joint_entry(const struct tremolo_debiased *evidence, const double *mean, bool centred,
                          size_t i, size_t j)
{
    return raw_entry(&evidence->all, NULL, mean, evidence->devices, centred, i, j, evidence->n) -
           evidence->bias[i * evidence->n + j];
}

void tremolo_debias_moments(double *S, double *Z, double *yy,
                            const struct tremolo_debiased *evidence, bool centred)
{
    size_t d = evidence->d;
    double mean[TREMOLO_MAX_FEATURES + 1];
    (void)take_means(mean, &evidence->all, NULL, evidence->n);
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

/* Rounds of the same devices: same features, and the same devices in each bucket. */
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

/* ---------------------------------------------------------------- ballots */

/* How often a protected response's products with the constant and with itself count. */
#define CONSTANT_TIMES 1.5
#define SQUARE_TIMES   0.5

/* Entry (i, j), i <= j, of the upper triangle of n rows. */
static size_t entry(size_t i, size_t j, size_t n)
{
    return i * n - i * (i + 1) / 2 + j;
}

/* At least two buckets with ballots: the jackknife needs them. */
static enum tremolo_status check(const struct tremolo_ballot_sums *buckets,
                                 const struct tremolo_ballot_release *release)
{
    if (buckets == NULL || release == NULL || !positive(release->h) || !positive(release->c) ||
        !positive(release->row_scale) ||
        !positive(release->response_public ? release->response_scale : release->g)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (release->dimension < 1 || release->dimension > TREMOLO_MAX_FEATURES) {
        return TREMOLO_BAD_DIMENSION;
    }
    size_t used = 0;
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        if (buckets[b].count == 0) {
            continue;
        }
        used++;
        if (buckets[b].row == NULL ||
            (release->response_public && (buckets[b].row_y == NULL || buckets[b].row_yy == NULL))) {
            return TREMOLO_BAD_ARGUMENT;
        }
    }
    return used < 2 ? TREMOLO_TOO_FEW : TREMOLO_OK;
}

/* The mean of the public response and of its square about it, scaled. */
static void centre_response(struct tremolo_ballot *ballots,
                            const struct tremolo_ballot_sums *buckets,
                            const struct tremolo_ballot_release *release)
{
    double sum = 0.0;
    double squares = 0.0;
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        sum += (double)buckets[b].y / release->response_scale;
        squares += (double)buckets[b].yy / (release->response_scale * release->response_scale);
    }
    ballots->w_mean = sum / ballots->devices;
    double square = squares / ballots->devices - ballots->w_mean * ballots->w_mean;
    double least = 1e-12 * (1.0 + ballots->w_mean * ballots->w_mean);
    ballots->w_square = fmax(square, least);
}

/* The first `size` rows and columns of M, both triangles, from sums of the upper one. */
static void take_triangle(double *M, size_t n, size_t size, const int64_t *row, double unit)
{
    for (size_t i = 0; i < size; i++) {
        for (size_t j = i; j < size; j++) {
            double half = i == j ? 1.0 : sqrt(0.5);
            M[i * n + j] = half * unit * (double)row[entry(i, j, size)];
            M[j * n + i] = M[i * n + j];
        }
    }
}

/* The response is a coordinate like the others, except for how often two of its products count. */
static void take_private(double *M, const struct tremolo_ballot *ballots,
                         const struct tremolo_ballot_sums *sums, double unit)
{
    size_t n = ballots->n;
    take_triangle(M, n, n, sums->row, unit);
    M[n - 1] /= CONSTANT_TIMES;
    M[(n - 1) * n] = M[n - 1];
    M[n * n - 1] /= SQUARE_TIMES;
}

/* The response is multiplied in, minus its mean; see the head of this file. */
static void take_public(double *M, const struct tremolo_ballot *ballots,
                        const struct tremolo_ballot_sums *sums, double unit, double scale)
{
    size_t n = ballots->n;
    size_t p = n - 1;
    double h = ballots->h;
    double mean = ballots->w_mean;
    take_triangle(M, n, p, sums->row, unit);
    for (size_t i = 0; i < p; i++) {
        double half = i == 0 ? 1.0 : sqrt(0.5);
        double times_y = half * unit * (double)sums->row_y[i] / scale;
        M[i * n + p] = (times_y - mean * M[i]) / h;
        M[p * n + i] = M[i * n + p];
    }
    double times_y = unit * (double)sums->row_y[0] / scale;
    double times_yy = unit * (double)sums->row_yy[0] / (scale * scale);
    M[p * n + p] = (times_yy - 2.0 * mean * times_y + mean * mean * M[0]) / (h * h);
}

/* Variances by kind of entry, for one device. */
static void set_noise(struct tremolo_ballot *ballots, double c)
{
    double h2 = ballots->h * ballots->h;
    double c2 = c * c;
    struct ballot_noise noise = {c2,
                                 {c2 / (2.0 * CONSTANT_TIMES * CONSTANT_TIMES), c2 / 2.0},
                                 c2 / (SQUARE_TIMES * SQUARE_TIMES)};
    if (ballots->response_public) {
        double w2 = ballots->w_square;
        noise = (struct ballot_noise){
            c2, {c2 * w2 / h2, c2 * w2 / (2.0 * h2)}, 3.0 * c2 * w2 * w2 / (h2 * h2)};
    }
    ballots->noise = noise;
}

/* M of all buckets, the first of the matrices, from those of each. */
static void pool(struct tremolo_ballot *ballots)
{
    size_t size = ballots->n * ballots->n;
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        const double *own = ballots->M + (b + 1) * size;
        double share = ballots->count[b] / ballots->devices;
        for (size_t i = 0; share > 0.0 && i < size; i++) {
            ballots->M[i] += share * own[i];
        }
    }
}

enum tremolo_status tremolo_ballot_new(struct tremolo_ballot **ballots,
                                       const struct tremolo_ballot_sums buckets[TREMOLO_BUCKETS],
                                       const struct tremolo_ballot_release *release)
{
    if (ballots == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = check(buckets, release);
    if (status != TREMOLO_OK) {
        return status;
    }
    size_t n = release->dimension + 2;
    double g = release->g;
    struct tremolo_ballot *made = calloc(1, sizeof *made);
    double *M = linear_new((TREMOLO_BUCKETS + 1) * n * n);
    if (made == NULL || M == NULL) {
        free(made);
        free(M);
        return TREMOLO_NO_MEMORY;
    }
    *made = (struct tremolo_ballot){.d = release->dimension,
                                    .n = n,
                                    .response_public = release->response_public,
                                    .h = release->h,
                                    .rest = release->response_public ? 0.0 : g * g,
                                    .w_scale = release->response_public ? 1.0 : 1.0 / g,
                                    .w_square = g * g,
                                    .M = M};
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        made->count[b] = (double)buckets[b].count;
        made->devices += made->count[b];
    }
    if (release->response_public) {
        centre_response(made, buckets, release);
    }
    set_noise(made, release->c);
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        double unit = release->c / release->row_scale / made->count[b];
        double *own = M + (b + 1) * n * n;
        if (made->count[b] > 0.0 && release->response_public) {
            take_public(own, made, &buckets[b], unit, release->response_scale);
        } else if (made->count[b] > 0.0) {
            take_private(own, made, &buckets[b], unit);
        }
    }
    pool(made);
    *ballots = made;
    return TREMOLO_OK;
}

void tremolo_ballot_free(struct tremolo_ballot *ballots)
{
    if (ballots != NULL) {
        free(ballots->M);
        free(ballots);
    }
}

void ballot_moments(double *M, const struct tremolo_ballot *ballots, size_t skip)
{
    size_t size = ballots->n * ballots->n;
    const double *all = ballots->M;
    memcpy(M, all, size * sizeof *M);
    if (skip < TREMOLO_BUCKETS) {
        const double *own = all + (skip + 1) * size;
        double share = ballots->count[skip] / (ballots->devices - ballots->count[skip]);
        for (size_t i = 0; i < size; i++) {
            M[i] += share * (all[i] - own[i]);
        }
    }
}

double ballot_variance(const struct tremolo_ballot *ballots, size_t i, size_t j)
{
    const struct ballot_noise *noise = &ballots->noise;
    size_t last = ballots->n - 1;
    double variance = i == j ? noise->entry : noise->entry / 2.0;
    if (i == last && j == last) {
        variance = noise->square;
    } else if (i == last || j == last) {
        variance = noise->response[(i == last ? j : i) == 0 ? 0 : 1];
    }
    return variance / ballots->devices;
}

/* ---------------------------------------------------------------- both */

struct source source_of_samples(const struct tremolo_debiased *samples)
{
    struct source source = {.samples = samples, .d = samples->d, .devices = samples->devices};
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        source.count[b] = samples->bucket[b].count;
    }
    return source;
}

struct source source_of_ballots(const struct tremolo_ballot *ballots)
{
    struct source source = {.ballots = ballots, .d = ballots->d, .devices = ballots->devices};
    memcpy(source.count, ballots->count, sizeof source.count);
    return source;
}

/* Joint coordinate i of samples has this place among (x, 1, y). */
static size_t place(size_t i, size_t d)
{
    return i < d ? i : i + 1;
}

static void take_samples(struct system *system, double *raw, const struct tremolo_debiased *samples,
                         size_t skip)
{
    size_t d = samples->d;
    size_t n = samples->n;
    size_t q = system->q;
    double mean[TREMOLO_MAX_FEATURES + 1];
    system->devices = evidence_raw(raw, mean, samples, false, skip);
    for (size_t i = 0; i < n; i++) {
        size_t row = place(i, d);
        for (size_t j = 0; j < n; j++) {
            size_t column = place(j, d);
            system->raw[row * q + column] = raw[i * n + j];
            system->bias[row * q + column] = samples->bias[i * n + j];
        }
        system->raw[row * q + d] = mean[i];
        system->raw[d * q + row] = mean[i];
    }
    system->raw[d * q + d] = 1.0;
}

enum tremolo_status system_take(struct system *system, const struct source *source, size_t skip)
{
    size_t q = source->d + 2;
    double *raw;
    *system = (struct system){.p = q - 1, .q = q, .devices = source->devices};
    system->memory = LINEAR_NEW({&system->raw, q * q}, {&system->bias, q * q}, {&raw, q * q});
    if (system->memory == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    if (source->ballots != NULL) {
        ballot_moments(system->raw, source->ballots, skip);
    } else {
        take_samples(system, raw, source->samples, skip);
    }
    return TREMOLO_OK;
}
