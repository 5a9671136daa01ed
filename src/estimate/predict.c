/* predict.c -- a document's coefficients applied to new samples.
 *
 * With w = (features, 1) the mean response is w'b by the unbiased coefficients b, and the group
 * jackknife's variance of it is w'Cw with the covariance C of the document: exactly what the
 * jackknife would give for w'b itself, so that Student's t holds with the same degrees. */
#include "tremolo_predict.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "estimate_json.h"
#include "inputs.h"

struct tremolo_prediction {
    struct tremolo_inputs *inputs;
    size_t features;
    double level, degrees;
    double reach;       /* half ranges from what is typical that a feature counts to */
    double quantile;    /* of Student's t for the level; NAN without degrees */
    double *shrunken;   /* features, then intercept */
    double *unbiased;   /* the same; NAN where noise hides it; NULL: none */
    double *covariance; /* (features + 1)^2; NULL: none */
};

static bool fail(char *error, const char *words)
{
    (void)snprintf(error, TREMOLO_PREDICT_ERROR_BYTES, "%s", words);
    return false;
}

/* ---------------------------------------------------------------- reading */

/* The estimates of a list of coefficients; NULL when it has another length. */
static double *take_estimates(const json_t *list, size_t count)
{
    double *values = json_array_size(list) == count ? calloc(count, sizeof *values) : NULL;
    for (size_t i = 0; values != NULL && i < count; i++) {
        values[i] = json_latch_member(json_array_get(list, i), "estimate");
    }
    return values;
}

/* The whole matrix from its lower triangle. */
static double *take_covariance(const json_t *list, size_t p)
{
    double *values = json_array_size(list) == p ? calloc(p * p, sizeof *values) : NULL;
    for (size_t i = 0; values != NULL && i < p; i++) {
        const json_t *row = json_array_get(list, i);
        if (json_array_size(row) != i + 1) {
            free(values);
            return NULL;
        }
        for (size_t j = 0; j <= i; j++) {
            values[i * p + j] = values[j * p + i] = json_latch_value(json_array_get(row, j));
        }
    }
    return values;
}

static bool all_finite(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            return false;
        }
    }
    return true;
}

static bool take(struct tremolo_prediction *made, const json_t *root, char *error)
{
    const json_t *prediction = json_object_get(root, "prediction");
    const char *release = json_string_value(json_object_get(root, "release"));
    if (!estimate_document_is(root)) {
        return fail(error, "this is no estimate; 'tremolo fit --save FILE.json' writes one");
    }
    if (json_is_null(prediction)) {
        return fail(error, "the estimate predicts nothing");
    }
    if (json_is_false(json_object_get(prediction, "told"))) {
        return fail(error, "the reports tell nothing to predict from: noise hides every feature's "
                           "coefficient and R^2, and no F test tells their slopes from zero");
    }
    if (!inputs_from_json(&made->inputs, json_object_get(root, "inputs"), error)) {
        return false;
    }
    size_t p = made->inputs->features + 1;
    made->features = p - 1;
    made->shrunken = take_estimates(json_object_get(prediction, "coefficients"), p);
    made->unbiased = take_estimates(json_object_get(root, "coefficients"), p);
    made->covariance = take_covariance(json_object_get(root, "covariance"), p);
    made->level = json_latch_member(root, "level");
    made->degrees = json_latch_member(json_object_get(root, "inference"), "degrees");
    made->reach =
        release != NULL && strcmp(release, "ballot") == 0 ? TREMOLO_STUDY_REACH : INFINITY;
    if (made->shrunken == NULL || !all_finite(made->shrunken, p)) {
        return fail(error, "its coefficients for prediction are not sound");
    }
    if (!(made->level > 0 && made->level < 1)) {
        return fail(error, "its level is not sound");
    }
    tremolo_prediction_set_level(made, made->level);
    return true;
}

bool tremolo_prediction_read(struct tremolo_prediction **prediction, const char *json,
                             size_t length, char error[TREMOLO_PREDICT_ERROR_BYTES])
{
    json_error_t where;
    json_t *root = json_loadb(json, length, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL) {
        (void)snprintf(error, TREMOLO_PREDICT_ERROR_BYTES,
                       "line %d is not JSON, as a result saved under a name in .json is",
                       where.line);
        return false;
    }
    struct tremolo_prediction *made = calloc(1, sizeof *made);
    bool good = made != NULL ? take(made, root, error) : fail(error, "out of memory");
    json_decref(root);
    if (!good) {
        tremolo_prediction_free(made);
        return false;
    }
    *prediction = made;
    return true;
}

