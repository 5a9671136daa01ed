/* bench_privacy.c -- the accountant: calibrations per second, and 10,000
 * rounds composed as a loss distribution with proved bounds on both sides.
 *
 * bench/peer_accountant.sh reads the two last columns and asks the same of a
 * public accountant. */
#include <stdio.h>

#include "bench.h"
#include "accountant.h"

enum { CALIBRATIONS = 5000, ROUNDS = 10000, RUNS = 5 };

static int bench_calibrations(const char *name, enum tremolo_rule rule, double delta)
{
    double sum = 0.0;
    double start = bench_seconds();
    for (int i = 0; i < CALIBRATIONS; i++) {
        struct tremolo_certified sigma;
        /* A different epsilon each time, so that nothing can be remembered. */
        double epsilon = 0.5 + 9.5 * i / CALIBRATIONS;
        if (tremolo_rule_sigma(&sigma, rule, epsilon, delta, 1.0, 10, false) != TREMOLO_OK) {
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
static int bench_composition(unsigned cells)
{
    struct tremolo_certified delta = {0.0, 0.0, 0.0};
    struct tremolo_certified exact = {0.0, 0.0, 0.0};
    double best = 1e9;
    for (int run = 0; run < RUNS; run++) {
        struct tremolo_pld *pld = NULL;
        double start = bench_seconds();
        enum tremolo_status status = tremolo_pld_modulated(&pld, 1.0, 100.0, 0.0, cells);
        if (status == TREMOLO_OK) {
            status = tremolo_pld_delta(&delta, pld, ROUNDS, 4.0);
        }
        double seconds = bench_seconds() - start;
        tremolo_pld_free(pld);
        if (status != TREMOLO_OK) {
            return 1;
        }
        best = seconds < best ? seconds : best;
    }
    if (tremolo_rule_delta(&exact, TREMOLO_RULE_EXACT, 100.0, 1.0, ROUNDS, 4.0, false) !=
        TREMOLO_OK) {
        return 1;
    }
    (void)printf("%d rounds, %4u cells/sigma: delta(4) in [%.6g, %.6g], exact %.6g, %.4f s\n",
                 ROUNDS, cells, delta.lower, delta.upper, exact.value, best);
    return 0;
}

int main(void)
{
    return bench_calibrations("exact", TREMOLO_RULE_EXACT, 1e-5) ||
           bench_calibrations("exact", TREMOLO_RULE_EXACT, 1e-300) ||
           bench_calibrations("zcdp-tight", TREMOLO_RULE_ZCDP_TIGHT, 1e-5) ||
           bench_composition(32) || bench_composition(128) || bench_composition(512);
}
