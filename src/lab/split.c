/* split.c -- shuffle, split and scale the rows of a design. */
#include "tremolo_experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tremolo_random.h"
#include "tremolo_study_file.h"
#include "study_internal.h"

static void shuffle(size_t *order, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        order[i] = i;
    }
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)(tremolo_random_hash(seed, i) % i);
        size_t kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

/* A feature of the training rows, or the response, and where its centre and scale are kept. */
struct column {
    const char *name;
    double *values, *centre, *scale;
    size_t count, stride; /* of the training rows, and from one to the next */
};

static struct column column_of(struct tremolo_split *split, const struct tremolo_design *design,
                               size_t i)
{
    return i < split->d
               ? (struct column){design->name[i],  split->X + i, &split->centre[i],
                                 &split->scale[i], split->train, split->d}
               : (struct column){design->response,       split->y,     &split->response_centre,
                                 &split->response_scale, split->train, 1};
}

static double mean_of(const struct column *column)
{
    double sum = 0;
    for (size_t r = 0; r < column->count; r++) {
        sum += column->values[r * column->stride];
    }
    return sum / (double)column->count;
}

/* Find centre and scale; false when all values are the same. */
static bool measure(const struct column *column, enum tremolo_scaling scaling)
{
    const double *values = column->values;
    double low = values[0], high = values[0], squares = 0;
    double mean = mean_of(column);
    for (size_t r = 0; r < column->count; r++) {
        double value = values[r * column->stride];
        low = fmin(low, value);
        high = fmax(high, value);
        squares += (value - mean) * (value - mean);
    }
    bool standard = scaling == TREMOLO_SCALING_STANDARD;
    *column->centre = standard ? mean : (low + high) / 2;
    *column->scale = standard ? sqrt(squares / (double)column->count) : (high - low) / 2;
    return high > low && *column->scale > 0 && isfinite(*column->scale);
}

/* By the range that nine of ten values lie in; false, too, without memory. */
static bool measure_range(const struct column *column)
{
    double low = 0, high = 0;
    double *copy = malloc(column->count * sizeof *copy);
    for (size_t r = 0; copy != NULL && r < column->count; r++) {
        copy[r] = column->values[r * column->stride];
    }
    bool found = copy != NULL && tremolo_study_typical_range(&low, &high, copy, column->count);
    free(copy);
    *column->centre = (low + high) / 2;
    *column->scale = (high - low) / 2;
    return found;
}

/* To all rows, those that are held out too. */
static void apply(const struct column *column, size_t rows)
{
    for (size_t r = 0; r < rows; r++) {
        double *value = &column->values[r * column->stride];
        *value = (*value - *column->centre) / *column->scale;
    }
}

static bool allocate(struct tremolo_split *split, size_t rows)
{
    split->X = malloc(rows * split->d * sizeof *split->X);
    split->y = calloc(rows, sizeof *split->y);
    split->centre = malloc(split->d * sizeof *split->centre);
    split->scale = malloc(split->d * sizeof *split->scale);
    return split->X != NULL && split->y != NULL && split->centre != NULL && split->scale != NULL;
}

/* Scale by public bounds, which nothing in the data can change, or by the training rows; the name
 * of a constant column, or NULL. */
static const char *scale_all(struct tremolo_split *split, const struct tremolo_design *design,
                             enum tremolo_scaling scaling)
{
    bool ranges = scaling == TREMOLO_SCALING_RANGES;
    bool bounds = scaling != TREMOLO_SCALING_STANDARD && design->low != NULL;
    for (size_t i = 0; i <= split->d; i++) {
        const struct column column = column_of(split, design, i);
        if (bounds) {
            bool typical = ranges && design->typical != NULL && i < split->d;
            *column.centre = typical ? design->typical[i] : (design->low[i] + design->high[i]) / 2;
            *column.scale = (design->high[i] - design->low[i]) / 2;
        } else if (!(ranges ? measure_range(&column) : measure(&column, scaling))) {
            return column.name;
        } else if (ranges && i < split->d) { /* what a study may call typical */
            double middle = *column.centre, half = *column.scale;
            *column.centre = fmin(fmax(mean_of(&column), middle - half), middle + half);
        }
        apply(&column, split->train + split->valid + split->test);
    }
    return NULL;
}

