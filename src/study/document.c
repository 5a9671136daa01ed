/* document.c -- JSON documents and their schemas from one table.
 *
 * The two halves follow the same rows: value_json() writes a member, member_schema() says what it may
 * write. A type that is added to one has to be added to the other; tests/cli/schemas.sh compares what
 * is described with what is committed, and the end-to-end tests validate real documents. */
#include "document.h"

#include <math.h>
#include <string.h>

#include "study_internal.h"

#define DATE_PATTERN "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?$"

/* ---------------------------------------------------------------- values */

uint64_t document_whole(const struct document_row *row, const void *of)
{
    const void *at = (const char *)of + row->place;
    switch (row->bytes) {
    case 1: return *(const uint8_t *)at;
    case 2: return *(const uint16_t *)at;
    case 4: return *(const uint32_t *)at;
    default: return *(const uint64_t *)at;
    }
}

static json_t *date_json(int64_t seconds)
{
    char text[TREMOLO_STUDY_DATE_BYTES];
    tremolo_study_date_text(text, seconds);
    return json_string(text);
}

static json_t *object_json(const struct document_row *row, const void *at)
{
    if ((row->is & DOCUMENT_POINTER) != 0) {
        memcpy(&at, at, sizeof at);
    }
    return at == NULL ? json_null() : document_json(row->rows, at);
}

json_t *document_value(const struct document_row *row, const void *of)
{
    const void *at = (const char *)of + row->place;
    const char *text = NULL;
    int64_t count = row->bytes == sizeof(int32_t) ? *(const int32_t *)at : 0;
    if (row->make != NULL) {
        return row->make(of);
    }
    switch (row->type) {
    case DOCUMENT_TEXT:
        memcpy(&text, at, sizeof text);
        return text != NULL ? json_string(text) : json_null();
    case DOCUMENT_REAL: return json_latch_number(*(const double *)at);
    case DOCUMENT_WHOLE: return json_integer((json_int_t)document_whole(row, of));
    case DOCUMENT_COUNT:
        count = row->bytes == sizeof count ? *(const int64_t *)at : count;
        return count >= 0 ? json_integer(count) : json_null();
    case DOCUMENT_BOOLEAN: return json_boolean(*(const bool *)at);
    case DOCUMENT_CHOICE: return json_string(row->choices[document_whole(row, of)]);
    case DOCUMENT_DATE: return date_json(*(const int64_t *)at);
    case DOCUMENT_CONST: return json_integer((json_int_t)row->low);
    case DOCUMENT_OBJECT: return object_json(row, at);
    default: return NULL; /* a list and what is no type of its own are made */
    }
}

static bool is_written(const struct document_row *row, const void *of)
{
    return (row->is & DOCUMENT_ELSEWHERE) == 0 && (row->when == NULL || row->when(of));
}

json_t *document_json(const struct document_row *rows, const void *of)
{
    json_t *object = json_object();
    for (const struct document_row *row = rows; row->key != NULL; row++) {
        if (is_written(row, of)) {
            json_latch_set(&object, row->key, document_value(row, of));
        }
    }
    return object;
}

void document_append(json_t **list, const struct document_row *rows, const void *of)
{
    json_latch_append(list, document_json(rows, of));
}

/* ---------------------------------------------------------------- schemas */

static json_t *member_schema(const struct document_row *row);

static json_t *limit_json(double value)
{
    return value == floor(value) ? json_integer((json_int_t)value) : json_real(value);
}

static void say_type(json_t **schema, const struct document_row *row)
{
    static const char *const names[] = {
        [DOCUMENT_TEXT] = "string",   [DOCUMENT_REAL] = "number",     [DOCUMENT_WHOLE] = "integer",
        [DOCUMENT_COUNT] = "integer", [DOCUMENT_BOOLEAN] = "boolean", [DOCUMENT_DATE] = "string",
        [DOCUMENT_OBJECT] = "object", [DOCUMENT_LIST] = "array",      [DOCUMENT_CONST] = NULL,
    };
    const char *name = names[row->type];
    if (name != NULL && row->choices == NULL) {
        json_latch_set(schema, "type",
                       (row->is & DOCUMENT_NULLABLE) != 0 ? json_pack("[ss]", name, "null")
                                                          : json_string(name));
    }
}

