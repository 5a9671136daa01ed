/* main.c -- tremolo-audit, the program that `tremolo audit` starts: run the audits, print what they found.
 *
 * The audit is a program of its own so that neither the library nor `tremolo` carries it. Its options
 * are those of `tremolo audit` (cli/audit.c), which has checked them already; they are parsed again
 * here, from the same table.
 *
 * A result is printed as text or as one JSON document. Both show, for each check, the worst of its
 * tests; bounds are rounded down, because they are lower bounds. */
#include "audit.h"
#include "audit_options.h"
#include "cli.h"
#include "files.h"
#include "options.h"
#include "progress.h"
#include "explain.h"
#include "tremolo_study_file.h"

#include <math.h>
#include <stdio.h>

/* Ballots have a law of the rank. */
static bool is_ballot(const struct tremolo_audit_plan *plan)
{
    return plan->law.first > 0;
}

/* ---------------------------------------------------------------- JSON */

/* A member that has no meaning for a release is left out: mu, pairs of people and the
 * reconstruction belong to noisy samples, the share of early answers to ballots. A number that is
 * not known is null. */

/* The claim as JSON; mu only of noisy samples. */
static json_t *claim_json(const struct tremolo_audit_claim *claim, bool ballot)
{
    char neighbours[48] = "any";
    if (claim->distance > 0.0) {
        (void)snprintf(neighbours, sizeof neighbours, "distance=%g", claim->distance);
    }
    return json_pack("{s:f,s:f,s:s,s:o*,s:s*}", "epsilon", claim->epsilon, "delta", claim->delta,
                     "neighbours", neighbours, "mu", ballot ? NULL : json_real(claim->mu), "study",
                     claim->study[0] != '\0' ? claim->study : NULL);
}

/* A number, or null where it is not known. */
static json_t *real_if(bool known, double value)
{
    return known ? json_real(value) : json_null();
}

/* Every check that had something to test. One with too few reports has nulls. */
static json_t *checks_json(const struct tremolo_audit_result *result)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < result->check_count; i++) {
        const struct tremolo_audit_check *check = &result->checks[i];
        bool tested = check->tests > 0;
        if (tested || check->left_out > 0) {
            (void)json_array_append_new(
                array,
                json_pack("{s:s,s:s,s:I,s:I,s:o,s:o,s:o,s:o,s:s}", "name", check->name, "what",
                          check->what, "tests", (json_int_t)check->tests, "left_out",
                          (json_int_t)check->left_out, "p", real_if(tested, check->p), "seen",
                          real_if(tested, check->seen), "claimed", real_if(tested, check->claimed),
                          "failed", tested ? json_boolean(check->failed) : json_null(), "finding",
                          tested ? check->finding : ""));
        }
    }
    return array;
}

/* What tests between two people gave, by direction. */
static json_t *people_json(const struct tremolo_audit_result *result)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < TREMOLO_AUDIT_PAIR_KINDS; i++) {
        const struct tremolo_audit_pairs *pairs = &result->pairs[i];
        if (pairs->devices > 0) {
            (void)json_array_append_new(
                array, json_pack("{s:s,s:I,s:f,s:f,s:f}", "apart", pairs->kind, "devices",
                                 (json_int_t)pairs->devices, "mu_own", pairs->mu_own, "mu_seen",
                                 pairs->mu_seen, "mu_lower", pairs->mu_lower));
        }
    }
    return array;
}

/* The whole document of one audit. */
static json_t *audit_json(const struct tremolo_audit_result *result,
                          const struct tremolo_audit_plan *plan)
{
    bool ballot = is_ballot(plan);
    json_t *measured =
        json_pack("{s:f,s:f,s:f,s:o*,s:o*,s:o*}", "epsilon_lower", result->epsilon_lower,
                  "true_positive_rate", result->true_positive, "false_positive_rate",
                  result->false_positive, "early", ballot ? json_real(result->early) : NULL,
                  "mu_lower", ballot ? NULL : json_real(result->mu_lower), "epsilon_lower_gaussian",
                  ballot ? NULL : json_real(result->epsilon_by_mu));
    json_t *reconstruction = ballot
                                 ? NULL
                                 : json_pack("{s:f,s:f,s:f,s:f}", "mean_squared_error", result->mse,
                                             "standard_error", result->mse_error, "bound",
                                             result->mse_bound, "paper_bound", result->mse_paper);
    return json_pack("{s:s,s:o,s:I,s:I,s:f,s:o,s:f,s:o,s:i,s:b,s:o*,s:o*}", "release",
                     ballot ? "ballot" : "sample", "claimed", claim_json(&plan->claim, ballot),
                     "pairs", (json_int_t)plan->pairs, "releases",
                     (json_int_t)tremolo_audit_releases(plan), "confidence", plan->confidence,
                     "measured", measured, "check_p", result->check_p, "checks",
                     checks_json(result), "not_tested", (int)result->untested, "exceeds_claim",
                     (int)result->caught, "people", ballot ? NULL : people_json(result),
                     "reconstruction", reconstruction);
}

