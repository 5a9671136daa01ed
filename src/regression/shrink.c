/* shrink.c -- the `auto` estimator: a penalised likelihood for the hidden moments.
 *
 * What we see is a covariance with known noise. Let P be the joint second moment
 * of (x, y) without noise and D the known noise, so that a released row has
 * moment A = P + D. We maximise
 *     -K/2 [log det A + tr(A^-1 M)]                    what the reports say
 *     -nu/2 [log det S + tr(T S^-1)]                   S is near T
 *     -1/2 [kappa mu |beta|^2 + omega yy] / s2 - omega/2 log s2
 * over P = (S, S beta; ., s2 + beta' S beta), S > 0, s2 > 0. M is the raw joint
 * moment. The first line is the likelihood of Gaussian rows; for other rows it
 * is a sensible discrepancy, and it is what keeps P positive: explained variance
 * can never exceed the response's, which is the strongest thing known about S
 * when noise is large. The other lines are worth nu, kappa and omega
 * pseudo-devices without noise. They vanish beside K as K grows or noise falls.
 *
 * The constants come from the same moments:
 *   mu     the mean eigenvalue of S, as its posterior mean under a flat prior above
 *          the bound |Z|^2/(d yy) <= mu, plus one standard deviation: too small a
 *          mu makes coefficients overshoot, too large a one only shrinks them;
 *   T      mu I, raised along Z to what the reports say of z'Sz, as far as they say
 *          it clearly. Coefficients mostly point along Z, and where features are
 *          correlated that is a direction of large variance, in which a target of
 *          mu would let them overshoot;
 *   nu     from the spread of S's eigenvalues beyond noise: for an inverse-Wishart S,
 *          E|S - mu I|_F^2 = mu^2 d (d+1)/nu. The estimate is averaged with
 *          NU_PRIOR by precision, since at large noise the spread is unknowable;
 *   kappa  from r = |Z|^2/(mu yy), a rough R^2, taken two standard deviations high
 *          because noise must not talk us out of a real signal: d (1-r)/r is the
 *          ratio of the residual's to a coefficient's variance.
 *
 * A private response adds noise to yy and Z as well, and may hide both. Then yy is
 * its posterior mean between 0 and what public bounds allow, and the coefficients
 * are multiplied by |Z|^2/(|Z|^2 + noise), |Z|^2 likewise between 0 and the mu yy
 * that Cauchy and Schwarz leave it: with nothing to be seen the prediction is the mean.
 *
 * Where Z does not stand out from what it is without any signal the coefficients are
 * halved, whatever the response is: the prediction falls back towards the mean.
 *
 * shrink_search.c finds the maximum. */
#include "shrink.h"
#include "linear.h"
#include "tremolo_regression.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define NU_PRIOR        20.0
#define NU_SPREAD_FLOOR 0.6          /* of the prior's spread, while noise hides the real one */
#define NU_SPREAD_LEAST 0.05         /* the same once the spread is seen */
#define MU_CAUTION      1.0          /* standard deviations added to mu */
#define ALONG_PRIOR     (1.0 / 16.0) /* sd of z'Sz about mu before reports, in units of mu d */
#define KAPPA_OPTIMISM  2.0          /* standard deviations added to |Z|^2 for kappa */
#define LARGEST_SIGNAL  0.98
#define IDENTIFIED_SDS  2.0 /* by which yy, S and Z must stand out for an R^2 */
#define CLEAR_SDS       1.5 /* by which Z must stand out for whole coefficients */
#define LEAST_TRUST     0.5 /* keeps 3/4 of what is explained, at 1/4 of the cost of nothing */
#define EVEN_SHARE      (1.0 / 3.0)
#define QUADRATURE      256

/* ---------------------------------------------------------------- constants */

/* Mean of N(estimate, sd^2) conditioned on exceeding `lower`: the posterior mean
 * under a flat prior. */
static double truncated_mean(double estimate, double lower, double sd)
{
    if (!(sd > 0.0)) {
        return fmax(estimate, lower);
    }
    double t = (lower - estimate) / sd;
    double hazard =
        t > 30.0 ? t + 1.0 / t : exp(-0.5 * t * t) / sqrt(2.0 * M_PI) / (0.5 * erfc(t / sqrt(2.0)));
    return estimate + sd * hazard;
}

/* The same within [lower, upper]; by the midpoint rule, from where the density
 * is largest to eight standard deviations off. */
