/* members.c -- reading members of JSON objects that came from elsewhere. */
#include "members.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *member_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

double member_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

long long member_integer(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

/* Replaces in place; U+0080 to U+009F have two bytes in UTF-8, of which the second
 * alone would be none. False when there was nothing to replace. */
static bool clean_text(char *text)
{
    bool changed = false;
    char *out = text;
    for (const char *at = text; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)at[0];
        unsigned char next = (unsigned char)at[1];
        bool far = byte == 0xc2 && next >= 0x80 && next <= 0x9f;
        bool near = byte < 0x20 || byte == 0x7f;
        changed = changed || far || near;
        *out = at[0];
        if (far || near) {
            *out = '?';
        }
        out++;
        at += far ? 1 : 0;
    }
    *out = '\0';
    return changed;
}

static void clean_string(json_t *string)
{
    char *text = strdup(json_string_value(string));
    if (text == NULL) {
        (void)json_string_set(string, "");
    } else if (clean_text(text)) {
        (void)json_string_set(string, text);
    }
    free(text);
}

void members_clean(json_t *document)
{
    size_t index;
    json_t *item;
    const char *key;
    if (json_is_string(document)) {
        clean_string(document);
    } else if (json_is_array(document)) {
        json_array_foreach(document, index, item)
        {
            members_clean(item);
        }
    } else if (json_is_object(document)) {
        json_object_foreach(document, key, item)
        {
            members_clean(item);
        }
    }
}
