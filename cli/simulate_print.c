/* simulate_print.c -- the result of `tremolo simulate` for people and for
 * programs. The text follows R's summary of a linear model. */
#include "simulate.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *simulate_neighbours(char text[64], const struct simulate_options *options)
{
    if (options->experiment.neighbours == TREMOLO_NEIGHBOURS_ANY ||
        options->experiment.method == METHOD_DP_SGD) {
        return strcpy(text, "any");
    }
    (void)snprintf(text, 64, "distance=%g", options->experiment.distance);
    return text;
}

static const char *stars(double p)
{
    return p < 0.001 ? "***" : p < 0.01 ? "**" : p < 0.05 ? "*" : p < 0.1 ? "." : "";
}

static const char *name_of(const struct design *design, size_t row)
{
    return row < design->features ? design->name[row] : "(Intercept)";
}

static int name_width(const struct design *design)
{
    size_t width = strlen("(Intercept)");
    for (size_t i = 0; i < design->features; i++) {
        size_t length = strlen(design->name[i]);
        width = length > width ? length : width;
    }
    return width > 40 ? 40 : (int)width;
}

static void print_coefficients(const struct design *design, const struct simulate_result *result)
{
    int width = name_width(design);
    if (result->coefficients == 0) {
        printf("Coefficients (%s):\n%*s %12s\n", result->remark, -width, "", "Estimate");
        for (size_t i = 0; i <= design->features; i++) {
            printf("%*.40s %12.5g\n", -width, name_of(design, i), result->prediction[i]);
        }
        return;
    }
    printf("Coefficients (unbiased, for conclusions):\n%*s %12s %12s %8s %9s  %s\n", -width, "",
           "Estimate", "Std. Error", "z value", "Pr(>|z|)", "95% interval");
    for (size_t i = 0; i < result->coefficients; i++) {
        const struct tremolo_coefficient *row = &result->coefficient[i];
        printf("%*.40s %12.5g %12.4g %8.2f %9.3g  [%.5g, %.5g] %s\n", -width, name_of(design, i),
               row->estimate, row->standard_error, row->z, row->p, row->low, row->high,
               stars(row->p));
    }
    printf("---\nSignif. codes:  0 '***' 0.001 '**' 0.01 '*' 0.05 '.' 0.1 ' ' 1\n");
}

static void print_identification(const struct design *design, const struct simulate_result *result)
{
    for (size_t i = 0; i < result->coefficients; i++) {
        char text[512];
        tremolo_identification_sentence(text, sizeof text, name_of(design, i),
                                        &result->coefficient[i], result->devices);
        if (!result->coefficient[i].identified && text[0] != '\0') {
            printf("%s\n", text);
        }
    }
}

static void print_privacy(const struct simulate_options *options,
                          const struct simulate_result *result)
{
    const struct experiment_options *experiment = &options->experiment;
    bool any =
        experiment->neighbours == TREMOLO_NEIGHBOURS_ANY || experiment->method == METHOD_DP_SGD;
    const struct tremolo_promise promise = {
        .neighbours = any ? TREMOLO_NEIGHBOURS_ANY : TREMOLO_NEIGHBOURS_DISTANCE,
        .distance = any ? result->privacy.sensitivity : experiment->distance,
        .dimension = (unsigned)result->dimension,
        .mu = result->privacy.mu,
        .releases = method_takes_rounds(experiment->method) ? experiment->rounds : 1,
        .delta = experiment->delta,
        .response_private = experiment->protect_all || experiment->method == METHOD_DP_SGD,
    };
    char text[TREMOLO_EXPLAIN_BYTES];
    if (experiment->method == METHOD_OLS) {
        printf("Privacy: none; ordinary least squares reads the raw data.\n");
        return;
    }
    printf("Privacy: epsilon %.4g (asked: %g), delta %g, noise sd %.4g in scaled units\n",
           result->privacy.epsilon, experiment->epsilon, experiment->delta, result->privacy.sigma);
    if (tremolo_explain_reviewer(text, sizeof text, &promise) == TREMOLO_OK) {
        printf("%s\n", text);
    }
    if (options->scaling == SCALING_STANDARD) {
        printf("The features were standardised on the training rows, which is not private; real "
               "studies use public bounds.\n");
    } else {
        printf("The bounds were taken from the data, which is not private; real studies state "
               "them beforehand.\n");
    }
    if (experiment->fast_noise && experiment->method != METHOD_DP_SGD) {
        printf("Noise: --fast-noise, the same law from a generator for simulations; the device "
               "core was not run.\n");
    }
}

