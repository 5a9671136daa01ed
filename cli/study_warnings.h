/* study_warnings.h -- what is allowed in a study, and still deserves a word. */
#ifndef TREMOLO_CLI_STUDY_WARNINGS_H
#define TREMOLO_CLI_STUDY_WARNINGS_H

#include <stddef.h>
#include <stdint.h>

#include "tremolo_study_file.h"

enum { STUDY_WARNINGS_MAX = 3, STUDY_WARNING_BYTES = 256 };

/* "path: reason" each; how many there are at `now`, in Unix seconds. */
size_t study_warnings(char text[STUDY_WARNINGS_MAX][STUDY_WARNING_BYTES],
                      const struct tremolo_study_file *file, int64_t now);

#endif
