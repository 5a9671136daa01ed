/* variates.h -- many standard normal numbers fast, for simulations only.
 *
 * Eight xoshiro128++ generators side by side feed the Box-Muller transform in
 * single precision, with AVX2 where the processor has it. The numbers are the
 * same bit for bit without it. This is no source for a real device: it is
 * predictable, and its deviates are rounded to 24 bits. */
#ifndef TREMOLO_CLI_VARIATES_H
#define TREMOLO_CLI_VARIATES_H

#include <stddef.h>
#include <stdint.h>

enum { NORMAL_LANES = 8, NORMAL_STEP = 2 * NORMAL_LANES };

struct normal_source {
    uint32_t state[4][NORMAL_LANES];
};

/* One of 2^64 streams for each seed; different streams are independent for
 * all purposes of a simulation. */
void normal_seed(struct normal_source *source, uint64_t seed, uint64_t stream);

/* Fill `count` numbers, a multiple of NORMAL_STEP, with standard normals. */
void normal_fill(struct normal_source *source, float *out, size_t count);

/* The same numbers without AVX2, for tests. */
void normal_fill_scalar(struct normal_source *source, float *out, size_t count);

/* Fill `count` numbers, a multiple of NORMAL_LANES, with cosines of angles
 * that are uniform on the circle. */
void normal_waves(struct normal_source *source, float *out, size_t count);

/* A well-mixed 64-bit hash of two numbers, for seeds. */
uint64_t normal_hash(uint64_t a, uint64_t b);

#endif
