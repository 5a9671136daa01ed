/* table_text.h -- what the reader of tables and that of headers share. */
#ifndef TREMOLO_LAB_TABLE_TEXT_H
#define TREMOLO_LAB_TABLE_TEXT_H

#include <stddef.h>

/* The separator that tremolo_table_read() would choose: the most frequent candidate
 * outside quotes in the first line. */
char table_separator(const char *text, size_t length);

/* How much of the text is the mark that some programs put before UTF-8: 3 or 0. */
size_t table_mark_bytes(const char *text, size_t length);

/* What is wrong with a field's bytes, as a phrase with its remedy; NULL: nothing. */
const char *table_field_problem(const void *field, size_t length);

#endif
