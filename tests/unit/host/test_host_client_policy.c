/* test_host_client_policy.c -- what the device's own policy allows, and what a
 * study is charged at the distance that policy protects. */
#include "accountant.h"
#include "policy.h"
#include "client_world.h"
#include "study_internal.h"

#include <math.h>

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

static struct tremolo_policy policy_of(const char *json)
{
    struct tremolo_policy policy;
    char why[256] = "";
    assert_status(tremolo_policy_parse(&policy, why, sizeof why, json, strlen(json)), TREMOLO_OK);
    return policy;
}

/* One half range of each number of the base study. */
static const char one_half_range[] =
    "{\"distance\": {\"a\": 5, \"b\": 1, \"c\": false, \"d\": false, \"r\": 50}}";

/* The server chooses a study's neighbours, the device whom it protects: at
 * distance 0.001 an epsilon of 2 would give the sample away. */
static void test_policy_has_its_own_neighbours(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    struct tremolo_policy policy = policy_of(one_half_range);
    (void)state;
    begin(&world, "privacy.epsilon", "2", "privacy.neighbours", "{\"distance\": 0.001}");
    assert_status(report(&world, &receipt), TREMOLO_POLICY_REFUSED);
    assert_non_null(strstr(world.why, "between any two people"));
    assert_non_null(strstr(world.why, "the policy allows 2;"));
    assert_non_null(strstr(world.why, "at most 0.001 of its half ranges apart"));
    world.options.policy = &policy;
    assert_status(report(&world, &receipt), TREMOLO_POLICY_REFUSED);
    assert_non_null(strstr(world.why, "between the policy's neighbours"));
    assert_int_equal(world.server.reports, 0);
    assert_true(tremolo_policy_name_distance(&policy, world.server.file));
    assert_status(report(&world, &receipt), TREMOLO_OK);
    end(&world);
}

/* Bounds a hundredth as wide make half ranges of a hundredth: what the policy protects stays
 * what it was, and a study that protects less is refused, its ledger unmade. */
static void test_bounds_do_not_move_the_policy(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    struct tremolo_policy policy = policy_of(one_half_range);
    (void)state;
    begin(&world, "privacy.neighbours", "{\"distance\": 1}", NULL, NULL);
    world.options.policy = &policy;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    end(&world);
    begin(&world, "privacy.neighbours", "{\"distance\": 1}", "features[0].high", "0.1");
    world.options.policy = &policy;
    assert_status(report(&world, &receipt), TREMOLO_POLICY_REFUSED);
    assert_non_null(strstr(world.why, "between the policy's neighbours"));
    assert_int_equal(world.server.reports, 0);
    assert_int_equal(access(world.folder.state, F_OK), -1);
    end(&world);
}

/* A distance policy takes nothing that it does not name in full. */
static void test_every_feature_is_named(void **state)
{
    static const struct {
        const char *json;
        const char *sentence;
    } cases[] = {
        {"{\"distance\": {\"b\": 1, \"c\": false, \"d\": false, \"r\": 50}}",
         "the policy's distance: a is not named"},
        {"{\"distance\": {\"a\": 5, \"b\": 1, \"c\": false, \"d\": false}}",
         "the policy's distance: r is not named"},
        {"{\"distance\": {\"a\": 5, \"b\": 1, \"c\": 1, \"d\": false, \"r\": 50}}",
         "the policy's distance: c has a number, but is a choice of answers"},
        {"{\"distance\": {\"a\": false, \"b\": false, \"c\": false, \"d\": false, \"r\": false}}",
         "the policy's distance protects none of the study's features"},
    };
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    (void)state;
    begin(&world, "privacy.neighbours", "{\"distance\": 1}", NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tremolo_policy policy = policy_of(cases[i].json);
        world.options.policy = &policy;
        assert_status(report(&world, &receipt), TREMOLO_POLICY_REFUSED);
        assert_non_null(strstr(world.why, cases[i].sentence));
        assert_int_equal(access(world.folder.state, F_OK), -1);
        /* A charge in spite of that is for any two people. */
        assert_int_equal(tremolo_policy_device(&policy, world.server.file).distance, 0);
    }
    end(&world);
    /* Any two people, and ballots, are the same under every policy. */
    struct tremolo_policy other = policy_of("{\"distance\": {\"height\": 5}}");
    begin(&world, NULL, NULL, NULL, NULL);
    world.options.policy = &other;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    end(&world);
    begin(&world, "protocol.release", "\"ballot\"", NULL, NULL);
    world.options.policy = &other;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    end(&world);
}

