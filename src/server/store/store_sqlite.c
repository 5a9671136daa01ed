/* store_sqlite.c -- the embedded store: one SQLite database in WAL mode.
 *
 *     segment (position INTEGER PRIMARY KEY, study BLOB, bytes BLOB, check_value BLOB)
 *     state   (kind TEXT, key BLOB, value BLOB, check_value BLOB, PRIMARY KEY (kind, key))
 *
 * One row per group commit: a row per report with random keys would cost five to ten times as much.
 * No index by study either, because it would be one more page to write at each commit: the reader of one
 * study's log skips the others' rows. synchronous=FULL syncs the write-ahead log at each commit, and
 * sync() returns only after that.
 *
 * Every row that is read is compared with its check value, and the number and sum of all rows with the
 * manifest, a state that each commit renews. Opening, and what is compared then, is in store_open.c.
 *
 * A sync that the disk did not confirm is final for this handle: the kernel may have dropped the pages
 * and would report the next sync as good. */
#include "store_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "encoder.h"
#include "keys.h"

static const char *const statement_text[STATEMENT_COUNT] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [APPEND] = "INSERT INTO segment (position, study, bytes, check_value) VALUES (?1, ?2, ?3, ?4)",
    [PUT] = ("INSERT INTO state (kind, key, value, check_value) VALUES (?1, ?2, ?3, ?4)"
             " ON CONFLICT (kind, key) DO UPDATE"
             " SET value = excluded.value, check_value = excluded.check_value"),
    [OLD] = "SELECT check_value FROM state WHERE kind = ?1 AND key = ?2",
    [READ] = ("SELECT position, study, bytes, check_value FROM segment WHERE position >= ?1"
              " ORDER BY position LIMIT 1"),
    [EACH] = "SELECT kind, key, value, check_value FROM state WHERE kind = ?1 ORDER BY key",
};

/* All kinds of states. */
static const char *const store_kinds[] = {"checkpoint", "discarded", "final", "history", "manifest",
                                          "probe",      "round",     "study", NULL};

enum tremolo_status sqlite_say(struct sqlite_store *store, enum tremolo_status status,
                               const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(store->words, sizeof store->words, format, arguments);
    va_end(arguments);
    return status;
}

/* A failed fsync is final for this handle: `unsure` is set, and nothing is written afterwards. A
 * full disk differs from other failures because it passes. */
enum tremolo_status sqlite_judge(struct sqlite_store *store, int code)
{
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) {
        return TREMOLO_OK;
    }
    int extended = sqlite3_extended_errcode(store->database);
    (void)sqlite_say(store, TREMOLO_OK, "%s (%d)", sqlite3_errmsg(store->database), extended);
    if (extended == SQLITE_IOERR_FSYNC || extended == SQLITE_IOERR_DIR_FSYNC) {
        store->unsure = true;
        return TREMOLO_NOT_SYNCED;
    }
    return (code & 0xff) == SQLITE_FULL ? TREMOLO_STORE_FULL : TREMOLO_STORE_FAILED;
}

enum tremolo_status sqlite_damaged(struct sqlite_store *store, const char *what)
{
    return sqlite_say(store, TREMOLO_MALFORMED, "%s is damaged: %s", store->file[DATABASE].path,
                      what);
}

/* One step of a statement that returns no rows. */
static enum tremolo_status run(struct sqlite_store *store, enum statement which)
{
    if (store->unsure) {
        return TREMOLO_NOT_SYNCED;
    }
    int code = sqlite3_step(store->statement[which]);
    enum tremolo_status status = sqlite_judge(store, code);
    (void)sqlite3_reset(store->statement[which]);
    return status;
}

/* ---------------------------------------------------------------- check values
 *
 * Two sums are kept: the value of a row covers that row, the manifest covers which rows there
 * are. Both are compared whenever a row is read. */

/* A segment ends with the check value of its own bytes, which are not hashed again. */
static void check_value_of(uint8_t check[STORE_CHECK_BYTES], uint64_t position,
                           const uint8_t *study, const uint8_t *bytes, size_t length)
{
    uint8_t place[16 + STORE_STUDY_BYTES + STORE_CHECK_BYTES] = {0};
    size_t own = length < STORE_CHECK_BYTES ? length : STORE_CHECK_BYTES;
    bytes_put_u64(place, position);
    bytes_put_u64(place + 8, length);
    memcpy(place + 16, study, STORE_STUDY_BYTES);
    memcpy(place + 16 + STORE_STUDY_BYTES, bytes + length - own, own);
    (void)crypto_generichash(check, STORE_CHECK_BYTES, place, sizeof place, NULL, 0);
}

