/* evidence.c -- what the sums of a round say: evidence without the known noise, and whether the
 * reports are those of honest devices.
 *
 * Two things are known of an honest report: how large it can be at all, and how often it is
 * large. A server refuses what is too large. What comes too often is counted next to the sums,
 * shown with the estimate, and left out of the robust one.
 *
 * Too large. An honest device releases keep x + W + noise, rounded. Its norm is at most that of
 * the clipped sample, of the modulation (amplitude sqrt m), of the rounding (half a step each)
 * and of the noise; the squared norm of the noise is sigma^2 chi^2 with n degrees of freedom, and
 *     P(chi^2_n > n + 2 sqrt(n t) + 2 t) <= exp(-t)     (Laurent and Massart)
 * with t = ln 1e9. So a liar can pull the sums no further than an unlucky honest device could.
 * Every answer of a ballot is plausible.
 *
 * Too often, noisy samples. The released vector is b + z with z normal and |b| at most the
 * clipped sample, the modulation and the rounding together. |b + z|^2 grows stochastically with
 * |b|, so the limits are quantiles of the noncentral chi-square at the largest |b|. Leaving those
 * beyond the cut out lowers the noise's variance, too: to
 *     sigma^2 P(chi^2_(n+2) <= t) / P(chi^2_n <= t)
 * for a sample in the middle, which is what debiasing then takes out. What the sample's own place
 * changes about it is below 1e-4 of t.
 *
 * Too often, ballots. Each entry of a random answer's row is a centred binomial of 160 halves;
 * its moment generating function is below that of a normal variable of variance 40, so that of
 * the row's squared norm below that of 40 chi^2, and Chernoff's bound holds:
 *     P(|row|^2 > 40 x) <= exp(-(x - D - D ln(x / D)) / 2).
 *
 * Limits are integers, rounded up to ten leading bits, so that two libraries with logarithms that
 * differ in the last place agree about them, unless a value lies on a step. Where they do not, a
 * server adds up its log again, and sums of workers that counted with different limits are added
 * up without their tails, which are then null. */
#include "release.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "accountant.h"
#include "inputs.h"
#include "study_internal.h"

/* An error that is uniform over one step has the variance 1/12. */
static const double ROUNDING_VARIANCE = 1.0 / 12; /* to the wire */

/* ---------------------------------------------------------------- the law of honest reports */

/* The largest norm of a noisy sample without its noise, wire units. The three parts are added as
 * if they all pointed the same way, so this is an upper bound. */
static double row_reach(const struct tremolo_study *study)
{
    double n = tremolo_study_coordinates(study);
    double step = ldexp(1.0, study->wire_shift);
    double keep = (double)study->keep / TREMOLO_KEEP_ONE;
    double sample = keep * study->clip / step;
    /* Vectors are orthonormal within 2^-10 only; 1 % covers it. */
    double modulation = 1.01 * study->amplitude * sqrt((double)study->vectors) / step;
    double rounding = sqrt(n);
    return sample + modulation + rounding;
}

/* The longest sample and the longest noise together: they may point the same way. */
double tremolo_row_norm2_max(const struct tremolo_study *study)
{
    const double t = 9.0 * log(10.0);
    double n = tremolo_study_coordinates(study);
    double noise = ldexp(1.0, study->noise_log2 - study->wire_shift);
    double norm = row_reach(study) + noise * sqrt(n + 2.0 * sqrt(n * t) + 2.0 * t);
    return norm * norm;
}

/* How often an honest report may be beyond each of the limits, from the mildest on; the third is
 * the cut. A coordinate has one limit, to either side. */
static const double norm_probability[TREMOLO_TAIL_LIMITS] = {1e-2, 1e-3, TREMOLO_CUT_PROBABILITY,
                                                             1e-5, 1e-6};
static const double value_probability = 1e-4;

/* An entry of a ballot's row counts the bits of five words, 160 in all, about their middle, so
 * its variance is 160 / 4. */
