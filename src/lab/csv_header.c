/* csv_header.c -- the names in the first line of a CSV file.
 *
 * A study is written before there are data, so that a header alone must do. */
#include "tremolo_table.h"

#include <csv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table_text.h"

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
        header->problem = table_field_problem(bytes, length);
        header->problem_column = header->count + 1;
    }
    char *copy = strndup(length > 0 ? bytes : "", length);
    header->too_many = copy == NULL;
    if (copy != NULL) {
        header->name[header->count++] = copy;
    }
}

static void on_line_end(int last, void *context)
{
    (void)last;
    ((struct tremolo_csv_header *)context)->is_whole = true;
}

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
        good = csv_parse(&parser, text + header->bytes, 1, on_name, on_line_end, header) == 1;
    }
    if (good && !header->is_whole) {
        good = csv_fini(&parser, on_name, on_line_end, header) == 0;
    }
    csv_free(&parser);
    if (!good || header->too_many || header->count == 0) {
        tremolo_csv_header_free(header);
        return false;
    }
    return true;
}

bool tremolo_csv_header_parse(struct tremolo_csv_header *header, const char *text, size_t length)
{
    size_t mark = table_mark_bytes(text, length);
    bool good = parse_line(header, text + mark, length - mark, table_separator(text, length));
    header->bytes += mark;
    if (good && header->problem != NULL) {
        tremolo_csv_header_free(header);
        return false;
    }
    return good;
}

bool tremolo_csv_header_texts(bool is_text[TREMOLO_CSV_HEADER_NAMES_MAX],
                              const struct tremolo_csv_header *header, const char *text,
                              size_t length)
{
    struct tremolo_csv_header values;
    size_t from = header->bytes;
    bool found = false;
    memset(is_text, 0, TREMOLO_CSV_HEADER_NAMES_MAX * sizeof *is_text);
    if (from >= length ||
        !parse_line(&values, text + from, length - from, table_separator(text, length))) {
        return false;
    }
    for (size_t i = 0; i < values.count && i < header->count; i++) {
        double number = 0;
        is_text[i] = values.name[i][0] != '\0' && !tremolo_table_is_number(values.name[i], &number);
        found = found || is_text[i];
    }
    tremolo_csv_header_free(&values);
    return found;
}

void tremolo_csv_header_free(struct tremolo_csv_header *header)
{
    for (size_t i = 0; i < header->count; i++) {
        free(header->name[i]);
    }
    header->count = 0;
}
