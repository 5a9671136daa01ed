/* forest.h -- coefficients on one axis.
 *
 * Coefficients have the units of their features and cannot share an axis as
 * they are. Drawn is what each feature does to the response between its own
 * bounds: estimate times (high - low), in the response's unit. */
#ifndef TREMOLO_CLI_FOREST_H
#define TREMOLO_CLI_FOREST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct forest_row {
    const char *name;
    double estimate, low, high;             /* own units */
    double effect, effect_low, effect_high; /* over the feature's range; NaN: cannot be drawn */
    bool identified;
    bool anything; /* the score test's set is the whole line */
};

struct forest {
    struct forest_row *row;
    size_t rows;
    double reach; /* the axis runs from -reach to reach */
};

/* From the coefficients of an estimate and the study it belongs to; the
 * intercept is left out. Names point into `coefficients`. False without memory. */
bool forest_build(struct forest *forest, const json_t *coefficients, const json_t *study);
void forest_free(struct forest *forest);

/* The smallest of 1, 2, 5 times a power of ten that is not below `value`. */
double forest_round_up(double value);

#endif
