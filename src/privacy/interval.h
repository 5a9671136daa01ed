/* interval.h -- turning a computed number and its error bound into a proved
 * interval. Internal to the accountant.
 *
 * A number of any size is carried as exp(exponent) * factor * (1 + e) with
 * |e| <= error; the exponent has two doubles, so that nothing is lost at
 * exp(-700), where one double would leave an error of 1e-13. */
#ifndef TREMOLO_PRIVACY_INTERVAL_H
#define TREMOLO_PRIVACY_INTERVAL_H

#include <float.h>

#include "dd.h"
#include "tremolo_privacy.h"

/* We take exp, expm1, log, log1p, sin and cos to be within 2 ulp (4 units
 * of roundoff); the C library documents 1 ulp and tests/unit/privacy/test_privacy_libm.c
 * measures it. */
#define LIBM_ERROR (4.0 * UNIT_ROUNDOFF)

struct scaled {
    struct dd exponent;
    double factor; /* positive */
    double error;  /* relative, of the whole; below 2^-20 */
};

/* [value (1-error), value (1+error)] for value >= 0, rounded outward. */
static inline struct tremolo_certified interval_around(double value, double error)
{
    double slack = fabs(value) * (error * (1.0 + 0x1p-20));
    struct tremolo_certified result = {
        nextafter(value - slack, -INFINITY),
        value,
        nextafter(value + slack, INFINITY),
    };
    return result;
}

static inline struct tremolo_certified interval_exact(double value)
{
    return (struct tremolo_certified){value, value, value};
}

static inline struct tremolo_certified interval_clamp(struct tremolo_certified x, double low,
                                                      double high)
{
    x.lower = fmin(fmax(x.lower, low), high);
    x.value = fmin(fmax(x.value, low), high);
    x.upper = fmin(fmax(x.upper, low), high);
    return x;
}

/* exp(exponent) factor as a proved interval in [0, cap]. Below the normal
 * range a double has no relative accuracy and the interval becomes
 * [0, a positive number]. */
static inline struct tremolo_certified interval_from_scaled(const struct scaled *x, double cap)
{
    double value = exp(x->exponent.hi) * x->factor;
    value += value * x->exponent.lo;
    if (!(value >= 0x1p-1000)) {
        /* Split the exponential so that no intermediate underflows early. */
        double half = 0.5 * x->exponent.hi;
        value = (exp(half) * x->factor) * exp(half);
        value += value * x->exponent.lo;
    }
    if (value < DBL_MIN) {
        struct tremolo_certified tiny = {0.0, value, value * (1.0 + 0x1p-30) + 16.0 * DBL_TRUE_MIN};
        return tiny;
    }
    /* Two exponentials, products, and the second order of exponent.lo. */
    double error = x->error + 4.0 * LIBM_ERROR + x->exponent.lo * x->exponent.lo;
    return interval_clamp(interval_around(value, error), 0.0, cap);
}

static inline struct tremolo_certified interval_log_scaled(const struct scaled *x)
{
    double log_factor = log(x->factor);
    double value = x->exponent.hi + (x->exponent.lo + log_factor);
    double slack = x->error * (1.0 + 0x1p-10) + fabs(log_factor) * LIBM_ERROR +
                   2.0 * UNIT_ROUNDOFF * (fabs(value) + fabs(log_factor) + 1.0);
    struct tremolo_certified result = {value - slack, value, value + slack};
    return result;
}

#endif
