/* distribution.c -- the seeded generator, and normal, Student and chi-square distributions.
 *
 * The normal comes from erfc, which keeps its relative accuracy far into the
 * tail. Student's comes from the beta distribution of the privacy module.
 * Quantiles are found by bisection on the tail probability: slow, but
 * it cannot fail and nothing here is called in a loop.
 *
 * The noncentral chi-square is a Poisson mixture of central ones with degrees that grow by two,
 * and each of those follows from the one before by one positive term: nothing cancels, so the
 * tail keeps its relative accuracy far out.
 *
 * The generator is splitmix64: a result must be the same on every machine from the same seed, and
 * a seed and a stream must give independent numbers. It protects no one. */
#include "regression.h"

#include <float.h>
#include <math.h>

#include "accountant.h"

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

/* By symmetry from the upper half. */
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

/* ---------------------------------------------------------------- chi-square */

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

/* P(chi-square with `degrees` > 2 h), h above 0; without any it is 0. */
static double central_tail(unsigned degrees, double h)
{
    if (degrees == 0) {
        return 0.0;
    }
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
    if (!(noncentrality > 0.0)) {
        return fmin(1.0, central);
    }
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

/* ---------------------------------------------------------------- the seeded generator */

static const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15);

uint64_t tremolo_random_hash(uint64_t a, uint64_t b)
{
    uint64_t z = a + golden * (b + 1);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t tremolo_random_bits(struct tremolo_random *random)
{
    uint64_t bits = tremolo_random_hash(random->state, 0);
    random->state += golden;
    return bits;
}

/* Both numbers are mixed into the state, so that streams differ. */
struct tremolo_random tremolo_random_from(uint64_t seed, uint64_t stream)
{
    struct tremolo_random random = {seed};
    uint64_t first = tremolo_random_bits(&random);
    random.state = first ^ (stream * UINT64_C(0xd1342543de82ef95) + 1u);
    (void)tremolo_random_bits(&random);
    return random;
}

/* 53 bits, centred between steps: neither 0 nor 1 comes out, so a logarithm is safe. */
double tremolo_random_uniform(struct tremolo_random *random)
{
    return ((double)(tremolo_random_bits(random) >> 11) + 0.5) * 0x1p-53;
}

/* Box and Muller; the second number of the pair is not kept, so that a stream has no hidden state. */
double tremolo_random_normal(struct tremolo_random *random)
{
    double u = tremolo_random_uniform(random);
    double v = tremolo_random_uniform(random);
    return sqrt(-2.0 * log(u)) * cos(2.0 * 3.14159265358979323846 * v);
}
