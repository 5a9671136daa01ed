/* memory_platform.h -- a device's surroundings for tests on any target: a
 * ledger in RAM and entropy that the test chooses.
 *
 * This is not an example to follow: a real device keeps its ledger where a
 * power cut cannot reach it and draws its entropy from hardware. */
#ifndef TREMOLO_PORTS_MEMORY_PLATFORM_H
#define TREMOLO_PORTS_MEMORY_PLATFORM_H

#include <string.h>

#include "tremolo_device.h"

enum { MEMORY_STUDIES = 2, MEMORY_SLOTS = 2 * MEMORY_STUDIES };

struct memory_device {
    uint32_t counter;
    const uint8_t *entropy; /* TREMOLO_SEED_BYTES of them */
    uint8_t slots[MEMORY_SLOTS][sizeof(struct tremolo_slot)];
};

static int memory_entropy(void *context, uint8_t *bytes, size_t length)
{
    const struct memory_device *device = (const struct memory_device *)context;
    if (length != TREMOLO_SEED_BYTES) {
        return -1;
    }
    memcpy(bytes, device->entropy, length);
    return 0;
}

static int memory_read(void *context, unsigned slot, uint8_t *bytes, size_t length)
{
    const struct memory_device *device = (const struct memory_device *)context;
    if (slot >= MEMORY_SLOTS || length > sizeof device->slots[0]) {
        return -1;
    }
    memcpy(bytes, device->slots[slot], length);
    return 0;
}

static int memory_write(void *context, unsigned slot, const uint8_t *bytes, size_t length)
{
    struct memory_device *device = (struct memory_device *)context;
    if (slot >= MEMORY_SLOTS || length > sizeof device->slots[0]) {
        return -1;
    }
    memcpy(device->slots[slot], bytes, length);
    return 0;
}

static int memory_counter(void *context, uint32_t *value)
{
    *value = ((const struct memory_device *)context)->counter;
    return 0;
}

static int memory_advance(void *context, uint32_t value)
{
    ((struct memory_device *)context)->counter = value;
    return 0;
}

/* An empty device; its entropy is still to be chosen. */
static struct tremolo_platform memory_platform(struct memory_device *device, const uint8_t *mac_key)
{
    struct tremolo_platform platform = {device,       memory_entropy, memory_read,
                                        memory_write, memory_counter, memory_advance,
                                        mac_key,      MEMORY_STUDIES};
    memset(device, 0, sizeof *device);
    return platform;
}

#endif