static double bounded_mean(double estimate, double lower, double upper, double sd)
{
    double mode = fmin(fmax(estimate, lower), upper);
    double from = fmax(lower, mode - 8.0 * sd);
    double to = fmin(upper, mode + 8.0 * sd);
    double mass = 0.0;
    double sum = 0.0;
    if (!(to > from)) {
        return mode;
    }
    for (int k = 0; k < QUADRATURE; k++) {
        double x = from + (to - from) * (k + 0.5) / QUADRATURE;
        double a = (x - estimate) / sd;
        double b = (mode - estimate) / sd;
        double weight = exp(0.5 * (b * b - a * a));
        mass += weight;
        sum += weight * x;
    }
    return sum / mass;
}

/* |S - mean(S) I|_F^2 beyond what noise alone would give, and its standard
 * deviation; `mu` is the best guess of the mean eigenvalue. */
static double spread_of(double *sd, const struct shrink_problem *problem, double mean, double mu)
{
    size_t d = problem->d;
    size_t n = d + 1;
    double noise = problem->noise;
    double dd = (double)d;
    double raw = 0.0;
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++) {
            double s = problem->raw[i * n + j] - problem->bias[i * n + j];
            double off = s - (i == j ? mean : 0.0);
            raw += off * off;
        }
    }
    double known = (noise * noise * (dd * (dd + 1.0) - 2.0) + 2.0 * noise * (dd + 1.0) * dd * mu) /
                   problem->devices;
    double unit = (noise * noise + 2.0 * noise * mu) / problem->devices;
    double spread = raw - known;
    *sd = 2.0 * sqrt(dd * (dd + 1.0)) * unit + 2.0 * sqrt(fmax(spread, 0.0) * 2.0 * unit);
    return spread;
}

static double choose_nu(const struct shrink_problem *problem, double mean, double mu)
{
    double d = (double)problem->d;
    double sd = 0.0;
    double spread = spread_of(&sd, problem, mean, mu);
    double prior = mu * mu * d * (d + 1.0) / NU_PRIOR;
    double variance = sd * sd;
    double trust = prior * prior / (prior * prior + variance);
    double combined = trust * spread + (1.0 - trust) * prior;
    double floor_share = NU_SPREAD_FLOOR * (1.0 - trust) + NU_SPREAD_LEAST * trust;
    return mu * mu * d * (d + 1.0) / fmax(combined, floor_share * prior);
}

/* Set z, the direction of Z, and how far T exceeds mu along it: the precision-
 * weighted mean of mu and the reports' z'Sz, never below mu. */
static void choose_direction(struct shrink_constants *c, const struct shrink_problem *problem,
                             double z_length)
{
    size_t d = problem->d;
    size_t n = d + 1;
    double noise = problem->noise;
    double along = 0.0;
    for (size_t i = 0; i < d; i++) {
        c->z[i] = (problem->raw[i * n + d] - problem->bias[i * n + d]) / z_length;
    }
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++) {
            along += c->z[i] * c->z[j] * (problem->raw[i * n + j] - problem->bias[i * n + j]);
        }
    }
    /* one direction can hold anything up to the trace, so the doubt grows with d */
    double doubt = ALONG_PRIOR * c->mu * (double)d;
    double prior = doubt * doubt;
    double variance = (2.0 * noise * noise + 4.0 * noise * fmax(along, c->mu)) / problem->devices;
    double weight = prior / (prior + variance);
    c->raise = fmax(weight * (along - c->mu), 0.0);
    if (d == 1) {
        c->raise = 0.0; /* mu is all there is */
    }
}

static double choose_kappa(size_t d, double signal, double mu, double yy)
{
    double r = fmin(signal / (mu * yy), LARGEST_SIGNAL);
    double odds = fmin((1.0 - r) / r, 1e6);
    return (double)d * odds;
}

/* The response's variance, and how far it is known. */
static double choose_yy(double *sd, const struct shrink_problem *problem)
{
    size_t n = problem->d + 1;
    double raw = problem->raw[n * n - 1];
    double noise = problem->bias[n * n - 1];
    *sd = noise > 0.0 ? raw * sqrt(2.0 / problem->devices) : 0.0;
    if (noise > 0.0 && problem->largest > 0.0) {
        return bounded_mean(raw - noise, 0.0, problem->largest, *sd);
    }
    return truncated_mean(raw - noise, 0.0, *sd);
}

/* A second moment as far as the reports show it; where they do not, at most that
 * of values spread evenly between the bounds, since few coordinates have more. */
static double plausible(const struct shrink_problem *problem, double value, double seen, double sd)
{
    bool hidden = seen < IDENTIFIED_SDS * sd;
    return hidden && problem->largest > 0.0 ? fmin(value, EVEN_SHARE * problem->largest) : value;
}

/* The share of Z that is signal, for a private response: |Z|^2 is `excess` beyond
 * its `noise`, give or take `sd`, and at most `most`. */
static double choose_trust(double excess, double sd, double noise, double most)
{
    double signal = bounded_mean(excess, 0.0, most, sd);
    return signal / (signal + noise);
}

