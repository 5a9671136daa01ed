/* density.c -- how likely moments are, given those of ballots.
 *
 * Ballots give M = mass T, T = [[h^2, h m'], [h m, Sigma + m m']], plus independent noise of
 * known size, often larger than the moments. This is public, too:
 *   - m and Sigma are the (weighted) mean and covariance of (x, w), so Sigma is positive;
 *   - E s^2 (h^2 + rest + |x|^2) = 1, so mass follows from m and Sigma;
 *   - features and response were scaled by typical ranges, so the scales of means and
 *     variances are roughly known;
 *   - features have factors of their own and common ones, in a proportion that is learned
 *     (unrelated features need no correlations estimated, related ones may have any), and
 *     w is explained by them with slopes of one learned size, which may be next to nothing.
 * As noise falls the prior loses its say and M becomes what was measured.
 *
 * With F the loadings of features on common factors, o their own variances and G = (F, m), the
 * features' part of T is GG' + diag(o). Its noise has one size off the diagonal, so that the
 * misfit of O, that part of M, is
 *     |mass (GG' + diag o) - O|^2 = mass^2 |GG' + diag o|^2 - 2 mass tr((GG' + diag o) O) + |O|^2
 * times a constant: it needs G'G and OG, and so does its gradient. No other step takes more
 * than d q operations, and no d * d matrix is made.
 *
 * All of this is additions, multiplications, divisions and square roots in a fixed order,
 * which IEEE 754 rounds the same everywhere. */
#include "density.h"

#include <stdlib.h>
#include <string.h>

#include "linear.h"
#include "regression.h"

enum { FACTORS_MAX = DENSITY_FACTORS_MAX };

/* ---------------------------------------------------------------- where a position lies */

INLINE double log_variance(const struct density *density, const double *position, size_t i)
{
    double t = position[density->at.t + i];
    return i == density->d ? density->w_centre + density->w_spread * t
                           : VARIANCE_CENTRE + VARIANCE_SPREAD * t;
}

/* Prior standard deviation of the mean of a coordinate. */
static double mean_sd(const struct density *density, size_t i)
{
    return i == density->d ? density->w_mean_sd : MEAN_SPREAD;
}

/* The prior of a mean in units of its spread, by the normal's: two normals about the middle of
 * the range. A mean far away is possible, but noise alone should not make one. *pull gets what
 * is to be added to the derivative z of the normal's energy. */
INLINE double nearer(double *pull, double z)
{
    const double near = 1.0 / (NEAR_SPREAD * NEAR_SPREAD) - 1.0;
    const double odds = NEAR_SHARE / (1.0 - NEAR_SHARE) / NEAR_SPREAD;
    double first = odds * exponential(-0.5 * near * z * z);
    *pull = z * near * first / (1.0 + first);
    return 1.0 + first;
}

/* Of a slope in the parameter b. */
static double slope_unit(const struct density *density)
{
    double d = (double)density->d;
    return density->scale[density->d] * sqrt(density->explained / d) / SCALE_CENTRE;
}

/* The parts of the factors add up to one: a softmax of their parameters. */
static void take_parts(struct density *density, const double *position)
{
    double sum = 0.0;
    for (size_t k = 0; k < density->q; k++) {
        density->part[k] = exponential(PART_SPREAD * position[density->at.part + k]);
        sum += density->part[k];
    }
    for (size_t k = 0; k < density->q; k++) {
        density->part[k] /= sum;
    }
}

