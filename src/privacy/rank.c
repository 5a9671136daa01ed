/* rank.c -- what one ballot costs.
 *
 * With N answers, T of them first, and q / 2^32 the probability of a first one, an
 * answer has probability q / (2^32 T) or (2^32 - q) / (2^32 (N - T)), and the larger is
 * w = q (N - T) / (T (2^32 - q)) times the smaller. All counts are integers below 2^53,
 * so that every number here is one quotient of exact integers, rounded once. */
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
    /* ln w from w - 1, whose relative error the logarithm does not enlarge. */
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