/* The largest number of half ranges decides among numbers; what is true adds its square: 4, or 8
 * between answers of three. */
static void test_half_ranges_of_a_policy(void **state)
{
    static const struct {
        const char *json;
        double half_ranges;
    } cases[] = {
        {"{\"distance\": {\"a\": 5, \"b\": 1, \"c\": false, \"d\": false, \"r\": 50}}", 1},
        {"{\"distance\": {\"a\": 1, \"b\": 1.5, \"c\": false, \"d\": false, \"r\": 5}}", 1.5},
        {"{\"distance\": {\"a\": 1, \"b\": 0.1, \"c\": false, \"d\": true, \"r\": 5}}",
         2.009975124224178},
        {"{\"distance\": {\"a\": 1, \"b\": 0.1, \"c\": true, \"d\": true, \"r\": 5}}",
         3.46987031457949},
        {"{\"distance\": {\"a\": true, \"b\": 0.2, \"c\": false, \"d\": false, \"r\": 5}}",
         2.009975124224178},
        {"{\"distance\": {\"a\": false, \"b\": true, \"c\": false, \"d\": true, \"r\": false}}",
         2.8284271247461903},
        {"{\"distance\": {\"a\": 5e9, \"b\": 1, \"c\": false, \"d\": false, \"r\": 50}}", 0},
    };
    struct tremolo_study_file *file =
        study_with("privacy.neighbours", "{\"distance\": 1}", NULL, NULL);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tremolo_policy policy = policy_of(cases[i].json);
        struct tremolo_study wanted = tremolo_study_file_device_at(file, cases[i].half_ranges);
        assert_int_equal(tremolo_policy_device(&policy, file).distance, wanted.distance);
    }
    tremolo_study_file_free(file);
}

/* How far apart, in half ranges and squared, two people are who differ in a number by this share of
 * what the policy names for it. */
static double number_apart2(double *apart, double share, double range, struct fake_entropy *random)
{
    bool any = fake_between(random, 0, 3) == 0;
    *apart = any ? INFINITY : fake_between(random, 1, 1000) / 1000.0 * range;
    return any ? 4 : pow(2 * share * *apart / range, 2);
}

/* The same of a choice of answers: as far as two answers are. */
static double answers_apart2(double *apart, double widest2, struct fake_entropy *random)
{
    *apart = fake_between(random, 0, 1) == 0 ? INFINITY : 0;
    return *apart > 0 ? widest2 : 0;
}

/* Two people whom the policy calls neighbours are so at the distance that is charged: any point of the
 * ellipsoid of its numbers, with any difference in what is true, lies within that many fine units. */
