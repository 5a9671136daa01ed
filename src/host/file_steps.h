/* file_steps.h -- whole reads, whole writes and durable replacement over
 * struct tremolo_files; private to this room. 0 for success, -1 and errno. */
#ifndef TREMOLO_HOST_FILE_STEPS_H
#define TREMOLO_HOST_FILE_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "tremolo_files.h"

enum { HOST_PATH_BYTES = 1024 };

/* A path as it is, or "directory/name"; -1 with ENAMETOOLONG when it does not fit. */
int host_copy_path(char copy[HOST_PATH_BYTES], const char *path);
int host_path(char path[HOST_PATH_BYTES], const char *directory, const char *name);

/* All of `length` bytes; what lies past the end of the file reads as zero. */
int host_read_all(const struct tremolo_files *files, int fd, void *bytes, size_t length,
                  off_t offset);
int host_write_all(const struct tremolo_files *files, int fd, const void *bytes, size_t length,
                   off_t offset);

/* Make a directory's entries durable, or those of the directory of a path. */
int host_sync_directory(const struct tremolo_files *files, const char *directory);
int host_sync_parent(const struct tremolo_files *files, const char *path);

/* Close without losing the error that brought us here: `result`, or -1 when only
 * the closing fails. */
int host_close_after(const struct tremolo_files *files, int fd, int result);

/* Remove what was begun and could not be finished; -1, with errno as it was. */
int host_give_up(const struct tremolo_files *files, const char *path);

/* Replace a small file as a whole: temporary file, sync, rename, sync of the
 * directory. After a cut there is the old file or the new one. */
int host_replace_file(const struct tremolo_files *files, const char *path, const void *bytes,
                      size_t length);

/* The beginning of a small file, ended by a zero; *length is what was there.
 * -1 with ENOENT when there is no file. */
int host_read_file(const struct tremolo_files *files, const char *path, char *bytes,
                   size_t capacity, size_t *length);

#endif
