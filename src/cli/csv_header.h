/* csv_header.h -- the names in the first line of a CSV file. */
#ifndef TREMOLO_CLI_CSV_HEADER_H
#define TREMOLO_CLI_CSV_HEADER_H

#include <stdbool.h>
#include <stddef.h>

enum { CSV_HEADER_NAMES_MAX = 257, CSV_HEADER_BYTES_MAX = 64 * 1024 };

struct csv_header {
    char *name[CSV_HEADER_NAMES_MAX];
    size_t count;
    size_t bytes; /* of the line */
    bool is_whole;
    bool too_many;
    const char *problem; /* with the first bad name's bytes, for people; NULL: none */
    size_t problem_column;
};

/* Read the first line of `text` (ended by a zero after `length` bytes), separated as
 * table_read() finds. False, and nothing to free, when it is no such line, has too
 * many names, or one with a `problem`. */
bool csv_header_parse(struct csv_header *header, const char *text, size_t length);

/* Which columns hold words, by the line after the header's; false when none does
 * or there is no such line. Nothing else of the data is looked at. */
bool csv_header_texts(bool is_text[CSV_HEADER_NAMES_MAX], const struct csv_header *header,
                      const char *text, size_t length);
void csv_header_free(struct csv_header *header);

#endif
