/* plan.c -- `tremolo plan`: what a study will say before anyone reports. */
#include "cli.h"
#include "files.h"
#include "options.h"
#include "plan.h"
#include "planning_json.h"
#include "regression.h"

/* ---------------------------------------------------------------- options */

/* Values that a study fixes; a study without a limit on devices leaves that. */
static const char *take_study(void *place, const char *path)
{
    struct plan_options *options = place;
    if (cli_read_study(&options->study, "plan", path) != CLI_DONE) {
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
                .help = "whom the guarantee keeps apart: any two people, or those whose samples "
                        "are at most R half ranges apart"),
    OPTION_RULE("protect", "P", CHOICE, TO(request.response_private), .words = "features all",
                .otherwise = "all",
                .help = "what the guarantee covers: all of a sample, or its features, with the "
                        "response sent in the clear"),
    OPTION_RULE("release", "R", CHOICE, TO(request.release), .words = "sample ballot",
                .help = "what a device sends: a sample with noise, as the paper has it, or a "
                        "ballot, one random answer about the sample. A ballot for any two people "
                        "unless given"),
    OPTION_RULE("radius", "R", NUMBER, TO(request.radius), OPTION_BETWEEN(0, 1e6),
                .help = "clip radius for any two people; the whole box unless given"),
    OPTION_RULE("calibration", "C", CHOICE, TO(request.calibration), .words = "exact zcdp paper",
                .otherwise = "exact", .help = "how noise follows from the budget"),
    {.help = "What to look for:"},
    OPTION_RULE("level", "L", NUMBER, TO(request.guess.level), OPTION_BETWEEN(0, 1),
                .otherwise = "0.95", .help = "confidence of the intervals"),
    OPTION_RULE("half-width", "W", NUMBER, TO(request.half_width), OPTION_BETWEEN(0, 1e12),
                .help = "say how many devices intervals of +- W need"),
    OPTION_RULE("power", "P", NUMBER, TO(request.power), OPTION_BETWEEN(0, 1), .needs = "effect",
                .help = "say how many devices it takes to detect --effect with power P"),
    OPTION_RULE("effect", "B", NUMBER, TO(request.effect), OPTION_FROM(-1e12, 1e12),
                .needs = "power", .help = "a coefficient other than 0, scaled"),
    {.help = "Guesses, in scaled units:"},
    OPTION_RULE("feature-sd", "S", NUMBER, TO(feature_sd), OPTION_BETWEEN(0, 1e6),
                .otherwise = "0.62", .help = "standard deviation of features, in half ranges"),
    OPTION_RULE("correlation", "C", NUMBER, TO(request.guess.correlation), OPTION_BETWEEN(-1, 1),
                .otherwise = "0", .help = "between every two features"),
    OPTION_RULE("r2", "R", NUMBER, TO(request.guess.r2), OPTION_FROM(0, 0.999999),
                .otherwise = "0.5", .help = "R^2 without privacy"),
    OPTION_RULE("response-sd", "S", NUMBER, TO(response_sd), OPTION_BETWEEN(0, 1e12),
                .otherwise = "0.62", .help = "standard deviation of the response, in half ranges"),
    {.help = "The paper's mechanism, which shrinks a sample by 1 - alpha and adds a cosine along "
             "each of some vectors:"},
    OPTION_RULE("alpha", "A", NUMBER, TO(request.alpha), OPTION_FROM(0, 0.999999), .otherwise = "0",
                .help = "by how much the sample is shrunk"),
    OPTION_RULE("lambda", "L", NUMBER, TO(request.lambda), OPTION_FROM(0, 1e6), .otherwise = "0",
                .help = "the amplitude"),
    OPTION_RULE("omega", "W", NUMBER, TO(request.omega), OPTION_FROM(0, 1e6), .otherwise = "0",
                .help = "the frequency"),
    OPTION_RULE("vectors", "M", COUNT, TO(request.guess.vectors),
                OPTION_FROM(0, TREMOLO_MAX_FEATURES), .otherwise = "0", .help = "how many"),
    OPTION_RULE("rounds", "T", COUNT, TO(request.rounds), OPTION_FROM(1, 1e6), .otherwise = "10",
                .help = "rounds to compare with one release"),
    OPTION_RULE("theory", NULL, FLAG, TO(theory),
                .help = "the paper's rounds as well, with their bounds"),
    {.help = "Output:"},
    OPTION_RULE("figure", "FILE", TEXT, TO(figure),
                .help = "draw standard error against devices and R^2 against epsilon with gnuplot, "
                        "as .svg, .png "
                        "or .pdf"),
    OPTION_RULE("force", NULL, FLAG, TO(force), .help = "replace a figure that is there"),
    OPTION_RULE("json", NULL, FLAG, TO(json), .help = "one JSON object, numbers only"),
};

/* A distance given beside a study of ballots asks for its noisy samples. */
static void set_release(struct plan_options *options, const struct options_given *given)
{
    struct tremolo_plan_request *request = &options->request;
    if (!options_has(given, "release") &&
        (options->study == NULL || options_has(given, "neighbours"))) {
        request->release =
            request->distance > 0.0 ? TREMOLO_RELEASE_SAMPLE : TREMOLO_RELEASE_BALLOT;
    }
}

/* What the options are together: guesses, and what each alone cannot show. */
static int settle(struct plan_options *options, const struct options_given *given)
{
    struct tremolo_plan_request *request = &options->request;
    char error[TREMOLO_PLAN_ERROR_BYTES];
    request->guess.devices = (double)options->devices;
    request->guess.feature_variance = options->feature_sd * options->feature_sd;
    request->guess.response_variance = options->response_sd * options->response_sd;
    if (options->study != NULL && options->devices == 0) {
        return cli_fail(CLI_USAGE, "plan", "the study limits no devices: say how many, --devices");
    }
    uint32_t bits = options_bits(given, tremolo_plan_option_names, TREMOLO_PLAN_OPTIONS);
    return tremolo_plan_settle(request, bits, "--", error)
               ? CLI_DONE
               : cli_fail(CLI_USAGE, "plan", "%s", error);
}

/* ---------------------------------------------------------------- results */

static int answer_request(const struct plan_options *options)
{
    struct tremolo_plan_answer answer;
    enum tremolo_status status = tremolo_plan_study(&answer, &options->request);
    if (status != TREMOLO_OK) {
        return cli_fail(cli_exit_of(status), "plan", "%s", tremolo_plan_sentence(status));
    }
    int result = options->figure != NULL ? plan_figure(options) : CLI_DONE;
    if (result != CLI_DONE) {
        return result;
    }
    if (options->json) {
        return cli_print_json("plan", plan_document(&options->request, &answer), true);
    }
    plan_print_text(options, &answer);
    return CLI_DONE;
}

static int run(int argc, char **argv)
{
    struct plan_options options = {.study = NULL};
    struct options_given given;
    int code = CLI_DONE;
    tremolo_plan_begin(&options.request);
    if (options_parse(&given, &options, &code, &cli_plan, argc, argv)) {
        set_release(&options, &given);
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
