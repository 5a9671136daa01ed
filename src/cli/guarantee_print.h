/* guarantee_print.h -- a guarantee's words and table on the terminal. */
#ifndef TREMOLO_CLI_GUARANTEE_PRINT_H
#define TREMOLO_CLI_GUARANTEE_PRINT_H

#include <jansson.h>
#include <stdbool.h>

enum { GUARANTEE_RIGHT_BYTES = 40 };

/* tremolo_percent_text() within a sentence: "is right at most 79.2%". Returns `text`. */
const char *guarantee_right(char text[GUARANTEE_RIGHT_BYTES], double share, bool below);

/* Print "reviewer", "participant" and "differences" of a guarantee document, whose
 * epsilons hold at delta. */
void guarantee_print(const json_t *guarantee, double delta);

/* What an attacker achieves for two people who differ in other ways, a line for each. */
void guarantee_print_differences(const json_t *rows);

/* The guarantee in three lines or so, after a result: what is promised, to whom, and what an
 * attacker achieves; of a promise at a distance the differences, too. `full` is the command or option
 * that says it in full. */
void guarantee_print_short(const json_t *guarantee, const char *full);

#endif