static void test_neighbours_are_within_the_charge(void **state)
{
    static const double range[3] = {10, 2, 100}; /* of a, b and r */
    static const size_t place[3] = {0, 1, 4};
    struct tremolo_study_file *file =
        study_with("privacy.neighbours", "{\"distance\": 1}", NULL, NULL);
    struct fake_entropy random = {.state = 7};
    unsigned near = 0;
    (void)state;
    for (unsigned i = 0; i < 2000; i++) {
        struct tremolo_policy policy = policy_of(one_half_range);
        double step[3], norm = 0;
        for (size_t k = 0; k < 3; k++) {
            step[k] = fake_between(&random, -1000, 1000) / 1000.0;
            norm += step[k] * step[k];
        }
        assert_true(norm > 0);
        double apart2 = answers_apart2(&policy.features[2].apart, 8, &random) +
                        answers_apart2(&policy.features[3].apart, 4, &random);
        for (size_t k = 0; k < 3; k++) {
            apart2 += number_apart2(&policy.features[place[k]].apart, step[k] / sqrt(norm),
                                    range[k], &random);
        }
        struct tremolo_study study = tremolo_policy_device(&policy, file);
        /* A billionth for the rounding of this sum; 0 is for any two people. */
        assert_true(study.distance == 0 ||
                    sqrt(apart2) * study.unit <= study.distance * (1 + 1e-9));
        near += sqrt(apart2) * study.unit > 0.9 * study.distance && study.distance > 0;
    }
    assert_true(near > 20); /* the bound is met, not only kept */
    tremolo_study_file_free(file);
}

/* A policy that was written for a study, and read again, is charged for no more than the study
 * protects, and for what it protects to six digits where only numbers are named. */
static void test_written_policies_stay_within_the_study(void **state)
{
    static const char *const distances[] = {"0.001",
                                            "0.0123456789",
                                            "0.29",
                                            "0.7",
                                            "0.9999999999999",
                                            "1",
                                            "1.2345675",
                                            "1.9999999",
                                            "2",
                                            "2.83",
                                            "2.9",
                                            "3",
                                            "3.5",
                                            "3.9999999",
                                            "4",
                                            "4.5"};
    (void)state;
    for (size_t i = 0; i < sizeof distances / sizeof distances[0]; i++) {
        char json[64];
        char text[1024];
        struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
        (void)snprintf(json, sizeof json, "{\"distance\": %s}", distances[i]);
        struct tremolo_study_file *file = study_with("privacy.neighbours", json, NULL, NULL);
        uint32_t own = tremolo_study_file_device(file)->distance;
        assert_true(tremolo_policy_name_distance(&policy, file));
        assert_true(tremolo_policy_write(text, sizeof text, &policy));
        policy = policy_of(text);
        uint32_t charged = tremolo_policy_device(&policy, file).distance;
        assert_in_range(charged, 1, own);
        assert_true(charged >= own * (1 - 2e-5)); /* two of the sixth digit, and a fine unit */
        /* 0.9999999999999 of a half range is not a whole one. */
        assert_true(2 * policy.features[1].apart / 2 <= strtod(distances[i], NULL));
        /* The number from end to end, and two answers, or two of three. */
        double distance = strtod(distances[i], NULL);
        assert_int_equal(isinf(policy.features[2].apart), distance >= sqrt(12));
        assert_int_equal(isinf(policy.features[3].apart),
                         distance >= sqrt(16) || (distance >= sqrt(8) && distance < sqrt(12)));
        tremolo_study_file_free(file);
    }
}

/* What a policy file says of a study is what the study says of itself, and the text can be
 * put between single quotes. */
static void test_policies_are_written(void **state)
{
    struct tremolo_study_file *file =
        study_with("privacy.neighbours", "{\"distance\": 0.3}", "features[0].name", "\"it's\"");
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    struct tremolo_policy again;
    char text[1024];
    (void)state;
    assert_true(tremolo_policy_name_distance(&policy, file));
    assert_true(tremolo_policy_write(text, sizeof text, &policy));
    assert_null(strchr(text, '\''));
    again = policy_of(text);
    assert_int_equal(again.feature_count, 5);
    assert_string_equal(again.features[0].name, "it's");
    assert_true(again.features[0].apart == 1.5 && again.features[2].apart == 0);
    assert_status(tremolo_policy_ask(&again, text, sizeof text, file), TREMOLO_OK);
    for (size_t bytes = 1; bytes < 40; bytes++) {
        assert_false(tremolo_policy_write(text, bytes, &policy));
    }
    tremolo_study_file_free(file);
}

