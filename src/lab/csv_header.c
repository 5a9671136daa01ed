/* csv_header.c -- the names in the first line of a CSV file.
 *
 * A study is written before there are data, so that a header alone must do. */
#include "tremolo_table.h"

#include <csv.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "table_text.h"
#include "study_internal.h"
#include "tremolo_words.h"

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
    const char *const *names = (const char *const *)header->name;
    size_t mark = table_mark_bytes(text, length);
    bool good = parse_line(header, text + mark, length - mark, table_separator(text, length));
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

/* Three numbers and two separators, a time after them or not: 2024-03-01, 1/3/24. */
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

/* Digits that name something: with a zero in front, or under a name that says so. */
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

/* What was seen of a column: its different words while a category could have as many, and
 * whether all are 0 or 1. */
struct seen {
    char *word[TREMOLO_STUDY_MAX_LEVELS];
    size_t words;
    bool has[2], other, too_many;
};

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

void tremolo_csv_header_looks(enum tremolo_column_look looks[TREMOLO_CSV_HEADER_NAMES_MAX],
                              const struct tremolo_csv_header *header, const char *text,
                              size_t length)
{
    struct tremolo_csv_header row;
    char separator = table_separator(text, length);
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

void tremolo_csv_header_free(struct tremolo_csv_header *header)
{
    for (size_t i = 0; i < header->count; i++) {
        free(header->name[i]);
    }
    header->count = 0;
}
