/* study_warnings.h -- what is allowed in a study, and still deserves a word. */
#ifndef TREMOLO_CLI_STUDY_WARNINGS_H
#define TREMOLO_CLI_STUDY_WARNINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_study_file.h"

enum { STUDY_WARNINGS_MAX = 6, STUDY_WARNING_BYTES = 768 };

/* "path: reason" each; how many there are at `now`, in Unix seconds. */
size_t study_warnings(char text[STUDY_WARNINGS_MAX][STUDY_WARNING_BYTES],
                      const struct tremolo_study_file *file, int64_t now);

/* Do devices with the default policy, and with it a participant's page, refuse the
 * study? Then `why` says so and `policy`, unless it comes back empty, is the
 * content of a policy file that allows it. */
enum { STUDY_POLICY_BYTES = 160 };
bool study_is_refused(char why[STUDY_WARNING_BYTES], char policy[STUDY_POLICY_BYTES],
                      const struct tremolo_study_file *file);

#endif
