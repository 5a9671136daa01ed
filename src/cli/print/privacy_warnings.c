/* privacy_warnings.c -- for `study check`, `plan` and `simulate`: structs, then words. */
#include "privacy_warnings.h"

#include <stdio.h>

#include "coefficients.h"
#include "tremolo_privacy.h"

static const double rounding_high = 0.01;

size_t privacy_warnings(struct privacy_warning warnings[PRIVACY_WARNINGS], double epsilon,
                        double rounding)
{
    size_t count = 0;
    if (epsilon > TREMOLO_EPSILON_HARDLY) {
        warnings[count++] = (struct privacy_warning){PRIVACY_EPSILON_LARGE, epsilon};
    }
    if (rounding > rounding_high) {
        warnings[count++] = (struct privacy_warning){PRIVACY_GRID_COARSE, rounding};
    }
    return count;
}

void privacy_warning_words(char text[PRIVACY_WARNING_BYTES], const struct privacy_warning *warning)
{
    if (warning->kind == PRIVACY_EPSILON_LARGE) {
        (void)snprintf(text, PRIVACY_WARNING_BYTES,
                       "Epsilon %g protects hardly anything; most studies stay below %g",
                       tremolo_digits_up(warning->value, 6), TREMOLO_EPSILON_HARDLY);
    } else {
        (void)snprintf(
            text, PRIVACY_WARNING_BYTES,
            "The device's grid is coarse: rounding on it costs %.1f%% more noise; a larger "
            "epsilon or fewer features have a finer one",
            tremolo_percent_up(warning->value));
    }
}

void privacy_warnings_print(double epsilon)
{
    struct privacy_warning found[PRIVACY_WARNINGS];
    size_t count = privacy_warnings(found, epsilon, 0);
    for (size_t i = 0; i < count; i++) {
        char words[PRIVACY_WARNING_BYTES];
        char text[PRIVACY_WARNING_BYTES + 2];
        privacy_warning_words(words, &found[i]);
        (void)snprintf(text, sizeof text, "%s.", words);
        coefficients_paragraph(text);
    }
}