/* A study for distance 0.5 at a policy of twice that costs twice its own mu,
 * so about four times its own charge, and the ledger says so. */
static void test_charged_at_the_policys_distance(void **state)
{
    struct world world;
    struct tremolo_client_receipt receipt = {0};
    struct tremolo_policy policy = policy_of(one_half_range);
    struct tremolo_study_guarantee own;
    struct tremolo_study_guarantee ours;
    uint32_t budget = 0;
    (void)state;
    begin(&world, "privacy.epsilon", "0.5", "privacy.neighbours", "{\"distance\": 0.5}");
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
    world.server.date = NOVEMBER; /* a month before */
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
    world.server.date = DECEMBER; /* after its end */
    assert_status(report(&world, &receipt), TREMOLO_ROUND_CLOSED);
    assert_int_equal(access(world.folder.state, F_OK), -1);
    world.server.date = NOVEMBER;
    policy.epsilon_total = 4;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    assert_status(tremolo_policy_budget(&budget, &policy), TREMOLO_OK);
    assert_status(tremolo_study_file_guarantee_at(&guarantee, world.server.file, 1e-5, 0),
                  TREMOLO_OK);
    assert_int_equal(receipt.budget_left, budget - guarantee.charge);
    assert_false(receipt.left_by_policy);
    end(&world);
}

/* A policy with a total below the ledger's is obeyed: in what is left
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

/* A ballot costs pure epsilon: the default policy takes one of 2, and the total is over
 * both kinds of release. */
static void test_ballots_and_samples_share_a_total(void **state)
{
    struct world world;
    struct fake_server other;
    struct tremolo_client_receipt receipt = {0};
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    uint32_t samples_only = 0;
    uint32_t spent[2] = {0, 2u << 24};
    (void)state;
    begin(&world, "protocol.release", "\"ballot\"", "privacy.epsilon", "2");
    world.options.policy = &policy;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    assert_true(receipt.of_epsilon && !receipt.left_by_policy);
    assert_true(receipt.budget_left >= 6u << 24 && receipt.budget_left < (6u << 24) + 16);
    /* What is left for samples is the budget of what is left of the total. */
    fake_server_start(&other, study_with("title", "\"Second\"", NULL, NULL), 1);
    world.around = fake_surroundings(&other);
    world.options.study_url = other.url;
    assert_status(report(&world, &receipt), TREMOLO_OK);
    assert_true(!receipt.of_epsilon && receipt.left_by_policy);
    assert_status(tremolo_policy_allows(&samples_only, &policy, TREMOLO_RELEASE_SAMPLE, spent),
                  TREMOLO_OK);
    assert_true(receipt.budget_left < samples_only);
    policy.epsilon_total = 2.5;
    assert_status(tremolo_policy_allows(&samples_only, &policy, TREMOLO_RELEASE_SAMPLE, spent),
                  TREMOLO_OK);
    fake_server_stop(&other);
    end(&world);
}

static void test_policies_count_both_kinds(void **state)
{
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    uint32_t whole = 0;
    uint32_t allowed = 0;
    uint32_t spent[2] = {0, 0};
    (void)state;
    assert_status(tremolo_policy_budget(&whole, &policy), TREMOLO_OK);
    assert_status(tremolo_policy_allows(&allowed, &policy, TREMOLO_RELEASE_SAMPLE, spent),
                  TREMOLO_OK);
    assert_int_equal(allowed, whole);
    assert_status(tremolo_policy_allows(&allowed, &policy, TREMOLO_RELEASE_BALLOT, spent),
                  TREMOLO_OK);
    assert_int_equal(allowed, 8u << 24);
    /* All of mu^2 leaves nothing for ballots, except what rounding keeps. */
    spent[TREMOLO_RELEASE_SAMPLE] = whole;
    assert_status(tremolo_policy_allows(&allowed, &policy, TREMOLO_RELEASE_BALLOT, spent),
                  TREMOLO_OK);
    assert_true(allowed < 64);
    spent[TREMOLO_RELEASE_SAMPLE] = 0;
    spent[TREMOLO_RELEASE_BALLOT] = 8u << 24;
    assert_status(tremolo_policy_allows(&allowed, &policy, TREMOLO_RELEASE_SAMPLE, spent),
                  TREMOLO_OK);
    assert_int_equal(allowed, 0);
}

