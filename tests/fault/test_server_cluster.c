/* test_server_cluster.c -- a broker that fails at every call in turn, owners that
 * pause, logs that are numbered anew: every acknowledged report counts, once.
 *
 * The gateway's publisher and the folder's posts are the real ones; the broker is one in
 * memory (fake_bus.h). The oracle is the list of acknowledged reports. */
#include "testing.h"

#include "fake_bus.h"
#include "moment.h"
#include "post.h"
#include "publish.h"
#include "server_reports.h"

enum { SHARDS = 3, REPORTS = 12, MANY = 9000, SEGMENT_REPORTS = 100 };

static struct fake_broker broker;
static struct fake_bus bus;
static struct mirror *study; /* as the gateway sees it */
static const uint8_t no_key[TREMOLO_SIGNING_SECRET_BYTES];
static const uint8_t secret[TREMOLO_DEVICE_SECRET_BYTES];
static struct server_report report;
static size_t id_offset;

static void no_tick(void *context)
{
    (void)context;
}

/* Reports of an open study differ by their ids: take one, change that. */
static void renumber(struct server_report *made, uint32_t number)
{
    *made = report;
    memcpy(made->bytes + id_offset, &number, sizeof number);
}

static int begin(void **state)
{
    struct book *book = NULL;
    struct tremolo_report decoded;
    (void)state;
    fake_broker_clear(&broker);
    fake_bus_open(&bus, &broker);
    assert_status(
        book_new(&book, NULL, server_study_open, strlen(server_study_open), no_key, secret),
        TREMOLO_OK);
    assert_status(cluster_create(&bus.base, book, SHARDS), TREMOLO_OK);
    assert_status(mirror_open(&study, &bus.base, book->id, no_key, secret), TREMOLO_OK);
    assert_status(mirror_refresh(study, &bus.base, true), TREMOLO_OK);
    server_report_make(&report, book->study, 0, NULL, NULL);
    assert_status(tremolo_report_decode(&decoded, report.bytes, report.length), TREMOLO_OK);
    id_offset = (size_t)(decoded.id - report.bytes);
    book_free(book);
    return 0;
}

static int end(void **state)
{
    (void)state;
    mirror_free(study);
    study = NULL;
    fake_broker_clear(&broker);
    return 0;
}

/* One group of `count` reports through the real publisher; their outcomes. */
static void send(uint32_t first, size_t count, uint8_t *outcomes)
{
    static struct server_report made[SEGMENT_REPORTS];
    static struct arrival arrivals[SEGMENT_REPORTS];
    static int16_t rows[SEGMENT_REPORTS * 8];
    struct job job = {.book = study->book, .arrivals = arrivals, .rows = rows, .count = count};
    for (size_t i = 0; i < count; i++) {
        renumber(&made[i], first + (uint32_t)i);
        arrivals[i] = (struct arrival){.bytes = made[i].bytes, .length = (uint16_t)made[i].length};
        check_arrival(&arrivals[i], rows + 8 * i, &study->book->check);
        assert_int_equal(arrivals[i].outcome, OUTCOME_PENDING);
    }
    (void)!publish_jobs(&job, &bus.base, (int64_t)time(NULL));
    for (size_t i = 0; i < count; i++) {
        outcomes[i] = arrivals[i].outcome;
    }
}

/* ---------------------------------------------------------------- workers */

struct worker {
    struct post post[SHARDS];
    struct post_world world;
};

static void hire(struct worker *worker, const char *name)
{
    *worker = (struct worker){.world = {&bus.base, name, no_tick, NULL}};
    for (unsigned n = 0; n < SHARDS; n++) {
        worker->post[n].study = study;
        worker->post[n].number = n;
        cluster_key_of(worker->post[n].lease_key, "lease", study->tag, n);
    }
}

static void dismiss(struct worker *worker)
{
    for (unsigned n = 0; n < SHARDS; n++) {
        post_drop(&worker->post[n]);
    }
}

/* Claim what this worker may, whatever the clock says. */
static void claim_all(struct worker *worker)
{
    for (unsigned n = 0; n < SHARDS; n++) {
        struct post *post = &worker->post[n];
        if (post->shard == NULL && post_look(post, &worker->world) == TREMOLO_OK) {
            (void)!post_claim(post, &worker->world);
        }
    }
}

