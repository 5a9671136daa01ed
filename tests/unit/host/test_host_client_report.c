/* test_host_client_report.c -- the plain way of a report: it arrives once, asking
 * again sends the same bytes, and it says who sent it only where devices are
 * enrolled. */
#include "client_world.h"
#include "study_internal.h"

static void test_a_report_arrives(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    struct tremolo_report decoded;
    int16_t values[TREMOLO_MAX_COORDINATES];
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    assert_status(report(&world, &receipt), TREMOLO_OK);
    assert_false(receipt.repeated);
    assert_int_equal(receipt.attempts, 1);
    assert_int_equal(world.server.reports, 1);
    assert_status(tremolo_report_decode(&decoded, world.server.report[0].bytes,
                                        world.server.report[0].length),
                  TREMOLO_OK);
    assert_status(tremolo_report_unpack(values, TREMOLO_MAX_COORDINATES, &decoded,
                                        tremolo_study_file_device(world.server.file)),
                  TREMOLO_OK);
    assert_memory_equal(decoded.id, receipt.report_id, sizeof receipt.report_id);
    assert_null(decoded.mac);
    end(&world);
}

static void test_again_is_the_same_bytes(void **state)
{
    struct world world;
    struct tremolo_client_receipt first = {0};
    struct tremolo_client_receipt second = {0};
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    assert_status(report(&world, &first), TREMOLO_OK);
    assert_status(report(&world, &second), TREMOLO_OK);
    assert_true(second.repeated);
    assert_int_equal(world.server.reports, 1);
    assert_int_equal(first.budget_left, second.budget_left);
    end(&world);
}

static void test_enrolled_devices_sign(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    struct tremolo_report decoded;
    uint8_t secret[TREMOLO_DEVICE_SECRET_BYTES] = {5};
    uint8_t key[TREMOLO_MAC_KEY_BYTES];
    (void)state;
    begin(&world, "limits", "{\"enrolment\": \"keys\"}", NULL, NULL);
    assert_status(report(&world, &receipt), TREMOLO_BAD_MAC);
    assert_non_null(strstr(world.why, "enrolled"));
    assert_status(tremolo_device_key(key, secret, (const uint8_t *)"watch", 5), TREMOLO_OK);
    world.options.device_id = (const uint8_t *)"watch";
    world.options.device_id_length = 5;
    world.options.mac_key = key;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    assert_string_equal(world.server.report[0].device, "d2F0Y2g");
    assert_status(tremolo_report_decode(&decoded, world.server.report[0].bytes,
                                        world.server.report[0].length),
                  TREMOLO_OK);
    assert_status(tremolo_report_verify(&decoded, world.server.report[0].bytes,
                                        tremolo_study_file_device(world.server.file), key),
                  TREMOLO_OK);
    end(&world);
}

/* A device that has a key does not show it, or its name, to an open study. */
static void test_open_studies_learn_no_names(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    uint8_t key[TREMOLO_MAC_KEY_BYTES] = {1};
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    world.options.device_id = (const uint8_t *)"watch";
    world.options.device_id_length = 5;
    world.options.mac_key = key;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    assert_string_equal(world.server.report[0].device, "");
    assert_int_equal(world.server.report[0].bytes[0], 0x86);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_report_arrives),
        cmocka_unit_test(test_again_is_the_same_bytes),
        cmocka_unit_test(test_enrolled_devices_sign),
        cmocka_unit_test(test_open_studies_learn_no_names),
    };
    return cmocka_run_group_tests_name("host client: report", tests, NULL, NULL);
}
