/* release.c -- how a study's reports are summed, and what the sums tell. */
#include "tremolo_release.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expand.h"
#include "tremolo_honest.h"
#include "inputs.h"
#include "accountant.h"
#include "tremolo_regression.h"
#include "study_internal.h"

static const double ROUNDING_VARIANCE = 1.0 / 12; /* to the wire */

/* No released coordinate exceeds this in magnitude. */
static int wire_max(const struct tremolo_study *study)
{
    return (1 << (study->wire_bits - 1)) - 1;
}

static int response_max(const struct tremolo_study *study)
{
    return study->response == TREMOLO_RESPONSE_PRIVATE ? wire_max(study) : TREMOLO_RESPONSE_MAX;
}

enum tremolo_status tremolo_release_plain_sums(struct tremolo_moments **moments,
                                               const struct tremolo_study *study)
{
    bool is_private = study->response == TREMOLO_RESPONSE_PRIVATE;
    return study->release == TREMOLO_RELEASE_BALLOT
               ? tremolo_moments_new_ballots(moments, tremolo_ballot_entries(study), !is_private)
               : tremolo_moments_new(moments, study->dimension + 1u, wire_max(study),
                                     response_max(study));
}

enum tremolo_status tremolo_release_sums(struct tremolo_moments **moments,
                                         const struct tremolo_study *study)
{
    struct tremolo_moments *made = NULL;
    struct tremolo_honest law;
    enum tremolo_status status = tremolo_release_plain_sums(&made, study);
    if (status == TREMOLO_OK) {
        tremolo_honest_law(&law, study);
        status = tremolo_moments_watch(made, &law.limits);
    }
    if (status != TREMOLO_OK) {
        tremolo_moments_free(made);
        return status;
    }
    *moments = made;
    return TREMOLO_OK;
}

/* A sample's response is one coordinate more whether it is private or not; how large it can
 * be tells the two apart. */
bool tremolo_release_fits(const struct tremolo_moments *moments, const struct tremolo_study *study)
{
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        return tremolo_moments_are_ballots(moments) &&
               tremolo_moments_coordinates(moments) == tremolo_ballot_entries(study) &&
               (tremolo_moments_response_max(moments) != 0) ==
                   (study->response == TREMOLO_RESPONSE_PUBLIC);
    }
    return !tremolo_moments_are_ballots(moments) &&
           tremolo_moments_coordinates(moments) == study->dimension + 1u &&
           tremolo_moments_feature_max(moments) == wire_max(study) &&
           tremolo_moments_response_max(moments) == response_max(study);
}

bool tremolo_release_watches(const struct tremolo_moments *moments,
                             const struct tremolo_study *study)
{
    struct tremolo_honest law;
    struct tremolo_tail tail;
    tremolo_honest_law(&law, study);
    return tremolo_moments_tail(&tail, moments) && tail.limits.released == law.limits.released &&
           tail.limits.value == law.limits.value &&
           memcmp(tail.limits.norm2, law.limits.norm2, sizeof law.limits.norm2) == 0;
}

/* ---------------------------------------------------------------- ballots */

struct expansion {
    const struct tremolo_study *study;
    const int16_t *rows;
    size_t count;
    size_t entries;
    struct expand_keys keys; /* of the rows from the last multiple of EXPAND_LANES on */
    int8_t expanded[EXPAND_LANES * EXPAND_SHORT_ENTRIES]; /* the same, when they are short */
};

static int16_t next_ballot(int8_t *row, size_t i, void *context)
{
    struct expansion *from = context;
    const int16_t *ballot = from->rows + i * EXPAND_ROW_VALUES;
    size_t lane = i % EXPAND_LANES, left = from->count - i;
    size_t more = left < EXPAND_LANES ? left : EXPAND_LANES;
    bool is_short = from->entries <= EXPAND_SHORT_ENTRIES;
    if (lane == 0 && is_short) {
        expand_rows(from->expanded, from->entries, from->study->id, ballot, more, true);
    } else if (lane == 0) {
        expand_keys(&from->keys, from->study->id, ballot, more);
    }
    if (is_short) {
        memcpy(row, from->expanded + lane * from->entries, from->entries);
    } else {
        expand_row(row, from->entries, &from->keys, lane, (unsigned)ballot[EXPAND_ANSWER], true);
    }
    return ballot[EXPAND_RESPONSE];
}

