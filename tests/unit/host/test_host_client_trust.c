/* test_host_client_trust.c -- whom a client believes: nothing is asked, sent or
 * charged where the key, the signature, the id or the address is not right. */
#include "client_world.h"
#include "study_internal.h"

static void test_nothing_without_a_key(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    world.options.server_key = NULL;
    assert_status(report(&world, &receipt), TREMOLO_NOT_TRUSTED);
    assert_int_equal(world.server.requests, 0);
    end(&world);
}

static void test_trust_new_pins(void **state)
{
    struct world world;
    struct fake_server other;
    struct tremolo_client_receipt receipt = {0};
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    world.options.server_key = NULL;
    world.options.trust_new = true;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    /* From now on another key is refused, trust-new or not. */
    fake_server_start(&other, study_with(NULL, NULL, NULL, NULL), 2);
    world.around = fake_surroundings(&other);
    assert_status(report(&world, &receipt), TREMOLO_BAD_SIGNATURE);
    assert_int_equal(other.reports, 0);
    world.around = fake_surroundings(&world.server);
    world.options.trust_new = false;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    fake_server_stop(&other);
    end(&world);
}

static void test_wrong_signature(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    uint8_t key[TREMOLO_SIGNING_PUBLIC_BYTES] = {9};
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    world.options.server_key = key;
    assert_status(report(&world, &receipt), TREMOLO_BAD_SIGNATURE);
    assert_int_equal(world.server.reports, 0);
    end(&world);
}

static void test_wrong_id(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    char *body = NULL;
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    struct tremolo_study_file *other = study_with("privacy.epsilon", "0.5", NULL, NULL);
    assert_status(tremolo_study_publish(&body, other, world.server.secret_key), TREMOLO_OK);
    world.server.answer = body;
    assert_status(report(&world, &receipt), TREMOLO_WRONG_STUDY);
    assert_int_equal(world.server.reports, 0);
    free(body);
    tremolo_study_file_free(other);
    end(&world);
}

/* Every failure comes with a sentence, those of the caller, too. */
static void test_failures_have_sentences(void **state)
{
    struct world world;
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    world.options.study_url = NULL;
    assert_status(open_client(&world), TREMOLO_BAD_ARGUMENT);
    assert_true(world.why[0] != '\0');
    assert_null(world.client);
    end(&world);
}

static void test_bad_addresses(void **state)
{
    static const char *const formats[] = {
        "http://example.org/v1/studies/%s",
        "https://example.org/v1/studies/%s/",
        "https://example.org/v2/studies/%s",
        "https://u@example.org/v1/studies/%s",
        "https://example.org/?/v1/studies/%s",
        "file:///v1/studies/%s",
        "/v1/studies/%s",
        "https://example.org /v1/studies/%s",
    };
    struct world world;
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    const char *id = strrchr(world.server.url, '/') + 1;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        char url[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)snprintf(url, sizeof url, formats[i], id);
#pragma GCC diagnostic pop
        world.options.study_url = url;
        assert_status(open_client(&world), TREMOLO_BAD_ADDRESS);
    }
    world.options.study_url = "https://example.org/v1/studies/short";
    assert_status(open_client(&world), TREMOLO_BAD_ADDRESS);
    assert_int_equal(world.server.requests, 0);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_without_a_key),   cmocka_unit_test(test_trust_new_pins),
        cmocka_unit_test(test_wrong_signature),         cmocka_unit_test(test_wrong_id),
        cmocka_unit_test(test_failures_have_sentences), cmocka_unit_test(test_bad_addresses),
    };
    return cmocka_run_group_tests_name("host client: trust", tests, NULL, NULL);
}
