/* firmware.c -- a device without an operating system takes part in a study.
 *
 * Freestanding: the two files of `make amalgamation`, a study written by
 * `tremolo study show --c study.json > tremolo_the_study.h`, and this. A board
 * supplies four functions; docs/how-to/microcontroller.md says what each must promise.
 *
 *     cc -std=c99 -ffreestanding -DTREMOLO_MAX_DIMENSION=2 -DTREMOLO_MAX_VECTORS=1
 *        -c firmware.c tremolo_device.c
 */
#include "tremolo_the_study.h"

/* The board's own. Each returns 0 for success. */
int board_random(uint8_t *bytes, size_t length);
int board_flash_read(unsigned slot, uint8_t *bytes, size_t length);
int board_flash_write(unsigned slot, const uint8_t *bytes, size_t length);
int board_send(const uint8_t *bytes, size_t length);

/* What the application calls. */
enum tremolo_status firmware_enrol(void);
enum tremolo_status firmware_report(const int32_t *features, int32_t response);

static struct tremolo_work work; /* wiped by the core before every return */

static int take_random(void *context, uint8_t *bytes, size_t length)
{
    (void)context;
    return board_random(bytes, length);
}

static int read_slot(void *context, unsigned slot, uint8_t *bytes, size_t length)
{
    (void)context;
    return board_flash_read(slot, bytes, length);
}

static int write_slot(void *context, unsigned slot, const uint8_t *bytes, size_t length)
{
    (void)context;
    return board_flash_write(slot, bytes, length);
}

static const struct tremolo_platform platform = {
    .entropy = take_random,
    .read = read_slot,
    .write = write_slot,
    .studies = 1, /* 2 slots; every study the device will ever see needs 2 more */
};

/* Once in the device's life, in the factory: never again, and never to repair. */
enum tremolo_status firmware_enrol(void)
{
    return tremolo_device_enrol(&work, &platform, TREMOLO_THE_BUDGET, TREMOLO_THE_EPSILON);
}

/* Make the report, or repeat it; again after a reset, a power cut or a radio
 * that failed. A sample is a number for each of tremolo_the_bounds. */
enum tremolo_status firmware_report(const int32_t *features, int32_t response)
{
    static uint8_t report[TREMOLO_MAX_REPORT_BYTES];
    size_t length = sizeof report;
    struct tremolo_round round = {NULL, 0}; /* one-shot, without modulation */
    struct tremolo_sample sample;
    enum tremolo_status status;
    sample.features = features;
    sample.response = response;
    sample.number = 0;
    status = tremolo_device_report(&work, report, &length, &tremolo_the_study, &round, &sample,
                                   &platform);
    if (status == TREMOLO_OK && board_send(report, length) != 0) {
        return TREMOLO_NETWORK_FAILED; /* nothing is lost: call again, the same bytes go out */
    }
    return status;
}
