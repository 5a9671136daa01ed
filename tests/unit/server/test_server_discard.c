/* test_server_discard.c -- reports of a span of time no longer count.
 *
 * A flood comes between two groups of honest reports and is discarded. What is left must be, to the bit,
 * what a server has that never saw the flood: at once, after a restart, folded again from the log,
 * and in a directory that was rescued. Times are whole seconds, so that the test waits for the next one. */
#include "testing.h"

#include <time.h>

#include "server_world.h"
#include "server.h"
#include "study_internal.h"

enum { BEFORE = 20, FLOOD = 30, AFTER = 10, HONEST = BEFORE + AFTER };

static struct writer *writer;
static struct served_study *served;
static struct server_report honest[HONEST], flood[FLOOD];
static int64_t flood_begins, flood_ends;

static int set_up(void **state)
{
    (void)state;
    writer = NULL;
    return make_directory() ? 0 : 1;
}

static int tear_down(void **state)
{
    (void)state;
    writer_stop(writer);
    writer = NULL;
    return remove_directory();
}

static void open_again(void)
{
    writer_stop(writer);
    writer = start_writer(open_store());
    served = studies_at(&writer->studies, 0);
}

static int64_t next_second(void)
{
    time_t now = time(NULL);
    while (time(NULL) == now) {
        (void)usleep(10000);
    }
    return (int64_t)time(NULL);
}

static void make(struct server_report *report)
{
    server_report_make(report, served->study, 0, NULL, NULL);
    assert_true(report->length > 0);
}

static enum server_outcome send(const struct server_report *report)
{
    return send_report(writer, served, report, "");
}

static enum tremolo_status discard(uint64_t *reports, int64_t from, int64_t to)
{
    struct job job = {.kind = JOB_DISCARD, .served = served, .discard = {from, to, 99}};
    assert_true(submit_and_wait(writer, &job));
    *reports = job.discard.reports;
    return job.status;
}

static void send_all(const char *study)
{
    assert_status(create_study(&served, writer, study), TREMOLO_OK);
    for (unsigned i = 0; i < HONEST; i++) {
        make(&honest[i]);
    }
    for (unsigned i = 0; i < FLOOD; i++) {
        make(&flood[i]);
    }
    for (unsigned i = 0; i < BEFORE; i++) {
        assert_int_equal(send(&honest[i]), OUTCOME_ACCEPTED);
    }
    flood_begins = next_second();
    for (unsigned i = 0; i < FLOOD; i++) {
        assert_int_equal(send(&flood[i]), OUTCOME_ACCEPTED);
    }
    flood_ends = next_second();
    for (unsigned i = BEFORE; i < HONEST; i++) {
        assert_int_equal(send(&honest[i]), OUTCOME_ACCEPTED);
    }
}

/* The sums of a study that only ever got the honest ones. */
static struct tremolo_moments *honest_sums(void)
{
    struct tremolo_moments *sums = NULL;
    assert_status(tremolo_release_sums(&sums, served->study), TREMOLO_OK);
    for (unsigned i = 0; i < HONEST; i++) {
        int16_t row[8];
        struct arrival arrival = {.bytes = honest[i].bytes, .length = (uint16_t)honest[i].length};
        check_report(&arrival, row, &served->check);
        assert_int_equal(arrival.outcome, OUTCOME_PENDING);
        uint8_t bucket = (uint8_t)served_bucket(served, &arrival);
        assert_status(tremolo_release_fold(sums, served->study, row, &bucket, 1), TREMOLO_OK);
    }
    return sums;
}

static void assert_honest(const struct served_study *study)
{
    static uint8_t bytes[2][1 << 20];
    struct tremolo_moments *wanted = honest_sums();
    size_t length = tremolo_moments_encoded_bytes(wanted);
    assert_true(length <= sizeof bytes[0]);
    assert_int_equal(tremolo_moments_encoded_bytes(study->sums.rounds[0].moments), length);
    assert_status(tremolo_moments_encode(wanted, bytes[0], length), TREMOLO_OK);
    assert_status(tremolo_moments_encode(study->sums.rounds[0].moments, bytes[1], length),
                  TREMOLO_OK);
    assert_memory_equal(bytes[0], bytes[1], length);
    assert_int_equal(study->sums.reports, HONEST);
    tremolo_moments_free(wanted);
}

static void test_a_flood_is_gone(void **state)
{
    uint64_t reports = 0;
    char words[TREMOLO_WORDS_BYTES] = "";
    (void)state;
    open_again();
    send_all(server_study_open);
    assert_int_equal(served->sums.reports, HONEST + FLOOD);
    assert_status(discard(&reports, flood_begins, flood_ends), TREMOLO_OK);
    assert_int_equal(reports, FLOOD);
    assert_honest(served);
    /* What was there stays known. */
    assert_int_equal(send(&flood[3]), OUTCOME_REPEATED);
    assert_int_equal(send(&honest[3]), OUTCOME_REPEATED);
    assert_status(discard(&reports, flood_begins, flood_ends), TREMOLO_OK);
    assert_int_equal(reports, 0);
    assert_honest(served);
    open_again();
    assert_honest(served);
    assert_int_equal(send(&flood[4]), OUTCOME_REPEATED);
    assert_int_equal(served->sums.discarded, FLOOD);
    writer_stop(writer);
    writer = NULL;
    /* Offline. */
    struct store *store = NULL;
    struct served_study *read = NULL;
    assert_status(store_read_sqlite(&store, directory, words), TREMOLO_OK);
    assert_status(served_load(&read, store, NULL, words), TREMOLO_OK);
    assert_int_equal(read->sums.reports, HONEST);
    served_free(read);
    store->close(store);
}

