/* binomial.c -- exact confidence bounds for a proportion (Clopper-Pearson).
 *
 * The lower bound is the p at which seeing k or more successes in n trials
 * has probability `error`: I_p(k, n-k+1) = error, with I the regularised
 * incomplete beta function. I comes from its continued fraction (evaluated by
 * Lentz's method on the side where it converges fast) and lgamma; for
 * n = 10^12 the logarithms reach 1e13, so the tail probability itself is good
 * to about 1e-2 in the worst case and to 1e-9 at n = 10^6. The bound is then
 * moved outward by the change in p that error could hide. */
#include "accountant.h"

#include "interval.h"

enum {
    FRACTION_STEPS_MAX = 20000000,
    HALVINGS = 200,
};

/* The continued fraction of I_x(a, b) without its prefactor, for
 * x < (a+1)/(a+b+2). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1.0;
    double d = 1.0 - (a + b) * x / (a + 1.0);
    d = 1.0 / (fabs(d) < tiny ? tiny : d);
    double h = d;
    for (int m = 1; m < FRACTION_STEPS_MAX; m++) {
        double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / fmax(1.0 + even * d, tiny);
        c = fmax(1.0 + even / c, tiny);
        h *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 + odd * d;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        c = 1.0 + odd / c;
        c = fabs(c) < tiny ? tiny : c;
        h *= d * c;
        if (fabs(d * c - 1.0) < 1e-14) {
            break;
        }
    }
    return h;
}

/* ln of x^a (1-x)^b / (a B(a,b)) without the cancellation of three huge
 * lgammas: Stirling's series is subtracted in closed form. */
static double stirling_rest(double x)
{
    /* lgamma(x) - [(x-1/2) ln x - x + ln(2 pi)/2] */
    if (x < 16.0) {
        int sign; /* always +; lgamma() would put it where other threads look */
        return lgamma_r(x, &sign) - ((x - 0.5) * log(x) - x + 0.91893853320467274178);
    }
    double inverse = 1.0 / x;
    double square = inverse * inverse;
    return inverse *
           (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)));
}

/* ln(p/q), by the difference where that is small against both. */
static double log_ratio(double p, double q)
{
    double ratio = p / q;
    return ratio > 0.5 && ratio < 2.0 ? log1p((p - q) / q) : log(ratio);
}

static double log_prefactor(double a, double b, double x)
{
    double n = a + b;
    double rest = stirling_rest(n) - stirling_rest(a) - stirling_rest(b) - 0.91893853320467274178;
    double main = a * log_ratio(x * n, a) + b * log_ratio((1.0 - x) * n, b);
    return main + rest + 0.5 * log(a * b / n) - log(a);
}

/* ln I_x(a, b), the probability that a Beta(a, b) variable is below x, or its
 * complement: whichever converges; *complement tells. */
static double log_beta_tail(double a, double b, double x, bool *complement)
{
    *complement = x >= (a + 1.0) / (a + b + 2.0);
    if (*complement) {
        double swap = a;
        a = b;
        b = swap;
        x = 1.0 - x;
    }
    return log_prefactor(a, b, x) + log(beta_fraction(a, b, x));
}

/* Neither tail is taken as a difference where it is small. */
double tremolo_beta_tail(double a, double b, double x, bool above)
{
    bool complement = false;
    if (isnan(x)) { /* or the fraction would run to its last step */
        return x;
    }
    if (x <= 0.0 || x >= 1.0) {
        return (x <= 0.0) == above ? 1.0 : 0.0;
    }
    double tail = exp(log_beta_tail(a, b, x, &complement));
    return complement == above ? tail : 1.0 - tail;
}

/* The x with a lower (or upper) tail of `target`, by halving: the end of
 * the last bracket that errs to the safe side. */
static double beta_quantile(double a, double b, double target, bool above)
{
    double low = 0.0;
    double high = 1.0;
    for (int i = 0; i < HALVINGS && high - low > 1e-16 * high; i++) {
        double middle = 0.5 * (low + high);
        bool right_of_solution = (tremolo_beta_tail(a, b, middle, above) < target) == above;
        if (right_of_solution) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return above ? high : low;
}

enum tremolo_status tremolo_binomial_bounds(double *lower, double *upper, uint64_t successes,
                                            uint64_t trials, double error)
{
    if (lower == NULL || upper == NULL || trials < 1 || trials > UINT64_C(1000000000000) ||
        successes > trials || !(error >= 1e-15 && error <= 0.5)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    double k = (double)successes;
    double n = (double)trials;
    /* Ask for a tail a little smaller than allowed: what the logarithms can
     * hide, 1e-9 and a few units of n. */
    double asked = error * (1.0 - 1e-9 - 1e-14 * n);
    double low = successes == 0 ? 0.0 : beta_quantile(k, n - k + 1.0, asked, false);
    double high = successes == trials ? 1.0 : beta_quantile(k + 1.0, n - k, asked, true);
    *lower = fmax(0.0, low * (1.0 - 1e-12));
    *upper = fmin(1.0, high * (1.0 + 1e-12));
    return TREMOLO_OK;
}
