/* tremolo_predict.h -- what a saved estimate predicts for the rows of a table.
 *
 *     struct tremolo_predicted *rows = calloc(table->rows, sizeof *rows);
 *     struct tremolo_predict_counts counts;
 *     status = tremolo_predict_table(rows, &counts, json, length, 0, table, error);
 *
 * The document is docs/estimate.schema.json's, from any source. */
#ifndef TREMOLO_PREDICT_H
#define TREMOLO_PREDICT_H

#include "tremolo_table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NAN for what is not known. The interval is of the mean response of all people with these
 * values, not of one person, who differs from it by the residuals' standard deviation. */
struct tremolo_predicted {
    double prediction;
    double mean, standard_error, low, high;
};

struct tremolo_predict_counts {
    size_t missing; /* rows without a prediction: a value is missing, or a term has none */
    size_t hidden;  /* rows with a prediction, but without an interval */
    size_t beyond;  /* rows with a number beyond those that were learned from */
    size_t coefficients_hidden;
    bool intervals; /* false: the document has no covariance, so there are none in any row */
};

/* Fill table->rows of `rows`, with intervals of this level, or of the document's for 0; other
 * columns of the table are not read. MALFORMED for a document that predicts nothing,
 * OUT_OF_BOUNDS when a column is not there or a cell is neither missing nor of its column's kind,
 * each with a sentence in `error`. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_predict_table(struct tremolo_predicted *rows, struct tremolo_predict_counts *counts,
                      const char *json, size_t length, double level,
                      const struct tremolo_table *table, char error[TREMOLO_TABLE_ERROR_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
