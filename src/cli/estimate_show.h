/* estimate_show.h -- show an estimate, and save it, wherever it comes from. */
#ifndef TREMOLO_CLI_ESTIMATE_SHOW_H
#define TREMOLO_CLI_ESTIMATE_SHOW_H

#include <jansson.h>
#include <stdbool.h>

#include "options.h"
#include "result.h"
#include "text.h"

struct estimate_wish {
    const char *study;   /* its id in a directory; NULL: the only one */
    const char *ca_file; /* NULL: the system's certificates */
    double level;        /* of a server's or directory's intervals; 0: as they are */
    bool json;
    bool explain;                 /* the text has the whole guarantee */
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
                    .help = "save the result as a .html page, .json document, .csv table or .txt " \
                            "text, by the name's ending"),                                         \
        OPTION_RULE("force", NULL, FLAG, OPTION_TO(type, wish.force),                              \
                    .help = "replace files that are there already")

/* Print a document (estimate_json.h), which is then freed. Exit codes of the command
 * line; messages under `command`. */
int estimate_show(const char *command, json_t *document, const struct estimate_wish *wish);

/* The same from a study's address, or from a data directory. */
int estimate_find(const char *command, const char *where, const struct estimate_wish *wish);

#define convergence_print(convergence, where) text_convergence(stdout, convergence, where)

#endif
