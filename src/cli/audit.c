/* audit.c -- `tremolo audit`: what the bytes of this build really give away. */
#include "cli.h"
#include "input.h"
#include "options_loop.h"
#include "progress.h"
#include "tremolo_audit.h"
#include "tremolo_study_file.h"

#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct audit_options {
    const char *study; /* NULL: the built-in one, made for the claim */
    double epsilon;    /* 0: not given, here and below */
    double delta;
    double confidence;
    double fault; /* 1: honest; 1.25: noise 20% below the claim */
    uint64_t pairs;
    uint64_t seed;
    bool seeded;
    unsigned dimension;
    bool json;
};

static const char help_text[] =
    "usage: tremolo audit [--study FILE] [OPTIONS]\n\n"
    "Runs this build's device core on two neighbouring samples, tests the emitted\n"
    "bytes, and compares what they give away with what is claimed.\n\n"
    "  --study FILE      audit the mechanism of a study file, over all its rounds and\n"
    "                    samples, against what it promises\n"
    "  --epsilon E       without a study: the claim to audit, 0.001 to 20 (1)\n"
    "  --delta D         at which it is made, 1e-12 to 0.5 (0.001, or the study's)\n"
    "  --dimension D     without a study: features, 2 to 32 (4)\n"
    "  --pairs N         devices of each of the two people (200000)\n"
    "  --confidence P    of the lower bounds (0.95)\n"
    "  --seed S          repeatable; without it entropy comes from the system\n"
    "  --fault under-noised   feed samples 25% larger than claimed, as if noise\n"
    "                    were 20% too small: the audit must catch it\n"
    "  --json            machine-readable\n\n"
    "Exit 0 when nothing exceeds the claim, 1 when something does.\n";

static json_t *claim_json(const struct tremolo_audit_claim *claim)
{
    char neighbours[48] = "any";
    if (claim->distance > 0.0) {
        (void)snprintf(neighbours, sizeof neighbours, "distance=%g", claim->distance);
    }
    json_t *object = json_pack("{s:f,s:f,s:f,s:s}", "epsilon", claim->epsilon, "delta",
                               claim->delta, "mu", claim->mu, "neighbours", neighbours);
    if (claim->study[0] != '\0') {
        (void)json_object_set_new(object, "study", json_string(claim->study));
    }
    return object;
}

static int print_json(const struct tremolo_audit_result *result,
                      const struct tremolo_audit_plan *plan)
{
    json_t *object = json_pack(
        "{s:o,s:{s:f,s:f,s:f,s:f,s:f},s:f,s:I,s:I,s:{s:f,s:I,s:I},s:{s:f,s:f,s:f,s:f},s:b}",
        "claimed", claim_json(&plan->claim), "measured", "epsilon_lower", result->epsilon_lower,
        "mu_lower", result->mu_lower, "epsilon_lower_gaussian", result->epsilon_by_mu,
        "true_positive_rate", result->true_positive, "false_positive_rate", result->false_positive,
        "confidence", plan->confidence, "pairs", (json_int_t)plan->pairs, "releases",
        (json_int_t)tremolo_audit_releases(plan), "porosity", "p_value", result->porosity_p,
        "values_tested", (json_int_t)result->values_tested, "holes", (json_int_t)result->holes,
        "reconstruction", "mean_squared_error", result->mse, "standard_error", result->mse_error,
        "bound", result->mse_bound, "paper_bound", result->mse_paper, "exceeds_claim",
        (int)result->caught);
    int failed = json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(object);
    (void)putchar('\n');
    return failed != 0 ? CLI_FAILED : CLI_DONE;
}

static void print_claim(const struct tremolo_audit_plan *plan)
{
    const struct tremolo_audit_claim *claim = &plan->claim;
    unsigned long long releases = tremolo_audit_releases(plan);
    if (claim->study[0] != '\0') {
        (void)printf("study %s\n", claim->study);
    }
    (void)printf("%llu pairs of devices, claim: epsilon %g at delta %g (mu %.6g), ",
                 (unsigned long long)plan->pairs, claim->epsilon, claim->delta, claim->mu);
    if (claim->distance > 0.0) {
        (void)printf("people at most %g half ranges apart", claim->distance);
    } else {
        (void)printf("any two people");
    }
    if (releases > 1) {
        (void)printf(", %llu reports of each device together", releases);
    }
    (void)printf("\n\n");
}

static void print_text(const struct tremolo_audit_result *result, double confidence)
{
    (void)printf("epsilon is at least %.4f  (%g%% confidence, no assumption on the mechanism)\n",
                 result->epsilon_lower, 100.0 * confidence);
    (void)printf("epsilon is at least %.4f  (the same, if the trade-off is Gaussian: mu >= %.5f)\n",
                 result->epsilon_by_mu, result->mu_lower);
    (void)printf("porosity: %llu wire values seen from both people, %llu from one only; residues "
                 "p = %.3g\n",
                 (unsigned long long)(result->values_tested - result->holes),
                 (unsigned long long)result->holes, result->porosity_p);
    (void)printf(
        "reconstruction: mean squared error %.5g +- %.2g C^2 per coordinate, bound %.5g, paper's "
        "bound %.5g\n\n",
        result->mse, result->mse_error, result->mse_bound, result->mse_paper);
    (void)printf(result->caught ? "CAUGHT: the bytes give away more than is claimed\n"
                                : "nothing exceeds the claim\n");
}

