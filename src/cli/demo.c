/* demo.c -- `tremolo demo`: the whole system at work on made-up people.
 *
 * A server on loopback, a study, thousands of devices that are real clients:
 * each fetches and verifies the study, asks its own policy, pays from its own
 * ledger in its own directory and sends its report over HTTP. What the server
 * then says is printed beside the truth and beside least squares on the raw
 * data, which nobody but this demonstration ever sees.
 *
 * Devices here live as long as the demonstration, so their ledgers are
 * written but not synced; everything on the server's side is. */
#include "cli.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coefficients.h"
#include "tremolo_demo.h"
#include "fetch.h"
#include "guarantee_print.h"
#include "files.h"
#include "members.h"
#include "options.h"
#include "progress.h"
#include "tremolo_client.h"
#include "tremolo_regression.h"
#include "tremolo_server.h"

enum { THREADS = 16, DEVICES_MIN = 100, DEVICES_MAX = 1000000, PATH_BYTES = 512 };

struct demo {
    size_t devices;
    char data[PATH_BYTES];
    uint16_t port;
    uint64_t seed;
    bool stay;
    struct tremolo_server *server;
    char study_url[256];
    struct tremolo_files files;
    _Atomic size_t next;
    _Atomic size_t failed;
    char why[TREMOLO_CLIENT_WHY_BYTES];
    pthread_mutex_t lock;
};

static const char *take_data(void *data, const char *text)
{
    return snprintf(data, PATH_BYTES, "%s", text) < PATH_BYTES ? NULL : "a shorter name";
}

#define TO(member) OPTION_TO(struct demo, member)

static const struct option_rule rules[] = {
    OPTION_RULE("devices", "N", COUNT, TO(devices), OPTION_FROM(DEVICES_MIN, DEVICES_MAX),
                .otherwise = "6000", .help = "how many; fewer than 100 show nothing but noise"),
    OPTION_RULE("data", "DIR", TEXT, TO(data), .take = take_data,
                .help = "where everything is put; a new directory under /tmp unless given"),
    OPTION_RULE("listen", "PORT", COUNT, TO(port), OPTION_FROM(0, UINT16_MAX), .otherwise = "0",
                .help = "on loopback; 0 takes any free port"),
    OPTION_RULE("seed", "S", COUNT, TO(seed), OPTION_FROM(0, 0x1p63), .otherwise = "1",
                .help = "of the population"),
    OPTION_RULE("stay", NULL, FLAG, TO(stay), .help = "leave the server running until interrupted"),
};

/* ---------------------------------------------------------------- server */

static int start_server(struct demo *demo)
{
    struct tremolo_server_options options = TREMOLO_SERVER_DEFAULTS;
    char directory[PATH_BYTES + 16];
    char words[512] = "";
    (void)snprintf(directory, sizeof directory, "%s/server", demo->data);
    options.data = directory;
    options.port = demo->port;
    if (tremolo_server_start(&demo->server, &options, words, sizeof words) != TREMOLO_OK) {
        return cli_fail(CLI_FAILED, "demo", "%s", words);
    }
    return CLI_DONE;
}

static int create_study(struct demo *demo)
{
    char url[128];
    char path[PATH_BYTES + 32];
    char *token = NULL;
    (void)snprintf(path, sizeof path, "%s/server/operator.token", demo->data);
    int code = cli_read_token(&token, "demo", path);
    if (code != CLI_DONE) {
        return code;
    }
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/v1/studies",
                   tremolo_server_port(demo->server));
    struct fetch fetch = {.method = "POST",
                          .url = url,
                          .type = "application/json",
                          .token = token,
                          .body = tremolo_demo_study,
                          .body_length = strlen(tremolo_demo_study)};
    int failed = fetch_run(&fetch);
    free(token);
    if (failed != 0 || fetch.status != 201) {
        free(fetch.answer);
        return cli_fail(CLI_FAILED, "demo", "the study was not taken (%ld)", fetch.status);
    }
    json_t *answer = json_loads(fetch.answer, 0, NULL);
    const char *id = json_string_value(json_object_get(answer, "id"));
    (void)snprintf(demo->study_url, sizeof demo->study_url, "%s/%s", url, id != NULL ? id : "");
    json_decref(answer);
    free(fetch.answer);
    return CLI_DONE;
}

/* ---------------------------------------------------------------- devices */

