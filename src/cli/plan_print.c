/* plan_print.c -- a plan in words. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "cli.h"
#include "coefficients.h"
#include "estimate_json.h"
#include "estimate_show.h"
#include "study_internal.h"
#include "guarantee_print.h"
#include "plan.h"
#include "planning_json.h"
#include "privacy_warnings.h"
#include "explain.h"
#include "release.h"

static bool is_ballot(const struct tremolo_plan_request *request)
{
    return request->release == TREMOLO_RELEASE_BALLOT;
}

static void print_privacy(const struct plan_options *options,
                          const struct tremolo_plan_answer *answer)
{
    const struct tremolo_plan_request *request = &options->request;
    const char *protected = request->response_private ? "features and responses" : "features";
    const char *clear = request->response_private ? "" : "; the response travels in the clear";
    const char *each = request->samples > 1 ? " for each of a device's samples, all together" : "";
    if (options->study != NULL) {
        (void)printf("%s\n", tremolo_study_file_terms(options->study)->title);
    }
    (void)printf("%zu feature%s, %.0f devices, ", request->guess.dimension,
                 request->guess.dimension == 1 ? "" : "s", request->guess.devices);
    if (is_ballot(request)) {
        (void)printf("one ballot%s with epsilon = %g, delta = 0\n", each,
                     tremolo_digits_up(request->epsilon, 6));
    } else {
        (void)printf("one release%s with epsilon = %g, delta = %g (%s)\n", each,
                     tremolo_digits_up(request->epsilon, 6), tremolo_digits_up(request->delta, 6),
                     tremolo_calibration_names[request->calibration]);
    }
    if (request->distance > 0.0) {
        (void)printf("protects: %s that differ by at most %g, in half ranges%s\n", protected,
                     tremolo_digits_down(request->distance, 6), clear);
    } else if (is_ballot(request)) {
        (void)printf("protects: any two people's %s, whatever they are%s\n", protected, clear);
    } else {
        (void)printf("protects: any two people's %s, clipped to radius %g%s\n", protected,
                     0.5 * tremolo_plan_sensitivity(request), clear);
    }
    if (!is_ballot(request)) {
        (void)printf("noise: sd %.4g per feature, whose own sd is guessed as %.3g\n",
                     answer->noise_sd, sqrt(request->guess.feature_variance));
    } else {
        char alike[64] = "that are unlike each other";
        if (request->guess.correlation != 0.0) {
            (void)snprintf(alike, sizeof alike, "with correlation %g", request->guess.correlation);
        }
        (void)printf("guessed: R^2 %g without privacy, features %s, with sd %.3g (--r2, "
                     "--correlation, --feature-sd)\n",
                     request->guess.r2, alike, sqrt(request->guess.feature_variance));
    }
}

/* What an attacker achieves at other distances, in the study's own units. */
static void print_differences(const struct tremolo_plan_request *request,
                              const struct tremolo_study_file *study, double widest)
{
    struct tremolo_extent extents[TREMOLO_MAX_DIMENSION + 1];
    struct tremolo_difference ways[TREMOLO_EXPLAIN_WAYS] = {{.distance = 0}};
    struct tremolo_explanation explanation;
    const struct tremolo_promise promise = {
        .neighbours = TREMOLO_NEIGHBOURS_DISTANCE,
        .distance = request->distance,
        .diameter = widest,
        .dimension = (unsigned)request->guess.dimension,
        .mu = tremolo_plan_mu(request, request->distance),
        .releases = (uint64_t)request->samples,
        .delta = request->delta,
        .response_private = request->response_private,
        .extents = extents,
        .extent_count = tremolo_study_file_extents(extents, study),
        .ways = ways,
        .way_count = tremolo_study_file_ways(ways, study),
    };
    if (tremolo_explain(&explanation, &promise) == TREMOLO_OK) {
        json_t *words = guarantee_words_json(&explanation);
        guarantee_print_differences(json_object_get(words, "differences"));
        json_decref(words);
    }
}

/* Whom a distance leaves unprotected, and a large epsilon. */
static void print_warnings(const struct tremolo_plan_request *request,
                           const struct tremolo_study_file *study)
{
    if (request->distance > 0.0) {
        struct tremolo_plan_request any = *request;
        any.distance = 0.0;
        double widest = tremolo_plan_sensitivity(&any);
        double typical = fmin(tremolo_typical_distance((unsigned)request->guess.dimension), widest);
        double near = tremolo_plan_attack(request, request->distance);
        double ends = tremolo_plan_attack(request, 2.0);
        double pair = tremolo_plan_attack(request, typical);
        double any_two = tremolo_plan_attack(request, widest);
        char right[4][GUARANTEE_RIGHT_BYTES];
        coefficients_paragraph(
            "One who must tell two people apart, at even odds, %s of the time "
            "when they differ by %g, %s when they are at the two ends of one feature's range, "
            "%s for a typical pair (%.2g apart) and %s for any two%s",
            guarantee_right(right[0], near, true), request->distance,
            tremolo_percent_text(right[1], ends, true), tremolo_percent_text(right[2], pair, true),
            typical, tremolo_percent_text(right[3], any_two, true), study != NULL ? ":" : ".");
        if (study != NULL) {
            print_differences(request, study, widest);
        }
    }
    privacy_warnings_print(
        &(struct privacy_terms){.epsilon = request->epsilon, .distance = request->distance});
}

