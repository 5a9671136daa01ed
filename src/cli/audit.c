/* audit.c -- `tremolo audit`: what the bytes of this build really give away. */
#include "cli.h"
#include "files.h"
#include "options.h"
#include "progress.h"
#include "tremolo_audit.h"
#include "tremolo_study_file.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

struct audit_options {
    const char *study; /* NULL: the built-in one, made for the claim */
    double epsilon;    /* NaN: not given, as is the next */
    double delta;
    double confidence;
    bool under_noised;
    bool ballot;
    uint64_t pairs;
    uint64_t seed;
    unsigned dimension; /* 0: not given */
    bool json;
};

#define TO(member) OPTION_TO(struct audit_options, member)

static const struct option_rule rules[] = {
    OPTION_RULE("study", "FILE", TEXT, TO(study),
                .help = "audit the mechanism of a study file, over all its rounds and samples, "
                        "against what it promises"),
    OPTION_RULE("release", "R", CHOICE, TO(ballot), .words = "sample ballot", .otherwise = "sample",
                .excludes = "study",
                .help = "what the built-in study asks for: the noisy sample, or a ballot"),
    OPTION_RULE("epsilon", "E", NUMBER, TO(epsilon), OPTION_FROM(0.001, 20), .excludes = "study",
                .help = "the claim to audit; 1 unless given"),
    OPTION_RULE("delta", "D", NUMBER, TO(delta), OPTION_FROM(1e-12, 0.5),
                .help = "at which it is made; 0.001 unless given, or the study's"),
    OPTION_RULE("dimension", "D", COUNT, TO(dimension), OPTION_FROM(2, TREMOLO_AUDIT_DIMENSION_MAX),
                .excludes = "study", .help = "number of features; 4 unless given"),
    OPTION_RULE("pairs", "N", COUNT, TO(pairs), OPTION_FROM(100, 1e9), .otherwise = "200k",
                .help = "devices of each of the two people"),
    OPTION_RULE("confidence", "P", NUMBER, TO(confidence), OPTION_BELOW(0.5, 1),
                .otherwise = "0.95", .help = "of the lower bounds"),
    OPTION_RULE("seed", "S", COUNT, TO(seed), OPTION_FROM(0, 0x1p63),
                .help = "repeatable; without it entropy comes from the system"),
    OPTION_RULE("fault", "F", CHOICE, TO(under_noised), .words = "none under-noised",
                .otherwise = "none",
                .help = "under-noised feeds samples 25% larger than claimed, as if noise were 20% "
                        "too small, or gives ballots the law of 1.25 epsilon: the audit must catch "
                        "it"),
    OPTION_RULE("json", NULL, FLAG, TO(json), .help = "one JSON object on one line"),
};

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

static bool is_ballot(const struct tremolo_audit_plan *plan)
{
    return plan->law.first > 0;
}

static int dump(json_t *object)
{
    int failed = json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(object);
    (void)putchar('\n');
    return failed != 0 ? CLI_FAILED : CLI_DONE;
}

static int print_ballot_json(const struct tremolo_audit_result *result,
                             const struct tremolo_audit_plan *plan)
{
    const struct tremolo_audit_ballot *ballot = &result->ballot;
    return dump(json_pack(
        "{s:{s:f,s:f,s:s,s:i,s:I},s:{s:f,s:f,s:f,s:f},s:{s:f,s:f,s:f,s:f},s:I,s:f,s:I,s:b}",
        "claimed", "epsilon", plan->claim.epsilon, "delta", 0.0, "neighbours", "any", "first",
        (int)plan->law.first, "top", (json_int_t)plan->law.top, "measured", "epsilon_lower",
        result->epsilon_lower, "true_positive_rate", result->true_positive, "false_positive_rate",
        result->false_positive, "early", ballot->early, "p_values", "law", ballot->law_p, "people",
        ballot->people_p, "ids", ballot->ids_p, "ids_and_ranks", ballot->both_p, "repeated_ids",
        (json_int_t)ballot->repeats, "confidence", plan->confidence, "pairs",
        (json_int_t)plan->pairs, "exceeds_claim", (int)result->caught));
}

static int print_json(const struct tremolo_audit_result *result,
                      const struct tremolo_audit_plan *plan)
{
    if (is_ballot(plan)) {
        return print_ballot_json(result, plan);
    }
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
    return dump(object);
}

static void print_claim(const struct tremolo_audit_plan *plan)
{
    const struct tremolo_audit_claim *claim = &plan->claim;
    unsigned long long releases = tremolo_audit_releases(plan);
    if (claim->study[0] != '\0') {
        (void)printf("study %s\n", claim->study);
    }
    (void)printf("%llu pairs of devices, claim: epsilon %g at delta %g",
                 (unsigned long long)plan->pairs, claim->epsilon, claim->delta);
    if (is_ballot(plan)) {
        (void)printf(" for each ballot, ");
    } else {
        (void)printf(" (mu %.6g), ", claim->mu);
    }
    if (claim->distance > 0.0) {
        (void)printf("people at most %g half ranges apart", claim->distance);
    } else {
        (void)printf("any two people");
    }
    if (releases > 1 && !is_ballot(plan)) {
        (void)printf(", %llu reports of each device together", releases);
    }
    (void)printf("\n\n");
}

