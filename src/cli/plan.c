/* plan.c -- `tremolo plan`: what a study will find, before anyone reports.
 *
 * The numbers are lab/planning.c's. This file takes the options, names the option that a refusal
 * is about, and prints the answer: the guarantee, what to expect, what each choice costs, a
 * verdict and what to do. Options are few on purpose: what belongs to the paper's mechanism
 * comes from a study file. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "explain.h"
#include "files.h"
#include "options.h"
#include "privacy_warnings.h"
#include "study_internal.h"
#include "text.h"
#include "tremolo_planning.h"
#include "release.h"
#include "regression.h"

static const char command[] = "plan";

struct plan_options {
    struct tremolo_plan_request request;
    struct tremolo_study_file *study; /* NULL without one */
    uint64_t devices;                 /* 0: not given */
    double sd;                        /* of features and response, guessed, in half ranges */
    bool json;
};

/* ---------------------------------------------------------------- options */

/* Take the values that a study fixes; a study that cannot be read has had its message. A study
 * without a limit on devices leaves their number. */
static const char *take_study(void *place, const char *path)
{
    struct plan_options *options = place;
    if (cli_read_study(&options->study, command, path) != CLI_DONE) {
        return "";
    }
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(options->study);
    options->devices = terms->devices < TREMOLO_STUDY_MAX_DEVICES ? terms->devices : 0;
    tremolo_plan_take_study(&options->request, options->study);
    return NULL;
}

#define TO(member) OPTION_TO(struct plan_options, member)

static const struct option_rule rules[] = {
    OPTION_RULE("study", "FILE", TEXT, .take = take_study, .first = true,
                .help = "take all that a study file fixes; other options override it"),
    OPTION_RULE("dimension", "D", COUNT, TO(request.guess.dimension),
                OPTION_FROM(1, TREMOLO_MAX_FEATURES), .help = "number of features"),
    OPTION_RULE("devices", "K", COUNT, TO(devices), OPTION_FROM(2, 1e15),
                .help = "how many will report"),
    {.help = "The guarantee:"},
    OPTION_RULE("epsilon", "E", NUMBER, TO(request.epsilon), OPTION_BETWEEN(0, 500),
                .help = "privacy budget of a device, all rounds together"),
    OPTION_RULE("delta", "P", NUMBER, TO(request.delta), OPTION_BETWEEN(0, 1), .otherwise = "1e-5",
                .help = "at which epsilon holds for noisy samples; it is 0 for ballots"),
    OPTION_RULE("neighbours", "any|distance=R", TEXT, TO(request.distance),
                .take = options_take_neighbours, .otherwise = "any",
                .help =
                    "whom the guarantee protects from being told apart: any two people, or those "
                    "with samples at most R half ranges apart"),
    OPTION_RULE("protect", "P", CHOICE, TO(request.response_private), .words = "features all",
                .otherwise = "all",
                .help = "what the guarantee covers: all of a sample, or its features, with the "
                        "response sent in the clear"),
    OPTION_RULE("release", "R", CHOICE, TO(request.release), .words = "sample ballot",
                .help = "what a device sends: a sample with noise, as in the paper, or a "
                        "ballot, one random answer about the sample. A ballot for any two people "
                        "unless given"),
    {.help = "What to look for:"},
    OPTION_RULE("half-width", "W", NUMBER, TO(request.half_width), OPTION_BETWEEN(0, 1e12),
                .help = "say how many devices intervals of +- W need"),
    OPTION_RULE("effect", "B", NUMBER, TO(request.effect), OPTION_FROM(-1e12, 1e12),
                .help = "say how many devices it takes to detect a scaled coefficient B with power "
                        "0.8"),
    {.help = "Guesses, in scaled units:"},
    OPTION_RULE("sd", "S", NUMBER, TO(sd), OPTION_BETWEEN(0, 1e6), .otherwise = "0.62",
                .help = "standard deviation of features and response, in half ranges"),
    OPTION_RULE("correlation", "C", NUMBER, TO(request.guess.correlation), OPTION_BETWEEN(-1, 1),
                .otherwise = "0", .help = "between every two features"),
    OPTION_RULE("r2", "R", NUMBER, TO(request.guess.r2), OPTION_FROM(0, 0.999999),
                .otherwise = "0.5", .help = "R^2 without privacy"),
    {.help = "Output:"},
    OPTION_RULE("json", NULL, FLAG, TO(json), .help = "one JSON object, numbers only"),
};

