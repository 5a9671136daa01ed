/* columns.c -- lists of columns, as --features takes them. */
#include "tremolo_table.h"
#include "refuse.h"

#include <string.h>

#include "words.h"

void tremolo_columns_add(FILE *list, const char *name, size_t before)
{
    (void)fputs(before == 0 ? "" : ",", list);
    tremolo_words_quote(list, name);
}

size_t tremolo_columns_next(char name[TREMOLO_TABLE_FIELD_BYTES_MAX + 1], const char *list)
{
    bool quoted = list[0] == '"', open = quoted;
    size_t at = quoted ? 1 : 0, length = 0;
    while (list[at] != '\0' && (open || list[at] != ',')) {
        if (quoted && list[at] == '"' && list[++at] != '"') {
            open = false;
            break;
        }
        if (length == TREMOLO_TABLE_FIELD_BYTES_MAX) {
            return 0;
        }
        name[length++] = list[at++];
    }
    name[length] = '\0';
    bool ends = list[at] == '\0' || list[at] == ',';
    return open || !ends ? 0 : at + (list[at] == ',');
}

char *tremolo_columns_without(const struct tremolo_column_choice *choice,
                              char error[TREMOLO_TABLE_ERROR_BYTES])
{
    char *text = NULL;
    size_t length = 0, listed = 0;
    for (size_t i = 0; i < choice->without_count; i++) {
        if (tremolo_words_find(choice->without[i], choice->name, choice->names) == choice->names) {
            (void)refuse(error, "there is no column '%.80s' to leave out", choice->without[i]);
            return NULL;
        }
    }
    FILE *list = open_memstream(&text, &length);
    for (size_t i = 0; list != NULL && i < choice->names; i++) {
        const char *name = choice->name[i];
        if (strcmp(name, choice->response) != 0 &&
            tremolo_words_find(name, choice->without, choice->without_count) ==
                choice->without_count) {
            tremolo_columns_add(list, name, listed++);
        }
    }
    if (list == NULL || fclose(list) != 0) {
        (void)refuse(error, "out of memory");
        return NULL;
    }
    return text;
}
