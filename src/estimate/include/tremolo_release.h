/* tremolo_release.h -- from a study's reports to evidence, for a program of one's own.
 *
 *     struct tremolo_moments *moments = NULL;
 *     status = tremolo_release_sums(&moments, study);
 *     ... for each report: tremolo_report_decode, tremolo_report_unpack, tremolo_moments_add ...
 *     struct tremolo_sample_release release = tremolo_release_of(study, 1, 1);
 *     status = tremolo_release_debias(&evidence, moments, &release);
 *     status = tremolo_infer(rows, evidence, &units, 0.95);
 *
 * A study here is one that tremolo_study_check() accepted. Pure functions, safe from any thread on
 * different outputs; a failure leaves outputs untouched. examples/private_regression.c is a whole
 * program. */
#ifndef TREMOLO_RELEASE_H
#define TREMOLO_RELEASE_H

#include "tremolo_device.h"
#include "tremolo_regression.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Empty sums for a study's reports, which also count how far the reports reach; the law of honest
 * reports that this needs takes milliseconds to compute. Free with tremolo_moments_free. */
TREMOLO_MUST_USE enum tremolo_status tremolo_release_sums(struct tremolo_moments **moments,
                                                          const struct tremolo_study *study);

/* What the study's integers mean, from the integers alone. `feature_bound` and `response_bound` are
 * the scaled values at the public bounds: 1 in a study file. The caller fills V. */
struct tremolo_sample_release tremolo_release_of(const struct tremolo_study *study,
                                                 double feature_bound, double response_bound);

/* Remove from the sums of noisy samples what noise, rounding and the vectors V added. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_release_debias(struct tremolo_debiased **evidence, struct tremolo_moments *moments,
                       const struct tremolo_sample_release *release);

#ifdef __cplusplus
}
#endif

#endif
