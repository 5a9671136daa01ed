/* document.c -- JSON documents, their schemas, their readers and their encodings from one table.
 *
 * The parts follow the same rows: document_value() writes a member, member_schema() says what it may
 * hold, read_found() accepts exactly that, and encode_value() gives its bytes for a hash. A type that
 * is added to one has to be added to all; tests/cli/schemas.sh compares what is described with what is
 * committed, and the end-to-end tests validate real documents against it. */
#include "document.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "study_internal.h"
#include "words.h"

enum { KEYS_MAX = 40 }; /* of the largest table that is read */

#define DATE_PATTERN "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?$"

/* ---------------------------------------------------------------- values */

static const void *at_place(const struct document_row *row, const void *of)
{
    return (const char *)of + row->place;
}

/* An unsigned member of any width: the rows say how wide it is, so that enums, bools and the
 * device's narrow integers need no types of their own. */
static uint64_t whole_of(const struct document_row *row, const void *of)
{
    const void *at = at_place(row, of);
    switch (row->bytes) {
    case 1: return *(const uint8_t *)at;
    case 2: return *(const uint16_t *)at;
    case 4: return *(const uint32_t *)at;
    default: return *(const uint64_t *)at;
    }
}

/* Rows of type REAL, and those of ANY that have a place: their value is a double, too. */
static double real_of(const struct document_row *row, const void *of)
{
    return *(const double *)at_place(row, of);
}

/* A text is a pointer in most structs, and an array inside of those that own their sentences. */
static const char *text_of(const struct document_row *row, const void *of)
{
    const void *at = at_place(row, of);
    return (row->is & DOCUMENT_INSIDE) != 0 ? at : *(const char *const *)at;
}

static int64_t date_of(const struct document_row *row, const void *of)
{
    return *(const int64_t *)at_place(row, of);
}

/* A study without a first or last day. */
static bool has_no_end(int64_t date)
{
    return date == INT64_MIN || date == INT64_MAX;
}

/* The elements of a list, `row->bytes` apart; NULL where a pointer is. */
static const char *elements_of(const struct document_row *row, const void *of, size_t *count)
{
    const void *at = at_place(row, of);
    *count = *(const size_t *)(const void *)((const char *)of + row->count);
    return (row->is & DOCUMENT_INSIDE) != 0 ? at : *(const char *const *)at;
}

/* Always with the time of day, so that one moment has one text. */
static json_t *date_json(int64_t seconds)
{
    char text[TREMOLO_STUDY_DATE_BYTES];
    tremolo_study_date_text(text, seconds);
    return json_string(text);
}

/* A whole number without a point, as people write limits; beyond 2^53 not every one is exact. */
static json_t *limit_json(double value)
{
    return value == floor(value) && fabs(value) < 0x1p53 ? json_integer((json_int_t)value)
                                                         : json_real(value);
}

static json_t *object_json(const struct document_row *rows, const void *of, bool explained);

/* A list is made of its elements' rows, or of one row for elements that are plain values. Only the
 * first element of a list in a starter explains itself: the others have the same members. */
static json_t *list_json(const struct document_row *row, const void *of, bool explained)
{
    size_t count = 0;
    const char *at = elements_of(row, of, &count);
    json_t *list = at == NULL && (row->is & DOCUMENT_NULLABLE) != 0 ? json_null() : json_array();
    for (size_t i = 0; at != NULL && i < count; i++) {
        const void *element = at + i * row->bytes;
        json_latch_append(&list, row->element != NULL
                                     ? document_value(row->element, element)
                                     : object_json(row->rows, element, explained && i == 0));
    }
    return list;
}

/* One member. A row that makes its value itself comes first, because such a row may have a place in
 * the struct for other purposes, such as its encoding. `explained` is passed on to the objects
 * below. */
