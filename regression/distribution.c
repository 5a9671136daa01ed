/* distribution.c -- normal and Student distribution functions and quantiles.
 *
 * The normal comes from erfc, which keeps its relative accuracy far into the
 * tail. Student's comes from the incomplete beta function by its continued
 * fraction. Quantiles are found by bisection on the tail probability: slow, but
 * it cannot fail and nothing here is called in a loop. */
#include "tremolo_regression.h"

#include <float.h>
#include <math.h>

enum { FRACTION_TERMS = 2000, BISECTIONS = 200 };

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

/* Continued fraction of the incomplete beta function by the modified Lentz
 * method; converges fast for x < (a+1)/(a+b+2). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1.0;
    double d = 1.0 - (a + b) * x / (a + 1.0);
    d = 1.0 / (fabs(d) < tiny ? tiny : d);
    double h = d;
    for (int m = 1; m < FRACTION_TERMS; m++) {
        double before = h;
        for (int odd = 0; odd < 2; odd++) {
            double k = (double)m;
            double top = odd == 0
                             ? k * (b - k) * x / ((a + 2.0 * k - 1.0) * (a + 2.0 * k))
                             : -(a + k) * (a + b + k) * x / ((a + 2.0 * k) * (a + 2.0 * k + 1.0));
            d = 1.0 + top * d;
            c = 1.0 + top / c;
            d = 1.0 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            h *= d * c;
        }
        if (fabs(h - before) <= DBL_EPSILON * fabs(h)) {
            break;
        }
    }
    return h;
}

/* Regularised incomplete beta I_x(a, b). */
static double incomplete_beta(double a, double b, double x)
{
    if (x <= 0.0 || x >= 1.0) {
        return x <= 0.0 ? 0.0 : 1.0;
    }
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1.0) / (a + b + 2.0)) {
        return front * beta_fraction(a, b, x) / a;
    }
    return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

double tremolo_student_cdf(double x, double degrees)
{
    if (isinf(degrees)) {
        return tremolo_normal_cdf(x);
    }
    double tail = 0.5 * incomplete_beta(0.5 * degrees, 0.5, degrees / (degrees + x * x));
    return x > 0.0 ? 1.0 - tail : tail;
}

double tremolo_student_quantile(double p, double degrees)
{
    return quantile(p, tremolo_student_cdf, degrees);
}
