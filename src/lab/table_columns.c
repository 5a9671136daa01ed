/* table_columns.c -- the cells of a table, be they text of a file or a program's columns.
 *
 * Columns in memory are never copied: a design reads each number once, from where
 * the program has it. */
#include "table_text.h"
#include "refuse.h"
#include "tremolo_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool check_column(const struct tremolo_table_column *column, size_t rows, size_t number,
                         char *error)
{
    const char *problem = table_field_problem(column->name, strlen(column->name));
    bool words = column->numbers == NULL;
    if (problem != NULL) {
        return refuse(error, "the name of column %zu: %s", number, problem);
    }
    for (size_t i = 0; words && i < column->word_count; i++) {
        problem = table_field_problem(column->words[i], strlen(column->words[i]));
        if (problem != NULL) {
            return refuse(error, "column '%.80s', word %zu: %s", column->name, i, problem);
        }
    }
    for (size_t r = 0; words && r < rows; r++) {
        if (column->codes[r] >= 0 && (size_t)column->codes[r] >= column->word_count) {
            return refuse(error, "row %zu, column '%.80s': code %d of %zu words", r, column->name,
                          (int)column->codes[r], column->word_count);
        }
    }
    return true;
}

bool tremolo_table_of_columns(struct tremolo_table **table,
                              const struct tremolo_table_column *columns, size_t count, size_t rows,
                              char error[TREMOLO_TABLE_ERROR_BYTES])
{
    if (count == 0 || rows == 0) {
        return refuse(error, "there is no row of data");
    }
    if (count > TREMOLO_TABLE_COLUMNS_MAX || rows > TREMOLO_TABLE_ROWS_MAX) {
        return refuse(error, "more than %d columns or %d rows", TREMOLO_TABLE_COLUMNS_MAX,
                      TREMOLO_TABLE_ROWS_MAX);
    }
    for (size_t c = 0; c < count; c++) {
        if (!check_column(&columns[c], rows, c, error)) {
            return false;
        }
        for (size_t other = 0; other < c; other++) {
            if (strcmp(columns[c].name, columns[other].name) == 0) {
                return refuse(error, "two columns are called '%.80s'", columns[c].name);
            }
        }
    }
    struct tremolo_table *made = calloc(1, sizeof *made);
    bool whole = made != NULL && (made->name = calloc(count, sizeof *made->name)) != NULL &&
                 (made->column = calloc(count, sizeof *made->column)) != NULL;
    for (size_t c = 0; whole && c < count; c++) {
        made->columns = c + 1;
        made->column[c] = columns[c];
        made->name[c] = strdup(columns[c].name);
        made->column[c].name = made->name[c];
        whole = made->name[c] != NULL;
    }
    if (!whole) {
        tremolo_table_free(made);
        return refuse(error, "out of memory");
    }
    made->rows = rows;
    made->place = "row";
    *table = made;
    return true;
}

static double number_of(const struct tremolo_table_column *column, size_t row)
{
    return column->numbers[row * column->stride];
}

bool tremolo_table_holds_numbers(const struct tremolo_table *table, size_t column)
{
    return table->column != NULL && table->column[column].numbers != NULL;
}

const char *tremolo_table_cell(const struct tremolo_table *table, size_t row, size_t column)
{
    static _Thread_local char text[32];
    if (table->column == NULL) {
        return table->text + table->cell[row * table->columns + column];
    }
    const struct tremolo_table_column *held = &table->column[column];
    if (held->numbers == NULL) {
        return held->codes[row] < 0 ? "" : held->words[held->codes[row]];
    }
    (void)snprintf(text, sizeof text, "%.15g", number_of(held, row));
    return text;
}

bool tremolo_table_is_missing_at(const struct tremolo_table *table, size_t row, size_t column)
{
    return tremolo_table_holds_numbers(table, column)
               ? isnan(number_of(&table->column[column], row))
               : tremolo_table_is_missing(tremolo_table_cell(table, row, column));
}

bool tremolo_table_number_at(double *value, const struct tremolo_table *table, size_t row,
                             size_t column)
{
    if (!tremolo_table_holds_numbers(table, column)) {
        return tremolo_table_is_number(tremolo_table_cell(table, row, column), value);
    }
    double held = number_of(&table->column[column], row);
    *value = isfinite(held) ? held : *value;
    return isfinite(held);
}

size_t tremolo_table_line(const struct tremolo_table *table, size_t row)
{
    return table->line != NULL ? table->line[row] : row;
}
