/* test_server_backends.c -- the same promises of both places a study can live in.
 *
 * One suite, run against the embedded log (SQLite) and against the clustered one (a
 * gateway and a worker on a nats-server of our own): what is acknowledged counts,
 * once; a restart changes nothing; rounds end for everybody. Reports made for the
 * first place are sent to the second as the same bytes, and the estimates must be
 * the same, character by character. Without NATS the second half is skipped. */
#include "testing.h"

#include <sys/stat.h>

#include "estimate.h"
#include "nats_node.h"
#include "server_jobs.h"
#include "server_reports.h"
#include "server.h"
#include "study_internal.h"

enum { DEVICES = 24, ROUNDS = 3, PATIENCE_MS = 15000 };

static uint8_t signing_public[TREMOLO_SIGNING_PUBLIC_BYTES];
static uint8_t signing_key[TREMOLO_SIGNING_SECRET_BYTES];
static uint8_t secret[TREMOLO_DEVICE_SECRET_BYTES] = {7};

/* A place to keep studies in, and what runs on it. */
struct place {
    bool clustered;
    char directory[64];
    struct nats_node node;
    struct writer *writer;
    struct tremolo_worker *worker;
};

static void open_place(struct place *place)
{
    char words[TREMOLO_WORDS_BYTES] = "";
    if (place->clustered) {
        struct tremolo_store_options store = {.url = place->node.url, .shards = 3};
        struct tremolo_worker_options worker = {.store = store};
        assert_status(writer_start_gateway(&place->writer, &store, signing_key, secret, words),
                      TREMOLO_OK);
        assert_status(tremolo_worker_start(&place->worker, &worker, words), TREMOLO_OK);
    } else {
        struct store *store = NULL;
        assert_status(store_open_sqlite(&store, place->directory, STORE_CAREFUL, words),
                      TREMOLO_OK);
        assert_status(writer_start_embedded(&place->writer, store, signing_key, secret, words),
                      TREMOLO_OK);
    }
}

static void close_place(struct place *place)
{
    writer_stop(place->writer);
    tremolo_worker_stop(place->worker);
    place->writer = NULL;
    place->worker = NULL;
}

static void make_place(struct place *place, bool clustered)
{
    *place = (struct place){.clustered = clustered};
    if (clustered) {
        assert_true(nats_node_start(&place->node));
    } else {
        (void)snprintf(place->directory, sizeof place->directory, "/tmp/tremolo-place-XXXXXX");
        assert_non_null(mkdtemp(place->directory));
    }
    open_place(place);
}

static void remove_place(struct place *place)
{
    char command[128];
    close_place(place);
    nats_node_remove(&place->node);
    if (!place->clustered) {
        (void)snprintf(command, sizeof command, "rm -rf '%s'", place->directory);
        assert_int_equal(system(command), 0);
    }
}

/* Does this build, on this machine, have NATS? */
static bool has_nats(void)
{
    struct bus;
    static const char *reason;
    struct tremolo_worker *worker = NULL;
    struct tremolo_worker_options options = {.store.url = "nats://127.0.0.1:1"};
    char words[TREMOLO_WORDS_BYTES] = "";
    reason = nats_node_program() == NULL ? "no nats-server on this machine" : NULL;
    if (tremolo_worker_start(&worker, &options, words) == TREMOLO_BAD_ARGUMENT) {
        reason = "this build has no NATS";
    }
    if (reason != NULL) {
        (void)fprintf(stderr, "skipped: %s\n", reason);
    }
    return reason == NULL;
}

static struct served_study *create(struct place *place, const char *text)
{
    struct job job = job_create(text);
    assert_true(submit_and_wait(place->writer, &job));
    assert_status(job.status, TREMOLO_OK);
    return job.served;
}

struct named_report {
    struct server_report report;
    uint8_t name[8];
    uint8_t name_length; /* 0: an open study */
};

static enum server_outcome send_report(struct place *place, struct served_study *served,
                                       const struct named_report *named)
{
    int16_t row[8];
    struct arrival arrival = {.bytes = named->report.bytes,
                              .length = (uint16_t)named->report.length,
                              .device = named->name,
                              .device_length = named->name_length};
    struct job job = {
        .served = served, .reports = {&arrival, row, 1}, .queued.bytes = named->report.length};
    check_report(&arrival, row, &served->check);
    if (arrival.outcome != OUTCOME_PENDING) {
        return arrival.outcome;
    }
    assert_true(submit_and_wait(place->writer, &job));
    return arrival.outcome;
}

