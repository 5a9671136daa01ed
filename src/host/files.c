/* files.c -- the operating system's own file functions. */
#include "tremolo_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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
