/* report.c -- `tremolo report`: send this device's report to a study. */
#include "cli.h"

#include <getopt.h>
#include <jansson.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "suggest.h"
#include "tremolo_client.h"
#include "tremolo_privacy.h"

static const char usage[] =
    "usage: tremolo report --study URL --state DIR --sample FILE|- [OPTIONS]\n\n"
    "  --study URL         the study's address, ending in /v1/studies/ and its id\n"
    "  --state DIR         this device's ledger and pinned key\n"
    "  --sample FILE       JSON object, or a CSV line of names and one of values; - is stdin\n"
    "  --enrol             make the ledger when there is none (first use only)\n"
    "  --policy FILE       what this device allows; default epsilon 2 a study, 8 in total,\n"
    "                      between any two people\n"
    "  --server-key FILE   the server's public key\n"
    "  --trust-new         without a pinned key, accept and pin the server's\n"
    "  --device NAME       this device's name in base64url, in a study with enrolment keys\n"
    "  --key FILE          this device's key, as the server handed it out\n"
    "  --counter FILE      monotonic counter against a ledger that is rolled back\n"
    "  --ca FILE           certificates to trust instead of the system's\n"
    "  --sample-number N   0 to samples - 1; default 0\n"
    "  --give-up SECONDS   default 300\n"
    "  --follow            report in every round until the study is done\n"
    "  --json              one JSON object for each receipt\n";

struct options {
    const char *sample;
    const char *policy;
    const char *server_key;
    const char *device;
    const char *key;
    long sample_number;
    bool follow;
    bool json;
    unsigned rounds; /* of the study, once it is known */
    double delta;    /* of the policy */
    struct tremolo_client_options client;
};

/* What the files behind the options hold. */
struct contents {
    struct tremolo_policy policy;
    uint8_t server_key[TREMOLO_SIGNING_PUBLIC_BYTES];
    uint8_t mac_key[TREMOLO_MAC_KEY_BYTES];
    uint8_t device_id[TREMOLO_DEVICE_ID_MAX];
    char *sample;
    size_t sample_length;
};

enum { GIVE_UP_SECONDS_MAX = 1000000 };

/* ---------------------------------------------------------------- options */

enum option_code {
    OPTION_STUDY = 256,
    OPTION_STATE,
    OPTION_SAMPLE,
    OPTION_ENROL,
    OPTION_POLICY,
    OPTION_SERVER_KEY,
    OPTION_TRUST_NEW,
    OPTION_DEVICE,
    OPTION_KEY,
    OPTION_COUNTER,
    OPTION_CA,
    OPTION_SAMPLE_NUMBER,
    OPTION_GIVE_UP,
    OPTION_FOLLOW,
    OPTION_JSON,
};

static int set_whole(long *value, const char *name, long high)
{
    long parsed = 0;
    if (!cli_parse_long(&parsed, optarg) || parsed < 0 || parsed > high) {
        return cli_fail(CLI_USAGE, "report", "--%s must be a whole number from 0 to %ld", name,
                        high);
    }
    *value = parsed;
    return CLI_DONE;
}

static int take(struct options *options, int option)
{
    long seconds = 0;
    int code = CLI_DONE;
    switch (option) {
    case OPTION_STUDY: options->client.study_url = optarg; break;
    case OPTION_STATE: options->client.state_directory = optarg; break;
    case OPTION_SAMPLE: options->sample = optarg; break;
    case OPTION_ENROL: options->client.enrol = true; break;
    case OPTION_POLICY: options->policy = optarg; break;
    case OPTION_SERVER_KEY: options->server_key = optarg; break;
    case OPTION_TRUST_NEW: options->client.trust_new = true; break;
    case OPTION_DEVICE: options->device = optarg; break;
    case OPTION_KEY: options->key = optarg; break;
    case OPTION_COUNTER: options->client.counter_file = optarg; break;
    case OPTION_CA: options->client.ca_file = optarg; break;
    case OPTION_FOLLOW: options->follow = true; break;
    case OPTION_JSON: options->json = true; break;
    case OPTION_SAMPLE_NUMBER:
        return set_whole(&options->sample_number, "sample-number", TREMOLO_STUDY_MAX_SAMPLES);
    case OPTION_GIVE_UP:
        code = set_whole(&seconds, "give-up", GIVE_UP_SECONDS_MAX);
        options->client.give_up_ms = seconds > 0 ? seconds * 1000 : 1;
        return code;
    default: return CLI_USAGE; /* not reached: '?' was answered before */
    }
    return CLI_DONE;
}

