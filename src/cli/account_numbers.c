/* account_numbers.c -- the questions of `tremolo account` with one number
 * for an answer.
 *
 * Plain output names the number to use first and the proved interval after
 * it; JSON carries value, lower and upper. Numbers have 17 digits, so they
 * read back as the same double. */
#include "accountant.h"
#include "account.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void account_put(json_t *object, const char *name, struct tremolo_certified number)
{
    (void)json_object_set_new(object, name, json_real(number.value));
    (void)json_object_set_new(object, "lower", json_real(number.lower));
    (void)json_object_set_new(object, "upper", json_real(number.upper));
}

static bool given(double x)
{
    return !isnan(x);
}

static int missing(const char *what)
{
    return account_fail(CLI_USAGE, "give %s", what);
}

bool account_sensitivity(double *sensitivity, const struct account_options *options)
{
    if (given(options->sensitivity)) {
        *sensitivity = options->sensitivity;
        return true;
    }
    struct tremolo_sensitivity found;
    double distance = given(options->distance) ? options->distance : 1.0;
    enum tremolo_status status = tremolo_sensitivity_of(&found, &options->modulation, distance);
    if (status != TREMOLO_OK) {
        (void)account_status(status);
        return false;
    }
    *sensitivity = options->known_phase ? found.known_phase.upper : found.exact.upper;
    return true;
}

void account_print_assumed(const struct account_options *options)
{
    const struct tremolo_modulation *modulation = &options->modulation;
    double sensitivity = 0.0;
    bool told = given(options->mu) || given(options->rho);
    if (options->json) {
        return;
    }
    if (options->delta_assumed) {
        (void)printf("assumed: delta %g\n", options->delta);
    }
    if (told || !account_sensitivity(&sensitivity, options)) {
        return;
    }
    if (given(options->sensitivity)) {
        (void)printf("assumed: sensitivity %g as given\n", sensitivity);
        return;
    }
    (void)printf("assumed: sensitivity %g, from neighbours %g apart and alpha %g", sensitivity,
                 given(options->distance) ? options->distance : 1.0, modulation->alpha);
    if (options->known_phase) {
        (void)printf(", lambda %g, omega %g and %u vector(s), phase known", modulation->lambda,
                     modulation->omega, modulation->vectors);
    }
    (void)printf("\n");
}

/* The noise of a question about its cost may be told in several ways. Two at
 * once, or a number of releases beside a total, would leave one of them out
 * and understate the cost. */
static int check_one_source(const struct account_options *options)
{
    if ((options->sigma.count > 0) + given(options->rho) + given(options->mu) > 1) {
        return account_fail(CLI_USAGE, "give one of --sigma, --rho and --mu, not several");
    }
    if (options->releases_given && (given(options->rho) || given(options->mu))) {
        return account_fail(CLI_USAGE, "--%s is the total of all releases; leave --releases",
                            given(options->rho) ? "rho" : "mu");
    }
    return CLI_DONE;
}

/* ---- sigma */

/* Round t gets the share w_t/W of mu^2: sigma_t = sigma_1 sqrt(W/w_t), where
 * sigma_1 is the noise of a single release with the whole budget. */
static int print_sigma_list(const struct account_options *options, struct tremolo_certified whole)
{
    const struct account_list *weights = &options->weights;
    double total = 0.0;
    for (size_t i = 0; i < weights->count; i++) {
        total += weights->item[i];
    }
    json_t *list = json_array();
    for (size_t i = 0; i < weights->count; i++) {
        /* The sum and four roundings, outward. */
        double sigma = whole.upper * sqrt(total / weights->item[i]) *
                       (1.0 + 0x1p-52 * (4.0 + (double)weights->count));
        if (!isfinite(sigma)) {
            json_decref(list);
            return account_status(TREMOLO_OVERFLOWED);
        }
        (void)json_array_append_new(list, json_real(sigma));
    }
    for (size_t i = 0; i < weights->count && !options->json; i++) {
        (void)printf("round %zu: sigma %.17g\n", i + 1, json_real_value(json_array_get(list, i)));
    }
    account_print_assumed(options);
    json_t *object =
        json_pack("{s:o,s:s}", "sigma", list, "rule", account_rule_name(options->rule));
    if (options->json) {
        return account_print(object);
    }
    json_decref(object);
    return CLI_DONE;
}