/* Means, variances, loadings and slopes at a position, and what of T is not in G. */
INLINE void place(struct density *density, const double *position)
{
    size_t d = density->d;
    size_t q = density->q;
    const double *root = density->root;
    double h2 = density->ballots->h * density->ballots->h;
    double total = h2 + density->ballots->rest;
    density->common = share(position[density->at.share], false);
    density->explained = share(position[density->at.share + 1], true);
    take_parts(density, position);
    for (size_t k = 0; k < q; k++) {
        density->root[k] = sqrt(density->common * density->part[k]);
    }
    for (size_t i = 0; i < density->r; i++) {
        density->scale[i] = exponential(0.5 * log_variance(density, position, i));
        density->mean[i] = mean_sd(density, i) * position[density->at.z + i];
    }
    double unit = slope_unit(density);
    memset(density->tied[0], 0, q * sizeof(double));
    for (size_t i = 0; i < d; i++) {
        double *G = density->G + i * density->g;
        const double *A = position + density->at.A + i * q;
        double own = density->scale[i] * density->scale[i] * (1.0 - density->common);
        memset(G, 0, q * sizeof *G);
        add_products(G, density->scale[i], root, A, q);
        G[q] = density->mean[i];
        density->own[i] = own;
        density->square[i] = dot(G, G, density->g) + own;
        density->slope[i] = unit * position[density->at.b + i];
        total += density->square[i];
        add(density->tied[0], density->slope[i], G, q);
    }
    double w_mean = density->mean[d];
    double explained = dot(density->tied[0], density->tied[0], q);
    for (size_t i = 0; i < d; i++) {
        double along = density->own[i] * density->slope[i];
        explained += along * density->slope[i];
        along += dot(density->G + i * density->g, density->tied[0], q);
        density->joint[i] = density->mean[i] * w_mean + along;
    }
    density->residual = density->scale[d] * density->scale[d] * (1.0 - density->explained);
    density->w_variance = explained + density->residual;
    density->mass = 1.0 / total;
}

void density_place(struct density *density, const double *position)
{
    place(density, position);
}

/* sum <- sum + share M at the position. */
INLINE void add_moments(double *sum, double share, struct density *density, const double *position)
{
    size_t n = density->n;
    size_t d = density->d;
    size_t g = density->g;
    place(density, position);
    double h = density->ballots->h;
    double w_mean = density->mean[d];
    double mass = share * density->mass;
    sum[0] += mass * h * h;
    sum[n - 1] += mass * h * w_mean;
    sum[n * n - 1] += mass * (w_mean * w_mean + density->w_variance);
    for (size_t i = 0; i < d; i++) {
        double *row = sum + (i + 1) * n;
        sum[i + 1] += mass * h * density->mean[i];
        row[n - 1] += mass * density->joint[i];
        row[i + 1] += mass * density->square[i];
        for (size_t j = i + 1; j < d; j++) {
            row[j + 1] += mass * dot(density->G + i * g, density->G + j * g, g);
        }
    }
}

/* What theta explains of w: the rest is the variance of its residuals and the square of their
 * mean. */
double density_explained(struct density *density, const double *position, const double *theta)
{
    size_t d = density->d;
    size_t q = density->q;
    double tied[FACTORS_MAX] = {0};
    place(density, position);
    double w_mean = density->mean[d];
    double off = w_mean - theta[0] * density->ballots->h;
    double rest = density->w_variance;
    for (size_t i = 0; i < d; i++) {
        double slope = theta[i + 1];
        off -= slope * density->mean[i];
        rest -= 2.0 * slope * (density->joint[i] - density->mean[i] * w_mean);
        rest += slope * slope * density->own[i];
        add(tied, slope, density->G + i * density->g, q);
    }
    rest += dot(tied, tied, q) + off * off;
    return 1.0 - rest / density->w_variance;
}

/* ---------------------------------------------------------------- the density */

/* What the entries of M tell: their misfit and dE/dT. */
struct pulls {
    double misfit;   /* twice the energy */
    double along;    /* dE/dmass, times mass */
    double corner_w; /* by T_0w */
    double square_w; /* by T_ww */
};

/* One entry of M against what is expected there; returns dE/dT of it. */
INLINE double compare(struct pulls *pulls, double weight, double expected, double seen, double mass)
{
    double pull = weight * (expected - seen);
    pulls->misfit += pull * (expected - seen);
    pulls->along += pull * expected;
    return mass * pull;
}

/* How far twice the weight of a pair of entries is from that of one on the diagonal. */
static double excess_of(const struct density_weight *weight)
{
    return weight->square - 0.5 * weight->product;
}

