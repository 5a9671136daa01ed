/* largest_study.h -- a device and a study that use all of the build's size. */
#ifndef TREMOLO_PORTS_LARGEST_STUDY_H
#define TREMOLO_PORTS_LARGEST_STUDY_H

#include "memory_platform.h"

enum { LARGEST_D = TREMOLO_MAX_DIMENSION };

static struct tremolo_work work;
static struct memory_device device;
static struct tremolo_bounds bounds[LARGEST_D];
static int16_t vectors[LARGEST_D * LARGEST_D];
static int32_t features[LARGEST_D];
static int32_t response = 50;
static struct tremolo_study study;
static struct tremolo_platform platform;
static uint8_t report[TREMOLO_MAX_REPORT_BYTES];
static uint8_t entropy[TREMOLO_SEED_BYTES] = {7,  1,  2,  3,  4,  5,  6,  8,  9,  10, 11,
                                              12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
                                              23, 24, 25, 26, 27, 28, 29, 30, 31, 32};

/* The default grid with `waves` modulation vectors; half of the features are
 * at a bound, so that the sample is clipped. The MAC key is any bytes. */
static inline void prepare_study(unsigned waves, unsigned samples, int private_response,
                                 const uint8_t *mac_key)
{
    unsigned i;
    for (i = 0; i < LARGEST_D; i++) {
        bounds[i].high = 100;
        features[i] = (int32_t)(i & 1) * 100;
        vectors[i * LARGEST_D + i] = TREMOLO_VECTOR_ONE;
    }
    study.bounds = bounds;
    study.response_bounds.high = 100;
    study.unit = UINT32_C(1) << 18;
    study.clip = UINT32_C(1) << 18;
    study.amplitude = waves == 0 ? 0 : 1000;
    study.frequency = waves == 0 ? 0 : 70001;
    study.dimension = LARGEST_D;
    study.keep = TREMOLO_KEEP_ONE / 2;
    study.vectors = (uint16_t)waves;
    study.rounds = 1;
    study.samples = (uint16_t)samples;
    study.noise_log2 = 18;
    study.wire_shift = 12;
    study.wire_bits = 12;
    study.response = (uint8_t)private_response;
    platform = memory_platform(&device, mac_key);
    device.entropy = entropy;
}

/* The same study as a ballot, with about the default constants at epsilon 2. */
static inline void prepare_ballot(unsigned dimension, unsigned samples, int private_response,
                                  const uint8_t *mac_key)
{
    prepare_study(0, samples, private_response, mac_key);
    study.dimension = (uint16_t)dimension;
    study.release = TREMOLO_RELEASE_BALLOT;
    study.rank_first = 57;
    study.rank_top = 2923410234u;
    study.constant = 282;
    study.response_weight = private_response ? 515 : 0;
}

static int call_enrol(void)
{
    return (int)tremolo_device_enrol(&work, &platform, UINT32_MAX, UINT32_MAX);
}

static int call_report(unsigned sample_number)
{
    struct tremolo_round round = {study.vectors == 0 ? NULL : vectors, 0};
    struct tremolo_sample sample = {features, response, (uint16_t)sample_number};
    size_t length = sizeof report;
    return (int)tremolo_device_report(&work, report, &length, &study, &round, &sample, &platform);
}

#endif