int account_sigma(const struct account_options *options)
{
    double sensitivity = 0.0;
    if (!given(options->epsilon)) {
        return missing("--epsilon");
    }
    if (!account_sensitivity(&sensitivity, options)) {
        return CLI_USAGE;
    }
    bool unequal = options->weights.count > 0;
    if (unequal && options->releases_given) {
        return account_fail(CLI_USAGE, "each of --weights is a round; leave --releases");
    }
    if (unequal && options->rule == TREMOLO_RULE_CLASSICAL) {
        return account_fail(CLI_USAGE, "the classical rule has no unequal rounds; leave --weights");
    }
    struct tremolo_certified sigma;
    enum tremolo_status status =
        tremolo_rule_sigma(&sigma, options->rule, options->epsilon, options->delta, sensitivity,
                           unequal ? 1 : options->releases, options->force);
    if (status != TREMOLO_OK) {
        return account_status(status);
    }
    if (unequal) {
        return print_sigma_list(options, sigma);
    }
    bool proved =
        options->rule != TREMOLO_RULE_CLASSICAL || options->epsilon <= (double)options->releases;
    if (options->json) {
        return account_print(json_pack(
            "{s:f,s:f,s:f,s:s,s:b}", "sigma", sigma.value, "lower", sigma.lower, "upper",
            sigma.upper, "rule", account_rule_name(options->rule), "guaranteed", (int)proved));
    }
    (void)printf("sigma %.17g  (%s rule, rounded up; the least is above %.17g)%s\n", sigma.upper,
                 account_rule_name(options->rule), sigma.lower,
                 proved ? "" : "  NOT A GUARANTEE: epsilon exceeds 1 per release");
    account_print_assumed(options);
    return CLI_DONE;
}

/* ---- the cost of given noise */

enum tremolo_status account_compose(struct tremolo_gaussian *cost,
                                    const struct account_options *options, double sensitivity)
{
    *cost = (struct tremolo_gaussian){0.0, 0.0};
    if (given(options->mu)) { /* the total, told as one release of unit noise */
        return tremolo_gaussian_add(cost, options->mu, 1.0, 1);
    }
    for (size_t i = 0; i < options->sigma.count; i++) {
        enum tremolo_status status =
            tremolo_gaussian_add(cost, sensitivity, options->sigma.item[i], options->releases);
        if (status != TREMOLO_OK) {
            return status;
        }
    }
    return TREMOLO_OK;
}

static int print_bound(const struct account_options *options, const char *name,
                       struct tremolo_certified number)
{
    char at[40] = "";
    bool is_epsilon = strcmp(name, "epsilon") == 0; /* which means nothing without its delta */
    if (options->json) {
        return account_print(json_pack("{s:f,s:f,s:f,s:o*}", name, number.value, "lower",
                                       number.lower, "upper", number.upper, "delta",
                                       is_epsilon ? json_real(options->delta) : NULL));
    }
    if (is_epsilon) {
        (void)snprintf(at, sizeof at, "at delta %g, ", options->delta);
    }
    (void)printf("%s %.17g  (%sbetween %.17g and %.17g)\n", name, number.upper, at, number.lower,
                 number.upper);
    account_print_assumed(options);
    return CLI_DONE;
}

int account_print_or_fail(const struct account_options *options, const char *name,
                          enum tremolo_status status, struct tremolo_certified number)
{
    return status == TREMOLO_OK ? print_bound(options, name, number) : account_status(status);
}

static enum tremolo_conversion conversion_of(const struct account_options *options)
{
    return options->rule == TREMOLO_RULE_ZCDP ? TREMOLO_CONVERSION_PAPER : TREMOLO_CONVERSION_TIGHT;
}

static int from_noise(const struct account_options *options, bool want_epsilon)
{
    double sensitivity = 0.0;
    struct tremolo_certified bound = {0.0, 0.0, 0.0};
    enum tremolo_status status = TREMOLO_OK;
    if (options->sigma.count == 0 && !given(options->mu)) {
        return missing("--sigma, --rho or --mu");
    }
    if (!given(options->mu) && !account_sensitivity(&sensitivity, options)) {
        return CLI_USAGE;
    }
    if (options->sigma.count != 1 && options->rule == TREMOLO_RULE_CLASSICAL) {
        return account_fail(CLI_USAGE, "the classical rule takes one --sigma, for all rounds");
    }
    double sigma = options->sigma.item[0];
    if (options->sigma.count != 1) { /* all releases together: every other rule has that */
        struct tremolo_gaussian cost;
        status = account_compose(&cost, options, sensitivity);
        if (status == TREMOLO_OK) {
            status = want_epsilon
                         ? tremolo_composed_epsilon(&bound, options->rule, &cost, options->delta)
                         : tremolo_composed_delta(&bound, options->rule, &cost, options->epsilon);
        }
    } else if (want_epsilon) {
        status = tremolo_rule_epsilon(&bound, options->rule, sigma, sensitivity, options->releases,
                                      options->delta, options->force);
    } else {
        status = tremolo_rule_delta(&bound, options->rule, sigma, sensitivity, options->releases,
                                    options->epsilon, options->force);
    }
    return account_print_or_fail(options, want_epsilon ? "epsilon" : "delta", status, bound);
}

