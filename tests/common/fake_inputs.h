/* fake_inputs.h -- what a model's features are made of: columns a, b, ... from 0 to 1. */
#ifndef FAKE_INPUTS_H
#define FAKE_INPUTS_H

#include <jansson.h>

#include "inputs.h"

/* Up to 26 of them; free with tremolo_inputs_free. NULL without memory. */
static inline struct tremolo_inputs *fake_inputs(size_t columns)
{
    char error[TREMOLO_TERMS_ERROR_BYTES];
    struct tremolo_inputs *inputs = NULL;
    json_t *list = json_array();
    for (size_t i = 0; i < columns; i++) {
        const char name[2] = {(char)('a' + i), '\0'};
        (void)json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:i}", "name", name, "kind",
                                                    "numeric", "low", 0, "high", 1));
    }
    json_t *json = json_pack("{s:o, s:n}", "columns", list, "terms");
    bool good = inputs_from_json(&inputs, json, error);
    json_decref(json);
    return good ? inputs : NULL;
}

#endif
