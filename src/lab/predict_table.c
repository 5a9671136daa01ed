/* predict_table.c -- predictions for the rows of a table. */
#include "tremolo_predict_table.h"
#include "refuse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"
#include "inputs.h"

/* What simulate takes at most, too. */
static const double VALUE_MAX = 1e100;

/* Where each input stands in the table. */
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

static bool refuse_cell(char *error, const struct tremolo_table *table, size_t row, size_t column,
                        const struct tremolo_input *input)
{
    char list[TREMOLO_TABLE_ERROR_BYTES / 2] = "a number";
    if (input->kind == TREMOLO_STUDY_YES_NO) {
        (void)snprintf(list, sizeof list, "yes or no");
    } else if (input->kind == TREMOLO_STUDY_CATEGORY) {
        size_t used = (size_t)snprintf(list, sizeof list, "one of ");
        tremolo_words_list(list + used, sizeof list - used, input->level, input->levels);
    }
    return refuse(error, "%s %zu, column '%.60s': '%.40s' must be %s, as in what was learned from",
                  table->place, tremolo_table_line(table, row), table->name[column],
                  tremolo_table_cell(table, row, column), list);
}

/* A number, a level's place, or NAN. */
static bool read_cell(double *value, const struct tremolo_table *table, size_t row, size_t column,
                      const struct tremolo_input *input, char *error)
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

static bool predict_rows(struct tremolo_predicted *rows, struct tremolo_predict_counts *counts,
                         const struct tremolo_prediction *prediction,
                         const struct tremolo_table *table, const size_t *column, char *error)
{
    const struct tremolo_inputs *inputs = tremolo_prediction_inputs(prediction);
    double values[TREMOLO_INPUTS_MAX];
    for (size_t r = 0; r < table->rows; r++) {
        for (size_t i = 0; i < inputs->count; i++) {
            if (!read_cell(&values[i], table, r, column[i], &inputs->input[i], error)) {
                return false;
            }
        }
        if (!tremolo_predict(&rows[r], prediction, values)) {
            counts->missing++;
            continue;
        }
        counts->hidden += isnan(rows[r].mean) ? 1 : 0;
        counts->beyond += tremolo_prediction_is_beyond(prediction, values) ? 1 : 0;
    }
    return true;
}

bool tremolo_predict_table(struct tremolo_predicted *rows, struct tremolo_predict_counts *counts,
                           const struct tremolo_prediction *prediction,
                           const struct tremolo_table *table, char error[TREMOLO_TABLE_ERROR_BYTES])
{
    const struct tremolo_inputs *inputs = tremolo_prediction_inputs(prediction);
    size_t *column = calloc(inputs->count, sizeof *column);
    *counts = (struct tremolo_predict_counts){0};
    if (column == NULL) {
        return refuse(error, "out of memory");
    }
    bool good = find_columns(column, inputs, table, error) &&
                predict_rows(rows, counts, prediction, table, column, error);
    free(column);
    return good;
}
