/* files.h -- read whole files within a bound, and write whole files or none.
 *
 * `command` begins every message. `name` is a path, or "-" for standard input. All sizes are in
 * bytes. CLI_USAGE: the file cannot be opened, is a folder, is too long or says something wrong.
 * CLI_FAILED: reading or writing failed, or memory was short. After a failure there is nothing
 * to free. */
#ifndef TREMOLO_CLI_FILES_H
#define TREMOLO_CLI_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "tremolo_policy.h"

/* Read a file, or standard input for "-", into memory that the caller frees,
 * with a zero after it. Files of more than `most` bytes are refused.
 * CLI_DONE, or the exit code after a message of `command`. */
int cli_read_file(char **text, size_t *length, const char *command, const char *name, size_t most);

/* The same, but a longer file is cut instead, maybe within a line: for a look at a file's start. */
int cli_read_start(char **text, size_t *length, const char *command, const char *name, size_t most);

/* Fill exactly `length` bytes from a file with one line of base64url: keys. A secret one
 * is refused when others may read it. `command` may name the option, too, which messages then
 * begin with: "report: --server-key". The text that was read is wiped; wiping `bytes` is the
 * caller's part. */
int cli_read_key(unsigned char *bytes, size_t length, const char *command, const char *name,
                 bool secret);

/* The operator's token, one line of printable characters in a file that others cannot read; the
 * caller wipes and frees it. */
int cli_read_token(char **token, const char *command, const char *name);

/* A study file, which the caller frees. CLI_USAGE with problems, of which nothing is printed
 * yet, or an exit code after a message. Ranges that are the placeholders of `study init` are a
 * problem, though the library takes them: no number of such a study would mean anything. */
struct tremolo_study_file;
struct tremolo_study_problems;
int cli_check_study(struct tremolo_study_file **study, struct tremolo_study_problems *problems,
                    const char *command, const char *name);

/* The same for commands that only use a study: any problem is a failure with a message, which names
 * the first. Not for several threads at once. */
int cli_read_study(struct tremolo_study_file **study, const char *command, const char *name);

/* What a device allows, from a policy file of at most TREMOLO_POLICY_MAX_BYTES. */
int cli_read_policy(struct tremolo_policy *policy, const char *command, const char *name);

/* Write all to `out`, which stays open; false when that fails. Errors of the stream itself are
 * found by cli_save(). */
typedef bool (*save_fn)(FILE *out, const void *context);

/* Write a temporary file in the folder of `path` and rename it to `path`, which it replaces,
 * once it is on the disk. CLI_DONE, or the exit code after a message of `command`; then `path`
 * is as it was, and the temporary file is gone. A new file has the mode that the process's umask
 * gives. Where `path` is a symbolic link, the link is replaced and its target stays. */
int cli_save(const char *command, const char *path, save_fn write, const void *context);

#endif
