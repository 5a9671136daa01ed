/* fake_device.h -- a device made of fake entropy and fake storage, and a small
 * study for it. */
#ifndef TREMOLO_TESTS_FAKE_DEVICE_H
#define TREMOLO_TESTS_FAKE_DEVICE_H

#include "fake_entropy.h"
#include "fake_storage.h"

struct fake_device {
    struct fake_entropy entropy;
    struct fake_storage storage;
};

static inline int fake_device_entropy(void *context, uint8_t *bytes, size_t length)
{
    struct fake_device *device = context;
    return fake_entropy_fill(&device->entropy, bytes, length);
}

static inline int fake_device_read(void *context, unsigned slot, uint8_t *bytes, size_t length)
{
    struct fake_device *device = context;
    return fake_storage_read(&device->storage, slot, bytes, length);
}

static inline int fake_device_write(void *context, unsigned slot, const uint8_t *bytes,
                                    size_t length)
{
    struct fake_device *device = context;
    return fake_storage_write(&device->storage, slot, bytes, length);
}

static inline int fake_device_counter(void *context, uint32_t *value)
{
    struct fake_device *device = context;
    return fake_storage_counter(&device->storage, value);
}

static inline int fake_device_advance(void *context, uint32_t value)
{
    struct fake_device *device = context;
    return fake_storage_advance(&device->storage, value);
}

static inline void fake_device_init(struct fake_device *device, uint64_t seed)
{
    memset(&device->entropy, 0, sizeof device->entropy);
    device->entropy.state = seed;
    fake_storage_init(&device->storage, 0xff);
}

static inline struct tremolo_platform fake_device_platform(struct fake_device *device,
                                                           unsigned studies, int has_counter)
{
    struct tremolo_platform platform = {
        .context = device,
        .entropy = fake_device_entropy,
        .read = fake_device_read,
        .write = fake_device_write,
        .counter = has_counter ? fake_device_counter : NULL,
        .advance = has_counter ? fake_device_advance : NULL,
        .studies = studies,
    };
    return platform;
}

/* Bounds of -1000..1000 for as many features as a study can have. */
static inline const struct tremolo_bounds *fake_bounds(void)
{
    static struct tremolo_bounds bounds[TREMOLO_MAX_DIMENSION];
    if (bounds[0].high == 0) {
        for (int i = 0; i < TREMOLO_MAX_DIMENSION; i++) {
            bounds[i] = (struct tremolo_bounds){-1000, 1000};
        }
    }
    return bounds;
}

/* The default grid: noise 2^18, 64 wire steps to it, 12 bits. No modulation. */
static inline struct tremolo_study fake_study(unsigned dimension, uint8_t name)
{
    struct tremolo_study study = {
        .bounds = fake_bounds(),
        .response_bounds = {-1000, 1000},
        .unit = UINT32_C(1) << 18,
        .clip = UINT32_C(1) << 18,
        .dimension = (uint16_t)dimension,
        .keep = TREMOLO_KEEP_ONE,
        .rounds = 4,
        .samples = 2,
        .noise_log2 = 18,
        .wire_shift = 12,
        .wire_bits = 12,
    };
    memset(study.id, name, sizeof study.id);
    study.id[31] = (uint8_t)~name;
    return study;
}

#endif
