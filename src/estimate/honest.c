/* honest.c -- the law of honest reports' tails, and reports held against it.
 *
 * Noisy samples. The released vector is b + z with z normal and |b| at most the clipped sample,
 * the modulation and the rounding together. |b + z|^2 grows stochastically with |b|, so the limits are
 * quantiles of the noncentral chi-square at the largest |b|. Leaving those beyond the cut out
 * lowers the noise's variance, too: to sigma^2 P(chi^2_(n+2) <= t) / P(chi^2_n <= t) for a
 * sample in the middle, which is what debiasing then takes out. What the sample's own place
 * changes about it is below 1e-4 of t.
 *
 * Ballots. Each entry of a random answer's row is a centred binomial of 160 halves; its
 * moment generating function is below that of a normal variable of variance 40, hence that of
 * the row's squared norm below that of 40 chi^2, and Chernoff's bound holds:
 *     P(|row|^2 > 40 x) <= exp(-(x - D - D ln(x / D)) / 2).
 *
 * Limits are integers, rounded up to ten leading bits, so that two libraries whose logarithms
 * differ in the last place agree about them, unless a value lies on a step. Where they do not, a
 * server folds its log anew, and sums of workers that counted with different limits are added
 * up without their tails, which are then null. */
#include "tremolo_honest.h"

#include <math.h>

#include "tremolo_regression.h"
#include "tremolo_release.h"

static const double norm_probability[TREMOLO_TAIL_LIMITS] = {1e-2, 1e-3, TREMOLO_CUT_PROBABILITY,
                                                             1e-5, 1e-6};
static const double value_probability = 1e-4;

enum { LEADING_BITS = 10, BALLOT_HALVES = 160, BALLOT_VARIANCE = 40 };

static int64_t round_up(double value)
{
    int exponent;
    double fraction = frexp(value, &exponent);
    double rounded = ldexp(ceil(ldexp(fraction, LEADING_BITS)), exponent - LEADING_BITS);
    return (int64_t)ceil(fmin(rounded, 9e18));
}

/* Increasing, also where the noise is too small to tell them apart. */
static void set_norm(struct tremolo_honest *law, size_t k, double norm2)
{
    int64_t limit = round_up(norm2);
    int64_t least = k > 0 ? law->limits.norm2[k - 1] + 1 : 1;
    law->limits.norm2[k] = limit > least ? limit : least;
    law->probability[k] = norm_probability[k];
}

/* ---------------------------------------------------------------- noisy samples */

static void sample_law(struct tremolo_honest *law, const struct tremolo_study *study)
{
    unsigned n = tremolo_study_coordinates(study);
    double sd = ldexp(1.0, study->noise_log2 - study->wire_shift);
    double reach = tremolo_row_reach(study) / sd;
    double one = (fmin(study->clip, study->unit) * study->keep / TREMOLO_KEEP_ONE +
                  1.01 * study->amplitude * sqrt((double)study->vectors)) /
                     ldexp(1.0, study->wire_shift) +
                 1.0;
    law->unit = sd;
    law->limits.released = n;
    for (size_t k = 0; k < TREMOLO_TAIL_LIMITS; k++) {
        set_norm(law, k, sd * sd * tremolo_chi2_quantile(n, reach * reach, norm_probability[k]));
    }
    double value = one - sd * tremolo_normal_quantile(value_probability);
    law->limits.value = (int32_t)fmin((double)round_up(value), TREMOLO_MAX_FOLD_VALUE);
    law->value_probability = value_probability;
}

/* ---------------------------------------------------------------- ballots */

/* The x where Chernoff's bound is exp(-log_tail). */
static double chernoff(double degrees, double log_tail)
{
    double low = degrees;
    double high = degrees + 2.0 * log_tail + 2.0 * sqrt(degrees * log_tail) + 1.0;
    for (int i = 0; i < 100; i++) { /* Laurent and Massart: it lies below `high` */
        double x = 0.5 * (low + high);
        if (0.5 * (x - degrees - degrees * log(x / degrees)) < log_tail) {
            low = x;
        } else {
            high = x;
        }
    }
    return high;
}

/* P(a centred binomial of 160 halves > value) */
static double entry_tail(int value)
{
    double tail = 0.0;
    int sign;
    for (int k = BALLOT_HALVES; k > BALLOT_HALVES / 2 + value; k--) {
        tail += exp(lgamma_r(BALLOT_HALVES + 1.0, &sign) - lgamma_r(k + 1.0, &sign) -
                    lgamma_r(BALLOT_HALVES - k + 1.0, &sign) - BALLOT_HALVES * M_LN2);
    }
    return tail;
}

