/* tremolo_host.h -- a device core with an operating system beneath it.
 *
 * Thin wrappers: floating-point measurements to the integers the core takes,
 * entropy from the kernel, a ledger in memory for simulations.
 *
 *     struct tremolo_host_range range = {0.0, 30000.0};
 *     int32_t raw;
 *     enum tremolo_status status = tremolo_host_raw(&raw, 7231.5, &range);
 */
#ifndef TREMOLO_HOST_H
#define TREMOLO_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "tremolo_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Public bounds of a floating-point feature, low < high, both finite. */
struct tremolo_host_range {
    double low;
    double high;
};

/* The integer bounds every such range is mapped to: 2^31 - 2 steps, so that
 * rounding a value to a step is far below a fine unit of any study
 * (docs/reference/proofs.md counts it). */
#define TREMOLO_HOST_BOUNDS                                                                        \
    {                                                                                              \
        -1073741823, 1073741823                                                                    \
    }

/* The step of *raw nearest to `value`, clamped to the range. NOT_A_NUMBER for
 * NaN or infinity, BAD_BOUNDS for an empty or infinite range; *raw is 0 then. */
TREMOLO_MUST_USE enum tremolo_status tremolo_host_raw(int32_t *raw, double value,
                                                      const struct tremolo_host_range *range);

/* A ledger of one study in memory, for simulated devices: the budget ends with
 * the program. Zero it before enrolment. */
struct tremolo_host_memory {
    struct tremolo_slot slot[2];
};

/* A platform over that memory with the kernel's entropy and no counter. The
 * memory must outlive the platform. */
struct tremolo_platform tremolo_host_memory_platform(struct tremolo_host_memory *memory);

#ifdef __cplusplus
}
#endif

#endif
