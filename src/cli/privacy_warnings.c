/* privacy_warnings.c -- what is allowed of a guarantee or a study and may still be a mistake.
 *
 * `study check`, `publish`, `plan` and `simulate` warn by the same rules. A warning never
 * changes an exit code: the file is a study, and its author decides. */
#include "privacy_warnings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text.h"
#include "explain.h"
#include "study_internal.h"
#include "policy.h"

enum { PRIVACY_WARNINGS = 3, PRIVACY_WARNING_BYTES = 256 };

/* Distances below this, in half ranges, are warned of: half of one feature's range. */
static const double distance_low = 1;
/* A share of the sensitivity: more than that costs devices that a finer grid would save. */
static const double rounding_high = 0.01;

/* Sentences without their ends; how many there are. At most PRIVACY_WARNINGS: a large epsilon, a
 * small distance and a coarse grid. */
static size_t of_privacy(char text[PRIVACY_WARNINGS][PRIVACY_WARNING_BYTES],
                         const struct privacy_terms *terms)
{
    size_t count = 0;
    if (terms->epsilon > TREMOLO_EPSILON_HARDLY) {
        (void)snprintf(text[count++], PRIVACY_WARNING_BYTES,
                       "Epsilon %g protects hardly anything; most studies stay below %g",
                       tremolo_digits_up(terms->epsilon, 6), TREMOLO_EPSILON_HARDLY);
    }
    if (terms->distance > 0 && terms->distance < distance_low) {
        /* two levels of a category differ in two coordinates */
        (void)snprintf(text[count++], PRIVACY_WARNING_BYTES,
                       "Distance %g protects only people that near; it does not cover a yes/no "
                       "answer (2 apart), two categories (2.83) or a number's two ends (2)",
                       terms->distance);
    }
    if (terms->rounding > rounding_high) {
        char more[TREMOLO_PERCENT_BYTES];
        (void)snprintf(text[count++], PRIVACY_WARNING_BYTES,
                       "The device's grid is coarse: rounding on it costs %s more noise; a "
                       "larger epsilon or fewer features have a finer one",
                       tremolo_percent_text(more, terms->rounding, false));
    }
    return count;
}

/* For commands without a study file, which have the terms as options. */
void privacy_warnings_print(const struct privacy_terms *terms)
{
    char text[PRIVACY_WARNINGS][PRIVACY_WARNING_BYTES];
    size_t count = of_privacy(text, terms);
    for (size_t i = 0; i < count; i++) {
        text_paragraph(stdout, "%s.", text[i]);
    }
}

/* ---------------------------------------------------------------- of a study */

/* A policy that allows the study, if there is one: for the study's own neighbours where it names
 * a distance, else for any two people. "" when there is none: no policy is proposed that allows
 * an epsilon above 100. What is needed is rounded up to a thousandth, so that the policy allows
 * the study in spite of rounding. */
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

/* The default policy is asked as a device would ask it, so that the author learns here what
 * participants would otherwise find out. */
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

/* The rules for terms, with the place that a study file gives them. */
static size_t warn_of_privacy(char text[][STUDY_WARNING_BYTES],
                              const struct tremolo_study_file *file)
{
    char found[PRIVACY_WARNINGS][PRIVACY_WARNING_BYTES];
    const struct privacy_terms terms = {.epsilon = tremolo_study_file_terms(file)->epsilon,
                                        .distance = tremolo_study_file_terms(file)->distance,
                                        .rounding = rounding_of(tremolo_study_file_device(file))};
    size_t count = of_privacy(found, &terms);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(text[i], STUDY_WARNING_BYTES, "privacy: %.*s", PRIVACY_WARNING_BYTES,
                       found[i]);
    }
    return count;
}

/* The refusal by devices comes last: `publish` adds to the last warning what to do about it. */
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
