/* table.c -- tables: cells of a CSV file or of a program's columns, and the first line alone.
 *
 * libcsv takes the text apart. The text of a file is kept once, each cell ended by a zero byte,
 * with the line that it came from, so that every message can name line and column. Columns in
 * memory are never copied: a design reads each number once, in place.
 *
 * A study is written before there are data, so a header alone must do: its names, and what
 * columns look like where some rows follow.
 *
 * A file is refused as a whole at its first mistake, and never repaired: a guess about one cell
 * would change a study's result without a trace. Limits on columns, rows, fields and text bound
 * what a file can make us allocate. */
#include "table.h"

#include <csv.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "refuse.h"
#include "study_internal.h"
#include "words.h"

/* Text is read by the chunk; at most TEXT_BYTES_MAX of it is kept. */
enum { CHUNK_BYTES = 1 << 16 };

#define TEXT_BYTES_MAX ((size_t)4 << 30)

/* ---------------------------------------------------------------- a file */

/* Bytes that follow a lead byte in UTF-8, or -1 for a byte that is none. */
static int following(unsigned char lead)
{
    return lead < 0x80                   ? 0
           : lead >= 0xC2 && lead < 0xE0 ? 1
           : lead >= 0xE0 && lead < 0xF0 ? 2
           : lead >= 0xF0 && lead < 0xF5 ? 3
                                         : -1;
}

/* By the standard: no byte sequence has two spellings, so that equal names are equal
 * bytes. */
static bool is_utf8(const void *bytes, size_t length)
{
    const unsigned char *text = bytes;
    for (size_t i = 0; i < length; i++) {
        unsigned char lead = text[i];
        int more = following(lead);
        if (more < 0 || (size_t)more >= length - i) {
            return false;
        }
        /* overlong forms, surrogates and what lies beyond the last code point */
        if (more > 0 &&
            ((lead == 0xE0 && text[i + 1] < 0xA0) || (lead == 0xED && text[i + 1] > 0x9F) ||
             (lead == 0xF0 && text[i + 1] < 0x90) || (lead == 0xF4 && text[i + 1] > 0x8F))) {
            return false;
        }
        for (; more > 0; more--) {
            if ((text[++i] & 0xC0) != 0x80) {
                return false;
            }
        }
    }
    return true;
}

/* What is wrong with a field's bytes, as a phrase with its remedy; NULL: nothing. The same checks
 * hold for cells of a file and for names and words of a program. The text is static. */
static const char *field_problem(const void *field, size_t length)
{
    if (length > 0 && memchr(field, 0, length) != NULL) {
        return "a zero byte, so not UTF-8; convert it, for example with iconv -f utf16 -t utf8";
    }
    if (!is_utf8(field, length)) {
        return "not UTF-8; convert it, for example with iconv -f latin1 -t utf8";
    }
    return length > TREMOLO_TABLE_FIELD_BYTES_MAX ? "the field is too long" : NULL;
}

/* What libcsv's callbacks share. The first problem stays. Capacities are those of the table's
 * arrays, in entries. Cells are kept as offsets, not pointers, because the text moves when it
 * grows. */
struct reading {
    struct tremolo_table *table;
    size_t text_bytes, text_capacity;
    size_t cells, cell_capacity;
    size_t line_capacity;
    size_t line, column; /* where we are; columns count from 0 */
    size_t row_line;     /* where the current row began */
    bool header_done;
    bool failed;
    char *error;
};

static void fail(struct reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Keep the first problem: what follows it is usually its consequence. */
static void fail(struct reading *reading, const char *format, ...)
{
    if (!reading->failed) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(reading->error, TREMOLO_TABLE_ERROR_BYTES, format, arguments);
        va_end(arguments);
    }
    reading->failed = true;
}

/* Grow the array of `size`-byte entries that the pointer at array_pointer points to, by doubling
 * until it holds `needed`. On failure it stays as it is. The pointer is copied in and out by
 * memcpy(), because the types of the arrays differ. Callers check the limits on text and rows
 * first. */
