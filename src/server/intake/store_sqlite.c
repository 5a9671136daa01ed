/* store_sqlite.c -- the embedded store: one SQLite database in WAL mode.
 *
 *     segment (position INTEGER PRIMARY KEY, study BLOB, bytes BLOB)
 *     state   (kind TEXT, key BLOB, value BLOB, PRIMARY KEY (kind, key))
 *
 * One row per group commit: a row per report with random keys would cost
 * five to ten times as much. No index by study either, which would be one more
 * page to write at each commit: whoever wants one study's log reads past the
 * others'. synchronous=FULL syncs the write-ahead log at each commit, and sync()
 * returns only after that. The lock is exclusive, so a second server on the same
 * directory is refused instead of interleaving.
 *
 * Who only reads must not write, and SQLite does: it makes a write-ahead log where
 * there is none, and carries one over when it closes. So a database whose server ended
 * well, which has no log, is opened as immutable, and one with a log under the server's
 * own lock, without carrying over. A server that runs has a log, and is noticed.
 *
 * A sync the disk did not confirm is final for this handle: the kernel may
 * have dropped the pages and would report the next sync as good. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum statement {
    BEGIN,
    COMMIT,
    ROLLBACK,
    APPEND,
    PUT,
    READ,
    EACH,
    LAST,
    STATEMENT_COUNT,
};

static const char *const statement_text[STATEMENT_COUNT] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [APPEND] = "INSERT INTO segment (position, study, bytes) VALUES (?1, ?2, ?3)",
    [PUT] = "INSERT INTO state (kind, key, value) VALUES (?1, ?2, ?3)"
            " ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value",
    [READ] = "SELECT position, study, bytes FROM segment WHERE position >= ?1"
             " ORDER BY position LIMIT 1",
    [EACH] = "SELECT key, value FROM state WHERE kind = ?1 ORDER BY key",
    [LAST] = "SELECT coalesce(max(position), 0) FROM segment",
};

static const char schema[] =
    "PRAGMA page_size = 4096;"
    "PRAGMA locking_mode = EXCLUSIVE;"
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA wal_autocheckpoint = 2048;"
    "CREATE TABLE IF NOT EXISTS segment"
    " (position INTEGER PRIMARY KEY, study BLOB NOT NULL, bytes BLOB NOT NULL);"
    "DROP INDEX IF EXISTS segment_study;" /* of older directories */
    "CREATE TABLE IF NOT EXISTS state (kind TEXT NOT NULL, key BLOB NOT NULL,"
    " value BLOB NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID;"
    "PRAGMA user_version = 1;";

static const char reading[] = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON;";

enum { PATH_BYTES_MAX = 4096, URI_BYTES_MAX = 3 * PATH_BYTES_MAX + 32 };

struct sqlite_store {
    struct store base;
    sqlite3 *database;
    sqlite3_stmt *statement[STATEMENT_COUNT];
    uint64_t last;      /* newest position, staged ones included */
    uint64_t committed; /* newest durable position */
    bool staging;
    bool unsure; /* a sync was not confirmed */
    char words[256];
};

static struct sqlite_store *self(struct store *store)
{
    return (struct sqlite_store *)(void *)store;
}

/* Turn SQLite's answer into ours and keep its words. */
static enum tremolo_status judge(struct sqlite_store *store, int code)
{
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) {
        return TREMOLO_OK;
    }
    int extended = sqlite3_extended_errcode(store->database);
    (void)snprintf(store->words, sizeof store->words, "%s (%d)", sqlite3_errmsg(store->database),
                   extended);
    if (extended == SQLITE_IOERR_FSYNC || extended == SQLITE_IOERR_DIR_FSYNC) {
        store->unsure = true;
        return TREMOLO_NOT_SYNCED;
    }
    return (code & 0xff) == SQLITE_FULL ? TREMOLO_STORE_FULL : TREMOLO_STORE_FAILED;
}

static enum tremolo_status run(struct sqlite_store *store, enum statement which)
{
    if (store->unsure) {
        return TREMOLO_NOT_SYNCED;
    }
    int code = sqlite3_step(store->statement[which]);
    enum tremolo_status status = judge(store, code);
    (void)sqlite3_reset(store->statement[which]);
    return status;
}

