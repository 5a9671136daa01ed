/* invert.h -- solve f(x) = target for a monotone f that comes with bounds,
 * and prove on which side of the solution each end lies. Internal. */
#ifndef TREMOLO_PRIVACY_INVERT_H
#define TREMOLO_PRIVACY_INVERT_H

#include "tremolo_privacy.h"

enum inversion_direction { INVERT_DECREASING = -1, INVERT_INCREASING = 1 };

struct inversion {
    struct tremolo_certified (*f)(double x, const void *context);
    const void *context;
    double target; /* a logarithm; known to within 4 units of roundoff */
    enum inversion_direction direction;
    bool low_is_safe; /* `low` is below every possible solution, needing no proof */
};

/* The solution between low and high as a proved interval. UNREACHABLE when
 * the target is not between f(low) and f(high); NOT_CONVERGED when bounds
 * are too wide to prove either side. */
enum tremolo_status invert(struct tremolo_certified *x, const struct inversion *problem, double low,
                           double high);

#endif