/* Lengths come before key and value, so that no two rows have the same input. */
static void check_state_of(uint8_t check[STORE_CHECK_BYTES], const char *kind, const uint8_t *key,
                           size_t key_length, const uint8_t *value, size_t length)
{
    crypto_generichash_state hash;
    uint8_t lengths[16];
    bytes_put_u64(lengths, key_length);
    bytes_put_u64(lengths + 8, length);
    (void)crypto_generichash_init(&hash, NULL, 0, STORE_CHECK_BYTES);
    (void)crypto_generichash_update(&hash, (const uint8_t *)kind, strlen(kind) + 1);
    (void)crypto_generichash_update(&hash, lengths, sizeof lengths);
    (void)crypto_generichash_update(&hash, key, key_length);
    (void)crypto_generichash_update(&hash, value, length);
    (void)crypto_generichash_final(&hash, check, STORE_CHECK_BYTES);
}

/* `times` is 1, or -1 to undo it: sums are taken modulo 2^64. */
static void tally_add(struct store_tally *tally, const uint8_t check[STORE_CHECK_BYTES],
                      int64_t times)
{
    tally->rows += (uint64_t)times;
    tally->sum[0] += (uint64_t)times * bytes_get_u64(check);
    tally->sum[1] += (uint64_t)times * bytes_get_u64(check + 8);
}

static bool tally_equal(const struct store_tally *a, const struct store_tally *b)
{
    return a->rows == b->rows && a->sum[0] == b->sum[0] && a->sum[1] == b->sum[1];
}

/* A manifest is seven numbers in the order of its struct. */
enum { MANIFEST_NUMBERS = MANIFEST_BYTES / 8 };
_Static_assert(sizeof(struct store_manifest) == MANIFEST_BYTES, "a manifest has no gap");

static void manifest_encode(uint8_t bytes[MANIFEST_BYTES], const struct store_manifest *manifest)
{
    uint64_t number[MANIFEST_NUMBERS];
    memcpy(number, manifest, sizeof number);
    for (size_t i = 0; i < MANIFEST_NUMBERS; i++) {
        bytes_put_u64(bytes + 8 * i, number[i]);
    }
}

static void manifest_decode(struct store_manifest *manifest, const uint8_t bytes[MANIFEST_BYTES])
{
    uint64_t number[MANIFEST_NUMBERS];
    for (size_t i = 0; i < MANIFEST_NUMBERS; i++) {
        number[i] = bytes_get_u64(bytes + 8 * i);
    }
    memcpy(manifest, number, sizeof number);
}

/* ---------------------------------------------------------------- the tip */

enum { TIP_BYTES = 48, TIP_CHECK_BYTES = 16, TIP_MAGIC_BYTES = 8 };

static const char tip_magic[] = "TREMTIP2";

static void check_of(uint8_t check[TIP_CHECK_BYTES], const uint8_t *bytes, size_t length)
{
    (void)crypto_generichash(check, TIP_CHECK_BYTES, bytes, length, NULL, 0);
}

/* Inode and birth time of an open file; born_ns 0 where the file system does not tell it. */
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

/* One byte more than a tip has was asked for, so a longer file is not whole either. */
static bool is_whole(const uint8_t *bytes, ssize_t got)
{
    uint8_t check[TIP_CHECK_BYTES];
    check_of(check, bytes, TIP_BYTES - TIP_CHECK_BYTES);
    return got == TIP_BYTES && memcmp(bytes, tip_magic, TIP_MAGIC_BYTES) == 0 &&
           memcmp(bytes + TIP_BYTES - TIP_CHECK_BYTES, check, sizeof check) == 0;
}

/* A new tip gets its name when it is whole and durable, so one that is not whole is damaged. */
void tip_read(struct store_tip *tip, const char *path)
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

/* 48 bytes in place, not synced: exact while the machine runs, perhaps behind after a power
 * failure. */
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

static void tip_close(struct store_tip *tip)
{
    if (tip->file >= 0) {
        (void)close(tip->file);
    }
    tip->file = -1;
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
        tip_close(tip);
    }
    return good;
}

/* Written in place if it is here and open; otherwise made as a new file, which is then "here".
 * False when that fails. A later failure to write is ignored: the tip is behind then. */
