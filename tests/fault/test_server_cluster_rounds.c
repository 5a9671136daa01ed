/* test_server_cluster_rounds.c -- the end of a clustered round, as devices hear of it and
 * with workers that are paused in the middle. */
#include "testing.h"

#include "cluster_world.h"
#include "estimate.h"
#include "study_internal.h"

/* Rounds that end by themselves after ENOUGH reports. */
enum { ENOUGH = 4 };
static const char study_rounds[] =
    "{\"tremolo\": 1, \"title\": \"rounds\", \"features\": [{\"name\": \"a\", \"low\": 0, "
    "\"high\": 1}, {\"name\": \"b\", \"low\": 0, \"high\": 1}], "
    "\"response\": {\"name\": \"y\", \"low\": 0, \"high\": 1}, "
    "\"privacy\": {\"epsilon\": 8, \"protects\": \"features\"}, "
    "\"protocol\": {\"kind\": \"iterative\", \"rounds\": 3, \"close\": {\"reports\": 4}}}";

static struct mirror *other; /* the same study in another process */
static struct worker worker;

static int begin(void **state)
{
    world_study = study_rounds;
    (void)world_begin(state);
    assert_status(mirror_open(&other, &bus.base, study->served->id, no_key, secret), TREMOLO_OK);
    assert_status(mirror_refresh(other, &bus.base, true), TREMOLO_OK);
    worker_hire(&worker, "one");
    for (unsigned n = 0; n < SHARDS; n++) {
        worker.lease[n].study = other;
    }
    worker_claim(&worker);
    return 0;
}

static int end(void **state)
{
    worker_dismiss(&worker);
    mirror_free(other);
    other = NULL;
    return world_end(state);
}

static void send_and_fold(uint32_t first, size_t count)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    world_send(first, count, outcomes);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(outcomes[i], OUTCOME_ACCEPTED);
    }
    worker_fold(&worker);
}

static void expect_state(enum cluster_phase phase, unsigned round)
{
    struct cluster_state state = {0};
    assert_status(cluster_get_state(&state, &bus.base, study->tag), TREMOLO_OK);
    assert_int_equal(state.phase, phase);
    assert_int_equal(state.round, round);
    cluster_state_free(&state);
}

/* What a gateway with this copy of the study answers to GET .../round. */
static void expect_broadcast(struct mirror *copy, const char *word, unsigned round)
{
    static uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES];
    static uint8_t signing_key[TREMOLO_SIGNING_SECRET_BYTES];
    static const uint8_t seed[TREMOLO_SIGNING_SEED_BYTES];
    char expected[64];
    assert_status(tremolo_signing_keys(public_key, signing_key, seed), TREMOLO_OK);
    char *json = round_json(copy->served, signing_key, (int64_t)time(NULL));
    assert_non_null(json);
    (void)snprintf(expected, sizeof expected, "\"state\":\"%s\"", word);
    assert_non_null(strstr(json, expected));
    (void)snprintf(expected, sizeof expected, "\"round\":%u,", round);
    assert_non_null(strstr(json, expected));
    assert_int_equal(strstr(json, "\"signature\"") != NULL, strcmp(word, "open") == 0);
    free(json);
}

static void advance_until_open(struct mirror *copy, unsigned round)
{
    for (int i = 0; i < 4 && copy->round < round; i++) {
        assert_status(mirror_advance(copy, &bus.base, (int64_t)time(NULL)), TREMOLO_OK);
        worker_fold(&worker);
        assert_status(mirror_refresh(copy, &bus.base, true), TREMOLO_OK);
    }
    expect_state(CLUSTER_OPEN, round);
}

/* A device is charged for a round that it hears is open, so no gateway says that of one that
 * is being closed: neither who closes it nor who has read of it. */
static void test_closing_is_not_open(void **state)
{
    (void)state;
    send_and_fold(0, 2);
    expect_broadcast(study, "open", 0);
    assert_status(mirror_close_round(study, &bus.base, -1), TREMOLO_OK);
    expect_state(CLUSTER_CLOSING, 0);
    expect_broadcast(study, "waiting", 0);
    expect_broadcast(other, "open", 0); /* it has not heard */
    assert_status(mirror_refresh(other, &bus.base, true), TREMOLO_OK);
    expect_broadcast(other, "waiting", 0);
    worker_fold(&worker);
    advance_until_open(other, 1);
    expect_broadcast(other, "open", 1);
    assert_status(mirror_refresh(study, &bus.base, true), TREMOLO_OK);
    expect_broadcast(study, "open", 1);
}

/* ---------------------------------------------------------------- a paused worker */

static int looks_until_pause;
static bool renumbered; /* and the state that others wrote has the number of the one we know */

static void number_state_as_known(const struct mirror *copy)
{
    char key[BUS_NAME_BYTES];
    cluster_key(key, "state", copy->tag);
    fake_find(&broker, key)->revision = copy->state_revision;
}

/* Others close round 0, open round 1, and take reports in it: too few to end it. */
static void in_between(void)
{
    struct mirror *paused = study;
    study = other;
    advance_until_open(other, 1);
    world_round(1);
    send_and_fold(1000, ENOUGH - 2);
    study = paused;
    if (renumbered) {
        number_state_as_known(paused);
    }
}

static enum tremolo_status get_after_pause(struct bus *base, const char *key,
                                           struct bus_value *value)
{
    if (strncmp(key, "state.", 6) == 0 && looks_until_pause-- == 0) {
        base->get = fake_get;
        in_between();
    }
    return fake_get(base, key, value);
}

/* A worker that saw that round 0 is due closes that one or none, whenever it is paused. */
static void test_paused_worker_closes_what_was_due(void **state)
{
    for (int i = 0; i < 6; i++) {
        (void)end(state);
        (void)begin(state);
        send_and_fold(0, ENOUGH);
        looks_until_pause = i / 2;
        renumbered = i % 2 == 1;
        bus.base.get = get_after_pause;
        assert_status(mirror_advance(study, &bus.base, (int64_t)time(NULL)), TREMOLO_OK);
        assert_ptr_equal(bus.base.get, fake_get); /* it was paused */
        expect_state(CLUSTER_OPEN, 1);
        assert_status(mirror_refresh(study, &bus.base, true), TREMOLO_OK);
        expect_broadcast(study, "open", 1);
        send_and_fold(2000, 1);
        assert_int_equal(world_counted(), ENOUGH + ENOUGH - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_closing_is_not_open, begin, end),
        cmocka_unit_test_setup_teardown(test_paused_worker_closes_what_was_due, begin, end),
    };
    if (sodium_init() < 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