/* The least bounds and radius that alter no training row; a hair more, so
 * that rounding cannot clip. */
static void measure_bounds(struct tremolo_split *split, bool protect_all, bool bounds_are_public)
{
    const double margin = 1 + 1e-9;
    if (bounds_are_public) {
        /* The study's default: the whole box; values outside are clamped. */
        split->bound = split->response_bound = 1;
        split->radius = sqrt((double)(split->d + protect_all));
        return;
    }
    for (size_t r = 0; r < split->train; r++) {
        double y = split->y[r], square = protect_all ? y * y : 0;
        split->response_bound = fmax(split->response_bound, fabs(y) * margin);
        for (size_t i = 0; i < split->d; i++) {
            double x = split->X[r * split->d + i];
            square += x * x;
            split->bound = fmax(split->bound, fabs(x) * margin);
        }
        split->radius = fmax(split->radius, sqrt(square) * margin);
    }
    if (protect_all) {
        split->bound = fmax(split->bound, split->response_bound);
    }
}

enum tremolo_status tremolo_split_make(struct tremolo_split *split, const char **constant,
                                       const struct tremolo_design *design, double valid_share,
                                       double test_share, enum tremolo_scaling scaling,
                                       bool protect_all, uint64_t seed)
{
    struct tremolo_split made = {.d = design->features,
                                 .standardised = scaling == TREMOLO_SCALING_STANDARD};
    size_t *order = malloc(design->rows * sizeof *order);
    if (order == NULL || !allocate(&made, design->rows)) {
        free(order);
        tremolo_split_free(&made);
        return TREMOLO_NO_MEMORY;
    }
    shuffle(order, design->rows, seed);
    for (size_t r = 0; r < design->rows; r++) {
        memcpy(made.X + r * made.d, design->X + order[r] * made.d, made.d * sizeof *made.X);
        made.y[r] = design->y[order[r]];
    }
    free(order);
    made.valid = (size_t)(valid_share * (double)design->rows);
    made.test = (size_t)(test_share * (double)design->rows);
    made.train = design->rows - made.valid - made.test;
    const char *same = scale_all(&made, design, scaling);
    if (same != NULL) {
        *constant = same;
        tremolo_split_free(&made);
        return TREMOLO_SINGULAR;
    }
    measure_bounds(&made, protect_all, scaling != TREMOLO_SCALING_STANDARD && design->low != NULL);
    *split = made;
    return TREMOLO_OK;
}

size_t tremolo_split_clip(struct tremolo_split *split, double radius, bool protect_all)
{
    size_t beyond = 0;
    for (size_t r = 0; r < split->train; r++) {
        double y = fmin(fabs(split->y[r]), split->bound), square = protect_all ? y * y : 0;
        for (size_t i = 0; i < split->d; i++) {
            double x = fmin(fabs(split->X[r * split->d + i]), split->bound);
            square += x * x;
        }
        beyond += sqrt(square) > radius;
    }
    split->radius = radius;
    return beyond;
}

void tremolo_split_outside(size_t *counts, const struct tremolo_split *split)
{
    const double margin = 1 + 1e-9; /* a value at its bound may be rounded to beyond it */
    for (size_t i = 0; i <= split->d; i++) {
        counts[i] = 0;
        for (size_t r = 0; r < split->train; r++) {
            double value = i < split->d ? split->X[r * split->d + i] : split->y[r];
            counts[i] += fabs(value) > margin;
        }
    }
}

void tremolo_split_free(struct tremolo_split *split)
{
    free(split->X);
    free(split->y);
    free(split->centre);
    free(split->scale);
    *split = (struct tremolo_split){0};
}

double tremolo_split_r2(const struct tremolo_split *split, enum tremolo_split_part part,
                        const double *beta, double intercept, double reach)
{
    const size_t rows[] = {split->train, split->valid, split->test};
    const size_t starts[] = {0, split->train, split->train + split->valid};
    return tremolo_r2(beta, intercept, split->X + starts[part] * split->d, split->y + starts[part],
                      rows[part], split->d, reach);
}
