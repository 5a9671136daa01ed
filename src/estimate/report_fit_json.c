/* report_fit_json.c -- from a file of reports to the one document, in one call. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "estimate_json.h"
#include "guarantee_json.h"
#include "tremolo_report_fit.h"

static json_t *document_of(const struct tremolo_report_fit *fit)
{
    json_t *guarantee = guarantee_promise_json(&fit->promise, fit->epsilon);
    json_t *document = estimate_document(&fit->estimate);
    (void)json_object_set_new(document, "guarantee", guarantee != NULL ? guarantee : json_null());
    if (fit->promise.law.first == 0) { /* ballots are no gradients */
        (void)json_object_set_new(document, "convergence", estimate_convergence(&fit->convergence));
    }
    return document;
}

/* Not every method reads every file. */
static enum tremolo_status check_method(const struct tremolo_report_header *header,
                                        const struct tremolo_report_rounds *rounds,
                                        enum tremolo_predictor predictor, char *error)
{
    if (rounds->count < 2 && predictor >= TREMOLO_PREDICTOR_POOLED) {
        (void)snprintf(error, TREMOLO_REPORT_FILE_ERROR_BYTES,
                       "one round only, and the method %s needs several",
                       tremolo_predictor_names[predictor]);
        return TREMOLO_BAD_ARGUMENT;
    }
    if (header->study.release == TREMOLO_RELEASE_BALLOT &&
        predictor == TREMOLO_PREDICTOR_ONE_SHOT) {
        (void)snprintf(error, TREMOLO_REPORT_FILE_ERROR_BYTES,
                       "a file of ballots, from which auto or unbiased predicts");
        return TREMOLO_BAD_ARGUMENT;
    }
    return TREMOLO_OK;
}

static enum tremolo_status fit_rounds(json_t **document, const struct tremolo_report_header *header,
                                      struct tremolo_report_rounds *rounds,
                                      const struct tremolo_report_fit_options *options, char *error)
{
    struct tremolo_report_fit fit;
    enum tremolo_status status = check_method(header, rounds, options->predictor, error);
    if (status != TREMOLO_OK) {
        return status;
    }
    status = tremolo_report_fit(&fit, header, rounds, options);
    json_t *made = status == TREMOLO_OK ? document_of(&fit) : NULL;
    tremolo_report_fit_free(&fit);
    status = status == TREMOLO_OK && made == NULL ? TREMOLO_NO_MEMORY : status;
    if (status != TREMOLO_OK) {
        (void)snprintf(error, TREMOLO_REPORT_FILE_ERROR_BYTES, "%s",
                       tremolo_status_sentence(status));
        return status;
    }
    *document = made;
    return TREMOLO_OK;
}

enum tremolo_status estimate_of_reports(json_t **document, const char *path,
                                        const struct tremolo_report_fit_options *options,
                                        char error[TREMOLO_REPORT_FILE_ERROR_BYTES])
{
    struct tremolo_report_header header;
    struct tremolo_report_rounds rounds;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        (void)snprintf(error, TREMOLO_REPORT_FILE_ERROR_BYTES, "%s", strerror(errno));
        return TREMOLO_BAD_ARGUMENT;
    }
    if (!tremolo_report_file_open(&header, file, error)) {
        (void)fclose(file);
        return TREMOLO_MALFORMED;
    }
    enum tremolo_status status = tremolo_report_rounds_read(&rounds, &header, file, error);
    if (status == TREMOLO_OK) {
        status = fit_rounds(document, &header, &rounds, options, error);
    }
    (void)fclose(file);
    tremolo_report_rounds_free(&rounds);
    tremolo_report_header_free(&header);
    return status;
}

char *estimate_text(json_t *document)
{
    char *text = document != NULL ? json_dumps(document, ESTIMATE_JSON) : NULL;
    json_decref(document);
    return text;
}

enum tremolo_status tremolo_report_fit_json(char **json, const char *path,
                                            const struct tremolo_report_fit_options *options,
                                            char error[TREMOLO_REPORT_FILE_ERROR_BYTES])
{
    json_t *document = NULL;
    enum tremolo_status status = estimate_of_reports(&document, path, options, error);
    char *text = status == TREMOLO_OK ? estimate_text(document) : NULL;
    if (status == TREMOLO_OK && text == NULL) {
        (void)snprintf(error, TREMOLO_REPORT_FILE_ERROR_BYTES, "out of memory");
        return TREMOLO_NO_MEMORY;
    }
    *json = status == TREMOLO_OK ? text : *json;
    return status;
}
