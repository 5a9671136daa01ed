/* input.h -- read whole files within a bound. */
#ifndef TREMOLO_CLI_INPUT_H
#define TREMOLO_CLI_INPUT_H

#include <stddef.h>

#include "tremolo_policy.h"

/* Read a file, or standard input for "-", into memory that the caller frees,
 * with a zero after it. Files of more than `most` bytes are refused.
 * CLI_DONE, or the exit code after a message of `command`. */
int cli_read_file(char **text, size_t *length, const char *command, const char *name, size_t most);

/* The same, but a longer file is cut instead. */
int cli_read_start(char **text, size_t *length, const char *command, const char *name, size_t most);

/* Fill exactly `length` bytes from a file with one line of base64url: keys. */
int cli_read_key(unsigned char *bytes, size_t length, const char *command, const char *name);

/* The operator's token, one line of printable characters; the caller wipes and
 * frees it. */
int cli_read_token(char **token, const char *command, const char *name);

/* A study file, which the caller frees; the message names its first problem. */
struct tremolo_study_file;
int cli_read_study(struct tremolo_study_file **study, const char *command, const char *name);

/* What a device allows. */
int cli_read_policy(struct tremolo_policy *policy, const char *command, const char *name);

#endif