static bool is_taken(enum server_outcome outcome)
{
    return outcome == OUTCOME_ACCEPTED || outcome == OUTCOME_REPEATED;
}

/* The fold may be a moment behind the acknowledgement; it may never be ahead. */
static void expect_reports(struct served_study *served, uint64_t wanted)
{
    uint64_t reports = 0;
    for (int waited = 0; waited < PATIENCE_MS; waited += 10) {
        struct timespec pause = {0, 10000000};
        (void)pthread_mutex_lock(&served->sums.lock);
        reports = served->sums.reports;
        (void)pthread_mutex_unlock(&served->sums.lock);
        if (reports == wanted) {
            break;
        }
        (void)nanosleep(&pause, NULL);
    }
    assert_int_equal(reports, wanted);
}

static unsigned newest_round(struct served_study *served)
{
    (void)pthread_mutex_lock(&served->sums.lock);
    unsigned newest = served->sums.opened - 1;
    (void)pthread_mutex_unlock(&served->sums.lock);
    return newest;
}

static void close_round(struct place *place, struct served_study *served)
{
    struct job job = {.kind = JOB_CLOSE, .served = served};
    assert_true(submit_and_wait(place->writer, &job));
    assert_status(job.status, TREMOLO_OK);
}

/* ---------------------------------------------------------------- open studies */

static struct named_report open_reports[DEVICES];

static void make_open_reports(const struct served_study *served)
{
    for (size_t i = 0; i < DEVICES && open_reports[i].report.length == 0; i++) {
        server_report_make(&open_reports[i].report, served->study, 0, NULL, NULL);
    }
}

/* Sent twice, sent again after a restart: counted once. The caller frees the text. */
static char *run_open_study(bool clustered)
{
    struct place place;
    char *estimate = NULL;
    make_place(&place, clustered);
    struct served_study *served = create(&place, server_study_open);
    make_open_reports(served);
    for (size_t i = 0; i < DEVICES; i++) {
        assert_int_equal(send_report(&place, served, &open_reports[i]), OUTCOME_ACCEPTED);
        assert_true(is_taken(send_report(&place, served, &open_reports[i])));
    }
    expect_reports(served, DEVICES);
    close_place(&place);
    open_place(&place);
    served = studies_at(&place.writer->studies, 0);
    assert_non_null(served);
    for (size_t i = 0; i < DEVICES; i++) {
        assert_true(is_taken(send_report(&place, served, &open_reports[i])));
    }
    expect_reports(served, DEVICES);
    assert_true(create(&place, server_study_open) == served); /* the same again is the same */
    assert_status(estimate_json(&estimate, served, ESTIMATE_LEVEL), TREMOLO_OK);
    close_round(&place, served);
    struct named_report late = {0};
    server_report_make(&late.report, served->study, 0, NULL, NULL);
    assert_int_equal(send_report(&place, served, &late), OUTCOME_CLOSED);
    expect_reports(served, DEVICES);
    remove_place(&place);
    return estimate;
}

/* ---------------------------------------------------------------- rounds and names */

static struct named_report round_reports[ROUNDS][DEVICES];

static void make_round_reports(const struct served_study *served, unsigned round)
{
    for (size_t i = 0; i < DEVICES && round_reports[round][i].report.length == 0; i++) {
        struct named_report *named = &round_reports[round][i];
        uint8_t key[TREMOLO_MAC_KEY_BYTES];
        named->name_length = sizeof named->name;
        (void)snprintf((char *)named->name, sizeof named->name, "dev%04zu", i);
        assert_status(tremolo_device_key(key, secret, named->name, named->name_length), TREMOLO_OK);
        server_report_make(&named->report, served->study, round, served->sums.rounds[round].vectors,
                           key);
    }
}

/* A device that tries a second sample in one round gains nothing by it. */
static void try_second_sample(struct place *place, struct served_study *served)
{
    struct named_report second = round_reports[0][0];
    uint8_t key[TREMOLO_MAC_KEY_BYTES];
    assert_status(tremolo_device_key(key, secret, second.name, second.name_length), TREMOLO_OK);
    server_report_make(&second.report, served->study, 0, served->sums.rounds[0].vectors, key);
    enum server_outcome outcome = send_report(place, served, &second);
    assert_true(outcome == OUTCOME_SAMPLES_USED || place->clustered); /* a gateway cannot tell */
}

