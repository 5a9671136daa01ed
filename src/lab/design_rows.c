/* design_rows.c -- the rows of a design: raw values, features made of them, missing ones. */
#include "design_parts.h"
#include "refuse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study_internal.h"
#include "tremolo_words.h"
#include "inputs.h"

/* ---------------------------------------------------------------- raw values */

/* A number, a level's place, or NAN for a missing cell. */
static double raw_value(const struct tremolo_table *table, const struct column_plan *plan,
                        size_t row)
{
    double value = NAN;
    if (tremolo_table_is_missing_at(table, row, plan->column)) {
        return NAN;
    }
    if (plan->levels == 0) {
        (void)tremolo_table_number_at(&value, table, row, plan->column);
        return value;
    }
    return (double)tremolo_words_find(tremolo_table_cell(table, row, plan->column), plan->level,
                                      plan->levels);
}

/* The mean of a column's numbers, or the level that most rows have. */
static double usual_value(const struct tremolo_table *table, const struct column_plan *plan)
{
    double sum = 0, present = 0;
    size_t counts[TREMOLO_DESIGN_LEVELS_MAX + 1] = {0}, most = 0;
    for (size_t r = 0; r < table->rows; r++) {
        double value = raw_value(table, plan, r);
        if (!isnan(value)) {
            present++;
            sum += value;
            counts[plan->levels > 0 ? (size_t)value : 0]++;
        }
    }
    for (size_t i = 0; i < plan->levels; i++) {
        most = counts[i] > counts[most] ? i : most;
    }
    return plan->levels > 0 ? (double)most : sum / present;
}

static void settle_missing(struct tremolo_design *design, const struct tremolo_table *table,
                           struct column_plan *plan, enum tremolo_missing missing)
{
    if (plan->fill != NULL) { /* the study's level, as a place among those that occur */
        size_t place = tremolo_words_find(plan->fill, plan->level, plan->levels);
        plan->missing = place < plan->levels ? (double)place : NAN; /* no cell is missing */
        return;
    }
    bool some = false;
    for (size_t r = 0; isnan(plan->missing) && missing == TREMOLO_MISSING_MEAN && r < table->rows;
         r++) {
        some = some || tremolo_table_is_missing_at(table, r, plan->column);
    }
    if (some) {
        plan->missing = usual_value(table, plan);
        design->means = true;
    }
}

/* ---------------------------------------------------------------- inputs */

static struct tremolo_input input_of(const struct tremolo_table *table,
                                     const struct column_plan *plan)
{
    const struct tremolo_study_feature *feature = plan->feature;
    bool numeric = plan->levels == 0;
    bool bounded = feature != NULL && feature->kind == TREMOLO_STUDY_NUMERIC;
    bool answers =
        plan->question || (numeric && feature != NULL && feature->kind == TREMOLO_STUDY_YES_NO);
    return (struct tremolo_input){
        .name = table->name[plan->column],
        .kind = answers   ? TREMOLO_STUDY_YES_NO
                : numeric ? TREMOLO_STUDY_NUMERIC
                          : TREMOLO_STUDY_CATEGORY,
        .level = answers ? NULL : plan->level,
        .levels = answers ? 0 : plan->levels,
        .low = bounded ? feature->low : NAN,
        .high = bounded ? feature->high : NAN,
        .missing = plan->missing,
        .typical = bounded ? feature->typical : NAN,
    };
}

static bool make_inputs(struct tremolo_design *design, const struct tremolo_table *table,
                        const struct column_plan *plans, size_t count,
                        const struct tremolo_design_wish *wish, char *error)
{
    struct tremolo_input *inputs = calloc(count + 1, sizeof *inputs);
    if (inputs == NULL) {
        return refuse(error, "out of memory");
    }
    for (size_t p = 0; p < count; p++) {
        inputs[p] = input_of(table, &plans[p]);
    }
    bool good =
        tremolo_inputs_new(&design->inputs, inputs, count, wish->terms, wish->study != NULL, error);
    free(inputs);
    design->features = good ? design->inputs->features : 0;
    return good;
}

