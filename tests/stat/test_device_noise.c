/* test_device_noise.c -- the sampler against the exact normal distribution.
 *
 * Hypothesis: draws are independent and equal floor(2^24 N(0,1)).
 * Sample: 2 * 10^7 draws from ChaCha20 seeded with SEED, every one of them
 * made by the sampler the device uses.
 *
 * The same draws are looked at three ways, each a Pearson chi-square:
 *     fine    floor(draw / 2^14), steps of sigma / 1024, up to 4.5 sigma and beyond;
 *     coarse  floor(draw / 2^22), steps of sigma / 4, which see where zero is;
 *     low     draw mod 256, uniform up to exp(-10^9);
 * and once for the correlation of successive draws.
 *
 * False alarm: below 10^-6 for each. For a chi-square X of k degrees of
 * freedom P(X >= k + 2 sqrt(k t) + 2 t) <= exp(-t) (Laurent and Massart), and
 * t = ln 10^6; every bin expects at least MIN_EXPECTED draws, so that the
 * counts are as good as normal. The seed is fixed, so a sound sampler passes
 * always or never.
 *
 * The same statistics must catch five broken samplers, made from the sound
 * one by spoiling its draws. */
#include <math.h>

#include "fake_device.h"
#include "parts.h"
#include "testing.h"

enum {
    DRAWS = 20000000,
    SEED = 80,
    FINE_LOG2 = 10,
    COARSE_LOG2 = 2,
    REACH = 8, /* standard deviations; what lies beyond is put into the ends */
    MIN_EXPECTED = 100,
};
#define BINS (2 * REACH << FINE_LOG2)
#define ZERO (REACH << FINE_LOG2) /* the bin that begins at zero */

static const double log_false_alarm = 13.815510557964274; /* ln 10^6 */

typedef int32_t spoiler(int32_t draw, struct fake_entropy *random);

struct counts {
    uint32_t fine[BINS];
    uint32_t low[256];
    double products; /* of successive draws, in sigma^2 */
};

static struct counts counts;

/* floor(draw / 2^shift) */
static int32_t floor_shift(int32_t draw, unsigned shift)
{
    return draw >= 0 ? draw >> shift : -((-1 - draw) >> shift) - 1;
}

static void count(unsigned draws, spoiler *spoil)
{
    static struct fake_device device;
    struct fake_entropy random = {.state = SEED + 1};
    struct tremolo_generator generator;
    struct tremolo_platform platform;
    double last = 0;
    fake_device_init(&device, SEED);
    platform = fake_device_platform(&device, 1, 0);
    assert_status(tremolo_generator_seed(&generator, &platform, added_nothing, added_nothing),
                  TREMOLO_OK);
    memset(&counts, 0, sizeof counts);
    for (unsigned i = 0; i < draws; i++) {
        int32_t draw = tremolo_noise_draw(&generator, 24);
        draw = spoil != NULL ? spoil(draw, &random) : draw;
        int32_t bin = floor_shift(draw, 24 - FINE_LOG2) + ZERO;
        counts.fine[bin < 0 ? 0 : bin >= BINS ? BINS - 1 : bin]++;
        counts.low[(uint32_t)draw & 255]++;
        double deviate = ldexp(draw + 0.5, -24);
        counts.products += deviate * last;
        last = deviate;
    }
    assert_int_equal(generator.stuck, 0);
}

/* P(low <= N(0,1) < high). Within one side of zero the complementary error
 * function loses no digits but those of the difference: 1e-15 of it here. */
static double probability(double low, double high)
{
    if (high <= 0) {
        return probability(-high, -low);
    }
    if (low < 0) {
        return probability(low, 0) + probability(0, high);
    }
    return (double)((erfcl(low / sqrtl(2)) - erfcl(high / sqrtl(2))) / 2);
}

struct verdict {
    double statistic;
    unsigned freedom;
};

static int is_caught(struct verdict verdict)
{
    double k = verdict.freedom;
    return verdict.statistic > k + 2 * sqrt(k * log_false_alarm) + 2 * log_false_alarm;
}

/* Pearson's statistic over bins of 2^-scale sigma, joined until each expects
 * enough; the ends reach to infinity. */
static struct verdict judge_scale(unsigned draws, unsigned scale)
{
    struct verdict verdict = {0, 0};
    double low = -INFINITY;
    double seen = 0;
    for (int bin = 0; bin < BINS; bin++) {
        seen += counts.fine[bin];
        if ((bin + 1) % (1 << (FINE_LOG2 - scale)) != 0) {
            continue;
        }
        double edge = ldexp(bin + 1 - ZERO, -FINE_LOG2);
        double high =
            bin + 1 == BINS || probability(edge, INFINITY) * draws < MIN_EXPECTED ? INFINITY : edge;
        double expected = probability(low, high) * draws;
        if (expected < MIN_EXPECTED || (isinf(high) && bin + 1 < BINS)) {
            continue;
        }
        verdict.statistic += (seen - expected) * (seen - expected) / expected;
        verdict.freedom++;
        low = high;
        seen = 0;
    }
    verdict.freedom--;
    return verdict;
}

