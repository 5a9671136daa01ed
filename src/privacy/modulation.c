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
 * concave in t^2, so equal steps t_j = r/sqrt m are the worst and give
 * (1-alpha) r + 2 lambda sin(min(pi/2, omega r/(2 sqrt m))). Below the first
 * maximum a pair and phases attain it. */
#include "accountant.h"
#include "interval.h"

#define PI 3.14159265358979323846

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
    double kept = (1.0 - modulation->alpha) * distance;
    double lambda = modulation->vectors > 0 ? modulation->lambda : 0.0;
    double root_m = modulation->vectors > 0 ? sqrt((double)modulation->vectors) : 1.0;
    double angle = 0.5 * modulation->omega * distance / root_m;
    double swing = 2.0 * lambda * sin(fmin(angle, 0.5 * PI));
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
 * T releases of one sample multiply all of it by T. A response in the clear adds |beta|^2/s_y^2
 * along beta, which the protocol keeps orthogonal to V (with m = d no such direction is left, and
 * it falls on a v_j).
 *
 * A bound per coordinate is tr(I^-1)/d for the exact trace and d/tr(I) in the paper's weaker
 * form. */

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
        at[i] = contrast * cos(PI * ((double)i + 0.5) / (double)phases);
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

/* The information matrix is diagonal in the directions V, beta, rest: `along_v`, `elsewhere`, and
 * what the response adds along beta. */
struct information {
    unsigned d, m;
    double elsewhere;
    double response;
};

static double trace_inverse(const struct information *information, double along_v)
{
    double m = information->m;
    double rest = information->d - m;
    double elsewhere = information->elsewhere;
    double response = information->response;
    double sum = m / along_v + rest / elsewhere;
    if (response > 0.0 && rest == 0.0) {
        sum = (m - 1.0) / along_v + 1.0 / (along_v + response);
    } else if (response > 0.0) {
        sum = m / along_v + (rest - 1.0) / elsewhere + 1.0 / (elsewhere + response);
    }
    return sum / information->d;
}

/* d / trace: the paper's form. */
static double harmonic(const struct information *information, double along_v)
{
    double m = information->m;
    return information->d /
           (m * along_v + (information->d - m) * information->elsewhere + information->response);
}

static bool setup_makes_sense(const struct tremolo_reconstruction_setup *setup)
{
    const struct tremolo_modulation *modulation = &setup->modulation;
    return setup->dimension >= 1 && modulation->vectors <= setup->dimension &&
           modulation->alpha >= 0.0 && modulation->alpha < 1.0 && modulation->lambda >= 0.0 &&
           modulation->lambda <= 1e100 && modulation->omega >= 0.0 && modulation->omega <= 1e100 &&
           setup->sigma >= 1e-100 && setup->sigma <= 1e100 && is_releases(setup->releases) &&
           setup->signal >= 0.0 && setup->signal <= 1e100;
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
    double response = setup->signal * setup->signal;
    double share = arcsine_information(fmin(amplitude / setup->sigma, 64.0));
    double plain = kept * kept * unit;
    const struct information silent = {d, m, plain, 0.0};
    const struct information all = {d, m, plain, response};
    double averaged = plain + 0.5 * swing * swing * unit;
    bounds->conditional = harmonic(&all, (kept + swing) * (kept + swing) * unit);
    bounds->phase_averaged = harmonic(&all, averaged);
    bounds->phase_averaged_trace = trace_inverse(&all, averaged);
    bounds->marginal = trace_inverse(&all, plain * share);
    bounds->without_response = trace_inverse(&silent, plain * share);
    bounds->information_along_v = plain * share;
    return TREMOLO_OK;
}

/* ---- the loss distribution along a modulation vector
 *
 * In units of sigma the release there is n + z, n = c cos(uniform), z normal; neighbours shift it
 * by s. With f the density of n + z the loss is l(x) = ln f(x) - ln f(x - s). The line is cut into
 * cells, each of which is put with its masses P and Q under the two samples and a range that holds
 * its losses.
 *
 * Losses between a cell's edges stay within B w^2/8 of the chord, where B = |l''| <= min(c^2, 0.77 s
 * c^3): l'' is a difference of posterior variances of n in [-c, c], their derivative a third central
 * moment, at most (2c)^3/(6 sqrt 3). For c = 0 the loss is exactly linear.
 *
 * f is a mean over the phase, computed with N equal steps. For entire periodic integrands that is
 * accurate beyond any need: shifting the contour by tau, the relative error is at most 2.4 N
 * exp(37 c (cosh tau - 1) + c^2 sinh^2(tau)/2 - N tau), below 1e-16 with the N of mixture_make().
 * Cell masses come from ten-point Gauss-Legendre, all terms positive; the relative remainder is
 * below 1e-18 for cells of at most sigma/16. What lies beyond REACH sigmas has infinite loss; its
 * mass is below RUIN_MASS. */

#define REACH     37.0
#define RUIN_MASS 2e-299

