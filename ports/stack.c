/* stack.c -- how deep does the core's stack go, and how much RAM does it need?
 *
 * The stack below the caller is painted, the core is called with the largest
 * study the build allows, and the paint that is gone is counted. The test's
 * callbacks stand for the embedder's: they copy bytes and need little. */
#include <stdio.h>
#include <string.h>

#include "memory_platform.h"

enum { D = TREMOLO_MAX_DIMENSION, PAINT = 0xa5, DEPTH = 1024 };

static struct tremolo_work work;
static struct memory_device device;
static struct tremolo_bounds bounds[D];
static int16_t vectors[D * D];
static int32_t features[D];
static struct tremolo_study study;
static struct tremolo_platform platform;
static uint8_t report[TREMOLO_MAX_REPORT_BYTES];
static const uint8_t entropy[TREMOLO_SEED_BYTES] = {7, 1, 2, 3};

/* Everything on: a private response, clipping, as many vectors as features. */
static void prepare(void)
{
    unsigned i;
    for (i = 0; i < D; i++) {
        bounds[i].high = 100;
        features[i] = (int32_t)(i & 1) * 100;
        vectors[i * D + i] = TREMOLO_VECTOR_ONE;
    }
    study.bounds = bounds;
    study.response_bounds.high = 100;
    study.unit = UINT32_C(1) << 18;
    study.clip = UINT32_C(1) << 18;
    study.amplitude = 1000;
    study.frequency = 70001;
    study.dimension = D;
    study.keep = TREMOLO_KEEP_ONE / 2;
    study.vectors = D;
    study.rounds = 1;
    study.samples = 1;
    study.noise_log2 = 18;
    study.wire_shift = 12;
    study.wire_bits = 12;
    study.response = TREMOLO_RESPONSE_PRIVATE;
#ifdef TREMOLO_WITHOUT_MAC
    platform = memory_platform(&device, NULL);
#else
    platform = memory_platform(&device, entropy);
#endif
    device.entropy = entropy;
}

static int call_enrol(void)
{
    return (int)tremolo_device_enrol(&work, &platform, UINT32_MAX);
}

static int call_report(void)
{
    struct tremolo_round round = {vectors, 0};
    struct tremolo_sample sample = {features, 50, 0};
    size_t length = sizeof report;
    return (int)tremolo_device_report(&work, report, &length, &study, &round, &sample, &platform);
}

/* Bytes of stack that `call` used. The compiler may not merge the frames. */
__attribute__((noinline)) static size_t stack_of(int (*volatile call)(void), int *status)
{
    volatile uint8_t *here = (volatile uint8_t *)__builtin_frame_address(0);
    volatile uint8_t *low = here - DEPTH;
    volatile uint8_t *at;
    /* Leave this function's own frame alone. */
    for (at = low; at < here - 64; at++) {
        *at = PAINT;
    }
    *status = call();
    for (at = low; at < here && *at == PAINT; at++) {
    }
    return (size_t)(here - at);
}

int main(void)
{
    int enrolled;
    int reported;
    size_t enrol;
    size_t made;
    prepare();
    enrol = stack_of(call_enrol, &enrolled);
    made = stack_of(call_report, &reported);
    printf("stack=%u work=%u report=%u slot=%u status=%d\n",
           (unsigned)(made > enrol ? made : enrol), (unsigned)sizeof work, (unsigned)sizeof report,
           (unsigned)sizeof(struct tremolo_slot), enrolled | reported);
    return enrolled | reported;
}
