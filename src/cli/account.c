/* account.c -- `tremolo account`: what a release costs, or what a budget allows.
 *
 * Each question has a row in `actions` and one in `questions`, and a function that asks the
 * accountant and prints the answer. Options that a question does not use are refused by the table
 * of options (`of`), because an option without an effect would let people believe in one.
 *
 * Every number of the accountant is a proved interval. Plain output names the end that is safe to
 * use first: noise and costs rounded up, allowances rounded down; JSON has both ends. Numbers
 * have 17 digits, so that they read back as the same double.
 *
 * Nothing is assumed silently that would lower a cost: without --delta, --sensitivity or
 * --neighbours the answer says what it took. */
#include "accountant.h"
#include "explain.h"
#include "text.h"
#include "options.h"
#include "study_internal.h"
#include "table.h"

#include <stdio.h>
#include <string.h>

/* Unequal rounds on one command line. */
enum { SIGMAS_MAX = 4096 };

/* Noise levels, standard deviations of one coordinate, in the order of --sigma. All are
 * positive. */
struct sigmas {
    double item[SIGMAS_MAX];
    size_t count;
};

/* In the order of `actions`; the first four have one number for an answer. */
enum question { SIGMA, EPSILON, DELTA, RHO };

/* Numbers that were not given are NaN. A release is one round's report, and (epsilon, delta) and mu
 * are of all releases together, except for the epsilon of `ballot`, which is of one. */
struct account_options {
    double epsilon;
    double delta;
    double sensitivity;
    /* Gaussian differential privacy: telling neighbours apart is as hard as N(0,1) from N(mu,1). */
    double mu;
    double false_positive;
    double neighbours; /* 0: any two people; else how far apart they are at most */
    /* Norm of the coefficients in standard deviations of the response's own noise. */
    double signal;
    struct sigmas sigma;
    struct tremolo_modulation modulation;
    uint64_t releases;
    enum tremolo_rule rule;
    unsigned dimension;
    bool protect_all;
    bool json;
    /* What follows from these, by settle(). */
    size_t question; /* place in `actions` and in `questions` */
    bool delta_assumed;
    double distance;  /* between neighbours; 1 unless given */
    double noise_for; /* --sensitivity, or what modulation leaves of the distance */
};

/* ---- reading options */

/* Read at most `most` numbers with commas between; their count, 0 when something is no number or
 * there are more. `number` may then hold those before it. */
static size_t read_numbers(double *number, size_t most, const char *text)
{
    for (size_t count = 0; count < most;) {
        char piece[64];
        size_t length = strcspn(text, ",");
        (void)snprintf(piece, sizeof piece, "%.*s", (int)length, text);
        if (length >= sizeof piece || !tremolo_table_is_number(piece, &number[count])) {
            return 0;
        }
        count++;
        if (text[length] == '\0') {
            return count;
        }
        text += length + 1;
    }
    return 0;
}

/* --sigma: to a struct sigmas. NULL when good, else what it must be. */
static const char *take_sigmas(void *place, const char *text)
{
    struct sigmas *sigma = place;
    sigma->count = read_numbers(sigma->item, SIGMAS_MAX, text);
    bool good = sigma->count > 0;
    for (size_t i = 0; i < sigma->count; i++) {
        good = good && sigma->item[i] > 0.0;
    }
    return good ? NULL : "positive numbers with commas between";
}

/* --modulation: alpha, lambda, omega and vectors to a struct tremolo_modulation. The last two are 1
 * unless given. Alpha of 1 is refused: nothing of the sample would be left. */
static const char *take_modulation(void *place, const char *text)
{
    static const double most[] = {1.0, 1e100, 1e100, 1e6};
    double number[4] = {0.0, 0.0, 1.0, 1.0};
    bool good = read_numbers(number, 4, text) >= 2;
    for (size_t i = 0; i < 4; i++) {
        good = good && number[i] >= 0.0 && number[i] <= most[i];
    }
    if (!good || number[0] == 1.0 || number[3] < 1.0 || floor(number[3]) != number[3]) {
        return "ALPHA,LAMBDA[,OMEGA[,VECTORS]] with alpha from 0 to below 1, lambda and omega not "
               "negative, and 1 to 1000000 vectors";
    }
    *(struct tremolo_modulation *)place =
        (struct tremolo_modulation){number[0], number[1], number[2], (unsigned)number[3]};
    return NULL;
}

#define TO(member) OPTION_TO(struct account_options, member)

