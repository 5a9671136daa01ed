/* test_server_move.c -- a study that is taken out of a store while things go wrong.
 *
 * A data directory gets all of a study or nothing of it: whatever happens to the first
 * move (a report comes in, a folder is behind, any call to the broker fails or is
 * the process's last), a second one finds a directory without a report and
 * moves each of them once. The broker is one in memory, behind the real tremolo_study_move. */
#include "testing.h"

#include <sys/wait.h>
#include <unistd.h>

#include "fake_nats.h"
#include "server.h"
#include "tremolo_server.h"

enum { REPORTS = SEGMENT_REPORTS };

static char directory[64];
static struct worker worker;

/* ---------------------------------------------------------------- world */

static void remove_directory(void)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", directory);
    assert_int_equal(system(command), 0);
}

/* A study of REPORTS reports, all folded, and a name for a directory. */
static int begin(void **state)
{
    uint8_t outcomes[REPORTS];
    (void)world_begin(state);
    worker_hire(&worker, "one");
    worker_claim(&worker);
    world_send(0, REPORTS, outcomes);
    worker_fold(&worker);
    assert_int_equal(world_counted(), REPORTS);
    (void)snprintf(directory, sizeof directory, "/tmp/tremolo-move-XXXXXX");
    return mkdtemp(directory) == NULL;
}

static int end(void **state)
{
    worker_dismiss(&worker);
    remove_directory();
    return world_end(state);
}

static enum tremolo_status move_out(uint64_t *reports, char words[TREMOLO_WORDS_BYTES])
{
    struct tremolo_move_options options = {.study = study->served->id_text,
                                           .from_store.url = "nats://in-memory",
                                           .to_data = directory};
    return tremolo_study_move(reports, &options, words);
}

/* What the directory gives to a server that starts on it. */
static void expect_nothing_there(void)
{
    struct store *store = NULL;
    struct store_segment segment = {.position = 1};
    assert_status(store_open_sqlite(&store, directory, STORE_CAREFUL, NULL), TREMOLO_OK);
    assert_status(store->read(store, 1, &segment), TREMOLO_OK);
    assert_int_equal(segment.position, 0);
    store->close(store);
}

static void expect_moved_once(uint64_t expected)
{
    char words[TREMOLO_WORDS_BYTES];
    uint64_t reports = 0;
    char *estimate = NULL;
    char count[64];
    assert_status(move_out(&reports, words), TREMOLO_OK);
    assert_int_equal(reports, expected);
    assert_status(move_out(&reports, words), TREMOLO_BAD_ARGUMENT);
    assert_string_equal(words, "the study is in that directory already");
    assert_status(tremolo_server_offline(&estimate, directory, NULL, 0.95, words), TREMOLO_OK);
    (void)snprintf(count, sizeof count, "\"reports\":%llu", (unsigned long long)expected);
    assert_non_null(strstr(estimate, count));
    free(estimate);
}

/* ---------------------------------------------------------------- tests */

static void test_quiet_study(void **state)
{
    (void)state;
    expect_moved_once(REPORTS);
}

/* The first question about the log's end is answered; then a report comes. */
static enum tremolo_status state_before_report(struct bus *base, const char *stream,
                                               const char *subjects, struct bus_state *at)
{
    uint8_t outcome = 0;
    enum tremolo_status status = fake_state(base, stream, subjects, at);
    base->state = fake_state;
    world_send(REPORTS, 1, &outcome);
    assert_int_equal(outcome, OUTCOME_ACCEPTED);
    return status;
}

static void test_report_meanwhile(void **state)
{
    char words[TREMOLO_WORDS_BYTES];
    uint64_t reports = 0;
    (void)state;
    bus.base.state = state_before_report;
    assert_status(move_out(&reports, words), TREMOLO_STORE_FAILED);
    assert_non_null(strstr(words, "reports came in during the move"));
    expect_nothing_there();
    worker_fold(&worker);
    expect_moved_once(REPORTS + 1);
}

/* Acknowledged and not in the sums yet: the comparison fails, and so does the move. */
static void test_folder_behind(void **state)
{
    char words[TREMOLO_WORDS_BYTES];
    uint64_t reports = 0;
    uint8_t outcome = 0;
    (void)state;
    world_send(REPORTS, 1, &outcome);
    assert_status(move_out(&reports, words), TREMOLO_STORE_FAILED);
    assert_string_equal(words, "the sums at both places are not the same");
    expect_nothing_there();
    worker_fold(&worker);
    expect_moved_once(REPORTS + 1);
}

/* A process of its own, so that it can be killed. True: it moved the study. */
static bool move_in_child(enum fake_fault fault, long at)
{
    char words[TREMOLO_WORDS_BYTES];
    uint64_t reports = 0;
    int result = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        broker.fault = fault;
        broker.until_fault = at;
        _exit(move_out(&reports, words) == TREMOLO_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    return WIFEXITED(result) && WEXITSTATUS(result) == 0;
}

static void test_every_call_fails_or_kills(void **state)
{
    char words[TREMOLO_WORDS_BYTES];
    uint64_t reports = 0;
    (void)state;
    broker.calls = 0;
    assert_status(move_out(&reports, words), TREMOLO_OK);
    long calls = broker.calls;
    assert_true(calls > 10);
    unsigned failures = 0;
    for (long at = 0; at < 2 * calls; at++) {
        remove_directory();
        if (!move_in_child(at % 2 == 0 ? FAKE_REFUSES : FAKE_KILLS, at / 2)) {
            failures++;
            expect_nothing_there();
            expect_moved_once(REPORTS);
        }
    }
    assert_true(failures > calls); /* each kill, and refusals that are not tried again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_quiet_study, begin, end),
        cmocka_unit_test_setup_teardown(test_report_meanwhile, begin, end),
        cmocka_unit_test_setup_teardown(test_folder_behind, begin, end),
        cmocka_unit_test_setup_teardown(test_every_call_fails_or_kills, begin, end),
    };
    if (sodium_init() < 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
