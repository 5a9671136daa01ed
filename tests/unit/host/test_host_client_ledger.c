/* test_host_client_ledger.c -- a ledger is made only when asked for, has one user
 * at a time, and an older copy of it is noticed. */
#include "client_world.h"

#include <errno.h>
#include <fcntl.h>

#include "ledger_file.h"

static void test_no_ledger_without_enrolment(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    world.options.enrol = false;
    assert_status(report(&world, &receipt), TREMOLO_LEDGER_MISSING);
    assert_int_equal(world.server.requests, 0);
    /* Nothing is left in a directory that is not a device's. */
    world.options.state_directory = world.folder.root;
    assert_status(report(&world, &receipt), TREMOLO_LEDGER_MISSING);
    assert_int_equal(rmdir(world.folder.root), 0);
    end(&world);
}

static void test_two_clients_exclude_each_other(void **state)
{
    struct world world;
    struct tremolo_client *second = NULL;
    (void)state;
    struct tremolo_client_receipt receipt = {0};
    begin(&world, NULL, NULL, NULL, NULL);
    assert_status(report(&world, &receipt), TREMOLO_OK); /* which makes the ledger */
    assert_status(tremolo_client_open(&second, world.why, &world.options, &world.around),
                  TREMOLO_LEDGER_BUSY);
    assert_null(second);
    tremolo_client_close(world.client);
    world.client = NULL;
    assert_status(open_client(&world), TREMOLO_OK);
    end(&world);
}

/* The shell works on $STATE, the state directory, with the client closed. */
static void meddle(struct world *world, const char *command)
{
    tremolo_client_close(world->client);
    world->client = NULL;
    assert_int_equal(setenv("STATE", world->folder.state, 1), 0);
    assert_int_equal(system(command), 0);
}

/* A client always enrols with a budget of epsilon; a ledger without one is another program's. */
static void test_a_ledger_without_epsilon_is_refused(void **state)
{
    static struct tremolo_work work;
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    struct tremolo_ledger_file *ledger = NULL;
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    struct tremolo_ledger_file_options options = {.directory = world.folder.state, .create = true};
    assert_status(tremolo_ledger_file_open(&ledger, NULL, &options), TREMOLO_OK);
    assert_status(tremolo_device_enrol(&work, tremolo_ledger_file_platform(ledger), 1u << 30, 0),
                  TREMOLO_OK);
    tremolo_ledger_file_close(ledger);
    assert_status(report(&world, &receipt), TREMOLO_LEDGER_DAMAGED);
    assert_non_null(strstr(world.why, "no budget of epsilon"));
    assert_int_equal(world.server.requests, 0);
    end(&world);
}

/* A client that may enrol gets no second budget where a ledger cannot be read. */
static void test_damage_is_not_absence(void **state)
{
    static const char both_slots_of_one_entry[] =
        "for block in 4 20; do dd if=/dev/zero of=$STATE/ledger bs=1024 seek=$block count=1"
        " conv=notrunc 2>/dev/null; done";
    static const char *const damage[] = {
        "truncate -s 4096 $STATE/ledger",
        "truncate -s 0 $STATE/ledger",
        "dd if=/dev/zero of=$STATE/ledger bs=4096 seek=1 count=8 conv=notrunc 2>/dev/null",
        "dd if=/dev/urandom of=$STATE/ledger bs=4096 seek=1 count=8 conv=notrunc 2>/dev/null",
        both_slots_of_one_entry,
    };
    (void)state;
    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        struct world world;
        struct tremolo_client_receipt receipt = {0};
        begin(&world, NULL, NULL, NULL, NULL);
        assert_status(report(&world, &receipt), TREMOLO_OK);
        meddle(&world, damage[i]);
        assert_status(report(&world, &receipt), TREMOLO_LEDGER_DAMAGED);
        assert_non_null(strstr(world.why, "damaged"));
        assert_int_equal(world.server.reports, 1);
        end(&world);
    }
}

/* A total that is below one report's charge must not become the device's for life. */
static void test_refused_total_makes_no_ledger(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    policy.epsilon_total = 0.01;
    world.options.policy = &policy;
    assert_status(report(&world, &receipt), TREMOLO_BUDGET_EXHAUSTED);
    assert_non_null(strstr(tremolo_client_why(world.client), "less than one report"));
    meddle(&world, "test ! -e $STATE");
    world.options.policy = NULL;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    end(&world);
}

/* ---------------------------------------------------------------- a name that does not come */

static struct {
    struct tremolo_files system;
    struct tremolo_files files; /* the system's, except what fails below */
    bool no_rename;             /* of the ledger that is made */
    bool no_sync;               /* of the state directory, */
    const char *state;
    int directory; /* the directory with this descriptor */
} flaky;

static int flaky_open(void *context, const char *path, int flags, unsigned mode)
{
    int fd = flaky.system.open(context, path, flags, mode);
    flaky.directory = strcmp(path, flaky.state) == 0 ? fd : flaky.directory;
    return fd;
}

static int flaky_fsync(void *context, int fd)
{
    if (flaky.no_sync && fd == flaky.directory) {
        errno = EIO;
        return -1;
    }
    return flaky.system.fsync(context, fd);
}

