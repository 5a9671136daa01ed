/* theory.c -- the paper's formulas, as printed and, where needed, corrected.
 *
 * All in scaled units. sigma is the sd of the noise added on the device, before
 * the division by 1 - alpha. The modulation's share of the gradient's variance is
 * lambda^2/2 whatever the number of vectors.
 *
 * A private response adds to G the mean of n u, n its noise and u the released
 * features, both divided by 1 - alpha. n is independent of all else, so what is
 * added is E n^2 E|u|^2 / K: as if mean r^2 and |beta|^2 were larger by E n^2 and 1. */
#include "tremolo_regression.h"

#include "evidence.h"
#include "linear.h"

#include <math.h>
#include <stdlib.h>

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

double tremolo_gradient_variance(const struct tremolo_mechanism *mechanism, double beta_norm2,
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

double tremolo_gradient_variance_bound(const struct tremolo_mechanism *mechanism, double B,
                                       double R, double M)
{
    double residual = R * B + M;
    return tremolo_gradient_variance(mechanism, B * B, residual * residual, B * R * residual,
                                     R * R);
}

/* As printed: the variance bound, which holds 1/K already, is divided by K once
 * more, and the step 1/L leaves no room for noise. Kept for comparison only. */
double tremolo_convergence_printed(double smoothness, double distance2, double rounds,
                                   double variance, double devices)
{
    return smoothness * distance2 / (2.0 * rounds) + variance / (2.0 * smoothness * devices);
}

/* Projected stochastic gradient steps of 1/(2L) on an L-smooth convex function:
 * one step gives F(next) - F* <= L (|b-b*|^2 - |next-b*|^2) + v/(2L) in
 * expectation; the sum telescopes, and convexity moves the average inside. */
double tremolo_convergence_corrected(double smoothness, double distance2, double rounds,
                                     double variance)
{
    return smoothness * distance2 / rounds + variance / (2.0 * smoothness);
}

struct tremolo_convergence tremolo_convergence_of(const struct tremolo_convergence_input *input)
{
    struct tremolo_convergence result = {
        .variance = tremolo_gradient_variance(&input->mechanism, input->beta_norm2,
                                              input->residual_ms, input->beta_cross, input->trace),
        .variance_bound =
            tremolo_gradient_variance_bound(&input->mechanism, input->B, input->R, input->M),
    };
    result.printed =
        tremolo_convergence_printed(input->smoothness, input->beta_norm2, input->rounds,
                                    result.variance_bound, input->mechanism.devices);
    result.corrected = tremolo_convergence_corrected(input->smoothness, input->beta_norm2,
                                                     input->rounds, result.variance_bound);
    return result;
}

/* Take S, its norm and the residual from evidence at `beta` (d numbers, standing
 * for b*), about zero as in the paper. mechanism, rounds, B, R and M stay. Noise
 * can make tr S and the residual negative: they count as 0 then. False when
 * no eigenvalue of S is above 0. */
static bool take(struct tremolo_convergence_input *input, const struct tremolo_debiased *evidence,
                 const double *beta)
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
    made.known = take(&made.input, evidence, beta);
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