static bool tip_write(struct store_tip *tip, const char *path, uint64_t commits)
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

/* ---------------------------------------------------------------- writing
 *
 * append and put stage in one transaction, which sync commits together with the manifest. The
 * manifest in memory already counts what is staged; discard takes it back to the last commit. */

/* A transaction begins with the first thing that is staged. */
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

/* The position is the number of segments so far plus one: the manifest has both. */
static enum tremolo_status sqlite_append(struct store *base, const uint8_t *study,
                                         const uint8_t *bytes, size_t length, uint64_t *position)
{
    struct sqlite_store *store = sqlite_self(base);
    sqlite3_stmt *append = store->statement[APPEND];
    uint8_t check[STORE_CHECK_BYTES];
    if (length == 0 || length > STORE_SEGMENT_BYTES_MAX) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = begin(store);
    if (status != TREMOLO_OK) {
        return status;
    }
    uint64_t next = store->manifest.segments.rows + 1;
    check_value_of(check, next, study, bytes, length);
    (void)sqlite3_bind_int64(append, 1, (sqlite3_int64)next);
    (void)sqlite3_bind_blob(append, 2, study, STORE_STUDY_BYTES, SQLITE_STATIC);
    (void)sqlite3_bind_blob(append, 3, bytes, (int)length, SQLITE_STATIC);
    (void)sqlite3_bind_blob(append, 4, check, sizeof check, SQLITE_STATIC);
    status = run(store, APPEND);
    (void)sqlite3_clear_bindings(append);
    if (status == TREMOLO_OK) {
        tally_add(&store->manifest.segments, check, 1);
        *position = next;
    }
    return status;
}

/* For states and for the manifest itself. */
static enum tremolo_status put_row(struct sqlite_store *store, const char *kind, const uint8_t *key,
                                   size_t key_length, const uint8_t *value, size_t length,
                                   const uint8_t check[STORE_CHECK_BYTES])
{
    sqlite3_stmt *put = store->statement[PUT];
    (void)sqlite3_bind_text(put, 1, kind, -1, SQLITE_STATIC);
    (void)sqlite3_bind_blob(put, 2, key, (int)key_length, SQLITE_STATIC);
    (void)sqlite3_bind_blob(put, 3, value, (int)length, SQLITE_STATIC);
    (void)sqlite3_bind_blob(put, 4, check, STORE_CHECK_BYTES, SQLITE_STATIC);
    enum tremolo_status status = run(store, PUT);
    (void)sqlite3_clear_bindings(put);
    return status;
}

/* The check value of the row that is about to be replaced leaves the sum. */
static enum tremolo_status forget_old(struct sqlite_store *store, const char *kind,
                                      const uint8_t *key, size_t key_length)
{
    sqlite3_stmt *old = store->statement[OLD];
    (void)sqlite3_bind_text(old, 1, kind, -1, SQLITE_STATIC);
    (void)sqlite3_bind_blob(old, 2, key, (int)key_length, SQLITE_STATIC);
    int code = sqlite3_step(old);
    enum tremolo_status status = sqlite_judge(store, code);
    if (code == SQLITE_ROW && sqlite3_column_bytes(old, 0) == STORE_CHECK_BYTES) {
        tally_add(&store->manifest.states, sqlite3_column_blob(old, 0), -1);
    }
    (void)sqlite3_reset(old);
    (void)sqlite3_clear_bindings(old);
    return status;
}

static bool kind_is_known(const char *kind)
{
    size_t i = 0;
    while (store_kinds[i] != NULL && strcmp(store_kinds[i], kind) != 0) {
        i++;
    }
    return store_kinds[i] != NULL;
}

/* Replacing a row takes the old check value out of the sum first. */
static enum tremolo_status sqlite_put(struct store *base, const char *kind, const uint8_t *key,
                                      size_t key_length, const uint8_t *value, size_t length)
{
    struct sqlite_store *store = sqlite_self(base);
    uint8_t check[STORE_CHECK_BYTES];
    if (key_length > STORE_KEY_BYTES_MAX || length > STORE_STATE_BYTES_MAX ||
        !kind_is_known(kind)) {
        return TREMOLO_BAD_ARGUMENT;
    }
    enum tremolo_status status = begin(store);
    if (status == TREMOLO_OK) {
        status = forget_old(store, kind, key, key_length);
    }
    if (status == TREMOLO_OK) {
        check_state_of(check, kind, key, key_length, value, length);
        status = put_row(store, kind, key, key_length, value, length, check);
    }
    if (status == TREMOLO_OK) {
        tally_add(&store->manifest.states, check, 1);
    }
    return status;
}