/* Epsilon at a delta, or delta at an epsilon, from whatever tells the noise. */
static int from_source(const struct account_options *options, bool want_epsilon)
{
    struct tremolo_certified bound = {0.0, 0.0, 0.0};
    int sources = check_one_source(options);
    if (sources != CLI_DONE) {
        return sources;
    }
    if (!given(options->rho)) {
        return from_noise(options, want_epsilon);
    }
    enum tremolo_conversion conversion = conversion_of(options);
    enum tremolo_status status =
        want_epsilon ? tremolo_zcdp_epsilon(&bound, conversion, options->rho, options->delta)
                     : tremolo_zcdp_delta(&bound, conversion, options->rho, options->epsilon);
    return account_print_or_fail(options, want_epsilon ? "epsilon" : "delta", status, bound);
}

int account_epsilon(const struct account_options *options)
{
    return from_source(options, true);
}

int account_delta(const struct account_options *options)
{
    return given(options->epsilon) ? from_source(options, false) : missing("--epsilon");
}

int account_rho(const struct account_options *options)
{
    double sensitivity = 0.0;
    struct tremolo_certified rho = {0.0, 0.0, 0.0};
    struct tremolo_gaussian cost = {0.0, 0.0};
    if (options->sigma.count > 0 || given(options->mu)) {
        int sources = check_one_source(options);
        if (sources != CLI_DONE) {
            return sources;
        }
        if (!given(options->mu) && !account_sensitivity(&sensitivity, options)) {
            return CLI_USAGE;
        }
        enum tremolo_status status = account_compose(&cost, options, sensitivity);
        return account_print_or_fail(options, "rho", status, tremolo_gaussian_rho(&cost));
    }
    if (!given(options->epsilon)) {
        return missing("--sigma, --mu or --epsilon");
    }
    double delta = given(options->delta) ? options->delta : ACCOUNT_DELTA;
    enum tremolo_status status =
        tremolo_zcdp_rho(&rho, conversion_of(options), options->epsilon, delta);
    if (status != TREMOLO_OK) {
        return account_status(status);
    }
    if (options->json) {
        return print_bound(options, "rho", rho);
    }
    (void)printf("rho %.17g  (allowed; the most is below %.17g)\n", rho.lower, rho.upper);
    if (!given(options->delta)) {
        (void)printf("assumed: delta %g\n", delta);
    }
    return CLI_DONE;
}

/* ---- tests, sensitivities, reconstruction */

/* A bound in twelve digits, never on the wrong side of `value`: at least it with
 * `sign` 1, at most with -1. */
static const char *bound_text(char text[32], double value, double sign)
{
    double unit = value > 0.0 ? pow(10.0, floor(log10(value)) - 11.0) : 0.0;
    (void)snprintf(text, 32, "%.12g", value);
    for (double more = 0.5; sign * strtod(text, NULL) < sign * value; more += 0.5) {
        (void)snprintf(text, 32, "%.12g", value + sign * more * unit);
    }
    return text;
}

