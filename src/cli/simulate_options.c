/* simulate_options.c -- the command line of `tremolo simulate`. */
#include "result.h"
#include "simulate.h"
#include "simulate_study.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "suggest.h"
#include "tremolo_host.h"

static const char command[] = "simulate";

static const char help[] =
    "usage: tremolo simulate DATA.csv --response NAME --epsilon E [OPTIONS]\n"
    "       tremolo simulate DATA.csv --study FILE [OPTIONS]\n"
    "\n"
    "Every row of the file is a device with one sample; each reports once, privately,\n"
    "and the regression is learned from the reports.\n"
    "\n"
    "  --response NAME         the column to explain\n"
    "  --features A,B          the columns to explain it with (default: all others);\n"
    "                          a name with a comma in quotes\n"
    "  --without NAME          all columns, or all of the study's, but this one; may be given\n"
    "                          several times\n"
    "  --epsilon E             privacy budget of a device, all rounds together\n"
    "  --delta D               (default 1e-5)\n"
    "  --neighbours N          distance=R: samples at most R apart (default distance=1),\n"
    "                          any: any two samples within the bounds\n"
    "  --protect P             features (default), or all: the response too\n"
    "  --method M              auto (default), one-shot, iterative, pooled, dp-sgd, ols\n"
    "  --calibration C         exact (default), zcdp, paper\n"
    "  --scale S               standard or bounds (default by --neighbours)\n"
    "  --study FILE            all that a study file fixes: columns, public bounds, guarantee\n"
    "                          and protocol; every other option overrides it\n"
    "  --rounds T --vectors M --alpha A --lambda L --omega W\n"
    "                          the mechanism; T for iterative, pooled and dp-sgd\n"
    "  --ridge G               of one-shot      --step C    of iterative and dp-sgd\n"
    "  --radius R              of iterative     --clip C    of dp-sgd\n"
    "  --test-share S          rows held out to measure R^2 (default 0.2)\n"
    "  --repeats N --seed S    (default 1, and a seed from the system)\n"
    "  --fast-noise            noise of the same law, many at a time, not the device core\n"
    "  --threads N             (default: all processors; changes no result)\n"
    "  --separator X           of the file (default: found by its first line)\n"
    "  --reports FILE          keep the first repeat's reports for 'tremolo fit'; --force\n"
    "                          replaces an earlier file\n"
    "  --report FILE           save the result as one .html page, .json document or .csv table\n"
    "  --json                  the result as JSON\n";

enum option_code {
    OPT_RESPONSE = 256,
    OPT_FEATURES,
    OPT_WITHOUT,
    OPT_EPSILON,
    OPT_DELTA,
    OPT_NEIGHBOURS,
    OPT_PROTECT,
    OPT_METHOD,
    OPT_CALIBRATION,
    OPT_SCALE,
    OPT_STUDY,
    OPT_ROUNDS,
    OPT_VECTORS,
    OPT_ALPHA,
    OPT_LAMBDA,
    OPT_OMEGA,
    OPT_RIDGE,
    OPT_STEP,
    OPT_RADIUS,
    OPT_CLIP,
    OPT_TEST_SHARE,
    OPT_REPEATS,
    OPT_SEED,
    OPT_FAST_NOISE,
    OPT_THREADS,
    OPT_SEPARATOR,
    OPT_JSON,
    OPT_REPORTS,
    OPT_REPORT,
    OPT_FORCE,
    OPT_HELP,
};

static const struct option long_options[] = {
    {"response", required_argument, NULL, OPT_RESPONSE},
    {"features", required_argument, NULL, OPT_FEATURES},
    {"without", required_argument, NULL, OPT_WITHOUT},
    {"epsilon", required_argument, NULL, OPT_EPSILON},
    {"delta", required_argument, NULL, OPT_DELTA},
    {"neighbours", required_argument, NULL, OPT_NEIGHBOURS},
    {"protect", required_argument, NULL, OPT_PROTECT},
    {"method", required_argument, NULL, OPT_METHOD},
    {"calibration", required_argument, NULL, OPT_CALIBRATION},
    {"scale", required_argument, NULL, OPT_SCALE},
    {"study", required_argument, NULL, OPT_STUDY},
    {"rounds", required_argument, NULL, OPT_ROUNDS},
    {"vectors", required_argument, NULL, OPT_VECTORS},
    {"alpha", required_argument, NULL, OPT_ALPHA},
    {"lambda", required_argument, NULL, OPT_LAMBDA},
    {"omega", required_argument, NULL, OPT_OMEGA},
    {"ridge", required_argument, NULL, OPT_RIDGE},
    {"step", required_argument, NULL, OPT_STEP},
    {"radius", required_argument, NULL, OPT_RADIUS},
    {"clip", required_argument, NULL, OPT_CLIP},
    {"test-share", required_argument, NULL, OPT_TEST_SHARE},
    {"repeats", required_argument, NULL, OPT_REPEATS},
    {"seed", required_argument, NULL, OPT_SEED},
    {"fast-noise", no_argument, NULL, OPT_FAST_NOISE},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"separator", required_argument, NULL, OPT_SEPARATOR},
    {"json", no_argument, NULL, OPT_JSON},
    {"reports", required_argument, NULL, OPT_REPORTS},
    {"report", required_argument, NULL, OPT_REPORT},
    {"force", no_argument, NULL, OPT_FORCE},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

