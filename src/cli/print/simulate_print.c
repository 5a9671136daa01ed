/* simulate_print.c -- the result of `tremolo simulate` for people and for
 * programs. The text follows R's summary of a linear model. */
#include "coefficients.h"
#include "simulate.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *simulate_neighbours(char text[64], const struct simulate_options *options)
{
    if (options->simulation.experiment.neighbours == TREMOLO_NEIGHBOURS_ANY ||
        options->simulation.experiment.method == TREMOLO_EXPERIMENT_DP_SGD) {
        return "any";
    }
    (void)snprintf(text, 64, "distance=%g", options->simulation.experiment.distance);
    return text;
}

struct coefficients simulate_coefficients(const struct tremolo_design *design,
                                          const struct tremolo_simulation_result *result)
{
    return (struct coefficients){.features = design->features,
                                 .name = design->name,
                                 .row = result->coefficients > 0 ? result->coefficient : NULL,
                                 .prediction = result->prediction,
                                 .remark = result->remark,
                                 .level = TREMOLO_SIMULATION_LEVEL,
                                 .response = design->response,
                                 .unit = design->unit};
}

struct tremolo_promise simulate_promise(const struct simulate_options *options,
                                        const struct tremolo_design *design,
                                        const struct tremolo_simulation_result *result)
{
    const struct tremolo_experiment_options *experiment = &options->simulation.experiment;
    bool any = experiment->neighbours == TREMOLO_NEIGHBOURS_ANY ||
               experiment->method == TREMOLO_EXPERIMENT_DP_SGD;
    return (struct tremolo_promise){
        .neighbours = any ? TREMOLO_NEIGHBOURS_ANY : TREMOLO_NEIGHBOURS_DISTANCE,
        .distance = any ? result->privacy.sensitivity : experiment->distance,
        .dimension = (unsigned)result->dimension,
        .mu = result->privacy.mu,
        .releases = tremolo_experiment_releases(experiment),
        .samples = experiment->samples > 0 ? experiment->samples : 1,
        .clip =
            tremolo_simulation_clips(&options->simulation, design) ? options->simulation.clip : 0,
        .delta = experiment->delta,
        .response_private =
            experiment->protect_all || experiment->method == TREMOLO_EXPERIMENT_DP_SGD,
        .modulated = experiment->vectors > 0 && experiment->method != TREMOLO_EXPERIMENT_DP_SGD,
    };
}

static void print_clip(const struct simulate_options *options, const struct tremolo_design *design,
                       const struct tremolo_simulation_result *result)
{
    char text[200];
    (void)snprintf(text, sizeof text,
                   "The study clips samples to a norm of %g in scaled units: %zu of %zu devices "
                   "sent a shorter one, which biases the estimates.",
                   options->simulation.clip, result->clipped, result->devices);
    if (tremolo_simulation_clips(&options->simulation, design)) {
        coefficients_paragraph(text);
    }
}

static void print_privacy(const struct simulate_options *options,
                          const struct tremolo_design *design,
                          const struct tremolo_simulation_result *result)
{
    char clamped[SIMULATE_SENTENCE_BYTES];
    const struct tremolo_experiment_options *experiment = &options->simulation.experiment;
    const struct tremolo_promise promise = simulate_promise(options, design, result);
    struct tremolo_explanation explanation;
    if (experiment->method == TREMOLO_EXPERIMENT_OLS) {
        printf("Privacy: none; ordinary least squares reads the raw data.\n");
        return;
    }
    printf("Privacy: epsilon %.4g (asked: %g), delta %g, noise sd %.4g in scaled units\n",
           result->privacy.epsilon, experiment->epsilon, experiment->delta, result->privacy.sigma);
    if (tremolo_explain(&explanation, &promise) == TREMOLO_OK) {
        coefficients_paragraph(explanation.reviewer);
    }
    if (tremolo_simulation_clamps(&options->simulation, design)) {
        simulate_clamped_words(clamped, design, result);
        coefficients_paragraph(clamped);
    }
    print_clip(options, design, result);
    if (options->simulation.scaling == TREMOLO_SCALING_STANDARD) {
        coefficients_paragraph(
            "The features were standardised on the training rows, which is not private; real "
            "studies use public bounds.");
    } else if (options->study == NULL) {
        coefficients_paragraph(
            "The bounds were taken from the data, which is not private; real studies state "
            "them beforehand.");
    }
    if (experiment->method == TREMOLO_EXPERIMENT_DP_SGD) {
        coefficients_paragraph(
            "What is released are clipped gradients: the diameter is theirs, twice --clip, "
            "whatever "
            "the samples are. Their noise comes from a generator for simulations; the device core "
            "was not run.");
    } else if (experiment->fast_noise) {
        coefficients_paragraph(
            "Noise: --fast-noise, the same law from a generator for simulations; the device "
            "core was not run.");
    }
}

