/* tremolo_release.h -- from a device's report to debiased moments.
 *
 * The one place that says what the integers of a study's reports are:
 *
 *     int16_t row[tremolo_row_values(study)];
 *     status = tremolo_row_unpack(row, &report, study);
 *     honest = tremolo_row_norm2(row, study) <= tremolo_row_norm2_max(study);
 *     ...
 *     status = tremolo_release_sums(&moments, study);
 *     status = tremolo_release_fold(moments, study, rows, buckets, count);
 *     struct tremolo_sample_release release = tremolo_release_of(study, 1, 1);
 *     status = tremolo_release_evidence(&evidence, moments, &release, round.vectors);
 *
 * A study here is one that tremolo_study_check() accepted. Pure functions, safe from any
 * thread on different outputs; on failure outputs are untouched unless it says otherwise. */
#ifndef TREMOLO_RELEASE_H
#define TREMOLO_RELEASE_H

#include <stddef.h>
#include <stdint.h>

#include "tremolo_ballot.h"
#include "tremolo_device.h"
#include "tremolo_regression.h"
#include "tremolo_study_file.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TREMOLO_ROW_VALUES_MAX = TREMOLO_MAX_FOLD_COORDINATES };

/* What a decoded report carries, tremolo_row_values() integers: of a noisy sample d + 1,
 * features, then the response; of a ballot id, answer and public response. The same answers
 * as tremolo_report_unpack() and tremolo_report_answer(), without checking the study for
 * every report; `row` may be half written on failure. */
size_t tremolo_row_values(const struct tremolo_study *study);
TREMOLO_MUST_USE enum tremolo_status tremolo_row_unpack(int16_t *row,
                                                        const struct tremolo_report *report,
                                                        const struct tremolo_study *study);

/* The squared norm of what a row released, in wire units, and the largest that an honest
 * device's exceeds with probability below 1e-9. Both say nothing of ballots: 0 and more. */
double tremolo_row_norm2(const int16_t *row, const struct tremolo_study *study);
double tremolo_row_norm2_max(const struct tremolo_study *study);

/* The largest norm of what a noisy sample is without its noise, wire units. */
double tremolo_row_reach(const struct tremolo_study *study);

/* Empty sums for a study's rows; free with tremolo_moments_free. Those of tremolo_release_sums are
 * watched by the study's law (tremolo_honest.h), which takes milliseconds to compute; plain ones
 * are for devices that nobody can lie for, simulated ones. */
TREMOLO_MUST_USE enum tremolo_status tremolo_release_sums(struct tremolo_moments **moments,
                                                          const struct tremolo_study *study);
TREMOLO_MUST_USE enum tremolo_status tremolo_release_plain_sums(struct tremolo_moments **moments,
                                                                const struct tremolo_study *study);

/* Can the sums be this study's? For sums that were stored. */
bool tremolo_release_fits(const struct tremolo_moments *moments, const struct tremolo_study *study);

/* Were they watched by this study's law? Those of older versions were not. */
bool tremolo_release_watches(const struct tremolo_moments *moments,
                             const struct tremolo_study *study);

/* Add `count` rows, one after the other, each to its bucket; allocates nothing. As
 * tremolo_moments_add() and tremolo_moments_add_ballots() fails. */
TREMOLO_MUST_USE enum tremolo_status tremolo_release_fold(struct tremolo_moments *moments,
                                                          const struct tremolo_study *study,
                                                          const int16_t *rows,
                                                          const uint8_t *buckets, size_t count);

/* What a ballot study's sums tell; scaled values are 1 at the ends of their ranges. *ballots
 * is NULL, and nothing can be said, while fewer than two buckets hold any. */
TREMOLO_MUST_USE enum tremolo_status tremolo_release_ballots(struct tremolo_ballot **ballots,
                                                             const struct tremolo_moments *moments,
                                                             const struct tremolo_study *study);

/* What the study's integers mean, from the integers alone. `feature_bound` and
 * `response_bound` are the scaled values at the public bounds: 1 in a study file. V is
 * left to fill. */
struct tremolo_sample_release tremolo_release_of(const struct tremolo_study *study,
                                                 double feature_bound, double response_bound);

/* Debias the sums of one round with its vectors exactly as broadcast (m rows of d; NULL
 * without), or with the vectors that release->V holds. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_release_evidence(struct tremolo_debiased **evidence, struct tremolo_moments *moments,
                         const struct tremolo_sample_release *release, const int16_t *vectors);
TREMOLO_MUST_USE enum tremolo_status
tremolo_release_debias(struct tremolo_debiased **evidence, struct tremolo_moments *moments,
                       const struct tremolo_sample_release *release);

/* The same without the reports beyond the cut; `vectors` as broadcast, or NULL: release->V. NULL,
 * which is no failure, when the sums are not watched, or none is beyond it. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_release_robust(struct tremolo_debiased **evidence, const struct tremolo_moments *moments,
                       const struct tremolo_sample_release *release, const int16_t *vectors);
TREMOLO_MUST_USE enum tremolo_status
tremolo_release_robust_ballots(struct tremolo_ballot **ballots,
                               const struct tremolo_moments *moments,
                               const struct tremolo_study *study);

/* The variance of a study's coordinate in half ranges, where its terms tell: of a ballot's answer,
 * or of a product of answers, by what is typical. Else infinite. And the least of all
 * coordinates. */
double tremolo_release_variance(const struct tremolo_study_file *file, size_t coordinate);
double tremolo_release_least_variance(const struct tremolo_study_file *file);

/* How many times wider than a plan's is the interval of a study's coordinate: of a ballot's answer
 * that few give, or of a product of answers, by what is typical, since a plan's guess is that
 * features have a standard deviation of TREMOLO_PLAN_SD half ranges, and noise counts by one over
 * the variance. Else 1. And the largest of all coordinates. */
double tremolo_release_wider(const struct tremolo_study_file *file, size_t coordinate);
double tremolo_release_widest(const struct tremolo_study_file *file);

/* How many devices coefficients need to stand out, the widest interval's too (`wider`, as above), by
 * `plan` at its usual guesses and this study's noise; infinite when no number would do. With 1 it is
 * what the rows of an estimate say, before there is a report. */
double tremolo_release_devices_needed(const struct tremolo_study *study, double wider);

/* Vectors as debiasing wants them, and as they travel: in steps of 2^-14. */
void tremolo_release_from_wire(double *V, const int16_t *vectors, size_t count, double weight);
void tremolo_release_to_wire(int16_t *vectors, const double *V, size_t count);

#ifdef __cplusplus
}
#endif

#endif
