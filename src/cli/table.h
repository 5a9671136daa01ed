/* table.h -- a CSV file as columns of numbers.
 *
 * Reading has two steps. table_read() takes the text apart (libcsv: quoted
 * fields, any separator) and keeps every cell as text with its line.
 * design_build() picks the response and the features: numbers stay numbers,
 * categories become one 0/1 column for each level but the first in
 * alphabetical order, and rows with a missing value are dropped and counted.
 *
 * Failures fill an error text of one sentence that names line and column. */
#ifndef TREMOLO_CLI_TABLE_H
#define TREMOLO_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum {
    TABLE_COLUMNS_MAX = 1024,
    TABLE_ROWS_MAX = 50000000,
    TABLE_FIELD_BYTES_MAX = 4096,
    TABLE_ERROR_BYTES = 512,
    DESIGN_LEVELS_MAX = 64,
    DESIGN_FEATURES_MAX = 256,
    DESIGN_NAME_BYTES = 128,
};

struct tremolo_study_file;

struct table {
    const struct tremolo_study_file *study; /* whose levels come in its order; may be NULL */
    size_t rows, columns;
    char **name;  /* columns texts */
    char *text;   /* all cells, each ended by a zero byte */
    size_t *cell; /* rows * columns offsets into text, row by row */
    size_t *line; /* the line each row starts on */
};

/* Read the file; separator 0 means to choose among , ; tab and | by the first
 * line. On failure *table is untouched and `error` says why. */
bool table_read(struct table **table, const char *path, char separator,
                char error[TABLE_ERROR_BYTES]);
void table_free(struct table *table);

/* The separator that table_read() would choose: the most frequent candidate outside
 * quotes in the first line. */
char table_separator(const char *text, size_t length);

/* How much of the text is the mark that some programs put before UTF-8: 3 or 0. */
size_t table_mark_bytes(const char *text, size_t length);

const char *table_cell(const struct table *table, size_t row, size_t column);
/* The column of that name, or table->columns. */
size_t table_find(const struct table *table, const char *name);

/* The cell is empty, NA, NaN or a question mark (letters in any case). */
bool table_is_missing(const char *text);
/* Well-formed UTF-8, as JSON wants its names. */
bool table_is_utf8(const void *bytes, size_t length);
/* What is wrong with a field's bytes, as a phrase with its remedy; NULL: nothing. */
const char *table_field_problem(const void *field, size_t length);
/* A finite decimal number: sign, digits, point, exponent and nothing else. */
bool table_is_number(const char *text, double *value);

struct design {
    size_t rows, features;
    size_t dropped;                  /* rows with a missing value */
    char (*name)[DESIGN_NAME_BYTES]; /* of the features */
    char response[DESIGN_NAME_BYTES];
    char unit[DESIGN_NAME_BYTES]; /* of the response, by a study; "" when not known */
    double *X;                    /* rows * features, row by row */
    double *y;
    double *low, *high; /* public bounds of the features, then of the response; or NULL */
};

/* `features` is a comma-separated list, or NULL for every column but the
 * response. Constant columns are refused. */
bool design_build(struct design *design, const struct table *table, const char *response,
                  const char *features, char error[TABLE_ERROR_BYTES]);
void design_free(struct design *design);

#endif