/* What the options are together. CLI_DONE, or CLI_USAGE after a message that names the option.
 * Without --release the neighbours decide: ballots for any two people, noisy samples for a
 * distance; a study keeps its own release unless --neighbours is given. A distance given with a
 * study of ballots asks for its noisy samples. */
static int settle(struct plan_options *options, const struct options_given *given)
{
    struct tremolo_plan_request *request = &options->request;
    struct tremolo_refusal refusal;
    request->guess.devices = (double)options->devices;
    request->guess.feature_variance = options->sd * options->sd;
    request->guess.response_variance = options->sd * options->sd;
    if (!options_has(given, "release") &&
        (options->study == NULL || options_has(given, "neighbours"))) {
        request->release =
            request->distance > 0.0 ? TREMOLO_RELEASE_SAMPLE : TREMOLO_RELEASE_BALLOT;
    }
    if (options->study != NULL && options->devices == 0) {
        return cli_fail(CLI_USAGE, command,
                        "the study does not limit its devices; say how many there are with "
                        "--devices");
    }
    return tremolo_plan_settle(request, &refusal) ? CLI_DONE : options_refuse(command, &refusal);
}

/* ---------------------------------------------------------------- the guarantee */

/* The other release is a noisy sample. */
static bool is_ballot(const struct tremolo_plan_request *request)
{
    return request->release == TREMOLO_RELEASE_BALLOT;
}

/* What is promised to whom, and what was guessed: the two things that a reader must not mistake.
 * Epsilon and delta are rounded up and the distance down, so that no more is promised than
 * holds. */
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
                     0.5 * answer->sensitivity, clear);
    }
    if (!is_ballot(request)) {
        (void)printf("noise: sd %.4g per feature; the features' own sd is guessed as %.3g\n",
                     answer->noise_sd, sqrt(request->guess.feature_variance));
    } else {
        char alike[64] = "that are not correlated";
        if (request->guess.correlation != 0.0) {
            (void)snprintf(alike, sizeof alike, "with correlation %g", request->guess.correlation);
        }
        (void)printf("guessed: R^2 %g without privacy, features %s, with sd %.3g (--r2, "
                     "--correlation, --sd)\n",
                     request->guess.r2, alike, sqrt(request->guess.feature_variance));
    }
}

/* What an attacker achieves at other distances, in the study's own units. It is an addition to the
 * sentence before it, so nothing is printed where it cannot be computed. */
static void print_differences(const struct tremolo_plan_request *request,
                              const struct tremolo_study_file *study,
                              const struct tremolo_plan_attacks *attacks)
{
    struct tremolo_extent extents[TREMOLO_MAX_DIMENSION + 1];
    struct tremolo_difference ways[TREMOLO_EXPLAIN_WAYS] = {{.distance = 0}};
    struct tremolo_explanation explanation;
    const struct tremolo_promise promise = {
        .neighbours = TREMOLO_NEIGHBOURS_DISTANCE,
        .distance = request->distance,
        .diameter = attacks->widest,
        .dimension = (unsigned)request->guess.dimension,
        .mu = attacks->mu,
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
        text_differences(stdout, json_object_get(words, "differences"));
        json_decref(words);
    }
}

/* A distance protects near pairs only, and a large epsilon protects hardly anyone. */
static void print_warnings(const struct plan_options *options,
                           const struct tremolo_plan_attacks *attacks)
{
    const struct tremolo_plan_request *request = &options->request;
    char right[4][TEXT_RIGHT_BYTES];
    if (request->distance > 0.0) {
        text_paragraph(
            stdout,
            "An attacker who tells two people apart, at even odds, %s of the time "
            "when they differ by %g, %s when they are at the two ends of one feature's range, "
            "%s for a typical pair (%.2g apart) and %s for any two%s",
            text_right(right[0], attacks->promised, true), request->distance,
            tremolo_percent_text(right[1], attacks->ends, true),
            tremolo_percent_text(right[2], attacks->typical, true), attacks->typical_distance,
            tremolo_percent_text(right[3], attacks->any_two, true),
            options->study != NULL ? ":" : ".");
    }
    if (request->distance > 0.0 && options->study != NULL) {
        print_differences(request, options->study, attacks);
    }
    privacy_warnings_print(
        &(struct privacy_terms){.epsilon = request->epsilon, .distance = request->distance});
}

