/* ballot_posterior.c -- the moments that ballots leave likely.
 *
 * Ballots give M = mass [[h^2, h m'], [h m, Sigma + m m']] plus independent noise of known
 * size, often larger than what is to be seen. Solving M as it is would be hopeless, and a
 * ridge needs a constant that nobody can tune without private data. Instead M is replaced
 * by its posterior mean under what is public:
 *   - m and Sigma are the (weighted) mean and covariance of (x, w), so Sigma is positive;
 *   - E s^2 (h^2 + rest + |x|^2) = 1, so mass follows from m and Sigma;
 *   - features and response were scaled by typical ranges, so the scales of means and
 *     variances are roughly known;
 *   - features have factors of their own and common ones, in a proportion that is learned
 *     (unrelated features need no correlations estimated, related ones may have any), and
 *     w is explained by them with slopes of one learned size, which may be next to nothing.
 * As noise falls the prior loses its say and M becomes what was measured.
 *
 * The mean is taken over a Hamiltonian Monte Carlo chain in parameters that are all standard
 * normal a priori, started where the noisy M is made positive. Seed, length and order of
 * operations are fixed, and these are additions, multiplications, divisions and square
 * roots, which IEEE 754 rounds the same everywhere: the same sums give the same result. */
#include "ballot.h"
#include "linear.h"
#include "tremolo_random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The prior. x lies within -1..1 for about nine of ten devices, and w within -g..g. */
#define VARIANCE_CENTRE (-1.0498221244986778) /* log 0.35: a normal one's is 0.37 */
#define SCALE_CENTRE    0.59160797830996161   /* its root */
#define VARIANCE_SPREAD 1.0
#define PUBLIC_SPREAD   0.3 /* of the log variance of a public response about its own */
#define SHARE_CENTRE    0.0 /* logit of the part of a feature's variance that is common */
#define SHARE_SPREAD    2.0
#define WSHARE_CENTRE   (-4.0) /* logit of the part of w that the features explain */
#define WSHARE_SPREAD   4.0
#define MEAN_SPREAD     0.6 /* of means, which are */
#define NEAR_SHARE      0.5 /* with this probability */
#define NEAR_SPREAD     0.2 /* so much nearer to the middle */

#define WANTED 0.8 /* acceptance */

enum { FACTORS_MAX = 64 }; /* common ones: more would be told apart by no fleet there is */

/* Where each kind of parameter begins; all are standard normal a priori. */
struct layout {
    size_t A;     /* d * q: loadings of the features on the common factors */
    size_t b;     /* d: slopes */
    size_t t;     /* r: log variances */
    size_t z;     /* r: means */
    size_t share; /* 2: logits of the common part of a feature, the explained part of w */
    size_t count;
};

struct chain {
    const struct tremolo_ballot *ballots;
    double *weight;  /* n * n: 1/variance of an entry of M, half of it off the diagonal */
    double w_centre; /* of the log variance of w */
    double w_spread;
    double w_mean_sd;
    struct layout at;
    size_t n;
    size_t d;
    size_t r;         /* d + 1: coordinates of (x, w) */
    size_t q;         /* common factors */
    size_t width;     /* columns of B: d own factors, q common ones, that of w */
    double *B;        /* r * width: factors of each coordinate, standardised */
    double *R;        /* r * width: dE/dB, half */
    double *mean;     /* r */
    double *scale;    /* r */
    double *M;        /* n * n */
    double *H;        /* n * n: dE/dT, T = M / mass */
    double *position; /* at.count each, from here on */
    double *gradient;
    double *momentum;
    double *next;
    double *next_gradient;
    struct tremolo_random random;
};

/* ---------------------------------------------------------------- arithmetic */

/* exp to 1e-14 relative, without the C library's; 0 for what is no number. */
static double exponential(double x)
{
    if (!(x > -700.0 && x < 700.0)) {
        return x >= 700.0 ? INFINITY : 0.0;
    }
    double whole = floor(x * 1.4426950408889634 + 0.5);
    double y = (x - whole * 0.693147180559945309) / 16.0;
    double sum = 1.0;
    for (int k = 9; k > 0; k--) {
        sum = 1.0 + sum * y / k;
    }
    sum *= sum;
    sum *= sum;
    sum *= sum;
    sum *= sum;
    return ldexp(sum, (int)whole);
}

