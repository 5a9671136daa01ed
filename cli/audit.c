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
#include "suggest.h"
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
    double epsilon;
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
    double claimed_epsilon;
    double claimed_mu;
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
    "usage: tremolo audit [OPTIONS]\n\n"
    "Runs this build's device core on two neighbouring samples, tests the emitted\n"
    "bytes, and compares what they give away with what is claimed.\n\n"
    "  --epsilon E       the claim to audit, 0.001 to 20 (1)\n"
    "  --delta D         at which it is made, 1e-12 to 0.5 (0.001)\n"
    "  --pairs N         reports from each of the two people (200000)\n"
    "  --confidence P    of the lower bounds (0.95)\n"
    "  --dimension D     features, 2 to 32 (4)\n"
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
                                         const struct audit_options *options)
{
    double true_low = 0.0;
    double false_high = 1.0;
    const uint64_t *above = counts->above[TEST_EPSILON];
    enum tremolo_status status =
        bound_rates(&true_low, &false_high, above, options->pairs, options->confidence);
    if (status == TREMOLO_OK) {
        result->true_positive = (double)above[0] / (double)options->pairs;
        result->false_positive = (double)above[1] / (double)options->pairs;
        double gain = true_low - options->delta;
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
                                    const struct audit_options *options)
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
            status = tremolo_gaussian_epsilon(&epsilon, &cost, options->delta);
        }
        result->epsilon_by_mu = epsilon.lower;
    }
    return status;
}

/* Residues modulo 16 of a Gaussian with sd 64 are uniform to 1e-100 whatever
 * its centre: a chi-squared test for both people together has 30 degrees. */
static void test_porosity(struct audit_result *result, const struct audit_counts *counts,
                          const struct audit_plan *plan, uint64_t trials)
{
    double smallest = 1.0;
    double expected = (double)trials / AUDIT_RESIDUES;
    unsigned d = plan->study.dimension;
    for (unsigned i = 0; i < d; i++) {
        double square = 0.0;
        for (unsigned person = 0; person < 2; person++) {
            for (unsigned k = 0; k < AUDIT_RESIDUES; k++) {
                double off = (double)counts->residue[person][i][k] - expected;
                square += off * off / expected;
            }
        }
        smallest = fmin(smallest, audit_chi_squared_tail(square, 2 * (AUDIT_RESIDUES - 1)));
        /* Where each person expects 50 or more, none may be missing. */
        for (unsigned v = 0; v < AUDIT_VALUES; v++) {
            double x = (double)v - AUDIT_VALUES / 2.0;
            double far = (fabs(x) + plan->centre[i]) / plan->noise_sd;
            double density = exp(-0.5 * far * far) / (2.51 * plan->noise_sd);
            if (plan->study.vectors > 0 && i < 2) {
                density = 0.0; /* modulated coordinates are wider; skip them */
            }
            if (density * (double)trials >= 50.0) {
                result->values_tested++;
                result->holes += counts->seen[0][i][v] == 0 || counts->seen[1][i][v] == 0;
            }
        }
    }
    result->porosity_p = fmin(1.0, smallest * d);
}

