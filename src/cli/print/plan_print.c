/* plan_print.c -- a plan in words and as JSON. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "cli.h"
#include "coefficients.h"
#include "convergence.h"
#include "plan.h"

static void print_privacy(const struct plan_options *options,
                          const struct tremolo_plan_answer *answer)
{
    const struct tremolo_plan_request *request = &options->request;
    const char *protected = request->response_private ? "features and responses" : "features";
    const char *clear = request->response_private ? "" : "; the response travels in the clear";
    if (options->study != NULL) {
        (void)printf("%s\n", tremolo_study_file_terms(options->study)->title);
    }
    (void)printf("%zu features, %.0f devices, one release%s with epsilon = %g, delta = %g (%s)\n",
                 request->guess.dimension, request->guess.devices,
                 request->samples > 1 ? " for each of a device's samples, all together" : "",
                 request->epsilon, request->delta, tremolo_calibration_names[request->calibration]);
    if (request->distance > 0.0) {
        (void)printf("protects: %s that differ by at most %g (scaled)%s\n", protected,
                     request->distance, clear);
    } else {
        (void)printf("protects: any two people's %s, clipped to radius %g%s\n", protected,
                     0.5 * tremolo_plan_sensitivity(request), clear);
    }
    (void)printf("noise: sd %.4g per feature, whose own sd is guessed as %.3g\n\n",
                 answer->input.noise_sd, sqrt(request->guess.feature_variance));
}

static void print_table(const struct tremolo_plan_request *request,
                        const struct tremolo_plan_answer *answer)
{
    const struct tremolo_plan_result *r = &answer->result;
    (void)printf("                              private   without privacy     factor\n");
    (void)printf("standard error          %13.4g %17.4g %10.3g\n", r->standard_error,
                 r->standard_error_public, r->standard_error / r->standard_error_public);
    (void)printf("prediction error        %13.4g %17.4g %10.3g\n", r->prediction_error,
                 r->prediction_minimax, r->prediction_error / r->prediction_minimax);
    (void)printf("estimation error        %13.4g %17.4g %10.3g\n", r->estimation_error,
                 r->estimation_minimax, r->estimation_error / r->estimation_minimax);
    (void)printf("R^2 of the prediction   %13.3f %17.3f\n", r->r2_auto, request->guess.r2);
    (void)printf("%g%% interval           +- %10.4g\n", 100.0 * request->guess.level,
                 r->half_width);
    (void)printf("noise ratio             %13.3g   %s\n", r->noise_ratio,
                 r->noise_ratio <= 0.12
                     ? "(up to 0.12 coefficients are well identified)"
                     : "(above 0.12: coefficients are weakly identified, read score intervals)");
    if (answer->devices_for_width > 0.0) {
        (void)printf("devices for intervals of +- %g: %.0f\n", request->half_width,
                     answer->devices_for_width);
    }
    if (answer->devices_for_power > 0.0) {
        (void)printf("devices to detect %g with power %g: %.0f\n", request->effect, request->power,
                     answer->devices_for_power);
    }
}

static void print_alternatives(const struct tremolo_plan_request *request,
                               const struct tremolo_plan_answer *answer)
{
    (void)printf("\nthe same budget spent differently (alpha %g, lambda %g, omega %g, %zu vectors, "
                 "%ld rounds)\n",
                 request->alpha, request->lambda, request->omega, request->guess.vectors,
                 request->rounds);
    (void)printf("                              noise sd    standard error    R^2\n");
    for (int i = 0; i < TREMOLO_PLAN_ALTERNATIVES; i++) {
        const struct tremolo_plan_alternative *way = &answer->alternatives[i];
        (void)printf("%-26s %11.4g %17.4g %6.3f\n", way->name, way->noise_sd,
                     way->result.standard_error, way->result.r2_auto);
    }
}

enum { ROWS_MAX = 20 };

/* How well the mean of a hidden response is known, in the study's own units; in scaled
 * ones its error is given. */
static void print_mean(const struct tremolo_study_file *study, double standard_error)
{
    const struct tremolo_study_feature *response = tremolo_study_file_response(study);
    (void)printf(
        "\nNoise alone gives the mean of %s a standard error of %.3g%s%s. The R^2 above is for a\n"
        "mean near the middle of its bounds; far from it R^2 is lower, and may be below zero.\n",
        response->name, 0.5 * standard_error * (response->high - response->low),
        response->unit[0] != '\0' ? " " : "", response->unit);
}

/* Half widths in the study's own units, which run over the public bounds as the scaled
 * ones do from -1 to 1. */
static void print_own_units(const struct tremolo_study_file *study, double half_width, double level)
{
    const struct tremolo_study_feature *response = tremolo_study_file_response(study);
    size_t d = tremolo_study_file_dimension(study);
    double range = response->high - response->low;
    (void)printf("\n%g%% intervals in the study's own units: %s%s%s per unit of\n", 100.0 * level,
                 response->name, response->unit[0] != '\0' ? ", " : "", response->unit);
    int widest = 24;
    for (size_t i = 0; i < d && i < ROWS_MAX; i++) {
        int width = coefficients_name_width(tremolo_study_file_coordinate(study, i)->name);
        widest = width > widest ? width : widest;
    }
    for (size_t i = 0; i < d && i < ROWS_MAX; i++) {
        const struct tremolo_study_coordinate *row = tremolo_study_file_coordinate(study, i);
        double width = half_width * range / (row->high - row->low);
        (void)printf("  ");
        coefficients_print_name(row->name, widest);
        (void)printf(" +- %.4g\n", width);
    }
    if (d > ROWS_MAX) {
        (void)printf("  and %zu more\n", d - ROWS_MAX);
    }
}

