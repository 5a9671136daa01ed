/* plan.c -- `tremolo plan`: what a study will say before anyone reports. */
#include "cli.h"
#include "input.h"
#include "plan.h"
#include "suggest.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: tremolo plan --dimension D --devices K --epsilon E [OPTIONS]\n"
    "       tremolo plan --study FILE [--devices K] [OPTIONS]\n\n"
    "  --study FILE            all that the study fixes; other options override it\n"
    "  --delta P               default 1e-5\n"
    "  --neighbours any|distance=R   default distance=1\n"
    "  --radius R              clip radius for 'any'; default sqrt(D)\n"
    "  --feature-sd S          guess, scaled features; default 1, or 0.5 for 'any'\n"
    "  --correlation C         guess, between every two features; default 0\n"
    "  --r2 R                  guess, without privacy; default 0.5\n"
    "  --response-sd S         guess, scaled response; default 1\n"
    "  --level L               of the interval; default 0.95\n"
    "  --half-width W          devices needed for intervals of +- W\n"
    "  --power P --effect B    devices needed to detect a coefficient B with power P\n"
    "  --calibration exact|zcdp|paper   default exact\n"
    "  --alpha A --lambda L --omega W --vectors M   the modulation; default none\n"
    "  --rounds T              rounds to compare with one release; default 10\n"
    "  --figure FILE           .svg, .png or .pdf by gnuplot (--force replaces it)\n"
    "  --theory                the paper's rounds as well, with their bounds\n"
    "  --json                  numbers only\n";

/* ---------------------------------------------------------------- options */

enum option_code {
    OPTION_NEIGHBOURS = 256,
    OPTION_CALIBRATION,
    OPTION_STUDY,
    OPTION_FIGURE,
    OPTION_FORCE,
    OPTION_THEORY,
    OPTION_JSON,
    OPTION_HELP,
    OPTION_NUMBER, /* this and the following index `numbers` */
};

/* A plain number: where it goes and what it may be. */
struct number {
    const char *name;
    double low; /* exclusive unless `closed` */
    double high;
    bool closed;
};

static const struct number numbers[] = {
    {"dimension", 1.0, TREMOLO_MAX_FEATURES, true},
    {"devices", 2.0, 1e15, true},
    {"epsilon", 0.0, 500.0, false},
    {"delta", 0.0, 1.0, false},
    {"radius", 0.0, 1e6, false},
    {"feature-sd", 0.0, 1e6, false},
    {"correlation", -1.0, 1.0, false},
    {"r2", 0.0, 0.999999, true},
    {"response-sd", 0.0, 1e12, false},
    {"level", 0.0, 1.0, false},
    {"half-width", 0.0, 1e12, false},
    {"power", 0.0, 1.0, false},
    {"effect", -1e12, 1e12, true},
    {"alpha", 0.0, 0.999999, true},
    {"lambda", 0.0, 1e6, true},
    {"omega", 0.0, 1e6, true},
    {"vectors", 0.0, TREMOLO_MAX_FEATURES, true},
    {"rounds", 1.0, 1e6, true},
};

enum number_index {
    DIMENSION,
    DEVICES,
    EPSILON,
    DELTA,
    RADIUS,
    FEATURE_SD,
    CORRELATION,
    R2,
    RESPONSE_SD,
    LEVEL,
    HALF_WIDTH,
    POWER,
    EFFECT,
    ALPHA,
    LAMBDA,
    OMEGA,
    VECTORS,
    ROUNDS,
    NUMBERS
};

static void fill_options(struct option *options)
{
    static const struct option named[] = {
        {"neighbours", required_argument, NULL, OPTION_NEIGHBOURS},
        {"calibration", required_argument, NULL, OPTION_CALIBRATION},
        {"study", required_argument, NULL, OPTION_STUDY},
        {"figure", required_argument, NULL, OPTION_FIGURE},
        {"force", no_argument, NULL, OPTION_FORCE},
        {"theory", no_argument, NULL, OPTION_THEORY},
        {"json", no_argument, NULL, OPTION_JSON},
        {"help", no_argument, NULL, OPTION_HELP},
    };
    size_t count = sizeof named / sizeof named[0];
    memcpy(options, named, sizeof named);
    for (int i = 0; i < NUMBERS; i++) {
        options[count + (size_t)i] =
            (struct option){numbers[i].name, required_argument, NULL, OPTION_NUMBER + i};
    }
    options[count + NUMBERS] = (struct option){0};
}