int account_tradeoff(const struct account_options *options)
{
    double mu = options->mu;
    double sensitivity = 0.0;
    bool by_budget = given(options->epsilon) && given(options->delta);
    if (given(mu) + by_budget + (options->sigma.count > 0) > 1) {
        return account_fail(CLI_USAGE,
                            "give one of --mu, --sigma, and --epsilon with --delta, not several");
    }
    double rate = options->false_positive;
    enum tremolo_status status = TREMOLO_OK;
    if (!given(mu) && !by_budget) {
        if (options->sigma.count == 0) {
            return missing("--mu, --sigma and --sensitivity, or --epsilon and --delta");
        }
        if (!account_sensitivity(&sensitivity, options)) {
            return CLI_USAGE;
        }
        struct tremolo_gaussian cost;
        status = account_compose(&cost, options, sensitivity);
        mu = tremolo_gaussian_mu(&cost).upper;
    }
    struct tremolo_certified miss = {0.0, 0.0, 0.0};
    struct tremolo_certified accuracy = {0.0, 0.0, 0.0};
    if (status == TREMOLO_OK && given(mu)) {
        status = tremolo_tradeoff_gaussian(&miss, mu, rate);
        status = status == TREMOLO_OK ? tremolo_attack_accuracy(&accuracy, mu) : status;
    } else if (status == TREMOLO_OK) {
        status = tremolo_tradeoff_budget(&miss, options->epsilon, options->delta, rate);
        status = status == TREMOLO_OK
                     ? tremolo_attack_accuracy_budget(&accuracy, options->epsilon, options->delta)
                     : status;
    }
    if (status != TREMOLO_OK) {
        return account_status(status);
    }
    if (options->json) {
        return account_print(json_pack(
            "{s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "true_positive_rate", 1.0 - miss.value, "lower",
            1.0 - miss.upper, "upper", fmin(1.0, nextafter(1.0 - miss.lower, 2.0)),
            "false_positive_rate", rate, "false_negative_rate", miss.value, "attack_accuracy",
            accuracy.upper, "hockey_stick_at_0", 2.0 * accuracy.upper - 1.0));
    }
    char missed[32], found[32], right[32];
    (void)printf("false positives %.6g: any test misses at least %s, so detects at most %s\n"
                 "at even odds an attacker is right at most %s of the time\n",
                 rate, bound_text(missed, miss.lower, -1.0),
                 bound_text(found, fmin(1.0, nextafter(1.0 - miss.lower, 2.0)), 1.0),
                 bound_text(right, accuracy.upper, 1.0));
    return CLI_DONE;
}

int account_sensitivities(const struct account_options *options)
{
    struct tremolo_sensitivity found;
    double distance = given(options->distance) ? options->distance : 1.0;
    enum tremolo_status status = tremolo_sensitivity_of(&found, &options->modulation, distance);
    if (status != TREMOLO_OK) {
        return account_status(status);
    }
    if (options->json) {
        return account_print(json_pack("{s:f,s:f,s:f,s:f}", "exact", found.exact.upper,
                                       "known_phase", found.known_phase.upper, "paper",
                                       found.paper.upper, "distance", distance));
    }
    (void)printf("exact        %.12g  (the phase stays on the device)\n"
                 "known phase  %.12g  (the phase is published)\n"
                 "paper        %.12g  (Lipschitz bound L)\n",
                 found.exact.upper, found.known_phase.upper, found.paper.upper);
    return CLI_DONE;
}

static struct tremolo_reconstruction_setup setup_of(const struct account_options *options)
{
    bool response = given(options->coefficient_norm) && !options->protect_all;
    struct tremolo_reconstruction_setup setup = {
        options->modulation,
        options->dimension,
        options->sigma.item[0],
        options->releases,
        response,
        response ? options->coefficient_norm : 0.0,
        response && given(options->response_noise) ? options->response_noise : 1.0,
        given(options->prior_sd) ? options->prior_sd : 0.0,
    };
    return setup;
}

int account_reconstruction(const struct account_options *options)
{
    struct tremolo_reconstruction bounds;
    if (options->sigma.count != 1) {
        return missing("one --sigma (and --dimension, --alpha, --lambda, --omega, --vectors)");
    }
    if (options->modulation.vectors > options->dimension) {
        return account_fail(CLI_USAGE, "--vectors must not exceed --dimension");
    }
    struct tremolo_reconstruction_setup setup = setup_of(options);
    enum tremolo_status status = tremolo_reconstruction_bounds(&bounds, &setup);
    if (status != TREMOLO_OK) {
        return account_status(status);
    }
    if (options->json) {
        return account_print(json_pack(
            "{s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "conditional", bounds.conditional, "phase_averaged",
            bounds.phase_averaged, "phase_averaged_trace", bounds.phase_averaged_trace, "marginal",
            bounds.marginal, "bayes", bounds.bayes, "without_response", bounds.without_response,
            "information_along_v", bounds.information_along_v));
    }
    (void)printf("mean squared error per coordinate, at least:\n"
                 "  %.10g  phase known and at its worst (paper)\n"
                 "  %.10g  averaged over the phase (paper)\n"
                 "  %.10g  the same information, exact trace\n"
                 "  %.10g  phase unknown, exact: binds every unbiased attacker\n"
                 "  %.10g  the same, had the response stayed on the device\n",
                 bounds.conditional, bounds.phase_averaged, bounds.phase_averaged_trace,
                 bounds.marginal, bounds.without_response);
    if (setup.prior_sd > 0.0) {
        (void)printf("  %.10g  any attacker with a prior of sd %g (Bayes)\n", bounds.bayes,
                     setup.prior_sd);
    }
    return CLI_DONE;
}
