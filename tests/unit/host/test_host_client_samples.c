/* test_host_client_samples.c -- a sample as people write it: which text is one,
 * what is said of text that is none, and that the very numbers are sent. */
#include "client_world.h"
#include "study_internal.h"

static void test_samples_as_text(void **state)
{
    static const char *const good[] = {
        "{\"a\": 3, \"b\": 0.5, \"c\": \"y\", \"d\": true, \"r\": 50}",
        "{\"r\": 50, \"a\": \"3\", \"b\": 5e-1, \"c\": \"y\", \"d\": \"yes\"}",
        "  {\"d\": 1, \"r\": 50.0, \"a\": 3, \"b\": 0.5, \"c\": \"y\"}\n",
        "a,b,c,d,r\n3,0.5,y,yes,50\n",
        "r,\"d\",c,b,a\r\n50,TRUE,\"y\",0.5,3",
    };
    static const char *const wrong[] = {
        "",
        "{}",
        "{",
        "{\"a\": 3, \"b\": 0.5, \"c\": \"y\", \"d\": true}",
        "{\"a\": 3, \"b\": 0.5, \"c\": \"y\", \"d\": true, \"r\": 50, \"e\": 1}",
        "{\"a\": 3, \"b\": 0.5, \"c\": \"w\", \"d\": true, \"r\": 50}",
        "{\"a\": 3, \"b\": 0.5, \"c\": \"y\", \"d\": \"maybe\", \"r\": 50}",
        "{\"a\": \"x\", \"b\": 0.5, \"c\": \"y\", \"d\": true, \"r\": 50}",
        "{\"a\": null, \"b\": 0.5, \"c\": \"y\", \"d\": true, \"r\": 50}",
        "{\"a\": \"nan\", \"b\": 0.5, \"c\": \"y\", \"d\": true, \"r\": 50}",
        "a,b,c,d,r\n3,0.5,y,yes\n",
        "a,b,c,d,r\n3,0.5,y,yes,50\n1,1,1,1,1\n",
        "a,b,c,d,r,r\n3,0.5,y,yes,50,50\n",
        "a,b,c,d,r\n",
    };
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    double values[] = {3, 0.5, 1, 0, 1, 50};
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    assert_status(open_client(&world), TREMOLO_OK);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_status(tremolo_client_sample(world.client, good[i], strlen(good[i])), TREMOLO_OK);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        enum tremolo_status status =
            tremolo_client_sample(world.client, wrong[i], strlen(wrong[i]));
        if (status != TREMOLO_BAD_SAMPLE) {
            fail_msg("%s: %s", wrong[i], tremolo_status_name(status));
        }
        assert_true(tremolo_client_why(world.client)[0] != '\0');
        assert_status(tremolo_client_report(world.client, &receipt), TREMOLO_BAD_SAMPLE);
    }
    static const char faults[] = "{\"a\": null, \"b\": \"x\", \"d\": true, \"r\": 50}";
    assert_status(tremolo_client_sample(world.client, faults, strlen(faults)), TREMOLO_BAD_SAMPLE);
    assert_string_equal(tremolo_client_why(world.client),
                        "a is missing; b must be a number; c is missing");
    assert_status(tremolo_client_values(world.client, values, 6), TREMOLO_OK);
    assert_status(tremolo_client_values(world.client, values, 5), TREMOLO_BAD_SAMPLE);
    values[1] = 0.0 / 0.0;
    assert_status(tremolo_client_values(world.client, values, 6), TREMOLO_NOT_A_NUMBER);
    assert_status(tremolo_client_sample_number(world.client, 1), TREMOLO_BAD_SAMPLES);
    end(&world);
}