static int read_number(double *values, int index, const char *text)
{
    const struct number *number = &numbers[index];
    double value = 0.0;
    bool fits = cli_parse_double(&value, text) &&
                (number->closed ? value >= number->low && value <= number->high
                                : value > number->low && value < number->high);
    bool whole = index == DIMENSION || index == VECTORS || index == ROUNDS;
    if (!fits || (whole && value != floor(value))) {
        return cli_fail(CLI_USAGE, "plan", "--%s must be %s %s %g and %s %g, not '%s'",
                        number->name, whole ? "a whole number" : "a number",
                        number->closed ? "from" : "above", number->low,
                        number->closed ? "at most" : "below", number->high, text);
    }
    values[index] = value;
    return CLI_DONE;
}

static int read_neighbours(struct tremolo_plan_request *request, const char *text)
{
    double distance = 0.0;
    if (strcmp(text, "any") == 0) {
        request->distance = 0.0;
        return CLI_DONE;
    }
    if (strncmp(text, "distance=", 9) != 0 || !cli_parse_double(&distance, text + 9) ||
        !(distance > 0.0)) {
        return cli_fail(CLI_USAGE, "plan", "--neighbours is 'any' or 'distance=R' with R > 0");
    }
    request->distance = distance;
    return CLI_DONE;
}

static int read_calibration(struct tremolo_plan_request *request, const char *text)
{
    for (int i = 0; tremolo_calibration_names[i] != NULL; i++) {
        if (strcmp(text, tremolo_calibration_names[i]) == 0) {
            request->calibration = (enum tremolo_calibration)i;
            return CLI_DONE;
        }
    }
    return cli_fail(CLI_USAGE, "plan", "--calibration is exact, zcdp or paper");
}

static int read_one(struct plan_options *options, double *values, int code)
{
    switch (code) {
    case OPTION_NEIGHBOURS: return read_neighbours(&options->request, optarg);
    case OPTION_CALIBRATION: return read_calibration(&options->request, optarg);
    case OPTION_STUDY: return CLI_DONE; /* taken before all others */
    case OPTION_FIGURE: options->figure = optarg; return CLI_DONE;
    case OPTION_FORCE: options->force = true; return CLI_DONE;
    case OPTION_THEORY: options->theory = true; return CLI_DONE;
    case OPTION_JSON: options->json = true; return CLI_DONE;
    default: break;
    }
    if (code >= OPTION_NUMBER && code < OPTION_NUMBER + NUMBERS) {
        return read_number(values, code - OPTION_NUMBER, optarg);
    }
    return CLI_USAGE; /* not reached: '?' was answered before */
}

static void settle(struct tremolo_plan_request *request, const double *values)
{
    double feature_sd = values[FEATURE_SD];
    if (!(feature_sd > 0.0)) {
        feature_sd = request->distance > 0.0 ? 1.0 : 0.5;
    }
    request->guess = (struct tremolo_plan_input){
        .dimension = (size_t)values[DIMENSION],
        .devices = values[DEVICES],
        .vectors = (size_t)values[VECTORS],
        .feature_variance = feature_sd * feature_sd,
        .correlation = values[CORRELATION],
        .r2 = values[R2],
        .response_variance = values[RESPONSE_SD] * values[RESPONSE_SD],
        .level = values[LEVEL],
    };
    request->epsilon = values[EPSILON];
    request->delta = values[DELTA];
    request->radius = values[RADIUS];
    request->alpha = values[ALPHA];
    request->lambda = values[LAMBDA];
    request->omega = values[OMEGA];
    request->rounds = (long)values[ROUNDS];
    request->half_width = values[HALF_WIDTH];
    request->power = values[POWER];
    request->effect = values[EFFECT];
}

/* What each number alone cannot show. */
static int check_together(const struct tremolo_plan_request *request, const double *values)
{
    double d = values[DIMENSION];
    if ((values[POWER] > 0.0) != (values[EFFECT] != 0.0)) {
        return cli_fail(CLI_USAGE, "plan", "--power and an --effect other than 0 go together");
    }
    if (values[POWER] > 0.0 && values[POWER] <= 0.5 * (1.0 - values[LEVEL])) {
        return cli_fail(CLI_USAGE, "plan",
                        "--power %g needs no devices: a test at level %g has as much by chance",
                        values[POWER], values[LEVEL]);
    }
    if (d > 1.0 && !(values[CORRELATION] > -1.0 / (d - 1.0))) {
        return cli_fail(CLI_USAGE, "plan",
                        "--correlation must be above %.4g: %g features cannot all differ more",
                        -1.0 / (d - 1.0), d);
    }
    if (values[VECTORS] > d) {
        return cli_fail(CLI_USAGE, "plan", "--vectors must not exceed --dimension");
    }
    if (values[RADIUS] > 0.0 && request->distance > 0.0) {
        return cli_fail(CLI_USAGE, "plan", "--radius is for --neighbours any");
    }
    return CLI_DONE;
}

