/* tremolo_predict_table.h -- predictions for the rows of a table.
 *
 *     struct tremolo_predicted *rows = calloc(table->rows, sizeof *rows);
 *     struct tremolo_predict_counts counts;
 *     if (!tremolo_predict_table(rows, &counts, prediction, table, error)) { ... }
 */
#ifndef TREMOLO_PREDICT_TABLE_H
#define TREMOLO_PREDICT_TABLE_H

#include "tremolo_predict.h"
#include "tremolo_table.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tremolo_predict_counts {
    size_t missing; /* rows without a prediction: a value is missing, or a term has none */
    size_t hidden;  /* rows with a prediction, but without an interval */
    size_t beyond;  /* rows of which tremolo_prediction_is_beyond() */
};

/* Fill table->rows of `rows`; other columns of the table are not looked at. False with a sentence
 * in `error` when a column is not there or a cell is neither missing nor of its column's kind. */
bool tremolo_predict_table(struct tremolo_predicted *rows, struct tremolo_predict_counts *counts,
                           const struct tremolo_prediction *prediction,
                           const struct tremolo_table *table,
                           char error[TREMOLO_TABLE_ERROR_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
