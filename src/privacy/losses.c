/* losses.c -- privacy loss distributions on a grid, composed with proved bounds on both sides.
 *
 * Two samples give each outcome of a release two probabilities P and Q, and the outcome's loss is
 * ln(P/Q). The distribution of the loss under P is all that an attacker can use:
 *
 *     delta(epsilon) = sum of P (1 - e^(epsilon - loss)) over all losses above epsilon,
 *
 * and the losses of independent releases add up. This file keeps such a distribution twice, on a
 * grid of step h, so that delta lies between two proved bounds.
 *
 * upper: atoms at exact multiples of h. An outcome between two multiples becomes two atoms at these,
 *   with the same P and Q in all. The outcome is a processing of the two ("do not say which"), so
 *   delta can only grow. An outcome with a loss that is only known to be in a range becomes atoms at both
 *   ends first, for the same reason.
 * lower: all outcomes with a loss nearest to k h are merged into one, with the sum of their P and
 *   of their Q. Merging is a processing, so delta can only fall. Q is kept times e^(k h), which is
 *   close to P, so that it never underflows where P does not.
 *
 * Composing convolves each of the three arrays with itself. For the lower side this merges all
 * outcomes with the same sum of k, which is a processing again. Either side's error is of second
 * order: it changes the variance of one release's loss by less than h^2/4. Powers come by repeated
 * squaring, and an array of more than CELLS_MAX cells is moved to a grid twice as coarse by the
 * same two rules. As the loss's variance doubles with each squaring and h^2 grows fourfold at
 * every second one, that adds little.
 *
 * Rounding. All terms are positive, so a sum of n products has a relative error of at most n units
 * of roundoff, and errors of factors add up; `error` bounds that of every cell of at least TINY.
 * Smaller cells lose their relative accuracy to underflow, and are cut at both ends. `lost` bounds
 * all that was cut or underflowed: the upper side counts it as infinite loss, and the lower side's
 * delta is less by it. */
#include "accountant.h"
#include "interval.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    CELLS_MAX = 4096,
    STEPS_MAX = CELLS_MAX / 2 - 4, /* that the losses of one release are wide, on each side */
};
enum row { UPPER, LOWER_P, LOWER_Q, ROWS };

#define TINY 0x1p-960
#define SNAP 0x1p-40 /* in steps: this close to a multiple of h a loss counts as on it */

struct tremolo_losses {
    double step;   /* h */
    double widest; /* the largest loss that fits, of either sign */
    double slack;  /* absolute error of each loss that is put */
    double drift;  /* to be added to each loss of the upper side */
    double lost;   /* mass at infinite loss, and what was cut */
    double error;  /* relative, of each cell */
    int64_t first; /* the cell at 0 is for losses near first * step */
    size_t count;  /* of cells */
    double *row[ROWS];
    double *memory; /* of all rows; a row may begin later, where its first cells were cut */
};

static bool rows_make(struct tremolo_losses *losses, int64_t first, size_t count)
{
    assert(count >= 1);
    double *memory = calloc(ROWS * count, sizeof *memory);
    losses->memory = memory;
    losses->first = first;
    losses->count = count;
    for (size_t r = 0; r < ROWS; r++) {
        losses->row[r] = memory != NULL ? memory + r * count : NULL;
    }
    return memory != NULL;
}

void tremolo_losses_free(struct tremolo_losses *losses)
{
    if (losses != NULL) {
        free(losses->memory);
        free(losses);
    }
}

/* ---- one release */