/* Numbers, where they go, and what they may be. Not-a-number marks a value
 * that was not given and gets its method's default afterwards. */
struct number_rule {
    size_t offset; /* in struct tremolo_experiment_options */
    double low, high;
    const char *range;
    int code;
    bool low_open, high_open;
};

#define NUMBER(code, field, low, high, low_open, high_open, range)                                 \
    {                                                                                              \
        offsetof(struct tremolo_experiment_options, field), low, high, range, code, low_open,      \
            high_open                                                                              \
    }

static const struct number_rule number_rules[] = {
    NUMBER(OPT_EPSILON, epsilon, 0, 1e6, true, false, "a number above 0 and at most 1e6"),
    NUMBER(OPT_DELTA, delta, 0, 1, true, true, "a number between 0 and 1"),
    NUMBER(OPT_ALPHA, alpha, 0, 1, false, true, "a number from 0 to below 1"),
    NUMBER(OPT_LAMBDA, lambda, 0, 1e6, true, false, "a number above 0 and at most 1e6"),
    NUMBER(OPT_OMEGA, omega, 0, 1e6, true, false, "a number above 0 and at most 1e6"),
    NUMBER(OPT_RIDGE, ridge, 0, 1e12, false, false, "a number from 0 to 1e12"),
    NUMBER(OPT_STEP, step, 0, 1e6, true, false, "a number above 0 and at most 1e6"),
    NUMBER(OPT_RADIUS, radius, 0, 1e12, false, false, "a number from 0 to 1e12"),
    NUMBER(OPT_CLIP, clip, 0, 1e12, true, false, "a number above 0 and at most 1e12"),
};

/* Options of some methods only. `given` has a bit for each place in this list. What
 * is asked of privacy is not among them: the output states what was given. */
#define FOR(method) (1u << (method))

static const struct {
    int code;
    unsigned methods;
} method_rules[] = {
    {OPT_ROUNDS, FOR(TREMOLO_EXPERIMENT_ITERATIVE) | FOR(TREMOLO_EXPERIMENT_POOLED) |
                     FOR(TREMOLO_EXPERIMENT_DP_SGD)},
    {OPT_STEP, FOR(TREMOLO_EXPERIMENT_ITERATIVE) | FOR(TREMOLO_EXPERIMENT_POOLED) |
                   FOR(TREMOLO_EXPERIMENT_DP_SGD)},
    {OPT_RADIUS, FOR(TREMOLO_EXPERIMENT_ITERATIVE) | FOR(TREMOLO_EXPERIMENT_POOLED)},
    {OPT_RIDGE, FOR(TREMOLO_EXPERIMENT_ONE_SHOT)},
    {OPT_CLIP, FOR(TREMOLO_EXPERIMENT_DP_SGD)},
    {OPT_VECTORS, ~(FOR(TREMOLO_EXPERIMENT_DP_SGD) | FOR(TREMOLO_EXPERIMENT_OLS))},
    {OPT_ALPHA, ~(FOR(TREMOLO_EXPERIMENT_DP_SGD) | FOR(TREMOLO_EXPERIMENT_OLS))},
    {OPT_LAMBDA, ~(FOR(TREMOLO_EXPERIMENT_DP_SGD) | FOR(TREMOLO_EXPERIMENT_OLS))},
    {OPT_OMEGA, ~(FOR(TREMOLO_EXPERIMENT_DP_SGD) | FOR(TREMOLO_EXPERIMENT_OLS))},
};

enum { METHOD_RULES = sizeof method_rules / sizeof method_rules[0] };

static unsigned mark_given(unsigned given, int option)
{
    for (unsigned i = 0; i < METHOD_RULES; i++) {
        given |= method_rules[i].code == option ? 1u << i : 0;
    }
    return given;
}

