/* plan.c -- what to expect from a study before anyone reports.
 *
 * The guess: d features of equal variance and equal correlation, coefficients in
 * no particular direction with the stated R^2. S has two distinct eigenvalues.
 * For the unbiased estimator Cov = S^-1 Omega S^-1 / K with
 *     Omega = (s^2 + n |beta|^2)(S + n I) + n^2 beta beta',
 * n the noise variance per coordinate, alpha undone, modulation spread evenly.
 * With n = 0 this is ordinary least squares; its risks are the minimax
 * references s^2 d/K (prediction) and s^2 tr S^-1/K (estimation): the price of
 * privacy is the ratio.
 *
 * The regularised prediction is approximated by treating what `auto` does as two
 * measurements of S, the reports (variance about (lambda + n)^2/K) and a prior worth
 * PRIOR_DEVICES without noise, and the best possible shrinkage of beta after
 * that. Against the measured R^2 of five public tasks this guess was off by -0.29
 * (strongly correlated features) to +0.10 at epsilon 0.5, by -0.20 to -0.02 at 1 and
 * by -0.07 to 0 from 2 on: it errs on the cautious side. */
#include <math.h>
#include <stdlib.h>

#include "evidence.h"
#include "linear.h"

#define MAX_DEVICES 1e15

#define PRIOR_DEVICES 20.0 /* what auto's prior on S is worth; see shrink.c */

/* What is guessed of the population, for both kinds of release. */
struct guess {
    double d;
    double values[2]; /* eigenvalues of the features' covariance: once, and d - 1 times */
    double counts[2];
    double beta2;
    double explained; /* beta' S beta */
    double own;       /* residual variance without any noise */
    /* Of noisy samples: */
    double K;
    double noise;
    double residual; /* with the noise of a private response */
};

static struct guess guess_of(size_t dimension, double variance, double correlation, double r2,
                             double response_variance)
{
    double d = (double)dimension;
    return (struct guess){
        .d = d,
        .values = {variance * (1.0 + (d - 1.0) * correlation), variance * (1.0 - correlation)},
        .counts = {1.0, d - 1.0},
        .beta2 = r2 * response_variance / variance,
        .explained = r2 * response_variance,
        .own = (1.0 - r2) * response_variance,
    };
}

static bool is_possible(size_t dimension, double variance, double correlation, double r2,
                        double response_variance)
{
    double d = (double)dimension;
    return variance > 0.0 && correlation < 1.0 &&
           correlation > (d < 2.0 ? -1.0 : -1.0 / (d - 1.0)) && r2 >= 0.0 && r2 < 1.0 &&
           response_variance > 0.0;
}

