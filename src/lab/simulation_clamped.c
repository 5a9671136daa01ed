/* simulation_clamped.c -- how many values the study's bounds cut off, in words and as JSON.
 *
 * Bounds that are too narrow bias a study without a trace in its reports; a simulation
 * has the raw values and can tell. Counted are those of the first repeat's devices. */
#include <stdio.h>
#include <string.h>

#include "simulation_json.h"
#include "tremolo_words.h"

enum { NAMED = 3 };

static const char *column_name(const struct tremolo_design *design, size_t column)
{
    return column < design->features ? design->name[column] : design->response;
}

static size_t sum_of(const size_t *counts, size_t columns)
{
    size_t sum = 0;
    for (size_t i = 0; i < columns; i++) {
        sum += counts[i];
    }
    return sum;
}

/* The columns with most values beyond their bounds, most first; how many there are. */
static size_t worst(size_t chosen[NAMED], const size_t *counts, size_t columns)
{
    size_t found = 0;
    for (size_t i = 0; i < columns; i++) {
        size_t place = found;
        while (place > 0 && counts[chosen[place - 1]] < counts[i]) {
            place--;
        }
        if (counts[i] == 0 || place == NAMED) {
            continue;
        }
        found += found < NAMED;
        memmove(&chosen[place + 1], &chosen[place], (found - 1 - place) * sizeof *chosen);
        chosen[place] = i;
    }
    return found;
}

void simulation_clamped_words(char text[SIMULATION_SENTENCE_BYTES],
                              const struct tremolo_simulation *simulation,
                              const struct tremolo_design *design,
                              const struct tremolo_simulation_result *result)
{
    text[0] = '\0';
    if (tremolo_simulation_cuts(simulation, design) ||
        !tremolo_simulation_clamps(simulation, design)) {
        return;
    }
    size_t columns = design->features + 1, chosen[NAMED];
    size_t total = sum_of(result->clamped, columns);
    char item[NAMED][TREMOLO_NAME_BYTES + 32], list[NAMED * sizeof item[0]];
    const char *items[NAMED] = {item[0], item[1], item[2]};
    if (total == 0) {
        (void)snprintf(text, SIMULATION_SENTENCE_BYTES,
                       "No value is outside of the study's bounds.");
        return;
    }
    size_t named = 0, found = worst(chosen, result->clamped, columns);
    for (size_t i = 0; i < found; i++) {
        (void)snprintf(item[i], sizeof item[i], "%s (%zu)", column_name(design, chosen[i]),
                       result->clamped[chosen[i]]);
        named += result->clamped[chosen[i]];
    }
    tremolo_words_list(list, sizeof list, items, found);
    (void)snprintf(text, SIMULATION_SENTENCE_BYTES,
                   "%zu of %zu values are outside of the study's bounds and were clamped to them, "
                   "which biases the estimates; %s in %s.",
                   total, columns * result->devices, named == total ? "they are" : "most are",
                   list);
}

json_t *simulation_clamped_json(const struct tremolo_simulation *simulation,
                                const struct tremolo_design *design,
                                const struct tremolo_simulation_result *result)
{
    bool cuts = tremolo_simulation_cuts(simulation, design);
    if (!cuts && !tremolo_simulation_clamps(simulation, design)) {
        return json_null();
    }
    size_t first = cuts ? design->features : 0;
    json_t *list = json_array();
    for (size_t i = first; i <= design->features; i++) {
        (void)json_array_append_new(list, json_pack("{s:s,s:I}", "name", column_name(design, i),
                                                    "values", (json_int_t)result->clamped[i]));
    }
    return json_pack("{s:I,s:o}", "values",
                     (json_int_t)sum_of(result->clamped + first, design->features + 1 - first),
                     "columns", list);
}