static void print_ballot(const struct tremolo_audit_ballot *ballot)
{
    (void)printf("law of the rank: %.5f of answers are early, %.5f by the law; p = %.3g\n",
                 ballot->early, ballot->early_claimed, ballot->law_p);
    (void)printf("ranks of the two people alike: p = %.3g\n", ballot->people_p);
    (void)printf("ids: every byte uniform p = %.3g, independent of the rank p = %.3g, %llu "
                 "repeated\n\n",
                 ballot->ids_p, ballot->both_p, (unsigned long long)ballot->repeats);
}

static void print_sample(const struct tremolo_audit_result *result)
{
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
}

static void print_text(const struct tremolo_audit_result *result,
                       const struct tremolo_audit_plan *plan)
{
    (void)printf("epsilon is at least %.4f  (%g%% confidence, no assumption on the mechanism)\n",
                 result->epsilon_lower, 100.0 * plan->confidence);
    if (is_ballot(plan)) {
        print_ballot(&result->ballot);
    } else {
        print_sample(result);
    }
    (void)printf(result->caught ? "CAUGHT: the bytes give away more than is claimed\n"
                                : "nothing exceeds the claim\n");
}

/* What is to be audited, or the exit code after a message. */
static int make_plan(struct tremolo_audit_plan *plan, const struct audit_options *options)
{
    struct tremolo_study_file *file = NULL;
    double clip_factor = options->under_noised ? 1.25 : 1.0;
    if (options->ballot && !isnan(options->delta)) {
        return cli_fail(CLI_USAGE, "audit", "ballots are private with delta 0; leave --delta");
    }
    if (options->study == NULL) {
        double epsilon = isnan(options->epsilon) ? 1.0 : options->epsilon;
        unsigned dimension = options->dimension > 0 ? options->dimension : 4;
        enum tremolo_status status =
            options->ballot ? tremolo_audit_plan_ballot(plan, epsilon, dimension, clip_factor)
                            : tremolo_audit_plan_make(plan, epsilon,
                                                      isnan(options->delta) ? 1e-3 : options->delta,
                                                      dimension, clip_factor);
        return status == TREMOLO_OK
                   ? CLI_DONE
                   : cli_fail(cli_exit_of(status), "audit", "%s", tremolo_status_sentence(status));
    }
    int code = cli_read_study(&file, "audit", options->study);
    if (code != CLI_DONE) {
        return code;
    }
    enum tremolo_status status = tremolo_audit_plan_study(
        plan, file, isnan(options->delta) ? 0 : options->delta, clip_factor);
    tremolo_study_file_free(file);
    if (status == TREMOLO_OK && is_ballot(plan) && !isnan(options->delta)) {
        return cli_fail(CLI_USAGE, "audit", "ballots are private with delta 0; leave --delta");
    }
    return status == TREMOLO_OK ? CLI_DONE
                                : cli_fail(cli_exit_of(status), "audit", "%s: %s", options->study,
                                           tremolo_status_sentence(status));
}

static int run(int argc, char **argv)
{
    static struct tremolo_audit_plan plan; /* large, and its study points into it */
    struct audit_options options = {.study = NULL};
    struct options_given given;
    struct tremolo_audit_result result;
    int code = CLI_DONE;
    if (!options_parse(&given, &options, &code, &cli_audit, argc, argv)) {
        return code;
    }
    code = make_plan(&plan, &options);
    if (code != CLI_DONE) {
        return code;
    }
    plan.pairs = options.pairs;
    plan.confidence = options.confidence;
    plan.seed = options.seed;
    plan.seeded = options_has(&given, "seed");
    enum tremolo_status status = tremolo_audit_run(&result, &plan, &progress_bar);
    if (status != TREMOLO_OK) {
        return cli_fail(cli_exit_of(status), "audit", "%s", tremolo_status_sentence(status));
    }
    if (options.json) {
        code = print_json(&result, &plan);
    } else {
        print_claim(&plan);
        print_text(&result, &plan);
    }
    return result.caught ? CLI_FAILED : code;
}

const struct cli_command cli_audit = {
    .name = "audit",
    .summary = "what the bytes of this build really give away",
    .usage = "audit [--study FILE] [OPTIONS]",
    .about = "Runs this build's device core on two neighbouring samples, tests the emitted\n"
             "bytes, and compares what they give away with what is claimed.",
    .closing = "Exit 0 when nothing exceeds the claim, 1 when something does.",
    OPTION_TABLE(rules),
    .run = run,
};
