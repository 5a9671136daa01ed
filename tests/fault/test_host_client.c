/* test_host_client.c -- kill -9, power cuts, full disks and failing syncs at
 * every step of a client's life.
 *
 * A child process is the device: it enrols, trusts, and reports round after
 * round, each time with fresh entropy, and is killed at step n of its file
 * system. The parent is the server and the oracle. It sees what was sent
 * through a pipe, starts the next child, and holds that
 *
 *     1. two reports for one round are the same bytes;
 *     2. the ledger, read by the parent after each death, has charged at
 *        least once for every round whose report was sent.
 *
 * A file system that lies about its writes shows that the oracle can fail. */
#include <sys/stat.h>
#include <sys/wait.h>

#include "policy.h"
#include "fake_server.h"
#include "faulty_files.h"
#include "ledger_file.h"
#include "study_internal.h"

enum { ROUNDS = 3, STEPS_MAX = 400, LIVES = 12 };

static const char protocol[] = "{\"kind\": \"iterative\", \"rounds\": 3}";

struct oracle {
    struct fake_server server;
    struct fake_folder folder;
    bool with_counter;
    bool seen[ROUNDS];
    uint8_t bytes[ROUNDS][TREMOLO_MAX_REPORT_BYTES];
    size_t length[ROUNDS];
    bool two_reports; /* invariant 1 broken */
    bool uncharged;   /* invariant 2 broken */
    uint32_t spent;   /* by the ledger, after the last death */
    unsigned deaths;
};

/* What a child sends, in one write to the pipe: a report's bytes, or no bytes
 * when the server has opened a round, which it never takes back. */
struct letter {
    uint16_t round;
    size_t length;
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
};

static int pipe_end = -1;

#ifdef TREMOLO_SANITIZED
/* Each of 1,800 children gets a copy of the page tables, so the parent must not keep hundreds of
 * megabytes of freed memory; a child frees less than this in its whole life. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=2";
}
#endif

static void send_letter(const uint8_t *bytes, size_t length)
{
    struct letter letter = {.length = length};
    memcpy(letter.bytes, bytes, length);
    (void)!write(pipe_end, &letter, sizeof letter);
}

/* ---------------------------------------------------------------- the device */

static struct tremolo_client_options options_of(struct oracle *oracle)
{
    struct tremolo_client_options options = TREMOLO_CLIENT_DEFAULTS;
    options.study_url = oracle->server.url;
    options.state_directory = oracle->folder.state;
    options.counter_file = oracle->with_counter ? oracle->folder.counter : NULL;
    options.trust_new = true;
    options.enrol = true;
    options.ledger_studies = 2;
    return options;
}

/* Live until killed or done. The exit code is the status of what failed. */
static int live(struct oracle *oracle, const struct tremolo_files *files)
{
    struct tremolo_client_options options = options_of(oracle);
    struct tremolo_client_surroundings around = fake_surroundings(&oracle->server);
    struct tremolo_client *client = NULL;
    struct tremolo_client_receipt receipt;
    char why[TREMOLO_CLIENT_WHY_BYTES];
    around.entropy = NULL; /* the kernel's: a report made anew would differ */
    around.files = files;
    oracle->server.on_report = send_letter;
    enum tremolo_status status = tremolo_client_open(&client, why, &options, &around);
    if (status == TREMOLO_OK) {
        status = tremolo_client_sample(client, study_base_sample, strlen(study_base_sample));
    }
    for (uint16_t round = oracle->server.round; round < ROUNDS && status == TREMOLO_OK; round++) {
        struct letter opened = {.round = round};
        oracle->server.round = round;
        (void)!write(pipe_end, &opened, sizeof opened);
        status = tremolo_client_report(client, &receipt);
    }
    tremolo_client_close(client);
    return (int)status;
}

/* ---------------------------------------------------------------- the oracle */

static void read_report(struct oracle *oracle, const struct letter *letter)
{
    struct tremolo_report report;
    assert_status(tremolo_report_decode(&report, letter->bytes, letter->length), TREMOLO_OK);
    assert_true(report.round < ROUNDS);
    unsigned round = report.round;
    if (oracle->seen[round] && (oracle->length[round] != letter->length ||
                                memcmp(oracle->bytes[round], letter->bytes, letter->length) != 0)) {
        oracle->two_reports = true;
    }
    oracle->seen[round] = true;
    oracle->length[round] = letter->length;
    memcpy(oracle->bytes[round], letter->bytes, letter->length);
}

