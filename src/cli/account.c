/* account.c -- `tremolo account`: what a release costs.
 *
 * This file reads the options and finds the question; the answers are in
 * account_numbers.c (one number each), account_reports.c (tables and words)
 * and account_figures.c. Options are checked here, once, so that every
 * complaint names the option; what only the accountant can know comes back
 * as a status. */
#include "account.h"
#include "suggest.h"

#include <errno.h>
#include <float.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct account_question questions[] = {
    {"sigma", "noise sd needed for (epsilon, delta)", account_sigma, true},
    {"epsilon", "smallest epsilon at a delta", account_epsilon, true},
    {"delta", "smallest delta at an epsilon", account_delta, false},
    {"rho", "zCDP parameter of a noise level, or allowed by (epsilon, delta)", account_rho, false},
    {"tradeoff", "error rates of the best attacker", account_tradeoff, false},
    {"sensitivity", "exact, known-phase and the paper's sensitivity", account_sensitivities, false},
    {"modulation", "what modulation buys along its own directions", account_modulation, false},
    {"reconstruction", "how far off a reconstruction must be", account_reconstruction, false},
    {"compare", "T modulated rounds under paper, zcdp and exact", account_compare, true},
    {"explain", "a guarantee in words", account_explain, true},
    {"figures", "write the figures into --out DIRECTORY", account_figures, false},
};

enum { QUESTION_COUNT = sizeof questions / sizeof questions[0] };

static const char help_options[] =
    "\n"
    "  --epsilon E          0 .. 1e6                --delta D       in (0, 1); see below\n"
    "  --sigma S[,S...]     noise sd, one per round --sensitivity S l2 distance of neighbours\n"
    "  --releases T         equal rounds (1)        --rule NAME     exact, zcdp, zcdp-tight,\n"
    "  --weights W[,W...]   unequal shares of mu^2                  classical (exact)\n"
    "  --force              use the classical rule beyond its proof, marked as such\n"
    "  --rho R, --mu M      in place of sigma       --false-positive P\n"
    "  --alpha A --lambda L --omega W --vectors M   the modulated map (none; .5, .2,\n"
    "                                               1, 1 in compare and modulation)\n"
    "  --distance R         between neighbours (1)  --known-phase   count the phase as leaked\n"
    "  --neighbours any|distance=R                  --protect features|all\n"
    "  --dimension D        features (8)            --cells N       cells per sigma (128)\n"
    "  --prior-sd S  --coefficient-norm B  --response-noise S       for reconstruction\n"
    "  --discrete V         delta of the discrete Gaussian of variance V\n"
    "  --pld FILE           a loss distribution: {\"step\",\"infinity_mass\",\"mass\":{\"k\":p}}\n"
    "  --study FILE         explain a study file's guarantee, at its own delta or --delta\n"
    "  --out DIRECTORY      for figures (--force replaces earlier ones)\n"
    "  --json               stable, machine-readable\n"
    "\nsigma, epsilon, rho, compare and explain take delta 1e-5 unless told, and say so.\n";

int account_fail(enum cli_exit code, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return cli_fail(code, "account", "%s", sentence);
}

int account_status(enum tremolo_status status)
{
    if (status == TREMOLO_INVALID_CALIBRATION) {
        return account_fail(CLI_REFUSED,
                            "the classical rule is proved for epsilon up to 1 per release and may "
                            "add too little noise beyond; use --rule exact, or --force to see its "
                            "number");
    }
    if (status == TREMOLO_OVERFLOWED) {
        return account_fail(CLI_USAGE, "the request is out of range: %s",
                            tremolo_status_sentence(status));
    }
    return account_fail(cli_exit_of(status), "%s", tremolo_status_sentence(status));
}

const char *account_rule_name(enum tremolo_rule rule)
{
    switch (rule) {
    case TREMOLO_RULE_EXACT: return "exact";
    case TREMOLO_RULE_ZCDP: return "zcdp";
    case TREMOLO_RULE_ZCDP_TIGHT: return "zcdp-tight";
    case TREMOLO_RULE_CLASSICAL: return "classical";
    }
    return "unknown";
}

static bool parse_rule(enum tremolo_rule *rule, const char *text)
{
    for (int i = TREMOLO_RULE_EXACT; i <= TREMOLO_RULE_CLASSICAL; i++) {
        if (strcmp(text, account_rule_name((enum tremolo_rule)i)) == 0) {
            *rule = (enum tremolo_rule)i;
            return true;
        }
    }
    return false;
}

