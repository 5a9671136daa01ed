/* estimate_result.h -- a server's estimate as a result to hand on. */
#ifndef TREMOLO_CLI_ESTIMATE_RESULT_H
#define TREMOLO_CLI_ESTIMATE_RESULT_H

#include <jansson.h>

/* The document (result.h) of what GET .../estimate answered. */
json_t *result_of_estimate(const json_t *answer, const char *line);

#endif