static const struct option_rule rules[] = {
    OPTION_RULE("epsilon", "E", NUMBER, TO(epsilon), OPTION_FROM(0, TREMOLO_EPSILON_MAX),
                .of = "sigma delta rho tradeoff modulation explain ballot",
                .help = "the privacy budget; of one ballot in ballot"),
    OPTION_RULE("delta", "D", NUMBER, TO(delta), OPTION_BETWEEN(1e-300, 1),
                .of = "sigma epsilon rho tradeoff compare explain ballot",
                .help = "all but tradeoff take 1e-5 unless given, and say so"),
    OPTION_RULE("sigma", "S[,S...]", TEXT, TO(sigma), .take = take_sigmas, .excludes = "mu",
                .of = "epsilon delta rho tradeoff modulation reconstruction explain",
                .help = "noise standard deviation, one for each unequal round"),
    OPTION_RULE("mu", "M", NUMBER, TO(mu), OPTION_BETWEEN(0, TREMOLO_MU_MAX),
                .of = "epsilon delta rho tradeoff explain ballot",
                .help = "in place of a noise level: Gaussian privacy of all releases together, "
                        "which is sqrt(2 rho) for rho-zCDP"),
    OPTION_RULE("releases", "T", COUNT, TO(releases), OPTION_FROM(1, TREMOLO_RELEASES_MAX),
                .of = "sigma epsilon delta rho tradeoff modulation reconstruction compare explain "
                      "ballot",
                .otherwise = "1", .help = "equal rounds, or ballots of a device"),
    OPTION_RULE("rule", "NAME", CHOICE, TO(rule), .words = "exact zcdp classical",
                .of = "sigma epsilon delta rho", .otherwise = "exact",
                .help = "how releases are calibrated and composed. zcdp is the conversion epsilon "
                        "= rho + 2 sqrt(rho ln(1/delta)); classical is for sigma, up to an "
                        "epsilon of 1 per release"),
    OPTION_RULE("false-positive", "P", NUMBER, TO(false_positive), OPTION_FROM(0, 1),
                .of = "tradeoff", .otherwise = "0.05", .help = "rate of false alarms"),
    {.help = "What the answer is about:"},
    OPTION_RULE("neighbours", "any|distance=R", TEXT, TO(neighbours),
                .take = options_take_neighbours,
                .of = "sigma epsilon delta rho tradeoff sensitivity modulation compare explain "
                      "ballot",
                .help = "which people are compared: at most so far apart, 1 unless given; any two "
                        "are for explain and ballot"),
    OPTION_RULE("sensitivity", "S", NUMBER, TO(sensitivity), OPTION_BETWEEN(0, 1e300),
                .of = "sigma epsilon delta rho tradeoff explain",
                .help = "the l2 distance between neighbours that the noise has to hide. Without "
                        "it --neighbours and --modulation give it"),
    OPTION_RULE("modulation", "A,L[,W[,M]]", TEXT, TO(modulation), .take = take_modulation,
                .of = "sigma epsilon delta rho tradeoff sensitivity modulation reconstruction "
                      "compare explain",
                .help = "alpha, by which a sample is shrunk, then lambda, omega and number of the "
                        "cosines that are added; 0.5,0.2,1,1 in compare and modulation and none "
                        "elsewhere unless given"),
    OPTION_RULE("protect", "P", CHOICE, TO(protect_all), .words = "features all",
                .of = "explain ballot", .otherwise = "all",
                .help = "whether the response is protected, too, or in the clear"),
    OPTION_RULE("dimension", "D", COUNT, TO(dimension), OPTION_FROM(1, 1000000),
                .of = "reconstruction explain", .otherwise = "8", .help = "number of features"),
    OPTION_RULE("signal", "B", NUMBER, TO(signal), OPTION_FROM(0, 1e100), .of = "reconstruction",
                .help = "the response is in the clear: the norm of the coefficients that it "
                        "follows, in standard deviations of its own noise"),
    OPTION_RULE("json", NULL, FLAG, TO(json), .help = "one JSON object on one line"),
};

/* In the order of `questions`. */
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

/* ---- messages and printing
 *
 * Numbers that are compared with a budget are printed from the end of their interval that is safe:
 * upper for costs and noise, lower for what is allowed. */

#define account_fail(code, ...) cli_fail(code, "account", __VA_ARGS__)
#define account_print(object)   cli_print_json("account", object, false)

/* The exit code of a status, after its message. A request that overflows is a wrong command
 * line. */
static int account_status(enum tremolo_status status)
{
    if (status == TREMOLO_INVALID_CALIBRATION) {
        return account_fail(CLI_REFUSED,
                            "the classical rule is proved for epsilon up to 1 per release and may "
                            "add too little noise beyond; use --rule exact");
    }
    if (status == TREMOLO_OVERFLOWED) {
        return account_fail(CLI_USAGE, "the request is out of range: %s",
                            tremolo_status_sentence(status));
    }
    return cli_fail_status("account", status);
}