static void print_table(const struct tremolo_plan_request *request,
                        const struct tremolo_plan_answer *answer)
{
    const struct tremolo_plan_result *r = &answer->result;
    (void)printf("\n                              private   without privacy     factor\n");
    (void)printf("standard error          %13.4g %17.4g %10.3g\n", r->standard_error,
                 r->standard_error_public, r->standard_error / r->standard_error_public);
    if (!is_ballot(request)) {
        (void)printf("prediction error        %13.4g %17.4g %10.3g\n", r->prediction_error,
                     r->prediction_minimax, r->prediction_error / r->prediction_minimax);
        (void)printf("estimation error        %13.4g %17.4g %10.3g\n", r->estimation_error,
                     r->estimation_minimax, r->estimation_error / r->estimation_minimax);
    }
    (void)printf("R^2 of the prediction   %13.3f %17.3f\n", r->r2_auto, request->guess.r2);
    (void)printf("%g%% interval           +- %10.4g\n", 100.0 * request->guess.level,
                 r->half_width);
    (void)printf("noise ratio             %13.3g   (", r->noise_ratio);
    (void)printf(answer->verdict.identified ? "up to %g coefficients are well identified)\n"
                                            : "above %g: coefficients are weakly identified, read "
                                              "score intervals)\n",
                 answer->verdict.ratio_max);
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

/* Two digits, upwards: a guess is no better than that. */
static double round_up(double devices)
{
    double unit = pow(10, fmax(floor(log10(devices)) - 1, 0));
    return ceil(devices / unit) * unit;
}

/* What each choice costs and buys. */
static void print_levers(const struct tremolo_plan_answer *answer, double devices)
{
    char heading[48];
    int width = snprintf(heading, sizeof heading, "R^2 with %.0f", devices);
    width = width < 18 ? 18 : width;
    (void)printf("\n%-34s %16s %*s %15s\n", "change one thing", "devices needed", width, heading,
                 "attacker right");
    for (size_t i = 0; i < answer->lever_count; i++) {
        const struct tremolo_plan_lever *lever = &answer->levers[i];
        char name[80];
        char needed[32] = "no number";
        char r2[32] = "-";
        char right[TREMOLO_PERCENT_BYTES];
        plan_lever_name(name, sizeof name, lever);
        if (lever->devices > 0.0) {
            (void)snprintf(needed, sizeof needed, "%.0f", round_up(lever->devices));
        }
        if (isfinite(lever->r2)) {
            (void)snprintf(r2, sizeof r2, "%.3f", lever->r2);
        }
        (void)printf("%-34s %16s %*s %15s\n", name, needed, width, r2,
                     tremolo_percent_text(right, lever->attack, true));
    }
    (void)printf(
        "Devices needed tell coefficients of the guessed size from zero in four studies of "
        "five.\n");
    (void)printf("The attacker must tell any two people apart at even odds; 50%% is a coin.\n");
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
static void print_own_units(const struct tremolo_study_file *study,
                            const struct tremolo_plan_request *request, double half_width)
{
    const struct tremolo_study_feature *response = tremolo_study_file_response(study);
    size_t d = tremolo_study_file_dimension(study);
    double range = response->high - response->low;
    double guessed = request->guess.feature_variance;
    (void)printf("\n%g%% intervals in the study's own units: %s%s%s per unit of\n",
                 100.0 * request->guess.level, response->name,
                 response->unit[0] != '\0' ? ", " : "", response->unit);
    int widest = 24;
    for (size_t i = 0; i < d && i < ROWS_MAX; i++) {
        int width = coefficients_name_width(tremolo_study_file_coordinate(study, i)->name);
        widest = width > widest ? width : widest;
    }
    for (size_t i = 0; i < d && i < ROWS_MAX; i++) {
        const struct tremolo_study_coordinate *row = tremolo_study_file_coordinate(study, i);
        double wider = fmax(guessed / tremolo_release_variance(study, i), 1.0);
        double width = half_width * range / (row->high - row->low) * wider;
        (void)printf("  ");
        coefficients_print_name(row->name, widest);
        (void)printf(" +- %.4g\n", width);
    }
    if (d > ROWS_MAX) {
        (void)printf("  and %zu more\n", d - ROWS_MAX);
    }
    if (guessed > tremolo_release_least_variance(study)) {
        coefficients_paragraph("Answers that few give have wider intervals, at least as said here; "
                               "devices needed are for the widest.");
    }
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
                          const struct tremolo_plan_answer *answer)
{
    const struct tremolo_plan_request *request = &options->request;
    const struct tremolo_plan_verdict *verdict = &answer->verdict;
    char size[400];
    double devices = request->guess.devices;
    (void)putchar('\n');
    say_size(size, sizeof size, options->study, verdict->told ? verdict->least : verdict->guessed);
    if (verdict->told) {
        char each[64] = "the coefficient";
        if (request->guess.dimension > 1) { /* of all at once it would be fewer */
            (void)snprintf(each, sizeof each, "each of the %zu coefficients",
                           request->guess.dimension);
        }
        coefficients_paragraph(
            "Verdict: with %.0f devices %s will be told from zero, in four studies of "
            "five, if it is at least %s.",
            devices, each, size);
    } else if (verdict->devices > devices) {
        coefficients_paragraph(
            "Verdict: with %.0f devices not all coefficients will be told from zero in "
            "four studies of five; about %.0f devices are needed for coefficients of "
            "the guessed size, %s.",
            devices, round_up(verdict->devices), size);
    } else {
        coefficients_paragraph(
            "Verdict: with %.0f devices no coefficient will be told from zero, and no "
            "number of devices that could be had would change that.",
            devices);
    }
    if (!verdict->identified) {
        coefficients_paragraph(
            "The noise ratio will be about %.2g, and intervals hold up to %g: above that "
            "read score sets in their place, and coefficients may stay hidden. About %.0f devices "
            "are needed for intervals to hold, which is another number than that for coefficients "
            "to be told from zero.",
            answer->result.noise_ratio, verdict->ratio_max, round_up(verdict->devices_identified));
    }
    if (verdict->liars < devices) {
        coefficients_paragraph(
            "Liars: about %.0f of them who work together and stay within honest noise "
            "turn the sign of a coefficient of the guessed size.",
            verdict->liars);
    }
}

/* The last sentence: what to do. */
static void print_advice(const struct tremolo_plan_answer *answer)
{
    const struct tremolo_plan_verdict *verdict = &answer->verdict;
    const struct tremolo_plan_lever *own = &answer->levers[0];
    const struct tremolo_plan_lever *lever = &answer->levers[verdict->instead];
    char change[160] = "";
    char name[80];
    plan_lever_name(name, sizeof name, lever);
    if (verdict->instead > 0) {
        (void)snprintf(change, sizeof change, "%s, with which about %.0f are enough", name,
                       round_up(lever->devices));
    }
    bool same = lever->kind == TREMOLO_LEVER_RELEASE && own->request.distance == 0.0;
    if (verdict->told && verdict->identified) {
        coefficients_paragraph("What to do: go ahead.");
    } else if (verdict->told) {
        coefficients_paragraph(
            "What to do: bring about %.0f devices, with which intervals hold, or take a "
            "larger epsilon or fewer features; go ahead as it is if predictions are all "
            "you want, of which R^2 %.2f is expected.",
            round_up(verdict->devices_identified), own->r2);
    } else if (same) {
        coefficients_paragraph("What to do: take %s, at the same guarantee.", change);
    } else if (own->r2 > 0.5 * own->request.guess.r2) {
        coefficients_paragraph(
            "What to do: go ahead if predictions are all you want, of which R^2 %.2f is "
            "expected; otherwise bring more devices%s%s.",
            own->r2, verdict->instead > 0 ? ", or take " : "", change);
    } else if (verdict->instead > 0) {
        coefficients_paragraph("What to do: %stake %s.",
                               verdict->devices > 0 ? "bring more devices, or " : "", change);
    } else {
        coefficients_paragraph("What to do: ask another question.");
    }
}

void plan_print_text(const struct plan_options *options, const struct tremolo_plan_answer *answer)
{
    const struct tremolo_plan_request *request = &options->request;
    print_privacy(options, answer);
    print_warnings(request, options->study);
    print_table(request, answer);
    if (options->study != NULL && request->response_private && !is_ballot(request)) {
        print_mean(options->study, answer->noise_sd / sqrt(request->guess.devices));
    }
    if (options->study != NULL) {
        print_own_units(options->study, request, answer->result.half_width);
    }
    print_levers(answer, request->guess.devices);
    if (options->theory) {
        print_alternatives(request, answer);
        (void)printf("\nthe paper's %ld rounds, noise sd %.4g each (scaled units)\n",
                     request->rounds,
                     answer->convergence.input.mechanism.sigma / (1.0 - request->alpha));
        json_t *convergence = estimate_convergence(&answer->convergence);
        convergence_print(convergence, "the guess");
        json_decref(convergence);
    }
    print_verdict(options, answer);
    print_advice(answer);
}
