/* fuzz_report_file.c -- the reader of files of reports.
 *
 * Properties: a file that is refused is refused in one sentence and leaves
 * nothing behind; a header that is accepted passes the device's own check, holds names that
 * are plain text and is read the same again when it is written; rounds that are accepted have evidence for
 * as many devices as were counted. */
#include <string.h>

#include "fuzz.h"
#include "tremolo_report_file.h"
#include "study_internal.h"

static void check_sentence(const char error[TREMOLO_REPORT_FILE_ERROR_BYTES])
{
    fuzz_require(error[0] != '\0');
    fuzz_require(memchr(error, 0, TREMOLO_REPORT_FILE_ERROR_BYTES) != NULL);
    fuzz_require(strchr(error, '\n') == NULL);
}

static void check_header(const struct tremolo_report_header *header)
{
    static char text[TREMOLO_REPORT_FILE_HEADER_MAX + 64];
    char error[TREMOLO_REPORT_FILE_ERROR_BYTES];
    struct tremolo_report_header again;
    FILE *file = fmemopen(text, sizeof text, "w+");
    fuzz_require(file != NULL && tremolo_report_file_begin(file, header));
    rewind(file);
    fuzz_require(tremolo_report_file_open(&again, file, error));
    fuzz_require(tremolo_study_check(&again.study) == TREMOLO_OK);
    fuzz_require(
        again.study.dimension == header->study.dimension &&
        again.study.rounds == header->study.rounds &&
        again.study.release == header->study.release &&
        again.study.rank_top == header->study.rank_top &&
        memcmp(again.study.id, header->study.id, TREMOLO_STUDY_ID_BYTES) == 0 &&
        memcmp(again.scale, header->scale, header->study.dimension * sizeof *header->scale) == 0);
    fuzz_require((again.range == NULL) == (header->range == NULL));
    fuzz_require(header->range == NULL ||
                 memcmp(again.range, header->range,
                        (header->study.dimension + 1u) * sizeof *header->range) == 0);
    fuzz_require(tremolo_text_is_plain(header->unit) && tremolo_text_is_plain(header->response));
    for (size_t i = 0; i < header->study.dimension; i++) {
        fuzz_require(tremolo_text_is_plain(header->name[i]));
    }
    tremolo_report_header_free(&again);
    (void)fclose(file);
}

static void check_rounds(const struct tremolo_report_rounds *rounds,
                         const struct tremolo_report_header *header)
{
    fuzz_require(rounds->count >= 1 && rounds->count <= header->study.rounds);
    if (header->study.release == TREMOLO_RELEASE_BALLOT) {
        fuzz_require(tremolo_ballot_devices(rounds->ballots) == rounds->devices);
        return;
    }
    for (size_t t = 0; t < rounds->count; t++) {
        fuzz_require(tremolo_debias_devices(rounds->evidence[t]) == rounds->devices);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t copy[1 << 16];
    char error[TREMOLO_REPORT_FILE_ERROR_BYTES] = "";
    struct tremolo_report_header header;
    struct tremolo_report_rounds rounds;
    if (size == 0 || size > sizeof copy) {
        return 0;
    }
    memcpy(copy, data, size);
    FILE *file = fmemopen(copy, size, "rb");
    fuzz_require(file != NULL);
    if (!tremolo_report_file_open(&header, file, error)) {
        check_sentence(error);
        fuzz_require(header.name == NULL && header.scale == NULL);
    } else {
        check_header(&header);
        if (tremolo_report_rounds_read(&rounds, &header, file, error) == TREMOLO_OK) {
            check_rounds(&rounds, &header);
        } else {
            check_sentence(error);
            fuzz_require(rounds.evidence == NULL && rounds.count == 0);
        }
        tremolo_report_rounds_free(&rounds);
        tremolo_report_header_free(&header);
    }
    (void)fclose(file);
    return 0;
}
