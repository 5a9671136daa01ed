/* privacy_warnings.c -- for `study check`, `plan` and `simulate`: structs, then words. */
#include "privacy_warnings.h"

#include <stdio.h>

#include "coefficients.h"
#include "tremolo_privacy.h"

static const double distance_low = 1;
static const double rounding_high = 0.01;

size_t privacy_warnings(struct privacy_warning warnings[PRIVACY_WARNINGS],
                        const struct privacy_terms *terms)
{
    size_t count = 0;
    if (terms->epsilon > TREMOLO_EPSILON_HARDLY) {
        warnings[count++] = (struct privacy_warning){PRIVACY_EPSILON_LARGE, terms->epsilon};
    }
    if (terms->distance > 0 && terms->distance < distance_low) {
        warnings[count++] = (struct privacy_warning){PRIVACY_DISTANCE_SMALL, terms->distance};
    }
    if (terms->rounding > rounding_high) {
        warnings[count++] = (struct privacy_warning){PRIVACY_GRID_COARSE, terms->rounding};
    }
    return count;
}

void privacy_warning_words(char text[PRIVACY_WARNING_BYTES], const struct privacy_warning *warning)
{
    switch (warning->kind) {
    case PRIVACY_EPSILON_LARGE:
        (void)snprintf(text, PRIVACY_WARNING_BYTES,
                       "Epsilon %g protects hardly anything; most studies stay below %g",
                       tremolo_digits_up(warning->value, 6), TREMOLO_EPSILON_HARDLY);
        return;
    case PRIVACY_DISTANCE_SMALL: /* two levels of a category differ in two coordinates */
        (void)snprintf(text, PRIVACY_WARNING_BYTES,
                       "Distance %g protects only people that near; it does not cover a yes/no "
                       "answer (2 apart), two categories (2.83) or a number's two ends (2)",
                       warning->value);
        return;
    case PRIVACY_GRID_COARSE:
    case PRIVACY_WARNINGS: break;
    }
    (void)snprintf(text, PRIVACY_WARNING_BYTES,
                   "The device's grid is coarse: rounding on it costs %.1f%% more noise; a larger "
                   "epsilon or fewer features have a finer one",
                   tremolo_percent_up(warning->value));
}

void privacy_warnings_print(const struct privacy_terms *terms)
{
    struct privacy_warning found[PRIVACY_WARNINGS];
    size_t count = privacy_warnings(found, terms);
    for (size_t i = 0; i < count; i++) {
        char words[PRIVACY_WARNING_BYTES];
        char text[PRIVACY_WARNING_BYTES + 2];
        privacy_warning_words(words, &found[i]);
        (void)snprintf(text, sizeof text, "%s.", words);
        coefficients_paragraph(text);
    }
}
