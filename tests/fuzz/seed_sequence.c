/* seed_sequence.c -- first inputs for fuzz_sequence: two reports, named and not,
 * and a sealed segment. The study is the target's own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "segment.h"
#include "server_reports.h"
#include "study_internal.h"

static void save(const char *folder, const char *name, const uint8_t *bytes, size_t length)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "wb");
    if (out == NULL || fwrite(bytes, 1, length, out) != length || fclose(out) != 0) {
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static const char text[] = "{\"tremolo\": 1, \"title\": \"t\", \"features\": [{\"name\": "
                               "\"a\", \"low\": 0, \"high\": 1},"
                               "{\"name\": \"b\", \"low\": 0, \"high\": 1}], \"response\": "
                               "{\"name\": \"y\", \"low\": 0, \"high\": 1},"
                               "\"privacy\": {\"epsilon\": 4, \"protects\": \"features\"}, "
                               "\"protocol\": {\"kind\": \"one-shot\"}}";
    struct tremolo_study_file *file = NULL;
    struct server_report report;
    uint8_t body[2048];
    size_t length = 0;
    struct segment segment = {0};
    uint32_t offset;
    if (argc != 2 || sodium_init() < 0 ||
        tremolo_study_file_parse(&file, NULL, text, strlen(text)) != TREMOLO_OK) {
        return 1;
    }
    for (int named = 0; named < 2; named++) {
        length = 0;
        for (int i = 0; i < 2; i++) {
            server_report_make(&report, tremolo_study_file_device(file), 0, NULL, NULL);
            if (named) {
                body[length++] = 0x42;
                body[length++] = 'd';
                body[length++] = (uint8_t)i;
            }
            body[length++] = 0x58;
            body[length++] = (uint8_t)report.length;
            memcpy(body + length, report.bytes, report.length);
            length += report.length;
        }
        save(argv[1], named ? "named" : "plain", body, length);
    }
    struct segment_record record = {.report = report.bytes, .length = (uint16_t)report.length};
    if (segment_add(&segment, &record, &offset) != TREMOLO_OK ||
        segment_seal(&segment, 1234567890) != TREMOLO_OK) {
        return 1;
    }
    save(argv[1], "segment", segment.bytes, segment.length);
    segment_free(&segment);
    tremolo_study_file_free(file);
    return 0;
}