static char *run_rounds(bool clustered)
{
    struct place place;
    char *estimate = NULL;
    make_place(&place, clustered);
    struct served_study *served = create(&place, server_study_rounds);
    for (unsigned t = 0; t < ROUNDS; t++) {
        assert_int_equal(newest_round(served), t);
        make_round_reports(served, t);
        for (size_t i = 0; i < DEVICES; i++) {
            assert_int_equal(send_report(&place, served, &round_reports[t][i]), OUTCOME_ACCEPTED);
        }
        expect_reports(served, (t + 1) * DEVICES);
        if (t == 0) {
            try_second_sample(&place, served);
        } else {
            struct named_report late = round_reports[t - 1][0];
            enum server_outcome outcome = send_report(&place, served, &late);
            assert_true(outcome == OUTCOME_REPEATED || outcome == OUTCOME_CLOSED);
        }
        close_round(&place, served);
        expect_reports(served, (t + 1) * DEVICES);
    }
    assert_status(estimate_json(&estimate, served, ESTIMATE_LEVEL), TREMOLO_OK);
    assert_non_null(strstr(estimate, "\"state\":\"done\""));
    remove_place(&place);
    return estimate;
}

/* ---------------------------------------------------------------- tests */

static void test_open_study(void **state)
{
    (void)state;
    char *embedded = run_open_study(false);
    if (has_nats()) {
        char *clustered = run_open_study(true);
        assert_string_equal(clustered, embedded);
        free(clustered);
    }
    free(embedded);
}

static void test_rounds(void **state)
{
    (void)state;
    char *embedded = run_rounds(false);
    if (has_nats()) {
        char *clustered = run_rounds(true);
        assert_string_equal(clustered, embedded);
        free(clustered);
    }
    free(embedded);
}

/* The broker dies after the first report, refuses the second, and is back. */
static struct served_study *lose_broker(struct place *place)
{
    make_place(place, true);
    struct served_study *served = create(place, server_study_open);
    make_open_reports(served);
    assert_int_equal(send_report(place, served, &open_reports[0]), OUTCOME_ACCEPTED);
    nats_node_stop(&place->node, SIGKILL);
    assert_int_equal(send_report(place, served, &open_reports[1]), OUTCOME_NOT_STORED);
    assert_int_not_equal(batcher_health(&place->writer->batcher, NULL), TREMOLO_OK);
    assert_true(nats_node_start(&place->node));
    return served;
}

/* Nothing is acknowledged in this time; what was acknowledged before is there. */
static void test_broker_dies(void **state)
{
    struct place place;
    (void)state;
    if (!has_nats()) {
        skip();
    }
    struct served_study *served = lose_broker(&place);
    enum server_outcome outcome = OUTCOME_NOT_STORED;
    for (int i = 0; i < 20 && outcome != OUTCOME_ACCEPTED; i++) {
        outcome = send_report(&place, served, &open_reports[1]);
    }
    assert_int_equal(outcome, OUTCOME_ACCEPTED);
    assert_status(batcher_health(&place.writer->batcher, NULL), TREMOLO_OK);
    expect_reports(served, 2);
    remove_place(&place);
}

/* A proxy that asks for our health sends nothing while we say no. */
static void test_health_comes_back_without_reports(void **state)
{
    struct place place;
    (void)state;
    if (!has_nats()) {
        skip();
    }
    (void)lose_broker(&place);
    for (int i = 0;
         i < PATIENCE_MS / 10 && batcher_health(&place.writer->batcher, NULL) != TREMOLO_OK; i++) {
        (void)usleep(10000);
    }
    assert_status(batcher_health(&place.writer->batcher, NULL), TREMOLO_OK);
    remove_place(&place);
}

/* Another gateway with other keys would sign under another name. */
static void test_other_keys_are_refused(void **state)
{
    static const uint8_t other[TREMOLO_DEVICE_SECRET_BYTES] = {8};
    struct place place;
    struct writer *second = NULL;
    char words[TREMOLO_WORDS_BYTES] = "";
    (void)state;
    if (!has_nats()) {
        skip();
    }
    make_place(&place, true);
    struct tremolo_store_options store = {.url = place.node.url};
    assert_status(writer_start_gateway(&second, &store, signing_key, other, words),
                  TREMOLO_FILE_FAILED);
    assert_non_null(strstr(words, "device.secret"));
    remove_place(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_study),
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_broker_dies),
        cmocka_unit_test(test_health_comes_back_without_reports),
        cmocka_unit_test(test_other_keys_are_refused),
    };
    uint8_t seed[TREMOLO_SIGNING_SEED_BYTES] = {1};
    (void)signal(SIGPIPE, SIG_IGN);
    if (sodium_init() < 0 ||
        tremolo_signing_keys(signing_public, signing_key, seed) != TREMOLO_OK) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