/* Was a number given? */
static bool given(double x)
{
    return !isnan(x);
}

/* The value if it was given, else the fallback. */
static double or_default(double value, double fallback)
{
    return given(value) ? value : fallback;
}

/* All releases of --sigma together, or --mu: squares of mu add up. Without either the cost is 0. A
 * --sigma of several values is a round for each, and each is repeated --releases times. */
static enum tremolo_status compose(struct tremolo_gaussian *cost,
                                   const struct account_options *options)
{
    *cost = (struct tremolo_gaussian){0.0, 0.0};
    enum tremolo_status status =
        given(options->mu) ? tremolo_gaussian_add(cost, options->mu, 1.0, 1) : TREMOLO_OK;
    for (size_t i = 0; i < options->sigma.count && status == TREMOLO_OK; i++) {
        status = tremolo_gaussian_add(cost, options->noise_for, options->sigma.item[i],
                                      options->releases);
    }
    return status;
}

/* Say what was not given: delta, and the sensitivity that follows from other options. */
static void print_assumed(const struct account_options *options)
{
    if (options->delta_assumed) {
        (void)printf("assumed: delta %g\n", options->delta);
    }
    if (given(options->mu) || (options->question == RHO && given(options->epsilon))) {
        return; /* no sensitivity is part of the answer */
    }
    (void)printf("assumed: sensitivity %g", options->noise_for);
    if (given(options->sensitivity)) {
        (void)printf(" as given\n");
    } else {
        (void)printf(", from neighbours %g apart and alpha %g\n", options->distance,
                     options->modulation.alpha);
    }
}

/* {"name": value, "lower":, "upper":}: the truth is surely between the last two. The caller
 * frees it; NULL without memory. */
static json_t *interval_json(const char *name, struct tremolo_certified number)
{
    return json_pack("{s:f,s:f,s:f}", name, number.value, "lower", number.lower, "upper",
                     number.upper);
}

/* ---- sigma, epsilon, delta, rho: one number each
 *
 * `sigma` and, with --epsilon, `rho` go from a budget to what it needs or allows; the others go
 * from noise to what it costs. */

/* One number with its rule, its delta and both ends; `safe` is the end to use. */
static int print_number(const struct account_options *options, struct tremolo_certified number,
                        double safe)
{
    static const char *const rule[] = {[TREMOLO_RULE_EXACT] = "exact",
                                       [TREMOLO_RULE_ZCDP] = "zcdp",
                                       [TREMOLO_RULE_CLASSICAL] = "classical"};
    const char *name = actions[options->question].name;
    if (options->json) {
        json_t *object = interval_json(name, number);
        (void)json_object_set_new(object, "rule", json_string(rule[options->rule]));
        if (given(options->delta)) {
            (void)json_object_set_new(object, "delta", json_real(options->delta));
        }
        return account_print(object);
    }
    (void)printf("%s %.17g  (", name, safe);
    if (given(options->delta)) { /* without which most numbers mean nothing */
        (void)printf("at delta %g, ", options->delta);
    }
    (void)printf("between %.17g and %.17g)\n", number.lower, number.upper);
    print_assumed(options);
    return CLI_DONE;
}

/* What noise costs, which noise a budget needs, or which rho it allows. --sigma is a noise level in
 * all questions but `sigma`, where it is the answer. */
static int answer_number(const struct account_options *options)
{
    struct tremolo_gaussian cost;
    struct tremolo_certified number = {0.0, 0.0, 0.0};
    size_t question = options->question;
    enum tremolo_rule rule = options->rule;
    bool noise = options->sigma.count > 0 || given(options->mu);
    bool budget = given(options->epsilon);
    bool allowed = question == RHO && budget; /* not what noise costs, but what a budget allows */
    if ((question == SIGMA || question == DELTA) && !budget) {
        return account_fail(CLI_USAGE, "give --epsilon");
    }
    if (question != SIGMA && noise == allowed) {
        return account_fail(CLI_USAGE, "give one of --sigma%s and --mu",
                            question == RHO ? ", --epsilon" : "");
    }
    if (question != SIGMA && rule == TREMOLO_RULE_CLASSICAL) {
        return account_fail(CLI_USAGE, "the classical rule calibrates noise: it is for sigma");
    }
    enum tremolo_status status = compose(&cost, options);
    if (status == TREMOLO_OK && question == SIGMA) {
        status = tremolo_rule_sigma(&number, rule, options->epsilon, options->delta,
                                    options->noise_for, options->releases);
    } else if (status == TREMOLO_OK && question == EPSILON) {
        status = tremolo_rule_epsilon(&number, rule, &cost, options->delta);
    } else if (status == TREMOLO_OK && question == DELTA) {
        status = tremolo_rule_delta(&number, rule, &cost, options->epsilon);
    } else if (status == TREMOLO_OK && allowed) {
        status = tremolo_rule_rho(&number, rule, options->epsilon, options->delta);
    } else {
        number = tremolo_gaussian_rho(&cost);
    }
    return status == TREMOLO_OK
               ? print_number(options, number, allowed ? number.lower : number.upper)
               : account_status(status);
}

