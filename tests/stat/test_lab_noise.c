/* test_lab_noise.c -- the host's sampler has the law of floor(2^p N), exactly.
 *
 * Fixed seeds. Counts in bins are compared with their expectations by the largest deviation in
 * standard errors, at 6 (2e-9, two-sided, for each of at most 400 bins: 8e-7 a comparison). A
 * chi-square of all draws would miss an error in the residual, which is 2% of them: it is compared
 * alone. The broken tables at the end, off by the least that a table can be, must be caught by the
 * same comparisons. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "exact_noise.h"

struct normal_vector {
    unsigned slot, block;
    uint32_t low, further;
    unsigned share, weight;
    uint32_t limit[8];
};
#include "../vectors/normal.h"

enum { LIMIT = 6, HALF_CELLS = 2 * EXACT_NOISE_CELLS };

/* P(|N| < x) */
static double below(double x)
{
    return erf(x / sqrt(2));
}

static double largest_deviation(const double *seen, const double *chance, size_t bins, double draws)
{
    double largest = 0;
    for (size_t i = 0; i < bins; i++) {
        double sd = sqrt(draws * chance[i] * (1 - chance[i]));
        largest = fmax(largest, fabs(seen[i] - draws * chance[i]) / sd);
    }
    return largest;
}

/* The numbers by cell of 1/64 of their size, and beyond 3. */
static double deviation_of_all(const struct exact_noise_tables *tables, size_t draws)
{
    static double seen[EXACT_NOISE_CELLS + 1], chance[EXACT_NOISE_CELLS + 1];
    struct exact_noise source;
    uint32_t words[1000];
    memset(seen, 0, sizeof seen);
    exact_noise_seed(&source, 1, 2);
    for (size_t done = 0; done < draws; done += 1000) {
        exact_noise_words(&source, words, 1000);
        for (size_t i = 0; i < 1000; i++) { /* as exact_noise_fill has it, with these tables */
            uint32_t cell =
                tables
                    ->cell[words[i] >> EXACT_NOISE_LOW_BITS & ((1U << EXACT_NOISE_INDEX_BITS) - 1)];
            if (cell == EXACT_NOISE_REST) {
                cell = exact_noise_rest(tables, &source.more) >> EXACT_NOISE_LOW_BITS;
            }
            seen[cell < EXACT_NOISE_CELLS ? cell : EXACT_NOISE_CELLS] += 1;
        }
    }
    for (size_t j = 0; j <= EXACT_NOISE_CELLS; j++) {
        chance[j] =
            (j < EXACT_NOISE_CELLS ? below((double)(j + 1) / 64) : 1) - below((double)j / 64);
    }
    return largest_deviation(seen, chance, EXACT_NOISE_CELLS + 1, (double)draws);
}

/* The residual by half cells, because it falls within a cell, and beyond 3. */
static double deviation_of_rest(const struct exact_noise_tables *tables, size_t draws)
{
    static double seen[HALF_CELLS + 1], chance[HALF_CELLS + 1];
    struct exact_noise source;
    double mass = 1;
    memset(seen, 0, sizeof seen);
    exact_noise_seed(&source, 3, 4);
    for (size_t i = 0; i < draws; i++) {
        uint32_t half = exact_noise_rest(tables, &source.more) >> (EXACT_NOISE_LOW_BITS - 1);
        seen[half < HALF_CELLS ? half : HALF_CELLS] += 1;
    }
    const struct exact_noise_tables *sound = exact_noise_tables();
    for (size_t j = 0; j < EXACT_NOISE_CELLS; j++) {
        mass -= sound->share[j] / 8192.0;
    }
    for (size_t h = 0; h <= HALF_CELLS; h++) {
        size_t cell = h / 2;
        double high = h < HALF_CELLS ? below((double)(h + 1) / 128) : 1;
        double given = h < HALF_CELLS ? sound->share[cell] / 16384.0 : 0;
        chance[h] = (high - below((double)h / 128) - given) / mass;
    }
    return largest_deviation(seen, chance, HALF_CELLS + 1, (double)draws);
}

enum { ALL = 20000000, RESIDUAL = 10000000 };

static void test_the_law(void **state)
{
    (void)state;
    assert_true(deviation_of_all(exact_noise_tables(), ALL) < LIMIT);
    assert_true(deviation_of_rest(exact_noise_tables(), RESIDUAL) < LIMIT);
}

static void test_broken_tables_are_caught(void **state)
{
    struct exact_noise_tables broken = *exact_noise_tables();
    (void)state;
    broken.cell[0] = 100; /* one entry in a hundred of cell 0 goes to cell 100 */
    assert_true(deviation_of_all(&broken, ALL) > LIMIT);
    for (unsigned cell = 65; cell < EXACT_NOISE_CELLS; cell += 120) {
        broken = *exact_noise_tables();
        broken.weight[cell]++; /* one in about thirty */
        assert_true(deviation_of_rest(&broken, RESIDUAL) > LIMIT);
        broken = *exact_noise_tables();
        broken.share[cell]++; /* the residual is not what the cells leave */
        assert_true(deviation_of_rest(&broken, RESIDUAL) > LIMIT);
    }
}