static json_t *value_json(const struct document_row *row, const void *of, bool explained)
{
    const void *at = at_place(row, of);
    int64_t count = row->bytes == sizeof(int32_t) ? *(const int32_t *)at : 0;
    if (row->make != NULL) {
        return row->make(of);
    }
    switch (row->type) {
    case DOCUMENT_TEXT:
        return text_of(row, of) != NULL ? json_string(text_of(row, of)) : json_null();
    case DOCUMENT_REAL: /* a starter has 5 rather than 5.0 */
        return explained ? limit_json(real_of(row, of)) : json_latch_number(real_of(row, of));
    case DOCUMENT_WHOLE: return json_integer((json_int_t)whole_of(row, of));
    case DOCUMENT_COUNT:
        count = row->bytes == sizeof count ? *(const int64_t *)at : count;
        return count >= 0 ? json_integer(count) : json_null();
    case DOCUMENT_BOOLEAN: return json_boolean(*(const bool *)at);
    case DOCUMENT_CHOICE: return json_string(row->choices[whole_of(row, of)]);
    case DOCUMENT_DATE: return date_json(date_of(row, of));
    case DOCUMENT_CONST: return json_integer((json_int_t)row->low);
    case DOCUMENT_OBJECT:
        at = (row->is & DOCUMENT_POINTER) != 0 ? *(const void *const *)at : at;
        return at == NULL ? json_null() : object_json(row->rows, at, explained);
    case DOCUMENT_LIST: return list_json(row, of, explained);
    default: return NULL; /* what is no type of its own is made */
    }
}

json_t *document_value(const struct document_row *row, const void *of)
{
    return value_json(row, of, false);
}

/* True if reading the document without this member would give the same value, so that a sparse
 * member need not be written. */
static bool holds_fallback(const struct document_row *row, const void *of)
{
    size_t count = 0;
    switch (row->type) {
    case DOCUMENT_TEXT: return text_of(row, of) == NULL;
    case DOCUMENT_LIST: return elements_of(row, of, &count) == NULL;
    case DOCUMENT_ANY:
    case DOCUMENT_REAL: return real_of(row, of) == row->fallback || isnan(real_of(row, of));
    case DOCUMENT_DATE: return has_no_end(date_of(row, of));
    default: return (double)whole_of(row, of) == row->fallback;
    }
}

/* A starter leaves out what a person need not decide. */
static bool is_written(const struct document_row *row, const void *of, bool explained)
{
    bool sparse = (row->is & DOCUMENT_SPARSE) != 0 ||
                  (explained && (row->is & DOCUMENT_OPTIONAL) != 0 && row->fallback != 0);
    return (row->is & (DOCUMENT_ELSEWHERE | DOCUMENT_SECRET)) == 0 &&
           (row->when == NULL || row->when(of)) && (!sparse || !holds_fallback(row, of));
}

/* Writing to memory can fail at any write and again when the stream is closed; a text that lacks a
 * part must not be used. */
bool document_close(FILE *out, char **text)
{
    bool whole = fflush(out) == 0 && ferror(out) == 0;
    whole = fclose(out) == 0 && whole && *text != NULL; /* closing allocates, too */
    if (!whole) {
        free(*text);
        *text = NULL;
    }
    return whole;
}

/* "low: the lower end. high: the upper end." of the members with words; none when there are none. */
static void put_comment(json_t **object, const struct document_row *rows, const void *of)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    for (const struct document_row *row = rows; out != NULL && row->key != NULL; row++) {
        if (row->words != NULL && row->bytes > 0 && is_written(row, of, true)) {
            (void)fprintf(out, "%s%s: %s.", ftell(out) > 0 ? " " : "", row->key, row->words);
        }
    }
    bool whole = out != NULL && document_close(out, &text);
    if (!whole || *text != '\0') {
        json_latch_set(object, "comment", whole ? json_string(text) : NULL);
    }
    free(text);
}

static json_t *object_json(const struct document_row *rows, const void *of, bool explained)
{
    json_t *object = json_object();
    if (explained) {
        put_comment(&object, rows, of);
    }
    for (const struct document_row *row = rows; row->key != NULL; row++) {
        if (is_written(row, of, explained)) {
            json_latch_set(&object, row->key, value_json(row, of, explained));
        }
    }
    return object;
}

json_t *document_json(const struct document_row *rows, const void *of)
{
    return object_json(rows, of, false);
}

json_t *document_starter(const struct document_row *rows, const void *of)
{
    return object_json(rows, of, true);
}

/* ---------------------------------------------------------------- schemas */

static json_t *member_schema(const struct document_row *row);

/* A choice has no type in its schema: its values say it. A constant has neither. */
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

/* The words in their order, and null where the member can be without one. */
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

/* Members that may be missing are not required: optional ones, and those that belong to some objects
 * only. No object may have members beyond its rows, as no reader accepts them. */
