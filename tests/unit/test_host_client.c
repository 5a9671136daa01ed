/* test_host_client.c -- a client against a server that is not there: what it
 * trusts, what it allows, what it sends and how often. */
#include "fake_server.h"
#include "tremolo_ledger_file.h"

static const char sample_text[] = "{\"a\": 3, \"b\": 0.5, \"c\": \"y\", \"d\": true, \"r\": 50}";

/* One device and one server. */
struct world {
    struct fake_server server;
    struct fake_folder folder;
    struct tremolo_client_options options;
    struct tremolo_client_surroundings around;
    struct tremolo_client *client;
    char why[TREMOLO_CLIENT_WHY_BYTES];
};

static void begin(struct world *world, const char *path, const char *json, const char *path2,
                  const char *json2)
{
    memset(world, 0, sizeof *world);
    fake_server_start(&world->server, study_with(path, json, path2, json2), 1);
    fake_folder_make(&world->folder);
    world->options = (struct tremolo_client_options)TREMOLO_CLIENT_DEFAULTS;
    world->options.study_url = world->server.url;
    world->options.state_directory = world->folder.state;
    world->options.server_key = world->server.public_key;
    world->options.enrol = true;
    world->around = fake_surroundings(&world->server);
}

static void end(struct world *world)
{
    tremolo_client_close(world->client);
    fake_server_stop(&world->server);
    fake_folder_remove(&world->folder);
}

static enum tremolo_status open_client(struct world *world)
{
    tremolo_client_close(world->client);
    world->client = NULL;
    world->why[0] = '\0';
    return tremolo_client_open(&world->client, world->why, &world->options, &world->around);
}

static enum tremolo_status report(struct world *world, struct tremolo_client_receipt *receipt)
{
    enum tremolo_status status = open_client(world);
    if (status == TREMOLO_OK) {
        status = tremolo_client_sample(world->client, sample_text, strlen(sample_text));
    }
    return status == TREMOLO_OK ? tremolo_client_report(world->client, receipt) : status;
}

/* ---------------------------------------------------------------- the plain way */

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
    assert_status(report(&world, &receipt), TREMOLO_BAD_ARGUMENT);
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

/* ---------------------------------------------------------------- trust */

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
        assert_status(open_client(&world), TREMOLO_BAD_ARGUMENT);
    }
    world.options.study_url = "https://example.org/v1/studies/short";
    assert_status(open_client(&world), TREMOLO_BAD_ARGUMENT);
    assert_int_equal(world.server.requests, 0);
    end(&world);
}

/* ---------------------------------------------------------------- policy */

static void test_policy_refuses(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    world.options.policy = &policy;
    policy.epsilon_per_study = 0.99;
    assert_status(report(&world, &receipt), TREMOLO_POLICY_REFUSED);
    assert_non_null(strstr(world.why, "epsilon"));
    /* At a smaller delta the same noise costs more. */
    policy.epsilon_per_study = 1;
    policy.delta = 1e-9;
    assert_status(report(&world, &receipt), TREMOLO_POLICY_REFUSED);
    policy = (struct tremolo_policy)TREMOLO_POLICY_DEFAULTS;
    policy.only_listed = true;
    assert_status(report(&world, &receipt), TREMOLO_POLICY_REFUSED);
    assert_non_null(strstr(world.why, "lists"));
    policy.study_count = 1;
    memcpy(policy.studies[0], tremolo_study_file_id(world.server.file), TREMOLO_STUDY_ID_BYTES);
    assert_int_equal(world.server.reports, 0);
    assert_status(report(&world, &receipt), TREMOLO_OK);
    end(&world);
}

/* The server chooses a study's neighbours, the device whom it protects: at
 * distance 0.001 an epsilon of 2 would give the sample away. */
static void test_policy_has_its_own_neighbours(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    (void)state;
    begin(&world, "privacy.epsilon", "2", "privacy.neighbours", "{\"distance\": 0.001}");
    assert_status(report(&world, &receipt), TREMOLO_POLICY_REFUSED);
    assert_non_null(strstr(world.why, "between any two people"));
    assert_non_null(strstr(world.why, "the policy allows 2;"));
    assert_non_null(strstr(world.why, "\"distance\": 0.001 in the policy allows it"));
    policy.distance = 1;
    world.options.policy = &policy;
    assert_status(report(&world, &receipt), TREMOLO_POLICY_REFUSED);
    assert_non_null(strstr(world.why, "people 1 half ranges apart"));
    assert_int_equal(world.server.reports, 0);
    policy.distance = 0.001;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    end(&world);
}