/* What exact_noise_fill writes: signs and moments of numbers at p = 10 and 24, and smaller p is
 * larger p shifted down. Moments at five standard errors, 6e-7 each. */
static void test_the_numbers(void **state)
{
    enum { COUNT = 1 << 22 };
    struct exact_noise fine, coarse;
    static int32_t a[COUNT], b[COUNT];
    double power[5] = {0}, root = sqrt(COUNT);
    (void)state;
    exact_noise_seed(&fine, 5, 6);
    exact_noise_seed(&coarse, 5, 6);
    exact_noise_fill(&fine, a, COUNT, 24);
    exact_noise_fill(&coarse, b, COUNT / 2 + 1, 10); /* in two pieces */
    exact_noise_fill(&coarse, b + COUNT / 2 + 1, COUNT / 2 - 1, 10);
    for (size_t i = 0; i < COUNT; i++) {
        double x = (a[i] + 0.5) * 0x1p-24;
        assert_true(b[i] == (a[i] < 0 ? ~(~a[i] >> 14) : a[i] >> 14));
        power[0] += a[i] < 0;
        power[1] += x;
        power[2] += x * x;
        power[3] += x * x * x;
        power[4] += x * x * x * x;
    }
    assert_true(fabs(power[0] - COUNT / 2.0) < 5 * root / 2);
    assert_true(fabs(power[1]) < 5 * root);
    assert_true(fabs(power[2] - COUNT) < 5 * root * sqrt(2));
    assert_true(fabs(power[3]) < 5 * root * sqrt(15));
    assert_true(fabs(power[4] - 3.0 * COUNT) < 5 * root * sqrt(96));
    for (size_t lag = 1; lag <= 33; lag++) { /* five standard errors, 33 lags: 2e-5 */
        double sum = 0;
        for (size_t i = lag; i < COUNT; i++) {
            sum += (double)a[i] * 0x1p-24 * a[i - lag] * 0x1p-24;
        }
        assert_true(fabs(sum) < 5 * root);
    }
}

static struct exact_noise_trial trial_of(const struct normal_vector *vector)
{
    struct exact_noise_trial trial = {
        .slot = vector->slot, .block = vector->block, .low = vector->low};
    trial.further[0] = vector->further;
    memcpy(trial.uniform, vector->limit, sizeof trial.uniform);
    return trial;
}

/* At the limit double precision leaves it open; 2^-158 to either side 256 bits do not. */
static void test_the_limit_is_known(void **state)
{
    const struct exact_noise_tables *tables = exact_noise_tables();
    (void)state;
    for (size_t i = 0; i < sizeof normal_vectors / sizeof normal_vectors[0]; i++) {
        struct exact_noise_trial trial = trial_of(&normal_vectors[i]);
        assert_int_equal(tables->share[trial.slot], normal_vectors[i].share);
        assert_int_equal(tables->weight[trial.slot], normal_vectors[i].weight);
        assert_int_equal(exact_noise_quick(tables, &trial), -1);
        trial.uniform[4] = normal_vectors[i].limit[4] & ~4U;
        trial.uniform[4] -= trial.uniform[4] == normal_vectors[i].limit[4] ? 4 : 0;
        assert_int_equal(exact_noise_sure(tables, &trial), 1);
        trial.uniform[4] = normal_vectors[i].limit[4] | 4U;
        trial.uniform[4] += trial.uniform[4] == normal_vectors[i].limit[4] ? 4 : 0;
        assert_int_equal(exact_noise_sure(tables, &trial), 0);
        trial = trial_of(&normal_vectors[i]);
        trial.uniform[0] |= 0x80000000; /* far above, or */
        int far = normal_vectors[i].limit[0] >= 0x80000000 ? -1 : 0;
        assert_int_equal(exact_noise_quick(tables, &trial), far);
        trial.uniform[0] = normal_vectors[i].limit[0] / 2; /* below */
        assert_int_equal(exact_noise_quick(tables, &trial),
                         normal_vectors[i].limit[0] > 1 ? 1 : -1);
    }
}

static void test_both_ways_agree(void **state)
{
    const struct exact_noise_tables *tables = exact_noise_tables();
    struct exact_noise source;
    (void)state;
    exact_noise_seed(&source, 7, 8);
    for (int i = 0; i < 30000; i++) {
        struct exact_noise_trial trial = {0};
        uint32_t words[3];
        exact_noise_words(&source, words, 3);
        exact_noise_words(&source, trial.further, 8);
        exact_noise_words(&source, trial.uniform, 8);
        trial.slot = words[0] % (EXACT_NOISE_TAIL + 1);
        trial.low = words[1] >> (trial.slot < EXACT_NOISE_TAIL ? 14 : 10);
        trial.block = trial.slot == EXACT_NOISE_TAIL ? words[2] % 60 : 0;
        int quick = exact_noise_quick(tables, &trial);
        assert_true(quick == -1 || quick == exact_noise_sure(tables, &trial));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_law),         cmocka_unit_test(test_broken_tables_are_caught),
        cmocka_unit_test(test_the_numbers),     cmocka_unit_test(test_the_limit_is_known),
        cmocka_unit_test(test_both_ways_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
