/* demo.c -- `tremolo demo`: the whole system at work on made-up people.
 *
 * A server on loopback, a study of the paper's release and one of ballots, thousands of devices
 * that are real clients: each fetches and verifies both studies, asks its own policy, pays from
 * its own ledger in its own directory and sends its reports over HTTP. The demonstration prints
 * the server's estimates, the truth, and least squares on the raw data, which the server never
 * sees.
 *
 * Devices here live as long as the demonstration, so their ledgers are written but not synced;
 * everything on the server's side is.
 *
 * The estimates are read from the server as any reader does, over HTTP: the demonstration has no
 * access that a stranger lacks, except to the operator's token, with which it opens studies and
 * ends rounds. People are a function of their number, so raw data are made twice, on the device
 * and for the comparison, and never stored.
 *
 * Locks: `lock` guards `why`, the first reason for a failure. `next` and `failed` are atomic.
 * All else in struct demo is written only while no device thread runs. */
#include "cli.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "explain.h"
#include "fetch.h"
#include "files.h"
#include "options.h"
#include "progress.h"
#include "text.h"
#include "ledger_file.h"
#include "tremolo_client.h"
#include "tremolo_planning.h"
#include "regression.h"
#include "server.h"

/* Threads that act for devices, bounds of --devices, and bytes of the directory's name. */
enum { THREADS = 16, DEVICES_MIN = 100, DEVICES_MAX = 1000000, PATH_BYTES = 512 };

/* ---------------------------------------------------------------- people and questions */

enum { FEATURES = 3 };
enum { PAPER, BALLOT, STUDIES };

struct question {
    const char *title;
    const char *json;
    const char *policy; /* of the demo's devices, a policy file */
    unsigned rounds;    /* each of them a report of every device */
};

/* True coefficients in own units, the intercept last. */
static const char *const names[FEATURES + 1] = {"age", "steps", "sleep", "(intercept)"};
/* Per year, per thousand steps, per hour; at age 0 without steps or sleep. */
static const double truth[FEATURES + 1] = {0.15, -0.9, -1.2, 71.0};

#define QUESTION(release)                                                                          \
    "{\"tremolo\": 1, \"title\": \"Does activity predict resting pulse, given age and sleep? "     \
    "(" release ")\",\n"
#define AGE   "\"name\": \"age\", \"unit\": \"years\", "
#define STEPS "\"name\": \"steps\", \"unit\": \"thousands a day\", "
#define SLEEP "\"name\": \"sleep\", \"unit\": \"hours\", "
#define PULSE "\"name\": \"pulse\", \"unit\": \"beats a minute\", "

/* Bounds for the noisy sample; for the ballot the range that nine of ten lie in. */
static const struct question questions[STUDIES] = {
    [PAPER] = {"the paper's release",
               QUESTION("noisy samples") " \"features\": [{" AGE "\"low\": 18, \"high\": 88},\n"
                                         "              {" STEPS "\"low\": 0, \"high\": 18},\n"
                                         "              {" SLEEP "\"low\": 4, \"high\": 10}],\n"
                                         " \"response\": {" PULSE "\"low\": 35, \"high\": 95},\n"
                                         " \"privacy\": {\"epsilon\": 2, \"delta\": 1e-5,\n"
                                         "             \"neighbours\": {\"distance\": 0.25},\n"
                                         "             \"protects\": \"features\"},\n"
                                         " \"protocol\": {\"kind\": \"iterative\", \"rounds\": 2, "
                                         "\"vectors\": 1,\n"
                                         "              \"alpha\": 0.2, \"lambda\": 0.2, "
                                         "\"omega\": 1}}\n",
               "{\"distance\": {\"age\": 8.75, \"steps\": 2.25, \"sleep\": 0.75}}", 2},
    [BALLOT] = {"ballots",
                QUESTION("ballots") " \"features\": [{" AGE "\"low\": 20, \"high\": 78},\n"
                                    "              {" STEPS "\"low\": 3, \"high\": 16},\n"
                                    "              {" SLEEP "\"low\": 5, \"high\": 9}],\n"
                                    " \"response\": {" PULSE "\"low\": 50, \"high\": 73},\n"
                                    " \"privacy\": {\"epsilon\": 2, \"neighbours\": \"any\",\n"
                                    "             \"protects\": \"all\"},\n"
                                    " \"protocol\": {\"release\": \"ballot\"}}\n",
                "{\"distance\": \"any\"}", 1},
};
static const double ballot_epsilon = 2;
static const double true_r2 = 0.76;

