/* coefficients.h -- the table of coefficients, for people and for programs. */
#ifndef TREMOLO_CLI_COEFFICIENTS_H
#define TREMOLO_CLI_COEFFICIENTS_H

#include <jansson.h>

#include "tremolo_design.h"
#include "tremolo_regression.h"

/* Coefficients of `features` features and, last, the intercept. */
struct coefficients {
    size_t features;
    char (*name)[TREMOLO_NAME_BYTES];
    const struct tremolo_coefficient *row; /* NULL without inference */
    const double *prediction;              /* own units */
    const char *remark;                    /* why there is no inference */
    double level;                          /* of the intervals */
    const char *response, *unit;           /* what is explained; "" without a unit */
};

enum { COEFFICIENTS_CAPTION_BYTES = 512 };

/* What a table's numbers are: which response they explain, in which unit ("" or NULL
 * without one). The pages have the same words (web/coefficients.js). */
void coefficients_caption(char text[COEFFICIENTS_CAPTION_BYTES], const char *response,
                          const char *unit);

/* A table in the manner of R's summary of a linear model, and one
 * sentence on the coefficients that the noise hides. */
void coefficients_print(const struct coefficients *coefficients, uint64_t devices);

/* Characters that a name takes in a column, 40 at most; and the name, cut to so many, with
 * blanks up to `width`, where printf would count the bytes of UTF-8. */
int coefficients_name_width(const char *name);
void coefficients_print_name(const char *name, int width);

/* Which coefficients the noise hides, in one sentence; "" when it hides none. */
void coefficients_unclear(char *text, size_t bytes, const struct coefficients *coefficients,
                          uint64_t devices);

/* Arrays of objects; empty without inference. A coefficient's "score" is the
 * score test's confidence set: an interval, the outside of one, or anything. */
json_t *coefficients_json(const struct coefficients *coefficients);
json_t *coefficients_prediction_json(const struct coefficients *coefficients);

/* JSON has no NaN: what is not known is null. */
json_t *coefficients_number(double value);

/* Print a paragraph in lines of at most 80 characters. */
void coefficients_paragraph(const char *text);

#endif