/* A study for distance 0.5 at a policy of distance 1 costs twice its own mu,
 * so about four times its own charge, and the ledger says so. */
static void test_charged_at_the_policys_distance(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    struct tremolo_study_guarantee own;
    struct tremolo_study_guarantee ours;
    uint32_t budget = 0;
    (void)state;
    begin(&world, "privacy.epsilon", "0.5", "privacy.neighbours", "{\"distance\": 0.5}");
    policy.distance = 1;
    world.options.policy = &policy;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    assert_status(tremolo_policy_budget(&budget, &policy), TREMOLO_OK);
    assert_status(tremolo_study_file_guarantee(&own, world.server.file, 1e-5), TREMOLO_OK);
    assert_status(tremolo_study_file_guarantee_at(&ours, world.server.file, 1e-5, 1), TREMOLO_OK);
    assert_int_equal(budget - receipt.budget_left, ours.charge);
    /* Roundings in the sensitivity do not grow with the distance: a hundredth. */
    assert_true(ours.charge > 3.96 * own.charge && ours.charge < 4.04 * own.charge);
    assert_true(ours.epsilon > own.epsilon && ours.distance == 1);
    end(&world);
}

/* epsilon_total is spent by the first study: the second is refused by the
 * ledger, which no later policy can raise. */
static void test_total_is_the_ledgers(void **state)
{
    struct world world;
    struct fake_server other;
    struct tremolo_client_receipt receipt = {0};
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    policy.epsilon_total = 1.1;
    world.options.policy = &policy;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    fake_server_start(&other, study_with("title", "\"Second\"", NULL, NULL), 1);
    world.around = fake_surroundings(&other);
    world.options.study_url = other.url;
    policy.epsilon_total = 50;
    assert_status(report(&world, &receipt), TREMOLO_BUDGET_EXHAUSTED);
    assert_int_equal(other.reports, 0);
    fake_server_stop(&other);
    end(&world);
}

/* A ledger is for life, so a first attempt that is refused leaves none: by the
 * key, the policy, the date and the round in turn. The policy of the first
 * report is the one that counts. */
static void test_refusals_leave_no_ledger(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    struct tremolo_study_guarantee guarantee;
    uint32_t budget = 0;
    (void)state;
    begin(&world, "limits", "{\"closes\": \"2026-12-15\"}", NULL, NULL);
    world.server.date = 1794729600; /* a month before */
    world.options.server_key = NULL;
    assert_status(report(&world, &receipt), TREMOLO_NOT_TRUSTED);
    assert_int_equal(access(world.folder.state, F_OK), -1);
    world.options.trust_new = true;
    world.options.policy = &policy;
    policy.epsilon_per_study = 0.5;
    assert_status(report(&world, &receipt), TREMOLO_POLICY_REFUSED);
    policy.epsilon_per_study = 2;
    world.server.state = "done";
    assert_status(report(&world, &receipt), TREMOLO_ROUND_CLOSED);
    world.server.state = "open";
    world.server.date = 1797321600; /* after its end */
    assert_status(report(&world, &receipt), TREMOLO_ROUND_CLOSED);
    assert_int_equal(access(world.folder.state, F_OK), -1);
    world.server.date = 1794729600;
    policy.epsilon_total = 4;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    assert_status(tremolo_policy_budget(&budget, &policy), TREMOLO_OK);
    assert_status(tremolo_study_file_guarantee_at(&guarantee, world.server.file, 1e-5, 0),
                  TREMOLO_OK);
    assert_int_equal(receipt.budget_left, budget - guarantee.charge);
    assert_false(receipt.left_by_policy);
    end(&world);
}

/* A policy whose total was lowered below the ledger's is obeyed: in what is left
 * and, once that is too little, by a refusal. */
static void test_a_smaller_total_counts(void **state)
{
    struct world world;
    struct fake_server other;
    struct tremolo_client_receipt first = {0};
    struct tremolo_client_receipt receipt = {0};
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    uint32_t whole = 0;
    uint32_t smaller = 0;
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    world.options.policy = &policy;
    assert_status(tremolo_policy_budget(&whole, &policy), TREMOLO_OK);
    assert_status(report(&world, &first), TREMOLO_OK);
    policy.epsilon_total = 4;
    assert_status(tremolo_policy_budget(&smaller, &policy), TREMOLO_OK);
    assert_status(report(&world, &receipt), TREMOLO_OK);
    assert_true(receipt.left_by_policy);
    assert_int_equal(receipt.budget_left, smaller - (whole - first.budget_left));
    fake_server_start(&other, study_with("title", "\"Second\"", NULL, NULL), 1);
    world.around = fake_surroundings(&other);
    world.options.study_url = other.url;
    policy.epsilon_total = 1.1;
    assert_status(report(&world, &receipt), TREMOLO_BUDGET_EXHAUSTED);
    assert_non_null(strstr(tremolo_client_why(world.client), "epsilon_total of 1.1"));
    assert_int_equal(other.reports, 0);
    policy.epsilon_total = 4;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    fake_server_stop(&other);
    end(&world);
}

