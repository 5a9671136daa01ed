/* plan.h -- what `tremolo plan` was asked, and how it answers. */
#ifndef TREMOLO_CLI_PLAN_H
#define TREMOLO_CLI_PLAN_H

#include <stdbool.h>

#include "tremolo_planning.h"
#include "tremolo_study_file.h"

struct plan_options {
    struct tremolo_plan_request request;
    struct tremolo_study_file *study; /* NULL without one */
    uint64_t devices;                 /* 0: not given; in `request`, too, as are the next two */
    double feature_sd, response_sd;
    bool json;
    bool force;
    bool theory; /* the paper's rounds and their bounds, too */
    const char *figure;
};

/* The whole answer. */
void plan_print_text(const struct plan_options *options, const struct tremolo_plan_answer *answer);

/* Draw the figure with gnuplot; the format follows the file's ending. Returns an
 * exit code and has said what went wrong. */
int plan_figure(const struct plan_options *options);

#endif
