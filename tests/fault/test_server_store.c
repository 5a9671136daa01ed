/* test_server_store.c -- a disk that fails: the server refuses, says why, and
 * loses nothing it acknowledged.
 *
 * The real SQLite store under a VFS with writes or syncs that fail from the n-th
 * on, for each n in turn. The oracle is the list of acknowledged reports: after
 * the disk is well again and the store opened again, the fold must hold all of
 * them, and each once. */
#include "testing.h"

#include "fault_vfs.h"
#include "server_world.h"

static int set_up(void **state)
{
    (void)state;
    fault.writes_left = -1;
    fault.syncs_left = -1;
    return !make_directory();
}

static int tear_down(void **state)
{
    (void)state;
    return remove_directory();
}

static struct writer *open_writer(void)
{
    return start_writer(open_store());
}

static struct served_study *create(struct writer *writer, const char *text)
{
    struct served_study *served = NULL;
    return create_study(&served, writer, text) == TREMOLO_OK ? served : NULL;
}

enum { REPORTS = 12 };

/* Fold the reports that were acknowledged, here. */
static void expect_fold(struct served_study *served, const struct server_report *reports,
                        const int *acked)
{
    struct tremolo_moments *expected = NULL;
    static uint8_t ours[200000];
    static uint8_t theirs[200000];
    assert_status(tremolo_release_sums(&expected, served->study), TREMOLO_OK);
    for (size_t i = 0; i < REPORTS; i++) {
        int16_t row[8];
        struct arrival arrival = {.bytes = reports[i].bytes, .length = (uint16_t)reports[i].length};
        check_report(&arrival, row, &served->check);
        if (acked[i]) {
            assert_status(tremolo_release_fold(expected, served->study, row, &arrival.bucket, 1),
                          TREMOLO_OK);
        }
    }
    size_t length = tremolo_moments_encoded_bytes(expected);
    assert_int_equal(length, tremolo_moments_encoded_bytes(served->sums.rounds[0].moments));
    assert_true(length <= sizeof ours);
    assert_status(tremolo_moments_encode(expected, ours, length), TREMOLO_OK);
    assert_status(tremolo_moments_encode(served->sums.rounds[0].moments, theirs, length),
                  TREMOLO_OK);
    assert_memory_equal(ours, theirs, length);
    tremolo_moments_free(expected);
}

/* Send all reports with the fault armed after `healthy` of its steps, heal,
 * open again, look; then send all again: each must be known or taken. */
static void run_with_fault(_Atomic long *which, long healthy)
{
    static struct server_report reports[REPORTS];
    int acked[REPORTS] = {0};
    struct writer *writer = open_writer();
    struct served_study *served = create(writer, server_study_open);
    assert_non_null(served);
    for (size_t i = 0; i < REPORTS; i++) {
        server_report_make(&reports[i], served->study, 0, NULL, NULL);
    }
    atomic_store(which, healthy);
    for (size_t i = 0; i < REPORTS; i++) {
        enum server_outcome outcome = send_report(writer, served, &reports[i], "");
        assert_true(outcome == OUTCOME_ACCEPTED || outcome == OUTCOME_NOT_STORED);
        acked[i] = outcome == OUTCOME_ACCEPTED;
    }
    char words[TREMOLO_WORDS_BYTES];
    if (!acked[REPORTS - 1]) {
        assert_int_not_equal(batcher_health(&writer->batcher, words), TREMOLO_OK);
        assert_true(strlen(words) > 10);
    }
    expect_fold(served, reports, acked);
    writer_stop(writer);
    atomic_store(which, -1);
    writer = open_writer();
    served = studies_at(&writer->studies, 0);
    assert_non_null(served);
    /* What was not acknowledged may still have become durable: the
     * device sends it again and hears so. What was must be there. */
    for (size_t i = 0; i < REPORTS; i++) {
        enum server_outcome outcome = send_report(writer, served, &reports[i], "");
        assert_true(outcome == OUTCOME_REPEATED || (outcome == OUTCOME_ACCEPTED && !acked[i]));
        acked[i] = 1;
    }
    expect_fold(served, reports, acked);
    writer_stop(writer);
    (void)tear_down(NULL);
    (void)set_up(NULL);
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
    struct writer *writer = open_writer();
    struct served_study *served = create(writer, server_study_open);
    (void)state;
    server_report_make(&report, served->study, 0, NULL, NULL);
    fault.writes_left = 0;
    assert_int_equal(send_report(writer, served, &report, ""), OUTCOME_NOT_STORED);
    assert_status(batcher_health(&writer->batcher, NULL), TREMOLO_STORE_FULL);
    fault.writes_left = -1;
    assert_int_equal(send_report(writer, served, &report, ""), OUTCOME_ACCEPTED);
    assert_status(batcher_health(&writer->batcher, NULL), TREMOLO_OK);
    server_report_make(&report, served->study, 0, NULL, NULL);
    fault.syncs_left = 0;
    assert_int_equal(send_report(writer, served, &report, ""), OUTCOME_NOT_STORED);
    fault.syncs_left = -1;
    assert_int_equal(send_report(writer, served, &report, ""), OUTCOME_NOT_STORED);
    assert_status(batcher_health(&writer->batcher, NULL), TREMOLO_NOT_SYNCED);
    writer_stop(writer);
    writer = open_writer();
    served = studies_at(&writer->studies, 0);
    enum server_outcome outcome = send_report(writer, served, &report, "");
    assert_true(outcome == OUTCOME_ACCEPTED || outcome == OUTCOME_REPEATED);
    writer_stop(writer);
}