void simulate_print(const struct simulate_options *options, const struct tremolo_design *design,
                    const struct tremolo_simulation_result *result)
{
    printf("%s ~ %zu feature%s, method %s: %zu devices, %zu rows held out, %zu rows dropped for "
           "missing values\n\n",
           design->response, result->dimension, result->dimension == 1 ? "" : "s",
           tremolo_experiment_method_name(options->simulation.experiment.method), result->devices,
           result->held_out, design->dropped);
    const struct coefficients coefficients = simulate_coefficients(design, result);
    coefficients_print(&coefficients, result->devices);
    printf("\nPrediction: R-squared %.4f on %s",
           simulate_mean(result->r2, options->simulation.repeats),
           result->held_out > 0 ? "rows held out" : "the training rows");
    if (options->simulation.repeats > 1) {
        printf(" (sd %.4f over %zu repeats)", simulate_sd(result->r2, options->simulation.repeats),
               options->simulation.repeats);
    }
    printf("; without privacy (ols) %.4f\n",
           simulate_mean(result->r2_ols, options->simulation.repeats));
    if (tremolo_experiment_takes_rounds(options->simulation.experiment.method)) {
        convergence_print(&result->convergence, "the estimate");
    }
    print_privacy(options, design, result);
    printf("Seed %llu, %.2f seconds.\n", (unsigned long long)options->simulation.seed,
           result->seconds);
}

/* ------------------------------------------------------------------- JSON */

static json_t *privacy_json(const struct simulate_options *options,
                            const struct tremolo_simulation_result *result)
{
    char neighbours[64];
    const struct tremolo_mechanism_scales *privacy = &result->privacy;
    if (options->simulation.experiment.method == TREMOLO_EXPERIMENT_OLS) {
        return json_null();
    }
    bool all = options->simulation.experiment.protect_all ||
               options->simulation.experiment.method == TREMOLO_EXPERIMENT_DP_SGD;
    return json_pack(
        "{s:o,s:o,s:o,s:o,s:o,s:o,s:s,s:s}", "epsilon", coefficients_number(privacy->epsilon),
        "delta", coefficients_number(options->simulation.experiment.delta), "mu",
        coefficients_number(privacy->mu), "rho", coefficients_number(privacy->rho), "sigma",
        coefficients_number(privacy->sigma), "sensitivity",
        coefficients_number(privacy->sensitivity), "neighbours",
        simulate_neighbours(neighbours, options), "protects", all ? "all" : "features");
}

/* Only "exact" is the device core's. */
static const char *noise_name(const struct tremolo_experiment_options *experiment)
{
    if (experiment->method == TREMOLO_EXPERIMENT_OLS) {
        return "none";
    }
    return experiment->fast_noise || experiment->method == TREMOLO_EXPERIMENT_DP_SGD ? "fast"
                                                                                     : "exact";
}

static json_t *numbers(const double *values, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count && array != NULL; i++) {
        (void)json_array_append_new(array, coefficients_number(values[i]));
    }
    return array;
}

bool simulate_print_json(const struct simulate_options *options,
                         const struct tremolo_design *design,
                         const struct tremolo_simulation_result *result)
{
    size_t repeats = options->simulation.repeats;
    const struct coefficients coefficients = simulate_coefficients(design, result);
    json_t *root = json_pack(
        "{s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:o,s:{s:o,s:o,s:o},s:o,s:o,s:o,s:s,s:I,s:o}", "method",
        tremolo_experiment_method_name(options->simulation.experiment.method), "response",
        design->response, "unit", design->unit, "dimension", (json_int_t)result->dimension,
        "devices", (json_int_t)result->devices, "held_out", (json_int_t)result->held_out, "dropped",
        (json_int_t)design->dropped, "privacy", privacy_json(options, result), "r2", "mean",
        coefficients_number(simulate_mean(result->r2, repeats)), "sd",
        coefficients_number(simulate_sd(result->r2, repeats)), "values",
        numbers(result->r2, repeats), "r2_ols",
        coefficients_number(simulate_mean(result->r2_ols, repeats)), "coefficients",
        coefficients_json(&coefficients), "prediction", coefficients_prediction_json(&coefficients),
        "noise", noise_name(&options->simulation.experiment), "seed",
        (json_int_t)options->simulation.seed, "seconds", coefficients_number(result->seconds));
    if (root == NULL) {
        return false;
    }
    /* Either way of scaling looked at the data, and a reader must be told. */
    (void)json_object_set_new(root, "scale",
                              json_string(options->simulation.scaling == TREMOLO_SCALING_STANDARD
                                              ? "standard"
                                              : "bounds"));
    (void)json_object_set_new(root, "scale_is_private",
                              json_boolean(options->study != NULL &&
                                           options->simulation.scaling == TREMOLO_SCALING_BOUNDS));
    if (tremolo_simulation_clamps(&options->simulation, design)) {
        (void)json_object_set_new(root, "clamped", simulate_clamped_json(design, result));
    }
    if (tremolo_simulation_clips(&options->simulation, design)) {
        (void)json_object_set_new(root, "clip",
                                  json_pack("{s:o,s:I}", "radius",
                                            coefficients_number(options->simulation.clip),
                                            "devices", (json_int_t)result->clipped));
    }
    if (tremolo_experiment_takes_rounds(options->simulation.experiment.method)) {
        (void)json_object_set_new(root, "convergence", convergence_json(&result->convergence));
    }
    if (result->remark != NULL) {
        (void)json_object_set_new(root, "remark", json_string(result->remark));
    }
    bool good = json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) == 0 &&
                putchar('\n') != EOF;
    json_decref(root);
    return good;
}
