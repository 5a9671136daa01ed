/* cli.h -- what every subcommand shares: exit codes, messages, numbers.
 *
 * A subcommand is one file with one entry function, listed in main.c. Results
 * go to stdout, messages to stderr as "tremolo COMMAND: sentence".
 *
 * Functions that can fail return an exit code, as an int or an enum cli_exit. Any code except
 * CLI_DONE means that the message is printed already: callers only pass the code on. */
#ifndef TREMOLO_CLI_H
#define TREMOLO_CLI_H

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_status.h"

/* What the process ends with. Scripts depend on these numbers. */
enum cli_exit {
    /* All was done, and all of the result reached standard output. */
    CLI_DONE = 0,
    /* The world failed (disk, network, memory), or a check found something wrong. */
    CLI_FAILED = 1,
    /* The command line or a file that it names has to be corrected. */
    CLI_USAGE = 2,
    CLI_REFUSED = 3, /* the request itself would break a privacy promise */
};

struct option_rule; /* of options.h */

/* What comes after the command's name where it does several things: `study init`. */
struct cli_action {
    const char *name;
    /* A sentence without its full stop: for --help and for completion. */
    const char *summary;
    /* Its operands as the usage line has them: NAME, [NAME] where one may be left out, NAME...
     * for any number. NULL: none. They are counted by this, so that usage and check agree. */
    const char *operand;
};

/* A command as a constant table: the parser, --help, the manual page and completion all read it.
 * All texts are static. */
struct cli_command {
    const char *name;
    const char *summary; /* a line in the list of commands */
    const char *usage;   /* a line for each way to call it, without "tremolo" */
    const char *about;   /* what --help says before the options, and after them */
    const char *closing;
    const struct option_rule *rules;
    size_t rule_count;
    /* In the order of the command's own enum, where it has one: the place is the action. */
    const struct cli_action *actions; /* NULL: it does one thing */
    size_t action_count;
    const char *operand;               /* as of an action */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

/* Print "tremolo COMMAND: ..." to stderr and return the code, so that a
 * command can end with `return cli_fail(...)`. Characters that could steer a terminal are
 * replaced first, and a sentence of more than 4095 bytes is cut. */
int cli_fail(enum cli_exit code, const char *command, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Seconds on a monotonic clock, from an arbitrary start: only differences mean something. */
double cli_seconds(void);

/* The exit code of a library status: 3 for the privacy range,
 * 2 for the caller's and input ranges, 1 for the rest. */
enum cli_exit cli_exit_of(enum tremolo_status status);

/* Print the sentence of a status and return its exit code. */
int cli_fail_status(const char *command, enum tremolo_status status);

/* Print an object, which is consumed, on one line or `pretty`; NULL is a failure, too. Numbers
 * have 17 digits, which bring a double back as it was. CLI_DONE, or CLI_FAILED after a message.
 * A write to stdout that failed is reported by main() once, so it gives CLI_DONE here. */
int cli_print_json(const char *command, json_t *object, bool pretty);

/* Block the signals that end a server, and with `hangup` SIGHUP, so that sigwait() gets them, and
 * ignore SIGPIPE: nothing runs in a handler. Call it before the first thread is started. */
void cli_hold_signals(sigset_t *signals, bool hangup);

/* CLI_DONE when a file may be written there: the name is free, or `force` is set. Otherwise
 * CLI_USAGE after a message. Ask before the work is done. The name is not reserved, so a file
 * that appears later is replaced. */
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
