/* options_loop.h -- the loop around getopt_long() that commands share. */
#ifndef TREMOLO_CLI_OPTIONS_LOOP_H
#define TREMOLO_CLI_OPTIONS_LOOP_H

#include <stdbool.h>

struct option; /* of getopt.h */

struct cli_parser {
    const char *command;
    const char *help;           /* printed for --help and -h, whose code is 'h' */
    const struct option *names; /* ended by zeros */
    /* Take one option, with its value or NULL, into `options`. NULL when it is
     * good, else what it must be: "a number from 0". */
    const char *(*take)(void *options, int code, const char *value);
};

/* Take all options; `optind` is then the first word that is none. False when the
 * command ends here, with its exit code in *exit_code: help was printed, or a
 * sentence about what is wrong. */
bool cli_parse_options(const struct cli_parser *parser, void *options, int *exit_code, int argc,
                       char **argv);

#endif
