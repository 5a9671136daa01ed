/* fleet_parts.h -- the inside of a fleet, shared by its three files. */
#ifndef TREMOLO_LAB_FLEET_PARTS_H
#define TREMOLO_LAB_FLEET_PARTS_H

#include "fleet.h"

#include "tremolo_device.h"
#include "tremolo_host.h"
#include "tremolo_release.h"

/* Devices are simulated by the block and folded by the batch: the fold wants
 * long runs of each of its 32 buckets. */
enum { FLEET_BLOCK_ROWS = 512, FLEET_BATCH_ROWS = 16 * FLEET_BLOCK_ROWS };

struct fleet {
    size_t rows, d;
    size_t width; /* integers of a report's row */
    uint64_t seed;
    unsigned threads;
    bool fast;
    const struct tremolo_progress *progress;
    FILE *reports;
    bool response_private;
    struct tremolo_study study;
    struct tremolo_mechanism_scales scales;
    struct tremolo_sample_release release; /* without V */
    struct tremolo_bounds *bounds;
    uint8_t *buckets;      /* of every device */
    int16_t *wire_vectors; /* the current round's, in 2^-14 */
    /* exact */
    int32_t *raw;                        /* rows * (d + 1): features and response as measured */
    struct tremolo_host_memory *ledgers; /* of every device; NULL with one round */
    /* fast */
    float *base;       /* rows * coordinates: clipped, shrunk, wire units */
    int16_t *response; /* rows, when the response is public */
};

/* What one pass over the devices has in common. */
struct fleet_pass {
    struct tremolo_round round;
    uint64_t stream; /* of the fast noise */
};

enum tremolo_status fleet_exact_prepare(struct fleet *fleet, const struct fleet_setup *setup);
enum tremolo_status fleet_fast_prepare(struct fleet *fleet, const struct fleet_setup *setup);

/* Write `count` rows of `width` integers of the devices from `from`. */
enum tremolo_status fleet_exact_block(int16_t *rows, struct fleet *fleet, size_t from, size_t count,
                                      const struct fleet_pass *pass);
enum tremolo_status fleet_fast_block(int16_t *rows, const struct fleet *fleet, size_t from,
                                     size_t count, const struct fleet_pass *pass);

#endif
