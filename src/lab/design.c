/* design.c -- from a table to the numbers of a regression.
 *
 * A column is numeric when more than half of its present cells are numbers;
 * any other cell in it is then a mistake and named. Otherwise it is a
 * category. The response must be numeric. */
#include "tremolo_design.h"

#include "refuse.h"

#include "tremolo_study_file.h"
#include "tremolo_text.h"
#include "tremolo_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Squares of values, and their sums, stay finite. */
static const double VALUE_MAX = 1e100;

struct column_plan {
    size_t column;
    size_t levels; /* 0 for a numeric column */
    bool question; /* no and yes, in this order: named after itself, as in a study */
    const char *level[TREMOLO_DESIGN_LEVELS_MAX];
};

/* Say which column was probably meant, or which there are. */
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

static bool is_infinity(const char *text)
{
    text += *text == '+' || *text == '-';
    return strcasecmp(text, "inf") == 0 || strcasecmp(text, "infinity") == 0;
}

static bool column_is_numeric(const struct tremolo_table *table, size_t column)
{
    size_t numbers = 0, present = 0;
    if (tremolo_table_holds_numbers(table, column)) {
        return true;
    }
    for (size_t r = 0; r < table->rows; r++) {
        const char *text = tremolo_table_cell(table, r, column);
        double value;
        if (!tremolo_table_is_missing(text)) {
            present++;
            numbers += tremolo_table_is_number(text, &value) || is_infinity(text);
        }
    }
    return 2 * numbers > present;
}

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

/* A number but for a comma in the point's place, as in 0,5. */
static bool has_decimal_comma(const char *text)
{
    char copy[64];
    double value;
    char *comma = NULL;
    if (strlen(text) >= sizeof copy || tremolo_table_is_number(text, &value)) {
        return false;
    }
    (void)snprintf(copy, sizeof copy, "%s", text);
    comma = strchr(copy, ',');
    if (comma == NULL) {
        return false;
    }
    *comma = '.';
    return tremolo_table_is_number(copy, &value);
}

/* Numbers with commas would otherwise become categories, or be called no numbers. */
static bool refuse_commas(const struct tremolo_table *table, size_t column, char *error)
{
    size_t commas = 0, numbers = 0, present = 0, first = 0;
    if (tremolo_table_holds_numbers(table, column)) {
        return true;
    }
    for (size_t r = 0; r < table->rows; r++) {
        const char *text = tremolo_table_cell(table, r, column);
        double value;
        if (tremolo_table_is_missing(text)) {
            continue;
        }
        bool comma = has_decimal_comma(text);
        first = comma && commas == 0 ? r : first;
        commas += comma;
        numbers += tremolo_table_is_number(text, &value);
        present++;
    }
    if (commas == 0 || 2 * (commas + numbers) <= present) {
        return true;
    }
    return refuse(error,
                  "%s %zu, column '%.80s': '%.40s' has a decimal comma; write numbers with a point",
                  table->place, tremolo_table_line(table, first), table->name[column],
                  tremolo_table_cell(table, first, column));
}