static void ballot_law(struct tremolo_honest *law, const struct tremolo_study *study)
{
    double entries = (double)tremolo_ballot_entries(study);
    double first = ldexp((double)study->rank_top, -32); /* that the rank is a first one */
    double answers = 1 << 8;
    double likelier =
        answers * fmax(first / study->rank_first, (1.0 - first) / (answers - study->rank_first));
    law->unit = sqrt(BALLOT_VARIANCE);
    law->limits.released = (size_t)entries;
    law->limits.cut_values = true;
    law->numbers = study->dimension + 1u + (study->response == TREMOLO_RESPONSE_PRIVATE ? 1u : 0u);
    for (size_t k = 0; k < TREMOLO_TAIL_LIMITS; k++) {
        set_norm(law, k, BALLOT_VARIANCE * chernoff(entries, log(likelier / norm_probability[k])));
    }
    /* Some entry of a report, above or below: with at most value_probability in all. */
    law->limits.value = 1;
    while (law->limits.value < TREMOLO_MAX_BALLOT_VALUE &&
           2.0 * entries * likelier * entry_tail(law->limits.value) > value_probability) {
        law->limits.value++;
    }
    law->value_probability = fmin(1.0, likelier * entry_tail(law->limits.value));
}

void tremolo_honest_law(struct tremolo_honest *law, const struct tremolo_study *study)
{
    *law = (struct tremolo_honest){.numbers = 0};
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        ballot_law(law, study);
    } else {
        sample_law(law, study);
    }
}

bool tremolo_ballot_pair(size_t *first, size_t *second, size_t coordinate, size_t numbers)
{
    size_t row = 0;
    while (row < numbers && coordinate >= numbers - row) {
        coordinate -= numbers - row;
        row++;
    }
    *first = row;
    *second = row + coordinate;
    return row < numbers;
}

/* ---------------------------------------------------------------- judging */

/* ln of a bound on P(at least `seen` of `reports`), each with probability p: Chernoff's. */
static double log_chance(uint64_t seen, uint64_t reports, double p)
{
    double n = (double)reports;
    double share = (double)seen / n;
    if (!(share > p)) {
        return 0.0;
    }
    double rest = seen < reports ? (1.0 - share) * log((1.0 - share) / (1.0 - p)) : 0.0;
    return -n * (share * log(share / p) + rest);
}

void tremolo_tails_judge(struct tremolo_tails *tails, const struct tremolo_tail *tail,
                         const struct tremolo_honest *law)
{
    size_t n = tail->limits.released;
    double tests = TREMOLO_TAIL_LIMITS + 2.0 * (double)n; /* Bonferroni */
    double least = 0.0;
    *tails = (struct tremolo_tails){.worst = TREMOLO_TAIL_CUT,
                                    .numbers = law->numbers,
                                    .reports = tail->reports,
                                    .set_aside = tail->set_aside};
    for (size_t k = 0; k < TREMOLO_TAIL_LIMITS; k++) {
        tails->norm[k].beyond = sqrt((double)tail->limits.norm2[k]) / law->unit;
        tails->norm[k].expected = law->probability[k] * (double)tail->reports;
        tails->norm[k].seen = tail->beyond[k];
        double chance = log_chance(tail->beyond[k], tail->reports, law->probability[k]);
        tails->worst = chance < least ? k : tails->worst;
        least = fmin(least, chance);
    }
    tails->value_beyond = tail->limits.value / law->unit;
    tails->value_expected = law->value_probability * (double)tail->reports;
    for (size_t i = 0; i < 2 * n; i++) {
        bool high = i < n;
        uint64_t seen = high ? tail->high[i] : tail->low[i - n];
        double chance = log_chance(seen, tail->reports, law->value_probability);
        least = fmin(least, chance);
        if (tests * exp(chance) < TREMOLO_TAILS_FALSE_ALARM &&
            tails->values < TREMOLO_TAILS_NOTABLE) {
            tails->value[tails->values].coordinate = high ? i : i - n;
            tails->value[tails->values].high = high;
            tails->value[tails->values++].seen = seen;
        }
    }
    tails->probability = fmin(1.0, tests * exp(least));
    tails->alarm = tails->probability < TREMOLO_TAILS_FALSE_ALARM;
}