/* ---------------------------------------------------------------- numbers */

/* With noise, without, and how many times worse. */
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
        (void)printf("devices to detect %g with power 0.8: %.0f\n", request->effect,
                     answer->devices_for_power);
    }
}

/* Round up to two digits: a guess is no better than that. Up, so that the number is enough. */
static double round_up(double devices)
{
    double unit = pow(10, fmax(floor(log10(devices)) - 1, 0));
    return ceil(devices / unit) * unit;
}

/* What each choice costs and buys. The first row is the request itself. "no number" means that no
 * number of devices that could be had is enough. */
static void print_levers(const struct tremolo_plan_answer *answer, double devices)
{
    char heading[48];
    int width = snprintf(heading, sizeof heading, "R^2 with %.0f", devices);
    width = width < 18 ? 18 : width;
    (void)printf("\n%-34s %16s %*s %15s\n", "change one thing", "devices needed", width, heading,
                 "attacker right");
    for (size_t i = 0; i < answer->lever_count; i++) {
        const struct tremolo_plan_lever *lever = &answer->levers[i];
        char needed[32] = "no number";
        char r2[32] = "-";
        char right[TREMOLO_PERCENT_BYTES];
        if (lever->devices > 0.0) {
            (void)snprintf(needed, sizeof needed, "%.0f", round_up(lever->devices));
        }
        if (isfinite(lever->r2)) {
            (void)snprintf(r2, sizeof r2, "%.3f", lever->r2);
        }
        (void)printf("%-34s %16s %*s %15s\n", lever->name, needed, width, r2,
                     tremolo_percent_text(right, lever->attack, true));
    }
    (void)printf(
        "With the devices needed, coefficients of the guessed size are significant in four studies "
        "of five.\n");
    (void)printf("The attacker tells any two people apart at even odds; 50%% is chance.\n");
}

/* Features that are listed with a width each; a study may have TREMOLO_MAX_DIMENSION. */
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
        int width = text_width(tremolo_study_file_coordinate(study, i)->name);
        widest = width > widest ? width : widest;
    }
    for (size_t i = 0; i < d && i < ROWS_MAX; i++) {
        const struct tremolo_study_coordinate *row = tremolo_study_file_coordinate(study, i);
        double wider = fmax(guessed / tremolo_release_variance(study, i), 1.0);
        double width = half_width * range / (row->high - row->low) * wider;
        (void)printf("  ");
        text_name(stdout, row->name, widest);
        (void)printf(" +- %.4g\n", width);
    }
    if (d > ROWS_MAX) {
        (void)printf("  and %zu more\n", d - ROWS_MAX);
    }
    if (guessed > tremolo_release_least_variance(study)) {
        text_paragraph(stdout, "Answers that few give have wider intervals, at least as wide as "
                               "listed; devices needed are for the widest.");
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

/* Sizes first, then whether intervals hold, then liars: each is said only where it applies. */
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
        text_paragraph(stdout,
                       "Verdict: with %.0f devices %s will be significant, in four studies "
                       "of five, if it is at "
                       "least %s.",
                       devices, each, size);
    } else if (verdict->devices > devices) {
        text_paragraph(
            stdout,
            "Verdict: with %.0f devices not all coefficients will be significant in four studies "
            "of "
            "five; about %.0f devices are needed for coefficients of the guessed size, %s.",
            devices, round_up(verdict->devices), size);
    } else {
        text_paragraph(stdout,
                       "Verdict: with %.0f devices no coefficient will be significant, and "
                       "no number of devices "
                       "that could be had would change that.",
                       devices);
    }
    if (!verdict->identified) {
        text_paragraph(
            stdout,
            "The noise ratio will be about %.2g, and intervals are exact up to %g: above that read "
            "score sets instead, and noise may hide coefficients.",
            answer->result.noise_ratio, verdict->ratio_max);
    }
    if (!verdict->identified && verdict->devices > 0) {
        text_paragraph(stdout,
                       "You need about %.0f devices to detect effects and about %.0f for "
                       "exact intervals.",
                       round_up(verdict->devices), round_up(verdict->devices_identified));
    }
    if (verdict->liars < devices) {
        text_paragraph(
            stdout,
            "Liars: about %.0f devices that lie together, within honest noise, turn the sign of a "
            "coefficient of the guessed size.",
            verdict->liars);
    }
}