static int parse(struct options *options, int argc, char **argv)
{
    static const struct option names[] = {
        {"study", required_argument, NULL, OPTION_STUDY},
        {"state", required_argument, NULL, OPTION_STATE},
        {"sample", required_argument, NULL, OPTION_SAMPLE},
        {"enrol", no_argument, NULL, OPTION_ENROL},
        {"policy", required_argument, NULL, OPTION_POLICY},
        {"server-key", required_argument, NULL, OPTION_SERVER_KEY},
        {"trust-new", no_argument, NULL, OPTION_TRUST_NEW},
        {"device", required_argument, NULL, OPTION_DEVICE},
        {"key", required_argument, NULL, OPTION_KEY},
        {"counter", required_argument, NULL, OPTION_COUNTER},
        {"ca", required_argument, NULL, OPTION_CA},
        {"sample-number", required_argument, NULL, OPTION_SAMPLE_NUMBER},
        {"give-up", required_argument, NULL, OPTION_GIVE_UP},
        {"follow", no_argument, NULL, OPTION_FOLLOW},
        {"json", no_argument, NULL, OPTION_JSON},
        {0},
    };
    int option = 0;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
        int code = option == '?' ? cli_bad_option("report", argv, names) : take(options, option);
        if (code != CLI_DONE) {
            return code;
        }
    }
    if (optind != argc || options->client.study_url == NULL ||
        options->client.state_directory == NULL || options->sample == NULL) {
        return cli_fail(CLI_USAGE, "report", "wants --study, --state and --sample, no more");
    }
    if ((options->device == NULL) != (options->key == NULL)) {
        return cli_fail(CLI_USAGE, "report", "--device and --key belong together");
    }
    return CLI_DONE;
}

/* ---------------------------------------------------------------- files */

static int read_name(struct options *options, struct contents *contents)
{
    size_t length = strlen(options->device) * 3 / 4;
    if (length < 1 || length > sizeof contents->device_id ||
        tremolo_base64_decode(contents->device_id, length, options->device) != TREMOLO_OK) {
        return cli_fail(CLI_USAGE, "report", "--device must be 1 to %d bytes in base64url",
                        TREMOLO_DEVICE_ID_MAX);
    }
    options->client.device_id = contents->device_id;
    options->client.device_id_length = length;
    return CLI_DONE;
}

static int read_files(struct options *options, struct contents *contents)
{
    int code = CLI_DONE;
    if (options->policy != NULL) {
        code = cli_read_policy(&contents->policy, "report", options->policy);
        options->client.policy = &contents->policy;
        options->delta = contents->policy.delta;
    }
    if (code == CLI_DONE && options->server_key != NULL) {
        code = cli_read_key(contents->server_key, sizeof contents->server_key, "report",
                            options->server_key);
        options->client.server_key = contents->server_key;
    }
    if (code == CLI_DONE && options->key != NULL) {
        code = cli_read_key(contents->mac_key, sizeof contents->mac_key, "report", options->key);
        options->client.mac_key = contents->mac_key;
    }
    if (code == CLI_DONE && options->device != NULL) {
        code = read_name(options, contents);
    }
    if (code == CLI_DONE) {
        code = cli_read_file(&contents->sample, &contents->sample_length, "report", options->sample,
                             TREMOLO_CLIENT_MAX_SAMPLE_BYTES);
    }
    return code;
}

/* ---------------------------------------------------------------- running */

/* What a budget of mu^2 is as an epsilon, rounded to what it surely holds. */
static double epsilon_left(double mu_squared, double delta)
{
    struct tremolo_gaussian cost = {0};
    struct tremolo_certified epsilon;
    bool known = mu_squared > 0 &&
                 tremolo_gaussian_add(&cost, sqrt(mu_squared), 1, 1) == TREMOLO_OK &&
                 tremolo_gaussian_epsilon(&epsilon, &cost, delta) == TREMOLO_OK;
    return known ? fmax(epsilon.lower, 0) : 0;
}

