/* ballot_infer.c -- standard errors, tests and intervals from ballots.
 *
 * With c = (theta, -1) the estimate makes G = M_a c zero. Entries of M have independent
 * noise of variance V_ij, so Cov G = Omega + sampling,
 *     Omega_ii = sum_j c_j^2 V_ij,    Omega_ij = c_i c_j V_ij,
 *     sampling = E s^2 r^2 M_aa / K   for residuals of equal variance,
 * and the model's covariance is M_aa^-1 (Omega + sampling) M_aa^-1. The jackknife over
 * buckets assumes neither. Both hold while noise sqrt(d) / lambda_min is at most 0.21.
 *
 * The score set needs no such condition: at the true theta G has mean zero whatever M_aa is.
 * V_ij is v/2 off and v on the diagonal and V_iw for the response, hence
 *     Omega <= c' diag(v .. v, V_iw) c I,
 * sampling <= lambda_max c'Mc / K I with the positive part of M, and
 *     |G|^2 <= z^2 c' [diag(v .. v, V_iw) + lambda_max M / K] c
 * is a quadric in c as in score.c, conservative by at most a factor of two in variance. */
#include "ballot.h"
#include "infer.h"
#include "linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* covariance <- inverse (Omega + sampling) inverse */
static void sandwich(struct analysis *analysis, const struct tremolo_ballot *ballots)
{
    size_t n = ballots->n;
    size_t p = n - 1;
    const double *M = ballots->M;
    const double *theta = analysis->beta;
    double *omega = analysis->covariance;
    double residual = M[p * n + p] - linear_dot(theta, M + p * n, p);
    double sampling = fmax(residual, 0.0) / ballots->devices;
    for (size_t i = 0; i < p; i++) {
        double sum = ballot_variance(ballots, i, p);
        for (size_t j = 0; j < p; j++) {
            double variance = ballot_variance(ballots, i, j);
            sum += theta[j] * theta[j] * variance;
            omega[i * p + j] = theta[i] * theta[j] * variance + sampling * M[i * n + j];
        }
        omega[i * p + i] = sum + sampling * M[i * n + i];
    }
    linear_sandwich(omega, analysis->work, analysis->inverse, p);
}

/* M <- its positive part; returns the largest eigenvalue, or -1 when LAPACK does not
 * converge. `work` holds n * n. */
static double positive_part(double *M, double *work, size_t n)
{
    double values[BALLOT_MAX];
    memcpy(work, M, n * n * sizeof *M);
    if (!linear_eigen(values, work, n)) {
        return -1.0;
    }
    memset(M, 0, n * n * sizeof *M);
    for (size_t k = 0; k < n; k++) {
        const double *vector = work + k * n;
        for (size_t i = 0; values[k] > 0.0 && i < n; i++) {
            double part = values[k] * vector[i];
            for (size_t j = 0; j < n; j++) {
                M[i * n + j] += part * vector[j];
            }
        }
    }
    return fmax(values[n - 1], 0.0);
}

static enum tremolo_status score_set_of(struct score_set *set, const struct tremolo_ballot *ballots,
                                        double level)
{
    size_t n = ballots->n;
    size_t p = n - 1;
    double z = tremolo_normal_quantile(0.5 + 0.5 * level);
    double *P, *T;
    double *memory = LINEAR_NEW({&P, n * n}, {&T, n * n});
    if (memory == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    memcpy(P, ballots->M, n * n * sizeof *P);
    double largest = positive_part(P, T, n);
    /* The response's noise may be larger in the first equation than in the others; where it is
     * smaller, that of the features is not, and the equation counts as the others do. */
    double response = ballot_variance(ballots, 1, p);
    double first = fmin(1.0, response / ballot_variance(ballots, 0, p));
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            const double *left = ballots->M + i * n;
            const double *right = ballots->M + j * n;
            double score = linear_dot(left, right, p) - (1.0 - first) * left[0] * right[0];
            double noise = i != j ? 0.0 : i == p ? response : ballot_variance(ballots, 0, 0);
            T[i * n + j] = score - z * z * (noise + largest * P[i * n + j] / ballots->devices);
        }
    }
    enum tremolo_status status =
        largest < 0.0 ? TREMOLO_NOT_CONVERGED : score_from_quadric(set, T, p);
    free(memory);
    return status;
}

