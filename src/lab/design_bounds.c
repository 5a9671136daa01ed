/* design_bounds.c -- public bounds for a design's columns from a study file.
 *
 * Bounds that are read off the data are not private; a study states them
 * beforehand. A column finds its bounds by name; one-hot columns ("region=Sued")
 * lie between 0 and 1 in every study, so the feature's own name is enough. What is
 * typical is kept beside them: ballots are scaled about it, noisy samples are not. */
#include "tremolo_design.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "refuse.h"
#include "tremolo_study_file.h"

static const struct tremolo_study_coordinate *
coordinate_named(const struct tremolo_study_file *file, const char *name)
{
    size_t d = tremolo_study_file_dimension(file);
    for (size_t i = 0; i <= d; i++) {
        const struct tremolo_study_coordinate *found = tremolo_study_file_coordinate(file, i);
        if (strcmp(found->name, name) == 0) {
            return found;
        }
    }
    return NULL;
}

/* A column that says "this level" of a feature of the study. */
static bool is_level(const struct tremolo_study_file *file, const char *name)
{
    size_t length = strcspn(name, "=");
    for (size_t i = 0; name[length] == '=' && i < tremolo_study_file_feature_count(file); i++) {
        const char *feature = tremolo_study_file_feature(file, i)->name;
        if (strlen(feature) == length && strncmp(feature, name, length) == 0) {
            return true;
        }
    }
    return false;
}

static bool bounds_of(struct tremolo_design *design, size_t i,
                      const struct tremolo_study_file *file, const char *name)
{
    const struct tremolo_study_coordinate *found = coordinate_named(file, name);
    design->low[i] = found != NULL ? found->written[0] : 0;
    design->high[i] = found != NULL ? found->written[1] : 1;
    design->typical[i] = found != NULL ? (found->low + found->high) / 2 : 0.5;
    return found != NULL || is_level(file, name);
}

bool tremolo_design_bound(struct tremolo_design *design, const struct tremolo_study_file *study,
                          char error[TREMOLO_TABLE_ERROR_BYTES])
{
    const struct tremolo_study_feature *response = tremolo_study_file_response(study);
    if (strcmp(response->name, design->response) == 0) {
        (void)snprintf(design->unit, sizeof design->unit, "%s", response->unit);
    }
    design->low = calloc(design->features + 1, sizeof *design->low);
    design->high = calloc(design->features + 1, sizeof *design->high);
    design->typical = calloc(design->features + 1, sizeof *design->typical);
    if (design->low == NULL || design->high == NULL || design->typical == NULL) {
        return refuse(error, "out of memory");
    }
    for (size_t i = 0; i <= design->features; i++) {
        const char *name = i < design->features ? design->name[i] : design->response;
        if (!bounds_of(design, i, study, name)) {
            return refuse(error, "the study has no bounds for column '%s'", name);
        }
    }
    return true;
}

bool tremolo_design_take_bounds(struct tremolo_design *design, const double *low,
                                const double *high, char error[TREMOLO_TABLE_ERROR_BYTES])
{
    for (size_t i = 0; i <= design->features; i++) {
        if (!(low[i] < high[i]) || !isfinite(high[i] - low[i])) {
            return refuse(error, "bounds of '%.80s': %g is not below %g",
                          i < design->features ? design->name[i] : design->response, low[i],
                          high[i]);
        }
    }
    size_t count = design->features + 1;
    double *lows = calloc(count, sizeof *lows), *highs = calloc(count, sizeof *highs);
    if (lows == NULL || highs == NULL) {
        free(lows);
        free(highs);
        return refuse(error, "out of memory");
    }
    memcpy(lows, low, count * sizeof *lows);
    memcpy(highs, high, count * sizeof *highs);
    free(design->low);
    free(design->high);
    free(design->typical);
    design->typical = NULL;
    design->low = lows;
    design->high = highs;
    return true;
}
