/* random.c -- the seeded generator. */
#include "tremolo_random.h"

#include <math.h>

static const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15);

uint64_t tremolo_random_hash(uint64_t a, uint64_t b)
{
    uint64_t z = a + golden * (b + 1);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t tremolo_random_bits(struct tremolo_random *random)
{
    uint64_t bits = tremolo_random_hash(random->state, 0);
    random->state += golden;
    return bits;
}

/* Both numbers are mixed into the state, so that streams differ. */
struct tremolo_random tremolo_random_from(uint64_t seed, uint64_t stream)
{
    struct tremolo_random random = {seed};
    uint64_t first = tremolo_random_bits(&random);
    random.state = first ^ (stream * UINT64_C(0xd1342543de82ef95) + 1u);
    (void)tremolo_random_bits(&random);
    return random;
}

double tremolo_random_uniform(struct tremolo_random *random)
{
    return ((double)(tremolo_random_bits(random) >> 11) + 0.5) * 0x1p-53;
}

double tremolo_random_normal(struct tremolo_random *random)
{
    double u = tremolo_random_uniform(random);
    double v = tremolo_random_uniform(random);
    return sqrt(-2.0 * log(u)) * cos(2.0 * 3.14159265358979323846 * v);
}
