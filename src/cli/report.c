/* report.c -- `tremolo report`: send this device's report to a study.
 *
 * host/client does what a device must do, in this order: fetch and verify the study, ask the
 * policy, make the noise, write the charge to the ledger, and only then send. This file reads
 * the files that options name, hands them over and prints receipts.
 *
 * The library names no options, because other programs have none: where an option helps against
 * a refusal, help_of() adds its name to the library's sentence. The sample and the keys are
 * wiped before the command ends. */
#include "cli.h"

#include <jansson.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "options.h"
#include "tremolo_client.h"
#include "explain.h"
#include "study_internal.h"

/* Has secrets: the sample's text and the device's key. run() wipes it. */
struct options {
    /* Names of files, except the device's own name; NULL where an option was not given. */
    const char *sample;
    const char *policy;
    const char *server_key;
    const char *device;
    const char *key;
    uint32_t sample_number;
    uint32_t give_up_seconds;
    bool follow;
    bool json;
    unsigned rounds; /* of the study, once it is known */
    double delta;    /* of the policy */
    struct tremolo_client_options client;
    /* What the files behind the options hold. */
    struct tremolo_policy allowed;
    uint8_t server_key_bytes[TREMOLO_SIGNING_PUBLIC_BYTES];
    uint8_t mac_key[TREMOLO_MAC_KEY_BYTES];
    uint8_t device_id[TREMOLO_DEVICE_ID_MAX];
    char *sample_text;
    size_t sample_length;
};

enum { GIVE_UP_SECONDS_MAX = 1000000 };

#define TO(member) OPTION_TO(struct options, member)

static const struct option_rule rules[] = {
    OPTION_RULE("study", "URL", TEXT, TO(client.study_url), .required = true,
                .help = "the study's address, ending in /v1/studies/ and its id"),
    OPTION_RULE("state", "DIR", TEXT, TO(client.state_directory), .required = true,
                .help = "this device's ledger and pinned key"),
    OPTION_RULE("sample", "FILE", TEXT, TO(sample), .required = true,
                .help = "a JSON object, or a CSV line of names and one of values; - is standard "
                        "input"),
    OPTION_RULE("enrol", NULL, FLAG, TO(client.enrol),
                .help = "make the ledger when there is none, on the first use only"),
    OPTION_RULE("policy", "FILE", TEXT, TO(policy),
                .help = "what this device allows; epsilon 2 a study and 8 in total between any two "
                        "people unless given"),
    OPTION_RULE("server-key", "FILE", TEXT, TO(server_key), .help = "the server's public key"),
    OPTION_RULE("trust-new", NULL, FLAG, TO(client.trust_new),
                .help = "without a pinned key, accept and pin the server's"),
    OPTION_RULE("device", "NAME", TEXT, TO(device), .needs = "key",
                .help = "this device's name in base64url, in a study with enrolment keys"),
    OPTION_RULE("key", "FILE", TEXT, TO(key), .needs = "device",
                .help = "this device's key, as the server handed it out"),
    OPTION_RULE("counter", "FILE", TEXT, TO(client.counter_file),
                .help = "monotonic counter against a ledger that is rolled back"),
    OPTION_RULE("ca", "FILE", TEXT, TO(client.ca_file),
                .help = "certificates to trust instead of the system's"),
    OPTION_RULE("sample-number", "N", COUNT, TO(sample_number),
                OPTION_FROM(0, TREMOLO_STUDY_MAX_SAMPLES), .otherwise = "0",
                .help = "which of a device's samples this is, below the study's number of them"),
    OPTION_RULE("give-up", "SECONDS", COUNT, TO(give_up_seconds),
                OPTION_FROM(0, GIVE_UP_SECONDS_MAX), .otherwise = "300",
                .help = "how long to try while the server cannot be reached"),
    OPTION_RULE("follow", NULL, FLAG, TO(follow),
                .help = "report in every round until the study is done"),
    OPTION_RULE("json", NULL, FLAG, TO(json), .help = "one JSON object for each receipt"),
};

/* ---------------------------------------------------------------- files */

/* The name is base64url, as `study enrol` prints it, because a device's name is bytes. The
 * length is taken from the text: four characters hold three bytes. */