static enum tremolo_status take(struct guess *guess, const struct tremolo_plan_input *input)
{
    double v = input->feature_variance;
    double noise2 = input->noise_sd * input->noise_sd;
    if (input->dimension < 1 || input->dimension > TREMOLO_MAX_FEATURES) {
        return TREMOLO_BAD_DIMENSION;
    }
    if (!is_possible(input->dimension, v, input->correlation, input->r2,
                     input->response_variance) ||
        !(input->devices >= 2.0) || !(input->noise_sd >= 0.0) || !(input->modulation >= 0.0) ||
        !(input->level > 0.0) || !(input->level < 1.0) || input->vectors > input->dimension ||
        !isfinite(input->noise_sd + input->modulation + input->devices)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    *guess = guess_of(input->dimension, v, input->correlation, input->r2, input->response_variance);
    guess->K = input->devices;
    guess->noise = noise2 + input->modulation * (double)input->vectors / guess->d;
    guess->residual = guess->own + (input->response_private ? noise2 : 0.0);
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

/* The wanted width is the one at which the guessed coefficient stands out. */
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

/* ---------------------------------------------------------------- the paper's theorems
 *
 * The formulas as printed and, where needed, corrected.
 *
 * All in scaled units. sigma is the sd of the noise added on the device, before
 * the division by 1 - alpha. The modulation's share of the gradient's variance is
 * lambda^2/2 whatever the number of vectors.
 *
 * A private response adds to G the mean of n u, n its noise and u the released
 * features, both divided by 1 - alpha. n is independent of all else, so what is
 * added is E n^2 E|u|^2 / K: as if mean r^2 and |beta|^2 were larger by E n^2 and 1. */

struct tremolo_mechanism tremolo_release_mechanism(const struct tremolo_sample_release *release,
                                                   double devices)
{
    double unit = release->feature_scale;
    return (struct tremolo_mechanism){
        .dimension = release->dimension,
        .devices = devices,
        .alpha = 1.0 - release->keep,
        .lambda = sqrt(2.0 * (double)release->vectors * release->modulation) / unit,
        .sigma = sqrt(release->noise_variance) / unit,
        .response_private = release->response_private,
    };
}

/* Theorem on the gradient's variance E|G - grad|^2 for fixed data, any m. */
static double gradient_variance(const struct tremolo_mechanism *mechanism, double beta_norm2,
                                double residual_ms, double beta_cross, double trace)
{
    double d = (double)mechanism->dimension;
    double keep2 = (1.0 - mechanism->alpha) * (1.0 - mechanism->alpha);
    double sigma2 = mechanism->sigma * mechanism->sigma;
    double half_lambda2 = 0.5 * mechanism->lambda * mechanism->lambda;
    double hidden = mechanism->response_private ? 1.0 : 0.0;
    double linear = (residual_ms + hidden * sigma2 / keep2) * (half_lambda2 + d * sigma2) +
                    2.0 * sigma2 * beta_cross + sigma2 * (beta_norm2 + hidden) * trace;
    double quadratic = beta_norm2 * (half_lambda2 * sigma2 + (d + 1.0) * sigma2 * sigma2);
    return linear / (mechanism->devices * keep2) + quadratic / (mechanism->devices * keep2 * keep2);
}

/* Two bounds of the excess loss after T rounds follow from a bound v of that variance. As printed,
 * L |b0-b*|^2/(2T) + v/(2 L K): v, which holds 1/K already, is divided by K once more, and the step
 * 1/L leaves no room for noise; it is kept for comparison only. Corrected: projected stochastic
 * gradient steps of 1/(2L) on an L-smooth convex function give
 *     F(next) - F* <= L (|b-b*|^2 - |next-b*|^2) + v/(2L)
 * in expectation; the sum telescopes, and convexity moves the average inside. */
struct tremolo_convergence tremolo_convergence_of(const struct tremolo_convergence_input *input)
{
    double L = input->smoothness;
    double B = input->B;
    double residual = input->R * B + input->M;
    double distance2 = input->beta_norm2;
    struct tremolo_convergence result = {
        .variance = gradient_variance(&input->mechanism, distance2, input->residual_ms,
                                      input->beta_cross, input->trace),
        .variance_bound = gradient_variance(&input->mechanism, B * B, residual * residual,
                                            B * input->R * residual, input->R * input->R),
    };
    result.printed = L * distance2 / (2.0 * input->rounds) +
                     result.variance_bound / (2.0 * L * input->mechanism.devices);
    result.corrected = L * distance2 / input->rounds + result.variance_bound / (2.0 * L);
    return result;
}

/* Take S, its norm and the residual from evidence at `beta` (d numbers, standing
 * for b*), about zero as in the paper. mechanism, rounds, B, R and M stay. Noise
 * can make tr S and the residual negative: they count as 0 then. False when
 * no eigenvalue of S is above 0. */
static bool take_fit(struct tremolo_convergence_input *input,
                     const struct tremolo_debiased *evidence, const double *beta)
{
    size_t d = evidence->d;
    double Z[TREMOLO_MAX_FEATURES], slope[TREMOLO_MAX_FEATURES], values[TREMOLO_MAX_FEATURES];
    double yy = 0.0, trace = 0.0;
    double *S = linear_new(d * d);
    if (S == NULL) {
        return false;
    }
    tremolo_debias_moments(S, Z, &yy, evidence, false);
    for (size_t i = 0; i < d; i++) {
        trace += S[i * d + i];
    }
    linear_apply(slope, S, beta, d);
    double fitted = linear_dot(beta, slope, d);
    double along = linear_dot(beta, Z, d);
    bool found = linear_eigen(values, S, d) && values[d - 1] > 0.0;
    free(S);
    if (!found) {
        return false;
    }
    input->smoothness = values[d - 1];
    input->trace = fmax(trace, 0.0);
    input->beta_norm2 = linear_dot(beta, beta, d);
    input->residual_ms = fmax(yy - 2.0 * along + fitted, 0.0);
    input->beta_cross = fitted - along;
    return true;
}

struct tremolo_convergence_answer
tremolo_convergence_of_fit(const struct tremolo_convergence_input *input,
                           const struct tremolo_debiased *evidence, const double *beta)
{
    struct tremolo_convergence_answer made = {.input = *input};
    made.known = take_fit(&made.input, evidence, beta);
    if (!(made.input.B > 0.0)) {
        made.input.B = sqrt(made.input.beta_norm2);
    }
    if (made.known) {
        made.result = tremolo_convergence_of(&made.input);
    }
    return made;
}

double tremolo_convergence_r2(const struct tremolo_convergence_answer *answer,
                              const struct tremolo_debiased *evidence)
{
    double yy = 0.0;
    tremolo_debias_moments(NULL, NULL, &yy, evidence, false);
    return answer->known && yy > 0.0 ? 1.0 - answer->input.residual_ms / yy : NAN;
}

/* ---------------------------------------------------------------- ballots
 *
 * The guess is the same: d features of equal variance and correlation about the
 * middle of their ranges, coefficients in no particular direction with the stated R^2. With
 * mass = 1/(h^2 + rest + E|x|^2) and nu the noise variance of a diagonal entry of the mean
 * moments, the estimate along an eigendirection of the features' covariance (value L) has
 *     noise    nu/2 (1 + g^2 |b|^2 (1 + 1/d)) / (mass L g)^2         all protected
 *              nu/2 (E y^2 / h^2 + |b|^2 (1 + 1/d)) / (mass L)^2     features only
 *     sampling residual / (L K).
 * Both are first order; noise in the matrix that is inverted makes the estimate's spread
 * larger by 1 + INFLATION ratio^2, ratio = sqrt(nu d/2) / lambda_min, as simulations show
 * for 3 to 16 features (within 5% of the standard error up to a ratio of 0.33).
 *
 * The regularised prediction finds out when features are unrelated, so that noise in their
 * own moments costs it little then. With r the ratio of an estimate's variance to the mean
 * square of a coefficient, times one plus the squared noise of a feature's variance by that
 * variance, it keeps 1/(1 + 1.3 r + r^2/10) of what a direction explains: fitted to an earlier
 * form of the estimator with 1 to 24 features, correlations of 0 and 0.3, 2,000 to 128,000 devices,
 * epsilon 0.5 to 4 and R^2 of 0.2 to 0.8. It is within 0.05 in 92% of 472 cells, which had errors of up
 * to 0.06 themselves; it is too high by up to 0.2 where 2,000 devices meet epsilon 1 or
 * less. The mean of the response costs its variance, at most MEAN_PRIOR.
 *
 * A trusted server sees the same points and adds noise to their sum once. */

#define INFLATION  4.5
#define MEAN_PRIOR 0.02

struct ballot_guess {
    const struct tremolo_ballot_plan_input *input;
    struct guess all;
    double mass;
    double rest;
    double wider; /* times is the least variance smaller than the others, and its noise larger */
};

static bool ballot_usable(const struct tremolo_ballot_plan_input *input)
{
    return is_possible(input->dimension, input->feature_variance, input->correlation, input->r2,
                       input->response_variance) &&
           input->devices >= 2.0 && input->h > 0.0 && (input->response_public || input->g > 0.0) &&
           input->c >= 0.0 && input->summed_noise >= 0.0 &&
           isfinite(input->devices + input->h + input->g + input->c + input->summed_noise +
                    input->feature_variance + input->response_variance);
}

static struct ballot_guess ballot_take(const struct tremolo_ballot_plan_input *input)
{
    double v = input->feature_variance;
    double rest = input->response_public ? 0.0 : input->g * input->g;
    return (struct ballot_guess){
        .input = input,
        .all =
            guess_of(input->dimension, v, input->correlation, input->r2, input->response_variance),
        .mass = 1.0 / (input->h * input->h + rest + (double)input->dimension * v),
        .rest = rest,
        .wider = fmax(input->wider, 1.0),
    };
}

/* Noise variance of a diagonal entry of the mean moments. */
static double noise_of(const struct ballot_guess *guess, double devices)
{
    const struct tremolo_ballot_plan_input *input = guess->input;
    double summed = input->summed_noise / devices;
    return input->c * input->c / devices + summed * summed;
}

static double ballot_smallest(const struct ballot_guess *guess, double wider)
{
    double h2 = guess->input->h * guess->input->h;
    return guess->mass * fmin(smallest(&guess->all) / wider, h2);
}

/* The noise by the smallest eigenvalue: how far the matrix can be trusted to be positive. */
static double ratio_of(const struct ballot_guess *guess, double devices, double wider)
{
    return sqrt(noise_of(guess, devices) * guess->all.d / 2.0) / ballot_smallest(guess, wider);
}

/* Variance of the estimate along eigendirection k, to first order, with the share `own` of
 * the noise in the features' own moments. */
static double ballot_along(const struct ballot_guess *guess, int k, double devices, double own)
{
    const struct tremolo_ballot_plan_input *input = guess->input;
    double nu = noise_of(guess, devices);
    double moment = guess->mass * guess->all.values[k];
    double response = input->response_public ? input->response_variance / (input->h * input->h)
                                             : 1.0 / guess->rest;
    double noise = nu / 2.0 * (response + own * guess->all.beta2 * (1.0 + 1.0 / guess->all.d));
    return noise / (moment * moment) + guess->all.own / (guess->all.values[k] * devices);
}

/* The standard error of a coefficient: first order, widened for noise in the inverted matrix. */
static double ballot_error(const struct ballot_guess *guess, double devices)
{
    double ratio = ratio_of(guess, devices, 1.0);
    double variance = (guess->all.counts[0] * ballot_along(guess, 0, devices, 1.0) +
                       guess->all.counts[1] * ballot_along(guess, 1, devices, 1.0)) /
                      guess->all.d;
    return sqrt(variance * (1.0 + INFLATION * ratio * ratio));
}

/* Variance of the mean of the response, which is the intercept's. */
static double mean_variance(const struct ballot_guess *guess, double devices)
{
    const struct tremolo_ballot_plan_input *input = guess->input;
    double nu = noise_of(guess, devices);
    double moment = input->h * guess->mass;
    double noise = input->response_public ? nu * input->response_variance / (input->h * input->h)
                                          : nu / (4.5 * guess->rest);
    return noise / (moment * moment) + input->response_variance / devices;
}

/* What the regularised prediction keeps of r2, direction by direction, minus the price of the mean. */
static double expected_r2(const struct ballot_guess *guess)
{
    double devices = guess->input->devices;
    double signal = guess->all.beta2 / guess->all.d;
    double mean = mean_variance(guess, devices);
    double lost = mean * MEAN_PRIOR / (mean + MEAN_PRIOR);
    double moment = guess->mass * guess->input->feature_variance;
    double hidden = noise_of(guess, devices) / (moment * moment);
    for (int k = 0; k < 2; k++) {
        double error = ballot_along(guess, k, devices, fabs(guess->input->correlation));
        double r = signal > 0.0 ? error / signal * (1.0 + hidden) : 0.0;
        double kept = 1.0 / (1.0 + 1.3 * r + 0.1 * r * r);
        lost += guess->all.counts[k] * guess->all.values[k] * signal * (1.0 - kept);
    }
    return guess->input->r2 - lost / guess->input->response_variance;
}

/* Fewest devices with which a coefficient of the guess's size stands out of the widest interval;
 * the ratio of size and standard error grows with them. */
static double devices_needed(const struct ballot_guess *guess)
{
    double size = sqrt(guess->all.beta2 / guess->all.d) / guess->wider;
    double low = guess->all.d + 2.0;
    double high = MAX_DEVICES;
    if (!(size >= TREMOLO_PLAN_STANDS_OUT * ballot_error(guess, high))) {
        return INFINITY;
    }
    for (int k = 0; k < 100 && high > low * (1.0 + 1e-6); k++) {
        double middle = sqrt(low * high);
        if (size >= TREMOLO_PLAN_STANDS_OUT * ballot_error(guess, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return ceil(high);
}

enum tremolo_status tremolo_ballot_plan(struct tremolo_ballot_plan *plan,
                                        const struct tremolo_ballot_plan_input *input)
{
    if (plan == NULL || input == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (input->dimension < 1 || input->dimension > TREMOLO_MAX_FEATURES) {
        return TREMOLO_BAD_DIMENSION;
    }
    if (!ballot_usable(input)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct ballot_guess guess = ballot_take(input);
    *plan = (struct tremolo_ballot_plan){
        .standard_error = ballot_error(&guess, input->devices),
        .devices_needed = devices_needed(&guess),
        .r2 = expected_r2(&guess),
        .noise_ratio = ratio_of(&guess, input->devices, guess.wider),
    };
    return TREMOLO_OK;
}

double tremolo_ballot_trusted_noise(size_t dimension, double epsilon)
{
    double n = (double)dimension + 2.0;
    double entries = n * (n + 1.0) / 2.0 + 1.0;
    return sqrt(2.0 * (entries + 1.0)) / epsilon;
}