/* Fold all there is and write checkpoints now. */
static void work(struct worker *worker)
{
    for (unsigned n = 0; n < SHARDS; n++) {
        struct post *post = &worker->post[n];
        for (int i = 0; i < 200 && post->shard != NULL; i++) {
            post->stored_ms = INT64_MIN / 2;
            post->verified_ms = INT64_MIN / 2;
            atomic_store(&post->hinted, true);
            enum tremolo_status status = post_work(post, &worker->world);
            if (status == TREMOLO_OK && !post->moved && !atomic_load(&post->hinted)) {
                break;
            }
        }
    }
}

static uint64_t counted(void)
{
    assert_status(mirror_refresh(study, &bus.base, true), TREMOLO_OK);
    return study->book->reports;
}

/* ---------------------------------------------------------------- tests */

/* Every call of a whole life (publish, claim, fold, checkpoint, take over) fails once,
 * in each of three ways. */
static void run_with_fault(enum fake_fault fault, long at)
{
    uint8_t outcomes[REPORTS];
    struct worker first;
    struct worker second;
    uint64_t taken = 0;
    hire(&first, "first");
    hire(&second, "second");
    broker.fault = fault;
    broker.until_fault = at;
    for (uint32_t i = 0; i < REPORTS; i++) { /* until it is acknowledged, as devices do */
        do {
            send(i, 1, &outcomes[i]);
        } while (outcomes[i] == OUTCOME_NOT_STORED);
        assert_int_equal(outcomes[i], OUTCOME_ACCEPTED);
        taken++;
        claim_all(&first);
        work(&first);
    }
    claim_all(&second); /* the first one is paused ... */
    work(&second);
    work(&first); /* ... and wakes up */
    claim_all(&second);
    work(&second);
    broker.until_fault = -1;
    claim_all(&second);
    work(&second);
    assert_int_equal(counted(), taken);
    dismiss(&first);
    dismiss(&second);
}

static void test_every_call_fails(void **state)
{
    broker.until_fault = -1;
    run_with_fault(FAKE_REFUSES, -1);
    long calls = broker.calls;
    assert_true(calls > 100);
    for (int fault = FAKE_REFUSES; fault <= FAKE_LOSES_BOTH; fault++) {
        for (long at = 0; at < calls; at += 1) {
            (void)end(state);
            (void)begin(state);
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
    hire(&old, "old");
    hire(&young, "young");
    send(0, SEGMENT_REPORTS, outcomes);
    claim_all(&old);
    work(&old);
    send(SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
    claim_all(&young);
    work(&young);
    assert_int_equal(counted(), 2 * SEGMENT_REPORTS);
    work(&old);
    for (unsigned n = 0; n < SHARDS; n++) {
        assert_null(old.post[n].shard);
        assert_non_null(young.post[n].shard);
    }
    send(0, SEGMENT_REPORTS, outcomes); /* all of it again */
    work(&young);
    assert_int_equal(counted(), 2 * SEGMENT_REPORTS);
    dismiss(&old);
    dismiss(&young);
}

/* So many reports that their names are in chunks, folded by a worker that then is gone. */
static void fold_many(void)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    hire(&worker, "one");
    claim_all(&worker);
    for (uint32_t i = 0; i < 2 * MANY; i += SEGMENT_REPORTS) {
        send(i, SEGMENT_REPORTS, outcomes);
        if (i % 3000 == 0) {
            work(&worker);
        }
    }
    work(&worker);
    assert_true(worker.post[0].shard->id_chunks.count > 0);
    dismiss(&worker);
}

/* Names in chunks, names after the last chunk: a new owner knows all of them. */
static void test_takeover_knows_names(void **state)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    (void)state;
    fold_many();
    hire(&worker, "two");
    claim_all(&worker);
    for (uint32_t i = 0; i < 2 * MANY; i += 7 * SEGMENT_REPORTS) {
        send(i, SEGMENT_REPORTS, outcomes);
    }
    work(&worker);
    assert_int_equal(counted(), 2 * MANY);
    for (unsigned n = 0; n < SHARDS; n++) {
        assert_int_equal(worker.post[n].rebuilt, 0);
    }
    dismiss(&worker);
}

/* Between two chunks: somebody else has taken the lease, as after a long pause. */
static void steal_lease(void *context)
{
    struct worker *worker = context;
    struct post *post = &worker->post[0];
    struct fake_value *lease = fake_find(&broker, post->lease_key);
    if (post->shard == NULL || strncmp((const char *)lease->bytes, "thief", 5) == 0) {
        return;
    }
    free(lease->bytes);
    lease->bytes = fake_copy((const uint8_t *)"thief", 5);
    lease->length = 5;
    lease->revision = ++broker.revision;
    post->renewed_ms = INT64_MIN / 2;
    (void)!post_renew(post, &worker->world);
}

/* What is being loaded stays until whoever loads it has let go. */
static void test_lease_lost_while_loading(void **state)
{
    struct worker worker;
    (void)state;
    fold_many();
    hire(&worker, "two");
    worker.world.tick = steal_lease;
    worker.world.context = &worker;
    assert_status(post_look(&worker.post[0], &worker.world), TREMOLO_OK);
    assert_status(post_claim(&worker.post[0], &worker.world), TREMOLO_CHANGED);
    assert_null(worker.post[0].shard);
    assert_memory_equal(fake_find(&broker, worker.post[0].lease_key)->bytes, "thief", 5);
    assert_int_equal(counted(), 2 * MANY);
    dismiss(&worker);
}

/* A chunk of names that is gone, or whose number is another's now: the log has all. */
static void lose_chunk(bool renamed)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    fold_many();
    hire(&worker, "two");
    for (size_t i = 0; i < broker.messages; i++) {
        struct fake_message *message = &broker.message[i];
        if (strstr(message->subject, ".0.ids.0") != NULL) {
            (void)snprintf(message->stream, sizeof message->stream, "%s",
                           renamed ? message->stream : "nowhere");
            (void)snprintf(message->subject, sizeof message->subject, "%s", "tremolo.blob.other");
        }
    }
    for (int i = 0; i < 2 * POST_MISSING_MAX; i++) {
        claim_all(&worker);
    }
    assert_int_equal(worker.post[0].rebuilt, 1);
    assert_int_equal(worker.post[1].rebuilt, 0);
    send(0, SEGMENT_REPORTS, outcomes); /* repeats */
    work(&worker);
    assert_int_equal(counted(), 2 * MANY);
    dismiss(&worker);
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
    hire(&worker, "one");
    hire(&next, "two");
    claim_all(&worker);
    post_release(&worker.post[0], &worker.world);
    assert_int_equal(fake_find(&broker, worker.post[0].lease_key)->length, 1);
    assert_status(post_look(&next.post[0], &next.world), TREMOLO_OK);
    assert_true(post_is_free(&worker.post[0]));
    assert_true(post_is_free(&next.post[0]));
    assert_status(post_look(&next.post[1], &next.world), TREMOLO_OK);
    assert_false(post_is_free(&next.post[1]));
    dismiss(&worker);
    dismiss(&next);
}