static double logarithm(double value)
{
    int power;
    double rest = frexp(value, &power);
    double x = 0.0;
    for (int k = 0; k < 6; k++) {
        x += rest * exponential(-x) - 1.0;
    }
    return x + power * 0.693147180559945309;
}

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

/* Four numbers side by side. What they compute is inlined where wide registers are allowed and
 * where not; nothing is contracted or reordered, so the bits are the same. */
typedef double four __attribute__((vector_size(4 * sizeof(double)), aligned(8), may_alias));
#define INLINE static inline __attribute__((always_inline))

/* Four sums at once, in a fixed order. */
INLINE double dot(const double *a, const double *b, size_t n)
{
    four sum = {0.0, 0.0, 0.0, 0.0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        sum += *(const four *)(a + i) * *(const four *)(b + i);
    }
    for (; i < n; i++) {
        sum[0] += a[i] * b[i];
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The lower factor of A in place; false when A is not positive. */
static bool factor(double *A, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        for (size_t i = j; i < n; i++) {
            double left = A[i * n + j] - dot(A + i * n, A + j * n, j);
            if (i == j && !(left > 0.0)) {
                return false;
            }
            A[i * n + j] = i == j ? sqrt(left) : left / A[j * n + j];
        }
    }
    return true;
}

/* ---------------------------------------------------------------- the density */

static double log_variance(const struct chain *chain, const double *position, size_t i)
{
    double t = position[chain->at.t + i];
    return i == chain->d ? chain->w_centre + chain->w_spread * t
                         : VARIANCE_CENTRE + VARIANCE_SPREAD * t;
}

static double share(const struct chain *chain, const double *position, bool response)
{
    double logit = position[chain->at.share + response];
    logit = response ? WSHARE_CENTRE + WSHARE_SPREAD * logit : SHARE_CENTRE + SHARE_SPREAD * logit;
    return 1.0 / (1.0 + exponential(-logit));
}

static double mean_sd(const struct chain *chain, size_t i)
{
    return i == chain->d ? chain->w_mean_sd : MEAN_SPREAD;
}

/* Minus the log of the prior of a mean in units of its spread, up to a constant, in place
 * of the normal's z^2/2; *pull gets its derivative. Two normals about the middle of the
 * range: a mean far away is possible, but noise alone should not make one. */
static double away(double *pull, double z)
{
    double near = 1.0 / (NEAR_SPREAD * NEAR_SPREAD);
    double odds = NEAR_SHARE / (1.0 - NEAR_SHARE) / NEAR_SPREAD;
    double first = odds * exponential(-0.5 * (near - 1.0) * z * z);
    *pull = z * (1.0 + (near - 1.0) * first / (1.0 + first));
    return 0.5 * z * z - logarithm(1.0 + first);
}

/* y <- y + a x */
INLINE void add(double *y, double a, const double *x, size_t n)
{
    size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        *(four *)(y + k) += a * *(const four *)(x + k);
    }
    for (; k < n; k++) {
        y[k] += a * x[k];
    }
}

/* y <- y + sum of weights[j] rows[j], four rows at a time. */
INLINE void combine(double *y, const double *weights, const double *rows, size_t stride,
                    size_t count, size_t n)
{
    size_t j = 0;
    for (; j + 4 <= count; j += 4) {
        const double *x = rows + j * stride;
        const double *w = weights + j;
        size_t k = 0;
        for (; k + 4 <= n; k += 4) {
            const four *at = (const four *)(x + k);
            const four *next = (const four *)(x + k + stride);
            const four *third = (const four *)(x + k + 2 * stride);
            const four *last = (const four *)(x + k + 3 * stride);
            *(four *)(y + k) += (w[0] * *at + w[1] * *next) + (w[2] * *third + w[3] * *last);
        }
        for (; k < n; k++) {
            y[k] += (w[0] * x[k] + w[1] * x[k + stride]) +
                    (w[2] * x[k + 2 * stride] + w[3] * x[k + 3 * stride]);
        }
    }
    for (; j < count; j++) {
        add(y, weights[j], rows + j * stride, n);
    }
}