static bool reserve(void *array_pointer, size_t *capacity, size_t needed, size_t size)
{
    void *array = NULL;
    memcpy(&array, array_pointer, sizeof array);
    if (needed <= *capacity) {
        return true;
    }
    size_t wanted = *capacity < 64 ? 64 : *capacity;
    while (wanted < needed) {
        wanted *= 2;
    }
    void *larger = realloc(array, wanted * size);
    if (larger == NULL) {
        return false;
    }
    memcpy(array_pointer, &larger, sizeof larger);
    *capacity = wanted;
    return true;
}

/* A cell's text is appended to all others. Lines are counted within it, too, because quoted text
 * may hold line feeds. */
static void on_field(void *field, size_t length, void *context)
{
    struct reading *reading = context;
    struct tremolo_table *table = reading->table;
    if (reading->column++ == 0) {
        reading->row_line = reading->line;
    }
    if (reading->failed) {
        return;
    }
    const char *problem = field_problem(field, length);
    if (problem != NULL) {
        fail(reading, "line %zu, column %zu: %s", reading->line, reading->column, problem);
        return;
    }
    if (reading->column > TREMOLO_TABLE_COLUMNS_MAX) {
        fail(reading, "line %zu: more than %d columns", reading->line, TREMOLO_TABLE_COLUMNS_MAX);
        return;
    }
    if (reading->text_bytes + length >= TEXT_BYTES_MAX ||
        !reserve(&table->text, &reading->text_capacity, reading->text_bytes + length + 1, 1) ||
        !reserve(&table->cell, &reading->cell_capacity, reading->cells + 1, sizeof *table->cell)) {
        fail(reading, "line %zu: the file is too large for memory", reading->line);
        return;
    }
    memcpy(table->text + reading->text_bytes, field, length);
    table->text[reading->text_bytes + length] = '\0';
    for (size_t i = 0; i < length; i++) {
        reading->line += table->text[reading->text_bytes + i] == '\n';
    }
    table->cell[reading->cells++] = reading->text_bytes;
    reading->text_bytes += length + 1;
}

/* The first record gives the names; its cells are no data. Names are copied, and the text starts
 * again at 0. A name that is empty is allowed, but not twice. */
static void end_header(struct reading *reading)
{
    struct tremolo_table *table = reading->table;
    table->columns = reading->column;
    table->name = calloc(table->columns, sizeof *table->name);
    for (size_t c = 0; c < table->columns && table->name != NULL; c++) {
        table->name[c] = strdup(table->text + table->cell[c]);
        if (table->name[c] == NULL) {
            break;
        }
        if (tremolo_words_find(table->name[c], (const char *const *)table->name, c) < c) {
            fail(reading, "line %zu, column %zu: the name '%.80s' is there twice",
                 reading->row_line, c + 1, table->name[c]);
        }
    }
    if (table->name == NULL || table->name[table->columns - 1] == NULL) {
        fail(reading, "out of memory");
    }
    reading->cells = 0;
    reading->text_bytes = 0;
    reading->header_done = true;
}

/* Every row has as many cells as the header, or the file is refused: a shifted row would be
 * wrong silently. */
static void end_record(struct reading *reading)
{
    struct tremolo_table *table = reading->table;
    if (reading->column != table->columns) {
        fail(reading, "line %zu: %zu columns where the header has %zu", reading->row_line,
             reading->column, table->columns);
        return;
    }
    if (table->rows == TREMOLO_TABLE_ROWS_MAX ||
        !reserve(&table->line, &reading->line_capacity, table->rows + 1, sizeof *table->line)) {
        fail(reading, "line %zu: too many rows", reading->row_line);
        return;
    }
    table->line[table->rows++] = reading->row_line;
}

/* Every line break is reported, blank lines and the second byte of CR LF
 * included, so that lines can be counted. */
static void on_line_end(int terminator, void *context)
{
    struct reading *reading = context;
    if (reading->column > 0 && !reading->failed) {
        if (!reading->header_done) {
            end_header(reading);
        } else {
            end_record(reading);
        }
    }
    reading->column = 0;
    reading->line += terminator == '\n';
}

