/* design.c -- from a table to the numbers of a regression.
 *
 * First each wanted column gets a plan: a number, a question or a category, and what replaces a
 * missing cell. A column is numeric when more than half of its present cells are numbers; any
 * other cell in it is then a mistake and named. Otherwise it is a category. What a study says of
 * a column comes before what its cells look like. Then the rows are filled in, terms computed,
 * and rows without a value dropped and counted.
 *
 * Bounds that are read off the data are not private; a study states them beforehand. A column
 * finds its bounds by name. One-hot columns ("region=Sued") lie between 0 and 1 in every study,
 * so the feature's own name is enough.
 *
 * A design is not changed after it was built, except for the bounds and the unit that are set on
 * it. */
#include "tremolo_design.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "experiment.h"
#include "inputs.h"
#include "refuse.h"
#include "study_internal.h"
#include "table.h"
#include "words.h"

/* What a column is, and the words of a category. */
struct column_plan {
    size_t column;
    size_t levels; /* 0 for a numeric column */
    bool question; /* no and yes, in this order: named after itself, as in a study */
    const char *level[TREMOLO_DESIGN_LEVELS_MAX];
    const struct tremolo_study_feature *feature; /* of the study; NULL without */
    const char *fill;                            /* the study's level for a missing word, or NULL */
    double missing; /* the value that replaces a missing one; NAN: none */
};

/* ---------------------------------------------------------------- columns */

/* Squares of values, and their sums, stay finite. With 1e100 a square is 1e200, and the sum over
 * the most rows that a table may have is below 1e208. */
static const double VALUE_MAX = 1e100;

/* Say which column was probably meant, or which there are. A near miss is named alone, because a
 * list of a thousand columns hides it. */
static bool refuse_column(char *error, const struct tremolo_table *table, const char *name,
                          const char *role)
{
    char list[TREMOLO_TABLE_ERROR_BYTES / 2];
    const char *const *columns = (const char *const *)table->name;
    const char *meant = tremolo_words_nearest(name, columns, table->columns);
    tremolo_words_list(list, sizeof list, columns, table->columns);
    return meant != NULL
               ? refuse(error, "there is no column '%.80s'%s; did you mean '%.80s'?", name, role,
                        meant)
               : refuse(error, "there is no column '%.80s'%s; there are %s", name, role, list);
}

/* Spreadsheets write infinities. They are no finite numbers, but a column with some is still a
 * column of numbers, so that the refusal names the cell. */
static bool is_infinity(const char *text)
{
    text += *text == '+' || *text == '-';
    return strcasecmp(text, "inf") == 0 || strcasecmp(text, "infinity") == 0;
}

/* Refuse the first cell of a numeric column that is no finite number of a sane size, by line and
 * column, with what to write instead. `table->place` is "line" for files and "row" for columns in
 * memory, so that the number can be found. */
static bool check_numbers(const struct tremolo_table *table, size_t column, char *error)
{
    for (size_t r = 0; r < table->rows; r++) {
        double value = 0;
        if (tremolo_table_is_missing_at(table, r, column)) {
            continue;
        }
        if (!tremolo_table_number_at(&value, table, r, column)) {
            const char *text = tremolo_table_cell(table, r, column);
            return refuse(error, "%s %zu, column '%.80s': '%.40s' is not a finite number; %s",
                          table->place, tremolo_table_line(table, r), table->name[column], text,
                          tremolo_column_look(table->name[column], text) == TREMOLO_LOOKS_YES_NO
                              ? "write 1 for yes and 0 for no"
                              : "a missing value is " TREMOLO_TABLE_MISSING);
        }
        if (!(fabs(value) <= VALUE_MAX)) {
            return refuse(error, "%s %zu, column '%.80s': '%.40s' is beyond %g, the largest taken",
                          table->place, tremolo_table_line(table, r), table->name[column],
                          tremolo_table_cell(table, r, column), VALUE_MAX);
        }
    }
    return true;
}