static void read_letters(struct oracle *oracle, int from)
{
    struct letter letter;
    while (read(from, &letter, sizeof letter) == (ssize_t)sizeof letter) {
        if (letter.length == 0) {
            oracle->server.round = letter.round;
        } else {
            read_report(oracle, &letter);
        }
    }
}

static unsigned rounds_seen(const struct oracle *oracle)
{
    unsigned count = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        count += oracle->seen[i];
    }
    return count;
}

/* What the ledger has left, read without faults and without repairs that
 * count: opening it is what the next child would do, too. */
static void check_charges(struct oracle *oracle)
{
    static struct tremolo_work work;
    struct tremolo_ledger_file_options options = {
        .directory = oracle->folder.state,
        .counter = oracle->with_counter ? oracle->folder.counter : NULL};
    struct tremolo_ledger_file *ledger = NULL;
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    uint32_t budget = 0;
    uint32_t left = 0;
    uint64_t charge = tremolo_study_charge(tremolo_study_file_device(oracle->server.file));
    assert_status(tremolo_policy_budget(&budget, &policy), TREMOLO_OK);
    enum tremolo_status status = tremolo_ledger_file_open(&ledger, NULL, &options);
    if (status == TREMOLO_OK) {
        status = tremolo_device_budget(&work, &left, tremolo_ledger_file_platform(ledger));
    }
    tremolo_ledger_file_close(ledger);
    oracle->spent = status == TREMOLO_OK ? budget - left : 0;
    if (status == TREMOLO_OK ? left > budget - charge * rounds_seen(oracle)
                             : rounds_seen(oracle) > 0) {
        oracle->uncharged = true; /* or lost altogether, with a report out */
    }
}

/* One child from birth to death. The answer is its exit code, or -1 when it
 * was killed. */
static int one_life(struct oracle *oracle, enum fault_kind kind, int at, int error)
{
    int ends[2];
    int how = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct tremolo_files files = faulty_files(kind, at, error);
        pipe_end = ends[1];
        _exit(live(oracle, &files));
    }
    (void)close(ends[1]);
    read_letters(oracle, ends[0]);
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &how, 0), child);
    check_charges(oracle);
    oracle->deaths += WIFSIGNALED(how);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

static void begin_with(struct oracle *oracle, const char *protocol_json, bool with_counter)
{
    memset(oracle, 0, sizeof *oracle);
    fake_server_start(&oracle->server, study_with("protocol", protocol_json, NULL, NULL), 1);
    fake_folder_make(&oracle->folder);
    oracle->with_counter = with_counter;
}

static void begin(struct oracle *oracle, bool with_counter)
{
    begin_with(oracle, protocol, with_counter);
}

static void end(struct oracle *oracle)
{
    fake_server_stop(&oracle->server);
    fake_folder_remove(&oracle->folder);
}

/* ---------------------------------------------------------------- kills */

/* Killed at step n, then left alone: all rounds are reported, each once. */
static void kill_at_each_step(enum fault_kind kind, bool with_counter)
{
    unsigned killed = 0;
    for (int at = 1; at < STEPS_MAX; at++) {
        struct oracle oracle;
        begin(&oracle, with_counter);
        int first = one_life(&oracle, kind, at, 0);
        int second = one_life(&oracle, FAULT_NONE, 0, 0);
        assert_int_equal(second, TREMOLO_OK);
        assert_int_equal(rounds_seen(&oracle), ROUNDS);
        assert_false(oracle.two_reports);
        assert_false(oracle.uncharged);
        killed += oracle.deaths;
        end(&oracle);
        if (first != -1) {
            assert_int_equal(first, TREMOLO_OK); /* it outlived the last step */
            /* 3 commits of 2 writes and 2 syncs, and what enrolment takes. */
            assert_true(killed > 3 * 4 + 8);
            return;
        }
    }
    fail_msg("no end of steps");
}

static void test_kill_at_each_step(void **state)
{
    (void)state;
    kill_at_each_step(FAULT_KILL, false);
    kill_at_each_step(FAULT_KILL, true);
}

static void test_torn_write_at_each_step(void **state)
{
    (void)state;
    kill_at_each_step(FAULT_TORN, false);
    kill_at_each_step(FAULT_TORN, true);
}

static void test_power_cut_at_each_step(void **state)
{
    (void)state;
    kill_at_each_step(FAULT_POWER, false);
    kill_at_each_step(FAULT_POWER, true);
}

