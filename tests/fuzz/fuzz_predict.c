/* fuzz_predict.c -- the reader of saved estimates, as predict reads them.
 *
 * Properties: a refusal is a sentence that ends; what is read predicts numbers or nothing, and an
 * interval holds its mean. */
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "tremolo_predict.h"
#include "inputs.h"

static void check(const struct tremolo_prediction *prediction)
{
    const struct tremolo_inputs *inputs = tremolo_prediction_inputs(prediction);
    double values[TREMOLO_INPUTS_MAX];
    struct tremolo_predicted row;
    fuzz_require(inputs->count >= 1 && inputs->count <= TREMOLO_INPUTS_MAX);
    fuzz_require(tremolo_prediction_hidden(prediction) <= inputs->features + 1);
    for (int kind = 0; kind < 3; kind++) {
        for (size_t i = 0; i < inputs->count; i++) {
            values[i] = kind == 0 ? NAN : kind == 1 ? 1.0 : (double)i - 1.5;
        }
        bool known = tremolo_predict(&row, prediction, values);
        fuzz_require(known || (isnan(row.prediction) && isnan(row.mean)));
        fuzz_require(isnan(row.low) || (row.low <= row.mean && row.mean <= row.high));
        fuzz_require(isnan(row.mean) == isnan(row.standard_error));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[TREMOLO_PREDICT_ERROR_BYTES] = "";
    struct tremolo_prediction *prediction = NULL;
    if (tremolo_prediction_read(&prediction, (const char *)data, size, error)) {
        check(prediction);
        tremolo_prediction_free(prediction);
    } else {
        fuzz_require(error[0] != '\0' && memchr(error, 0, sizeof error) != NULL);
    }
    return 0;
}
