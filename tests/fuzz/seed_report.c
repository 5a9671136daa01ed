/* seed_report.c -- first inputs for fuzz_report: sound reports over several
 * grids, with and without response and MAC, each behind the byte by which the
 * target chooses its study. */
#include <stdio.h>
#include <stdlib.h>

#include "fake_device.h"
#include "parts.h"

static size_t make(uint8_t *bytes, unsigned number)
{
    static const uint8_t key[TREMOLO_MAC_KEY_BYTES] = "sixteen bytes...";
    static const unsigned dimensions[] = {1, 2, 3, 10, 64, 255};
    static struct fake_device device;
    static struct tremolo_work work;
    static int32_t features[TREMOLO_MAX_DIMENSION];
    struct tremolo_study study = fake_study(dimensions[number % 6], (uint8_t)number);
    struct tremolo_round round = {NULL, (uint16_t)(number * number * 7)};
    struct tremolo_sample sample = {features, (int32_t)number * 20 - 1000, 0};
    struct tremolo_platform platform;
    size_t length = TREMOLO_MAX_REPORT_BYTES;
    bytes[0] = (uint8_t)(number % 9);
    study.wire_bits = (uint8_t)(8 + number % 9);
    study.wire_shift = 10;
    study.noise_log2 = 13;
    study.unit = study.clip = 1000;
    study.rounds = UINT16_MAX;
    study.response = number / 9 % 2;
    /* The half of the id that is not in the report is the target's own. */
    {
        struct tremolo_study theirs = fake_study(1, 1);
        memcpy(study.id + TREMOLO_STUDY_TAG_BYTES, theirs.id + TREMOLO_STUDY_TAG_BYTES,
               TREMOLO_STUDY_TAG_BYTES);
    }
    fake_device_init(&device, number);
    platform = fake_device_platform(&device, 1, 0);
    platform.mac_key = number % 2 ? key : NULL;
    if (tremolo_device_enrol(&work, &platform, UINT32_MAX, 0) != TREMOLO_OK ||
        tremolo_device_report(&work, bytes + 1, &length, &study, &round, &sample, &platform) !=
            TREMOLO_OK) {
        return 0;
    }
    return length + 1;
}

static int save(const char *folder, unsigned number)
{
    uint8_t bytes[1 + TREMOLO_MAX_REPORT_BYTES];
    char path[4096];
    size_t length = make(bytes, number);
    FILE *file;
    size_t written;
    (void)snprintf(path, sizeof path, "%s/report-%u", folder, number);
    file = length == 0 ? NULL : fopen(path, "wb");
    if (file == NULL) {
        return EXIT_FAILURE;
    }
    written = fwrite(bytes, 1, length, file);
    return fclose(file) == 0 && written == length ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    int status = argc == 2 ? EXIT_SUCCESS : EXIT_FAILURE;
    for (unsigned number = 0; number < 72 && status == EXIT_SUCCESS; number++) {
        status = save(argv[1], number);
    }
    return status;
}
