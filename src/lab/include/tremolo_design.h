/* tremolo_design.h -- from a table to the numbers of a regression.
 *
 *     struct tremolo_design design;
 *     const struct tremolo_design_wish wish = {.response = "pulse", .terms = "age*sleep"};
 *     tremolo_design_build(&design, table, &wish, error);
 *
 * Numbers stay numbers, categories become one 0/1 column for each level but the first
 * in alphabetical order or in a study's, and rows with a missing value are dropped and
 * counted unless the study or the caller replaces it. Failures fill an error text of one sentence
 * that names line and column. */
#ifndef TREMOLO_DESIGN_H
#define TREMOLO_DESIGN_H

#include <stdbool.h>
#include <stddef.h>

#include "tremolo_estimate.h" /* TREMOLO_NAME_BYTES */
#include "tremolo_table.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tremolo_inputs; /* how features follow from raw columns; opaque */

enum {
    TREMOLO_DESIGN_LEVELS_MAX = 64,
    TREMOLO_DESIGN_FEATURES_MAX = 256,
};

struct tremolo_study_file;

/* Owned by the caller and freed by tremolo_design_free(). Values are in the columns' own units;
 * scaling comes later, with a split. */
struct tremolo_design {
    size_t rows, features;
    size_t dropped;                   /* rows with a missing value */
    size_t unanswered;                /* those of them without a response */
    char (*name)[TREMOLO_NAME_BYTES]; /* of the features */
    char response[TREMOLO_NAME_BYTES];
    char unit[TREMOLO_NAME_BYTES]; /* of the response, by a study; "" when not known */
    double *X;                     /* rows * features, row by row */
    double *y;
    double *low, *high; /* public bounds of the features, then of the response; or NULL */
    double *typical;    /* what is typical, as long; NULL: the middles */
    struct tremolo_inputs *inputs; /* the raw columns, and how features follow from them */
    bool means;                    /* replaced missing values, which is not private */
    char remark
        [TREMOLO_TABLE_ERROR_BYTES]; /* columns that may not be what they were taken for; "" */
};

/* What is done with rows that lack a value. A study's own replacements come first. */
enum tremolo_missing {
    TREMOLO_MISSING_DROP = 0,
    TREMOLO_MISSING_REFUSE = 1,
    TREMOLO_MISSING_MEAN = 2, /* the column's mean, or its most frequent level; not private */
};

/* What is asked of a table. All pointers are borrowed for the call. With neither features nor
 * terms every column but the response is a feature. */
struct tremolo_design_wish {
    const struct tremolo_study_file *study; /* kinds, levels and fillings of columns; or NULL */
    const char *response;                   /* may be NULL when the terms name it, "y ~ ..." */
    const char *const *features;            /* of columns */
    size_t feature_count;                   /* 0: every column but the response */
    const char *terms; /* a formula (tremolo_terms.h), in place of features; NULL: the study's,
                           * unless there are features */
    enum tremolo_missing missing;
};

/* Levels come in the order of the study. Constant columns are refused. False with a sentence in
 * `error` and *design untouched. The table is needed for the call only. */
bool tremolo_design_build(struct tremolo_design *design, const struct tremolo_table *table,
                          const struct tremolo_design_wish *wish,
                          char error[TREMOLO_TABLE_ERROR_BYTES]);
/* Empties the struct, so freeing it twice is harmless. */
void tremolo_design_free(struct tremolo_design *design);

/* Take the public bounds of the columns, and the response's unit, from a study. False
 * with a sentence when a column has none there. */
bool tremolo_design_bound(struct tremolo_design *design, const struct tremolo_study_file *study,
                          char error[TREMOLO_TABLE_ERROR_BYTES]);

/* Or from the caller: features + 1 numbers each, the response's last. False with a sentence
 * when a low one is not below its high one; the design's bounds are as before then. */
bool tremolo_design_take_bounds(struct tremolo_design *design, const double *low,
                                const double *high, char error[TREMOLO_TABLE_ERROR_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