/* Person `index`: age, steps, hours of sleep; and resting pulse. The same index gives the same
 * person. Pulse rises with age and falls with steps and sleep; older people walk less, active
 * people sleep a little longer. All values but rare extremes, which the device clamps, lie
 * within the study's public bounds. */
static void make_person(double features[FEATURES], double *pulse, size_t index)
{
    struct tremolo_random random = {0x2545f4914f6cdd1du + index};
    double age = 18.0 + 62.0 * tremolo_random_uniform(&random);
    double steps = 9.5 - 0.05 * (age - 49.0) + 3.8 * tremolo_random_normal(&random);
    double sleep = 7.0 + 0.08 * (steps - 9.5) + 1.2 * tremolo_random_normal(&random);
    features[0] = age;
    features[1] = fmin(fmax(steps, 0.0), 18.0);
    features[2] = fmin(fmax(sleep, 4.0), 10.0);
    *pulse = truth[FEATURES] + 3.0 * tremolo_random_normal(&random);
    for (size_t i = 0; i < FEATURES; i++) {
        *pulse += truth[i] * features[i];
    }
}

/* Options first, then what the steps make, each for the steps after it. */
struct demo {
    size_t devices;
    char data[PATH_BYTES]; /* "" until make_directory() has made one */
    uint16_t port;         /* 0: any free one */
    bool stay;
    struct tremolo_server *server;
    char study_url[STUDIES][256];
    struct tremolo_policy policy[STUDIES];
    char *token;    /* the operator's, who opens studies and ends rounds */
    unsigned round; /* that devices report in, from 0 */
    struct tremolo_files files;
    double seconds; /* that reports took */
    /* The next device that a thread takes, and how many reports failed. */
    _Atomic size_t next;
    _Atomic size_t failed;
    char why[TREMOLO_CLIENT_WHY_BYTES];
    pthread_mutex_t lock;
};

/* The name must leave room for the files below it. */
static const char *take_data(void *data, const char *text)
{
    return snprintf(data, PATH_BYTES, "%s", text) < PATH_BYTES ? NULL : "a shorter name";
}

#define TO(member) OPTION_TO(struct demo, member)

static const struct option_rule rules[] = {
    OPTION_RULE("devices", "N", COUNT, TO(devices), OPTION_FROM(DEVICES_MIN, DEVICES_MAX),
                .otherwise = "12000", .help = "how many; fewer than 100 show nothing but noise"),
    OPTION_RULE("data", "DIR", TEXT, TO(data), .take = take_data,
                .help = "where everything is put; a new directory under /tmp unless given"),
    OPTION_RULE("listen", "PORT", COUNT, TO(port), OPTION_FROM(0, UINT16_MAX), .otherwise = "0",
                .help = "on loopback; 0 takes any free port"),
    OPTION_RULE("stay", NULL, FLAG, TO(stay), .help = "leave the server running until interrupted"),
};

/* ---------------------------------------------------------------- server */

/* The server is this process's own, on loopback, with its data below the demonstration's. */
static int start_server(struct demo *demo)
{
    struct tremolo_server_options options = TREMOLO_SERVER_DEFAULTS;
    char directory[PATH_BYTES + 16];
    char words[TREMOLO_WORDS_BYTES] = "";
    (void)snprintf(directory, sizeof directory, "%s/server", demo->data);
    options.data = directory;
    options.port = demo->port;
    if (tremolo_server_start(&demo->server, &options, words) != TREMOLO_OK) {
        return cli_fail(CLI_FAILED, "demo", "%s", words);
    }
    return CLI_DONE;
}

