/* test_server_rounds.c -- rounds and enrolment through the writer, and recovery
 * between any two steps. A store in a fresh directory; the same study is opened
 * anew after every step and must say the same. */
#include "testing.h"

#include "estimate.h"
#include "server_world.h"
#include "study_internal.h"

enum { DEVICES = 40 };

static struct writer *writer;
static struct served_study *served;

static void open_again(void)
{
    writer_stop(writer);
    writer = start_writer(open_store());
    served = studies_at(&writer->studies, 0);
}

static int set_up(void **state)
{
    (void)state;
    if (!make_directory()) {
        return 1;
    }
    open_again();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    writer_stop(writer);
    writer = NULL;
    return remove_directory();
}

static enum tremolo_status create(const char *text)
{
    return create_study(&served, writer, text);
}

static enum tremolo_status close_round(void)
{
    struct job job = {.kind = JOB_CLOSE, .served = served};
    assert_true(submit_and_wait(writer, &job));
    return job.status;
}

static enum server_outcome send_as(const struct server_report *report, const char *name)
{
    return send_report(writer, served, report, name);
}

static void make_as(struct server_report *report, const char *name, unsigned round)
{
    uint8_t key[TREMOLO_MAC_KEY_BYTES];
    assert_status(tremolo_device_key(key, secret, (const uint8_t *)name, strlen(name)), TREMOLO_OK);
    server_report_make(report, served->study, round, served->sums.rounds[round].vectors, key);
    assert_true(report->length > 0);
}

static char *estimate(void)
{
    char *text = NULL;
    assert_status(estimate_json(&text, served, ESTIMATE_LEVEL), TREMOLO_OK);
    return text;
}

/* The answer before and after opening the store again. */
static void expect_the_same_after_a_restart(void)
{
    char *before = estimate();
    unsigned opened = served->sums.opened;
    open_again();
    char *after = estimate();
    assert_string_equal(before, after);
    assert_int_equal(served->sums.opened, opened);
    free(before);
    free(after);
}

static void test_three_rounds_with_restarts(void **state)
{
    struct server_report first[DEVICES];
    struct server_report report;
    char name[24];
    (void)state;
    assert_status(create(server_study_rounds), TREMOLO_OK);
    assert_status(close_round(), TREMOLO_TOO_FEW_REPORTS);
    for (unsigned round = 0; round < 3; round++) {
        assert_int_equal(served->sums.opened, round + 1);
        for (unsigned i = 0; i < DEVICES - round; i++) { /* some drop out */
            (void)snprintf(name, sizeof name, "device %u", i);
            make_as(&report, name, round);
            assert_int_equal(send_as(&report, name), OUTCOME_ACCEPTED);
            if (round == 0) {
                first[i] = report;
            }
            if (i == 7) {
                expect_the_same_after_a_restart();
            }
        }
        make_as(&report, "device 3", round);
        assert_int_equal(send_as(&report, "device 3"), OUTCOME_SAMPLES_USED);
        assert_int_equal(send_as(&report, "device 4"), OUTCOME_WRONG_MAC);
        expect_the_same_after_a_restart();
        assert_status(close_round(), TREMOLO_OK);
        expect_the_same_after_a_restart();
        /* The same bytes succeed for ever, new ones come too late. */
        assert_int_equal(send_as(&first[5], "device 5"), OUTCOME_REPEATED);
        make_as(&report, "latecomer", round);
        assert_int_equal(send_as(&report, "latecomer"), OUTCOME_CLOSED);
    }
    assert_true(served_is_done(served));
    assert_status(close_round(), TREMOLO_STUDY_DONE);
    char *text = estimate();
    assert_non_null(strstr(text, "\"average\":["));
    assert_non_null(
        strstr(text, "\"inference\":{\"round\":null,\"why\":\"devices of this study have names"));
    free(text);
}

static void test_vectors_are_orthogonal_to_beta(void **state)
{
    struct server_report report;
    char name[24];
    (void)state;
    assert_status(create(server_study_rounds), TREMOLO_OK);
    for (unsigned i = 0; i < DEVICES; i++) {
        (void)snprintf(name, sizeof name, "device %u", i);
        make_as(&report, name, 0);
        assert_int_equal(send_as(&report, name), OUTCOME_ACCEPTED);
    }
    assert_status(close_round(), TREMOLO_OK);
    const double *beta = served->sums.rounds[1].beta;
    const int16_t *v = served->sums.rounds[1].vectors;
    double along = beta[0] * v[0] + beta[1] * v[1];
    double length = beta[0] * beta[0] + beta[1] * beta[1];
    assert_true(length > 0.0);
    /* An entry is rounded to half a step of 1/16384. */
    assert_true(along * along <= length * 0.5);
}