/* ---- tests, sensitivities, reconstruction: several numbers each */

/* One number of an answer that has several. */
struct line {
    const char *key; /* in JSON */
    double value;
    const char *words; /* NULL: not in text */
};

/* All numbers as members of one object, or those with words as lines under a heading. */
static int print_lines(const struct account_options *options, const char *heading,
                       const struct line *line, size_t count)
{
    json_t *object = options->json ? json_object() : NULL;
    if (!options->json) {
        (void)printf("%s\n", heading);
    }
    for (size_t i = 0; i < count; i++) {
        if (options->json) {
            (void)json_object_set_new(object, line[i].key, json_real(line[i].value));
        } else if (line[i].words != NULL) {
            (void)printf("  %.17g  %s\n", line[i].value, line[i].words);
        }
    }
    return options->json ? account_print(object) : CLI_DONE;
}

/* The error rates of the best test, from a noise level or from epsilon and delta alone: *miss is
 * its rate of false negatives at --false-positive, *accuracy how often it is right at even odds. */
static enum tremolo_status rates_of(struct tremolo_certified *miss,
                                    struct tremolo_certified *accuracy,
                                    const struct account_options *options)
{
    struct tremolo_gaussian cost;
    enum tremolo_status status;
    double rate = options->false_positive;
    if (given(options->epsilon)) {
        status = tremolo_tradeoff_budget(miss, options->epsilon, options->delta, rate);
        return status == TREMOLO_OK
                   ? tremolo_attack_accuracy_budget(accuracy, options->epsilon, options->delta)
                   : status;
    }
    status = compose(&cost, options);
    double mu = or_default(options->mu, tremolo_gaussian_mu(&cost).upper);
    if (status == TREMOLO_OK) {
        status = tremolo_tradeoff_gaussian(miss, mu, rate);
    }
    return status == TREMOLO_OK ? tremolo_attack_accuracy(accuracy, mu) : status;
}

/* (epsilon, delta) alone says less than the noise level that has this cost, so exactly one of the
 * three sources is taken, and never the stronger of two. */
static int answer_tradeoff(const struct account_options *options)
{
    struct tremolo_certified miss, right;
    if (given(options->mu) + given(options->epsilon) + (options->sigma.count > 0) != 1 ||
        given(options->epsilon) != given(options->delta)) {
        return account_fail(CLI_USAGE,
                            "give one of --mu, --sigma, and --epsilon with --delta, not several");
    }
    enum tremolo_status status = rates_of(&miss, &right, options);
    if (status != TREMOLO_OK) {
        return account_status(status);
    }
    const struct line lines[] = {
        {"false_positive_rate", options->false_positive, "false positives of a test"},
        {"false_negative_rate", miss.value, NULL},
        {"true_positive_rate", 1.0 - miss.value, NULL},
        {"lower", 1.0 - miss.upper, NULL},
        {"upper", fmin(1.0, nextafter(1.0 - miss.lower, 2.0)), "detected, at most"},
        {"attack_accuracy", right.upper, "of guesses at even odds are right, at most"},
        {"hockey_stick_at_0", 2.0 * right.upper - 1.0, "hockey stick (delta) at epsilon 0"},
    };
    return print_lines(options, "error rates of the best attacker:", lines,
                       sizeof lines / sizeof lines[0]);
}

/* The guarantee rests on `exact`. The others say what it would be if the phases were published, and
 * what the paper proves. */
static int answer_sensitivity(const struct account_options *options)
{
    struct tremolo_sensitivity found;
    enum tremolo_status status =
        tremolo_sensitivity_of(&found, &options->modulation, options->distance);
    if (status != TREMOLO_OK) {
        return account_status(status);
    }
    const struct line lines[] = {
        {"exact", found.exact.upper, "the phase stays on the device"},
        {"known_phase", found.known_phase.upper, "the phase is published"},
        {"paper", found.paper.upper, "the paper's Lipschitz bound L"},
        {"distance", options->distance, "of the neighbours themselves"},
    };
    return print_lines(options, "l2 distance of outputs, at most:", lines, 4);
}

/* Lower bounds of an attacker's mean squared error, so larger is safer. One noise level only: the
 * bounds are for equal rounds. */