/* POST a body as the operator, or GET without one; *answer is the caller's, and NULL after a
 * failure, of which `failed` is the sentence. Only requests with a body carry the token. */
static int ask(json_t **answer, const struct demo *demo, const char *url, const char *body,
               const char *failed)
{
    struct fetch fetch = {.url = url, .body = body, .token = body != NULL ? demo->token : NULL};
    bool good = fetch_run(&fetch) == 0 && fetch.status / 100 == 2;
    *answer = good ? json_loads(fetch.answer, 0, NULL) : NULL;
    free(fetch.answer);
    return *answer != NULL ? CLI_DONE
                           : cli_fail(CLI_FAILED, "demo", "%s (%ld)", failed, fetch.status);
}

/* Open a study as its operator does, and keep its address. */
static int create_study(struct demo *demo, size_t study)
{
    char url[128];
    json_t *answer = NULL;
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/v1/studies",
                   tremolo_server_port(demo->server));
    int code = ask(&answer, demo, url, questions[study].json, "the study was not taken");
    (void)snprintf(demo->study_url[study], sizeof demo->study_url[study], "%s/%s", url,
                   member_text(answer, "id"));
    json_decref(answer);
    return code;
}

/* The server has made the token by now, in its data directory, where an operator finds it as
 * well. */
static int create_studies(struct demo *demo)
{
    char path[PATH_BYTES + 32];
    (void)snprintf(path, sizeof path, "%s/server/operator.token", demo->data);
    int code = cli_read_token(&demo->token, "demo", path);
    for (size_t i = 0; i < STUDIES && code == CLI_DONE; i++) {
        code = create_study(demo, i);
    }
    return code;
}

/* Ended by the operator, as no device waits for another here. The round is named, so that a
 * repeated request would close no other. */
static int close_round(const struct demo *demo, size_t study)
{
    char url[300];
    json_t *answer = NULL;
    (void)snprintf(url, sizeof url, "%s/round/close?round=%u", demo->study_url[study], demo->round);
    int code = ask(&answer, demo, url, "", "a round did not end");
    json_decref(answer);
    return code;
}

/* ---------------------------------------------------------------- devices
 *
 * A device has a directory, named by its number, with one ledger for both studies. Between two
 * rounds no client is open: each report begins from what is on the disk, as after a restart. */

/* Replaces fsync() for devices only: thousands of ledgers on one disk would take most of the
 * time. */
static int no_sync(void *context, int fd)
{
    (void)context;
    (void)fd;
    return 0;
}

/* Keep the first reason; count all. Called by any thread. */
static void note_failure(struct demo *demo, const char *why)
{
    (void)pthread_mutex_lock(&demo->lock);
    if (demo->failed++ == 0) {
        (void)snprintf(demo->why, sizeof demo->why, "%s", why);
    }
    (void)pthread_mutex_unlock(&demo->lock);
}

/* One report of one device, with everything a real one does: fetch and verify the study, ask its
 * policy, pay from its ledger. */
static void take_part(struct demo *demo, size_t index, size_t study)
{
    struct tremolo_client *client = NULL;
    struct tremolo_client_options options = TREMOLO_CLIENT_DEFAULTS;
    struct tremolo_client_surroundings around = {.files = &demo->files};
    struct tremolo_client_receipt receipt;
    char state[PATH_BYTES + 32];
    char why[TREMOLO_CLIENT_WHY_BYTES] = "";
    double values[FEATURES + 1];
    (void)snprintf(state, sizeof state, "%s/devices/%zu", demo->data, index);
    options.study_url = demo->study_url[study];
    options.state_directory = state;
    options.server_key = tremolo_server_key(demo->server);
    options.enrol = true;
    options.policy = &demo->policy[study];
    options.ledger_studies = STUDIES;
    enum tremolo_status status = tremolo_client_open(&client, why, &options, &around);
    if (status != TREMOLO_OK) {
        note_failure(demo, why);
        return;
    }
    make_person(values, &values[FEATURES], index);
    status = tremolo_client_values(client, values, FEATURES + 1);
    if (status == TREMOLO_OK) {
        status = tremolo_client_report(client, &receipt);
    }
    if (status != TREMOLO_OK) {
        note_failure(demo, tremolo_client_why(client));
    }
    tremolo_client_close(client);
}