/* A proxy that asks for our health sends nothing while we say no. */
static void test_a_full_disk_heals_without_reports(void **state)
{
    struct server_report report;
    struct writer *writer = open_writer();
    struct served_study *served = create(writer, server_study_open);
    (void)state;
    server_report_make(&report, served->study, 0, NULL, NULL);
    fault.writes_left = 0;
    assert_int_equal(send_report(writer, served, &report, ""), OUTCOME_NOT_STORED);
    (void)usleep(1500000); /* it tries once a second, and must fail now */
    assert_status(batcher_health(&writer->batcher, NULL), TREMOLO_STORE_FULL);
    fault.writes_left = -1;
    for (int i = 0; i < 500 && batcher_health(&writer->batcher, NULL) != TREMOLO_OK; i++) {
        (void)usleep(10000);
    }
    assert_status(batcher_health(&writer->batcher, NULL), TREMOLO_OK);
    assert_int_equal(send_report(writer, served, &report, ""), OUTCOME_ACCEPTED);
    writer_stop(writer);
}

/* What was refused because of a report that was not stored in the end was not refused at all:
 * the study was not full, the samples not used up, no other bytes there. */
static void test_refusals_do_not_outlive_their_reason(void **state)
{
    static const char one_device[] =
        "{\"tremolo\": 1, \"title\": \"for one\", \"features\":"
        " [{\"name\": \"a\", \"low\": 0, \"high\": 1}],"
        " \"response\": {\"name\": \"y\", \"low\": 0, \"high\": 1},"
        " \"privacy\": {\"epsilon\": 4, \"protects\": \"features\"},"
        " \"limits\": {\"devices\": 1}, \"protocol\": {\"kind\": \"one-shot\"}}";
    struct server_report reports[2];
    struct arrival arrivals[2];
    int16_t rows[16];
    struct writer *writer = open_writer();
    struct served_study *served = create(writer, one_device);
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        server_report_make(&reports[i], served->study, 0, NULL, NULL);
        arrivals[i] =
            (struct arrival){.bytes = reports[i].bytes, .length = (uint16_t)reports[i].length};
        check_report(&arrivals[i], rows + i * served->check.row_values, &served->check);
    }
    struct job job = {.served = served, .reports = {arrivals, rows, 2}, .queued.bytes = 100};
    fault.writes_left = 0;
    assert_true(submit_and_wait(writer, &job));
    fault.writes_left = -1;
    assert_int_equal(arrivals[0].outcome, OUTCOME_NOT_STORED);
    assert_int_equal(arrivals[1].outcome, OUTCOME_NOT_STORED);
    assert_int_equal(send_report(writer, served, &reports[1], ""), OUTCOME_ACCEPTED);
    assert_int_equal(send_report(writer, served, &reports[0], ""), OUTCOME_CLOSED);
    writer_stop(writer);
}

/* Every acknowledgement is preceded by a sync: as many of one as of the other
 * when reports come one after the other. */
static void test_no_answer_before_a_sync(void **state)
{
    struct server_report report;
    struct writer *writer = open_writer();
    struct served_study *served = create(writer, server_study_open);
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        long before = fault.syncs;
        server_report_make(&report, served->study, 0, NULL, NULL);
        assert_int_equal(send_report(writer, served, &report, ""), OUTCOME_ACCEPTED);
        assert_true(fault.syncs > before);
    }
    writer_stop(writer);
}

static void test_a_second_server_is_refused(void **state)
{
    struct store *store = NULL;
    char words[TREMOLO_WORDS_BYTES] = "";
    struct writer *writer = open_writer();
    (void)state;
    assert_int_not_equal(store_open_sqlite(&store, directory, STORE_CAREFUL, words), TREMOLO_OK);
    assert_non_null(strstr(words, "a running server uses"));
    assert_non_null(strstr(words, directory));
    writer_stop(writer);
}

/* Root may write anywhere, so the place itself is one that cannot be. */
static void test_a_place_that_cannot_be_written(void **state)
{
    struct store *store = NULL;
    char words[TREMOLO_WORDS_BYTES] = "";
    (void)state;
    assert_int_not_equal(store_open_sqlite(&store, "/proc/tremolo", STORE_CAREFUL, words),
                         TREMOLO_OK);
    assert_non_null(strstr(words, "/proc/tremolo"));
}

/* The write-ahead log starts again every 2048 pages, whatever was read in between. */
static void test_a_read_does_not_hold_the_log(void **state)
{
    enum { COMMITS = 1200, BYTES = 16384, MOST = 16 << 20 };
    static const uint8_t study[STORE_STUDY_BYTES] = {1};
    static uint8_t bytes[BYTES];
    struct store *store = open_store();
    struct store_segment segment = {0};
    struct stat log;
    char path[128];
    uint64_t position;
    (void)state;
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
        cmocka_unit_test_setup_teardown(test_full_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failing_sync, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_a_full_disk_heals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_full_disk_heals_without_reports, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals_do_not_outlive_their_reason, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_no_answer_before_a_sync, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_second_server_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_read_does_not_hold_the_log, set_up, tear_down),
        cmocka_unit_test(test_a_place_that_cannot_be_written),
    };
    if (sodium_init() < 0) {
        return 1;
    }
    fault_vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
