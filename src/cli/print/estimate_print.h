/* estimate_print.h -- an estimate on the terminal. */
#ifndef TREMOLO_CLI_ESTIMATE_PRINT_H
#define TREMOLO_CLI_ESTIMATE_PRINT_H

#include <jansson.h>

/* Print a document (estimate_json.h): the table in the manner of R's summary of a linear
 * model, the prediction and the guarantee. */
void estimate_print(const json_t *document);

#endif