static void fill_names(struct tremolo_design *design, const char *response)
{
    const struct tremolo_term_column column = {.name = response};
    const struct tremolo_derived plain = tremolo_derived_plain(0, 0);
    for (size_t i = 0; i < design->features; i++) {
        tremolo_derived_name(design->name[i], TREMOLO_NAME_BYTES, &design->inputs->feature[i],
                             design->inputs->column);
        if (design->name[i][0] == '\0') {
            (void)snprintf(design->name[i], TREMOLO_NAME_BYTES, "(unnamed)");
        }
        (void)tremolo_text_clean(design->name[i]);
    }
    tremolo_derived_name(design->response, TREMOLO_NAME_BYTES, &plain, &column);
    (void)tremolo_text_clean(design->response);
}

/* ---------------------------------------------------------------- rows */

/* Who has a column twice as a feature asks for nothing; who has it constant neither. */
static bool refuse_constant(const struct tremolo_design *design, char *error)
{
    size_t d = design->features;
    for (size_t f = 0; f <= d; f++) {
        const double *values = f < d ? design->X + f : design->y;
        size_t stride = f < d ? d : 1, r = 1;
        while (r < design->rows && values[r * stride] == values[0]) {
            r++;
        }
        if (r >= design->rows) {
            return f < d ? refuse(error, "column '%.100s' is constant, so it explains nothing",
                                  design->name[f])
                         : refuse(error, "the response '%.100s' is constant", design->response);
        }
    }
    return true;
}

static bool refuse_missing(const struct tremolo_table *table, const struct column_plan *plans,
                           size_t count, size_t response, size_t row, char *error)
{
    size_t column = response;
    for (size_t p = 0; p < count; p++) {
        if (tremolo_table_is_missing_at(table, row, plans[p].column) && isnan(plans[p].missing)) {
            column = plans[p].column;
        }
    }
    return refuse(error,
                  "%s %zu, column '%.80s': the value is missing; rows with missing values can be "
                  "dropped%s",
                  table->place, tremolo_table_line(table, row), table->name[column],
                  column == response ? "" : ", or the column's mean can replace them");
}

static bool refuse_infinite(const struct tremolo_design *design, const struct tremolo_table *table,
                            const double *features, size_t row, char *error)
{
    size_t f = 0;
    while (f + 1 < design->features && isfinite(features[f])) {
        f++;
    }
    return refuse(error,
                  "%s %zu: '%.80s' has no value there; a logarithm needs a number above 0, "
                  "and products stay below 1e308",
                  table->place, tremolo_table_line(table, row), design->name[f]);
}

static bool fill_rows(struct tremolo_design *design, const struct tremolo_table *table,
                      const struct column_plan *plans, size_t count, size_t response,
                      const struct tremolo_design_wish *wish, char *error)
{
    double values[TREMOLO_TABLE_COLUMNS_MAX];
    for (size_t r = 0; r < table->rows; r++) {
        double *x = design->X + design->rows * design->features;
        for (size_t p = 0; p < count; p++) {
            values[p] = raw_value(table, &plans[p], r);
        }
        if (!tremolo_inputs_complete(values, design->inputs) ||
            tremolo_table_is_missing_at(table, r, response)) {
            if (wish->missing == TREMOLO_MISSING_REFUSE) {
                return refuse_missing(table, plans, count, response, r, error);
            }
            design->dropped++;
            design->unanswered += tremolo_table_is_missing_at(table, r, response);
            continue;
        }
        if (!tremolo_inputs_features(x, design->inputs, values)) {
            return refuse_infinite(design, table, x, r, error);
        }
        (void)tremolo_table_number_at(&design->y[design->rows], table, r, response);
        design->rows++;
    }
    return true;
}

bool design_fill(struct tremolo_design *design, const struct tremolo_table *table,
                 struct column_plan *plans, size_t count, size_t response,
                 const struct tremolo_design_wish *wish, char *error)
{
    for (size_t p = 0; p < count; p++) {
        settle_missing(design, table, &plans[p], wish->missing);
    }
    if (!make_inputs(design, table, plans, count, wish, error)) {
        return false;
    }
    design->name = calloc(design->features, sizeof *design->name);
    design->X = malloc(table->rows * design->features * sizeof *design->X);
    design->y = malloc(table->rows * sizeof *design->y);
    if (design->name == NULL || design->X == NULL || design->y == NULL) {
        return refuse(error, "out of memory");
    }
    fill_names(design, table->name[response]);
    if (!fill_rows(design, table, plans, count, response, wish, error)) {
        return false;
    }
    if (design->rows == 0) {
        return refuse(error, "every row has a missing value");
    }
    if (design->rows == 1) {
        return refuse(error, "one row of data is one device, and a regression needs several");
    }
    return refuse_constant(design, error);
}