/* B, scale and mean at a position. */
INLINE void spread_out(struct chain *chain, const double *position)
{
    size_t d = chain->d;
    size_t q = chain->q;
    size_t width = chain->width;
    double *W = chain->B + d * width;
    double common = share(chain, position, false);
    double explained = share(chain, position, true);
    for (size_t i = 0; i < chain->r; i++) {
        chain->scale[i] = exponential(0.5 * log_variance(chain, position, i));
        chain->mean[i] = mean_sd(chain, i) * position[chain->at.z + i];
    }
    memset(chain->B, 0, chain->r * width * sizeof *chain->B);
    for (size_t i = 0; i < d; i++) {
        double *B = chain->B + i * width;
        B[i] = sqrt(1.0 - common);
        add(B + d, sqrt(common / (double)q), position + chain->at.A + i * q, q);
        double slope = sqrt(explained / (double)d) * chain->scale[i] / SCALE_CENTRE;
        add(W + d, slope * position[chain->at.b + i], B + d, q);
        W[i] = slope * position[chain->at.b + i] * B[i];
    }
    W[d + q] = sqrt(1.0 - explained);
}

/* Of rows i >= j of B: a feature has one own factor, its own. */
INLINE double inner_product(const struct chain *chain, size_t i, size_t j)
{
    size_t d = chain->d;
    const double *left = chain->B + i * chain->width;
    const double *right = chain->B + j * chain->width;
    if (j == d) {
        return dot(left, right, chain->width);
    }
    return dot(left + d, right + d, chain->q) + left[j] * right[j];
}

/* M and all that belongs to it at a position. Returns mass. */
INLINE double place(struct chain *chain, const double *position)
{
    size_t n = chain->n;
    size_t d = chain->d;
    double *M = chain->M;
    double h = chain->ballots->h;
    double total = h * h + chain->ballots->rest;
    spread_out(chain, position);
    M[0] = h * h;
    for (size_t i = 0; i < chain->r; i++) {
        M[i + 1] = h * chain->mean[i];
        for (size_t j = 0; j <= i; j++) {
            double inner = inner_product(chain, i, j);
            M[(i + 1) * n + j + 1] =
                chain->mean[i] * chain->mean[j] + chain->scale[i] * chain->scale[j] * inner;
        }
        total += i < d ? M[(i + 1) * n + i + 1] : 0.0;
    }
    double mass = 1.0 / total;
    M[0] *= mass;
    for (size_t i = 1; i < n; i++) {
        M[i * n] = M[i];
        for (size_t j = 0; j <= i; j++) {
            M[i * n + j] *= mass;
            M[j * n + i] = M[i * n + j];
        }
    }
    return mass;
}

/* H <- dE/dT; returns twice the misfit's part of the energy. */
INLINE double misfit(struct chain *chain, double mass)
{
    size_t n = chain->n;
    double sum = 0.0;
    double along = 0.0;
    for (size_t i = 0; i < n * n; i++) {
        double off = chain->M[i] - chain->ballots->M[i];
        double pull = chain->weight[i] * off;
        sum += pull * off;
        along += pull * chain->M[i];
        chain->H[i] = mass * pull;
    }
    for (size_t i = 1; i + 1 < n; i++) {
        chain->H[i * n + i] -= mass * along;
    }
    return sum;
}

