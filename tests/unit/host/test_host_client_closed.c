/* test_host_client_closed.c -- a study or a round that is not open costs nothing,
 * and what was charged while it was open is not lost. */
#include "policy.h"
#include "client_world.h"
#include "ledger_file.h"

static uint32_t whole_budget(void)
{
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    uint32_t budget = 0;
    assert_status(tremolo_policy_budget(&budget, &policy), TREMOLO_OK);
    return budget;
}

/* What the device has left, after a client was opened once. */
static uint32_t budget_left(struct world *world)
{
    static struct tremolo_work work;
    struct tremolo_ledger_file_options options = {.directory = world->folder.state};
    struct tremolo_ledger_file *ledger = NULL;
    uint32_t left = 0;
    tremolo_client_close(world->client);
    world->client = NULL;
    if (access(world->folder.state, F_OK) != 0) {
        return whole_budget(); /* nothing was ever made, so nothing was spent */
    }
    assert_status(tremolo_ledger_file_open(&ledger, NULL, &options), TREMOLO_OK);
    assert_status(tremolo_device_budget(&work, &left, tremolo_ledger_file_platform(ledger)),
                  TREMOLO_OK);
    tremolo_ledger_file_close(ledger);
    return left;
}

/* By the device's own date, whatever the server says; both ends to the second,
 * in studies of either kind. */
static void test_dates_are_kept(void **state)
{
    static const char *const protocols[] = {"{\"kind\": \"one-shot\"}",
                                            "{\"kind\": \"iterative\", \"rounds\": 3}"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct world world;
        struct tremolo_client_receipt receipt = {0};
        begin(&world, "limits", dates, "protocol", protocols[i]);
        world.server.date = NOVEMBER - 1;
        assert_status(report(&world, &receipt), TREMOLO_ROUND_CLOSED);
        assert_string_equal(tremolo_client_why(world.client),
                            "the study opens at 2026-11-15T08:00:00Z and it is "
                            "2026-11-15T07:59:59Z; nothing was charged");
        world.server.date = DECEMBER;
        assert_status(report(&world, &receipt), TREMOLO_ROUND_CLOSED);
        assert_non_null(strstr(tremolo_client_why(world.client),
                               "closed at 2026-12-15T08:00:00Z and it is 2026-12-15T08:00:00Z"));
        assert_int_equal(world.server.reports, 0);
        assert_int_equal(world.server.requests, 2); /* the study, each time, and nothing else */
        assert_int_equal(budget_left(&world), whole_budget());
        world.server.date = i == 0 ? NOVEMBER : DECEMBER - 1;
        assert_status(report(&world, &receipt), TREMOLO_OK);
        assert_int_equal(world.server.reports, 1);
        end(&world);
    }
}

/* What was charged while the study was open may still be sent afterwards: it
 * costs nothing, and the server may have it. */
static void test_a_stored_report_outlives_the_dates(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    (void)state;
    begin(&world, "limits", dates, NULL, NULL);
    world.server.date = NOVEMBER;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    world.server.date = DECEMBER + 1;
    world.server.state = "done";
    assert_status(report(&world, &receipt), TREMOLO_OK);
    assert_true(receipt.repeated);
    end(&world);
}

/* A round that is not open costs nothing, in a one-shot study, too, and
 * whichever way the server says it. */
static void test_a_closed_round_costs_nothing(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    world.server.state = "done";
    assert_status(report(&world, &receipt), TREMOLO_ROUND_CLOSED);
    assert_non_null(strstr(tremolo_client_why(world.client), "over; nothing was charged"));
    world.server.state = "waiting";
    assert_status(report(&world, &receipt), TREMOLO_ROUND_CLOSED);
    assert_non_null(strstr(tremolo_client_why(world.client), "nothing was charged"));
    world.server.script_length = world.server.requests;
    for (size_t i = 0; i < world.server.script_length; i++) {
        world.server.script[i] = -1;
    }
    fake_server_say(&world.server, -1, -1);  /* study */
    fake_server_say(&world.server, 410, -1); /* round */
    assert_status(report(&world, &receipt), TREMOLO_ROUND_CLOSED);
    assert_int_equal(world.server.reports, 0);
    assert_int_equal(budget_left(&world), whole_budget());
    world.server.state = "open";
    assert_status(report(&world, &receipt), TREMOLO_OK);
    end(&world);
}

/* The round closes while the report is on its way: said plainly, and the same
 * bytes are sent when the server takes reports after all. */
static void test_a_race_is_said(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    uint32_t after = 0;
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    fake_server_say(&world.server, -1, -1);  /* study */
    fake_server_say(&world.server, -1, -1);  /* round */
    fake_server_say(&world.server, 410, -1); /* report */
    assert_status(report(&world, &receipt), TREMOLO_ROUND_CLOSED);
    assert_non_null(strstr(tremolo_client_why(world.client), "as the script says"));
    assert_non_null(strstr(tremolo_client_why(world.client), "on its way: it was charged"));
    after = budget_left(&world);
    assert_true(after < whole_budget());
    fake_server_say(&world.server, -1, -1);  /* study */
    fake_server_say(&world.server, 410, -1); /* the stored report: no round is asked for */
    assert_status(report(&world, &receipt), TREMOLO_ROUND_CLOSED);
    assert_non_null(strstr(tremolo_client_why(world.client), "charged earlier"));
    assert_status(report(&world, &receipt), TREMOLO_OK);
    assert_int_equal(budget_left(&world), after);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dates_are_kept),
        cmocka_unit_test(test_a_stored_report_outlives_the_dates),
        cmocka_unit_test(test_a_closed_round_costs_nothing),
        cmocka_unit_test(test_a_race_is_said),
    };
    return cmocka_run_group_tests_name("host client: closed", tests, NULL, NULL);
}
