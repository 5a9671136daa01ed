/* save.h -- files that appear whole or not at all. */
#ifndef TREMOLO_CLI_SAVE_H
#define TREMOLO_CLI_SAVE_H

#include <stdbool.h>
#include <stdio.h>

/* Write all; false when that fails. Errors of the stream itself need not be looked for. */
typedef bool (*save_fn)(FILE *out, const void *context);

/* Write a file beside `path` and put it in its place, whatever is there, once it is on
 * the disk. CLI_DONE, or the exit code after a message of `command`; then `path` is as it
 * was, and nothing is left beside it. */
int cli_save(const char *command, const char *path, save_fn write, const void *context);

#endif
