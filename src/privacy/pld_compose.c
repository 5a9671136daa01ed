/* pld_compose.c -- delta of T releases from one side of a distribution.
 *
 * One release is a sum of positive terms. T > 1 releases are composed by FFT,
 * after tilting: with weights e^(lambda loss)/M the distribution's T-fold sum
 * is centred at epsilon (lambda solves T K'(lambda) = epsilon for the
 * cumulant function K), and
 *
 *   delta = e^(T ln M - lambda epsilon) sum over s > epsilon of
 *           P~(s) w(s - epsilon),      w(x) = e^(-lambda x) (1 - e^(-x)).
 *
 * The FFT's errors are absolute in P~, which is of order one where it
 * matters, so delta keeps its relative accuracy however small it is.
 *
 * What is added to the sum on either side (n points, step h, u = 2^-53):
 *   wrap-around: at most the tilted probability outside the window times
 *     max w <= 1/(lambda+1), by Chernoff's bound on the same distribution;
 *   forward transform: relative error eta = 8 u log2 n in the 2-norm, so
 *     sum_k |e_k| T (|z_k| + E)^(T-1) <= |e|_2 |a|_2 by Cauchy-Schwarz;
 *   powers: 4 u T relative each; inverse transform: eta |c|_2;
 *   masses: (1 + error)^T.
 * Higham's bound for radix 2 is below eta, FFTW's measured error about 100
 * times below it (tests/unit/privacy/test_privacy_pld.c checks that margin). */
#include "pld.h"

#include <fftw3.h>
#include <pthread.h>
#include <string.h>

/* clang calls itself too old a gcc for the C library's C11 macro. */
#ifndef CMPLX
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#endif

enum {
    FFT_BITS_MIN = 10,
    FFT_BITS_MAX = 24,
    TILT_STEPS_MAX = 200,
};

/* FFTW's planner is not reentrant. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static double loss_at(const struct pld_side *side, size_t i)
{
    return (double)(side->first + (int64_t)i) * side->step;
}

/* ln sum mass e^(lambda loss), and the mean under the tilted weights. */
struct cumulant {
    double log_sum;
    double mean;
    double variance;
};

static struct cumulant cumulant_at(const struct pld_side *side, double lambda)
{
    double peak = -INFINITY;
    for (size_t i = 0; i < side->count; i++) {
        if (side->mass[i] > 0.0) {
            peak = fmax(peak, side->log_mass[i] + lambda * loss_at(side, i));
        }
    }
    double centre = 0.5 * (loss_at(side, 0) + loss_at(side, side->count - 1));
    double sum = 0.0;
    double first = 0.0;
    double second = 0.0;
    for (size_t i = 0; i < side->count; i++) {
        if (side->mass[i] > 0.0) {
            double away = loss_at(side, i) - centre;
            double weight = exp(side->log_mass[i] + lambda * loss_at(side, i) - peak);
            sum += weight;
            first += weight * away;
            second += weight * away * away;
        }
    }
    first /= fmax(sum, 1.0);
    /* The largest weight is 1 by the choice of peak, so the sum is at least 1. */
    return (struct cumulant){peak + log(fmax(sum, 1.0)), centre + first,
                             fmax(second / fmax(sum, 1.0) - first * first, 0.0)};
}

/* lambda >= 0 with releases * K'(lambda) close to epsilon. Any lambda is
 * correct; a good one is accurate. */
