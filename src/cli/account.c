/* account.c -- `tremolo account`: what a release costs.
 *
 * This file has the options and the questions; the answers are in
 * account_numbers.c (one number each), ../print/account_reports.c (tables and words)
 * and print/account_figures.c. What only the accountant can know comes back as a status. */
#include "account.h"
#include "options.h"
#include "accountant.h"
#include "tremolo_table.h"
#include "tremolo_words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
    return cli_fail_status("account", status);
}

const char *account_rule_name(enum tremolo_rule rule)
{
    static const char *const names[] = {[TREMOLO_RULE_EXACT] = "exact",
                                        [TREMOLO_RULE_ZCDP] = "zcdp",
                                        [TREMOLO_RULE_ZCDP_TIGHT] = "zcdp-tight",
                                        [TREMOLO_RULE_CLASSICAL] = "classical"};
    return names[rule];
}

static const char *take_list(void *place, const char *text)
{
    struct account_list *list = place;
    list->count = 0;
    while (list->count < ACCOUNT_LIST_MAX) {
        char piece[64];
        size_t length = strcspn(text, ",");
        (void)snprintf(piece, sizeof piece, "%.*s", (int)length, text);
        double *item = &list->item[list->count];
        if (length >= sizeof piece || !tremolo_table_is_number(piece, item) || !(*item > 0.0)) {
            break;
        }
        list->count++;
        if (text[length] == '\0') {
            return NULL;
        }
        text += length + 1;
    }
    return "positive numbers with commas between";
}

/* ---- options */

#define TO(member) OPTION_TO(struct account_options, member)

