/* test_server_estimate_memory.c -- memory that runs out while an answer is computed.
 *
 * A study with reports is asked for its estimate, and the n-th request for memory is
 * refused: what could not be solved is refused, too, and the next to ask gets the whole answer. */
#include "failing_memory.h"

#include "estimate.h"
#include "server_world.h"

enum { DEVICES = 400 };

static struct writer *writer;
static struct served_study *served;
static char *whole;

static int set_up(void **state)
{
    struct server_report report;
    (void)state;
    if (!make_directory()) {
        return 1;
    }
    writer = start_writer(open_store());
    assert_status(create_study(&served, writer, server_study_open), TREMOLO_OK);
    for (int i = 0; i < DEVICES; i++) {
        server_report_make(&report, served->study, 0, NULL, NULL);
        assert_true(report.length > 0);
        (void)send_report(writer, served, &report, "");
    }
    assert_status(estimate_json(&whole, served, ESTIMATE_LEVEL), TREMOLO_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(whole);
    writer_stop(writer);
    return remove_directory();
}

static void forget_answer(void)
{
    assert_int_equal(pthread_mutex_lock(&served->sums.lock), 0);
    served->sums.generation++;
    assert_int_equal(pthread_mutex_unlock(&served->sums.lock), 0);
}

static void test_no_part_is_kept(void **state)
{
    int failures = 0, n = 0;
    (void)state;
    do {
        char *text = NULL;
        forget_answer();
        countdown = n++;
        armed = 1;
        enum tremolo_status status = estimate_json(&text, served, ESTIMATE_LEVEL);
        armed = 0;
        if (status == TREMOLO_OK) { /* no table is left out for it */
            assert_null(strstr(text, tremolo_status_sentence(TREMOLO_NO_MEMORY)));
        } else {
            assert_status(status, TREMOLO_NO_MEMORY);
            assert_null(text);
            failures++;
            assert_status(estimate_json(&text, served, ESTIMATE_LEVEL), TREMOLO_OK);
            assert_string_equal(text, whole);
        }
        free(text);
        assert_true(n < LIMIT);
    } while (countdown < 0);
    assert_true(failures > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_part_is_kept, set_up, tear_down),
    };
    if (sodium_init() < 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
