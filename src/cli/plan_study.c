/* plan_study.c -- a plan for a study that is written already.
 *
 * Everything the file fixes is taken from it; the guesses stay guesses. A study's
 * scaled units run from -1 to 1 between public bounds, so that what a plan
 * says in them can be said in the study's own units, feature by feature. */
#include <stdio.h>

#include "coefficients.h"
#include "plan.h"
#include "tremolo_study_file.h"

enum { ROWS_MAX = 20 };

void plan_study_print_mean(const struct tremolo_study_file *study, double standard_error)
{
    const struct tremolo_study_feature *response = tremolo_study_file_response(study);
    (void)printf(
        "\nNoise alone gives the mean of %s a standard error of %.3g%s%s. The R^2 above is for a\n"
        "mean near the middle of its bounds; far from it R^2 is lower, and may be below zero.\n",
        response->name, 0.5 * standard_error * (response->high - response->low),
        response->unit[0] != '\0' ? " " : "", response->unit);
}

void plan_study_print(const struct tremolo_study_file *study, double half_width, double level)
{
    const struct tremolo_study_feature *response = tremolo_study_file_response(study);
    size_t d = tremolo_study_file_dimension(study);
    double range = response->high - response->low;
    (void)printf("\n%g%% intervals in the study's own units: %s%s%s per unit of\n", 100.0 * level,
                 response->name, response->unit[0] != '\0' ? ", " : "", response->unit);
    int widest = 24;
    for (size_t i = 0; i < d && i < ROWS_MAX; i++) {
        int width = coefficients_name_width(tremolo_study_file_coordinate(study, i)->name);
        widest = width > widest ? width : widest;
    }
    for (size_t i = 0; i < d && i < ROWS_MAX; i++) {
        const struct tremolo_study_coordinate *row = tremolo_study_file_coordinate(study, i);
        double width = half_width * range / (row->high - row->low);
        (void)printf("  ");
        coefficients_print_name(row->name, widest);
        (void)printf(" +- %.4g\n", width);
    }
    if (d > ROWS_MAX) {
        (void)printf("  and %zu more\n", d - ROWS_MAX);
    }
}