static enum tremolo_status begin(struct sqlite_store *store)
{
    if (store->staging) {
        return TREMOLO_OK;
    }
    /* A read that is still open would keep the write-ahead log from being carried over. */
    (void)sqlite3_reset(store->statement[READ]);
    enum tremolo_status status = run(store, BEGIN);
    store->staging = status == TREMOLO_OK;
    return status;
}

static enum tremolo_status sqlite_append(struct store *base, const uint8_t *study,
                                         const uint8_t *bytes, size_t length, uint64_t *position)
{
    struct sqlite_store *store = self(base);
    sqlite3_stmt *append = store->statement[APPEND];
    if (length == 0 || length > STORE_SEGMENT_BYTES_MAX) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = begin(store);
    if (status != TREMOLO_OK) {
        return status;
    }
    uint64_t next = store->last + 1;
    (void)sqlite3_bind_int64(append, 1, (sqlite3_int64)next);
    (void)sqlite3_bind_blob(append, 2, study, STORE_STUDY_BYTES, SQLITE_STATIC);
    (void)sqlite3_bind_blob(append, 3, bytes, (int)length, SQLITE_STATIC);
    status = run(store, APPEND);
    (void)sqlite3_clear_bindings(append);
    if (status == TREMOLO_OK) {
        store->last = next;
        *position = next;
    }
    return status;
}

static enum tremolo_status sqlite_put(struct store *base, const char *kind, const uint8_t *key,
                                      size_t key_length, const uint8_t *value, size_t length)
{
    struct sqlite_store *store = self(base);
    sqlite3_stmt *put = store->statement[PUT];
    if (key_length > STORE_KEY_BYTES_MAX || length > STORE_STATE_BYTES_MAX) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = begin(store);
    if (status != TREMOLO_OK) {
        return status;
    }
    (void)sqlite3_bind_text(put, 1, kind, -1, SQLITE_STATIC);
    (void)sqlite3_bind_blob(put, 2, key, (int)key_length, SQLITE_STATIC);
    (void)sqlite3_bind_blob(put, 3, value, (int)length, SQLITE_STATIC);
    status = run(store, PUT);
    (void)sqlite3_clear_bindings(put);
    return status;
}

static void sqlite_discard(struct store *base)
{
    struct sqlite_store *store = self(base);
    if (store->staging && !sqlite3_get_autocommit(store->database)) {
        (void)sqlite3_step(store->statement[ROLLBACK]);
        (void)sqlite3_reset(store->statement[ROLLBACK]);
    }
    store->staging = false;
    store->last = store->committed;
}

static enum tremolo_status sqlite_sync(struct store *base)
{
    struct sqlite_store *store = self(base);
    if (!store->staging) {
        return store->unsure ? TREMOLO_NOT_SYNCED : TREMOLO_OK;
    }
    enum tremolo_status status = run(store, COMMIT);
    if (status == TREMOLO_OK) {
        store->staging = false;
        store->committed = store->last;
    }
    return status;
}

static enum tremolo_status sqlite_read(struct store *base, uint64_t from,
                                       struct store_segment *segment)
{
    struct sqlite_store *store = self(base);
    sqlite3_stmt *read = store->statement[READ];
    (void)sqlite3_reset(read);
    (void)sqlite3_bind_int64(read, 1, (sqlite3_int64)from);
    int code = sqlite3_step(read);
    if (code == SQLITE_ROW) {
        segment->position = (uint64_t)sqlite3_column_int64(read, 0);
        segment->study = sqlite3_column_blob(read, 1);
        segment->bytes = sqlite3_column_blob(read, 2);
        segment->length = (size_t)sqlite3_column_bytes(read, 2);
        if (sqlite3_column_bytes(read, 1) != STORE_STUDY_BYTES) {
            (void)snprintf(store->words, sizeof store->words, "segment %llu names no study",
                           (unsigned long long)segment->position);
            return TREMOLO_MALFORMED;
        }
        return segment->study != NULL && segment->bytes != NULL ? TREMOLO_OK : TREMOLO_NO_MEMORY;
    }
    enum tremolo_status status = judge(store, code);
    (void)sqlite3_reset(read);
    if (status == TREMOLO_OK) {
        *segment = (struct store_segment){0};
    }
    return status;
}

