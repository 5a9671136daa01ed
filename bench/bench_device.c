/* bench_device.c -- the device core on this machine, beside named peers.
 *
 * Noise: nanoseconds for one draw of our exact sampler (ChaCha20 included),
 * of a straightforward Canonne-Kamath-Steinke discrete Gaussian in exact
 * rational arithmetic over the same generator, and of float Box-Muller over
 * the same generator, which is neither exact nor portable.
 *
 * Reports: privatised and encoded per second on one core, ledger in memory. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "parts.h"
#include "tremolo_host.h"

enum { DRAWS = 1000000, REPORTS_D10 = 20000, REPORTS_D100 = 3000 };

static struct tremolo_generator generator;
static volatile int64_t sink;

/* ------------------------------------------- Canonne, Kamath, Steinke 2020 */

static uint64_t uniform_below(uint64_t count)
{
    uint64_t mask = count - 1;
    for (unsigned shift = 1; shift < 64; shift *= 2) {
        mask |= mask >> shift;
    }
    for (;;) {
        uint64_t draw =
            (uint64_t)tremolo_generator_word(&generator) << 32 | tremolo_generator_word(&generator);
        if ((draw & mask) < count) {
            return draw & mask;
        }
    }
}

static bool bernoulli_exp_below_one(uint64_t numerator, uint64_t denominator)
{
    uint64_t k = 1;
    while (uniform_below(denominator * k) < numerator) {
        k++;
    }
    return k % 2 == 1;
}

static bool bernoulli_exp(uint64_t numerator, uint64_t denominator)
{
    for (; numerator > denominator; numerator -= denominator) {
        if (!bernoulli_exp_below_one(1, 1)) {
            return false;
        }
    }
    return bernoulli_exp_below_one(numerator, denominator);
}

static int64_t discrete_laplace(uint64_t scale)
{
    for (;;) {
        uint64_t remainder = uniform_below(scale);
        if (!bernoulli_exp(remainder, scale)) {
            continue;
        }
        uint64_t whole = 0;
        while (bernoulli_exp(1, 1)) {
            whole++;
        }
        uint64_t magnitude = remainder + whole * scale;
        bool negative = uniform_below(2) == 1;
        if (!(negative && magnitude == 0)) {
            return negative ? -(int64_t)magnitude : (int64_t)magnitude;
        }
    }
}

/* sigma = 2^10: the rational acceptance test then fits 64 bits. */
static int64_t discrete_gaussian(void)
{
    const int64_t sigma = 1 << 10;
    for (;;) {
        int64_t candidate = discrete_laplace((uint64_t)sigma + 1);
        int64_t size = candidate < 0 ? -candidate : candidate;
        int64_t excess = size * (sigma + 1) - sigma * sigma;
        if (excess < 0) {
            excess = -excess;
        }
        if (size < 64 * sigma &&
            bernoulli_exp((uint64_t)(excess / (sigma + 1)) * (uint64_t)(excess / (sigma + 1)),
                          2 * (uint64_t)sigma * (uint64_t)sigma)) {
            return candidate;
        }
    }
}

/* ------------------------------------------------------------- Box-Muller */

static double box_muller(void)
{
    double u = (tremolo_generator_word(&generator) + 1.0) / 4294967296.0;
    double v = tremolo_generator_word(&generator) / 4294967296.0;
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

/* --------------------------------------------------------------- measuring */

static int64_t draw_exact(void)
{
    return tremolo_noise_draw(&generator, 20);
}

static int64_t draw_float(void)
{
    return (int64_t)(box_muller() * 1048576.0);
}

static double nanoseconds(int64_t (*draw)(void), int count)
{
    double start = bench_seconds();
    for (int i = 0; i < count; i++) {
        sink = sink + draw();
    }
    return (bench_seconds() - start) / count * 1e9;
}

static struct tremolo_bounds bounds[100];
static int32_t features[100];

static struct tremolo_study study_of(uint16_t d)
{
    struct tremolo_study study = {
        .id = "bench",
        .bounds = bounds,
        .response_bounds = TREMOLO_HOST_BOUNDS,
        .unit = 1 << 18,
        .clip = 1 << 18,
        .dimension = d,
        .keep = TREMOLO_KEEP_ONE,
        .rounds = 1,
        .samples = 1,
        .noise_log2 = 20,
        .wire_shift = 14,
        .wire_bits = 12,
    };
    return study;
}

static double reports_per_second(uint16_t d, int count)
{
    static struct tremolo_work work;
    struct tremolo_study study = study_of(d);
    struct tremolo_round round = {NULL, 0};
    struct tremolo_sample sample = {features, 0, 0};
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    double start = bench_seconds();
    for (int i = 0; i < count; i++) {
        struct tremolo_host_memory memory = {0};
        struct tremolo_platform platform = tremolo_host_memory_platform(&memory);
        size_t length = sizeof bytes;
        if (tremolo_device_enrol(&work, &platform, tremolo_study_charge(&study), 0) != TREMOLO_OK ||
            tremolo_device_report(&work, bytes, &length, &study, &round, &sample, &platform) !=
                TREMOLO_OK) {
            return NAN;
        }
    }
    return count / (bench_seconds() - start);
}

int main(void)
{
    struct tremolo_host_memory memory;
    struct tremolo_platform platform = tremolo_host_memory_platform(&memory);
    for (int i = 0; i < 100; i++) {
        bounds[i] = (struct tremolo_bounds)TREMOLO_HOST_BOUNDS;
        features[i] = i * 10000000;
    }
    static const uint8_t id[32] = {1}; /* of a study, and a ledger's secret: any will do */
    if (tremolo_generator_seed(&generator, &platform, id, id) != TREMOLO_OK) {
        return 1;
    }
    double exact = nanoseconds(draw_exact, DRAWS);
    double cks = nanoseconds(discrete_gaussian, DRAWS / 10);
    double box = nanoseconds(draw_float, DRAWS);
    (void)printf("exact sampler          %8.1f ns a draw\n"
                 "straightforward CKS    %8.1f ns a draw   (%.2f of ours)\n"
                 "float Box-Muller       %8.1f ns a draw   (%.2f of ours; not exact)\n",
                 exact, cks, cks / exact, box, box / exact);
    (void)printf("reports at d = 10      %8.0f a second on one core\n",
                 reports_per_second(10, REPORTS_D10));
    (void)printf("reports at d = 100     %8.0f a second on one core\n",
                 reports_per_second(100, REPORTS_D100));
    return 0;
}