/* A thread's work: the next device, until there is none. A failure does not stop the others; the
 * round after it is not begun. */
static void *run_devices(void *context)
{
    struct demo *demo = context;
    size_t index;
    while ((index = atomic_fetch_add(&demo->next, 1)) < demo->devices) {
        for (size_t i = 0; i < STUDIES; i++) {
            if (demo->round < questions[i].rounds) {
                take_part(demo, index, i);
            }
        }
        (void)progress_bar.add(NULL, 1);
    }
    return NULL;
}

/* Device owners allow the studies here, by the text that a policy file would have. */
static int read_policies(struct demo *demo)
{
    for (size_t i = 0; i < STUDIES; i++) {
        const char *text = questions[i].policy;
        char why[256] = "out of memory";
        if (tremolo_policy_parse(&demo->policy[i], why, sizeof why, text, strlen(text)) !=
            TREMOLO_OK) {
            return cli_fail(CLI_FAILED, "demo", "%s", why);
        }
    }
    return CLI_DONE;
}

/* Threads take devices in turn. A thread that cannot be started leaves its work to the others. */
static void run_round(struct demo *demo)
{
    pthread_t thread[THREADS];
    size_t started = 0;
    demo->next = 0;
    while (started < THREADS && pthread_create(&thread[started], NULL, run_devices, demo) == 0) {
        started++;
    }
    for (size_t i = 0; i < started; i++) {
        (void)pthread_join(thread[i], NULL);
    }
    if (started == 0) {
        note_failure(demo, "no thread could be started");
    }
}

/* Rounds of all studies at once; those that have one more wait for the operator. */
static int send_reports(struct demo *demo)
{
    char directory[PATH_BYTES + 16];
    unsigned rounds = 1;
    int code = CLI_DONE;
    (void)snprintf(directory, sizeof directory, "%s/devices", demo->data);
    if (mkdir(directory, 0700) != 0 && errno != EEXIST) {
        return cli_fail(CLI_FAILED, "demo", "%s: %s", directory, strerror(errno));
    }
    double start = cli_seconds();
    demo->files = tremolo_files_system();
    demo->files.fsync = no_sync;
    for (size_t i = 0; i < STUDIES; i++) {
        rounds = questions[i].rounds > rounds ? questions[i].rounds : rounds;
    }
    progress_bar.begin(NULL, "devices, round by round", rounds * demo->devices);
    for (demo->round = 0; demo->round < rounds && demo->failed == 0 && code == CLI_DONE;
         demo->round++) {
        run_round(demo);
        for (size_t i = 0; i < STUDIES && code == CLI_DONE; i++) {
            code = demo->round + 1 < questions[i].rounds ? close_round(demo, i) : code;
        }
    }
    progress_bar.end(NULL);
    demo->seconds = cli_seconds() - start;
    if (demo->failed > 0) {
        return cli_fail(CLI_FAILED, "demo", "%zu reports could not be made: %s",
                        (size_t)demo->failed, demo->why);
    }
    return code;
}

/* ---------------------------------------------------------------- results
 *
 * Nothing is printed until all of it is there: both estimates and the fit to the raw data. */

/* Least squares on what the devices kept to themselves. False without memory, or when the people
 * are too much alike to solve for. */
static bool raw_least_squares(double *beta, double *intercept, const struct demo *demo)
{
    double *X = calloc(demo->devices * FEATURES, sizeof *X);
    double *y = calloc(demo->devices, sizeof *y);
    bool good = X != NULL && y != NULL;
    for (size_t i = 0; good && i < demo->devices; i++) {
        make_person(X + i * FEATURES, &y[i], i);
    }
    good = good &&
           tremolo_ols(beta, intercept, NULL, X, y, demo->devices, FEATURES, true) == TREMOLO_OK;
    free(X);
    free(y);
    return good;
}

