/* cli.h -- what every subcommand shares: exit codes, messages, numbers.
 *
 * A subcommand is one file with one entry function, listed in main.c. Results
 * go to stdout, messages to stderr as "tremolo COMMAND: sentence". */
#ifndef TREMOLO_CLI_H
#define TREMOLO_CLI_H

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_status.h"

enum cli_exit {
    CLI_DONE = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_REFUSED = 3, /* the request itself would break a privacy promise */
};

struct option_rule; /* of options.h */

/* What comes after the command's name where it does several things: `study init`. */
struct cli_action {
    const char *name;
    const char *summary;
    /* Its operands as the usage line has them: NAME, [NAME] where one may be left out, NAME...
     * for any number. NULL: none. They are counted by this, so that usage and check agree. */
    const char *operand;
};

struct cli_command {
    const char *name;
    const char *summary; /* a line in the list of commands */
    const char *usage;   /* a line for each way to call it, without "tremolo" */
    const char *about;   /* what --help says before the options, and after them */
    const char *closing;
    const struct option_rule *rules;
    size_t rule_count;
    const struct cli_action *actions; /* NULL: it does one thing */
    size_t action_count;
    const char *operand;               /* as of an action */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

/* Print "tremolo COMMAND: ..." to stderr and return the code, so that a
 * command can end with `return cli_fail(...)`. */
int cli_fail(enum cli_exit code, const char *command, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Seconds on a monotonic clock. */
double cli_seconds(void);

/* The exit code of a library status: 3 for the privacy range,
 * 2 for the caller's and input ranges, 1 for the rest. */
enum cli_exit cli_exit_of(enum tremolo_status status);

/* Print the sentence of a status and return its exit code. */
int cli_fail_status(const char *command, enum tremolo_status status);

/* Print an object, which is consumed, on one line or `pretty`; NULL is a failure, too. */
int cli_print_json(const char *command, json_t *object, bool pretty);

/* Block the signals that end a server, and with `hangup` SIGHUP, so that sigwait() gets them, and
 * ignore SIGPIPE: nothing runs in a handler. */
void cli_hold_signals(sigset_t *signals, bool hangup);

/* CLI_DONE when a file may be written there, or the exit code after a message. */
int cli_check_new(const char *command, const char *path, bool force);

/* CLI_DONE unless `path`, which is to be written, is one file with one of `count` others, which
 * are read or written as well, or the exit code after a message. --force is no leave to lose data.
 * Any path may be NULL. */
int cli_check_apart(const char *command, const char *path, const char *const *other, size_t count);

/* The commands, one file each. */
extern const struct cli_command cli_account, cli_audit, cli_check, cli_demo, cli_fit, cli_fold,
    cli_plan, cli_predict, cli_report, cli_reproduce, cli_serve, cli_simulate, cli_status,
    cli_study;

#endif