static double choose_tilt(const struct pld_side *side, uint64_t releases, double epsilon)
{
    double target = epsilon / (double)releases;
    double low = 0.0;
    struct cumulant at = cumulant_at(side, 0.0);
    if (at.mean >= target) {
        return 0.0;
    }
    const double limit = 1e4; /* beyond it only rounding is left to win */
    double high = fmin(limit, fmax((target - at.mean) / fmax(at.variance, 1e-300), 1e-6));
    while (high < limit && cumulant_at(side, high).mean < target) {
        low = high;
        high = fmin(limit, 2.0 * high);
    }
    for (int step = 0; step < TILT_STEPS_MAX && high - low > 1e-3 * high; step++) {
        double middle = 0.5 * (low + high);
        if (cumulant_at(side, middle).mean < target) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Chernoff: the tilted T-fold sum lies outside mean +- reach with at most
 * this probability. theta is free; take the Gaussian one and its neighbours. */
static double outside(const struct pld_side *side, uint64_t releases, double lambda,
                      const struct cumulant *at, double reach)
{
    double t = (double)releases;
    double sum = 0.0;
    for (int sign = -1; sign <= 1; sign += 2) {
        double best = 1.0;
        for (int halves = 1; halves <= 2; halves++) {
            double theta = 0.5 * halves * reach / (t * at->variance + side->step * side->step);
            struct cumulant moved = cumulant_at(side, lambda + sign * theta);
            double exponent =
                t * (moved.log_sum - at->log_sum) - sign * theta * t * at->mean - theta * reach;
            /* Each K is within 1e-12 or so of the truth; allow T times that. */
            best = fmin(best, exp(exponent + 1e-10 * t));
        }
        sum += best;
    }
    return sum;
}

void pld_workspace_free(struct pld_workspace *work)
{
    pthread_mutex_lock(&planner);
    if (work->forward != NULL) {
        fftw_destroy_plan(work->forward);
    }
    if (work->backward != NULL) {
        fftw_destroy_plan(work->backward);
    }
    pthread_mutex_unlock(&planner);
    fftw_free(work->real);
    fftw_free(work->spectrum);
    *work = (struct pld_workspace){0};
}

/* Make room for n points, or keep what is there. */
static bool workspace_ensure(struct pld_workspace *work, size_t n)
{
    if (work->n == n) {
        return true;
    }
    pld_workspace_free(work);
    work->n = n;
    work->real = fftw_alloc_real(n);
    work->spectrum = fftw_alloc_complex(n / 2 + 1);
    if (work->real != NULL && work->spectrum != NULL) {
        pthread_mutex_lock(&planner);
        work->forward = fftw_plan_dft_r2c_1d((int)n, work->real, work->spectrum, FFTW_ESTIMATE);
        work->backward = fftw_plan_dft_c2r_1d((int)n, work->spectrum, work->real, FFTW_ESTIMATE);
        pthread_mutex_unlock(&planner);
    }
    if (work->forward == NULL || work->backward == NULL) {
        pld_workspace_free(work);
        return false;
    }
    return true;
}

/* z^exponent by squaring, in place. */
static void raise_to(fftw_complex z, uint64_t exponent)
{
    double x = z[0];
    double y = z[1];
    double re = 1.0;
    double im = 0.0;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1) {
            double next = re * x - im * y;
            im = re * y + im * x;
            re = next;
        }
        double square = x * x - y * y;
        y = 2.0 * x * y;
        x = square;
    }
    z[0] = re;
    z[1] = im;
}

/* Fill the cyclic array with tilted masses; returns their 2-norm. */
static double load_tilted(struct pld_workspace *work, const struct pld_side *side, double lambda,
                          double log_sum)
{
    memset(work->real, 0, work->n * sizeof *work->real);
    for (size_t i = 0; i < side->count; i++) {
        if (side->mass[i] > 0.0) {
            size_t slot = (size_t)(side->first + (int64_t)i) & (work->n - 1);
            work->real[slot] += exp(side->log_mass[i] + lambda * loss_at(side, i) - log_sum);
        }
    }
    double square = 0.0;
    for (size_t i = 0; i < work->n; i++) {
        square += work->real[i] * work->real[i];
    }
    return sqrt(square) * (1.0 + 1e-6);
}

/* Sums over the spectrum that bound what its errors do. */
struct spectrum_sums {
    double amplified; /* (T (|z|+E)^(T-1))^2 */
    double power;     /* |z|^T */
    double square;    /* |z|^2T */
    double dropped;   /* |z|^T where it was replaced by 0 */
};