static int flaky_rename(void *context, const char *from, const char *to)
{
    if (flaky.no_rename && strstr(from, "ledger.new") != NULL) {
        errno = EIO;
        return -1;
    }
    return flaky.system.rename(context, from, to);
}

static void begin_flaky(struct world *world, bool with_counter)
{
    begin(world, NULL, NULL, NULL, NULL);
    world->options.counter_file = with_counter ? world->folder.counter : NULL;
    flaky.system = tremolo_files_system();
    flaky.files = flaky.system;
    flaky.files.open = flaky_open;
    flaky.files.fsync = flaky_fsync;
    flaky.files.rename = flaky_rename;
    flaky.state = world->folder.state;
    flaky.directory = -1;
    flaky.no_rename = false;
    flaky.no_sync = false;
    world->around.files = &flaky.files;
}

/* However often the same client tries, nothing leaves from a ledger that has no name. */
static void test_nothing_leaves_without_a_name(void **state)
{
    (void)state;
    for (int with_counter = 0; with_counter < 2; with_counter++) {
        struct world world;
        struct tremolo_client_receipt receipt = {0};
        begin_flaky(&world, with_counter == 1);
        flaky.no_rename = true;
        assert_status(report(&world, &receipt), TREMOLO_STORAGE_FAILED);
        for (int i = 0; i < 3; i++) {
            assert_status(tremolo_client_report(world.client, &receipt), TREMOLO_STORAGE_FAILED);
        }
        assert_int_equal(world.server.reports, 0);
        flaky.no_rename = false;
        assert_status(tremolo_client_report(world.client, &receipt), TREMOLO_OK);
        meddle(&world, "test ! -e $STATE/ledger.new");
        end(&world);
    }
}

/* A name that might not last is made to before anything leaves, by the same client and by others. */
static void test_nothing_leaves_before_the_name_lasts(void **state)
{
    (void)state;
    for (int with_counter = 0; with_counter < 2; with_counter++) {
        struct world world;
        struct tremolo_client_receipt receipt = {0};
        begin_flaky(&world, with_counter == 1);
        assert_status(open_with_sample(&world), TREMOLO_OK);
        flaky.no_sync = true;
        assert_status(tremolo_client_report(world.client, &receipt), TREMOLO_STORAGE_FAILED);
        assert_status(tremolo_client_report(world.client, &receipt), TREMOLO_STORAGE_FAILED);
        assert_status(report(&world, &receipt), TREMOLO_STORAGE_FAILED);
        assert_int_equal(world.server.reports, 0);
        flaky.no_sync = false;
        assert_status(report(&world, &receipt), TREMOLO_OK);
        end(&world);
    }
}

static void begin_with_counter(struct world *world)
{
    struct tremolo_client_receipt receipt = {0};
    begin(world, "protocol", "{\"kind\": \"iterative\", \"rounds\": 4}", NULL, NULL);
    world->options.counter_file = world->folder.counter;
    world->server.moves_on = true;
    assert_status(report(world, &receipt), TREMOLO_OK);
}

/* With a counter, an older copy of the state is refused, and so is no state. */
static void test_counter_catches_old_copies(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    (void)state;
    begin_with_counter(&world);
    meddle(&world, "cp -r $STATE $STATE.old");
    assert_status(report(&world, &receipt), TREMOLO_OK);
    assert_status(report(&world, &receipt), TREMOLO_OK);
    meddle(&world, "rm -r $STATE && cp -r $STATE.old $STATE");
    assert_status(report(&world, &receipt), TREMOLO_LEDGER_ROLLED_BACK);
    meddle(&world, "rm -r $STATE");
    assert_status(report(&world, &receipt), TREMOLO_LEDGER_ROLLED_BACK);
    assert_int_equal(world.server.reports, 3);
    end(&world);
}

/* Neither forgetting to name the counter nor losing its file opens the ledger. */
static void test_counter_cannot_be_left_out(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    (void)state;
    begin_with_counter(&world);
    world.options.counter_file = NULL;
    assert_status(report(&world, &receipt), TREMOLO_LEDGER_ROLLED_BACK);
    assert_non_null(strstr(world.why, "made with a counter"));
    world.options.counter_file = world.folder.counter;
    assert_int_equal(unlink(world.folder.counter), 0);
    assert_status(report(&world, &receipt), TREMOLO_STORAGE_FAILED);
    assert_non_null(strstr(world.why, "read the counter"));
    assert_int_equal(world.server.reports, 1);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_ledger_without_enrolment),
        cmocka_unit_test(test_two_clients_exclude_each_other),
        cmocka_unit_test(test_damage_is_not_absence),
        cmocka_unit_test(test_refused_total_makes_no_ledger),
        cmocka_unit_test(test_a_ledger_without_epsilon_is_refused),
        cmocka_unit_test(test_nothing_leaves_without_a_name),
        cmocka_unit_test(test_nothing_leaves_before_the_name_lasts),
        cmocka_unit_test(test_counter_catches_old_copies),
        cmocka_unit_test(test_counter_cannot_be_left_out),
    };
    return cmocka_run_group_tests_name("host client: ledger", tests, NULL, NULL);
}
