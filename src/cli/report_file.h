/* report_file.h -- reports in a file, with what is needed to read them.
 *
 *     tremolo reports 2 <newline>
 *     <the study as JSON on one line> <newline>
 *     then for each round:
 *         2 zero bytes, and {"round": number, "vectors": [...]} on one line
 *         for each report: its length in 2 bytes, low byte first, and its bytes
 *
 * The study's JSON holds its integers as the device uses them, the scales that
 * lead back to the analyst's own units, and the names of the columns. A round's
 * vectors follow from the reports before it, so they stand before its own and the
 * file is written as rounds go on. Rounds are in order, and every round lists the
 * devices in the order of the first: report k is the same device's in each. */
#ifndef TREMOLO_CLI_REPORT_FILE_H
#define TREMOLO_CLI_REPORT_FILE_H

#include <stdio.h>

#include "table.h"
#include "tremolo_device.h"
#include "tremolo_regression.h"

enum {
    REPORT_FILE_HEADER_MAX = 1 << 20, /* bytes of a line */
    REPORT_FILE_ROUNDS_MAX = 1024,
    REPORT_FILE_ERROR_BYTES = 256,
};

struct report_header {
    struct tremolo_study study; /* bounds point to `bounds` */
    struct tremolo_bounds bounds[TREMOLO_MAX_DIMENSION];
    double step, radius;   /* of the iteration over rounds; 0 without */
    double feature_bound;  /* scaled value of a feature at its bound */
    double response_bound; /* the same of a public response */
    double distance;       /* of neighbours, scaled; 0 for any */
    double delta;
    double *centre, *scale; /* d numbers each: own = centre + scale * scaled */
    double response_centre, response_scale;
    char (*name)[DESIGN_NAME_BYTES];
    char response[DESIGN_NAME_BYTES];
    char unit[DESIGN_NAME_BYTES]; /* of the response; "" when it is not known */
};

/* What report_file_next() says besides a report's length. */
enum { REPORT_FILE_END = 0, REPORT_FILE_CUT = -1, REPORT_FILE_ROUND = -2 };

/* Write the two lines before everything, and what opens a round. `vectors` has
 * study.vectors rows of d entries, or is NULL without. */
bool report_file_begin(FILE *file, const struct report_header *header);
bool report_file_begin_round(FILE *file, const struct tremolo_study *study, unsigned round,
                             const int16_t *vectors);

/* Read the two lines; everything is checked as input from outside. On failure
 * *header is empty and `error` is one sentence. Free with report_header_free. */
bool report_file_open(struct report_header *header, FILE *file,
                      char error[REPORT_FILE_ERROR_BYTES]);
void report_header_free(struct report_header *header);

/* The next report into bytes; its length, or END, CUT (the file is cut short or a
 * length is impossible) or ROUND: then report_file_open_round() reads its line. */
int report_file_next(uint8_t bytes[TREMOLO_MAX_REPORT_BYTES], FILE *file);

/* False unless the line opens round `round` with sound vectors, which fill
 * `vectors` (study.vectors rows of d). */
bool report_file_open_round(int16_t *vectors, FILE *file, const struct tremolo_study *study,
                            unsigned round);

#endif
