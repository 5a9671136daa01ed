/* tremolo_files.h -- the file system as the ledger and the client see it.
 *
 * All file access of this room goes through one table of functions, so that a
 * test can count, fail, tear or kill at each step. Each behaves as the POSIX
 * call it is named after: -1 and errno for failure. */
#ifndef TREMOLO_FILES_H
#define TREMOLO_FILES_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tremolo_files {
    void *context;
    int (*open)(void *context, const char *path, int flags, unsigned mode);
    ssize_t (*pread)(void *context, int fd, void *bytes, size_t length, off_t offset);
    ssize_t (*pwrite)(void *context, int fd, const void *bytes, size_t length, off_t offset);
    int (*allocate)(void *context, int fd, off_t length); /* blocks for [0, length) */
    int (*fsync)(void *context, int fd);
    int (*lock)(void *context, int fd); /* whole file, exclusive, never waits */
    int (*close)(void *context, int fd);
    int (*rename)(void *context, const char *from, const char *to);
    int (*mkdir)(void *context, const char *path, unsigned mode);
    int (*unlink)(void *context, const char *path); /* of a file that could not be finished */
};

#ifdef __cplusplus
}
#endif

#endif
