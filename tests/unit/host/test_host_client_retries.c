/* test_host_client_retries.c -- how often and how long a client tries, which
 * answers are final, and what it makes of nonsense. */
#include "client_world.h"

static void test_backoff_and_retry_after(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    fake_server_say(&world.server, -1, -1); /* the study */
    fake_server_say(&world.server, -1, -1); /* its round */
    fake_server_say(&world.server, 0, -1);
    fake_server_say(&world.server, 503, -1);
    fake_server_say(&world.server, 429, 60);
    fake_server_say(&world.server, 500, 1);
    assert_status(report(&world, &receipt), TREMOLO_OK);
    assert_int_equal(receipt.attempts, 5);
    assert_int_equal(world.server.reports, 1);
    assert_int_equal(world.server.sleeps, 4);
    assert_in_range(world.server.slept[0], 500, 1000);
    assert_in_range(world.server.slept[1], 1000, 2000);
    assert_in_range(world.server.slept[2], 60000, 66000); /* the server asked for more */
    assert_in_range(world.server.slept[3], 4000, 8000);   /* and here for less */
    end(&world);
}

static void test_backoff_has_an_end(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    for (int i = 0; i < FAKE_SCRIPT; i++) {
        fake_server_say(&world.server, 503, -1);
    }
    assert_status(report(&world, &receipt), TREMOLO_NETWORK_FAILED);
    assert_true(world.server.now_ms <= 300000);
    for (size_t i = 0; i < world.server.sleeps; i++) {
        assert_true(world.server.slept[i] <= 30000);
    }
    assert_non_null(strstr(world.why, "the server answered 503: as the script says"));
    end(&world);
}

/* Giving up keeps the report: the next run sends the same bytes. */
static void test_giving_up_keeps_the_report(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    assert_status(open_client(&world), TREMOLO_OK);
    world.server.receipt = "{\"accepted\":0}"; /* it arrives, but the receipt is none */
    assert_status(tremolo_client_sample(world.client, study_base_sample, strlen(study_base_sample)),
                  TREMOLO_OK);
    assert_status(tremolo_client_report(world.client, &receipt), TREMOLO_BAD_ANSWER);
    world.server.receipt = NULL;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    assert_true(receipt.repeated);
    assert_int_equal(world.server.reports, 1);
    end(&world);
}

static void test_refusals_are_final(void **state)
{
    static const int codes[] = {400, 401, 403, 404, 409, 413, 415, 422, 301, 418};
    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct world world;
        struct tremolo_client_receipt receipt = {0};
        begin(&world, NULL, NULL, NULL, NULL);
        fake_server_say(&world.server, -1, -1); /* study */
        fake_server_say(&world.server, -1, -1); /* round */
        fake_server_say(&world.server, codes[i], 5);
        assert_status(report(&world, &receipt), TREMOLO_SERVER_REFUSED);
        assert_non_null(strstr(tremolo_client_why(world.client), "as the script says"));
        assert_int_equal(world.server.requests, 3);
        assert_int_equal(world.server.sleeps, 0);
        end(&world);
    }
}

static void test_nonsense_from_the_server(void **state)
{
    static const char *const answers[] = {"",
                                          "{",
                                          "[]",
                                          "{\"study\": 5}",
                                          "{\"study\": {}}",
                                          "{\"id\": 1, \"study\": {\"tremolo\": 1}}"};
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct world world;
        struct tremolo_client_receipt receipt = {0};
        begin(&world, NULL, NULL, NULL, NULL);
        world.server.answer = answers[i];
        assert_status(report(&world, &receipt), TREMOLO_BAD_STUDY);
        assert_int_equal(world.server.reports, 0);
        end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backoff_and_retry_after),
        cmocka_unit_test(test_backoff_has_an_end),
        cmocka_unit_test(test_giving_up_keeps_the_report),
        cmocka_unit_test(test_refusals_are_final),
        cmocka_unit_test(test_nonsense_from_the_server),
    };
    return cmocka_run_group_tests_name("host client: retries", tests, NULL, NULL);
}
