/* test_server_cluster_history.c -- what charts show of the past is in the broker: a gateway that
 * starts has it, one gateway at a time writes it, and a broker that fails loses no point for good. */
#include "testing.h"

#include "fake_nats.h"
#include "history.h"
#include "log.h"
#include "server_jobs.h"

/* A point of its history at so many devices, as the sampler thread would add it. */
static void grow(struct mirror *mirror, uint64_t devices)
{
    float *values = calloc(HISTORY_POINT_KINDS * mirror->served->study->dimension, sizeof *values);
    struct history_point point = {.time = 1000 + (int64_t)devices, .devices = devices};
    history_add_point(&mirror->served->sums.history, mirror->served->study->dimension, point,
                      values);
    free(values);
}

/* Another gateway begins. */
static struct mirror *start_gateway(void)
{
    struct mirror *made = NULL;
    assert_status(mirror_open(&made, &bus.base, study->served->id, no_key, secret), TREMOLO_OK);
    assert_status(mirror_read_history(made, &bus.base), TREMOLO_OK);
    return made;
}

static size_t stored_points(void)
{
    struct mirror *reader = start_gateway();
    size_t points = reader->served->sums.history.points;
    mirror_free(reader);
    return points;
}

static void test_survives(void **state)
{
    (void)state;
    grow(study, 10);
    grow(study, 20);
    assert_status(mirror_store_history(study, &bus.base), TREMOLO_OK);
    struct mirror *next = start_gateway();
    const struct history *history = &next->served->sums.history;
    assert_int_equal(history->points, 2);
    assert_int_equal(history->point[1].devices, 20);
    assert_int_equal(history->point[1].time, 1020);
    grow(next, 40);
    assert_status(mirror_store_history(next, &bus.base), TREMOLO_OK);
    mirror_free(next);
    assert_int_equal(stored_points(), 3);
}

/* The second looks on while the first writes, and goes on where it is when the first is gone. */
static void test_one_writes(void **state)
{
    struct mirror *second = start_gateway();
    (void)state;
    grow(study, 10);
    assert_status(mirror_store_history(study, &bus.base), TREMOLO_OK);
    grow(second, 11);
    grow(second, 12);
    assert_status(mirror_store_history(second, &bus.base), TREMOLO_OK);
    assert_int_equal(stored_points(), 1);
    assert_true(second->served->sums.history.unstored);
    assert_status(mirror_store_history(second, &bus.base), TREMOLO_OK);
    assert_int_equal(stored_points(), 2);
    assert_false(second->served->sums.history.unstored);
    long calls = broker.calls; /* without news the broker is not asked */
    assert_status(mirror_store_history(second, &bus.base), TREMOLO_OK);
    assert_int_equal(broker.calls, calls);
    mirror_free(second);
}

/* Each call fails in each way; with the broker back two tries are enough. */
static void test_every_call_fails(void **state)
{
    for (int fault = FAKE_REFUSES; fault <= FAKE_LOSES_BOTH; fault++) {
        for (long at = 0; at < 2; at++) {
            (void)world_end(state);
            (void)world_begin(state);
            grow(study, 10);
            broker.fault = (enum fake_fault)fault;
            broker.until_fault = at;
            assert_true(mirror_store_history(study, &bus.base) != TREMOLO_OK);
            assert_true(study->served->sums.history.unstored);
            assert_status(mirror_store_history(study, &bus.base), TREMOLO_OK);
            assert_status(mirror_store_history(study, &bus.base), TREMOLO_OK);
            assert_false(study->served->sums.history.unstored);
            assert_int_equal(stored_points(), 1);
        }
    }
}

/* A gateway that cannot ask does not begin with an empty past, which it would then write down;
 * what is no history is passed over. */
static void test_unreadable(void **state)
{
    char key[BUS_NAME_BYTES];
    struct mirror *reader = NULL;
    (void)state;
    grow(study, 10);
    assert_status(mirror_store_history(study, &bus.base), TREMOLO_OK);
    assert_status(mirror_open(&reader, &bus.base, study->served->id, no_key, secret), TREMOLO_OK);
    broker.until_fault = 0;
    assert_status(mirror_read_history(reader, &bus.base), TREMOLO_NETWORK_FAILED);
    mirror_free(reader);
    cluster_key(key, "history", study->tag);
    fake_find(&broker, key)->bytes[0] ^= 1;
    reader = start_gateway();
    assert_int_equal(reader->served->sums.history.points, 0);
    assert_null(reader->served->sums.history.point);
    grow(reader, 30);
    assert_status(mirror_store_history(reader, &bus.base), TREMOLO_OK);
    mirror_free(reader);
    assert_int_equal(stored_points(), 1);
}

