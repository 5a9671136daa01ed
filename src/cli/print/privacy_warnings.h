/* privacy_warnings.h -- what is allowed of a guarantee, and still deserves a word. */
#ifndef TREMOLO_CLI_PRIVACY_WARNINGS_H
#define TREMOLO_CLI_PRIVACY_WARNINGS_H

#include <stddef.h>

enum privacy_warning_kind {
    PRIVACY_EPSILON_LARGE,
    PRIVACY_DISTANCE_SMALL,
    PRIVACY_GRID_COARSE,
    PRIVACY_WARNINGS
};

struct privacy_warning {
    enum privacy_warning_kind kind;
    double value; /* epsilon, half ranges, or the share that rounding adds to the sensitivity */
};

enum { PRIVACY_WARNING_BYTES = 256 };

/* What may deserve a word; 0: not so. */
struct privacy_terms {
    double epsilon;
    double distance; /* between neighbours, in half ranges; 0: any two, or other units */
    double rounding; /* what the device's grid adds to the sensitivity, as a share of it */
};

/* How many there are. */
size_t privacy_warnings(struct privacy_warning warnings[PRIVACY_WARNINGS],
                        const struct privacy_terms *terms);

/* One of them as a sentence without its end. */
void privacy_warning_words(char text[PRIVACY_WARNING_BYTES], const struct privacy_warning *warning);

/* All of them, printed as paragraphs. */
void privacy_warnings_print(const struct privacy_terms *terms);

#endif
