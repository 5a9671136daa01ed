/* ballot_rescale.c -- shares and scales anew, with the moments as they are.
 *
 * Where ballots tell loadings and slopes well, the shares that say how large these should be
 * hardly move in a chain: it would have to move all of them at once. Here the loadings F, own
 * variances, slopes and the residual variance of w stay, and with them M. Left are the shares,
 * whose density given all that is
 *     prior(shares) prior(A, b, t) |d(A, b, t) / d(F, slopes, own, residual)|.
 * Each of them takes a random step, accepted as Metropolis would. */
#include "ballot_density.h"

#include <math.h>

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

static struct kept keep(const struct density *density)
{
    struct kept kept = {.residual = density->residual};
    for (size_t i = 0; i < density->d; i++) {
        const double *G = density->G + i * density->g;
        double own = density->own[i];
        double off = density_logarithm(own) - VARIANCE_CENTRE;
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
static double energy_of(const struct density *density, const struct kept *kept,
                        const struct shares *shares)
{
    size_t q = density->q;
    double d = (double)density->d;
    double common = density_share(shares->logit[0], false);
    double explained = density_share(shares->logit[1], true);
    double sum = shares->logit[0] * shares->logit[0] + shares->logit[1] * shares->logit[1];
    double apart = density_logarithm(1.0 - common);
    double part[DENSITY_FACTORS_MAX];
    double total = 0.0;
    for (size_t k = 0; k < q; k++) {
        part[k] = density_exponential(PART_SPREAD * shares->part[k]);
        total += part[k];
        sum += shares->part[k] * shares->part[k];
    }
    double each = density_logarithm(common / total) - apart;
    for (size_t k = 0; k < q; k++) {
        double ratio = common * part[k] / (total * (1.0 - common));
        sum += kept->factor[k] / ratio + d * (each + PART_SPREAD * shares->part[k]);
    }
    sum += (kept->own[1] - 2.0 * apart * kept->own[0] + d * apart * apart) /
           (VARIANCE_SPREAD * VARIANCE_SPREAD);
    double variance = kept->residual / (1.0 - explained);
    double t = (density_logarithm(variance) - density->w_centre) / density->w_spread;
    double unit2 = variance * explained / (d * SCALE_CENTRE * SCALE_CENTRE);
    sum += t * t + kept->slopes / unit2 + d * density_logarithm(unit2);
    return 0.5 * sum;
}

static void take(double *position, const struct density *density, const struct shares *shares)
{
    const struct density_layout *at = &density->at;
    size_t d = density->d;
    size_t q = density->q;
    double root[DENSITY_FACTORS_MAX];
    double total = 0.0;
    double common = density_share(shares->logit[0], false);
    double explained = density_share(shares->logit[1], true);
    position[at->share] = shares->logit[0];
    position[at->share + 1] = shares->logit[1];
    for (size_t k = 0; k < q; k++) {
        position[at->part + k] = shares->part[k];
        root[k] = density_exponential(PART_SPREAD * shares->part[k]);
        total += root[k];
    }
    for (size_t k = 0; k < q; k++) {
        root[k] = sqrt(common * root[k] / total);
    }
    double variance = density->residual / (1.0 - explained);
    double unit = sqrt(variance * explained / (double)d) / SCALE_CENTRE;
    position[at->t + d] = (density_logarithm(variance) - density->w_centre) / density->w_spread;
    for (size_t i = 0; i < d; i++) {
        double scale = sqrt(density->own[i] / (1.0 - common));
        position[at->t + i] = (2.0 * density_logarithm(scale) - VARIANCE_CENTRE) / VARIANCE_SPREAD;
        position[at->b + i] = density->slope[i] / unit;
        for (size_t k = 0; k < q; k++) {
            position[at->A + i * q + k] = density->G[i * density->g + k] / (scale * root[k]);
        }
    }
}

void density_rescale(double *position, struct density *density, struct tremolo_random *random)
{
    const struct density_layout *at = &density->at;
    size_t q = density->q;
    struct shares now = {.logit = {position[at->share], position[at->share + 1]}};
    for (size_t k = 0; k < q; k++) {
        now.part[k] = position[at->part + k];
    }
    density_place(density, position);
    struct kept kept = keep(density);
    double energy = energy_of(density, &kept, &now);
    for (size_t j = 0; j < 2 * (q + 2); j++) {
        struct shares next = now;
        size_t which = j / 2;
        double *one = which < 2 ? &next.logit[which] : &next.part[which - 2];
        *one += strides[j % 2] * 2.0 * (tremolo_random_uniform(random) - 0.5);
        if (fabs(*one) > SHARES_END) {
            continue;
        }
        double there = energy_of(density, &kept, &next);
        if (tremolo_random_uniform(random) < density_exponential(energy - there)) {
            now = next;
            energy = there;
        }
    }
    take(position, density, &now);
}
