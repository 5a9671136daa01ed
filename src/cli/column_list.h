/* column_list.h -- lists of columns, as --features takes them. */
#ifndef TREMOLO_CLI_COLUMN_LIST_H
#define TREMOLO_CLI_COLUMN_LIST_H

#include <stdio.h>

#include "table.h"

/* Add a name, in quotes, to a list that holds `before` of them. */
void column_list_add(FILE *list, const char *name, size_t before);

/* The next name of a list, which is in quotes when it holds a comma or begins with a
 * quote; a quote within quotes is doubled, as in the CSV file itself. How much of the
 * list it took, its comma included, or 0 when it is too long, its quotes do not end, or
 * something follows them. */
size_t column_list_next(char name[TABLE_FIELD_BYTES_MAX + 1], const char *list);

/* What a list is made from, and what is left out of it. */
struct column_choice {
    const char *const *name;
    size_t names;
    const char *response; /* is never a feature */
    const char *const *without;
    size_t without_count;
};

/* All names but the response and those left out. The caller frees it; NULL with
 * a sentence in `error` when one that is left out is not there. */
char *column_list_without(const struct column_choice *choice, char error[TABLE_ERROR_BYTES]);

#endif