/* Two digits, upwards: a guess is no better than that. */
static double round_up(double devices)
{
    double unit = pow(10, fmax(floor(log10(devices)) - 1, 0));
    return ceil(devices / unit) * unit;
}

/* The size of a coefficient, in the study's own words where there is a study: what
 * crossing a feature's whole range does to the response. */
static void say_size(char *text, size_t bytes, const struct tremolo_study_file *study, double size)
{
    if (study == NULL) {
        (void)snprintf(text, bytes, "%.2g (scaled)", size);
        return;
    }
    const struct tremolo_study_feature *response = tremolo_study_file_response(study);
    (void)snprintf(text, bytes,
                   "%.2g%s%s of %s between the two ends of a feature's range or the answers no "
                   "and yes",
                   size * (response->high - response->low), response->unit[0] != '\0' ? " " : "",
                   response->unit, response->name);
}

static void print_verdict(const struct plan_options *options,
                          const struct tremolo_plan_verdict *verdict)
{
    const struct tremolo_plan_request *request = &options->request;
    char text[1024];
    char size[400];
    double devices = request->guess.devices;
    say_size(size, sizeof size, options->study, verdict->told ? verdict->least : verdict->guessed);
    if (verdict->told) {
        (void)snprintf(text, sizeof text,
                       "Verdict: with %.0f devices all of the %zu coefficients will be told from "
                       "zero, in four studies of five, if they are at least %s.",
                       devices, request->guess.dimension, size);
    } else if (verdict->devices > devices) {
        (void)snprintf(text, sizeof text,
                       "Verdict: with %.0f devices no coefficient will be told from zero; about "
                       "%.0f devices are needed for coefficients of the guessed size, %s.",
                       devices, round_up(verdict->devices), size);
    } else {
        (void)snprintf(text, sizeof text,
                       "Verdict: with %.0f devices no coefficient will be told from zero, and no "
                       "number of devices that could be had would change that.",
                       devices);
    }
    (void)putchar('\n');
    coefficients_paragraph(text);
}

static json_t *verdict_json(const struct tremolo_plan_verdict *verdict)
{
    return json_pack("{s:b, s:f, s:f, s:o}", "told_from_zero", verdict->told, "least_coefficient",
                     verdict->least, "guessed_coefficient", verdict->guessed, "devices_needed",
                     verdict->devices > 0 ? json_real(verdict->devices) : json_null());
}

static json_t *result_json(const struct tremolo_plan_result *r)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "standard_error",
                     r->standard_error, "standard_error_public", r->standard_error_public,
                     "half_width", r->half_width, "r2", r->r2_auto, "noise_ratio", r->noise_ratio,
                     "prediction_error", r->prediction_error, "prediction_minimax",
                     r->prediction_minimax, "estimation_error", r->estimation_error,
                     "estimation_minimax", r->estimation_minimax);
}

int plan_print_json(const struct plan_options *options, const struct tremolo_plan_answer *answer)
{
    const struct tremolo_plan_request *request = &options->request;
    json_t *ways = json_array();
    char neighbours[64] = "any";
    if (request->distance > 0.0) {
        (void)snprintf(neighbours, sizeof neighbours, "distance=%g", request->distance);
    }
    for (int i = 0; i < TREMOLO_PLAN_ALTERNATIVES; i++) {
        const struct tremolo_plan_alternative *way = &answer->alternatives[i];
        (void)json_array_append_new(ways, json_pack("{s:s, s:f, s:o}", "name", way->name,
                                                    "noise_sd", way->noise_sd, "expected",
                                                    result_json(&way->result)));
    }
    json_t *root = json_pack("{s:i, s:f, s:{s:f, s:f, s:s, s:s, s:f, s:f}, s:o, s:o}", "dimension",
                             (int)request->guess.dimension, "devices", request->guess.devices,
                             "privacy", "epsilon", request->epsilon, "delta", request->delta,
                             "calibration", tremolo_calibration_names[request->calibration],
                             "neighbours", neighbours, "sensitivity",
                             tremolo_plan_sensitivity(request), "noise_sd", answer->input.noise_sd,
                             "expected", result_json(&answer->result), "alternatives", ways);
    if (root == NULL) {
        return cli_fail(CLI_FAILED, "plan", "out of memory");
    }
    (void)json_object_set_new(root, "convergence", convergence_json(&answer->convergence));
    (void)json_object_set_new(root, "verdict", verdict_json(&answer->verdict));
    if (answer->devices_for_width > 0.0) {
        (void)json_object_set_new(root, "devices_for_half_width",
                                  json_real(answer->devices_for_width));
    }
    if (answer->devices_for_power > 0.0) {
        (void)json_object_set_new(root, "devices_for_power", json_real(answer->devices_for_power));
    }
    (void)json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    (void)putchar('\n');
    json_decref(root);
    return CLI_DONE;
}

void plan_print_text(const struct plan_options *options, const struct tremolo_plan_answer *answer)
{
    const struct tremolo_plan_request *request = &options->request;
    print_privacy(options, answer);
    print_table(request, answer);
    if (options->study != NULL && request->response_private) {
        print_mean(options->study, answer->input.noise_sd / sqrt(request->guess.devices));
    }
    if (options->study != NULL) {
        print_own_units(options->study, answer->result.half_width, request->guess.level);
    }
    print_alternatives(request, answer);
    if (options->theory) {
        (void)printf("\nthe paper's %ld rounds, noise sd %.4g each (scaled units)\n",
                     request->rounds,
                     answer->convergence.input.mechanism.sigma / (1.0 - request->alpha));
        json_t *convergence = convergence_json(&answer->convergence);
        convergence_print(convergence, "the guess");
        json_decref(convergence);
    }
    print_verdict(options, &answer->verdict);
}
