/* predict.c -- a saved document's coefficients applied to the rows of a table.
 *
 * Two answers, kept apart as in the estimate: the prediction by the shrunken coefficients, the
 * best single guess; and what the unbiased coefficients say of the mean response of all people
 * with these values, with an interval that holds it at the level. With w = (features, 1) the mean
 * is w'b by the unbiased coefficients b, and the group jackknife's variance of it is w'Cw with
 * the covariance C of the document: exactly what the jackknife would give for w'b itself, so
 * Student's t holds with the same degrees. Where noise hides a coefficient that a row needs there
 * is no mean, and the prediction stands alone.
 *
 * The document may come from anywhere, so lengths and values are checked before they are used,
 * and a member that is missing or unsound is refused or taken as absent, never assumed. */
#include "tremolo_predict.h"
#include "refuse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "estimate_json.h"
#include "inputs.h"
#include "table.h"
#include "words.h"

/* The largest number taken, as by simulate. */
static const double VALUE_MAX = 1e100;

/* What is used of a document, owned here; free with free_prediction(), which accepts a zeroed
 * one. */
struct prediction {
    struct tremolo_inputs *inputs;
    size_t features;
    double reach;       /* half ranges from what is typical that a feature counts to */
    double quantile;    /* of Student's t for the level; NAN without degrees */
    double *shrunken;   /* features, then intercept */
    double *unbiased;   /* the same; NAN where noise hides it; NULL: none */
    double *covariance; /* (features + 1)^2; NULL: none */
};

/* ---------------------------------------------------------------- the document */

/* The estimates of a list of coefficients; NULL when it has another length. The caller frees it.
 * A member that is no number, as null for a hidden coefficient, becomes NaN. NULL also without
 * memory. */
static double *take_estimates(const json_t *list, size_t count)
{
    double *values = json_array_size(list) == count ? calloc(count, sizeof *values) : NULL;
    for (size_t i = 0; values != NULL && i < count; i++) {
        values[i] = json_latch_member(json_array_get(list, i), "estimate");
    }
    return values;
}

/* The whole matrix from its lower triangle. Row i of the list has i + 1 numbers. The caller frees
 * the matrix; NULL when a length is wrong or there is no memory. */
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

/* NaN and infinities alike are refused: they would spread to every row. */
static bool all_finite(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            return false;
        }
    }
    return true;
}

/* What cannot be predicted from is refused: where noise hides every coefficient and R^2, and the
 * F test is not significant, the shrunken coefficients are noise and prior alone. */