/* All but the features' pairs. by_mean gets dE/dT_0i. */
INLINE void compare_edges(struct density *density, struct pulls *pulls, double *by_mean)
{
    const struct density_weight *weight = &density->weight;
    const double *M = density->ballots->M;
    size_t n = density->n;
    size_t d = density->d;
    double h = density->ballots->h;
    double mass = density->mass;
    double w_mean = density->mean[d];
    double excess = excess_of(weight);
    (void)compare(pulls, weight->corner, mass * h * h, M[0], mass);
    pulls->corner_w = compare(pulls, weight->mean_w, mass * h * w_mean, M[n - 1], mass);
    pulls->square_w = compare(pulls, weight->square_w,
                              mass * (w_mean * w_mean + density->w_variance), M[n * n - 1], mass);
    for (size_t i = 0; i < d; i++) {
        by_mean[i] = compare(pulls, weight->mean, mass * h * density->mean[i], M[i + 1], mass);
        density->pull[i] = compare(pulls, weight->product_w, mass * density->joint[i],
                                   M[(i + 1) * n + n - 1], mass);
        (void)compare(pulls, excess, mass * density->square[i], M[(i + 1) * n + i + 1], mass);
    }
}

INLINE void multiply_by_O(struct density *density)
{
    size_t d = density->d;
    multiply(density->OG, (struct view){density->O, d, 1}, density->G, density->g, d, d);
}

/* The features' pairs: HG <- their dE/dT times G. */
INLINE void compare_features(struct density *density, struct pulls *pulls)
{
    size_t d = density->d;
    size_t g = density->g;
    double mass = density->mass;
    double weight = 0.5 * density->weight.product;
    double excess = excess_of(&density->weight);
    multiply_by_O(density);
    multiply(density->C, (struct view){density->G, 1, g}, density->G, g, d, g);
    multiply(density->HG, (struct view){density->G, g, 1}, density->C, g, g, d);
    double expected = dot(density->C, density->C, g * g);
    double both = 0.0;
    for (size_t i = 0; i < d; i++) {
        double own = density->own[i];
        const double *G = density->G + i * g;
        expected += own * (2.0 * density->square[i] - own);
        both += dot(G, density->OG + i * g, g) + own * density->O[i * d + i];
    }
    pulls->misfit += weight * (mass * (mass * expected - 2.0 * both) + density->OO);
    pulls->along += weight * mass * (mass * expected - both);
    for (size_t i = 0; i < d; i++) {
        const double *G = density->G + i * g;
        double *HG = density->HG + i * g;
        double seen = density->O[i * d + i];
        double more = mass * (excess * (mass * density->square[i] - seen) - pulls->along);
        more += mass * mass * weight * density->own[i];
        scale(HG, mass * mass * weight, HG, g);
        add(HG, -(mass * weight), density->OG + i * g, g);
        add(HG, more, G, g);
    }
}

/* The gradient by what belongs to one feature; `by_part` sums what belongs to the factors.
 * Returns what belongs to all own variances. */
INLINE double by_feature(double *gradient, const struct density *density, double *by_part,
                         const struct pulls *pulls, size_t i)
{
    const struct density_layout *at = &density->at;
    size_t q = density->q;
    size_t d = density->d;
    const double *G = density->G + i * density->g;
    const double *HG = density->HG + i * density->g;
    double slope = density->slope[i];
    double pull = density->pull[i];
    double mass = density->mass;
    double seen = density->O[i * d + i];
    double by[FACTORS_MAX];
    scale(by, 2.0, HG, q);
    add(by, pull + 2.0 * pulls->square_w * slope, density->tied[0], q);
    add(by, slope, density->tied[1], q);
    add_products(by_part, 1.0, by, G, q);
    add_products(gradient + at->A + i * q, density->scale[i], density->root, by, q);
    double by_own =
        mass * (density->weight.square * (mass * density->square[i] - seen) - pulls->along);
    by_own += slope * (pull + pulls->square_w * slope);
    by_own *= density->own[i];
    gradient[at->t + i] += VARIANCE_SPREAD * (0.5 * dot(by, G, q) + by_own);
    return by_own;
}