static int answer_reconstruction(const struct account_options *options)
{
    struct tremolo_reconstruction bounds;
    const struct tremolo_reconstruction_setup setup = {
        .modulation = options->modulation,
        .dimension = options->dimension,
        .sigma = options->sigma.item[0],
        .releases = options->releases,
        .signal = or_default(options->signal, 0.0),
    };
    if (options->sigma.count != 1 || setup.modulation.vectors > setup.dimension) {
        return account_fail(CLI_USAGE, "give one --sigma, and no more modulation vectors than "
                                       "--dimension");
    }
    enum tremolo_status status = tremolo_reconstruction_bounds(&bounds, &setup);
    if (status != TREMOLO_OK) {
        return account_status(status);
    }
    const struct line lines[] = {
        {"conditional", bounds.conditional, "phase known and at its worst (paper)"},
        {"phase_averaged", bounds.phase_averaged, "averaged over the phase (paper)"},
        {"phase_averaged_trace", bounds.phase_averaged_trace, "the same information, exact trace"},
        {"marginal", bounds.marginal, "phase unknown, exact: binds every unbiased attacker"},
        {"without_response", bounds.without_response,
         "the same, had the response stayed on the device"},
        {"information_along_v", bounds.information_along_v, NULL},
    };
    return print_lines(options, "mean squared error per coordinate, at least:", lines,
                       sizeof lines / sizeof lines[0]);
}

/* ---- modulation: delta along a modulation vector and in other directions */

/* What the modulated release gives away of a shift along one of its vectors. */
static enum tremolo_status delta_along(struct tremolo_certified *delta, double shift,
                                       const struct account_options *options)
{
    const struct tremolo_gaussian none = {0.0, 0.0};
    struct tremolo_losses *losses = NULL;
    double amplitude = options->modulation.lambda / sqrt((double)options->modulation.vectors);
    enum tremolo_status status =
        tremolo_losses_modulated(&losses, shift, options->sigma.item[0], amplitude);
    if (status == TREMOLO_OK) {
        status = tremolo_losses_compose(losses, options->releases);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_losses_delta(delta, losses, &none, options->epsilon);
    }
    tremolo_losses_free(losses);
    return status;
}

/* The guarantee has to hold in every direction, so modulation never lowers the cost that a ledger
 * charges. This shows how much less is given away along its vectors. */
static int answer_modulation(const struct account_options *options)
{
    struct tremolo_certified with, without;
    struct tremolo_gaussian cost = {0.0, 0.0};
    double shift = (1.0 - options->modulation.alpha) * options->distance;
    if (options->sigma.count != 1 || !given(options->epsilon)) {
        return account_fail(CLI_USAGE, "give one --sigma, and --epsilon");
    }
    enum tremolo_status status =
        tremolo_gaussian_add(&cost, shift, options->sigma.item[0], options->releases);
    if (status == TREMOLO_OK) {
        status = tremolo_gaussian_delta(&without, &cost, options->epsilon);
    }
    if (status == TREMOLO_OK) {
        status = delta_along(&with, shift, options);
    }
    if (status != TREMOLO_OK) {
        return account_status(status);
    }
    if (options->json) {
        return account_print(json_pack("{s:{s:f,s:f},s:{s:f,s:f},s:f}", "along_v", "lower",
                                       with.lower, "upper", with.upper, "elsewhere", "lower",
                                       without.lower, "upper", without.upper, "epsilon",
                                       options->epsilon));
    }
    (void)printf("delta along a modulation vector  between %.6g and %.6g\n"
                 "delta in any other direction     %.6g (this one is the guarantee)\n",
                 tremolo_digits_down(with.lower, 6), tremolo_digits_up(with.upper, 6),
                 tremolo_digits_up(without.upper, 6));
    return CLI_DONE;
}

/* ---- compare: modulated rounds under three calibrations */

/* A way to choose the noise for a wanted epsilon. */
struct calibration {
    const char *name;
    enum tremolo_rule rule;
    double sensitivity; /* that the calibration assumes */
};
enum { CALIBRATIONS = 3 }; /* the last one assumes the true sensitivity */

/* Noise per round for one epsilon, and the epsilon that those rounds really cost: a part of a line,
 * or a member of `row`. What is spent is by the exact accountant and the true sensitivity,
 * whatever the calibration assumed. */