static int compare_levels(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool collect_levels(struct column_plan *plan, const struct tremolo_table *table, char *error)
{
    if (tremolo_table_holds_numbers(table, plan->column)) {
        return refuse(error, "column '%.80s' is to be a category and holds numbers; give words",
                      table->name[plan->column]);
    }
    for (size_t r = 0; r < table->rows; r++) {
        const char *text = tremolo_table_cell(table, r, plan->column);
        size_t i = 0;
        while (i < plan->levels && strcmp(plan->level[i], text) != 0) {
            i++;
        }
        if (i < plan->levels || tremolo_table_is_missing(text)) {
            continue;
        }
        if (plan->levels == TREMOLO_DESIGN_LEVELS_MAX) {
            return refuse(error, "%s %zu, column '%.80s': more than %d categories", table->place,
                          tremolo_table_line(table, r), table->name[plan->column],
                          TREMOLO_DESIGN_LEVELS_MAX);
        }
        plan->level[plan->levels++] = text;
    }
    if (plan->levels < 2) {
        return refuse(error, "column '%.80s' is constant, so it explains nothing",
                      table->name[plan->column]);
    }
    qsort(plan->level, plan->levels, sizeof plan->level[0], compare_levels);
    return true;
}

/* The study's order, whose first level is the reference; only levels that occur are
 * of use, and one that the study does not have is refused. */
static bool order_levels(struct column_plan *plan, const struct tremolo_study_feature *feature,
                         char *error)
{
    size_t placed = 0;
    for (size_t j = 0; j < feature->level_count; j++) {
        for (size_t i = placed; i < plan->levels; i++) {
            if (strcmp(plan->level[i], feature->levels[j]) == 0) {
                const char *found = plan->level[i];
                plan->level[i] = plan->level[placed];
                plan->level[placed++] = found;
            }
        }
    }
    return placed == plan->levels || refuse(error, "column '%.80s': the study has no level '%.40s'",
                                            feature->name, plan->level[placed]);
}

/* Levels that are the two answers to a question get their order. */
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

/* What the study says of a column holds, whatever the cells look like. */
static bool plan_column(struct column_plan *plan, const struct tremolo_table *table,
                        const struct tremolo_study_file *study, size_t column, char *error)
{
    const struct tremolo_study_feature *feature = feature_named(study, table->name[column]);
    *plan = (struct column_plan){.column = column};
    if (feature != NULL && feature->kind == TREMOLO_STUDY_CATEGORY) {
        return collect_levels(plan, table, error) && order_levels(plan, feature, error);
    }
    if (!refuse_commas(table, column, error)) {
        return false;
    }
    return column_is_numeric(table, column) ? check_numbers(table, column, error)
                                            : plan_words(plan, table, feature, error);
}

/* Mark the wanted columns, all but the response without a list. */
static bool choose_columns(bool wanted[TREMOLO_TABLE_COLUMNS_MAX],
                           const struct tremolo_table *table, size_t response, const char *features,
                           char *error)
{
    for (size_t c = 0; c < table->columns; c++) {
        wanted[c] = features == NULL && c != response;
    }
    while (features != NULL && *features != '\0') {
        char name[TREMOLO_TABLE_FIELD_BYTES_MAX + 1];
        size_t length = tremolo_columns_next(name, features);
        if (length == 0) {
            return refuse(error,
                          "in the list of features '%.80s' is no name; one with a comma "
                          "goes in quotes",
                          features);
        }
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
        features += length;
    }
    return true;
}

/* Plan every wanted column and count what they expand to. */
static size_t plan_features(struct column_plan *plans, size_t *expanded, const bool *wanted,
                            const struct tremolo_table *table,
                            const struct tremolo_study_file *study, char *error)
{
    size_t count = 0;
    *expanded = 0;
    for (size_t c = 0; c < table->columns; c++) {
        if (!wanted[c]) {
            continue;
        }
        if (!plan_column(&plans[count], table, study, c, error)) {
            return 0;
        }
        *expanded += plans[count].levels == 0 ? 1 : plans[count].levels - 1;
        count++;
        if (*expanded > TREMOLO_DESIGN_FEATURES_MAX) {
            (void)refuse(error, "more than %d features", TREMOLO_DESIGN_FEATURES_MAX);
            return 0;
        }
    }
    if (count == 0) {
        (void)refuse(error, "there is no feature besides the response");
    }
    return count;
}

static bool row_is_complete(const struct tremolo_table *table, const struct column_plan *plans,
                            size_t count, size_t response, size_t row)
{
    bool complete = !tremolo_table_is_missing_at(table, row, response);
    for (size_t p = 0; p < count && complete; p++) {
        complete = !tremolo_table_is_missing_at(table, row, plans[p].column);
    }
    return complete;
}

static void fill_row(double *x, const struct tremolo_table *table, const struct column_plan *plans,
                     size_t count, size_t row)
{
    for (size_t p = 0; p < count; p++) {
        if (plans[p].levels == 0) {
            (void)tremolo_table_number_at(x++, table, row, plans[p].column);
            continue;
        }
        const char *text = tremolo_table_cell(table, row, plans[p].column);
        for (size_t level = 1; level < plans[p].levels; level++) {
            *x++ = strcmp(text, plans[p].level[level]) == 0;
        }
    }
}

/* Bytes of the whole characters within the first `most` bytes. */
static int whole_bytes(const char *text, size_t most)
{
    size_t length = strlen(text);
    if (length <= most) {
        return (int)length;
    }
    while (most > 0 && ((unsigned char)text[most] & 0xC0) == 0x80) {
        most--;
    }
    return (int)most;
}

static void fill_names(struct tremolo_design *design, const struct tremolo_table *table,
                       const struct column_plan *plans, size_t count)
{
    size_t at = 0;
    for (size_t p = 0; p < count; p++) {
        const char *name = table->name[plans[p].column];
        if (plans[p].levels == 0) {
            (void)snprintf(design->name[at++], TREMOLO_NAME_BYTES, "%.*s",
                           *name != '\0' ? whole_bytes(name, 120) : 9,
                           *name != '\0' ? name : "(unnamed)");
        }
        if (plans[p].question) {
            (void)snprintf(design->name[at++], TREMOLO_NAME_BYTES, "%.*s", whole_bytes(name, 120),
                           name);
            continue;
        }
        for (size_t level = 1; level < plans[p].levels; level++) {
            (void)snprintf(design->name[at++], TREMOLO_NAME_BYTES, "%.*s=%.*s",
                           whole_bytes(name, 60), name, whole_bytes(plans[p].level[level], 60),
                           plans[p].level[level]);
        }
    }
    for (size_t i = 0; i < at; i++) {
        (void)tremolo_text_clean(design->name[i]);
    }
}

static bool refuse_constant(const struct tremolo_design *design, char *error)
{
    if (design->rows < 2) {
        return refuse(error, "%zu row%s of data that can be used: too few", design->rows,
                      design->rows == 1 ? "" : "s");
    }
    for (size_t f = 0; f < design->features; f++) {
        size_t r = 1;
        while (r < design->rows && design->X[r * design->features + f] == design->X[f]) {
            r++;
        }
        if (r >= design->rows) {
            return refuse(error, "column '%.100s' is constant, so it explains nothing",
                          design->name[f]);
        }
    }
    size_t r = 1;
    while (r < design->rows && design->y[r] == design->y[0]) {
        r++;
    }
    return r < design->rows || refuse(error, "the response '%.100s' is constant", design->response);
}

static bool fill_design(struct tremolo_design *design, const struct tremolo_table *table,
                        const struct column_plan *plans, size_t count, size_t response, char *error)
{
    design->name = calloc(design->features, sizeof *design->name);
    design->X = malloc(table->rows * design->features * sizeof *design->X);
    design->y = malloc(table->rows * sizeof *design->y);
    if (design->name == NULL || design->X == NULL || design->y == NULL) {
        return refuse(error, "out of memory");
    }
    fill_names(design, table, plans, count);
    (void)snprintf(design->response, TREMOLO_NAME_BYTES, "%.*s",
                   whole_bytes(table->name[response], 120), table->name[response]);
    (void)tremolo_text_clean(design->response);
    for (size_t r = 0; r < table->rows; r++) {
        if (!row_is_complete(table, plans, count, response, r)) {
            design->dropped++;
            continue;
        }
        fill_row(design->X + design->rows * design->features, table, plans, count, r);
        (void)tremolo_table_number_at(&design->y[design->rows], table, r, response);
        design->rows++;
    }
    if (design->rows == 0) {
        return refuse(error, "every row has a missing value");
    }
    if (design->rows == 1) {
        return refuse(error, "one row of data is one device, and a regression needs several");
    }
    return refuse_constant(design, error);
}

/* Name what a study would have said and a table does not. */
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

bool tremolo_design_build(struct tremolo_design *design, const struct tremolo_table *table,
                          const struct tremolo_study_file *study, const char *response,
                          const char *features, char error[TREMOLO_TABLE_ERROR_BYTES])
{
    bool wanted[TREMOLO_TABLE_COLUMNS_MAX], good = false;
    struct tremolo_design made = {0};
    size_t response_column = tremolo_table_find(table, response);
    if (response_column == table->columns) {
        return refuse_column(error, table, response, " for the response");
    }
    struct column_plan *plans = calloc(table->columns, sizeof *plans);
    if (plans == NULL) {
        return refuse(error, "out of memory");
    }
    if (choose_columns(wanted, table, response_column, features, error) &&
        refuse_commas(table, response_column, error) &&
        check_numbers(table, response_column, error)) {
        size_t count = plan_features(plans, &made.features, wanted, table, study, error);
        good = count > 0 && fill_design(&made, table, plans, count, response_column, error);
        for (size_t p = 0; p < count && study == NULL; p++) {
            add_remark(&made, table, &plans[p]);
        }
    }
    free(plans);
    if (!good) {
        tremolo_design_free(&made);
        return false;
    }
    *design = made;
    return true;
}

void tremolo_design_free(struct tremolo_design *design)
{
    free(design->name);
    free(design->X);
    free(design->y);
    free(design->low);
    free(design->high);
    *design = (struct tremolo_design){0};
}

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
