/* common.c -- what every subcommand shares: messages, exit codes, numbers, checks of file names.
 *
 * The program never calls setlocale(), so numbers are read and written with a decimal point
 * everywhere. Text that comes from outside is cleaned before it is printed: no file name and no
 * answer of a server can steer a terminal. */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "study_internal.h"

int cli_fail(enum cli_exit code, const char *command, const char *format, ...)
{
    /* Longer than any sentence, so that only names from outside can be cut. */
    char sentence[4096];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    (void)tremolo_text_clean(sentence);
    (void)fprintf(stderr, "tremolo %s: %s\n", command, sentence);
    return (int)code;
}

double cli_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum cli_exit cli_exit_of(enum tremolo_status status)
{
    switch (tremolo_status_kind(status)) {
    case TREMOLO_KIND_DONE: return CLI_DONE;
    case TREMOLO_KIND_CALLER:
    case TREMOLO_KIND_INPUT: return CLI_USAGE;
    case TREMOLO_KIND_PRIVACY: return CLI_REFUSED;
    default: return CLI_FAILED;
    }
}

int cli_fail_status(const char *command, enum tremolo_status status)
{
    return cli_fail(cli_exit_of(status), command, "%s", tremolo_status_sentence(status));
}

int cli_print_json(const char *command, json_t *object, bool pretty)
{
    size_t flags = JSON_REAL_PRECISION(17) | (pretty ? JSON_INDENT(2) : JSON_COMPACT);
    bool good = object != NULL && json_dumpf(object, stdout, flags) == 0 && putchar('\n') != EOF;
    json_decref(object);
    /* What did not reach stdout is main's to notice; this catches the rest. */
    return good || ferror(stdout) ? CLI_DONE
                                  : cli_fail(CLI_FAILED, command, "cannot write the result");
}

int cli_check_new(const char *command, const char *path, bool force)
{
    return force || access(path, F_OK) != 0
               ? CLI_DONE
               : cli_fail(CLI_USAGE, command, "%s is there already; --force replaces it", path);
}

/* The folder that a file is in, or will be; false when there is no such folder. The slash stays at
 * the end, so that a file in the root has "/". */
static bool stat_folder(struct stat *at, const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX] = ".";
    if (slash != NULL) {
        (void)snprintf(folder, sizeof folder, "%.*s/", (int)(slash - path), path);
    }
    return stat(folder, at) == 0;
}

/* What follows the last slash, within `path`. */
static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Two names of one file, whatever links lie between. Device and inode decide, because one file can
 * have many names. A file that does not exist yet is compared by its name and folder. Devices and
 * pipes hold nothing that could be lost. */
static bool is_one_file(const char *a, const char *b)
{
    struct stat at_a, at_b;
    bool both = stat(a, &at_a) == 0 && stat(b, &at_b) == 0;
    bool perhaps = both ? S_ISREG(at_a.st_mode)
                        : strcmp(last_name(a), last_name(b)) == 0 && stat_folder(&at_a, a) &&
                              stat_folder(&at_b, b);
    return perhaps && at_a.st_dev == at_b.st_dev && at_a.st_ino == at_b.st_ino;
}

int cli_check_apart(const char *command, const char *path, const char *const *other, size_t count)
{
    for (size_t i = 0; path != NULL && i < count; i++) {
        if (other[i] != NULL && is_one_file(path, other[i])) {
            return cli_fail(
                CLI_USAGE, command,
                "%s would replace what this command reads or writes as well; name another file",
                path);
        }
    }
    return CLI_DONE;
}

/* Threads inherit the mask: this comes before the first of them. */
void cli_hold_signals(sigset_t *signals, bool hangup)
{
    (void)sigemptyset(signals);
    (void)sigaddset(signals, SIGTERM);
    (void)sigaddset(signals, SIGINT);
    if (hangup) {
        (void)sigaddset(signals, SIGHUP);
    }
    (void)pthread_sigmask(SIG_BLOCK, signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}
