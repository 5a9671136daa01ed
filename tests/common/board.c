/* board.c -- a board for examples/firmware.c that prints what it sends.
 *
 * Flash is memory, entropy the sequence of fake_entropy.h from seed 1. Arguments:
 * the sample's raw numbers, the response last. Prints the study's id, what the
 * ledger has left before and after, and the report, each in hexadecimal. */
#include <stdio.h>
#include <stdlib.h>

#include "fake_entropy.h"
#include "tremolo_the_study.h"

int board_random(uint8_t *bytes, size_t length);
int board_flash_read(unsigned slot, uint8_t *bytes, size_t length);
int board_flash_write(unsigned slot, const uint8_t *bytes, size_t length);
int board_send(const uint8_t *bytes, size_t length);
enum tremolo_status firmware_enrol(void);
enum tremolo_status firmware_report(const int32_t *features, int32_t response);

static struct fake_entropy entropy = {.state = 1};
static struct tremolo_slot flash[2];

int board_random(uint8_t *bytes, size_t length)
{
    return fake_entropy_fill(&entropy, bytes, length);
}

int board_flash_read(unsigned slot, uint8_t *bytes, size_t length)
{
    memcpy(bytes, &flash[slot], length);
    return 0;
}

int board_flash_write(unsigned slot, const uint8_t *bytes, size_t length)
{
    memcpy(&flash[slot], bytes, length);
    return 0;
}

static void print_hex(const char *name, const uint8_t *bytes, size_t length)
{
    printf("%s ", name);
    for (size_t i = 0; i < length; i++) {
        printf("%02x", (unsigned)bytes[i]);
    }
    printf("\n");
}

int board_send(const uint8_t *bytes, size_t length)
{
    print_hex("report", bytes, length);
    return 0;
}

int main(int argc, char **argv)
{
    int32_t raw[TREMOLO_MAX_COORDINATES];
    int d = tremolo_the_study.dimension;
    if (argc != d + 2 || firmware_enrol() != TREMOLO_OK) {
        return 1;
    }
    for (int i = 0; i <= d; i++) {
        raw[i] = (int32_t)strtol(argv[i + 1], NULL, 10);
    }
    print_hex("id", tremolo_the_study.id, TREMOLO_STUDY_ID_BYTES);
    printf("budget %lu\n", (unsigned long)TREMOLO_THE_BUDGET);
    enum tremolo_status status = firmware_report(raw, raw[d]);
    printf("charged %lu\n", (unsigned long)flash[0].spent);
    return status == TREMOLO_OK && firmware_report(raw, raw[d]) == TREMOLO_OK ? 0 : 1;
}
