/* diagnose.c -- covariance, F test, variance inflation and residuals from sums in buckets.
 *
 * Both releases come down to the same thing: joint moments M of (1, x, y), debiased, scaled
 * units, M_00 = 1, of all buckets and without each bucket in turn. From one M follow
 *     S = M_xx - m m',  Z = M_xy - m M_1y,    m = M_1x,
 *     the coefficients S^-1 Z, the inflations S_jj (S^-1)_jj, the score Z itself,
 *     the loss c'Mc at the given prediction c = (intercept, beta, -1),
 * and the jackknife over the buckets says how far each would move.
 *
 * The F test uses Z: under the hypothesis its mean is zero whatever S is, so noise in S, which
 * makes S^-1 Z far from normal, does not matter. Over g buckets its pseudo-values are close to
 * normal, and Hotelling's T^2 (g - d) / (d (g - 1)) has the F distribution of d and g - d. */
#include "regression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evidence.h"
#include "linear.h"
#include "accountant.h"

static const double INFLATION_SPAN_MAX = 10.0; /* an interval that is wider says nothing */

/* Where the statistics of one M are, one after the other. The d + 1 coefficients in own units
 * come first. */
struct layout {
    size_t scores;     /* d */
    size_t inflations; /* d, logarithms */
    size_t loss;
    size_t width;
};

struct replicates {
    struct layout at;
    size_t groups;
    double share[TREMOLO_BUCKETS]; /* devices of all / of the one left out */
    double *memory;
    double *value;           /* of all, then without each bucket: (groups + 1) * width */
    double *off;             /* groups * width: their cross products are the covariance */
    double *M, *S, *inverse; /* of the last one */
    bool positive;           /* S was, every time: else scores and loss alone hold */
};

/* ---------------------------------------------------------------- moments */

/* The place in (x, 1, y) of coordinate i of (1, x, y). */
static size_t place(size_t i, size_t d)
{
    return i == 0 ? d : i <= d ? i - 1 : i;
}

/* (h, x, w) weighted by s^2 to (1, x, y) weighted so that weights have the mean 1. */
static enum tremolo_status ballot_joint(double *M, const struct tremolo_ballot *ballots)
{
    size_t n = ballots->n;
    size_t y = n - 1;
    double mass = M[0] / (ballots->h * ballots->h);
    if (!(mass > 0.0)) {
        return TREMOLO_SINGULAR;
    }
    for (size_t i = 0; i < n * n; i++) {
        double row = i / n == 0 ? ballots->h : i / n == y ? 1.0 / ballots->w_scale : 1.0;
        double column = i % n == 0 ? ballots->h : i % n == y ? 1.0 / ballots->w_scale : 1.0;
        M[i] /= mass * row * column;
    }
    double square = M[y * n + y] + ballots->w_mean * (2.0 * M[y] + ballots->w_mean);
    for (size_t i = 0; i < y; i++) {
        M[i * n + y] += ballots->w_mean * M[i];
        M[y * n + i] = M[i * n + y];
    }
    M[y * n + y] = square;
    return TREMOLO_OK;
}

/* M of all buckets but `skip`. */
static enum tremolo_status joint_moments(double *M, const struct source *source, size_t skip)
{
    struct system system;
    size_t d = source->d;
    size_t n = d + 2;
    enum tremolo_status status = TREMOLO_OK;
    if (source->ballots != NULL) {
        ballot_moments(M, source->ballots, skip);
        return ballot_joint(M, source->ballots);
    }
    status = system_take(&system, source, skip);
    for (size_t i = 0; status == TREMOLO_OK && i < n * n; i++) {
        size_t from = place(i / n, d) * n + place(i % n, d);
        M[i] = system.raw[from] - system.bias[from];
    }
    free(system.memory);
    return status;
}

/* ---------------------------------------------------------------- statistics of one M */

/* S, and S^-1 by its Cholesky factor; false when it is not positive. */
static bool invert(double *inverse, double *S, const double *M, size_t d)
{
    size_t n = d + 2;
    double logdet;
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++) {
            S[i * d + j] = M[(i + 1) * n + j + 1] - M[i + 1] * M[j + 1];
        }
    }
    memcpy(inverse, S, d * d * sizeof *S);
    return linear_positive_inverse(inverse, &logdet, d);
}

/* The mean squared residual of a prediction: c'Mc for c = (intercept, beta, -1). */
static double loss_of(const double *M, size_t d, const double *beta, double intercept)
{
    double c[INFER_MAX];
    c[0] = intercept;
    memcpy(c + 1, beta, d * sizeof *beta);
    c[d + 1] = -1.0;
    return linear_form(c, M, c, d + 2);
}

