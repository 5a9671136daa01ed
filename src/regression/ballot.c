/* ballot.c -- integer sums over ballots to moments with known noise.
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
#include "evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linear.h"

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

/* ---------------------------------------------------------------- */
/* coefficients from the moments of ballots.
 *
 * `auto` solves the posterior mean of M (posterior.c), `unbiased` M as it is. What `auto`
 * explains is judged by draws from the same posterior: R^2 of the fit, its mean and the middle
 * of it that the level asks for. Noise was known and the fit is fixed, so no part of the data is needed twice.
 *
 * Slopes count in part where M does not show that features and response are related at all: a
 * posterior has slopes of some size whatever is seen, and without a signal each of them costs.
 *
 * How far weights can matter. Let b solve plain least squares, r its residuals, and let
 * low <= s^2 <= high. The weighted coefficients are b + S^-1 E s^2 a r with S = E s^2 aa', and
 * E (s^2 - k) a r is the same for every k. Projecting (s^2 - k) r / s on s a bounds the
 * weighted mean square of the difference of the two predictions by E s^2 (1 - k/s^2)^2 r^2,
 * which for k = 2 low high / (low + high) is at most ((high - low)/(high + low))^2 E s^2 r^2. */

#define WIDEST_NOISE 0.4 /* of R^2 as M has it, one standard deviation */
#define LEAST_TRUST  0.2 /* of slopes without a sign of a signal: a third of what they explain */
#define CLEAR_SDS    3.0 /* so far from nothing is noise alone once in 50 (1 feature) to 200 (40) */

/* Loss of theta under M: E s^2 (w - prediction)^2. */
static double loss(const double *theta, const double *M, size_t n)
{
    size_t p = n - 1;
    double sum = M[p * n + p];
    for (size_t i = 0; i < p; i++) {
        sum += theta[i] * (linear_dot(M + i * n, theta, p) - 2.0 * M[i * n + p]);
    }
    return sum;
}

static double share_explained(const double *theta, const double *M, size_t n)
{
    size_t p = n - 1;
    double total = M[p * n + p] - M[p] * M[p] / M[0];
    return 1.0 - loss(theta, M, n) / total;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

/* The share p of `count` sorted draws; beyond the outermost two it is told by a normal tail. */
static double quantile(const double *sorted, size_t count, double p, double mean, double sd)
{
    double at = p * (double)(count - 1);
    double outer = mean + sd * tremolo_normal_quantile(p);
    if (at < 1.0) {
        return fmin(outer, sorted[1]);
    }
    if (at > (double)(count - 2)) {
        return fmax(outer, sorted[count - 2]);
    }
    size_t below = (size_t)at;
    return sorted[below] + (at - floor(at)) * (sorted[below + 1] - sorted[below]);
}

/* R^2 and its interval. */
static void judge(struct tremolo_ballot_fit *fit, const double *theta,
                  struct ballot_posterior *posterior, double level)
{
    double r2[BALLOT_DRAWS];
    size_t count = ballot_posterior_explained(r2, posterior, theta);
    double mean = 0.0;
    double variance = 0.0;
    for (size_t k = 0; k < count; k++) {
        mean += r2[k] / (double)count;
    }
    for (size_t k = 0; k < count; k++) {
        variance += (r2[k] - mean) * (r2[k] - mean) / (double)count;
    }
    double sd = sqrt(variance);
    qsort(r2, count, sizeof *r2, by_size);
    fit->fit.r2 = mean;
    fit->r2_low = quantile(r2, count, 0.5 - 0.5 * level, mean, sd);
    fit->r2_high = fmin(quantile(r2, count, 0.5 + 0.5 * level, mean, sd), 1.0);
}

/* Slopes by `trust`; the prediction still goes through the means that M has. */
static void hold_back(double *theta, double trust, const double *M, size_t n)
{
    theta[0] = M[n - 1];
    for (size_t i = 1; i < n - 1; i++) {
        theta[i] *= trust;
        theta[0] -= theta[i] * M[i];
    }
    theta[0] /= M[0];
}

/* Where little is seen the posterior is mostly its prior, and sure of it. So nothing is said of
 * R^2 where M itself could not tell it: R^2 = 1 - L/T with the loss L of theta and the response's
 * variance T, both linear in M but for the mean, and their noise is known. Whether it is said must
 * not depend on how large it came out, or what is said would be too small on average: so it is
 * asked of slopes that explain half of T, as P, the posterior mean of M, has it. */
static bool is_told(const double *theta, const double *P, const struct tremolo_ballot *ballots)
{
    const double *M = ballots->M;
    size_t n = ballots->n;
    size_t p = n - 1;
    double half[BALLOT_MAX];
    double mean = P[p] / P[0];
    double total = P[p * n + p] - mean * P[p];
    double on_total = 0.0; /* variances of T, and of R^2 */
    double variance = 0.0;
    memcpy(half, theta, p * sizeof *half);
    hold_back(half, sqrt(0.5 / share_explained(theta, P, n)), P, n);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i; j < n; j++) {
            double a = (i == p ? -1.0 : half[i]) * (j == p ? -1.0 : half[j]);
            double of_loss = i == j ? a : 2.0 * a;
            double of_total = i == p ? 1.0 : i > 0 ? 0.0 : j == p ? -2.0 * mean : 0.0;
            of_total += i == 0 && j == 0 ? mean * mean : 0.0;
            double noise = ballot_variance(ballots, i, j);
            double both = (0.5 * of_total - of_loss) / total;
            on_total += of_total * of_total * noise;
            variance += both * both * noise;
        }
    }
    double seen = M[p * n + p] - M[p] * M[p] / M[0];
    return seen > 2.0 * sqrt(on_total) && sqrt(variance) <= WIDEST_NOISE;
}