static const struct option_rule rules[] = {
    OPTION_RULE("epsilon", "E", NUMBER, TO(epsilon), OPTION_FROM(0, TREMOLO_EPSILON_MAX),
                .help = "the privacy budget"),
    OPTION_RULE("delta", "D", NUMBER, TO(delta), OPTION_BETWEEN(1e-300, 1),
                .help = "sigma, epsilon, rho, compare and explain take 1e-5 unless given, and say "
                        "so"),
    OPTION_RULE("sigma", "S[,S...]", TEXT, TO(sigma), .take = take_list,
                .help = "noise standard deviation, one for each unequal round"),
    OPTION_RULE("sensitivity", "S", NUMBER, TO(sensitivity), OPTION_BETWEEN(0, 1e300),
                .help = "the l2 distance between neighbours that the noise has to hide. Without "
                        "it --distance and the modulation's parameters give it: 1 without any of "
                        "them"),
    OPTION_RULE("releases", "T", COUNT, TO(releases), OPTION_FROM(1, TREMOLO_RELEASES_MAX),
                .otherwise = "1", .help = "equal rounds"),
    OPTION_RULE("weights", "W[,W...]", TEXT, TO(weights), .take = take_list, .of = "sigma",
                .help = "shares of the budget mu squared for unequal rounds, in place of "
                        "--releases"),
    OPTION_RULE("rule", "NAME", CHOICE, TO(rule), .words = "exact zcdp zcdp-tight classical",
                .otherwise = "exact",
                .help = "how releases are calibrated and composed. zcdp is the conversion epsilon "
                        "= rho + 2 sqrt(rho ln(1/delta)), zcdp-tight the best one over all "
                        "orders; classical is refused where epsilon exceeds 1 per release"),
    OPTION_RULE("force", NULL, FLAG, TO(force),
                .help = "print the classical rule's number beyond its proof, marked as no "
                        "guarantee"),
    OPTION_RULE("rho", "R", NUMBER, TO(rho), OPTION_BETWEEN(0, TREMOLO_EPSILON_MAX),
                .help = "in place of a noise level: zCDP of all releases together"),
    OPTION_RULE("mu", "M", NUMBER, TO(mu), OPTION_BETWEEN(0, TREMOLO_MU_MAX),
                .help = "in place of a noise level: Gaussian privacy of all releases together"),
    OPTION_RULE("false-positive", "P", NUMBER, TO(false_positive), OPTION_FROM(0, 1),
                .of = "tradeoff", .otherwise = "0.05", .help = "rate of false alarms"),
    {.help = "What the answer is about:"},
    OPTION_RULE("distance", "R", NUMBER, TO(distance), OPTION_BETWEEN(0, 1e300),
                .help = "between neighbours; 1 unless given"),
    OPTION_RULE("neighbours", "any|distance=R", TEXT, TO(neighbours),
                .take = options_take_neighbours, .help = "which pairs explain speaks of"),
    OPTION_RULE("protect", "P", CHOICE, TO(protect_all), .words = "features all",
                .otherwise = "all",
                .help = "whether the response is protected, too, or in the clear"),
    OPTION_RULE("dimension", "D", COUNT, TO(dimension), OPTION_FROM(1, 1000000), .otherwise = "8",
                .help = "number of features"),
    OPTION_RULE("study", "FILE", TEXT, TO(study), .of = "explain",
                .help = "a study file, which fixes everything but --delta, and that is its own "
                        "unless given; - is standard input"),
    {.help = "The paper's modulation, which shrinks a sample by 1 - alpha and adds a cosine along "
             "each of some vectors:"},
    OPTION_RULE("alpha", "A", NUMBER, TO(modulation.alpha), OPTION_BELOW(0, 1),
                .help = "by how much the sample is shrunk; 0 unless given, but 0.5 in compare and "
                        "modulation"),
    OPTION_RULE("lambda", "L", NUMBER, TO(modulation.lambda), OPTION_FROM(0, 1e100),
                .help = "the amplitude; 0 unless given, but 0.2 in compare and modulation"),
    OPTION_RULE("omega", "W", NUMBER, TO(modulation.omega), OPTION_FROM(0, 1e100), .otherwise = "1",
                .help = "the frequency"),
    OPTION_RULE("vectors", "M", COUNT, TO(modulation.vectors), OPTION_FROM(0, 1000000),
                .otherwise = "1", .help = "how many"),
    OPTION_RULE("known-phase", NULL, FLAG, TO(known_phase),
                .help = "calibrate as if the phases were published"),
    {.help = "Reconstruction:"},
    OPTION_RULE("prior-sd", "S", NUMBER, TO(prior_sd), OPTION_BETWEEN(0, 1e100),
                .of = "reconstruction", .help = "the attacker's prior"),
    OPTION_RULE("coefficient-norm", "B", NUMBER, TO(coefficient_norm), OPTION_FROM(0, 1e100),
                .of = "reconstruction",
                .help = "the regression that a response in the clear reveals"),
    OPTION_RULE("response-noise", "S", NUMBER, TO(response_noise), OPTION_BETWEEN(0, 1e100),
                .of = "reconstruction", .help = "the noise around that regression"),
    {.help = "Output:"},
    OPTION_RULE("json", NULL, FLAG, TO(json), .help = "one JSON object on one line"),
};

/* Two questions are about the modulated map and have its paper's parameters for
 * defaults. Elsewhere nothing is assumed that would lower a cost. */
static void settle_modulation(struct account_options *options, const struct options_given *given,
                              bool modulated)
{
    static const char *const parameters[] = {"alpha", "lambda", "omega", "vectors", "distance"};
    struct tremolo_modulation *modulation = &options->modulation;
    modulation->alpha = isnan(modulation->alpha) ? (modulated ? 0.5 : 0.0) : modulation->alpha;
    modulation->lambda = isnan(modulation->lambda) ? (modulated ? 0.2 : 0.0) : modulation->lambda;
    if (options_has(given, "neighbours")) {
        options->any_two = !(options->neighbours > 0);
        options->distance = options->any_two ? options->distance : options->neighbours;
        options->modulation_given = !options->any_two;
    }
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++) {
        options->modulation_given |= options_has(given, parameters[i]);
    }
}

