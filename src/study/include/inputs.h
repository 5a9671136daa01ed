/* inputs.h -- the raw columns that a model's features are computed from.
 *
 * A study, a table and a saved result all say in this struct how a sample's values become
 * features, so that predictions compute the same features as the devices did:
 *
 *     struct tremolo_inputs *inputs = NULL;
 *     status = tremolo_inputs_new(&inputs, columns, count, "age + log(income)", true, error);
 *     tremolo_inputs_features(x, inputs, values);
 *
 * Values are one number for each column: of a category the place of its level, of a yes-no
 * column 0 or 1, and NAN for one that is missing. */
#ifndef TREMOLO_INPUTS_H
#define TREMOLO_INPUTS_H

#include <jansson.h>

#include "document.h"
#include "tremolo_study_file.h"
#include "tremolo_terms.h"

/* One feature of the model: a term, of one level each where it has words. */
struct tremolo_derived {
    size_t term;
    size_t factors;
    struct {
        size_t column;
        size_t level; /* of words, from 1; 0 for a number */
        enum tremolo_factor_kind kind;
        unsigned power;
        double shift;
        double floor; /* what a logarithm is taken of at least, above 0; NAN: the value as it is */
    } factor[TREMOLO_TERM_FACTORS_MAX];
};

/* The feature of a single column as it is (level 0), or of one of its levels. */
struct tremolo_derived tremolo_derived_plain(size_t column, size_t level);

/* True for a value or a level as it is. Everything else has bounds of its own. */
bool tremolo_derived_is_plain(const struct tremolo_derived *derived);

/* "age", "platform=iOS", "age^2", "log(income)", "age:platform=iOS"; cut to fit. */
void tremolo_derived_name(char *text, size_t capacity, const struct tremolo_derived *derived,
                          const struct tremolo_study_feature *columns);

enum { TREMOLO_INPUTS_MAX = 1024 };

/* A column is described as a study's feature is. Bounds that are not known are NAN. Units and
 * coordinates have no part in what is computed: they are neither read nor kept here. */
struct tremolo_inputs {
    size_t count;
    struct tremolo_study_feature *input;
    bool floors; /* logarithms are taken of `low` at least, where that is above 0 */
    char *terms; /* as a formula; NULL: each column is a feature */
    size_t features;
    struct tremolo_derived *feature;
    char *text; /* owns names and levels */
    const char **level;
};

/* Copies all it is given. NO_MEMORY, or BAD_STUDY with a sentence in `error` when the terms do not fit the columns
 * or make more than TREMOLO_MAX_DIMENSION features; *inputs is then untouched. With `floors`
 * logarithms are taken of `low` at least, as devices do. */
TREMOLO_MUST_USE enum tremolo_status tremolo_inputs_new(struct tremolo_inputs **inputs,
                                                        const struct tremolo_study_feature *columns,
                                                        size_t count, const char *terms,
                                                        bool floors,
                                                        char error[TREMOLO_TERMS_ERROR_BYTES]);
void tremolo_inputs_free(struct tremolo_inputs *inputs); /* accepts NULL */

/* True if some feature is computed, so that people who differ in one column can differ in several. */
bool tremolo_inputs_derive(const struct tremolo_inputs *inputs); /* false for NULL */

/* True for a feature made of answers and levels alone, which is 0 or 1. */
bool tremolo_inputs_are_answers(const struct tremolo_inputs *inputs,
                                const struct tremolo_derived *derived);

/* Replace missing values; false when one is missing that has no replacement. */
bool tremolo_inputs_complete(double *values, const struct tremolo_inputs *inputs);

/* All features of complete values. False when one is not finite. */
bool tremolo_inputs_features(double *features, const struct tremolo_inputs *inputs,
                             const double *values);

/* What a cell of text means in a column: a number, a level's place, 0 or 1. False when it is
 * none of these; an empty text is the caller's matter. */
bool tremolo_input_read(double *value, const struct tremolo_study_feature *input, const char *text);

/* ------------------------------------------------------------------------
 * As a member of documents. */

/* {"columns": [{"name", "kind", ...}], "terms"}; null for NULL. */
json_t *inputs_json(const struct tremolo_inputs *inputs);

/* The same as rows of struct tremolo_inputs, for the tables of other documents. */
extern const struct document_row inputs_rows[];

/* What replaces a missing value; NULL where nothing does. */
json_t *input_missing_json(const struct tremolo_study_feature *input);

/* Read it back from any source. False with a sentence in `error`. */
bool inputs_from_json(struct tremolo_inputs **inputs, const json_t *object,
                      char error[TREMOLO_TERMS_ERROR_BYTES]);

#endif
