/* table.h -- the cells of a table, and the first line of a file alone.
 *
 *     puts(tremolo_table_cell(table, 0, tremolo_table_find(table, "age")));
 */
#ifndef TREMOLO_LAB_TABLE_H
#define TREMOLO_LAB_TABLE_H

#include "tremolo_table.h"

enum {
    TREMOLO_CSV_HEADER_NAMES_MAX = 257,
    TREMOLO_CSV_HEADER_BYTES_MAX = 64 * 1024,
};

/* The text of a cell; that of a number in memory holds until the thread's next call. */
const char *tremolo_table_cell(const struct tremolo_table *table, size_t row, size_t column);
/* True if the cell holds no value. `row` counts from 0 to rows - 1 and `column` to columns - 1
 * here and below; neither is checked. */
bool tremolo_table_is_missing_at(const struct tremolo_table *table, size_t row, size_t column);
/* Is the cell a finite number? *value is untouched when it is not. */
bool tremolo_table_number_at(double *value, const struct tremolo_table *table, size_t row,
                             size_t column);
/* Does a program hold the column as numbers, so that no cell can be a word? */
bool tremolo_table_holds_numbers(const struct tremolo_table *table, size_t column);
/* The line of a file, or the row in memory, counted from 0, for sentences. */
size_t tremolo_table_line(const struct tremolo_table *table, size_t row);
/* The column of that name, or table->columns. */
size_t tremolo_table_find(const struct tremolo_table *table, const char *name);

/* The cell is one of TREMOLO_TABLE_MISSING (letters in any case). */
#define TREMOLO_TABLE_MISSING "empty, NA, N/A, NaN, null or ?"
bool tremolo_table_is_missing(const char *text);
/* A finite decimal number: sign, digits, point, exponent and nothing else. */
bool tremolo_table_is_number(const char *text, double *value);
/* True for a number with a comma instead of a point, as in 0,5. */
bool tremolo_table_has_decimal_comma(const char *text);

/* ---- the first line alone: a study is written before there are data */

/* What a header says. Names are owned and freed by tremolo_csv_header_free(). `bytes` leads to
 * the next line; `problem` is a static phrase, and its column counts from 1. */
struct tremolo_csv_header {
    char *name[TREMOLO_CSV_HEADER_NAMES_MAX];
    size_t count;
    size_t bytes; /* of the line */
    bool is_whole;
    bool too_many;
    const char *problem; /* with the first bad name's bytes, for people; NULL: none */
    size_t problem_column;
};

/* Read the first line of `text` (ended by a zero after `length` bytes), separated as
 * tremolo_table_read() finds. False, and nothing to free, when it is no such line, has
 * too many names, one twice, or one with a `problem`. */
bool tremolo_csv_header_parse(struct tremolo_csv_header *header, const char *text, size_t length);

/* What columns hold, by the first value of each in `text`, and by how many different ones there
 * are where it could be a category; numbers when there is none. */
void tremolo_csv_header_looks(enum tremolo_column_look looks[TREMOLO_CSV_HEADER_NAMES_MAX],
                              const struct tremolo_csv_header *header, const char *text,
                              size_t length);

/* What a column of that name holds when this is one of its cells. */
enum tremolo_column_look tremolo_column_look(const char *name, const char *cell);
/* Frees the names; the struct itself is the caller's. */
void tremolo_csv_header_free(struct tremolo_csv_header *header);

#endif
