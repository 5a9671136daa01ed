/* tremolo_predict.h -- what a saved estimate predicts for new samples.
 *
 *     struct tremolo_prediction *prediction = NULL;
 *     char error[TREMOLO_PREDICT_ERROR_BYTES];
 *     if (!tremolo_prediction_read(&prediction, json, length, error)) { ... }
 *     struct tremolo_predicted row;
 *     tremolo_predict(&row, prediction, values);
 *     tremolo_prediction_free(prediction);
 *
 * Two answers, kept apart as in the estimate: `prediction` by the shrunken coefficients, the best
 * single guess; and `mean`, what the unbiased coefficients say of the mean response of all people
 * with these values, with an interval that holds it at the level. Where noise hides a coefficient
 * that the sample needs there is no mean and no interval, and the prediction stands alone. Where it
 * hides every feature's coefficient and R^2, and the F test tells nothing from zero, there is no
 * prediction either, and the document is not taken. The
 * interval is of the mean, not of one person, who lies about it with the residuals' standard
 * deviation.
 *
 * The document is docs/estimate.schema.json's, whoever sent it. Reading allocates, predicting
 * does not and may run in any thread. */
#ifndef TREMOLO_PREDICT_H
#define TREMOLO_PREDICT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tremolo_inputs; /* how features follow from raw columns; opaque */

enum { TREMOLO_PREDICT_ERROR_BYTES = 256 };

struct tremolo_prediction; /* opaque */

/* NAN for what is not known. */
struct tremolo_predicted {
    double prediction;
    double mean, standard_error, low, high;
};

/* Read a document. False with a sentence in `error`; *prediction is then untouched. */
bool tremolo_prediction_read(struct tremolo_prediction **prediction, const char *json,
                             size_t length, char error[TREMOLO_PREDICT_ERROR_BYTES]);
void tremolo_prediction_free(struct tremolo_prediction *prediction); /* accepts NULL */

/* The columns it needs. */
const struct tremolo_inputs *tremolo_prediction_inputs(const struct tremolo_prediction *prediction);

/* How many coefficients noise hides, and may there be intervals at all? */
size_t tremolo_prediction_hidden(const struct tremolo_prediction *prediction);
bool tremolo_prediction_has_intervals(const struct tremolo_prediction *prediction);

/* Another level of the intervals than the document's, in (0, 1). */
void tremolo_prediction_set_level(struct tremolo_prediction *prediction, double level);

/* Predict for values of all columns as inputs.h of src/study has them; missing ones are filled in as
 * the inputs say. False, with all NAN, when one is missing that nothing stands for or a term has
 * no value. */
bool tremolo_predict(struct tremolo_predicted *predicted,
                     const struct tremolo_prediction *prediction, const double *values);

/* Is a number beyond those that were learned from: outside of its bounds or, of ballots, a whole
 * range outside of a range that is only typical, and that one of ten lies out of? */
bool tremolo_prediction_is_beyond(const struct tremolo_prediction *prediction,
                                  const double *values);

#ifdef __cplusplus
}
#endif

#endif
