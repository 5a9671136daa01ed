/* check.h -- the ranges every function of the accountant accepts. Each
 * comparison is written so that NaN fails it. Internal. */
#ifndef TREMOLO_PRIVACY_CHECK_H
#define TREMOLO_PRIVACY_CHECK_H

#include <float.h>
#include <stdbool.h>
#include <stdint.h>

#include "tremolo_privacy.h"

static inline bool is_positive(double x)
{
    return x > 0.0 && x <= DBL_MAX;
}

static inline bool is_epsilon(double epsilon)
{
    return epsilon >= 0.0 && epsilon <= TREMOLO_EPSILON_MAX;
}

static inline bool is_delta(double delta)
{
    return delta >= DBL_MIN && delta < 1.0;
}

static inline bool is_releases(uint64_t releases)
{
    return releases >= 1 && releases <= TREMOLO_RELEASES_MAX;
}

#endif
