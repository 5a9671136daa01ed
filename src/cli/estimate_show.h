/* estimate_show.h -- show an estimate, and save it, wherever it comes from. */
#ifndef TREMOLO_CLI_ESTIMATE_SHOW_H
#define TREMOLO_CLI_ESTIMATE_SHOW_H

#include <jansson.h>
#include <stdbool.h>

#include "options.h"
#include "result.h"

struct estimate_wish {
    const char *study;   /* its id in a directory; NULL: the only one */
    const char *ca_file; /* NULL: the system's certificates */
    double level;        /* of a server's or directory's intervals; 0: as they are */
    bool json;
    bool explain;                 /* the guarantee in full, not in a few lines */
    const char *full;             /* what prints it in full; NULL: --explain */
    const char *save;             /* save it under this name, too; NULL: no */
    bool force;                   /* and replace what is there */
    char line[RESULT_LINE_BYTES]; /* the command as typed, for the file */
};

/* The rules that fill a member `wish`. */
#define WISH_RULES(type)                                                                           \
    OPTION_RULE("explain", NULL, FLAG, OPTION_TO(type, wish.explain),                              \
                .help = "print the guarantee in full: for a reviewer, for a participant, and for " \
                        "pairs that differ in other ways"),                                        \
        OPTION_RULE("json", NULL, FLAG, OPTION_TO(type, wish.json),                                \
                    .help = "print the result as JSON"),                                           \
        OPTION_RULE("save", "FILE", TEXT, OPTION_TO(type, wish.save),                              \
                    .help =                                                                        \
                        "save the result as one .html page, .json document or .csv table, by the " \
                        "name's end; the file appears whole or not at all"),                       \
        OPTION_RULE("report", "FILE", TEXT, OPTION_TO(type, wish.save), .hidden = true,            \
                    .help = "the former name of --save"),                                          \
        OPTION_RULE("force", NULL, FLAG, OPTION_TO(type, wish.force),                              \
                    .help = "replace files that are there already")

/* Print a document (estimate_json.h), which is then freed. Exit codes of the command
 * line; messages under `command`. */
int estimate_show(const char *command, json_t *document, const struct estimate_wish *wish);

/* The same from a study's address, or from a data directory. */
int estimate_find(const char *command, const char *where, const struct estimate_wish *wish);

/* Print a document on the terminal: the table in the manner of R's summary of a linear
 * model, the prediction and the guarantee, which `explain` has in full and whose short form names `full` for
 * it. (estimate_print.c) */
void estimate_print(const json_t *document, bool explain, const char *full);

/* What the paper's theorems say of a protocol of rounds, from a document's "convergence"; `where`
 * names b*: "the estimate" or "the guess". */
void convergence_print(const json_t *convergence, const char *where);

#endif