/* A study file fixes everything but the delta that its guarantee is told at. */
static int check_study(const struct options_given *given)
{
    static const char *const beside[] = {"study", "delta", "json"};
    for (size_t i = 0; options_has(given, "study") && i < given->count; i++) {
        const char *name = given->rule[i]->name;
        if (tremolo_words_find(name, beside, 3) == 3) {
            return account_fail(CLI_USAGE, "a study fixes its own guarantee; leave --%s", name);
        }
    }
    return CLI_DONE;
}

/* What a ballot costs follows from the law of its rank alone: whom else an option speaks of, or
 * which noise, would not be what is answered. */
static int check_ballot(const struct options_given *given, const struct account_options *options)
{
    static const char *const idle[] = {"sensitivity", "rule",  "force",   "distance",   "alpha",
                                       "lambda",      "omega", "vectors", "known-phase"};
    for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++) {
        if (options_has(given, idle[i])) {
            return account_fail(CLI_USAGE, "--%s has no effect on ballots", idle[i]);
        }
    }
    return options_has(given, "neighbours") && !options->any_two
               ? account_fail(CLI_USAGE, "a ballot protects any two people; leave --neighbours")
               : CLI_DONE;
}

/* ---- questions, in the order of the actions */

static const struct cli_action actions[] = {
    {"sigma", "noise sd needed for (epsilon, delta)", NULL},
    {"epsilon", "smallest epsilon at a delta", NULL},
    {"delta", "smallest delta at an epsilon", NULL},
    {"rho", "zCDP parameter of a noise level, or allowed by (epsilon, delta)", NULL},
    {"tradeoff", "error rates of the best attacker", NULL},
    {"sensitivity", "exact, known-phase and the paper's sensitivity", NULL},
    {"modulation", "what modulation buys along its own directions", NULL},
    {"reconstruction", "how far off a reconstruction must be", NULL},
    {"compare", "T modulated rounds under paper, zcdp and exact", NULL},
    {"explain", "a guarantee in words", NULL},
    {"ballot", "what ballots of an epsilon cost, and with Gaussian releases of --mu", NULL},
};

static const struct {
    int (*answer)(const struct account_options *options);
    bool assumes_delta; /* ACCOUNT_DELTA unless given */
    bool modulated;     /* the paper's modulation unless given */
} questions[] = {
    {account_sigma, true, false},      {account_epsilon, true, false},
    {account_delta, false, false},     {account_rho, false, false},
    {account_tradeoff, false, false},  {account_sensitivities, false, false},
    {account_modulation, false, true}, {account_reconstruction, false, false},
    {account_compare, true, true},     {account_explain, true, false},
    {account_ballot, true, false},
};

static int run(int argc, char **argv)
{
    static struct account_options options; /* lists make it large */
    struct options_given given;
    int code = CLI_DONE;
    memset(&options, 0, sizeof options);
    if (!options_parse(&given, &options, &code, &cli_account, argc, argv)) {
        return code;
    }
    size_t question = (size_t)(given.action - actions);
    settle_modulation(&options, &given, questions[question].modulated);
    options.releases_given = options_has(&given, "releases");
    options.rule_given = options_has(&given, "rule");
    options.delta_assumed =
        questions[question].assumes_delta && isnan(options.delta) && options.study == NULL;
    options.delta = options.delta_assumed ? ACCOUNT_DELTA : options.delta;
    code = check_study(&given);
    if (code == CLI_DONE && questions[question].answer == account_ballot) {
        code = check_ballot(&given, &options);
    }
    return code == CLI_DONE ? questions[question].answer(&options) : code;
}

const struct cli_command cli_account = {
    .name = "account",
    .summary = "what a release costs: sigma, epsilon, delta, rho and more",
    .usage = "account QUESTION [OPTIONS]",
    .about = "Says what a release costs, or what a budget allows, with bounds that are proved.",
    OPTION_TABLE(rules),
    OPTION_ACTIONS(actions),
    .run = run,
};