static bool usage(int *code, const char *option, const char *wanted, const char *given)
{
    *code = cli_fail(CLI_USAGE, command, "--%s must be %s, not '%s'", option, wanted, given);
    return false;
}

/* 1 when the option is a number and good, 0 when it is no number, -1 when it
 * is a bad one. */
static int parse_number(struct tremolo_experiment_options *experiment, int *code, int option,
                        const char *name)
{
    for (size_t i = 0; i < sizeof number_rules / sizeof number_rules[0]; i++) {
        const struct number_rule *rule = &number_rules[i];
        double value;
        if (rule->code != option) {
            continue;
        }
        bool good = cli_parse_double(&value, optarg) &&
                    (rule->low_open ? value > rule->low : value >= rule->low) &&
                    (rule->high_open ? value < rule->high : value <= rule->high);
        if (!good) {
            (void)usage(code, name, rule->range, optarg);
            return -1;
        }
        memcpy((char *)experiment + rule->offset, &value, sizeof value);
        return 1;
    }
    return 0;
}

static bool parse_count(size_t *count, int *code, const char *name, long low, long high)
{
    char wanted[64];
    long value;
    if (cli_parse_long(&value, optarg) && value >= low && value <= high) {
        *count = (size_t)value;
        return true;
    }
    (void)snprintf(wanted, sizeof wanted, "a whole number from %ld to %ld", low, high);
    return usage(code, name, wanted, optarg);
}

static bool parse_neighbours(struct tremolo_experiment_options *experiment, int *code)
{
    if (strcmp(optarg, "any") == 0) {
        experiment->neighbours = TREMOLO_NEIGHBOURS_ANY;
        return true;
    }
    experiment->neighbours = TREMOLO_NEIGHBOURS_DISTANCE;
    if (strcmp(optarg, "distance") == 0) {
        return true;
    }
    if (strncmp(optarg, "distance=", 9) == 0 &&
        cli_parse_double(&experiment->distance, optarg + 9) && experiment->distance > 0) {
        return true;
    }
    return usage(code, "neighbours", "distance=R with R above 0, or any", optarg);
}

/* The choice's number among `names`, or usage. */
static bool parse_choice(int *choice, int *code, const char *name, const char *const *names,
                         int count, const char *wanted)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(optarg, names[i]) == 0) {
            *choice = i;
            return true;
        }
    }
    return usage(code, name, wanted, optarg);
}

static bool parse_words(struct simulate_options *options, int *code, int option, int *scaling)
{
    static const char *const protects[] = {"features", "all"};
    static const char *const scalings[] = {"standard", "bounds"};
    int choice = 0;
    switch (option) {
    case OPT_PROTECT:
        if (!parse_choice(&choice, code, "protect", protects, 2, "features or all")) {
            return false;
        }
        options->simulation.experiment.protect_all = choice == 1;
        return true;
    case OPT_CALIBRATION:
        if (!parse_choice(&choice, code, "calibration", tremolo_calibration_names, 3,
                          "exact, zcdp or paper")) {
            return false;
        }
        options->simulation.experiment.calibration = (enum tremolo_calibration)choice;
        return true;
    case OPT_STUDY: return true; /* taken before all others */
    case OPT_SCALE: return parse_choice(scaling, code, "scale", scalings, 2, "standard or bounds");
    default:
        options->simulation.experiment.method = tremolo_experiment_method_find(optarg);
        return options->simulation.experiment.method != TREMOLO_EXPERIMENT_METHODS ||
               usage(code, "method", "auto, one-shot, iterative, pooled, dp-sgd or ols", optarg);
    }
}

static bool parse_test_share(struct simulate_options *options, int *code)
{
    double share;
    if (cli_parse_double(&share, optarg) && share >= 0 && share < 1) {
        options->simulation.test_share = share;
        return true;
    }
    return usage(code, "test-share", "a number from 0 to below 1", optarg);
}

static bool parse_separator(struct simulate_options *options, int *code)
{
    const char *text = strcmp(optarg, "\\t") == 0 || strcmp(optarg, "tab") == 0 ? "\t" : optarg;
    if (strlen(text) != 1 || *text == '"' || *text == '\n' || *text == '\r') {
        return usage(code, "separator", "one character", optarg);
    }
    options->separator = *text;
    return true;
}