static enum tremolo_status leave_out(struct analysis *analysis, double *M,
                                     const struct tremolo_ballot *ballots)
{
    size_t n = ballots->n;
    size_t p = n - 1;
    for (size_t b = 0; b < ballots->buckets; b++) {
        if (!(ballots->count[b] > 0.0)) {
            continue;
        }
        ballot_moments(M, ballots, b);
        double *row = analysis->left_out + analysis->groups * p;
        linear_block(analysis->work, M, p, n);
        memcpy(row, M + p * n, p * sizeof *M);
        enum tremolo_status status = linear_solve(row, analysis->work, p);
        if (status != TREMOLO_OK) {
            return status;
        }
        analysis->share[analysis->groups++] = ballots->devices / ballots->count[b];
    }
    return TREMOLO_OK;
}

/* As infer.c has it for noisy samples. */
static double planned_devices(const struct tremolo_ballot *ballots)
{
    const struct tremolo_ballot_plan_input input = {
        .dimension = ballots->d,
        .response_public = ballots->response_public,
        .h = ballots->h,
        .g = sqrt(ballots->rest),
        .devices = ballots->devices,
        .c = sqrt(2.0 * ballots->devices * ballot_variance(ballots, 0, 1)),
        .feature_variance = TREMOLO_PLAN_SD * TREMOLO_PLAN_SD,
        .r2 = TREMOLO_PLAN_R2,
        .response_variance = TREMOLO_PLAN_SD * TREMOLO_PLAN_SD,
    };
    struct tremolo_ballot_plan plan;
    return tremolo_ballot_plan(&plan, &input) == TREMOLO_OK ? plan.devices_needed : INFINITY;
}

static enum tremolo_status analyse(struct analysis *analysis, const struct tremolo_ballot *ballots,
                                   double level)
{
    size_t n = ballots->n;
    double *M = linear_new(n * n);
    enum tremolo_status status =
        analysis_new(analysis, n - 1) && M != NULL
            ? ballot_solve(analysis->beta, analysis->inverse, ballots->M, n)
            : TREMOLO_NO_MEMORY;
    if (status == TREMOLO_OK) {
        sandwich(analysis, ballots);
        status = score_set_of(&analysis->score, ballots, level);
    }
    if (status == TREMOLO_OK) {
        analysis->devices_needed = planned_devices(ballots);
        status = leave_out(analysis, M, ballots);
    }
    free(M);
    if (status != TREMOLO_OK) {
        analysis_drop(analysis);
    }
    return status;
}

/* The line for own coefficient j; scaled ones are w_scale (beta, h theta_0) and w_mean is part
 * of the intercept. */
static void line(struct tremolo_coefficient *row, const struct analysis *analysis,
                 const struct tremolo_ballot *ballots, const struct tremolo_units *units, size_t j,
                 double level)
{
    size_t d = ballots->d;
    double scaled[BALLOT_MAX];
    double weights[BALLOT_MAX];
    double constant = infer_carry(scaled, j, d, units);
    for (size_t i = 0; i < d; i++) {
        weights[i + 1] = ballots->w_scale * scaled[i];
    }
    weights[0] = ballots->h * ballots->w_scale * scaled[d];
    constant += ballots->w_mean * scaled[d];
    analysis_describe(row, analysis, weights, constant, level);
}

enum tremolo_status tremolo_ballot_infer(struct tremolo_coefficient *rows,
                                         const struct tremolo_ballot *ballots,
                                         const struct tremolo_units *units, double level)
{
    struct analysis analysis;
    if (rows == NULL || ballots == NULL || !(level > 0.0 && level < 1.0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = analyse(&analysis, ballots, level);
    if (status != TREMOLO_OK) {
        return status;
    }
    for (size_t j = 0; j <= ballots->d; j++) {
        line(&rows[j], &analysis, ballots, units, j, level);
    }
    analysis_drop(&analysis);
    return TREMOLO_OK;
}