/* The manifest does not count itself. */
enum tremolo_status sqlite_put_manifest(struct sqlite_store *store)
{
    static const uint8_t key[] = {'a', 'l', 'l'};
    uint8_t value[MANIFEST_BYTES], check[STORE_CHECK_BYTES];
    manifest_encode(value, &store->manifest);
    check_state_of(check, "manifest", key, sizeof key, value, sizeof value);
    return put_row(store, "manifest", key, sizeof key, value, sizeof value, check);
}

/* Back to the last commit, on the disk (ROLLBACK) and in memory (the manifest). */
static void sqlite_discard(struct store *base)
{
    struct sqlite_store *store = sqlite_self(base);
    if (store->staging && !sqlite3_get_autocommit(store->database)) {
        (void)sqlite3_step(store->statement[ROLLBACK]);
        (void)sqlite3_reset(store->statement[ROLLBACK]);
    }
    store->staging = false;
    store->manifest = store->committed;
}

/* Which file it is, by device and inode: sqlite_present() compares them. */
static bool remember(struct store_file *file)
{
    struct stat about;
    bool found = stat(file->path, &about) == 0;
    if (found) {
        file->device = about.st_dev;
        file->inode = about.st_ino;
    }
    return found;
}

/* The first sync: the caller has seen what is in the store and goes on. The write-ahead log begins again, so
 * that no later frames follow those that an interrupted write left in it. */
