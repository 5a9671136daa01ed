/* tremolo_table.h -- a CSV file, or columns in memory, as cells.
 *
 *     struct tremolo_table *table = NULL;
 *     char error[TREMOLO_TABLE_ERROR_BYTES];
 *     if (!tremolo_table_read(&table, "people.csv", error)) { ... }
 *
 * libcsv takes the text apart: quoted fields, any separator. Failures fill an error
 * text of one sentence that names line and column. tremolo_design.h makes numbers of
 * the cells. */
#ifndef TREMOLO_TABLE_H
#define TREMOLO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tremolo_study_file.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TREMOLO_TABLE_COLUMNS_MAX = 1024,
    TREMOLO_TABLE_ROWS_MAX = 50000000,
    TREMOLO_TABLE_FIELD_BYTES_MAX = 4096,
    TREMOLO_TABLE_ERROR_BYTES = 512,
};

/* A column that a program holds: numbers, or words as codes into their list. */
struct tremolo_table_column {
    const char *name;
    const double *numbers; /* of row r at r * stride; NaN is missing; NULL: words */
    size_t stride;
    const int32_t *codes; /* of each row, the place of its word; negative is missing */
    const char *const *words;
    size_t word_count;
};

struct tremolo_table {
    size_t rows, columns;
    char **name;  /* columns texts */
    char *text;   /* all cells, each ended by a zero byte */
    size_t *cell; /* rows * columns offsets into text, row by row */
    size_t *line; /* the line each row starts on */
    /* Or columns in memory: numbers, codes and words are the caller's. NULL: read from a file. */
    struct tremolo_table_column *column;
    const char *place; /* what tremolo_table_line() counts: "line" or "row" */
};

/* Read the file. Its separator is that of , ; tab and | which is most frequent in the first line.
 * On failure *table is untouched and `error` says why. */
bool tremolo_table_read(struct tremolo_table **table, const char *path,
                        char error[TREMOLO_TABLE_ERROR_BYTES]);
/* A table over columns that the caller keeps for as long as the table is used. Names and
 * words are checked as those of a file are. On failure *table is untouched and `error`
 * says why. */
bool tremolo_table_of_columns(struct tremolo_table **table,
                              const struct tremolo_table_column *columns, size_t count, size_t rows,
                              char error[TREMOLO_TABLE_ERROR_BYTES]);
/* Frees what was read or copied; columns in memory stay the caller's. Accepts NULL. */
void tremolo_table_free(struct tremolo_table *table);

#ifdef __cplusplus
}
#endif

#endif