void simulate_print(const struct simulate_options *options, const struct design *design,
                    const struct simulate_result *result)
{
    printf("%s ~ %zu features, method %s: %zu devices, %zu rows held out, %zu rows dropped for "
           "missing values\n\n",
           design->response, result->dimension, method_name(options->experiment.method),
           result->devices, result->held_out, result->dropped);
    print_coefficients(design, result);
    print_identification(design, result);
    printf("\nPrediction: R-squared %.4f on %s", simulate_mean(result->r2, options->repeats),
           result->held_out > 0 ? "rows held out" : "the training rows");
    if (options->repeats > 1) {
        printf(" (sd %.4f over %zu repeats)", simulate_sd(result->r2, options->repeats),
               options->repeats);
    }
    printf("; without privacy (ols) %.4f\n", simulate_mean(result->r2_ols, options->repeats));
    print_privacy(options, result);
    printf("Seed %llu, %.2f seconds.\n", (unsigned long long)options->seed, result->seconds);
}

/* ------------------------------------------------------------------- JSON */

/* JSON has no NaN: what is not known is null. */
static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *privacy_json(const struct simulate_options *options,
                            const struct simulate_result *result)
{
    char neighbours[64];
    const struct tremolo_mechanism_scales *privacy = &result->privacy;
    if (options->experiment.method == METHOD_OLS) {
        return json_null();
    }
    bool all = options->experiment.protect_all || options->experiment.method == METHOD_DP_SGD;
    return json_pack(
        "{s:o,s:o,s:o,s:o,s:o,s:o,s:s,s:s}", "epsilon", number(privacy->epsilon), "delta",
        number(options->experiment.delta), "mu", number(privacy->mu), "rho", number(privacy->rho),
        "sigma", number(privacy->sigma), "sensitivity", number(privacy->sensitivity), "neighbours",
        simulate_neighbours(neighbours, options), "protects", all ? "all" : "features");
}

static json_t *numbers(const double *values, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count && array != NULL; i++) {
        (void)json_array_append_new(array, number(values[i]));
    }
    return array;
}

static json_t *coefficients_json(const struct design *design, const struct simulate_result *result)
{
    json_t *array = json_array();
    for (size_t i = 0; i < result->coefficients && array != NULL; i++) {
        const struct tremolo_coefficient *row = &result->coefficient[i];
        (void)json_array_append_new(
            array,
            json_pack("{s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:b}", "name", name_of(design, i), "estimate",
                      number(row->estimate), "standard_error", number(row->standard_error), "low",
                      number(row->low), "high", number(row->high), "z", number(row->z), "p",
                      number(row->p), "identified", row->identified));
    }
    return array;
}

static json_t *prediction_json(const struct design *design, const struct simulate_result *result)
{
    json_t *array = json_array();
    for (size_t i = 0; i <= design->features && array != NULL; i++) {
        (void)json_array_append_new(array, json_pack("{s:s,s:o}", "name", name_of(design, i),
                                                     "estimate", number(result->prediction[i])));
    }
    return array;
}

bool simulate_print_json(const struct simulate_options *options, const struct design *design,
                         const struct simulate_result *result)
{
    size_t repeats = options->repeats;
    json_t *root = json_pack(
        "{s:s,s:I,s:I,s:I,s:I,s:o,s:{s:o,s:o,s:o},s:o,s:o,s:o,s:s,s:I,s:o}", "method",
        method_name(options->experiment.method), "dimension", (json_int_t)result->dimension,
        "devices", (json_int_t)result->devices, "held_out", (json_int_t)result->held_out, "dropped",
        (json_int_t)result->dropped, "privacy", privacy_json(options, result), "r2", "mean",
        number(simulate_mean(result->r2, repeats)), "sd", number(simulate_sd(result->r2, repeats)),
        "values", numbers(result->r2, repeats), "r2_ols",
        number(simulate_mean(result->r2_ols, repeats)), "coefficients",
        coefficients_json(design, result), "prediction", prediction_json(design, result), "noise",
        options->experiment.fast_noise ? "fast" : "exact", "seed", (json_int_t)options->seed,
        "seconds", number(result->seconds));
    if (root == NULL) {
        return false;
    }
    bool good = json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) == 0 &&
                putchar('\n') != EOF;
    json_decref(root);
    return good;
}
