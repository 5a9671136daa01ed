/* release.c -- how a study's reports are summed, and what the sums tell. */
#include "tremolo_release.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expand.h"
#include "tremolo_honest.h"
#include "tremolo_inputs.h"
#include "tremolo_privacy.h"

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
