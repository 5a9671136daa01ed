/* rows.c -- room for rows, and how they are folded while others read the sums. */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

#include "expand.h"

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

size_t rows_expand(int8_t expanded[ROWS_EXPANDED_BYTES], const struct tremolo_study *study,
                   const struct rows *rows, size_t from, size_t count)
{
    _Static_assert((int)ROWS_EXPANDED_BYTES >= (int)TREMOLO_MAX_BALLOT_ENTRIES, "a row must fit");
    if (study->release != TREMOLO_RELEASE_BALLOT) {
        return count - from;
    }
    size_t entries = tremolo_ballot_entries(study);
    size_t most = ROWS_EXPANDED_BYTES / entries;
    size_t taken = count - from < most ? count - from : most;
    expand_rows(expanded, entries, study->id, rows->values + from * EXPAND_ROW_VALUES, taken, true);
    return taken;
}

struct expanded_rows {
    const int8_t *entries;
    size_t count; /* of entries in a row */
    const int16_t *ballots;
};

static int16_t next_expanded(int8_t *row, size_t i, void *context)
{
    const struct expanded_rows *from = context;
    memcpy(row, from->entries + i * from->count, from->count);
    return from->ballots[i * EXPAND_ROW_VALUES + EXPAND_RESPONSE];
}

enum tremolo_status rows_add(struct tremolo_moments *moments, const struct tremolo_study *study,
                             const struct rows *rows, const int8_t expanded[ROWS_EXPANDED_BYTES],
                             size_t from, size_t taken)
{
    const int16_t *values = rows->values + from * tremolo_row_values(study);
    const uint8_t *buckets = rows->buckets + from;
    if (study->release != TREMOLO_RELEASE_BALLOT) {
        return tremolo_release_fold(moments, study, values, buckets, taken);
    }
    struct expanded_rows ballots = {expanded, tremolo_ballot_entries(study), values};
    return tremolo_moments_add_ballots(moments, next_expanded, &ballots, buckets, taken);
}
