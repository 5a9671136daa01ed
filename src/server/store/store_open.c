/* store_open.c -- opening the embedded store, and what must hold of it then.
 *
 * In this order: the lock, so that nobody else writes; the write-ahead log, whether SQLite
 * passes something over; the schema, which must be ours to the letter; the pages; every state
 * with its check value; the manifest; the tip. The segments are compared by whoever reads the
 * log, which is everybody who opens one. Until then nothing is written but what makes a new
 * database, or upgrades an old one in one transaction.
 *
 * Who only reads must not write, and SQLite does: it makes a write-ahead log where
 * there is none, and carries one over when it closes. So a database whose server ended
 * well, which has no log, is opened as immutable, and one with a log under the server's
 * own lock, without carrying over. A server that runs has a log, and is noticed. */
#include "store_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store_audit.h"

enum { URI_BYTES_MAX = 3 * STORE_PATH_BYTES + 32 };

static const char settings[] = "PRAGMA page_size = 4096;"
                               "PRAGMA locking_mode = EXCLUSIVE;"
                               "PRAGMA journal_mode = WAL;"
                               "PRAGMA synchronous = FULL;"
                               "PRAGMA wal_autocheckpoint = 2048;";

static const char reading[] = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON;";

#define SEGMENT_TABLE                                                                              \
    "segment (position INTEGER PRIMARY KEY, study BLOB NOT NULL, bytes BLOB NOT NULL"
#define STATE_TABLE  "state (kind TEXT NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL"
#define STATE_KEY    ", PRIMARY KEY (kind, key)) WITHOUT ROWID"
#define CHECK_COLUMN "check_value BLOB"

/* Tables are made as they were before and altered, so that a new database and an
 * upgraded one have the same schema. (SQLite puts a new column before the primary key.) */
static const char make_old[] = "CREATE TABLE IF NOT EXISTS " SEGMENT_TABLE ");"
                               "DROP INDEX IF EXISTS segment_study;" /* of older directories */
                               "CREATE TABLE IF NOT EXISTS " STATE_TABLE STATE_KEY ";";
static const char alter[] = "ALTER TABLE segment ADD COLUMN " CHECK_COLUMN ";"
                            "ALTER TABLE state ADD COLUMN " CHECK_COLUMN ";"
                            "PRAGMA user_version = 2;";

/* ---------------------------------------------------------------- what must hold */

/* A single number of a query; -1 when there is none. */
static sqlite3_int64 ask(struct sqlite_store *store, const char *text)
{
    sqlite3_stmt *query = NULL;
    sqlite3_int64 answer = -1;
    if (sqlite3_prepare_v2(store->database, text, -1, &query, NULL) == SQLITE_OK &&
        sqlite3_step(query) == SQLITE_ROW) {
        answer = sqlite3_column_int64(query, 0);
    }
    (void)sqlite3_finalize(query);
    return answer;
}

static enum tremolo_status damaged(struct sqlite_store *store, const char *what)
{
    return sqlite_say(store, TREMOLO_MALFORMED, "%s is damaged: %s", store->file[DATABASE].path,
                      what);
}

/* The letters of the schema: another name or type would change what rows mean. */
static enum tremolo_status check_schema(struct sqlite_store *store)
{
    static const char text[] =
        "SELECT count(*) = 2 AND coalesce(sum((type = 'table' AND name = tbl_name AND sql IN ("
        "'CREATE TABLE " SEGMENT_TABLE ", " CHECK_COLUMN ")',"
        "'CREATE TABLE " STATE_TABLE ", " CHECK_COLUMN STATE_KEY "'))), 0) = 2"
        " FROM sqlite_schema";
    return ask(store, text) == 1 ? TREMOLO_OK : damaged(store, "its schema is not a server's");
}

/* SQLite's own structure: pages that are used twice or by nobody, cells out of order. What
 * it finds later would be found by overwriting what was acknowledged. */
