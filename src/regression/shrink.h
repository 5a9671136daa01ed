/* shrink.h -- the `auto` estimator's engine; see shrink.c. */
#ifndef TREMOLO_SHRINK_H
#define TREMOLO_SHRINK_H

#include <stdbool.h>
#include <stddef.h>

#include "tremolo_regression.h"

/* One release seen as a covariance: raw joint moment (n = d + 1, response last),
 * the part of it that is noise, and the number of devices. */
struct shrink_problem {
    size_t d;
    double devices;
    double noise;       /* per feature coordinate */
    double largest;     /* second moment of a coordinate that bounds allow; 0 unknown */
    const double *raw;  /* n * n */
    const double *bias; /* n * n */
};

/* What the penalties are; see shrink.c. */
struct shrink_constants {
    double mu;
    double raise; /* T = mu I + raise z z' */
    double z[TREMOLO_MAX_FEATURES];
    double nu;
    double kappa;
    double yy;
    double trust;    /* by which beta is multiplied */
    bool identified; /* noise leaves enough of yy, S and Z to speak of an R^2 */
};
#define SHRINK_OMEGA 0.15 /* pseudo-devices that pull s2 to yy */

/* beta: d numbers; S: the estimated positive definite moment, d * d. The fit has neither
 * intercept nor what follows from S. */
TREMOLO_MUST_USE enum tremolo_status shrink_solve(double *beta, double *S, struct tremolo_fit *fit,
                                                  const struct shrink_problem *problem);

/* What coefficients count for where a sum of d squares does not exceed what it is without any
 * signal, d times `null` give or take sqrt(2 d) times it: `least`, and 1 from `clear_sds` on. */
double shrink_trust(double squares, double null, double d, double least, double clear_sds);

/* The maximum of the penalised likelihood: beta, S, the residual's variance. */
TREMOLO_MUST_USE enum tremolo_status shrink_search(double *beta, double *S, double *s2,
                                                   size_t *evaluations,
                                                   const struct shrink_problem *problem,
                                                   const struct shrink_constants *constants);

#endif
