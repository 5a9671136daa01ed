/* test_server_history.c -- the samples of a study's history stay bounded and cover all
 * of its time; the rate is that of the last ticks. The clock is a parameter, so years
 * pass in a second. */
#include "testing.h"

#include <sodium.h>

#include "served_study.h"
#include "history.h"
#include "writer.h"
#include "server_reports.h"
#include "study_internal.h"

static uint8_t signing_public[TREMOLO_SIGNING_PUBLIC_BYTES];
static uint8_t signing_key[TREMOLO_SIGNING_SECRET_BYTES];
static struct served_study *served;

static int set_up(void **state)
{
    uint8_t seed[TREMOLO_SIGNING_SEED_BYTES] = {1};
    (void)state;
    served = NULL;
    return sodium_init() < 0 ||
           tremolo_signing_keys(signing_public, signing_key, seed) != TREMOLO_OK ||
           served_new(&served, NULL, server_study_open, strlen(server_study_open), signing_key,
                      NULL) != TREMOLO_OK;
}

static int tear_down(void **state)
{
    (void)state;
    served_free(served);
    return 0;
}

/* `count` reports into the fold, without a log. */
static void fold(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int16_t row[3] = {(int16_t)(randombytes_random() % 200 - 100),
                          (int16_t)(randombytes_random() % 200 - 100),
                          (int16_t)(randombytes_random() % 20000 - 10000)};
        uint8_t bucket = (uint8_t)(randombytes_random() % 32);
        assert_status(tremolo_moments_add(served->sums.rounds[0].moments, row, &bucket, 1),
                      TREMOLO_OK);
        served->sums.reports++;
        served->sums.generation++;
    }
}

static void test_samples_are_bounded_and_cover_everything(void **state)
{
    const struct history *history = &served->sums.history;
    const int64_t start = 1000000;
    (void)state;
    fold(50);
    for (int64_t second = 0; second < 2000; second++) {
        fold(1);
        history_tick(served, start + second, 1000 * second);
        assert_true(history->samples <= HISTORY_SAMPLES_MAX);
    }
    /* 2,000 s at 2 s would be 1,000 samples: thinned three times, 16 s apart. */
    assert_int_equal(history->spacing, 16);
    assert_true(history->samples >= HISTORY_SAMPLES_MAX / 2);
    assert_int_equal(history->sample[0].time, start);
    assert_true(history->sample[history->samples - 1].time >= start + 1999 - history->spacing);
    for (size_t i = 1; i < history->samples; i++) {
        assert_true(history->sample[i].time > history->sample[i - 1].time);
        assert_true(history->sample[i].reports > history->sample[i - 1].reports);
    }
}

static void test_nothing_new_is_no_sample(void **state)
{
    (void)state;
    fold(10);
    for (int64_t second = 0; second < 100; second++) {
        history_tick(served, 1000 + second, 1000 * second);
    }
    assert_int_equal(served->sums.history.samples, 1);
}

static double rate_in(const char *json)
{
    const char *at = strstr(json, "\"rate\":");
    assert_non_null(at);
    return strtod(at + strlen("\"rate\":"), NULL);
}

static void test_rate_is_of_the_last_ticks(void **state)
{
    char *json = NULL;
    int64_t second = 0;
    (void)state;
    for (; second < 30; second++) {
        fold(7);
        history_tick(served, 1000 + second, 1000 * second);
    }
    json = history_json(served, 2000);
    assert_non_null(json);
    assert_true(rate_in(json) == 7.0); /* 77 reports in 11 s, exactly */
    free(json);
    for (int i = 0; i < HISTORY_MARKS; i++, second++) {
        history_tick(served, 1000 + second, 1000 * second);
    }
    json = history_json(served, 2000);
    assert_non_null(json);
    assert_true(rate_in(json) == 7.0); /* the same second, the same answer */
    free(json);
    json = history_json(served, 2001);
    assert_non_null(json);
    assert_true(rate_in(json) == 0.0);
    free(json);
    served->sums.reports -= 100; /* some were discarded */
    history_tick(served, 1000 + second, 1000 * second);
    json = history_json(served, 2002);
    assert_non_null(json);
    assert_true(rate_in(json) == 0.0);
    free(json);
}

/* Devices in thousands of steps, as a curve over their logarithm wants them. */
static void test_points_are_bounded_and_cover_everything(void **state)
{
    const size_t widths[] = {1, 3, 50, 256};
    (void)state;
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        struct history history = {0};
        size_t d = widths[w], most = history_points_max(d), taken = 0;
        float *values = calloc(HISTORY_POINT_KINDS * d, sizeof *values);
        assert_non_null(values);
        assert_false(history_point_is_due(&history, 1));
        for (uint64_t devices = 2; devices < UINT64_C(1000000000000000);
             devices += devices / 20 + 1) {
            if (history_point_is_due(&history, devices)) {
                values[0] = (float)devices;
                history_add_point(&history, d, (struct history_point){(int64_t)taken++, devices},
                                  values);
            }
            assert_true(history.points <= most);
        }
        assert_true(taken > most && history.points > most / 2 - 1);
        for (size_t i = 0; i < history.points; i++) { /* values go with their point */
            assert_true(history.value[i * HISTORY_POINT_KINDS * d] ==
                        (float)history.point[i].devices);
            assert_true(i == 0 || history.point[i].devices > history.point[i - 1].devices);
        }
        assert_true(history.point != NULL && history.point[0].devices < 1000);
        history_drop_beyond(&history, 5000);
        assert_true(history.points > 0 && history.point[history.points - 1].devices <= 5000);
        history_free(&history);
        free(values);
    }
}

