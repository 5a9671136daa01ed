/* store_open.c -- opening the embedded store: what must hold of it then.
 *
 * A server and a reader make the same checks, in this order: the lock, so that no other process writes;
 * the format and the schema, to the letter; for a server the pages; every state with its check
 * value; the manifest; the tip. The segments are compared by the caller's pass over the log, which
 * every caller makes. Until the first sync nothing is written, except what makes a new database.
 *
 * SQLite uses a write-ahead log up to the last commit before the first frame that is not right, and takes
 * the rest for an interrupted write. So a damaged log looks like an older database. The tip finds that:
 * the database then has fewer commits than were acknowledged.
 *
 * A reader must not write, but SQLite makes a write-ahead log where there is none, and carries one over
 * when it closes. So a database without a log, as a server leaves it that ended well, is opened as
 * immutable; one with a log is opened under the server's own lock, and the log is not carried over.
 * A running server always has a log, so a reader finds it locked. */
#include "store_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { URI_BYTES_MAX = 3 * STORE_PATH_BYTES + 32 };

static const char settings[] = "PRAGMA page_size = 4096;"
                               "PRAGMA locking_mode = EXCLUSIVE;"
                               "PRAGMA journal_mode = WAL;"
                               "PRAGMA synchronous = FULL;"
                               "PRAGMA wal_autocheckpoint = 2048;";

static const char reading[] = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON;";

/* The schema: what makes a new database, and what every other is compared with. */
#define SEGMENT_TABLE                                                                              \
    "TABLE segment (position INTEGER PRIMARY KEY, study BLOB NOT NULL, bytes BLOB NOT NULL,"       \
    " check_value BLOB)"
#define STATE_TABLE                                                                                \
    "TABLE state (kind TEXT NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, check_value BLOB,"   \
    " PRIMARY KEY (kind, key)) WITHOUT ROWID"
static const char make_tables[] =
    "BEGIN IMMEDIATE; CREATE " SEGMENT_TABLE "; CREATE " STATE_TABLE "; PRAGMA user_version = 2;";

/* ---------------------------------------------------------------- what must hold
 *
 * Each check is a function of the opened database and says in words what is wrong. A start makes
 * them until one fails; an audit makes all of them. */

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

/* Another name or type in the schema would change what rows mean. */
static enum tremolo_status check_schema(struct sqlite_store *store)
{
    static const char text[] =
        "SELECT count(*) = 2 AND coalesce(sum(type = 'table' AND name = tbl_name AND sql IN ("
        "'CREATE " SEGMENT_TABLE "', 'CREATE " STATE_TABLE "')), 0) = 2 FROM sqlite_schema";
    return ask(store, text) == 1 ? TREMOLO_OK
                                 : sqlite_damaged(store, "its schema is not a server's");
}

/* A database without tables, as SQLite makes it. */
static bool is_empty(struct sqlite_store *store)
{
    return ask(store, "SELECT count(*) FROM sqlite_schema") == 0 &&
           ask(store, "PRAGMA user_version") == 0;
}

/* Other formats were never released, so another number is damage, or a database of somebody's trial. */
static enum tremolo_status check_format(struct sqlite_store *store)
{
    sqlite3_int64 version = ask(store, "PRAGMA user_version");
    if (version < 0) {
        return sqlite_judge(store, sqlite3_errcode(store->database));
    }
    if (version != STORE_FORMAT) {
        return sqlite_say(
            store, TREMOLO_STORE_FAILED,
            "%s is damaged, or was made before version 0.1.0: its format is %lld, and "
            "this version reads format %d only",
            store->file[DATABASE].path, (long long)version, STORE_FORMAT);
    }
    return check_schema(store);
}

/* SQLite's own structure: pages that are used twice or not at all, cells out of order. Found later,
 * such damage would already have overwritten what was acknowledged. */
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
    return strcmp(first, "ok") == 0 ? TREMOLO_OK : sqlite_damaged(store, first);
}

/* The manifest says how many segments there are, and positions have no gaps. */
static enum tremolo_status check_last(struct sqlite_store *store)
{
    sqlite3_int64 last = ask(store, "SELECT coalesce(max(position), 0) FROM segment");
    return last == (sqlite3_int64)store->manifest.segments.rows
               ? TREMOLO_OK
               : sqlite_damaged(store, "its log does not end where its manifest says");
}

/* Fewer commits than were acknowledged: something durable is missing. More are fine, because the
 * tip is written after the sync. */
static enum tremolo_status check_tip(struct sqlite_store *store)
{
    uint64_t here = store->committed.commits;
    if (store->tip.damaged) {
        return sqlite_say(store, TREMOLO_STORE_BEHIND,
                          "%s is damaged, so the number of acknowledged commits is unknown",
                          store->file[TIP].path);
    }
    return store->tip.commits <= here
               ? TREMOLO_OK
               : sqlite_say(store, TREMOLO_STORE_BEHIND,
                            "%s lacks %llu of the %llu commits that were acknowledged: it is an "
                            "older copy, or its log was damaged or cut short",
                            store->file[DATABASE].path,
                            (unsigned long long)(store->tip.commits - here),
                            (unsigned long long)store->tip.commits);
}