enum {
    CELLS_PER_SIGMA = 32, /* at least */
    STEPS_PER_SIGMA = 20, /* of the loss grid, where the loss is steepest */
    COSINES_MAX = 256,    /* distinct values of the cosine */
};

struct mixture {
    double at[COSINES_MAX];
    size_t count;
    double contrast; /* c */
};

/* N phases at odd multiples of pi/N; theta and -theta share a cosine, so N/2 values remain. */
static void mixture_make(struct mixture *mixture, double contrast)
{
    mixture->count = contrast == 0.0   ? 1
                     : contrast <= 1.0 ? 32
                     : contrast <= 4.0 ? 64
                     : contrast <= 8.0 ? 128
                                       : 256;
    mixture->contrast = contrast;
    for (size_t i = 0; i < mixture->count; i++) {
        mixture->at[i] = contrast * cos(PI * ((double)i + 0.5) / (double)mixture->count);
    }
}

/* Half the squared distance from x to [-c, c]: the density's rough exponent. */
static double anchor_of(const struct mixture *mixture, double x)
{
    double beyond = fmax(0.0, fabs(x) - mixture->contrast);
    return 0.5 * beyond * beyond;
}

/* f(x) e^anchor sqrt(2 pi). */
static double density(const struct mixture *mixture, double x, double anchor)
{
    double sum = 0.0;
    for (size_t i = 0; i < mixture->count; i++) {
        double away = x - mixture->at[i];
        sum += exp(anchor - 0.5 * away * away);
    }
    return sum / (double)mixture->count;
}

static double log_density(const struct mixture *mixture, double x)
{
    double anchor = anchor_of(mixture, x);
    return log(density(mixture, x, anchor)) - anchor;
}

static double log_mass(const struct mixture *mixture, double centre, double width)
{
    double anchor = anchor_of(mixture, centre);
    double sum = 0.0;
    for (int i = 0; i < GAUSS_HALF; i++) {
        double away = 0.5 * width * gauss_node[i];
        sum += gauss_weight[i] *
               (density(mixture, centre - away, anchor) + density(mixture, centre + away, anchor));
    }
    return log(0.5 * width * sum * 0.39894228040143267794) - anchor;
}

static enum tremolo_status put_cells(struct tremolo_losses *losses, const struct mixture *mixture,
                                     double s, double reach)
{
    double c = mixture->contrast;
    double width = fmin(1.0, pow(5.0 / c, 1.5)) / CELLS_PER_SIGMA; /* the bend stays below h/4 */
    double bend = fmin(c * c, 0.77 * s * c * c * c) * width * width / 8.0;
    int64_t cells = (int64_t)ceil(reach / width);
    double edge = 0.5 * s - (double)cells * width;
    double loss = log_density(mixture, edge) - log_density(mixture, edge - s);
    enum tremolo_status status = tremolo_losses_put(losses, RUIN_MASS, INFINITY, 0.0);
    for (int64_t i = -cells; i < cells && status == TREMOLO_OK; i++) {
        double centre = 0.5 * s + ((double)i + 0.5) * width;
        edge = 0.5 * s + (double)(i + 1) * width;
        double next = log_density(mixture, edge) - log_density(mixture, edge - s);
        double log_p = log_mass(mixture, centre, width);
        double merged = log_p - log_mass(mixture, centre - s, width);
        double spread = fmax(fabs(loss - merged), fabs(next - merged)) + bend;
        status = tremolo_losses_put(losses, exp(log_p), merged, spread);
        loss = next;
    }
    return status;
}

enum tremolo_status tremolo_losses_modulated(struct tremolo_losses **losses, double shift,
                                             double sigma, double amplitude)
{
    struct tremolo_losses *made = NULL;
    struct mixture mixture;
    if (losses == NULL || !is_positive(shift) || !is_positive(sigma) || !(amplitude >= 0.0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    double s = shift / sigma;
    double c = amplitude / sigma;
    if (!(s >= 1e-6 && s <= 50.0) || !(c <= 16.0)) {
        return TREMOLO_OVERFLOWED;
    }
    mixture_make(&mixture, c);
    double reach = REACH + c + 0.5 * s;
    /* |x| <= z under either sample. The logs of masses and densities are off by the rounding of
     * exponents of size z^2/2 and of nodes, and by what two rounded quotients, s and c, move them;
     * all are exact to a third of this. */
    double z = REACH + 2.0 * c + s + 1.0;
    double error = (16.0 + 10.0 * z * z) * UNIT_ROUNDOFF;
    double widest = s * (reach + c + 1.0); /* |l| <= s (|x - s/2| + c), and the bend */
    enum tremolo_status status = tremolo_losses_new(&made, s / STEPS_PER_SIGMA, widest, error);
    if (status == TREMOLO_OK) {
        status = put_cells(made, &mixture, s, reach);
    }
    if (status != TREMOLO_OK) {
        tremolo_losses_free(made);
        return status;
    }
    *losses = made;
    return TREMOLO_OK;
}