/* Fill the row of replicates with that many groups from M. */
static void statistics(struct replicates *made, size_t d, const double *beta, double intercept,
                       const struct tremolo_units *units)
{
    size_t n = d + 2;
    const double *M = made->M;
    double slope[TREMOLO_MAX_FEATURES];
    double *own = made->value + made->groups * made->at.width;
    double *score = own + made->at.scores;
    for (size_t i = 0; i < d; i++) {
        score[i] = M[(i + 1) * n + d + 1] - M[i + 1] * M[d + 1];
    }
    own[made->at.loss] = loss_of(M, d, beta, intercept);
    if (!invert(made->inverse, made->S, M, d)) {
        made->positive = false;
        return;
    }
    linear_apply(slope, made->inverse, score, d);
    double constant = M[d + 1] - linear_dot(slope, M + 1, d);
    memcpy(own, slope, d * sizeof *own);
    own[d] = constant;
    if (units != NULL) {
        tremolo_fit_to_own(own, &own[d], slope, constant, d, units);
    }
    for (size_t i = 0; i < d; i++) {
        own[made->at.inflations + i] = log(made->S[i * d + i]) + log(made->inverse[i * d + i]);
    }
}

/* ---------------------------------------------------------------- the jackknife */

/* Pseudo-values of groups of unequal size, as in infer.c, about their mean. */
static void deviate(struct replicates *made)
{
    size_t width = made->at.width;
    double g = (double)made->groups;
    for (size_t j = 0; j < width; j++) {
        double full = made->value[j];
        double centre = g * full;
        for (size_t k = 0; k < made->groups; k++) {
            centre -= (1.0 - 1.0 / made->share[k]) * made->value[(k + 1) * width + j];
        }
        for (size_t k = 0; k < made->groups; k++) {
            double h = made->share[k];
            double pseudo = h * full - (h - 1.0) * made->value[(k + 1) * width + j];
            made->off[k * width + j] = (pseudo - centre) / sqrt((h - 1.0) * g);
        }
    }
}

/* Jackknife covariance of two statistics, by their places in a row. */
static double covariance_of(const struct replicates *made, size_t i, size_t j)
{
    double sum = 0.0;
    for (size_t k = 0; k < made->groups; k++) {
        const double *off = made->off + k * made->at.width;
        sum += off[i] * off[j];
    }
    return sum;
}

/* All statistics of all buckets, then without each bucket in turn, and how far each moved. */
static enum tremolo_status replicate(struct replicates *made, const struct source *source,
                                     const double *beta, double intercept,
                                     const struct tremolo_units *units)
{
    size_t d = source->d;
    enum tremolo_status status = joint_moments(made->M, source, TREMOLO_BUCKETS);
    if (status == TREMOLO_OK) {
        statistics(made, d, beta, intercept, units);
    }
    for (size_t b = 0; status == TREMOLO_OK && b < TREMOLO_BUCKETS; b++) {
        if (source->count[b] > 0.0) {
            status = joint_moments(made->M, source, b);
            made->share[made->groups++] = source->devices / source->count[b];
            statistics(made, d, beta, intercept, units);
        }
    }
    if (status == TREMOLO_OK && made->groups < 2) {
        status = TREMOLO_SINGULAR;
    }
    if (status == TREMOLO_OK) {
        deviate(made);
    }
    return status;
}

/* ---------------------------------------------------------------- answers */

/* NaN throughout with as many features as buckets, or with a singular covariance. */
static struct tremolo_f_test f_test_of(const struct replicates *made, size_t d)
{
    struct tremolo_f_test test = {NAN, NAN, NAN, NAN};
    double g = (double)made->groups;
    double solved[TREMOLO_BUCKETS];
    const double *score = made->value + made->at.scores;
    if (d >= made->groups) {
        return test;
    }
    double *C = linear_new(d * d);
    for (size_t i = 0; C != NULL && i < d; i++) {
        for (size_t j = 0; j < d; j++) {
            C[i * d + j] = covariance_of(made, made->at.scores + i, made->at.scores + j);
        }
    }
    if (C != NULL && linear_cholesky(C, d)) {
        memcpy(solved, score, d * sizeof *solved);
        linear_cholesky_solve(solved, C, d, 1);
        test.numerator = (double)d;
        test.denominator = g - (double)d;
        test.f = linear_dot(solved, score, d) * test.denominator / (test.numerator * (g - 1.0));
        double share = test.denominator / (test.denominator + test.numerator * test.f);
        test.p = tremolo_beta_tail(0.5 * test.denominator, 0.5 * test.numerator, share, false);
    }
    free(C);
    return test;
}