/* How much of the text is the mark that some programs put before UTF-8: 3 or 0. */
static size_t mark_bytes(const char *text, size_t length)
{
    return length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

/* The most frequent candidate outside quotes in the first line. Of equally frequent ones the
 * first of `candidates` wins, so a single column has a comma. */
static char find_separator(const char *text, size_t length)
{
    static const char candidates[] = ",;\t|";
    size_t count[4] = {0}, best = 0;
    bool quoted = false;
    for (size_t i = 0; i < length && (quoted || (text[i] != '\n' && text[i] != '\r')); i++) {
        quoted ^= text[i] == '"';
        const char *found = quoted || text[i] == '\0' ? NULL : strchr(candidates, text[i]);
        if (found != NULL) {
            count[found - candidates]++;
        }
    }
    for (size_t i = 1; i < 4; i++) {
        best = count[i] > count[best] ? i : best;
    }
    return candidates[best];
}

/* Read in chunks, and stop at the first problem. The separator is found in the first chunk,
 * before any field. */
static void parse(struct reading *reading, FILE *file)
{
    struct csv_parser parser;
    char *chunk = malloc(CHUNK_BYTES);
    bool first = true;
    if (chunk == NULL || csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL) != 0) {
        free(chunk);
        fail(reading, "out of memory");
        return;
    }
    for (size_t length = 0; !reading->failed && (length = fread(chunk, 1, CHUNK_BYTES, file)) > 0;
         first = false) {
        size_t mark = first ? mark_bytes(chunk, length) : 0;
        if (first) {
            csv_set_delim(&parser, (unsigned char)find_separator(chunk, length));
        }
        if (csv_parse(&parser, chunk + mark, length - mark, on_field, on_line_end, reading) !=
            length - mark) {
            fail(reading, "line %zu, column %zu: %s", reading->line, reading->column + 1,
                 csv_error(&parser) == CSV_EPARSE ? "a quote is out of place" : "out of memory");
        }
        if (parser.entry_pos > TREMOLO_TABLE_FIELD_BYTES_MAX) { /* libcsv would gather it whole */
            fail(reading, "line %zu, column %zu: the field is longer than %d bytes", reading->line,
                 reading->column + 1, TREMOLO_TABLE_FIELD_BYTES_MAX);
        }
    }
    if (!reading->failed && ferror(file) != 0) {
        fail(reading, "%s", strerror(errno));
    }
    if (!reading->failed && csv_fini(&parser, on_field, on_line_end, reading) != 0) {
        fail(reading, "line %zu: a quoted field is not closed", reading->line);
    }
    csv_free(&parser);
    free(chunk);
}

/* The message begins with the path, the reason follows. The reason is copied first, because both
 * sentences share the caller's buffer. */
bool tremolo_table_read(struct tremolo_table **table, const char *path,
                        char error[TREMOLO_TABLE_ERROR_BYTES])
{
    struct reading reading = {.line = 1, .error = error};
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return refuse(error, "%s: %s", path, strerror(errno));
    }
    reading.table = calloc(1, sizeof *reading.table);
    if (reading.table == NULL) {
        fail(&reading, "out of memory");
    } else {
        reading.table->place = "line";
        parse(&reading, file);
    }
    (void)fclose(file);
    if (!reading.failed && (reading.table->columns == 0 || reading.table->rows == 0)) {
        fail(&reading, "there is no row of data under a header");
    }
    if (reading.failed) {
        char reason[TREMOLO_TABLE_ERROR_BYTES];
        memcpy(reason, error, sizeof reason);
        tremolo_table_free(reading.table);
        return refuse(error, "%.200s: %.300s", path, reason);
    }
    *table = reading.table;
    return true;
}

