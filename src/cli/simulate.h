/* simulate.h -- what the files of `tremolo simulate` share. */
#ifndef TREMOLO_CLI_SIMULATE_H
#define TREMOLO_CLI_SIMULATE_H

#include "estimate_show.h"
#include "options.h"
#include "tremolo_privacy.h"
#include "simulation_json.h"
#include "tremolo_study_file.h"

enum { SIMULATE_REPEATS_MAX = 100000 };

struct simulate_options {
    const char *path, *response, *features;
    const char *terms; /* a formula in place of features; NULL without */
    enum tremolo_missing missing;
    const char *study; /* bounds and all else that this file fixes; may be NULL */
    struct tremolo_study_file *study_file; /* the same, read; NULL without */
    char *listed_features; /* made from the study or --without, as --features has them */
    struct options_list without;
    char separator; /* 0: detect */
    struct tremolo_simulation simulation;
    const char *reports; /* keep the first repeat's reports in this file; may be NULL */
    struct estimate_wish wish;
};

/* Read the command line. False with the exit code in *code when there is
 * nothing to run (help included). */
bool simulate_parse(struct simulate_options *options, int *code, int argc, char **argv);

int simulate_run(int argc, char **argv);

/* List the features that --without leaves of the study's, or of the table's columns.
 * False with a sentence in `error`. */
bool simulate_leave_out(struct simulate_options *options, const struct tremolo_table *table,
                        char error[TREMOLO_TABLE_ERROR_BYTES]);

/* What simulate_parse() made. */
void simulate_options_free(struct simulate_options *options);

#endif
