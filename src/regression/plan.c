/* plan.c -- what to expect from a study before anyone reports.
 *
 * The guess: d features of equal variance and equal correlation, coefficients in
 * no particular direction with the stated R^2. S has two distinct eigenvalues.
 * For the unbiased estimator Cov = S^-1 Omega S^-1 / K with
 *     Omega = (s^2 + n |beta|^2)(S + n I) + n^2 beta beta',
 * n the noise variance per coordinate, alpha undone, modulation spread evenly.
 * With n = 0 this is ordinary least squares, whose risks are the minimax
 * references s^2 d/K (prediction) and s^2 tr S^-1/K (estimation): the price of
 * privacy is the ratio.
 *
 * The regularised prediction is approximated by treating what `auto` does as two
 * measurements of S, the reports (variance about (lambda + n)^2/K) and a prior worth
 * PRIOR_DEVICES without noise, and the best possible shrinkage of beta after
 * that. Against the measured R^2 of five public tasks this guess was off by -0.29
 * (strongly correlated features) to +0.10 at epsilon 0.5, by -0.20 to -0.02 at 1 and
 * by -0.07 to 0 from 2 on: it errs on the cautious side. */
#include "tremolo_regression.h"

#include <math.h>

#define MAX_DEVICES 1e15

#define PRIOR_DEVICES 20.0 /* what auto's prior on S is worth; see shrink.c */

struct guess {
    double d;
    double K;
    double noise;
    double values[2]; /* eigenvalues: once, and d - 1 times */
    double counts[2];
    double beta2;
    double explained; /* beta' S beta */
    double own;       /* residual variance without any noise */
    double residual;  /* and with that of a private response */
};