static struct verdict judge_low(unsigned draws)
{
    struct verdict verdict = {0, 255};
    for (int i = 0; i < 256; i++) {
        double apart = counts.low[i] - draws / 256.0;
        verdict.statistic += apart * apart / (draws / 256.0);
    }
    return verdict;
}

static void test_sound_sampler_passes(void **state)
{
    (void)state;
    count(DRAWS, NULL);
    struct verdict fine = judge_scale(DRAWS, FINE_LOG2);
    struct verdict coarse = judge_scale(DRAWS, COARSE_LOG2);
    struct verdict low = judge_low(DRAWS);
    /* The mean of N products of independent deviates has sd 1 / sqrt N. */
    double correlation = counts.products / sqrt(DRAWS);
    print_message("# fine %.0f on %u, coarse %.1f on %u, low %.1f on %u, correlation z %.2f\n",
                  fine.statistic, fine.freedom, coarse.statistic, coarse.freedom, low.statistic,
                  low.freedom, correlation);
    assert_in_range(fine.freedom, 6000, 10000);
    assert_in_range(coarse.freedom, 30, 50);
    assert_false(is_caught(fine));
    assert_false(is_caught(coarse));
    assert_false(is_caught(low));
    assert_true(fabs(correlation) < 4.9); /* two-sided 10^-6 */
}

static void assert_spoiled_is_caught(spoiler *spoil, int by_fine, int by_coarse)
{
    enum { FEWER = 10000000 };
    count(FEWER, spoil);
    struct verdict fine = judge_scale(FEWER, FINE_LOG2);
    struct verdict coarse = judge_scale(FEWER, COARSE_LOG2);
    print_message("# fine %.0f on %u, coarse %.1f on %u\n", fine.statistic, fine.freedom,
                  coarse.statistic, coarse.freedom);
    assert_true(!by_fine || is_caught(fine));
    assert_true(!by_coarse || is_caught(coarse));
}

/* One per cent too little noise. */
static int32_t shrink(int32_t draw, struct fake_entropy *random)
{
    (void)random;
    return (int32_t)floor(draw * 0.99);
}

static void test_wrong_sigma_is_caught(void **state)
{
    (void)state;
    assert_spoiled_is_caught(shrink, 1, 1);
}

/* One negative in fifty turned positive. */
static int32_t bias_sign(int32_t draw, struct fake_entropy *random)
{
    return draw < 0 && fake_below(random, 50) == 0 ? -draw - 1 : draw;
}

static void test_biased_sign_is_caught(void **state)
{
    (void)state;
    assert_spoiled_is_caught(bias_sign, 1, 1);
}

/* Truncated toward zero on the fine grid: zero gets two bins' share. */
static int32_t truncate_fine(int32_t draw, struct fake_entropy *random)
{
    (void)random;
    return draw < 0 ? draw + (1 << (24 - FINE_LOG2)) : draw;
}

static void test_truncation_is_caught(void **state)
{
    (void)state;
    assert_spoiled_is_caught(truncate_fine, 1, 0);
}

/* Rounded to nearest on a grid of sigma / 4 where the floor is due. */
static int32_t round_coarse(int32_t draw, struct fake_entropy *random)
{
    (void)random;
    return draw + (1 << (23 - COARSE_LOG2));
}

static void test_rounding_is_caught(void **state)
{
    (void)state;
    assert_spoiled_is_caught(round_coarse, 1, 1);
}

/* Tails cut at four standard deviations: 6 draws in 100000. */
static int32_t cut_tails(int32_t draw, struct fake_entropy *random)
{
    return draw >= 4 << 24 || draw < -(4 << 24) ? fake_between(random, -(4 << 24), (4 << 24) - 1)
                                                : draw;
}

static void test_cut_tails_are_caught(void **state)
{
    (void)state;
    assert_spoiled_is_caught(cut_tails, 0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound_sampler_passes),  cmocka_unit_test(test_wrong_sigma_is_caught),
        cmocka_unit_test(test_biased_sign_is_caught), cmocka_unit_test(test_truncation_is_caught),
        cmocka_unit_test(test_rounding_is_caught),    cmocka_unit_test(test_cut_tails_are_caught),
    };
    return cmocka_run_group_tests_name("device noise distribution", tests, NULL, NULL);
}
