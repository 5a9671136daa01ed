/* normal.h -- the normal tail and its Mills ratio with error bounds.
 * Internal to the accountant; normal.c holds the method and its analysis. */
#ifndef TREMOLO_PRIVACY_NORMAL_H
#define TREMOLO_PRIVACY_NORMAL_H

#include "interval.h"

/* A positive number with a bound on its relative error. */
struct approx {
    double value;
    double error;
};

#define NORMAL_INV_SQRT_2PI 0.39894228040143267794

/* R(x) = Q(x) / phi(x) for x >= 0. */
struct approx normal_mills(double x);

/* R(a) - R(a + mu) for a >= 0, mu > 0, without cancellation; also for
 * -mu/2 <= a < 0 as long as mu <= 1. */
struct approx normal_mills_drop(double a, double mu);

/* Q(x), the upper tail, for any finite x. */
struct tremolo_certified normal_tail(double x);

/* The x with Q(x) = probability, for probability in [DBL_MIN, 1). */
enum tremolo_status normal_tail_inverse(struct tremolo_certified *x, double probability);

#endif
