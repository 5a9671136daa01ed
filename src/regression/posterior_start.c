/* posterior_start.c -- where the chain of posterior.c starts: where the noisy M lies.
 *
 * A chain that starts elsewhere needs long to get there, and its length is fixed.
 *
 * Noise of variance s^2 off the diagonal of d * d entries has eigenvalues up to 2 s sqrt(d), and a
 * factor of value v beyond half of that is seen as v + d s^2 / v. Those that are seen are taken as
 * they must have been, and slopes as far as they stand out of their noise, along these
 * factors and across them. */
#include "density.h"

#include <string.h>

#include "regression.h"

WIDENED(static void, multiply_O, multiply_by_O, (struct density * density), (density))

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
    double value[DENSITY_FACTORS_MAX]; /* of factors, without noise; 0 where it hides them */
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
    double by_mean[DENSITY_FACTORS_MAX + 1] = {0};
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
        double shares[DENSITY_FACTORS_MAX + 1] = {0};
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
    double part[DENSITY_FACTORS_MAX];
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
    double kept[DENSITY_FACTORS_MAX] = {0};
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
