/* reconstruction.c -- how far off any attacker must be about one sample.
 *
 * With A = lambda/sqrt m and k = (1-alpha)^2/sigma^2, one release carries
 * about x, along a direction outside V, the Fisher information k. Along v_j:
 *   phase known, angle theta:  ((1-alpha) - A omega sin theta)^2 / sigma^2;
 *   its mean over the phase:   k + A^2 omega^2 / (2 sigma^2) -- this is
 *     *more* information than k, so it lowers the bound, contrary to the
 *     paper's reading;
 *   phase unknown:             k J(A/sigma) <= k, J the information about a
 *     location in arcsine-plus-normal noise, as the modulation is then
 *     independent noise.
 * T releases of one sample multiply all of it by T. A response in the clear
 * adds |beta|^2/s_y^2 along beta, which the protocol keeps orthogonal to V
 * (with m = d no such direction is left, and it falls on a v_j).
 *
 * A bound per coordinate is tr(I^-1)/d for the exact trace and d/tr(I) in the
 * paper's weaker form. The Bayes bound adds 1/prior^2 in every direction (van
 * Trees); as J does not depend on x no further average is needed. */
#include "tremolo_privacy.h"

#include "interval.h"

enum { PHASES_MAX = 2048 };

/* J(c) = E (x - E[n|x])^2 for x = n + z: the trapezoidal rule in x and in the
 * phase, both exponentially accurate for these entire integrands. */
enum tremolo_status tremolo_arcsine_information(double *information, double contrast)
{
    if (information == NULL || !(contrast >= 0.0 && contrast <= 64.0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (contrast == 0.0) {
        *information = 1.0;
        return TREMOLO_OK;
    }
    double at[PHASES_MAX];
    size_t phases = 64 + (size_t)(16.0 * contrast);
    for (size_t i = 0; i < phases; i++) {
        at[i] = contrast * cos(3.14159265358979323846 * ((double)i + 0.5) / (double)phases);
    }
    const double step = 1.0 / 16.0;
    double mass = 0.0;
    double score_square = 0.0;
    int points = (int)((contrast + 9.0) / step);
    for (int k = 0; k < points; k++) {
        double x = (k + 0.5) * step;
        double density = 0.0;
        double slope = 0.0;
        for (size_t i = 0; i < phases; i++) {
            double away = x - at[i];
            double weight = exp(-0.5 * away * away);
            density += weight;
            slope += weight * away;
        }
        mass += density;
        score_square += slope * slope / density;
    }
    *information = score_square / mass; /* both sums lack the same factors */
    return TREMOLO_OK;
}

/* The information matrix is diagonal in the directions V, beta, rest. */
struct information {
    double along_v;
    double elsewhere;
    double by_response; /* added along beta */
};

static double trace_inverse(const struct information *information, unsigned d, unsigned m,
                            double prior)
{
    double v = information->along_v + prior;
    double rest = information->elsewhere + prior;
    double sum = 0.0;
    if (information->by_response > 0.0 && m == d) {
        sum = (double)(m - 1) / v + 1.0 / (v + information->by_response);
    } else if (information->by_response > 0.0) {
        sum = (double)m / v + (double)(d - m - 1) / rest + 1.0 / (rest + information->by_response);
    } else {
        sum = (double)m / v + (double)(d - m) / rest;
    }
    return sum / (double)d;
}

/* d / trace: the paper's form. */
static double harmonic(const struct information *information, unsigned d, unsigned m)
{
    double trace = (double)m * information->along_v + (double)(d - m) * information->elsewhere +
                   information->by_response;
    return (double)d / trace;
}

static bool setup_makes_sense(const struct tremolo_reconstruction_setup *setup)
{
    const struct tremolo_modulation *modulation = &setup->modulation;
    return setup->dimension >= 1 && modulation->vectors <= setup->dimension &&
           modulation->alpha >= 0.0 && modulation->alpha < 1.0 && modulation->lambda >= 0.0 &&
           modulation->lambda <= 1e100 && modulation->omega >= 0.0 && modulation->omega <= 1e100 &&
           setup->sigma >= 1e-100 && setup->sigma <= 1e100 && is_releases(setup->releases) &&
           setup->prior_sd >= 0.0 && setup->prior_sd <= 1e100 &&
           (!setup->response_in_clear ||
            (setup->coefficient_norm >= 0.0 && setup->coefficient_norm <= 1e100 &&
             setup->response_noise >= 1e-100 && setup->response_noise <= 1e100));
}

enum tremolo_status tremolo_reconstruction_bounds(struct tremolo_reconstruction *bounds,
                                                  const struct tremolo_reconstruction_setup *setup)
{
    if (bounds == NULL || setup == NULL || !setup_makes_sense(setup)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    unsigned d = setup->dimension;
    unsigned m = setup->modulation.vectors;
    double kept = 1.0 - setup->modulation.alpha;
    double amplitude = m > 0 ? setup->modulation.lambda / sqrt((double)m) : 0.0;
    double swing = amplitude * setup->modulation.omega;
    double unit = (double)setup->releases / (setup->sigma * setup->sigma);
    double ratio = setup->coefficient_norm / setup->response_noise;
    double response = setup->response_in_clear ? ratio * ratio : 0.0;
    double share = 1.0;
    enum tremolo_status status =
        tremolo_arcsine_information(&share, fmin(amplitude / setup->sigma, 64.0));
    if (status != TREMOLO_OK) {
        return status;
    }
    double plain = kept * kept * unit;
    struct information known = {(kept + swing) * (kept + swing) * unit, plain, response};
    struct information averaged = {plain + 0.5 * swing * swing * unit, plain, response};
    struct information marginal = {plain * share, plain, response};
    struct information private_response = {plain * share, plain, 0.0};
    bounds->conditional = harmonic(&known, d, m);
    bounds->phase_averaged = harmonic(&averaged, d, m);
    bounds->phase_averaged_trace = trace_inverse(&averaged, d, m, 0.0);
    bounds->marginal = trace_inverse(&marginal, d, m, 0.0);
    bounds->without_response = trace_inverse(&private_response, d, m, 0.0);
    bounds->bayes = setup->prior_sd > 0.0
                        ? trace_inverse(&marginal, d, m, 1.0 / (setup->prior_sd * setup->prior_sd))
                        : 0.0;
    bounds->information_along_v = plain * share;
    return TREMOLO_OK;
}