static enum tremolo_status check_pages(struct sqlite_store *store)
{
    sqlite3_stmt *query = NULL;
    char first[160] = "its pages cannot be read";
    int code = sqlite3_prepare_v2(store->database, "PRAGMA quick_check(1)", -1, &query, NULL);
    code = code == SQLITE_OK ? sqlite3_step(query) : code;
    const char *said = code == SQLITE_ROW ? (const char *)sqlite3_column_text(query, 0) : NULL;
    if (said != NULL) {
        (void)snprintf(first, sizeof first, "%s", said);
    }
    (void)sqlite3_finalize(query);
    return strcmp(first, "ok") == 0 ? TREMOLO_OK : damaged(store, first);
}

static enum tremolo_status bad_state(struct sqlite_store *store, sqlite3_stmt *row,
                                     const char *what)
{
    char key[2 * 20 + 1] = "";
    const char *kind = (const char *)sqlite3_column_text(row, 0);
    const uint8_t *bytes = sqlite3_column_blob(row, 1);
    for (int i = 0; bytes != NULL && i < sqlite3_column_bytes(row, 1) && i < 20; i++) {
        (void)snprintf(key + 2 * i, 3, "%02x", bytes[i]);
    }
    return sqlite_say(store, TREMOLO_MALFORMED, "%s is damaged: the state %.24s %s %s",
                      store->file[DATABASE].path, kind != NULL ? kind : "?", key, what);
}

/* Kind, key and value of a row, and the check value they should have. SQLite says NULL for what is not
 * there and for what it has no memory for. */
static enum tremolo_status check_of_row(uint8_t check[STORE_CHECK_BYTES],
                                        struct sqlite_store *store, sqlite3_stmt *row)
{
    const char *kind = (const char *)sqlite3_column_text(row, 0);
    const uint8_t *key = sqlite3_column_blob(row, 1);
    const uint8_t *value = sqlite3_column_blob(row, 2);
    if (sqlite3_errcode(store->database) == SQLITE_NOMEM) {
        return TREMOLO_NO_MEMORY;
    }
    if (kind == NULL || key == NULL || value == NULL || !store_kind_is_known(kind)) {
        return bad_state(store, row, "is of no known kind");
    }
    store_check_state(check, kind, key, (size_t)sqlite3_column_bytes(row, 1), value,
                      (size_t)sqlite3_column_bytes(row, 2));
    return TREMOLO_OK;
}

static enum tremolo_status take_state(struct sqlite_store *store, sqlite3_stmt *row,
                                      struct store_tally *seen, bool *has_manifest)
{
    uint8_t check[STORE_CHECK_BYTES];
    enum tremolo_status status = check_of_row(check, store, row);
    if (status != TREMOLO_OK) {
        return status;
    }
    const uint8_t *stored = sqlite3_column_blob(row, 3);
    if (sqlite3_errcode(store->database) == SQLITE_NOMEM) {
        return TREMOLO_NO_MEMORY;
    }
    if (stored == NULL || sqlite3_column_bytes(row, 3) != STORE_CHECK_BYTES ||
        memcmp(check, stored, sizeof check) != 0) {
        return bad_state(store, row, "does not have its check value");
    }
    if (strcmp((const char *)sqlite3_column_text(row, 0), "manifest") != 0) {
        tally_add(seen, check);
    } else if (sqlite3_column_bytes(row, 2) == MANIFEST_BYTES && !*has_manifest) {
        manifest_decode(&store->manifest, sqlite3_column_blob(row, 2));
        *has_manifest = true;
    } else {
        return bad_state(store, row, "has another length, or there are two");
    }
    return TREMOLO_OK;
}

