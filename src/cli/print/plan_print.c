/* plan_print.c -- a plan in words and as JSON. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "cli.h"
#include "plan.h"

static const char *calibration_name(enum plan_calibration calibration)
{
    return calibration == PLAN_EXACT ? "exact" : calibration == PLAN_ZCDP ? "zcdp" : "paper";
}

static void print_privacy(const struct plan_request *request, const struct plan_answer *answer)
{
    const char *protected = request->response_private ? "features and responses" : "features";
    const char *clear = request->response_private ? "" : "; the response travels in the clear";
    if (request->study != NULL) {
        (void)printf("%s\n", tremolo_study_file_terms(request->study)->title);
    }
    (void)printf("%zu features, %.0f devices, one release%s with epsilon = %g, delta = %g (%s)\n",
                 request->guess.dimension, request->guess.devices,
                 request->samples > 1 ? " for each of a device's samples, all together" : "",
                 request->epsilon, request->delta, calibration_name(request->calibration));
    if (request->distance > 0.0) {
        (void)printf("protects: %s that differ by at most %g (scaled)%s\n", protected,
                     request->distance, clear);
    } else {
        (void)printf("protects: any two people's %s, clipped to radius %g%s\n", protected,
                     0.5 * plan_sensitivity(request), clear);
    }
    (void)printf("noise: sd %.4g per feature, whose own sd is guessed as %.3g\n\n",
                 answer->input.noise_sd, sqrt(request->guess.feature_variance));
}

static void print_table(const struct plan_request *request, const struct plan_answer *answer)
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

static void print_alternatives(const struct plan_request *request, const struct plan_answer *answer)
{
    (void)printf("\nthe same budget spent differently (alpha %g, lambda %g, omega %g, %zu vectors, "
                 "%ld rounds)\n",
                 request->alpha, request->lambda, request->omega, request->guess.vectors,
                 request->rounds);
    (void)printf("                              noise sd    standard error    R^2\n");
    for (int i = 0; i < PLAN_ALTERNATIVES; i++) {
        const struct plan_alternative *way = &answer->alternatives[i];
        (void)printf("%-26s %11.4g %17.4g %6.3f\n", way->name, way->noise_sd,
                     way->result.standard_error, way->result.r2_auto);
    }
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

int plan_print_json(const struct plan_request *request, const struct plan_answer *answer)
{
    json_t *ways = json_array();
    char neighbours[64] = "any";
    if (request->distance > 0.0) {
        (void)snprintf(neighbours, sizeof neighbours, "distance=%g", request->distance);
    }
    for (int i = 0; i < PLAN_ALTERNATIVES; i++) {
        const struct plan_alternative *way = &answer->alternatives[i];
        (void)json_array_append_new(ways, json_pack("{s:s, s:f, s:o}", "name", way->name,
                                                    "noise_sd", way->noise_sd, "expected",
                                                    result_json(&way->result)));
    }
    json_t *root =
        json_pack("{s:i, s:f, s:{s:f, s:f, s:s, s:s, s:f, s:f}, s:o, s:o}", "dimension",
                  (int)request->guess.dimension, "devices", request->guess.devices, "privacy",
                  "epsilon", request->epsilon, "delta", request->delta, "calibration",
                  calibration_name(request->calibration), "neighbours", neighbours, "sensitivity",
                  plan_sensitivity(request), "noise_sd", answer->input.noise_sd, "expected",
                  result_json(&answer->result), "alternatives", ways);
    if (root == NULL) {
        return cli_fail(CLI_FAILED, "plan", "out of memory");
    }
    (void)json_object_set_new(root, "convergence", convergence_json(&answer->convergence));
    const struct plan_verdict verdict = plan_verdict(request, answer);
    (void)json_object_set_new(root, "verdict", plan_verdict_json(&verdict));
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

void plan_print_text(const struct plan_request *request, const struct plan_answer *answer)
{
    print_privacy(request, answer);
    print_table(request, answer);
    if (request->study != NULL && request->response_private) {
        plan_study_print_mean(request->study,
                              answer->input.noise_sd / sqrt(request->guess.devices));
    }
    if (request->study != NULL) {
        plan_study_print(request->study, answer->result.half_width, request->guess.level);
    }
    print_alternatives(request, answer);
    if (request->theory) {
        (void)printf("\nthe paper's %ld rounds, noise sd %.4g each (scaled units)\n",
                     request->rounds,
                     answer->convergence.input.mechanism.sigma / (1.0 - request->alpha));
        convergence_print(&answer->convergence, "the guess");
    }
    const struct plan_verdict verdict = plan_verdict(request, answer);
    plan_verdict_print(request, &verdict);
}