INLINE double energy_of(struct density *density, double *gradient, const double *position)
{
    const struct density_layout *at = &density->at;
    size_t d = density->d;
    size_t q = density->q;
    double h = density->ballots->h;
    struct pulls pulls = {0};
    double by_mean[TREMOLO_MAX_FEATURES] = {0};
    double by_part[FACTORS_MAX] = {0};
    double by_own = 0.0;
    double by_slopes = 0.0;
    double by_w_mean = 0.0;
    place(density, position);
    compare_edges(density, &pulls, by_mean);
    compare_features(density, &pulls);
    memcpy(gradient, position, at->count * sizeof *gradient);
    memset(density->tied[1], 0, q * sizeof(double));
    for (size_t i = 0; i < d; i++) {
        add(density->tied[1], density->pull[i], density->G + i * density->g, q);
    }
    double unit = slope_unit(density);
    double w_mean = density->mean[d];
    for (size_t i = 0; i < d; i++) {
        const double *G = density->G + i * density->g;
        by_own += by_feature(gradient, density, by_part, &pulls, i);
        double by_slope = dot(G, density->tied[1], q) + density->own[i] * density->pull[i] +
                          2.0 * pulls.square_w * (density->joint[i] - density->mean[i] * w_mean);
        gradient[at->b + i] += unit * by_slope;
        by_slopes += by_slope * density->slope[i];
        by_w_mean += density->pull[i] * density->mean[i];
        double by =
            2.0 * density->HG[i * density->g + q] + h * by_mean[i] + density->pull[i] * w_mean;
        gradient[at->z + i] += MEAN_SPREAD * by;
    }
    by_w_mean += h * pulls.corner_w + 2.0 * pulls.square_w * w_mean;
    double by_residual = pulls.square_w * density->residual;
    double by_parts = 0.0;
    for (size_t k = 0; k < q; k++) {
        by_parts += by_part[k];
    }
    for (size_t k = 0; k < q; k++) {
        gradient[at->part + k] += 0.5 * PART_SPREAD * (by_part[k] - density->part[k] * by_parts);
    }
    gradient[at->t + d] += density->w_spread * (0.5 * by_slopes + by_residual);
    gradient[at->share] +=
        SHARE_SPREAD * (0.5 * (1.0 - density->common) * by_parts - density->common * by_own);
    gradient[at->share + 1] += WSHARE_SPREAD * (0.5 * (1.0 - density->explained) * by_slopes -
                                                density->explained * by_residual);
    gradient[at->z + d] += density->w_mean_sd * by_w_mean;
    double prior = 1.0; /* each factor is at most 6: no product of 257 is too large */
    for (size_t i = 0; i <= d; i++) {
        double inward;
        prior *= nearer(&inward, position[at->z + i]);
        gradient[at->z + i] += inward;
    }
    return 0.5 * pulls.misfit + 0.5 * dot(position, position, at->count) - logarithm(prior);
}

/* ---------------------------------------------------------------- with wide registers */

WIDE double energy_wide(struct density *density, double *gradient, const double *position)
{
    return energy_of(density, gradient, position);
}

double density_energy(struct density *density, double *gradient, const double *position)
{
    return HAS_WIDE ? energy_wide(density, gradient, position)
                    : energy_of(density, gradient, position);
}

WIDENED(void, density_add_moments, add_moments,
        (double *sum, double share, struct density *density, const double *position),
        (sum, share, density, position))
WIDENED(static void, multiply_O, multiply_by_O, (struct density * density), (density))

/* ---------------------------------------------------------------- where it starts
 *
 * A chain starts where the noisy M lies.
 *
 * Noise of variance s^2 off the diagonal of d * d entries has eigenvalues up to 2 s sqrt(d), and a
 * factor of value v beyond half of that is seen as v + d s^2 / v. Those that are seen are taken as
 * they must have been, and slopes as far as they stand out of their noise, along these
 * factors and across them. */

#define LEAST_PART 0.01 /* of the features' variance: a factor that is not seen */

enum { ITERATIONS = 25 };

static double clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* What the noisy M says of the features before anything is known of them. */
struct sight {
    double mass;
    double bulk; /* mean eigenvalue of their covariance */
    double edge; /* noise alone has eigenvalues up to this */
    double mean[TREMOLO_MAX_FEATURES + 1];
    double variance[TREMOLO_MAX_FEATURES + 1];
    double value[FACTORS_MAX]; /* of factors, without noise; 0 where it hides them */
};

