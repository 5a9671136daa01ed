/* chi_square.c -- the upper tail of the chi-square distribution, central or not.
 *
 * The noncentral one is a Poisson mixture of central ones whose degrees grow by two, and
 * those follow from each other by one positive term each: nothing cancels, so the relative accuracy
 * of the tail stays far out. */
#include "tremolo_regression.h"

#include <math.h>
#include <stdbool.h>

/* Up to here no first term underflows, and each follows from the one before it: without a
 * logarithm, and to a relative 1e-13 after the thousand terms there can be. */
static const double recurrence_max = 600.0;

/* Beyond it the mixture has too many terms, and |z + b| <= |z| + |b| is bound enough. */
static const double noncentrality_max = 1e4;

/* h^a exp(-h) / Gamma(a + 1) */
static double step(double a, double h)
{
    int sign; /* always +; lgamma() would put it where other threads look */
    return exp(a * log(h) - h - lgamma_r(a + 1.0, &sign));
}

/* P(chi-square with `degrees` > 2 h). */
static double central_tail(unsigned degrees, double h)
{
    double tail = degrees % 2 == 0 ? exp(-h) : erfc(sqrt(h));
    for (unsigned d = 2 - degrees % 2; d < degrees; d += 2) {
        tail += step(0.5 * d, h);
    }
    return tail;
}

double tremolo_chi2_tail(unsigned degrees, double noncentrality, double x)
{
    double root = sqrt(noncentrality);
    if (!(x > 0.0)) {
        return 1.0;
    }
    if (noncentrality > noncentrality_max) {
        double rest = sqrt(x) - root;
        return rest > 0.0 ? fmin(1.0, central_tail(degrees, 0.5 * rest * rest)) : 1.0;
    }
    double h = 0.5 * x;
    double a = 0.5 * degrees;
    double central = central_tail(degrees, h);
    double mean = 0.5 * noncentrality;
    double sum = 0.0;
    bool recur = h <= recurrence_max && mean <= recurrence_max;
    double weight = exp(-mean);
    double more = recur ? step(a, h) : 0.0;
    /* The Poisson variable is beyond the last term with a probability below 1e-20. */
    unsigned last = (unsigned)(mean + 40.0 + 12.0 * sqrt(mean));
    for (unsigned j = 0; j <= last; j++) {
        if (!recur) {
            weight = mean > 0.0 ? step(j, mean) : (j == 0);
            more = step(a + j, h);
        }
        sum += weight * central;
        central += more;
        weight *= mean / (j + 1.0);
        more *= h / (a + j + 1.0);
    }
    return fmin(1.0, sum);
}

double tremolo_chi2_quantile(unsigned degrees, double noncentrality, double tail)
{
    double low = 0.0;
    double high = 1.0;
    while (tremolo_chi2_tail(degrees, noncentrality, high) > tail && high < 1e300) {
        low = high;
        high *= 2.0;
    }
    for (int i = 0; i < 100 && high - low > 1e-14 * high; i++) {
        double middle = 0.5 * (low + high);
        if (tremolo_chi2_tail(degrees, noncentrality, middle) > tail) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}
