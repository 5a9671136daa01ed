/* study_table.h -- studies by their tag, found in one step however many there are.
 *
 * Tags are the beginnings of hashes, so their own bytes spread them over the slots. Nothing is
 * ever taken out. Whoever has the table sees to it that nobody reads while something is added. */
#ifndef SERVER_STUDY_TABLE_H
#define SERVER_STUDY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct served_study;

struct study_table {
    struct served_study **slot; /* NULL: free */
    size_t slots;               /* a power of two, at least twice as many as studies */
};

/* Room for so many studies; false without memory. */
bool study_table_init(struct study_table *table, size_t studies);
void study_table_free(struct study_table *table);

/* Of studies with one tag the first that was added is found. */
void study_table_add(struct study_table *table, struct served_study *served);
struct served_study *study_table_find(const struct study_table *table, const uint8_t *tag);

#endif