enum tremolo_status tremolo_release_fold(struct tremolo_moments *moments,
                                         const struct tremolo_study *study, const int16_t *rows,
                                         const uint8_t *buckets, size_t count)
{
    if (study->release != TREMOLO_RELEASE_BALLOT) {
        return tremolo_moments_add(moments, rows, buckets, count);
    }
    struct expansion expansion;
    expansion.study = study;
    expansion.rows = rows;
    expansion.count = count;
    expansion.entries = tremolo_ballot_entries(study);
    return tremolo_moments_add_ballots(moments, next_ballot, &expansion, buckets, count);
}

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
    return tremolo_ballot_new(ballots, sums, TREMOLO_BUCKETS, &release);
}

/* ---------------------------------------------------------------- noisy samples */

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

/* ---------------------------------------------------------------- planning */

/* An answer's coordinate, or a product of answers, lies about the share of those who give it. */
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

double tremolo_release_least_variance(const struct tremolo_study_file *file)
{
    double least = INFINITY;
    for (size_t i = 0; i < tremolo_study_file_dimension(file); i++) {
        least = fmin(least, tremolo_release_variance(file, i));
    }
    return least;
}

double tremolo_release_wider(const struct tremolo_study_file *file, size_t coordinate)
{
    return fmax(TREMOLO_PLAN_SD * TREMOLO_PLAN_SD / tremolo_release_variance(file, coordinate),
                1.0);
}

double tremolo_release_widest(const struct tremolo_study_file *file)
{
    double widest = 1.0;
    for (size_t i = 0; i < tremolo_study_file_dimension(file); i++) {
        widest = fmax(widest, tremolo_release_wider(file, i));
    }
    return widest;
}

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

double tremolo_release_devices_needed(const struct tremolo_study *study, double wider)
{
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        return ballots_needed(study, wider);
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

void tremolo_release_from_wire(double *V, const int16_t *vectors, size_t count, double weight)
{
    for (size_t i = 0; i < count; i++) {
        V[i] = weight * vectors[i] / TREMOLO_VECTOR_ONE;
    }
}

void tremolo_release_to_wire(int16_t *vectors, const double *V, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        vectors[i] = (int16_t)lrint(V[i] * TREMOLO_VECTOR_ONE);
    }
}

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

/* ---------------------------------------------------------------- without the farthest */

/* The sums within the cut, or NULL when all are. */
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

/* The noise variance of reports that are not beyond the cut, by that of all. */
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

enum tremolo_status tremolo_release_robust(struct tremolo_debiased **evidence,
                                           const struct tremolo_moments *moments,
                                           const struct tremolo_sample_release *release,
                                           const int16_t *vectors)
{
    struct tremolo_moments *within = NULL;
    struct tremolo_sample_release left = *release;
    left.noise_variance *= noise_within(moments, release);
    enum tremolo_status status = take_within(&within, moments);
    *evidence = NULL;
    if (within != NULL) {
        status = vectors != NULL ? tremolo_release_evidence(evidence, within, &left, vectors)
                                 : tremolo_release_debias(evidence, within, &left);
    }
    tremolo_moments_free(within);
    return status;
}

enum tremolo_status tremolo_release_robust_ballots(struct tremolo_ballot **ballots,
                                                   const struct tremolo_moments *moments,
                                                   const struct tremolo_study *study)
{
    struct tremolo_moments *within = NULL;
    enum tremolo_status status = take_within(&within, moments);
    *ballots = NULL;
    if (within != NULL) {
        status = tremolo_release_ballots(ballots, within, study);
    }
    tremolo_moments_free(within);
    return status;
}

