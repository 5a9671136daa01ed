/* report_rounds.h -- from a file of reports to debiased moments, round by round.
 *
 * Each report is decoded by the strict decoder, checked against the file's
 * study, and counted once: the same bytes again are ignored, other bytes under
 * the same id are an error. The moments are folded exactly, so within the only
 * round of a file the order of reports does not matter. With several rounds it tells
 * whose reports belong together, and a device stays in the jackknife's bucket that
 * its first report chose. */
#ifndef TREMOLO_CLI_REPORT_ROUNDS_H
#define TREMOLO_CLI_REPORT_ROUNDS_H

#include "report_file.h"

struct report_rounds {
    size_t count;
    size_t devices; /* reports of each round, repeats not counted */
    size_t repeated;
    struct tremolo_debiased **evidence; /* of every round */
    struct tremolo_mechanism mechanism; /* of one round */
};

/* Read all rounds after report_file_open(). Returns an exit code (cli.h); on failure
 * *rounds is empty and `error` is one sentence. */
int report_rounds_read(struct report_rounds *rounds, const struct report_header *header, FILE *file,
                       char error[REPORT_FILE_ERROR_BYTES]);
void report_rounds_free(struct report_rounds *rounds);

#endif
