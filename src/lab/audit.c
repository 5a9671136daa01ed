/* audit.c -- what the bytes of this build really give away.
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
#include "audit_parts.h"

#include <math.h>
#include <stdlib.h>

#include "tremolo_privacy.h"

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

enum tremolo_status audit_bound_epsilon(struct tremolo_audit_result *result,
                                        const uint64_t above[2],
                                        const struct tremolo_audit_plan *plan)
{
    double true_low = 0.0;
    double false_high = 1.0;
    enum tremolo_status status =
        bound_rates(&true_low, &false_high, above, plan->pairs, plan->confidence);
    if (status == TREMOLO_OK) {
        result->true_positive = (double)above[0] / (double)plan->pairs;
        result->false_positive = (double)above[1] / (double)plan->pairs;
        double gain = true_low - plan->claim.delta;
        result->epsilon_lower = gain > false_high ? log(gain / false_high) : 0.0;
    }
    return status;
}

/* z with Q(z) = p. Halving on erfc is enough for a bound that is quoted to four
 * digits, and the audit needs no other module than the accountant. */
static double upper_quantile(double p)
{
    double low = -40.0;
    double high = 40.0;
    for (int i = 0; i < 200; i++) {
        double middle = 0.5 * (low + high);
        bool beyond = 0.5 * erfc(middle / sqrt(2.0)) > p;
        low = beyond ? middle : low;
        high = beyond ? high : middle;
    }
    return 0.5 * (low + high);
}

static enum tremolo_status bound_mu(struct tremolo_audit_result *result,
                                    const struct audit_counts *counts,
                                    const struct tremolo_audit_plan *plan)
{
    double true_low = 0.0;
    double false_high = 1.0;
    struct tremolo_gaussian cost = {0.0, 0.0};
    struct tremolo_certified epsilon = {0.0, 0.0, 0.0};
    enum tremolo_status status =
        bound_rates(&true_low, &false_high, counts->above[TEST_MU], plan->pairs, plan->confidence);
    if (status != TREMOLO_OK) {
        return status;
    }
    /* Q falls, so the smaller rate has the larger z. */
    result->mu_lower = fmax(0.0, upper_quantile(false_high) - upper_quantile(true_low));
    if (result->mu_lower > 0.0) {
        status = tremolo_gaussian_add(&cost, result->mu_lower, 1.0, 1);
        if (status == TREMOLO_OK) {
            status = tremolo_gaussian_epsilon(&epsilon, &cost, plan->claim.delta);
        }
        result->epsilon_by_mu = epsilon.lower;
    }
    return status;
}

/* Modulated coordinates are wider, by how much the vectors say: they are left out. */
static bool is_modulated(const struct tremolo_audit_plan *plan, unsigned coordinate)
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
static void look_for_holes(struct tremolo_audit_result *result, const struct audit_counts *counts,
                           const struct tremolo_audit_plan *plan, unsigned i, uint64_t trials)
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

/* For even degrees 2k the tail is Poisson: e^(-x/2) sum_{j<k} (x/2)^j / j!. */
double audit_chi_squared_tail(double x, unsigned degrees)
{
    double term = exp(-0.5 * x);
    double sum = 0.0;
    for (unsigned j = 0; j < degrees / 2; j++) {
        sum += term;
        term *= 0.5 * x / (double)(j + 1);
    }
    return fmin(sum, 1.0);
}

/* Residues modulo 16 of a Gaussian are uniform whatever its centre, to 1e-100 when its
 * sd is 64, and to 1e-8 when it is 16, which no number of trials here can tell from
 * uniform. A chi-squared test for both people together has 30 degrees. */
static void test_porosity(struct tremolo_audit_result *result, const struct audit_counts *counts,
                          const struct tremolo_audit_plan *plan, uint64_t trials)
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
static enum tremolo_status compare_attack(struct tremolo_audit_result *result, double square_error,
                                          const struct tremolo_audit_plan *plan, uint64_t reports)
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

/* Thresholds count from person 1's claimed centre, in noise sds. */
static void set_thresholds(struct tremolo_audit_plan *plan)
{
    double mu = plan->claim.mu;
    double tail = choose_threshold(mu, plan->claim.delta, (double)plan->pairs);
    plan->threshold[TEST_EPSILON] = (tail - 0.5 * mu) * plan->noise_sd;
    plan->threshold[TEST_MU] = 0.0;
}

static enum tremolo_status judge(struct tremolo_audit_result *result,
                                 const struct audit_counts *counts,
                                 const struct tremolo_audit_plan *plan)
{
    uint64_t reports = plan->pairs * tremolo_audit_releases(plan); /* of each person */
    enum tremolo_status status = audit_bound_epsilon(result, counts->above[TEST_EPSILON], plan);
    if (status == TREMOLO_OK) {
        status = bound_mu(result, counts, plan);
    }
    if (status == TREMOLO_OK) {
        status = compare_attack(result, counts->square_error, plan, 2 * reports);
    }
    if (status == TREMOLO_OK) {
        test_porosity(result, counts, plan, reports);
        result->caught = result->epsilon_lower > plan->claim.epsilon ||
                         result->mu_lower > plan->claim.mu_most || result->holes > 0 ||
                         result->porosity_p < AUDIT_P_MIN;
    }
    return status;
}

enum tremolo_status tremolo_audit_run(struct tremolo_audit_result *result,
                                      struct tremolo_audit_plan *plan,
                                      const struct tremolo_progress *progress)
{
    struct tremolo_audit_result made = {0};
    if (plan->study.release == TREMOLO_RELEASE_BALLOT) {
        return audit_ballot_run(result, plan, progress);
    }
    struct audit_counts *counts = calloc(1, sizeof *counts); /* nine megabytes */
    if (counts == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    set_thresholds(plan);
    enum tremolo_status status = audit_count(&(struct audit_sink){counts, NULL}, plan, progress);
    if (status == TREMOLO_OK) {
        status = judge(&made, counts, plan);
    }
    if (status == TREMOLO_OK) {
        *result = made;
    }
    free(counts);
    return status;
}
