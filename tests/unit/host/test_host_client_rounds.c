/* test_host_client_rounds.c -- studies of several rounds: following them to their
 * end, and believing only a round that is signed and makes sense. */
#include "client_world.h"
#include "study_internal.h"

static const char iterative[] = "{\"kind\": \"iterative\", \"rounds\": 3, \"vectors\": 1,"
                                "\"alpha\": 0.5, \"lambda\": 0.2, \"omega\": 1}";

/* Lengths are what a network sees through TLS: a round's number and the sample change none. */
static void test_requests_have_one_length(void **state)
{
    static const char *const samples[] = {
        "{\"a\": 0, \"b\": -1, \"c\": \"x\", \"d\": false, \"r\": 0}",
        "{\"a\": 10, \"b\": 1, \"c\": \"z\", \"d\": true, \"r\": 100}",
        "{\"a\": 3.3333, \"b\": 0, \"c\": \"y\", \"d\": true, \"r\": 50.000001}",
    };
    static const uint16_t rounds[] = {0, 1, 9, 10, 23, 24, 99, 100, 255, 256, 299};
    (void)state;
    for (size_t hidden = 0; hidden < 2; hidden++) {
        struct world world;
        struct tremolo_client_receipt receipt;
        struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
        policy.epsilon_total = 100;
        begin(&world, "protocol", "{\"kind\": \"iterative\", \"rounds\": 300}", "privacy.protects",
              hidden == 0 ? "\"features\"" : "\"all\"");
        world.options.policy = &policy;
        assert_status(open_client(&world), TREMOLO_OK);
        for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
            const char *sample = samples[i % 3];
            world.server.round = rounds[i];
            assert_status(tremolo_client_sample(world.client, sample, strlen(sample)), TREMOLO_OK);
            assert_status(tremolo_client_report(world.client, &receipt), TREMOLO_OK);
            assert_int_equal(world.server.reports, i + 1);
            assert_int_equal(world.server.report[i].length, world.server.report[0].length);
        }
        end(&world);
    }
}

static int count_receipt(void *context, const struct tremolo_client_receipt *receipt)
{
    unsigned *count = context;
    assert_int_equal(receipt->round, *count);
    (*count)++;
    return 0;
}

static void test_following(void **state)
{
    struct world world;
    unsigned count = 0;
    (void)state;
    begin(&world, "protocol", iterative, NULL, NULL);
    world.server.moves_on = true;
    assert_status(open_with_sample(&world), TREMOLO_OK);
    assert_status(tremolo_client_follow(world.client, count_receipt, &count), TREMOLO_OK);
    assert_int_equal(count, 3);
    assert_int_equal(world.server.reports, 3);
    for (size_t i = 0; i < world.server.sleeps; i++) {
        assert_in_range(world.server.slept[i], 10000, 30000);
    }
    end(&world);
}

/* A device that has reported asks for the round until there is another; it does
 * not send its report again with every question. */
static void test_following_is_quiet(void **state)
{
    struct world world;
    unsigned count = 0;
    (void)state;
    begin(&world, "protocol", iterative, NULL, NULL);
    world.server.round_lasts = 5;
    assert_status(open_with_sample(&world), TREMOLO_OK);
    assert_status(tremolo_client_follow(world.client, count_receipt, &count), TREMOLO_OK);
    assert_int_equal(count, 3);
    assert_int_equal(world.server.reports, 3);
    assert_int_equal(world.server.posts, 3);
    assert_int_equal(world.server.sleeps, 10);
    end(&world);
}

/* A round that closed before the report arrived is no reason to stop: the client waits and
 * asks which one is open now. It does not send that report again, even while a server
 * still says that the old round is open. */
static void test_following_goes_on_after_a_closed_round(void **state)
{
    struct world world;
    (void)state;
    begin(&world, "protocol", iterative, NULL, NULL);
    world.server.round_lasts = 4;
    fake_server_say(&world.server, -1, -1); /* study */
    fake_server_say(&world.server, -1, -1); /* round */
    fake_server_say(&world.server, 410, -1);
    assert_status(open_with_sample(&world), TREMOLO_OK);
    assert_status(tremolo_client_follow(world.client, NULL, NULL), TREMOLO_OK);
    assert_int_equal(world.server.reports, 2); /* of the rounds after it */
    assert_int_equal(world.server.posts, 2);
    assert_int_equal(world.server.sleeps, 8);
    end(&world);
}

/* A study of one round that is closed has nothing to follow. */
static void test_following_ends_with_a_closed_study(void **state)
{
    struct world world;
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    fake_server_say(&world.server, -1, -1); /* study */
    fake_server_say(&world.server, 410, -1);
    assert_status(open_with_sample(&world), TREMOLO_OK);
    assert_status(tremolo_client_follow(world.client, NULL, NULL), TREMOLO_OK);
    assert_int_equal(world.server.sleeps, 0);
    end(&world);
}

/* Following begins when the study does. */
static void test_following_waits_for_the_opening(void **state)
{
    struct world world;
    unsigned count = 0;
    (void)state;
    begin(&world, "limits", dates, NULL, NULL);
    world.server.date = NOVEMBER - 10000;
    assert_status(open_with_sample(&world), TREMOLO_OK);
    assert_status(tremolo_client_follow(world.client, count_receipt, &count), TREMOLO_OK);
    assert_int_equal(count, 1);
    assert_in_range(world.server.now_ms, 10000 * 1000, 10100 * 1000);
    end(&world);
}

static void test_a_round_is_checked(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    (void)state;
    begin(&world, "protocol", iterative, NULL, NULL);
    world.server.vectors[0] = 8000; /* signed, but not of norm one */
    assert_status(report(&world, &receipt), TREMOLO_BAD_VECTORS);
    world.server.vectors[0] = TREMOLO_VECTOR_ONE;
    world.server.round = 3;
    assert_status(report(&world, &receipt), TREMOLO_BAD_ANSWER);
    world.server.round = 0;
    world.server.state = "waiting";
    assert_status(report(&world, &receipt), TREMOLO_ROUND_CLOSED);
    world.server.state = "asleep";
    assert_status(report(&world, &receipt), TREMOLO_BAD_ANSWER);
    world.server.state = "open";
    assert_int_equal(world.server.reports, 0);
    assert_status(report(&world, &receipt), TREMOLO_OK);
    end(&world);
}

/* A broadcast by somebody else, for a study that is the server's. */
static void test_a_round_is_signed(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    uint8_t seed[TREMOLO_SIGNING_SEED_BYTES] = {77};
    uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES];
    (void)state;
    begin(&world, "protocol", iterative, NULL, NULL);
    assert_status(tremolo_signing_keys(public_key, world.server.secret_key, seed), TREMOLO_OK);
    assert_status(report(&world, &receipt), TREMOLO_BAD_SIGNATURE);
    assert_int_equal(world.server.reports, 0);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_have_one_length),
        cmocka_unit_test(test_following),
        cmocka_unit_test(test_following_is_quiet),
        cmocka_unit_test(test_following_goes_on_after_a_closed_round),
        cmocka_unit_test(test_following_ends_with_a_closed_study),
        cmocka_unit_test(test_following_waits_for_the_opening),
        cmocka_unit_test(test_a_round_is_checked),
        cmocka_unit_test(test_a_round_is_signed),
    };
    return cmocka_run_group_tests_name("host client: rounds", tests, NULL, NULL);
}
