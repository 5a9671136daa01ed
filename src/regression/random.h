/* random.h -- a small seeded generator for directions and baselines.
 *
 * Not for privacy: noise that protects people comes from the device core. These
 * draws choose public directions and simulate baselines, and must only be
 * reproducible from a seed. */
#ifndef TREMOLO_RANDOM_H
#define TREMOLO_RANDOM_H

#include <math.h>
#include <stdint.h>

struct seeded {
    uint64_t state;
};

static inline uint64_t seeded_bits(struct seeded *random)
{
    uint64_t z = (random->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Mix two numbers into a seed, so that streams of different rounds differ. */
static inline struct seeded seeded_from(uint64_t seed, uint64_t stream)
{
    struct seeded random = {seed};
    uint64_t first = seeded_bits(&random);
    random.state = first ^ (stream * 0xd1342543de82ef95u + 1u);
    (void)seeded_bits(&random);
    return random;
}

/* Standard normal by Box and Muller's transform. */
static inline double seeded_normal(struct seeded *random)
{
    double u = ((double)(seeded_bits(random) >> 11) + 0.5) * 0x1p-53;
    double v = ((double)(seeded_bits(random) >> 11) + 0.5) * 0x1p-53;
    return sqrt(-2.0 * log(u)) * cos(2.0 * 3.14159265358979323846 * v);
}

#endif