static enum tremolo_status compare_one(json_t *row, const struct account_options *options,
                                       const struct calibration *calibration, double epsilon,
                                       double true_sensitivity)
{
    struct tremolo_certified sigma, spent = {0.0, 0.0, 0.0};
    struct tremolo_gaussian cost = {0.0, 0.0};
    enum tremolo_status status =
        tremolo_rule_sigma(&sigma, calibration->rule, epsilon, options->delta,
                           calibration->sensitivity, options->releases);
    if (status == TREMOLO_OK) {
        status = tremolo_gaussian_add(&cost, true_sensitivity, sigma.upper, options->releases);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_gaussian_epsilon(&spent, &cost, options->delta);
    }
    if (status == TREMOLO_OK && !options->json) {
        (void)printf("  %10.6f  %8.6g", sigma.upper, tremolo_digits_up(spent.upper, 6));
    } else if (status == TREMOLO_OK) {
        (void)json_object_set_new(
            row, calibration->name,
            json_pack("{s:f,s:f}", "sigma", sigma.upper, "epsilon_spent", spent.upper));
    }
    return status;
}

/* The paper calibrates for its Lipschitz bound with zCDP; both cost noise that privacy does not
 * need. A row shows what each calibration adds, and what it spends by the exact accountant. */
static int answer_compare(const struct account_options *options)
{
    static const double epsilons[] = {0.5, 1.0, 2.0, 5.0, 10.0};
    const struct tremolo_modulation *modulation = &options->modulation;
    struct tremolo_sensitivity found;
    enum tremolo_status status = tremolo_sensitivity_of(&found, modulation, options->distance);
    const struct calibration calibrations[CALIBRATIONS] = {
        {"paper", TREMOLO_RULE_ZCDP, found.paper.upper},
        {"zcdp", TREMOLO_RULE_ZCDP, found.exact.upper},
        {"exact", TREMOLO_RULE_EXACT, found.exact.upper},
    };
    if (status == TREMOLO_OK && !options->json) {
        (void)printf("%llu rounds, delta %g, neighbours at distance %g, alpha %g lambda %g omega "
                     "%g m %u\nnoise sd per round, and the epsilon it really costs\n\n"
                     " epsilon       paper     spent        zcdp     spent       exact     spent\n",
                     (unsigned long long)options->releases, options->delta, options->distance,
                     modulation->alpha, modulation->lambda, modulation->omega, modulation->vectors);
    }
    json_t *rows = json_array();
    for (size_t i = 0; i < sizeof epsilons / sizeof epsilons[0] && status == TREMOLO_OK; i++) {
        json_t *row = json_pack("{s:f}", "epsilon", epsilons[i]);
        if (!options->json) {
            (void)printf("%8g", epsilons[i]);
        }
        for (size_t j = 0; j < CALIBRATIONS && status == TREMOLO_OK; j++) {
            status = compare_one(row, options, &calibrations[j], epsilons[i], found.exact.upper);
        }
        if (!options->json) {
            (void)putchar('\n');
        }
        (void)json_array_append_new(rows, row);
    }
    json_t *object = json_pack("{s:I,s:f,s:o}", "releases", (json_int_t)options->releases, "delta",
                               options->delta, "rows", rows);
    if (status == TREMOLO_OK && options->json) {
        return account_print(object);
    }
    json_decref(object);
    return status == TREMOLO_OK ? CLI_DONE : account_status(status);
}

/* ---- ballots */

/* The law of the rank for --epsilon of one ballot, or a message. A missing epsilon is NaN, which
 * the comparison refuses as well. */
static int take_law(struct tremolo_rank_law *law, const struct account_options *options)
{
    if (!(options->epsilon >= TREMOLO_RANK_EPSILON_MIN &&
          options->epsilon <= TREMOLO_RANK_EPSILON_MAX)) {
        return account_fail(CLI_USAGE, "give --epsilon of one ballot, from %g to %g",
                            TREMOLO_RANK_EPSILON_MIN, TREMOLO_RANK_EPSILON_MAX);
    }
    enum tremolo_status status = tremolo_rank_law_for(law, options->epsilon);
    return status == TREMOLO_OK ? CLI_DONE : account_status(status);
}

