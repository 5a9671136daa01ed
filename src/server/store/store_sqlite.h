/* store_sqlite.h -- what the files of the embedded store share: its own struct.
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
#include "store_tip.h"

/* ---- store_check.c: check values of stored rows, and the manifest of which rows there are ----
 *
 * A row's check value covers its place (position and study, or kind and key) and its content, so
 * a row that was changed, or moved to another place, shows by itself. The manifest holds how many
 * rows there are and the sum of their check values, so a row that is missing, doubled or an
 * older one of the same place shows as well. It changes with every commit. */

enum { STORE_CHECK_BYTES = 16, MANIFEST_BYTES = 56 };

/* A segment ends with the check value of its own bytes, which stands for them here: they
 * are hashed once, not twice. */
void store_check_segment(uint8_t check[STORE_CHECK_BYTES], uint64_t position, const uint8_t *study,
                         const uint8_t *bytes, size_t length);
void store_check_state(uint8_t check[STORE_CHECK_BYTES], const char *kind, const uint8_t *key,
                       size_t key_length, const uint8_t *value, size_t length);

/* Rows of one table: their number, and the sum of their check values modulo 2^128 by halves. */
struct store_tally {
    uint64_t rows;
    uint64_t sum[2];
};

void tally_add(struct store_tally *tally, const uint8_t check[STORE_CHECK_BYTES]);
void tally_remove(struct store_tally *tally, const uint8_t check[STORE_CHECK_BYTES]);
bool tally_equal(const struct store_tally *a, const struct store_tally *b);

struct store_manifest {
    uint64_t commits; /* so far; the tip (store_tip.h) says how many were acknowledged */
    struct store_tally segments, states;
};

void manifest_encode(uint8_t bytes[MANIFEST_BYTES], const struct store_manifest *manifest);
void manifest_decode(struct store_manifest *manifest, const uint8_t bytes[MANIFEST_BYTES]);

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
