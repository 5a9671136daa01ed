/* estimate_show.h -- show an estimate, and save it, wherever it comes from. */
#ifndef TREMOLO_CLI_ESTIMATE_SHOW_H
#define TREMOLO_CLI_ESTIMATE_SHOW_H

#include <jansson.h>
#include <stdbool.h>

struct estimate_wish {
    const char *study;   /* its id in a directory; NULL: the only one */
    const char *ca_file; /* NULL: the system's certificates */
    double level;        /* of a server's or directory's intervals; 0: as they are */
    bool as_json;
    bool explain;     /* the guarantee in full, not in a few lines */
    const char *save; /* save it under this name, too; NULL: no */
    const char *line; /* the command as typed, for the file */
};

/* Print a document (estimate_json.h), which is then freed. Exit codes of the command
 * line; messages under `command`. */
int estimate_show(const char *command, json_t *document, const struct estimate_wish *wish);

/* The same from a study's address, or from a data directory. */
int estimate_find(const char *command, const char *where, const struct estimate_wish *wish);

/* Print a document on the terminal: the table in the manner of R's summary of a linear
 * model, the prediction and the guarantee, which `explain` has in full. (estimate_print.c) */
void estimate_print(const json_t *document, bool explain);

#endif
