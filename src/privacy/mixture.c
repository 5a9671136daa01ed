/* mixture.c -- ballots and Gaussian releases in one ledger, composed exactly.
 *
 * K ballots of one law have the loss j ln w with the probability of a trinomial walk
 * to j; several laws multiply. Given a loss s of all ballots, Gaussian releases add
 * their own, so that with delta_mu(x) = Phi(mu/2 - x/mu) - e^x Phi(-mu/2 - x/mu), for
 * negative x too,
 *
 *     delta(epsilon) = sum over s of P(s) delta_mu(epsilon - s).
 *
 * All terms are positive, so relative accuracy is kept without any transform. Losses
 * are rounded up for the upper bound and down for the lower. */
#include "tremolo_privacy.h"

#include "interval.h"

#include <stdlib.h>

struct atom {
    double mass;
    double loss_lower;
    double loss_upper;
};

struct atoms {
    struct atom *atom;
    size_t count;
    double error; /* relative, of each mass */
};

static double down(double x)
{
    return nextafter(x, -INFINITY);
}

static double up(double x)
{
    return nextafter(x, INFINITY);
}

/* ---------------------------------------------------------------- the walk */

/* The loss of one ballot between two samples whose first sets are disjoint: +ln w, 0 and
 * -ln w, each mass within 3 units of roundoff. Sets that overlap move mass from both
 * ends to 0, so no other pair costs more at any epsilon. */
struct step {
    double up;
    double level;
    double down;
};

static struct step step_of(const struct tremolo_rank_law *law)
{
    double late = (0x1p32 - law->top) / (TREMOLO_RANK_ANSWERS - law->first) / 0x1p32;
    return (struct step){
        .up = law->top / 0x1p32,
        .level = late * (TREMOLO_RANK_ANSWERS - 2.0 * law->first),
        .down = late * law->first,
    };
}

/* P(j) of `count` steps, in walk[count + j]. */
static void walk_steps(double *walk, uint64_t count, struct step step)
{
    size_t middle = (size_t)count;
    walk[middle] = 1.0;
    for (size_t taken = 1; taken <= middle; taken++) {
        double before = 0.0;
        double here = 0.0;
        for (size_t i = middle - taken; i <= middle + taken; i++) {
            double after = i < middle + taken ? walk[i + 1] : 0.0;
            here = walk[i];
            walk[i] = before * step.up + here * step.level + after * step.down;
            before = here;
        }
    }
}

/* Multiply the atoms by one law's walk. */
static enum tremolo_status add_ballots(struct atoms *all, const struct tremolo_ballots *ballots)
{
    struct tremolo_certified epsilon;
    enum tremolo_status status = tremolo_rank_epsilon(&epsilon, &ballots->law);
    if (status != TREMOLO_OK || ballots->count < 1) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (ballots->count > TREMOLO_MIXTURE_ATOMS / 2 ||
        all->count > TREMOLO_MIXTURE_ATOMS / (2 * ballots->count + 1)) {
        return TREMOLO_OVERFLOWED;
    }
    size_t places = 2 * (size_t)ballots->count + 1;
    double *walk = calloc(places, sizeof *walk);
    struct atom *made = malloc(all->count * places * sizeof *made);
    if (walk == NULL || made == NULL) {
        free(walk);
        free(made);
        return TREMOLO_NO_MEMORY;
    }
    walk_steps(walk, ballots->count, step_of(&ballots->law));
    for (size_t i = 0; i < all->count * places; i++) {
        const struct atom *old = &all->atom[i / places];
        double j = (double)(i % places) - (double)ballots->count;
        made[i] = (struct atom){
            old->mass * walk[i % places],
            down(old->loss_lower + down(j * (j > 0 ? epsilon.lower : epsilon.upper))),
            up(old->loss_upper + up(j * (j > 0 ? epsilon.upper : epsilon.lower))),
        };
    }
    free(walk);
    free(all->atom);
    *all = (struct atoms){made, all->count * places,
                          all->error + UNIT_ROUNDOFF * (8.0 * (double)ballots->count + 1.0)};
    return TREMOLO_OK;
}