static bool parse_list(struct account_list *list, const char *text)
{
    list->count = 0;
    while (list->count < ACCOUNT_LIST_MAX) {
        char piece[64];
        size_t length = strcspn(text, ",");
        if (length == 0 || length >= sizeof piece) {
            return false;
        }
        memcpy(piece, text, length);
        piece[length] = '\0';
        double *item = &list->item[list->count];
        if (!cli_parse_double(item, piece) || !(*item > 0.0)) {
            return false;
        }
        list->count++;
        if (text[length] == '\0') {
            return true;
        }
        text += length + 1;
    }
    return false;
}

/* ---- options */

enum option_code {
    OPTION_EPSILON = 256,
    OPTION_DELTA,
    OPTION_SENSITIVITY,
    OPTION_RHO,
    OPTION_MU,
    OPTION_FALSE_POSITIVE,
    OPTION_DISTANCE,
    OPTION_PRIOR_SD,
    OPTION_COEFFICIENT_NORM,
    OPTION_RESPONSE_NOISE,
    OPTION_DISCRETE,
    OPTION_ALPHA,
    OPTION_LAMBDA,
    OPTION_OMEGA,
    OPTION_LAST_NUMBER = OPTION_OMEGA,
    OPTION_SIGMA,
    OPTION_WEIGHTS,
    OPTION_RELEASES,
    OPTION_VECTORS,
    OPTION_DIMENSION,
    OPTION_CELLS,
    OPTION_RULE,
    OPTION_NEIGHBOURS,
    OPTION_PROTECT,
    OPTION_KNOWN_PHASE,
    OPTION_FORCE,
    OPTION_PLD,
    OPTION_STUDY,
    OPTION_OUT,
    OPTION_JSON,
};

