/* planning_json.h -- a plan as a document, and the names in it. */
#ifndef TREMOLO_PLANNING_JSON_H
#define TREMOLO_PLANNING_JSON_H

#include <jansson.h>

#include "tremolo_planning.h"

/* As tremolo_plan_json() has it. */
json_t *plan_document(const struct tremolo_plan_request *request,
                      const struct tremolo_plan_answer *answer);

/* What a lever changes, in words. */
void plan_lever_name(char *text, size_t bytes, const struct tremolo_plan_lever *lever);

#endif