/* ---------------------------------------------------------------- text */

/* The study and the claim, in one line each. */
static void print_claim(const struct tremolo_audit_plan *plan)
{
    const struct tremolo_audit_claim *claim = &plan->claim;
    unsigned long long releases = tremolo_audit_releases(plan);
    if (claim->study[0] != '\0') {
        (void)printf("study %s\n", claim->study);
    }
    (void)printf("%s, %llu pairs of devices, claim: epsilon %g at delta %g",
                 is_ballot(plan) ? "ballots" : "noisy samples", (unsigned long long)plan->pairs,
                 tremolo_digits_up(claim->epsilon, 6), tremolo_digits_up(claim->delta, 6));
    if (is_ballot(plan)) {
        (void)printf(" for each ballot, ");
    } else {
        (void)printf(" (mu %.6g), ", tremolo_digits_up(claim->mu, 6));
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

/* Counts and large numbers in full, others with four digits. */
static void print_number(double number)
{
    bool whole = fabs(number) < 1e9 && (number == floor(number) || fabs(number) >= 1e4);
    (void)printf(whole ? " %11.0f" : " %11.4g", number);
}

/* The table of checks. */
static void print_checks(const struct tremolo_audit_result *result)
{
    (void)printf("%-6s  %-19s %-64s %11s %11s %8s\n", "", "check", "claim", "seen", "claimed", "p");
    for (unsigned i = 0; i < result->check_count; i++) {
        const struct tremolo_audit_check *check = &result->checks[i];
        if (check->tests > 0) {
            (void)printf("%-6s  %-19s %-64s", check->failed ? "FAILED" : "ok", check->name,
                         check->what);
            print_number(check->seen);
            print_number(check->claimed);
            (void)printf(" %8.2g\n", check->p);
        } else if (check->left_out > 0) {
            (void)printf("%-6s  %-19s %-64s %32s\n", "-", check->name, check->what,
                         "not tested (too few reports)");
        }
    }
    (void)printf("\n");
}

/* Of noisy samples: bounds under a Gaussian trade-off, pairs of people, and the reconstruction. */
static void print_people(const struct tremolo_audit_result *result)
{
    (void)printf("epsilon is at least %.4f  (the same, if the trade-off is Gaussian: mu >= %.5f)\n",
                 floor(1e4 * result->epsilon_by_mu) / 1e4, floor(1e5 * result->mu_lower) / 1e5);
    (void)printf("\n%-20s %10s %10s %10s %10s\n", "people apart along", "devices", "mu", "mu seen",
                 "at least");
    for (unsigned i = 0; i < TREMOLO_AUDIT_PAIR_KINDS; i++) {
        const struct tremolo_audit_pairs *pairs = &result->pairs[i];
        if (pairs->devices > 0) {
            (void)printf("%-20s %10llu %10.4f %10.4f %10.4f\n", pairs->kind,
                         (unsigned long long)pairs->devices, pairs->mu_own, pairs->mu_seen,
                         pairs->mu_lower);
        }
    }
    (void)printf("\nreconstruction: mean squared error %.5g +- %.2g C^2 per coordinate, bound "
                 "%.5g, paper's bound %.5g\n\n",
                 result->mse, result->mse_error, result->mse_bound, result->mse_paper);
}

/* One audit as text: claim, checks, bounds, findings, verdict. */
static void print_text(const struct tremolo_audit_result *result,
                       const struct tremolo_audit_plan *plan)
{
    print_claim(plan);
    print_checks(result);
    (void)printf("epsilon is at least %.4f  (%g%% confidence, no assumption on the mechanism)\n",
                 floor(1e4 * result->epsilon_lower) / 1e4, 100.0 * plan->confidence);
    if (is_ballot(plan)) {
        (void)printf("%.5f of answers are early, %.5f by the law\n\n", result->early,
                     result->early_claimed);
    } else {
        print_people(result);
    }
    for (unsigned i = 0; i < result->check_count; i++) {
        if (result->checks[i].failed) {
            (void)printf("%s: %s\n", result->checks[i].name, result->checks[i].finding);
        }
    }
    const char *verdict = result->caught         ? "CAUGHT: this build does not do what is claimed"
                          : result->untested > 0 ? "nothing that was tested exceeds the claim"
                                                 : "nothing exceeds the claim";
    (void)printf("%s", verdict);
    if (result->untested > 0) {
        (void)printf("; %u check%s not tested, for which --pairs is too small", result->untested,
                     result->untested == 1 ? " was" : "s were");
    }
    (void)printf("\n\n");
}

/* ---------------------------------------------------------------- running */

/* The plan for a study file, or the exit code after a message. */
static int make_study_plan(struct tremolo_audit_plan *plan, const struct audit_options *options,
                           double factor)
{
    struct tremolo_study_file *file = NULL;
    int code = cli_read_study(&file, "audit", options->study);
    if (code != CLI_DONE) {
        return code;
    }
    enum tremolo_status status =
        tremolo_audit_plan_study(plan, file, isnan(options->delta) ? 0 : options->delta, factor);
    tremolo_study_file_free(file);
    if (status == TREMOLO_OK && is_ballot(plan) && !isnan(options->delta)) {
        return cli_fail(CLI_USAGE, "audit", "ballots are private with delta 0; leave --delta");
    }
    return status == TREMOLO_OK ? CLI_DONE
                                : cli_fail(cli_exit_of(status), "audit", "%s: %s", options->study,
                                           tremolo_status_sentence(status));
}

enum { BUILT_IN_FEATURES = 4 };

/* What is to be audited, or the exit code after a message. */
static int make_plan(struct tremolo_audit_plan *plan, const struct audit_options *options,
                     bool ballot)
{
    double factor = options->under_noised ? 1.25 : 1.0;
    if (options->study != NULL) {
        return make_study_plan(plan, options, factor);
    }
    double epsilon = isnan(options->epsilon) ? 1.0 : options->epsilon;
    double delta = isnan(options->delta) ? 1e-3 : options->delta;
    enum tremolo_status status =
        ballot ? tremolo_audit_plan_ballot(plan, epsilon, BUILT_IN_FEATURES, factor)
               : tremolo_audit_plan_make(plan, epsilon, delta, BUILT_IN_FEATURES, factor);
    return status == TREMOLO_OK ? CLI_DONE : cli_fail_status("audit", status);
}

/* Make one plan, run it, and print it or add its document to `audits`. Both audits of one command
 * share its false alarm equally. *caught becomes true if a check failed. */
static int audit_one(json_t *audits, bool *caught, const struct audit_options *options, bool seeded,
                     bool ballot)
{
    static struct tremolo_audit_plan plan; /* large, and its study points into it */
    static struct tremolo_audit_result result;
    int code = make_plan(&plan, options, ballot);
    if (code != CLI_DONE) {
        return code;
    }
    plan.pairs = options->pairs;
    plan.confidence = 0.95;
    plan.false_alarm = options->study == NULL && options->release == AUDIT_BOTH
                           ? options->false_alarm / 2.0
                           : options->false_alarm;
    plan.seed = options->seed;
    plan.seeded = seeded;
    plan.timing = options->timing;
    enum tremolo_status status = tremolo_audit_run(&result, &plan, &progress_bar);
    if (status != TREMOLO_OK) {
        return cli_fail_status("audit", status);
    }
    *caught |= result.caught;
    if (options->json) {
        (void)json_array_append_new(audits, audit_json(&result, &plan));
    } else {
        print_text(&result, &plan);
    }
    return CLI_DONE;
}

/* Audit noisy samples, ballots, or both. Exit code 1 means that a check failed, or that the audit
 * could not be made; the text or the document says which. */
int main(int argc, char **argv)
{
    struct audit_options options = {.study = NULL};
    struct options_given given;
    int code = CLI_DONE;
    bool caught = false;
    if (!options_parse(&given, &options, &code, &cli_audit, argc, argv)) {
        return code;
    }
    bool seeded = options_has(&given, "seed");
    json_t *audits = json_array();
    if (options.study != NULL || options.release != AUDIT_BALLOT) {
        code = audit_one(audits, &caught, &options, seeded, false);
    }
    if (code == CLI_DONE && options.study == NULL && options.release != AUDIT_SAMPLE) {
        code = audit_one(audits, &caught, &options, seeded, true);
    }
    if (code == CLI_DONE && options.json) {
        code = cli_print_json("audit",
                              json_pack("{s:f,s:o,s:b}", "false_alarm", options.false_alarm,
                                        "audits", audits, "exceeds_claim", (int)caught),
                              false);
    } else {
        json_decref(audits);
        if (code == CLI_DONE) {
            (void)printf("A sound build fails with probability %g at most.\n", options.false_alarm);
        }
    }
    if (code == CLI_DONE && (fflush(stdout) != 0 || ferror(stdout))) {
        code = cli_fail(CLI_FAILED, "audit", "cannot write to stdout");
    }
    return code == CLI_DONE && caught ? CLI_FAILED : code;
}