static enum tremolo_status compare_attack(struct audit_result *result, double square_error,
                                          const struct audit_plan *plan, uint64_t reports)
{
    const struct tremolo_study *study = &plan->study;
    double clip = study->clip;
    double wire = ldexp(1.0, study->wire_shift);
    struct tremolo_reconstruction_setup setup = {
        .modulation = {1.0 - (double)study->keep / TREMOLO_KEEP_ONE, study->amplitude / clip,
                       6.283185307179586 * study->frequency * clip / ldexp(1.0, 40),
                       study->vectors},
        .dimension = study->dimension,
        .sigma = ldexp(1.0, study->noise_log2) / clip,
        .releases = 1,
    };
    struct tremolo_reconstruction bounds;
    enum tremolo_status status = tremolo_reconstruction_bounds(&bounds, &setup);
    if (status == TREMOLO_OK) {
        result->mse =
            square_error * wire * wire / (clip * clip * (double)reports * (double)study->dimension);
        /* Errors of the coordinates are nearly normal, so that a mean of n squares has
         * relative variance 2 / n. */
        result->mse_error = result->mse * sqrt(2.0 / ((double)reports * (double)study->dimension));
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
static void set_up(struct audit_plan *plan, const struct audit_options *options, double mu)
{
    double tail = choose_threshold(mu, options->delta, (double)options->pairs);
    plan->threshold[TEST_EPSILON] = (tail - 0.5 * mu) * plan->noise_sd;
    plan->threshold[TEST_MU] = 0.0;
    plan->pairs = options->pairs;
    plan->seeded = options->seeded;
    plan->seed = options->seed;
}

static enum tremolo_status audit(struct audit_result *result, const struct audit_options *options)
{
    static struct audit_counts counts; /* half a megabyte */
    struct audit_plan plan;
    struct tremolo_certified mu;
    memset(result, 0, sizeof *result);
    enum tremolo_status status = tremolo_gaussian_mu_for(&mu, options->epsilon, options->delta);
    if (status == TREMOLO_OK) {
        status = audit_plan_make(&plan, options->dimension, mu.lower, options->fault, true);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    result->claimed_epsilon = options->epsilon;
    result->claimed_mu = mu.lower;
    set_up(&plan, options, mu.lower);
    status = audit_run(&counts, &plan, show_progress);
    if (status == TREMOLO_OK) {
        status = bound_epsilon(result, &counts, options);
    }
    if (status == TREMOLO_OK) {
        status = bound_mu(result, &counts, options);
    }
    if (status == TREMOLO_OK) {
        status = compare_attack(result, counts.square_error, &plan, 2 * options->pairs);
    }
    if (status == TREMOLO_OK) {
        test_porosity(result, &counts, &plan, options->pairs);
        result->caught = result->epsilon_lower > options->epsilon || result->mu_lower > mu.upper ||
                         result->holes > 0 || result->porosity_p < 1e-6;
    }
    return status;
}

/* ---- options and output */

static int print_json(const struct audit_result *result, const struct audit_options *options)
{
    json_t *object = json_pack(
        "{s:{s:f,s:f,s:f},s:{s:f,s:f,s:f,s:f,s:f},s:f,s:I,s:{s:f,s:I,s:I},s:{s:f,s:f,s:f,s:f},s:b}",
        "claimed", "epsilon", result->claimed_epsilon, "delta", options->delta, "mu",
        result->claimed_mu, "measured", "epsilon_lower", result->epsilon_lower, "mu_lower",
        result->mu_lower, "epsilon_lower_gaussian", result->epsilon_by_mu, "true_positive_rate",
        result->true_positive, "false_positive_rate", result->false_positive, "confidence",
        options->confidence, "pairs", (json_int_t)options->pairs, "porosity", "p_value",
        result->porosity_p, "values_tested", (json_int_t)result->values_tested, "holes",
        (json_int_t)result->holes, "reconstruction", "mean_squared_error", result->mse,
        "standard_error", result->mse_error, "bound", result->mse_bound, "paper_bound",
        result->mse_paper, "exceeds_claim", result->caught);
    int failed = json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(object);
    (void)putchar('\n');
    return failed != 0 ? CLI_FAILED : CLI_DONE;
}

static void print_text(const struct audit_result *result, const struct audit_options *options)
{
    (void)printf(
        "%llu pairs of devices, claim: epsilon %g at delta %g (mu %.6g), any two people\n\n",
        (unsigned long long)options->pairs, result->claimed_epsilon, options->delta,
        result->claimed_mu);
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
static const char *take_option(struct audit_options *options, int code, const char *text)
{
    uint64_t count = 0;
    switch (code) {
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

int cli_audit(int argc, char **argv)
{
    static const struct option long_options[] = {
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
    struct audit_options options = {1.0, 1e-3, 0.95, 1.0, 200000, 0, false, 4, false};
    struct audit_result result;
    opterr = 0;
    optind = 1;
    for (;;) {
        int index = 0;
        int code = getopt_long(argc, argv, "h", long_options, &index);
        if (code == -1) {
            break;
        }
        if (code == 'h') {
            (void)fputs(help_text, stdout);
            return CLI_DONE;
        }
        if (code == '?') {
            return cli_bad_option("audit", argv, long_options);
        }
        const char *wanted = take_option(&options, code, optarg);
        if (wanted != NULL) {
            return cli_fail(CLI_USAGE, "audit", "--%s must be %s, not '%s'",
                            long_options[index].name, wanted, optarg);
        }
    }
    if (optind < argc) {
        return cli_fail(CLI_USAGE, "audit", "'%s' is not expected here", argv[optind]);
    }
    enum tremolo_status status = audit(&result, &options);
    if (status != TREMOLO_OK) {
        return cli_fail(cli_exit_of(status), "audit", "%s", tremolo_status_sentence(status));
    }
    if (options.json) {
        int printed = print_json(&result, &options);
        return printed != CLI_DONE || result.caught ? CLI_FAILED : CLI_DONE;
    }
    print_text(&result, &options);
    return result.caught ? CLI_FAILED : CLI_DONE;
}