static int no_sync(void *context, int fd)
{
    (void)context;
    (void)fd;
    return 0;
}

static void note_failure(struct demo *demo, const char *why)
{
    (void)pthread_mutex_lock(&demo->lock);
    if (demo->failed++ == 0) {
        (void)snprintf(demo->why, sizeof demo->why, "%s", why);
    }
    (void)pthread_mutex_unlock(&demo->lock);
}

static void run_device(struct demo *demo, size_t index)
{
    struct tremolo_client *client = NULL;
    struct tremolo_client_options options = TREMOLO_CLIENT_DEFAULTS;
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    struct tremolo_client_surroundings around = {.files = &demo->files};
    struct tremolo_client_receipt receipt;
    char state[PATH_BYTES + 32];
    char why[TREMOLO_CLIENT_WHY_BYTES] = "";
    double values[TREMOLO_DEMO_FEATURES + 1];
    (void)snprintf(state, sizeof state, "%s/devices/%zu", demo->data, index);
    options.study_url = demo->study_url;
    options.state_directory = state;
    options.server_key = tremolo_server_key(demo->server);
    options.enrol = true;
    policy.distance = tremolo_demo_distance; /* the default, any two people, would refuse */
    options.policy = &policy;
    options.ledger_studies = 1;
    enum tremolo_status status = tremolo_client_open(&client, why, &options, &around);
    if (status != TREMOLO_OK) {
        note_failure(demo, why);
        return;
    }
    tremolo_demo_person(values, &values[TREMOLO_DEMO_FEATURES], index, demo->seed);
    status = tremolo_client_values(client, values, TREMOLO_DEMO_FEATURES + 1);
    if (status == TREMOLO_OK) {
        status = tremolo_client_report(client, &receipt);
    }
    if (status != TREMOLO_OK) {
        note_failure(demo, tremolo_client_why(client));
    }
    tremolo_client_close(client);
}

static void *run_devices(void *context)
{
    struct demo *demo = context;
    size_t index;
    while ((index = atomic_fetch_add(&demo->next, 1)) < demo->devices) {
        run_device(demo, index);
        progress_bar.add(1);
    }
    return NULL;
}

static int send_reports(struct demo *demo)
{
    pthread_t thread[THREADS];
    char directory[PATH_BYTES + 16];
    (void)snprintf(directory, sizeof directory, "%s/devices", demo->data);
    if (mkdir(directory, 0700) != 0 && errno != EEXIST) {
        return cli_fail(CLI_FAILED, "demo", "%s: %s", directory, strerror(errno));
    }
    demo->files = tremolo_files_system();
    demo->files.fsync = no_sync;
    progress_bar.begin("devices", demo->devices);
    size_t started = 0;
    while (started < THREADS && pthread_create(&thread[started], NULL, run_devices, demo) == 0) {
        started++;
    }
    for (size_t i = 0; i < started; i++) {
        (void)pthread_join(thread[i], NULL);
    }
    progress_bar.end();
    if (started == 0 || demo->failed > 0) {
        return cli_fail(CLI_FAILED, "demo", "%zu devices could not report: %s",
                        (size_t)demo->failed, demo->why);
    }
    return CLI_DONE;
}

/* ---------------------------------------------------------------- results */

/* Least squares on what the devices kept to themselves. */
static bool raw_least_squares(double *beta, double *intercept, const struct demo *demo)
{
    double *X = calloc(demo->devices * TREMOLO_DEMO_FEATURES, sizeof *X);
    double *y = calloc(demo->devices, sizeof *y);
    bool good = X != NULL && y != NULL;
    for (size_t i = 0; good && i < demo->devices; i++) {
        tremolo_demo_person(X + i * TREMOLO_DEMO_FEATURES, &y[i], i, demo->seed);
    }
    good = good && tremolo_ols(beta, intercept, NULL, NULL, NULL, X, y, demo->devices,
                               TREMOLO_DEMO_FEATURES, true) == TREMOLO_OK;
    free(X);
    free(y);
    return good;
}