/* What one ballot costs, and how often an attacker is right. Members go to `object` with --json. */
static int print_ballot(json_t *object, const struct account_options *options,
                        const struct tremolo_rank_law *law)
{
    struct tremolo_certified epsilon;
    struct tremolo_rank_attack attack;
    double scale = 0.0;
    char right[3][TREMOLO_PERCENT_BYTES];
    enum tremolo_status status = tremolo_rank_epsilon(&epsilon, law);
    if (status == TREMOLO_OK) {
        status = tremolo_rank_attack(&attack, law);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_rank_scale(&scale, law);
    }
    if (status != TREMOLO_OK) {
        return account_status(status);
    }
    if (options->json) {
        (void)json_object_update_new(object, interval_json("epsilon", epsilon));
        (void)json_object_update_new(
            object, json_pack("{s:I,s:I,s:f,s:{s:f,s:f,s:f}}", "first", (json_int_t)law->first,
                              "top", (json_int_t)law->top, "scale", scale, "attacker_right", "any",
                              attack.any.upper, "correlated", attack.correlated.upper, "budget",
                              attack.budget.upper));
        return CLI_DONE;
    }
    (void)printf("epsilon %.17g, delta 0: any two samples, %s\n"
                 "law     with probability %u / 2^32 uniform among the %u answers of 256 that fit "
                 "best, else among the others\n"
                 "noise   variance %.4g of one decoded product of a point of norm 1\n"
                 "attacker right at most\n"
                 "  %6s  whatever the two samples are\n"
                 "  %6s  on average over reports' ids, if directions are normal and the "
                 "points' product is not negative\n"
                 "  %6s  by epsilon alone\n",
                 epsilon.upper,
                 options->protect_all ? "features and response alike"
                                      : "their features; the response is in the clear",
                 law->top, law->first, scale * scale,
                 tremolo_percent_text(right[0], attack.any.upper, true),
                 tremolo_percent_text(right[1], attack.correlated.upper, true),
                 tremolo_percent_text(right[2], attack.budget.upper, true));
    return CLI_DONE;
}

/* What several cost together, or with Gaussian releases. The exact composition is shown next to the
 * sum that a device's ledger charges, so that the price of simple bookkeeping is visible. */
static int print_together(json_t *object, const struct account_options *options,
                          const struct tremolo_ballots *ballots)
{
    struct tremolo_gaussian releases;
    struct tremolo_mixture_cost cost;
    enum tremolo_status status = compose(&releases, options);
    if (status == TREMOLO_OK) {
        status = tremolo_mixture_epsilon(&cost, ballots, &releases, options->delta);
    }
    if (status != TREMOLO_OK) {
        return account_status(status);
    }
    if (options->json) {
        (void)json_object_set_new(
            object, "together",
            json_pack("{s:I,s:f,s:o,s:f,s:f,s:f}", "ballots", (json_int_t)options->releases,
                      "delta", options->delta, "exact", interval_json("epsilon", cost.exact), "sum",
                      cost.sum, "pure", cost.pure, "gaussian", cost.gaussian));
        return CLI_DONE;
    }
    (void)printf("%llu ballot(s)", (unsigned long long)options->releases);
    if (cost.gaussian > 0) {
        (void)printf(" and Gaussian releases of mu %g", options->mu);
    }
    bool composed = cost.exact.lower > 0.0 || cost.exact.upper < cost.sum;
    (void)printf(" together, at delta %g\n  epsilon %.17g  %s\n  epsilon %.17g  as a "
                 "ledger adds up, pure epsilons and epsilon(mu, delta)\n",
                 options->delta, cost.exact.upper,
                 composed ? "composed exactly" : "at most; so many are not composed exactly",
                 cost.sum);
    return CLI_DONE;
}

/* A ballot's cost follows from the law of its rank alone. The law is the one that a study of this
 * epsilon has. */
static int answer_ballot(const struct account_options *options)
{
    struct tremolo_ballots ballots = {.count = options->releases};
    if (options->neighbours > 0.0) {
        return account_fail(CLI_USAGE, "a ballot protects any two people; leave --neighbours");
    }
    int code = take_law(&ballots.law, options);
    json_t *object = json_object();
    if (code == CLI_DONE) {
        code = print_ballot(object, options, &ballots.law);
    }
    if (code == CLI_DONE && (options->releases > 1 || given(options->mu))) {
        code = print_together(object, options, &ballots);
    }
    if (code == CLI_DONE && options->json) {
        return account_print(object);
    }
    json_decref(object);
    return code;
}

/* ---- explain
 *
 * The words are those of the library, which studies and results show as well. */

/* mu of what the options say: of all releases. From --epsilon it is the largest mu that surely fits
 * the budget, and from noise the upper end of what it costs. */
static enum tremolo_status promised_mu(double *mu, const struct account_options *options)
{
    struct tremolo_certified found;
    struct tremolo_gaussian cost;
    enum tremolo_status status = compose(&cost, options);
    *mu = or_default(options->mu, tremolo_gaussian_mu(&cost).upper);
    if (given(options->epsilon)) {
        status = tremolo_gaussian_mu_for(&found, options->epsilon, options->delta);
        *mu = status == TREMOLO_OK ? found.lower : 0.0;
    }
    return status;
}

/* An epsilon for any two people is that of a ballot, which alone protects them; for people at a
 * distance it is that of all Gaussian releases. */
