/* files.c -- the operating system's own file functions, and on top of any such table whole reads,
 * whole writes and durable replacement.
 *
 * All file access of the ledger and the client goes through a struct tremolo_files. That is how
 * tests fail, tear or cut off each step in turn: the promise that a charge is durable before bytes
 * leave is only as good as the steps it was tested at. */
#include "file_steps.h"
#include "ledger_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int system_open(void *context, const char *path, int flags, unsigned mode)
{
    (void)context;
    return open(path, flags | O_CLOEXEC, (mode_t)mode);
}

static ssize_t system_pread(void *context, int fd, void *bytes, size_t length, off_t offset)
{
    (void)context;
    return pread(fd, bytes, length, offset);
}

static ssize_t system_pwrite(void *context, int fd, const void *bytes, size_t length, off_t offset)
{
    (void)context;
    return pwrite(fd, bytes, length, offset);
}

/* posix_fallocate answers with the error instead of setting it. */
static int system_allocate(void *context, int fd, off_t length)
{
    (void)context;
    int error = posix_fallocate(fd, 0, length);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return 0;
}

static int system_fsync(void *context, int fd)
{
    (void)context;
    return fsync(fd);
}

/* A lock of the open file description: it also keeps out a second open in the
 * same process, and goes away with the last descriptor however we end. */
static int system_lock(void *context, int fd)
{
    (void)context;
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &whole);
}

static int system_close(void *context, int fd)
{
    (void)context;
    return close(fd);
}

static int system_rename(void *context, const char *from, const char *to)
{
    (void)context;
    return rename(from, to);
}

static int system_mkdir(void *context, const char *path, unsigned mode)
{
    (void)context;
    return mkdir(path, (mode_t)mode);
}

static int system_unlink(void *context, const char *path)
{
    (void)context;
    return unlink(path);
}

struct tremolo_files tremolo_files_system(void)
{
    return (struct tremolo_files){
        .open = system_open,
        .pread = system_pread,
        .pwrite = system_pwrite,
        .allocate = system_allocate,
        .fsync = system_fsync,
        .lock = system_lock,
        .close = system_close,
        .rename = system_rename,
        .mkdir = system_mkdir,
        .unlink = system_unlink,
    };
}

/* ---------------------------------------------------------------- whole files
 *
 * A file is replaced by writing another one, syncing it, renaming it over the first and syncing the
 * directory: after a power cut there is the old file or the new one, never a part of either. */

/* Of what snprintf() answered. */
static int fits(int written)
{
    if (written < 0 || written >= HOST_PATH_BYTES) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return 0;
}

int host_copy_path(char copy[HOST_PATH_BYTES], const char *path)
{
    return fits(snprintf(copy, HOST_PATH_BYTES, "%s", path));
}

int host_path(char path[HOST_PATH_BYTES], const char *directory, const char *name)
{
    return fits(snprintf(path, HOST_PATH_BYTES, "%s/%s", directory, name));
}

/* Short reads are continued and signals ignored; past the end of the file there are zeros. */
int host_read_all(const struct tremolo_files *files, int fd, void *bytes, size_t length,
                  off_t offset)
{
    uint8_t *at = bytes;
    while (length > 0) {
        ssize_t got = files->pread(files->context, fd, at, length, offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            memset(at, 0, length);
            return 0;
        }
        at += got;
        offset += got;
        length -= (size_t)got;
    }
    return 0;
}

/* Short writes are continued; one that writes nothing is an error, or the loop would not end. */
int host_write_all(const struct tremolo_files *files, int fd, const void *bytes, size_t length,
                   off_t offset)
{
    const uint8_t *at = bytes;
    while (length > 0) {
        ssize_t put = files->pwrite(files->context, fd, at, length, offset);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            errno = put == 0 ? EIO : errno;
            return -1;
        }
        at += put;
        offset += put;
        length -= (size_t)put;
    }
    return 0;
}

int host_close_after(const struct tremolo_files *files, int fd, int result)
{
    int error = errno;
    if (files->close(files->context, fd) != 0 && result == 0) {
        return -1;
    }
    errno = error;
    return result;
}

int host_give_up(const struct tremolo_files *files, const char *path)
{
    int error = errno;
    (void)files->unlink(files->context, path);
    errno = error;
    return -1;
}

int host_sync_directory(const struct tremolo_files *files, const char *directory)
{
    int fd = files->open(files->context, directory, O_RDONLY | O_DIRECTORY, 0);
    return fd < 0 ? -1 : host_close_after(files, fd, files->fsync(files->context, fd));
}

/* The directory of a path without a slash is the current one. */
int host_sync_parent(const struct tremolo_files *files, const char *path)
{
    char parent[HOST_PATH_BYTES];
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? (size_t)(slash - path) : 0;
    if (length >= sizeof parent) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(parent, path, length);
    parent[length] = '\0';
    return host_sync_directory(files, slash == NULL ? "." : length == 0 ? "/" : parent);
}

/* What was begun and failed is removed, so that no temporary file stays behind. */
int host_replace_file(const struct tremolo_files *files, const char *path, const void *bytes,
                      size_t length)
{
    char temporary[HOST_PATH_BYTES];
    if (fits(snprintf(temporary, sizeof temporary, "%s.new", path)) != 0) {
        return -1;
    }
    int fd = files->open(files->context, temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0) {
        return -1;
    }
    bool whole =
        host_write_all(files, fd, bytes, length, 0) == 0 && files->fsync(files->context, fd) == 0;
    if (host_close_after(files, fd, whole ? 0 : -1) != 0 ||
        files->rename(files->context, temporary, path) != 0) {
        return host_give_up(files, temporary);
    }
    return host_sync_parent(files, path);
}

int host_read_file(const struct tremolo_files *files, const char *path, char *bytes,
                   size_t capacity, size_t *length)
{
    int fd = files->open(files->context, path, O_RDONLY, 0);
    if (fd < 0) {
        return -1;
    }
    memset(bytes, 0, capacity);
    int result = host_close_after(files, fd, host_read_all(files, fd, bytes, capacity - 1, 0));
    if (result == 0) {
        *length = strlen(bytes);
    }
    return result;
}