/* Means and variances as M has them, within limits. */
static void look(struct sight *sight, const struct density *density)
{
    const struct tremolo_ballot *ballots = density->ballots;
    size_t n = density->n;
    size_t d = density->d;
    double h2 = ballots->h * ballots->h;
    double most = h2 / (h2 + ballots->rest);
    double mass = clamp(ballots->M[0], 0.1 * most, most) / h2;
    sight->mass = mass;
    sight->bulk = 0.0;
    sight->edge = 2.0 * sqrt((double)d / density->weight.product) / mass;
    for (size_t i = 0; i < density->r; i++) {
        double sd = mean_sd(density, i);
        double middle = i == d ? density->w_centre : VARIANCE_CENTRE;
        middle = exponential(middle);
        double mean = clamp(ballots->M[i + 1] / (ballots->h * mass), -2.0 * sd, 2.0 * sd);
        double variance = ballots->M[(i + 1) * n + i + 1] / mass - mean * mean;
        sight->mean[i] = mean;
        sight->variance[i] = clamp(variance, 0.1 * middle, 10.0 * middle);
        sight->bulk += i < d ? sight->variance[i] / (double)d : 0.0;
    }
}

/* density->OG <- (covariance of features by M + shift) V, V in density->G. */
static void apply_covariance(struct density *density, const struct sight *sight, double shift)
{
    size_t d = density->d;
    size_t g = density->g;
    const double *V = density->G;
    double by_mean[FACTORS_MAX + 1] = {0};
    multiply_O(density);
    for (size_t i = 0; i < d; i++) {
        add(by_mean, sight->mean[i], V + i * g, g);
    }
    for (size_t i = 0; i < d; i++) {
        double *row = density->OG + i * g;
        for (size_t k = 0; k < g; k++) {
            row[k] = row[k] / sight->mass - sight->mean[i] * by_mean[k] + shift * V[i * g + k];
        }
    }
}

/* Columns of V orthogonal and of length one, in the order they are in; zero where there is no
 * direction left. */
static void straighten(double *V, const struct density *density)
{
    size_t d = density->d;
    size_t g = density->g;
    for (size_t k = 0; k < density->q; k++) {
        double shares[FACTORS_MAX + 1] = {0};
        for (size_t i = 0; i < d; i++) {
            add(shares, V[i * g + k], V + i * g, k + 1);
        }
        double square = shares[k];
        for (size_t j = 0; j < k; j++) {
            square -= shares[j] * shares[j];
        }
        bool apart = k < d && square > 1e-12 * shares[k];
        double length = apart ? sqrt(square) : INFINITY;
        for (size_t i = 0; i < d; i++) {
            V[i * g + k] = (V[i * g + k] - dot(shares, V + i * g, k)) / length;
        }
    }
}

/* density->G <- the covariance's leading eigenvectors by subspace iteration, in columns; the
 * values of those that stand out, as they were before noise made them larger. */
static void find_factors(struct sight *sight, struct density *density)
{
    struct tremolo_random random = tremolo_random_from(UINT64_C(0x666163746f72), 0);
    size_t d = density->d;
    size_t g = density->g;
    double *V = density->G;
    for (size_t i = 0; i < d; i++) {
        for (size_t k = 0; k < density->q; k++) {
            V[i * g + k] = tremolo_random_uniform(&random) - 0.5;
        }
    }
    for (int t = 0; t < ITERATIONS; t++) {
        straighten(V, density);
        apply_covariance(density, sight, sight->edge);
        memcpy(V, density->OG, d * g * sizeof *V);
    }
    straighten(V, density);
    apply_covariance(density, sight, -sight->bulk);
    for (size_t k = 0; k < density->q; k++) {
        double value = 0.0;
        for (size_t i = 0; i < d; i++) {
            value += V[i * g + k] * density->OG[i * g + k];
        }
        double beyond = value * value - sight->edge * sight->edge;
        sight->value[k] = value > 0.0 && beyond > 0.0 ? 0.5 * (value + sqrt(beyond)) : 0.0;
        for (size_t i = 0; i < d && sight->value[k] > 0.0; i++) {
            density->seen[density->factors * d + i] = V[i * g + k];
        }
        density->factors += sight->value[k] > 0.0;
    }
}

