/* test_server_store.c -- a disk that fails: the server refuses, says why, and
 * loses nothing it acknowledged.
 *
 * The real SQLite store under a VFS whose writes or syncs fail from the n-th
 * on, for each n in turn. The oracle is the list of acknowledged reports: after
 * the disk is well again and the store opened anew, the fold must hold all of
 * them, and each once. */
#include "testing.h"

#include <sys/stat.h>
#include <unistd.h>

#include "fault_vfs.h"
#include "ingest.h"
#include "server_reports.h"

static uint8_t signing_public[TREMOLO_SIGNING_PUBLIC_BYTES];
static uint8_t signing_key[TREMOLO_SIGNING_SECRET_BYTES];
static uint8_t secret[TREMOLO_DEVICE_SECRET_BYTES];
static char directory[64];

static int make_directory(void **state)
{
    uint8_t seed[TREMOLO_SIGNING_SEED_BYTES] = {1};
    (void)state;
    fault.writes_left = -1;
    fault.syncs_left = -1;
    (void)snprintf(directory, sizeof directory, "/tmp/tremolo-store-XXXXXX");
    return mkdtemp(directory) == NULL ||
           tremolo_signing_keys(signing_public, signing_key, seed) != TREMOLO_OK;
}

static int remove_directory(void **state)
{
    static const char *const names[] = {"tremolo.db", "tremolo.db-wal", "tremolo.db-shm"};
    char path[128];
    (void)state;
    (void)chmod(directory, 0700);
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        (void)unlink(path);
    }
    return rmdir(directory);
}

static struct ingest *open_ingest(void)
{
    struct store *store = NULL;
    struct ingest *ingest = NULL;
    char words[200] = "";
    assert_status(store_open_sqlite(&store, directory, words, sizeof words), TREMOLO_OK);
    assert_status(ingest_start(&ingest, store, signing_key, secret, words, sizeof words),
                  TREMOLO_OK);
    return ingest;
}

static struct book *create(struct ingest *ingest, const char *text)
{
    struct job job = {.call = ingest_create_study, .text = text, .text_length = strlen(text)};
    assert_true(ingest_submit_and_wait(ingest, &job));
    return job.status == TREMOLO_OK ? job.book : NULL;
}

static enum server_outcome send_report(struct ingest *ingest, struct book *book,
                                       const struct server_report *report)
{
    int16_t row[8];
    struct arrival arrival = {.bytes = report->bytes, .length = (uint16_t)report->length};
    struct job job = {
        .book = book, .arrivals = &arrival, .rows = row, .count = 1, .bytes = report->length};
    check_arrival(&arrival, row, &book->check);
    assert_int_equal(arrival.outcome, OUTCOME_PENDING);
    assert_true(ingest_submit_and_wait(ingest, &job));
    return arrival.outcome;
}

enum { REPORTS = 12 };

/* Fold the reports that were acknowledged, here. */
static void expect_fold(struct book *book, const struct server_report *reports, const int *acked)
{
    struct tremolo_moments *expected = NULL;
    static uint8_t ours[200000];
    static uint8_t theirs[200000];
    assert_status(
        tremolo_moments_new(&expected, 3, book->release.wire_max, book->release.response_max),
        TREMOLO_OK);
    for (size_t i = 0; i < REPORTS; i++) {
        int16_t row[8];
        struct arrival arrival = {.bytes = reports[i].bytes, .length = (uint16_t)reports[i].length};
        check_arrival(&arrival, row, &book->check);
        if (acked[i]) {
            assert_status(tremolo_moments_add(expected, row, &arrival.bucket, 1), TREMOLO_OK);
        }
    }
    size_t length = tremolo_moments_encoded_bytes(expected);
    assert_int_equal(length, tremolo_moments_encoded_bytes(book->rounds[0].moments));
    assert_true(length <= sizeof ours);
    assert_status(tremolo_moments_encode(expected, ours, length), TREMOLO_OK);
    assert_status(tremolo_moments_encode(book->rounds[0].moments, theirs, length), TREMOLO_OK);
    assert_memory_equal(ours, theirs, length);
    tremolo_moments_free(expected);
}

/* Send all reports with the fault armed after `healthy` of its steps, heal,
 * open anew, look; then send all again: each must be known or taken. */
static void run_with_fault(_Atomic long *which, long healthy)
{
    static struct server_report reports[REPORTS];
    int acked[REPORTS] = {0};
    struct ingest *ingest = open_ingest();
    struct book *book = create(ingest, server_study_open);
    assert_non_null(book);
    for (size_t i = 0; i < REPORTS; i++) {
        server_report_make(&reports[i], book->study, 0, NULL, NULL);
    }
    atomic_store(which, healthy);
    for (size_t i = 0; i < REPORTS; i++) {
        enum server_outcome outcome = send_report(ingest, book, &reports[i]);
        assert_true(outcome == OUTCOME_ACCEPTED || outcome == OUTCOME_NOT_STORED);
        acked[i] = outcome == OUTCOME_ACCEPTED;
    }
    char words[200];
    if (!acked[REPORTS - 1]) {
        assert_int_not_equal(ingest_health(ingest, words, sizeof words), TREMOLO_OK);
        assert_true(strlen(words) > 10);
    }
    expect_fold(book, reports, acked);
    ingest_stop(ingest);
    atomic_store(which, -1);
    ingest = open_ingest();
    book = ingest_study(ingest, 0);
    assert_non_null(book);
    /* What was not acknowledged may have become durable all the same: the
     * device sends it again and hears so. What was must be there. */
    for (size_t i = 0; i < REPORTS; i++) {
        enum server_outcome outcome = send_report(ingest, book, &reports[i]);
        assert_true(outcome == OUTCOME_REPEATED || (outcome == OUTCOME_ACCEPTED && !acked[i]));
        acked[i] = 1;
    }
    expect_fold(book, reports, acked);
    ingest_stop(ingest);
    (void)remove_directory(NULL);
    (void)make_directory(NULL);
}

