/* policy_distance.h -- a policy's distance, read and turned into a study's half ranges. */
#ifndef POLICY_DISTANCE_H
#define POLICY_DISTANCE_H

#include <jansson.h>
#include <stdbool.h>

#include "tremolo_policy.h"

/* The key "distance" of a policy file: false when it is neither "any" nor features with a
 * number, true or false each. */
bool policy_read_distance(struct tremolo_policy *policy, json_t *root);

/* Is this study, under this policy, counted between any two people? Ballots and studies
 * for any two are, under every policy. */
bool policy_is_any_two(const struct tremolo_policy *policy, const struct tremolo_study_file *file);

/* How many of the study's half ranges the policy's neighbours are apart at most, 0 when
 * it protects nothing of the study. Not NULL: what is wrong with the feature *at. */
const char *policy_half_ranges(double *half_ranges, const struct tremolo_study_feature **at,
                               const struct tremolo_policy *policy,
                               const struct tremolo_study_file *file);

#endif
