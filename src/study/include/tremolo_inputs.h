/* tremolo_inputs.h -- the raw columns that a model's features are computed from.
 *
 * A study, a table and a saved result all say in this struct how a sample's values become
 * features, so that whoever predicts does as the devices did:
 *
 *     struct tremolo_inputs *inputs = NULL;
 *     if (!tremolo_inputs_new(&inputs, columns, count, "age + log(income)", error)) { ... }
 *     tremolo_inputs_features(x, inputs, values);
 *
 * Values are one number for each column: of a category the place of its level, of a yes-no
 * column 0 or 1, and NAN for one that is missing. */
#ifndef TREMOLO_INPUTS_H
#define TREMOLO_INPUTS_H

#include "tremolo_study_file.h"
#include "tremolo_terms.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TREMOLO_INPUTS_MAX = 1024 };

struct tremolo_input {
    const char *name;
    enum tremolo_study_kind kind;
    const char *const *level; /* of a category; the first is the reference */
    size_t levels;
    double low, high; /* between which values are expected; NAN: not known */
    double missing;   /* what stands for a missing value; NAN: nothing does */
    double typical; /* what one expects of a number in a ballot; NAN: the middle of low and high */
};

struct tremolo_inputs {
    size_t count;
    struct tremolo_input *input;
    struct tremolo_term_column *column; /* the same, for terms */
    char *terms;                        /* as a formula; NULL: each column is a feature */
    size_t features;
    struct tremolo_derived *feature;
    char *text; /* owns names and levels */
    const char **level;
};

/* Copies all it is given. False with a sentence in `error` when the terms do not fit the columns
 * or make more than TREMOLO_MAX_DIMENSION features; *inputs is then untouched. With `floors`
 * logarithms are taken of `low` at least, as devices do. */
bool tremolo_inputs_new(struct tremolo_inputs **inputs, const struct tremolo_input *columns,
                        size_t count, const char *terms, bool floors,
                        char error[TREMOLO_TERMS_ERROR_BYTES]);
void tremolo_inputs_free(struct tremolo_inputs *inputs); /* accepts NULL */

/* Is some feature computed, so that people who differ in one column differ in several? */
bool tremolo_inputs_derive(const struct tremolo_inputs *inputs); /* false for NULL */

/* Is a feature made of answers and levels alone, and so 0 or 1? */
bool tremolo_inputs_are_answers(const struct tremolo_inputs *inputs,
                                const struct tremolo_derived *derived);

/* Fill in what stands for missing values; false when one is missing that nothing stands for. */
bool tremolo_inputs_complete(double *values, const struct tremolo_inputs *inputs);

/* All features of complete values. False when one is not finite. */
bool tremolo_inputs_features(double *features, const struct tremolo_inputs *inputs,
                             const double *values);

/* What a cell of text means in a column: a number, a level's place, 0 or 1. False when it is
 * none of these; an empty text is the caller's matter. */
bool tremolo_input_read(double *value, const struct tremolo_input *input, const char *text);

#ifdef __cplusplus
}
#endif

#endif