/* Killed again and again at random steps of short lives. 50 worlds, seed 1. */
static void test_many_deaths(void **state)
{
    struct fake_entropy random = {.state = 1};
    unsigned deaths = 0;
    (void)state;
    for (int world = 0; world < 50; world++) {
        struct oracle oracle;
        begin(&oracle, world % 2 == 1);
        for (int life = 0; life < LIVES; life++) {
            enum fault_kind kind = (enum fault_kind)(FAULT_KILL + (int)fake_below(&random, 3));
            (void)one_life(&oracle, kind, 1 + (int)fake_below(&random, 20), 0);
        }
        assert_int_equal(one_life(&oracle, FAULT_NONE, 0, 0), TREMOLO_OK);
        assert_int_equal(rounds_seen(&oracle), ROUNDS);
        assert_false(oracle.two_reports);
        assert_false(oracle.uncharged);
        deaths += oracle.deaths;
        end(&oracle);
    }
    assert_true(deaths > 150);
}

/* ---------------------------------------------------------------- failures */

/* Files that were begun and are neither finished nor gone. */
static unsigned left_behind(const struct oracle *oracle)
{
    static const char *const names[] = {"state/ledger.new", "state/server.key.new", "counter.new"};
    unsigned count = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[160];
        (void)snprintf(path, sizeof path, "%s/%s", oracle->folder.root, names[i]);
        count += access(path, F_OK) == 0;
    }
    return count;
}

/* A step fails, or all from one on do: the child refuses with the storage's
 * status, and the next one goes on from there. */
static void fail_at_each_step(enum fault_kind kind, int error)
{
    unsigned refused = 0;
    for (int at = 1; at < STEPS_MAX; at++) {
        struct oracle oracle;
        begin(&oracle, true);
        int first = one_life(&oracle, kind, at, error);
        assert_true(first == TREMOLO_OK || first == TREMOLO_STORAGE_FAILED);
        refused += first != TREMOLO_OK;
        /* Where only one step fails, tidying up does not. */
        assert_true(kind != FAULT_FAIL || left_behind(&oracle) == 0);
        int second = one_life(&oracle, FAULT_NONE, 0, 0);
        assert_int_equal(second, TREMOLO_OK);
        assert_int_equal(rounds_seen(&oracle), ROUNDS);
        assert_false(oracle.two_reports);
        assert_false(oracle.uncharged);
        end(&oracle);
        if (first == TREMOLO_OK) {
            assert_true(refused > 3 * 4);
            return;
        }
    }
    fail_msg("no end of steps");
}

static void test_full_disk(void **state)
{
    (void)state;
    fail_at_each_step(FAULT_FAIL, ENOSPC);
    fail_at_each_step(FAULT_FAIL_ON, ENOSPC);
}

static void test_failing_sync(void **state)
{
    (void)state;
    fail_at_each_step(FAULT_FAIL, EIO);
    fail_at_each_step(FAULT_SYNC, EIO);
}

static void test_read_only(void **state)
{
    (void)state;
    fail_at_each_step(FAULT_FAIL_ON, EROFS);
}

/* A round that is over costs nothing, whatever fails on the way to that
 * answer, in a study of one round or of several. */
static void test_a_closed_round_costs_nothing(void **state)
{
    static const char *const protocols[] = {"{\"kind\": \"one-shot\"}", protocol};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        int first = TREMOLO_STORAGE_FAILED;
        for (int at = 1; first != TREMOLO_ROUND_CLOSED; at++) {
            struct oracle oracle;
            begin_with(&oracle, protocols[i], true);
            oracle.server.state = "done";
            first = one_life(&oracle, FAULT_FAIL, at, EIO);
            assert_true(first == TREMOLO_ROUND_CLOSED || first == TREMOLO_STORAGE_FAILED);
            assert_int_equal(one_life(&oracle, FAULT_NONE, 0, 0), TREMOLO_ROUND_CLOSED);
            assert_int_equal(rounds_seen(&oracle), 0);
            assert_int_equal(oracle.spent, 0);
            /* The same server, open after all: now it costs. */
            oracle.server.state = "open";
            (void)one_life(&oracle, FAULT_NONE, 0, 0);
            assert_true(oracle.spent > 0);
            end(&oracle);
        }
    }
}

