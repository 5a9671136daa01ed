/* test_server_cluster.c -- a broker that fails at every call in turn, owners that
 * pause, logs that are renumbered: every acknowledged report counts, once.
 *
 * The gateway's publisher and the workers' leases are the real ones; the broker is one in
 * memory (fake_bus.h). The oracle is the list of acknowledged reports. */
#include "testing.h"

#include <unistd.h>

#include "cluster_world.h"

enum { REPORTS = 12, MANY = 9000 };

/* ---------------------------------------------------------------- tests */

/* Every call of a whole life (publish, claim, fold, checkpoint, take over) fails once,
 * in each of three ways. */
static void run_with_fault(enum fake_fault fault, long at)
{
    uint8_t outcomes[REPORTS];
    struct worker first;
    struct worker second;
    uint64_t taken = 0;
    worker_hire(&first, "first");
    worker_hire(&second, "second");
    broker.fault = fault;
    broker.until_fault = at;
    for (uint32_t i = 0; i < REPORTS; i++) { /* until it is acknowledged, as devices do */
        do {
            world_send(i, 1, &outcomes[i]);
        } while (outcomes[i] == OUTCOME_NOT_STORED);
        assert_int_equal(outcomes[i], OUTCOME_ACCEPTED);
        taken++;
        worker_claim(&first);
        worker_fold(&first);
    }
    worker_claim(&second); /* the first one is paused ... */
    worker_fold(&second);
    worker_fold(&first); /* ... and wakes up */
    worker_claim(&second);
    worker_fold(&second);
    broker.until_fault = -1;
    worker_claim(&second);
    worker_fold(&second);
    assert_int_equal(world_counted(), taken);
    worker_dismiss(&first);
    worker_dismiss(&second);
}

static void test_every_call_fails(void **state)
{
    broker.until_fault = -1;
    run_with_fault(FAKE_REFUSES, -1);
    long calls = broker.calls;
    assert_true(calls > 100);
    for (int fault = FAKE_REFUSES; fault <= FAKE_LOSES_BOTH; fault++) {
        for (long at = 0; at < calls; at += 1) {
            (void)world_end(state);
            (void)world_begin(state);
            run_with_fault((enum fake_fault)fault, at);
        }
    }
}

/* An owner that was replaced writes nothing any more, and drops what it held. */
static void test_paused_owner(void **state)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker old;
    struct worker young;
    (void)state;
    worker_hire(&old, "old");
    worker_hire(&young, "young");
    world_send(0, SEGMENT_REPORTS, outcomes);
    worker_claim(&old);
    worker_fold(&old);
    world_send(SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
    worker_claim(&young);
    worker_fold(&young);
    assert_int_equal(world_counted(), 2 * SEGMENT_REPORTS);
    worker_fold(&old);
    for (unsigned n = 0; n < SHARDS; n++) {
        assert_null(old.lease[n].shard);
        assert_non_null(young.lease[n].shard);
    }
    world_send(0, SEGMENT_REPORTS, outcomes); /* all of it again */
    worker_fold(&young);
    assert_int_equal(world_counted(), 2 * SEGMENT_REPORTS);
    worker_dismiss(&old);
    worker_dismiss(&young);
}

/* So many reports that their names are in chunks, folded by a worker that then is gone. */
static void fold_many(void)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    worker_hire(&worker, "one");
    worker_claim(&worker);
    for (uint32_t i = 0; i < 2 * MANY; i += SEGMENT_REPORTS) {
        world_send(i, SEGMENT_REPORTS, outcomes);
        if (i % 3000 == 0) {
            worker_fold(&worker);
        }
    }
    worker_fold(&worker);
    assert_true(worker.lease[0].shard->ids.chunks.count > 0);
    worker_dismiss(&worker);
}

/* Names in chunks, names after the last chunk: a new owner knows all of them. */
static void test_takeover_knows_names(void **state)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    (void)state;
    fold_many();
    worker_hire(&worker, "two");
    worker_claim(&worker);
    for (uint32_t i = 0; i < 2 * MANY; i += 7 * SEGMENT_REPORTS) {
        world_send(i, SEGMENT_REPORTS, outcomes);
    }
    worker_fold(&worker);
    assert_int_equal(world_counted(), 2 * MANY);
    for (unsigned n = 0; n < SHARDS; n++) {
        assert_int_equal(worker.lease[n].rebuilt, 0);
    }
    worker_dismiss(&worker);
}

