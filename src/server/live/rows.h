/* rows.h -- checked reports on their way into the sums of a round.
 *
 * check_report() makes one row of a report; rows gather here and are folded together, and
 * the sums know a row's bucket only. Zero the struct to begin. */
#ifndef SERVER_ROWS_H
#define SERVER_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "tremolo_release.h"
#include "tremolo_status.h"

struct rows {
    int16_t *values; /* check.row_values for each row */
    uint8_t *buckets;
    size_t capacity;
};

/* Room for `capacity` rows in all. */
TREMOLO_MUST_USE enum tremolo_status rows_reserve(struct rows *rows, size_t row_values,
                                                  size_t capacity);
void rows_free(struct rows *rows);

/* Put a row, which may lie anywhere in `rows` behind it, at place `at`. */
void rows_put(struct rows *rows, size_t row_values, size_t at, const int16_t *row, unsigned bucket);

/* As tremolo_release_fold(), in two steps, for sums that others read: the lock that guards them is
 * needed for the second only. rows_expand() takes rows from `from` on, of `count` in all, and
 * returns how many it took, at least one; rows_add() adds these. */
enum { ROWS_EXPANDED_BYTES = 1 << 16 };
size_t rows_expand(int8_t expanded[ROWS_EXPANDED_BYTES], const struct tremolo_study *study,
                   const struct rows *rows, size_t from, size_t count);
TREMOLO_MUST_USE enum tremolo_status rows_add(struct tremolo_moments *moments,
                                              const struct tremolo_study *study,
                                              const struct rows *rows,
                                              const int8_t expanded[ROWS_EXPANDED_BYTES],
                                              size_t from, size_t taken);

#endif