/* A coefficient that noise hides has no number. */
static void print_estimate(const json_t *answer, size_t index)
{
    const json_t *row = json_array_get(json_object_get(answer, "coefficients"), index);
    if (json_is_true(json_object_get(row, "identified"))) {
        (void)printf(" | %9.3f %10.3f %9.3f", member_number(row, "estimate"),
                     member_number(row, "low"), member_number(row, "high"));
    } else {
        (void)printf(" | %9s %20s", "-", "not identified");
    }
}

/* One row for each coefficient: truth, raw data, then each study. */
static void print_table(json_t *const answer[STUDIES], const double *raw)
{
    (void)printf("%-31s", "pulse, beats a minute");
    for (size_t i = 0; i < STUDIES; i++) {
        (void)printf(" | %30s", questions[i].title);
    }
    (void)printf("\n%-11s %9s %9s", "per unit of", "truth", "raw data");
    for (size_t i = 0; i < STUDIES; i++) {
        (void)printf(" | %9s %20s", "estimate", "95% interval");
    }
    for (size_t i = 0; i <= FEATURES; i++) {
        (void)printf("\n%-11s %9.3f %9.3f", names[i], truth[i], raw[i]);
        for (size_t k = 0; k < STUDIES; k++) {
            print_estimate(answer[k], i);
        }
    }
    (void)printf("\n");
}

/* What the paper's release would have given at the ballot's guarantee, by the plan's usual
 * guesses of how people vary. */
static void print_comparison(const struct demo *demo)
{
    struct tremolo_plan_request request;
    tremolo_plan_begin(&request);
    request.guess.dimension = FEATURES;
    request.guess.devices = (double)demo->devices;
    request.guess.r2 = true_r2;
    request.release = TREMOLO_RELEASE_SAMPLE;
    request.epsilon = ballot_epsilon;
    struct tremolo_plan_answer plan;
    if (tremolo_plan_study(&plan, &request) == TREMOLO_OK) {
        const struct tremolo_plan_lever *ballots = &plan.levers[1];
        text_paragraph(
            stdout,
            "For any two people, all protected, at epsilon 2 (delta 1e-5) the paper's "
            "release would have given R^2 %.2f with these devices, ballots %.2f, and "
            "would need about %.2g million "
            "devices for its coefficients, ballots %.2g thousand ('tremolo plan --dimension %d "
            "--devices %zu --epsilon %g --r2 %g').",
            plan.result.r2_auto, ballots->r2, tremolo_digits_up(plan.verdict.devices, 2) / 1e6,
            tremolo_digits_up(ballots->devices, 2) / 1e3, FEATURES, demo->devices, ballot_epsilon,
            true_r2);
    }
}

/* The document's sentences, as a reviewer reads them. */
static void print_guarantee(const json_t *answer, const char *title)
{
    const json_t *guarantee = json_object_get(answer, "guarantee");
    size_t index;
    json_t *sentence;
    (void)printf("\n---- %s\n", title);
    text_paragraph(stdout, "%s", member_text(json_object_get(answer, "inference"), "why"));
    json_array_foreach(json_object_get(answer, "not_identified"), index, sentence)
    {
        text_paragraph(stdout, "%s", json_string_value(sentence));
    }
    text_guarantee(stdout, guarantee, member_number(guarantee, "delta"));
}

