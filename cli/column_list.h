/* column_list.h -- lists of columns, as --features takes them. */
#ifndef TREMOLO_CLI_COLUMN_LIST_H
#define TREMOLO_CLI_COLUMN_LIST_H

#include <stdio.h>

#include "table.h"

/* Add a name, in quotes, to a list that holds `before` of them. */
void column_list_add(FILE *list, const char *name, size_t before);

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