void tremolo_prediction_free(struct tremolo_prediction *prediction)
{
    if (prediction != NULL) {
        tremolo_inputs_free(prediction->inputs);
        free(prediction->shrunken);
        free(prediction->unbiased);
        free(prediction->covariance);
        free(prediction);
    }
}

/* ---------------------------------------------------------------- asking */

const struct tremolo_inputs *tremolo_prediction_inputs(const struct tremolo_prediction *prediction)
{
    return prediction->inputs;
}

void tremolo_prediction_set_level(struct tremolo_prediction *prediction, double level)
{
    prediction->level = level;
    prediction->quantile = prediction->degrees > 0
                               ? tremolo_student_quantile(0.5 + level / 2, prediction->degrees)
                               : NAN;
}

size_t tremolo_prediction_hidden(const struct tremolo_prediction *prediction)
{
    size_t hidden = prediction->unbiased == NULL ? prediction->features + 1 : 0;
    for (size_t i = 0; prediction->unbiased != NULL && i <= prediction->features; i++) {
        hidden += isnan(prediction->unbiased[i]) ? 1 : 0;
    }
    return hidden;
}

bool tremolo_prediction_has_intervals(const struct tremolo_prediction *prediction)
{
    return prediction->unbiased != NULL && prediction->covariance != NULL &&
           prediction->degrees > 0;
}

/* ---------------------------------------------------------------- predicting */

/* What has the weight 0 does not matter, though noise hides it. */
static double product(const double *w, const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += w[i] != 0 ? w[i] * values[i] : 0;
    }
    return sum;
}

/* A device counts what lies further as lying there. A computed feature has bounds of its own,
 * which the document does not have, and is left as it is, as one without a range is. */
static void hold_within_reach(double *w, const struct tremolo_prediction *prediction)
{
    const struct tremolo_inputs *inputs = prediction->inputs;
    for (size_t i = 0; i < prediction->features; i++) {
        const struct tremolo_input *input = &inputs->input[inputs->feature[i].factor[0].column];
        double centre = isnan(input->typical) ? input->low / 2 + input->high / 2 : input->typical;
        double most = prediction->reach * (input->high / 2 - input->low / 2);
        if (input->kind == TREMOLO_STUDY_NUMERIC && isfinite(most) &&
            tremolo_derived_is_plain(&inputs->feature[i])) {
            w[i] = fmin(fmax(w[i], centre - most), centre + most);
        }
    }
}

bool tremolo_prediction_is_beyond(const struct tremolo_prediction *prediction, const double *values)
{
    const struct tremolo_inputs *inputs = prediction->inputs;
    for (size_t i = 0; i < inputs->count; i++) {
        const struct tremolo_input *input = &inputs->input[i];
        double slack = isinf(prediction->reach) ? 0 : input->high - input->low;
        if (input->kind == TREMOLO_STUDY_NUMERIC &&
            (values[i] < input->low - slack || values[i] > input->high + slack)) {
            return true;
        }
    }
    return false;
}

static void say_mean(struct tremolo_predicted *predicted,
                     const struct tremolo_prediction *prediction, const double *w)
{
    size_t p = prediction->features + 1;
    double variance = 0;
    predicted->mean = product(w, prediction->unbiased, p);
    for (size_t i = 0; i < p; i++) {
        variance += w[i] != 0 ? w[i] * product(w, prediction->covariance + i * p, p) : 0;
    }
    predicted->standard_error = sqrt(variance);
    if (!isfinite(predicted->mean) || !isfinite(predicted->standard_error)) {
        predicted->mean = predicted->standard_error = NAN;
        return;
    }
    double half = predicted->standard_error * prediction->quantile;
    predicted->low = predicted->mean - half;
    predicted->high = predicted->mean + half;
}

bool tremolo_predict(struct tremolo_predicted *predicted,
                     const struct tremolo_prediction *prediction, const double *values)
{
    double filled[TREMOLO_INPUTS_MAX];
    double w[TREMOLO_MAX_DIMENSION + 1];
    size_t p = prediction->features + 1;
    *predicted = (struct tremolo_predicted){NAN, NAN, NAN, NAN, NAN};
    memcpy(filled, values, prediction->inputs->count * sizeof *filled);
    if (!tremolo_inputs_complete(filled, prediction->inputs) ||
        !tremolo_inputs_features(w, prediction->inputs, filled)) {
        return false;
    }
    hold_within_reach(w, prediction);
    w[p - 1] = 1.0;
    predicted->prediction = product(w, prediction->shrunken, p);
    if (tremolo_prediction_has_intervals(prediction)) {
        say_mean(predicted, prediction, w);
    }
    return true;
}