static void test_policy_files(void **state)
{
    static const char *const wrong[] = {
        "",
        "[]",
        "{\"epsilon\": 1}",
        "{\"epsilon_total\": 0}",
        "{\"epsilon_per_study\": \"1\"}",
        "{\"delta\": 1}",
        "{\"distance\": 0}",
        "{\"distance\": \"some\"}",
        "{\"distance\": 101}",
        "{\"studies\": \"x\"}",
        "{\"studies\": [\"x\"]}",
        "{\"epsilon_total\": 1, \"epsilon_total\": 2}",
    };
    struct tremolo_policy policy = {.delta = 7};
    char why[128];
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        why[0] = '\0';
        assert_status(tremolo_policy_parse(&policy, why, sizeof why, wrong[i], strlen(wrong[i])),
                      TREMOLO_BAD_POLICY);
        assert_true(why[0] != '\0');
        assert_true(policy.delta == 7);
    }
    const char *good = "{\"epsilon_per_study\": 0.5, \"studies\": "
                       "[\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"], \"comment\": \"c\"}";
    assert_status(tremolo_policy_parse(&policy, why, sizeof why, good, strlen(good)), TREMOLO_OK);
    assert_true(policy.epsilon_per_study == 0.5 && policy.epsilon_total == 8.0);
    assert_true(policy.only_listed && policy.study_count == 1);
    assert_status(tremolo_policy_parse(&policy, why, sizeof why, "{\"studies\": []}", 15),
                  TREMOLO_OK);
    assert_true(policy.only_listed && policy.study_count == 0);
    assert_true(policy.distance == 0);
    assert_status(tremolo_policy_parse(&policy, why, sizeof why, "{\"distance\": 0.5}", 17),
                  TREMOLO_OK);
    assert_true(policy.distance == 0.5);
    assert_status(tremolo_policy_parse(&policy, why, sizeof why, "{\"distance\": \"any\"}", 19),
                  TREMOLO_OK);
    assert_true(policy.distance == 0);
}

/* ---------------------------------------------------------------- ledger */

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

/* ---------------------------------------------------------------- retries */

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
    assert_non_null(strstr(world.why, "503"));
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
    assert_status(tremolo_client_sample(world.client, sample_text, strlen(sample_text)),
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

/* ---------------------------------------------------------------- rounds */

static const char iterative[] = "{\"kind\": \"iterative\", \"rounds\": 3, \"vectors\": 1,"
                                "\"alpha\": 0.5, \"lambda\": 0.2, \"omega\": 1}";

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
    assert_status(open_client(&world), TREMOLO_OK);
    assert_status(tremolo_client_sample(world.client, sample_text, strlen(sample_text)),
                  TREMOLO_OK);
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
    assert_status(open_client(&world), TREMOLO_OK);
    assert_status(tremolo_client_sample(world.client, sample_text, strlen(sample_text)),
                  TREMOLO_OK);
    assert_status(tremolo_client_follow(world.client, count_receipt, &count), TREMOLO_OK);
    assert_int_equal(count, 3);
    assert_int_equal(world.server.reports, 3);
    assert_int_equal(world.server.posts, 3);
    assert_int_equal(world.server.sleeps, 10);
    end(&world);
}

/* A round that closed before the report arrived is no reason to stop: the
 * client waits and asks which one is open now. */
static void test_following_goes_on_after_a_closed_round(void **state)
{
    struct world world;
    (void)state;
    begin(&world, "protocol", iterative, NULL, NULL);
    world.server.moves_on = true;
    fake_server_say(&world.server, -1, -1); /* study */
    fake_server_say(&world.server, -1, -1); /* round */
    fake_server_say(&world.server, 410, -1);
    assert_status(open_client(&world), TREMOLO_OK);
    assert_status(tremolo_client_sample(world.client, sample_text, strlen(sample_text)),
                  TREMOLO_OK);
    world.server.round = 0;
    assert_status(tremolo_client_follow(world.client, NULL, NULL), TREMOLO_OK);
    assert_int_equal(world.server.reports, 3);
    end(&world);
}

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