/* A rescued directory has no checkpoints: its sums come from log and spans alone. */
static void test_it_is_a_function_of_the_log(void **state)
{
    uint64_t reports = 0;
    char original[sizeof directory];
    char rescued[sizeof directory + 8];
    char words[TREMOLO_WORDS_BYTES] = "";
    char *found = NULL;
    (void)state;
    open_again();
    send_all(server_study_open);
    assert_status(discard(&reports, flood_begins, flood_ends), TREMOLO_OK);
    writer_stop(writer);
    writer = NULL;
    (void)snprintf(rescued, sizeof rescued, "%s-new", directory);
    assert_status(tremolo_server_check(&found, directory, rescued, words), TREMOLO_OK);
    assert_non_null(strstr(found, "\"findings\":[]"));
    free(found);
    memcpy(original, directory, sizeof original);
    assert_int_equal(remove_directory(), 0);
    assert_int_equal(rename(rescued, original), 0);
    open_again();
    assert_honest(served);
    assert_int_equal(send(&flood[5]), OUTCOME_REPEATED);
    assert_int_equal(served->sums.discarded, FLOOD);
}

static void test_only_what_is_past_and_open(void **state)
{
    uint64_t reports = 0;
    int64_t now = (int64_t)time(NULL);
    (void)state;
    open_again();
    assert_status(create_study(&served, writer, server_study_open), TREMOLO_OK);
    struct server_report one;
    for (unsigned i = 0; i < 3; i++) {
        make(&one);
        assert_int_equal(send(&one), OUTCOME_ACCEPTED);
    }
    assert_status(discard(&reports, now + 1000, now + 2000), TREMOLO_SPAN_NOT_BEGUN);
    assert_status(discard(&reports, now, now), TREMOLO_BAD_ARGUMENT);
    assert_status(discard(&reports, -5, now), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(reports, 0);
    /* To the end of time is to the present: what comes next counts. */
    (void)next_second();
    assert_status(discard(&reports, 0, INT64_MAX), TREMOLO_OK);
    assert_int_equal(reports, 3);
    for (unsigned i = 0; i < 2; i++) {
        make(&one);
        assert_int_equal(send(&one), OUTCOME_ACCEPTED);
    }
    assert_int_equal(served->sums.reports, 2);
    open_again();
    assert_int_equal(served->sums.reports, 2);
    struct job job = {.kind = JOB_CLOSE, .served = served};
    assert_true(submit_and_wait(writer, &job));
    assert_status(job.status, TREMOLO_OK);
    assert_status(discard(&reports, 0, INT64_MAX), TREMOLO_STUDY_DONE);
    assert_int_equal(served->sums.reports, 2);
}

static enum tremolo_status (*real_sync)(struct store *store);
static bool is_full;

static enum tremolo_status full_sync(struct store *store)
{
    if (!is_full) {
        return real_sync(store);
    }
    store->discard(store);
    return TREMOLO_STORE_FULL;
}

/* A disk that takes nothing: all reports still count, and the same call succeeds later. */
static void test_a_full_disk_changes_nothing(void **state)
{
    uint64_t reports = 0;
    struct store *store = open_store();
    (void)state;
    real_sync = store->sync;
    store->sync = full_sync;
    writer = start_writer(store);
    send_all(server_study_open);
    is_full = true;
    assert_status(discard(&reports, flood_begins, flood_ends), TREMOLO_STORE_FULL);
    is_full = false;
    assert_int_equal(reports, 0);
    assert_int_equal(served->sums.reports, HONEST + FLOOD);
    assert_int_equal(tremolo_moments_count(served->sums.rounds[0].moments), HONEST + FLOOD);
    open_again();
    assert_int_equal(served->sums.reports, HONEST + FLOOD);
    assert_status(discard(&reports, flood_begins, flood_ends), TREMOLO_OK);
    assert_int_equal(reports, FLOOD);
    assert_honest(served);
}

/* Closed rounds have made what was broadcast since: they stay as they are. */
static void test_closed_rounds_stay(void **state)
{
    uint64_t reports = 0;
    struct server_report one;
    uint8_t key[TREMOLO_MAC_KEY_BYTES];
    char name[16];
    (void)state;
    open_again();
    assert_status(create_study(&served, writer, server_study_rounds), TREMOLO_OK);
    for (unsigned i = 0; i < 12; i++) {
        unsigned round = i / 6;
        (void)snprintf(name, sizeof name, "device %u", i);
        assert_status(tremolo_device_key(key, secret, (const uint8_t *)name, strlen(name)),
                      TREMOLO_OK);
        server_report_make(&one, served->study, round, served->sums.rounds[round].vectors, key);
        assert_int_equal(send_report(writer, served, &one, name), OUTCOME_ACCEPTED);
        struct job job = {.kind = JOB_CLOSE, .served = served};
        if (i == 5) {
            assert_true(submit_and_wait(writer, &job));
            assert_status(job.status, TREMOLO_OK);
        }
    }
    (void)next_second();
    assert_status(discard(&reports, 0, INT64_MAX), TREMOLO_OK);
    assert_int_equal(reports, 6);
    for (unsigned again = 0; again < 2; again++) {
        assert_int_equal(tremolo_moments_count(served->sums.rounds[0].moments), 6);
        assert_int_equal(tremolo_moments_count(served->sums.rounds[1].moments), 0);
        assert_int_equal(served->sums.reports, 6);
        open_again();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_flood_is_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_it_is_a_function_of_the_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_what_is_past_and_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_full_disk_changes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_closed_rounds_stay, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("server discard", tests, NULL, NULL);
}