static void test_a_study_is_created_once(void **state)
{
    (void)state;
    assert_status(create(server_study_open), TREMOLO_OK);
    struct served_study *first = served;
    assert_status(create(server_study_open), TREMOLO_OK);
    assert_ptr_equal(served, first);
    assert_int_equal(studies_count(&writer->studies), 1);
    assert_status(create("{\"tremolo\": 1}"), TREMOLO_BAD_STUDY);
    assert_int_equal(studies_count(&writer->studies), 1);
}

/* Two reports with one id in one group: the first is taken, other bytes are a
 * conflict, the same bytes a repeat. */
static void test_conflicts_within_a_group(void **state)
{
    struct server_report report;
    struct server_report other;
    int16_t rows[3 * 8];
    struct arrival arrivals[3] = {{0}};
    (void)state;
    assert_status(create(server_study_open), TREMOLO_OK);
    server_report_make(&report, served->study, 0, NULL, NULL);
    other = report;
    other.bytes[41] ^= 1; /* the response */
    const struct server_report *sent[3] = {&report, &other, &report};
    for (size_t i = 0; i < 3; i++) {
        arrivals[i].bytes = sent[i]->bytes;
        arrivals[i].length = (uint16_t)sent[i]->length;
        check_report(&arrivals[i], rows + 3 * i, &served->check);
        assert_int_equal(arrivals[i].outcome, OUTCOME_PENDING);
    }
    struct job job = {.served = served, .reports = {arrivals, rows, 3}, .queued.bytes = 200};
    assert_true(submit_and_wait(writer, &job));
    assert_int_equal(arrivals[0].outcome, OUTCOME_ACCEPTED);
    assert_int_equal(arrivals[1].outcome, OUTCOME_OTHER_BYTES);
    assert_int_equal(arrivals[2].outcome, OUTCOME_REPEATED);
    open_again();
    assert_int_equal(served->sums.reports, 1);
}

/* One log holds all studies; each finds its own again. */
static void test_two_studies_share_a_log(void **state)
{
    struct server_report report;
    char before[2][TREMOLO_STUDY_ID_TEXT_BYTES];
    char *texts[2];
    (void)state;
    assert_status(create(server_study_open), TREMOLO_OK);
    struct served_study *open = served;
    assert_status(create(server_study_rounds), TREMOLO_OK);
    struct served_study *rounds = served;
    for (unsigned i = 0; i < DEVICES; i++) {
        char name[24];
        served = i % 3 == 0 ? rounds : open;
        (void)snprintf(name, sizeof name, "device %u", i);
        if (served == rounds) {
            make_as(&report, name, 0);
        } else {
            server_report_make(&report, served->study, 0, NULL, NULL);
        }
        assert_int_equal(send_as(&report, served == rounds ? name : ""), OUTCOME_ACCEPTED);
    }
    for (size_t i = 0; i < 2; i++) {
        served = studies_at(&writer->studies, i);
        (void)snprintf(before[i], sizeof before[i], "%s", served->id_text);
        texts[i] = estimate();
    }
    open_again();
    for (size_t i = 0; i < 2; i++) { /* they may come in another order */
        served = studies_at(&writer->studies, i);
        char *after = estimate();
        assert_string_equal(after, texts[strcmp(served->id_text, before[0]) == 0 ? 0 : 1]);
        free(after);
    }
    assert_int_equal(studies_at(&writer->studies, 0)->sums.reports +
                         studies_at(&writer->studies, 1)->sums.reports,
                     DEVICES);
    free(texts[0]);
    free(texts[1]);
}

static void test_a_full_queue_refuses(void **state)
{
    struct job job = {.queued.bytes = (size_t)BATCHER_QUEUE_BYTES_MAX + 1};
    (void)state;
    assert_false(writer_submit(writer, &job));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_three_rounds_with_restarts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_vectors_are_orthogonal_to_beta, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_study_is_created_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_conflicts_within_a_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_studies_share_a_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_full_queue_refuses, set_up, tear_down),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
