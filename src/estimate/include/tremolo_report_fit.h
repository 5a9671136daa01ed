/* tremolo_report_fit.h -- the estimate that a file of reports gives.
 *
 * Inference rests on all rounds of the file together, whatever predicts. All of it is
 * post-processing. */
#ifndef TREMOLO_REPORT_FIT_H
#define TREMOLO_REPORT_FIT_H

#include "tremolo_estimate.h"
#include "tremolo_privacy.h"
#include "tremolo_report_file.h"
#include "tremolo_study_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What predicts: tremolo_fit()'s methods, and the two that need rounds. */
enum tremolo_predictor {
    TREMOLO_PREDICTOR_AUTO,
    TREMOLO_PREDICTOR_ONE_SHOT,
    TREMOLO_PREDICTOR_UNBIASED,
    TREMOLO_PREDICTOR_POOLED,
    TREMOLO_PREDICTOR_ITERATIVE,
};
extern const char *const tremolo_predictor_names[];

struct tremolo_report_fit_options {
    enum tremolo_predictor predictor;
    double ridge; /* of one-shot */
    double level; /* of the intervals */
};

/* Strings and ranges point into the header and into this struct: it must not be moved. */
struct tremolo_report_fit {
    struct tremolo_estimate estimate;
    struct tremolo_promise promise;
    double epsilon; /* at the promise's delta */
    struct tremolo_convergence_answer convergence;
    const char *names[TREMOLO_MAX_DIMENSION];
    struct tremolo_extent extents[TREMOLO_MAX_DIMENSION + 1]; /* of the promise */
    char title[TREMOLO_NAME_BYTES + 32];
    char study[TREMOLO_STUDY_ID_TEXT_BYTES];
};

/* The iteration frees each round's evidence as it goes. Free with tremolo_report_fit_free,
 * whatever the status. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_report_fit(struct tremolo_report_fit *fit, const struct tremolo_report_header *header,
                   struct tremolo_report_rounds *rounds,
                   const struct tremolo_report_fit_options *options);
void tremolo_report_fit_free(struct tremolo_report_fit *fit);

/* From the file at `path` to the document that 'tremolo fit' prints
 * (docs/estimate.schema.json), which the caller frees. On failure *json is untouched and
 * `error` is one sentence, without the path. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_report_fit_json(char **json, const char *path,
                        const struct tremolo_report_fit_options *options,
                        char error[TREMOLO_REPORT_FILE_ERROR_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
