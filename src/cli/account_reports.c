/* account_reports.c -- tables and words: compare, modulation, explain. */
#include "account.h"
#include "study_internal.h"
#include "guarantee_print.h"
#include "files.h"
#include "accountant.h"
#include "explain.h"
#include "tremolo_study_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double or_default(double value, double fallback)
{
    return isnan(value) ? fallback : value;
}

/* ---- compare: T modulated rounds under three calibrations */

struct calibration {
    const char *name;
    enum tremolo_rule rule;
    double sensitivity; /* that the calibration believes in */
};

enum { CALIBRATIONS = 3 };

/* One epsilon under all calibrations, printed or as JSON: sigma per round, and the exact epsilon
 * those rounds really cost. */
static enum tremolo_status compare_row(json_t *rows, const struct calibration *calibrations,
                                       const struct account_options *options, uint64_t releases,
                                       double epsilon, double delta)
{
    double true_sensitivity = calibrations[CALIBRATIONS - 1].sensitivity;
    struct tremolo_certified sigma[CALIBRATIONS], spent[CALIBRATIONS];
    enum tremolo_status status = TREMOLO_OK;
    for (size_t j = 0; j < CALIBRATIONS && status == TREMOLO_OK; j++) {
        status = tremolo_rule_sigma(&sigma[j], calibrations[j].rule, epsilon, delta,
                                    calibrations[j].sensitivity, releases, false);
        if (status == TREMOLO_OK) {
            status = tremolo_rule_epsilon(&spent[j], TREMOLO_RULE_EXACT, sigma[j].upper,
                                          true_sensitivity, releases, delta, false);
        }
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    json_t *row = json_pack("{s:f}", "epsilon", epsilon);
    char line[CALIBRATIONS * 40] = "";
    for (size_t j = 0; j < CALIBRATIONS; j++) {
        size_t used = strlen(line);
        (void)snprintf(line + used, sizeof line - used, "  %10.6f  %8.6g", sigma[j].upper,
                       tremolo_digits_up(spent[j].upper, 6));
        (void)json_object_set_new(
            row, calibrations[j].name,
            json_pack("{s:f,s:f}", "sigma", sigma[j].upper, "epsilon_spent", spent[j].upper));
    }
    if (!options->json) {
        (void)printf("%8g%s\n", epsilon, line);
    }
    (void)json_array_append_new(rows, row);
    return TREMOLO_OK;
}

static void compare_heading(const struct calibration *calibrations,
                            const struct tremolo_modulation *modulation, uint64_t releases,
                            double delta, double distance)
{
    (void)printf("%llu rounds, delta %g, neighbours at distance %g, alpha %g lambda %g omega %g "
                 "m %u\nnoise sd per round, and the epsilon it really costs\n\n%8s",
                 (unsigned long long)releases, delta, distance, modulation->alpha,
                 modulation->lambda, modulation->omega, modulation->vectors, "epsilon");
    for (size_t j = 0; j < CALIBRATIONS; j++) {
        (void)printf("  %10s  %8s", calibrations[j].name, "spent");
    }
    (void)putchar('\n');
}

int account_compare(const struct account_options *options)
{
    static const double epsilons[] = {0.5, 1.0, 2.0, 5.0, 10.0};
    struct tremolo_sensitivity found;
    double delta = options->delta;
    double distance = or_default(options->distance, 1.0);
    uint64_t releases = options->releases > 1 ? options->releases : 10;
    enum tremolo_status status = tremolo_sensitivity_of(&found, &options->modulation, distance);
    if (status != TREMOLO_OK) {
        return account_status(status);
    }
    /* The last one is the truth that the others are measured by. */
    const struct calibration calibrations[CALIBRATIONS] = {
        {"paper", TREMOLO_RULE_ZCDP, found.paper.upper},
        {"zcdp", TREMOLO_RULE_ZCDP, found.exact.upper},
        {"exact", TREMOLO_RULE_EXACT, found.exact.upper},
    };
    if (!options->json) {
        compare_heading(calibrations, &options->modulation, releases, delta, distance);
    }
    json_t *rows = json_array();
    for (size_t i = 0; i < sizeof epsilons / sizeof epsilons[0] && status == TREMOLO_OK; i++) {
        status = compare_row(rows, calibrations, options, releases, epsilons[i], delta);
    }
    json_t *object =
        json_pack("{s:I,s:f,s:o}", "releases", (json_int_t)releases, "delta", delta, "rows", rows);
    if (status == TREMOLO_OK && options->json) {
        return account_print(object);
    }
    json_decref(object);
    return status == TREMOLO_OK ? CLI_DONE : account_status(status);
}

/* ---- modulation: delta along v_j with and without it */

int account_modulation(const struct account_options *options)
{
    double epsilon = or_default(options->epsilon, 1.0);
    double distance = or_default(options->distance, 1.0);
    if (options->sigma.count != 1) {
        return account_fail(CLI_USAGE, "give one --sigma");
    }
    if (options->modulation.vectors == 0) {
        return account_fail(CLI_USAGE, "--vectors 0 is no modulation");
    }
    double sigma = options->sigma.item[0];
    double shift = (1.0 - options->modulation.alpha) * distance;
    double amplitude = options->modulation.lambda / sqrt((double)options->modulation.vectors);
    struct tremolo_pld *pld = NULL;
    struct tremolo_certified with = {0.0, 0.0, 0.0};
    struct tremolo_certified without = {0.0, 0.0, 0.0};
    enum tremolo_status status = tremolo_pld_modulated(&pld, shift, sigma, amplitude, 128);
    if (status == TREMOLO_OK) {
        status = tremolo_pld_delta(&with, pld, options->releases, epsilon);
    }
    tremolo_pld_free(pld);
    if (status == TREMOLO_OK) {
        status = tremolo_rule_delta(&without, TREMOLO_RULE_EXACT, sigma, shift, options->releases,
                                    epsilon, false);
    }
    if (status != TREMOLO_OK) {
        return account_status(status);
    }
    if (options->json) {
        return account_print(json_pack("{s:{s:f,s:f},s:{s:f,s:f},s:f}", "along_v", "lower",
                                       with.lower, "upper", with.upper, "elsewhere", "lower",
                                       without.lower, "upper", without.upper, "epsilon", epsilon));
    }
    (void)printf("at epsilon %g, %llu release(s), neighbours %g apart, alpha %g, lambda %g, %u "
                 "vector(s):\n"
                 "  delta along a modulation vector  between %.6g and %.6g\n"
                 "  delta in any other direction     %.6g (this one is the guarantee)\n",
                 epsilon, (unsigned long long)options->releases, distance,
                 options->modulation.alpha, options->modulation.lambda, options->modulation.vectors,
                 tremolo_digits_down(with.lower, 6), tremolo_digits_up(with.upper, 6),
                 tremolo_digits_up(without.upper, 6));
    return CLI_DONE;
}

/* ---- explain */

static enum tremolo_status promise_mu(double *mu, const struct account_options *options)
{
    struct tremolo_gaussian cost;
    double sensitivity = 0.0;
    if (!isnan(options->epsilon)) { /* of all releases */
        struct tremolo_certified found;
        enum tremolo_status status =
            tremolo_gaussian_mu_for(&found, options->epsilon, options->delta);
        *mu = status == TREMOLO_OK ? found.lower : 0;
        return status;
    }
    if (isnan(options->mu) && !account_sensitivity(&sensitivity, options)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = account_compose(&cost, options, sensitivity);
    *mu = isnan(options->mu) ? tremolo_gaussian_mu(&cost).upper : options->mu;
    return status;
}

static int print_explained(const struct account_options *options,
                           const struct tremolo_explanation *explanation, const char *study,
                           double delta)
{
    json_t *object = guarantee_words_json(explanation);
    if (!options->json) {
        guarantee_print(object, delta);
        json_decref(object);
        return CLI_DONE;
    }
    if (study != NULL) {
        (void)json_object_set_new(object, "study", json_string(study));
    }
    return account_print(object);
}

static int explain_file(const struct account_options *options,
                        const struct tremolo_study_file *file)
{
    struct tremolo_explanation explanation;
    char id[TREMOLO_STUDY_ID_TEXT_BYTES];
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    double delta = or_default(options->delta, terms->delta);
    delta = terms->release == TREMOLO_RELEASE_BALLOT ? 0 : delta;
    enum tremolo_status status = tremolo_study_file_explain(&explanation, file, delta);
    if (status != TREMOLO_OK) {
        return account_status(status);
    }
    tremolo_study_id_text(id, tremolo_study_file_id(file));
    if (!options->json) {
        (void)printf("Study %s: %s\n\n", id, terms->title);
    }
    return print_explained(options, &explanation, id, delta);
}

static int explain_study(const struct account_options *options)
{
    struct tremolo_study_file *file = NULL;
    int code = cli_read_study(&file, "account", options->study);
    if (code == CLI_DONE) {
        code = explain_file(options, file);
    }
    tremolo_study_file_free(file);
    return code;
}

int account_explain(const struct account_options *options)
{
    struct tremolo_explanation explanation;
    if (options->study != NULL) {
        return explain_study(options);
    }
    if (!isnan(options->mu) + !isnan(options->epsilon) + (options->sigma.count > 0) != 1) {
        return account_fail(CLI_USAGE,
                            "give one of --epsilon, --mu, --sigma with --sensitivity, or --study");
    }
    struct tremolo_promise promise = {
        .neighbours = options->any_two ? TREMOLO_NEIGHBOURS_ANY : TREMOLO_NEIGHBOURS_DISTANCE,
        .distance = or_default(options->distance, or_default(options->sensitivity, 1.0)),
        .dimension = options->dimension,
        .releases = options->releases * (options->sigma.count > 0 ? options->sigma.count : 1),
        .delta = options->delta,
        .response_private = options->protect_all,
    };
    bool ballots = options->any_two && !isnan(options->epsilon); /* their release */
    int code = ballots ? account_ballot_law(&promise.law, options) : CLI_DONE;
    if (code != CLI_DONE) {
        return code;
    }
    enum tremolo_status status = ballots ? TREMOLO_OK : promise_mu(&promise.mu, options);
    if (status == TREMOLO_BAD_ARGUMENT) {
        return CLI_USAGE;
    }
    if (status == TREMOLO_OK) {
        status = tremolo_explain(&explanation, &promise);
    }
    if (status != TREMOLO_OK) {
        return account_status(status);
    }
    if (isnan(options->epsilon)) {
        account_print_assumed(options);
    }
    if (options->any_two) { /* the last row is theirs, and no other distance is known */
        explanation.differences[0] = explanation.differences[explanation.difference_count - 1];
        explanation.difference_count = 1;
    }
    return print_explained(options, &explanation, NULL, ballots ? 0 : promise.delta);
}
