/* table.c -- CSV text into cells, by libcsv. */
#include "table_text.h"
#include "refuse.h"
#include "tremolo_table.h"
#include "tremolo_words.h"

#include <csv.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CHUNK_BYTES = 1 << 16 };

#define TEXT_BYTES_MAX ((size_t)4 << 30)

/* What libcsv's callbacks share. The first problem stays. */
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

/* Grow an array of `size`-byte entries, whose pointer is at array_pointer, by
 * doubling until it holds `needed`. On failure it stays as it is. */
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
    const char *problem = table_field_problem(field, length);
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

size_t table_mark_bytes(const char *text, size_t length)
{
    return length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

char table_separator(const char *text, size_t length)
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
        size_t mark = first ? table_mark_bytes(chunk, length) : 0;
        if (first) {
            csv_set_delim(&parser, (unsigned char)table_separator(chunk, length));
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

size_t tremolo_table_find(const struct tremolo_table *table, const char *name)
{
    return tremolo_words_find(name, (const char *const *)table->name, table->columns);
}

bool tremolo_table_is_missing(const char *text)
{
    static const char *const spelled[] = {"", "NA", "N/A", "NaN", "null", "?"};
    bool missing = false;
    for (size_t i = 0; i < sizeof spelled / sizeof spelled[0]; i++) {
        missing = missing || strcasecmp(text, spelled[i]) == 0;
    }
    return missing;
}

/* Bytes that follow a lead byte in UTF-8, or -1 for a byte that is none. */
static int following(unsigned char lead)
{
    return lead < 0x80                   ? 0
           : lead >= 0xC2 && lead < 0xE0 ? 1
           : lead >= 0xE0 && lead < 0xF0 ? 2
           : lead >= 0xF0 && lead < 0xF5 ? 3
                                         : -1;
}

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

const char *table_field_problem(const void *field, size_t length)
{
    if (length > 0 && memchr(field, 0, length) != NULL) {
        return "a zero byte, so not UTF-8; convert it, for example with iconv -f utf16 -t utf8";
    }
    if (!is_utf8(field, length)) {
        return "not UTF-8; convert it, for example with iconv -f latin1 -t utf8";
    }
    return length > TREMOLO_TABLE_FIELD_BYTES_MAX ? "the field is too long" : NULL;
}

/* strtod alone would take "inf", "nan" and hexadecimal. */
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