static enum tremolo_status check_states(struct sqlite_store *store)
{
    sqlite3_stmt *row = NULL;
    struct store_tally seen = {0};
    bool has_manifest = false;
    int code = sqlite3_prepare_v2(
        store->database, "SELECT kind, key, value, check_value FROM state", -1, &row, NULL);
    enum tremolo_status status = sqlite_judge(store, code);
    while (status == TREMOLO_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
        status = take_state(store, row, &seen, &has_manifest);
    }
    status = status == TREMOLO_OK ? sqlite_judge(store, code) : status;
    (void)sqlite3_finalize(row);
    if (status != TREMOLO_OK) {
        return status;
    }
    store->committed = store->manifest;
    if (!has_manifest) {
        return damaged(store, "it has no manifest");
    }
    if (!tally_equal(&seen, &store->manifest.states)) {
        return sqlite_say(store, TREMOLO_MALFORMED,
                          "%s is damaged: it has %llu states, not the %llu of its manifest",
                          store->file[DATABASE].path, (unsigned long long)seen.rows,
                          (unsigned long long)store->manifest.states.rows);
    }
    sqlite3_int64 last = ask(store, "SELECT coalesce(max(position), 0) FROM segment");
    return last == (sqlite3_int64)store->manifest.segments.rows
               ? TREMOLO_OK
               : damaged(store, "its log does not end where its manifest says");
}

static enum tremolo_status check_log(struct sqlite_store *store)
{
    struct wal_findings found;
    if (!store_wal_look(&found, store->file[LOG].path)) {
        return sqlite_say(store, TREMOLO_STORE_FAILED, "%s cannot be read", store->file[LOG].path);
    }
    return !found.lost ? TREMOLO_OK
                       : sqlite_say(store, TREMOLO_STORE_FAILED,
                                    "%s is damaged: after frame %llu there are %llu that SQLite "
                                    "passes over, with at least %llu transactions that were "
                                    "acknowledged; see tremolo check, and serve --accept-loss",
                                    store->file[LOG].path, (unsigned long long)found.frames,
                                    (unsigned long long)found.passed_over,
                                    (unsigned long long)(found.transactions));
}

static enum tremolo_status check_tip(struct sqlite_store *store)
{
    uint64_t here = store->committed.commits;
    if (store->tip.damaged) {
        return sqlite_say(store, TREMOLO_STORE_FAILED,
                          "%s is damaged: nobody knows how many commits were acknowledged; see "
                          "tremolo check, and serve --accept-loss",
                          store->file[TIP].path);
    }
    return store->tip.commits <= here
               ? TREMOLO_OK
               : sqlite_say(store, TREMOLO_STORE_FAILED,
                            "%s lacks %llu of the %llu commits that were acknowledged: it is an "
                            "older copy, or its log was cut short; see tremolo check, and serve "
                            "--accept-loss",
                            store->file[DATABASE].path,
                            (unsigned long long)(store->tip.commits - here),
                            (unsigned long long)store->tip.commits);
}

/* ---------------------------------------------------------------- upgrading */

static enum tremolo_status mark_states(struct sqlite_store *store)
{
    sqlite3_stmt *row = NULL;
    sqlite3_stmt *mark = NULL;
    enum tremolo_status status = sqlite_judge(
        store,
        sqlite3_prepare_v2(store->database, "SELECT kind, key, value FROM state", -1, &row, NULL));
    if (status == TREMOLO_OK) {
        status = sqlite_judge(
            store,
            sqlite3_prepare_v2(store->database,
                               "UPDATE state SET check_value = ?3 WHERE kind = ?1 AND key = ?2", -1,
                               &mark, NULL));
    }
    int code = SQLITE_DONE;
    while (status == TREMOLO_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
        uint8_t check[STORE_CHECK_BYTES];
        status = check_of_row(check, store, row);
        if (status != TREMOLO_OK) {
            break;
        }
        (void)sqlite3_bind_value(mark, 1, sqlite3_column_value(row, 0));
        (void)sqlite3_bind_value(mark, 2, sqlite3_column_value(row, 1));
        (void)sqlite3_bind_blob(mark, 3, check, sizeof check, SQLITE_STATIC);
        status = sqlite_judge(store, sqlite3_step(mark));
        (void)sqlite3_reset(mark);
        tally_add(&store->manifest.states, check);
    }
    status = status == TREMOLO_OK ? sqlite_judge(store, code) : status;
    (void)sqlite3_finalize(row);
    (void)sqlite3_finalize(mark);
    return status;
}