/* Minus the log density at a position, and its gradient. */
INLINE double energy_of(struct chain *chain, double *gradient, const double *position)
{
    const struct layout *at = &chain->at;
    size_t d = chain->d;
    size_t q = chain->q;
    size_t r = chain->r;
    size_t width = chain->width;
    double sum = misfit(chain, place(chain, position));
    double common = share(chain, position, false);
    double explained = share(chain, position, true);
    const double *W = chain->B + d * width;
    double *on_W = chain->R + d * width;
    double pull[BALLOT_MAX];
    memcpy(gradient, position, at->count * sizeof *gradient);
    memset(chain->R, 0, r * width * sizeof *chain->R);
    for (size_t i = r; i-- > 0;) {
        const double *weights = chain->H + (i + 1) * chain->n + 1;
        const double *B = chain->B + i * width;
        double *R = chain->R + i * width;
        bool response = i == d;
        for (size_t j = 0; j < r; j++) {
            pull[j] = chain->scale[i] * chain->scale[j] * weights[j];
        }
        combine(R + d, pull, chain->B + d, width, r, q);
        for (size_t j = 0; response && j < d; j++) { /* own factors that both have */
            R[j] = pull[j] * chain->B[j * width + j] + pull[d] * W[j];
        }
        if (response) {
            R[d + q] = pull[d] * W[d + q];
        } else {
            R[i] = pull[i] * B[i] + pull[d] * W[i];
        }
        double on_mean = chain->ballots->h * chain->H[i + 1] + dot(weights, chain->mean, r);
        gradient[at->z + i] += 2.0 * mean_sd(chain, i) * on_mean;
        if (response) {
            double through = dot(R, W, d + q);
            gradient[at->t + i] += chain->w_spread * (through + R[d + q] * W[d + q]);
            gradient[at->share + 1] +=
                WSHARE_SPREAD * ((1.0 - explained) * through - explained * R[d + q] * W[d + q]);
            continue;
        }
        gradient[at->t + i] += VARIANCE_SPREAD * (dot(R + d, B + d, q) + R[i] * B[i]);
        double slope = sqrt(explained / (double)d) * chain->scale[i] / SCALE_CENTRE;
        double through = slope * (dot(on_W + d, B + d, q) + on_W[i] * B[i]);
        gradient[at->b + i] += 2.0 * through;
        gradient[at->t + i] += VARIANCE_SPREAD * position[at->b + i] * through;
        add(R + d, slope * position[at->b + i], on_W + d, q);
        R[i] += slope * position[at->b + i] * on_W[i];
        add(gradient + at->A + i * q, 2.0 * sqrt(common / (double)q), R + d, q);
        gradient[at->share] +=
            SHARE_SPREAD * ((1.0 - common) * dot(R + d, B + d, q) - common * R[i] * B[i]);
    }
    double prior = 0.0;
    for (size_t i = 0; i < r; i++) {
        double z = position[at->z + i];
        double inward;
        prior += away(&inward, z) - 0.5 * z * z;
        gradient[at->z + i] += inward - z;
    }
    return 0.5 * sum + 0.5 * dot(position, position, at->count) + prior;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static double energy_wide(struct chain *chain, double *gradient,
                                                          const double *position)
{
    return energy_of(chain, gradient, position);
}
#define HAS_AVX2 __builtin_cpu_supports("avx2")
#else
#define energy_wide energy_of
#define HAS_AVX2    0
#endif

static double energy(struct chain *chain, double *gradient, const double *position)
{
    return HAS_AVX2 ? energy_wide(chain, gradient, position) : energy_of(chain, gradient, position);
}

/* ---------------------------------------------------------------- the chain */

static double clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* Means and log variances as M has them, within limits. */
static void start_scales(struct chain *chain, double mass)
{
    const struct tremolo_ballot *ballots = chain->ballots;
    double *position = chain->position;
    for (size_t i = 0; i < chain->r; i++) {
        double sd = mean_sd(chain, i);
        double mean = clamp(ballots->M[i + 1] / (ballots->h * mass), -2.0 * sd, 2.0 * sd);
        double centre = log_variance(chain, position, i);
        double middle = exponential(centre);
        double variance = ballots->M[(i + 1) * chain->n + i + 1] / mass - mean * mean;
        variance = clamp(variance, 0.1 * middle, 10.0 * middle);
        chain->mean[i] = mean;
        chain->scale[i] = sqrt(variance);
        position[chain->at.z + i] = mean / sd;
        position[chain->at.t + i] =
            (logarithm(variance) - centre) / (i == chain->d ? chain->w_spread : VARIANCE_SPREAD);
    }
}

/* C <- correlations of the first `size` coordinates of (x, w), times `keep`, with
 * `diagonal`. Only the lower triangle. */
static void correlations(double *C, const struct chain *chain, double mass, size_t size,
                         double keep, double diagonal)
{
    for (size_t i = 0; i < size; i++) {
        for (size_t j = 0; j < i; j++) {
            double joint = chain->ballots->M[(i + 1) * chain->n + j + 1] / mass;
            double covariance = joint - chain->mean[i] * chain->mean[j];
            C[i * size + j] =
                keep * clamp(covariance / (chain->scale[i] * chain->scale[j]), -0.98, 0.98);
        }
        C[i * size + i] = diagonal;
    }
}

/* Where the noisy M lies: its correlations are lowered until they are positive, and the
 * features' are split into own and common factors. */
static void start(struct chain *chain)
{
    size_t d = chain->d;
    size_t r = chain->r;
    size_t q = chain->q;
    double *position = chain->position;
    double *A = position + chain->at.A;
    double *b = position + chain->at.b;
    double *L = chain->H;
    double h2 = chain->ballots->h * chain->ballots->h;
    double most = h2 / (h2 + chain->ballots->rest);
    double mass = clamp(chain->ballots->M[0], 0.1 * most, most) / h2;
    start_scales(chain, mass);
    double keep = 1.0;
    for (correlations(L, chain, mass, r, keep, 1.0); !factor(L, r);) {
        keep *= 0.8;
        correlations(L, chain, mass, r, keep, 1.0);
    }
    if (keep < 1.0) { /* barely positive is no place to start from */
        keep *= 0.5;
        correlations(L, chain, mass, r, keep, 1.0);
        (void)factor(L, r);
    }
    double explained = clamp(dot(L + d * r, L + d * r, d), 0.05, 0.98);
    memcpy(b, L + d * r, d * sizeof *b);
    for (size_t i = d; i-- > 0;) {
        b[i] /= L[i * r + i];
        add(b, -b[i], L + i * r, i);
    }
    for (size_t i = 0; i < d; i++) {
        b[i] *= sqrt((double)d / explained) * SCALE_CENTRE / chain->scale[i];
    }
    double common = 0.5;
    for (correlations(L, chain, mass, d, keep, common); !factor(L, d) && common < 0.9999;) {
        common = 0.5 + 0.5 * common;
        correlations(L, chain, mass, d, keep, common);
    }
    for (size_t i = 0; i < d; i++) {
        add(A + i * q, sqrt((double)q / common), L + i * d, i + 1 < q ? i + 1 : q);
    }
    position[chain->at.share] = (logarithm(common / (1.0 - common)) - SHARE_CENTRE) / SHARE_SPREAD;
    position[chain->at.share + 1] =
        (logarithm(explained / (1.0 - explained)) - WSHARE_CENTRE) / WSHARE_SPREAD;
}

/* One proposal of `steps` leaps; returns the probability of acceptance. */
static double move(struct chain *chain, double *now, double step, size_t steps)
{
    size_t count = chain->at.count;
    double kinetic = 0.0;
    for (size_t i = 0; i < count; i++) {
        chain->momentum[i] = draw(&chain->random);
    }
    kinetic = 0.5 * dot(chain->momentum, chain->momentum, count);
    memcpy(chain->next, chain->position, count * sizeof(double));
    memcpy(chain->next_gradient, chain->gradient, count * sizeof(double));
    double there = *now;
    for (size_t s = 0; s < steps; s++) {
        for (size_t i = 0; i < count; i++) {
            chain->momentum[i] -= 0.5 * step * chain->next_gradient[i];
            chain->next[i] += step * chain->momentum[i];
        }
        there = energy(chain, chain->next_gradient, chain->next);
        for (size_t i = 0; i < count; i++) {
            chain->momentum[i] -= 0.5 * step * chain->next_gradient[i];
        }
    }
    double gain = *now + kinetic - there - 0.5 * dot(chain->momentum, chain->momentum, count);
    double chance = gain >= 0.0 ? 1.0 : gain > -600.0 ? exponential(gain) : 0.0;
    if (tremolo_random_uniform(&chain->random) < chance) {
        double *swap = chain->position;
        chain->position = chain->next;
        chain->next = swap;
        swap = chain->gradient;
        chain->gradient = chain->next_gradient;
        chain->next_gradient = swap;
        *now = there;
    }
    return chance;
}

/* How long the chain is: what a step costs grows as d^3. */
struct length {
    size_t warm;
    size_t moves;
    size_t leaps; /* about so many steps a move */
};

/* Many features need long moves rather than many: what noise tells well and what it does
 * not differ more. */
static struct length length_of(size_t d)
{
    if (d <= 24) {
        return (struct length){200, 800, 12};
    }
    return d <= 64 ? (struct length){150, 250, 40} : (struct length){100, 100, 60};
}

static void run(double *mean, double *draws, size_t count, struct chain *chain,
                struct length length)
{
    size_t size = chain->n * chain->n;
    double step = 0.05;
    double now = energy(chain, chain->gradient, chain->position);
    size_t kept = 0;
    memset(mean, 0, size * sizeof *mean);
    for (size_t k = 0; k < length.warm + length.moves; k++) {
        size_t steps =
            length.leaps / 2 + (size_t)(tremolo_random_bits(&chain->random) % length.leaps);
        double chance = move(chain, &now, step, steps + 1);
        if (k < length.warm) {
            step *= 1.0 + (chance - WANTED) * (k < length.warm / 2 ? 0.3 : 0.08);
            continue;
        }
        (void)place(chain, chain->position);
        for (size_t i = 0; i < size; i++) {
            mean[i] += chain->M[i] / (double)length.moves;
        }
        size_t due = (k - length.warm + 1) * count / length.moves;
        for (; draws != NULL && kept < due; kept++) {
            memcpy(draws + kept * size, chain->M, size * sizeof *draws);
        }
    }
}

static struct layout layout_of(size_t d, size_t q)
{
    struct layout at = {.A = 0};
    at.b = at.A + d * q;
    at.t = at.b + d;
    at.z = at.t + d + 1;
    at.share = at.z + d + 1;
    at.count = at.share + 2;
    return at;
}

static bool chain_new(struct chain *chain, const struct tremolo_ballot *ballots)
{
    size_t n = ballots->n;
    size_t d = ballots->d;
    size_t r = d + 1;
    size_t q = d + 2 < FACTORS_MAX ? d + 2 : FACTORS_MAX;
    size_t width = d + q + 1;
    struct layout at = layout_of(d, q);
    *chain = (struct chain){.ballots = ballots,
                            .at = at,
                            .n = n,
                            .d = d,
                            .r = r,
                            .q = q,
                            .width = width,
                            .weight = linear_new(n * n),
                            .B = linear_new(r * width),
                            .R = linear_new(r * width),
                            .mean = linear_new(r),
                            .scale = linear_new(r),
                            .M = linear_new(n * n),
                            .H = linear_new(n * n),
                            .position = linear_new(at.count),
                            .gradient = linear_new(at.count),
                            .momentum = linear_new(at.count),
                            .next = linear_new(at.count),
                            .next_gradient = linear_new(at.count),
                            .random = tremolo_random_from(UINT64_C(0x62616c6c6f74), 0)};
    return chain->weight && chain->B && chain->R && chain->mean && chain->scale && chain->M &&
           chain->H && chain->position && chain->gradient && chain->momentum && chain->next &&
           chain->next_gradient;
}

static void chain_drop(struct chain *chain)
{
    free(chain->weight);
    free(chain->B);
    free(chain->R);
    free(chain->mean);
    free(chain->scale);
    free(chain->M);
    free(chain->H);
    free(chain->position);
    free(chain->gradient);
    free(chain->momentum);
    free(chain->next);
    free(chain->next_gradient);
}

/* What the noise and the prior of the response are. */
static void set_up(struct chain *chain)
{
    const struct tremolo_ballot *ballots = chain->ballots;
    size_t n = chain->n;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            chain->weight[i * n + j] = (i == j ? 1.0 : 0.5) / ballot_variance(ballots, i, j);
        }
    }
    bool known = ballots->response_public;
    chain->w_centre = logarithm(ballots->w_square) + (known ? 0.0 : VARIANCE_CENTRE);
    chain->w_spread = known ? PUBLIC_SPREAD : VARIANCE_SPREAD;
    chain->w_mean_sd = sqrt(ballots->w_square) * MEAN_SPREAD;
}

enum tremolo_status ballot_posterior(double *mean, double *draws, size_t count, size_t *iterations,
                                     const struct tremolo_ballot *ballots)
{
    struct chain chain;
    struct length length = length_of(ballots->d);
    enum tremolo_status status = TREMOLO_NO_MEMORY;
    if (chain_new(&chain, ballots)) {
        set_up(&chain);
        start(&chain);
        run(mean, draws, count, &chain, length);
        *iterations = length.warm + length.moves;
        status = TREMOLO_OK;
    }
    chain_drop(&chain);
    return status;
}