/* What slopes count for, with the posterior mean P of M: by the covariances of features and
 * response, squared and by their noise. */
static double signal_trust(const struct tremolo_ballot *ballots, const double *P)
{
    const double *M = ballots->M;
    size_t n = ballots->n;
    size_t w = n - 1;
    double mean_w = P[w] / P[0];
    double seen = 0.0;
    for (size_t i = 1; i < w; i++) {
        double mean = P[i] / P[0];
        double both = mean * mean_w;
        double covariance = M[i * n + w] - mean * M[w] - mean_w * M[i] + both * M[0];
        double noise = ballot_variance(ballots, i, w) +
                       mean * mean * ballot_variance(ballots, 0, w) +
                       mean_w * mean_w * ballot_variance(ballots, 0, i) +
                       both * both * ballot_variance(ballots, 0, 0);
        seen += covariance * covariance / noise;
    }
    return shrink_trust(seen, 1.0, (double)ballots->d, LEAST_TRUST, CLEAR_SDS);
}

/* Eigenvalues of M_aa, ascending; `work` holds p * p. */
static bool spectrum(double *values, double *work, const double *M, size_t n)
{
    linear_block(work, M, n - 1, n);
    return linear_eigenvalues(values, work, n - 1);
}

static enum tremolo_status describe(struct tremolo_ballot_fit *fit, const double *theta,
                                    const double *M, double *work,
                                    const struct tremolo_ballot *ballots)
{
    size_t n = ballots->n;
    size_t p = n - 1;
    double values[BALLOT_MAX];
    if (!spectrum(values, work, ballots->M, n)) {
        return TREMOLO_NOT_CONVERGED;
    }
    double noise = sqrt(ballot_variance(ballots, 0, 1));
    double least = ballots->h * ballots->h + ballots->rest; /* of 1/s^2 */
    double most = least + (double)ballots->d;
    fit->noise_ratio = values[0] > 0.0 ? noise * sqrt((double)ballots->d) / values[0] : INFINITY;
    fit->shift_max = (most - least) / (most + least);
    for (size_t i = 0; i < p; i++) {
        fit->fit.negative += values[i] < 0.0;
    }
    if (!spectrum(values, work, M, n)) {
        return TREMOLO_NOT_CONVERGED;
    }
    fit->fit.condition = fabs(values[p - 1] / values[0]);
    double mass = M[0] / (ballots->h * ballots->h);
    double unit = ballots->w_scale * ballots->w_scale / mass;
    fit->fit.residual_variance = unit * loss(theta, M, n);
    fit->fit.intercept = ballots->h * ballots->w_scale * theta[0] + ballots->w_mean;
    return isfinite(fit->fit.residual_variance) ? TREMOLO_OK : TREMOLO_NOT_CONVERGED;
}

enum tremolo_status tremolo_ballot_fit(double *beta, struct tremolo_ballot_fit *fit,
                                       const struct tremolo_ballot *ballots,
                                       enum tremolo_method method, double level)
{
    if (beta == NULL || fit == NULL || ballots == NULL || !(level > 0.0 && level < 1.0) ||
        (method != TREMOLO_METHOD_AUTO && method != TREMOLO_METHOD_UNBIASED)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    size_t n = ballots->n;
    double theta[BALLOT_MAX];
    struct tremolo_ballot_fit made = {.fit.r2 = NAN, .r2_low = NAN, .r2_high = NAN};
    struct ballot_posterior *posterior = NULL;
    double *M, *work;
    double *memory = LINEAR_NEW({&M, n * n}, {&work, n * n});
    if (memory == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    memcpy(M, ballots->M, n * n * sizeof *M);
    enum tremolo_status status =
        method == TREMOLO_METHOD_AUTO ? ballot_posterior_new(&posterior, M, ballots) : TREMOLO_OK;
    if (status == TREMOLO_OK) {
        status = ballot_solve(theta, work, M, n);
    }
    bool told = false;
    if (status == TREMOLO_OK && posterior != NULL) {
        told = is_told(theta, M, ballots);
        hold_back(theta, signal_trust(ballots, M), M, n);
    }
    if (status == TREMOLO_OK) {
        status = describe(&made, theta, M, work, ballots);
    }
    if (status != TREMOLO_OK) {
        goto done;
    }
    if (told) {
        judge(&made, theta, posterior, level);
    }
    for (size_t i = 0; i < ballots->d; i++) {
        beta[i] = ballots->w_scale * theta[i + 1];
    }
    *fit = made;
done:
    ballot_posterior_free(posterior);
    free(memory);
    return status;
}