static bool take(struct prediction *made, const json_t *root, double level, char *error)
{
    const json_t *prediction = json_object_get(root, "prediction");
    const char *release = json_string_value(json_object_get(root, "release"));
    double degrees = json_latch_member(json_object_get(root, "inference"), "degrees");
    level = level > 0 ? level : json_latch_member(root, "level");
    if (!estimate_document_is(root)) {
        return refuse(error, "this is no estimate; 'tremolo fit --save FILE.json' writes one");
    }
    if (json_is_null(prediction)) {
        return refuse(error, "the estimate predicts nothing");
    }
    if (json_is_false(json_object_get(prediction, "told"))) {
        return refuse(error,
                      "the reports tell nothing to predict from: noise hides every feature's "
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
    made->reach =
        release != NULL && strcmp(release, "ballot") == 0 ? TREMOLO_STUDY_REACH : INFINITY;
    if (made->shrunken == NULL || !all_finite(made->shrunken, p)) {
        return refuse(error, "its coefficients for prediction are not sound");
    }
    if (!(level > 0 && level < 1)) {
        return refuse(error, "its level is not sound");
    }
    made->quantile = degrees > 0 ? tremolo_student_quantile(0.5 + level / 2, degrees) : NAN;
    return true;
}

/* A document from outside: all that is used of it is checked. Duplicate keys are refused, because
 * readers differ in which of them counts. */
static bool read_document(struct prediction *made, const char *json, size_t length, double level,
                          char *error)
{
    json_error_t where;
    json_t *root = json_loadb(json, length, JSON_REJECT_DUPLICATES, &where);
    bool good =
        root != NULL
            ? take(made, root, level, error)
            : refuse(error, "line %d is not JSON, as a result saved under a name in .json is",
                     where.line);
    json_decref(root);
    return good;
}

static void free_prediction(struct prediction *prediction)
{
    tremolo_inputs_free(prediction->inputs);
    free(prediction->shrunken);
    free(prediction->unbiased);
    free(prediction->covariance);
}

/* Intervals need all three: without degrees of freedom there is no quantile. */
static bool has_intervals(const struct prediction *prediction)
{
    return prediction->unbiased != NULL && prediction->covariance != NULL &&
           !isnan(prediction->quantile);
}

/* All of them are hidden without a list. */
static size_t hidden_coefficients(const struct prediction *prediction)
{
    size_t hidden = 0;
    for (size_t i = 0; i <= prediction->features; i++) {
        hidden += prediction->unbiased == NULL || isnan(prediction->unbiased[i]);
    }
    return hidden;
}

/* ---------------------------------------------------------------- one row */

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
static void hold_within_reach(double *w, const struct prediction *prediction)
{
    const struct tremolo_inputs *inputs = prediction->inputs;
    for (size_t i = 0; i < prediction->features; i++) {
        const struct tremolo_study_feature *input =
            &inputs->input[inputs->feature[i].factor[0].column];
        double centre = isnan(input->typical) ? input->low / 2 + input->high / 2 : input->typical;
        double most = prediction->reach * (input->high / 2 - input->low / 2);
        if (input->kind == TREMOLO_STUDY_NUMERIC && isfinite(most) &&
            tremolo_derived_is_plain(&inputs->feature[i])) {
            w[i] = fmin(fmax(w[i], centre - most), centre + most);
        }
    }
}

/* True if a number is beyond those that were learned from: outside of its bounds or, of ballots, a
 * whole range outside of a range that is only typical, and that one of ten lies out of. */
static bool is_beyond(const struct prediction *prediction, const double *values)
{
    const struct tremolo_inputs *inputs = prediction->inputs;
    for (size_t i = 0; i < inputs->count; i++) {
        const struct tremolo_study_feature *input = &inputs->input[i];
        double slack = isinf(prediction->reach) ? 0 : input->high - input->low;
        if (input->kind == TREMOLO_STUDY_NUMERIC &&
            (values[i] < input->low - slack || values[i] > input->high + slack)) {
            return true;
        }
    }
    return false;
}

/* The mean response of all people with these features, and its interval. A variance that is
 * negative by rounding has no root and counts as unknown, like a hidden coefficient. */
static void say_mean(struct tremolo_predicted *predicted, const struct prediction *prediction,
                     const double *w)
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

/* Predict for values of all columns as inputs.h has them; missing ones are filled in as the inputs
 * say. False, with all NAN, when one is missing that has no filling or a term has no value. */
static bool predict(struct tremolo_predicted *predicted, const struct prediction *prediction,
                    const double *values)
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
    if (has_intervals(prediction)) {
        say_mean(predicted, prediction, w);
    }
    return true;
}

/* ---------------------------------------------------------------- the table */

/* Find the column of each input. */
static bool find_columns(size_t *column, const struct tremolo_inputs *inputs,
                         const struct tremolo_table *table, char *error)
{
    const char *const *names = (const char *const *)table->name;
    for (size_t i = 0; i < inputs->count; i++) {
        const char *name = inputs->input[i].name;
        column[i] = tremolo_table_find(table, name);
        if (column[i] < table->columns) {
            continue;
        }
        const char *meant = tremolo_words_nearest(name, names, table->columns);
        return refuse(error, "there is no column '%.80s', which the estimate needs%s%.80s%s", name,
                      meant != NULL ? "; is it '" : "", meant != NULL ? meant : "",
                      meant != NULL ? "'?" : "");
    }
    return true;
}

/* Name the cell and what would be taken there. */
static bool refuse_cell(char *error, const struct tremolo_table *table, size_t row, size_t column,
                        const struct tremolo_study_feature *input)
{
    char list[TREMOLO_TABLE_ERROR_BYTES / 2] = "a number";
    if (input->kind == TREMOLO_STUDY_YES_NO) {
        (void)snprintf(list, sizeof list, "yes or no");
    } else if (input->kind == TREMOLO_STUDY_CATEGORY) {
        size_t used = (size_t)snprintf(list, sizeof list, "one of ");
        tremolo_words_list(list + used, sizeof list - used, input->levels, input->level_count);
    }
    return refuse(error, "%s %zu, column '%.60s': '%.40s' must be %s, as in what was learned from",
                  table->place, tremolo_table_line(table, row), table->name[column],
                  tremolo_table_cell(table, row, column), list);
}

/* A number, a level's place, or NAN. */
static bool read_cell(double *value, const struct tremolo_table *table, size_t row, size_t column,
                      const struct tremolo_study_feature *input, char *error)
{
    *value = NAN;
    if (tremolo_table_is_missing_at(table, row, column)) {
        return true;
    }
    bool good = input->kind == TREMOLO_STUDY_NUMERIC
                    ? tremolo_table_number_at(value, table, row, column)
                    : tremolo_input_read(value, input, tremolo_table_cell(table, row, column));
    if (!good) {
        return refuse_cell(error, table, row, column, input);
    }
    return fabs(*value) <= VALUE_MAX ||
           refuse(error, "%s %zu, column '%.60s': '%.40s' is beyond %g, the largest taken",
                  table->place, tremolo_table_line(table, row), table->name[column],
                  tremolo_table_cell(table, row, column), VALUE_MAX);
}

/* Every row, and how many of them lack something. */
static bool predict_rows(struct tremolo_predicted *rows, struct tremolo_predict_counts *counts,
                         const struct prediction *prediction, const struct tremolo_table *table,
                         const size_t *column, char *error)
{
    const struct tremolo_inputs *inputs = prediction->inputs;
    double values[TREMOLO_INPUTS_MAX];
    for (size_t r = 0; r < table->rows; r++) {
        for (size_t i = 0; i < inputs->count; i++) {
            if (!read_cell(&values[i], table, r, column[i], &inputs->input[i], error)) {
                return false;
            }
        }
        if (!predict(&rows[r], prediction, values)) {
            counts->missing++;
            continue;
        }
        counts->hidden += isnan(rows[r].mean) ? 1 : 0;
        counts->beyond += is_beyond(prediction, values) ? 1 : 0;
    }
    return true;
}

/* The rows that were filled before a refusal stay as they are. */
static bool predict_table(struct tremolo_predicted *rows, struct tremolo_predict_counts *counts,
                          const struct prediction *prediction, const struct tremolo_table *table,
                          char *error)
{
    size_t *column = calloc(prediction->inputs->count, sizeof *column);
    *counts = (struct tremolo_predict_counts){
        .coefficients_hidden = hidden_coefficients(prediction),
        .intervals = has_intervals(prediction),
    };
    if (column == NULL) {
        return refuse(error, "out of memory");
    }
    bool good = find_columns(column, prediction->inputs, table, error) &&
                predict_rows(rows, counts, prediction, table, column, error);
    free(column);
    return good;
}

/* The document is judged first, so that a wrong one is not reported as a fault of the table. */
enum tremolo_status tremolo_predict_table(struct tremolo_predicted *rows,
                                          struct tremolo_predict_counts *counts, const char *json,
                                          size_t length, double level,
                                          const struct tremolo_table *table,
                                          char error[TREMOLO_TABLE_ERROR_BYTES])
{
    struct prediction prediction = {.inputs = NULL};
    enum tremolo_status status = TREMOLO_OK;
    if (!read_document(&prediction, json, length, level, error)) {
        status = TREMOLO_MALFORMED;
    } else if (!predict_table(rows, counts, &prediction, table, error)) {
        status = TREMOLO_OUT_OF_BOUNDS;
    }
    free_prediction(&prediction);
    return status;
}