/* ---------------------------------------------------------------- of several studies */

static char broken_key[BUS_NAME_BYTES]; /* what cannot be read, or not be written */
static bool broken_reading;

static enum tremolo_status get_or_not(struct bus *base, const char *key, struct bus_value *value)
{
    *value = (struct bus_value){0};
    return broken_reading && strcmp(key, broken_key) == 0 ? TREMOLO_NETWORK_FAILED
                                                          : fake_get(base, key, value);
}

static enum tremolo_status swap_or_not(struct bus *base, const char *key, uint64_t expected,
                                       const uint8_t *bytes, size_t length, uint64_t *revision)
{
    return !broken_reading && strcmp(key, broken_key) == 0
               ? TREMOLO_STORE_FULL
               : fake_swap(base, key, expected, bytes, length, revision);
}

static enum tremolo_status hear_nothing(struct bus *base, const char *subjects, bus_hint_fn heard,
                                        void *context)
{
    (void)base;
    (void)subjects;
    (void)heard;
    (void)context;
    return TREMOLO_OK;
}

/* A gateway with three studies, each with something to write down. */
static struct writer *start_with_three(void)
{
    static const char *const more[] = {
        server_study_rounds,
        "{\"tremolo\": 1, \"title\": \"third\", \"features\": [{\"name\": \"a\", \"low\": 0, "
        "\"high\": 1}], \"response\": {\"name\": \"y\", \"low\": 0, \"high\": 1}, \"privacy\": "
        "{\"epsilon\": 4, \"protects\": \"all\"}, \"protocol\": {\"kind\": \"one-shot\"}}"};
    struct tremolo_store_options options = {.shards = SHARDS};
    struct writer *writer = NULL;
    char words[TREMOLO_WORDS_BYTES];
    bus.base.get = get_or_not;
    bus.base.swap = swap_or_not;
    bus.base.listen = hear_nothing;
    assert_status(writer_start_gateway(&writer, &options, no_key, secret, words), TREMOLO_OK);
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        struct job job = job_create(more[i]);
        assert_true(submit_and_wait(writer, &job));
        assert_status(job.status, TREMOLO_OK);
    }
    assert_int_equal(studies_count(&writer->studies), 3);
    for (size_t i = 0; i < 3; i++) {
        grow(studies_at(&writer->studies, i)->mirror, 10);
    }
    return writer;
}

/* At its end a gateway writes what there is: that of the others, too, and says whose it could not. */
static void test_one_failure_is_not_all(void **state)
{
    for (size_t broken = 0; broken < 6; broken++) {
        char tag[3][CLUSTER_TAG_BYTES];
        char id[TREMOLO_STUDY_ID_TEXT_BYTES];
        char *said = NULL;
        size_t length = 0;
        struct log log;
        (void)world_end(state);
        (void)world_begin(state);
        broken_key[0] = '\0';
        struct writer *writer = start_with_three();
        for (size_t i = 0; i < 3; i++) {
            cluster_tag(tag[i], studies_at(&writer->studies, i)->id);
        }
        memcpy(id, studies_at(&writer->studies, broken % 3)->id_text, sizeof id);
        cluster_key(broken_key, "history", tag[broken % 3]);
        broken_reading = broken >= 3;
        FILE *stream = open_memstream(&said, &length);
        assert_non_null(stream);
        log_open(&log, stream);
        batcher_set_log(&writer->batcher, &log);
        writer_stop(writer);
        log_close(&log);
        (void)fclose(stream);
        for (size_t i = 0; i < 3; i++) {
            char key[BUS_NAME_BYTES];
            cluster_key(key, "history", tag[i]);
            assert_int_equal(fake_find(&broker, key) != NULL, i != broken % 3);
        }
        assert_non_null(strstr(said, "\"event\":\"history\""));
        assert_non_null(strstr(said, id));
        assert_non_null(strstr(said, broken_reading ? "NETWORK_FAILED" : "STORE_FULL"));
        free(said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_survives, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_one_writes, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_every_call_fails, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_unreadable, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_one_failure_is_not_all, world_begin, world_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