/* Accepts NULL, and a table that was only begun. */
void tremolo_table_free(struct tremolo_table *table)
{
    if (table == NULL) {
        return;
    }
    for (size_t c = 0; table->name != NULL && c < table->columns; c++) {
        free(table->name[c]);
    }
    free(table->name);
    free(table->text);
    free(table->cell);
    free(table->line);
    free(table->column);
    free(table);
}

/* Names are compared as bytes. */
size_t tremolo_table_find(const struct tremolo_table *table, const char *name)
{
    return tremolo_words_find(name, (const char *const *)table->name, table->columns);
}

/* The list is TREMOLO_TABLE_MISSING. Letters may be in either case, since programs spell it
 * differently. */
bool tremolo_table_is_missing(const char *text)
{
    static const char *const spelled[] = {"", "NA", "N/A", "NaN", "null", "?"};
    bool missing = false;
    for (size_t i = 0; i < sizeof spelled / sizeof spelled[0]; i++) {
        missing = missing || strcasecmp(text, spelled[i]) == 0;
    }
    return missing;
}

/* strtod alone would take "inf", "nan" and hexadecimal. *value is written only if the text is a
 * number. */
bool tremolo_table_is_number(const char *text, double *value)
{
    char *end = NULL;
    if (*text == '\0' || text[strspn(text, "0123456789+-.eE")] != '\0' ||
        isalpha((unsigned char)*text)) {
        return false;
    }
    double parsed = strtod(text, &end);
    if (*end != '\0' || !isfinite(parsed)) {
        return false;
    }
    *value = parsed;
    return true;
}

/* A number longer than the copy is no number that a person wrote. Only the first comma is
 * replaced, so that 1,000,000 is not taken for a fraction. */
bool tremolo_table_has_decimal_comma(const char *text)
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

/* ---------------------------------------------------------------- a program's columns */

/* What a file cannot have wrong in memory: names and words must be text, codes must lie within
 * the words. Numbers need no check here: a NaN is a missing value, and infinities are refused
 * when a row is read. */
