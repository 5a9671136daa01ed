/* fuzz_report_file.c -- the reader of files of reports.
 *
 * Properties: a file that is refused is refused in one sentence and leaves nothing behind; one that is
 * accepted gives an estimate of as many reports as its rounds have devices, with names that are plain
 * text. */
#include <string.h>

#include "fuzz.h"
#include "report_file.h"
#include "study_internal.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    fuzz_require(text != NULL);
    return text;
}

static json_int_t count_of(const json_t *object, const char *key)
{
    const json_t *count = json_object_get(object, key);
    fuzz_require(json_is_integer(count) && json_integer_value(count) > 0);
    return json_integer_value(count);
}

static void check_document(const json_t *document)
{
    const json_t *response = json_object_get(document, "response");
    const json_t *rows = json_object_get(document, "coefficients");
    fuzz_require(count_of(document, "reports") ==
                 count_of(document, "devices") * count_of(document, "rounds"));
    fuzz_require(json_is_object(json_object_get(document, "guarantee")));
    fuzz_require(tremolo_text_is_plain(text_of(response, "name")));
    fuzz_require(tremolo_text_is_plain(text_of(response, "unit")));
    for (size_t i = 0; i < json_array_size(rows); i++) {
        fuzz_require(tremolo_text_is_plain(text_of(json_array_get(rows, i), "name")));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tremolo_report_fit_options options = {.level = 0.95};
    static uint8_t copy[1 << 16];
    char error[TREMOLO_REPORT_FILE_ERROR_BYTES] = "";
    json_t *document = NULL;
    if (size == 0 || size > sizeof copy) {
        return 0;
    }
    memcpy(copy, data, size);
    FILE *file = fmemopen(copy, size, "rb");
    fuzz_require(file != NULL);
    if (tremolo_report_file_fit(&document, file, &options, error) == TREMOLO_OK) {
        check_document(document);
        json_decref(document);
    } else {
        fuzz_require(document == NULL && error[0] != '\0' && strchr(error, '\n') == NULL);
        fuzz_require(memchr(error, 0, sizeof error) != NULL);
    }
    (void)fclose(file);
    return 0;
}