static bool take_number(double *number, const char *text, double low, double high)
{
    double value = 0.0;
    if (!cli_parse_double(&value, text) || !(value >= low && value <= high)) {
        return false;
    }
    *number = value;
    return true;
}

static bool take_count(uint64_t *count, const char *text, long low, long high)
{
    long value = 0;
    if (!cli_parse_long(&value, text) || value < low || value > high) {
        return false;
    }
    *count = (uint64_t)value;
    return true;
}

/* NULL when the option's value is good, else what it must be. */
static const char *take_option(void *context, int code, const char *text)
{
    struct audit_options *options = context;
    uint64_t count = 0;
    switch (code) {
    case 'S': options->study = text; return NULL;
    case 'e':
        return take_number(&options->epsilon, text, 1e-3, 20.0) ? NULL : "between 0.001 and 20";
    case 'd':
        return take_number(&options->delta, text, 1e-12, 0.5) ? NULL : "between 1e-12 and 0.5";
    case 'c':
        return take_number(&options->confidence, text, 0.5, 1.0 - 1e-12)
                   ? NULL
                   : "at least 0.5 and below 1";
    case 'p':
        return take_count(&options->pairs, text, 100, 1000000000L)
                   ? NULL
                   : "a whole number from 100 to 1000000000";
    case 'n':
        if (!take_count(&count, text, 2, TREMOLO_AUDIT_DIMENSION_MAX)) {
            return "a whole number from 2 to 32";
        }
        options->dimension = (unsigned)count;
        return NULL;
    case 's':
        options->seeded = take_count(&options->seed, text, 0, LONG_MAX);
        return options->seeded ? NULL : "a whole number from 0";
    case 'f':
        options->fault = 1.25;
        return strcmp(text, "under-noised") == 0 ? NULL : "under-noised";
    default: options->json = true; return NULL;
    }
}

static bool parse(struct audit_options *options, int *exit_code, int argc, char **argv)
{
    static const struct option names[] = {
        {"study", required_argument, NULL, 'S'},
        {"epsilon", required_argument, NULL, 'e'},
        {"delta", required_argument, NULL, 'd'},
        {"confidence", required_argument, NULL, 'c'},
        {"pairs", required_argument, NULL, 'p'},
        {"dimension", required_argument, NULL, 'n'},
        {"seed", required_argument, NULL, 's'},
        {"fault", required_argument, NULL, 'f'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    static const struct cli_parser parser = {"audit", help_text, names, take_option};
    *options = (struct audit_options){.confidence = 0.95, .fault = 1.0, .pairs = 200000};
    if (!cli_parse_options(&parser, options, exit_code, argc, argv)) {
        return false;
    }
    if (optind < argc) {
        *exit_code = cli_fail(CLI_USAGE, "audit", "'%s' is not expected here", argv[optind]);
        return false;
    }
    if (options->study != NULL && (options->epsilon > 0.0 || options->dimension > 0)) {
        *exit_code = cli_fail(CLI_USAGE, "audit", "--study has its own --%s",
                              options->epsilon > 0.0 ? "epsilon" : "dimension");
        return false;
    }
    return true;
}

/* What is to be audited, or the exit code after a message. */
static int make_plan(struct tremolo_audit_plan *plan, const struct audit_options *options)
{
    struct tremolo_study_file *file = NULL;
    if (options->study == NULL) {
        enum tremolo_status status = tremolo_audit_plan_make(
            plan, options->epsilon > 0.0 ? options->epsilon : 1.0,
            options->delta > 0.0 ? options->delta : 1e-3,
            options->dimension > 0 ? options->dimension : 4, options->fault);
        return status == TREMOLO_OK
                   ? CLI_DONE
                   : cli_fail(cli_exit_of(status), "audit", "%s", tremolo_status_sentence(status));
    }
    int code = cli_read_study(&file, "audit", options->study);
    if (code != CLI_DONE) {
        return code;
    }
    enum tremolo_status status =
        tremolo_audit_plan_study(plan, file, options->delta, options->fault);
    tremolo_study_file_free(file);
    return status == TREMOLO_OK ? CLI_DONE
                                : cli_fail(cli_exit_of(status), "audit", "%s: %s", options->study,
                                           tremolo_status_sentence(status));
}

int cli_audit(int argc, char **argv)
{
    static struct tremolo_audit_plan plan; /* large, and its study points into it */
    struct audit_options options;
    struct tremolo_audit_result result;
    int code = CLI_DONE;
    if (!parse(&options, &code, argc, argv)) {
        return code;
    }
    code = make_plan(&plan, &options);
    if (code != CLI_DONE) {
        return code;
    }
    plan.pairs = options.pairs;
    plan.confidence = options.confidence;
    plan.seed = options.seed;
    plan.seeded = options.seeded;
    enum tremolo_status status = tremolo_audit_run(&result, &plan, &progress_bar);
    if (status != TREMOLO_OK) {
        return cli_fail(cli_exit_of(status), "audit", "%s", tremolo_status_sentence(status));
    }
    if (options.json) {
        code = print_json(&result, &plan);
    } else {
        print_claim(&plan);
        print_text(&result, plan.confidence);
    }
    return result.caught ? CLI_FAILED : code;
}