static bool check_column(const struct tremolo_table_column *column, size_t rows, size_t number,
                         char *error)
{
    const char *problem = field_problem(column->name, strlen(column->name));
    bool words = column->numbers == NULL;
    if (problem != NULL) {
        return refuse(error, "the name of column %zu: %s", number, problem);
    }
    for (size_t i = 0; words && i < column->word_count; i++) {
        problem = field_problem(column->words[i], strlen(column->words[i]));
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

/* Only names are copied; numbers, codes and words stay where the program has them. `columns` is
 * counted up with the names, so that a table that was only begun can be freed. */
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

/* A stride other than 1 is a column of a matrix that lies row by row. */
static double number_of(const struct tremolo_table_column *column, size_t row)
{
    return column->numbers[row * column->stride];
}

bool tremolo_table_holds_numbers(const struct tremolo_table *table, size_t column)
{
    return table->column != NULL && table->column[column].numbers != NULL;
}

/* Numbers in memory have no text. One is made when a message needs it, so it need not outlive the
 * next. A missing word is the empty text, as in a file. */
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

/* NaN in memory, a word for it in a file. */
bool tremolo_table_is_missing_at(const struct tremolo_table *table, size_t row, size_t column)
{
    return tremolo_table_holds_numbers(table, column)
               ? isnan(number_of(&table->column[column], row))
               : tremolo_table_is_missing(tremolo_table_cell(table, row, column));
}

/* An infinity is refused here as "inf" is in a file. */
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

/* Columns in memory have rows only. */
size_t tremolo_table_line(const struct tremolo_table *table, size_t row)
{
    return table->line != NULL ? table->line[row] : row;
}

/* ---------------------------------------------------------------- the first line */

/* libcsv calls this for each field of the line; those after the first line are ignored. */
static void on_name(void *bytes, size_t length, void *context)
{
    struct tremolo_csv_header *header = context;
    if (header->is_whole || header->too_many) {
        return;
    }
    if (header->count == TREMOLO_CSV_HEADER_NAMES_MAX) {
        header->too_many = true;
        return;
    }
    if (header->problem == NULL) {
        header->problem = field_problem(bytes, length);
        header->problem_column = header->count + 1;
    }
    char *copy = strndup(length > 0 ? bytes : "", length);
    header->too_many = copy == NULL;
    if (copy != NULL) {
        header->name[header->count++] = copy;
    }
}

/* A line is whole at its end; a header without a line feed is one, too. */
static void on_header_end(int last, void *context)
{
    (void)last;
    ((struct tremolo_csv_header *)context)->is_whole = true;
}

/* One line, byte by byte, so that nothing after it is read. False, and nothing to free, for what
 * is no line of CSV. */
static bool parse_line(struct tremolo_csv_header *header, const char *text, size_t length,
                       char separator)
{
    struct csv_parser parser;
    memset(header, 0, sizeof *header);
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) {
        return false;
    }
    csv_set_delim(&parser, (unsigned char)separator);
    /* Only the first line is wanted, but a quoted name may hold a line feed. */
    bool good = true;
    for (; header->bytes < length && good && !header->is_whole; header->bytes++) {
        good = csv_parse(&parser, text + header->bytes, 1, on_name, on_header_end, header) == 1;
    }
    if (good && !header->is_whole) {
        good = csv_fini(&parser, on_name, on_header_end, header) == 0;
    }
    csv_free(&parser);
    if (!good || header->too_many || header->count == 0) {
        tremolo_csv_header_free(header);
        return false;
    }
    return true;
}

/* A study is made from these names, so they must be names that a study may have, each once. */
bool tremolo_csv_header_parse(struct tremolo_csv_header *header, const char *text, size_t length)
{
    const char *const *names = (const char *const *)header->name;
    size_t mark = mark_bytes(text, length);
    bool good = parse_line(header, text + mark, length - mark, find_separator(text, length));
    header->bytes += mark;
    for (size_t i = 0; good && header->problem == NULL && i < header->count; i++) {
        if (!tremolo_text_is_plain(header->name[i])) {
            header->problem = "a name that no study may have: it controls the line it is printed "
                              "in, or turns its direction";
            header->problem_column = i + 1;
        }
        if (header->problem == NULL && tremolo_words_find(header->name[i], names, i) < i) {
            header->problem = "the name of a column before it, so there twice";
            header->problem_column = i + 1;
        }
    }
    if (good && header->problem != NULL) {
        tremolo_csv_header_free(header);
        return false;
    }
    return good;
}

static const char digits[] = "0123456789";

/* Three numbers and two separators, a time after them or not: 2024-03-01, 1/3/24. The separators
 * must be equal, so that 1.5/2 or a range of numbers is none. */
static bool is_date(const char *cell)
{
    size_t first = strspn(cell, digits);
    char separator = cell[first];
    if (first < 1 || first > 4 || separator == '\0' || strchr("-/.", separator) == NULL) {
        return false;
    }
    cell += first + 1;
    size_t second = strspn(cell, digits);
    if (second < 1 || second > 2 || cell[second] != separator) {
        return false;
    }
    size_t third = strspn(cell + second + 1, digits);
    return third >= 1 && third <= 4;
}

/* Digits that name something: with a zero in front, or under a name that says so. The letters at
 * the end of the name are compared, so that user_id and home.zip count. */
static bool is_code(const char *name, const char *cell)
{
    static const char *const words[] = {"id", "zip", "zipcode", "postcode", "plz", "code"};
    const char *last = name + strlen(name);
    while (last > name && isalpha((unsigned char)last[-1])) {
        last--;
    }
    bool named = false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        named = named || strcasecmp(last, words[i]) == 0;
    }
    return cell[strspn(cell, digits)] == '\0' && (named || (cell[0] == '0' && cell[1] != '\0'));
}

