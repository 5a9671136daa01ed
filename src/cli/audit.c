/* audit.c -- `tremolo audit`: what the bytes of this build really give away.
 *
 * Lower bounds on epsilon from counts. With T the rate at which the test says
 * "person 0" of person 0 and F the rate at which it says so of person 1, any
 * (epsilon, delta)-private release has T <= e^epsilon F + delta, hence
 *
 *     epsilon >= ln((T_low - delta) / F_high)
 *
 * with Clopper-Pearson bounds, each at half of the allowed error: no
 * assumption is made about the mechanism. The threshold is fixed beforehand,
 * where that bound is expected to be largest for a mechanism that meets its
 * claim exactly; a threshold chosen from the data would need a correction.
 *
 * The second bound assumes that the trade-off curve is Gaussian: then
 * mu >= z(F_high) - z(T_low) with Q(z(p)) = p at the middle threshold, which a
 * million pairs give within two percent, and epsilon at any delta follows.
 * Each of the two statements holds at the stated confidence by itself. */
#include "audit.h"
#include "cli.h"
#include "options.h"
#include "tremolo_privacy.h"

#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

struct audit_result {
    double epsilon_lower; /* no assumption */
    double mu_lower;      /* Gaussian trade-off curve */
    double epsilon_by_mu;
    double true_positive;
    double false_positive;
    double porosity_p; /* smallest p-value, corrected for the coordinates */
    uint64_t holes;    /* values seen from one person only, where both expect >= 50 */
    uint64_t values_tested;
    double mse;       /* of the unbiased attack, per coordinate, in units of C^2 */
    double mse_error; /* standard error of mse, as a chi-squared mean */
    double mse_bound; /* exact marginal Cramer-Rao */
    double mse_paper; /* the paper's phase-averaged bound */
    bool caught;
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

/* ---- the first bound's threshold, chosen before any data */

/* The bound expected at threshold z (in noise sds from person 1's centre),
 * when the mechanism is exactly mu. */
static double expected_bound(double z, double mu, double delta, double trials, double width)
{
    struct tremolo_certified miss;
    double false_positive = 0.5 * erfc(z / sqrt(2.0));
    if (tremolo_tradeoff_gaussian(&miss, mu, false_positive) != TREMOLO_OK) {
        return -INFINITY;
    }
    double true_positive = 1.0 - miss.value;
    double low = true_positive - width * sqrt(true_positive / trials) - delta;
    double high = false_positive + width * sqrt(false_positive / trials) + 2.0 / trials;
    return low > 0.0 ? log(low / high) : -INFINITY;
}

static double choose_threshold(double mu, double delta, double trials)
{
    double best = 0.0;
    double best_bound = -INFINITY;
    for (int i = 0; i <= 500; i++) {
        double z = 0.01 * i;
        double bound = expected_bound(z, mu, delta, trials, 2.3);
        if (bound > best_bound) {
            best_bound = bound;
            best = z;
        }
    }
    return best;
}

/* ---- judging the counts */

enum { TEST_EPSILON, TEST_MU };

/* T_low and F_high of one test. */
static enum tremolo_status bound_rates(double *true_low, double *false_high,
                                       const uint64_t above[2], uint64_t trials, double confidence)
{
    double side_error = 0.5 * (1.0 - confidence);
    double unused = 0.0;
    enum tremolo_status status =
        tremolo_binomial_bounds(true_low, &unused, above[0], trials, side_error);
    if (status == TREMOLO_OK) {
        status = tremolo_binomial_bounds(&unused, false_high, above[1], trials, side_error);
    }
    return status;
}

static enum tremolo_status bound_epsilon(struct audit_result *result,
                                         const struct audit_counts *counts,
                                         const struct audit_options *options, double delta)
{
    double true_low = 0.0;
    double false_high = 1.0;
    const uint64_t *above = counts->above[TEST_EPSILON];
    enum tremolo_status status =
        bound_rates(&true_low, &false_high, above, options->pairs, options->confidence);
    if (status == TREMOLO_OK) {
        result->true_positive = (double)above[0] / (double)options->pairs;
        result->false_positive = (double)above[1] / (double)options->pairs;
        double gain = true_low - delta;
        result->epsilon_lower = gain > false_high ? log(gain / false_high) : 0.0;
    }
    return status;
}

/* z with Q(z) = p, from the trade-off curve of mu = 0's neighbours: a plain
 * halving on erfc is enough, as the bound is quoted to four digits. */
static double normal_quantile(double p)
{
    double low = -40.0;
    double high = 40.0;
    for (int i = 0; i < 200; i++) {
        double middle = 0.5 * (low + high);
        if (0.5 * erfc(middle / sqrt(2.0)) > p) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return 0.5 * (low + high);
}

static enum tremolo_status bound_mu(struct audit_result *result, const struct audit_counts *counts,
                                    const struct audit_options *options, double delta)
{
    double true_low = 0.0;
    double false_high = 1.0;
    struct tremolo_gaussian cost = {0.0, 0.0};
    struct tremolo_certified epsilon = {0.0, 0.0, 0.0};
    enum tremolo_status status = bound_rates(&true_low, &false_high, counts->above[TEST_MU],
                                             options->pairs, options->confidence);
    if (status != TREMOLO_OK) {
        return status;
    }
    /* Q falls, so the smaller rate has the larger z. */
    result->mu_lower = fmax(0.0, normal_quantile(false_high) - normal_quantile(true_low));
    if (result->mu_lower > 0.0) {
        status = tremolo_gaussian_add(&cost, result->mu_lower, 1.0, 1);
        if (status == TREMOLO_OK) {
            status = tremolo_gaussian_epsilon(&epsilon, &cost, delta);
        }
        result->epsilon_by_mu = epsilon.lower;
    }
    return status;
}

/* Modulated coordinates are wider, by how much the vectors say: they are left out. */
static bool is_modulated(const struct audit_plan *plan, unsigned coordinate)
{
    unsigned d = plan->study.dimension;
    for (unsigned j = 0; j < plan->study.vectors && coordinate < d; j++) {
        if (plan->vectors[j * d + coordinate] != 0) {
            return true;
        }
    }
    return false;
}

/* Where each person expects 50 or more, none may be missing. */
static void look_for_holes(struct audit_result *result, const struct audit_counts *counts,
                           const struct audit_plan *plan, unsigned i, uint64_t trials)
{
    for (unsigned v = 0; v < AUDIT_VALUES && !is_modulated(plan, i); v++) {
        double x = (double)v - AUDIT_VALUES / 2.0;
        double far = (fabs(x) + plan->centre) / plan->noise_sd;
        double density = exp(-0.5 * far * far) / (2.51 * plan->noise_sd);
        if (density * (double)trials >= 50.0) {
            result->values_tested++;
            result->holes += counts->seen[0][i][v] == 0 || counts->seen[1][i][v] == 0;
        }
    }
}

/* Residues modulo 16 of a Gaussian are uniform whatever its centre, to 1e-100 when its
 * sd is 64, and to 1e-8 when it is 16, which no number of trials here can tell from
 * uniform. A chi-squared test for both people together has 30 degrees. */
static void test_porosity(struct audit_result *result, const struct audit_counts *counts,
                          const struct audit_plan *plan, uint64_t trials)
{
    double smallest = 1.0;
    double expected = (double)trials / AUDIT_RESIDUES;
    for (unsigned i = 0; i < plan->coordinates; i++) {
        double square = 0.0;
        for (unsigned person = 0; person < 2; person++) {
            for (unsigned k = 0; k < AUDIT_RESIDUES; k++) {
                double off = (double)counts->residue[person][i][k] - expected;
                square += off * off / expected;
            }
        }
        if (plan->noise_sd >= AUDIT_RESIDUES) {
            smallest = fmin(smallest, audit_chi_squared_tail(square, 2 * (AUDIT_RESIDUES - 1)));
        }
        look_for_holes(result, counts, plan, i, trials);
    }
    result->porosity_p = fmin(1.0, smallest * plan->coordinates);
}

/* The attack divides a report by 1 - alpha; every report counts for itself. */
static enum tremolo_status compare_attack(struct audit_result *result, double square_error,
                                          const struct audit_plan *plan, uint64_t reports)
{
    const struct tremolo_study *study = &plan->study;
    double clip = study->clip;
    double keep = (double)study->keep / TREMOLO_KEEP_ONE;
    double unit = ldexp(1.0, study->wire_shift) / (clip * keep);
    double numbers = (double)reports * plan->coordinates;
    struct tremolo_reconstruction_setup setup = {
        .modulation = {1.0 - keep, study->amplitude * sqrt((double)study->vectors) / clip,
                       6.283185307179586 * study->frequency * clip / ldexp(1.0, 40),
                       study->vectors},
        .dimension = plan->coordinates,
        .sigma = ldexp(1.0, study->noise_log2) / clip,
        .releases = 1,
    };
    struct tremolo_reconstruction bounds;
    enum tremolo_status status = tremolo_reconstruction_bounds(&bounds, &setup);
    if (status == TREMOLO_OK) {
        result->mse = square_error * unit * unit / numbers;
        /* Errors of the coordinates are nearly normal, so that a mean of n squares has
         * relative variance 2 / n. */
        result->mse_error = result->mse * sqrt(2.0 / numbers);
        result->mse_bound = bounds.marginal;
        result->mse_paper = bounds.phase_averaged;
    }
    return status;
}

/* ---- running */

static void show_progress(uint64_t done, uint64_t all)
{
    if (isatty(STDERR_FILENO)) {
        (void)fprintf(stderr, "\r%3.0f%%%s", 100.0 * (double)done / (double)all,
                      done == all ? "\r    \r" : "");
    }
}

/* Thresholds count from person 1's claimed centre, in noise sds. */
static void set_thresholds(struct audit_plan *plan, const struct audit_claim *claim)
{
    double tail = choose_threshold(claim->mu, claim->delta, (double)plan->pairs);
    plan->threshold[TEST_EPSILON] = (tail - 0.5 * claim->mu) * plan->noise_sd;
    plan->threshold[TEST_MU] = 0.0;
}

/* The built-in study, made for the claim. */
static enum tremolo_status make_plan(struct audit_plan *plan, struct audit_claim *claim,
                                     const struct audit_options *options)
{
    struct tremolo_certified mu = {0.0, 0.0, 0.0};
    *claim = (struct audit_claim){.epsilon = options->epsilon > 0.0 ? options->epsilon : 1.0,
                                  .delta = options->delta > 0.0 ? options->delta : 1e-3};
    unsigned dimension = options->dimension > 0 ? options->dimension : 4;
    enum tremolo_status status = tremolo_gaussian_mu_for(&mu, claim->epsilon, claim->delta);
    claim->mu = mu.lower;
    claim->mu_most = mu.upper;
    return status == TREMOLO_OK ? audit_plan_make(plan, dimension, mu.lower, options->fault, true)
                                : status;
}

static enum tremolo_status audit(struct audit_result *result, struct audit_plan *plan,
                                 const struct audit_claim *claim,
                                 const struct audit_options *options)
{
    static struct audit_counts counts; /* nine megabytes */
    memset(result, 0, sizeof *result);
    plan->pairs = options->pairs;
    plan->seeded = options->seeded;
    plan->seed = options->seed;
    uint64_t reports = options->pairs * audit_releases(plan); /* of each person */
    set_thresholds(plan, claim);
    enum tremolo_status status = audit_run(&counts, plan, show_progress);
    if (status == TREMOLO_OK) {
        status = bound_epsilon(result, &counts, options, claim->delta);
    }
    if (status == TREMOLO_OK) {
        status = bound_mu(result, &counts, options, claim->delta);
    }
    if (status == TREMOLO_OK) {
        status = compare_attack(result, counts.square_error, plan, 2 * reports);
    }
    if (status == TREMOLO_OK) {
        test_porosity(result, &counts, plan, reports);
        result->caught = result->epsilon_lower > claim->epsilon ||
                         result->mu_lower > claim->mu_most || result->holes > 0 ||
                         result->porosity_p < 1e-6;
    }
    return status;
}

/* ---- options and output */

static json_t *claim_json(const struct audit_claim *claim)
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

static int print_json(const struct audit_result *result, const struct audit_claim *claim,
                      const struct audit_options *options, uint64_t releases)
{
    json_t *object = json_pack(
        "{s:o,s:{s:f,s:f,s:f,s:f,s:f},s:f,s:I,s:I,s:{s:f,s:I,s:I},s:{s:f,s:f,s:f,s:f},s:b}",
        "claimed", claim_json(claim), "measured", "epsilon_lower", result->epsilon_lower,
        "mu_lower", result->mu_lower, "epsilon_lower_gaussian", result->epsilon_by_mu,
        "true_positive_rate", result->true_positive, "false_positive_rate", result->false_positive,
        "confidence", options->confidence, "pairs", (json_int_t)options->pairs, "releases",
        (json_int_t)releases, "porosity", "p_value", result->porosity_p, "values_tested",
        (json_int_t)result->values_tested, "holes", (json_int_t)result->holes, "reconstruction",
        "mean_squared_error", result->mse, "standard_error", result->mse_error, "bound",
        result->mse_bound, "paper_bound", result->mse_paper, "exceeds_claim", (int)result->caught);
    int failed = json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(object);
    (void)putchar('\n');
    return failed != 0 ? CLI_FAILED : CLI_DONE;
}

static void print_claim(const struct audit_claim *claim, uint64_t pairs, uint64_t releases)
{
    if (claim->study[0] != '\0') {
        (void)printf("study %s\n", claim->study);
    }
    (void)printf("%llu pairs of devices, claim: epsilon %g at delta %g (mu %.6g), ",
                 (unsigned long long)pairs, claim->epsilon, claim->delta, claim->mu);
    if (claim->distance > 0.0) {
        (void)printf("people at most %g half ranges apart", claim->distance);
    } else {
        (void)printf("any two people");
    }
    if (releases > 1) {
        (void)printf(", %llu reports of each device together", (unsigned long long)releases);
    }
    (void)printf("\n\n");
}

static void print_text(const struct audit_result *result, const struct audit_options *options)
{
    (void)printf("epsilon is at least %.4f  (%g%% confidence, no assumption on the mechanism)\n",
                 result->epsilon_lower, 100.0 * options->confidence);
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
        if (!take_count(&count, text, 2, AUDIT_DIMENSION_MAX)) {
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

int cli_audit(int argc, char **argv)
{
    static struct audit_plan plan; /* its study points into it */
    struct audit_options options;
    struct audit_claim claim;
    struct audit_result result;
    int code = CLI_DONE;
    if (!parse(&options, &code, argc, argv)) {
        return code;
    }
    enum tremolo_status status = TREMOLO_OK;
    if (options.study != NULL) {
        code = audit_study_read(&plan, &claim, options.study, options.delta, options.fault);
        if (code != CLI_DONE) {
            return code;
        }
    } else {
        status = make_plan(&plan, &claim, &options);
    }
    if (status == TREMOLO_OK) {
        status = audit(&result, &plan, &claim, &options);
    }
    if (status != TREMOLO_OK) {
        return cli_fail(cli_exit_of(status), "audit", "%s", tremolo_status_sentence(status));
    }
    if (options.json) {
        code = print_json(&result, &claim, &options, audit_releases(&plan));
    } else {
        print_claim(&claim, options.pairs, audit_releases(&plan));
        print_text(&result, &options);
    }
    return result.caught ? CLI_FAILED : code;
}
