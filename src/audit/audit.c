/* audit.c -- what the bytes of this build really give away: plans, and the order of a run.
 *
 * First what needs no counting (ledger.c), then noisy samples with so little noise that
 * everything else shows (samples.c), then the study itself with pairs of neighbours
 * (pairs.c); or ballots (ballot.c). All of them note single tests under the name
 * of a check (checks.c). */
#include "audit_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Ranges that are neither alike nor centred: a build that mixes them up is seen. */
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

/* As if noise were too small: everything but the noise is larger than the file says. The
 * wire was made for the smaller values, and may need another bit. */
static void enlarge(struct tremolo_study *study, double factor)
{
    study->clip = (uint32_t)(study->clip * factor);
    study->unit = (uint32_t)(study->unit * factor);
    study->distance = (uint32_t)(study->distance * factor);
    if (tremolo_study_check(study) == TREMOLO_BAD_GRID) {
        study->wire_bits++;
    }
}

static void take_study(struct tremolo_audit_plan *plan, const struct tremolo_study *study)
{
    plan->study = *study;
    memcpy(plan->bounds, study->bounds, study->dimension * sizeof *plan->bounds);
    plan->study.bounds = plan->bounds;
}

/* The claim is what the law of the rank costs. Too little chance is the law of a larger
 * epsilon. */
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

uint64_t tremolo_audit_releases(const struct tremolo_audit_plan *plan)
{
    return (uint64_t)plan->study.rounds * plan->study.samples;
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
            audit_noise_run(audit);
        }
        if (audit->status == TREMOLO_OK && plan->timing) {
            audit_timing_run(audit);
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