/* Between two chunks: somebody else has taken the lease, as after a long pause. */
static void steal_lease(void *context)
{
    struct worker *worker = context;
    struct lease *lease = &worker->lease[0];
    struct fake_value *value = fake_find(&broker, lease->key);
    if (lease->shard == NULL || strncmp((const char *)value->bytes, "thief", 5) == 0) {
        return;
    }
    free(value->bytes);
    value->bytes = fake_copy((const uint8_t *)"thief", 5);
    value->length = 5;
    value->revision = ++broker.revision;
    lease->renewed_ms = INT64_MIN / 2;
    (void)!lease_renew(lease, &worker->holder);
}

/* What is being loaded stays until its loader has let go. */
static void test_lease_lost_while_loading(void **state)
{
    struct worker worker;
    (void)state;
    fold_many();
    worker_hire(&worker, "two");
    worker.holder.tick = steal_lease;
    worker.holder.context = &worker;
    assert_status(lease_look(&worker.lease[0], &worker.holder), TREMOLO_OK);
    assert_status(lease_claim(&worker.lease[0], &worker.holder), TREMOLO_CHANGED);
    assert_null(worker.lease[0].shard);
    assert_memory_equal(fake_find(&broker, worker.lease[0].key)->bytes, "thief", 5);
    assert_int_equal(world_counted(), 2 * MANY);
    worker_dismiss(&worker);
}

/* Nor is a shard taken away while it is folded. */
static void test_lease_lost_while_folding(void **state)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    (void)state;
    worker_hire(&worker, "one");
    worker_claim(&worker);
    for (uint32_t i = 0; i < 3; i++) {
        world_send(i * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
    }
    worker.holder.tick = steal_lease;
    worker.holder.context = &worker;
    atomic_store(&worker.lease[0].hinted, true);
    assert_status(lease_work(&worker.lease[0], &worker.holder), TREMOLO_CHANGED);
    assert_null(worker.lease[0].shard);
    worker.holder.tick = world_no_tick;
    worker_claim(&worker);
    worker_fold(&worker);
    assert_int_equal(world_counted(), 3 * SEGMENT_REPORTS);
    worker_dismiss(&worker);
}

/* On a busy machine an answer takes longer than a slice; here it has one message. */
static unsigned span_asked;

static enum tremolo_status slow_next(struct bus *base, const char *stream, const char *subjects,
                                     uint64_t from, unsigned span, struct bus_value *messages,
                                     size_t *count)
{
    (void)usleep(1000 * (LEASE_SLICE_MS + 10));
    span_asked = span;
    enum tremolo_status status = fake_next(base, stream, subjects, from, messages);
    *count = messages[0].revision != 0;
    return status;
}

/* A shard that is behind gets more of each turn, up to its share, and asks for more at once, until
 * it has caught up. */
static void test_slices_grow(void **state)
{
    static const int64_t slices[] = {2 * LEASE_SLICE_MS, LEASE_TURN_MS / 4, LEASE_TURN_MS / 4};
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    (void)state;
    worker_hire(&worker, "one");
    worker_claim(&worker);
    for (uint32_t i = 0; i < 24; i++) {
        world_send(i * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
    }
    struct lease *lease = &worker.lease[0];
    worker.holder.owned = 4;
    bus.base.next_many = slow_next;
    for (size_t i = 0; i < sizeof slices / sizeof slices[0]; i++) {
        lease->verified_ms = clock_ms();
        assert_status(lease_work(lease, &worker.holder), TREMOLO_OK);
        assert_int_equal(lease->slice_ms, slices[i]);
        assert_int_equal(span_asked > 1, i > 0);
    }
    assert_true(lease->shard->messages < 24);
    assert_true(lease->shard->messages > 2);
    bus.base.next_many = fake_next_many;
    worker_fold(&worker);
    assert_int_equal(lease->slice_ms, 0);
    assert_int_equal(world_counted(), 24 * SEGMENT_REPORTS);
    worker_dismiss(&worker);
}

/* A chunk of names that is gone, or another under its number: the log has all. */
static void lose_chunk(bool renamed)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    fold_many();
    worker_hire(&worker, "two");
    for (size_t i = 0; i < broker.messages; i++) {
        struct fake_message *message = &broker.message[i];
        if (strstr(message->subject, ".0.ids.0") != NULL) {
            (void)snprintf(message->stream, sizeof message->stream, "%s",
                           renamed ? message->stream : "nowhere");
            (void)snprintf(message->subject, sizeof message->subject, "%s", "tremolo.blob.other");
        }
    }
    for (int i = 0; i < 2 * LEASE_MISSING_MAX; i++) {
        worker_claim(&worker);
    }
    assert_int_equal(worker.lease[0].rebuilt, 1);
    assert_int_equal(worker.lease[1].rebuilt, 0);
    world_send(0, SEGMENT_REPORTS, outcomes); /* repeats */
    worker_fold(&worker);
    assert_int_equal(world_counted(), 2 * MANY);
    worker_dismiss(&worker);
}