/* Raise every entry to the T-th power and divide by n. Entries whose power is
 * below e^-100 become 0; most are, so they are told apart by their square
 * alone and counted as if each were at that limit. */
static struct spectrum_sums raise_spectrum(struct pld_workspace *work, uint64_t releases,
                                           double forward_error)
{
    double n = (double)work->n;
    double t = (double)releases;
    double limit = exp(-100.0 / t);
    double least = fmax(limit - forward_error, 0.0);
    double grown_limit = t * exp(-100.0 * (t - 1.0) / t);
    double size_limit = exp(-100.0);
    struct spectrum_sums sums = {0.0, 0.0, 0.0, 0.0};
    for (size_t k = 0; k <= work->n / 2; k++) {
        double both = k == 0 || k == work->n / 2 ? 1.0 : 2.0;
        double *z = work->spectrum[k];
        double size_square = z[0] * z[0] + z[1] * z[1];
        double grown = grown_limit;
        double size = size_limit;
        if (size_square < least * least * (1.0 - 1e-12)) {
            z[0] = z[1] = 0.0;
            sums.dropped += both * size;
        } else {
            double log_size = log(sqrt(size_square) + forward_error);
            grown = t * exp((t - 1.0) * log_size);
            size = exp(t * log_size);
            raise_to(z, releases);
            z[0] /= n;
            z[1] /= n;
        }
        sums.amplified += both * grown * grown;
        sums.power += both * size;
        sums.square += both * size * size;
    }
    return sums;
}

/* The T-fold cyclic convolution in place; returns a bound on the error of
 * each of its entries. */
static double convolve(struct pld_workspace *work, uint64_t releases, double norm)
{
    double n = (double)work->n;
    double eta = 8.0 * UNIT_ROUNDOFF * log2(n);
    double forward_error = eta * sqrt(n) * norm;
    fftw_execute(work->forward);
    struct spectrum_sums sums = raise_spectrum(work, releases, forward_error);
    fftw_execute(work->backward);
    double error = (forward_error * sqrt(sums.amplified) +
                    4.0 * UNIT_ROUNDOFF * (double)releases * sums.power + sums.dropped) /
                       n +
                   eta * sqrt(sums.square / n);
    return error * (1.0 + 1e-6);
}

/* sum over s > epsilon of P~(s) w(s - epsilon) and the sum of w alone. */
static void weigh(const struct pld_workspace *work, double step, double lambda, double epsilon,
                  double *sum, double *weights)
{
    int64_t start = (int64_t)floor(epsilon / step) - (int64_t)(work->n / 2);
    double total = 0.0;
    double plain = 0.0;
    for (size_t i = work->n / 2; i < work->n; i++) {
        int64_t s = start + (int64_t)i;
        double x = (double)s * step - epsilon;
        if (x > 0.0) {
            double w = exp(-lambda * x) * -expm1(-x);
            total += work->real[(size_t)s & (work->n - 1)] * w;
            plain += w;
        }
    }
    *sum = total;
    *weights = plain;
}

/* The smallest power of two that holds the sum and wraps next to nothing. */
static size_t choose_length(const struct pld_side *side, uint64_t releases, double lambda,
                            const struct cumulant *at, double epsilon, double *wrapped)
{
    double drift = fabs((double)releases * at->mean - epsilon);
    for (int bits = FFT_BITS_MIN; bits <= FFT_BITS_MAX; bits++) {
        size_t n = (size_t)1 << bits;
        double reach = 0.5 * (double)n * side->step - drift - side->step;
        if (reach <= 8.0 * sqrt((double)releases * at->variance)) {
            continue;
        }
        *wrapped = outside(side, releases, lambda, at, reach);
        if (*wrapped <= 1e-18) {
            return n;
        }
    }
    return 0;
}