/* It says why. */
static void test_failures_have_reasons(void **state)
{
    struct oracle oracle;
    struct tremolo_client *client = NULL;
    char why[TREMOLO_CLIENT_WHY_BYTES] = "";
    (void)state;
    begin(&oracle, false);
    struct tremolo_client_options options = options_of(&oracle);
    struct tremolo_client_surroundings around = fake_surroundings(&oracle.server);
    struct tremolo_files files = faulty_files(FAULT_FAIL_ON, 1, EROFS);
    around.files = &files;
    struct tremolo_client_receipt receipt;
    assert_status(tremolo_client_open(&client, why, &options, &around), TREMOLO_OK);
    assert_status(tremolo_client_sample(client, study_base_sample, strlen(study_base_sample)),
                  TREMOLO_OK);
    assert_status(tremolo_client_report(client, &receipt), TREMOLO_STORAGE_FAILED);
    assert_non_null(strstr(tremolo_client_why(client), strerror(EROFS))); /* no ledger */
    tremolo_client_close(client);
    client = NULL;
    files = faulty_files(FAULT_NONE, 0, 0);
    assert_status(tremolo_client_open(&client, why, &options, &around), TREMOLO_OK);
    assert_status(tremolo_client_sample(client, study_base_sample, strlen(study_base_sample)),
                  TREMOLO_OK);
    assert_status(tremolo_client_report(client, &receipt), TREMOLO_OK);
    tremolo_client_close(client);
    client = NULL;
    oracle.server.round = 1;
    assert_status(tremolo_client_open(&client, why, &options, &around), TREMOLO_OK);
    assert_status(tremolo_client_sample(client, study_base_sample, strlen(study_base_sample)),
                  TREMOLO_OK);
    faulty.kind = FAULT_FAIL_ON;
    faulty.error = ENOSPC;
    assert_status(tremolo_client_report(client, &receipt), TREMOLO_STORAGE_FAILED);
    assert_non_null(strstr(tremolo_client_why(client), strerror(ENOSPC))); /* no charge */
    assert_int_equal(oracle.server.reports, 1);
    tremolo_client_close(client);
    end(&oracle);
}

/* A directory that really is read-only, for whoever is not root. */
static void test_read_only_directory(void **state)
{
    struct oracle oracle;
    char why[TREMOLO_CLIENT_WHY_BYTES] = "";
    struct tremolo_client *client = NULL;
    (void)state;
    begin(&oracle, false);
    struct tremolo_client_options options = options_of(&oracle);
    struct tremolo_client_surroundings around = fake_surroundings(&oracle.server);
    if (geteuid() != 0) {
        assert_int_equal(chmod(oracle.folder.root, 0500), 0);
    } else {
        options.state_directory = "/proc/tremolo"; /* nobody makes folders there */
    }
    struct tremolo_client_receipt receipt;
    assert_status(tremolo_client_open(&client, why, &options, &around), TREMOLO_OK);
    assert_status(tremolo_client_sample(client, study_base_sample, strlen(study_base_sample)),
                  TREMOLO_OK);
    assert_status(tremolo_client_report(client, &receipt), TREMOLO_STORAGE_FAILED);
    assert_true(tremolo_client_why(client)[0] != '\0');
    assert_int_equal(oracle.server.reports, 0);
    tremolo_client_close(client);
    (void)chmod(oracle.folder.root, 0700);
    end(&oracle);
}

/* ---------------------------------------------------------------- the oracle itself */

/* Storage that says it wrote and did not: a second life knows nothing of the
 * first, and the oracle must see it. */
static void test_the_oracle_can_fail(void **state)
{
    unsigned caught = 0;
    (void)state;
    for (int at = 1; at < 40; at++) {
        struct oracle oracle;
        begin(&oracle, false);
        (void)one_life(&oracle, FAULT_LIE, at, 0);
        (void)one_life(&oracle, FAULT_NONE, 0, 0);
        caught += oracle.two_reports || oracle.uncharged;
        end(&oracle);
    }
    assert_true(caught > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kill_at_each_step),
        cmocka_unit_test(test_torn_write_at_each_step),
        cmocka_unit_test(test_power_cut_at_each_step),
        cmocka_unit_test(test_many_deaths),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_failing_sync),
        cmocka_unit_test(test_read_only),
        cmocka_unit_test(test_a_closed_round_costs_nothing),
        cmocka_unit_test(test_failures_have_reasons),
        cmocka_unit_test(test_read_only_directory),
        cmocka_unit_test(test_the_oracle_can_fail),
    };
    return cmocka_run_group_tests_name("host client faults", tests, NULL, NULL);
}