/* ---------------------------------------------------------------- opening
 *
 * The exclusive lock is taken by the first read and kept. Everything that is refused is refused
 * before the first write. */

/* SQLite opens a database that it may only read without an error, and a server on it could store nothing. */
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

/* Explain why the database could not be opened or read, where SQLite says less than is known: it names no
 * file, and gives no reason for a file that it cannot open. */
static enum tremolo_status explain_opening(struct sqlite_store *store, enum tremolo_status status,
                                           const char *path)
{
    int code = sqlite3_errcode(store->database) & 0xff;
    bool by_system = code == SQLITE_CANTOPEN || code == SQLITE_IOERR;
    int reason = by_system ? sqlite3_system_errno(store->database) : 0;
    bool read_only = sqlite3_db_readonly(store->database, "main") == 1;
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
        return sqlite_say(store, TREMOLO_STORE_IN_USE, "a running server uses %s; stop it first",
                          path);
    }
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
        return sqlite_say(store, status, "%s is damaged: %s", store->file[DATABASE].path,
                          sqlite3_errmsg(store->database));
    }
    if (read_only && !store->reading) {
        return sqlite_say(store, status, "%s cannot be written to", store->file[DATABASE].path);
    }
    if (read_only && store->logged) {
        return sqlite_say(store, status,
                          "%s has commits that are not in tremolo.db yet, and reading them needs "
                          "the right to write there",
                          store->file[LOG].path);
    }
    if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) {
        (void)sqlite_say(store, status, "%s: %s", store->file[DATABASE].path,
                         reason != 0 ? strerror(reason) : sqlite3_errmsg(store->database));
    }
    return status;
}

/* SQLite would make a database that everybody can read, and gives its log the same mode. If the file cannot
 * be made, opening it will say why. */
static void make_for_us_only(const char *file)
{
    int made = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (made >= 0) {
        (void)close(made);
    }
}

/* SQLite names its log itself, by the same rule. */
static enum tremolo_status name_files(struct sqlite_store *store, const char *path)
{
    static const char *const suffix[STORE_FILES] = {"", "-wal", "-tip"};
    for (size_t i = 0; i < STORE_FILES; i++) {
        int length =
            snprintf(store->file[i].path, STORE_PATH_BYTES, "%s/tremolo.db%s", path, suffix[i]);
        if (length < 0 || length >= STORE_PATH_BYTES) {
            return sqlite_say(store, TREMOLO_FILE_FAILED, "the directory's name is too long");
        }
    }
    return TREMOLO_OK;
}

/* No mutex: one thread at a time uses a store. NO_CKPT_ON_CLOSE until the first sync accepts
 * what is there. */
