/* privacy_warnings.h -- what is allowed of a guarantee or a study and may still be a mistake. */
#ifndef TREMOLO_CLI_PRIVACY_WARNINGS_H
#define TREMOLO_CLI_PRIVACY_WARNINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_study_file.h"

/* What may need a warning; 0: not so. */
struct privacy_terms {
    double epsilon;
    double distance; /* between neighbours, in half ranges; 0: any two, or other units */
    double rounding; /* what the device's grid adds to the sensitivity, as a share of it */
};

/* All warnings of these terms, printed as paragraphs on standard output; nothing if there are
 * none. */
void privacy_warnings_print(const struct privacy_terms *terms);

/* How many warnings a study can have, and bytes of one and of a policy file, terminators
 * included. */
enum { STUDY_WARNINGS_MAX = 6, STUDY_WARNING_BYTES = 768, STUDY_POLICY_BYTES = 8 * 1024 };

/* Warnings of a study, "path: reason" each; how many there are at `now`, in Unix seconds. */
size_t study_warnings(char text[STUDY_WARNINGS_MAX][STUDY_WARNING_BYTES],
                      const struct tremolo_study_file *file, int64_t now);

/* Whether devices with the default policy, and with it a participant's page, refuse the study.
 * Then `why` says so and `policy`, unless it comes back empty, is the content of a policy file
 * that allows it. */
bool study_is_refused(char why[STUDY_WARNING_BYTES], char policy[STUDY_POLICY_BYTES],
                      const struct tremolo_study_file *file);

#endif
