/* test_server_damage.c -- what a server must not start on, row by row and frame by frame, and what it
 * must notice while it runs.
 *
 * Rows are changed by SQL, as damage that SQLite itself cannot see. The write-ahead log is damaged, which
 * the tip must find, and left as a crash leaves it, which must start. */
#include "testing.h"

#include <fcntl.h>

#include "fault_vfs.h"
#include "server_files.h"
#include "server.h"
#include "study_internal.h"

enum { OPEN_REPORTS = 4, WAL_HEAD = 32, WAL_FRAME = 24 + 4096 };

static struct file_image images[FILE_COUNT];
static char words[TREMOLO_WORDS_BYTES];

static int set_up(void **state)
{
    (void)state;
    return !make_directory();
}

static int tear_down(void **state)
{
    (void)state;
    files_free(images);
    return remove_directory();
}

static void expect_refused(enum store_consent consent, const char *why)
{
    struct writer *writer = NULL;
    enum tremolo_status status = try_writer(&writer, consent, words);
    if (status == TREMOLO_OK || strstr(words, why) == NULL) {
        fail_msg("expected '%s', got '%s'", why, words);
    }
}

static void expect_started(enum store_consent consent, uint64_t reports)
{
    struct writer *writer = NULL;
    if (try_writer(&writer, consent, words) != TREMOLO_OK) {
        fail_msg("refused: %s", words);
    }
    uint64_t found = 0;
    for (size_t i = 0; i < studies_count(&writer->studies); i++) {
        found += studies_at(&writer->studies, i)->sums.reports;
    }
    assert_int_equal(found, reports);
    writer_stop(writer);
}

/* What `tremolo check` says of the directory as it is. */
static void expect_checked(bool sound)
{
    char *json = NULL;
    enum tremolo_status status = tremolo_server_check(&json, directory, NULL, words);
    bool said = status == TREMOLO_OK && strstr(json, "\"sound\":true") != NULL;
    if (said != sound) {
        fail_msg("expected %ssound, got %s%s", sound ? "" : "not ", words,
                 json != NULL ? json : "");
    }
    free(json);
}

