/* simulate_report.c -- a simulation as a result to hand on.
 *
 * A simulation reads the raw table, so its figures are not private; the page
 * says so, and says what reports of real devices would promise. */
#include <math.h>

#include "result.h"
#include "simulate.h"

/* Bounds where there are some; else what the table holds. */
static double range_of(const struct tremolo_design *design, size_t feature)
{
    double low = INFINITY, high = -INFINITY;
    if (design->low != NULL) {
        return design->high[feature] - design->low[feature];
    }
    for (size_t i = 0; i < design->rows; i++) {
        double value =
            feature < design->features ? design->X[i * design->features + feature] : design->y[i];
        low = fmin(low, value);
        high = fmax(high, value);
    }
    return high - low;
}

static json_t *points_of(const double *values, size_t count)
{
    json_t *points = json_array();
    for (size_t i = 0; i < count; i++) {
        (void)json_array_append_new(
            points, json_pack("[I,o]", (json_int_t)i + 1, coefficients_number(values[i])));
    }
    return points;
}

/* R^2 of every repeat beside that of least squares on the same rows. */
static json_t *figures_of(const struct simulate_options *options,
                          const struct tremolo_simulation_result *result)
{
    if (options->simulation.repeats < 2) {
        return json_array();
    }
    return json_pack("[{s:s,s:s,s:s,s:s,s:b,s:[f,f],s:[{s:s,s:o},{s:s,s:o}]}]", "title",
                     "R\u00b2 of each repeat", "words",
                     "Every repeat splits the rows and draws the noise anew; ols is least squares "
                     "on the raw rows, which is not private.",
                     "x", "repeat", "y", "R\u00b2", "dots", 1, "include", 0.0, 1.0, "series",
                     "name", tremolo_experiment_method_name(options->simulation.experiment.method),
                     "points", points_of(result->r2, options->simulation.repeats), "name", "ols",
                     "points", points_of(result->r2_ols, options->simulation.repeats));
}

static json_t *how_of(const struct simulate_options *options, const struct tremolo_design *design,
                      const struct tremolo_simulation_result *result)
{
    char clamped[SIMULATE_SENTENCE_BYTES];
    const struct tremolo_experiment_options *experiment = &options->simulation.experiment;
    json_t *how = json_array();
    if (result->coefficients > 0) {
        (void)json_array_append_new(how, json_string(result_inference_words));
    }
    (void)json_array_append_new(
        how,
        json_sprintf("Simulated from a table: %zu rows as devices, %zu held out, %zu dropped "
                     "for missing values; method %s, calibration %s, seed %llu, %zu repeats; "
                     "the table is of the first.",
                     result->devices, result->held_out, design->dropped,
                     tremolo_experiment_method_name(experiment->method),
                     tremolo_calibration_names[experiment->calibration],
                     (unsigned long long)options->simulation.seed, options->simulation.repeats));
    (void)json_array_append_new(
        how,
        json_string(options->simulation.scaling == TREMOLO_SCALING_STANDARD
                        ? "Features were standardised on the training rows, which is not "
                          "private; real studies use public bounds."
                    : options->study == NULL
                        ? "Bounds were taken from the data, which is not private; real studies "
                          "state them beforehand."
                        : "Features were scaled by the study's public bounds."));
    if (tremolo_simulation_clamps(&options->simulation, design)) {
        simulate_clamped_words(clamped, design, result);
        (void)json_array_append_new(how, json_string(clamped));
    }
    if (tremolo_simulation_clips(&options->simulation, design)) {
        (void)json_array_append_new(
            how, json_sprintf("The study clips samples to a norm of %g in scaled units, which "
                              "shortened %zu of them.",
                              options->simulation.clip, result->clipped));
    }
    return how;
}

static json_t *facts_of(const struct simulate_options *options,
                        const struct tremolo_simulation_result *result)
{
    json_t *facts = json_array();
    (void)json_array_append_new(
        facts,
        result_fact("ols", simulate_mean(result->r2_ols, options->simulation.repeats),
                    "R\u00b2 of ordinary least squares on the raw rows, which is not private"));
    if (options->simulation.repeats > 1) {
        (void)json_array_append_new(
            facts, result_fact("spread", simulate_sd(result->r2, options->simulation.repeats),
                               "standard deviation of R\u00b2 over the repeats"));
    }
    if (options->simulation.experiment.method != TREMOLO_EXPERIMENT_OLS) {
        (void)json_array_append_new(
            facts, result_fact("noise", result->privacy.sigma,
                               "standard deviation of the privacy noise in one feature of one "
                               "report, in scaled units"));
    }
    return facts;
}

int simulate_save(const struct simulate_options *options, const struct tremolo_design *design,
                  const struct tremolo_simulation_result *result)
{
    char title[TREMOLO_NAME_BYTES + 64];
    double range[TREMOLO_MAX_FEATURES];
    const struct coefficients coefficients = simulate_coefficients(design, result);
    const struct tremolo_promise promise = simulate_promise(options, design, result);
    bool none = options->simulation.experiment.method == TREMOLO_EXPERIMENT_OLS;
    (void)snprintf(title, sizeof title, "What explains %s: a simulation", design->response);
    json_t *saved = result_new("simulate", title, options->line);
    json_t *table = coefficients_json(&coefficients);
    for (size_t i = 0; i < design->features; i++) {
        range[i] = range_of(design, i);
    }
    result_set_ranges(table, range, design->features);
    (void)json_object_update_new(
        saved,
        json_pack(
            "{s:o,s:{s:s,s:s,s:o},s:I,s:f,s:o,s:o,s:o,s:s,s:o,s:o,s:o,s:o,s:o}", "summary",
            json_sprintf("%zu devices, %zu features, method %s", result->devices, design->features,
                         tremolo_experiment_method_name(options->simulation.experiment.method)),
            "response", "name", design->response, "unit", design->unit, "range",
            coefficients_number(range_of(design, design->features)), "devices",
            (json_int_t)result->devices, "level", TREMOLO_SIMULATION_LEVEL, "coefficients", table,
            "prediction", coefficients_prediction_json(&coefficients), "r2",
            coefficients_number(simulate_mean(result->r2, options->simulation.repeats)), "r2_words",
            result->held_out > 0 ? "on rows that were held out" : "on the training rows",
            "not_identified", result_unclear(&coefficients, result->devices), "guarantee",
            none ? json_null() : result_guarantee(&promise, result->privacy.epsilon), "diagnostics",
            facts_of(options, result), "figures", figures_of(options, result), "how",
            how_of(options, design, result)));
    if (result->remark != NULL) {
        (void)json_object_set_new(saved, "remark", json_string(result->remark));
    }
    int code = result_save(saved, "simulate", options->save);
    json_decref(saved);
    return code;
}
