/* ballot_plan.c -- what to expect from ballots before anyone reports.
 *
 * The guess is that of plan.c: d features of equal variance and correlation about the
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
 * epsilon 0.5 to 4 and R^2 of 0.2 to 0.8. It is within 0.05 in 92% of 472 cells, whose own
 * errors were up to 0.06; it is too high by up to 0.2 where 2,000 devices meet epsilon 1 or
 * less. The mean of the response costs its variance, at most MEAN_PRIOR.
 *
 * A trusted server sees the same points and adds noise to their sum once. */
#include "tremolo_ballot.h"

#include <math.h>

#define INFLATION   4.5
#define MEAN_PRIOR  0.02
#define MAX_DEVICES 1e15

struct guess {
    const struct tremolo_ballot_plan_input *input;
    double d;
    double mass;
    double rest;
    double values[2]; /* eigenvalues of the features' covariance: once, and d - 1 times */
    double counts[2];
    double beta2;
    double residual;
    double wider; /* times is the least variance smaller than the others, and its noise larger */
};

static bool usable(const struct tremolo_ballot_plan_input *input)
{
    double d = (double)input->dimension;
    double least = d < 2.0 ? -1.0 : -1.0 / (d - 1.0);
    return input->devices >= 2.0 && input->h > 0.0 && (input->response_public || input->g > 0.0) &&
           input->c >= 0.0 && input->summed_noise >= 0.0 && input->feature_variance > 0.0 &&
           input->correlation > least && input->correlation < 1.0 && input->r2 >= 0.0 &&
           input->r2 < 1.0 && input->response_variance > 0.0 &&
           isfinite(input->devices + input->h + input->g + input->c + input->summed_noise +
                    input->feature_variance + input->response_variance);
}

static struct guess take(const struct tremolo_ballot_plan_input *input)
{
    double d = (double)input->dimension;
    double v = input->feature_variance;
    double rest = input->response_public ? 0.0 : input->g * input->g;
    return (struct guess){
        .input = input,
        .d = d,
        .mass = 1.0 / (input->h * input->h + rest + d * v),
        .rest = rest,
        .values = {v * (1.0 + (d - 1.0) * input->correlation), v * (1.0 - input->correlation)},
        .counts = {1.0, d - 1.0},
        .beta2 = input->r2 * input->response_variance / v,
        .residual = (1.0 - input->r2) * input->response_variance,
        .wider = fmax(input->wider, 1.0),
    };
}

/* Noise variance of a diagonal entry of the mean moments. */
static double noise_of(const struct guess *guess, double devices)
{
    const struct tremolo_ballot_plan_input *input = guess->input;
    double summed = input->summed_noise / devices;
    return input->c * input->c / devices + summed * summed;
}

static double smallest(const struct guess *guess, double wider)
{
    double h2 = guess->input->h * guess->input->h;
    double value =
        guess->counts[1] > 0.0 ? fmin(guess->values[0], guess->values[1]) : guess->values[0];
    return guess->mass * fmin(value / wider, h2);
}

static double ratio_of(const struct guess *guess, double devices, double wider)
{
    return sqrt(noise_of(guess, devices) * guess->d / 2.0) / smallest(guess, wider);
}

/* Variance of the estimate along eigendirection k, to first order, with so much of the
 * noise in the features' own moments. */
static double along(const struct guess *guess, int k, double devices, double own)
{
    const struct tremolo_ballot_plan_input *input = guess->input;
    double nu = noise_of(guess, devices);
    double moment = guess->mass * guess->values[k];
    double response = input->response_public ? input->response_variance / (input->h * input->h)
                                             : 1.0 / guess->rest;
    double noise = nu / 2.0 * (response + own * guess->beta2 * (1.0 + 1.0 / guess->d));
    return noise / (moment * moment) + guess->residual / (guess->values[k] * devices);
}

static double standard_error(const struct guess *guess, double devices)
{
    double ratio = ratio_of(guess, devices, 1.0);
    double variance = (guess->counts[0] * along(guess, 0, devices, 1.0) +
                       guess->counts[1] * along(guess, 1, devices, 1.0)) /
                      guess->d;
    return sqrt(variance * (1.0 + INFLATION * ratio * ratio));
}

/* Variance of the mean of the response, which is the intercept's. */
static double mean_variance(const struct guess *guess, double devices)
{
    const struct tremolo_ballot_plan_input *input = guess->input;
    double nu = noise_of(guess, devices);
    double moment = input->h * guess->mass;
    double noise = input->response_public ? nu * input->response_variance / (input->h * input->h)
                                          : nu / (4.5 * guess->rest);
    return noise / (moment * moment) + input->response_variance / devices;
}

static double expected_r2(const struct guess *guess)
{
    double devices = guess->input->devices;
    double signal = guess->beta2 / guess->d;
    double mean = mean_variance(guess, devices);
    double lost = mean * MEAN_PRIOR / (mean + MEAN_PRIOR);
    double moment = guess->mass * guess->input->feature_variance;
    double hidden = noise_of(guess, devices) / (moment * moment);
    for (int k = 0; k < 2; k++) {
        double error = along(guess, k, devices, fabs(guess->input->correlation));
        double r = signal > 0.0 ? error / signal * (1.0 + hidden) : 0.0;
        double kept = 1.0 / (1.0 + 1.3 * r + 0.1 * r * r);
        lost += guess->counts[k] * guess->values[k] * signal * (1.0 - kept);
    }
    return guess->input->r2 - lost / guess->input->response_variance;
}

/* Fewest devices with which a coefficient of the guess's size stands out of the widest interval;
 * the ratio of size and standard error grows with them. */
static double devices_needed(const struct guess *guess)
{
    double size = sqrt(guess->beta2 / guess->d) / guess->wider;
    double low = guess->d + 2.0;
    double high = MAX_DEVICES;
    if (!(size >= TREMOLO_PLAN_STANDS_OUT * standard_error(guess, high))) {
        return INFINITY;
    }
    for (int k = 0; k < 100 && high > low * (1.0 + 1e-6); k++) {
        double middle = sqrt(low * high);
        if (size >= TREMOLO_PLAN_STANDS_OUT * standard_error(guess, middle)) {
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
    if (!usable(input)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct guess guess = take(input);
    *plan = (struct tremolo_ballot_plan){
        .standard_error = standard_error(&guess, input->devices),
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