static int read_name(struct options *options)
{
    size_t length = strlen(options->device) * 3 / 4;
    if (length < 1 || length > sizeof options->device_id ||
        tremolo_base64_decode(options->device_id, length, options->device) != TREMOLO_OK) {
        return cli_fail(CLI_USAGE, "report", "--device must be 1 to %d bytes in base64url",
                        TREMOLO_DEVICE_ID_MAX);
    }
    options->client.device_id = options->device_id;
    options->client.device_id_length = length;
    return CLI_DONE;
}

/* Read everything before the first exchange: a mistyped file name must cost neither a ledger nor a
 * request. The client's options point into `options`, which must live as long as the client. */
static int read_files(struct options *options)
{
    int code = CLI_DONE;
    if (options->policy != NULL) {
        code = cli_read_policy(&options->allowed, "report", options->policy);
        options->client.policy = &options->allowed;
        options->delta = options->allowed.delta;
    }
    if (code == CLI_DONE && options->server_key != NULL) {
        code = cli_read_key(options->server_key_bytes, sizeof options->server_key_bytes,
                            "report: --server-key", options->server_key, false);
        options->client.server_key = options->server_key_bytes;
    }
    if (code == CLI_DONE && options->key != NULL) {
        code = cli_read_key(options->mac_key, sizeof options->mac_key, "report: --key",
                            options->key, true);
        options->client.mac_key = options->mac_key;
    }
    if (code == CLI_DONE && options->device != NULL) {
        code = read_name(options);
    }
    if (code == CLI_DONE) {
        code = cli_read_file(&options->sample_text, &options->sample_length, "report",
                             options->sample, TREMOLO_CLIENT_MAX_SAMPLE_BYTES);
    }
    return code;
}

/* ---------------------------------------------------------------- running
 *
 * Exit codes: 0 when the report was accepted or was known already, 3 when this device or its policy
 * refuses, 1 when the server or the network failed or the round is closed, 2 for a wrong file or
 * option. */

/* What a budget of mu^2 is as an epsilon, rounded to what it surely holds; 0 where that is not
 * known. A ledger keeps mu^2 of noisy samples, because that adds up; people know epsilon. */
static double epsilon_left(double mu_squared, double delta)
{
    struct tremolo_gaussian cost = {0};
    struct tremolo_certified epsilon;
    bool known = mu_squared > 0 &&
                 tremolo_gaussian_add(&cost, sqrt(mu_squared), 1, 1) == TREMOLO_OK &&
                 tremolo_gaussian_epsilon(&epsilon, &cost, delta) == TREMOLO_OK;
    return known ? fmax(epsilon.lower, 0) : 0;
}

/* One line a receipt, flushed at once: with --follow days may lie between two of them. What is left
 * is rounded down, so that no more is shown than there is. Returns -1 to stop following, when
 * the line could not be written. */
static int print_receipt(void *context, const struct tremolo_client_receipt *receipt)
{
    const struct options *options = context;
    char id[TREMOLO_BASE64_BYTES(TREMOLO_REPORT_ID_BYTES)];
    if (tremolo_base64_encode(id, sizeof id, receipt->report_id, sizeof receipt->report_id) !=
        TREMOLO_OK) {
        return -1;
    }
    double left = (double)receipt->budget_left / (double)TREMOLO_CHARGE_ONE;
    double delta = receipt->of_epsilon ? 0 : options->delta;
    double epsilon = receipt->of_epsilon ? left : epsilon_left(left, delta);
    if (options->json) {
        json_t *object = json_pack(
            "{s:i, s:s, s:I, s:b, s:i, s:f, s:f, s:f, s:b}", "round", (int)receipt->round, "report",
            id, "bytes", (json_int_t)receipt->report_bytes, "repeated", receipt->repeated,
            "attempts", (int)receipt->attempts, "budget_left", left, "epsilon_left", epsilon,
            "delta", delta, "left_by_policy", receipt->left_by_policy);
        return cli_print_json("report", object, false) == CLI_DONE && fflush(stdout) == 0 ? 0 : -1;
    }
    (void)printf(
        "round %u of %u: report %s, %zu bytes, %s; left for other reports: epsilon %.4g at "
        "delta %g",
        receipt->round + 1, options->rounds, id, receipt->report_bytes,
        receipt->repeated
            ? "known already: this device's report was sent before, and the values of "
              "--sample were not used"
            : "accepted",
        tremolo_digits_down(epsilon, 4), delta);
    if (!receipt->of_epsilon) {
        (void)printf(" (mu^2 %.6g, which is what adds up: epsilons of noisy samples do not)",
                     tremolo_digits_down(left, 6));
    }
    (void)printf("%s\n", receipt->left_by_policy
                             ? "; the policy's total, below the ledger's, sets that"
                             : "");
    return fflush(stdout) == 0 ? 0 : -1;
}