static enum tremolo_status budget_of(uint32_t *budget, double epsilon, double delta)
{
    const struct tremolo_policy policy = {.epsilon_total = epsilon, .delta = delta};
    return tremolo_policy_budget(budget, &policy);
}

/* The budget is the largest whole charge within the promise: one more unit
 * breaks it. */
static void test_budget_is_the_largest(void **state)
{
    (void)state;
    for (int i = -2; i < 4; i++) {
        double epsilon = ldexp(1, i);
        uint32_t budget = 0;
        struct tremolo_certified delta;
        assert_status(budget_of(&budget, epsilon, 1e-5), TREMOLO_OK);
        struct tremolo_gaussian within = {(double)budget / (double)TREMOLO_CHARGE_ONE, 0};
        struct tremolo_gaussian beyond = {((double)budget + 2) / (double)TREMOLO_CHARGE_ONE, 0};
        assert_status(tremolo_gaussian_delta(&delta, &within, epsilon), TREMOLO_OK);
        assert_true(delta.upper <= 1e-5);
        assert_status(tremolo_gaussian_delta(&delta, &beyond, epsilon), TREMOLO_OK);
        assert_true(delta.lower > 1e-5);
    }
    uint32_t budget = 7;
    assert_status(budget_of(&budget, 1e-6, 1e-12), TREMOLO_UNREACHABLE);
    assert_status(budget_of(&budget, 1000, 1e-5), TREMOLO_OVERFLOWED);
    assert_int_equal(budget, 7);
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
        "{\"distance\": 1}",
        "{\"distance\": 0.5}",
        "{\"distance\": \"some\"}",
        "{\"distance\": {}}",
        "{\"distance\": [\"a\"]}",
        "{\"distance\": {\"a\": 0}}",
        "{\"distance\": {\"a\": -1}}",
        "{\"distance\": {\"a\": \"1\"}}",
        "{\"distance\": {\"a\": null}}",
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
    assert_int_equal(policy.feature_count, 0);
    policy = policy_of("{\"distance\": {\"a\": 0.5, \"b\": true, \"c\": false}}");
    assert_int_equal(policy.feature_count, 3);
    assert_true(policy.features[0].apart == 0.5 && policy.features[2].apart == 0);
    assert_true(policy.features[1].apart > 1e300);
    assert_int_equal(policy_of("{\"distance\": \"any\"}").feature_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_policy_refuses),
        cmocka_unit_test(test_policy_has_its_own_neighbours),
        cmocka_unit_test(test_bounds_do_not_move_the_policy),
        cmocka_unit_test(test_every_feature_is_named),
        cmocka_unit_test(test_half_ranges_of_a_policy),
        cmocka_unit_test(test_neighbours_are_within_the_charge),
        cmocka_unit_test(test_written_policies_stay_within_the_study),
        cmocka_unit_test(test_policies_are_written),
        cmocka_unit_test(test_charged_at_the_policys_distance),
        cmocka_unit_test(test_total_is_the_ledgers),
        cmocka_unit_test(test_refusals_leave_no_ledger),
        cmocka_unit_test(test_a_smaller_total_counts),
        cmocka_unit_test(test_ballots_and_samples_share_a_total),
        cmocka_unit_test(test_policies_count_both_kinds),
        cmocka_unit_test(test_budget_is_the_largest),
        cmocka_unit_test(test_policy_files),
    };
    return cmocka_run_group_tests_name("host client: policy", tests, NULL, NULL);
}