static enum tremolo_status take(struct guess *guess, const struct tremolo_plan_input *input)
{
    double d = (double)input->dimension;
    if (input->dimension < 1 || input->dimension > TREMOLO_MAX_FEATURES) {
        return TREMOLO_BAD_DIMENSION;
    }
    bool correlation_fits =
        input->correlation < 1.0 &&
        (d < 2.0 ? input->correlation > -1.0 : input->correlation > -1.0 / (d - 1.0));
    if (!(input->devices >= 2.0) || !(input->noise_sd >= 0.0) || !(input->modulation >= 0.0) ||
        !(input->feature_variance > 0.0) || !correlation_fits || !(input->r2 >= 0.0) ||
        !(input->r2 < 1.0) || !(input->response_variance > 0.0) || !(input->level > 0.0) ||
        !(input->level < 1.0) || input->vectors > input->dimension ||
        !isfinite(input->noise_sd + input->modulation + input->devices)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    double v = input->feature_variance;
    *guess = (struct guess){
        .d = d,
        .K = input->devices,
        .noise = input->noise_sd * input->noise_sd + input->modulation * (double)input->vectors / d,
        .values = {v * (1.0 + (d - 1.0) * input->correlation), v * (1.0 - input->correlation)},
        .counts = {1.0, d - 1.0},
        .beta2 = input->r2 * input->response_variance / v,
        .explained = input->r2 * input->response_variance,
        .own = (1.0 - input->r2) * input->response_variance,
    };
    guess->residual =
        guess->own + (input->response_private ? input->noise_sd * input->noise_sd : 0.0);
    return TREMOLO_OK;
}

/* Variance of the estimate along eigendirection k, averaged over beta. */
static double along(const struct guess *guess, int k, double noise, double residual)
{
    double value = guess->values[k];
    double omega = (residual + noise * guess->beta2) * (value + noise) +
                   noise * noise * guess->beta2 / guess->d;
    return omega / (value * value) / guess->K;
}

/* The same for the regularised estimate: S is known from reports and prior. */
static double along_regularised(const struct guess *guess, int k)
{
    double value = guess->values[k];
    double n = guess->noise;
    double v = guess->beta2 > 0.0 ? guess->explained / guess->beta2 : value;
    double from_response =
        (guess->residual * value + (guess->residual + guess->explained) * n) / guess->K;
    double reports = (n * n + 2.0 * n * value) / guess->K;
    double moment = reports > 0.0 ? 1.0 / (1.0 / reports + PRIOR_DEVICES / (v * v)) : 0.0;
    return (from_response + guess->beta2 * moment) / (value * value);
}

/* Variance of one coefficient: the mean over eigendirections, since with equal
 * correlations every coefficient has share 1/d in the first and the rest after. */
static double one_coefficient(const struct guess *guess, double noise, double residual)
{
    return (guess->counts[0] * along(guess, 0, noise, residual) +
            guess->counts[1] * along(guess, 1, noise, residual)) /
           guess->d;
}

static double smallest(const struct guess *guess)
{
    return guess->counts[1] > 0.0 ? fmin(guess->values[0], guess->values[1]) : guess->values[0];
}

/* As the tables' intervals: standard errors of buckets have so many degrees of freedom. */
static double interval_quantile(double level)
{
    return tremolo_student_quantile(0.5 + 0.5 * level, TREMOLO_BUCKETS - 1);
}

enum tremolo_status tremolo_plan(struct tremolo_plan_result *result,
                                 const struct tremolo_plan_input *input)
{
    struct guess guess;
    if (result == NULL || input == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = take(&guess, input);
    if (status != TREMOLO_OK) {
        return status;
    }
    struct tremolo_plan_result made = {0};
    double lost = 0.0;
    for (int k = 0; k < 2; k++) {
        double variance = along(&guess, k, guess.noise, guess.residual);
        double signal = guess.beta2 / guess.d;
        double blurred = along_regularised(&guess, k);
        double shrunk = signal + blurred > 0.0 ? signal * blurred / (signal + blurred) : 0.0;
        made.prediction_error += guess.counts[k] * guess.values[k] * variance;
        made.estimation_error += guess.counts[k] * variance;
        made.estimation_minimax += guess.counts[k] * guess.own / guess.values[k] / guess.K;
        lost += guess.counts[k] * guess.values[k] * shrunk;
    }
    made.prediction_minimax = guess.own * guess.d / guess.K;
    made.standard_error = sqrt(one_coefficient(&guess, guess.noise, guess.residual));
    made.standard_error_public = sqrt(one_coefficient(&guess, 0.0, guess.own));
    made.half_width = made.standard_error * interval_quantile(input->level);
    made.r2_auto = input->r2 - lost / input->response_variance;
    made.noise_ratio = guess.noise * sqrt(guess.d / guess.K) / smallest(&guess);
    *result = made;
    return TREMOLO_OK;
}

/* The standard error falls as 1/sqrt(K), so one evaluation is enough; below the
 * number that keeps S identified, intervals would not hold. */
enum tremolo_status tremolo_plan_devices(double *devices, const struct tremolo_plan_input *input,
                                         double half_width, double power, double effect)
{
    struct guess guess;
    if (devices == NULL || input == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = take(&guess, input);
    if (status != TREMOLO_OK) {
        return status;
    }
    double t = interval_quantile(input->level);
    double wanted = INFINITY;
    if (half_width > 0.0) {
        wanted = half_width / t;
    }
    if (power > 0.0 && power < 1.0 && effect != 0.0) {
        double reach = t + tremolo_normal_quantile(power);
        wanted = fmin(wanted, reach > 0.0 ? fabs(effect) / reach : INFINITY);
    }
    if (isinf(wanted)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    double ratio = sqrt(one_coefficient(&guess, guess.noise, guess.residual)) / wanted;
    double identified = guess.noise / (TREMOLO_PLAN_RATIO_SAMPLE * smallest(&guess));
    double needed = fmax(guess.K * ratio * ratio, guess.d * identified * identified);
    if (!(needed <= MAX_DEVICES)) {
        return TREMOLO_UNREACHABLE;
    }
    *devices = fmax(ceil(needed), guess.d + 2.0);
    return TREMOLO_OK;
}

double tremolo_plan_needed(const struct tremolo_plan_input *input)
{
    struct tremolo_plan_input usual = *input;
    double effect = sqrt(input->r2 * input->response_variance /
                         ((double)input->dimension * input->feature_variance));
    double devices = INFINITY;
    usual.level = 0.95; /* any level: the width is the wanted standard error's */
    double half_width = interval_quantile(usual.level) * effect / TREMOLO_PLAN_STANDS_OUT;
    (void)!tremolo_plan_devices(&devices, &usual, half_width, 0.0, 0.0);
    return devices;
}

enum tremolo_status tremolo_convergence_guess(struct tremolo_convergence_input *input,
                                              const struct tremolo_plan_input *plan)
{
    struct guess guess;
    enum tremolo_status status = take(&guess, plan);
    if (status != TREMOLO_OK) {
        return status;
    }
    input->smoothness = fmax(guess.values[0], guess.counts[1] > 0.0 ? guess.values[1] : 0.0);
    input->trace = guess.d * plan->feature_variance;
    input->beta_norm2 = guess.beta2;
    input->residual_ms = guess.own;
    input->beta_cross = 0.0;
    input->B = sqrt(guess.beta2);
    return TREMOLO_OK;
}
