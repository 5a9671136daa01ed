/* reproduce.h -- what the files of `tremolo reproduce` share. */
#ifndef TREMOLO_CLI_REPRODUCE_H
#define TREMOLO_CLI_REPRODUCE_H

#include "result.h"
#include "tremolo_reproduction.h"

struct reproduce_options {
    const char *out, *data;
    const char *save; /* one more copy of the result; may be NULL */
    struct tremolo_reproduction reproduction;
    bool any_two;
    bool force;
    char line[RESULT_LINE_BYTES]; /* the command as typed, for the report */
};

/* Write datasets.csv, tuning.csv (of the paper's methods), sweep.csv, the figures' scripts and
 * report.md into `folder`; false with errno set. */
bool reproduce_write(const char *folder, const struct tremolo_reproduction_case *cases,
                     size_t count, const struct reproduce_options *options, bool figures,
                     double seconds);

/* Write report.html and report.json into `folder`, and what --save names. Codes of the command line. */
int reproduce_save(const char *folder, const struct tremolo_reproduction_case *cases, size_t count,
                   const struct reproduce_options *options);

/* Write figures.gp and run gnuplot on it. False when that cannot be done. */
bool reproduce_draw(const char *folder, const struct tremolo_reproduction_case *cases, size_t count,
                    const struct tremolo_sweep *sweep);

/* What both reports say of the sweep: its title, and how --any-two was made. */
const char *reproduce_title(const struct reproduce_options *options);
enum { REPRODUCE_ANY_TWO_WORDS = 3 };
extern const char *const reproduce_any_two_words[REPRODUCE_ANY_TWO_WORDS];

#endif
