/* inputs_json.h -- how features come from raw columns, as a member of documents. */
#ifndef TREMOLO_INPUTS_JSON_H
#define TREMOLO_INPUTS_JSON_H

#include <jansson.h>

#include "tremolo_inputs.h"

/* {"columns": [{"name", "kind", ...}], "terms"}; null for NULL. */
json_t *inputs_json(const struct tremolo_inputs *inputs);

/* A category's levels, and what stands for a missing value; NULL where there are none. */
json_t *input_levels_json(const struct tremolo_input *input);
json_t *input_missing_json(const struct tremolo_input *input);

/* Read it back, whoever wrote it. False with a sentence in `error`. */
bool inputs_from_json(struct tremolo_inputs **inputs, const json_t *object,
                      char error[TREMOLO_TERMS_ERROR_BYTES]);

#endif