static int answer_explain(const struct account_options *options)
{
    struct tremolo_explanation explanation;
    bool ballots = options->neighbours == 0.0 && given(options->epsilon); /* their release */
    struct tremolo_promise promise = {
        .neighbours =
            options->neighbours == 0.0 ? TREMOLO_NEIGHBOURS_ANY : TREMOLO_NEIGHBOURS_DISTANCE,
        .distance =
            options->neighbours > 0.0 ? options->distance : or_default(options->sensitivity, 1.0),
        .dimension = options->dimension,
        .releases = options->releases * (options->sigma.count > 0 ? options->sigma.count : 1),
        .delta = options->delta,
        .response_private = options->protect_all,
    };
    if (given(options->mu) + given(options->epsilon) + (options->sigma.count > 0) != 1) {
        return account_fail(CLI_USAGE, "give one of --epsilon, --mu and --sigma");
    }
    int code = ballots ? take_law(&promise.law, options) : CLI_DONE;
    if (code != CLI_DONE) {
        return code;
    }
    enum tremolo_status status = ballots ? TREMOLO_OK : promised_mu(&promise.mu, options);
    if (status == TREMOLO_OK) {
        status = tremolo_explain(&explanation, &promise);
    }
    if (status != TREMOLO_OK) {
        return account_status(status);
    }
    if (options->neighbours == 0.0) { /* the last row is theirs, and no other distance is known */
        explanation.differences[0] = explanation.differences[explanation.difference_count - 1];
        explanation.difference_count = 1;
    }
    json_t *object = guarantee_words_json(&explanation);
    if (options->json) {
        return account_print(object);
    }
    if (!given(options->epsilon)) {
        print_assumed(options);
    }
    text_guarantee(stdout, object, ballots ? 0.0 : promise.delta);
    json_decref(object);
    return CLI_DONE;
}

/* ---- questions, in the order of the actions */

/* What settle() fills in before a question is answered. */
static const struct {
    int (*answer)(const struct account_options *options);
    bool assumes_delta; /* 1e-5 unless given */
    bool modulated;     /* the paper's modulation unless given */
    bool promise;       /* of any two people, too, and --mu may be one of --releases */
    uint64_t releases;  /* unless given; 0: one */
} questions[] = {
    {.answer = answer_number, .assumes_delta = true},
    {.answer = answer_number, .assumes_delta = true},
    {.answer = answer_number},
    {.answer = answer_number, .assumes_delta = true},
    {.answer = answer_tradeoff},
    {.answer = answer_sensitivity},
    {.answer = answer_modulation, .modulated = true},
    {.answer = answer_reconstruction},
    {.answer = answer_compare, .assumes_delta = true, .modulated = true, .releases = 10},
    {.answer = answer_explain, .assumes_delta = true, .promise = true},
    {.answer = answer_ballot, .assumes_delta = true, .promise = true},
};

/* Fill in what was not given, and refuse what would be ignored. The order matters: the distance
 * gives the sensitivity, which gives what the noise has to hide. */
static int settle(struct account_options *options, const struct options_given *words)
{
    static const struct tremolo_modulation paper = {0.5, 0.2, 1.0, 1}, none = {0.0, 0.0, 1.0, 0};
    struct tremolo_sensitivity found = {0};
    size_t question = options->question = (size_t)(words->action - actions);
    if (!options_has(words, "modulation")) {
        options->modulation = questions[question].modulated ? paper : none;
    }
    if (!options_has(words, "releases") && questions[question].releases > 0) {
        options->releases = questions[question].releases;
    }
    if (!options_has(words, "neighbours")) {
        options->neighbours = (double)NAN;
    }
    options->distance = options->neighbours > 0.0 ? options->neighbours : 1.0;
    enum tremolo_status status =
        tremolo_sensitivity_of(&found, &options->modulation, options->distance);
    options->noise_for = or_default(options->sensitivity, found.exact.upper);
    if (status != TREMOLO_OK) {
        return account_status(status);
    }
    bool noise = question == RHO && !given(options->epsilon); /* its rho has no delta */
    options->delta_assumed = questions[question].assumes_delta && !given(options->delta) && !noise;
    options->delta = options->delta_assumed ? TREMOLO_POLICY_DELTA : options->delta;
    if (questions[question].promise) {
        return CLI_DONE;
    }
    if (given(options->mu) && options_has(words, "releases")) {
        return account_fail(CLI_USAGE, "--mu is the total of all releases; leave --releases");
    }
    return options->neighbours == 0.0
               ? account_fail(CLI_USAGE, "any two people have no distance; say --neighbours "
                                         "distance=R")
               : CLI_DONE;
}

static int run(int argc, char **argv)
{
    static struct account_options options; /* the list of sigmas makes it large */
    struct options_given words;
    int code = CLI_DONE;
    memset(&options, 0, sizeof options);
    if (!options_parse(&words, &options, &code, &cli_account, argc, argv)) {
        return code;
    }
    code = settle(&options, &words);
    return code == CLI_DONE ? questions[options.question].answer(&options) : code;
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
