/* result.h -- a result that can be handed on: one file, readable for years.
 *
 * A result is one JSON document, and the three forms are made from it: .json is
 * the document, .csv its table, .html a page that carries the document, its
 * charts and everything they need. man/tremolo-fit.1 lists the members:
 *
 *     json_t *result = result_new("fit", "pulse", line);
 *     json_object_set_new(result, "coefficients", ...);
 *     code = result_save(result, "fit", "pulse.html");
 *     json_decref(result);
 */
#ifndef TREMOLO_CLI_RESULT_H
#define TREMOLO_CLI_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "coefficients.h"
#include "options.h"
#include "tremolo_privacy.h"
#include "tremolo_regression.h"

enum { RESULT_VERSION = 1, RESULT_LINE_BYTES = 4096 };

/* Can a result be saved under this name? CLI_DONE, also without a name (NULL), or the exit
 * code after a message of `command`. Asked before any work is done. */
int result_check(const char *command, const char *path, bool force);

/* The options by which a result is saved, for a struct with members `save` and `force`. */
#define RESULT_SAVE_RULES(type)                                                                    \
    OPTION_RULE("save", "FILE", TEXT, OPTION_TO(type, save),                                       \
                .help = "save the result as one .html page, .json document or .csv table, by the " \
                        "name's end; the file appears whole or not at all"),                       \
        OPTION_RULE("report", "FILE", TEXT, OPTION_TO(type, save), .hidden = true,                 \
                    .help = "the former name of --save"),                                          \
        OPTION_RULE("force", NULL, FLAG, OPTION_TO(type, force),                                   \
                    .help = "replace files that are there already")

/* The command as it was typed, quoted for a shell; cut where it is too long. */
void result_command_line(char line[RESULT_LINE_BYTES], int argc, char **argv);

/* A document with "tremolo_report", "kind", "title" and "made". Members are then set with
 * jansson's own calls; those that are left out are left out of the page. */
json_t *result_new(const char *kind, const char *title, const char *line);

/* "guarantee" of a promise, with its words and a few points of its trade-off; null
 * when the promise cannot be explained. */
json_t *result_guarantee(const struct tremolo_promise *promise, double epsilon);

/* The points of a trade-off alone. */
json_t *result_tradeoff(double mu);

/* "diagnostics": a list of what is called how, its number, and what it means. */
struct result_diagnosis {
    double residual_sd; /* own unit of the response */
    double condition, negative;
    double noise_sd; /* half ranges */
};
json_t *result_diagnostics(const struct result_diagnosis *diagnosis);

/* A line of "diagnostics". */
json_t *result_fact(const char *name, double value, const char *words);

/* "not_identified": one sentence, or nothing. */
json_t *result_unclear(const struct coefficients *coefficients, uint64_t devices);

/* Give every coefficient but the intercept its feature's "range", from `count` numbers. */
void result_set_ranges(json_t *coefficients, const double *range, size_t count);

/* How coefficients and intervals are made, whatever the command. */
extern const char result_inference_words[];

/* Save under a name that result_check() found good: written beside it first, then
 * renamed, so that there is a whole file or none. Codes of the command line. */
int result_save(const json_t *result, const char *command, const char *path);

/* The page of a document (result_html.c). False when it cannot be written. */
bool result_write_html(FILE *out, const json_t *result);

#endif
