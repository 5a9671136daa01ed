/* document.h -- one table for each JSON document.
 *
 * A table lists the members of an object in their order: key, type, where the value is, and what it
 * means. The same rows write the document, describe it as JSON Schema (draft 2020-12), read and check
 * it, encode it for a hash, and write a starter that explains itself. So a description cannot differ
 * from what is written or accepted, and a new member is a new row.
 *
 *     static const struct document_row rows[] = {
 *         DOCUMENT_ROW("title", TEXT, DOCUMENT_NULLABLE, DOCUMENT_AT(struct thing, title),
 *                      .words = "of the study; null without one"),
 *         DOCUMENT_ROW("r2", REAL, DOCUMENT_NULLABLE, DOCUMENT_AT(struct thing, r2), .high = 1),
 *         DOCUMENT_ROW("rows", LIST, 0, DOCUMENT_LIST_AT(struct thing, row, row_count),
 *                      .rows = coefficient_rows),
 *         {.key = NULL}};
 *     json_t *document = document_json(rows, &thing);          NULL without memory
 *     json_t *schema = document_schema(rows, NULL);
 *
 * What a table cannot say of a value, such as a condition between members, is JSON text in `rules` and
 * goes into the schema as it is; a value that no member of the struct holds is made by `make` and read
 * by `read`.
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
#include <stdio.h>

#include "tremolo_status.h"
#include "tremolo_study_file.h"

enum document_type {
    DOCUMENT_ANY, /* made and read, of a double or nothing; its schema is `rules`, or with `rows` an
                       * object of them, too */
    DOCUMENT_TEXT,    /* const char *; low and high are lengths in bytes */
    DOCUMENT_REAL,    /* double */
    DOCUMENT_WHOLE,   /* unsigned, of 1, 2, 4 or 8 bytes */
    DOCUMENT_COUNT,   /* int64_t; negative: not known */
    DOCUMENT_BOOLEAN, /* bool */
    DOCUMENT_CHOICE,  /* an index of `choices`: bool or an enum */
    DOCUMENT_DATE,    /* int64_t, Unix seconds; in JSON a day, or a time of it in UTC */
    DOCUMENT_CONST,   /* the whole number `low`, which is no member of the struct */
    DOCUMENT_OBJECT,  /* of `rows`, which begin at `place`, or at the same struct without one */
    DOCUMENT_LIST, /* of objects of `rows` or of values like `element`; DOCUMENT_LIST_AT, or made */
};

/* A nullable member is null for a text that is NULL, a real that is not finite, a negative count and
 * a pointer that is NULL. */
enum {
    DOCUMENT_NULLABLE = 1,
    DOCUMENT_OPTIONAL = 2,   /* may be left out */
    DOCUMENT_ABOVE = 4,      /* low itself is excluded */
    DOCUMENT_BELOW = 8,      /* high itself is excluded */
    DOCUMENT_POINTER = 16,   /* the place of an object holds a pointer to its struct */
    DOCUMENT_ELSEWHERE = 32, /* described, and known to readers; another part writes and reads it */
    DOCUMENT_SPARSE = 64,    /* not written while it holds its fallback, or is NULL */
    DOCUMENT_INSIDE = 128,   /* the place of a text or list is its array, not a pointer to one */
    DOCUMENT_DECIDES = 256,  /* `when` of later rows depends on it: wrong, it silences them */
    DOCUMENT_SECRET = 512,   /* known to readers only, which refuse it with `otherwise` */
};

struct document_reader;

struct document_row {
    const char *key; /* NULL ends a table */
    enum document_type type;
    unsigned is;
    size_t place;                    /* DOCUMENT_AT */
    size_t bytes;                    /* of the member, or of each element of a list */
    size_t count;                    /* where a list's number of elements is, a size_t */
    json_t *(*make)(const void *of); /* makes the value in place of a member; NULL without memory */
    /* Reads the value in place of a member. False when it was wrong, with a problem noted. */
    bool (*read)(struct document_reader *reader, const struct document_row *row, void *into);
    /* Whether the member belongs to this object; NULL: always. Readers refuse one that does not
     * belong with the reason `otherwise`. */
    bool (*when)(const void *of);
    const char *otherwise;
    /* Ends of a number, a length or a count of elements, at most 2^53. Both the same: no limit; an
     * infinite one does not limit its side. */
    double low, high;
    double fallback; /* the value without the key, unless 0; infinite ones are dates without end. A
                      * starter does not show an optional member that holds it. */
    unsigned id;     /* a bit for each encoding that the member is part of */
    const char *const *choices;      /* of a choice, or a text that is one; NULL after the last */
    const struct document_row *rows; /* of an object, or of a list's elements */
    const struct document_row *element; /* of a list of values; its key is not used */
    /* What the member means, its unit and when it is null; NULL where its name says it. */
    const char *words;
    const char *rules; /* more members of its schema, as the JSON text of an object */
};

