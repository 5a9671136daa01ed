/* simulation_json.c -- a simulation as the document of an estimate (estimate_json.h).
 *
 * A simulation reads the raw table, so what it measures on raw rows is not private; it is
 * in the member "simulation", and what reports of real devices would say and promise is
 * where every estimate has it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "estimate_json.h"
#include "study_internal.h"
#include "simulation_json.h"
#include "experiment.h"
#include "words.h"

double simulation_mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum / (double)count;
}

double simulation_sd(const double *values, size_t count)
{
    double mean = simulation_mean(values, count), squares = 0;
    for (size_t i = 0; i < count; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
    }
    return count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
}

/* ---------------------------------------------------------------- values that were cut off
 *
 * Bounds that are too narrow bias a study without a trace in its reports; a simulation
 * has the raw values and can tell. Counted are those of the first repeat's devices. */

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
    if (tremolo_simulation_cuts(simulation) || !tremolo_simulation_clamps(simulation, design)) {
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

/* ---------------------------------------------------------------- documents */

static json_t *points_of(const double *values, size_t count)
{
    json_t *points = json_array();
    for (size_t i = 0; i < count; i++) {
        (void)json_array_append_new(
            points, json_pack("[I,o]", (json_int_t)i + 1, json_latch_number(values[i])));
    }
    return points;
}

/* R^2 of every repeat beside that of least squares on the same rows. */
static json_t *figures_of(const struct tremolo_simulation *simulation,
                          const struct tremolo_simulation_result *result)
{
    if (simulation->repeats < 2) {
        return json_array();
    }
    return json_pack("[{s:s,s:s,s:s,s:s,s:b,s:[f,f],s:[{s:s,s:s,s:o},{s:s,s:s,s:b,s:o}]}]", "title",
                     "R\u00b2 of each repeat", "words",
                     "Every repeat splits the rows and draws the noise anew; least squares reads "
                     "the raw rows, which is not private.",
                     "x", "repeat", "y", "R\u00b2", "dots", 1, "include", 0.0, 1.0, "series",
                     "name", tremolo_experiment_method_name(simulation->experiment.method), "title",
                     "private reports", "points", points_of(result->r2, simulation->repeats),
                     "name", "ols", "title", "least squares (not private)", "reference", 1,
                     "points", points_of(result->r2_ols, simulation->repeats));
}

const char *simulation_scale_words(const struct tremolo_simulation *simulation,
                                   const struct tremolo_design *design)
{
    return simulation->scaling == TREMOLO_SCALING_STANDARD
               ? "Features were standardised on the training rows, which is not private; real "
                 "studies use public bounds."
           : design->low != NULL ? "Features were scaled by the study's public bounds."
           : simulation->scaling == TREMOLO_SCALING_RANGES
               ? "Typical ranges and values were taken from the data, which is not private; real "
                 "studies state them beforehand."
               : "Bounds were taken from the data, which is not private; real studies state them "
                 "beforehand.";
}

static json_t *how_of(const struct tremolo_simulation *simulation,
                      const struct tremolo_design *design,
                      const struct tremolo_simulation_result *result)
{
    char clamped[SIMULATION_SENTENCE_BYTES];
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    json_t *how = json_array();
    (void)json_array_append_new(
        how, json_sprintf("Simulated from a table: %zu rows as devices, %zu held out, %zu dropped "
                          "for missing values; method %s, calibration %s, seed %llu, %zu repeats; "
                          "the table is of the first.",
                          result->devices, result->held_out, design->dropped,
                          tremolo_experiment_method_name(experiment->method),
                          tremolo_calibration_names[experiment->calibration],
                          (unsigned long long)simulation->seed, simulation->repeats));
    (void)json_array_append_new(how, json_string(simulation_scale_words(simulation, design)));
    if (design->means) {
        (void)json_array_append_new(
            how,
            json_string("Missing values were filled with a column's mean or most frequent level, "
                        "which is not private; a study fixes its fillings beforehand."));
    }
    simulation_clamped_words(clamped, simulation, design, result);
    if (clamped[0] != '\0') {
        (void)json_array_append_new(how, json_string(clamped));
    }
    if (tremolo_simulation_clips(simulation, design)) {
        (void)json_array_append_new(
            how, json_sprintf("The study clips samples to a norm of %g in scaled units, which "
                              "shortened those of %zu of %zu devices and biases the estimates.",
                              simulation->clip, result->clipped, result->devices));
    }
    if (experiment->method == TREMOLO_EXPERIMENT_DP_SGD) {
        (void)json_array_append_new(
            how, json_string("What is released are clipped gradients: the diameter is theirs, "
                             "whatever the samples are. Their noise comes from a generator for "
                             "simulations; the device core was not run."));
    }
    return how;
}

static struct tremolo_promise promise_of(const struct tremolo_simulation *simulation,
                                         const struct tremolo_design *design,
                                         const struct tremolo_simulation_result *result)
{
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    bool gradients = experiment->method == TREMOLO_EXPERIMENT_DP_SGD;
    bool any = experiment->neighbours == TREMOLO_NEIGHBOURS_ANY || gradients;
    return (struct tremolo_promise){
        .law = result->privacy_law,
        .neighbours = any ? TREMOLO_NEIGHBOURS_ANY : TREMOLO_NEIGHBOURS_DISTANCE,
        .distance = any ? result->privacy.sensitivity : experiment->distance,
        .diameter = any || result->extent_count == 0
                        ? 0
                        : tremolo_extents_diameter(result->extents, result->extent_count),
        .dimension = (unsigned)result->dimension,
        .standardised = simulation->scaling == TREMOLO_SCALING_STANDARD,
        .extents = result->extents,
        .extent_count = gradients ? 0 : result->extent_count,
        .mu = result->privacy.mu,
        .releases = tremolo_experiment_releases(experiment),
        .samples = experiment->samples > 0 ? experiment->samples : 1,
        .clip = tremolo_simulation_clips(simulation, design) ? simulation->clip : 0,
        .delta = experiment->release == TREMOLO_RELEASE_BALLOT ? 0 : experiment->delta,
        .response_private = experiment->protect_all || gradients,
        .modulated = experiment->vectors > 0 && !gradients,
    };
}

/* "exact" is the device's law without a rounding. */
static const char *noise_name(const struct tremolo_experiment_options *experiment)
{
    if (experiment->method == TREMOLO_EXPERIMENT_OLS) {
        return "none";
    }
    return experiment->method == TREMOLO_EXPERIMENT_DP_SGD ? "approximate" : "exact";
}

/* What only raw rows can say, and what was done to them. */
struct shown {
    const struct tremolo_simulation *simulation;
    const struct tremolo_design *design;
    const struct tremolo_simulation_result *result;
    uint64_t held_out, dropped, seed, scale, clip_devices, clamped;
    size_t clamped_from; /* of ballots the response alone is clipped */
    double mean, sd, r2_ols, seconds, sigma, sensitivity, epsilon, clip;
    bool is_private, clamps, clips;
    const char *noise;
};

#define AT(member) DOCUMENT_AT(struct shown, member)

static json_t *r2_json(const void *of)
{
    const struct shown *shown = of;
    return json_latch_numbers(shown->result->r2, shown->simulation->repeats);
}

static json_t *ols_json(const void *of)
{
    const struct shown *shown = of;
    return estimate_named_json(&shown->result->estimate, shown->result->ols);
}

static json_t *columns_json(const void *of)
{
    const struct shown *shown = of;
    json_t *list = json_array();
    for (size_t i = shown->clamped_from; i <= shown->design->features; i++) {
        json_latch_append(&list, json_pack("{s:s, s:I}", "name", column_name(shown->design, i),
                                           "values", (json_int_t)shown->result->clamped[i]));
    }
    return list;
}

static bool does_clamp(const void *of)
{
    return ((const struct shown *)of)->clamps;
}

static bool does_clip(const void *of)
{
    return ((const struct shown *)of)->clips;
}

static const char *const noises[] = {"exact", "approximate", "none", NULL};
static const char *const scales[] = {"standard", "bounds", "ranges", NULL};

static const struct document_row number_row = {.type = DOCUMENT_REAL, .is = DOCUMENT_NULLABLE};

static const struct document_row r2_rows[] = {
    {"mean", DOCUMENT_REAL, DOCUMENT_NULLABLE, AT(mean)},
    {"sd", DOCUMENT_REAL, DOCUMENT_NULLABLE, AT(sd)},
    {"values", DOCUMENT_LIST, .make = r2_json, .element = &number_row},
    {NULL}};

static const struct document_row column_rows[] = {
    {"name", .type = DOCUMENT_TEXT}, {"values", .type = DOCUMENT_WHOLE}, {NULL}};

static const struct document_row clamped_rows[] = {
    {"values", DOCUMENT_WHOLE, 0, AT(clamped)},
    {"columns", DOCUMENT_LIST, .make = columns_json, .rows = column_rows},
    {NULL}};

static const struct document_row clip_rows[] = {
    {"radius", DOCUMENT_REAL, DOCUMENT_NULLABLE, AT(clip)},
    {"devices", DOCUMENT_WHOLE, 0, AT(clip_devices)},
    {NULL}};

static const struct document_row simulation_rows[] = {
    {"held_out", DOCUMENT_WHOLE, 0, AT(held_out), .words = "rows that no device held"},
    {"dropped", DOCUMENT_WHOLE, 0, AT(dropped), .words = "rows with missing values"},
    {"r2", DOCUMENT_OBJECT, .rows = r2_rows,
     .words = "of the prediction on raw rows held out, or on the training rows where none are"},
    {"r2_ols", DOCUMENT_REAL, DOCUMENT_NULLABLE, AT(r2_ols),
     .words = "least squares on the raw rows, which is not private"},
    {"noise", DOCUMENT_TEXT, 0, AT(noise), .choices = noises,
     .words = "exact: the device's law without a rounding"},
    {"seed", DOCUMENT_WHOLE, 0, AT(seed)},
    {"seconds", DOCUMENT_REAL, DOCUMENT_NULLABLE, AT(seconds)},
    {"scale", DOCUMENT_CHOICE, 0, AT(scale), .choices = scales},
    {"scale_is_private", DOCUMENT_BOOLEAN, 0, AT(is_private),
     .words = "false where the scale came from the data"},
    {"sigma", DOCUMENT_REAL, DOCUMENT_NULLABLE, AT(sigma), .words = "of the noise, scaled units"},
    {"sensitivity", DOCUMENT_REAL, DOCUMENT_NULLABLE, AT(sensitivity)},
    {"epsilon_asked", DOCUMENT_REAL, DOCUMENT_NULLABLE, AT(epsilon)},
    {"ols", DOCUMENT_LIST, .make = ols_json, .rows = estimate_named_rows,
     .words = "least squares on the raw training rows of the first repeat, which is not private: a "
              "row for each of the coefficients, in own units"},
    {"clamped", DOCUMENT_OBJECT, DOCUMENT_OPTIONAL, .when = does_clamp, .rows = clamped_rows,
     .words = "values of the first repeat's devices outside the public bounds"},
    {"clip", DOCUMENT_OBJECT, DOCUMENT_OPTIONAL, .when = does_clip, .rows = clip_rows,
     .words = "the norm that the study clips samples to, and how many devices it shortens"},
    {NULL}};

static json_t *simulation_json(const struct tremolo_simulation *simulation,
                               const struct tremolo_design *design,
                               const struct tremolo_simulation_result *result)
{
    const struct tremolo_experiment_options *experiment = &simulation->experiment;
    size_t repeats = simulation->repeats, columns = design->features + 1;
    bool cuts = tremolo_simulation_cuts(simulation);
    bool noisy = experiment->release == TREMOLO_RELEASE_SAMPLE;
    size_t from = cuts ? design->features : 0;
    const struct shown shown = {
        .simulation = simulation,
        .design = design,
        .result = result,
        .held_out = result->held_out,
        .dropped = design->dropped,
        .mean = simulation_mean(result->r2, repeats),
        .sd = repeats > 1 ? simulation_sd(result->r2, repeats) : NAN,
        .r2_ols = simulation_mean(result->r2_ols, repeats),
        .noise = noise_name(experiment),
        .seed = simulation->seed,
        .seconds = result->seconds,
        .scale = simulation->scaling,
        .is_private = design->low != NULL && simulation->scaling != TREMOLO_SCALING_STANDARD,
        .sigma = noisy ? result->privacy.sigma : NAN,
        .sensitivity = noisy ? result->privacy.sensitivity : NAN,
        .epsilon = experiment->epsilon,
        .clamps = cuts || tremolo_simulation_clamps(simulation, design),
        .clamped_from = from,
        .clamped = sum_of(result->clamped + from, columns - from),
        .clips = tremolo_simulation_clips(simulation, design),
        .clip = simulation->clip,
        .clip_devices = result->clipped,
    };
    return document_json(simulation_rows, &shown);
}

json_t *simulation_estimate_schema(void)
{
    json_t *schema = estimate_schema();
    json_t *own = document_schema(
        simulation_rows, "{\"description\": \"what only a simulation knows; it reads raw rows\"}");
    if (json_object_set_new(json_object_get(schema, "properties"), "simulation", own) != 0) {
        json_decref(schema);
        return NULL;
    }
    return schema;
}

static json_t *guarantee_of(const struct tremolo_simulation *simulation,
                            const struct tremolo_design *design,
                            const struct tremolo_simulation_result *result)
{
    const struct tremolo_promise promise = promise_of(simulation, design, result);
    return simulation->experiment.method == TREMOLO_EXPERIMENT_OLS
               ? json_null()
               : guarantee_promise_json(&promise, result->privacy.epsilon);
}

json_t *simulation_document(const struct tremolo_simulation *simulation,
                            const struct tremolo_design *design,
                            const struct tremolo_simulation_result *result, bool for_saving)
{
    char title[TREMOLO_NAME_BYTES + 64];
    struct tremolo_estimate estimate = result->estimate;
    (void)snprintf(title, sizeof title, "What explains %s: a simulation", design->response);
    estimate.title = title;
    json_t *document = estimate_document(&estimate, guarantee_of(simulation, design, result));
    json_latch_set(&document, "simulation", simulation_json(simulation, design, result));
    if (for_saving) {
        json_latch_set(&document, "figures", figures_of(simulation, result));
        json_latch_set(&document, "how", how_of(simulation, design, result));
    }
    return document;
}

char *tremolo_simulation_json(const struct tremolo_simulation *simulation,
                              const struct tremolo_design *design,
                              const struct tremolo_simulation_result *result, bool for_saving)
{
    return json_latch_exact(simulation_document(simulation, design, result, for_saving));
}
