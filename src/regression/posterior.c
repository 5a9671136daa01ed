/* posterior.c -- the moments that ballots leave likely.
 *
 * Solving the noisy M as it is would be hopeless, and a ridge needs a constant that cannot be
 * tuned without private data. Instead M is replaced by its posterior mean under what is public,
 * taken over a Hamiltonian Monte Carlo chain started where the noisy M lies (posterior_start.c).
 * Seed, length and order of operations are fixed, and so is how each is rounded: the same sums
 * give the same result.
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

/* ---------------------------------------------------------------- where a position lies */

INLINE double log_variance(const struct density *density, const double *position, size_t i)
{
    double t = position[density->at.t + i];
    return i == density->d ? density->w_centre + density->w_spread * t
                           : VARIANCE_CENTRE + VARIANCE_SPREAD * t;
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
static double explained_by(struct density *density, const double *position, const double *theta)
{
    size_t d = density->d;
    size_t q = density->q;
    double tied[DENSITY_FACTORS_MAX] = {0};
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
    double by[DENSITY_FACTORS_MAX];
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
    double by_part[DENSITY_FACTORS_MAX] = {0};
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

static double energy(struct density *density, double *gradient, const double *position)
{
    return HAS_WIDE ? energy_wide(density, gradient, position)
                    : energy_of(density, gradient, position);
}

WIDENED(static void, gather, add_moments,
        (double *sum, double share, struct density *density, const double *position),
        (sum, share, density, position))

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

/* False when there is no memory; free density->memory. */
static bool density_new(struct density *density, const struct tremolo_ballot *ballots)
{
    size_t d = ballots->d;
    size_t r = d + 1;
    size_t q = d + 2 < DENSITY_FACTORS_MAX ? d + 2 : DENSITY_FACTORS_MAX;
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

/* ---------------------------------------------------------------- shares drawn again
 *
 * Draw shares and scales again, and leave the moments as they are.
 *
 * Where ballots tell loadings and slopes well, the shares that say how large these should be
 * hardly move in a chain: it would have to move all of them at once. Here the loadings F, own
 * variances, slopes and the residual variance of w stay, and with them M. Left are the shares;
 * given all that, their density is
 *     prior(shares) prior(A, b, t) |d(A, b, t) / d(F, slopes, own, residual)|.
 * Each of them takes a random step, accepted as Metropolis would. */

/* Of proposals, in prior standard deviations: where noise hides much, and where many
 * loadings or slopes say how large they are. */
static const double strides[] = {1.0, 0.1};

/* What stays. */
struct kept {
    double factor[DENSITY_FACTORS_MAX]; /* sum of F^2 / own over features, of each factor */
    double slopes;                      /* sum of squares */
    double own[2];                      /* sum of log own variances about the centre, squares */
    double residual;
};

/* Sums over features of what stays; the density of the shares needs no more. */
static struct kept keep(const struct density *density)
{
    struct kept kept = {.residual = density->residual};
    for (size_t i = 0; i < density->d; i++) {
        const double *G = density->G + i * density->g;
        double own = density->own[i];
        double off = logarithm(own) - VARIANCE_CENTRE;
        kept.own[0] += off;
        kept.own[1] += off * off;
        kept.slopes += density->slope[i] * density->slope[i];
        for (size_t k = 0; k < density->q; k++) {
            kept.factor[k] += G[k] * G[k] / own;
        }
    }
    return kept;
}

/* Shares, as a position has them: the common one, the explained one, the factors' parts. */
struct shares {
    double logit[2];
    double part[DENSITY_FACTORS_MAX];
};

/* Minus the log density of the shares given what stays. */
static double energy_of_shares(const struct density *density, const struct kept *kept,
                               const struct shares *shares)
{
    size_t q = density->q;
    double d = (double)density->d;
    double common = share(shares->logit[0], false);
    double explained = share(shares->logit[1], true);
    double sum = shares->logit[0] * shares->logit[0] + shares->logit[1] * shares->logit[1];
    double apart = logarithm(1.0 - common);
    double part[DENSITY_FACTORS_MAX];
    double total = 0.0;
    for (size_t k = 0; k < q; k++) {
        part[k] = exponential(PART_SPREAD * shares->part[k]);
        total += part[k];
        sum += shares->part[k] * shares->part[k];
    }
    double each = logarithm(common / total) - apart;
    for (size_t k = 0; k < q; k++) {
        double ratio = common * part[k] / (total * (1.0 - common));
        sum += kept->factor[k] / ratio + d * (each + PART_SPREAD * shares->part[k]);
    }
    sum += (kept->own[1] - 2.0 * apart * kept->own[0] + d * apart * apart) /
           (VARIANCE_SPREAD * VARIANCE_SPREAD);
    double variance = kept->residual / (1.0 - explained);
    double t = (logarithm(variance) - density->w_centre) / density->w_spread;
    double unit2 = variance * explained / (d * SCALE_CENTRE * SCALE_CENTRE);
    sum += t * t + kept->slopes / unit2 + d * logarithm(unit2);
    return 0.5 * sum;
}

/* The position with these shares that has the same moments. */
static void take_shares(double *position, const struct density *density,
                        const struct shares *shares)
{
    const struct density_layout *at = &density->at;
    size_t d = density->d;
    size_t q = density->q;
    double root[DENSITY_FACTORS_MAX];
    double total = 0.0;
    double common = share(shares->logit[0], false);
    double explained = share(shares->logit[1], true);
    position[at->share] = shares->logit[0];
    position[at->share + 1] = shares->logit[1];
    for (size_t k = 0; k < q; k++) {
        position[at->part + k] = shares->part[k];
        root[k] = exponential(PART_SPREAD * shares->part[k]);
        total += root[k];
    }
    for (size_t k = 0; k < q; k++) {
        root[k] = sqrt(common * root[k] / total);
    }
    double variance = density->residual / (1.0 - explained);
    double unit = sqrt(variance * explained / (double)d) / SCALE_CENTRE;
    position[at->t + d] = (logarithm(variance) - density->w_centre) / density->w_spread;
    for (size_t i = 0; i < d; i++) {
        double scale = sqrt(density->own[i] / (1.0 - common));
        position[at->t + i] = (2.0 * logarithm(scale) - VARIANCE_CENTRE) / VARIANCE_SPREAD;
        position[at->b + i] = density->slope[i] / unit;
        for (size_t k = 0; k < q; k++) {
            position[at->A + i * q + k] = density->G[i * density->g + k] / (scale * root[k]);
        }
    }
}

/* Propose each share in turn, with two strides; moments and all else stay. */
static void density_rescale(double *position, struct density *density,
                            struct tremolo_random *random)
{
    const struct density_layout *at = &density->at;
    size_t q = density->q;
    struct shares now = {.logit = {position[at->share], position[at->share + 1]}};
    for (size_t k = 0; k < q; k++) {
        now.part[k] = position[at->part + k];
    }
    place(density, position);
    struct kept kept = keep(density);
    double energy = energy_of_shares(density, &kept, &now);
    for (size_t j = 0; j < 2 * (q + 2); j++) {
        struct shares next = now;
        size_t which = j / 2;
        double *one = which < 2 ? &next.logit[which] : &next.part[which - 2];
        *one += strides[j % 2] * 2.0 * (tremolo_random_uniform(random) - 0.5);
        if (fabs(*one) > SHARES_END) {
            continue;
        }
        double there = energy_of_shares(density, &kept, &next);
        if (tremolo_random_uniform(random) < exponential(energy - there)) {
            now = next;
            energy = there;
        }
    }
    take_shares(position, density, &now);
}

/* ---------------------------------------------------------------- the chain */

#define WANTED 0.8 /* acceptance */
#define NUDGE  1e-5

struct chain {
    struct density density;
    double *memory;
    double *position; /* density.at.count each */
    double *gradient;
    double *momentum;
    double *next;
    double *next_gradient;
    double *pace;                    /* how fast each moves: one over the root of its curvature */
    double lag[DENSITY_FACTORS_MAX]; /* by how much slopes are slower along a factor */
    struct tremolo_random random;
};

struct ballot_posterior {
    struct chain chain;
    size_t count;  /* of draws */
    double *draws; /* where the chain was, one after the other */
};

/* Sum of twelve uniform numbers: normal as far as a chain's momenta need it. */
static double draw(struct tremolo_random *random)
{
    double sum = 0.0;
    for (int k = 0; k < 3; k++) {
        uint64_t bits = tremolo_random_bits(random);
        for (int j = 0; j < 4; j++, bits >>= 16) {
            sum += (double)(bits & 0xffff) + 0.5;
        }
    }
    return sum / 65536.0 - 6.0;
}

/* to <- to + factor times the paces times from. */
INLINE void steer_any(double *to, double factor, const struct chain *chain, const double *from)
{
    size_t d = chain->density.d;
    size_t b = chain->density.at.b;
    add_products(to, factor, chain->pace, from, chain->density.at.count);
    for (size_t k = 0; k < chain->density.factors; k++) {
        const double *V = chain->density.seen + k * d;
        add(to + b, -(factor * chain->lag[k] * dot(V, from + b, d)), V, d);
    }
}

WIDENED(static void, steer, steer_any,
        (double *to, double factor, const struct chain *chain, const double *from),
        (to, factor, chain, from))

/* False where shares are beyond SHARES_END, six prior standard deviations away: as good as
 * impossible, and next to a division by zero. */
static bool has_shares(const struct density *density, const double *position)
{
    bool has = true;
    for (size_t i = density->at.share; i < density->at.count; i++) {
        has = has && fabs(position[i]) <= SHARES_END;
    }
    return has;
}

static void swap(double **a, double **b)
{
    double *kept = *a;
    *a = *b;
    *b = kept;
}

/* One proposal of `steps` leaps; returns the probability of acceptance. The first ones, from where
 * the density is steep, may leap to where shares vanish and slopes divide by zero. */
static double move(struct chain *chain, double *now, double step, size_t steps)
{
    size_t count = chain->density.at.count;
    for (size_t i = 0; i < count; i++) {
        chain->momentum[i] = draw(&chain->random);
    }
    double kinetic = 0.5 * dot(chain->momentum, chain->momentum, count);
    memcpy(chain->next, chain->position, count * sizeof(double));
    memcpy(chain->next_gradient, chain->gradient, count * sizeof(double));
    double there = *now;
    steer(chain->momentum, -0.5 * step, chain, chain->next_gradient);
    for (size_t s = 0; s < steps; s++) {
        steer(chain->next, step, chain, chain->momentum);
        there = energy(&chain->density, chain->next_gradient, chain->next);
        steer(chain->momentum, s + 1 < steps ? -step : -0.5 * step, chain, chain->next_gradient);
    }
    if (!has_shares(&chain->density, chain->next)) {
        there = INFINITY;
    }
    double gain = *now + kinetic - there - 0.5 * dot(chain->momentum, chain->momentum, count);
    double chance = gain >= 0.0 ? 1.0 : gain > -600.0 ? exponential(gain) : 0.0;
    if (tremolo_random_uniform(&chain->random) < chance) {
        swap(&chain->position, &chain->next);
        swap(&chain->gradient, &chain->next_gradient);
        *now = there;
    }
    return chance;
}

/* The curvature of the energy along a direction, given in `momentum`; at least the prior's. */
static double curvature(struct chain *chain)
{
    size_t count = chain->density.at.count;
    double square = dot(chain->momentum, chain->momentum, count);
    for (size_t i = 0; i < count; i++) {
        chain->next[i] = chain->position[i] + NUDGE * chain->momentum[i];
    }
    (void)energy(&chain->density, chain->next_gradient, chain->next);
    double along = dot(chain->momentum, chain->next_gradient, count) -
                   dot(chain->momentum, chain->gradient, count);
    double found = along / (NUDGE * square);
    return found > 1.0 ? found : 1.0;
}

/* The pace of `size` parameters, each `apart` from the last: of a direction with random signs. */
static void set_pace(struct chain *chain, size_t first, size_t size, size_t apart)
{
    memset(chain->momentum, 0, chain->density.at.count * sizeof(double));
    for (size_t i = 0; i < size; i++) {
        chain->momentum[first + i * apart] = tremolo_random_uniform(&chain->random) < 0.5 ? -1 : 1;
    }
    double pace = 1.0 / sqrt(curvature(chain));
    for (size_t i = 0; i < size; i++) {
        chain->pace[first + i * apart] = pace;
    }
}

/* Slopes that go along with a factor change all moments with w at once. */
static void set_slopes(struct chain *chain)
{
    size_t d = chain->density.d;
    size_t b = chain->density.at.b;
    set_pace(chain, b, d, 1);
    for (size_t k = 0; k < chain->density.factors; k++) {
        memset(chain->momentum, 0, chain->density.at.count * sizeof(double));
        memcpy(chain->momentum + b, chain->density.seen + k * d, d * sizeof(double));
        chain->lag[k] = chain->pace[b] - 1.0 / sqrt(curvature(chain));
    }
}

/* Parameters of a kind move alike; those that all features depend on have a pace of their own. */
static void set_paces(struct chain *chain)
{
    const struct density_layout *at = &chain->density.at;
    size_t d = chain->density.d;
    size_t q = chain->density.q;
    for (size_t k = 0; k < q; k++) {
        set_pace(chain, at->A + k, d, q);
        set_pace(chain, at->part + k, 1, 1);
    }
    set_slopes(chain);
    set_pace(chain, at->t, d, 1);
    set_pace(chain, at->t + d, 1, 1);
    set_pace(chain, at->z, d, 1);
    set_pace(chain, at->z + d, 1, 1);
    set_pace(chain, at->share, 1, 1);
    set_pace(chain, at->share + 1, 1, 1);
}

/* How long the chain is: what a step costs grows as d^2. Long moves do more than many. */
struct length {
    size_t warm;
    size_t moves;
    size_t leaps; /* about so many steps a move */
};

static struct length length_of(size_t d)
{
    if (d <= 24) {
        return d <= 12 ? (struct length){150, 600, 24} : (struct length){120, 300, 30};
    }
    return d <= 64 ? (struct length){80, 200, 30} : (struct length){60, 100, 28};
}

/* M's lower triangle is its upper one. */
static void mirror(double *M, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            M[i * n + j] = M[j * n + i];
        }
    }
}

/* Warm up, adapting the step; then average the moments, and keep evenly spaced positions as draws. */
static void run(double *mean, struct ballot_posterior *posterior, struct length length)
{
    struct chain *chain = &posterior->chain;
    struct density *density = &chain->density;
    size_t count = density->at.count;
    double step = 0.1;
    double now = energy(density, chain->gradient, chain->position);
    size_t kept = 0;
    memset(mean, 0, density->n * density->n * sizeof *mean);
    set_paces(chain);
    for (size_t k = 0; k < length.warm + length.moves; k++) {
        size_t steps =
            length.leaps / 2 + (size_t)(tremolo_random_bits(&chain->random) % length.leaps);
        double chance = move(chain, &now, step, steps + 1);
        density_rescale(chain->position, density, &chain->random);
        now = energy(density, chain->gradient, chain->position);
        if (k < length.warm) {
            if (k == length.warm / 2) {
                set_paces(chain); /* now that it is where it belongs */
            }
            step *= 1.0 + (chance - WANTED) * (k < length.warm / 2 ? 0.3 : 0.08);
            continue;
        }
        gather(mean, 1.0 / (double)length.moves, density, chain->position);
        if ((k - length.warm + 1) * posterior->count / length.moves > kept) {
            memcpy(posterior->draws + kept++ * count, chain->position, count * sizeof(double));
        }
    }
    mirror(mean, density->n);
}

static bool make(struct ballot_posterior *posterior, const struct tremolo_ballot *ballots,
                 size_t moves)
{
    struct chain *chain = &posterior->chain;
    chain->random = tremolo_random_from(UINT64_C(0x62616c6c6f74), 0);
    posterior->count = moves < BALLOT_DRAWS ? moves : BALLOT_DRAWS;
    if (!density_new(&chain->density, ballots)) {
        return false;
    }
    size_t count = chain->density.at.count;
    chain->memory =
        LINEAR_NEW({&chain->position, count}, {&chain->gradient, count}, {&chain->momentum, count},
                   {&chain->next, count}, {&chain->next_gradient, count}, {&chain->pace, count},
                   {&posterior->draws, posterior->count * count});
    return chain->memory != NULL;
}

enum tremolo_status ballot_posterior_new(struct ballot_posterior **posterior, double *mean,
                                         const struct tremolo_ballot *ballots)
{
    struct length length = length_of(ballots->d);
    struct ballot_posterior *made = calloc(1, sizeof *made);
    if (made == NULL || !make(made, ballots, length.moves)) {
        ballot_posterior_free(made);
        return TREMOLO_NO_MEMORY;
    }
    density_start(made->chain.position, &made->chain.density);
    run(mean, made, length);
    *posterior = made;
    return TREMOLO_OK;
}

size_t ballot_posterior_explained(double *r2, struct ballot_posterior *posterior,
                                  const double *theta)
{
    struct density *density = &posterior->chain.density;
    for (size_t k = 0; k < posterior->count; k++) {
        r2[k] = explained_by(density, posterior->draws + k * density->at.count, theta);
    }
    return posterior->count;
}

void ballot_posterior_free(struct ballot_posterior *posterior)
{
    if (posterior != NULL) {
        free(posterior->chain.density.memory);
        free(posterior->chain.memory);
        free(posterior);
    }
}
