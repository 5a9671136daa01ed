/* wrapper.c -- floating point, entropy and memory for the device core.
 *
 * The core takes integers, so that its proofs hold on every machine. A measurement becomes the
 * nearest of 2^31 steps between public bounds; the rounding is far below the noise, and the core's
 * sensitivity counts it. */
#include "ledger_file.h"
#include "tremolo_host.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/random.h>

static const struct tremolo_bounds raw_bounds = TREMOLO_HOST_BOUNDS;

/* Clamped before it is scaled: a value far outside must not overflow. */
enum tremolo_status tremolo_host_raw(int32_t *raw, double value,
                                     const struct tremolo_host_range *range)
{
    if (raw == NULL || range == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    *raw = 0;
    double width = range->high - range->low;
    if (!isfinite(width) || !(width > 0)) {
        return TREMOLO_BAD_BOUNDS;
    }
    if (!isfinite(value)) {
        return TREMOLO_NOT_A_NUMBER;
    }
    double share = fmin(fmax((value - range->low) / width, 0.0), 1.0);
    double steps = (double)raw_bounds.high - (double)raw_bounds.low;
    *raw = (int32_t)(rint(share * steps) + raw_bounds.low);
    return TREMOLO_OK;
}

/* getrandom() waits until the kernel has entropy; an interrupted call goes on. */
int tremolo_host_entropy(void *context, uint8_t *bytes, size_t length)
{
    (void)context;
    while (length > 0) {
        ssize_t got = getrandom(bytes, length, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return -1;
        }
        bytes += got;
        length -= (size_t)got;
    }
    return 0;
}

static int memory_read(void *context, unsigned slot, uint8_t *bytes, size_t length)
{
    const struct tremolo_host_memory *memory = context;
    memcpy(bytes, &memory->slot[slot], length);
    return 0;
}

static int memory_write(void *context, unsigned slot, const uint8_t *bytes, size_t length)
{
    struct tremolo_host_memory *memory = context;
    memcpy(&memory->slot[slot], bytes, length);
    return 0;
}

struct tremolo_platform tremolo_host_memory_platform(struct tremolo_host_memory *memory)
{
    return (struct tremolo_platform){
        .context = memory,
        .entropy = tremolo_host_entropy,
        .read = memory_read,
        .write = memory_write,
        .studies = 1,
    };
}
