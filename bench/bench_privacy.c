/* bench_privacy.c -- the accountant: calibrations per second, and rounds composed as a loss
 * distribution with proved bounds on both sides.
 *
 * bench/peer_accountant.sh reads the two last columns and asks the same of a
 * public accountant. */
#include <stdio.h>

#include "bench.h"
#include "accountant.h"

enum { CALIBRATIONS = 5000, RUNS = 5 };

static int bench_calibrations(const char *name, enum tremolo_rule rule, double delta)
{
    double sum = 0.0;
    double start = bench_seconds();
    for (int i = 0; i < CALIBRATIONS; i++) {
        struct tremolo_certified sigma;
        /* A different epsilon each time, so that nothing can be remembered. */
        double epsilon = 0.5 + 9.5 * i / CALIBRATIONS;
        if (tremolo_rule_sigma(&sigma, rule, epsilon, delta, 1.0, 10) != TREMOLO_OK) {
            return 1;
        }
        sum += sigma.upper;
    }
    double seconds = bench_seconds() - start;
    (void)printf("%-22s delta %-7g %10.0f calibrations/s  (sum %.6g)\n", name, delta,
                 CALIBRATIONS / seconds, sum);
    return 0;
}

/* Building the distribution and one question, the best of five. */
static int bench_composition(uint64_t rounds, double sigma, double epsilon)
{
    const struct tremolo_gaussian none = {0.0, 0.0};
    struct tremolo_gaussian cost = {0.0, 0.0};
    struct tremolo_certified delta = {0.0, 0.0, 0.0};
    struct tremolo_certified exact = {0.0, 0.0, 0.0};
    double best = 1e9;
    for (int run = 0; run < RUNS; run++) {
        struct tremolo_losses *losses = NULL;
        double start = bench_seconds();
        enum tremolo_status status = tremolo_losses_modulated(&losses, 1.0, sigma, 0.0);
        if (status == TREMOLO_OK) {
            status = tremolo_losses_compose(losses, rounds);
        }
        if (status == TREMOLO_OK) {
            status = tremolo_losses_delta(&delta, losses, &none, epsilon);
        }
        double seconds = bench_seconds() - start;
        tremolo_losses_free(losses);
        if (status != TREMOLO_OK) {
            return 1;
        }
        best = seconds < best ? seconds : best;
    }
    if (tremolo_gaussian_add(&cost, 1.0, sigma, rounds) != TREMOLO_OK ||
        tremolo_gaussian_delta(&exact, &cost, epsilon) != TREMOLO_OK) {
        return 1;
    }
    (void)printf("%llu rounds: delta(%g) in [%.6g, %.6g], exact %.6g, %.4f s\n",
                 (unsigned long long)rounds, epsilon, delta.lower, delta.upper, exact.value, best);
    return 0;
}

int main(void)
{
    return bench_calibrations("exact", TREMOLO_RULE_EXACT, 1e-5) ||
           bench_calibrations("exact", TREMOLO_RULE_EXACT, 1e-300) ||
           bench_calibrations("zcdp", TREMOLO_RULE_ZCDP, 1e-5) || bench_composition(64, 8.0, 4.0) ||
           bench_composition(10000, 100.0, 4.0);
}
