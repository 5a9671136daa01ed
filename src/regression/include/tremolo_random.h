/* tremolo_random.h -- the seeded generator of simulations, baselines and public directions.
 *
 *     struct tremolo_random random = tremolo_random_from(seed, round);
 *     double x = tremolo_random_normal(&random);
 *
 * This is no source for a real device: it is predictable, and noise that protects
 * people comes from the device core. These numbers must only be reproducible from a
 * seed. Different streams of a seed are independent for all purposes of a simulation. */
#ifndef TREMOLO_RANDOM_H
#define TREMOLO_RANDOM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A well-mixed 64-bit hash of two numbers, for seeds. */
uint64_t tremolo_random_hash(uint64_t a, uint64_t b);

/* splitmix64 */
struct tremolo_random {
    uint64_t state;
};

struct tremolo_random tremolo_random_from(uint64_t seed, uint64_t stream);
uint64_t tremolo_random_bits(struct tremolo_random *random);
double tremolo_random_uniform(struct tremolo_random *random); /* within 0 and 1 */
double tremolo_random_normal(struct tremolo_random *random);

#ifdef __cplusplus
}
#endif

#endif
