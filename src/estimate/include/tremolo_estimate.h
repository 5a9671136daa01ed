/* tremolo_estimate.h -- the estimate that a file of reports gives, as one JSON document.
 *
 *     const struct tremolo_report_fit_options options = {.level = 0.95};
 *     char *json = NULL, error[TREMOLO_REPORT_FILE_ERROR_BYTES];
 *     status = tremolo_report_fit_json(&json, "study.reports", &options, error);
 *
 * A file of reports, a server, a data directory and a simulation all give the same document,
 * docs/estimate.schema.json. Inference rests on all rounds of the file together, whatever predicts;
 * all of it is post-processing and costs no privacy. */
#ifndef TREMOLO_ESTIMATE_H
#define TREMOLO_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>

#include "tremolo_status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TREMOLO_NAME_BYTES = 128, /* of a column, its end included */
    TREMOLO_REPORT_FILE_ERROR_BYTES = 256,
};

/* What predicts: tremolo_fit()'s methods, and the two that need a file of several rounds. */
enum tremolo_predictor {
    TREMOLO_PREDICTOR_AUTO,
    TREMOLO_PREDICTOR_ONE_SHOT,
    TREMOLO_PREDICTOR_UNBIASED,
    TREMOLO_PREDICTOR_POOLED,
    TREMOLO_PREDICTOR_ITERATIVE,
};

struct tremolo_report_fit_options {
    enum tremolo_predictor predictor;
    double ridge; /* of one-shot */
    double level; /* of the intervals, in (0, 1) */
};

/* The document of the file at `path`, which the caller frees. After a failure *json is untouched
 * and `error` is one sentence, without the path. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_report_fit_json(char **json, const char *path,
                        const struct tremolo_report_fit_options *options,
                        char error[TREMOLO_REPORT_FILE_ERROR_BYTES]);

/* The text that `tremolo fit` prints of such a document; `full` as with --explain. A "guarantee"
 * alone is a document as well. The caller frees it; NULL for what is no JSON object, or without
 * memory. */
char *tremolo_document_text(const char *document, size_t length, bool full);

#ifdef __cplusplus
}
#endif

#endif