static void test_chunk_lost(void **state)
{
    (void)state;
    lose_chunk(false);
}

static void test_chunk_of_another(void **state)
{
    (void)state;
    lose_chunk(true);
}

/* A shard that is let go can be taken at once, by a value that is not empty. */
static void test_release(void **state)
{
    struct worker worker;
    struct worker next;
    (void)state;
    worker_hire(&worker, "one");
    worker_hire(&next, "two");
    worker_claim(&worker);
    lease_release(&worker.lease[0], &worker.holder);
    assert_int_equal(fake_find(&broker, worker.lease[0].key)->length, 1);
    assert_status(lease_look(&next.lease[0], &next.holder), TREMOLO_OK);
    assert_true(lease_is_free(&worker.lease[0]));
    assert_true(lease_is_free(&next.lease[0]));
    assert_status(lease_look(&next.lease[1], &next.holder), TREMOLO_OK);
    assert_false(lease_is_free(&next.lease[1]));
    worker_dismiss(&worker);
    worker_dismiss(&next);
}

/* While a shard is folded again from the beginning, what was counted stays visible. */
static void test_rebuild_is_not_seen(void **state)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    (void)state;
    for (uint32_t i = 0; i < 10; i++) {
        world_send(i * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
    }
    worker_hire(&worker, "one");
    worker_claim(&worker);
    worker_fold(&worker);
    assert_int_equal(world_counted(), 10 * SEGMENT_REPORTS);
    struct lease *lease = &worker.lease[0];
    shard_free(lease->shard);
    assert_status(shard_new(&lease->shard, study->served, 0, SHARDS), TREMOLO_OK);
    lease->rebuilding = true;
    lease->moved = true;
    lease->stored_ms = INT64_MIN / 2;
    lease->polled_ms = clock_ms(); /* nothing is read in this turn */
    lease->eager_until_ms = 0;
    atomic_store(&lease->hinted, false);
    assert_status(lease_work(lease, &worker.holder), TREMOLO_OK);
    assert_int_equal(world_counted(), 10 * SEGMENT_REPORTS);
    worker_fold(&worker);
    assert_false(lease->rebuilding);
    assert_int_equal(world_counted(), 10 * SEGMENT_REPORTS);
    worker_dismiss(&worker);
}