/* 2026-11-15T08:00:00Z and the same time in December. */
enum { NOVEMBER = 1794729600, DECEMBER = 1797321600 };
static const char dates[] = "{\"opens\": \"2026-11-15T08:00:00Z\", "
                            "\"closes\": \"2026-12-15T08:00:00Z\"}";

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

/* Following begins when the study does. */
static void test_following_waits_for_the_opening(void **state)
{
    struct world world;
    unsigned count = 0;
    (void)state;
    begin(&world, "limits", dates, NULL, NULL);
    world.server.date = NOVEMBER - 10000;
    assert_status(open_client(&world), TREMOLO_OK);
    assert_status(tremolo_client_sample(world.client, sample_text, strlen(sample_text)),
                  TREMOLO_OK);
    assert_status(tremolo_client_follow(world.client, count_receipt, &count), TREMOLO_OK);
    assert_int_equal(count, 1);
    assert_in_range(world.server.now_ms, 10000 * 1000, 10100 * 1000);
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

/* A study of one round that is closed has nothing to follow. */
static void test_following_ends_with_a_closed_study(void **state)
{
    struct world world;
    (void)state;
    begin(&world, NULL, NULL, NULL, NULL);
    fake_server_say(&world.server, -1, -1); /* study */
    fake_server_say(&world.server, 410, -1);
    assert_status(open_client(&world), TREMOLO_OK);
    assert_status(tremolo_client_sample(world.client, sample_text, strlen(sample_text)),
                  TREMOLO_OK);
    assert_status(tremolo_client_follow(world.client, NULL, NULL), TREMOLO_OK);
    assert_int_equal(world.server.sleeps, 0);
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

/* ---------------------------------------------------------------- samples */

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
    assert_status(tremolo_device_enrol(&work, &platform, UINT32_C(1) << 30), TREMOLO_OK);
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
        cmocka_unit_test(test_a_report_arrives),
        cmocka_unit_test(test_again_is_the_same_bytes),
        cmocka_unit_test(test_enrolled_devices_sign),
        cmocka_unit_test(test_open_studies_learn_no_names),
        cmocka_unit_test(test_nothing_without_a_key),
        cmocka_unit_test(test_trust_new_pins),
        cmocka_unit_test(test_wrong_signature),
        cmocka_unit_test(test_wrong_id),
        cmocka_unit_test(test_failures_have_sentences),
        cmocka_unit_test(test_bad_addresses),
        cmocka_unit_test(test_policy_refuses),
        cmocka_unit_test(test_policy_has_its_own_neighbours),
        cmocka_unit_test(test_charged_at_the_policys_distance),
        cmocka_unit_test(test_total_is_the_ledgers),
        cmocka_unit_test(test_refusals_leave_no_ledger),
        cmocka_unit_test(test_a_smaller_total_counts),
        cmocka_unit_test(test_policy_files),
        cmocka_unit_test(test_no_ledger_without_enrolment),
        cmocka_unit_test(test_two_clients_exclude_each_other),
        cmocka_unit_test(test_counter_catches_old_copies),
        cmocka_unit_test(test_backoff_and_retry_after),
        cmocka_unit_test(test_backoff_has_an_end),
        cmocka_unit_test(test_giving_up_keeps_the_report),
        cmocka_unit_test(test_refusals_are_final),
        cmocka_unit_test(test_nonsense_from_the_server),
        cmocka_unit_test(test_following),
        cmocka_unit_test(test_following_is_quiet),
        cmocka_unit_test(test_following_goes_on_after_a_closed_round),
        cmocka_unit_test(test_following_ends_with_a_closed_study),
        cmocka_unit_test(test_dates_are_kept),
        cmocka_unit_test(test_a_stored_report_outlives_the_dates),
        cmocka_unit_test(test_following_waits_for_the_opening),
        cmocka_unit_test(test_a_closed_round_costs_nothing),
        cmocka_unit_test(test_a_race_is_said),
        cmocka_unit_test(test_a_round_is_checked),
        cmocka_unit_test(test_a_round_is_signed),
        cmocka_unit_test(test_samples_as_text),
        cmocka_unit_test(test_marked_samples),
        cmocka_unit_test(test_names_with_commas),
        cmocka_unit_test(test_the_sample_is_what_is_sent),
    };
    return cmocka_run_group_tests_name("host client", tests, NULL, NULL);
}