static double real_in(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void print_table(const json_t *answer, const double *raw)
{
    const json_t *table = json_object_get(answer, "coefficients");
    (void)printf("%-12s %10s %12s | %10s %10s %21s %9s\n", "pulse", "truth", "raw data", "tremolo",
                 "std.err.", "95% interval", "p");
    for (size_t i = 0; i <= TREMOLO_DEMO_FEATURES; i++) {
        const json_t *row = json_array_get(table, i);
        (void)printf("%-12s %10.3f %12.3f |", tremolo_demo_names[i], tremolo_demo_truth[i], raw[i]);
        if (json_is_true(json_object_get(row, "identified"))) {
            (void)printf(" %10.3f %10.3f %10.3f %10.3f %9.2g\n", real_in(row, "estimate"),
                         real_in(row, "standard_error"), real_in(row, "low"), real_in(row, "high"),
                         real_in(row, "p"));
        } else {
            (void)printf(" %10s %10s %21s %9s\n", "-", "-", "not identified", "-");
        }
    }
}

static int print_results(const struct demo *demo, double took)
{
    double raw[TREMOLO_DEMO_FEATURES + 1] = {0};
    char url[300];
    size_t index;
    json_t *sentence;
    (void)snprintf(url, sizeof url, "%s/estimate", demo->study_url);
    struct fetch fetch = {.url = url};
    if (fetch_run(&fetch) != 0 || fetch.status != 200) {
        free(fetch.answer);
        return cli_fail(CLI_FAILED, "demo", "there is no estimate (%ld)", fetch.status);
    }
    json_t *answer = json_loads(fetch.answer, 0, NULL);
    free(fetch.answer);
    if (!raw_least_squares(raw, &raw[TREMOLO_DEMO_FEATURES], demo)) {
        json_decref(answer);
        return cli_fail(CLI_FAILED, "demo", "least squares on the raw data failed");
    }
    (void)printf("%zu devices reported over HTTP in %.1f s, one sample each; the server holds "
                 "%lld reports\n\n",
                 demo->devices, took,
                 (long long)json_integer_value(json_object_get(answer, "reports")));
    print_table(answer, raw);
    json_array_foreach(json_object_get(answer, "not_identified"), index, sentence)
    {
        (void)printf("%s\n", json_string_value(sentence));
    }
    (void)printf(
        "\n'truth' made the people up, 'raw data' is least squares on their samples, which "
        "no server saw;\n'tremolo' is what the server has learnt from the noisy "
        "reports.\n\n");
    const json_t *guarantee = json_object_get(answer, "guarantee");
    (void)printf("The guarantee\n");
    guarantee_print(guarantee, member_number(guarantee, "delta"));
    (void)putchar('\n');
    (void)printf(
        "Mind the neighbours: this study protects people at most %g half ranges apart, and "
        "the demo's\ndevices have a policy that says so. A device with the default policy "
        "counts any two people\nand refuses it, as the server's own page /about does: with "
        "that guarantee %zu devices would\nteach nothing. 'tremolo plan' says how many it "
        "takes; 'tremolo study init' starts such a study.\n\n",
        tremolo_demo_distance, demo->devices);
    json_decref(answer);
    return CLI_DONE;
}

static void stay(const struct demo *demo)
{
    sigset_t signals;
    int number;
    (void)printf("the server stays at http://127.0.0.1:%u until interrupted\n",
                 tremolo_server_port(demo->server));
    (void)fflush(stdout);
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigwait(&signals, &number);
}

/* ---------------------------------------------------------------- command */

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

static int run(int argc, char **argv)
{
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
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)signal(SIGPIPE, SIG_IGN);
    if (demo.stay) {
        (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    }
    code = start_server(&demo);
    if (code == CLI_DONE) {
        code = create_study(&demo);
    }
    double start = cli_seconds();
    if (code == CLI_DONE) {
        code = send_reports(&demo);
    }
    if (code == CLI_DONE) {
        code = print_results(&demo, cli_seconds() - start);
    }
    if (code == CLI_DONE) {
        (void)printf("Everything lies in %s: server/ has the log and the keys, devices/ the "
                     "ledgers\n",
                     demo.data);
    }
    if (code == CLI_DONE && demo.stay) {
        stay(&demo);
    }
    tremolo_server_stop(demo.server);
    return code;
}

const struct cli_command cli_demo = {
    .name = "demo",
    .summary = "the whole system at work on made-up people",
    .usage = "demo [OPTIONS]",
    .about =
        "Starts a server on this machine, lets thousands of made-up people take part, and prints\n"
        "what the server learned beside the truth.",
    OPTION_TABLE(rules),
    .run = run,
};
