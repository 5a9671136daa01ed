/* audit_study.c -- a study file's mechanism, as the audit wants it. */
#include <string.h>

#include "audit_parts.h"
#include "tremolo_study_file.h"

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
static enum tremolo_status plan_ballot(struct tremolo_audit_plan *plan,
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
    enum tremolo_status status =
        tremolo_base64_encode(plan->claim.study, sizeof plan->claim.study,
                              tremolo_study_file_id(file), TREMOLO_STUDY_ID_BYTES);
    if (status == TREMOLO_OK && study->release == TREMOLO_RELEASE_BALLOT) {
        return plan_ballot(plan, study, clip_factor);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_study_file_guarantee(&promise, file, delta > 0.0 ? delta : terms->delta);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    plan->claim.epsilon = promise.epsilon;
    plan->claim.delta = promise.delta;
    plan->claim.mu = promise.mu;
    plan->claim.mu_most = promise.mu;
    plan->claim.distance = study->distance != 0 ? terms->distance : 0.0;
    take_study(plan, study);
    if (clip_factor > 1.0) {
        enlarge(&plan->study, clip_factor);
    }
    return tremolo_study_check(&plan->study);
}