static enum tremolo_status sqlite_each(struct store *base, const char *kind, store_state_fn visit,
                                       void *context)
{
    struct sqlite_store *store = self(base);
    sqlite3_stmt *each = store->statement[EACH];
    enum tremolo_status status = TREMOLO_OK;
    int code = SQLITE_DONE;
    (void)sqlite3_bind_text(each, 1, kind, -1, SQLITE_TRANSIENT);
    while (status == TREMOLO_OK && (code = sqlite3_step(each)) == SQLITE_ROW) {
        status = visit(context, sqlite3_column_blob(each, 0), (size_t)sqlite3_column_bytes(each, 0),
                       sqlite3_column_blob(each, 1), (size_t)sqlite3_column_bytes(each, 1));
    }
    if (status == TREMOLO_OK) {
        status = judge(store, code);
    }
    (void)sqlite3_reset(each);
    return status;
}

static const char *sqlite_explain(const struct store *base)
{
    return ((const struct sqlite_store *)(const void *)base)->words;
}

static void sqlite_close(struct store *base)
{
    struct sqlite_store *store = self(base);
    for (size_t i = 0; i < STATEMENT_COUNT; i++) {
        (void)sqlite3_finalize(store->statement[i]);
    }
    (void)sqlite3_close(store->database);
    free(store);
}

static enum tremolo_status prepare(struct sqlite_store *store, const char *settings)
{
    enum tremolo_status status =
        judge(store, sqlite3_exec(store->database, settings, NULL, NULL, NULL));
    for (size_t i = 0; i < STATEMENT_COUNT && status == TREMOLO_OK; i++) {
        status =
            judge(store, sqlite3_prepare_v3(store->database, statement_text[i], -1,
                                            SQLITE_PREPARE_PERSISTENT, &store->statement[i], NULL));
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    status = judge(store, sqlite3_step(store->statement[LAST]));
    store->last = (uint64_t)sqlite3_column_int64(store->statement[LAST], 0);
    store->committed = store->last;
    (void)sqlite3_reset(store->statement[LAST]);
    return status;
}

/* SQLite opens what it may only read without a word; better no server than one that
 * cannot keep what it is sent. */
static enum tremolo_status check_place(struct sqlite_store *store, const char *path)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        (void)snprintf(store->words, sizeof store->words, "%s cannot be made: %s", path,
                       strerror(errno));
        return TREMOLO_STORE_FAILED;
    }
    if (access(path, W_OK | X_OK) != 0) {
        (void)snprintf(store->words, sizeof store->words, "%s cannot be written to: %s", path,
                       strerror(errno));
        return TREMOLO_STORE_FAILED;
    }
    return TREMOLO_OK;
}

/* In use or damaged, where it can be said better than SQLite does; false when it is neither. */
static bool explain_state(struct sqlite_store *store, const char *path)
{
    int code = sqlite3_errcode(store->database) & 0xff;
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
        (void)snprintf(store->words, sizeof store->words, STORE_IN_USE " %s", path);
        return true;
    }
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
        (void)snprintf(store->words, sizeof store->words, "%s/tremolo.db is damaged: %s", path,
                       sqlite3_errmsg(store->database));
        return true;
    }
    return false;
}

/* What the first statements of a server failed of. */
static void explain_opening(struct sqlite_store *store, const char *path)
{
    if (!explain_state(store, path) && sqlite3_db_readonly(store->database, "main") == 1) {
        (void)snprintf(store->words, sizeof store->words, "%s/tremolo.db cannot be written to",
                       path);
    }
}

/* SQLite would let everybody read a database that it makes, and the files beside it are as
 * readable as the database. What cannot be made shows when it is opened. */
static void make_for_us_only(const char *file)
{
    int made = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (made >= 0) {
        (void)close(made);
    }
}

static enum tremolo_status name_database(char file[PATH_BYTES_MAX], struct sqlite_store *store,
                                         const char *path, const char *suffix)
{
    int length = snprintf(file, PATH_BYTES_MAX, "%s/tremolo.db%s", path, suffix);
    if (length < 0 || length >= PATH_BYTES_MAX) {
        (void)snprintf(store->words, sizeof store->words, "the directory's name is too long");
        return TREMOLO_BAD_ARGUMENT;
    }
    return TREMOLO_OK;
}

