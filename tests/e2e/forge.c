/* forge.c -- one report into a file, honest or not, for the intruder tests.
 *
 *   forge PUBLISHED-STUDY OUT [--round R] [--key MAC-KEY] [--norm]
 *
 * PUBLISHED-STUDY is the body of GET /v1/studies/{id}. --key signs with that
 * base64url key. --norm sets every coordinate of a noisy sample to the wire's end. */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tremolo_device.h"
#include "tremolo_host.h"
#include "study_internal.h"

static void must(int good, const char *what)
{
    if (!good) {
        (void)fprintf(stderr, "forge: %s\n", what);
        exit(1);
    }
}

static struct tremolo_study_file *read_study(const char *path)
{
    struct tremolo_study_file *file = NULL;
    json_t *published = json_load_file(path, 0, NULL);
    char *text = json_dumps(json_object_get(published, "study"), JSON_REAL_PRECISION(17));
    must(text != NULL, "no study in that file");
    must(tremolo_study_file_parse(&file, NULL, text, strlen(text)) == TREMOLO_OK, "bad study");
    json_decref(published);
    free(text);
    return file;
}

/* Every coordinate at the wire's end: 0111..., for widths that a byte pair holds. */
static void exaggerate(uint8_t *bytes, size_t length, const struct tremolo_study *study)
{
    struct tremolo_report report;
    must(tremolo_report_decode(&report, bytes, length) == TREMOLO_OK, "decode");
    uint8_t *packed = bytes + (report.coordinates - bytes);
    memset(packed, 0, report.coordinate_bytes);
    for (unsigned i = 0; i < tremolo_study_coordinates(study) * study->wire_bits; i++) {
        if (i % study->wire_bits != 0) {
            packed[i / 8] |= (uint8_t)(0x80 >> i % 8);
        }
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"round", required_argument, NULL, 'r'},
                                            {"key", required_argument, NULL, 'k'},
                                            {"norm", no_argument, NULL, 'n'},
                                            {NULL, 0, NULL, 0}};
    static struct tremolo_work work;
    static struct tremolo_host_memory memory;
    static int32_t features[TREMOLO_MAX_DIMENSION];
    static int16_t vectors[TREMOLO_MAX_DIMENSION * TREMOLO_MAX_DIMENSION];
    uint8_t key[TREMOLO_MAC_KEY_BYTES];
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    size_t length = sizeof bytes;
    struct tremolo_platform platform = tremolo_host_memory_platform(&memory);
    struct tremolo_round round = {NULL, 0};
    struct tremolo_sample sample = {features, 0, 0};
    int norm = 0;
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'r') {
            round.number = (uint16_t)strtoul(optarg, NULL, 10);
        } else if (option == 'k') {
            must(tremolo_base64_decode(key, sizeof key, optarg) == TREMOLO_OK, "bad key");
            platform.mac_key = key;
        } else {
            norm = option == 'n';
        }
    }
    must(argc - optind == 2, "two files are needed");
    struct tremolo_study_file *file = read_study(argv[optind]);
    const struct tremolo_study *study = tremolo_study_file_device(file);
    for (unsigned j = 0; j < study->vectors; j++) {
        vectors[j * study->dimension + j] = TREMOLO_VECTOR_ONE;
    }
    round.vectors = study->vectors > 0 ? vectors : NULL;
    must(tremolo_device_enrol(&work, &platform, UINT32_MAX / 2, 100 * TREMOLO_CHARGE_ONE) ==
             TREMOLO_OK,
         "enrol");
    must(tremolo_device_report(&work, bytes, &length, study, &round, &sample, &platform) ==
             TREMOLO_OK,
         "report");
    if (norm) {
        exaggerate(bytes, length, study);
    }
    FILE *out = fopen(argv[optind + 1], "wb");
    must(out != NULL && fwrite(bytes, 1, length, out) == length && fclose(out) == 0, "write");
    tremolo_study_file_free(file);
    return 0;
}
