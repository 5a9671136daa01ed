/* account_pld.c -- questions about a loss distribution given as a file:
 *
 *     {"step": h, "infinity_mass": p, "mass": {"k": p, ...}}
 *
 * mass "k" is the probability of the loss k h; the file comes from outside and
 * every part of it is checked before it is used. */
#include "account.h"

#include <stdlib.h>

#include "files.h"

#define PLACE_MAX 1000000000L /* of a mass, in steps */

enum {
    SPAN_MAX = 1 << 20, /* from the first to the last */
    PLD_FILE_BYTES_MAX = 64 << 20,
};

/* The first and last place, or a complaint. */
static int find_span(long *first, long *last, json_t *mass, const char *path)
{
    bool any = false;
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(mass, key, value)
    {
        long k = 0;
        if (!cli_parse_long(&k, key) || !json_is_number(value) || labs(k) > PLACE_MAX) {
            return account_fail(CLI_USAGE, "'%s': the mass at '%s' is no number at a whole place",
                                path, key);
        }
        *first = any && *first < k ? *first : k;
        *last = any && *last > k ? *last : k;
        any = true;
    }
    if (!any || *last - *first >= SPAN_MAX) {
        return account_fail(CLI_USAGE, "'%s': masses span more than %d steps, or none", path,
                            SPAN_MAX);
    }
    return CLI_DONE;
}

static int make_pld(struct tremolo_pld **pld, json_t *mass, double step, double infinity_mass,
                    const char *path)
{
    long first = 0;
    long last = 0;
    const char *key = NULL;
    json_t *value = NULL;
    int result = find_span(&first, &last, mass, path);
    if (result != CLI_DONE) {
        return result;
    }
    size_t count = (size_t)(last - first) + 1;
    double *masses = calloc(count, sizeof *masses);
    if (masses == NULL) {
        return account_status(TREMOLO_NO_MEMORY);
    }
    json_object_foreach(mass, key, value)
    {
        masses[strtol(key, NULL, 10) - first] = json_number_value(value);
    }
    enum tremolo_status status =
        tremolo_pld_from_masses(pld, masses, count, first, step, infinity_mass);
    free(masses);
    return status == TREMOLO_OK
               ? CLI_DONE
               : account_fail(CLI_USAGE, "'%s': the masses do not make a distribution", path);
}

static int read_json(json_t **file, const char *path)
{
    char *text = NULL;
    size_t length = 0;
    json_error_t error;
    int result = cli_read_file(&text, &length, "account", path, PLD_FILE_BYTES_MAX);
    if (result != CLI_DONE) {
        return result;
    }
    *file = json_loadb(text, length, 0, &error);
    free(text);
    return *file != NULL ? CLI_DONE
                         : account_fail(CLI_USAGE, "'%s' cannot be read: %s", path, error.text);
}

static int load_pld(struct tremolo_pld **pld, const char *path)
{
    json_t *file = NULL;
    json_t *mass = NULL;
    double step = 0.0;
    double infinity_mass = 0.0;
    int result = read_json(&file, path);
    if (result != CLI_DONE) {
        return result;
    }
    result = json_unpack(file, "{s:F,s:F,s:o}", "step", &step, "infinity_mass", &infinity_mass,
                         "mass", &mass) == 0
                 ? make_pld(pld, mass, step, infinity_mass, path)
                 : account_fail(CLI_USAGE, "'%s' lacks step, infinity_mass or mass", path);
    json_decref(file);
    return result;
}

int account_from_pld(const struct account_options *options, bool want_epsilon)
{
    struct tremolo_pld *pld = NULL;
    struct tremolo_certified number = {0.0, 0.0, 0.0};
    int loaded = load_pld(&pld, options->pld_file);
    if (loaded != CLI_DONE) {
        return loaded;
    }
    enum tremolo_status status =
        want_epsilon ? tremolo_pld_epsilon(&number, pld, options->releases, options->delta)
                     : tremolo_pld_delta(&number, pld, options->releases, options->epsilon);
    tremolo_pld_free(pld);
    return account_print_or_fail(options, want_epsilon ? "epsilon" : "delta", status, number);
}