static void run_sql(const char *text)
{
    sqlite3 *database = NULL;
    char path[128];
    file_path(path, FILE_DATABASE);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    (void)sqlite3_exec(database, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
    if (sqlite3_exec(database, text, NULL, NULL, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", text, sqlite3_errmsg(database));
    }
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

/* ---------------------------------------------------------------- rows */

static void test_changed_rows_are_found(void **state)
{
    static const struct {
        const char *sql;
        const char *why;
    } cases[] = {
        /* One bit of a checkpoint's position counted reports twice. */
        {"UPDATE state SET value = x'0000000000000000' || substr(value, 9) WHERE kind = "
         "'checkpoint'",
         "checkpoint"},
        {"UPDATE state SET value = substr(value, 1, 15) || x'7f' || substr(value, 17)"
         " WHERE kind = 'round'",
         "round"},
        {"UPDATE state SET kind = 'rounc' WHERE kind = 'round'", "is of no known kind"},
        {"UPDATE state SET kind = 'probe' WHERE kind = 'checkpoint'",
         "does not have its check value"},
        {"UPDATE state SET key = substr(key, 1, 17) || x'05'"
         " WHERE kind = 'round' AND substr(key, 18) = x'01'",
         "does not have its check value"},
        {"DELETE FROM state WHERE kind = 'study'", "not the"},
        {"DELETE FROM state WHERE kind = 'checkpoint'", "not the"},
        {"DELETE FROM state WHERE kind = 'manifest'", "it has no manifest"},
        {"DELETE FROM state", "it has no manifest"},
        {"UPDATE segment SET study = zeroblob(16) WHERE position = 2",
         "segment 2 does not have its check value"},
        {"UPDATE segment SET study = (SELECT study FROM segment ORDER BY position DESC LIMIT 1)"
         " WHERE position = 1",
         "segment 1 does not have its check value"},
        {"UPDATE segment SET study = zeroblob(16), check_value = NULL WHERE position = 2",
         "segment 2 does not have its check value"},
        {"UPDATE segment SET position = 100 WHERE position = 3", "does not end where"},
        {"UPDATE segment SET position = 1 << 40"
         " WHERE position = (SELECT max(position) FROM segment)",
         "does not end where"},
        {"DROP TABLE segment", "its schema is not a server's"},
        {"DELETE FROM segment WHERE position = 3", "segment 3 is missing"},
        {"DELETE FROM segment WHERE position = (SELECT max(position) FROM segment)",
         "does not end where"},
        {"DELETE FROM segment", "does not end where"},
        {"UPDATE segment SET bytes = substr(bytes, 1, 20) || x'00' || substr(bytes, 22)"
         " WHERE position = 1",
         "segment 1, of study"},
        {"UPDATE segment SET check_value = x'00' WHERE position = 1",
         "segment 1 does not have its check value"},
        {"PRAGMA user_version = 0", "its format is 0"},
        {"PRAGMA user_version = 1", "its format is 1"},
        {"PRAGMA user_version = 3", "its format is 3"},
        {"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'study BLOB', "
         "'study TEXT')",
         "its schema is not a server's"},
        {"CREATE INDEX later ON segment (study)", "its schema is not a server's"},
    };
    struct writer *writer = start_writer(open_store());
    (void)state;
    fill_directory(writer, OPEN_REPORTS);
    writer_stop(writer);
    files_load(images);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        files_save(images);
        run_sql(cases[i].sql);
        expect_checked(false);
        expect_refused(STORE_CAREFUL, cases[i].why);
        expect_refused(STORE_ACCEPT_LOSS, cases[i].why); /* which is not a loss */
    }
    files_save(images);
    expect_checked(true);
    expect_started(STORE_CAREFUL, OPEN_REPORTS + 9);
}

static void *copy_of(const void *bytes, size_t length)
{
    void *copy = malloc(length);
    assert_non_null(copy);
    memcpy(copy, bytes, length);
    return copy;
}

struct found_state {
    uint8_t key[STORE_KEY_BYTES_MAX];
    size_t key_length;
    uint8_t *value;
    size_t length;
};

static enum tremolo_status keep_state(void *context, const uint8_t *key, size_t key_length,
                                      const uint8_t *value, size_t length)
{
    struct found_state *found = context;
    free(found->value);
    memcpy(found->key, key, key_length);
    found->key_length = key_length;
    found->value = copy_of(value, length);
    found->length = length;
    return TREMOLO_OK;
}

/* Rows that are whole, each by itself, and do not agree: as a bug would leave them. */
static void test_rows_must_agree(void **state)
{
    static const struct {
        const char *kind;
        size_t byte; /* of the value, or of the key */
        bool in_key;
        uint8_t change;
        const char *why;
    } cases[] = {
        {"checkpoint", 7, false, 0x01, "in its sums and"},     /* position: one report twice */
        {"checkpoint", 0, false, 0x01, "is ahead of the log"}, /* position: beyond all */
        {"checkpoint", 17, true, 0x04, "is not one of it"},    /* a round that is not there */
        {"checkpoint", 3, true, 0x04, "belongs to no study"},  /* a tag that is not there */
        {"round", 17, true, 0x04, "is not one of it, or not the next"},
        {"round", 3, true, 0x04, "belongs to no study"},
        {"study", 3, true, 0x04, "by this version its id is"},
    };
    struct writer *writer = start_writer(open_store());
    (void)state;
    fill_directory(writer, OPEN_REPORTS);
    writer_stop(writer);
    files_load(images);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct found_state found = {0};
        files_save(images);
        struct store *store = open_store();
        assert_status(store->each(store, cases[i].kind, keep_state, &found), TREMOLO_OK);
        uint8_t *changed = cases[i].in_key ? found.key : found.value;
        changed[cases[i].byte] ^= cases[i].change;
        assert_status(store->put(store, cases[i].kind, found.key, found.key_length, found.value,
                                 found.length),
                      TREMOLO_OK);
        assert_status(store->sync(store), TREMOLO_OK);
        store->close(store);
        free(found.value);
        expect_checked(false);
        expect_refused(STORE_CAREFUL, cases[i].why);
    }
    struct store *store = open_store();
    assert_status(store->put(store, "other", (const uint8_t *)"k", 1, (const uint8_t *)"v", 1),
                  TREMOLO_BAD_ARGUMENT);
    store->close(store);
}

/* ---------------------------------------------------------------- a study of another version */

enum { BALLOTS = 3, SHOWN_LETTERS = 20 };

static const char study_of_ballots[] =
    "{\"tremolo\": 1, \"title\": \"ballots\", \"features\": [{\"name\": \"a\", \"low\": 0, "
    "\"high\": "
    "1}, {\"name\": \"b\", \"low\": 0, \"high\": 1}], \"response\": {\"name\": \"y\", \"low\": 0, "
    "\"high\": 1}, \"privacy\": {\"epsilon\": 4, \"protects\": \"all\", \"neighbours\": \"any\"}, "
    "\"protocol\": {\"kind\": \"one-shot\"}}";

static enum tremolo_status keep_ballots(void *context, const uint8_t *key, size_t key_length,
                                        const uint8_t *value, size_t length)
{
    return memmem(value, length, "\"ballots\"", 9) != NULL
               ? keep_state(context, key, key_length, value, length)
               : TREMOLO_OK;
}

/* Three studies, of which one was published by a version whose ballots weigh the response otherwise;
 * its row is whole. */
static void fill_with_another_version(char id[TREMOLO_STUDY_ID_TEXT_BYTES],
                                      struct found_state *found)
{
    struct writer *writer = start_writer(open_store());
    struct served_study *served = NULL;
    struct server_report report;
    assert_status(create_study(&served, writer, study_of_ballots), TREMOLO_OK);
    memcpy(id, served->id_text, TREMOLO_STUDY_ID_TEXT_BYTES);
    for (unsigned i = 0; i < BALLOTS; i++) {
        server_report_make(&report, served->study, 0, NULL, NULL);
        assert_int_equal(send_report(writer, served, &report, ""), OUTCOME_ACCEPTED);
    }
    fill_directory(writer, OPEN_REPORTS);
    writer_stop(writer);
    struct store *store = open_store();
    assert_status(store->each(store, "study", keep_ballots, found), TREMOLO_OK);
    char *weight = memmem(found->value, found->length, "\"response_weight\":", 18);
    assert_non_null(weight);
    weight[18] = weight[18] == '9' ? '8' : '9';
    assert_status(
        store->put(store, "study", found->key, found->key_length, found->value, found->length),
        TREMOLO_OK);
    assert_status(store->sync(store), TREMOLO_OK);
    store->close(store);
}

/* What names it: the beginning of its id, its row, and why. */
static void expect_named(const char *said, const char *id, const struct found_state *found)
{
    char hex[2 * STORE_STUDY_BYTES + 1];
    char start[SHOWN_LETTERS + 16];
    (void)snprintf(start, sizeof start, "study %.*s...", SHOWN_LETTERS, id);
    (void)sodium_bin2hex(hex, sizeof hex, found->key, STORE_STUDY_BYTES);
    if (strstr(said, start) == NULL || strstr(said, hex) == NULL ||
        strstr(said, "tremolo.db, table state, kind study") == NULL ||
        strstr(said, "mechanism.response_weight is ") == NULL) {
        fail_msg("expected %s, %s and the reason, got '%s'", start, hex, said);
    }
}

static void expect_read(const char *id, enum tremolo_status expected, uint64_t reports)
{
    struct store *store = NULL;
    struct served_study *served = NULL;
    assert_status(store_read_sqlite(&store, directory, words), TREMOLO_OK);
    assert_status(served_load(&served, store, id, words), expected);
    assert_int_equal(served != NULL ? served->sums.reports : 0, reports);
    served_free(served);
    store->close(store);
}

/* The others are copied without it, and served. */
static void expect_rescued(const char *id, const struct found_state *found)
{
    char rescued[sizeof directory];
    char *json = NULL;
    assert_true(snprintf(rescued, sizeof rescued, "%s-new", directory) < (int)sizeof rescued);
    assert_status(tremolo_server_check(&json, directory, rescued, words), TREMOLO_OK);
    expect_named(json, id, found);
    free(json);
    char original[sizeof directory];
    memcpy(original, directory, sizeof original);
    memcpy(directory, rescued, sizeof directory);
    expect_checked(true);
    expect_started(STORE_CAREFUL, OPEN_REPORTS + 9);
    assert_int_equal(remove_directory(), 0);
    memcpy(directory, original, sizeof directory);
}

static void test_a_study_of_another_version(void **state)
{
    char id[TREMOLO_STUDY_ID_TEXT_BYTES];
    struct found_state found = {0};
    struct served_study *open = NULL;
    char *json = NULL;
    (void)state;
    fill_with_another_version(id, &found);
    files_load(images);
    expect_refused(STORE_CAREFUL, "is not served by this version");
    expect_named(words, id, &found);
    expect_refused(STORE_ACCEPT_LOSS, "is not served by this version"); /* which is not a loss */
    expect_checked(false);
    assert_status(tremolo_server_check(&json, directory, NULL, words), TREMOLO_OK);
    expect_named(json, id, &found);
    assert_null(strstr(json, "belongs to no study")); /* its rows are not found fault with */
    assert_non_null(strstr(json, "\"reports\":9,\"round\":1")); /* the others are recovered */
    free(json);
    expect_read(id, TREMOLO_BAD_STUDY, 0);
    expect_named(words, id, &found);
    expect_read(NULL, TREMOLO_STUDY_NOT_NAMED, 0);
    assert_status(served_new(&open, NULL, server_study_open, sizeof server_study_open - 1,
                             signing_key, secret),
                  TREMOLO_OK);
    expect_read(open->id_text, TREMOLO_OK, OPEN_REPORTS);
    served_free(open);
    expect_rescued(id, &found);
    struct file_image before = images[FILE_DATABASE];
    images[FILE_DATABASE] = (struct file_image){0};
    files_load(images); /* and nothing changed */
    assert_int_equal(images[FILE_DATABASE].length, before.length);
    assert_memory_equal(images[FILE_DATABASE].bytes, before.bytes, before.length);
    free(before.bytes);
    free(found.value);
}

/* ---------------------------------------------------------------- other formats */

/* The checkpoint as a version wrote it that watched no tails: the log is folded again, and they are
 * known. */
static void test_unwatched_sums_are_folded_anew(void **state)
{
    struct writer *writer = start_writer(open_store());
    struct found_state found = {0};
    struct tremolo_moments *moments = NULL;
    struct tremolo_tail tail;
    (void)state;
    fill_directory(writer, OPEN_REPORTS);
    writer_stop(writer);
    struct store *store = open_store();
    assert_status(store->each(store, "checkpoint", keep_state, &found), TREMOLO_OK);
    assert_status(tremolo_moments_decode(&moments, found.value + 8, found.length - 8), TREMOLO_OK);
    uint64_t reports = tremolo_moments_count(moments);
    assert_true(reports > 0 && tremolo_moments_tail(&tail, moments));
    tremolo_moments_unwatch(moments);
    size_t length = tremolo_moments_encoded_bytes(moments);
    assert_true(8 + length < found.length);
    assert_status(tremolo_moments_encode(moments, found.value + 8, length), TREMOLO_OK);
    assert_status(
        store->put(store, "checkpoint", found.key, found.key_length, found.value, 8 + length),
        TREMOLO_OK);
    assert_status(store->sync(store), TREMOLO_OK);
    store->close(store);
    assert_status(try_writer(&writer, STORE_CAREFUL, words), TREMOLO_OK);
    size_t seen = 0;
    for (size_t i = 0; i < studies_count(&writer->studies); i++) {
        const struct served_study *served = studies_at(&writer->studies, i);
        for (unsigned t = 0; t < served->sums.opened; t++) {
            assert_true(tremolo_moments_tail(&tail, served->sums.rounds[t].moments));
            seen += tail.reports == reports;
        }
    }
    assert_true(seen > 0);
    writer_stop(writer);
    tremolo_moments_free(moments);
    free(found.value);
}

/* A directory of a format before the first release is refused with a sentence that says so, and nothing in
 * it changes. */
static void test_another_format_is_refused(void **state)
{
    static const enum store_consent consents[] = {STORE_CAREFUL, STORE_ACCEPT_LOSS, STORE_MOVED};
    struct writer *writer = start_writer(open_store());
    struct store *store = NULL;
    (void)state;
    fill_directory(writer, OPEN_REPORTS);
    writer_stop(writer);
    run_sql("DELETE FROM state WHERE kind = 'manifest';"
            "ALTER TABLE segment DROP COLUMN check_value;"
            "ALTER TABLE state DROP COLUMN check_value; PRAGMA user_version = 1;");
    files_load(images);
    for (size_t i = 0; i < sizeof consents / sizeof consents[0]; i++) {
        expect_refused(consents[i], "was made before version 0.1.0: its format is 1");
    }
    assert_status(store_read_sqlite(&store, directory, words), TREMOLO_STORE_FAILED);
    assert_non_null(strstr(words, "was made before version 0.1.0: its format is 1"));
    expect_checked(false);
    struct file_image before = images[FILE_DATABASE];
    images[FILE_DATABASE] = (struct file_image){0};
    files_load(images);
    assert_int_equal(images[FILE_DATABASE].length, before.length);
    assert_memory_equal(images[FILE_DATABASE].bytes, before.bytes, before.length);
    free(before.bytes);
}

/* ---------------------------------------------------------------- the tip */

enum { TIP_BYTES = 48, TIP_INODE = 16, TIP_BORN = 24, TIP_CHECK_BYTES = 16 };

static uint8_t tip_now[TIP_BYTES];

static void load_tip(void)
{
    file_load(&images[FILE_TIP], FILE_TIP);
    assert_int_equal(images[FILE_TIP].length, TIP_BYTES);
    if (images[FILE_TIP].bytes != NULL) {
        memcpy(tip_now, images[FILE_TIP].bytes, sizeof tip_now);
    }
}

static void save_tip(size_t length)
{
    struct file_image image = {.bytes = tip_now, .length = length};
    file_save(&image, FILE_TIP);
}

/* A directory with a study that has no rounds to come: nothing asks whether it is a copy. */
static void leave_single(void)
{
    struct served_study *served = NULL;
    struct server_report report;
    struct writer *writer = start_writer(open_store());
    assert_status(create_study(&served, writer, server_study_open), TREMOLO_OK);
    server_report_make(&report, served->study, 0, NULL, NULL);
    assert_int_equal(send_report(writer, served, &report, ""), OUTCOME_ACCEPTED);
    writer_stop(writer);
}

static void expect_bad_tip(size_t length)
{
    save_tip(length);
    expect_checked(false);
    expect_refused(STORE_CAREFUL, "tremolo.db-tip is damaged");
    expect_refused(STORE_MOVED, "tremolo.db-tip is damaged");
}

static void test_a_damaged_tip(void **state)
{
    (void)state;
    leave_single();
    load_tip();
    for (size_t i = 0; i < TIP_BYTES; i++) {
        tip_now[i] ^= 0x20;
        expect_bad_tip(TIP_BYTES);
        tip_now[i] ^= 0x20;
    }
    for (size_t length = 1; length < TIP_BYTES; length += 23) {
        expect_bad_tip(length);
    }
    expect_started(STORE_ACCEPT_LOSS, 1);
    expect_checked(true);
    expect_started(STORE_CAREFUL, 1);
}

/* A tip that is whole, whatever it says of its place. */
static void sign_tip(void)
{
    enum { COVERED = TIP_BYTES - TIP_CHECK_BYTES };
    assert_int_equal(
        crypto_generichash(tip_now + COVERED, TIP_CHECK_BYTES, tip_now, COVERED, NULL, 0), 0);
    save_tip(TIP_BYTES);
}

/* A new file may get the inode number of one that was removed, and is another file. */
static void test_a_tip_with_a_used_inode(void **state)
{
    static const uint8_t unknown[8] = {0};
    struct writer *writer = start_writer(open_store());
    (void)state;
    fill_directory(writer, OPEN_REPORTS);
    writer_stop(writer);
    load_tip();
    if (memcmp(tip_now + TIP_BORN, unknown, sizeof unknown) != 0) { /* the file system knows */
        tip_now[TIP_BORN + 7] ^= 1;
        sign_tip();
        expect_refused(STORE_CAREFUL, "the directory is a copy");
        tip_now[TIP_BORN + 7] ^= 1;
    }
    tip_now[TIP_INODE + 7] ^= 1;
    sign_tip();
    expect_refused(STORE_CAREFUL, "the directory is a copy");
    tip_now[TIP_INODE + 7] ^= 1;
    sign_tip();
    expect_started(STORE_CAREFUL, OPEN_REPORTS + 9);
    /* Where the file system did not tell the time, the inode decides. */
    load_tip();
    memset(tip_now + TIP_BORN, 0, sizeof unknown);
    sign_tip();
    expect_started(STORE_CAREFUL, OPEN_REPORTS + 9);
    /* Another format is damage. */
    load_tip();
    tip_now[7] = '1';
    sign_tip();
    expect_refused(STORE_CAREFUL, "tremolo.db-tip is damaged");
}

/* ---------------------------------------------------------------- the write-ahead log */

/* A directory as a killed server leaves it; returns how many frames its log has. */
static size_t leave_log(void)
{
    struct writer *writer = start_writer(open_store());
    fill_directory(writer, OPEN_REPORTS);
    files_load(images);
    writer_stop(writer);
    files_save(images);
    return (images[FILE_LOG].length - WAL_HEAD) / WAL_FRAME;
}

static void put_back(void)
{
    files_save(images);
}

static uint8_t *frame_at(size_t frame)
{
    return images[FILE_LOG].bytes + WAL_HEAD + frame * WAL_FRAME;
}

static void test_damage_in_the_middle_of_a_log(void **state)
{
    size_t frames = leave_log();
    (void)state;
    for (size_t i = 0; i + 6 < frames; i += 3) { /* head, salt, checksum, page */
        static const size_t places[] = {0, 9, 17, 24, 2000};
        uint8_t *byte = frame_at(i) + places[i % 5];
        *byte ^= 0x10;
        put_back();
        expect_checked(false);
        expect_refused(STORE_CAREFUL, "commits that were acknowledged");
        *byte ^= 0x10;
    }
    for (size_t i = 0; i < WAL_HEAD; i++) {
        images[FILE_LOG].bytes[i] ^= 0x04;
        put_back();
        expect_refused(STORE_CAREFUL, "commits that were acknowledged");
        images[FILE_LOG].bytes[i] ^= 0x04;
    }
    put_back();
    expect_started(STORE_CAREFUL, OPEN_REPORTS + 9);
}

/* Each start carries the log over: one that cannot must not go on, or what a crash left stays
 * in it, with later frames behind. */
static void test_a_log_that_is_not_carried_over(void **state)
{
    (void)leave_log();
    (void)state;
    struct store *store = open_store();
    atomic_store(&fault.writes_left, 0);
    enum tremolo_status status = store->sync(store);
    atomic_store(&fault.writes_left, -1);
    assert_status(status, TREMOLO_STORE_FULL);
    store->close(store);
    expect_started(STORE_CAREFUL, OPEN_REPORTS + 9);
}

/* At its end damage looks like an interrupted write, and a cut like a log that was shorter: the tip
 * knows better. */
static void test_a_log_that_lost_its_end(void **state)
{
    size_t frames = leave_log();
    size_t whole = images[FILE_LOG].length;
    (void)state;
    frame_at(frames - 1)[100] ^= 1;
    put_back();
    expect_refused(STORE_CAREFUL, "lacks 1 of the");
    frame_at(frames - 1)[100] ^= 1;
    for (size_t cut = 1; cut < frames; cut += 5) {
        images[FILE_LOG].length = whole - cut * WAL_FRAME;
        put_back();
        expect_checked(false);
        expect_refused(STORE_CAREFUL, "of the");
    }
    images[FILE_LOG].length = 0;
    put_back();
    expect_refused(STORE_CAREFUL, "commits that were acknowledged");
    images[FILE_LOG].length = whole;
    /* All of it gone is not an empty server. */
    size_t database = images[FILE_DATABASE].length;
    images[FILE_DATABASE].length = 0;
    images[FILE_LOG].length = 0;
    put_back();
    expect_refused(STORE_CAREFUL, "commits that were acknowledged");
    expect_started(STORE_ACCEPT_LOSS, 0);
    images[FILE_DATABASE].length = database;
    images[FILE_LOG].length = whole;
    /* Somebody who knows goes on, and has no older tip afterwards. */
    frame_at(frames - 1)[100] ^= 1;
    put_back();
    expect_started(STORE_ACCEPT_LOSS, OPEN_REPORTS + 8);
    expect_started(STORE_CAREFUL, OPEN_REPORTS + 8);
}

/* A power failure: the last transaction is torn, in any way, and the tip is behind. */
static void test_a_torn_write_is_no_damage(void **state)
{
    struct file_image tip = {0};
    struct writer *writer = start_writer(open_store());
    (void)state;
    fill_directory(writer, OPEN_REPORTS);
    file_load(&tip, FILE_TIP);
    struct served_study *rounds = studies_at(&writer->studies, 1);
    file_load(&images[FILE_LOG], FILE_LOG);
    size_t before = (images[FILE_LOG].length - WAL_HEAD) / WAL_FRAME;
    give_named(writer, rounds, 1, 5);
    files_load(images);
    writer_stop(writer);
    free(images[FILE_TIP].bytes);
    images[FILE_TIP] = tip;
    size_t after = (images[FILE_LOG].length - WAL_HEAD) / WAL_FRAME;
    assert_true(after >= before + 2); /* a segment and the manifest: more than one page */
    for (size_t i = before; i < after; i++) {
        frame_at(i)[500] ^= 1;
        put_back();
        expect_started(STORE_CAREFUL, OPEN_REPORTS + 9);
        frame_at(i)[500] ^= 1;
    }
    images[FILE_LOG].length = WAL_HEAD + before * WAL_FRAME + 1000;
    put_back();
    expect_started(STORE_CAREFUL, OPEN_REPORTS + 9);
}

/* A log that began again has frames of its earlier generation behind those in use: nothing is missing. */
static void test_an_earlier_generation_is_no_damage(void **state)
{
    enum { COMMITS = 640, BYTES = 16384 };
    static const uint8_t study[STORE_STUDY_BYTES] = {1};
    static uint8_t bytes[BYTES];
    struct store_segment segment = {0};
    struct store *store = open_store();
    uint64_t position;
    (void)state;
    for (int i = 0; i < COMMITS; i++) {
        assert_status(store->append(store, study, bytes, sizeof bytes, &position), TREMOLO_OK);
        assert_status(store->sync(store), TREMOLO_OK);
    }
    files_load(images);
    store->close(store);
    put_back();
    store = open_store();
    for (uint64_t at = 1; at <= COMMITS; at++) {
        assert_status(store->read(store, at, &segment), TREMOLO_OK);
        assert_int_equal(segment.position, at);
    }
    assert_status(store->read(store, COMMITS + 1, &segment), TREMOLO_OK);
    assert_int_equal(segment.position, 0);
    store->close(store);
}

/* ---------------------------------------------------------------- while it runs */

static void expect_stopped(struct writer *writer, struct served_study *served)
{
    enum { TRIES = 1000, PAUSE_US = 20000 }; /* it looks five times a second */
    struct server_report report;
    for (int i = 0; i < TRIES && batcher_health(&writer->batcher, NULL) == TREMOLO_OK; i++) {
        (void)usleep(PAUSE_US);
    }
    assert_status(batcher_health(&writer->batcher, words), TREMOLO_NOT_SYNCED);
    assert_non_null(strstr(words, "was removed or replaced"));
    server_report_make(&report, served->study, 0, NULL, NULL);
    assert_int_equal(send_report(writer, served, &report, ""), OUTCOME_NOT_STORED);
}

static void test_a_directory_that_is_gone(void **state)
{
    char other[80], path[128];
    (void)state;
    for (size_t which = 0; which <= FILE_COUNT; which++) {
        struct served_study *served = NULL;
        struct writer *writer = start_writer(open_store());
        assert_status(create_study(&served, writer, server_study_open), TREMOLO_OK);
        files_load(images);
        if (which < FILE_COUNT) { /* removed, and for the log also replaced by the same bytes */
            file_path(path, which);
            assert_int_equal(unlink(path), 0);
            if (which == FILE_LOG) {
                file_save(&images[which], which);
            }
        } else { /* the whole directory moves away and an empty one takes its place */
            (void)snprintf(other, sizeof other, "%s.away", directory);
            assert_int_equal(rename(directory, other), 0);
            assert_int_equal(mkdir(directory, 0700), 0);
        }
        expect_stopped(writer, served);
        writer_stop(writer);
        if (which == FILE_COUNT) {
            assert_int_equal(rmdir(directory), 0);
            assert_int_equal(rename(other, directory), 0);
        }
        assert_int_equal(remove_directory(), 0);
        assert_true(make_directory());
    }
}

/* ---------------------------------------------------------------- a restored backup */

/* A backup of round 0 is put back after devices have reported in round 1. Its round 1 would have other
 * vectors: no device may get them, and the old reports of round 1 may not count. */
static void test_a_restored_round_is_not_broadcast_again(void **state)
{
    struct file_image backup[FILE_COUNT] = {{0}};
    struct server_report old;
    struct served_study *served = NULL;
    uint8_t key[TREMOLO_MAC_KEY_BYTES];
    struct writer *writer = start_writer(open_store());
    (void)state;
    assert_status(create_study(&served, writer, server_study_rounds), TREMOLO_OK);
    for (unsigned i = 0; i < 6; i++) {
        give_named(writer, served, 0, i);
        if (i == 3) {
            writer_stop(writer);
            files_load(backup);
            writer = start_writer(open_store());
            served = studies_at(&writer->studies, 0);
        }
    }
    close_newest_round(writer, served);
    assert_status(tremolo_device_key(key, secret, (const uint8_t *)"device 1", 8), TREMOLO_OK);
    server_report_make(&old, served->study, 1, served->sums.rounds[1].vectors, key);
    assert_int_equal(send_report(writer, served, &old, "device 1"), OUTCOME_ACCEPTED);
    writer_stop(writer);
    /* The database alone is put back: it is older than its tip. */
    file_save(&backup[FILE_DATABASE], FILE_DATABASE);
    expect_refused(STORE_CAREFUL, "of the");
    /* All files, in a new place: a copy. */
    char path[128];
    file_path(path, FILE_TIP);
    int held = open(path, O_RDONLY); /* so that no new file gets its inode */
    assert_true(held >= 0);
    assert_int_equal(remove_directory(), 0);
    assert_true(make_directory());
    files_save(backup);
    assert_int_equal(close(held), 0);
    expect_refused(STORE_CAREFUL, "the directory is a copy");
    expect_refused(STORE_CAREFUL, "the directory is a copy"); /* asking again changes nothing */
    assert_status(try_writer(&writer, STORE_ACCEPT_LOSS, words), TREMOLO_OK);
    for (int i = 0; i < 2; i++) { /* and it stays so after a restart without the option */
        served = studies_at(&writer->studies, 0);
        assert_int_equal(served->sums.reports, 4);
        assert_int_equal(served->sums.round_limit, 1);
        assert_int_equal(send_report(writer, served, &old, "device 1"), OUTCOME_WRONG_ROUND);
        writer_stop(writer);
        writer = start_writer(open_store());
    }
    served = studies_at(&writer->studies, 0);
    give_named(writer, served, 0, 4); /* the vectors of round 0 are the same as ever */
    close_newest_round(writer, served);
    assert_int_equal(served->sums.opened, 1);
    assert_true(served_is_done(served));
    assert_int_not_equal(send_report(writer, served, &old, "device 1"), OUTCOME_ACCEPTED);
    writer_stop(writer);
    files_free(backup);
}

/* Who moved a directory says so, and rounds go on; one without rounds needs no word. */
static void test_a_moved_directory_goes_on(void **state)
{
    struct served_study *served = NULL;
    char path[128];
    struct writer *writer = start_writer(open_store());
    (void)state;
    fill_directory(writer, OPEN_REPORTS);
    writer_stop(writer);
    file_path(path, FILE_TIP);
    assert_int_equal(unlink(path), 0);
    expect_refused(STORE_CAREFUL, "the directory is a copy");
    expect_started(STORE_MOVED, OPEN_REPORTS + 9);
    writer = start_writer(open_store());
    served = studies_at(&writer->studies, 1);
    served = served->terms->rounds > 1 ? served : studies_at(&writer->studies, 0);
    close_newest_round(writer, served);
    assert_int_equal(served->sums.opened, 3);
    writer_stop(writer);
    assert_int_equal(remove_directory(), 0);
    assert_true(make_directory());
    writer = start_writer(open_store());
    assert_status(create_study(&served, writer, server_study_open), TREMOLO_OK);
    writer_stop(writer);
    file_path(path, FILE_TIP);
    assert_int_equal(unlink(path), 0);
    expect_started(STORE_CAREFUL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_changed_rows_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rows_must_agree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_study_of_another_version, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unwatched_sums_are_folded_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_another_format_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_damaged_tip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_tip_with_a_used_inode, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damage_in_the_middle_of_a_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_log_that_is_not_carried_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_log_that_lost_its_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_torn_write_is_no_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_earlier_generation_is_no_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_directory_that_is_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_restored_round_is_not_broadcast_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_moved_directory_goes_on, set_up, tear_down),
    };
    if (sodium_init() < 0) {
        return 1;
    }
    fault_vfs_install();
    atomic_store(&fault.no_syncs, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