/* Loadings and variances of features with these factors. */
static void start_features(double *position, const struct density *density,
                           const struct sight *sight)
{
    size_t d = density->d;
    size_t q = density->q;
    double sum = 0.0;
    double logits = 0.0;
    for (size_t k = 0; k < q; k++) {
        sum += sight->value[k];
    }
    double common = clamp(sum / ((double)d * sight->bulk), 0.1, 0.9);
    position[density->at.share] =
        (logarithm(common / (1.0 - common)) - SHARE_CENTRE) / SHARE_SPREAD;
    double part[FACTORS_MAX];
    for (size_t k = 0; k < q; k++) {
        part[k] = (sight->value[k] + LEAST_PART * (double)d * sight->bulk) /
                  (sum + LEAST_PART * (double)(q * d) * sight->bulk);
        position[density->at.part + k] = logarithm(part[k]) / PART_SPREAD;
        logits += position[density->at.part + k] / (double)q;
    }
    for (size_t k = 0; k < q; k++) {
        position[density->at.part + k] -= logits;
    }
    for (size_t i = 0; i < d; i++) {
        const double *V = density->G + i * density->g;
        double own = sight->variance[i];
        for (size_t k = 0; k < q; k++) {
            own -= sight->value[k] * V[k] * V[k];
        }
        own = clamp(own, 0.1 * sight->variance[i], sight->variance[i]);
        double variance = own / (1.0 - common);
        position[density->at.t + i] = (logarithm(variance) - VARIANCE_CENTRE) / VARIANCE_SPREAD;
        for (size_t k = 0; k < q; k++) {
            position[density->at.A + i * q + k] =
                V[k] * sqrt(sight->value[k] / (variance * common * part[k]));
        }
    }
}

/* slopes <- S^-1 z as far as z, the moments with w, stands out of its noise along the factors and
 * across them; S has the factors' values and one own variance for all. Returns slopes' S slopes. */
static double guess_slopes(double *slopes, const struct density *density, const struct sight *sight)
{
    size_t d = density->d;
    size_t n = density->n;
    double noise = 1.0 / (density->weight.product_w * sight->mass * sight->mass);
    double own = sight->bulk;
    double square = 0.0;
    double explained = 0.0;
    double kept[FACTORS_MAX] = {0};
    for (size_t k = 0; k < density->q; k++) {
        own -= sight->value[k] / (double)d;
    }
    own = clamp(own, 0.1 * sight->bulk, sight->bulk);
    for (size_t i = 0; i < d; i++) {
        slopes[i] = density->ballots->M[(i + 1) * n + n - 1] / sight->mass -
                    sight->mean[i] * sight->mean[d];
    }
    for (size_t k = 0, at = 0; k < density->q; k++) {
        const double *V = density->seen + at * d;
        if (sight->value[k] > 0.0) {
            double along = dot(V, slopes, d);
            double part = clamp(1.0 - noise / (along * along), 0.0, 1.0);
            add(slopes, -along, V, d);
            kept[at++] = part * along / (sight->value[k] + own);
            explained += part * part * along * along / (sight->value[k] + own);
        }
    }
    square = dot(slopes, slopes, d);
    double left = (double)(d - density->factors) * noise;
    double part = square > left ? (1.0 - left / square) / own : 0.0;
    explained += part * part * own * square;
    for (size_t i = 0; i < d; i++) {
        slopes[i] *= part;
    }
    for (size_t k = 0; k < density->factors; k++) {
        add(slopes, kept[k], density->seen + k * d, d);
    }
    return explained;
}

/* Slopes, and how much of w they explain, with the residual at least a fifth of its variance: a
 * chain that starts where slopes explain everything hardly leaves. */
