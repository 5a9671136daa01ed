/* privacy_warnings.h -- what is allowed of a guarantee, and still deserves a word. */
#ifndef TREMOLO_CLI_PRIVACY_WARNINGS_H
#define TREMOLO_CLI_PRIVACY_WARNINGS_H

#include <stddef.h>

enum { PRIVACY_WARNINGS = 3, PRIVACY_WARNING_BYTES = 256 };

/* What may deserve a word; 0: not so. */
struct privacy_terms {
    double epsilon;
    double distance; /* between neighbours, in half ranges; 0: any two, or other units */
    double rounding; /* what the device's grid adds to the sensitivity, as a share of it */
};

/* Sentences without their ends; how many there are. */
size_t privacy_warnings(char text[PRIVACY_WARNINGS][PRIVACY_WARNING_BYTES],
                        const struct privacy_terms *terms);

/* All of them, printed as paragraphs. */
void privacy_warnings_print(const struct privacy_terms *terms);

#endif
