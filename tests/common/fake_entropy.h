/* fake_entropy.h -- entropy that repeats from a seed, and that can fail.
 *
 * splitmix64, as in tremolo_random.h, which tests of the device alone do not link: good enough to seed ChaCha20 differently each time, and tests
 * that fix the seed see the same bytes every time. */
#ifndef TREMOLO_TESTS_FAKE_ENTROPY_H
#define TREMOLO_TESTS_FAKE_ENTROPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* For tremolo_generator_seed(): nothing is added to the entropy. */
static const uint8_t added_nothing[32];

struct fake_entropy {
    uint64_t state;
    unsigned calls;
    int fails;    /* every call fails, having filled half of the buffer */
    int is_stuck; /* every byte is 0xa5 */
};

static inline uint64_t fake_random(struct fake_entropy *entropy)
{
    uint64_t z = entropy->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Uniform on 0..count-1, with a bias of at most count / 2^64. */
static inline uint32_t fake_below(struct fake_entropy *entropy, uint32_t count)
{
    return (uint32_t)(fake_random(entropy) % count);
}

/* Uniform on low..high. */
static inline int32_t fake_between(struct fake_entropy *entropy, int32_t low, int32_t high)
{
    uint64_t width = (uint64_t)((int64_t)high - low) + 1;
    return (int32_t)(low + (int64_t)(fake_random(entropy) % width));
}

static inline int fake_entropy_fill(struct fake_entropy *entropy, uint8_t *bytes, size_t length)
{
    entropy->calls++;
    for (size_t i = 0; i < length; i++) {
        bytes[i] = entropy->is_stuck ? 0xa5 : (uint8_t)(fake_random(entropy) >> 32);
        if (entropy->fails && i == length / 2) {
            return -1;
        }
    }
    return entropy->fails ? -1 : 0;
}

#endif