/* Segments stay as they are, which would be a log to write anew: the sum covers them. */
static enum tremolo_status count_segments(struct sqlite_store *store)
{
    struct store_segment segment = {0};
    struct store *base = &store->base;
    enum tremolo_status status;
    store->checked = false; /* there is no manifest to compare with */
    do {
        uint8_t check[STORE_CHECK_BYTES];
        uint64_t next = segment.position + 1;
        status = base->read(base, next, &segment);
        if (status == TREMOLO_OK && segment.position != 0) {
            store_check_segment(check, segment.position, segment.study, segment.bytes,
                                segment.length);
            tally_add(&store->manifest.segments, check);
            status = segment.position == next ? TREMOLO_OK : damaged(store, "its log has a gap");
        }
    } while (status == TREMOLO_OK && segment.position != 0);
    (void)sqlite3_reset(store->statement[READ]);
    store->checked = true;
    return status;
}

/* Make a new database, or give an old one check values: all of it or nothing. */
static enum tremolo_status upgrade(struct sqlite_store *store)
{
    enum tremolo_status status = sqlite_execute(store, "BEGIN IMMEDIATE");
    if (status == TREMOLO_OK) {
        status = sqlite_execute(store, make_old);
    }
    if (status == TREMOLO_OK) {
        status = sqlite_execute(store, alter);
    }
    store->checked = true;
    store->manifest = (struct store_manifest){0};
    if (status == TREMOLO_OK) {
        status = sqlite_prepare(store);
    }
    if (status == TREMOLO_OK) {
        status = mark_states(store);
    }
    if (status == TREMOLO_OK) {
        status = count_segments(store);
    }
    if (status == TREMOLO_OK) {
        status = sqlite_put_manifest(store);
    }
    return status == TREMOLO_OK ? sqlite_execute(store, "COMMIT") : status;
}

/* ---------------------------------------------------------------- opening */

/* Versions 0 and 1 have no check values; a damaged number must not pass for them. */
static enum tremolo_status check_version(struct sqlite_store *store, sqlite3_int64 *version)
{
    *version = ask(store, "PRAGMA user_version");
    if (*version == STORE_FORMAT) {
        return check_schema(store);
    }
    if (*version < 0) {
        return sqlite_judge(store, sqlite3_errcode(store->database));
    }
    if (*version > STORE_FORMAT ||
        ask(store, "SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%check_value%'") != 0) {
        return sqlite_say(store, TREMOLO_MALFORMED,
                          "%s is damaged, or another version's: its format is %lld",
                          store->file[DATABASE].path, (long long)*version);
    }
    return TREMOLO_OK;
}

/* SQLite opens what it may only read without a word; better no server than one that
 * cannot keep what it is sent. */
static enum tremolo_status check_place(struct sqlite_store *store, const char *path)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return sqlite_say(store, TREMOLO_STORE_FAILED, "%s cannot be made: %s", path,
                          strerror(errno));
    }
    struct stat about;
    bool folder = stat(path, &about) != 0 || S_ISDIR(about.st_mode);
    if (!folder || access(path, W_OK | X_OK) != 0) {
        return sqlite_say(store, TREMOLO_STORE_FAILED, "%s cannot be written to: %s", path,
                          strerror(folder ? errno : ENOTDIR));
    }
    return TREMOLO_OK;
}

/* In use or damaged, where it can be said better than SQLite does; false when it is neither. */
static bool explain_state(struct sqlite_store *store, const char *path)
{
    int code = sqlite3_errcode(store->database) & 0xff;
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
        (void)sqlite_say(store, TREMOLO_OK, STORE_IN_USE " %s; stop it first", path);
        return true;
    }
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
        (void)damaged(store, sqlite3_errmsg(store->database));
        return true;
    }
    return false;
}

