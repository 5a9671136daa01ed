/* test_server_history.c -- the samples of a study's history stay bounded and cover all
 * of its time; the rate is that of the last ticks. The clock is a parameter, so years
 * pass in a second. */
#include "testing.h"

#include <sodium.h>

#include "served_study.h"
#include "history.h"
#include "writer.h"
#include "server_reports.h"

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
        assert_status(tremolo_moments_add(served->rounds[0].moments, row, &bucket, 1), TREMOLO_OK);
        served->reports++;
        served->generation++;
    }
}

static void test_samples_are_bounded_and_cover_everything(void **state)
{
    const struct history *history = &served->history;
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
    assert_int_equal(served->history.samples, 1);
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
    assert_status(history_json(&json, served, 2000), TREMOLO_OK);
    assert_true(rate_in(json) == 7.0); /* 77 reports in 11 s, exactly */
    free(json);
    for (int i = 0; i < HISTORY_MARKS; i++, second++) {
        history_tick(served, 1000 + second, 1000 * second);
    }
    assert_status(history_json(&json, served, 2000), TREMOLO_OK);
    assert_true(rate_in(json) == 7.0); /* the same second, the same answer */
    free(json);
    assert_status(history_json(&json, served, 2001), TREMOLO_OK);
    assert_true(rate_in(json) == 0.0);
    free(json);
}

/* One tick says nothing of a rate; the second does. */
static void test_rate_is_null_at_first(void **state)
{
    char *json = NULL;
    (void)state;
    for (int64_t second = 0; second < 3; second++) {
        assert_status(history_json(&json, served, 1000 + second), TREMOLO_OK);
        assert_int_equal(strstr(json, "\"rate\":null") != NULL, second < 2);
        free(json);
        fold(5);
        history_tick(served, 1000 + second, 1000 * second);
    }
    assert_status(history_json(&json, served, 1003), TREMOLO_OK);
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
        cmocka_unit_test_setup_teardown(test_rate_is_null_at_first, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