enum tremolo_status tremolo_losses_new(struct tremolo_losses **losses, double step, double widest,
                                       double error)
{
    if (losses == NULL || !is_positive(step) || !(widest > 0.0 && widest <= STEPS_MAX * step) ||
        !(error >= 0.0 && error <= 0x1p-20)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct tremolo_losses *made = calloc(1, sizeof *made);
    int64_t most = (int64_t)ceil(widest / step) + 2;
    if (made == NULL || !rows_make(made, -most, (size_t)(2 * most + 1))) {
        free(made);
        return TREMOLO_NO_MEMORY;
    }
    made->step = step;
    made->widest = widest;
    /* Multiples of the step are rounded, and so are differences of losses and their exponentials. */
    made->slack = error + 4.0 * UNIT_ROUNDOFF * (widest + step);
    made->error = error + 2.0 * made->slack + 32.0 * UNIT_ROUNDOFF;
    *losses = made;
    return TREMOLO_OK;
}

/* The share of a mass at `loss` that belongs to `high`, the rest to `low`, for P and Q to stay as
 * they are: (e^-low - e^-loss) / (e^-low - e^-high), rounded up. */
static double share_above(double loss, double low, double high)
{
    double share = expm1(low - loss) / expm1(low - high);
    return fmin(1.0, fmax(0.0, share) * (1.0 + 16.0 * UNIT_ROUNDOFF));
}

/* Mass of the upper side. Exact multiples stay where they are, and what they miss by rounding is
 * added to every loss later. */
static void put_upper(struct tremolo_losses *losses, double mass, double loss)
{
    double nearest = nearbyint(loss / losses->step);
    double above = loss - nearest * losses->step;
    double *cell = losses->row[UPPER];
    if (fabs(above) <= SNAP * losses->step) {
        losses->drift = fmax(losses->drift, above);
        cell[(int64_t)nearest - losses->first] += mass;
        return;
    }
    double below = above > 0.0 ? nearest : nearest - 1.0;
    double share = share_above(loss, below * losses->step, (below + 1.0) * losses->step);
    cell[(int64_t)below - losses->first] += mass * (1.0 - share);
    cell[(int64_t)below + 1 - losses->first] += mass * share;
}

enum tremolo_status tremolo_losses_put(struct tremolo_losses *losses, double mass, double loss,
                                       double spread)
{
    if (losses == NULL || !(mass >= 0.0 && mass <= 1.0)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (loss > DBL_MAX) {
        losses->lost += mass * (1.0 + losses->error);
        return TREMOLO_OK;
    }
    if (!(spread >= 0.0 && fabs(loss) + spread <= losses->widest)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    double high = loss + spread + losses->slack;
    double low = loss - spread - losses->slack;
    double share = spread > 0.0 ? share_above(loss + losses->slack, low, high) : 1.0;
    put_upper(losses, mass * share, high);
    put_upper(losses, mass * (1.0 - share), low);
    double nearest = nearbyint(loss / losses->step);
    size_t at = (size_t)((int64_t)nearest - losses->first);
    losses->row[LOWER_P][at] += mass;
    losses->row[LOWER_Q][at] += mass * exp(nearest * losses->step - loss);
    return TREMOLO_OK;
}

/* ---- many releases */

/* Cut both ends where cells are too small to be multiplied further. */
static void cut_ends(struct tremolo_losses *losses)
{
    size_t begin = 0;
    size_t end = losses->count;
    const double *upper = losses->row[UPPER];
    const double *lower = losses->row[LOWER_P];
    for (; begin + 1 < end && fmax(upper[begin], lower[begin]) < TINY; begin++) {
    }
    for (; end - 1 > begin && fmax(upper[end - 1], lower[end - 1]) < TINY; end--) {
    }
    losses->lost += 2.0 * TINY * (double)losses->count;
    for (size_t r = 0; r < ROWS; r++) {
        losses->row[r] += begin;
    }
    losses->first += (int64_t)begin;
    losses->count = end - begin;
}

static int64_t half_down(int64_t k)
{
    return (k - (k & 1)) / 2;
}

/* Twice the step. An odd multiple goes to both its neighbours in the upper side, and in the lower
 * side to that one which is a multiple of 4: always the one below would move all Q away from P. */
static enum tremolo_status coarsen(struct tremolo_losses *losses)
{
    struct tremolo_losses made = *losses;
    int64_t first = half_down(losses->first);
    if (losses->step > 512.0) { /* e^step would overflow soon */
        return TREMOLO_OVERFLOWED;
    }
    if (!rows_make(&made, first, losses->count / 2 + 2)) {
        return TREMOLO_NO_MEMORY;
    }
    double share = fmin(1.0, (1.0 + 8.0 * UNIT_ROUNDOFF) / (1.0 + exp(-losses->step)));
    const double moved[] = {1.0, exp(-losses->step), 1.0, exp(losses->step)};
    for (size_t i = 0; i < losses->count; i++) {
        int64_t k = losses->first + (int64_t)i;
        size_t at = (size_t)(half_down(k) - first);
        double above = k & 1 ? share : 0.0;
        made.row[UPPER][at] += losses->row[UPPER][i] * (1.0 - above);
        made.row[UPPER][at + 1] += losses->row[UPPER][i] * above;
        at += (k & 3) == 3;
        made.row[LOWER_P][at] += losses->row[LOWER_P][i];
        made.row[LOWER_Q][at] += losses->row[LOWER_Q][i] * moved[k & 3];
    }
    made.step *= 2.0;
    made.error += 8.0 * UNIT_ROUNDOFF;
    free(losses->memory);
    *losses = made;
    return TREMOLO_OK;
}

/* Each row of `made`, all zero, becomes the convolution of those of a and b. */
static void convolve(struct tremolo_losses *made, const struct tremolo_losses *a,
                     const struct tremolo_losses *b)
{
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t i = 0; i < a->count; i++) {
            double *restrict sum = made->row[r] + i;
            const double *restrict other = b->row[r];
            double mass = a->row[r][i];
            double least = DBL_MIN / mass; /* infinite for no mass */
            size_t begin = 0;
            size_t end = b->count;
            for (; begin < end && other[begin] < least; begin++) {
            }
            for (; end > begin && other[end - 1] < least; end--) {
            }
            for (size_t j = begin; j < end; j++) {
                sum[j] += mass * other[j];
            }
        }
    }
}

/* Compose `all` with `more`, which may be the same; the finer of the two becomes as coarse as the
 * other. Both stay valid after a failure. */
static enum tremolo_status multiply(struct tremolo_losses *all, struct tremolo_losses *more)
{
    enum tremolo_status status = TREMOLO_OK;
    while (status == TREMOLO_OK && all != more && all->step != more->step) {
        status = coarsen(all->step < more->step ? all : more);
    }
    struct tremolo_losses made = *all;
    if (status != TREMOLO_OK) {
        return status;
    }
    if (!rows_make(&made, all->first + more->first, all->count + more->count - 1)) {
        return TREMOLO_NO_MEMORY;
    }
    size_t terms = all->count < more->count ? all->count : more->count;
    convolve(&made, all, more);
    made.drift = all->drift + more->drift;
    made.lost = all->lost + more->lost;
    made.error = all->error + more->error + 2.0 * UNIT_ROUNDOFF * (double)(terms + 4);
    free(all->memory);
    *all = made;
    cut_ends(all);
    while (status == TREMOLO_OK && all->count > CELLS_MAX) {
        status = coarsen(all);
    }
    return status;
}

enum tremolo_status tremolo_losses_compose(struct tremolo_losses *losses, uint64_t releases)
{
    if (losses == NULL || !is_releases(releases)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    /* The product of those powers that the binary digits so far name; at first no release. */
    struct tremolo_losses all = {.step = losses->step};
    enum tremolo_status status = rows_make(&all, 0, 1) ? TREMOLO_OK : TREMOLO_NO_MEMORY;
    if (status == TREMOLO_OK) {
        all.row[UPPER][0] = all.row[LOWER_P][0] = all.row[LOWER_Q][0] = 1.0;
        cut_ends(losses);
    }
    for (uint64_t left = releases; status == TREMOLO_OK && left > 0; left >>= 1) {
        status = left & 1 ? multiply(&all, losses) : TREMOLO_OK;
        if (status == TREMOLO_OK && left > 1) {
            status = multiply(losses, losses);
        }
    }
    if (status != TREMOLO_OK) {
        free(all.memory);
        return status;
    }
    free(losses->memory);
    *losses = all;
    return TREMOLO_OK;
}

/* ---- delta and epsilon */

static double up(double x)
{
    return nextafter(x, INFINITY);
}

static double down(double x)
{
    return nextafter(x, -INFINITY);
}

/* What a loss leaves to Gaussian releases, or to none: their delta at x = epsilon - loss, which
 * for negative x is 1 - e^x + e^x delta(-x). */
static enum tremolo_status delta_beyond(struct tremolo_certified *delta,
                                        const struct tremolo_gaussian *cost, double x)
{
    struct tremolo_certified beyond = interval_exact(0.0);
    if (cost->mu_squared > 0.0) {
        double asked = fmin(fabs(x), TREMOLO_EPSILON_MAX); /* delta falls with epsilon */
        enum tremolo_status status = tremolo_gaussian_delta(&beyond, cost, asked);
        if (status != TREMOLO_OK) {
            return status;
        }
        beyond.lower = asked < fabs(x) ? 0.0 : beyond.lower;
    }
    if (x < 0.0) {
        double certain = -expm1(x);
        double rest = exp(x);
        beyond.lower = (certain + rest * beyond.lower) * (1.0 - 2.0 * LIBM_ERROR);
        beyond.upper = (certain + rest * beyond.upper) * (1.0 + 2.0 * LIBM_ERROR);
    }
    *delta = beyond;
    return TREMOLO_OK;
}

/* A proved bound on delta(epsilon), from the side that gives it. */
static enum tremolo_status bound_of(double *delta, const struct tremolo_losses *losses, bool upper,
                                    const struct tremolo_gaussian *cost, double epsilon)
{
    double error = losses->error + UNIT_ROUNDOFF * (double)(losses->count + 8);
    const double *mass = losses->row[upper ? UPPER : LOWER_P];
    double sum = 0.0;
    if (!(error <= 0x1p-4)) {
        return TREMOLO_NOT_CONVERGED;
    }
    for (size_t i = 0; i < losses->count; i++) {
        struct tremolo_certified beyond;
        double loss = (double)(losses->first + (int64_t)i) * losses->step;
        if (!(mass[i] > 0.0)) {
            continue;
        }
        if (upper) {
            loss = up(up(loss) + losses->drift * (1.0 + error));
        } else { /* P / Q, where Q is e^(k h) times too large; both ends of the log are rounded */
            double ratio = losses->row[LOWER_Q][i] / mass[i] * (1.0 + 8.0 * error) + 8.0 * error;
            loss = down(down(loss) - log(ratio));
        }
        double x = epsilon - loss;
        enum tremolo_status status = delta_beyond(&beyond, cost, upper ? down(x) : up(x));
        if (status != TREMOLO_OK) {
            return status;
        }
        sum += mass[i] * (upper ? beyond.upper : beyond.lower);
    }
    *delta = upper ? fmin(1.0, (sum + losses->lost) * (1.0 + 2.0 * error))
                   : fmax(0.0, sum * (1.0 - 2.0 * error) - losses->lost * (1.0 + error));
    return TREMOLO_OK;
}

enum tremolo_status tremolo_losses_delta(struct tremolo_certified *delta,
                                         const struct tremolo_losses *losses,
                                         const struct tremolo_gaussian *cost, double epsilon)
{
    struct tremolo_certified made;
    if (delta == NULL || losses == NULL || cost == NULL || !is_epsilon(epsilon)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = bound_of(&made.upper, losses, true, cost, epsilon);
    if (status == TREMOLO_OK) {
        status = bound_of(&made.lower, losses, false, cost, epsilon);
        made.value = 0.5 * (made.lower + made.upper);
    }
    if (status == TREMOLO_OK) {
        *delta = made;
    }
    return status;
}

/* One bound as a function of epsilon, so that each is inverted by itself. */
struct question {
    const struct tremolo_losses *losses;
    const struct tremolo_gaussian *cost;
    bool upper;
    enum tremolo_status *status;
};

static struct tremolo_certified log_bound(double epsilon, const void *context)
{
    const struct question *question = context;
    double delta = 0.0;
    enum tremolo_status status =
        bound_of(&delta, question->losses, question->upper, question->cost, epsilon);
    if (status != TREMOLO_OK) {
        *question->status = status;
    }
    double value = delta > 0.0 ? log(delta) : -1e4; /* below every delta that may be asked for */
    double slack = LIBM_ERROR * fabs(value);
    return (struct tremolo_certified){value - slack, value, value + slack};
}

static enum tremolo_status epsilon_of(struct tremolo_certified *epsilon,
                                      const struct question *question, double delta)
{
    struct inversion problem = {log_bound, question, log(delta), INVERT_DECREASING, true};
    if (log_bound(0.0, question).upper <= problem.target) {
        *epsilon = interval_exact(0.0);
        return *question->status;
    }
    double high = 1.0;
    while (*question->status == TREMOLO_OK && log_bound(high, question).value > problem.target) {
        if (high >= TREMOLO_EPSILON_MAX) {
            return TREMOLO_UNREACHABLE; /* delta is below the mass that is lost */
        }
        high = fmin(4.0 * high, TREMOLO_EPSILON_MAX);
    }
    enum tremolo_status status = invert(epsilon, &problem, 0.0, 1.01 * high);
    return *question->status != TREMOLO_OK ? *question->status : status;
}

enum tremolo_status tremolo_losses_epsilon(struct tremolo_certified *epsilon,
                                           const struct tremolo_losses *losses,
                                           const struct tremolo_gaussian *cost, double delta)
{
    struct tremolo_certified side[2];
    enum tremolo_status status = TREMOLO_OK;
    struct question question = {losses, cost, false, &status};
    if (epsilon == NULL || losses == NULL || cost == NULL || !is_delta(delta)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    for (int i = 0; i < 2 && status == TREMOLO_OK; i++) {
        question.upper = i == 1;
        status = epsilon_of(&side[i], &question, delta);
    }
    if (status == TREMOLO_OK) {
        *epsilon = (struct tremolo_certified){side[0].lower, 0.5 * (side[0].lower + side[1].upper),
                                              side[1].upper};
    }
    return status;
}
