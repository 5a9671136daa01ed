/* estimate_json.h -- numbers in the answers that analysts and dashboards read. */
#ifndef SERVER_ESTIMATE_JSON_H
#define SERVER_ESTIMATE_JSON_H

#include <jansson.h>
#include <math.h>
#include <stddef.h>

enum { ESTIMATE_JSON = JSON_COMPACT | JSON_REAL_PRECISION(17) };

/* JSON has no infinity; null stands for "no number". */
static inline json_t *estimate_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static inline json_t *estimate_numbers(const double *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        (void)json_array_append_new(list, estimate_number(values[i]));
    }
    return list;
}

#endif
