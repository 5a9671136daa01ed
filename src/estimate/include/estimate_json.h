/* estimate_json.h -- an estimate as the one document that everybody reads and writes;
 * docs/estimate.schema.json describes it. */
#ifndef TREMOLO_ESTIMATE_JSON_H
#define TREMOLO_ESTIMATE_JSON_H

#include <jansson.h>

#include "document.h"
#include "tremolo_estimate.h"
#include "tremolo_report_file.h"

enum { ESTIMATE_DOCUMENT_VERSION = 1 };

/* The document without "guarantee", which is null until the caller sets it, and without
 * the members that only some sources have. NULL without memory. */
json_t *estimate_document(const struct tremolo_estimate *estimate);

/* Set "answers" and "notes" from the other members, "guarantee" included: what was learnt, how certain
 * and how private it is, and what a reader of the table must know, in sentences that everything which
 * shows an estimate uses. */
void estimate_set_answers(json_t *document);

/* Is it such a document, whoever sent it? */
bool estimate_document_is(const json_t *document);

/* The same estimate with intervals of another level, from its standard errors. What
 * follows from the reports alone, the score test's sets of coefficients that noise
 * hides, becomes null. */
void estimate_document_level(json_t *document, double level);

/* What the paper's theorems say of rounds: an object, or null when nothing is known. */
json_t *estimate_convergence(const struct tremolo_convergence_answer *convergence);

struct tremolo_report_fit_options;

/* The document of the reports in a file, guarantee and all. On failure *document is untouched
 * and `error` is one sentence, without the path. */
TREMOLO_MUST_USE enum tremolo_status
estimate_of_reports(json_t **document, const char *path,
                    const struct tremolo_report_fit_options *options,
                    char error[TREMOLO_REPORT_FILE_ERROR_BYTES]);

/* Documents have all digits, for people too (json_latch_exact() is for programs). */
#define ESTIMATE_JSON_PRETTY (JSON_INDENT(2) | JSON_REAL_PRECISION(17))

#endif
