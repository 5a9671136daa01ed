/* test_server_cluster_history.c -- what charts show of the past is in the broker: a gateway that
 * starts has it, one gateway at a time writes it, and a broker that fails loses no point for good. */
#include "testing.h"

#include "cluster_world.h"
#include "history.h"

/* A point of its history at so many devices, as the sampler thread would add it. */
static void grow(struct mirror *mirror, uint64_t devices)
{
    float *values = calloc(HISTORY_POINT_KINDS * mirror->served->study->dimension, sizeof *values);
    struct history_point point = {.time = 1000 + (int64_t)devices, .devices = devices};
    history_add_point(&mirror->served->history, mirror->served->study->dimension, point, values);
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
    size_t points = reader->served->history.points;
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
    const struct history *history = &next->served->history;
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
    assert_true(second->served->history.unstored);
    assert_status(mirror_store_history(second, &bus.base), TREMOLO_OK);
    assert_int_equal(stored_points(), 2);
    assert_false(second->served->history.unstored);
    long calls = broker.calls; /* without news nobody is asked */
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
            assert_true(study->served->history.unstored);
            assert_status(mirror_store_history(study, &bus.base), TREMOLO_OK);
            assert_status(mirror_store_history(study, &bus.base), TREMOLO_OK);
            assert_false(study->served->history.unstored);
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
    assert_int_equal(reader->served->history.points, 0);
    assert_null(reader->served->history.point);
    grow(reader, 30);
    assert_status(mirror_store_history(reader, &bus.base), TREMOLO_OK);
    mirror_free(reader);
    assert_int_equal(stored_points(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_survives, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_one_writes, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_every_call_fails, world_begin, world_end),
        cmocka_unit_test_setup_teardown(test_unreadable, world_begin, world_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
