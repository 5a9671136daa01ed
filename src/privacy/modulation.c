/* modulation.c -- how far apart the modulated map takes two neighbours.
 *
 * exact: modulo 2 pi the angle omega <x,v_j> + phi_j is uniform whatever x
 * is, and independent across j, so the modulation is noise that does not
 * depend on the sample; what remains is (1-alpha) x. It needs the phases to
 * stay on the device.
 *
 * known_phase: cos u - cos w = -2 sin((u-w)/2) sin((u+w)/2), so along v_j the
 * outputs part by at most (1-alpha) t_j + (2 lambda/sqrt m) |sin(omega t_j/2)|
 * for a step t_j. The squared distance is (1-alpha)^2 r^2 + sum_j psi(t_j^2)
 * at most, where psi replaces the sine by 1 beyond its first maximum and is
 * concave in t^2; hence equal steps t_j = r/sqrt m are the worst and give
 * (1-alpha) r + 2 lambda sin(min(pi/2, omega r/(2 sqrt m))). Below the first
 * maximum a pair and phases attain it. */
#include "interval.h"

/* ---- sensitivity */

static bool is_modulation(const struct tremolo_modulation *modulation)
{
    return modulation->alpha >= 0.0 && modulation->alpha < 1.0 && modulation->lambda >= 0.0 &&
           modulation->lambda <= DBL_MAX && modulation->omega >= 0.0 &&
           modulation->omega <= DBL_MAX;
}

enum tremolo_status tremolo_sensitivity_of(struct tremolo_sensitivity *sensitivity,
                                           const struct tremolo_modulation *modulation,
                                           double distance)
{
    if (sensitivity == NULL || modulation == NULL || !is_modulation(modulation) ||
        !is_positive(distance)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    const double half_pi = 1.57079632679489661923;
    double kept = (1.0 - modulation->alpha) * distance;
    double lambda = modulation->vectors > 0 ? modulation->lambda : 0.0;
    double root_m = modulation->vectors > 0 ? sqrt((double)modulation->vectors) : 1.0;
    double angle = 0.5 * modulation->omega * distance / root_m;
    double swing = 2.0 * lambda * sin(fmin(angle, half_pi));
    double lipschitz = lambda * modulation->omega / root_m * distance;
    if (!(kept + lipschitz <= DBL_MAX)) {
        return TREMOLO_OVERFLOWED;
    }
    /* All terms are positive. The sine below pi/2 has relative condition at
     * most 1, so each sum is within 12 units of roundoff. */
    sensitivity->exact = interval_around(kept, 2.0 * UNIT_ROUNDOFF);
    sensitivity->known_phase = interval_around(kept + swing, 12.0 * UNIT_ROUNDOFF);
    sensitivity->paper = interval_around(kept + lipschitz, 12.0 * UNIT_ROUNDOFF);
    return TREMOLO_OK;
}

/* ---- reconstruction: how far off any attacker must be about one sample
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

enum { PHASES_MAX = 2048 };

/* J(c) = E (x - E[n|x])^2 for x = n + z and c in [0, 64]: the trapezoidal rule in x and in the
 * phase, both exponentially accurate for these entire integrands. */
static double arcsine_information(double contrast)
{
    if (contrast == 0.0) {
        return 1.0;
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
    return score_square / mass; /* both sums lack the same factors */
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
    double share = arcsine_information(fmin(amplitude / setup->sigma, 64.0));
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