enum { LEADING_BITS = 10, BALLOT_HALVES = 160, BALLOT_VARIANCE = 40 };

/* The next integer above with LEADING_BITS leading bits, at most 9e18. Always upward, so that an
 * honest report is never beyond a limit more often than stated. */
static int64_t round_up(double value)
{
    int exponent;
    double fraction = frexp(value, &exponent);
    double rounded = ldexp(ceil(ldexp(fraction, LEADING_BITS)), exponent - LEADING_BITS);
    return (int64_t)ceil(fmin(rounded, 9e18));
}

/* Increasing, also where the noise is too small to tell them apart. Limits that fell together by
 * rounding are one step apart instead; that only raises them. */
static void set_norm(struct tremolo_honest *law, size_t k, double norm2)
{
    int64_t limit = round_up(norm2);
    int64_t least = k > 0 ? law->limits.norm2[k - 1] + 1 : 1;
    law->limits.norm2[k] = limit > least ? limit : least;
    law->probability[k] = norm_probability[k];
}

/* The limits of norms are quantiles at the longest sample; that of one coordinate is what the
 * longest coordinate and a normal quantile reach together. A coordinate is at most the unit or
 * the clip, whichever is less, with the modulation and one rounding step on top. */
static void sample_law(struct tremolo_honest *law, const struct tremolo_study *study)
{
    unsigned n = tremolo_study_coordinates(study);
    double sd = ldexp(1.0, study->noise_log2 - study->wire_shift);
    double reach = row_reach(study) / sd;
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

/* The x where Chernoff's bound is exp(-log_tail). The bound falls as x grows above `degrees`, so
 * halving finds it; the upper end is returned, on the safe side. */
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

/* P(a centred binomial of 160 halves > value), by logarithms of factorials, which overflow
 * themselves. lgamma_r() because lgamma() writes a global sign, and threads call this. */
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

/* No answer is more than `likelier` times as likely as by chance, so a probability by chance is
 * multiplied by it. A law of ranks has two groups, and within each all answers are equally
 * likely, so the larger of two ratios is the worst. */
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

/* From the study alone, so that it can be computed again wherever the study is known. */
void tremolo_honest_law(struct tremolo_honest *law, const struct tremolo_study *study)
{
    *law = (struct tremolo_honest){.numbers = 0};
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        ballot_law(law, study);
    } else {
        sample_law(law, study);
    }
}

/* ---------------------------------------------------------------- reports held against it */

/* ln of a bound on P(at least `seen` of `reports`), each with probability p: Chernoff's. 0, the
 * logarithm of 1, when there are no more than expected. */
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

/* Every limit and every coordinate, to both sides, is a test; all of them together raise a false
 * alarm with at most the probability that is said, by Bonferroni. At most TREMOLO_TAILS_NOTABLE
 * coordinates are listed, the first in order; the alarm counts all. */
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

/* ---------------------------------------------------------------- without the noise
 *
 * The noise of each report is unknown, but its variance is known exactly, and so are the vectors
 * that were broadcast. What they add to the second moments on average is taken out; the rest of
 * the noise is what standard errors are about. */

/* From the device's fine steps to wire units, and from scaled values to both: what a feature of 1
 * is in a report, and the variance that noise and rounding add to each coordinate. */
struct tremolo_sample_release tremolo_release_of(const struct tremolo_study *study,
                                                 double feature_bound, double response_bound)
{
    bool is_private = study->response == TREMOLO_RESPONSE_PRIVATE;
    double wire = ldexp(1, study->wire_shift);
    double noise = ldexp(1, study->noise_log2) / wire;
    double amplitude = study->amplitude / wire;
    double feature_scale = study->unit / feature_bound / wire;
    return (struct tremolo_sample_release){
        .dimension = study->dimension,
        .keep = (double)study->keep / TREMOLO_KEEP_ONE,
        .noise_variance = noise * noise + ROUNDING_VARIANCE,
        .modulation = amplitude * amplitude / 2,
        .vectors = study->vectors,
        .feature_scale = feature_scale,
        .response_scale = is_private ? feature_scale : TREMOLO_RESPONSE_MAX / response_bound,
        .response_private = is_private,
        .largest = feature_bound * feature_bound,
    };
}

