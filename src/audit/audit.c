/* audit.c -- what the bytes of this build really give away: plans, the order of a run, timing.
 *
 * A plan is a claim and a study: made for the claim, or taken from a study file. A run
 *
 *   1. tries what needs no counting: charges, refusals, damage, entropy, MACs (ledger.c);
 *   2. of noisy samples, makes reports with so little noise that every other fault shows
 *      (samples.c), then those of the study itself for pairs of neighbours (pairs.c);
 *      of ballots, makes ballots for pairs of people (ballot.c);
 *   3. compares running times if the plan asks for it.
 *
 * Each part notes single tests under the name of a check (checks.c). The verdict comes last, because
 * a check's p-value is corrected for the number of its tests. The first failure of the audit itself,
 * such as too little memory, ends the run; a device that refuses is a finding and no failure. */
#include "audit_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tremolo_study_file.h"
#include "study_internal.h"

enum {
    NOISE_LOG2 = 20,
    WIRE_SHIFT = 14, /* noise sd 64 on the wire */
    WIRE_BITS = 12,
    ROUNDS = 2,
    SAMPLES = 2,
};

/* ---------------------------------------------------------------- plans */

/* A built-in study is made so that the claim is just reached: its noise is fixed, and the clip
 * radius follows from mu. For a study file it is the other way round: the integers are given, and
 * the claim is read from the file.
 *
 * A factor above 1 breaks the study on purpose. The user sees that the audit catches it
 * (`--fault under-noised`), and the tests that it does not need much. */

/* Give the plan's study bounds and a private response. The ranges are neither alike nor centred,
 * so that a build that mixes them up is seen. */
static void fill_bounds(struct tremolo_audit_plan *plan, unsigned dimension)
{
    for (unsigned i = 0; i < dimension; i++) {
        plan->bounds[i] = (struct tremolo_bounds){-3000 - 500 * (int32_t)i, 5000};
    }
    plan->study.bounds = plan->bounds;
    plan->study.response_bounds = (struct tremolo_bounds){-400, 9600};
    plan->study.response = TREMOLO_RESPONSE_PRIVATE;
    plan->study.dimension = (uint16_t)dimension;
    memcpy(plan->study.id, "the study that tremolo audit asks", TREMOLO_STUDY_ID_BYTES);
}

enum tremolo_status tremolo_audit_plan_make(struct tremolo_audit_plan *plan, double epsilon,
                                            double delta, unsigned dimension, double clip_factor)
{
    struct tremolo_certified mu = {0.0, 0.0, 0.0};
    enum tremolo_status status = tremolo_gaussian_mu_for(&mu, epsilon, delta);
    memset(plan, 0, sizeof *plan);
    plan->claim = (struct tremolo_audit_claim){
        .epsilon = epsilon, .delta = delta, .mu = mu.lower, .mu_most = mu.upper};
    /* The sensitivity is rounded up by one, and mu^2 adds up over the releases. */
    double clip = floor(0.5 * mu.lower / sqrt(ROUNDS * SAMPLES) * ldexp(1.0, NOISE_LOG2)) - 1.0;
    clip = floor(clip * clip_factor);
    if (status != TREMOLO_OK || dimension < 2 || dimension > TREMOLO_AUDIT_DIMENSION_MAX ||
        !(clip >= 32.0 && clip <= 16777216.0)) {
        return status != TREMOLO_OK ? status : TREMOLO_BAD_ARGUMENT;
    }
    /* Half of the space is modulated and half is not, so that both laws are tested. */
    unsigned vectors = dimension / 2;
    plan->study = (struct tremolo_study){
        .clip = (uint32_t)clip,
        .unit = (uint32_t)clip, /* corners of the cube lie outside the ball */
        .keep = TREMOLO_KEEP_ONE,
        .rounds = ROUNDS,
        .samples = SAMPLES,
        .noise_log2 = NOISE_LOG2,
        .wire_shift = WIRE_SHIFT,
        .wire_bits = WIRE_BITS,
        .vectors = (uint16_t)vectors,
        .amplitude = (uint32_t)(0.5 * clip / sqrt(vectors)),
        .frequency = 1u << 16,
    };
    fill_bounds(plan, dimension);
    return tremolo_study_check(&plan->study);
}

enum tremolo_status tremolo_audit_plan_ballot(struct tremolo_audit_plan *plan, double epsilon,
                                              unsigned dimension, double factor)
{
    struct tremolo_rank_law law;
    memset(plan, 0, sizeof *plan);
    plan->claim = (struct tremolo_audit_claim){.epsilon = epsilon};
    enum tremolo_status status = tremolo_rank_law_for(&plan->law, epsilon);
    status = status == TREMOLO_OK ? tremolo_rank_law_for(&law, epsilon * factor) : status;
    if (status != TREMOLO_OK || dimension < 1 || dimension > TREMOLO_AUDIT_DIMENSION_MAX) {
        return TREMOLO_BAD_ARGUMENT;
    }
    plan->study = (struct tremolo_study){
        .release = TREMOLO_RELEASE_BALLOT,
        .rounds = 1,
        .samples = 1,
        .rank_first = (uint8_t)law.first,
        .rank_top = law.top,
        .constant = TREMOLO_BALLOT_ONE * 3 / 4,
        .response_weight = TREMOLO_BALLOT_WEIGHT(TREMOLO_BALLOT_ONE * 3 / 4),
    };
    fill_bounds(plan, dimension);
    return tremolo_study_check(&plan->study);
}