/* A row: DOCUMENT_ROW("r2", REAL, DOCUMENT_NULLABLE, DOCUMENT_AT(struct thing, r2), .high = 1). */
#define DOCUMENT_ROW(name, what, flags, ...)                                                       \
    {                                                                                              \
        .key = (name), .type = DOCUMENT_##what, .is = (flags), __VA_ARGS__                         \
    }

/* .place and .bytes of a member of a struct. */
#define DOCUMENT_AT(type, member)                                                                  \
    .place = offsetof(type, member), .bytes = sizeof(((type *)0)->member)

/* The same of a list: a pointer to its elements, or an array of them (DOCUMENT_INSIDE). */
#define DOCUMENT_LIST_AT(type, member, number)                                                     \
    .place = offsetof(type, member), .bytes = sizeof(*((type *)0)->member),                        \
    .count = offsetof(type, number)

/* The object of these rows. The caller owns it. */
json_t *document_json(const struct document_row *rows, const void *of);

/* The same for a person to edit: each object begins with a "comment" of what its members mean, unless
 * it has one of its own. */
json_t *document_starter(const struct document_row *rows, const void *of);

/* The schema of such an object, with more members as JSON text ("$id", "title", "description",
 * conditions), which come first; NULL for none. The caller owns it. */
json_t *document_schema(const struct document_row *rows, const char *rules);

/* What a row's member holds, as JSON. */
json_t *document_value(const struct document_row *row, const void *of);

/* ------------------------------------------------------------------------
 * Reading. A reader never stops at the first problem: it notes each with its place and goes on, and
 * the caller counts them at the end. */

struct document_place {
    const json_t *value; /* NULL: there is none */
    size_t path_length;
};
struct document_reader {
    struct tremolo_study_problems *problems;
    struct document_place at;
    char path[TREMOLO_STUDY_PATH_BYTES];
    bool no_memory; /* for a part of it */
};

/* Read the object where the reader is; booleans, counts and lists need `read` of their row. Unknown keys
 * are problems, "comment" may be any text, members
 * without a value get their fallback. Texts point into the JSON tree. */
void document_read(struct document_reader *reader, const struct document_row *rows, void *into);

/* The same of an object that a program wrote, which may have other members: false when one of these is
 * wrong, and `into` is then of no use. */
bool document_take(const struct document_row *rows, const json_t *object, void *into);

/* One member as its type and limits say, for `read` of a row that checks more. True also for an
 * optional one that is not there. */
bool document_read_member(struct document_reader *reader, const struct document_row *row,
                          void *into);

/* Note a problem of member `key` ("" is the value itself) where the reader is; false. */
bool document_problem(struct document_reader *reader, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Step into a member or, with the list's key, an element; the answer is what document_leave() takes to
 * step back. */
struct document_place document_enter(struct document_reader *reader, const char *key);
struct document_place document_enter_element(struct document_reader *reader, const char *key,
                                             size_t index);
void document_leave(struct document_reader *reader, struct document_place before);

/* Close a stream of open_memstream(): false, with *text freed and NULL, when memory was short for a part
 * of it. */
bool document_close(FILE *out, char **text);

/* ------------------------------------------------------------------------
 * Deterministic CBOR, of which ids are hashes. The stream's error is looked at once, at its end. */

/* The members with a bit of `id`, in the order of the rows, as one array: texts, doubles, unsigned
 * numbers; a list is an array in it, objects are not. NaN and dates without end are null. */
void document_encode(FILE *out, const struct document_row *rows, const void *of, unsigned id);

/* The parts of it, for arrays that no table describes. */
void document_encode_array(FILE *out, size_t count);
void document_encode_whole(FILE *out, uint64_t value);
void document_encode_real(FILE *out, double value);
void document_encode_text(FILE *out, const char *text);

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

/* JSON has no infinity; null means "no number". */
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