/* What the cells of a column look like that are there. All are numbers of cells; a cell can be
 * counted in several of them. */
struct cells {
    size_t present, numbers, infinite, commas;
    size_t first_comma; /* its row */
};

/* Count what the cells of a column are, missing ones left out. A text is looked at once for each
 * question; files are read once, so this is not what takes the time. */
static struct cells look_at(const struct tremolo_table *table, size_t column)
{
    struct cells cells = {0};
    for (size_t r = 0; r < table->rows; r++) {
        const char *text = tremolo_table_cell(table, r, column);
        double value;
        if (!tremolo_table_is_missing(text)) {
            bool comma = tremolo_table_has_decimal_comma(text);
            cells.first_comma = comma && cells.commas == 0 ? r : cells.first_comma;
            cells.commas += comma;
            cells.infinite += is_infinity(text);
            cells.numbers += tremolo_table_is_number(text, &value);
            cells.present++;
        }
    }
    return cells;
}

/* Is it a column of numbers? Those with commas would otherwise become categories, or be called no
 * numbers: false with a sentence then. The majority decides, because a single mistyped cell must
 * not turn a column of numbers into a category of thousands of levels. A column without any
 * present cell has no such majority. */
static bool find_kind(bool *numeric, const struct tremolo_table *table, size_t column, char *error)
{
    *numeric = true;
    if (tremolo_table_holds_numbers(table, column)) {
        return true;
    }
    const struct cells cells = look_at(table, column);
    *numeric = 2 * (cells.numbers + cells.infinite) > cells.present;
    return cells.commas == 0 || 2 * (cells.commas + cells.numbers) <= cells.present ||
           refuse(error,
                  "%s %zu, column '%.80s': '%.40s' has a decimal comma; write numbers with a point",
                  table->place, tremolo_table_line(table, cells.first_comma), table->name[column],
                  tremolo_table_cell(table, cells.first_comma, column));
}

