/* study_table.c -- open addressing, at most half full. */
#include "study_table.h"

#include <stdlib.h>
#include <string.h>

#include "served_study.h"

bool study_table_init(struct study_table *table, size_t studies)
{
    table->slots = 2;
    while (table->slots < 2 * studies) {
        table->slots *= 2;
    }
    table->slot = calloc(table->slots, sizeof(struct served_study *));
    return table->slot != NULL;
}

void study_table_free(struct study_table *table)
{
    free(table->slot);
    *table = (struct study_table){0};
}

/* The slot of this tag, or the free one in which it belongs. */
static struct served_study **place_of(const struct study_table *table, const uint8_t *tag)
{
    uint64_t first = 0;
    memcpy(&first, tag, sizeof first);
    size_t at = (size_t)first & (table->slots - 1);
    while (table->slot[at] != NULL && memcmp(table->slot[at]->id, tag, STORE_STUDY_BYTES) != 0) {
        at = (at + 1) & (table->slots - 1);
    }
    return &table->slot[at];
}

void study_table_add(struct study_table *table, struct served_study *served)
{
    struct served_study **place = place_of(table, served->id);
    if (*place == NULL) {
        *place = served;
    }
}

struct served_study *study_table_find(const struct study_table *table, const uint8_t *tag)
{
    return *place_of(table, tag);
}
