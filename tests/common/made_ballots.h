/* made_ballots.h -- sums over ballots of a made-up population, for tests of regression.
 *
 * The population is given by its weighted moments: features with the means `mean` and the
 * covariance `variance` ((1 - correlation) I + correlation 11'), a response with the given
 * coefficients and residual variance. Every bucket's sums are drawn as the exact moments
 * plus the noise that so many ballots have. */
#ifndef TREMOLO_MADE_BALLOTS_H
#define TREMOLO_MADE_BALLOTS_H

#include "regression.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MADE_MAX = 68, MADE_ENTRIES = MADE_MAX * (MADE_MAX + 1) / 2 };

#define MADE_SCALE    0x1p24
#define MADE_RESPONSE 0x1p10 /* wire units of a public response */

struct made_population {
    size_t d;
    bool response_public;
    double h, g, c;
    double devices;
    double variance, correlation, mean;
    double slope[MADE_MAX];
    double intercept;
    double residual; /* variance */
};

struct made_ballots {
    int64_t row[3][TREMOLO_BUCKETS][MADE_ENTRIES];
    struct tremolo_ballot_sums sums[TREMOLO_BUCKETS];
    struct tremolo_ballot_release release;
};

/* A population of d features with slopes of +-size and zero in turn. */
static inline struct made_population made_population(size_t d, bool response_public, double devices,
                                                     double c)
{
    double root = sqrt((double)d / 3.0);
    struct made_population made = {.d = d,
                                   .response_public = response_public,
                                   .h = response_public ? 1.1 * root : 0.329 + 0.477 * root,
                                   .g = 0.6 + 0.87 * root,
                                   .c = c,
                                   .devices = devices,
                                   .variance = 0.33,
                                   .correlation = 0.2,
                                   .mean = 0.1,
                                   .intercept = -0.1,
                                   .residual = 0.12};
    for (size_t j = 0; j < d; j++) {
        made.slope[j] = j % 3 == 0 ? 0.4 : j % 3 == 1 ? -0.2 : 0.0;
    }
    return made;
}

/* Weighted mean of products of (h, x, y), y as it is: M of n * n. */
static inline void made_moments(double *M, const struct made_population *made)
{
    size_t d = made->d;
    size_t n = d + 2;
    double h = made->h;
    double rest = made->response_public ? 0.0 : made->g * made->g;
    double x2 = (double)d * (made->variance + made->mean * made->mean);
    double mass = 1.0 / (h * h + rest + x2);
    memset(M, 0, n * n * sizeof *M);
    M[0] = mass * h * h;
    for (size_t i = 1; i <= d; i++) {
        M[i] = M[i * n] = mass * h * made->mean;
        for (size_t j = 1; j <= d; j++) {
            double covariance = made->variance * (i == j ? 1.0 : made->correlation);
            M[i * n + j] = mass * (covariance + made->mean * made->mean);
        }
    }
    double last = mass * made->residual;
    for (size_t i = 0; i <= d; i++) {
        double sum = made->intercept / h * M[i * n];
        for (size_t j = 1; j <= d; j++) {
            sum += made->slope[j - 1] * M[i * n + j];
        }
        M[i * n + d + 1] = M[(d + 1) * n + i] = sum;
        last += sum * (i == 0 ? made->intercept / h : made->slope[i - 1]);
    }
    M[n * n - 1] = last;
}

static inline int64_t made_round(double value)
{
    return (int64_t)llround(value);
}

static inline void made_draw(struct made_ballots *ballots, const struct made_population *made,
                             struct tremolo_random *random)
{
    size_t n = made->d + 2;
    size_t p = made->response_public ? n - 1 : n;
    double M[MADE_MAX * MADE_MAX];
    assert(n <= MADE_MAX);
    made_moments(M, made);
    double mass = M[0] / (made->h * made->h);
    double y2 = M[n * n - 1] / mass;
    for (size_t b = 0; b < TREMOLO_BUCKETS; b++) {
        double count = floor(made->devices / TREMOLO_BUCKETS) + (double)(b % 3);
        double noise = made->c / sqrt(count);
        struct tremolo_ballot_sums *sums = &ballots->sums[b];
        *sums = (struct tremolo_ballot_sums){.count = (uint64_t)count, .row = ballots->row[0][b]};
        size_t at = 0;
        for (size_t i = 0; i < p; i++) {
            for (size_t j = i; j < p; j++, at++) {
                double unit = i == j ? 1.0 : sqrt(2.0);
                if (j == n - 1) { /* 3/2 times with the constant, half with itself */
                    unit *= made->g * (i == 0 ? 1.5 : i == j ? made->g / 2.0 : 1.0);
                }
                double phi = unit * M[i * n + j] + noise * tremolo_random_normal(random);
                ballots->row[0][b][at] = made_round(phi / made->c * MADE_SCALE * count);
            }
        }
        if (!made->response_public) {
            continue;
        }
        /* The noise of a product with y; the mean of y times the row's noise is in it. */
        double mean = M[n - 1] / M[0] * made->h;
        double sd = noise * sqrt(y2 - mean * mean);
        for (size_t i = 0; i < p; i++) {
            double exact = (i == 0 ? 1.0 : sqrt(2.0)) * made->h;
            double own = (double)ballots->row[0][b][i] / MADE_SCALE / count * made->c;
            double off = own - (i == 0 ? 1.0 : sqrt(2.0)) * M[i];
            double phi = exact * M[i * n + n - 1] + mean * off + sd * tremolo_random_normal(random);
            ballots->row[1][b][i] = made_round(phi / made->c * MADE_SCALE * count * MADE_RESPONSE);
        }
        double phi = made->h * made->h * M[n * n - 1] + noise * y2 * tremolo_random_normal(random);
        ballots->row[2][b][0] =
            made_round(phi / made->c * MADE_SCALE * count * MADE_RESPONSE * MADE_RESPONSE);
        sums->row_y = ballots->row[1][b];
        sums->row_yy = ballots->row[2][b];
        sums->y = made_round(mean * count * MADE_RESPONSE);
        sums->yy = made_round(y2 * count * MADE_RESPONSE * MADE_RESPONSE);
    }
    ballots->release = (struct tremolo_ballot_release){.dimension = made->d,
                                                       .response_public = made->response_public,
                                                       .h = made->h,
                                                       .g = made->g,
                                                       .c = made->c,
                                                       .row_scale = MADE_SCALE,
                                                       .response_scale = MADE_RESPONSE};
}

#endif