static void start_response(double *position, const struct density *density,
                           const struct sight *sight)
{
    size_t d = density->d;
    double *b = position + density->at.b;
    double explained = guess_slopes(b, density, sight);
    double all = sight->variance[d];
    double residual = clamp(all - explained, 0.2 * all, all);
    double odds = dot(b, b, d) * SCALE_CENTRE * SCALE_CENTRE / residual;
    odds = clamp(odds, 0.003, 9.0);
    double variance = residual * (1.0 + odds);
    double unit = sqrt(residual * odds / (double)d) / SCALE_CENTRE;
    for (size_t i = 0; i < d; i++) {
        b[i] /= unit;
    }
    position[density->at.share + 1] = (logarithm(odds) - WSHARE_CENTRE) / WSHARE_SPREAD;
    position[density->at.t + d] = (logarithm(variance) - density->w_centre) / density->w_spread;
}

void density_start(double *position, struct density *density)
{
    struct sight sight = {0};
    memset(position, 0, density->at.count * sizeof *position);
    look(&sight, density);
    find_factors(&sight, density);
    start_features(position, density, &sight);
    start_response(position, density, &sight);
    for (size_t i = 0; i < density->r; i++) {
        position[density->at.z + i] = sight.mean[i] / mean_sd(density, i);
    }
    memset(density->G, 0, density->d * density->g * sizeof *density->G);
}

/* ---------------------------------------------------------------- the parts */

/* Parameters of a kind lie together, so that a pace or a prior covers a range of them. */
static struct density_layout layout_of(size_t d, size_t q)
{
    struct density_layout at = {.A = 0};
    at.b = at.A + d * q;
    at.t = at.b + d;
    at.z = at.t + d + 1;
    at.share = at.z + d + 1;
    at.part = at.share + 2;
    at.count = at.part + q;
    return at;
}

/* Blocks of M have one noise each. */
static struct density_weight weight_of(const struct tremolo_ballot *ballots)
{
    size_t last = ballots->n - 1;
    struct density_weight weight = {.corner = 1.0 / ballot_variance(ballots, 0, 0),
                                    .mean = 1.0 / ballot_variance(ballots, 0, 1),
                                    .square = 1.0 / ballot_variance(ballots, 1, 1),
                                    .mean_w = 1.0 / ballot_variance(ballots, 0, last),
                                    .product_w = 1.0 / ballot_variance(ballots, 1, last),
                                    .square_w = 1.0 / ballot_variance(ballots, last, last)};
    weight.product = ballots->d > 1 ? 1.0 / ballot_variance(ballots, 1, 2) : 2.0 * weight.square;
    return weight;
}

/* What depends on the ballots and not on the position. */
static void set_up(struct density *density)
{
    const struct tremolo_ballot *ballots = density->ballots;
    bool known = ballots->response_public;
    density->w_centre = logarithm(ballots->w_square) + (known ? 0.0 : VARIANCE_CENTRE);
    density->w_spread = known ? PUBLIC_SPREAD : VARIANCE_SPREAD;
    density->w_mean_sd = sqrt(ballots->w_square) * MEAN_SPREAD;
    density->weight = weight_of(ballots);
    for (size_t i = 0; i < density->d; i++) {
        memcpy(density->O + i * density->d, ballots->M + (i + 1) * density->n + 1,
               density->d * sizeof(double));
    }
    density->OO = dot(density->O, density->O, density->d * density->d);
}

bool density_new(struct density *density, const struct tremolo_ballot *ballots)
{
    size_t d = ballots->d;
    size_t r = d + 1;
    size_t q = d + 2 < FACTORS_MAX ? d + 2 : FACTORS_MAX;
    size_t g = (q + TILE) / TILE * TILE;
    *density = (struct density){
        .ballots = ballots, .at = layout_of(d, q), .n = ballots->n, .d = d, .r = r, .q = q, .g = g};
    density->memory = LINEAR_NEW({&density->O, d * d}, {&density->G, d * g}, {&density->OG, d * g},
                                 {&density->HG, d * g}, {&density->C, g * g}, {&density->part, q},
                                 {&density->root, q}, {&density->mean, r}, {&density->scale, r},
                                 {&density->own, d}, {&density->square, d}, {&density->slope, d},
                                 {&density->joint, d}, {&density->pull, d}, {&density->tied[0], q},
                                 {&density->tied[1], q}, {&density->seen, q * d});
    if (density->memory == NULL) {
        return false;
    }
    set_up(density);
    return true;
}
