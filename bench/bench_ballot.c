/* bench_ballot.c -- ballots made, expanded and added on one core.
 *
 * Made: simulated devices in bulk and with the device core, from sample to sums; the response is
 * private. Expanded and added: decoded ballots with random ids and answers, all 32 buckets in
 * turn, the response private and public. Both read a stream of ChaCha8, so both are set against
 * the generator alone, which makes the same words in the same registers and drops them: the
 * share of its bytes a second that is reached. Thousands per second of processor time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "chacha_lanes.h"
#include "fleet.h"
#include "regression.h"
#include "release.h"

enum { COUNT = 4096, PASSES = 5, BLOCKS = TREMOLO_BALLOT_ANSWERS >> TREMOLO_BALLOT_SIGNS };

static void fill(int16_t *rows, uint8_t *buckets, size_t values)
{
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < values; k++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            rows[i * values + k] = (int16_t)(x & 255); /* an answer is one byte */
        }
        buckets[i] = (uint8_t)(i % TREMOLO_BUCKETS);
    }
}

static struct tremolo_study study_of(unsigned d, unsigned response)
{
    return (struct tremolo_study){
        .release = TREMOLO_RELEASE_BALLOT, .dimension = (uint16_t)d, .response = (uint8_t)response};
}

static double thousands_added(unsigned d, unsigned response)
{
    const struct tremolo_study study = study_of(d, response);
    static uint8_t buckets[COUNT];
    struct tremolo_moments *moments = NULL;
    size_t values = tremolo_row_values(&study);
    int16_t *rows = malloc(COUNT * values * sizeof *rows);
    double best = 1e9;
    if (rows == NULL || tremolo_release_sums(&moments, &study) != TREMOLO_OK) {
        exit(1);
    }
    fill(rows, buckets, values);
    for (int pass = 0; pass < PASSES; pass++) {
        double start = bench_processor_seconds();
        if (tremolo_release_fold(moments, &study, rows, buckets, COUNT) != TREMOLO_OK) {
            exit(1);
        }
        best = fmin(best, bench_processor_seconds() - start);
    }
    tremolo_moments_free(moments);
    free(rows);
    return COUNT / best / 1000;
}

static double thousands_made(unsigned d, bool core)
{
    size_t rows = (core ? 80000 : 800000) / (d * d) + 100;
    double *X = malloc(rows * d * sizeof *X), *y = malloc(rows * sizeof *y), best = 1e9;
    struct tremolo_random random = tremolo_random_from(1, d);
    if (X == NULL || y == NULL) {
        exit(1);
    }
    for (size_t i = 0; i < rows * d; i++) {
        X[i] = 2 * tremolo_random_uniform(&random) - 1;
        y[i / d] = X[i];
    }
    for (int pass = 0; pass < PASSES; pass++) {
        struct fleet *fleet = NULL;
        struct tremolo_ballot *ballots = NULL;
        const struct fleet_setup setup = {
            .X = X,
            .y = y,
            .rows = rows,
            .response_bound = 1,
            .request = {.dimension = d, .epsilon = 2, .rounds = 1, .response_private = true},
            .release = TREMOLO_RELEASE_BALLOT,
            .seed = 1,
            .threads = 1,
            .core = core};
        if (fleet_new(&fleet, &setup) != TREMOLO_OK) {
            exit(1);
        }
        double start = bench_processor_seconds();
        if (fleet_ballots(&ballots, fleet) != TREMOLO_OK) {
            exit(1);
        }
        best = fmin(best, bench_processor_seconds() - start);
        tremolo_ballot_free(ballots);
        fleet_free(fleet);
    }
    free(X);
    free(y);
    return (double)rows / best / 1000;
}

/* ChaCha8 alone, GB/s. */
CHACHA_INLINE uint32_t run_generator(size_t blocks)
{
    chacha_lanes state[16], x[16], sum = {0};
    chacha_begin(state);
    for (size_t k = 0; k < blocks; k++) {
        chacha_blocks(x, state, 4);
        state[12] += 1;
        for (unsigned i = 0; i < 16; i++) {
            sum ^= x[i];
        }
    }
    return sum[0];
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint32_t run_wide(size_t blocks)
{
    return run_generator(blocks);
}
#else
#define run_wide run_generator
#endif

static double generator_rate(void)
{
    enum { CHUNKS = 200000 };
    static volatile uint32_t kept;
    double best = 1e9;
    for (int pass = 0; pass < PASSES; pass++) {
        double start = bench_processor_seconds();
#if defined(__x86_64__)
        kept = __builtin_cpu_supports("avx2") ? run_wide(CHUNKS) : run_generator(CHUNKS);
#else
        kept = run_generator(CHUNKS);
#endif
        best = fmin(best, bench_processor_seconds() - start);
    }
    (void)kept;
    return CHUNKS * (double)(16 * sizeof(chacha_lanes)) / best / 1e9;
}

int main(void)
{
    static const unsigned dimensions[] = {3, 10, 40, 64};
    double generator = generator_rate();
    printf("ballots, one core, thousands a second of processor time; the generator alone makes "
           "%.2f GB/s\n",
           generator);
    for (size_t i = 0; i < sizeof dimensions / sizeof dimensions[0]; i++) {
        unsigned d = dimensions[i];
        const struct tremolo_study study = study_of(d, TREMOLO_RESPONSE_PRIVATE);
        double made = thousands_made(d, false), core = thousands_made(d, true);
        double added = thousands_added(d, TREMOLO_RESPONSE_PRIVATE);
        double bytes = 4.0 * TREMOLO_BALLOT_SIGNS * tremolo_ballot_entries(&study);
        printf("  d %3u   made in bulk %7.1f (%.2f of the generator), by the core %6.1f (%4.1fx)   "
               "added %7.0f (%.2f of the generator), with a public response %7.0f\n",
               d, made, made * 1e3 * bytes * (BLOCKS + 1) / generator / 1e9, core, made / core,
               added, added * 1e3 * bytes / generator / 1e9,
               thousands_added(d, TREMOLO_RESPONSE_PUBLIC));
    }
    return 0;
}