static void say_choices(json_t **schema, const struct document_row *row)
{
    json_t *list = json_array();
    for (size_t i = 0; row->choices[i] != NULL; i++) {
        json_latch_append(&list, json_string(row->choices[i]));
    }
    if ((row->is & DOCUMENT_NULLABLE) != 0) {
        json_latch_append(&list, json_null());
    }
    json_latch_set(schema, "enum", list);
}

/* The ends of a number, of a text's length or of a list's. */
static void say_limits(json_t **schema, const struct document_row *row)
{
    static const char *const names[][4] = {
        {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
        {"minLength", "maxLength", "minLength", "maxLength"},
        {"minItems", "maxItems", "minItems", "maxItems"},
    };
    const char *const *name = names[row->type == DOCUMENT_TEXT   ? 1
                                    : row->type == DOCUMENT_LIST ? 2
                                                                 : 0];
    bool number = name == names[0];
    if (row->low < row->high && isfinite(row->low) && (number || row->low > 0)) {
        json_latch_set(schema, name[(row->is & DOCUMENT_ABOVE) != 0 ? 2 : 0], limit_json(row->low));
    }
    if (row->low < row->high && isfinite(row->high)) {
        json_latch_set(schema, name[(row->is & DOCUMENT_BELOW) != 0 ? 3 : 1],
                       limit_json(row->high));
    }
}

static void say_members(json_t **schema, const struct document_row *rows)
{
    json_t *required = json_array(), *properties = json_object();
    for (const struct document_row *row = rows; row->key != NULL; row++) {
        if ((row->is & DOCUMENT_OPTIONAL) == 0) {
            json_latch_append(&required, json_string(row->key));
        }
        json_latch_set(&properties, row->key, member_schema(row));
    }
    if (json_array_size(required) > 0) {
        json_latch_set(schema, "required", required);
    } else {
        json_decref(required);
    }
    json_latch_set(schema, "properties", properties);
    json_latch_set(schema, "additionalProperties", json_false());
}

/* The members that are written as JSON text, which a program's own table has right or nothing. */
static void say_rules(json_t **schema, const char *rules)
{
    json_t *more = rules != NULL ? json_loads(rules, 0, NULL) : NULL;
    if (rules != NULL && json_object_update(*schema, more) != 0) {
        json_decref(*schema);
        *schema = NULL;
    }
    json_decref(more);
}

static json_t *member_schema(const struct document_row *row)
{
    json_t *schema = json_object();
    say_type(&schema, row);
    if (row->type == DOCUMENT_CONST) {
        json_latch_set(&schema, "const", limit_json(row->low));
    } else if (row->choices != NULL) {
        say_choices(&schema, row);
    } else if (row->type == DOCUMENT_COUNT) {
        json_latch_set(&schema, "minimum", json_integer(0));
    } else if (row->type == DOCUMENT_DATE) {
        json_latch_set(&schema, "pattern", json_string(DATE_PATTERN));
    } else {
        say_limits(&schema, row);
    }
    if (row->type == DOCUMENT_LIST) {
        json_latch_set(&schema, "items",
                       row->element != NULL ? member_schema(row->element)
                                            : document_schema(row->rows, NULL));
    } else if (row->rows != NULL) {
        say_members(&schema, row->rows);
    }
    if (row->words != NULL) {
        json_latch_set(&schema, "description", json_string(row->words));
    }
    say_rules(&schema, row->rules);
    return schema;
}

json_t *document_schema(const struct document_row *rows, const char *rules)
{
    json_t *schema = json_object();
    say_rules(&schema, rules);
    json_latch_set(&schema, "type", json_string("object"));
    say_members(&schema, rows);
    return schema;
}