static enum tremolo_status open_with(struct sqlite_store *store, const char *name, int flags)
{
    if (sqlite3_open_v2(name, &store->database, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        return explain_opening(store, TREMOLO_STORE_FAILED, store->file[DATABASE].path);
    }
    (void)sqlite3_extended_result_codes(store->database, 1);
    (void)sqlite3_db_config(store->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return TREMOLO_OK;
}

static enum tremolo_status execute(struct sqlite_store *store, const char *text)
{
    return sqlite_judge(store, sqlite3_exec(store->database, text, NULL, NULL, NULL));
}

/* Tables and an empty manifest in one transaction: an interrupted start leaves an empty
 * database. */
static enum tremolo_status make_new(struct sqlite_store *store)
{
    enum tremolo_status status = execute(store, make_tables);
    if (status == TREMOLO_OK) {
        status = sqlite_prepare(store);
    }
    if (status == TREMOLO_OK) {
        status = sqlite_put_manifest(store);
    }
    return status == TREMOLO_OK ? execute(store, "COMMIT") : status;
}

/* Empty database, non-zero tip: everything was lost, and a careful server makes no new one. */
static enum tremolo_status check_database(struct sqlite_store *store)
{
    bool careful = store->consent != STORE_ACCEPT_LOSS;
    enum tremolo_status status;
    if (!store->reading && is_empty(store)) {
        status = careful ? check_tip(store) : TREMOLO_OK;
        return status == TREMOLO_OK ? make_new(store) : status;
    }
    status = check_format(store);
    if (status == TREMOLO_OK && !store->reading) {
        status = check_pages(store);
    }
    if (status == TREMOLO_OK) {
        status = sqlite_check_states(store);
    }
    if (status == TREMOLO_OK) {
        status = check_last(store);
    }
    if (status == TREMOLO_OK && careful) {
        status = check_tip(store);
    }
    return status == TREMOLO_OK ? sqlite_prepare(store) : status;
}

/* Take the lock, which the first read does, before anything is looked at. */
static enum tremolo_status lock(struct sqlite_store *store, const char *with)
{
    enum tremolo_status status = execute(store, with);
    return status == TREMOLO_OK ? execute(store, "SELECT count(*) FROM sqlite_schema") : status;
}

/* The database is locked for the rest of the process's life (locking_mode = EXCLUSIVE). */
static enum tremolo_status open_for_writing(struct sqlite_store *store, const char *path)
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
    tip_read(&store->tip, store->file[TIP].path);
    status = lock(store, settings);
    if (status == TREMOLO_OK && sqlite3_db_readonly(store->database, "main") == 1) {
        status = TREMOLO_STORE_FAILED;
    }
    bool own = store->consent == STORE_MOVED || store->tip.here;
    store->base.past = store->consent == STORE_ACCEPT_LOSS ? STORE_BEHIND
                       : own                               ? STORE_ITS_OWN
                                                           : STORE_COPIED;
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

/* Under the server's lock if there is a log, otherwise without any. */
static enum tremolo_status open_for_reading(struct sqlite_store *store, const char *path)
{
    char uri[URI_BYTES_MAX];
    (void)path;
    store->reading = true;
    if (access(store->file[DATABASE].path, F_OK) != 0) {
        return sqlite_say(store, TREMOLO_NO_STORE,
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
    tip_read(&store->tip, store->file[TIP].path);
    return lock(store, reading);
}

/* ---------------------------------------------------------------- looking at damage
 *
 * Numbers in a damaged database may be anything, so every loop here is bounded by what the files
 * can hold. */

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

/* The last position there should be. Both numbers may be damaged, and a caller that reads from 1 up to this
 * one must come to an end. */
static uint64_t find_last(struct sqlite_store *store, struct store_audit *audit)
{
    sqlite3_int64 possible = count_possible(store);
    sqlite3_int64 last = ask(store, "SELECT coalesce(max(position), 0) FROM segment");
    if (last < 0 || last > possible) {
        (void)sqlite_damaged(store, last < 0 ? "the end of its log cannot be read"
                                             : "a segment's position is beyond what it can hold");
        audit->finding(audit->context, store->words);
        char text[96];
        (void)snprintf(text, sizeof text,
                       "SELECT coalesce(max(position), 0) FROM segment WHERE position <= %lld",
                       (long long)possible);
        last = ask(store, text);
    }
    uint64_t found = last > 0 ? (uint64_t)last : 0;
    uint64_t meant = store->manifest.segments.rows;
    return meant > found && meant <= (uint64_t)possible ? meant : found;
}

/* Each check by itself, whatever the one before found. Without a manifest the segments are read one by one,
 * and states without their check value are left out. */
static void audit_all(struct sqlite_store *store, struct store_audit *audit)
{
    static const check_fn checks[] = {check_format, check_pages, sqlite_check_states, check_last,
                                      check_tip};
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        if (checks[i](store) != TREMOLO_OK) {
            audit->finding(audit->context, store->words);
        }
    }
    audit->commits = store->committed.commits;
    audit->acknowledged = store->tip.commits;
    audit->is_copy = !store->tip.here && !store->tip.damaged;
    audit->tip_damaged = store->tip.damaged;
    audit->last = find_last(store, audit);
    if (sqlite_prepare(store) == TREMOLO_OK) {
        store->manifest.segments.rows = 0;
        store->lenient = true;
    }
}

/* ---------------------------------------------------------------- public */

typedef enum tremolo_status (*open_fn)(struct sqlite_store *store, const char *path);

/* With `audit` the checks are its own, and none of them stops the opening. */
static enum tremolo_status open_by(open_fn open, struct store **store, const char *path,
                                   enum store_consent consent, struct store_audit *audit,
                                   char words[TREMOLO_WORDS_BYTES])
{
    struct sqlite_store *made = sqlite_new();
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    made->consent = consent;
    enum tremolo_status status = name_files(made, path);
    if (status == TREMOLO_OK) {
        status = open(made, path);
    }
    if (status == TREMOLO_OK && audit == NULL) {
        status = check_database(made);
    }
    bool said = status == TREMOLO_STORE_BEHIND || status == TREMOLO_NO_STORE;
    if (tremolo_status_kind(status) == TREMOLO_KIND_STORE && !said && made->database != NULL) {
        if (made->words[0] == '\0') {
            (void)sqlite_judge(made, sqlite3_errcode(made->database));
        }
        status = explain_opening(made, status, path);
    }
    if (words != NULL) {
        (void)snprintf(words, TREMOLO_WORDS_BYTES, "%s", made->words);
    }
    if (status != TREMOLO_OK) {
        made->base.close(&made->base);
        return status;
    }
    if (audit != NULL) {
        audit_all(made, audit);
    }
    *store = &made->base;
    return TREMOLO_OK;
}

enum tremolo_status store_open_sqlite(struct store **store, const char *path,
                                      enum store_consent consent, char words[TREMOLO_WORDS_BYTES])
{
    return open_by(open_for_writing, store, path, consent, NULL, words);
}

enum tremolo_status store_read_sqlite(struct store **store, const char *path,
                                      char words[TREMOLO_WORDS_BYTES])
{
    return open_by(open_for_reading, store, path, STORE_CAREFUL, NULL, words);
}

enum tremolo_status store_audit_sqlite(struct store **store, struct store_audit *audit,
                                       const char *path, char words[TREMOLO_WORDS_BYTES])
{
    return open_by(open_for_reading, store, path, STORE_CAREFUL, audit, words);
}
