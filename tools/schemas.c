/* schemas.c -- write the JSON Schemas of all documents, from the tables that write the documents.
 *
 *   schemas DIRECTORY
 *
 * `make schemas` does it for docs/, where openapi.json refers to them; tests/cli/schemas.sh fails when
 * a table was changed and they were not made again. */
#include <jansson.h>
#include <stdio.h>

#include "simulation_json.h"
#include "study_internal.h"

static const struct {
    const char *name;
    json_t *(*schema)(void); /* the caller owns it */
} documents[] = {
    {"guarantee.schema.json", guarantee_schema},
    {"estimate.schema.json", simulation_estimate_schema},
    {"study.schema.json", study_schema},
};

int main(int argc, char **argv)
{
    int failed = argc != 2;
    for (size_t i = 0; !failed && i < sizeof documents / sizeof documents[0]; i++) {
        char path[4096];
        json_t *schema = documents[i].schema();
        (void)snprintf(path, sizeof path, "%s/%s", argv[1], documents[i].name);
        FILE *out = fopen(path, "we");
        failed = out == NULL ||
                 json_dumpf(schema, out, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) != 0 ||
                 fputc('\n', out) == EOF || fclose(out) != 0;
        json_decref(schema);
    }
    if (failed) {
        (void)fprintf(stderr, "schemas DIRECTORY: cannot write there\n");
    }
    return failed;
}