/* Values that a study fixes; a study without a limit on devices leaves that. */
static void fill_from_study(struct plan_options *options, double *values)
{
    struct tremolo_plan_request *request = &options->request;
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(options->study);
    values[DIMENSION] = (double)tremolo_study_file_dimension(options->study);
    values[DEVICES] = terms->devices < TREMOLO_STUDY_MAX_DEVICES ? (double)terms->devices : 0.0;
    values[EPSILON] = terms->epsilon;
    values[DELTA] = terms->delta;
    values[RADIUS] = terms->distance > 0.0 ? 0.0 : terms->clip;
    values[RESPONSE_SD] = 0.5; /* of a response that runs from -1 to 1 */
    values[FEATURE_SD] = 0.5;
    values[ALPHA] = terms->alpha;
    values[LAMBDA] = terms->lambda;
    values[OMEGA] = terms->omega;
    values[VECTORS] = terms->vectors;
    values[ROUNDS] = terms->rounds > 1 ? terms->rounds : values[ROUNDS];
    request->samples = (long)terms->samples;
    request->distance = terms->distance;
    request->response_private = terms->response_private;
    request->calibration = terms->calibration;
}

/* The study first, wherever it stands, so that every other option overrides it. */
static int take_study(struct plan_options *options, double *values, const struct option *names,
                      int argc, char **argv)
{
    const char *name = NULL;
    int code = 0;
    opterr = 0;
    optind = 1;
    while ((code = getopt_long(argc, argv, "", names, NULL)) != -1) {
        name = code == OPTION_STUDY ? optarg : name;
    }
    if (name == NULL) {
        return CLI_DONE;
    }
    int result = cli_read_study(&options->study, "plan", name);
    if (result == CLI_DONE) {
        fill_from_study(options, values);
    }
    return result;
}

/* CLI_DONE with *wants_help when help was asked for. */
static int read_request(struct plan_options *options, bool *wants_help, int argc, char **argv)
{
    struct option names[NUMBERS + 10];
    double values[NUMBERS] = {
        [DELTA] = 1e-5, [R2] = 0.5, [RESPONSE_SD] = 1.0, [LEVEL] = 0.95, [ROUNDS] = 10};
    int code = 0;
    *options = (struct plan_options){.request = {.distance = 1.0, .samples = 1}};
    fill_options(names);
    int result = take_study(options, values, names, argc, argv);
    if (result != CLI_DONE) {
        return result;
    }
    optind = 1;
    while ((code = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (code == OPTION_HELP) {
            *wants_help = true;
            return CLI_DONE;
        }
        if (code == '?') {
            return cli_bad_option("plan", argv, names);
        }
        result = read_one(options, values, code);
        if (result != CLI_DONE) {
            return result;
        }
    }
    if (optind < argc) {
        return cli_fail(CLI_USAGE, "plan", "unexpected argument '%s'", argv[optind]);
    }
    if (options->study != NULL && !(values[DEVICES] > 0.0)) {
        return cli_fail(CLI_USAGE, "plan", "the study limits no devices: say how many, --devices");
    }
    if (!(values[DIMENSION] > 0.0) || !(values[DEVICES] > 0.0) || !(values[EPSILON] > 0.0)) {
        return cli_fail(CLI_USAGE, "plan", "--dimension, --devices and --epsilon are needed");
    }
    int sensible = check_together(&options->request, values);
    if (sensible == CLI_DONE) {
        settle(&options->request, values);
    }
    return sensible;
}

/* ---------------------------------------------------------------- results */

static int answer_request(const struct plan_options *options)
{
    struct tremolo_plan_answer answer;
    enum tremolo_status status = tremolo_plan_study(&answer, &options->request);
    if (status == TREMOLO_UNREACHABLE) {
        return cli_fail(CLI_REFUSED, "plan",
                        "no number of devices that could be had is enough for that width or power "
                        "at this noise");
    }
    if (status != TREMOLO_OK) {
        return cli_fail(cli_exit_of(status), "plan", "%s", tremolo_status_sentence(status));
    }
    int result = options->figure != NULL ? plan_figure(options) : CLI_DONE;
    if (result != CLI_DONE) {
        return result;
    }
    if (options->json) {
        return plan_print_json(options, &answer);
    }
    plan_print_text(options, &answer);
    return CLI_DONE;
}

int cli_plan(int argc, char **argv)
{
    struct plan_options options;
    bool wants_help = false;
    int result = read_request(&options, &wants_help, argc, argv);
    if (result == CLI_DONE && wants_help) {
        (void)fputs(usage, stdout);
    } else if (result == CLI_DONE) {
        result = answer_request(&options);
    }
    tremolo_study_file_free(options.study);
    return result;
}
