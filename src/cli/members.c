/* members.c -- reading members of JSON objects that came from elsewhere. */
#include "members.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study_internal.h"

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

static void clean_string(json_t *string)
{
    char *text = strdup(json_string_value(string));
    if (text == NULL) {
        (void)json_string_set(string, "");
    } else if (tremolo_text_clean(text)) {
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
