/* theory.c -- the paper's formulas, as printed and, where needed, corrected.
 *
 * All in scaled units. sigma is the sd of the noise added on the device, before
 * the division by 1 - alpha. The modulation's share of the gradient's variance is
 * lambda^2/2 whatever the number of vectors. */
#include "tremolo_regression.h"

#include <math.h>

double tremolo_gradient_variance(const struct tremolo_mechanism *mechanism, double beta_norm2,
                                 double residual_ms, double beta_cross, double trace)
{
    double d = (double)mechanism->dimension;
    double keep2 = (1.0 - mechanism->alpha) * (1.0 - mechanism->alpha);
    double sigma2 = mechanism->sigma * mechanism->sigma;
    double half_lambda2 = 0.5 * mechanism->lambda * mechanism->lambda;
    double linear = residual_ms * (half_lambda2 + d * sigma2) + 2.0 * sigma2 * beta_cross +
                    sigma2 * beta_norm2 * trace;
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
