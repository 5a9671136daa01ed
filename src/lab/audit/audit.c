/* audit.c -- what the bytes of this build really give away: plans, and the order of a run.
 *
 * First what needs no counting (audit_ledger.c), then noisy samples with so little noise that
 * everything else shows (audit_samples.c), then the study itself with pairs of neighbours
 * (audit_pairs.c); or ballots (audit_ballot.c). All of them note single tests under the name
 * of a check (audit_checks.c). */
#include "audit_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    if (status == TREMOLO_OK) {
        status = tremolo_rank_law_for(&law, epsilon * factor);
    }
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
    bool ballot = plan->study.release == TREMOLO_RELEASE_BALLOT;
    if (made != NULL && audit != NULL) {
        audit->plan = plan;
        audit->result = made;
        audit->random = tremolo_random_from(plan->seed, 1);
        audit->device.random = tremolo_random_from(plan->seed, 0);
        audit->device.seeded = plan->seeded;
        audit->device.flipped = SIZE_MAX;
        audit->device.studies = 1;
        audit->progress = progress;
        tremolo_progress_begin(progress, "auditing", plan->pairs);
        status = audit_ledger_run(audit);
        if (status == TREMOLO_OK) {
            status = ballot ? audit_ballot_run(audit) : audit_noise_run(audit);
        }
        if (status == TREMOLO_OK && plan->timing) {
            status = audit_timing_run(audit);
        }
        tremolo_progress_end(progress);
        audit_judge(made, plan->false_alarm > 0.0 ? plan->false_alarm : TREMOLO_AUDIT_FALSE_ALARM);
    }
    /* A device that refuses, or cannot be read, is a finding and ends the rest. */
    if (status != TREMOLO_NO_MEMORY && made != NULL && made->checks[CHECK_READ].failed) {
        status = TREMOLO_OK;
    }
    if (status == TREMOLO_OK) {
        *result = *made;
    }
    free(made);
    free(audit);
    return status;
}
