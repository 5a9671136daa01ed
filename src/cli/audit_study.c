/* audit_study.c -- a study file's mechanism, as the audit wants it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit.h"
#include "cli.h"
#include "input.h"
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

static enum tremolo_status take(struct audit_plan *plan, struct audit_claim *claim,
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
    *claim = (struct audit_claim){.epsilon = promise.epsilon,
                                  .delta = promise.delta,
                                  .mu = promise.mu,
                                  .mu_most = promise.mu,
                                  .distance = study->distance != 0 ? terms->distance : 0.0};
    status = tremolo_base64_encode(claim->study, sizeof claim->study, tremolo_study_file_id(file),
                                   TREMOLO_STUDY_ID_BYTES);
    memset(plan, 0, sizeof *plan);
    plan->study = *study;
    memcpy(plan->bounds, study->bounds, study->dimension * sizeof *plan->bounds);
    plan->study.bounds = plan->bounds;
    if (clip_factor > 1.0) {
        enlarge(&plan->study, clip_factor);
    }
    return status == TREMOLO_OK ? audit_plan_finish(plan, half_distance(&plan->study)) : status;
}

int audit_study_read(struct audit_plan *plan, struct audit_claim *claim, const char *path,
                     double delta, double clip_factor)
{
    struct tremolo_study_file *file = NULL;
    int code = cli_read_study(&file, "audit", path);
    if (code != CLI_DONE) {
        return code;
    }
    enum tremolo_status status = take(plan, claim, file, delta, clip_factor);
    tremolo_study_file_free(file);
    return status == TREMOLO_OK ? CLI_DONE
                                : cli_fail(cli_exit_of(status), "audit", "%s: %s", path,
                                           tremolo_status_sentence(status));
}