/* The last sentence: what to do. In this order: go ahead, get exact intervals, take the other
 * release at the same guarantee, predict only, change one thing, and at last another
 * question. */
static void print_advice(const struct tremolo_plan_answer *answer)
{
    const struct tremolo_plan_verdict *verdict = &answer->verdict;
    const struct tremolo_plan_lever *own = &answer->levers[0];
    const struct tremolo_plan_lever *lever = &answer->levers[verdict->instead];
    char change[160] = "";
    if (verdict->instead > 0) {
        (void)snprintf(change, sizeof change, "%s, with which about %.0f are enough", lever->name,
                       round_up(lever->devices));
    }
    bool same = lever->kind == TREMOLO_LEVER_RELEASE && own->request.distance == 0.0;
    if (verdict->told && verdict->identified) {
        text_paragraph(stdout, "What to do: go ahead.");
    } else if (verdict->told) {
        text_paragraph(
            stdout,
            "What to do: bring about %.0f devices, with which intervals are exact, or take a "
            "larger "
            "epsilon or fewer features; go ahead as it is if you only want predictions, with an "
            "expected R^2 of %.2f.",
            round_up(verdict->devices_identified), own->r2);
    } else if (same) {
        text_paragraph(stdout, "What to do: take %s, at the same guarantee.", change);
    } else if (own->r2 > 0.5 * own->request.guess.r2) {
        text_paragraph(
            stdout,
            "What to do: go ahead if you only want predictions, with an expected R^2 of %.2f; "
            "otherwise bring more devices%s%s.",
            own->r2, verdict->instead > 0 ? ", or take " : "", change);
    } else if (verdict->instead > 0) {
        text_paragraph(stdout, "What to do: %stake %s.",
                       verdict->devices > 0 ? "bring more devices, or " : "", change);
    } else {
        text_paragraph(stdout, "What to do: ask another question.");
    }
}

/* From the promise to the advice, in the order in which a reader needs them. The study's own
 * units come after the scaled numbers that they follow from. */
static void print_text(const struct plan_options *options, const struct tremolo_plan_answer *answer)
{
    const struct tremolo_plan_request *request = &options->request;
    print_privacy(options, answer);
    print_warnings(options, &answer->attacks);
    print_table(request, answer);
    if (options->study != NULL && request->response_private && !is_ballot(request)) {
        print_mean(options->study, answer->noise_sd / sqrt(request->guess.devices));
    }
    if (options->study != NULL) {
        print_own_units(options->study, request, answer->result.half_width);
    }
    print_levers(answer, request->guess.devices);
    print_verdict(options, answer);
    print_advice(answer);
}

/* ---------------------------------------------------------------- running */

/* Nothing is printed before the answer is complete. The sentences of failures are the library's:
 * they are about a plan, and a status alone would say less. */
static int answer_request(const struct plan_options *options)
{
    struct tremolo_plan_answer answer;
    enum tremolo_status status = tremolo_plan_study(&answer, &options->request);
    if (status != TREMOLO_OK) {
        return cli_fail(cli_exit_of(status), command, "%s", tremolo_plan_sentence(status));
    }
    if (!options->json) {
        print_text(options, &answer);
        return CLI_DONE;
    }
    char *text = tremolo_plan_json(&options->request, &answer);
    int code = text != NULL ? CLI_DONE : cli_fail(CLI_FAILED, command, "out of memory");
    if (text != NULL) {
        (void)puts(text);
    }
    free(text);
    return code;
}

/* A study is freed in any case. */
static int run(int argc, char **argv)
{
    struct plan_options options = {.study = NULL};
    struct options_given given;
    int code = CLI_DONE;
    tremolo_plan_begin(&options.request);
    if (options_parse(&given, &options, &code, &cli_plan, argc, argv)) {
        code = settle(&options, &given);
        code = code == CLI_DONE ? answer_request(&options) : code;
    }
    tremolo_study_file_free(options.study);
    return code;
}

const struct cli_command cli_plan = {
    .name = "plan",
    .summary = "what to expect of a study before anyone reports",
    .usage = "plan --dimension D --devices K --epsilon E [OPTIONS]\n"
             "plan --study FILE [--devices K] [OPTIONS]",
    .about =
        "Says what a study will find, how sure, what each choice costs, and what to do, before "
        "anyone reports.",
    OPTION_TABLE(rules),
    .run = run,
};
