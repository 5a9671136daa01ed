/* store_sqlite.h -- what both files of the embedded store share: its struct, check values, the tip.
 *
 * `manifest` counts all rows, staged ones included; `committed` is the manifest at the last commit.
 * `accepted` is set by the first sync: before that nothing on the disk is changed, so that a store that
 * is refused stays as it was found. One thread at a time uses a store: nothing here has a lock. */
#ifndef SERVER_STORE_SQLITE_H
#define SERVER_STORE_SQLITE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "store.h"

/* ---- check values of stored rows, and the manifest of which rows there are ----
 *
 * BLAKE2b-128 over a row's place (position and study, or kind and key) and its content, so that a row that was
 * changed, or moved to another place, is found by itself. The manifest holds how many rows there are and
 * the sum of their check values, so that a missing row, a second one, or an older one of the same
 * place is found too. It changes with every commit. docs/reference/storage.md has the byte tables. */

enum { STORE_CHECK_BYTES = 16, MANIFEST_BYTES = 56 };

/* Rows of one table: their number, and the sum of their check values modulo 2^128 by halves. */
struct store_tally {
    uint64_t rows;
    uint64_t sum[2];
};

struct store_manifest {
    uint64_t commits; /* so far; the tip says how many were acknowledged */
    struct store_tally segments, states;
};

/* ---- the store ---- */

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

/* ---- the tip: next to the database, how many of its commits were acknowledged ----
 *
 * DIR/tremolo.db-tip is written after each sync and its content is never synced: while the machine
 * runs it is exact, and after a power failure it may be behind, never ahead. So a database with fewer
 * commits than its tip has lost some. The tip also holds its own inode number and the time when that
 * file was made, so that a copied directory is recognised. (An inode number alone is used again once the
 * file is removed; a device's number may change at each start of the machine.)
 *
 * | offset | bytes | content, numbers big-endian |
 * |---|---|---|
 * | 0 | 8 | `TREMTIP2` |
 * | 8 | 8 | commits acknowledged |
 * | 16 | 8 | inode number of this file |
 * | 24 | 8 | when this file was made, ns since 1970; 0: the file system does not say |
 * | 32 | 16 | BLAKE2b-128 of the bytes before | */

struct tip_place {
    uint64_t inode, born_ns; /* born_ns 0: unknown */
};

struct store_tip {
    int file; /* -1: not opened for writing */
    struct tip_place place;
    uint64_t commits; /* 0 if it is missing or damaged */
    bool here;        /* it was written in this place */
    bool damaged;     /* it is there, and not whole */
};

void tip_read(struct store_tip *tip, const char *path);

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
    enum store_consent consent; /* what the caller said of the directory */
    bool reading;               /* it was opened for reading, */
    bool logged;                /* when there was a log */
    bool lenient;               /* an audit's: states without their check value are left out */
    bool staging;               /* a transaction has begun */
    bool unsure;                /* a sync was not confirmed */
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

enum tremolo_status sqlite_damaged(struct sqlite_store *store, const char *what); /* MALFORMED */

/* An empty struct with the functions of struct store; NULL without memory. */
struct sqlite_store *sqlite_new(void);
enum tremolo_status sqlite_prepare(struct sqlite_store *store);

/* Compare every state with its check value, take the manifest, and compare the sum of all with it. */
enum tremolo_status sqlite_check_states(struct sqlite_store *store);

/* Stage the manifest as it is now. */
enum tremolo_status sqlite_put_manifest(struct sqlite_store *store);

#endif
