/* test_host_client_ledger.c -- a ledger is made only when asked for, has one user
 * at a time, and an older copy of it is noticed. */
#include "client_world.h"

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

/* With a counter, an older copy of the state is refused, and so is no state. */
static void test_counter_catches_old_copies(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    char command[400];
    (void)state;
    begin(&world, "protocol", "{\"kind\": \"iterative\", \"rounds\": 4}", NULL, NULL);
    world.options.counter_file = world.folder.counter;
    world.server.moves_on = true;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    (void)snprintf(command, sizeof command, "cp -r %s %s.old", world.folder.state,
                   world.folder.state);
    assert_int_equal(system(command), 0);
    assert_status(report(&world, &receipt), TREMOLO_OK);
    assert_status(report(&world, &receipt), TREMOLO_OK);
    tremolo_client_close(world.client);
    world.client = NULL;
    (void)snprintf(command, sizeof command, "rm -r %s && cp -r %s.old %s", world.folder.state,
                   world.folder.state, world.folder.state);
    assert_int_equal(system(command), 0);
    assert_status(report(&world, &receipt), TREMOLO_LEDGER_ROLLED_BACK);
    (void)snprintf(command, sizeof command, "rm -r %s", world.folder.state);
    assert_int_equal(system(command), 0);
    assert_true(report(&world, &receipt) != TREMOLO_OK);
    assert_int_equal(world.server.reports, 3);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_ledger_without_enrolment),
        cmocka_unit_test(test_two_clients_exclude_each_other),
        cmocka_unit_test(test_counter_catches_old_copies),
    };
    return cmocka_run_group_tests_name("host client: ledger", tests, NULL, NULL);
}