static enum tremolo_status open_database(struct sqlite_store *store, const char *path)
{
    char file[PATH_BYTES_MAX];
    enum tremolo_status status = check_place(store, path);
    if (status == TREMOLO_OK) {
        status = name_database(file, store, path, "");
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    make_for_us_only(file);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(file, &store->database, flags, NULL) != SQLITE_OK) {
        return judge(store, SQLITE_CANTOPEN);
    }
    (void)sqlite3_extended_result_codes(store->database, 1);
    status = prepare(store, schema);
    if (status == TREMOLO_OK && sqlite3_db_readonly(store->database, "main") == 1) {
        status = TREMOLO_STORE_FAILED;
    }
    if (status != TREMOLO_OK) {
        explain_opening(store, path);
    }
    return status;
}

/* "file:NAME?immutable=1" with all but plain characters escaped, and the second of two
 * slashes at the start, which would begin a host's name. */
static void immutable_uri(char uri[URI_BYTES_MAX], const char *file)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./";
    size_t used = (size_t)snprintf(uri, URI_BYTES_MAX, "file:");
    for (size_t i = 0; file[i] != '\0'; i++) {
        bool kept = strchr(plain, file[i]) != NULL && !(i == 1 && file[i] == '/');
        used += (size_t)(kept ? snprintf(uri + used, 4, "%c", file[i])
                              : snprintf(uri + used, 4, "%%%02X", (unsigned char)file[i]));
    }
    (void)snprintf(uri + used, URI_BYTES_MAX - used, "?immutable=1");
}

/* What those of a reader failed of. */
static void explain_reading(struct sqlite_store *store, const char *path, bool has_log)
{
    if (explain_state(store, path)) {
        return;
    }
    if (has_log && sqlite3_db_readonly(store->database, "main") == 1) {
        (void)snprintf(store->words, sizeof store->words,
                       "%s/tremolo.db-wal holds what is not in tremolo.db yet, and only who may "
                       "write there can read it",
                       path);
    } else if ((sqlite3_errcode(store->database) & 0xff) == SQLITE_ERROR) {
        (void)snprintf(store->words, sizeof store->words, "%s/tremolo.db is no server's: %s", path,
                       sqlite3_errmsg(store->database));
    }
}

static enum tremolo_status read_database(struct sqlite_store *store, const char *path)
{
    char file[PATH_BYTES_MAX], log[PATH_BYTES_MAX], uri[URI_BYTES_MAX];
    enum tremolo_status status = name_database(file, store, path, "");
    if (status == TREMOLO_OK) {
        status = name_database(log, store, path, "-wal");
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    if (access(file, F_OK) != 0) {
        (void)snprintf(store->words, sizeof store->words,
                       "this is no server's data directory: tremolo.db: %s", strerror(errno));
        return TREMOLO_BAD_ARGUMENT;
    }
    bool has_log = access(log, F_OK) == 0;
    int flags = has_log ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    immutable_uri(uri, file);
    if (sqlite3_open_v2(has_log ? file : uri, &store->database, flags | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK) {
        return judge(store, SQLITE_CANTOPEN);
    }
    (void)sqlite3_extended_result_codes(store->database, 1);
    (void)sqlite3_db_config(store->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    status = prepare(store, reading);
    if (status != TREMOLO_OK) {
        explain_reading(store, path, has_log);
    }
    return status;
}

typedef enum tremolo_status (*open_fn)(struct sqlite_store *store, const char *path);

static enum tremolo_status open_by(open_fn open, struct store **store, const char *path,
                                   char *words, size_t words_capacity)
{
    struct sqlite_store *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    made->base = (struct store){
        .append = sqlite_append,
        .put = sqlite_put,
        .sync = sqlite_sync,
        .discard = sqlite_discard,
        .read = sqlite_read,
        .each = sqlite_each,
        .explain = sqlite_explain,
        .close = sqlite_close,
    };
    enum tremolo_status status = open(made, path);
    if (words != NULL) {
        (void)snprintf(words, words_capacity, "%s", made->words);
    }
    if (status != TREMOLO_OK) {
        sqlite_close(&made->base);
        return status;
    }
    *store = &made->base;
    return TREMOLO_OK;
}

enum tremolo_status store_open_sqlite(struct store **store, const char *path, char *words,
                                      size_t words_capacity)
{
    return open_by(open_database, store, path, words, words_capacity);
}

enum tremolo_status store_read_sqlite(struct store **store, const char *path, char *words,
                                      size_t words_capacity)
{
    return open_by(read_database, store, path, words, words_capacity);
}
