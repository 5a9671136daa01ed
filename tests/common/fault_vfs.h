/* fault_vfs.h -- SQLite's view of a disk that fills up, lies or wears out.
 *
 * A VFS that passes everything to the system's except what a test makes
 * fail. Counters are atomic: the server writes from a thread of its own. */
#ifndef TREMOLO_FAULT_VFS_H
#define TREMOLO_FAULT_VFS_H

#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>

static struct {
    _Atomic long writes_left; /* -1: no limit; then SQLITE_FULL */
    _Atomic long syncs_left;  /* -1: no limit; then SQLITE_IOERR_FSYNC */
    _Atomic long syncs;       /* made so far */
    _Atomic long no_syncs;    /* 1: they do nothing, for tests in which no power fails */
} fault = {-1, -1, 0, 0};

struct fault_file {
    sqlite3_file base;
    sqlite3_file *real;
};

static sqlite3_file *fault_real(sqlite3_file *file)
{
    return ((struct fault_file *)(void *)file)->real;
}

static int fault_spend(_Atomic long *left)
{
    long now = atomic_load(left);
    if (now < 0) {
        return 1;
    }
    if (now == 0) {
        return 0;
    }
    atomic_store(left, now - 1);
    return 1;
}

static int fault_close(sqlite3_file *f)
{
    int code = fault_real(f)->pMethods->xClose(fault_real(f));
    sqlite3_free(fault_real(f));
    return code;
}
static int fault_read(sqlite3_file *f, void *p, int n, sqlite3_int64 o)
{
    return fault_real(f)->pMethods->xRead(fault_real(f), p, n, o);
}
static int fault_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 o)
{
    if (!fault_spend(&fault.writes_left)) {
        return SQLITE_FULL;
    }
    return fault_real(f)->pMethods->xWrite(fault_real(f), p, n, o);
}
static int fault_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    return fault_real(f)->pMethods->xTruncate(fault_real(f), n);
}
static int fault_sync(sqlite3_file *f, int flags)
{
    (void)atomic_fetch_add(&fault.syncs, 1);
    if (!fault_spend(&fault.syncs_left)) {
        return SQLITE_IOERR_FSYNC;
    }
    return atomic_load(&fault.no_syncs) != 0 ? SQLITE_OK
                                             : fault_real(f)->pMethods->xSync(fault_real(f), flags);
}
static int fault_size(sqlite3_file *f, sqlite3_int64 *n)
{
    return fault_real(f)->pMethods->xFileSize(fault_real(f), n);
}
static int fault_lock(sqlite3_file *f, int level)
{
    return fault_real(f)->pMethods->xLock(fault_real(f), level);
}
static int fault_unlock(sqlite3_file *f, int level)
{
    return fault_real(f)->pMethods->xUnlock(fault_real(f), level);
}
static int fault_check_lock(sqlite3_file *f, int *out)
{
    return fault_real(f)->pMethods->xCheckReservedLock(fault_real(f), out);
}
static int fault_control(sqlite3_file *f, int op, void *arg)
{
    return fault_real(f)->pMethods->xFileControl(fault_real(f), op, arg);
}
static int fault_sector(sqlite3_file *f)
{
    return fault_real(f)->pMethods->xSectorSize(fault_real(f));
}
static int fault_traits(sqlite3_file *f)
{
    return fault_real(f)->pMethods->xDeviceCharacteristics(fault_real(f));
}

/* Version 1: without shared memory, which exclusive locking does not need. */
static const sqlite3_io_methods fault_methods = {1,
                                                 fault_close,
                                                 fault_read,
                                                 fault_write,
                                                 fault_truncate,
                                                 fault_sync,
                                                 fault_size,
                                                 fault_lock,
                                                 fault_unlock,
                                                 fault_check_lock,
                                                 fault_control,
                                                 fault_sector,
                                                 fault_traits,
                                                 NULL,
                                                 NULL,
                                                 NULL,
                                                 NULL,
                                                 NULL,
                                                 NULL};

static int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    sqlite3_vfs *real = vfs->pAppData;
    struct fault_file *made = (struct fault_file *)(void *)file;
    made->base.pMethods = NULL;
    made->real = sqlite3_malloc(real->szOsFile);
    if (made->real == NULL) {
        return SQLITE_NOMEM;
    }
    memset(made->real, 0, (size_t)real->szOsFile);
    int code = real->xOpen(real, name, made->real, flags, out);
    if (code != SQLITE_OK) {
        sqlite3_free(made->real);
        return code;
    }
    made->base.pMethods = &fault_methods;
    return SQLITE_OK;
}

/* Make this VFS the default one. Once. */
static inline void fault_vfs_install(void)
{
    static sqlite3_vfs vfs;
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    vfs = *real;
    vfs.zName = "fault";
    vfs.szOsFile = sizeof(struct fault_file);
    vfs.pAppData = real;
    vfs.pNext = NULL;
    vfs.xOpen = fault_open;
    (void)sqlite3_vfs_register(&vfs, 1);
}

#endif
