/* guarantee_print.h -- a guarantee's words and table on the terminal. */
#ifndef TREMOLO_CLI_GUARANTEE_PRINT_H
#define TREMOLO_CLI_GUARANTEE_PRINT_H

#include <jansson.h>

/* Print "reviewer", "participant" and "differences" of a guarantee document, whose
 * epsilons hold at delta. */
void guarantee_print(const json_t *guarantee, double delta);

#endif
