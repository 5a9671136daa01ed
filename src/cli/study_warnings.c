/* study_warnings.c -- what is allowed in a study, and still deserves a word. */
#include "study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "privacy_warnings.h"
#include "policy.h"
#include "study_internal.h"

/* A policy that allows the study, if there is one: for the study's own neighbours
 * where it names a distance, else for any two people. */
static void find_policy(char text[STUDY_POLICY_BYTES], const struct tremolo_study_file *file)
{
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    struct tremolo_study_guarantee cost;
    text[0] = '\0';
    if (!tremolo_policy_name_distance(&policy, file) ||
        tremolo_study_file_guarantee(&cost, file, policy.delta) != TREMOLO_OK) {
        return;
    }
    double needed = ceil(cost.epsilon * 1000) / 1000;
    policy.epsilon_per_study = fmax(policy.epsilon_per_study, needed);
    policy.epsilon_total = fmax(policy.epsilon_total, needed);
    if (policy.epsilon_total > 100 || tremolo_policy_ask(&policy, NULL, 0, file) != TREMOLO_OK ||
        !tremolo_policy_write(text, STUDY_POLICY_BYTES, &policy)) {
        text[0] = '\0';
    }
}

bool study_is_refused(char why[STUDY_WARNING_BYTES], char policy[STUDY_POLICY_BYTES],
                      const struct tremolo_study_file *file)
{
    const struct tremolo_policy defaults = TREMOLO_POLICY_DEFAULTS;
    char reason[512];
    policy[0] = '\0';
    if (tremolo_policy_ask(&defaults, reason, sizeof reason, file) != TREMOLO_POLICY_REFUSED) {
        return false;
    }
    (void)snprintf(why, STUDY_WARNING_BYTES,
                   "devices with the default policy, and the participant's page, refuse this "
                   "study: %s",
                   reason);
    find_policy(policy, file);
    return true;
}

/* What rounding on the device's grid adds to the sensitivity, as a share of it. */
static double rounding_of(const struct tremolo_study *device)
{
    if (device->release == TREMOLO_RELEASE_BALLOT) {
        return 0;
    }
    double apart = device->distance != 0 ? device->distance : 2.0 * device->clip;
    double kept = apart * device->keep / TREMOLO_KEEP_ONE;
    return tremolo_study_sensitivity(device) / kept - 1;
}

static size_t warn_of_privacy(char text[][STUDY_WARNING_BYTES],
                              const struct tremolo_study_file *file)
{
    char found[PRIVACY_WARNINGS][PRIVACY_WARNING_BYTES];
    const struct privacy_terms terms = {.epsilon = tremolo_study_file_terms(file)->epsilon,
                                        .distance = tremolo_study_file_terms(file)->distance,
                                        .rounding = rounding_of(tremolo_study_file_device(file))};
    size_t count = privacy_warnings(found, &terms);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(text[i], STUDY_WARNING_BYTES, "privacy: %.*s", PRIVACY_WARNING_BYTES,
                       found[i]);
    }
    return count;
}

size_t study_warnings(char text[STUDY_WARNINGS_MAX][STUDY_WARNING_BYTES],
                      const struct tremolo_study_file *file, int64_t now)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    size_t count = 0;
    count += warn_of_privacy(text + count, file);
    if (terms->closes < now) {
        (void)snprintf(text[count++], STUDY_WARNING_BYTES,
                       "limits.closes: is past; no device could report");
    }
    if (strcmp(terms->title, TREMOLO_STUDY_UNTITLED) == 0) {
        (void)snprintf(text[count++], STUDY_WARNING_BYTES,
                       "title: is still \"%s\"; participants read it first",
                       TREMOLO_STUDY_UNTITLED);
    }
    char policy[STUDY_POLICY_BYTES];
    char why[STUDY_WARNING_BYTES];
    if (study_is_refused(why, policy, file)) {
        (void)snprintf(text[count++], STUDY_WARNING_BYTES, "%s", why);
    }
    return count;
}
