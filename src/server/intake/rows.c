/* rows.c -- room for rows, and the one place where reports are folded. */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

enum tremolo_status rows_reserve(struct rows *rows, size_t row_values, size_t capacity)
{
    if (capacity <= rows->capacity) {
        return TREMOLO_OK;
    }
    int16_t *values = realloc(rows->values, capacity * row_values * sizeof *values);
    if (values == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    rows->values = values;
    uint8_t *buckets = realloc(rows->buckets, capacity);
    if (buckets == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    rows->buckets = buckets;
    rows->capacity = capacity;
    return TREMOLO_OK;
}

void rows_free(struct rows *rows)
{
    free(rows->values);
    free(rows->buckets);
}

void rows_put(struct rows *rows, size_t row_values, size_t at, const int16_t *row, unsigned bucket)
{
    memmove(rows->values + at * row_values, row, row_values * sizeof *row);
    rows->buckets[at] = (uint8_t)bucket;
}

enum tremolo_status rows_fold(struct tremolo_moments *moments, const struct tremolo_study *study,
                              const struct rows *rows, size_t count)
{
    return tremolo_release_fold(moments, study, rows->values, rows->buckets, count);
}