/* By bytes, so that the order of levels does not depend on the locale. */
static int compare_levels(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Levels that are written as numbers, as those of C(region). */
static int compare_numbers(const void *a, const void *b)
{
    double x = 0, y = 0;
    (void)tremolo_table_is_number(*(const char *const *)a, &x);
    (void)tremolo_table_is_number(*(const char *const *)b, &y);
    return x != y ? (x > y) - (x < y) : compare_levels(a, b);
}

/* Find the different words of a column, in the order that their coefficients get. A study's
 * filling counts as a word that occurs. More levels than a study may have, or a single one, are
 * refused. The words are borrowed from the table. They are searched one by one, which is fast
 * enough for at most TREMOLO_DESIGN_LEVELS_MAX. */
static bool collect_levels(struct column_plan *plan, const struct tremolo_table *table, char *error)
{
    if (tremolo_table_holds_numbers(table, plan->column)) {
        return refuse(error, "column '%.80s' is to be a category and holds numbers; give words",
                      table->name[plan->column]);
    }
    for (size_t r = 0; r < table->rows; r++) {
        const char *text = tremolo_table_cell(table, r, plan->column);
        if (plan->fill != NULL && tremolo_table_is_missing_at(table, r, plan->column)) {
            text = plan->fill;
        }
        if (tremolo_table_is_missing(text) ||
            tremolo_words_find(text, plan->level, plan->levels) < plan->levels) {
            continue;
        }
        if (plan->levels == TREMOLO_DESIGN_LEVELS_MAX) {
            const char *name = table->name[plan->column];
            return refuse(
                error, "%s %zu, column '%.80s': more than %d categories; leave the column out",
                table->place, tremolo_table_line(table, r), name, TREMOLO_DESIGN_LEVELS_MAX);
        }
        plan->level[plan->levels++] = text;
    }
    if (plan->levels < 2) {
        return refuse(error, "column '%.80s' is constant, so it explains nothing",
                      table->name[plan->column]);
    }
    bool numbers = true;
    for (size_t i = 0; i < plan->levels; i++) {
        double value;
        numbers = numbers && tremolo_table_is_number(plan->level[i], &value);
    }
    qsort(plan->level, plan->levels, sizeof plan->level[0],
          numbers ? compare_numbers : compare_levels);
    return true;
}

/* Put levels into the study's order; its first level is the reference. Levels that do not occur
 * are left out, and one that the study does not have is refused. Found levels are swapped to the
 * front in the study's order, so what is left behind them is unknown to it. */
static bool order_levels(struct column_plan *plan, const struct tremolo_study_feature *feature,
                         char *error)
{
    size_t placed = 0;
    for (size_t j = 0; j < feature->level_count; j++) {
        size_t i = tremolo_words_find(feature->levels[j], plan->level, plan->levels);
        if (i < plan->levels) {
            const char *found = plan->level[i];
            plan->level[i] = plan->level[placed];
            plan->level[placed++] = found;
        }
    }
    return placed == plan->levels || refuse(error, "column '%.80s': the study has no level '%.40s'",
                                            feature->name, plan->level[placed]);
}

/* Levels that are the two answers to a question get their order. A column that answers in another
 * language stays a category of two levels, which becomes one 0/1 column as well. */
static bool is_question(struct column_plan *plan)
{
    static const char *const answers[][2] = {{"no", "yes"}, {"false", "true"}};
    for (size_t i = 0; i < 2 && plan->levels == 2; i++) {
        size_t no = strcasecmp(plan->level[0], answers[i][0]) == 0 ? 0 : 1;
        const char *first = plan->level[no], *second = plan->level[1 - no];
        if (strcasecmp(first, answers[i][0]) == 0 && strcasecmp(second, answers[i][1]) == 0) {
            plan->level[0] = first;
            plan->level[1] = second;
            return true;
        }
    }
    return false;
}

/* The study's feature of that name, or NULL: the table may have columns that the study has not. */
static const struct tremolo_study_feature *feature_named(const struct tremolo_study_file *study,
                                                         const char *name)
{
    size_t features = study != NULL ? tremolo_study_file_feature_count(study) : 0;
    for (size_t i = 0; i < features; i++) {
        const struct tremolo_study_feature *feature = tremolo_study_file_feature(study, i);
        if (strcmp(feature->name, name) == 0) {
            return feature;
        }
    }
    return NULL;
}

/* A column of words. No question of the study is answered by other words. */
static bool plan_words(struct column_plan *plan, const struct tremolo_table *table,
                       const struct tremolo_study_feature *feature, char *error)
{
    const char *name = table->name[plan->column];
    for (size_t r = 0; r < table->rows && feature == NULL; r++) {
        const char *text = tremolo_table_cell(table, r, plan->column);
        if (tremolo_column_look(name, text) == TREMOLO_LOOKS_DATE) {
            return refuse(error,
                          "%s %zu, column '%.80s': '%.40s' looks like a date, which is no "
                          "number; give the days since one that you name, or leave the column out",
                          table->place, tremolo_table_line(table, r), name, text);
        }
    }
    if (!collect_levels(plan, table, error)) {
        return false;
    }
    plan->question = is_question(plan);
    return plan->question || feature == NULL || feature->kind != TREMOLO_STUDY_YES_NO ||
           refuse(error, "column '%.80s': the study has yes and no, and '%.40s' is neither", name,
                  plan->level[0]);
}

/* Take the study's replacement for a missing value. A category's filling is a level's number in
 * the study. It is kept as a word until the levels that occur are known, because their places may
 * differ. */
static void plan_missing(struct column_plan *plan)
{
    const struct tremolo_study_feature *feature = plan->feature;
    plan->missing = NAN;
    if (feature == NULL || isnan(feature->missing)) {
        return;
    }
    plan->missing = feature->missing;
    if (feature->kind == TREMOLO_STUDY_CATEGORY) {
        plan->fill = feature->levels[(size_t)feature->missing];
    }
}

/* What the study says of a column holds, whatever the cells look like; then what C() says. */
static bool plan_column(struct column_plan *plan, const struct tremolo_table *table,
                        const struct tremolo_study_file *study,
                        const struct tremolo_formula *formula, size_t column, char *error)
{
    const char *name = table->name[column];
    const struct tremolo_study_feature *feature = feature_named(study, name);
    *plan = (struct column_plan){.column = column, .feature = feature};
    plan_missing(plan);
    if (feature != NULL && feature->kind == TREMOLO_STUDY_CATEGORY) {
        return collect_levels(plan, table, error) && order_levels(plan, feature, error);
    }
    if (feature == NULL && formula != NULL && tremolo_formula_has_levels(formula, name)) {
        return collect_levels(plan, table, error);
    }
    bool numeric;
    return find_kind(&numeric, table, column, error) &&
           (numeric ? check_numbers(table, column, error)
                    : plan_words(plan, table, feature, error));
}

/* Mark the wanted columns, all but the response without a list. Columns are taken in the order of
 * the table, whatever the order of the list. */
static bool choose_columns(bool wanted[TREMOLO_TABLE_COLUMNS_MAX],
                           const struct tremolo_table *table, size_t response,
                           const struct tremolo_design_wish *wish, char *error)
{
    for (size_t c = 0; c < table->columns; c++) {
        wanted[c] = wish->feature_count == 0 && c != response;
    }
    for (size_t i = 0; i < wish->feature_count; i++) {
        const char *name = wish->features[i];
        size_t column = tremolo_table_find(table, name);
        if (column == table->columns) {
            return refuse_column(error, table, name, "");
        }
        if (column == response) {
            return refuse(error, "'%.80s' is both the response and a feature", name);
        }
        if (wanted[column]) {
            return refuse(error, "the feature '%.80s' is named twice", name);
        }
        wanted[column] = true;
    }
    return true;
}

/* Mark the columns that the terms name. */
static bool choose_terms(bool wanted[TREMOLO_TABLE_COLUMNS_MAX], const struct tremolo_table *table,
                         size_t response, const struct tremolo_formula *formula, char *error)
{
    memset(wanted, 0, TREMOLO_TABLE_COLUMNS_MAX * sizeof *wanted);
    for (size_t i = 0; i < formula->count; i++) {
        for (size_t k = 0; k < formula->term[i].factors; k++) {
            const char *name = formula->term[i].factor[k].column;
            size_t column = tremolo_table_find(table, name);
            if (column == table->columns) {
                return refuse_column(error, table, name, " for the terms");
            }
            if (column == response) {
                return refuse(error, "'%.80s' is both the response and in a term", name);
            }
            wanted[column] = true;
        }
    }
    return true;
}

/* Plan every wanted column. Returns how many there are; 0 after a refusal. `plans` has room for
 * as many as the table has columns. */
static size_t plan_columns(struct column_plan *plans, const bool *wanted,
                           const struct tremolo_table *table,
                           const struct tremolo_study_file *study,
                           const struct tremolo_formula *formula, char *error)
{
    size_t count = 0;
    for (size_t c = 0; c < table->columns; c++) {
        if (wanted[c] && !plan_column(&plans[count++], table, study, formula, c, error)) {
            return 0;
        }
    }
    if (count == 0) {
        (void)refuse(error, "there is no feature, only the response");
    }
    return count;
}

/* Name what a study would have said and a table does not. A remark is no refusal: the design is
 * built as asked, and the caller shows the remark. Without room the last one is cut. */
static void add_remark(struct tremolo_design *design, const struct tremolo_table *table,
                       const struct column_plan *plan)
{
    enum { LEVELS_MANY = 10 };
    const char *name = table->name[plan->column];
    size_t used = strlen(design->remark), row = 0;
    char words[96] = "looks like a code and is taken as an amount";
    while (row + 1 < table->rows && tremolo_table_is_missing_at(table, row, plan->column)) {
        row++;
    }
    const char *cell = tremolo_table_cell(table, row, plan->column);
    bool code = plan->levels == 0 && tremolo_column_look(name, cell) == TREMOLO_LOOKS_CODE;
    if (plan->levels > LEVELS_MANY) {
        (void)snprintf(words, sizeof words, "has %zu different words and becomes %zu features",
                       plan->levels, plan->levels - 1);
    }
    if (code || plan->levels > LEVELS_MANY) {
        (void)snprintf(design->remark + used, sizeof design->remark - used, "%scolumn '%.80s' %s",
                       used > 0 ? "; " : "", name, words);
        (void)tremolo_text_clean(design->remark);
    }
}

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

/* The mean of a column's numbers, or the level that most rows have. Of levels that are equally
 * frequent the first wins. Only called when a cell is missing; a column without a present cell
 * was refused before or gives NaN, so that its rows are dropped. */
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

/* Decide what replaces a missing cell of the column: the study's filling first, then the mean if
 * the caller asked for means and a cell is missing at all. Otherwise nothing, and the row is
 * dropped. */
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

/* The column as an input of the model. Bounds and the typical value come from the study; a plan
 * without one has none. */
static struct tremolo_study_feature input_of(const struct tremolo_table *table,
                                             const struct column_plan *plan)
{
    const struct tremolo_study_feature *feature = plan->feature;
    bool numeric = plan->levels == 0;
    bool bounded = feature != NULL && feature->kind == TREMOLO_STUDY_NUMERIC;
    bool answers =
        plan->question || (numeric && feature != NULL && feature->kind == TREMOLO_STUDY_YES_NO);
    return (struct tremolo_study_feature){
        .name = table->name[plan->column],
        .kind = answers   ? TREMOLO_STUDY_YES_NO
                : numeric ? TREMOLO_STUDY_NUMERIC
                          : TREMOLO_STUDY_CATEGORY,
        .levels = answers ? NULL : plan->level,
        .level_count = answers ? 0 : plan->levels,
        .low = bounded ? feature->low : NAN,
        .high = bounded ? feature->high : NAN,
        .missing = plan->missing,
        .typical = bounded ? feature->typical : NAN,
    };
}

/* Let the study module make features of the inputs: the same code as on the server and in
 * predictions, so that a name means the same everywhere. The count of features is known only
 * afterwards, because a category becomes several and terms multiply. */
static bool make_inputs(struct tremolo_design *design, const struct tremolo_table *table,
                        const struct column_plan *plans, size_t count,
                        const struct tremolo_design_wish *wish, char *error)
{
    struct tremolo_study_feature *inputs = calloc(count + 1, sizeof *inputs);
    if (inputs == NULL) {
        return refuse(error, "out of memory");
    }
    for (size_t p = 0; p < count; p++) {
        inputs[p] = input_of(table, &plans[p]);
    }
    bool good = tremolo_inputs_new(&design->inputs, inputs, count, wish->terms, wish->study != NULL,
                                   error) == TREMOLO_OK;
    free(inputs);
    design->features = good ? design->inputs->features : 0;
    return good;
}

/* Name features and response as every document does, with the characters removed that could
 * steer a terminal. */
static void fill_names(struct tremolo_design *design, const char *response)
{
    const struct tremolo_study_feature column = {.name = response};
    const struct tremolo_derived plain = tremolo_derived_plain(0, 0);
    for (size_t i = 0; i < design->features; i++) {
        tremolo_derived_name(design->name[i], TREMOLO_NAME_BYTES, &design->inputs->feature[i],
                             design->inputs->input);
        if (design->name[i][0] == '\0') {
            (void)snprintf(design->name[i], TREMOLO_NAME_BYTES, "(unnamed)");
        }
        (void)tremolo_text_clean(design->name[i]);
    }
    tremolo_derived_name(design->response, TREMOLO_NAME_BYTES, &plain, &column);
    (void)tremolo_text_clean(design->response);
}

/* ---------------------------------------------------------------- rows */

/* A constant column explains nothing, and a constant response leaves nothing to explain. Such a
 * column cannot be scaled, and least squares would be singular. */
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

/* Name the cell that made the row incomplete. */
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

/* Name the term that has no value in a row. */
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

/* One pass over the table. A row counts when all inputs are present or replaced, and the response
 * is present: a response is never imputed. Rows are written without gaps: X has room for all, and
 * design->rows counts those that are kept. */
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

/* Everything that needs the rows: what replaces missing cells, inputs, names, numbers. The order
 * matters, because inputs are made of the replacements. */
static bool fill(struct tremolo_design *design, const struct tremolo_table *table,
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

/* ---------------------------------------------------------------- the whole */

/* Find the response and the wanted columns, plan them, and fill the design. On failure the
 * design holds what was made, for the caller to free. */
static bool build(struct tremolo_design *made, const struct tremolo_table *table,
                  const struct tremolo_design_wish *wish, const struct tremolo_formula *formula,
                  char *error)
{
    bool wanted[TREMOLO_TABLE_COLUMNS_MAX];
    bool numeric; /* be it or not, the response's cells must be numbers */
    const char *named = formula != NULL ? formula->response : NULL;
    const char *response = wish->response != NULL ? wish->response : named;
    if (response == NULL || (named != NULL && strcmp(named, response) != 0)) {
        return refuse(error, response == NULL
                                 ? "no column is named as the response"
                                 : "the terms name another response than was asked for");
    }
    size_t column = tremolo_table_find(table, response);
    if (column == table->columns) {
        return refuse_column(error, table, response, " for the response");
    }
    bool good = (formula != NULL ? choose_terms(wanted, table, column, formula, error)
                                 : choose_columns(wanted, table, column, wish, error)) &&
                find_kind(&numeric, table, column, error) && check_numbers(table, column, error);
    struct column_plan *plans = good ? calloc(table->columns, sizeof *plans) : NULL;
    if (plans == NULL) {
        return good ? refuse(error, "out of memory") : false;
    }
    size_t count = plan_columns(plans, wanted, table, wish->study, formula, error);
    good = count > 0 && fill(made, table, plans, count, column, wish, error);
    for (size_t p = 0; good && p < count && wish->study == NULL; p++) {
        add_remark(made, table, &plans[p]);
    }
    free(plans);
    return good;
}

/* Terms come from the wish, or from its study unless the wish lists features. A formula lives for
 * this call only; the design keeps inputs of its own. On failure *design is untouched. */
bool tremolo_design_build(struct tremolo_design *design, const struct tremolo_table *table,
                          const struct tremolo_design_wish *wish,
                          char error[TREMOLO_TABLE_ERROR_BYTES])
{
    struct tremolo_formula *formula = NULL;
    struct tremolo_design made = {0};
    struct tremolo_design_wish whole = *wish;
    if (wish->terms == NULL && wish->feature_count == 0 && wish->study != NULL) {
        whole.terms = tremolo_study_file_inputs(wish->study)->terms;
    }
    if (whole.terms != NULL && !tremolo_formula_parse(&formula, whole.terms, error)) {
        return false;
    }
    bool good = build(&made, table, &whole, formula, error);
    tremolo_formula_free(formula);
    if (!good) {
        tremolo_design_free(&made);
        return false;
    }
    *design = made;
    return true;
}

/* Freeing twice is harmless: the struct is empty afterwards. */
void tremolo_design_free(struct tremolo_design *design)
{
    free(design->name);
    free(design->X);
    free(design->y);
    free(design->low);
    free(design->typical);
    free(design->high);
    tremolo_inputs_free(design->inputs);
    *design = (struct tremolo_design){0};
}

/* Public bounds where there are some. Those of the data are not private, and simulations say so.
 * Kept reports and the estimates of simulations state them, in the columns' own units. */
void tremolo_design_ranges(double *ranges, const struct tremolo_design *design)
{
    for (size_t f = 0; f <= design->features; f++) {
        double low = design->low != NULL ? design->low[f] : INFINITY;
        double high = design->low != NULL ? design->high[f] : -INFINITY;
        for (size_t i = 0; design->low == NULL && i < design->rows; i++) {
            double value =
                f < design->features ? design->X[i * design->features + f] : design->y[i];
            low = fmin(low, value);
            high = fmax(high, value);
        }
        ranges[f] = high - low;
    }
}

/* ---------------------------------------------------------------- public bounds */

/* The study's coordinate of that name, the response included; NULL: there is none. */
static const struct tremolo_study_coordinate *
coordinate_named(const struct tremolo_study_file *file, const char *name)
{
    size_t d = tremolo_study_file_dimension(file);
    for (size_t i = 0; i <= d; i++) {
        const struct tremolo_study_coordinate *found = tremolo_study_file_coordinate(file, i);
        if (strcmp(found->name, name) == 0) {
            return found;
        }
    }
    return NULL;
}

/* A column that says "this level" of a feature of the study. */
static bool is_level(const struct tremolo_study_file *file, const char *name)
{
    size_t length = strcspn(name, "=");
    for (size_t i = 0; name[length] == '=' && i < tremolo_study_file_feature_count(file); i++) {
        const char *feature = tremolo_study_file_feature(file, i)->name;
        if (strlen(feature) == length && strncmp(feature, name, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Take bounds and typical value of one column. A level that the study has not is between 0 and 1.
 * False when neither a coordinate nor a level has that name; the values are then not used. */
static bool bounds_of(struct tremolo_design *design, size_t i,
                      const struct tremolo_study_file *file, const char *name)
{
    const struct tremolo_study_coordinate *found = coordinate_named(file, name);
    design->low[i] = found != NULL ? found->written[0] : 0;
    design->high[i] = found != NULL ? found->written[1] : 1;
    design->typical[i] = found != NULL ? (found->low + found->high) / 2 : 0.5;
    return found != NULL || is_level(file, name);
}

/* The unit belongs to the study's response; another response of the same table has none. */
bool tremolo_design_bound(struct tremolo_design *design, const struct tremolo_study_file *study,
                          char error[TREMOLO_TABLE_ERROR_BYTES])
{
    const struct tremolo_study_feature *response = tremolo_study_file_response(study);
    if (strcmp(response->name, design->response) == 0) {
        (void)snprintf(design->unit, sizeof design->unit, "%s", response->unit);
    }
    design->low = calloc(design->features + 1, sizeof *design->low);
    design->high = calloc(design->features + 1, sizeof *design->high);
    design->typical = calloc(design->features + 1, sizeof *design->typical);
    if (design->low == NULL || design->high == NULL || design->typical == NULL) {
        return refuse(error, "out of memory");
    }
    for (size_t i = 0; i <= design->features; i++) {
        const char *name = i < design->features ? design->name[i] : design->response;
        if (!bounds_of(design, i, study, name)) {
            return refuse(error, "the study has no bounds for column '%s'", name);
        }
    }
    return true;
}

/* Everything is checked and allocated before the design changes. */
bool tremolo_design_take_bounds(struct tremolo_design *design, const double *low,
                                const double *high, char error[TREMOLO_TABLE_ERROR_BYTES])
{
    for (size_t i = 0; i <= design->features; i++) {
        if (!(low[i] < high[i]) || !isfinite(high[i] - low[i])) {
            return refuse(error, "bounds of '%.80s': %g is not below %g",
                          i < design->features ? design->name[i] : design->response, low[i],
                          high[i]);
        }
    }
    size_t count = design->features + 1;
    double *lows = calloc(count, sizeof *lows), *highs = calloc(count, sizeof *highs);
    if (lows == NULL || highs == NULL) {
        free(lows);
        free(highs);
        return refuse(error, "out of memory");
    }
    memcpy(lows, low, count * sizeof *lows);
    memcpy(highs, high, count * sizeof *highs);
    free(design->low);
    free(design->high);
    free(design->typical);
    design->typical = NULL;
    design->low = lows;
    design->high = highs;
    return true;
}