/* `weight` multiplies every number; 1 gives the vectors themselves. */
void tremolo_release_from_wire(double *V, const int16_t *vectors, size_t count, double weight)
{
    for (size_t i = 0; i < count; i++) {
        V[i] = weight * vectors[i] / TREMOLO_VECTOR_ONE;
    }
}

/* To the nearest step. */
void tremolo_release_to_wire(int16_t *vectors, const double *V, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        vectors[i] = (int16_t)lrint(V[i] * TREMOLO_VECTOR_ONE);
    }
}

/* Each of the groups on its own: the jackknife leaves one out at a time. The vectors, if there
 * are any, must be in release->V. On failure *evidence is untouched. */
enum tremolo_status tremolo_release_debias(struct tremolo_debiased **evidence,
                                           struct tremolo_moments *moments,
                                           const struct tremolo_sample_release *release)
{
    struct tremolo_sums sums[TREMOLO_BUCKETS];
    enum tremolo_status status = TREMOLO_OK;
    for (unsigned b = 0; b < TREMOLO_BUCKETS && status == TREMOLO_OK; b++) {
        status = tremolo_moments_bucket(moments, &sums[b], b);
    }
    return status == TREMOLO_OK ? tremolo_debias_new(evidence, sums, release) : status;
}

/* With the vectors as they were broadcast, in steps, not as they were drawn. */
enum tremolo_status tremolo_release_evidence(struct tremolo_debiased **evidence,
                                             struct tremolo_moments *moments,
                                             const struct tremolo_sample_release *release,
                                             const int16_t *vectors)
{
    struct tremolo_sample_release round = *release;
    size_t count = release->vectors * release->dimension;
    double *V = calloc(count + 1, sizeof *V);
    if (V == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    tremolo_release_from_wire(V, vectors, count, 1.0);
    round.V = V;
    enum tremolo_status status = tremolo_release_debias(evidence, moments, &round);
    free(V);
    return status;
}

/* Each of the groups has its own sums, and the jackknife needs two with ballots: with fewer there
 * is nothing to compute errors from. *ballots is NULL then, with the status OK. */
enum tremolo_status tremolo_release_ballots(struct tremolo_ballot **ballots,
                                            const struct tremolo_moments *moments,
                                            const struct tremolo_study *study)
{
    const struct tremolo_rank_law law = {study->rank_first, study->rank_top};
    struct tremolo_ballot_sums sums[TREMOLO_BUCKETS];
    double scale;
    unsigned filled = 0;
    enum tremolo_status status = tremolo_rank_scale(&scale, &law);
    for (unsigned b = 0; b < TREMOLO_BUCKETS && status == TREMOLO_OK; b++) {
        status = tremolo_moments_ballots(&sums[b], moments, b);
        filled += status == TREMOLO_OK && sums[b].count > 0;
    }
    if (status != TREMOLO_OK || filled < 2) {
        *ballots = NULL;
        return status;
    }
    const struct tremolo_ballot_release release = {
        .dimension = study->dimension,
        .response_public = study->response == TREMOLO_RESPONSE_PUBLIC,
        .h = (double)study->constant / TREMOLO_BALLOT_ONE,
        .g = (double)study->response_weight / TREMOLO_BALLOT_ONE,
        .c = scale,
        .row_scale = sqrt(8.0 * TREMOLO_BALLOT_SIGNS), /* entries have the variance 8 */
        .response_scale = TREMOLO_RESPONSE_MAX,
    };
    return tremolo_ballot_new(ballots, sums, &release);
}

/* ---------------------------------------------------------------- without the farthest
 *
 * The same estimate from the reports within the cut. Honest devices lose one in ten thousand by
 * it, so where the two differ by more than a standard error the farthest reports decided the
 * first one. */

/* The sums of the reports within the cut; NULL when all are, or fewer than two would be left.
 * *within is the caller's to free; it stays as it was where nothing is set aside. */
static enum tremolo_status take_within(struct tremolo_moments **within,
                                       const struct tremolo_moments *moments)
{
    struct tremolo_tail tail;
    if (!tremolo_moments_tail(&tail, moments) || tail.set_aside == 0 ||
        tail.reports - tail.set_aside < 2) {
        return TREMOLO_OK;
    }
    return tremolo_moments_within(within, moments);
}

/* The noise variance of reports within the cut, as a share of that of all reports: leaving out
 * the largest makes the noise of the rest smaller, and debiasing must take out no more than is in
 * them. */
static double noise_within(const struct tremolo_moments *moments,
                           const struct tremolo_sample_release *release)
{
    struct tremolo_tail tail;
    if (!tremolo_moments_tail(&tail, moments)) {
        return 1.0;
    }
    unsigned n = (unsigned)tail.limits.released;
    double cut =
        (double)tail.limits.norm2[TREMOLO_TAIL_CUT] / (release->noise_variance - ROUNDING_VARIANCE);
    return (1.0 - tremolo_chi2_tail(n + 2, 0.0, cut)) / (1.0 - tremolo_chi2_tail(n, 0.0, cut));
}

/* Fill the robust parts, where some report is beyond the cut. Without a report beyond the cut
 * both robust parts stay NULL: they would repeat the first ones. */
static enum tremolo_status set_robust(struct tremolo_evidence *evidence,
                                      const struct tremolo_moments *moments,
                                      const struct tremolo_study *study,
                                      const struct tremolo_sample_release *release)
{
    struct tremolo_moments *within = NULL;
    enum tremolo_status status = take_within(&within, moments);
    if (within != NULL && study->release == TREMOLO_RELEASE_BALLOT) {
        status = tremolo_release_ballots(&evidence->robust_ballots, within, study);
    } else if (within != NULL) {
        struct tremolo_sample_release left = *release;
        left.noise_variance *= noise_within(moments, release);
        status = tremolo_release_debias(&evidence->robust_samples, within, &left);
    }
    tremolo_moments_free(within);
    return status;
}

/* The tails come first, because they are known even where nothing can be estimated. */
enum tremolo_status tremolo_evidence_of(struct tremolo_evidence *evidence,
                                        struct tremolo_moments *moments,
                                        const struct tremolo_study *study,
                                        const struct tremolo_honest *law,
                                        const struct tremolo_sample_release *release)
{
    struct tremolo_tail tail;
    *evidence = (struct tremolo_evidence){.watched = tremolo_moments_tail(&tail, moments)};
    if (evidence->watched) {
        tremolo_tails_judge(&evidence->tails, &tail, law);
    }
    enum tremolo_status status = study->release == TREMOLO_RELEASE_BALLOT
                                     ? tremolo_release_ballots(&evidence->ballots, moments, study)
                                     : tremolo_release_debias(&evidence->samples, moments, release);
    return status == TREMOLO_OK ? set_robust(evidence, moments, study, release) : status;
}

/* Leaves empty evidence, which can be freed again. */
void tremolo_evidence_free(struct tremolo_evidence *evidence)
{
    tremolo_debias_free(evidence->samples);
    tremolo_debias_free(evidence->robust_samples);
    tremolo_ballot_free(evidence->ballots);
    tremolo_ballot_free(evidence->robust_ballots);
    *evidence = (struct tremolo_evidence){.watched = false};
}

/* ---------------------------------------------------------------- planning
 *
 * What `plan` says of a study file, for those who have the study and no plan: a server's estimate
 * says how many devices are needed before there is a report. */

/* An answer's coordinate, or a product of answers, lies about the share of those who give it. A
 * share p of ones has the variance p (1 - p); in half ranges, from -1 to 1, four times that. It
 * is kept above 0, since noise is divided by it. */
double tremolo_release_variance(const struct tremolo_study_file *file, size_t coordinate)
{
    const struct tremolo_study_coordinate *at = tremolo_study_file_coordinate(file, coordinate);
    const struct tremolo_inputs *inputs = tremolo_study_file_inputs(file);
    if (tremolo_study_file_terms(file)->release != TREMOLO_RELEASE_BALLOT ||
        coordinate >= tremolo_study_file_dimension(file) ||
        !tremolo_inputs_are_answers(inputs, &inputs->feature[coordinate])) {
        return INFINITY;
    }
    double share = (at->low + at->high) / 2;
    return 4.0 * fmax(share * (1.0 - share), 1e-6);
}

/* Infinite when no coordinate's variance follows from the study. */
double tremolo_release_least_variance(const struct tremolo_study_file *file)
{
    double least = INFINITY;
    for (size_t i = 0; i < tremolo_study_file_dimension(file); i++) {
        least = fmin(least, tremolo_release_variance(file, i));
    }
    return least;
}

/* How many times wider than a plan's the widest interval of a study is, since a plan's guess is
 * that features have a standard deviation of TREMOLO_PLAN_SD half ranges, and noise counts by one
 * over the variance. */
static double widest_of(const struct tremolo_study_file *file)
{
    return fmax(TREMOLO_PLAN_SD * TREMOLO_PLAN_SD / tremolo_release_least_variance(file), 1.0);
}

/* By the study's own law of ballots, for features and response that vary as a plan guesses.
 * Infinite when no number is enough. */
static double ballots_needed(const struct tremolo_study *study, double wider)
{
    const struct tremolo_rank_law law = {study->rank_first, study->rank_top};
    struct tremolo_ballot_plan_input input = {
        .dimension = study->dimension,
        .response_public = study->response == TREMOLO_RESPONSE_PUBLIC,
        .h = (double)study->constant / TREMOLO_BALLOT_ONE,
        .g = (double)study->response_weight / TREMOLO_BALLOT_ONE,
        .devices = study->dimension + 3.0, /* the number that is asked for does not depend on it */
        .feature_variance = TREMOLO_PLAN_SD * TREMOLO_PLAN_SD,
        .r2 = TREMOLO_PLAN_R2,
        .response_variance = TREMOLO_PLAN_SD * TREMOLO_PLAN_SD,
        .wider = wider,
    };
    struct tremolo_ballot_plan plan;
    return tremolo_rank_scale(&input.c, &law) == TREMOLO_OK &&
                   tremolo_ballot_plan(&plan, &input) == TREMOLO_OK
               ? plan.devices_needed
               : INFINITY;
}

/* From the study alone, so a study without a report has a number, too. The number of devices that
 * the plan is given does not matter for it. `file` may be NULL for ballots, and is not read for
 * samples; without it features are taken to vary as a plan guesses. */
double tremolo_release_devices_needed(const struct tremolo_study *study,
                                      const struct tremolo_study_file *file)
{
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        return ballots_needed(study, file != NULL ? widest_of(file) : 1.0);
    }
    struct tremolo_sample_release release = tremolo_release_of(study, 1.0, 1.0);
    double unit = release.keep * release.feature_scale;
    /* Vectors have the length 1, so that the waves' variance is shared by the coordinates. */
    double wire = release.noise_variance +
                  release.modulation * (double)release.vectors / (double)release.dimension;
    const struct tremolo_plan_input input = {
        .dimension = release.dimension,
        .devices = (double)release.dimension + 3.0,
        .noise_sd = sqrt(wire) / unit,
        .feature_variance = TREMOLO_PLAN_SD * TREMOLO_PLAN_SD,
        .r2 = TREMOLO_PLAN_R2,
        .response_variance = TREMOLO_PLAN_SD * TREMOLO_PLAN_SD,
        .response_private = release.response_private,
    };
    return tremolo_plan_needed(&input);
}