/* The mark that spreadsheets put before UTF-8 is no part of the first name. */
static void test_marked_samples(void **state)
{
    static const char mark[] = "\xEF\xBB\xBF";
    static const char *const texts[] = {
        "a,b,c,d,r\n3,0.5,y,yes,50\n",
        "{\"a\": 3, \"b\": 0.5, \"c\": \"y\", \"d\": true, \"r\": 50}"};
    struct world world;
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    assert_status(open_client(&world), TREMOLO_OK);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[100];
        int length = snprintf(text, sizeof text, "%s%s", mark, texts[i]);
        assert_status(tremolo_client_sample(world.client, text, (size_t)length), TREMOLO_OK);
    }
    assert_status(tremolo_client_sample(world.client, mark, strlen(mark)), TREMOLO_BAD_SAMPLE);
    end(&world);
}

/* Commas and quotes within names and levels, written as any CSV file has them. */
static void test_names_with_commas(void **state)
{
    static const char good[] = "b,\"steps, \"\"daily\"\"\",d,c,r\n0.5,3,no,\"x, y\",50\n";
    static const char naive[] = "b,steps, daily,d,c,r\n0.5,3,1,no,\"x, y\",50\n";
    struct world world;
    (void)state;
    begin(&world, "features[0].name", "\"steps, \\\"daily\\\"\"", "features[2].levels",
          "[\"x, y\", \"z\"]");
    assert_status(open_client(&world), TREMOLO_OK);
    assert_status(tremolo_client_sample(world.client, good, strlen(good)), TREMOLO_OK);
    assert_status(tremolo_client_sample(world.client, naive, strlen(naive)), TREMOLO_BAD_SAMPLE);
    assert_non_null(strstr(tremolo_client_why(world.client),
                           "no feature named steps; it has \"steps, \"\"daily\"\"\", b, c, d, r;"));
    end(&world);
}

/* The sample that was given is the one that is sent: with the same entropy the
 * bytes are those of the device core on the raw integers. */
struct replay {
    struct tremolo_host_memory memory;
    struct fake_entropy entropy;
};

static int replay_entropy(void *context, uint8_t *bytes, size_t length)
{
    return fake_entropy_fill(&((struct replay *)context)->entropy, bytes, length);
}

static int replay_read(void *context, unsigned slot, uint8_t *bytes, size_t length)
{
    memcpy(bytes, &((struct replay *)context)->memory.slot[slot], length);
    return 0;
}

static int replay_write(void *context, unsigned slot, const uint8_t *bytes, size_t length)
{
    memcpy(&((struct replay *)context)->memory.slot[slot], bytes, length);
    return 0;
}

static void test_the_sample_is_what_is_sent(void **state)
{
    static struct tremolo_work work;
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    struct replay replay = {.entropy = {.state = 1}};
    struct tremolo_platform platform = {.context = &replay,
                                        .entropy = replay_entropy,
                                        .read = replay_read,
                                        .write = replay_write,
                                        .studies = 1};
    const double values[] = {3, 0.5, 1, 0, 1, 50};
    int32_t raw[6];
    uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
    size_t length = sizeof bytes;
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    assert_status(report(&world, &receipt), TREMOLO_OK);
    for (size_t i = 0; i < 6; i++) {
        const struct tremolo_study_coordinate *coordinate =
            tremolo_study_file_coordinate(world.server.file, i);
        struct tremolo_host_range range = {coordinate->low, coordinate->high};
        assert_status(tremolo_host_raw(&raw[i], values[i], &range), TREMOLO_OK);
    }
    struct tremolo_sample sample = {raw, raw[5], 0};
    struct tremolo_round round = {NULL, 0};
    assert_status(tremolo_device_enrol(&work, &platform, UINT32_C(1) << 30, 0), TREMOLO_OK);
    assert_status(tremolo_device_report(&work, bytes, &length,
                                        tremolo_study_file_device(world.server.file), &round,
                                        &sample, &platform),
                  TREMOLO_OK);
    assert_int_equal(length, world.server.report[0].length);
    assert_memory_equal(bytes, world.server.report[0].bytes, length);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_as_text),
        cmocka_unit_test(test_marked_samples),
        cmocka_unit_test(test_names_with_commas),
        cmocka_unit_test(test_the_sample_is_what_is_sent),
    };
    return cmocka_run_group_tests_name("host client: samples", tests, NULL, NULL);
}
