/* tasks.c -- build the tasks from Debian's copies of the data sets. */
#include "trial.h"
#include "refuse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const modes[] = {"mode", "choice", "ttme", "invc", "invt", "hinc", "psize"};

const struct tremolo_task tremolo_tasks[TREMOLO_TASKS] = {
    {"co2", "CO2", "co2.csv", NULL, NULL, 0, 2284, 7, 0.999, 0.80, 2.00, 2.249, 0.05},
    {"fair", "Fair (yrs_married)", "fair.csv", "yrs_married", NULL, 0, 6366, 8, 0.853, 0.80, 1.00,
     2.059, 0.10},
    {"modechoice", "ModeChoice", "modechoice.csv", "gc", modes, 7, 840, 7, 0.967, 1.00, 0.50, 1.816,
     0.05},
    {"lncoins", "RandHIE (lncoins)", "randhie.csv", "lncoins", NULL, 0, 20190, 9, 0.406, 0.80, 0.50,
     2.270, 0.10},
    {"fmde", "RandHIE (fmde)", "randhie.csv", "fmde", NULL, 0, 20190, 9, 0.389, 0.50, 0.50, 2.256,
     0.10},
};

/* Days since the year 0 of a proleptic Gregorian date written YYYYMMDD. */
static double day_number(const char *text)
{
    long date = strtol(text, NULL, 10);
    long year = date / 10000, month = date / 100 % 100, day = date % 100;
    year -= month <= 2;
    month += month <= 2 ? 12 : 0;
    long leap_days = year / 4 - year / 100 + year / 400;
    long days_before_month = (153 * month - 457) / 5;
    return (double)(365 * year + leap_days + days_before_month + day);
}

/* Fill gaps on the straight line between their neighbours; gaps at the ends
 * take the nearest value. */
static void interpolate(double *values, size_t count)
{
    size_t last = count; /* the latest value that is there */
    for (size_t r = 0; r < count; r++) {
        if (isnan(values[r])) {
            continue;
        }
        for (size_t gap = last == count ? 0 : last + 1; gap < r; gap++) {
            values[gap] = last == count
                              ? values[r]
                              : values[last] + (values[r] - values[last]) * (double)(gap - last) /
                                                   (double)(r - last);
        }
        last = r;
    }
    for (size_t gap = last + 1; last < count && gap < count; gap++) {
        values[gap] = values[last];
    }
}

static void season_row(double *x, double years)
{
    const double turn = 6.283185307179586;
    x[0] = years;
    x[1] = years * years;
    x[2] = years * years * years;
    x[3] = sin(turn * years);
    x[4] = cos(turn * years);
    x[5] = sin(2 * turn * years);
    x[6] = cos(2 * turn * years);
}

/* A cubic trend and two harmonics of the year, from weekly measurements. */
static bool build_co2(struct tremolo_design *design, const struct tremolo_table *table, char *error)
{
    static const char *const names[7] = {"t", "t^2", "t^3", "sin1", "cos1", "sin2", "cos2"};
    size_t date = tremolo_table_find(table, "date"), co2 = tremolo_table_find(table, "co2");
    struct tremolo_design made = {.rows = table->rows, .features = 7};
    if (date == table->columns || co2 == table->columns) {
        return refuse(error, "the columns date and co2 are not there");
    }
    made.name = calloc(made.features, sizeof *made.name);
    made.X = malloc(made.rows * made.features * sizeof *made.X);
    made.y = malloc(made.rows * sizeof *made.y);
    if (made.name == NULL || made.X == NULL || made.y == NULL) {
        tremolo_design_free(&made);
        return refuse(error, "out of memory");
    }
    double first = day_number(tremolo_table_cell(table, 0, date));
    for (size_t r = 0; r < made.rows; r++) {
        const char *text = tremolo_table_cell(table, r, co2);
        made.y[r] = NAN;
        if (!tremolo_table_is_missing(text) && !tremolo_table_is_number(text, &made.y[r])) {
            tremolo_design_free(&made);
            return refuse(error, "line %zu, column 'co2': '%.40s' is not a finite number",
                          table->line[r], text);
        }
        season_row(made.X + r * made.features,
                   (day_number(tremolo_table_cell(table, r, date)) - first) / 365.25);
    }
    interpolate(made.y, made.rows);
    for (size_t i = 0; i < made.features; i++) {
        (void)snprintf(made.name[i], TREMOLO_NAME_BYTES, "%s", names[i]);
    }
    (void)snprintf(made.response, TREMOLO_NAME_BYTES, "co2");
    *design = made;
    return true;
}

bool task_load(struct tremolo_design *design, const struct tremolo_task *task, const char *folder,
               char error[TREMOLO_TABLE_ERROR_BYTES])
{
    char path[4096];
    struct tremolo_table *table = NULL;
    (void)snprintf(path, sizeof path, "%s/%s", folder, task->file);
    if (!tremolo_table_read(&table, path, error)) {
        return false;
    }
    const struct tremolo_design_wish wish = {.response = task->response,
                                             .features = task->features,
                                             .feature_count = task->feature_count};
    bool good = task->response == NULL ? build_co2(design, table, error)
                                       : tremolo_design_build(design, table, &wish, error);
    tremolo_table_free(table);
    return good;
}
