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

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A well-mixed 64-bit hash of two numbers, for seeds. */
uint64_t tremolo_random_hash(uint64_t a, uint64_t b);

/* ---- one number at a time: splitmix64 */

struct tremolo_random {
    uint64_t state;
};

struct tremolo_random tremolo_random_from(uint64_t seed, uint64_t stream);
uint64_t tremolo_random_bits(struct tremolo_random *random);
double tremolo_random_uniform(struct tremolo_random *random); /* within 0 and 1 */
double tremolo_random_normal(struct tremolo_random *random);

/* ---- many at a time
 *
 * Eight xoshiro128++ generators side by side feed the Box-Muller transform in
 * single precision, with AVX2 where the processor has it. The numbers are the
 * same bit for bit without it; they are rounded to 24 bits. */

enum { TREMOLO_NORMALS_LANES = 8, TREMOLO_NORMALS_STEP = 2 * TREMOLO_NORMALS_LANES };

struct tremolo_normals {
    uint32_t state[4][TREMOLO_NORMALS_LANES];
};

void tremolo_normals_seed(struct tremolo_normals *source, uint64_t seed, uint64_t stream);

/* Fill `count` numbers, a multiple of TREMOLO_NORMALS_STEP, with standard normals. */
void tremolo_normals_fill(struct tremolo_normals *source, float *out, size_t count);

/* The same numbers without AVX2, for tests. */
void tremolo_normals_fill_scalar(struct tremolo_normals *source, float *out, size_t count);

/* Fill `count` numbers, a multiple of TREMOLO_NORMALS_LANES, with cosines of angles
 * that are uniform on the circle. */
void tremolo_normals_waves(struct tremolo_normals *source, float *out, size_t count);

#ifdef __cplusplus
}
#endif

#endif
