/* report_file.h -- reports in a file, with what is needed to read them.
 *
 *     tremolo reports 1 <newline>
 *     <the study as JSON on one line> <newline>
 *     then for each report: its length in 2 bytes, low byte first, and its bytes
 *
 * The JSON holds the study's integers as the device uses them, the scales that
 * lead back to the analyst's own units, and the names of the columns. The
 * file holds one round. */
#ifndef TREMOLO_CLI_REPORT_FILE_H
#define TREMOLO_CLI_REPORT_FILE_H

#include <stdio.h>

#include "table.h"
#include "tremolo_device.h"
#include "tremolo_regression.h"

enum {
    REPORT_FILE_HEADER_MAX = 1 << 20,
    REPORT_FILE_ERROR_BYTES = 256,
};

struct report_header {
    struct tremolo_study study; /* bounds point to `bounds` */
    struct tremolo_bounds bounds[TREMOLO_MAX_DIMENSION];
    int16_t *vectors;      /* study.vectors rows of d; NULL without */
    double feature_bound;  /* scaled value of a feature at its bound */
    double response_bound; /* the same of a public response */
    double distance;       /* of neighbours, scaled; 0 for any */
    double delta;
    double *centre, *scale; /* d numbers each: own = centre + scale * scaled */
    double response_centre, response_scale;
    char (*name)[DESIGN_NAME_BYTES];
    char response[DESIGN_NAME_BYTES];
};

/* Write the two lines before the reports. */
bool report_file_begin(FILE *file, const struct report_header *header);

/* Read them; everything is checked as input from outside. On failure *header
 * is empty and `error` is one sentence. Free with report_header_free. */
bool report_file_open(struct report_header *header, FILE *file,
                      char error[REPORT_FILE_ERROR_BYTES]);
void report_header_free(struct report_header *header);

/* The next report into bytes; its length, 0 at the end of the file, or -1
 * when the file is cut short or a length is impossible. */
int report_file_next(uint8_t bytes[TREMOLO_MAX_REPORT_BYTES], FILE *file);

#endif