double shrink_trust(double squares, double null, double d, double least, double clear_sds)
{
    double sds = (squares - d * null) / (sqrt(2.0 * d) * null);
    return least + (1.0 - least) * fmin(fmax(sds / clear_sds, 0.0), 1.0);
}

/* False when the response or the features show nothing to work with. */
static bool choose_constants(struct shrink_constants *constants,
                             const struct shrink_problem *problem)
{
    size_t d = problem->d;
    size_t n = d + 1;
    double K = problem->devices;
    double noise = problem->noise;
    double response_noise = problem->bias[n * n - 1];
    double trace = 0.0;
    double z2 = 0.0;
    for (size_t i = 0; i < d; i++) {
        double z = problem->raw[i * n + d] - problem->bias[i * n + d];
        trace += problem->raw[i * n + i] - problem->bias[i * n + i];
        z2 += z * z;
    }
    double mean = trace / (double)d;
    double raw_yy = problem->raw[n * n - 1];
    double yy_sd = 0.0;
    double yy = choose_yy(&yy_sd, problem);
    double floor_mu = fmax(mean, 0.0);
    double z_noise = (noise * raw_yy + response_noise * floor_mu) / K;
    double signal = fmax(z2 - (double)d * z_noise, 0.1 * z_noise);
    if (!(yy > 0.0)) {
        return false;
    }
    double bound = fmax(z2 - (double)d * z_noise, 0.0) / (yy * (double)d);
    double sd = sqrt((2.0 * noise * noise + 4.0 * noise * fmax(mean, bound)) / (K * (double)d));
    double mu = truncated_mean(mean, bound, sd);
    if (!(mu > 0.0) || !(signal > 0.0) || !isfinite(mu) || !isfinite(yy)) {
        return false;
    }
    constants->mu = mu + MU_CAUTION * sd;
    constants->yy = yy;
    choose_direction(constants, problem, sqrt(fmax(z2, DBL_MIN)));
    constants->nu = choose_nu(problem, mean, constants->mu);
    double signal_sd = sqrt(z_noise * (2.0 * (double)d * z_noise + 4.0 * signal));
    constants->kappa = choose_kappa(d, signal + KAPPA_OPTIMISM * signal_sd, mu, yy);
    double excess = z2 - (double)d * z_noise;
    double most =
        plausible(problem, mu, mean, sd) * plausible(problem, yy, raw_yy - response_noise, yy_sd);
    constants->trust =
        response_noise > 0.0 ? choose_trust(excess, signal_sd, (double)d * z_noise, most) : 1.0;
    constants->trust *=
        shrink_trust(z2, (noise + floor_mu) * raw_yy / K, (double)d, LEAST_TRUST, CLEAR_SDS);
    constants->identified = mean >= IDENTIFIED_SDS * sd &&
                            raw_yy - response_noise >= IDENTIFIED_SDS * yy_sd &&
                            excess >= IDENTIFIED_SDS * sqrt(2.0 * (double)d) * z_noise;
    return true;
}

/* ---------------------------------------------------------------- entry */

/* Nothing to learn from: predict the mean. */
static void answer_nothing(double *beta, double *S, struct tremolo_fit *fit,
                           const struct shrink_problem *problem)
{
    size_t d = problem->d;
    memset(beta, 0, d * sizeof(double));
    memset(S, 0, d * d * sizeof(double));
    for (size_t i = 0; i < d; i++) {
        S[i * d + i] = 1.0;
    }
    *fit =
        (struct tremolo_fit){.r2 = NAN, .residual_variance = problem->raw[(d + 1) * (d + 1) - 1]};
}

enum tremolo_status shrink_solve(double *beta, double *S, struct tremolo_fit *fit,
                                 const struct shrink_problem *problem)
{
    struct shrink_constants constants;
    size_t evaluations = 0;
    double s2 = 0.0;
    if (!choose_constants(&constants, problem)) {
        answer_nothing(beta, S, fit, problem);
        return TREMOLO_OK;
    }
    enum tremolo_status status = shrink_search(beta, S, &s2, &evaluations, problem, &constants);
    if (status != TREMOLO_OK) {
        return status;
    }
    double explained = linear_form(beta, S, beta, problem->d);
    double trust = constants.trust;
    for (size_t i = 0; i < problem->d; i++) {
        beta[i] *= trust;
    }
    double residual = s2 + explained - trust * (2.0 - trust) * explained;
    *fit = (struct tremolo_fit){
        .r2 = constants.identified ? 1.0 - residual / (s2 + explained) : NAN,
        .residual_variance = residual,
        .shrink_features = constants.nu,
        .shrink_beta = constants.kappa,
        .iterations = evaluations,
    };
    return TREMOLO_OK;
}