/* The interval is one of the variance, carried through the root; unknown when it reaches zero. */
static struct tremolo_measured residual_of(const struct replicates *made, double variance,
                                           double scale, double t)
{
    double error = sqrt(covariance_of(made, made->at.loss, made->at.loss));
    variance = isnan(variance) ? made->value[made->at.loss] : variance;
    double low = variance - t * error;
    bool known = low > 0.0 && isfinite(error);
    return (struct tremolo_measured){.estimate = scale * sqrt(fmax(variance, 0.0)),
                                     .low = known ? scale * sqrt(low) : NAN,
                                     .high = known ? scale * sqrt(variance + t * error) : NAN};
}

/* The interval is one of the logarithm, because the variance of an inflation grows with it. */
static struct tremolo_measured inflation_of(const struct replicates *made, size_t i, double t)
{
    size_t at = made->at.inflations + i;
    double half = t * sqrt(covariance_of(made, at, at));
    bool known = 2.0 * half <= log(INFLATION_SPAN_MAX);
    double middle = made->value[at];
    return (struct tremolo_measured){.estimate = known ? exp(middle) : NAN,
                                     .low = known ? exp(fmax(middle - half, 0.0)) : NAN,
                                     .high = known ? exp(middle + half) : NAN};
}

static enum tremolo_status tell(struct tremolo_diagnosis *diagnosis, const struct replicates *made,
                                size_t d, double t)
{
    size_t p = d + 1;
    diagnosis->f_test = f_test_of(made, d);
    if (!made->positive) {
        return TREMOLO_OK;
    }
    diagnosis->covariance = linear_new(p * p);
    diagnosis->inflation = calloc(d, sizeof *diagnosis->inflation);
    if (diagnosis->covariance == NULL || diagnosis->inflation == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    for (size_t i = 0; i < p * p; i++) {
        diagnosis->covariance[i] = covariance_of(made, i / p, i % p);
    }
    for (size_t i = 0; i < d; i++) {
        diagnosis->inflation[i] = inflation_of(made, i, t);
    }
    return TREMOLO_OK;
}

void tremolo_diagnosis_begin(struct tremolo_diagnosis *diagnosis)
{
    *diagnosis =
        (struct tremolo_diagnosis){.residual_sd = {NAN, NAN, NAN}, .f_test = {NAN, NAN, NAN, NAN}};
}

static enum tremolo_status diagnose(struct tremolo_diagnosis *diagnosis,
                                    const struct source *source, const double *beta,
                                    const struct tremolo_fit *fit,
                                    const struct tremolo_units *units, double level)
{
    size_t d = source->d;
    size_t width = 3 * d + 2;
    struct replicates made = {.at = {d + 1, 2 * d + 1, 3 * d + 1, width}, .positive = true};
    made.memory = LINEAR_NEW({&made.value, (TREMOLO_BUCKETS + 1) * width},
                             {&made.off, TREMOLO_BUCKETS * width}, {&made.M, (d + 2) * (d + 2)},
                             {&made.S, d * d}, {&made.inverse, d * d});
    enum tremolo_status status = made.memory != NULL
                                     ? replicate(&made, source, beta, fit->intercept, units)
                                     : TREMOLO_NO_MEMORY;
    if (status == TREMOLO_OK) {
        double t = tremolo_student_quantile(0.5 + 0.5 * level, (double)(made.groups - 1));
        double scale = units != NULL ? units->response_scale : 1.0;
        diagnosis->residual_sd = residual_of(&made, fit->residual_variance, scale, t);
        status = tell(diagnosis, &made, d, t);
    }
    free(made.memory);
    return status == TREMOLO_SINGULAR ? TREMOLO_OK : status;
}

enum tremolo_status tremolo_diagnose(struct tremolo_diagnosis *diagnosis,
                                     const struct tremolo_debiased *evidence,
                                     const struct tremolo_ballot *ballots, const double *beta,
                                     const struct tremolo_fit *fit,
                                     const struct tremolo_units *units, double level)
{
    if (diagnosis == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    tremolo_diagnosis_begin(diagnosis);
    if ((evidence == NULL) == (ballots == NULL) || beta == NULL || fit == NULL ||
        !(level > 0.0 && level < 1.0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    const struct source source =
        ballots != NULL ? source_of_ballots(ballots) : source_of_samples(evidence);
    enum tremolo_status status = diagnose(diagnosis, &source, beta, fit, units, level);
    if (status != TREMOLO_OK) {
        tremolo_diagnosis_free(diagnosis);
    }
    return status;
}

void tremolo_diagnosis_free(struct tremolo_diagnosis *diagnosis)
{
    free(diagnosis->covariance);
    free(diagnosis->inflation);
    tremolo_diagnosis_begin(diagnosis);
}
