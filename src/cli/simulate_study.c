/* simulate_study.c -- what a study file fixes of a simulation.
 *
 * The study is read before all other options, so that each of them overrides it.
 * Columns come by the study's names, its response included; the bounds are taken
 * once the data are there (design_bounds.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "tremolo_table.h"
#include "files.h"
#include "simulate.h"
#include "tremolo_inputs.h"

static const char command[] = "simulate";

/* The names --without chooses from: the study's features, or the table's columns. */
static size_t candidates(const char **names, const struct simulate_options *options,
                         const struct tremolo_table *table)
{
    const struct tremolo_study_file *file = options->study_file;
    size_t count = file != NULL ? tremolo_study_file_feature_count(file) : table->columns;
    for (size_t i = 0; i < count; i++) {
        names[i] = file != NULL ? tremolo_study_file_feature(file, i)->name : table->name[i];
    }
    return count;
}

bool simulate_leave_out(struct simulate_options *options, const struct tremolo_table *table,
                        char error[TREMOLO_TABLE_ERROR_BYTES])
{
    const char *names[TREMOLO_TABLE_COLUMNS_MAX];
    struct tremolo_column_choice choice = {.name = names,
                                           .names = candidates(names, options, table),
                                           .response = options->response,
                                           .without = options->without,
                                           .without_count = options->without_count};
    char *list = tremolo_columns_without(&choice, error);
    free(options->listed_features);
    options->features = options->listed_features = list;
    return list != NULL;
}

/* Every name in quotes, as --features takes it. NULL without memory. */
static char *quoted_features(const struct tremolo_study_file *file)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (out == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < tremolo_study_file_feature_count(file); i++) {
        tremolo_columns_add(out, tremolo_study_file_feature(file, i)->name, i);
    }
    return fclose(out) == 0 ? text : NULL;
}

const char *simulate_take_study(void *place, const char *path)
{
    struct simulate_options *options = place;
    if (cli_read_study(&options->study_file, command, path) != CLI_DONE) {
        return "";
    }
    options->study = path;
    options->listed_features = quoted_features(options->study_file);
    if (options->listed_features == NULL) {
        (void)cli_fail(CLI_FAILED, command, "out of memory");
        return "";
    }
    options->response = tremolo_study_file_response(options->study_file)->name;
    options->features = options->listed_features;
    options->terms = tremolo_study_file_inputs(options->study_file)->terms;
    tremolo_simulation_take_study(&options->simulation, options->study_file);
    return NULL;
}

void simulate_options_free(struct simulate_options *options)
{
    tremolo_study_file_free(options->study_file);
    free(options->listed_features);
    options->study_file = NULL;
    options->listed_features = NULL;
}