static int print_receipt(void *context, const struct tremolo_client_receipt *receipt)
{
    const struct options *options = context;
    char id[TREMOLO_BASE64_BYTES(TREMOLO_REPORT_ID_BYTES)];
    if (tremolo_base64_encode(id, sizeof id, receipt->report_id, sizeof receipt->report_id) !=
        TREMOLO_OK) {
        return -1;
    }
    double left = (double)receipt->budget_left / (double)TREMOLO_CHARGE_ONE;
    double epsilon = epsilon_left(left, options->delta);
    if (options->json) {
        json_t *object = json_pack(
            "{s:i, s:s, s:I, s:b, s:i, s:f, s:f, s:f, s:b}", "round", (int)receipt->round, "report",
            id, "bytes", (json_int_t)receipt->report_bytes, "repeated", receipt->repeated,
            "attempts", (int)receipt->attempts, "budget_left", left, "epsilon_left", epsilon,
            "delta", options->delta, "left_by_policy", receipt->left_by_policy);
        int failed = json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17));
        (void)putchar('\n');
        json_decref(object);
        return failed != 0 || fflush(stdout) != 0 ? -1 : 0;
    }
    (void)printf(
        "round %u of %u: report %s, %zu bytes, %s; left for other reports: epsilon %.4g at "
        "delta %g (mu^2 %.6g)%s\n",
        receipt->round + 1, options->rounds, id, receipt->report_bytes,
        receipt->repeated ? "known already" : "accepted", epsilon, options->delta, left,
        receipt->left_by_policy ? "; the policy's total, below the ledger's, sets that" : "");
    return fflush(stdout) == 0 ? 0 : -1;
}

static enum tremolo_status run_client(struct tremolo_client *client, struct options *options,
                                      const struct contents *contents)
{
    struct tremolo_client_receipt receipt;
    enum tremolo_status status =
        tremolo_client_sample(client, contents->sample, contents->sample_length);
    if (status == TREMOLO_OK) {
        status = tremolo_client_sample_number(client, (unsigned)options->sample_number);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    options->rounds = tremolo_study_file_terms(tremolo_client_study(client))->rounds;
    if (options->follow) {
        return tremolo_client_follow(client, print_receipt, options);
    }
    status = tremolo_client_report(client, &receipt);
    if (status == TREMOLO_OK) {
        (void)print_receipt(options, &receipt);
    }
    return status;
}

/* A refusal by policy or trust is ours to make; a wrong signature is one, too. */
static enum cli_exit exit_of(enum tremolo_status status)
{
    switch (status) {
    case TREMOLO_BAD_SIGNATURE:
    case TREMOLO_WRONG_STUDY: return CLI_REFUSED;
    case TREMOLO_BAD_STUDY:
    case TREMOLO_BAD_ANSWER:
    case TREMOLO_SERVER_REFUSED:
    case TREMOLO_ROUND_CLOSED: return CLI_FAILED;
    default: return cli_exit_of(status);
    }
}

static int run(struct options *options, struct contents *contents)
{
    struct tremolo_client *client = NULL;
    char why[TREMOLO_CLIENT_WHY_BYTES] = "";
    enum tremolo_status status = tremolo_client_open(&client, why, &options->client, NULL);
    if (status == TREMOLO_OK) {
        status = run_client(client, options, contents);
        (void)snprintf(why, sizeof why, "%s", tremolo_client_why(client));
    }
    tremolo_client_close(client);
    if (status == TREMOLO_OK) {
        return CLI_DONE;
    }
    return cli_fail(exit_of(status), "report", "%s",
                    why[0] != '\0' ? why : tremolo_status_sentence(status));
}

int cli_report(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "--help") == 0) {
        (void)fputs(usage, stdout);
        return CLI_DONE;
    }
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    struct options options = {.client = TREMOLO_CLIENT_DEFAULTS, .delta = policy.delta};
    struct contents *contents = calloc(1, sizeof *contents);
    if (contents == NULL) {
        return cli_fail(CLI_FAILED, "report", "out of memory");
    }
    int code = parse(&options, argc, argv);
    if (code == CLI_DONE) {
        code = read_files(&options, contents);
    }
    if (code == CLI_DONE) {
        code = run(&options, contents);
    }
    if (contents->sample != NULL) {
        sodium_memzero(contents->sample, contents->sample_length);
        free(contents->sample);
    }
    sodium_memzero(contents, sizeof *contents);
    free(contents);
    return code;
}