/* Another replica leads, and counts from another number. */
static void test_log_numbered_anew(void **state)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    (void)state;
    worker_hire(&worker, "one");
    broker.shift = 4;
    worker_claim(&worker);
    for (uint32_t i = 0; i < 5; i++) {
        world_send(i * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
        worker_fold(&worker);
    }
    world_send(5 * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
    broker.shift = 0; /* what is new has a number that was passed already */
    worker_fold(&worker);
    assert_int_equal(world_counted(), 6 * SEGMENT_REPORTS);
    world_send(6 * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
    worker_fold(&worker);
    assert_int_equal(world_counted(), 7 * SEGMENT_REPORTS);
    worker_dismiss(&worker);
    broker.shift = 7; /* and again, between two owners */
    worker_hire(&worker, "two");
    worker_claim(&worker);
    worker_fold(&worker);
    world_send(7 * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
    worker_fold(&worker);
    assert_int_equal(world_counted(), 8 * SEGMENT_REPORTS);
    worker_dismiss(&worker);
    broker.shift = 0; /* now our position is beyond the log's end */
    worker_hire(&worker, "three");
    for (int i = 0; i < 2 * LEASE_MISSING_MAX; i++) {
        worker_claim(&worker);
    }
    worker_fold(&worker);
    assert_int_equal(world_counted(), 8 * SEGMENT_REPORTS);
    for (unsigned n = 0; n < SHARDS; n++) {
        assert_true(worker.lease[n].rebuilt > 0);
    }
    worker_dismiss(&worker);
}

/* The numbers change between two reads, before anybody looks at the position again: the
 * messages that were passed over are missed by their number. */
static void test_numbered_anew_between_reads(void **state)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    (void)state;
    worker_hire(&worker, "one");
    broker.shift =
        2 * SHARDS; /* so that every shard passes over one, in whatever order they come */
    worker_claim(&worker);
    for (uint32_t i = 0; i < 5; i++) {
        world_send(i * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
    }
    worker_fold(&worker);
    broker.shift = 0;
    for (uint32_t i = 5; i < 10; i++) {
        world_send(i * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
    }
    for (unsigned n = 0; n < SHARDS; n++) {
        worker.lease[n].verified_ms = clock_ms();
        atomic_store(&worker.lease[n].hinted, true);
        assert_status(lease_work(&worker.lease[n], &worker.holder), TREMOLO_OK);
        assert_int_equal(worker.lease[n].rebuilt, 0); /* it did not notice */
    }
    for (int i = 0; i < LEASE_PASSED_MAX + 1; i++) {
        worker_fold(&worker);
    }
    assert_int_equal(world_counted(), 10 * SEGMENT_REPORTS);
    for (unsigned n = 0; n < SHARDS; n++) {
        assert_int_equal(worker.lease[n].rebuilt, 1);
    }
    worker_dismiss(&worker);
}

/* The numbers change once more while the shard is folded from its beginning: that fold passes over
 * messages, too, and what it missed is not given up. */
static long reads_until_shift;

static enum tremolo_status next_before_shift(struct bus *base, const char *stream,
                                             const char *subjects, uint64_t from,
                                             struct bus_value *message)
{
    if (reads_until_shift >= 0 && reads_until_shift-- == 0) {
        broker.shift = 0;
    }
    return fake_next(base, stream, subjects, from, message);
}

static void test_numbered_anew_while_rebuilding(void **state)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    (void)state;
    worker_hire(&worker, "one");
    for (uint32_t i = 0; i < 10; i++) {
        world_send(i * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
    }
    worker_claim(&worker);
    worker_fold(&worker);
    broker.shift = 2 * SHARDS;
    reads_until_shift = 1 + 4; /* one look at the position, four messages from the beginning */
    bus.base.next = next_before_shift;
    worker_fold(&worker);
    assert_int_equal(broker.shift, 0);
    assert_int_equal(worker.lease[0].rebuilt, 1);
    assert_true(worker.lease[0].shard->messages < 10); /* it passed over some */
    for (int i = 0; i < 2 * LEASE_PASSED_MAX; i++) {
        worker_fold(&worker);
    }
    assert_int_equal(world_counted(), 10 * SEGMENT_REPORTS);
    worker_dismiss(&worker);
}

/* A log that counts messages which it does not give: the shard is folded again a few times, and
 * then goes on with what there is. */
static enum tremolo_status state_of_more(struct bus *base, const char *stream, const char *subjects,
                                         struct bus_state *found)
{
    enum tremolo_status status = fake_state(base, stream, subjects, found);
    found->matching += 2;
    return status;
}

static void test_messages_not_to_be_had(void **state)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    (void)state;
    worker_hire(&worker, "one");
    worker_claim(&worker);
    bus.base.state = state_of_more;
    for (uint32_t i = 0; i < 30; i++) {
        bus.base.state = fake_state; /* as publishing sees it */
        world_send(i * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
        bus.base.state = state_of_more;
        worker_fold(&worker);
    }
    assert_int_equal(world_counted(), 30 * SEGMENT_REPORTS);
    for (unsigned n = 0; n < SHARDS; n++) {
        assert_int_equal(worker.lease[n].rebuilt, LEASE_ALIKE_MAX);
        assert_int_equal(worker.lease[n].surplus, 2);
    }
    worker_dismiss(&worker);
}

/* ---------------------------------------------------------------- leaders that forgot */

static void lead(const char *name)
{
    (void)snprintf(broker.leader, sizeof broker.leader, "%s", name);
}

/* From the gateway's next look on it has led for long. */
static void settle(void)
{
    study->leader_ms = INT64_MIN / 2;
    again.not_before_ms = 0;
}

static void forget_log(void)
{
    for (size_t i = 0; i < broker.messages; i++) {
        free(broker.message[i].bytes);
    }
    broker.messages = 0;
}

/* A node leads that has other messages where the last leader's first ones should be: they were
 * acknowledged and are gone, until the gateway publishes them again; and it does so until they stand
 * behind every number that could be passed over. */
static void test_new_leader_forgot(void **state)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    (void)state;
    lead("n1");
    world_send(0, SEGMENT_REPORTS, outcomes);
    assert_int_equal(outcomes[0], OUTCOME_ACCEPTED);
    assert_int_equal(again.count, SHARDS);
    publish_again_run(&again, &bus.base, false); /* too early */
    assert_int_equal(broker.messages, SHARDS);
    forget_log();
    lead("n3");
    settle(); /* n1 had ... */
    publish_again_run(&again, &bus.base, false);
    assert_int_equal(broker.messages, 0);                   /* ... but it is another one now */
    for (int i = 0; i < 10 && again.count == SHARDS; i++) { /* numbers are filled up first */
        settle();
        broker.fault = FAKE_REFUSES;
        broker.until_fault = i % 2 == 0 ? 3 : -1; /* which may fail */
        publish_again_run(&again, &bus.base, false);
    }
    broker.until_fault = -1;
    assert_int_equal(again.count, 0);
    assert_true(broker.messages >= 128 + 16 * SHARDS);
    assert_true(broker.messages < 300);
    worker_hire(&worker, "one");
    worker_claim(&worker);
    worker_fold(&worker);
    assert_int_equal(world_counted(), SEGMENT_REPORTS);
    world_send(SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes); /* once is enough from now on */
    assert_int_equal(again.count, 0);
    worker_fold(&worker);
    assert_int_equal(world_counted(), 2 * SEGMENT_REPORTS);
    worker_dismiss(&worker);
}

/* Another replica numbers the bucket lower, so that a new checkpoint comes under a number that the
 * gateway has seen: it is still news. One of these shifts hits the number exactly. */
static void test_bucket_numbered_lower(void **state)
{
    for (uint64_t fewer = 1; fewer <= 12; fewer++) {
        uint8_t outcomes[SEGMENT_REPORTS];
        struct worker worker;
        (void)world_end(state);
        (void)world_begin(state);
        worker_hire(&worker, "one");
        worker_claim(&worker);
        for (uint32_t i = 0; i < 8; i++) { /* so that all numbers in use are above the shift */
            world_send(i * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
            worker_fold(&worker);
        }
        assert_int_equal(world_counted(), 8 * SEGMENT_REPORTS);
        fake_number_lower(&broker, fewer);
        world_send(8 * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
        worker_fold(&worker); /* its checkpoint is refused: the number is another */
        worker_claim(&worker);
        worker_fold(&worker);
        assert_int_equal(world_counted(), 9 * SEGMENT_REPORTS);
        worker_dismiss(&worker);
    }
}

/* What comes after the marker is late, and its sender hears that. */
static void test_end_of_round(void **state)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    (void)state;
    worker_hire(&worker, "one");
    worker_claim(&worker);
    world_send(0, SEGMENT_REPORTS, outcomes);
    worker_fold(&worker);
    assert_status(mirror_close_round(study, &bus.base, -1), TREMOLO_OK);
    world_send(1000, SEGMENT_REPORTS, outcomes); /* this gateway has not heard of it */
    for (size_t i = 0; i < SEGMENT_REPORTS; i++) {
        assert_int_equal(outcomes[i], OUTCOME_CLOSED);
    }
    worker_fold(&worker);
    assert_status(mirror_advance(study, &bus.base, (int64_t)time(NULL)), TREMOLO_OK);
    assert_int_equal(world_counted(), SEGMENT_REPORTS);
    assert_int_equal(study->phase, CLUSTER_DONE);
    assert_true(served_is_done(study->served));
    worker_dismiss(&worker);
}

/* The same id in a shard that is not its own would count twice. */
static void test_wrong_shard(void **state)
{
    struct segment segment = {0};
    struct server_report made;
    struct worker worker;
    char subject[BUS_NAME_BYTES];
    (void)state;
    world_report(&made, 1);
    struct segment_record record = {.report = made.bytes, .length = (uint16_t)made.length};
    uint32_t offset = 0;
    assert_status(segment_add(&segment, &record, &offset), TREMOLO_OK);
    assert_status(segment_seal(&segment, 1234567890), TREMOLO_OK);
    for (unsigned n = 0; n < SHARDS; n++) {
        cluster_segments(subject, study->tag, n);
        (void)fake_append(&broker, subject, segment.bytes, segment.length);
        (void)fake_append(&broker, subject, segment.bytes, segment.length - 1); /* damaged */
    }
    worker_hire(&worker, "one");
    worker_claim(&worker);
    worker_fold(&worker);
    assert_int_equal(world_counted(), 1);
    assert_int_equal(study->shard[0].counts[SHARD_DAMAGED], 1);
    segment_free(&segment);
    worker_dismiss(&worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_call_fails, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_paused_owner, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_takeover_knows_names, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_lease_lost_while_loading, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_lease_lost_while_folding, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_slices_grow, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_chunk_lost, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_chunk_of_another, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_release, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_rebuild_is_not_seen, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_log_numbered_anew, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_numbered_anew_between_reads, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_numbered_anew_while_rebuilding, world_begin,
                                        world_end),
        cmocka_unit_test_setup_teardown(test_messages_not_to_be_had, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_new_leader_forgot, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_bucket_numbered_lower, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_end_of_round, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_wrong_shard, world_begin, world_end),
    };
    if (sodium_init() < 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
