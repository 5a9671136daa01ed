/* store_sqlite.h -- what store_sqlite.c and store_open.c share: the embedded store's own struct.
 *
 * `manifest` is what the rows are, staged ones included, and `committed` what it was at the last
 * commit. `accepted` is set by the first sync: before that nothing on the disk is changed, so that a
 * store that is refused stays as it was found. */
#ifndef SERVER_STORE_SQLITE_H
#define SERVER_STORE_SQLITE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "store.h"
#include "store_check.h"
#include "store_tip.h"

enum statement {
    BEGIN,
    COMMIT,
    ROLLBACK,
    APPEND,
    PUT,
    OLD,
    READ,
    EACH,
    STATEMENT_COUNT,
};

enum { STORE_PATH_BYTES = 4096, STORE_FORMAT = 2 };

enum { DATABASE, LOG, TIP, STORE_FILES };

/* A file that must stay the one that was opened. */
struct store_file {
    char path[STORE_PATH_BYTES];
    dev_t device;
    ino_t inode;
};

struct sqlite_store {
    struct store base;
    sqlite3 *database;
    sqlite3_stmt *statement[STATEMENT_COUNT];
    struct store_manifest manifest, committed;
    struct store_tally seen; /* of a pass over the log, up to its next position */
    struct store_tip tip;
    struct store_file file[STORE_FILES];
    enum store_consent consent; /* of whoever opened it */
    bool checked;               /* its rows have check values: not of an old directory */
    bool lenient;               /* an audit's: states without their check value are left out */
    bool staging;
    bool logged; /* there was a log when it was opened for reading */
    bool unsure; /* a sync was not confirmed */
    bool accepted;
    char words[384];
};

static inline struct sqlite_store *sqlite_self(struct store *store)
{
    return (struct sqlite_store *)(void *)store;
}

/* Keep words about a failure, and pass the status on. */
enum tremolo_status sqlite_say(struct sqlite_store *store, enum tremolo_status status,
                               const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Turn SQLite's answer into ours and keep its words. */
enum tremolo_status sqlite_judge(struct sqlite_store *store, int code);
enum tremolo_status sqlite_execute(struct sqlite_store *store, const char *text);

/* Statements for a store of this format; the functions of struct store. */
enum tremolo_status sqlite_prepare(struct sqlite_store *store);
void sqlite_methods(struct store *base);

/* Stage the manifest as it is now. */
enum tremolo_status sqlite_put_manifest(struct sqlite_store *store);

#endif
