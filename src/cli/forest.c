/* forest.c -- coefficients on one axis. */
#include "forest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "members.h"

static double range_of(const json_t *bounded)
{
    return member_number(bounded, "high") - member_number(bounded, "low");
}

/* Yes/no features and levels of categories run from 0 to 1. */
static double feature_range(const json_t *study, const char *name)
{
    size_t index;
    json_t *feature;
    json_array_foreach(json_object_get(study, "features"), index, feature)
    {
        double range = range_of(feature);
        if (strcmp(member_text(feature, "name"), name) == 0 && isfinite(range)) {
            return range;
        }
    }
    return 1;
}

double forest_round_up(double value)
{
    static const double steps[] = {1, 2, 5, 10};
    if (!(value > 0) || !isfinite(value)) {
        return 1;
    }
    double power = pow(10, floor(log10(value)));
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (value <= steps[i] * power * (1 + 1e-9)) {
            return steps[i] * power;
        }
    }
    return 10 * power;
}

/* Far ends count up to the response's whole range: an interval that reaches
 * beyond says nothing, and would press the others flat. */
static double reach_of(const struct forest *forest, double response_range)
{
    double reach = 0;
    for (size_t i = 0; i < forest->rows; i++) {
        const struct forest_row *row = &forest->row[i];
        double ends = fmax(fabs(row->effect_low), fabs(row->effect_high));
        double most = isfinite(ends) ? fmax(ends, fabs(row->effect)) : fabs(row->effect);
        if (isfinite(most)) {
            reach = fmax(reach, isfinite(response_range) ? fmin(most, response_range) : most);
        }
    }
    return forest_round_up(reach);
}

bool forest_build(struct forest *forest, const json_t *coefficients, const json_t *study)
{
    size_t count = json_array_size(coefficients);
    forest->rows = count > 0 ? count - 1 : 0; /* the intercept is the last */
    forest->row = calloc(count > 0 ? count : 1, sizeof *forest->row);
    if (forest->row == NULL) {
        forest->rows = 0;
        return false;
    }
    for (size_t i = 0; i < forest->rows; i++) {
        const json_t *from = json_array_get(coefficients, i);
        struct forest_row *row = &forest->row[i];
        row->name = member_text(from, "name");
        row->estimate = member_number(from, "estimate");
        row->low = member_number(from, "low");
        row->high = member_number(from, "high");
        row->identified = json_is_true(json_object_get(from, "identified"));
        const char *shape = member_text(json_object_get(from, "score"), "shape");
        row->anything = !row->identified && strcmp(shape, "anything") == 0;
        double range = feature_range(study, row->name);
        row->effect = row->estimate * range;
        row->effect_low = row->anything ? NAN : row->low * range;
        row->effect_high = row->anything ? NAN : row->high * range;
    }
    forest->reach = reach_of(forest, range_of(json_object_get(study, "response")));
    return true;
}

void forest_free(struct forest *forest)
{
    free(forest->row);
    forest->row = NULL;
    forest->rows = 0;
}
