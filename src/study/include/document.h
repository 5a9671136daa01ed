/* document.h -- one table for each JSON document.
 *
 * A table lists the members of an object in their order: key, type, where the value is, and what it
 * means. From the same rows come the document itself and its JSON Schema (draft 2020-12), which is the
 * component of openapi.json, too; the study file is also read and checked by its rows. So a
 * description cannot differ from what is written.
 *
 *     static const struct document_row rows[] = {
 *         {.key = "title", .type = DOCUMENT_TEXT, DOCUMENT_AT(struct thing, title),
 *          .is = DOCUMENT_NULLABLE, .words = "of the study; null without one"},
 *         {.key = "r2", .type = DOCUMENT_REAL, DOCUMENT_AT(struct thing, r2),
 *          .is = DOCUMENT_NULLABLE, .low = 0, .high = 1},
 *         {.key = "rows", .type = DOCUMENT_LIST, .make = rows_json, .rows = coefficient_rows},
 *         {NULL}};
 *     json_t *document = document_json(rows, &thing);          NULL without memory
 *     json_t *schema = document_schema(rows, NULL);
 *
 * A list of objects of a struct is made by a function of the list, which calls document_append() for
 * each element; the element's rows stand in the list's row. What the table cannot say of a value, such
 * as a condition between members, is JSON text in `rules` and goes into the schema as it stands.
 *
 * Building a document can fail anywhere without memory. The first failure makes it NULL, and it stays
 * NULL, also as a part of others (json_pack's "o"); json_latch_text() looks once, at the end:
 *
 *     json_t *list = json_array();
 *     json_latch_append(&list, json_integer(1));
 *     status = json_latch_text(&text, json_pack("{s:o}", "list", list), JSON_COMPACT); */
#ifndef TREMOLO_DOCUMENT_H
#define TREMOLO_DOCUMENT_H

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_status.h"

enum document_type {
    DOCUMENT_ANY,     /* made; its schema is `rules` */
    DOCUMENT_TEXT,    /* const char *; low and high are lengths in bytes */
    DOCUMENT_REAL,    /* double */
    DOCUMENT_WHOLE,   /* unsigned, of 1, 2, 4 or 8 bytes */
    DOCUMENT_COUNT,   /* int64_t; negative: not known */
    DOCUMENT_BOOLEAN, /* bool */
    DOCUMENT_CHOICE,  /* an index of `choices`: bool or an enum */
    DOCUMENT_DATE,    /* int64_t, Unix seconds; in JSON a day, or a time of it in UTC */
    DOCUMENT_CONST,   /* the whole number `low`, which is no member of the struct */
    DOCUMENT_OBJECT,  /* of `rows`, which begin at `place`, or at the same struct without one */
    DOCUMENT_LIST,    /* made, of objects of `rows` or of values like `element` */
};

/* A nullable member is null for a text that is NULL, a real that is not finite, a negative count and
 * a pointer that is NULL. */
enum {
    DOCUMENT_NULLABLE = 1,
    DOCUMENT_OPTIONAL = 2,   /* may be left out */
    DOCUMENT_ABOVE = 4,      /* low itself is excluded */
    DOCUMENT_BELOW = 8,      /* high itself is excluded */
    DOCUMENT_POINTER = 16,   /* the place of an object holds a pointer to its struct */
    DOCUMENT_ELSEWHERE = 32, /* only described: another part adds it to the document */
};

struct document_row {
    const char *key; /* NULL ends a table */
    enum document_type type;
    unsigned is;
    size_t place; /* DOCUMENT_AT */
    size_t bytes;
    json_t *(*make)(const void *of); /* makes the value in place of a member; NULL without memory */
    bool (*when)(const void *of);    /* whether it is written; NULL: always */
    /* Ends of a number, a length or a count of elements, at most 2^53. Both the same: no limit; an
     * infinite one does not limit its side. */
    double low, high;
    const char *const *choices;      /* of a choice, or a text that is one; NULL after the last */
    const struct document_row *rows; /* of an object, or of a list's elements */
    const struct document_row *element; /* of a list of values; its key is not used */
    /* What the member means, its unit and when it is null; NULL where its name says it. */
    const char *words;
    const char *rules; /* more members of its schema, as the JSON text of an object */
};

/* .place and .bytes of a member of a struct. */
#define DOCUMENT_AT(type, member)                                                                  \
    .place = offsetof(type, member), .bytes = sizeof(((type *)0)->member)

/* The object of these rows. The caller owns it. */
json_t *document_json(const struct document_row *rows, const void *of);

/* The object as one more element; the list is freed and NULL without memory. */
void document_append(json_t **list, const struct document_row *rows, const void *of);

/* The schema of such an object, with more members as JSON text ("$id", "title", "description",
 * conditions), which come first; NULL for none. The caller owns it. */
json_t *document_schema(const struct document_row *rows, const char *rules);

/* What a row's member holds: an unsigned of any width, or its JSON value. */
uint64_t document_whole(const struct document_row *row, const void *of);
json_t *document_value(const struct document_row *row, const void *of);

/* ------------------------------------------------------------------------
 * By hand: values that latch. */

enum { JSON_LATCH_EXACT = JSON_COMPACT | JSON_REAL_PRECISION(17) }; /* for json_latch_text */

static inline void json_latch_append(json_t **list, json_t *value)
{
    if (json_array_append_new(*list, value) != 0) {
        json_decref(*list);
        *list = NULL;
    }
}

static inline void json_latch_set(json_t **object, const char *name, json_t *value)
{
    if (json_object_set_new(*object, name, value) != 0) {
        json_decref(*object);
        *object = NULL;
    }
}

/* JSON has no infinity; null stands for "no number". */
static inline json_t *json_latch_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* The other way: a number, or NAN; and one that is a member. */
static inline double json_latch_value(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static inline double json_latch_member(const json_t *object, const char *name)
{
    return json_latch_value(json_object_get(object, name));
}

static inline json_t *json_latch_numbers(const double *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_latch_append(&list, json_latch_number(values[i]));
    }
    return list;
}

/* Takes the document over; the caller frees *text, which a failure leaves untouched. */
TREMOLO_MUST_USE static inline enum tremolo_status json_latch_text(char **text, json_t *document,
                                                                   size_t flags)
{
    char *made = json_dumps(document, flags);
    json_decref(document);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    *text = made;
    return TREMOLO_OK;
}

/* The same with all digits, for programs; NULL without memory. */
static inline char *json_latch_exact(json_t *document)
{
    char *text = NULL;
    (void)!json_latch_text(&text, document, JSON_LATCH_EXACT);
    return text;
}

#endif
