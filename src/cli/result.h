/* result.h -- a result that can be handed on: one file, readable for years.
 *
 * A result is one JSON document, most often an estimate's (estimate_json.h), and all forms are
 * made from it: .json is the document, .txt what the terminal shows, .csv the table of
 * coefficients, .html a page that carries the document and everything that draws it.
 * docs/man/tremolo-fit.1 lists the members. */
#ifndef TREMOLO_CLI_RESULT_H
#define TREMOLO_CLI_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "options.h"
#include "text.h"

/* The longest command line that a result quotes, and the longest name in a CSV table. */
enum { RESULT_LINE_BYTES = 4096 };

/* How a command shows its result; `line` is the command as typed. */
struct estimate_wish {
    bool json;
    bool explain;                 /* the text has the whole guarantee */
    const char *save;             /* save it under this name, too; NULL: no */
    bool force;                   /* and replace what is there */
    char line[RESULT_LINE_BYTES]; /* result_command_line() */
};

/* The rules that fill a member `wish`, to be put into a command's table. The command itself fills
 * wish.line. */
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

/* Print a document, which is then freed in any case, and save it, as is wished. Texts in it are
 * cleaned of what could steer a terminal. NULL is taken as lack of memory. Exit codes of the
 * command line; messages under `command`. */
int estimate_show(const char *command, json_t *document, const struct estimate_wish *wish);

/* Can a result be saved under this name? CLI_DONE, also without a name (NULL), or the exit
 * code after a message of `command`. Asked before any work is done. */
int result_check(const char *command, const char *path, bool force);

/* The command as it was typed, quoted for a shell; cut where it is too long. argv[0] is the
 * command's name; "tremolo" is put before it. */
void result_command_line(char line[RESULT_LINE_BYTES], int argc, char **argv);

/* Set the member "made": by which version, when, by which command. */
void result_set_made(json_t *document, const char *line);

/* Save under a name that result_check() found good: written to a temporary file first, then
 * renamed, so that there is a whole file or none. `full`: the text has the whole guarantee; a page
 * always shows it. Codes of the command line. */
int result_save(const json_t *result, const char *command, const char *path, bool full);

#endif