/* SQLite names no file, and of one that it cannot open or read no reason either. */
static void explain_with_place(struct sqlite_store *store)
{
    int code = sqlite3_errcode(store->database) & 0xff;
    bool by_system = code == SQLITE_CANTOPEN || code == SQLITE_IOERR;
    int reason = by_system ? sqlite3_system_errno(store->database) : 0;
    if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) {
        (void)sqlite_say(store, TREMOLO_OK, "%s: %s", store->file[DATABASE].path,
                         reason != 0 ? strerror(reason) : sqlite3_errmsg(store->database));
    }
}

/* What the first statements of a server failed of. */
static void explain_opening(struct sqlite_store *store, const char *path)
{
    if (explain_state(store, path)) {
        return;
    }
    if (sqlite3_db_readonly(store->database, "main") == 1) {
        (void)sqlite_say(store, TREMOLO_OK, "%s cannot be written to", store->file[DATABASE].path);
    } else {
        explain_with_place(store);
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

static enum tremolo_status name_files(struct sqlite_store *store, const char *path)
{
    static const char *const suffix[STORE_FILES] = {"", "-wal", "-tip"};
    for (size_t i = 0; i < STORE_FILES; i++) {
        int length =
            snprintf(store->file[i].path, STORE_PATH_BYTES, "%s/tremolo.db%s", path, suffix[i]);
        if (length < 0 || length >= STORE_PATH_BYTES) {
            return sqlite_say(store, TREMOLO_BAD_ARGUMENT, "the directory's name is too long");
        }
    }
    return TREMOLO_OK;
}

static enum tremolo_status open_with(struct sqlite_store *store, const char *name, int flags)
{
    if (sqlite3_open_v2(name, &store->database, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        explain_with_place(store);
        return TREMOLO_STORE_FAILED;
    }
    (void)sqlite3_extended_result_codes(store->database, 1);
    (void)sqlite3_db_config(store->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return TREMOLO_OK;
}

/* What a server does beyond what a reader does: a new or old database becomes one of today, and
 * its pages are looked at, because it will write. */
static enum tremolo_status check_for_writing(struct sqlite_store *store, bool careful)
{
    sqlite3_int64 version = 0;
    enum tremolo_status status = check_version(store, &version);
    if (status == TREMOLO_OK) {
        status = check_pages(store);
    }
    if (status == TREMOLO_OK && version != STORE_FORMAT) {
        /* A database that is empty beside a tip that is not has lost everything. */
        status = careful ? check_tip(store) : TREMOLO_OK;
        status = status == TREMOLO_OK ? upgrade(store) : status;
        store->committed = store->manifest;
        return status;
    }
    if (status == TREMOLO_OK) {
        status = check_states(store);
    }
    store->checked = true;
    return status == TREMOLO_OK ? sqlite_prepare(store) : status;
}

/* Take the lock, which the first read does, before anything is looked at. */
static enum tremolo_status lock(struct sqlite_store *store, const char *with)
{
    enum tremolo_status status = sqlite_execute(store, with);
    return status == TREMOLO_OK ? sqlite_execute(store, "SELECT count(*) FROM sqlite_schema")
                                : status;
}

static enum tremolo_status open_database(struct sqlite_store *store, const char *path)
{
    enum tremolo_status status = check_place(store, path);
    if (status != TREMOLO_OK) {
        return status;
    }
    make_for_us_only(store->file[DATABASE].path);
    status =
        open_with(store, store->file[DATABASE].path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    if (status != TREMOLO_OK) {
        return status;
    }
    store_tip_read(&store->tip, store->file[TIP].path);
    status = lock(store, settings);
    if (status == TREMOLO_OK && sqlite3_db_readonly(store->database, "main") == 1) {
        status = TREMOLO_STORE_FAILED;
    }
    bool careful = store->consent != STORE_ACCEPT_LOSS;
    if (status == TREMOLO_OK && careful) {
        status = check_log(store);
    }
    if (status == TREMOLO_OK) {
        status = check_for_writing(store, careful);
    }
    if (status == TREMOLO_OK && careful) {
        status = check_tip(store);
    }
    /* An old directory has no tip, and may be a backup of before its upgrade. So has a new one, which
     * has no rounds either. */
    bool own = store->consent == STORE_MOVED || store->tip.here;
    store->base.past = !careful ? STORE_BEHIND : own ? STORE_ITS_OWN : STORE_COPIED;
    if (status != TREMOLO_OK && store->words[0] == '\0') {
        (void)sqlite_judge(store, sqlite3_errcode(store->database));
    }
    if (status != TREMOLO_OK && status != TREMOLO_MALFORMED) {
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
static void explain_reading(struct sqlite_store *store, const char *path)
{
    if (explain_state(store, path)) {
        return;
    }
    if (store->logged && sqlite3_db_readonly(store->database, "main") == 1) {
        (void)sqlite_say(store, TREMOLO_OK,
                         "%s holds what is not in tremolo.db yet, and only who may write there can "
                         "read it",
                         store->file[LOG].path);
    } else if ((sqlite3_errcode(store->database) & 0xff) == SQLITE_ERROR) {
        (void)sqlite_say(store, TREMOLO_OK, "%s is no server's: %s", store->file[DATABASE].path,
                         sqlite3_errmsg(store->database));
    } else {
        explain_with_place(store);
    }
}

/* A directory of before there were check values is read as it is. */
static enum tremolo_status check_for_reading(struct sqlite_store *store)
{
    sqlite3_int64 version = 0;
    enum tremolo_status status = check_version(store, &version);
    store->checked = version == STORE_FORMAT;
    if (status == TREMOLO_OK && store->checked) {
        status = check_states(store);
    }
    if (status == TREMOLO_OK) {
        status = check_tip(store);
    }
    return status == TREMOLO_OK ? sqlite_prepare(store) : status;
}

/* Under the server's lock where there is a log, and else without any. */
static enum tremolo_status open_for_reading(struct sqlite_store *store, const char *path)
{
    char uri[URI_BYTES_MAX];
    if (access(store->file[DATABASE].path, F_OK) != 0) {
        return sqlite_say(store, TREMOLO_BAD_ARGUMENT,
                          "this is no server's data directory: tremolo.db: %s", strerror(errno));
    }
    immutable_uri(uri, store->file[DATABASE].path);
    store->logged = access(store->file[LOG].path, F_OK) == 0;
    enum tremolo_status status =
        store->logged ? open_with(store, store->file[DATABASE].path, SQLITE_OPEN_READWRITE)
                      : open_with(store, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    if (status != TREMOLO_OK) {
        return status;
    }
    store_tip_read(&store->tip, store->file[TIP].path);
    status = lock(store, reading);
    if (status != TREMOLO_OK) {
        explain_reading(store, path);
    }
    return status;
}

static enum tremolo_status read_database(struct sqlite_store *store, const char *path)
{
    enum tremolo_status status = open_for_reading(store, path);
    if (status != TREMOLO_OK) {
        return status;
    }
    status = check_log(store);
    if (status == TREMOLO_OK) {
        status = check_for_reading(store);
    }
    if (status == TREMOLO_STORE_FAILED && sqlite3_errcode(store->database) != SQLITE_OK) {
        explain_reading(store, path);
    }
    return status;
}

/* ---------------------------------------------------------------- looking at damage */

typedef enum tremolo_status (*check_fn)(struct sqlite_store *store);

/* More segments than this the files cannot hold: positions count from 1 without a gap, and a row has
 * its tag, its check values and a segment's head. */
static sqlite3_int64 count_possible(const struct sqlite_store *store)
{
    enum { ROW_BYTES_MIN = STORE_STUDY_BYTES + STORE_CHECK_BYTES + 8 };
    sqlite3_int64 bytes = 0;
    for (size_t i = DATABASE; i <= LOG; i++) {
        struct stat about;
        bytes += stat(store->file[i].path, &about) == 0 ? (sqlite3_int64)about.st_size : 0;
    }
    return bytes / ROW_BYTES_MIN;
}

/* The last position there should be. Both numbers may be damaged, and whoever reads from 1 up to
 * this one must come to an end. */
static uint64_t find_last(struct sqlite_store *store, struct store_audit *audit)
{
    sqlite3_int64 possible = count_possible(store);
    sqlite3_int64 last = ask(store, "SELECT coalesce(max(position), 0) FROM segment");
    if (last < 0 || last > possible) {
        (void)damaged(store, last < 0 ? "the end of its log cannot be read"
                                      : "a segment's position is beyond what it can hold");
        audit->finding(audit->context, store->words);
        char text[96];
        (void)snprintf(text, sizeof text,
                       "SELECT coalesce(max(position), 0) FROM segment WHERE position <= %lld",
                       (long long)possible);
        last = ask(store, text);
    }
    uint64_t found = last > 0 ? (uint64_t)last : 0;
    uint64_t meant = store->checked ? store->manifest.segments.rows : 0;
    return meant > found && meant <= (uint64_t)possible ? meant : found;
}

/* Each check by itself, whatever the one before found. */
static void audit_all(struct sqlite_store *store, struct store_audit *audit)
{
    static const check_fn checks[] = {check_log, check_pages, check_states, check_tip};
    sqlite3_int64 version = 0;
    bool versioned = check_version(store, &version) == TREMOLO_OK;
    if (!versioned) {
        audit->finding(audit->context, store->words);
    }
    audit->format = (int)version;
    store->checked = version == STORE_FORMAT;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        bool meant = store->checked || checks[i] != check_states;
        if (meant && checks[i](store) != TREMOLO_OK) {
            audit->finding(audit->context, store->words);
        }
    }
    (void)store_wal_look(&audit->log, store->file[LOG].path);
    audit->commits = store->committed.commits;
    audit->acknowledged = store->tip.commits;
    audit->is_copy = store->checked && !store->tip.here && !store->tip.damaged;
    audit->tip_damaged = store->tip.damaged;
    audit->last = find_last(store, audit);
    if (versioned && sqlite_prepare(store) == TREMOLO_OK) {
        store->manifest.segments.rows = 0; /* one by one, without the manifest's word */
        store->lenient = true;
    }
}

typedef enum tremolo_status (*open_fn)(struct sqlite_store *store, const char *path);

static enum tremolo_status open_by(open_fn open, struct store **store, const char *path,
                                   enum store_consent consent, char words[TREMOLO_WORDS_BYTES])
{
    struct sqlite_store *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    made->tip.file = -1;
    made->consent = consent;
    sqlite_methods(&made->base);
    enum tremolo_status status = name_files(made, path);
    if (status == TREMOLO_OK) {
        status = open(made, path);
    }
    if (words != NULL) {
        (void)snprintf(words, TREMOLO_WORDS_BYTES, "%s", made->words);
    }
    if (status != TREMOLO_OK) {
        made->base.close(&made->base);
        return status;
    }
    *store = &made->base;
    return TREMOLO_OK;
}

enum tremolo_status store_open_sqlite(struct store **store, const char *path,
                                      enum store_consent consent, char words[TREMOLO_WORDS_BYTES])
{
    return open_by(open_database, store, path, consent, words);
}

enum tremolo_status store_read_sqlite(struct store **store, const char *path,
                                      char words[TREMOLO_WORDS_BYTES])
{
    return open_by(read_database, store, path, STORE_CAREFUL, words);
}

enum tremolo_status store_audit_sqlite(struct store **store, struct store_audit *audit,
                                       const char *path, char words[TREMOLO_WORDS_BYTES])
{
    enum tremolo_status status = open_by(open_for_reading, store, path, STORE_CAREFUL, words);
    if (status == TREMOLO_OK) {
        audit_all(sqlite_self(*store), audit);
    }
    return status;
}
