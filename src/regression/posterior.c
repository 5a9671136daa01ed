/* posterior.c -- the moments that ballots leave likely.
 *
 * Solving the noisy M as it is would be hopeless, and a ridge needs a constant that cannot be
 * tuned without private data. Instead M is replaced by its posterior mean under what is public
 * (density.c), taken over a Hamiltonian Monte Carlo chain started where the noisy M lies.
 * Seed, length and order of operations are fixed, and so is how each is rounded: the same sums
 * give the same result. */
#include "density.h"

#include <stdlib.h>
#include <string.h>

#include "linear.h"
#include "regression.h"

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
    density_place(density, position);
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
        there = density_energy(&chain->density, chain->next_gradient, chain->next);
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
    (void)density_energy(&chain->density, chain->next_gradient, chain->next);
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
    double now = density_energy(density, chain->gradient, chain->position);
    size_t kept = 0;
    memset(mean, 0, density->n * density->n * sizeof *mean);
    set_paces(chain);
    for (size_t k = 0; k < length.warm + length.moves; k++) {
        size_t steps =
            length.leaps / 2 + (size_t)(tremolo_random_bits(&chain->random) % length.leaps);
        double chance = move(chain, &now, step, steps + 1);
        density_rescale(chain->position, density, &chain->random);
        now = density_energy(density, chain->gradient, chain->position);
        if (k < length.warm) {
            if (k == length.warm / 2) {
                set_paces(chain); /* now that it is where it belongs */
            }
            step *= 1.0 + (chance - WANTED) * (k < length.warm / 2 ? 0.3 : 0.08);
            continue;
        }
        density_add_moments(mean, 1.0 / (double)length.moves, density, chain->position);
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
        r2[k] = density_explained(density, posterior->draws + k * density->at.count, theta);
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
