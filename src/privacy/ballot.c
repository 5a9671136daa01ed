/* ballot.c -- what ballots cost: one, several, and with Gaussian releases of the same device.
 *
 * With N answers, T of them first, and q / 2^32 the probability of a first one, an
 * answer has probability q / (2^32 T) or (2^32 - q) / (2^32 (N - T)), and the larger is
 * w = q (N - T) / (T (2^32 - q)) times the smaller. All counts are integers below 2^53,
 * so that every number about one ballot is one quotient of exact integers, rounded once.
 *
 * Several ballots. Between two samples with disjoint first sets, one ballot has the loss ln w,
 * 0 or -ln w. Sets that overlap move mass from both ends to 0, so no other pair costs more at any
 * epsilon. All losses are multiples of ln w, which is the step of the grid: losses.c composes them
 * without any loss of accuracy. */
#include "accountant.h"
#include "interval.h"
#include "rank_means.h"

static const double two32 = 4294967296.0;

/* T in 1..N/2, and a first answer more likely than another. */
static bool is_law(const struct tremolo_rank_law *law)
{
    return law != NULL && law->first >= 1 && law->first <= TREMOLO_RANK_ANSWERS / 2 &&
           (uint64_t)law->top * TREMOLO_RANK_ANSWERS > (uint64_t)law->first << 32;
}

/* 2^32 T (N - T) times the difference of an early and a late answer's probability. */
static double advantage(const struct tremolo_rank_law *law)
{
    uint64_t first = law->first;
    return (double)(law->top * (TREMOLO_RANK_ANSWERS - first) -
                    first * ((UINT64_C(1) << 32) - law->top));
}