static void say_members(json_t **schema, const struct document_row *rows)
{
    json_t *required = json_array(), *properties = json_object();
    for (const struct document_row *row = rows; row->key != NULL; row++) {
        if ((row->is & DOCUMENT_SECRET) != 0) {
            continue;
        }
        if ((row->is & DOCUMENT_OPTIONAL) == 0 && row->when == NULL) {
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

/* The order of the parts is that of the words in the schemas: type, limits, members, meaning. Rules
 * come last, so that a row can replace what follows from its type. */
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
    } else if (row->type == DOCUMENT_OBJECT) {
        say_members(&schema, row->rows);
    }
    if (row->type == DOCUMENT_ANY && row->rows != NULL) { /* an object, or what the rules say */
        json_t *other = json_object();
        say_rules(&other, row->rules);
        json_latch_set(&schema, "oneOf",
                       json_pack("[oo]", other, document_schema(row->rows, NULL)));
    }
    if (row->words != NULL) {
        json_latch_set(&schema, "description", json_string(row->words));
    }
    if (row->type != DOCUMENT_ANY || row->rows == NULL) {
        say_rules(&schema, row->rules);
    }
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

/* ---------------------------------------------------------------- where a reader is */

/* The path grows by the key and is cut back by document_leave(), so that a problem deep in a
 * document is named without allocating. */
struct document_place document_enter(struct document_reader *reader, const char *key)
{
    struct document_place before = reader->at;
    size_t length = before.path_length;
    int written = snprintf(reader->path + length, sizeof reader->path - length, "%s%s",
                           length > 0 && *key != '\0' ? "." : "", key);
    size_t grown = length + (written > 0 ? (size_t)written : 0);
    /* A path that does not fit is cut; the reason after it is not. */
    reader->at.path_length = grown < sizeof reader->path ? grown : sizeof reader->path - 1;
    reader->at.value = json_object_get(before.value, key);
    return before;
}

/* The element's name has the list's key in it, so that one step of the path leads there. */
struct document_place document_enter_element(struct document_reader *reader, const char *key,
                                             size_t index)
{
    char element[64];
    (void)snprintf(element, sizeof element, "%s[%zu]", key, index);
    struct document_place before = document_enter(reader, element);
    reader->at.value = json_array_get(json_object_get(before.value, key), index);
    return before;
}

void document_leave(struct document_reader *reader, struct document_place before)
{
    reader->at = before;
    reader->path[before.path_length] = '\0';
}

/* More problems than there is room for are counted and not kept. Keys and values in a reason come
 * from outside: they are cleaned of characters that would steer a terminal. */
bool document_problem(struct document_reader *reader, const char *key, const char *format, ...)
{
    struct tremolo_study_problems *problems = reader->problems;
    problems->count++;
    if (problems->stored == TREMOLO_STUDY_MAX_PROBLEMS) {
        return false;
    }
    struct tremolo_study_problem *problem = &problems->item[problems->stored++];
    struct document_place before = document_enter(reader, key);
    (void)snprintf(problem->path, sizeof problem->path, "%s", reader->path);
    document_leave(reader, before);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(problem->reason, sizeof problem->reason, format, arguments);
    va_end(arguments);
    /* Keys and values come from outside. */
    (void)tremolo_text_clean(problem->path);
    (void)tremolo_text_clean(problem->reason);
    return false;
}

/* ---------------------------------------------------------------- reading */

/* The counterpart of whole_of(). */
static void put_whole(const struct document_row *row, void *at, uint64_t value)
{
    switch (row->bytes) {
    case 1: *(uint8_t *)at = (uint8_t)value; break;
    case 2: *(uint16_t *)at = (uint16_t)value; break;
    case 4: *(uint32_t *)at = (uint32_t)value; break;
    default: *(uint64_t *)at = value; break;
    }
}

/* Infinite and undefined numbers cannot be written in JSON, so the limits of a row are the only
 * ones. A row without limits takes every number. */
static bool read_real(struct document_reader *reader, const struct document_row *row,
                      const json_t *found, double *value)
{
    bool above = (row->is & DOCUMENT_ABOVE) != 0, below = (row->is & DOCUMENT_BELOW) != 0;
    double number = json_number_value(found) + 0.0; /* minus zero becomes zero */
    if (!json_is_number(found)) {
        return document_problem(reader, row->key, "must be a number");
    }
    if (row->low < row->high && ((above ? number <= row->low : number < row->low) ||
                                 (below ? number >= row->high : number > row->high))) {
        return document_problem(reader, row->key, "must be %s %g and %s %g, but is %g",
                                above ? "above" : "at least", row->low, below ? "below" : "at most",
                                row->high, number);
    }
    *value = number;
    return true;
}

static bool read_whole(struct document_reader *reader, const struct document_row *row,
                       const json_t *found, void *at)
{
    /* 2e6 is as whole as 2000000. No limit here is near 2^53. */
    double number = json_is_number(found) ? json_number_value(found) : -1.0;
    if (number != floor(number) || !(number >= row->low && number <= row->high)) {
        return document_problem(reader, row->key, "must be a whole number from %.0f to %.0f",
                                row->low, row->high);
    }
    put_whole(row, at, (uint64_t)number);
    return true;
}

/* Lengths are in bytes of UTF-8, as the formats that carry the text count them. Characters that
 * change how other text is shown are refused here once, for all texts of a document. */
static bool read_text(struct document_reader *reader, const struct document_row *row,
                      const json_t *found, const char **value)
{
    size_t length = json_string_length(found);
    if (!json_is_string(found)) {
        return document_problem(reader, row->key, "must be text");
    }
    if ((double)length < row->low || (double)length > row->high) {
        return document_problem(reader, row->key, "must have %.0f to %.0f bytes, but has %zu",
                                row->low, row->high, length);
    }
    if (!tremolo_text_is_plain(json_string_value(found))) {
        return document_problem(reader, row->key,
                                "must not hold control characters or characters that turn the "
                                "direction of writing");
    }
    *value = json_string_value(found);
    return true;
}

/* The words are compared as they are: another case is another word, because ids are computed from
 * the place in the list and two spellings of one study would surprise. */
static bool read_choice(struct document_reader *reader, const struct document_row *row,
                        const json_t *found, void *at)
{
    const char *const *choices = row->choices;
    const char *word = json_string_value(found);
    for (size_t i = 0; word != NULL && choices[i] != NULL; i++) {
        if (strcmp(word, choices[i]) == 0) {
            put_whole(row, at, i);
            return true;
        }
    }
    char list[TREMOLO_STUDY_REASON_BYTES] = "";
    for (size_t i = 0, used = 0; choices[i] != NULL && used < sizeof list; i++) {
        const char *before = i == 0 ? "" : choices[i + 1] == NULL ? " or " : ", ";
        used += (size_t)snprintf(list + used, sizeof list - used, "%s\"%s\"", before, choices[i]);
    }
    return document_problem(reader, row->key, "must be %s", list);
}

/* Days and moments are distinguished by their length alone; both are in UTC. */
static bool read_date(struct document_reader *reader, const struct document_row *row,
                      const json_t *found, int64_t *value)
{
    const char *text = json_string_value(found);
    return (text != NULL && tremolo_study_date_read(value, text)) ||
           document_problem(reader, row->key,
                            "must be a date from 1970 to 9999 as \"2026-11-15\" or "
                            "\"2026-11-15T08:00:00Z\"");
}

/* The struct of an object's rows. */
static void *struct_of(const struct document_row *row, void *into)
{
    void *at = (char *)into + row->place;
    return (row->is & DOCUMENT_POINTER) != 0 ? *(void **)at : at;
}

/* The members' problems are the object's: false if there was any. */
static bool read_object(struct document_reader *reader, const struct document_row *row,
                        const json_t *found, void *at)
{
    if (!json_is_object(found)) {
        return document_problem(reader, row->key, "must be an object");
    }
    size_t before_count = reader->problems->count;
    struct document_place before = document_enter(reader, row->key);
    document_read(reader, row->rows, at);
    document_leave(reader, before);
    return reader->problems->count == before_count;
}

/* The one place that maps a type to its reader; `at` is the member's place in the struct. */
static bool read_found(struct document_reader *reader, const struct document_row *row,
                       const json_t *found, void *at)
{
    switch (row->type) {
    case DOCUMENT_TEXT: return read_text(reader, row, found, at);
    case DOCUMENT_REAL: return read_real(reader, row, found, at);
    case DOCUMENT_WHOLE: return read_whole(reader, row, found, at);
    case DOCUMENT_CHOICE: return read_choice(reader, row, found, at);
    case DOCUMENT_DATE: return read_date(reader, row, found, at);
    case DOCUMENT_OBJECT: return read_object(reader, row, found, at);
    case DOCUMENT_CONST:
        return json_number_value(found) == row->low ||
               document_problem(reader, row->key, "must be %.0f", row->low);
    default: return true; /* `read` of the row does it */
    }
}

static void set_fallbacks(const struct document_row *rows, void *into);

/* Written before the value is read, so that a value that is refused leaves a sane one: later checks
 * then find no second problem that only follows from the first. */
static void set_fallback(const struct document_row *row, void *into)
{
    void *at = (char *)into + row->place;
    bool date = row->type == DOCUMENT_DATE;
    if (row->type == DOCUMENT_TEXT && (row->is & (DOCUMENT_NULLABLE | DOCUMENT_ELSEWHERE)) == 0) {
        *(const char **)at = "";
    } else if (row->type == DOCUMENT_OBJECT) {
        set_fallbacks(row->rows, struct_of(row, into));
    } else if (date) {
        *(int64_t *)at = row->fallback < 0 ? INT64_MIN : INT64_MAX;
    } else if (row->type == DOCUMENT_REAL && row->fallback != 0) {
        *(double *)at = row->fallback;
    } else if ((row->type == DOCUMENT_WHOLE || row->type == DOCUMENT_CHOICE) &&
               row->fallback != 0) {
        put_whole(row, at, (uint64_t)row->fallback);
    }
}

/* A member that does not belong keeps its zero, and one with a reader of its own what that gives. */
static void set_fallbacks(const struct document_row *rows, void *into)
{
    for (const struct document_row *row = rows; row->key != NULL; row++) {
        if (row->read == NULL && (row->when == NULL || row->when(into))) {
            set_fallback(row, into);
        }
    }
}

/* Missing and required is a problem of its own; missing and optional leaves the fallback. */
bool document_read_member(struct document_reader *reader, const struct document_row *row,
                          void *into)
{
    const json_t *found = json_object_get(reader->at.value, row->key);
    set_fallback(row, into);
    if (found == NULL) {
        return (row->is & DOCUMENT_OPTIONAL) != 0 ||
               document_problem(reader, row->key, "is required");
    }
    return read_found(reader, row, found,
                      row->type == DOCUMENT_OBJECT ? struct_of(row, into)
                                                   : (char *)into + row->place);
}

/* A key that is not in the table is a slip or from another version; ignoring it would let two people
 * agree on an id and mean different things. */
static void check_keys(struct document_reader *reader, const struct document_row *rows)
{
    const char *keys[KEYS_MAX];
    size_t count = 0;
    while (count < KEYS_MAX && rows[count].key != NULL) {
        keys[count] = rows[count].key;
        count++;
    }
    assert(rows[count].key == NULL); /* else keys of the table would be refused */
    /* jansson's iterator wants a mutable object, though it changes nothing. */
    json_t *object = (json_t *)(uintptr_t)reader->at.value;
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        const char *key = json_object_iter_key(at);
        if (strcmp(key, "comment") == 0) {
            if (!json_is_string(json_object_iter_value(at))) {
                document_problem(reader, key, "must be text");
            }
        } else if (tremolo_words_find(key, keys, count) == count) {
            const char *meant = tremolo_words_nearest(key, keys, count);
            document_problem(reader, key, "is not a key of a study%s%s%s",
                             meant != NULL ? "; did you mean " : "", meant != NULL ? meant : "",
                             meant != NULL ? "?" : "");
        }
    }
}

/* In the order of the rows, because conditions look at members before them. After a wrong member
 * that decides, rows with conditions are skipped: whether they belong cannot be known, and a wrong
 * guess would be a problem that the author did not make. */
static void read_members(struct document_reader *reader, const struct document_row *rows,
                         void *into)
{
    bool decided = true;
    for (const struct document_row *row = rows; row->key != NULL; row++) {
        bool there = json_object_get(reader->at.value, row->key) != NULL;
        if ((row->is & DOCUMENT_ELSEWHERE) != 0 || (row->when != NULL && !decided)) {
            continue;
        }
        if ((row->is & DOCUMENT_SECRET) != 0 || (row->when != NULL && !row->when(into))) {
            if (there) {
                document_problem(reader, row->key, "%s", row->otherwise);
            }
            continue;
        }
        bool good = row->read != NULL ? row->read(reader, row, into)
                                      : document_read_member(reader, row, into);
        decided = decided && (good || (row->is & DOCUMENT_DECIDES) == 0);
    }
}

void document_read(struct document_reader *reader, const struct document_row *rows, void *into)
{
    check_keys(reader, rows);
    read_members(reader, rows, into);
}

/* Problems are counted on the stack and forgotten: the caller says in its own words that the
 * document is not sound. */
bool document_take(const struct document_row *rows, const json_t *object, void *into)
{
    struct tremolo_study_problems problems;
    struct document_reader reader = {.problems = &problems, .at = {.value = object}};
    problems.count = 0;
    problems.stored = 0;
    read_members(&reader, rows, into);
    return problems.count == 0;
}

/* ---------------------------------------------------------------- encoding */

enum { MAJOR_UINT = 0, MAJOR_TEXT = 3, MAJOR_ARRAY = 4, FLOAT64 = 0xfb, NOTHING = 0xf6 };

static void put_big_endian(FILE *out, unsigned first, uint64_t value, unsigned bytes)
{
    (void)putc((int)first, out);
    while (bytes-- > 0) {
        (void)putc((int)(value >> 8 * bytes & 0xff), out);
    }
}

/* A major type with its number, in the fewest bytes. */
static void put_head(FILE *out, unsigned major, uint64_t value)
{
    unsigned first = major << 5;
    if (value < 24) {
        put_big_endian(out, first + (unsigned)value, 0, 0);
    } else if (value <= UINT8_MAX) {
        put_big_endian(out, first + 24, value, 1);
    } else if (value <= UINT16_MAX) {
        put_big_endian(out, first + 25, value, 2);
    } else if (value <= UINT32_MAX) {
        put_big_endian(out, first + 26, value, 4);
    } else {
        put_big_endian(out, first + 27, value, 8);
    }
}

void document_encode_array(FILE *out, size_t count)
{
    put_head(out, MAJOR_ARRAY, count);
}

void document_encode_whole(FILE *out, uint64_t value)
{
    put_head(out, MAJOR_UINT, value);
}

/* Bits of binary64, most significant first. There is one NaN only, which is null, so that equal
 * values have equal bytes. */
void document_encode_real(FILE *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (isnan(value)) {
        put_big_endian(out, NOTHING, 0, 0);
    } else {
        put_big_endian(out, FLOAT64, bits, 8);
    }
}

void document_encode_text(FILE *out, const char *text)
{
    put_head(out, MAJOR_TEXT, strlen(text));
    (void)fputs(text, out);
}

static void encode_members(FILE *out, const struct document_row *rows, const void *of, unsigned id);

/* A type's bytes. The members of an object join the array that the object is in. */
static void encode_value(FILE *out, const struct document_row *row, const void *of, unsigned id)
{
    size_t count = 0;
    const char *list = NULL;
    switch (row->type) {
    case DOCUMENT_TEXT: document_encode_text(out, text_of(row, of)); break;
    case DOCUMENT_ANY:
    case DOCUMENT_REAL: document_encode_real(out, real_of(row, of)); break;
    case DOCUMENT_DATE:
        if (has_no_end(date_of(row, of))) {
            put_big_endian(out, NOTHING, 0, 0);
        } else { /* dates begin in 1970 */
            document_encode_whole(out, (uint64_t)date_of(row, of));
        }
        break;
    case DOCUMENT_OBJECT: encode_members(out, row->rows, at_place(row, of), id); break;
    case DOCUMENT_LIST:
        list = elements_of(row, of, &count);
        document_encode_array(out, count);
        for (size_t i = 0; i < count; i++) {
            if (row->element != NULL) {
                encode_value(out, row->element, list + i * row->bytes, id);
            } else {
                document_encode(out, row->rows, list + i * row->bytes, id);
            }
        }
        break;
    default: document_encode_whole(out, whole_of(row, of)); break;
    }
}

static void encode_members(FILE *out, const struct document_row *rows, const void *of, unsigned id)
{
    for (const struct document_row *row = rows; row->key != NULL; row++) {
        if ((row->id & id) != 0) {
            encode_value(out, row, of, id);
        }
    }
}

/* An array's length comes before its elements, so the members are counted first, by the same rule as
 * encode_members() writes them. */
static size_t count_members(const struct document_row *rows, unsigned id)
{
    size_t count = 0;
    for (const struct document_row *row = rows; row->key != NULL; row++) {
        if ((row->id & id) != 0) {
            count += row->type == DOCUMENT_OBJECT ? count_members(row->rows, id) : 1;
        }
    }
    return count;
}

/* An object by itself is an array of its own; as a member it joins the array that it is in. */
void document_encode(FILE *out, const struct document_row *rows, const void *of, unsigned id)
{
    document_encode_array(out, count_members(rows, id));
    encode_members(out, rows, of, id);
}
