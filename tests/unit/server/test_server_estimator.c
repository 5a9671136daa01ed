/* test_server_estimator.c -- questions are answered elsewhere, all about one study alike,
 * and none is forgotten at the end. */
#include "testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "estimate.h"
#include "memory_store.h"
#include "server_world.h"

enum { ASKERS = 20 };

static struct writer *writer;
static struct served_study *studies[2];
static _Atomic bool stopping;
static _Atomic unsigned answered;

static void report_to(struct served_study *served)
{
    struct server_report report;
    server_report_make(&report, served->study, 0, NULL, NULL);
    assert_int_equal(send_report(writer, served, &report, ""), OUTCOME_ACCEPTED);
}

static int set_up(void **state)
{
    (void)state;
    stopping = false;
    answered = 0;
    assert_true(make_keys());
    writer = start_writer(memory_store_new());
    assert_status(create_study(&studies[0], writer, server_study_open), TREMOLO_OK);
    assert_status(create_study(&studies[1], writer, server_study_rounds), TREMOLO_OK);
    for (int i = 0; i < 30; i++) {
        report_to(studies[0]);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    writer_stop(writer);
    return 0;
}

struct asked {
    struct question question;
    pthread_t by; /* who answered */
};

static void count(struct question *question)
{
    struct asked *asked = question->context;
    asked->by = pthread_self();
    (void)atomic_fetch_add(&answered, 1);
}

static void ask_all(struct estimator *estimator, struct asked *asked)
{
    for (size_t i = 0; i < ASKERS; i++) {
        asked[i].question = (struct question){.served = studies[i % 3 == 2],
                                              .level = i % 5 == 4 ? 0.5 : ESTIMATE_LEVEL,
                                              .done = count,
                                              .context = &asked[i]};
        estimator_ask(estimator, &asked[i].question);
    }
}

static void test_everybody_gets_the_estimate(void **state)
{
    struct estimator *estimator = estimator_start(&stopping);
    struct asked asked[ASKERS];
    char *wanted[2] = {NULL, NULL};
    (void)state;
    assert_non_null(estimator);
    assert_null(estimate_kept(studies[0]));
    ask_all(estimator, asked);
    estimator_stop(estimator); /* only when all are answered */
    assert_int_equal(answered, ASKERS);
    for (size_t i = 0; i < 2; i++) {
        wanted[i] = estimate_kept(studies[i]);
        assert_non_null(wanted[i]);
    }
    assert_string_not_equal(wanted[0], wanted[1]);
    for (size_t i = 0; i < ASKERS; i++) {
        assert_status(asked[i].question.status, TREMOLO_OK);
        if (i % 5 == 4) { /* the same at a level of its own */
            assert_non_null(strstr(asked[i].question.json, "\"level\":0.5,"));
        } else {
            assert_string_equal(asked[i].question.json, wanted[i % 3 == 2]);
        }
        assert_false(pthread_equal(asked[i].by, pthread_self()));
        free(asked[i].question.json);
    }
    report_to(studies[0]);
    assert_null(estimate_kept(studies[0])); /* it is another one now */
    free(wanted[0]);
    free(wanted[1]);
}

static void test_the_end_forgets_nobody(void **state)
{
    struct estimator *estimator = estimator_start(&stopping);
    struct asked asked[ASKERS];
    (void)state;
    assert_non_null(estimator);
    stopping = true;
    ask_all(estimator, asked);
    estimator_stop(estimator);
    assert_int_equal(answered, ASKERS);
    for (size_t i = 0; i < ASKERS; i++) {
        assert_status(asked[i].question.status, TREMOLO_OK);
        assert_null(asked[i].question.json);
    }
    assert_null(estimate_kept(studies[0]));
}

/* Answers that hold their threads until another one is there. */
static _Atomic bool released;

static void hold(struct question *question)
{
    for (int i = 0; i < 3000 && !released; i++) { /* ten times as long as a slow machine needs */
        (void)usleep(10000);
    }
    count(question);
}

static void release(struct question *question)
{
    released = true;
    count(question);
}

/* As many studies as there are threads, wide or not, all held, and then a usual one. */
static void check_release(const char *const *texts, size_t holders)
{
    struct estimator *estimator = estimator_start(&stopping);
    struct asked asked[8];
    assert_non_null(estimator);
    released = false;
    for (size_t i = 0; i <= holders; i++) {
        struct served_study *served = studies[0];
        if (i < holders) {
            assert_status(create_study(&served, writer, texts[i]), TREMOLO_OK);
        }
        asked[i].question = (struct question){
            .served = served, .done = i < holders ? hold : release, .context = &asked[i]};
        estimator_ask(estimator, &asked[i].question);
    }
    for (int i = 0; i < 1000 && !released; i++) {
        (void)usleep(10000);
    }
    assert_true(released);
    estimator_stop(estimator);
    assert_int_equal(answered, holders + 1);
    for (size_t i = 0; i <= holders; i++) {
        free(asked[i].question.json);
    }
}

static void test_a_study_does_not_wait_for_another(void **state)
{
    (void)state;
    check_release(&(const char *const){server_study_rounds}, 1);
}

static char *wide_study(int number)
{
    char *text = malloc(8192);
    assert_non_null(text);
    int length = sprintf(text, "{\"tremolo\": 1, \"title\": \"wide %d\", \"features\": [", number);
    for (int i = 0; i < ESTIMATOR_WIDE; i++) {
        length += sprintf(text + length, "%s{\"name\": \"x%d\", \"low\": 0, \"high\": 1}",
                          i > 0 ? ", " : "", i);
    }
    (void)sprintf(text + length, "], %s", strstr(server_study_open, "\"response\""));
    return text;
}

static void test_wide_studies_leave_a_thread_to_the_others(void **state)
{
    enum { WIDE = 6 };
    char *texts[WIDE];
    (void)state;
    for (int i = 0; i < WIDE; i++) {
        texts[i] = wide_study(i);
    }
    check_release((const char *const *)texts, WIDE);
    for (int i = 0; i < WIDE; i++) {
        free(texts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_everybody_gets_the_estimate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_end_forgets_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_study_does_not_wait_for_another, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wide_studies_leave_a_thread_to_the_others, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
