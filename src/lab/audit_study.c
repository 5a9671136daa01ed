/* audit_study.c -- a study file's mechanism, as the audit wants it. */
#include <math.h>
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

/* Where one of the two lies from the middle: at the end of the domain, or half of
 * the distance that the study calls neighbours. */
static double half_distance(const struct tremolo_study *study)
{
    return study->distance != 0 ? fmin(0.5 * study->distance, study->clip) : study->clip;
}

enum tremolo_status tremolo_audit_plan_study(struct tremolo_audit_plan *plan,
                                             const struct tremolo_study_file *file, double delta,
                                             double clip_factor)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    const struct tremolo_study *study = tremolo_study_file_device(file);
    struct tremolo_study_guarantee promise;
    enum tremolo_status status =
        tremolo_study_file_guarantee(&promise, file, delta > 0.0 ? delta : terms->delta);
    if (status != TREMOLO_OK) {
        return status;
    }
    memset(plan, 0, sizeof *plan);
    plan->claim =
        (struct tremolo_audit_claim){.epsilon = promise.epsilon,
                                     .delta = promise.delta,
                                     .mu = promise.mu,
                                     .mu_most = promise.mu,
                                     .distance = study->distance != 0 ? terms->distance : 0.0};
    status = tremolo_base64_encode(plan->claim.study, sizeof plan->claim.study,
                                   tremolo_study_file_id(file), TREMOLO_STUDY_ID_BYTES);
    plan->study = *study;
    memcpy(plan->bounds, study->bounds, study->dimension * sizeof *plan->bounds);
    plan->study.bounds = plan->bounds;
    if (clip_factor > 1.0) {
        enlarge(&plan->study, clip_factor);
    }
    return status == TREMOLO_OK ? audit_plan_finish(plan, half_distance(&plan->study)) : status;
}