static enum tremolo_status compose_finite(struct tremolo_certified *delta,
                                          const struct pld_side *side, uint64_t releases,
                                          double epsilon, struct pld_workspace *work)
{
    double t = (double)releases;
    double lambda = choose_tilt(side, releases, epsilon);
    struct cumulant at = cumulant_at(side, lambda);
    double wrapped = 1.0;
    size_t n = choose_length(side, releases, lambda, &at, epsilon, &wrapped);
    if (n == 0) {
        return TREMOLO_NOT_CONVERGED;
    }
    if (!workspace_ensure(work, n)) {
        return TREMOLO_NO_MEMORY;
    }
    double norm = load_tilted(work, side, lambda, at.log_sum);
    double entry_error = convolve(work, releases, norm);
    double sum = 0.0;
    double weights = 0.0;
    weigh(work, side->step, lambda, epsilon, &sum, &weights);

    double absolute =
        entry_error * weights + wrapped / (lambda + 1.0) +
        8.0 * UNIT_ROUNDOFF * ((fabs(epsilon) + 1.0) * (1.0 + lambda) + (double)n * fabs(sum));
    double widest = fmax(fabs(loss_at(side, 0)), fabs(loss_at(side, side->count - 1)));
    /* ln of a mass is at most 745 and exact to 4 units. */
    double relative = t * (side->mass_error + UNIT_ROUNDOFF * (3000.0 + 2.0 * lambda * widest)) +
                      8.0 * UNIT_ROUNDOFF * (t * fabs(at.log_sum) + lambda * fabs(epsilon) + 4.0);
    struct scaled scale = {dd_add(dd_two_prod(t, at.log_sum), dd_neg(dd_two_prod(lambda, epsilon))),
                           1.0, fmin(relative, 0.5)};
    struct tremolo_certified factor = interval_from_scaled(&scale, INFINITY);
    delta->lower = fmax(0.0, (sum - absolute) * factor.lower * (1.0 - 0x1p-50));
    delta->value = fmax(0.0, sum) * factor.value;
    delta->upper = (fmax(sum, 0.0) + absolute) * factor.upper * (1.0 + 0x1p-50) + DBL_TRUE_MIN;
    return TREMOLO_OK;
}

static void single_release(struct tremolo_certified *delta, const struct pld_side *side,
                           double epsilon)
{
    double sum = 0.0;
    double touched = 0.0; /* mass whose loss is counted, for the rounding of x */
    for (size_t i = 0; i < side->count; i++) {
        double x = loss_at(side, i) - epsilon;
        if (x > 0.0) {
            sum += side->mass[i] * -expm1(-x);
            touched += side->mass[i];
        }
    }
    double absolute = 4.0 * UNIT_ROUNDOFF * touched * (fabs(epsilon) + 1.0) +
                      UNIT_ROUNDOFF * (double)side->count * sum + sum * side->mass_error;
    delta->lower = fmax(0.0, sum - absolute);
    delta->value = sum;
    delta->upper = sum + absolute;
}

enum tremolo_status pld_side_delta(struct tremolo_certified *delta, const struct pld_side *side,
                                   uint64_t releases, double epsilon, struct pld_workspace *work)
{
    double t = (double)releases;
    /* Shifting losses up lowers the bar, below 0 if need be. */
    double moved = epsilon - t * side->shift;
    double top = t * loss_at(side, side->count - 1);
    struct tremolo_certified finite = {0.0, 0.0, 0.0};
    enum tremolo_status status = TREMOLO_OK;
    if (releases == 1) {
        single_release(&finite, side, moved);
    } else if (top > moved) {
        status = compose_finite(&finite, side, releases, moved, work);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    double at_infinity = side->infinity_mass >= 1.0 ? 1.0 : -expm1(t * log1p(-side->infinity_mass));
    struct tremolo_certified all = {
        (finite.lower + at_infinity) * (1.0 - 0x1p-50),
        finite.value + at_infinity,
        (finite.upper + at_infinity) * (1.0 + 0x1p-50),
    };
    *delta = interval_clamp(all, 0.0, 1.0);
    return TREMOLO_OK;
}
