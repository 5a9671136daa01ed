/* cli.h -- what every subcommand shares: exit codes, messages, numbers.
 *
 * A subcommand is one file with one entry function, listed in main.c. Results
 * go to stdout, messages to stderr as "tremolo COMMAND: sentence". */
#ifndef TREMOLO_CLI_H
#define TREMOLO_CLI_H

#include <stdbool.h>

#include "tremolo_status.h"

enum cli_exit {
    CLI_DONE = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_REFUSED = 3, /* the request itself would break a privacy promise */
};

struct cli_command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

/* Print "tremolo COMMAND: ..." to stderr and return the code, so that a
 * command can end with `return cli_fail(...)`. */
int cli_fail(enum cli_exit code, const char *command, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Parse a whole string as a number, whatever the locale. False, with *value
 * untouched, for anything else (empty, trailing characters, NaN, infinity). */
bool cli_parse_double(double *value, const char *text);
bool cli_parse_long(long *value, const char *text);

/* The exit code that a library status stands for: 3 for the privacy range,
 * 2 for the caller's and input ranges, 1 for the rest. */
enum cli_exit cli_exit_of(enum tremolo_status status);

/* The subcommands, one file each. */
int cli_account(int argc, char **argv);
int cli_audit(int argc, char **argv);
int cli_fit(int argc, char **argv);
int cli_demo(int argc, char **argv);
int cli_fold(int argc, char **argv);
int cli_plan(int argc, char **argv);
int cli_report(int argc, char **argv);
int cli_study(int argc, char **argv);
int cli_reproduce(int argc, char **argv);
int cli_serve(int argc, char **argv);
int cli_simulate(int argc, char **argv);
int cli_status(int argc, char **argv);

#endif