static bool parse_option(struct simulate_options *options, int *code, int option, const char *name,
                         int *scaling)
{
    struct tremolo_experiment_options *experiment = &options->simulation.experiment;
    size_t count = 0;
    int number = parse_number(experiment, code, option, name);
    if (number != 0) {
        return number > 0;
    }
    switch (option) {
    case OPT_RESPONSE: options->response = optarg; return true;
    case OPT_FEATURES: options->features = optarg; return true;
    case OPT_WITHOUT:
        if (options->without_count == SIMULATE_WITHOUT_MAX) {
            return usage(code, name, "given less often", optarg);
        }
        options->without[options->without_count++] = optarg;
        return true;
    case OPT_FAST_NOISE: experiment->fast_noise = true; return true;
    case OPT_JSON: options->json = true; return true;
    case OPT_REPORTS: options->reports = optarg; return true;
    case OPT_REPORT: options->report = optarg; return true;
    case OPT_FORCE: options->force = true; return true;
    case OPT_NEIGHBOURS: return parse_neighbours(experiment, code);
    case OPT_TEST_SHARE: return parse_test_share(options, code);
    case OPT_SEPARATOR: return parse_separator(options, code);
    case OPT_ROUNDS: return parse_count(&experiment->rounds, code, name, 1, 1000);
    case OPT_VECTORS:
        return parse_count(&experiment->vectors, code, name, 0, TREMOLO_DESIGN_FEATURES_MAX);
    case OPT_REPEATS:
        return parse_count(&options->simulation.repeats, code, name, 1, SIMULATE_REPEATS_MAX);
    case OPT_SEED:
        if (!parse_count(&count, code, name, 0, 0x7fffffffffffffffL)) {
            return false;
        }
        options->simulation.seed = count;
        return true;
    case OPT_THREADS:
        if (!parse_count(&count, code, name, 1, TREMOLO_MAX_FOLD_THREADS)) {
            return false;
        }
        experiment->threads = (unsigned)count;
        return true;
    default: return parse_words(options, code, option, scaling);
    }
}

static void set_default(double *value, double otherwise)
{
    if (isnan(*value)) {
        *value = otherwise;
    }
}

/* `auto` and `ols` need no modulation; the paper's methods get the paper's. */
static void set_defaults(struct simulate_options *options, int scaling)
{
    struct tremolo_experiment_options *experiment = &options->simulation.experiment;
    bool plain = experiment->method == TREMOLO_EXPERIMENT_AUTO ||
                 experiment->method == TREMOLO_EXPERIMENT_OLS ||
                 experiment->method == TREMOLO_EXPERIMENT_DP_SGD;
    if (experiment->vectors == SIZE_MAX) {
        bool asked = !isnan(experiment->lambda) || !isnan(experiment->omega);
        experiment->vectors = plain && !asked ? 0 : 1;
    }
    set_default(&experiment->alpha, plain ? 0 : 0.5);
    set_default(&experiment->lambda, 0.2);
    set_default(&experiment->omega, 1);
    set_default(&experiment->ridge, 0.5);
    bool bounds = options->study != NULL || experiment->neighbours == TREMOLO_NEIGHBOURS_ANY;
    options->simulation.scaling = scaling >= 0 ? (enum tremolo_scaling)scaling
                                  : bounds     ? TREMOLO_SCALING_BOUNDS
                                               : TREMOLO_SCALING_STANDARD;
    const struct tremolo_study_terms *terms =
        options->study_file != NULL && tremolo_experiment_takes_rounds(experiment->method)
            ? tremolo_study_file_terms(options->study_file)
            : NULL;
    bool theirs = terms != NULL && terms->protocol == TREMOLO_STUDY_ITERATIVE;
    set_default(&experiment->step, theirs                                            ? terms->step
                                   : experiment->method == TREMOLO_EXPERIMENT_DP_SGD ? 0.1
                                                                                     : 0.8);
    /* The study's ball is in its own units. */
    set_default(&experiment->radius, theirs && options->simulation.scaling == TREMOLO_SCALING_BOUNDS
                                         ? terms->radius
                                         : 0);
    set_default(&experiment->clip, 2);
}