/* Codes come before numbers, because a code of digits is one; a missing cell says nothing. */
enum tremolo_column_look tremolo_column_look(const char *name, const char *cell)
{
    double number = 0;
    if (tremolo_table_is_missing(cell)) {
        return TREMOLO_LOOKS_NUMBER;
    }
    if (is_code(name, cell)) {
        return TREMOLO_LOOKS_CODE;
    }
    if (tremolo_table_is_number(cell, &number) || tremolo_table_has_decimal_comma(cell)) {
        return TREMOLO_LOOKS_NUMBER;
    }
    bool answer = strcasecmp(cell, "yes") == 0 || strcasecmp(cell, "no") == 0 ||
                  strcasecmp(cell, "true") == 0 || strcasecmp(cell, "false") == 0;
    return answer ? TREMOLO_LOOKS_YES_NO : is_date(cell) ? TREMOLO_LOOKS_DATE : TREMOLO_LOOKS_WORDS;
}

/* What was seen of a column: its different words while a category could have as many, and whether
 * all are 0 or 1. The words are copies, which conclude() frees. */
struct seen {
    char *word[TREMOLO_STUDY_MAX_LEVELS];
    size_t words;
    bool has[2], other, too_many;
};

/* The first present cell decides what the column looks like; all of them decide how many words it
 * has and whether it is only 0 and 1. Words are kept up to TREMOLO_STUDY_MAX_LEVELS of them; one
 * more sets `too_many`, and no number of rows needs more memory. */
static void look_at(enum tremolo_column_look *look, struct seen *seen, const char *name,
                    const char *cell)
{
    if (tremolo_table_is_missing(cell)) {
        return;
    }
    if (!seen->has[0] && !seen->has[1] && !seen->other) {
        *look = tremolo_column_look(name, cell);
    }
    bool bit = strcmp(cell, "0") == 0 || strcmp(cell, "1") == 0;
    seen->has[bit && cell[0] == '1'] |= bit;
    seen->other |= !bit;
    size_t i = tremolo_words_find(cell, (const char *const *)seen->word, seen->words);
    if (i == TREMOLO_STUDY_MAX_LEVELS) {
        seen->too_many = true;
    } else if (i == seen->words) {
        seen->word[i] = strdup(cell);
        seen->words += seen->word[i] != NULL;
    }
}

/* Too many words are names, not levels; 0 and 1 alone are probably an answer. Frees the words. */
static void conclude(enum tremolo_column_look *look, struct seen *seen)
{
    if (seen->too_many && (*look == TREMOLO_LOOKS_WORDS || *look == TREMOLO_LOOKS_CODE)) {
        *look = TREMOLO_LOOKS_NAMES;
    } else if (seen->has[0] && seen->has[1] && !seen->other) {
        *look = TREMOLO_LOOKS_ZERO_ONE;
    }
    while (seen->words > 0) {
        free(seen->word[--seen->words]);
    }
}

/* The text may end within a line, which is then ignored: callers read a beginning only. */
void tremolo_csv_header_looks(enum tremolo_column_look looks[TREMOLO_CSV_HEADER_NAMES_MAX],
                              const struct tremolo_csv_header *header, const char *text,
                              size_t length)
{
    struct tremolo_csv_header row;
    char separator = find_separator(text, length);
    struct seen *seen = calloc(TREMOLO_CSV_HEADER_NAMES_MAX, sizeof *seen);
    for (size_t i = 0; i < TREMOLO_CSV_HEADER_NAMES_MAX; i++) {
        looks[i] = TREMOLO_LOOKS_NUMBER;
    }
    for (size_t from = header->bytes; seen != NULL && from < length; from += row.bytes) {
        if (!parse_line(&row, text + from, length - from, separator)) {
            break;
        }
        for (size_t i = 0; i < row.count && i < header->count; i++) {
            look_at(&looks[i], &seen[i], header->name[i], row.name[i]);
        }
        tremolo_csv_header_free(&row);
    }
    for (size_t i = 0; seen != NULL && i < header->count; i++) {
        conclude(&looks[i], &seen[i]);
    }
    free(seen);
}

/* The header can be used for another line afterwards. */
void tremolo_csv_header_free(struct tremolo_csv_header *header)
{
    for (size_t i = 0; i < header->count; i++) {
        free(header->name[i]);
    }
    header->count = 0;
}
