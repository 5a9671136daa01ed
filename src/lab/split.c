/* split.c -- shuffle, split and scale the rows of a design. */
#include "tremolo_experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tremolo_random.h"
#include "tremolo_study_file.h"

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

static double mean_of(const double *values, size_t count, size_t stride)
{
    double sum = 0;
    for (size_t r = 0; r < count; r++) {
        sum += values[r * stride];
    }
    return sum / (double)count;
}

/* Centre and scale of `count` values that lie `stride` apart; false when they
 * are all the same. */
static bool measure(double *centre, double *scale, const double *values, size_t count,
                    size_t stride, enum tremolo_scaling scaling)
{
    double low = values[0], high = values[0], squares = 0;
    double mean = mean_of(values, count, stride);
    for (size_t r = 0; r < count; r++) {
        low = fmin(low, values[r * stride]);
        high = fmax(high, values[r * stride]);
    }
    for (size_t r = 0; r < count; r++) {
        squares += (values[r * stride] - mean) * (values[r * stride] - mean);
    }
    bool standard = scaling == TREMOLO_SCALING_STANDARD;
    *centre = standard ? mean : (low + high) / 2;
    *scale = standard ? sqrt(squares / (double)count) : (high - low) / 2;
    return high > low && *scale > 0 && isfinite(*scale);
}

/* By the range that nine of ten values lie in; false, too, without memory. */
static bool measure_range(double *centre, double *scale, const double *values, size_t count,
                          size_t stride)
{
    double low = 0, high = 0;
    double *copy = malloc(count * sizeof *copy);
    for (size_t r = 0; copy != NULL && r < count; r++) {
        copy[r] = values[r * stride];
    }
    bool found = copy != NULL && tremolo_study_typical_range(&low, &high, copy, count);
    free(copy);
    *centre = (low + high) / 2;
    *scale = (high - low) / 2;
    return found;
}

static bool measure_by(double *centre, double *scale, const double *values, size_t count,
                       size_t stride, enum tremolo_scaling scaling)
{
    return scaling == TREMOLO_SCALING_RANGES
               ? measure_range(centre, scale, values, count, stride)
               : measure(centre, scale, values, count, stride, scaling);
}

static void apply(double *values, size_t count, size_t stride, double centre, double scale)
{
    for (size_t r = 0; r < count; r++) {
        values[r * stride] = (values[r * stride] - centre) / scale;
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

/* By public bounds, which nothing in the data can change. */
static void scale_by_bounds(struct tremolo_split *split, const struct tremolo_design *design,
                            enum tremolo_scaling scaling)
{
    size_t rows = split->train + split->valid + split->test, d = split->d;
    bool typical = scaling == TREMOLO_SCALING_RANGES && design->typical != NULL;
    for (size_t i = 0; i < d; i++) {
        split->centre[i] = typical ? design->typical[i] : (design->low[i] + design->high[i]) / 2;
        split->scale[i] = (design->high[i] - design->low[i]) / 2;
        apply(split->X + i, rows, d, split->centre[i], split->scale[i]);
    }
    split->response_centre = (design->low[d] + design->high[d]) / 2;
    split->response_scale = (design->high[d] - design->low[d]) / 2;
    apply(split->y, rows, 1, split->response_centre, split->response_scale);
}

/* Scale by the training rows; the name of a constant column, or NULL. */
static const char *scale_all(struct tremolo_split *split, const struct tremolo_design *design,
                             enum tremolo_scaling scaling)
{
    size_t rows = split->train + split->valid + split->test;
    if (scaling != TREMOLO_SCALING_STANDARD && design->low != NULL) {
        scale_by_bounds(split, design, scaling);
        return NULL;
    }
    for (size_t i = 0; i < split->d; i++) {
        if (!measure_by(&split->centre[i], &split->scale[i], split->X + i, split->train, split->d,
                        scaling)) {
            return design->name[i];
        }
        if (scaling == TREMOLO_SCALING_RANGES) { /* what a study may call typical */
            double mean = mean_of(split->X + i, split->train, split->d);
            double middle = split->centre[i], half = split->scale[i];
            split->centre[i] = fmin(fmax(mean, middle - half), middle + half);
        }
        apply(split->X + i, rows, split->d, split->centre[i], split->scale[i]);
    }
    if (!measure_by(&split->response_centre, &split->response_scale, split->y, split->train, 1,
                    scaling)) {
        return design->response;
    }
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the caller's split owns what it points to */
    apply(split->y, rows, 1, split->response_centre, split->response_scale);
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
