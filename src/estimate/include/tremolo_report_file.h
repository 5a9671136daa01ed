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
#ifndef TREMOLO_REPORT_FILE_H
#define TREMOLO_REPORT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "tremolo_ballot.h"
#include "tremolo_device.h"
#include "tremolo_honest.h"
#include "tremolo_regression.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tremolo_inputs; /* how features follow from raw columns; opaque */

enum {
    TREMOLO_REPORT_FILE_HEADER_MAX = 1 << 20, /* bytes of a line */
    TREMOLO_REPORT_FILE_ROUNDS_MAX = 1024,
    TREMOLO_REPORT_FILE_ERROR_BYTES = 256,
    TREMOLO_NAME_BYTES = 128, /* of a column, its end included */
};

/* The id of reports that belong to no study that anybody agreed on. */
#define TREMOLO_SIMULATED_STUDY "simulated study, made at run time"

struct tremolo_report_header {
    struct tremolo_study study; /* bounds point to `bounds` */
    struct tremolo_bounds bounds[TREMOLO_MAX_DIMENSION];
    double step, radius;    /* of the iteration over rounds; 0 without */
    double feature_bound;   /* scaled value of a feature at its bound */
    double response_bound;  /* the same of a public response */
    double distance;        /* of neighbours, scaled; 0 for any */
    bool standardised;      /* which is in standard deviations then, not in half ranges */
    double delta;           /* 0 for ballots */
    double *centre, *scale; /* d numbers each: own = centre + scale * scaled */
    double response_centre, response_scale;
    /* From lowest to highest value of every feature and then of the response, own units:
     * d + 1 numbers, or NULL in a file that does not say. */
    double *range;
    char (*name)[TREMOLO_NAME_BYTES];
    char response[TREMOLO_NAME_BYTES];
    char unit[TREMOLO_NAME_BYTES]; /* of the response; "" when it is not known */
    struct tremolo_inputs *inputs; /* what the features are made of; NULL in a file that does not
                                    * say; owned by a header that was read */
};

/* What tremolo_report_file_next() says besides a report's length. */
enum { TREMOLO_REPORT_FILE_END = 0, TREMOLO_REPORT_FILE_CUT = -1, TREMOLO_REPORT_FILE_ROUND = -2 };

/* Write the two lines before everything, and what opens a round. `vectors` has
 * study.vectors rows of d entries, or is NULL without. */
bool tremolo_report_file_begin(FILE *file, const struct tremolo_report_header *header);
bool tremolo_report_file_begin_round(FILE *file, const struct tremolo_study *study, unsigned round,
                                     const int16_t *vectors);

/* Read the two lines; everything is checked as input from outside. On failure
 * *header is empty and `error` is one sentence. Free with tremolo_report_header_free. */
bool tremolo_report_file_open(struct tremolo_report_header *header, FILE *file,
                              char error[TREMOLO_REPORT_FILE_ERROR_BYTES]);
void tremolo_report_header_free(struct tremolo_report_header *header);

/* The next report into bytes; its length, or END, CUT (the file is cut short or a
 * length is impossible) or ROUND: then tremolo_report_file_open_round() reads its line. */
int tremolo_report_file_next(uint8_t bytes[TREMOLO_MAX_REPORT_BYTES], FILE *file);

/* False unless the line opens round `round` with sound vectors, which fill
 * `vectors` (study.vectors rows of d). */
bool tremolo_report_file_open_round(int16_t *vectors, FILE *file, const struct tremolo_study *study,
                                    unsigned round);

/* From a file of reports to what their sums tell, round by round.
 *
 * Each report is decoded by the strict decoder, checked against the file's
 * study, and counted once: the same bytes again are ignored, other bytes under
 * the same id are an error. The moments are folded exactly, so within the only
 * round of a file the order of reports does not matter. With several rounds it tells
 * whose reports belong together, and a device stays in the jackknife's bucket that
 * its first report chose. */
struct tremolo_report_rounds {
    size_t count;
    size_t devices; /* reports of each round, repeats not counted */
    size_t repeated;
    struct tremolo_debiased **evidence;    /* of every round, of noisy samples */
    struct tremolo_mechanism mechanism;    /* of one round of them */
    struct tremolo_ballot *ballots;        /* or of the one round of ballots */
    struct tremolo_tails tails;            /* of the last round */
    struct tremolo_debiased *robust;       /* of the only round, without what was set aside, */
    struct tremolo_ballot *robust_ballots; /* or NULL: nothing was, or there are more rounds */
};

/* Read all rounds after tremolo_report_file_open(). On failure *rounds is empty and
 * `error` is one sentence. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_report_rounds_read(struct tremolo_report_rounds *rounds,
                           const struct tremolo_report_header *header, FILE *file,
                           char error[TREMOLO_REPORT_FILE_ERROR_BYTES]);
void tremolo_report_rounds_free(struct tremolo_report_rounds *rounds);

#ifdef __cplusplus
}
#endif

#endif
