/* column_list.h -- lists of columns, as --features takes them. */
#ifndef TREMOLO_CLI_COLUMN_LIST_H
#define TREMOLO_CLI_COLUMN_LIST_H

#include <stdio.h>

#include "table.h"

/* Add a name, in quotes, to a list that holds `before` of them. */
void column_list_add(FILE *list, const char *name, size_t before);

/* All columns but the response and those left out. The caller frees it; NULL with
 * a sentence in `error` when there is no such column. */
char *column_list_without(const struct table *table, const char *response,
                          const char *const *without, size_t count, char error[TABLE_ERROR_BYTES]);

#endif