/* Give the sample to the client and report, once or in every round. A closed round is reported
 * before a bad sample, because a person cannot correct the first. */
static enum tremolo_status run_client(struct tremolo_client *client, struct options *options)
{
    struct tremolo_client_receipt receipt;
    enum tremolo_status status =
        tremolo_client_sample(client, options->sample_text, options->sample_length);
    if (status == TREMOLO_OK) {
        status = tremolo_client_sample_number(client, (unsigned)options->sample_number);
    } else if (tremolo_client_report(client, &receipt) == TREMOLO_ROUND_CLOSED) {
        status = TREMOLO_ROUND_CLOSED; /* which comes before what is wrong with a sample */
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

/* A refusal by policy or trust is ours to make; a wrong signature is one, too, because a report
 * would go to a server that is not the one agreed on. What a server did wrong is a failure:
 * nothing on the command line has to be corrected. */
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

/* The options that help against a refusal about keys; the library that refuses does not know what
 * they are called. */
static const char *help_of(enum tremolo_status status, const struct options *options)
{
    switch (status) {
    case TREMOLO_NOT_TRUSTED:
        return "; --server-key FILE gives it, and --trust-new takes the server's where none is "
               "pinned";
    case TREMOLO_BAD_SIGNATURE:
        return options->server_key != NULL
                   ? "; is the file of --server-key this server's?"
                   : "; if the server has another key now, --server-key FILE gives it";
    case TREMOLO_BAD_MAC: return options->device == NULL ? "; --device and --key do" : "";
    case TREMOLO_LEDGER_MISSING: return "; --enrol does, on its first use only";
    default: return "";
    }
}

/* The client's own sentence comes first; the status's is for failures before there is a client. */
static int run_with(struct options *options)
{
    struct tremolo_client *client = NULL;
    char why[TREMOLO_CLIENT_WHY_BYTES] = "";
    enum tremolo_status status = tremolo_client_open(&client, why, &options->client, NULL);
    if (status == TREMOLO_OK) {
        status = run_client(client, options);
        (void)snprintf(why, sizeof why, "%s", tremolo_client_why(client));
    }
    tremolo_client_close(client);
    if (status == TREMOLO_OK) {
        return CLI_DONE;
    }
    return cli_fail(exit_of(status), "report", "%s%s",
                    why[0] != '\0' ? why : tremolo_status_sentence(status),
                    help_of(status, options));
}

static int run(int argc, char **argv)
{
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    struct options options = {.client = TREMOLO_CLIENT_DEFAULTS, .delta = policy.delta};
    struct options_given given;
    int code = CLI_DONE;
    if (!options_parse(&given, &options, &code, &cli_report, argc, argv)) {
        return code;
    }
    options.client.give_up_ms =
        options.give_up_seconds > 0 ? (int64_t)options.give_up_seconds * 1000 : 1;
    code = read_files(&options);
    if (code == CLI_DONE) {
        code = run_with(&options);
    }
    if (options.sample_text != NULL) {
        sodium_memzero(options.sample_text, options.sample_length);
        free(options.sample_text);
    }
    sodium_memzero(&options, sizeof options);
    return code;
}

const struct cli_command cli_report = {
    .name = "report",
    .summary = "send this device's report to a study",
    .usage = "report --study URL --state DIR --sample FILE|- [OPTIONS]",
    .about =
        "Takes part in a study: fetches and checks it, asks this device's policy, adds the noise,\n"
        "writes the charge to the ledger and only then sends the report.",
    OPTION_TABLE(rules),
    .run = run,
};
