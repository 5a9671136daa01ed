/* ballot_fit.c -- coefficients from the moments of ballots.
 *
 * `auto` solves the posterior mean of M (ballot_posterior.c), `unbiased` M as it is. What `auto`
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
#include "ballot.h"
#include "linear.h"
#include "shrink.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
