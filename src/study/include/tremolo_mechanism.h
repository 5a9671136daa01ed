/* tremolo_mechanism.h -- from (epsilon, delta) to the integers a device uses.
 *
 * An analyst asks for a guarantee in real numbers; a device obeys integers
 * (struct tremolo_study). This translation rounds every number to the private
 * side: what the device will charge for all rounds, computed by its own
 * integer arithmetic, never exceeds what was asked.
 *
 *     struct tremolo_mechanism_request request = TREMOLO_MECHANISM_DEFAULTS;
 *     struct tremolo_mechanism_scales scales;
 *     request.dimension = 8;
 *     request.epsilon = 1.0;
 *     request.delta = 1e-5;
 *     study.bounds = bounds;           (and study.response_bounds, study.id)
 *     status = tremolo_mechanism_fill(&study, &scales, &request);
 *
 * "Scaled" units are those in which the request's bound, radius and distance
 * are given: a feature at its public bounds has the scaled value -bound or
 * bound. Pure functions, safe from any thread. */
#ifndef TREMOLO_MECHANISM_H
#define TREMOLO_MECHANISM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_device.h"
#include "tremolo_privacy.h"
#include "tremolo_status.h"
#include "tremolo_study_file.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tremolo_mechanism_request {
    size_t dimension;      /* features, 1..TREMOLO_MAX_DIMENSION */
    bool response_private; /* the response is one more released coordinate */
    double bound;          /* scaled value of a feature at its public bound, > 0 */
    double radius;         /* the sample is clipped to this norm, > 0 */
    enum tremolo_neighbours neighbours;
    double distance; /* for TREMOLO_NEIGHBOURS_DISTANCE, in (0, 2 radius] */
    double epsilon;  /* > 0 */
    double delta;    /* in (0, 1) */
    uint16_t rounds; /* releases of each device, >= 1; the budget is shared evenly */
    enum tremolo_calibration calibration;
    double alpha;   /* in [0, 1) */
    double lambda;  /* modulation, scaled units; 0 with vectors == 0 */
    double omega;   /* radians per scaled unit */
    size_t vectors; /* m, 0..d */
};

#define TREMOLO_MECHANISM_DEFAULTS                                                                 \
    {                                                                                              \
        1, false, 1.0, 1.0, TREMOLO_NEIGHBOURS_DISTANCE, 1.0, 1.0, 1e-5, 1,                        \
            TREMOLO_CALIBRATION_EXACT, 0.0, 0.0, 0.0, 0                                            \
    }

/* What the integers promise, for printing. */
struct tremolo_mechanism_scales {
    double sigma;       /* sd of the noise, scaled units */
    double sensitivity; /* l2, scaled units, the device's rounding included */
    double mu;          /* over all rounds, rounded up */
    double rho;         /* mu^2 / 2 */
    double epsilon;     /* what is spent at the request's delta, rounded up */
};

/* Fill rounds, unit, clip, distance, amplitude, frequency, dimension, keep,
 * vectors, samples, noise_log2, wire_shift, wire_bits and response of a study
 * that has its bounds and response_bounds; id and bounds stay as they are.
 * Noise has a standard deviation of 64 wire units and coordinates 12 bits,
 * unless the radius needs more bits or, beyond 16 bits, a coarser grid.
 *
 * BAD_ARGUMENT or a more particular status for a request out of range,
 * UNREACHABLE when no integers within the device's limits fit it. On failure
 * the study and the scales are untouched. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_mechanism_fill(struct tremolo_study *study, struct tremolo_mechanism_scales *scales,
                       const struct tremolo_mechanism_request *request);

#ifdef __cplusplus
}
#endif

#endif