static bool check_whole(const struct simulate_options *options, int *code, int argc)
{
    if (options->path == NULL || optind < argc) {
        *code =
            cli_fail(CLI_USAGE, command, "one CSV file is needed; see 'tremolo simulate --help'");
        return false;
    }
    if (options->response == NULL) {
        *code = cli_fail(CLI_USAGE, command, "--response NAME is needed");
        return false;
    }
    if (options->without_count > 0 && options->features != options->listed_features) {
        *code = cli_fail(CLI_USAGE, command,
                         "--features names every column that is used, so --without has nothing to "
                         "leave out");
        return false;
    }
    enum tremolo_experiment_method method = options->simulation.experiment.method;
    if (method != TREMOLO_EXPERIMENT_DP_SGD &&
        tremolo_experiment_releases(&options->simulation.experiment) > UINT16_MAX) {
        *code = cli_fail(CLI_USAGE, command,
                         "--rounds %zu with %zu samples of a device in each are more than %d "
                         "releases",
                         options->simulation.experiment.rounds,
                         options->simulation.experiment.samples, UINT16_MAX);
        return false;
    }
    if (options->reports != NULL &&
        (options->simulation.experiment.fast_noise || method == TREMOLO_EXPERIMENT_DP_SGD ||
         method == TREMOLO_EXPERIMENT_OLS)) {
        *code = cli_fail(CLI_USAGE, command,
                         "--reports needs exact noise and a method whose devices report");
        return false;
    }
    const char *refused =
        options->report != NULL ? result_refuses(options->report, options->force) : NULL;
    if (refused != NULL) {
        *code =
            cli_fail(CLI_USAGE, command, "--report must be %s, not '%s'", refused, options->report);
        return false;
    }
    if (options->reports != NULL && !options->force && access(options->reports, F_OK) == 0) {
        *code = cli_fail(CLI_USAGE, command, "%s is there already; --force replaces it",
                         options->reports);
        return false;
    }
    if (isnan(options->simulation.experiment.epsilon) &&
        options->simulation.experiment.method != TREMOLO_EXPERIMENT_OLS) {
        *code = cli_fail(CLI_USAGE, command, "--epsilon E is needed");
        return false;
    }
    return true;
}

/* What the method would ignore is refused: whoever gave it expects an effect. */
static bool check_method(const struct tremolo_experiment_options *experiment, int *code,
                         unsigned given)
{
    for (unsigned i = 0; i < METHOD_RULES; i++) {
        if ((given >> i & 1) == 0 || (method_rules[i].methods & FOR(experiment->method)) != 0) {
            continue;
        }
        const struct option *named = long_options;
        while (named->val != method_rules[i].code) {
            named++;
        }
        *code = cli_fail(CLI_USAGE, command, "--%s has no effect with the method %s", named->name,
                         tremolo_experiment_method_name(experiment->method));
        return false;
    }
    if (experiment->vectors == 0 && (!isnan(experiment->lambda) || !isnan(experiment->omega))) {
        *code = cli_fail(CLI_USAGE, command, "--lambda and --omega have no effect without vectors");
        return false;
    }
    return true;
}

/* The study first, wherever it stands. */
static bool take_study(struct simulate_options *options, int *code, int argc, char **argv)
{
    const char *path = NULL;
    int option = 0;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        path = option == OPT_STUDY ? optarg : path;
    }
    if (path != NULL) {
        *code = simulate_take_study(options, path);
    }
    return path == NULL || *code == CLI_DONE;
}

bool simulate_parse(struct simulate_options *options, int *code, int argc, char **argv)
{
    int option, index = 0, scaling = -1;
    unsigned given = 0;
    *options = (struct simulate_options){
        .simulation.experiment = {.epsilon = NAN,
                                  .delta = 1e-5,
                                  .distance = 1,
                                  .rounds = 10,
                                  .vectors = SIZE_MAX,
                                  .alpha = NAN,
                                  .lambda = NAN,
                                  .omega = NAN,
                                  .ridge = NAN,
                                  .step = NAN,
                                  .radius = NAN,
                                  .clip = NAN,
                                  .threads = tremolo_processors()},
        .simulation.test_share = 0.2,
        .simulation.repeats = 1,
    };
    if (tremolo_host_entropy(NULL, (uint8_t *)&options->simulation.seed,
                             sizeof options->simulation.seed) != 0) {
        options->simulation.seed = 1;
    }
    options->simulation.seed &= UINT64_C(0xffffffff); /* short enough to be typed again */
    result_command_line(options->line, argc, argv);
    if (!take_study(options, code, argc, argv)) {
        return false;
    }
    optind = 1;
    while ((option = getopt_long(argc, argv, "h", long_options, &index)) != -1) {
        if (option == 'h' || option == OPT_HELP) {
            (void)fputs(help, stdout);
            return false;
        }
        if (option == '?') {
            *code = cli_bad_option(command, argv, long_options);
            return false;
        }
        if (!parse_option(options, code, option, long_options[index].name, &scaling)) {
            return false;
        }
        given = mark_given(given, option);
    }
    options->path = optind < argc ? argv[optind++] : NULL;
    if (!check_whole(options, code, argc) ||
        !check_method(&options->simulation.experiment, code, given)) {
        return false;
    }
    set_defaults(options, scaling);
    return true;
}