enum tremolo_status tremolo_rank_epsilon(struct tremolo_certified *epsilon,
                                         const struct tremolo_rank_law *law)
{
    if (epsilon == NULL || !is_law(law)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    /* ln w from w - 1: the logarithm does not enlarge the relative error of that. */
    double excess = advantage(law) / (law->first * (two32 - law->top));
    *epsilon = interval_around(log1p(excess), LIBM_ERROR + 2.0 * UNIT_ROUNDOFF);
    return TREMOLO_OK;
}

enum tremolo_status tremolo_rank_attack(struct tremolo_rank_attack *attack,
                                        const struct tremolo_rank_law *law)
{
    struct tremolo_certified epsilon;
    struct tremolo_rank_attack made;
    enum tremolo_status status = tremolo_rank_epsilon(&epsilon, law);
    if (status != TREMOLO_OK || attack == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    /* (1 + TV) / 2; disjoint first sets differ in all of them, random ones in (N - T) / N. */
    double share = advantage(law) / two32;
    double late = TREMOLO_RANK_ANSWERS - law->first;
    made.any = interval_around(0.5 + 0.5 * share / late, 2.0 * UNIT_ROUNDOFF);
    made.correlated = interval_around(0.5 + 0.5 * share / TREMOLO_RANK_ANSWERS, UNIT_ROUNDOFF);
    status = tremolo_attack_accuracy_budget(&made.budget, epsilon.upper, 0.0);
    if (status == TREMOLO_OK) {
        *attack = made;
    }
    return status;
}

enum tremolo_status tremolo_rank_scale(double *scale, const struct tremolo_rank_law *law)
{
    if (scale == NULL || !is_law(law)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    double sum = 0.0;
    for (unsigned r = 0; r < law->first; r++) {
        sum += rank_means[r];
    }
    double late = TREMOLO_RANK_ANSWERS - law->first;
    *scale = two32 * law->first * late / (sum * advantage(law));
    return TREMOLO_OK;
}

/* T with the largest mean score (w - 1) S_T / (T w + N - T) of the answer sent. */
static unsigned best_first(double ratio)
{
    double best = 0.0;
    double sum = 0.0;
    unsigned found = 1;
    for (unsigned first = 1; first <= TREMOLO_RANK_ANSWERS / 2; first++) {
        sum += rank_means[first - 1];
        double mean = sum / (first * (ratio - 1.0) + TREMOLO_RANK_ANSWERS);
        found = mean > best ? first : found;
        best = fmax(best, mean);
    }
    return found;
}

enum tremolo_status tremolo_rank_law_for(struct tremolo_rank_law *law, double epsilon)
{
    if (law == NULL ||
        !(epsilon >= TREMOLO_RANK_EPSILON_MIN && epsilon <= TREMOLO_RANK_EPSILON_MAX)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    /* A device rounds its charge up by less than four units of 2^-24. */
    double target = epsilon - 0x1p-22;
    double ratio = exp(target);
    struct tremolo_rank_law made = {.first = best_first(ratio)};
    double early = made.first * ratio;
    made.top = (uint32_t)(two32 * early / (early + TREMOLO_RANK_ANSWERS - made.first)) + 1;
    struct tremolo_certified cost;
    enum tremolo_status status = TREMOLO_OK;
    do {
        made.top--;
        status = tremolo_rank_epsilon(&cost, &made);
    } while (status == TREMOLO_OK && cost.upper > target);
    if (status == TREMOLO_OK) {
        *law = made;
    }
    return status;
}

/* ---- several ballots */

/* The losses of all ballots together; the caller frees them. */
static enum tremolo_status losses_of(struct tremolo_losses **losses,
                                     const struct tremolo_ballots *ballots)
{
    struct tremolo_losses *made = NULL;
    struct tremolo_certified epsilon;
    const struct tremolo_rank_law *law = &ballots->law;
    enum tremolo_status status = tremolo_rank_epsilon(&epsilon, law);
    if (status != TREMOLO_OK || !is_releases(ballots->count)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    double step = epsilon.value;
    double late = (two32 - law->top) / (TREMOLO_RANK_ANSWERS - law->first) / two32;
    const double mass[] = {late * law->first, late * (TREMOLO_RANK_ANSWERS - 2.0 * law->first),
                           law->top / two32};
    /* Each mass is within 3 units of roundoff, and so is the step. */
    status = tremolo_losses_new(&made, step, step, 8.0 * UNIT_ROUNDOFF * (1.0 + step));
    for (int k = -1; status == TREMOLO_OK && k <= 1; k++) {
        status = tremolo_losses_put(made, mass[k + 1], k * step, 0.0);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_losses_compose(made, ballots->count);
    }
    if (status != TREMOLO_OK) {
        tremolo_losses_free(made);
        return status;
    }
    *losses = made;
    return TREMOLO_OK;
}

enum tremolo_status tremolo_mixture_delta(struct tremolo_certified *delta,
                                          const struct tremolo_ballots *ballots,
                                          const struct tremolo_gaussian *cost, double epsilon)
{
    struct tremolo_losses *losses = NULL;
    if (delta == NULL || cost == NULL || !is_epsilon(epsilon)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (ballots == NULL) {
        return tremolo_gaussian_delta(delta, cost, epsilon);
    }
    enum tremolo_status status = losses_of(&losses, ballots);
    if (status == TREMOLO_OK) {
        status = tremolo_losses_delta(delta, losses, cost, epsilon);
    }
    tremolo_losses_free(losses);
    return status;
}

/* Pure epsilons add up, and epsilon(mu, delta) is added to them: always a bound. */
static enum tremolo_status add_up(struct tremolo_mixture_cost *made,
                                  const struct tremolo_ballots *ballots,
                                  const struct tremolo_gaussian *cost, double delta)
{
    struct tremolo_certified each = {0.0, 0.0, 0.0};
    struct tremolo_certified gaussian = {0.0, 0.0, 0.0};
    enum tremolo_status status = tremolo_rank_epsilon(&each, &ballots->law);
    if (status == TREMOLO_OK && cost->mu_squared > 0.0) {
        status = tremolo_gaussian_epsilon(&gaussian, cost, delta);
    }
    double count = (double)ballots->count;
    made->gaussian = gaussian.upper;
    made->pure = nextafter(count * each.upper, INFINITY);
    made->sum = nextafter(made->pure + made->gaussian, INFINITY);
    made->exact = (struct tremolo_certified){count * each.lower * (1.0 - UNIT_ROUNDOFF),
                                             count * each.value, made->pure};
    return status;
}

enum tremolo_status tremolo_mixture_epsilon(struct tremolo_mixture_cost *mixture,
                                            const struct tremolo_ballots *ballots,
                                            const struct tremolo_gaussian *cost, double delta)
{
    struct tremolo_mixture_cost made = {0};
    struct tremolo_losses *losses = NULL;
    bool pure = cost != NULL && !(cost->mu_squared > 0.0);
    if (mixture == NULL || cost == NULL || (pure && ballots == NULL) ||
        !(is_delta(delta) || (delta == 0.0 && pure))) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = TREMOLO_OK;
    if (ballots == NULL) {
        status = tremolo_gaussian_epsilon(&made.exact, cost, delta);
        made.sum = made.gaussian = made.exact.upper;
    } else {
        status = add_up(&made, ballots, cost, delta);
    }
    if (status == TREMOLO_OK && ballots != NULL && delta > 0.0) {
        status = losses_of(&losses, ballots);
        if (status == TREMOLO_OK) {
            status = tremolo_losses_epsilon(&made.exact, losses, cost, delta);
        }
        if (status == TREMOLO_UNREACHABLE) { /* delta is too small for the composition */
            made.exact = (struct tremolo_certified){0.0, made.sum, made.sum};
            status = TREMOLO_OK;
        }
        tremolo_losses_free(losses);
        made.exact.upper = fmin(made.exact.upper, made.sum);
    }
    if (status == TREMOLO_OK) {
        *mixture = made;
    }
    return status;
}
