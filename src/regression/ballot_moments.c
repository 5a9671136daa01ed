/* ballot_moments.c -- integer sums over ballots to moments with known noise.
 *
 * A decoded ballot has the mean phi = svec(uu') and the variance c^2 in each coordinate,
 * so an entry of the mean of uu' has the variance c^2/K on and c^2/(2K) off the diagonal. A
 * protected response counts 3/2 times beside the constant and half beside itself in
 * phi: these two entries have the variances 2/9 c^2/K and 4 c^2/K.
 *
 * A public response is multiplied in here. Its mean is taken off first (it is public), so
 * that the noise of the products is uncorrelated with that of the features' moments:
 *     M_0w = E s^2 h w   = E w u_0^2 / h      with the variance c^2 E w^2 / (h^2 K),
 *     M_iw = E s^2 x_i w = E w u_0 u_i / h    with half of it,
 *     M_ww = E s^2 w^2   = E w^2 u_0^2 / h^2  with c^2 E w^4 / (h^4 K); E w^4 is taken as
 *                                            three times (E w^2)^2, as if w were normal. */
#include "ballot.h"
#include "linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How often a protected response's products with the constant and with itself count. */
#define CONSTANT_TIMES 1.5
#define SQUARE_TIMES   0.5

/* Entry (i, j), i <= j, of the upper triangle of n rows. */
static size_t entry(size_t i, size_t j, size_t n)
{
    return i * n - i * (i + 1) / 2 + j;
}

static bool positive(double value)
{
    return value > 0.0 && isfinite(value);
}

static enum tremolo_status check(const struct tremolo_ballot_sums *buckets, size_t count,
                                 const struct tremolo_ballot_release *release)
{
    if (buckets == NULL || release == NULL || count < 2 || count > TREMOLO_BUCKETS ||
        !positive(release->h) || !positive(release->c) || !positive(release->row_scale) ||
        !positive(release->response_public ? release->response_scale : release->g)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (release->dimension < 1 || release->dimension > TREMOLO_MAX_FEATURES) {
        return TREMOLO_BAD_DIMENSION;
    }
    size_t used = 0;
    for (size_t b = 0; b < count; b++) {
        if (buckets[b].count == 0) {
            continue;
        }
        used++;
        if (buckets[b].row == NULL ||
            (release->response_public && (buckets[b].row_y == NULL || buckets[b].row_yy == NULL))) {
            return TREMOLO_BAD_ARGUMENT;
        }
    }
    return used < 2 ? TREMOLO_BAD_ARGUMENT : TREMOLO_OK;
}

/* The mean of the public response and of its square about it, scaled. */
static void centre_response(struct tremolo_ballot *ballots,
                            const struct tremolo_ballot_sums *buckets,
                            const struct tremolo_ballot_release *release)
{
    double sum = 0.0;
    double squares = 0.0;
    for (size_t b = 0; b < ballots->buckets; b++) {
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

static void take_private(double *M, const struct tremolo_ballot *ballots,
                         const struct tremolo_ballot_sums *sums, double unit)
{
    size_t n = ballots->n;
    take_triangle(M, n, n, sums->row, unit);
    M[n - 1] /= CONSTANT_TIMES;
    M[(n - 1) * n] = M[n - 1];
    M[n * n - 1] /= SQUARE_TIMES;
}

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
    for (size_t b = 0; b < ballots->buckets; b++) {
        const double *own = ballots->M + (b + 1) * size;
        double share = ballots->count[b] / ballots->devices;
        for (size_t i = 0; share > 0.0 && i < size; i++) {
            ballots->M[i] += share * own[i];
        }
    }
}

enum tremolo_status tremolo_ballot_new(struct tremolo_ballot **ballots,
                                       const struct tremolo_ballot_sums *buckets, size_t count,
                                       const struct tremolo_ballot_release *release)
{
    if (ballots == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = check(buckets, count, release);
    if (status != TREMOLO_OK) {
        return status;
    }
    size_t n = release->dimension + 2;
    double g = release->g;
    struct tremolo_ballot *made = calloc(1, sizeof *made);
    double *M = linear_new((count + 1) * n * n);
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
                                    .buckets = count,
                                    .M = M};
    for (size_t b = 0; b < count; b++) {
        made->count[b] = (double)buckets[b].count;
        made->devices += made->count[b];
    }
    if (release->response_public) {
        centre_response(made, buckets, release);
    }
    set_noise(made, release->c);
    for (size_t b = 0; b < count; b++) {
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

uint64_t tremolo_ballot_devices(const struct tremolo_ballot *ballots)
{
    return (uint64_t)ballots->devices;
}

size_t tremolo_ballot_dimension(const struct tremolo_ballot *ballots)
{
    return ballots->d;
}

void ballot_moments(double *M, const struct tremolo_ballot *ballots, size_t skip)
{
    size_t size = ballots->n * ballots->n;
    const double *all = ballots->M;
    memcpy(M, all, size * sizeof *M);
    if (skip < ballots->buckets) {
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

enum tremolo_status ballot_solve(double *theta, double *inverse, const double *M, size_t n)
{
    size_t p = n - 1;
    linear_block(inverse, M, p, n);
    enum tremolo_status status = linear_inverse(inverse, p);
    if (status == TREMOLO_OK) {
        linear_apply(theta, inverse, M + p * n, p);
    }
    return status;
}
