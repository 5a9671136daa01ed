/* privacy_warnings.h -- what is allowed of a guarantee, and still deserves a word. */
#ifndef TREMOLO_CLI_PRIVACY_WARNINGS_H
#define TREMOLO_CLI_PRIVACY_WARNINGS_H

#include <stddef.h>

enum privacy_warning_kind { PRIVACY_EPSILON_LARGE, PRIVACY_GRID_COARSE, PRIVACY_WARNINGS };

struct privacy_warning {
    enum privacy_warning_kind kind;
    double value; /* epsilon, or the share that rounding adds to the sensitivity */
};

enum { PRIVACY_WARNING_BYTES = 256 };

/* Of an epsilon, and of what rounding on the device's grid adds to the sensitivity, as a share of it
 * (0 where there is none). How many there are. */
size_t privacy_warnings(struct privacy_warning warnings[PRIVACY_WARNINGS], double epsilon,
                        double rounding);

/* One of them as a sentence without its end. */
void privacy_warning_words(char text[PRIVACY_WARNING_BYTES], const struct privacy_warning *warning);

/* Those of an epsilon, printed as paragraphs. */
void privacy_warnings_print(double epsilon);

#endif