/* Make everything but the noise larger than the file says, which is the same as too little noise.
 * The wire was made for the smaller values and may need another bit. */
static void enlarge(struct tremolo_study *study, double factor)
{
    study->clip = (uint32_t)(study->clip * factor);
    study->unit = (uint32_t)(study->unit * factor);
    study->distance = (uint32_t)(study->distance * factor);
    if (tremolo_study_check(study) == TREMOLO_BAD_GRID) {
        study->wire_bits++;
    }
}

/* Copy a study into the plan together with its bounds, which then point into the plan. */
static void take_study(struct tremolo_audit_plan *plan, const struct tremolo_study *study)
{
    plan->study = *study;
    memcpy(plan->bounds, study->bounds, study->dimension * sizeof *plan->bounds);
    plan->study.bounds = plan->bounds;
}

/* Plan the audit of a file of ballots. The claim is what the law of the rank costs; with a factor
 * above 1 the devices get the law of so many times that epsilon. */
static enum tremolo_status claim_ballot(struct tremolo_audit_plan *plan,
                                        const struct tremolo_study *study, double factor)
{
    struct tremolo_certified epsilon;
    struct tremolo_rank_law law = {study->rank_first, study->rank_top};
    plan->law = law;
    enum tremolo_status status = tremolo_rank_epsilon(&epsilon, &plan->law);
    if (status == TREMOLO_OK) {
        plan->claim.epsilon = epsilon.upper;
        status = factor > 1.0 ? tremolo_rank_law_for(&law, epsilon.upper * factor) : TREMOLO_OK;
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    take_study(plan, study);
    plan->study.rank_first = (uint8_t)law.first;
    plan->study.rank_top = law.top;
    return plan->study.dimension <= TREMOLO_AUDIT_DIMENSION_MAX ? tremolo_study_check(&plan->study)
                                                                : TREMOLO_BAD_DIMENSION;
}

enum tremolo_status tremolo_audit_plan_study(struct tremolo_audit_plan *plan,
                                             const struct tremolo_study_file *file, double delta,
                                             double clip_factor)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    const struct tremolo_study *study = tremolo_study_file_device(file);
    struct tremolo_study_guarantee promise;
    memset(plan, 0, sizeof *plan);
    tremolo_study_id_text(plan->claim.study, tremolo_study_file_id(file));
    if (study->release == TREMOLO_RELEASE_BALLOT) {
        return claim_ballot(plan, study, clip_factor);
    }
    enum tremolo_status status =
        tremolo_study_file_guarantee(&promise, file, delta > 0.0 ? delta : terms->delta);
    if (status != TREMOLO_OK) {
        return status;
    }
    plan->claim.epsilon = promise.epsilon;
    plan->claim.delta = promise.delta;
    plan->claim.mu = plan->claim.mu_most = promise.mu;
    plan->claim.distance = study->distance != 0 ? terms->distance : 0.0;
    take_study(plan, study);
    if (clip_factor > 1.0) {
        enlarge(&plan->study, clip_factor);
    }
    return tremolo_study_check(&plan->study);
}

/* ---------------------------------------------------------------- timing
 *
 * A fair coin, thrown for every report and independent of everything else, decides which of two
 * samples a device gets. If time does not depend on the sample, every order of the times is as
 * likely for one as for the other, so the rank sum has its stated law under any load of the
 * machine. */

enum { REPORTS_MIN = 1000, REPORTS_MAX = 200000 };

struct timed {
    double seconds;
    unsigned person;
};

/* Order by time, shortest first. */
static int compare(const void *one, const void *two)
{
    double a = ((const struct timed *)one)->seconds;
    double b = ((const struct timed *)two)->seconds;
    return (a > b) - (a < b);
}

/* The rank sum of person 1 among the first `count` reports by time, as a standard normal.
 * people[] is set to how many of them each person made. Ties need no correction: the coin decides
 * their order too. */
static double rank_sum(const struct timed *timed, unsigned count, unsigned people[2])
{
    double sum = 0.0;
    people[0] = people[1] = 0;
    for (unsigned i = 0; i < count; i++) {
        people[timed[i].person]++;
        sum += timed[i].person == 1 ? i + 1.0 : 0.0;
    }
    double a = people[0];
    double b = people[1];
    return (sum - 0.5 * b * (count + 1.0)) / sqrt(fmax(1.0, a * b * (count + 1.0) / 12.0));
}

/* Note two tests of one pair of samples: over all reports, and over the faster half, where the
 * machine's other work disturbs least. */