/* Numbers first, then what they cost. */
static void print_all(const struct demo *demo, json_t *const answer[STUDIES], const double *raw)
{
    (void)printf("%zu devices reported to two studies over HTTP in %.1f s, one sample each; the "
                 "paper's has %u rounds\n\n",
                 demo->devices, demo->seconds, questions[PAPER].rounds);
    print_table(answer, raw);
    (void)printf(
        "\n'truth' made the people up, 'raw data' is least squares on their samples, which "
        "no server saw;\nestimates are what the server has learnt from the reports.\n\n");
    print_comparison(demo);
    for (size_t i = 0; i < STUDIES; i++) {
        print_guarantee(answer[i], questions[i].title);
    }
    (void)printf("\nMind the neighbours: the demo's devices have a policy that takes the paper's "
                 "study,\n%s: people further apart are not protected.\nA device with the default "
                 "policy counts any two people: it refuses that study, as its "
                 "page\n/studies/%s/about does, and takes the ballot.\n\n",
                 questions[PAPER].policy, strrchr(demo->study_url[PAPER], '/') + 1);
    (void)printf("Everything lies in %s: server/ has the log and the keys, devices/ the ledgers\n",
                 demo->data);
}

/* Estimates are read from the server, as any reader does. */
static int print_results(struct demo *demo)
{
    double raw[FEATURES + 1] = {0};
    json_t *answer[STUDIES] = {NULL};
    int code = CLI_DONE;
    for (size_t i = 0; i < STUDIES && code == CLI_DONE; i++) {
        char url[300];
        (void)snprintf(url, sizeof url, "%s/estimate", demo->study_url[i]);
        code = ask(&answer[i], demo, url, NULL, "there is no estimate");
    }
    if (code == CLI_DONE && !raw_least_squares(raw, &raw[FEATURES], demo)) {
        code = cli_fail(CLI_FAILED, "demo", "least squares on the raw data failed");
    }
    if (code == CLI_DONE) {
        print_all(demo, answer, raw);
    }
    for (size_t i = 0; i < STUDIES; i++) {
        json_decref(answer[i]);
    }
    return code;
}

/* ---------------------------------------------------------------- command */

/* A directory of its own, so that nothing is overwritten: one that exists is refused. Others may
 * not read it, since it has ledgers and keys. It stays after the end, for a look at what was
 * written. */
static int make_directory(struct demo *demo)
{
    if (demo->data[0] == '\0') {
        (void)snprintf(demo->data, sizeof demo->data, "/tmp/tremolo-demo-XXXXXX");
        if (mkdtemp(demo->data) == NULL) {
            return cli_fail(CLI_FAILED, "demo", "%s: %s", demo->data, strerror(errno));
        }
    } else if (mkdir(demo->data, 0700) != 0) {
        return cli_fail(CLI_FAILED, "demo", "%s: %s", demo->data, strerror(errno));
    }
    return CLI_DONE;
}

/* Steps in order, up to the first that fails. The server is stopped in any case. Signals are
 * held only with --stay: without it Ctrl-C ends the process at once. */
static int run(int argc, char **argv)
{
    static int (*const steps[])(struct demo *) = {read_policies, start_server, create_studies,
                                                  send_reports, print_results};
    struct demo demo = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct options_given given;
    sigset_t signals;
    int code = CLI_DONE;
    if (!options_parse(&given, &demo, &code, &cli_demo, argc, argv)) {
        return code;
    }
    code = make_directory(&demo);
    if (code != CLI_DONE) {
        return code;
    }
    if (demo.stay) {
        cli_hold_signals(&signals, false);
    } else {
        (void)signal(SIGPIPE, SIG_IGN);
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && code == CLI_DONE; i++) {
        code = steps[i](&demo);
    }
    if (code == CLI_DONE && demo.stay) {
        int number;
        (void)printf("the server stays at http://127.0.0.1:%u until interrupted\n",
                     tremolo_server_port(demo.server));
        (void)fflush(stdout);
        (void)sigwait(&signals, &number);
    }
    tremolo_server_stop(demo.server);
    free(demo.token);
    return code;
}

const struct cli_command cli_demo = {
    .name = "demo",
    .summary = "the whole system at work on made-up people",
    .usage = "demo [OPTIONS]",
    .about =
        "Starts a server on this machine, lets thousands of made-up people take part, and prints\n"
        "what the server learned, and the truth.",
    OPTION_TABLE(rules),
    .run = run,
};
