/* result.h -- a result that can be handed on: one file, readable for years.
 *
 * A result is one JSON document, most often an estimate's (estimate_json.h), and all forms are made
 * from it: .json is the document, .txt what the terminal shows, .csv the table of coefficients, .html
 * a page that carries the document and everything that draws it. docs/man/tremolo-fit.1 lists the
 * members. */
#ifndef TREMOLO_CLI_RESULT_H
#define TREMOLO_CLI_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum { RESULT_LINE_BYTES = 4096 };

/* Can a result be saved under this name? CLI_DONE, also without a name (NULL), or the exit
 * code after a message of `command`. Asked before any work is done. */
int result_check(const char *command, const char *path, bool force);

/* The command as it was typed, quoted for a shell; cut where it is too long. */
void result_command_line(char line[RESULT_LINE_BYTES], int argc, char **argv);

/* Set the member "made": by which version, when, by which command. */
void result_set_made(json_t *document, const char *line);

/* Save under a name that result_check() found good: written to a temporary file first, then
 * renamed, so that there is a whole file or none. `full`: the text has the whole guarantee; a page
 * always shows it. Codes of the command line. */
int result_save(const json_t *result, const char *command, const char *path, bool full);

#endif
