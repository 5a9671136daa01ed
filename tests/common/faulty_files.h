/* faulty_files.h -- the file system, with one step that goes wrong.
 *
 * Steps that change something are counted. At step number `at` (from 1) the
 * wanted fault happens:
 *
 *     FAULT_KILL       the process is killed before the step
 *     FAULT_TORN       a write leaves its first half, then the process is
 *                      killed; any other step is done first
 *     FAULT_POWER      as FAULT_KILL, and writes since the last sync are undone
 *     FAULT_FAIL       the step fails with `error`, once
 *     FAULT_FAIL_ON    this step and all later ones fail with `error`
 *     FAULT_SYNC       syncs fail with `error` from step `at` on
 *     FAULT_LIE        writes from step `at` on are said to be done and are not
 *
 * State is global: a child that is killed has its own copy. */
#ifndef TREMOLO_TESTS_FAULTY_FILES_H
#define TREMOLO_TESTS_FAULTY_FILES_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "ledger_file.h"

enum fault_kind {
    FAULT_NONE,
    FAULT_KILL,
    FAULT_TORN,
    FAULT_POWER,
    FAULT_FAIL,
    FAULT_FAIL_ON,
    FAULT_SYNC,
    FAULT_LIE,
};

enum { FAULTY_UNDO = 16, FAULTY_UNDO_BYTES = 4096 };

struct faulty_undo {
    int fd;
    off_t offset;
    size_t length;
    unsigned char bytes[FAULTY_UNDO_BYTES];
};

static struct {
    enum fault_kind kind;
    int at;
    int error;
    int steps;
    size_t unsynced;
    struct faulty_undo undo[FAULTY_UNDO];
    struct tremolo_files system;
} faulty;

static inline void faulty_die(void)
{
    while (faulty.kind == FAULT_POWER && faulty.unsynced > 0) {
        struct faulty_undo *undo = &faulty.undo[--faulty.unsynced];
        (void)!pwrite(undo->fd, undo->bytes, undo->length, undo->offset);
    }
    (void)raise(SIGKILL);
}

/* Count a step. Non-zero: it fails here, errno is set. */
static inline int faulty_step(int is_sync)
{
    int here = ++faulty.steps;
    switch (faulty.kind) {
    case FAULT_KILL:
    case FAULT_POWER:
        if (here == faulty.at) {
            faulty_die();
        }
        return 0;
    case FAULT_FAIL:
    case FAULT_FAIL_ON:
        errno = faulty.error;
        return here == faulty.at || (faulty.kind == FAULT_FAIL_ON && here > faulty.at);
    case FAULT_SYNC: errno = faulty.error; return is_sync && here >= faulty.at;
    case FAULT_NONE:
    case FAULT_TORN:
    case FAULT_LIE: return 0;
    }
    return 0;
}

/* After a step that was done. */
static inline void faulty_after(void)
{
    if (faulty.kind == FAULT_TORN && faulty.steps == faulty.at) {
        faulty_die();
    }
}

static inline int faulty_open(void *context, const char *path, int flags, unsigned mode)
{
    (void)context;
    if ((flags & O_CREAT) != 0 && faulty_step(0) != 0) {
        return -1;
    }
    int fd = faulty.system.open(NULL, path, flags, mode);
    if ((flags & O_CREAT) != 0) {
        faulty_after();
    }
    return fd;
}

static inline ssize_t faulty_pread(void *context, int fd, void *bytes, size_t length, off_t offset)
{
    (void)context;
    return faulty.system.pread(NULL, fd, bytes, length, offset);
}

static inline void faulty_remember(int fd, size_t length, off_t offset)
{
    if (faulty.kind == FAULT_POWER && faulty.unsynced < FAULTY_UNDO &&
        length <= FAULTY_UNDO_BYTES) {
        struct faulty_undo *undo = &faulty.undo[faulty.unsynced++];
        memset(undo->bytes, 0, sizeof undo->bytes);
        (void)!pread(fd, undo->bytes, length, offset);
        undo->fd = fd;
        undo->offset = offset;
        undo->length = length;
    }
}

static inline ssize_t faulty_pwrite(void *context, int fd, const void *bytes, size_t length,
                                    off_t offset)
{
    (void)context;
    if (faulty_step(0) != 0) {
        return -1;
    }
    if (faulty.kind == FAULT_LIE && faulty.steps >= faulty.at) {
        return (ssize_t)length;
    }
    if (faulty.kind == FAULT_TORN && faulty.steps == faulty.at) {
        length = (length + 1) / 2;
    }
    faulty_remember(fd, length, offset);
    ssize_t put = faulty.system.pwrite(NULL, fd, bytes, length, offset);
    faulty_after();
    return put;
}

static inline int faulty_allocate(void *context, int fd, off_t length)
{
    (void)context;
    if (faulty_step(0) != 0) {
        return -1;
    }
    int result = faulty.system.allocate(NULL, fd, length);
    faulty_after();
    return result;
}

static inline int faulty_fsync(void *context, int fd)
{
    (void)context;
    (void)fd;
    if (faulty_step(1) != 0) {
        return -1;
    }
    faulty.unsynced = 0;
    faulty_after();
    return 0; /* nothing here outlives the machine */
}

static inline int faulty_lock(void *context, int fd)
{
    (void)context;
    return faulty.system.lock(NULL, fd);
}

static inline int faulty_close(void *context, int fd)
{
    (void)context;
    return faulty.system.close(NULL, fd);
}

static inline int faulty_rename(void *context, const char *from, const char *to)
{
    (void)context;
    if (faulty_step(0) != 0) {
        return -1;
    }
    int result = faulty.system.rename(NULL, from, to);
    faulty_after();
    return result;
}

static inline int faulty_mkdir(void *context, const char *path, unsigned mode)
{
    (void)context;
    if (faulty_step(0) != 0) {
        return -1;
    }
    int result = faulty.system.mkdir(NULL, path, mode);
    faulty_after();
    return result;
}

static inline int faulty_unlink(void *context, const char *path)
{
    (void)context;
    if (faulty_step(0) != 0) {
        return -1;
    }
    int result = faulty.system.unlink(NULL, path);
    faulty_after();
    return result;
}

static inline struct tremolo_files faulty_files(enum fault_kind kind, int at, int error)
{
    memset(&faulty, 0, sizeof faulty);
    faulty.kind = kind;
    faulty.at = at;
    faulty.error = error;
    faulty.system = tremolo_files_system();
    return (struct tremolo_files){
        .open = faulty_open,
        .pread = faulty_pread,
        .pwrite = faulty_pwrite,
        .allocate = faulty_allocate,
        .fsync = faulty_fsync,
        .lock = faulty_lock,
        .close = faulty_close,
        .rename = faulty_rename,
        .mkdir = faulty_mkdir,
        .unlink = faulty_unlink,
    };
}

#endif