static enum tremolo_status make_atoms(struct atoms *all, const struct tremolo_ballots *ballots,
                                      size_t count)
{
    enum tremolo_status status = TREMOLO_OK;
    *all = (struct atoms){malloc(sizeof *all->atom), 1, 0.0};
    if (all->atom == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    all->atom[0] = (struct atom){1.0, 0.0, 0.0};
    for (size_t i = 0; status == TREMOLO_OK && i < count; i++) {
        status = add_ballots(all, &ballots[i]);
    }
    return status;
}

/* ---------------------------------------------------------------- delta */

static bool is_empty(const struct tremolo_gaussian *cost)
{
    return !(cost->mu_squared > 0.0);
}

/* delta_mu(x) of Gaussian releases, or of none; delta_mu(-x) is
 * 1 - e^-x + e^-x delta_mu(x). */
static enum tremolo_status gaussian_at(struct tremolo_certified *delta,
                                       const struct tremolo_gaussian *cost, double x)
{
    struct tremolo_certified beyond = interval_exact(0.0);
    if (!is_empty(cost)) {
        enum tremolo_status status = tremolo_gaussian_delta(&beyond, cost, fabs(x));
        if (status != TREMOLO_OK) {
            return status;
        }
    }
    if (x < 0.0) {
        double certain = -expm1(x);
        double rest = exp(x);
        beyond.lower = (certain + rest * beyond.lower) * (1.0 - 2.0 * LIBM_ERROR);
        beyond.value = certain + rest * beyond.value;
        beyond.upper = (certain + rest * beyond.upper) * (1.0 + 2.0 * LIBM_ERROR);
    }
    *delta = beyond;
    return TREMOLO_OK;
}

static enum tremolo_status delta_of(struct tremolo_certified *delta, const struct atoms *all,
                                    const struct tremolo_gaussian *cost, double epsilon)
{
    struct tremolo_certified sum = {0.0, 0.0, 0.0};
    for (size_t i = 0; i < all->count; i++) {
        const struct atom *atom = &all->atom[i];
        struct tremolo_certified least;
        struct tremolo_certified most;
        enum tremolo_status status = gaussian_at(&least, cost, up(epsilon - atom->loss_lower));
        if (status == TREMOLO_OK) {
            status = gaussian_at(&most, cost, down(epsilon - atom->loss_upper));
        }
        if (status != TREMOLO_OK) {
            return status;
        }
        sum.lower += atom->mass * least.lower;
        sum.value += atom->mass * 0.5 * (least.value + most.value);
        sum.upper += atom->mass * most.upper;
    }
    double error = all->error + UNIT_ROUNDOFF * ((double)all->count + 4.0);
    sum.lower *= 1.0 - error;
    sum.upper = sum.upper * (1.0 + error) + (double)all->count * DBL_TRUE_MIN;
    *delta = interval_clamp(sum, 0.0, 1.0);
    return TREMOLO_OK;
}

static bool is_request(const struct tremolo_ballots *ballots, size_t count,
                       const struct tremolo_gaussian *cost)
{
    return cost != NULL && (ballots != NULL || count == 0) && (count > 0 || !is_empty(cost));
}

enum tremolo_status tremolo_mixture_delta(struct tremolo_certified *delta,
                                          const struct tremolo_ballots *ballots, size_t count,
                                          const struct tremolo_gaussian *cost, double epsilon)
{
    struct atoms all;
    if (delta == NULL || !is_request(ballots, count, cost) || !is_epsilon(epsilon)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = make_atoms(&all, ballots, count);
    if (status == TREMOLO_OK) {
        status = delta_of(delta, &all, cost, epsilon);
    }
    free(all.atom);
    return status;
}

/* ---------------------------------------------------------------- epsilon */

struct question {
    const struct atoms *all;
    const struct tremolo_gaussian *cost;
    enum tremolo_status *status;
};

static struct tremolo_certified log_delta(double epsilon, const void *context)
{
    const struct question *question = context;
    struct tremolo_certified delta = {0.0, 0.0, 0.0};
    enum tremolo_status status = delta_of(&delta, question->all, question->cost, epsilon);
    if (status != TREMOLO_OK) {
        *question->status = status;
    }
    /* Below every delta that may be asked for; a logarithm is exact to 4 units. */
    const double none = -1e4;
    return (struct tremolo_certified){
        delta.lower > 0.0 ? log(delta.lower) * (1.0 + LIBM_ERROR) : none,
        delta.value > 0.0 ? log(delta.value) : none,
        delta.upper > 0.0 ? log(delta.upper) * (1.0 - LIBM_ERROR) : none,
    };
}

static enum tremolo_status solve(struct tremolo_certified *epsilon, const struct atoms *all,
                                 const struct tremolo_gaussian *cost, double delta, double high)
{
    enum tremolo_status inner = TREMOLO_OK;
    struct question question = {all, cost, &inner};
    struct inversion problem = {log_delta, &question, log(delta), INVERT_DECREASING, true};
    if (log_delta(0.0, &question).upper <= problem.target) {
        *epsilon = interval_exact(0.0);
        return inner;
    }
    enum tremolo_status status = invert(epsilon, &problem, 0.0, 1.01 * high + 1e-6);
    return inner != TREMOLO_OK ? inner : status;
}

/* Pure epsilons add up, and epsilon(mu, delta) is added to them: always a bound. */
static enum tremolo_status add_up(struct tremolo_mixture_cost *made,
                                  const struct tremolo_ballots *ballots, size_t count,
                                  const struct tremolo_gaussian *cost, double delta)
{
    enum tremolo_status status = TREMOLO_OK;
    for (size_t i = 0; status == TREMOLO_OK && i < count; i++) {
        struct tremolo_certified each;
        double times = (double)ballots[i].count;
        status = tremolo_rank_epsilon(&each, &ballots[i].law);
        if (status == TREMOLO_OK) {
            made->pure.lower = down(made->pure.lower + down(times * each.lower));
            made->pure.value += times * each.value;
            made->pure.upper = up(made->pure.upper + up(times * each.upper));
        }
    }
    if (status == TREMOLO_OK && !is_empty(cost)) {
        status = tremolo_gaussian_epsilon(&made->gaussian, cost, delta);
    }
    made->sum = (struct tremolo_certified){down(made->pure.lower + made->gaussian.lower),
                                           made->pure.value + made->gaussian.value,
                                           up(made->pure.upper + made->gaussian.upper)};
    return status;
}

enum tremolo_status tremolo_mixture_epsilon(struct tremolo_mixture_cost *mixture,
                                            const struct tremolo_ballots *ballots, size_t count,
                                            const struct tremolo_gaussian *cost, double delta)
{
    struct atoms all;
    struct tremolo_mixture_cost made = {0};
    if (mixture == NULL || !is_request(ballots, count, cost) ||
        !(is_delta(delta) || (delta == 0.0 && is_empty(cost)))) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = make_atoms(&all, ballots, count);
    if (status == TREMOLO_OK) {
        status = add_up(&made, ballots, count, cost, delta);
    }
    if (status == TREMOLO_OK && delta == 0.0) {
        made.exact = made.pure;
    } else if (status == TREMOLO_OK) {
        status = solve(&made.exact, &all, cost, delta, made.sum.upper);
    }
    free(all.atom);
    if (status == TREMOLO_OK) {
        made.exact.upper = fmin(made.exact.upper, made.sum.upper);
        *mixture = made;
    }
    return status;
}
