/* test_server_writer.c -- who writes a batch: the thread that brings it, or the writer.
 *
 * The store is a real one, except its sync: that only takes as long as a test says, so
 * that disks of any speed stand behind the queue. What was staged goes with the end. */
#include "testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "server_world.h"

enum { FAST_US = 0, SLOW_US = 20000, HELD_US = 300000, LARGE = 1 << 17, TRIES = 50 };

static struct writer *writer;
static struct served_study *served;
static unsigned sync_us;

static void rest(unsigned microseconds)
{
    struct timespec time = {0, (long)microseconds * 1000};
    (void)nanosleep(&time, NULL);
}

static enum tremolo_status pretend_to_sync(struct store *store)
{
    (void)store;
    if (sync_us > 0) {
        rest(sync_us);
    }
    return TREMOLO_OK;
}

static int set_up(void **state)
{
    (void)state;
    sync_us = FAST_US;
    if (!make_directory()) {
        return 1;
    }
    struct store *store = open_store();
    store->sync = pretend_to_sync;
    writer = start_writer(store);
    return create_study(&served, writer, server_study_open) != TREMOLO_OK;
}

static int tear_down(void **state)
{
    (void)state;
    writer_stop(writer);
    return remove_directory();
}

/* A report on its way, and who decided about it. */
struct sending {
    struct server_report report;
    struct arrival arrival;
    struct job job;
    int16_t row[8];
    pthread_t by;
    _Atomic bool done;
};

static void note_thread(struct job *job)
{
    struct sending *sending = job->context;
    sending->by = pthread_self();
    sending->done = true;
}

static void prepare(struct sending *sending, size_t bytes)
{
    server_report_make(&sending->report, served->study, 0, NULL, NULL);
    sending->arrival = (struct arrival){.bytes = sending->report.bytes,
                                        .length = (uint16_t)sending->report.length};
    sending->job = (struct job){.served = served,
                                .reports = {&sending->arrival, sending->row, 1},
                                .queued.bytes = bytes,
                                .done = note_thread,
                                .context = sending};
    sending->done = false;
    check_report(&sending->arrival, sending->row, &served->check);
    assert_int_equal(sending->arrival.outcome, OUTCOME_PENDING);
}

static void submit(struct sending *sending, size_t bytes)
{
    prepare(sending, bytes);
    assert_null(batcher_submit_all(&writer->batcher, &sending->job.queued));
}

static void wait_until_done(const struct sending *sending)
{
    for (int i = 0; i < 5000 && !sending->done; i++) {
        rest(1000);
    }
    assert_true(sending->done);
    assert_int_equal(sending->arrival.outcome, OUTCOME_ACCEPTED);
}

static bool is_done_here(const struct sending *sending)
{
    wait_until_done(sending);
    return pthread_equal(sending->by, pthread_self());
}

/* The writer looks in five times a second and may happen to be first, but not always. */
static void test_a_small_batch_is_written_where_it_is(void **state)
{
    struct sending sending;
    unsigned here = 0;
    (void)state;
    for (int i = 0; i < TRIES; i++) {
        submit(&sending, 60);
        here += is_done_here(&sending);
    }
    assert_true(here > TRIES / 2);
    assert_int_equal(served->sums.reports, TRIES);
}

static void test_a_large_batch_is_the_writers(void **state)
{
    struct sending sending;
    (void)state;
    submit(&sending, LARGE);
    assert_false(is_done_here(&sending));
}

/* One slow sync here tells; the next is waited for elsewhere, until syncs are fast again. */
static void test_nobody_waits_for_a_slow_disk_twice(void **state)
{
    struct sending sending;
    (void)state;
    sync_us = SLOW_US;
    submit(&sending, 60);
    wait_until_done(&sending);
    submit(&sending, 60);
    assert_false(is_done_here(&sending));
    sync_us = FAST_US;
    bool here = false;
    for (int i = 0; i < 4 * TRIES && !here; i++) {
        submit(&sending, 60);
        here = is_done_here(&sending);
    }
    assert_true(here);
}

static _Atomic bool held;

static void *hold_the_lock(void *argument)
{
    (void)argument;
    (void)pthread_mutex_lock(&writer->batcher.write_lock);
    held = true;
    rest(HELD_US);
    (void)pthread_mutex_unlock(&writer->batcher.write_lock);
    return NULL;
}

/* Somebody else is at it for long: we are back soon, and the writer does ours. */
static void test_nobody_waits_for_the_lock_for_long(void **state)
{
    struct sending sending;
    pthread_t thread;
    (void)state;
    held = false;
    assert_int_equal(pthread_create(&thread, NULL, hold_the_lock, NULL), 0);
    while (!held) {
        rest(100);
    }
    submit(&sending, 60);
    assert_false(sending.done);
    assert_false(is_done_here(&sending));
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static int64_t milliseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A change from a request thread, alone or behind a report: the writer is called for it. If
 * each waited until the writer looks in by itself, five times a second, all of them would
 * take twice as long as they may. */
static void test_the_writer_is_called_for_a_change(void **state)
{
    enum { CHANGES = 20, LOOK_MS = 200 };
    int64_t start = milliseconds();
    (void)state;
    for (int i = 0; i < CHANGES; i++) {
        struct sending sending = {.done = false};
        struct job change = job_create(server_study_open); /* it is there: nothing happens */
        change.done = note_thread;
        change.queued.alone = true;
        change.context = &sending;
        struct sending before;
        if (i % 2 == 0) {
            assert_null(batcher_submit_all(&writer->batcher, &change.queued));
        } else {
            prepare(&before, 60);
            before.job.queued.next = &change.queued;
            assert_null(batcher_submit_all(&writer->batcher, &before.job.queued));
            wait_until_done(&before);
        }
        for (int wait = 0; wait < 5000 && !sending.done; wait++) {
            rest(1000);
        }
        assert_true(sending.done);
        assert_false(pthread_equal(sending.by, pthread_self()));
    }
    assert_true(milliseconds() - start < CHANGES * LOOK_MS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_small_batch_is_written_where_it_is, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_large_batch_is_the_writers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nobody_waits_for_a_slow_disk_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nobody_waits_for_the_lock_for_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_writer_is_called_for_a_change, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