/* ---------------------------------------------------------------- */
/* a decoded report as integers, and whether an honest device sent them.
 *
 * Plausibility: an honest device releases keep x + W + noise, rounded. Its
 * norm is at most that of the clipped sample, of the modulation
 * (amplitude sqrt m), of the rounding (half a step each) and of the noise;
 * the noise's squared norm is sigma^2 chi^2 with n degrees of freedom, and
 *     P(chi^2_n > n + 2 sqrt(n t) + 2 t) <= exp(-t)     (Laurent and Massart)
 * with t = ln 1e9. A liar can therefore pull the moments no further than an
 * unlucky honest device could.
 *
 * A ballot's row keeps its id and its answer, and becomes the entries it stands for only when
 * it is added: hundreds of them would wait otherwise. Every answer is plausible. */

/* Bits come most significant first; `held` keeps the newest of them below. */
static enum tremolo_status unpack_values(int16_t *values, const uint8_t *packed, unsigned count,
                                         unsigned width)
{
    uint32_t held = 0;
    unsigned bits = 0;
    uint32_t sign = UINT32_C(1) << (width - 1);
    for (unsigned i = 0; i < count; i++) {
        while (bits < width) {
            held = held << 8 | *packed++;
            bits += 8;
        }
        bits -= width;
        uint32_t code = held >> bits & (2 * sign - 1);
        if (code == sign) {
            return TREMOLO_OUT_OF_BOUNDS;
        }
        values[i] = (int16_t)((int32_t)(code ^ sign) - (int32_t)sign);
    }
    return (held & ((UINT32_C(1) << bits) - 1)) == 0 ? TREMOLO_OK : TREMOLO_MALFORMED;
}

size_t tremolo_row_values(const struct tremolo_study *study)
{
    return study->release == TREMOLO_RELEASE_BALLOT ? EXPAND_ROW_VALUES : study->dimension + 1u;
}

enum tremolo_status tremolo_row_unpack(int16_t *row, const struct tremolo_report *report,
                                       const struct tremolo_study *study)
{
    unsigned count = tremolo_study_coordinates(study);
    bool ballot = study->release == TREMOLO_RELEASE_BALLOT;
    size_t released_bytes = ballot ? 1 : ((size_t)count * study->wire_bits + 7) / 8;
    bool public_response = study->response == TREMOLO_RESPONSE_PUBLIC;
    if (report->has_response != public_response || report->coordinate_bytes != released_bytes) {
        return TREMOLO_MALFORMED;
    }
    if (memcmp(report->study_tag, study->id, TREMOLO_STUDY_TAG_BYTES) != 0) {
        return TREMOLO_WRONG_STUDY;
    }
    if (ballot) {
        memcpy(row, report->id, TREMOLO_REPORT_ID_BYTES);
        row[EXPAND_ANSWER] = report->coordinates[0];
        row[EXPAND_RESPONSE] = report->response;
        return TREMOLO_OK;
    }
    if (public_response) {
        row[count] = report->response;
    }
    return unpack_values(row, report->coordinates, count, study->wire_bits);
}

double tremolo_row_norm2(const int16_t *row, const struct tremolo_study *study)
{
    unsigned n = study->release == TREMOLO_RELEASE_BALLOT ? 0 : tremolo_study_coordinates(study);
    int64_t norm2 = 0;
    for (unsigned i = 0; i < n; i++) {
        norm2 += (int32_t)row[i] * row[i];
    }
    return (double)norm2;
}

double tremolo_row_reach(const struct tremolo_study *study)
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

double tremolo_row_norm2_max(const struct tremolo_study *study)
{
    const double t = 9.0 * log(10.0);
    double n = tremolo_study_coordinates(study);
    double noise = ldexp(1.0, study->noise_log2 - study->wire_shift);
    double norm = tremolo_row_reach(study) + noise * sqrt(n + 2.0 * sqrt(n * t) + 2.0 * t);
    return norm * norm;
}

/* ---------------------------------------------------------------- */
/* the law of honest reports' tails, and reports held against it.
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
