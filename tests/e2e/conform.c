/* conform.c -- does an answer agree with docs/openapi.json?
 *
 *   conform DIRECTORY METHOD PATH STATUS TYPE BODY-FILE
 *
 * PATH as written in the description ("/v1/studies/{id}"), which is DIRECTORY/openapi.json; schemas of
 * documents are files in its folder. The status and the media type must be described there, and the body
 * must fit the schema: every required key there, every key known, every type right. Prints what is
 * not. */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *files; /* those that were read, by name */

static const json_t *load(const char *directory, const char *name)
{
    static const char *where = "";
    char path[400];
    where = directory != NULL ? directory : where;
    if (json_object_get(files, name) == NULL) {
        (void)snprintf(path, sizeof path, "%s/%s", where, name);
        (void)json_object_set_new(files, name, json_load_file(path, 0, NULL));
    }
    return json_object_get(files, name);
}

/* "#/components/schemas/NAME" of the description, or "FILE" or "FILE#/properties/NAME" in its folder. */
static const json_t *resolve(const json_t *schema)
{
    static const char start[] = "#/components/schemas/";
    static const char part[] = "#/properties/";
    char file[100];
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    if (ref == NULL) {
        return schema;
    }
    if (strncmp(ref, start, sizeof start - 1) == 0) {
        const json_t *components = json_object_get(load(NULL, "openapi.json"), "components");
        return resolve(
            json_object_get(json_object_get(components, "schemas"), ref + sizeof start - 1));
    }
    const char *inside = strstr(ref, part);
    (void)snprintf(file, sizeof file, "%.*s", (int)strcspn(ref, "#"), ref);
    return inside == NULL ? load(NULL, file)
                          : json_object_get(json_object_get(load(NULL, file), "properties"),
                                            inside + sizeof part - 1);
}

static int has_type(const json_t *value, const char *type)
{
    return (strcmp(type, "object") == 0 && json_is_object(value)) ||
           (strcmp(type, "array") == 0 && json_is_array(value)) ||
           (strcmp(type, "string") == 0 && json_is_string(value)) ||
           (strcmp(type, "integer") == 0 && json_is_integer(value)) ||
           (strcmp(type, "number") == 0 && json_is_number(value)) ||
           (strcmp(type, "boolean") == 0 && json_is_boolean(value)) ||
           (strcmp(type, "null") == 0 && json_is_null(value));
}

static int type_fits(const json_t *value, const json_t *type)
{
    size_t i;
    json_t *one;
    if (json_is_string(type)) {
        return has_type(value, json_string_value(type));
    }
    json_array_foreach(type, i, one)
    {
        if (has_type(value, json_string_value(one))) {
            return 1;
        }
    }
    return json_array_size(type) == 0;
}

static int fits(const json_t *value, const json_t *schema, const char *where);

static int object_fits(const json_t *value, const json_t *schema, const char *where)
{
    const json_t *properties = json_object_get(schema, "properties");
    const char *key;
    json_t *member;
    size_t i;
    int good = 1;
    json_array_foreach(json_object_get(schema, "required"), i, member)
    {
        if (json_object_get(value, json_string_value(member)) == NULL) {
            (void)printf("%s: '%s' is missing\n", where, json_string_value(member));
            good = 0;
        }
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        const json_t *known = json_object_get(properties, key);
        if (known == NULL && properties != NULL) {
            (void)printf("%s: '%s' is not described\n", where, key);
            good = 0;
        } else if (known != NULL) {
            good = fits(member, known, key) && good;
        }
    }
    return good;
}

static int fits(const json_t *value, const json_t *schema, const char *where)
{
    const json_t *choices;
    json_t *item;
    size_t i;
    int good = 1;
    schema = resolve(schema);
    const json_t *type = json_object_get(schema, "type");
    if (type != NULL && !type_fits(value, type)) {
        (void)printf("%s has another type\n", where);
        return 0;
    }
    choices = json_object_get(schema, "enum");
    if (choices != NULL) {
        good = 0;
        json_array_foreach(choices, i, item)
        {
            good = good || json_equal(item, value);
        }
        if (!good) {
            (void)printf("%s is none of the values described\n", where);
        }
    }
    if (json_is_object(value)) {
        good = object_fits(value, schema, where) && good;
    }
    const json_t *items = json_object_get(schema, "items");
    json_array_foreach(value, i, item)
    {
        if (items != NULL) {
            good = fits(item, items, where) && good;
        }
    }
    return good;
}

/* The media type without its parameters. */
static const json_t *content_of(const json_t *answer, const char *type)
{
    char plain[100];
    (void)snprintf(plain, sizeof plain, "%s", type);
    plain[strcspn(plain, "; ")] = '\0';
    return json_object_get(json_object_get(answer, "content"), plain);
}

static bool conforms(char **argv)
{
    char method[16] = "";
    for (size_t i = 0; argv[2][i] != '\0' && i + 1 < sizeof method; i++) {
        method[i] = (char)(argv[2][i] | 0x20);
    }
    const json_t *paths = json_object_get(load(argv[1], "openapi.json"), "paths");
    const json_t *path = json_object_get(json_object_get(paths, argv[3]), method);
    const json_t *answer = json_object_get(json_object_get(path, "responses"), argv[4]);
    const json_t *content = content_of(answer, argv[5]);
    bool empty = answer != NULL && json_object_get(answer, "content") == NULL && argv[5][0] == '\0';
    if (content == NULL && !empty) {
        (void)printf("%s %s answering %s as %s is not described\n", argv[2], argv[3], argv[4],
                     argv[5]);
        return false;
    }
    if (empty || strncmp(argv[5], "text/", 5) == 0) {
        return true;
    }
    json_t *body = json_load_file(argv[6], 0, NULL);
    bool good = body != NULL && fits(body, json_object_get(content, "schema"), "the body");
    json_decref(body);
    return good;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        return 2;
    }
    files = json_object();
    bool good = conforms(argv);
    json_decref(files);
    return good ? 0 : 1;
}