static void judge(struct audit *audit, struct timed *timed, unsigned count, const char *what)
{
    unsigned people[2];
    qsort(timed, count, sizeof *timed, compare);
    for (unsigned part = 1; part <= 2; part++) {
        unsigned among = count / part;
        double z = rank_sum(timed, among, people);
        double r = z / sqrt(among);
        audit_note(audit, CHECK_TIMING, audit_p_normal(z), r, 0.0,
                   "a report takes longer for %s: rank correlation %.3f",
                   r > 0.0 ? what : "the middle", r);
    }
}

/* Seconds of a clock that never goes back. */
static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Time `count` reports, each by a fresh device and of a sample that a fair coin chooses. False
 * when the run has failed. */
static bool take_times(struct timed *timed, unsigned count, struct audit *audit,
                       const struct tremolo_round *round, const struct audit_sample sample[2])
{
    bool good = true;
    for (unsigned k = 0; k < count && good; k++) {
        struct tremolo_report report;
        timed[k].person = tremolo_random_bits(&audit->random) >> 63 != 0;
        good = audit_enrol(audit, UINT32_MAX, UINT32_MAX);
        timed[k].seconds = -seconds();
        good = good && audit_report(audit, &report, &audit->plan->study, round,
                                    &sample[timed[k].person], 0);
        timed[k].seconds += seconds();
    }
    return good;
}

/* Compare the middle of all ranges with a corner, with the end of one axis, and with a sample
 * that is small but not zero: shapes for which an implementation might take a short cut. */
static void run_timing(struct audit *audit)
{
    static const double places[3][2] = {{1.0, 1.0}, {0.9, 0.0}, {0.01, 0.01}};
    static const char *const names[3] = {"a corner", "an axis", "a small sample"};
    const struct tremolo_study *study = &audit->plan->study;
    int16_t *vectors = calloc((size_t)study->vectors * study->dimension + 1, sizeof *vectors);
    uint64_t wanted = audit->plan->pairs / 3;
    unsigned count = wanted < REPORTS_MAX ? (unsigned)wanted : REPORTS_MAX;
    struct timed *timed = calloc((size_t)count + 1, sizeof *timed);
    bool good =
        audit_goes_on(audit, timed == NULL || vectors == NULL ? TREMOLO_NO_MEMORY : TREMOLO_OK);
    for (unsigned j = 0; j < study->vectors && good; j++) {
        vectors[j * study->dimension + j] = TREMOLO_VECTOR_ONE;
    }
    const struct tremolo_round round = {study->vectors > 0 ? vectors : NULL, 0};
    for (unsigned pair = 0; pair < 3 && good; pair++) {
        struct audit_sample sample[2];
        for (unsigned person = 0; person < 2; person++) {
            double place[AUDIT_COORDINATES_MAX + 1] = {0.0};
            for (unsigned i = 0; i <= study->dimension && person == 1; i++) {
                place[i] = places[pair][i > 0];
            }
            audit_sample_at(&sample[person], study, place);
        }
        good = take_times(timed, count, audit, &round, sample);
        if (good && count >= REPORTS_MIN) {
            judge(audit, timed, count, names[pair]);
        } else if (good) {
            audit_leave_out(audit, CHECK_TIMING);
        }
    }
    free(vectors);
    free(timed);
}

/* ---------------------------------------------------------------- running */

enum tremolo_status tremolo_audit_run(struct tremolo_audit_result *result,
                                      struct tremolo_audit_plan *plan,
                                      const struct tremolo_progress *progress)
{
    struct tremolo_audit_result *made = calloc(1, sizeof *made);
    struct audit *audit = calloc(1, sizeof *audit);
    enum tremolo_status status = TREMOLO_NO_MEMORY;
    if (made != NULL && audit != NULL) {
        *audit = (struct audit){
            .plan = plan,
            .result = made,
            .random = tremolo_random_from(plan->seed, 1),
            .device = {.random = tremolo_random_from(plan->seed, 0),
                       .seeded = plan->seeded,
                       .flipped = SIZE_MAX,
                       .studies = 1},
            .progress = progress,
        };
        tremolo_progress_begin(progress, "auditing", plan->pairs);
        audit_ledger_run(audit);
        if (plan->study.release == TREMOLO_RELEASE_BALLOT) {
            audit_ballot_run(audit);
        } else {
            audit_samples_run(audit);
            audit_pairs_run(audit);
        }
        if (audit->status == TREMOLO_OK && plan->timing) {
            run_timing(audit);
        }
        tremolo_progress_end(progress);
        audit_judge(made, plan->false_alarm > 0.0 ? plan->false_alarm : TREMOLO_AUDIT_FALSE_ALARM);
        /* A device that refuses, or cannot be read, is a finding and ends the rest. */
        bool found = audit->status != TREMOLO_NO_MEMORY && made->checks[CHECK_READ].failed;
        status = found ? TREMOLO_OK : audit->status;
    }
    if (status == TREMOLO_OK) {
        *result = *made;
    }
    free(made);
    free(audit);
    return status;
}