static const struct option long_options[] = {
    {"epsilon", required_argument, NULL, OPTION_EPSILON},
    {"delta", required_argument, NULL, OPTION_DELTA},
    {"sensitivity", required_argument, NULL, OPTION_SENSITIVITY},
    {"rho", required_argument, NULL, OPTION_RHO},
    {"mu", required_argument, NULL, OPTION_MU},
    {"false-positive", required_argument, NULL, OPTION_FALSE_POSITIVE},
    {"distance", required_argument, NULL, OPTION_DISTANCE},
    {"prior-sd", required_argument, NULL, OPTION_PRIOR_SD},
    {"coefficient-norm", required_argument, NULL, OPTION_COEFFICIENT_NORM},
    {"response-noise", required_argument, NULL, OPTION_RESPONSE_NOISE},
    {"discrete", required_argument, NULL, OPTION_DISCRETE},
    {"alpha", required_argument, NULL, OPTION_ALPHA},
    {"lambda", required_argument, NULL, OPTION_LAMBDA},
    {"omega", required_argument, NULL, OPTION_OMEGA},
    {"sigma", required_argument, NULL, OPTION_SIGMA},
    {"weights", required_argument, NULL, OPTION_WEIGHTS},
    {"releases", required_argument, NULL, OPTION_RELEASES},
    {"vectors", required_argument, NULL, OPTION_VECTORS},
    {"dimension", required_argument, NULL, OPTION_DIMENSION},
    {"cells", required_argument, NULL, OPTION_CELLS},
    {"rule", required_argument, NULL, OPTION_RULE},
    {"neighbours", required_argument, NULL, OPTION_NEIGHBOURS},
    {"protect", required_argument, NULL, OPTION_PROTECT},
    {"known-phase", no_argument, NULL, OPTION_KNOWN_PHASE},
    {"force", no_argument, NULL, OPTION_FORCE},
    {"pld", required_argument, NULL, OPTION_PLD},
    {"study", required_argument, NULL, OPTION_STUDY},
    {"out", required_argument, NULL, OPTION_OUT},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* Each plain number's place and its closed range; `open` excludes the ends. */
struct number_rule {
    double *place;
    const char *name;
    double low;
    double high;
    bool open;
    const char *range;
};

static struct number_rule number_rule_of(struct account_options *options, int code)
{
    struct tremolo_modulation *modulation = &options->modulation;
    const struct number_rule rules[] = {
        {&options->epsilon, "epsilon", 0.0, TREMOLO_EPSILON_MAX, false, "between 0 and 1e6"},
        {&options->delta, "delta", DBL_MIN, 1.0, true, "strictly between 0 (2.3e-308) and 1"},
        {&options->sensitivity, "sensitivity", 0.0, 1e300, true, "positive and below 1e300"},
        {&options->rho, "rho", 0.0, TREMOLO_EPSILON_MAX, true, "positive and below 1e6"},
        {&options->mu, "mu", 0.0, TREMOLO_MU_MAX, true, "positive and below 1e4"},
        {&options->false_positive, "false-positive", 0.0, 1.0, false, "between 0 and 1"},
        {&options->distance, "distance", 0.0, 1e300, true, "positive and below 1e300"},
        {&options->prior_sd, "prior-sd", 0.0, 1e100, true, "positive and below 1e100"},
        {&options->coefficient_norm, "coefficient-norm", 0.0, 1e100, false, "between 0 and 1e100"},
        {&options->response_noise, "response-noise", 0.0, 1e100, true, "positive and below 1e100"},
        {&options->variance, "discrete", 1e-2, 1e10, false, "between 0.01 and 1e10"},
        {&modulation->alpha, "alpha", 0.0, 1.0 - 0x1p-30, false, "at least 0 and below 1"},
        {&modulation->lambda, "lambda", 0.0, 1e100, false, "between 0 and 1e100"},
        {&modulation->omega, "omega", 0.0, 1e100, false, "between 0 and 1e100"},
    };
    return rules[code - OPTION_EPSILON];
}

static int take_number(struct account_options *options, int code, const char *text)
{
    struct number_rule rule = number_rule_of(options, code);
    double value = 0.0;
    bool good = cli_parse_double(&value, text) && value >= rule.low && value <= rule.high;
    if (!good || (rule.open && (value == rule.low || value == rule.high))) {
        return account_fail(CLI_USAGE, "--%s must be %s, not '%s'", rule.name, rule.range, text);
    }
    *rule.place = value;
    options->modulation_given |= code >= OPTION_ALPHA || code == OPTION_DISTANCE;
    return CLI_DONE;
}

static int take_count(struct account_options *options, int code, const char *text)
{
    long value = 0;
    long low = code == OPTION_VECTORS ? 0 : code == OPTION_CELLS ? 16 : 1;
    long high = code == OPTION_RELEASES ? (long)TREMOLO_RELEASES_MAX
                : code == OPTION_CELLS  ? 4096
                                        : 1000000;
    const char *name = code == OPTION_RELEASES    ? "releases"
                       : code == OPTION_VECTORS   ? "vectors"
                       : code == OPTION_DIMENSION ? "dimension"
                                                  : "cells";
    if (!cli_parse_long(&value, text) || value < low || value > high) {
        return account_fail(CLI_USAGE, "--%s must be a whole number from %ld to %ld, not '%s'",
                            name, low, high, text);
    }
    switch (code) {
    case OPTION_RELEASES:
        options->releases = (uint64_t)value;
        options->releases_given = true;
        break;
    case OPTION_VECTORS:
        options->modulation.vectors = (unsigned)value;
        options->modulation_given = true;
        break;
    case OPTION_DIMENSION: options->dimension = (unsigned)value; break;
    default: options->cells = (unsigned)value; break;
    }
    return CLI_DONE;
}

static int take_neighbours(struct account_options *options, const char *text)
{
    if (strcmp(text, "any") == 0) {
        options->any_two = true;
        return CLI_DONE;
    }
    if (strncmp(text, "distance=", 9) == 0) {
        return take_number(options, OPTION_DISTANCE, text + 9);
    }
    return account_fail(CLI_USAGE, "--neighbours must be 'any' or 'distance=R', not '%s'", text);
}

static int take_word(struct account_options *options, int code, const char *text)
{
    switch (code) {
    case OPTION_RULE:
        options->rule_given = true;
        return parse_rule(&options->rule, text)
                   ? CLI_DONE
                   : account_fail(CLI_USAGE,
                                  "--rule must be exact, zcdp, zcdp-tight or classical, not '%s'",
                                  text);
    case OPTION_SIGMA:
        return parse_list(&options->sigma, text)
                   ? CLI_DONE
                   : account_fail(CLI_USAGE, "--sigma must be positive numbers, not '%s'", text);
    case OPTION_WEIGHTS:
        return parse_list(&options->weights, text)
                   ? CLI_DONE
                   : account_fail(CLI_USAGE, "--weights must be positive numbers, not '%s'", text);
    case OPTION_NEIGHBOURS: return take_neighbours(options, text);
    case OPTION_PROTECT:
        options->protect_all = strcmp(text, "all") == 0;
        return options->protect_all || strcmp(text, "features") == 0
                   ? CLI_DONE
                   : account_fail(CLI_USAGE, "--protect must be features or all, not '%s'", text);
    case OPTION_KNOWN_PHASE: options->known_phase = true; return CLI_DONE;
    case OPTION_FORCE: options->force = true; return CLI_DONE;
    case OPTION_PLD: options->pld_file = text; return CLI_DONE;
    case OPTION_STUDY: options->study = text; return CLI_DONE;
    case OPTION_OUT: options->out = text; return CLI_DONE;
    case OPTION_JSON: options->json = true; return CLI_DONE;
    default: return account_fail(CLI_USAGE, "unknown option; 'tremolo account --help' lists them");
    }
}

static int take_option(struct account_options *options, int code, const char *text)
{
    if (code >= OPTION_EPSILON && code <= OPTION_LAST_NUMBER) {
        return take_number(options, code, text);
    }
    if (code >= OPTION_RELEASES && code <= OPTION_CELLS) {
        return take_count(options, code, text);
    }
    return take_word(options, code, text);
}

static void options_init(struct account_options *options)
{
    memset(options, 0, sizeof *options);
    options->epsilon = options->delta = options->sensitivity = options->rho = options->mu = NAN;
    options->false_positive = options->distance = options->prior_sd = NAN;
    options->coefficient_norm = options->response_noise = options->variance = NAN;
    options->modulation = (struct tremolo_modulation){NAN, NAN, 1.0, 1};
    options->releases = 1;
    options->dimension = 8;
    options->cells = 128;
}

/* Two questions are about the modulated map and have its paper's parameters for
 * defaults. Elsewhere nothing is assumed that would lower a cost. */
static void settle_modulation(struct account_options *options,
                              const struct account_question *question)
{
    bool modulated = question->answer == account_compare || question->answer == account_modulation;
    struct tremolo_modulation *modulation = &options->modulation;
    modulation->alpha = isnan(modulation->alpha) ? (modulated ? 0.5 : 0.0) : modulation->alpha;
    modulation->lambda = isnan(modulation->lambda) ? (modulated ? 0.2 : 0.0) : modulation->lambda;
}

static void settle_delta(struct account_options *options, const struct account_question *question)
{
    options->delta_assumed =
        question->assumes_delta && isnan(options->delta) && options->study == NULL;
    options->delta = options->delta_assumed ? ACCOUNT_DELTA : options->delta;
}

/* A study file fixes everything but the delta that its guarantee is told at. */
static int check_study(const struct account_options *options,
                       const struct account_question *question)
{
    if (options->study != NULL && question->answer != account_explain) {
        return account_fail(CLI_USAGE, "--study belongs to explain");
    }
    if (options->study != NULL && options->beside_study != NULL) {
        return account_fail(CLI_USAGE, "a study fixes its own guarantee; leave --%s",
                            options->beside_study);
    }
    return CLI_DONE;
}

static void print_help(FILE *stream)
{
    (void)fputs("usage: tremolo account QUESTION [OPTIONS]\n\n", stream);
    for (size_t i = 0; i < QUESTION_COUNT; i++) {
        (void)fprintf(stream, "  %-15s %s\n", questions[i].name, questions[i].summary);
    }
    (void)fputs(help_options, stream);
}

int cli_account(int argc, char **argv)
{
    static struct account_options options; /* lists make it large */
    options_init(&options);
    const struct account_question *question = NULL;
    opterr = 0;
    optind = 1;
    for (;;) {
        int index = 0;
        int code = getopt_long(argc, argv, "h", long_options, &index);
        if (code == -1) {
            break;
        }
        if (code == 'h') {
            print_help(stdout);
            return CLI_DONE;
        }
        if (code == '?') {
            return cli_bad_option("account", argv, long_options);
        }
        int result = take_option(&options, code, optarg);
        if (result != CLI_DONE) {
            return result;
        }
        if (code != OPTION_STUDY && code != OPTION_DELTA && code != OPTION_JSON) {
            options.beside_study = long_options[index].name;
        }
    }
    if (optind >= argc) {
        print_help(stderr);
        return CLI_USAGE;
    }
    for (size_t i = 0; i < QUESTION_COUNT; i++) {
        if (strcmp(argv[optind], questions[i].name) == 0) {
            question = &questions[i];
        }
    }
    if (question == NULL) {
        return account_fail(CLI_USAGE, "'%s' is no question; 'tremolo account --help' lists them",
                            argv[optind]);
    }
    settle_modulation(&options, question);
    settle_delta(&options, question);
    if (optind + 1 < argc) {
        return account_fail(CLI_USAGE, "'%s' is one too many; ask one question at a time",
                            argv[optind + 1]);
    }
    int result = check_study(&options, question);
    return result == CLI_DONE ? question->answer(&options) : result;
}
