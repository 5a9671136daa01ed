/* report_file.h -- reports in a file, with what is needed to read them.
 *
 *     tremolo reports 2 <newline>
 *     <the study as JSON on one line> <newline>
 *     then for each round:
 *         2 zero bytes, and {"round": number, "vectors": [...]} on one line
 *         for each report: its length in 2 bytes, low byte first, and its bytes
 *
 * The study's JSON holds its integers as the device uses them, the scales that lead back to the
 * analyst's own units, and the names of the columns. A round's vectors follow from the reports
 * before it, so they stand before its own and the file is written as rounds go on. Rounds are in
 * order, and every round lists the devices in the order of the first: report k is the same
 * device's in each. */
#ifndef ESTIMATE_REPORT_FILE_H
#define ESTIMATE_REPORT_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "tremolo_device.h"
#include "tremolo_estimate.h"

struct tremolo_inputs; /* how features follow from raw columns (inputs.h) */

/* The id of reports that belong to no published study. */
#define TREMOLO_SIMULATED_STUDY "simulated study, made at run time"

struct tremolo_report_header {
    struct tremolo_study study; /* bounds point to `bounds` */
    struct tremolo_bounds bounds[TREMOLO_MAX_DIMENSION];
    double step, radius;    /* of the iteration over rounds; 0 without */
    double feature_bound;   /* scaled value of a feature at its bound */
    double response_bound;  /* the same of a public response */
    double distance;        /* of neighbours, scaled; 0 for any */
    bool standardised;      /* which is in standard deviations then; files are read with it, none is
                             * written */
    double delta;           /* 0 for ballots */
    double *centre, *scale; /* d numbers each: own = centre + scale * scaled */
    double response_centre, response_scale;
    double
        *range; /* from lowest to highest value of every feature, then of the response, own units */
    char (*name)[TREMOLO_NAME_BYTES];
    char response[TREMOLO_NAME_BYTES];
    char unit[TREMOLO_NAME_BYTES]; /* of the response; "" when it is not known */
    struct tremolo_inputs *inputs; /* what the features are made of */
};

/* Write the two lines before everything, and what opens a round. `vectors` has study.vectors rows
 * of d entries, or is NULL without. False when the file does not take them. */
bool tremolo_report_file_begin(FILE *file, const struct tremolo_report_header *header);
bool tremolo_report_file_begin_round(FILE *file, const struct tremolo_study *study, unsigned round,
                                     const int16_t *vectors);

/* The estimate's document of the whole file, guarantee and all. After a failure *document is
 * untouched and `error` is one sentence. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_report_file_fit(json_t **document, FILE *file,
                        const struct tremolo_report_fit_options *options,
                        char error[TREMOLO_REPORT_FILE_ERROR_BYTES]);

#endif