/* While a shard is folded again from the beginning, what was counted stays visible. */
static void test_rebuild_is_not_seen(void **state)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    (void)state;
    for (uint32_t i = 0; i < 10; i++) {
        send(i * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
    }
    hire(&worker, "one");
    claim_all(&worker);
    work(&worker);
    assert_int_equal(counted(), 10 * SEGMENT_REPORTS);
    struct post *post = &worker.post[0];
    shard_free(post->shard);
    assert_status(shard_new(&post->shard, study->book, 0, SHARDS), TREMOLO_OK);
    post->rebuilding = true;
    post->moved = true;
    post->stored_ms = INT64_MIN / 2;
    post->polled_ms = moment_ms(); /* nothing is read in this turn */
    post->eager_until_ms = 0;
    atomic_store(&post->hinted, false);
    assert_status(post_work(post, &worker.world), TREMOLO_OK);
    assert_int_equal(counted(), 10 * SEGMENT_REPORTS);
    work(&worker);
    assert_false(post->rebuilding);
    assert_int_equal(counted(), 10 * SEGMENT_REPORTS);
    dismiss(&worker);
}

/* Another replica leads, and counts from another number. */
static void test_log_numbered_anew(void **state)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    (void)state;
    hire(&worker, "one");
    broker.shift = 4;
    claim_all(&worker);
    for (uint32_t i = 0; i < 5; i++) {
        send(i * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
        work(&worker);
    }
    send(5 * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
    broker.shift = 0; /* what is new has a number that was passed already */
    work(&worker);
    assert_int_equal(counted(), 6 * SEGMENT_REPORTS);
    send(6 * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
    work(&worker);
    assert_int_equal(counted(), 7 * SEGMENT_REPORTS);
    dismiss(&worker);
    broker.shift = 7; /* and again, between two owners */
    hire(&worker, "two");
    claim_all(&worker);
    work(&worker);
    send(7 * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
    work(&worker);
    assert_int_equal(counted(), 8 * SEGMENT_REPORTS);
    dismiss(&worker);
    broker.shift = 0; /* now our position is beyond the log's end */
    hire(&worker, "three");
    for (int i = 0; i < 2 * POST_MISSING_MAX; i++) {
        claim_all(&worker);
    }
    work(&worker);
    assert_int_equal(counted(), 8 * SEGMENT_REPORTS);
    for (unsigned n = 0; n < SHARDS; n++) {
        assert_true(worker.post[n].rebuilt > 0);
    }
    dismiss(&worker);
}

/* The numbers change between two reads, before anybody looks at the position again: the
 * messages that were passed over are missed by their number. */
static void test_numbered_anew_between_reads(void **state)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    (void)state;
    hire(&worker, "one");
    broker.shift =
        2 * SHARDS; /* so that every shard passes over one, in whatever order they come */
    claim_all(&worker);
    for (uint32_t i = 0; i < 5; i++) {
        send(i * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
    }
    work(&worker);
    broker.shift = 0;
    for (uint32_t i = 5; i < 10; i++) {
        send(i * SEGMENT_REPORTS, SEGMENT_REPORTS, outcomes);
    }
    for (unsigned n = 0; n < SHARDS; n++) {
        worker.post[n].verified_ms = moment_ms();
        atomic_store(&worker.post[n].hinted, true);
        assert_status(post_work(&worker.post[n], &worker.world), TREMOLO_OK);
        assert_int_equal(worker.post[n].rebuilt, 0); /* it did not notice */
    }
    for (int i = 0; i < POST_PASSED_MAX + 1; i++) {
        work(&worker);
    }
    assert_int_equal(counted(), 10 * SEGMENT_REPORTS);
    for (unsigned n = 0; n < SHARDS; n++) {
        assert_int_equal(worker.post[n].rebuilt, 1);
    }
    dismiss(&worker);
}

/* What stands after the marker is late, and its sender is told so. */
static void test_end_of_round(void **state)
{
    uint8_t outcomes[SEGMENT_REPORTS];
    struct worker worker;
    (void)state;
    hire(&worker, "one");
    claim_all(&worker);
    send(0, SEGMENT_REPORTS, outcomes);
    work(&worker);
    assert_status(mirror_close_round(study, &bus.base, -1), TREMOLO_OK);
    send(1000, SEGMENT_REPORTS, outcomes); /* this gateway has not heard of it */
    for (size_t i = 0; i < SEGMENT_REPORTS; i++) {
        assert_int_equal(outcomes[i], OUTCOME_CLOSED);
    }
    work(&worker);
    assert_status(mirror_steward(study, &bus.base, (int64_t)time(NULL)), TREMOLO_OK);
    assert_int_equal(counted(), SEGMENT_REPORTS);
    assert_int_equal(study->phase, CLUSTER_DONE);
    assert_true(book_is_done(study->book));
    dismiss(&worker);
}

/* The same id in a shard that is not its own would count twice. */
static void test_wrong_shard(void **state)
{
    struct segment segment = {0};
    struct server_report made;
    struct worker worker;
    char subject[BUS_NAME_BYTES];
    (void)state;
    renumber(&made, 1);
    struct segment_record record = {.report = made.bytes, .length = (uint16_t)made.length};
    uint32_t offset = 0;
    assert_status(segment_add(&segment, &record, &offset), TREMOLO_OK);
    assert_status(segment_seal(&segment), TREMOLO_OK);
    for (unsigned n = 0; n < SHARDS; n++) {
        cluster_segments(subject, study->tag, n);
        (void)fake_append(&broker, subject, segment.bytes, segment.length);
        (void)fake_append(&broker, subject, segment.bytes, segment.length - 1); /* damaged */
    }
    hire(&worker, "one");
    claim_all(&worker);
    work(&worker);
    assert_int_equal(counted(), 1);
    assert_int_equal(study->shard[0].counts.damaged, 1);
    segment_free(&segment);
    dismiss(&worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_call_fails, begin, end),
        cmocka_unit_test_setup_teardown(test_paused_owner, begin, end),
        cmocka_unit_test_setup_teardown(test_takeover_knows_names, begin, end),
        cmocka_unit_test_setup_teardown(test_lease_lost_while_loading, begin, end),
        cmocka_unit_test_setup_teardown(test_chunk_lost, begin, end),
        cmocka_unit_test_setup_teardown(test_chunk_of_another, begin, end),
        cmocka_unit_test_setup_teardown(test_release, begin, end),
        cmocka_unit_test_setup_teardown(test_rebuild_is_not_seen, begin, end),
        cmocka_unit_test_setup_teardown(test_log_numbered_anew, begin, end),
        cmocka_unit_test_setup_teardown(test_numbered_anew_between_reads, begin, end),
        cmocka_unit_test_setup_teardown(test_end_of_round, begin, end),
        cmocka_unit_test_setup_teardown(test_wrong_shard, begin, end),
    };
    if (sodium_init() < 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
