/* store_open.c -- opening the embedded store: what must hold of it then, and how many of its commits were
 * acknowledged.
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
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "encoder.h"
#include "keys.h"

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
    "CREATE " SEGMENT_TABLE "; CREATE " STATE_TABLE "; PRAGMA user_version = 2;";

/* ---------------------------------------------------------------- the tip */

enum { TIP_BYTES = 48, TIP_CHECK_BYTES = 16, TIP_MAGIC_BYTES = 8 };

static const char tip_magic[] = "TREMTIP2";

static void check_of(uint8_t check[TIP_CHECK_BYTES], const uint8_t *bytes, size_t length)
{
    (void)crypto_generichash(check, TIP_CHECK_BYTES, bytes, length, NULL, 0);
}

static bool find_place(struct tip_place *place, int file)
{
    struct stat about;
    if (fstat(file, &about) != 0) {
        return false;
    }
    *place = (struct tip_place){.inode = (uint64_t)about.st_ino};
#ifdef STATX_BTIME
    struct statx more;
    if (statx(file, "", AT_EMPTY_PATH, STATX_BTIME, &more) == 0 &&
        (more.stx_mask & STATX_BTIME) != 0) {
        place->born_ns = (uint64_t)more.stx_btime.tv_sec * 1000000000u + more.stx_btime.tv_nsec;
    }
#endif
    return true;
}

/* The time counts where both file systems tell it. */
static bool is_same_place(const struct tip_place *written, const struct tip_place *now)
{
    bool timed = written->born_ns != 0 && now->born_ns != 0;
    return written->inode == now->inode && (!timed || written->born_ns == now->born_ns);
}

static bool is_whole(const uint8_t *bytes, ssize_t got)
{
    uint8_t check[TIP_CHECK_BYTES];
    check_of(check, bytes, TIP_BYTES - TIP_CHECK_BYTES);
    return got == TIP_BYTES && memcmp(bytes, tip_magic, TIP_MAGIC_BYTES) == 0 &&
           memcmp(bytes + TIP_BYTES - TIP_CHECK_BYTES, check, sizeof check) == 0;
}

/* A new tip gets its name when it is whole and durable, so one that is not whole is damaged. */
static void tip_read(struct store_tip *tip, const char *path)
{
    uint8_t bytes[TIP_BYTES + 1] = {0};
    *tip = (struct store_tip){.file = -1};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        tip->damaged = errno != ENOENT && errno != EACCES;
        return;
    }
    ssize_t got = read(file, bytes, sizeof bytes);
    tip->damaged = !find_place(&tip->place, file) || !is_whole(bytes, got);
    (void)close(file);
    if (!tip->damaged) {
        struct tip_place written = {.inode = bytes_get_u64(bytes + 16),
                                    .born_ns = bytes_get_u64(bytes + 24)};
        tip->commits = bytes_get_u64(bytes + 8);
        tip->here = is_same_place(&written, &tip->place);
    }
}

static bool write_bytes(const struct store_tip *tip, uint64_t commits)
{
    uint8_t bytes[TIP_BYTES];
    memcpy(bytes, tip_magic, TIP_MAGIC_BYTES);
    bytes_put_u64(bytes + 8, commits);
    bytes_put_u64(bytes + 16, tip->place.inode);
    bytes_put_u64(bytes + 24, tip->place.born_ns);
    check_of(bytes + TIP_BYTES - TIP_CHECK_BYTES, bytes, TIP_BYTES - TIP_CHECK_BYTES);
    return pwrite(tip->file, bytes, sizeof bytes, 0) == TIP_BYTES;
}

/* Whole and durable under another name first, so that a process that ends in between leaves no damaged tip.
 * The name must outlive a power failure, or the directory would look like a copy. */
static bool make_tip(struct store_tip *tip, const char *path, uint64_t commits)
{
    char made[PATH_MAX];
    int length = snprintf(made, sizeof made, "%s-new", path);
    if (length < 0 || (size_t)length >= sizeof made) {
        return false;
    }
    tip->file = open(made, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = tip->file >= 0 && find_place(&tip->place, tip->file) && write_bytes(tip, commits) &&
                fsync(tip->file) == 0 && rename(made, path) == 0 && keys_sync_folder(path) == 0;
    if (!good) { /* or the next write would go to a file without a name */
        store_tip_close(tip);
    }
    return good;
}

bool store_tip_write(struct store_tip *tip, const char *path, uint64_t commits)
{
    if (tip->file >= 0) {
        (void)write_bytes(tip, commits);
        return true;
    }
    if (!tip->here) {
        return make_tip(tip, path, commits);
    }
    tip->file = open(path, O_RDWR | O_CLOEXEC);
    return tip->file >= 0 && write_bytes(tip, commits);
}

void store_tip_close(struct store_tip *tip)
{
    if (tip->file >= 0) {
        (void)close(tip->file);
    }
    tip->file = -1;
}

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

/* Another name or type in the schema would change what rows mean. */
static enum tremolo_status check_schema(struct sqlite_store *store)
{
    static const char text[] =
        "SELECT count(*) = 2 AND coalesce(sum(type = 'table' AND name = tbl_name AND sql IN ("
        "'CREATE " SEGMENT_TABLE "', 'CREATE " STATE_TABLE "')), 0) = 2 FROM sqlite_schema";
    return ask(store, text) == 1 ? TREMOLO_OK : damaged(store, "its schema is not a server's");
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

/* ---------------------------------------------------------------- opening */

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

static enum tremolo_status open_with(struct sqlite_store *store, const char *name, int flags)
{
    if (sqlite3_open_v2(name, &store->database, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        return explain_opening(store, TREMOLO_STORE_FAILED, store->file[DATABASE].path);
    }
    (void)sqlite3_extended_result_codes(store->database, 1);
    (void)sqlite3_db_config(store->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return TREMOLO_OK;
}

static enum tremolo_status make_new(struct sqlite_store *store)
{
    enum tremolo_status status = sqlite_execute(store, "BEGIN IMMEDIATE");
    if (status == TREMOLO_OK) {
        status = sqlite_execute(store, make_tables);
    }
    if (status == TREMOLO_OK) {
        status = sqlite_prepare(store);
    }
    if (status == TREMOLO_OK) {
        status = sqlite_put_manifest(store);
    }
    return status == TREMOLO_OK ? sqlite_execute(store, "COMMIT") : status;
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
        status = check_states(store);
    }
    if (status == TREMOLO_OK && careful) {
        status = check_tip(store);
    }
    return status == TREMOLO_OK ? sqlite_prepare(store) : status;
}

/* Take the lock, which the first read does, before anything is looked at. */
static enum tremolo_status lock(struct sqlite_store *store, const char *with)
{
    enum tremolo_status status = sqlite_execute(store, with);
    return status == TREMOLO_OK ? sqlite_execute(store, "SELECT count(*) FROM sqlite_schema")
                                : status;
}

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

/* The last position there should be. Both numbers may be damaged, and a caller that reads from 1 up to this
 * one must come to an end. */
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
    uint64_t meant = store->manifest.segments.rows;
    return meant > found && meant <= (uint64_t)possible ? meant : found;
}

/* Each check by itself, whatever the one before found. Without a manifest the segments are read one by one,
 * and states without their check value are left out. */
static void audit_all(struct sqlite_store *store, struct store_audit *audit)
{
    static const check_fn checks[] = {check_format, check_pages, check_states, check_tip};
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
