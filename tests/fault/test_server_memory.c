/* test_server_memory.c -- memory that runs out in a worker, in an overview and
 * in a gateway.
 *
 * A shard whose owner had no memory at some point still counts every report once, and
 * an MQTT message that could not be read for lack of memory comes again. The broker in memory
 * always has some. */
#include "failing_memory.h"

#include <limits.h>
#include <stdatomic.h>
#include <unistd.h>

#include "memory_store.h"
#include "mqtt.h"
#include "server_jobs.h"

#include "fake_nats.h" /* last: its `study` is global */

/* ---------------------------------------------------------------- a broker with memory */

static enum tremolo_status get(struct bus *base, const char *key, struct bus_value *value)
{
    int was = armed;
    armed = 0;
    enum tremolo_status status = fake_get(base, key, value);
    armed = was;
    return status;
}

static enum tremolo_status swap(struct bus *base, const char *key, uint64_t expected,
                                const uint8_t *bytes, size_t length, uint64_t *revision)
{
    int was = armed;
    armed = 0;
    enum tremolo_status status = fake_swap(base, key, expected, bytes, length, revision);
    armed = was;
    return status;
}

static enum tremolo_status publish(struct bus *base, struct bus_message *messages, size_t count)
{
    int was = armed;
    armed = 0;
    enum tremolo_status status = fake_publish(base, messages, count);
    armed = was;
    return status;
}

static enum tremolo_status next(struct bus *base, const char *stream, const char *subjects,
                                uint64_t from, struct bus_value *message)
{
    int was = armed;
    armed = 0;
    enum tremolo_status status = fake_next(base, stream, subjects, from, message);
    armed = was;
    return status;
}

static int begin(void **state)
{
    (void)world_begin(state);
    bus.base.get = get;
    bus.base.swap = swap;
    bus.base.publish = publish;
    bus.base.next = next;
    return 0;
}

/* ---------------------------------------------------------------- a worker */

static void send_three(void)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    for (uint32_t i = 0; i < 3; i++) {
        world_send(i * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
    }
}

/* Claim, fold, and fold again from the beginning because the log is renumbered; the n-th
 * request for memory is refused. Then the old numbers are back, as when one replica led for
 * a moment only: the checkpoint before it is good, and repeats must be known as such. False:
 * there were fewer requests. */
static bool live_without(int n)
{
    struct worker worker;
    send_three();
    worker_hire(&worker, "one");
    countdown = n;
    armed = 1;
    worker_claim(&worker);
    worker_fold(&worker);
    broker.shift = 4;
    worker_fold(&worker);
    armed = 0;
    bool was_refused = countdown < 0;
    broker.shift = 0;
    for (int i = 0; i < 2 * LEASE_MISSING_MAX; i++) {
        worker_claim(&worker);
    }
    send_three();
    worker_fold(&worker);
    worker_claim(&worker);
    worker_fold(&worker);
    assert_int_equal(world_counted(), 3 * SEGMENT_REPORTS);
    worker_dismiss(&worker);
    return was_refused;
}

static void test_worker_without_memory(void **state)
{
    int n = 0;
    while (live_without(n)) {
        (void)world_end(state);
        (void)begin(state);
        n++;
        assert_true(n < LIMIT);
    }
    assert_true(n > 20);
}

/* ---------------------------------------------------------------- an overview */

static bool look_without(bool *sound)
{
    char *json = NULL;
    enum tremolo_status status = cluster_overview(&json, &bus.base, 0);
    *sound = (status == TREMOLO_OK) == (json != NULL);
    free(json);
    return status == TREMOLO_OK;
}

static void test_overview_without_memory(void **state)
{
    (void)state;
    fail_each(look_without);
}

/* The broker's n-th answer does not come: nothing of the others is leaked. */
static void test_overview_without_answers(void **state)
{
    struct worker worker;
    unsigned failures = 0;
    bool answered = false;
    (void)state;
    send_three();
    worker_hire(&worker, "one");
    worker_claim(&worker);
    worker_fold(&worker);
    broker.fault = FAKE_REFUSES;
    for (int n = 0; !answered; n++) {
        char *json = NULL;
        live_count = 0;
        countdown = INT_MAX;
        armed = 1;
        broker.until_fault = n;
        enum tremolo_status status = cluster_overview(&json, &bus.base, 0);
        answered = broker.until_fault >= 0;
        if (status == TREMOLO_OK) {
            assert_non_null(strstr(json, "\"owner\":\"one\""));
        }
        free(json);
        armed = 0;
        assert_int_equal(live_count, 0);
        failures += status != TREMOLO_OK;
        assert_true(status == TREMOLO_OK || !answered);
    }
    broker.until_fault = -1;
    assert_true(failures > 2 * SHARDS);
    worker_dismiss(&worker);
}

/* ---------------------------------------------------------------- MQTT */

enum { REFUSALS = 3 }; /* what reading asks for: the publications, its reports, their rows */

static char subject[BUS_NAME_BYTES];
static struct server_report message;
static int pulls;
static atomic_int settled_after; /* so many pulls; 0: not yet */

/* The same message until it is settled. Reading it, the n-th time, lacks what it asks for at
 * its n-th request. */
static enum tremolo_status pull(struct bus *base, struct bus_value *messages, size_t capacity,
                                size_t *count)
{
    (void)base;
    (void)capacity;
    armed = 0;
    *count = 0;
    if (atomic_load(&settled_after) != 0) {
        (void)usleep(1000);
        return TREMOLO_OK;
    }
    messages[0] = (struct bus_value){
        .bytes = fake_copy(message.bytes, message.length), .length = message.length, .revision = 1};
    (void)snprintf(messages[0].subject, sizeof messages[0].subject, "%s", subject);
    *count = 1;
    countdown = pulls++;
    armed = countdown < REFUSALS;
    return TREMOLO_OK;
}

static void settle(struct bus *base, size_t index)
{
    (void)base;
    (void)index;
    atomic_store(&settled_after, pulls);
}

static struct served_study *make_study(struct writer *writer)
{
    struct job job = job_create(server_study_open);
    assert_true(submit_and_wait(writer, &job));
    assert_status(job.status, TREMOLO_OK);
    server_report_make(&message, job.served->study, 0, NULL, NULL);
    (void)snprintf(subject, sizeof subject, "$MQTT.msgs.tremolo.%s.reports", job.served->id_text);
    return job.served;
}

static void test_message_comes_again(void **state)
{
    struct tremolo_store_options options = {0};
    struct writer *writer = NULL;
    struct mqtt *mqtt = NULL;
    char words[TREMOLO_WORDS_BYTES];
    (void)state;
    bus.base.pull = pull;
    bus.base.settle = settle;
    assert_status(writer_start_embedded(&writer, memory_store_new(), no_key, secret, words),
                  TREMOLO_OK);
    struct served_study *served = make_study(writer);
    assert_status(mqtt_start(&mqtt, writer, &options, words), TREMOLO_OK);
    for (int i = 0; i < 10000 && atomic_load(&settled_after) == 0; i++) {
        (void)usleep(1000);
    }
    mqtt_stop(mqtt);
    armed = 0;
    assert_int_equal(atomic_load(&settled_after), REFUSALS + 1);
    assert_int_equal(atomic_load(&writer->mqtt_malformed), 0);
    assert_int_equal(served->sums.reports, 1);
    writer_stop(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_worker_without_memory, begin, world_end),
        cmocka_unit_test_setup_teardown(test_overview_without_memory, begin, world_end),
        cmocka_unit_test_setup_teardown(test_overview_without_answers, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_message_comes_again, begin, world_end),
    };
    if (sodium_init() < 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
