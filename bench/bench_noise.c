/* bench_noise.c -- the law of the host's sampler over far more draws than a test can take.
 *
 * 10^7 numbers, or 10^9 with BENCH_LONG=1 (about a minute and a half on one core), at p = 10 and at
 * p = 24, and as many of the residual alone: a chi-square of each against the normal law, by
 * cells of 1/64 up to 3 and by their halves, with the probability of a larger one. Below 1e-6 this fails. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "exact_noise.h"
#include "regression.h"

enum { HALVES = 2 * EXACT_NOISE_CELLS, BINS = HALVES + 1, BATCH = 4096 };

static double below(double x)
{
    return erf(x / sqrt(2));
}

/* P(|N| in half cell h), the last for all beyond 3. */
static double mass_of(size_t h)
{
    return (h < HALVES ? below((double)(h + 1) / 128) : 1) - below((double)h / 128);
}

static void judge(const char *what, const double *seen, const double *chance, double draws,
                  double seconds)
{
    double sum = 0;
    for (size_t h = 0; h < BINS; h++) {
        double expected = draws * chance[h];
        sum += (seen[h] - expected) * (seen[h] - expected) / expected;
    }
    double p = tremolo_chi2_tail(BINS - 1, 0, sum);
    printf("  %-20s %.0e draws   chi-square %6.1f of %d degrees, p %.3f   %5.2f ns a draw\n", what,
           draws, sum, BINS - 1, p, 1e9 * seconds / draws);
    if (!(p > 1e-6)) {
        exit(1);
    }
}

static void numbers(size_t draws, unsigned noise_log2)
{
    static double seen[BINS], chance[BINS];
    static int32_t noise[BATCH];
    struct exact_noise source;
    char what[32];
    double start = bench_processor_seconds();
    draws -= draws % BATCH;
    memset(seen, 0, sizeof seen);
    exact_noise_seed(&source, 11, noise_log2);
    for (size_t done = 0; done < draws; done += BATCH) {
        exact_noise_fill(&source, noise, BATCH, noise_log2);
        for (size_t i = 0; i < BATCH; i++) {
            uint32_t size = (uint32_t)(noise[i] < 0 ? ~noise[i] : noise[i]) >> (noise_log2 - 7);
            seen[size < HALVES ? size : HALVES] += 1;
        }
    }
    double spent = bench_processor_seconds() - start;
    for (size_t h = 0; h < BINS; h++) {
        chance[h] = mass_of(h);
    }
    (void)snprintf(what, sizeof what, "all, p = %u", noise_log2);
    judge(what, seen, chance, (double)draws, spent);
}

static void residual(size_t draws)
{
    static double seen[BINS], chance[BINS];
    const struct exact_noise_tables *tables = exact_noise_tables();
    struct exact_noise source;
    double mass = 1, start = bench_processor_seconds();
    exact_noise_seed(&source, 13, 0);
    for (size_t done = 0; done < draws; done++) {
        uint32_t half = exact_noise_rest(tables, &source.more) >> (EXACT_NOISE_LOW_BITS - 1);
        seen[half < HALVES ? half : HALVES] += 1;
    }
    double spent = bench_processor_seconds() - start;
    for (size_t j = 0; j < EXACT_NOISE_CELLS; j++) {
        mass -= tables->share[j] / 8192.0;
    }
    for (size_t h = 0; h < BINS; h++) {
        size_t cell = h / 2;
        double given = h < HALVES ? tables->share[cell] / 16384.0 : 0;
        chance[h] = (mass_of(h) - given) / mass;
    }
    judge("the residual alone", seen, chance, (double)draws, spent);
}

int main(void)
{
    const char *wanted = getenv("BENCH_LONG");
    size_t draws = wanted != NULL && strcmp(wanted, "1") == 0 ? 1000000000 : 10000000;
    printf("the host's exact sampler, one core\n");
    numbers(draws, 10);
    numbers(draws, 24);
    residual(draws);
    return 0;
}