static void test_full_disk(void **state)
{
    (void)state;
    for (long healthy = 0; healthy < 60; healthy++) {
        run_with_fault(&fault.writes_left, healthy);
    }
}

static void test_failing_sync(void **state)
{
    (void)state;
    for (long healthy = 0; healthy < 14; healthy++) {
        run_with_fault(&fault.syncs_left, healthy);
    }
}

/* A full disk that is cleared goes on by itself; an unconfirmed sync does not. */
static void test_only_a_full_disk_heals(void **state)
{
    struct server_report report;
    struct ingest *ingest = open_ingest();
    struct book *book = create(ingest, server_study_open);
    (void)state;
    server_report_make(&report, book->study, 0, NULL, NULL);
    fault.writes_left = 0;
    assert_int_equal(send_report(ingest, book, &report), OUTCOME_NOT_STORED);
    assert_status(ingest_health(ingest, NULL, 0), TREMOLO_STORE_FULL);
    fault.writes_left = -1;
    assert_int_equal(send_report(ingest, book, &report), OUTCOME_ACCEPTED);
    assert_status(ingest_health(ingest, NULL, 0), TREMOLO_OK);
    server_report_make(&report, book->study, 0, NULL, NULL);
    fault.syncs_left = 0;
    assert_int_equal(send_report(ingest, book, &report), OUTCOME_NOT_STORED);
    fault.syncs_left = -1;
    assert_int_equal(send_report(ingest, book, &report), OUTCOME_NOT_STORED);
    assert_status(ingest_health(ingest, NULL, 0), TREMOLO_NOT_SYNCED);
    ingest_stop(ingest);
    ingest = open_ingest();
    book = ingest_study(ingest, 0);
    enum server_outcome outcome = send_report(ingest, book, &report);
    assert_true(outcome == OUTCOME_ACCEPTED || outcome == OUTCOME_REPEATED);
    ingest_stop(ingest);
}

/* Every acknowledgement is preceded by a sync: as many of one as of the other
 * when reports come one after the other. */
static void test_no_answer_before_a_sync(void **state)
{
    struct server_report report;
    struct ingest *ingest = open_ingest();
    struct book *book = create(ingest, server_study_open);
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        long before = fault.syncs;
        server_report_make(&report, book->study, 0, NULL, NULL);
        assert_int_equal(send_report(ingest, book, &report), OUTCOME_ACCEPTED);
        assert_true(fault.syncs > before);
    }
    ingest_stop(ingest);
}

static void test_a_second_server_is_refused(void **state)
{
    struct store *store = NULL;
    char words[200] = "";
    struct ingest *ingest = open_ingest();
    (void)state;
    assert_int_not_equal(store_open_sqlite(&store, directory, words, sizeof words), TREMOLO_OK);
    assert_non_null(strstr(words, "another server uses"));
    assert_non_null(strstr(words, directory));
    ingest_stop(ingest);
}

/* Root may write anywhere, so the place itself is one that cannot be. */
static void test_a_place_that_cannot_be_written(void **state)
{
    struct store *store = NULL;
    char words[200] = "";
    (void)state;
    assert_int_not_equal(store_open_sqlite(&store, "/proc/tremolo", words, sizeof words),
                         TREMOLO_OK);
    assert_non_null(strstr(words, "/proc/tremolo"));
}

/* The write-ahead log starts again every 2048 pages, whatever was read meanwhile. */
static void test_a_read_does_not_hold_the_log(void **state)
{
    enum { COMMITS = 1200, BYTES = 16384, MOST = 16 << 20 };
    static const uint8_t study[STORE_STUDY_BYTES] = {1};
    static uint8_t bytes[BYTES];
    struct store *store = NULL;
    struct store_segment segment = {0};
    struct stat log;
    char words[200] = "";
    char path[128];
    uint64_t position;
    (void)state;
    assert_status(store_open_sqlite(&store, directory, words, sizeof words), TREMOLO_OK);
    for (int i = 0; i < COMMITS; i++) {
        assert_status(store->append(store, study, bytes, sizeof bytes, &position), TREMOLO_OK);
        assert_status(store->sync(store), TREMOLO_OK);
        if (i == 5) {
            assert_status(store->read(store, 3, &segment), TREMOLO_OK);
            assert_int_equal(segment.position, 3);
        }
    }
    (void)snprintf(path, sizeof path, "%s/tremolo.db-wal", directory);
    assert_int_equal(stat(path, &log), 0);
    assert_in_range(log.st_size, 1, MOST); /* of 20 MB and more that were written */
    store->close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_full_disk, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(test_failing_sync, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(test_only_a_full_disk_heals, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(test_no_answer_before_a_sync, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(test_a_second_server_is_refused, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(test_a_read_does_not_hold_the_log, make_directory,
                                        remove_directory),
        cmocka_unit_test(test_a_place_that_cannot_be_written),
    };
    if (sodium_init() < 0) {
        return 1;
    }
    fault_vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
