/* planning_json.c -- a plan as a document. */
#include "planning_json.h"

#include <stdio.h>

#include "estimate_json.h"
#include "explain.h"
#include "study_internal.h"

static const char *const release_names[] = {"sample", "ballot"};

static bool is_ballot(const struct tremolo_plan_request *request)
{
    return request->release == TREMOLO_RELEASE_BALLOT;
}

/* What devices of a request send. */
static const char *release_words(const struct tremolo_plan_request *request)
{
    return is_ballot(request) ? "ballots" : "noisy samples";
}

void plan_lever_name(char *text, size_t bytes, const struct tremolo_plan_lever *lever)
{
    const struct tremolo_plan_request *request = &lever->request;
    switch (lever->kind) {
    case TREMOLO_LEVER_NONE:
        (void)snprintf(text, bytes, "as planned: %s", release_words(request));
        break;
    case TREMOLO_LEVER_RELEASE:
        (void)snprintf(text, bytes, "%s for any two people", release_words(request));
        break;
    case TREMOLO_LEVER_EPSILON:
        (void)snprintf(text, bytes, "epsilon %g", tremolo_digits_up(request->epsilon, 6));
        break;
    case TREMOLO_LEVER_FEATURES:
        (void)snprintf(text, bytes, "%zu feature%s with the same R^2", request->guess.dimension,
                       request->guess.dimension == 1 ? "" : "s");
        break;
    case TREMOLO_LEVER_PROTECT:
        (void)snprintf(text, bytes,
                       request->response_private ? "response protected as well"
                                                 : "response in the clear");
        break;
    case TREMOLO_LEVER_DISTANCE:
        (void)snprintf(text, bytes, "noisy samples for distance=%g", request->distance);
        break;
    case TREMOLO_LEVER_TRUST:
        (void)snprintf(text, bytes, "a trusted server, any two people");
        break;
    }
}

static json_t *positive(double value)
{
    return value > 0.0 ? json_real(value) : json_null();
}

static json_t *levers_json(const struct tremolo_plan_answer *answer)
{
    json_t *list = json_array();
    for (size_t i = 0; i < answer->lever_count; i++) {
        const struct tremolo_plan_lever *lever = &answer->levers[i];
        const struct tremolo_plan_request *request = &lever->request;
        bool trusted = lever->kind == TREMOLO_LEVER_TRUST;
        char name[80];
        plan_lever_name(name, sizeof name, lever);
        (void)json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:f, s:i, s:s, s:f, s:b, s:o, s:o, s:f}", "name", name, "release",
                      trusted ? "sums" : release_names[request->release], "epsilon",
                      request->epsilon, "dimension", (int)request->guess.dimension, "protect",
                      request->response_private ? "all" : "features", "distance", request->distance,
                      "trusted", trusted, "devices_needed", positive(lever->devices), "r2",
                      json_latch_number(lever->r2), "attack_success", lever->attack));
    }
    return list;
}

static json_t *verdict_json(const struct tremolo_plan_verdict *verdict)
{
    return json_pack("{s:b, s:f, s:f, s:o, s:i, s:o, s:b, s:f, s:f}", "told_from_zero",
                     verdict->told, "least_coefficient", verdict->least, "guessed_coefficient",
                     verdict->guessed, "devices_needed", positive(verdict->devices), "lever",
                     (int)verdict->instead, "liars_turn_sign", json_latch_number(verdict->liars),
                     "identified", verdict->identified, "noise_ratio_max", verdict->ratio_max,
                     "devices_identified", verdict->devices_identified);
}

static json_t *result_json(const struct tremolo_plan_result *r)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:o, s:f, s:o, s:f}", "standard_error",
                     r->standard_error, "standard_error_public", r->standard_error_public,
                     "half_width", r->half_width, "r2", r->r2_auto, "noise_ratio", r->noise_ratio,
                     "prediction_error", json_latch_number(r->prediction_error),
                     "prediction_minimax", r->prediction_minimax, "estimation_error",
                     json_latch_number(r->estimation_error), "estimation_minimax",
                     r->estimation_minimax);
}

/* What only noisy samples have. */
static void add_sample_json(json_t *root, const struct tremolo_plan_request *request,
                            const struct tremolo_plan_answer *answer)
{
    json_t *ways = json_array();
    json_t *privacy = json_object_get(root, "privacy");
    (void)json_object_set_new(privacy, "calibration",
                              json_string(tremolo_calibration_names[request->calibration]));
    (void)json_object_set_new(privacy, "sensitivity", json_real(tremolo_plan_sensitivity(request)));
    (void)json_object_set_new(privacy, "noise_sd", json_real(answer->noise_sd));
    for (int i = 0; i < TREMOLO_PLAN_ALTERNATIVES; i++) {
        const struct tremolo_plan_alternative *way = &answer->alternatives[i];
        (void)json_array_append_new(ways, json_pack("{s:s, s:f, s:o}", "name", way->name,
                                                    "noise_sd", way->noise_sd, "expected",
                                                    result_json(&way->result)));
    }
    (void)json_object_set_new(root, "alternatives", ways);
    (void)json_object_set_new(root, "convergence", estimate_convergence(&answer->convergence));
}

json_t *plan_document(const struct tremolo_plan_request *request,
                      const struct tremolo_plan_answer *answer)
{
    char neighbours[64] = "any";
    if (request->distance > 0.0) {
        (void)snprintf(neighbours, sizeof neighbours, "distance=%g", request->distance);
    }
    json_t *root = json_pack(
        "{s:i, s:f, s:{s:s, s:f, s:f, s:s, s:s}, s:o, s:o, s:o}", "dimension",
        (int)request->guess.dimension, "devices", request->guess.devices, "privacy", "release",
        release_names[request->release], "epsilon", request->epsilon, "delta",
        is_ballot(request) ? 0.0 : request->delta, "neighbours", neighbours, "protect",
        request->response_private ? "all" : "features", "expected", result_json(&answer->result),
        "levers", levers_json(answer), "verdict", verdict_json(&answer->verdict));
    if (root == NULL) {
        return NULL;
    }
    if (!is_ballot(request)) {
        add_sample_json(root, request, answer);
    }
    if (answer->devices_for_width > 0.0) {
        (void)json_object_set_new(root, "devices_for_half_width",
                                  json_real(answer->devices_for_width));
    }
    if (answer->devices_for_power > 0.0) {
        (void)json_object_set_new(root, "devices_for_power", json_real(answer->devices_for_power));
    }
    return root;
}

char *tremolo_plan_json(const struct tremolo_plan_request *request,
                        const struct tremolo_plan_answer *answer)
{
    return json_latch_exact(plan_document(request, answer));
}
