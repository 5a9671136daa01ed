/* policy.h -- what a policy says of a study: whether it allows it, how a report is charged, and what
 * the ledger's budgets are. A policy itself is in tremolo_policy.h. */
#ifndef TREMOLO_HOST_POLICY_H
#define TREMOLO_HOST_POLICY_H

#include "tremolo_policy.h"

/* May this device take part? POLICY_REFUSED with a sentence. */
TREMOLO_MUST_USE enum tremolo_status tremolo_policy_ask(const struct tremolo_policy *policy,
                                                        char *why, size_t bytes,
                                                        const struct tremolo_study_file *file);

/* The study's integers with the distance at which this policy charges it: any two
 * people where the policy names none, or not all of the study's features (which
 * tremolo_policy_ask() refuses). */
struct tremolo_study tremolo_policy_device(const struct tremolo_policy *policy,
                                           const struct tremolo_study_file *file);

/* Have the policy call people neighbours in the features' own units who are so in the study:
 * what a person who trusts the study's bounds would write. Choices of answers become true, in
 * their order, as long as the study protects any difference in them together with the whole range
 * of one number; the numbers share what is left of its distance. False when there are more
 * features than a policy names; the policy is for any two people then. */
bool tremolo_policy_name_distance(struct tremolo_policy *policy,
                                  const struct tremolo_study_file *file);

/* Maxima and distance as the text of a policy file, which contains no single quote. False
 * when it does not fit. */
bool tremolo_policy_write(char *text, size_t bytes, const struct tremolo_policy *policy);

/* The ledger's budget of mu^2, and of epsilon, under this policy: each of them alone is
 * all of it. */
TREMOLO_MUST_USE enum tremolo_status tremolo_policy_budget(uint32_t *budget,
                                                           const struct tremolo_policy *policy);
uint32_t tremolo_policy_epsilon(const struct tremolo_policy *policy);

/* What releases of this kind may cost in all when `spent` was spent of mu^2 and of epsilon. 0 when
 * there is nothing left for them. */
TREMOLO_MUST_USE enum tremolo_status tremolo_policy_allows(uint32_t *allowed,
                                                           const struct tremolo_policy *policy,
                                                           enum tremolo_release_kind kind,
                                                           const uint32_t spent[2]);

#endif