static enum tremolo_status accept(struct sqlite_store *store)
{
    if (store->accepted || store->unsure || store->staging) {
        return store->unsure ? TREMOLO_NOT_SYNCED : TREMOLO_OK;
    }
    (void)sqlite3_reset(store->statement[READ]);
    enum tremolo_status status =
        sqlite_judge(store, sqlite3_wal_checkpoint_v2(store->database, NULL,
                                                      SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL));
    if (status != TREMOLO_OK) {
        return status;
    }
    (void)sqlite3_db_config(store->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    if (!tip_write(&store->tip, store->file[TIP].path, store->committed.commits)) {
        return sqlite_say(store, TREMOLO_STORE_FAILED, "%s cannot be written",
                          store->file[TIP].path);
    }
    for (size_t i = 0; i < STORE_FILES; i++) {
        if (!remember(&store->file[i])) {
            return sqlite_say(store, TREMOLO_STORE_FAILED, "%s cannot be found: %s",
                              store->file[i].path, strerror(errno));
        }
    }
    store->accepted = true;
    return TREMOLO_OK;
}

/* COMMIT syncs the log (synchronous=FULL). The tip comes after it and before any answer. */
static enum tremolo_status sqlite_sync(struct store *base)
{
    struct sqlite_store *store = sqlite_self(base);
    if (!store->staging) {
        return accept(store);
    }
    store->manifest.commits++;
    enum tremolo_status status = sqlite_put_manifest(store);
    if (status == TREMOLO_OK) {
        status = run(store, COMMIT);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    store->staging = false;
    store->committed = store->manifest;
    if (accept(store) != TREMOLO_OK) { /* what is committed cannot be taken back */
        store->unsure = true;
        return TREMOLO_NOT_SYNCED;
    }
    (void)tip_write(&store->tip, store->file[TIP].path, store->committed.commits);
    return TREMOLO_OK;
}

/* A name that leads to another file, or to none: what is written from now on would be lost with
 * the open one. */
static enum tremolo_status sqlite_present(struct store *base)
{
    struct sqlite_store *store = sqlite_self(base);
    struct stat about;
    for (size_t i = 0; i < STORE_FILES && store->accepted; i++) {
        const struct store_file *file = &store->file[i];
        bool found = stat(file->path, &about) == 0;
        /* Any other failure is the disk's, and shows when something is written. */
        bool gone = !found && (errno == ENOENT || errno == ENOTDIR || errno == ESTALE);
        bool other = found && (about.st_dev != file->device || about.st_ino != file->inode);
        if (gone || other) {
            return sqlite_say(store, TREMOLO_STORE_FAILED,
                              "%s was removed or replaced while it was in use", file->path);
        }
    }
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- reading
 *
 * A pass over the log from its first segment adds up the check values and compares them with the
 * manifest at the end. Reading a single segment compares that one only. */

/* A pass over the log from its first position compares its end with the manifest. */
static enum tremolo_status check_end(struct sqlite_store *store, uint64_t from)
{
    const struct store_tally *all = &store->manifest.segments;
    if (from <= all->rows) {
        return sqlite_say(store, TREMOLO_MALFORMED, "segments %llu to %llu are missing",
                          (unsigned long long)from, (unsigned long long)all->rows);
    }
    if (store->seen.rows + 1 == from && !tally_equal(&store->seen, all)) {
        return sqlite_say(store, TREMOLO_MALFORMED,
                          "the log's %llu segments are not those of the manifest",
                          (unsigned long long)store->seen.rows);
    }
    return TREMOLO_OK;
}

/* Its position, its check value, and in a pass from the first segment the running sum. */
static enum tremolo_status check_segment(struct sqlite_store *store, uint64_t from,
                                         const struct store_segment *segment)
{
    sqlite3_stmt *read = store->statement[READ];
    uint8_t check[STORE_CHECK_BYTES];
    if (segment->position != (from > 0 ? from : 1)) {
        return sqlite_say(store, TREMOLO_MALFORMED, "segment %llu is missing",
                          (unsigned long long)(from > 0 ? from : 1));
    }
    check_value_of(check, segment->position, segment->study, segment->bytes, segment->length);
    if (sqlite3_column_bytes(read, 3) != STORE_CHECK_BYTES ||
        memcmp(sqlite3_column_blob(read, 3), check, sizeof check) != 0) {
        return sqlite_say(store, TREMOLO_MALFORMED, "segment %llu does not have its check value",
                          (unsigned long long)segment->position);
    }
    if (segment->position == 1) {
        store->seen = (struct store_tally){0};
    }
    if (segment->position == store->seen.rows + 1) {
        tally_add(&store->seen, check, 1);
    }
    return TREMOLO_OK;
}

/* The bytes are SQLite's, and live until the statement is used again. */
static enum tremolo_status sqlite_read(struct store *base, uint64_t from,
                                       struct store_segment *segment)
{
    struct sqlite_store *store = sqlite_self(base);
    sqlite3_stmt *read = store->statement[READ];
    (void)sqlite3_reset(read);
    (void)sqlite3_bind_int64(read, 1, (sqlite3_int64)from);
    int code = sqlite3_step(read);
    if (code == SQLITE_ROW) {
        segment->position = (uint64_t)sqlite3_column_int64(read, 0);
        segment->study = sqlite3_column_blob(read, 1);
        segment->bytes = sqlite3_column_blob(read, 2);
        segment->length = (size_t)sqlite3_column_bytes(read, 2);
        if (sqlite3_column_bytes(read, 1) != STORE_STUDY_BYTES || segment->length == 0) {
            return sqlite_say(store, TREMOLO_MALFORMED, "segment %llu names no study, or is empty",
                              (unsigned long long)segment->position);
        }
        return segment->study != NULL && segment->bytes != NULL
                   ? check_segment(store, from, segment)
                   : TREMOLO_NO_MEMORY;
    }
    enum tremolo_status status = sqlite_judge(store, code);
    (void)sqlite3_reset(read);
    if (status == TREMOLO_OK) {
        *segment = (struct store_segment){0};
        status = check_end(store, from);
    }
    return status;
}

/* ---------------------------------------------------------------- all states
 *
 * What a start reads before it trusts any row: every state, and the manifest among them. */

/* The first 20 bytes of a key are enough to find the row. */
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

/* Compare a row with its check value. SQLite says NULL for what is not there and for what it has no memory
 * for. */
static enum tremolo_status check_row(uint8_t check[STORE_CHECK_BYTES], struct sqlite_store *store,
                                     sqlite3_stmt *row)
{
    const char *kind = (const char *)sqlite3_column_text(row, 0);
    const uint8_t *key = sqlite3_column_blob(row, 1);
    const uint8_t *value = sqlite3_column_blob(row, 2);
    const uint8_t *stored = sqlite3_column_blob(row, 3);
    if (sqlite3_errcode(store->database) == SQLITE_NOMEM) {
        return TREMOLO_NO_MEMORY;
    }
    if (kind == NULL || key == NULL || value == NULL || !kind_is_known(kind)) {
        return bad_state(store, row, "is of no known kind");
    }
    check_state_of(check, kind, key, (size_t)sqlite3_column_bytes(row, 1), value,
                   (size_t)sqlite3_column_bytes(row, 2));
    return stored != NULL && sqlite3_column_bytes(row, 3) == STORE_CHECK_BYTES &&
                   memcmp(check, stored, STORE_CHECK_BYTES) == 0
               ? TREMOLO_OK
               : bad_state(store, row, "does not have its check value");
}

/* One row of the pass over all states: counted, or taken as the manifest. */
static enum tremolo_status take_state(struct sqlite_store *store, sqlite3_stmt *row,
                                      struct store_tally *seen, bool *has_manifest)
{
    uint8_t check[STORE_CHECK_BYTES] = {0};
    enum tremolo_status status = check_row(check, store, row);
    if (status != TREMOLO_OK) {
        return status;
    }
    if (strcmp((const char *)sqlite3_column_text(row, 0), "manifest") != 0) {
        tally_add(seen, check, 1);
    } else if (sqlite3_column_bytes(row, 2) == MANIFEST_BYTES && !*has_manifest) {
        manifest_decode(&store->manifest, sqlite3_column_blob(row, 2));
        *has_manifest = true;
    } else {
        return bad_state(store, row, "has another length, or there are two");
    }
    return TREMOLO_OK;
}

enum tremolo_status sqlite_check_states(struct sqlite_store *store)
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
        return sqlite_damaged(store, "it has no manifest");
    }
    if (!tally_equal(&seen, &store->manifest.states)) {
        return sqlite_say(store, TREMOLO_MALFORMED,
                          "%s is damaged: it has %llu states, not the %llu of its manifest",
                          store->file[DATABASE].path, (unsigned long long)seen.rows,
                          (unsigned long long)store->manifest.states.rows);
    }
    return TREMOLO_OK;
}

/* An audit leaves out rows without their check value; all other callers stop at the first. */
static enum tremolo_status sqlite_each(struct store *base, const char *kind, store_state_fn visit,
                                       void *context)
{
    struct sqlite_store *store = sqlite_self(base);
    sqlite3_stmt *each = store->statement[EACH];
    enum tremolo_status status = TREMOLO_OK;
    int code = SQLITE_DONE;
    uint8_t check[STORE_CHECK_BYTES];
    (void)sqlite3_bind_text(each, 1, kind, -1, SQLITE_TRANSIENT);
    while (status == TREMOLO_OK && (code = sqlite3_step(each)) == SQLITE_ROW) {
        status = check_row(check, store, each);
        if (status == TREMOLO_MALFORMED && store->lenient) {
            status = TREMOLO_OK;
            continue;
        }
        if (status == TREMOLO_OK) {
            status =
                visit(context, sqlite3_column_blob(each, 1), (size_t)sqlite3_column_bytes(each, 1),
                      sqlite3_column_blob(each, 2), (size_t)sqlite3_column_bytes(each, 2));
        }
    }
    if (status == TREMOLO_OK) {
        status = sqlite_judge(store, code);
    }
    (void)sqlite3_reset(each);
    return status;
}

/* ---------------------------------------------------------------- the handle */

static const char *sqlite_explain(const struct store *base)
{
    return ((const struct sqlite_store *)(const void *)base)->words;
}

/* What is staged is rolled back by SQLite. After the first sync closing carries the log over. */
static void sqlite_close(struct store *base)
{
    struct sqlite_store *store = sqlite_self(base);
    for (size_t i = 0; i < STATEMENT_COUNT; i++) {
        (void)sqlite3_finalize(store->statement[i]);
    }
    (void)sqlite3_close(store->database);
    tip_close(&store->tip);
    free(store);
}

/* Once for the life of the store: statements are reset, not prepared again. */
enum tremolo_status sqlite_prepare(struct sqlite_store *store)
{
    enum tremolo_status status = TREMOLO_OK;
    for (size_t i = 0; i < STATEMENT_COUNT && status == TREMOLO_OK; i++) {
        status = sqlite_judge(store, sqlite3_prepare_v3(store->database, statement_text[i], -1,
                                                        SQLITE_PREPARE_PERSISTENT,
                                                        &store->statement[i], NULL));
    }
    return status;
}

struct sqlite_store *sqlite_new(void)
{
    struct sqlite_store *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->tip.file = -1;
    made->base = (struct store){.append = sqlite_append,
                                .put = sqlite_put,
                                .sync = sqlite_sync,
                                .discard = sqlite_discard,
                                .read = sqlite_read,
                                .each = sqlite_each,
                                .present = sqlite_present,
                                .explain = sqlite_explain,
                                .close = sqlite_close};
    return made;
}
