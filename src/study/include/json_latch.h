/* json_latch.h -- documents in JSON that are whole or not at all.
 *
 * Building a document can fail anywhere, for want of memory. The first failure makes it NULL,
 * and NULL it stays, also as a part of others (json_pack's "o"); json_latch_text looks once, at
 * the end:
 *
 *     json_t *list = json_array();
 *     json_latch_append(&list, json_integer(1));
 *     status = json_latch_text(&text, json_pack("{s:o}", "list", list), JSON_COMPACT); */
#ifndef TREMOLO_JSON_LATCH_H
#define TREMOLO_JSON_LATCH_H

#include <jansson.h>
#include <math.h>
#include <stddef.h>

#include "tremolo_status.h"

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
