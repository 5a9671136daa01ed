/* test_host_memory.c -- every allocation of the client fails once.
 *
 * A device enrols, opens, reads its sample and reports, against a server whose
 * own memory never fails. Whatever was refused, the bytes that reach the
 * server are those that would have reached it without, never others; a call that
 * fails leaks nothing and leaves its output as it was; and the same device,
 * with memory again, sends the very same bytes and has paid once. */
#include "policy.h"
#include "failing_memory.h"
#include "fake_server.h"
#include "ledger_file.h"
#include "study_internal.h"

static const char csv_sample[] = "a,b,c,d,r\n3,0.5,y,yes,50\n";

static struct fake_server server;
static struct fake_folder folder;
static const char *sample_text;
static uint8_t expected[TREMOLO_MAX_REPORT_BYTES];
static size_t expected_length;

/* The server's memory is not the device's. */
static int exchange(void *context, struct tremolo_http_answer *answer,
                    const struct tremolo_http_request *request)
{
    int was_armed = armed;
    armed = 0;
    int result = fake_exchange(context, answer, request);
    armed = was_armed;
    return result;
}

static struct tremolo_client_options options_here(void)
{
    struct tremolo_client_options options = TREMOLO_CLIENT_DEFAULTS;
    options.study_url = server.url;
    options.state_directory = folder.state;
    options.counter_file = folder.counter;
    options.trust_new = true;
    options.enrol = true;
    options.ledger_studies = 1;
    return options;
}

static enum tremolo_status take_part(bool *sound)
{
    struct tremolo_client_options options = options_here();
    struct tremolo_client_surroundings around = fake_surroundings(&server);
    struct tremolo_client *client = NULL;
    struct tremolo_client_receipt receipt = {.report_bytes = 4711};
    char why[TREMOLO_CLIENT_WHY_BYTES] = "";
    around.exchange = exchange;
    enum tremolo_status status = tremolo_client_open(&client, why, &options, &around);
    *sound = status == TREMOLO_OK || client == NULL;
    if (status == TREMOLO_OK) {
        status = tremolo_client_sample(client, sample_text, strlen(sample_text));
    }
    if (status == TREMOLO_OK) {
        status = tremolo_client_report(client, &receipt);
        *sound = *sound && (status == TREMOLO_OK) == (receipt.report_bytes != 4711);
    }
    *sound =
        *sound && (status == TREMOLO_OK || client == NULL || tremolo_client_why(client)[0] != '\0');
    tremolo_client_close(client);
    return status;
}

static bool sent_as_expected(void)
{
    return server.reports == 0 ||
           (server.reports == 1 && server.report[0].length == expected_length &&
            memcmp(server.report[0].bytes, expected, expected_length) == 0);
}

static uint32_t charged(void)
{
    static struct tremolo_work work;
    struct tremolo_ledger_file_options options = {.directory = folder.state,
                                                  .counter = folder.counter};
    struct tremolo_ledger_file *ledger = NULL;
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    uint32_t budget = 0;
    uint32_t left = 0;
    assert_status(tremolo_policy_budget(&budget, &policy), TREMOLO_OK);
    assert_status(tremolo_ledger_file_open(&ledger, NULL, &options), TREMOLO_OK);
    assert_status(tremolo_device_budget(&work, &left, tremolo_ledger_file_platform(ledger)),
                  TREMOLO_OK);
    tremolo_ledger_file_close(ledger);
    return budget - left;
}

/* A device's first run with a refusal, and its second without. */
static bool try_to_take_part(bool *sound)
{
    bool again = false;
    armed = 0; /* a fresh device */
    server.reports = 0;
    server.requests = 0;
    server.entropy.state = 1;
    fake_folder_make(&folder);
    armed = 1;
    enum tremolo_status status = take_part(sound);
    armed = 0;
    *sound = *sound && sent_as_expected();
    *sound = *sound && take_part(&again) == TREMOLO_OK && again;
    *sound = *sound && server.reports == 1 && sent_as_expected();
    *sound = *sound && charged() == tremolo_study_charge(tremolo_study_file_device(server.file));
    fake_folder_remove(&folder);
    armed = 1;
    return status == TREMOLO_OK;
}

/* The bytes of a run in which nothing was refused. */
static void begin(const char *protocol, const char *sample)
{
    bool sound = false;
    fake_server_start(&server, study_with("protocol", protocol, NULL, NULL), 1);
    fake_folder_make(&folder);
    sample_text = sample;
    assert_status(take_part(&sound), TREMOLO_OK);
    expected_length = server.report[0].length;
    memcpy(expected, server.report[0].bytes, expected_length);
    fake_folder_remove(&folder);
}

static void test_one_shot(void **state)
{
    (void)state;
    begin("{\"kind\": \"one-shot\"}", study_base_sample);
    fail_each(try_to_take_part);
    fake_server_stop(&server);
}

static void test_rounds_and_csv(void **state)
{
    (void)state;
    begin("{\"kind\": \"iterative\", \"rounds\": 2, \"vectors\": 1, \"lambda\": 0.2, \"omega\": 1}",
          csv_sample);
    fail_each(try_to_take_part);
    fake_server_stop(&server);
}

/* ---------------------------------------------------------------- policies */

/* 0.125, with digits enough for the JSON reader to ask for memory in the middle
 * of them: without one of the 40 zeros it would be 1.25. */
#define ZEROS "0000000000000000000000000000000000000000"
static const char policy_text[] = "{\"epsilon_per_study\": 1.25" ZEROS
                                  "e-1, \"epsilon_total\": 3.25, \"delta\": 1.5e-6, \"studies\": "
                                  "[\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"]}";

/* A limit that lost its digits would be another limit. */
static bool try_policy(bool *sound)
{
    struct tremolo_policy policy = {.delta = 7};
    char why[128];
    enum tremolo_status status =
        tremolo_policy_parse(&policy, why, sizeof why, policy_text, strlen(policy_text));
    *sound = status == TREMOLO_OK
                 ? policy.epsilon_per_study == 0.125 && policy.epsilon_total == 3.25 &&
                       policy.delta == 1.5e-6 && policy.only_listed && policy.study_count == 1
                 : policy.delta == 7;
    return status == TREMOLO_OK;
}

static void test_policy(void **state)
{
    (void)state;
    fail_each(try_policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_shot),
        cmocka_unit_test(test_rounds_and_csv),
        cmocka_unit_test(test_policy),
    };
    return cmocka_run_group_tests_name("host memory", tests, NULL, NULL);
}
