/* privacy_warnings.c -- for `study check`, `plan` and `simulate`. */
#include "privacy_warnings.h"

#include <stdio.h>

#include "coefficients.h"
#include "explain.h"

static const double distance_low = 1;
static const double rounding_high = 0.01;

size_t privacy_warnings(char text[PRIVACY_WARNINGS][PRIVACY_WARNING_BYTES],
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

void privacy_warnings_print(const struct privacy_terms *terms)
{
    char text[PRIVACY_WARNINGS][PRIVACY_WARNING_BYTES];
    size_t count = privacy_warnings(text, terms);
    for (size_t i = 0; i < count; i++) {
        coefficients_paragraph("%s.", text[i]);
    }
}
