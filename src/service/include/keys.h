/* keys.h -- the server's secrets: made once, kept in files of mode 0600. */
#ifndef SERVICE_KEYS_H
#define SERVICE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tremolo_status.h"

/* Read a secret: the number of bytes, at most `capacity`, or -1 with the reason. A file that
 * others may read is refused. */
ssize_t keys_read(const char *path, void *bytes, size_t capacity, const char **reason);

/* Sync the folder in which a file lies, so that its name outlives a power failure; 0, or -1 with
 * errno. */
int keys_sync_folder(const char *path);

/* Fill bytes[0..length) from DIRECTORY/name. With `create` it is made of fresh randomness,
 * synced, when it does not exist. Refuses a file of any other length or one that
 * others may read. */
TREMOLO_MUST_USE enum tremolo_status keys_load(uint8_t *bytes, size_t length, const char *directory,
                                               const char *name, bool create,
                                               char words[TREMOLO_WORDS_BYTES]);

/* The token in `path`: one line of 16 to `capacity` - 1 printable characters. With
 * `create`, one is made when there is no file. */
TREMOLO_MUST_USE enum tremolo_status keys_token(char *token, size_t capacity, const char *path,
                                                bool create, char words[TREMOLO_WORDS_BYTES]);

#endif
