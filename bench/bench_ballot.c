/* bench_ballot.c -- ballots expanded and added on one core.
 *
 * Decoded ballots with random ids and answers, all 32 buckets in turn, the response private
 * and public. Prints thousands of ballots per second of processor time. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "tremolo_release.h"

enum { COUNT = 4096, PASSES = 5 };

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

static double thousands_per_second(unsigned d, unsigned response)
{
    const struct tremolo_study study = {
        .release = TREMOLO_RELEASE_BALLOT, .dimension = (uint16_t)d, .response = (uint8_t)response};
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
        double spent = bench_processor_seconds() - start;
        best = spent < best ? spent : best;
    }
    tremolo_moments_free(moments);
    free(rows);
    return COUNT / best / 1000;
}

int main(void)
{
    static const unsigned dimensions[] = {3, 10, 40, 64};
    printf("ballots, one core, thousands expanded and added a second of processor time\n");
    for (size_t i = 0; i < sizeof dimensions / sizeof dimensions[0]; i++) {
        unsigned d = dimensions[i];
        printf("  d %3u   all protected %7.0f   features only %7.0f\n", d,
               thousands_per_second(d, TREMOLO_RESPONSE_PRIVATE),
               thousands_per_second(d, TREMOLO_RESPONSE_PUBLIC));
    }
    return 0;
}
