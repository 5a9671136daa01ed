/* distribution.c -- normal and Student distribution functions and quantiles.
 *
 * The normal comes from erfc, which keeps its relative accuracy far into the
 * tail. Student's comes from the beta distribution of the privacy room.
 * Quantiles are found by bisection on the tail probability: slow, but
 * it cannot fail and nothing here is called in a loop. */
#include "tremolo_regression.h"

#include <float.h>
#include <math.h>

#include "tremolo_privacy.h"

enum { BISECTIONS = 200 };

double tremolo_normal_cdf(double x)
{
    return 0.5 * erfc(-x / M_SQRT2);
}

/* The x with upper tail probability `tail` in (0, 1/2]. */
static double upper_quantile(double tail, double (*cdf)(double, double), double degrees)
{
    double low = 0.0;
    double high = 1.0;
    while (cdf(-high, degrees) > tail && high < 1e300) {
        high *= 2.0;
    }
    for (int i = 0; i < BISECTIONS && high - low > DBL_EPSILON * high; i++) {
        double middle = 0.5 * (low + high);
        if (cdf(-middle, degrees) > tail) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return 0.5 * (low + high);
}

static double normal_cdf_of(double x, double unused)
{
    (void)unused;
    return tremolo_normal_cdf(x);
}

static double quantile(double p, double (*cdf)(double, double), double degrees)
{
    if (!(p > 0.0 && p < 1.0)) {
        return p <= 0.0 ? -INFINITY : p >= 1.0 ? INFINITY : NAN;
    }
    return p < 0.5 ? -upper_quantile(p, cdf, degrees) : upper_quantile(1.0 - p, cdf, degrees);
}

double tremolo_normal_quantile(double p)
{
    return quantile(p, normal_cdf_of, 0.0);
}

double tremolo_student_cdf(double x, double degrees)
{
    if (isinf(degrees)) {
        return tremolo_normal_cdf(x);
    }
    double tail = 0.5 * tremolo_beta_tail(0.5 * degrees, 0.5, degrees / (degrees + x * x), false);
    return x > 0.0 ? 1.0 - tail : tail;
}

double tremolo_student_quantile(double p, double degrees)
{
    return quantile(p, tremolo_student_cdf, degrees);
}
