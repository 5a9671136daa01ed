/* study_warnings.c -- what is allowed in a study, and still deserves a word.
 *
 * Distances are in half ranges, so yes and no are 2 apart, as are the two ends
 * of a number; two levels of a category differ in two coordinates, sqrt(8),
 * unless one of them is the reference. */
#include "study_warnings.h"

#include <stdio.h>

static const double distance_low = 1;
static const double epsilon_high = 10;

size_t study_warnings(char text[STUDY_WARNINGS_MAX][STUDY_WARNING_BYTES],
                      const struct tremolo_study_file *file, int64_t now)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    size_t count = 0;
    if (terms->distance > 0 && terms->distance < distance_low) {
        (void)snprintf(text[count++], STUDY_WARNING_BYTES,
                       "privacy.neighbours.distance: %g protects only people that near; it does "
                       "not cover a yes/no answer (2 apart), two categories (2.83) or a number's "
                       "two ends (2)",
                       terms->distance);
    }
    if (terms->epsilon > epsilon_high) {
        (void)snprintf(text[count++], STUDY_WARNING_BYTES,
                       "privacy.epsilon: %g protects hardly anything; most studies stay below %g",
                       terms->epsilon, epsilon_high);
    }
    if (terms->closes < now) {
        (void)snprintf(text[count++], STUDY_WARNING_BYTES,
                       "limits.closes: is past; no device could report");
    }
    return count;
}
