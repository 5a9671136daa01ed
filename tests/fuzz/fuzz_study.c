/* fuzz_study.c -- the parser of study files, and of what servers publish.
 *
 * Properties: what is refused has at least one problem, and texts that end;
 * what is accepted passes the device's own check, keeps the promised epsilon,
 * and gives the same id again when it is written out and read. Each input is
 * also taken as the body of an answer, which is not signed. */
#include <string.h>

#include "fuzz.h"
#include "tremolo_study_file.h"
#include "study_internal.h"

static void check_refusal(const struct tremolo_study_problems *problems)
{
    fuzz_require(problems->count > 0 && problems->stored > 0);
    fuzz_require(problems->stored <= TREMOLO_STUDY_MAX_PROBLEMS);
    for (size_t i = 0; i < problems->stored; i++) {
        fuzz_require(memchr(problems->item[i].path, 0, sizeof problems->item[i].path) != NULL);
        fuzz_require(problems->item[i].reason[0] != '\0');
        fuzz_require(memchr(problems->item[i].reason, 0, sizeof problems->item[i].reason) != NULL);
    }
}

static void check_study(const struct tremolo_study_file *file)
{
    struct tremolo_study_guarantee guarantee;
    struct tremolo_study_file *again = NULL;
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(file);
    char *json = NULL;
    fuzz_require(tremolo_study_check(tremolo_study_file_device(file)) == TREMOLO_OK);
    fuzz_require(tremolo_study_file_guarantee(&guarantee, file, terms->delta) == TREMOLO_OK);
    fuzz_require(guarantee.epsilon <= terms->epsilon * (1 + 1e-9));
    fuzz_require(tremolo_study_file_json(&json, file) == TREMOLO_OK);
    fuzz_require(tremolo_study_file_parse(&again, NULL, json, strlen(json)) == TREMOLO_OK);
    fuzz_require(memcmp(tremolo_study_file_id(file), tremolo_study_file_id(again),
                        TREMOLO_STUDY_ID_BYTES) == 0);
    tremolo_study_file_free(again);
    free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tremolo_study_problems problems;
    static const uint8_t no_key[TREMOLO_SIGNING_PUBLIC_BYTES] = {1};
    static const uint8_t id[TREMOLO_STUDY_ID_BYTES];
    struct tremolo_study_file *file = NULL;
    enum tremolo_status status =
        tremolo_study_file_parse(&file, &problems, (const char *)data, size);
    if (status == TREMOLO_OK) {
        fuzz_require(problems.count == 0);
        check_study(file);
        tremolo_study_file_free(file);
    } else {
        fuzz_require(status == TREMOLO_BAD_STUDY && file == NULL);
        check_refusal(&problems);
    }
    status = tremolo_study_receive(&file, NULL, &problems, (const char *)data, size, id, no_key);
    fuzz_require(status != TREMOLO_OK);
    return 0;
}