/* A store that keeps the last state. */
static uint8_t stored[65536];
static size_t stored_length;

static enum tremolo_status keep_state(struct store *store, const char *kind, const uint8_t *key,
                                      size_t key_length, const uint8_t *value, size_t length)
{
    (void)store;
    assert_string_equal(kind, "history");
    assert_memory_equal(key, served->id, STORE_STUDY_BYTES);
    assert_int_equal(key_length, STORE_STUDY_BYTES);
    assert_true(length <= sizeof stored);
    memcpy(stored, value, length);
    stored_length = length;
    return TREMOLO_OK;
}

static enum tremolo_status refuse_state(struct store *store, const char *kind, const uint8_t *key,
                                        size_t key_length, const uint8_t *value, size_t length)
{
    (void)store, (void)kind, (void)key, (void)key_length, (void)value, (void)length;
    return TREMOLO_STORE_FAILED;
}

static void test_what_is_stored_comes_back(void **state)
{
    struct store store = {.put = refuse_state};
    struct history back = {0};
    const struct history *history = &served->sums.history;
    size_t d = served->study->dimension;
    (void)state;
    for (int64_t second = 0; second < 400; second++) {
        fold(3);
        history_tick(served, 1000 + second, 1000 * second);
    }
    assert_true(history->samples > 100 && history->points > 20);
    /* What was refused is offered again. */
    stored_length = 0;
    assert_status(history_put(&store, served), TREMOLO_STORE_FAILED);
    store.put = keep_state;
    assert_status(history_put(&store, served), TREMOLO_OK);
    assert_true(stored_length > 0);
    assert_status(history_decode(&back, d, stored, stored_length), TREMOLO_OK);
    assert_int_equal(back.samples, history->samples);
    assert_int_equal(back.points, history->points);
    assert_int_equal(back.spacing, history->spacing);
    assert_int_equal(back.growth, history->growth);
    assert_memory_equal(back.sample, history->sample, back.samples * sizeof *back.sample);
    assert_memory_equal(back.point, history->point, back.points * sizeof *back.point);
    assert_memory_equal(back.value, history->value,
                        back.points * HISTORY_POINT_KINDS * d * sizeof *back.value);
    history_free(&back);
    /* Nothing new is nothing to write. */
    stored_length = 0;
    assert_status(history_put(&store, served), TREMOLO_OK);
    assert_int_equal(stored_length, 0);
    /* What is forgotten does not come back after a restart. */
    history_drop_beyond(&served->sums.history, 600);
    assert_status(history_put(&store, served), TREMOLO_OK);
    assert_status(history_decode(&back, d, stored, stored_length), TREMOLO_OK);
    assert_true(back.points > 0 && back.point[back.points - 1].devices <= 600);
    history_free(&back);
}

/* Bytes of any other length, of another study, or in another order are refused. */
static void test_what_is_no_history_is_refused(void **state)
{
    struct store store = {.put = keep_state};
    size_t d = served->study->dimension;
    (void)state;
    for (int64_t second = 0; second < 40; second++) {
        fold(3);
        history_tick(served, 1000 + second, 1000 * second);
    }
    assert_status(history_put(&store, served), TREMOLO_OK);
    for (size_t length = 0; length <= stored_length + 1; length++) {
        struct history back = {0};
        bool whole = length == stored_length;
        assert_status(history_decode(&back, d, stored, length),
                      whole ? TREMOLO_OK : TREMOLO_MALFORMED);
        history_free(&back);
    }
    for (unsigned i = 0; i < 20000; i++) { /* whatever the bytes are, nothing is read beyond them */
        struct history back = {0};
        uint8_t *copy = malloc(stored_length);
        assert_non_null(copy);
        memcpy(copy, stored, stored_length);
        for (unsigned k = 0; k <= i % 4; k++) {
            copy[randombytes_uniform((uint32_t)(i % 2 == 0 ? 24 : stored_length))] =
                (uint8_t)randombytes_random();
        }
        (void)!history_decode(&back, d + i % 3, copy, stored_length);
        assert_true(back.samples <= HISTORY_SAMPLES_MAX);
        history_free(&back);
        free(copy);
    }
    struct history back = {0};
    assert_status(history_decode(&back, d + 1, stored, stored_length), TREMOLO_MALFORMED);
    history_free(&back);
    /* A spacing or a time that arithmetic would overflow at: behind the version, and behind the head. */
    const size_t places[] = {1, 17};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        for (unsigned top = 0x40; top <= 0x80; top += 0x40) {
            uint8_t before = stored[places[i]];
            stored[places[i]] = (uint8_t)top;
            assert_status(history_decode(&back, d, stored, stored_length),
                          i == 1 && top == 0x40 ? TREMOLO_OK : TREMOLO_MALFORMED);
            stored[places[i]] = before;
            history_free(&back);
        }
    }
}

/* One tick says nothing of a rate; the second does. */
static void test_rate_is_null_at_first(void **state)
{
    char *json = NULL;
    (void)state;
    for (int64_t second = 0; second < 3; second++) {
        json = history_json(served, 1000 + second);
        assert_non_null(json);
        assert_int_equal(strstr(json, "\"rate\":null") != NULL, second < 2);
        free(json);
        fold(5);
        history_tick(served, 1000 + second, 1000 * second);
    }
    json = history_json(served, 1003);
    assert_non_null(json);
    assert_true(rate_in(json) == 5.0); /* 10 reports in 2 s */
    free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_samples_are_bounded_and_cover_everything, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_new_is_no_sample, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rate_is_of_the_last_ticks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_points_are_bounded_and_cover_everything, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_stored_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_no_history_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rate_is_null_at_first, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
