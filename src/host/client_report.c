/* client_report.c -- take a sample, have its report made, and send it.
 *
 * Before anything new is charged the round must be open; after the device
 * core's answer nothing can change the bytes: the ledger holds them, and they
 * are sent as they are until the server has answered. */
#include "client_parts.h"

#include <jansson.h>
#include <string.h>

/* ---------------------------------------------------------------- samples */

static enum tremolo_status keep_sample(struct tremolo_client *client, enum tremolo_status status)
{
    client->has_sample = status == TREMOLO_OK;
    return status;
}

enum tremolo_status tremolo_client_sample(struct tremolo_client *client, const char *text,
                                          size_t length)
{
    if (client == NULL || text == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    return keep_sample(client, sample_from_text(client->features, &client->response, client->why,
                                                sizeof client->why, client->study, text, length));
}

enum tremolo_status tremolo_client_values(struct tremolo_client *client, const double *values,
                                          size_t count)
{
    if (client == NULL || values == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (count != tremolo_study_file_dimension(client->study) + 1) {
        return keep_sample(client, client_fails_plainly(client, TREMOLO_BAD_SAMPLE));
    }
    enum tremolo_status status =
        sample_from_values(client->features, &client->response, client->study, values);
    if (status != TREMOLO_OK) {
        (void)client_fails_plainly(client, status);
    }
    return keep_sample(client, status);
}

enum tremolo_status tremolo_client_sample_number(struct tremolo_client *client, unsigned number)
{
    if (client == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (number >= tremolo_study_file_device(client->study)->samples) {
        return client_fails_plainly(client, TREMOLO_BAD_SAMPLES);
    }
    client->sample_number = (uint16_t)number;
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- reporting */

/* {"accepted", "repeated", ...}: exactly one report is accounted for. */
static enum tremolo_status read_receipt(struct tremolo_client *client, bool *repeated,
                                        size_t length)
{
    json_t *root = json_loadb((const char *)client->answer, length, JSON_REJECT_DUPLICATES, NULL);
    json_int_t accepted = json_integer_value(json_object_get(root, "accepted"));
    json_int_t before = json_integer_value(json_object_get(root, "repeated"));
    bool good = (accepted == 1 && before == 0) || (accepted == 0 && before == 1);
    if (good) {
        *repeated = before == 1;
        client_read_next(&client->round, root);
    }
    json_decref(root);
    return good ? TREMOLO_OK
                : client_fails(client, TREMOLO_BAD_ANSWER, "the server's receipt is not one");
}

/* By the device core, with a platform of the caller's. The ledger is charged
 * for the policy's neighbours, not the server's. */
static enum tremolo_status ask_core(struct tremolo_client *client, uint8_t *report, size_t *length,
                                    const struct tremolo_platform *platform)
{
    struct tremolo_round round = {client->round.vectors, client->round.number};
    struct tremolo_sample sample = {client->features, client->response, client->sample_number};
    struct tremolo_study study = tremolo_policy_device(&client->policy, client->study);
    *length = TREMOLO_MAX_REPORT_BYTES;
    return tremolo_device_report(&client->work, report, length, &study, &round, &sample, platform);
}

static int no_entropy(void *context, uint8_t *bytes, size_t length)
{
    (void)context;
    memset(bytes, 0, length);
    return -1;
}

/* The stored report, or NO_ENTROPY when a new one would have to be made: a
 * device without entropy can repeat and nothing else. */
static enum tremolo_status repeat(struct tremolo_client *client, uint8_t *report, size_t *length)
{
    struct tremolo_platform platform = client->platform;
    platform.entropy = no_entropy;
    return ask_core(client, report, length, &platform);
}

/* A total of the policy that is below the ledger's is the smaller one. Before there is a
 * ledger it is all there will be. */
static enum tremolo_status check_total(struct tremolo_client *client)
{
    struct tremolo_study study = tremolo_policy_device(&client->policy, client->study);
    uint32_t left = 0;
    bool by_policy = client->to_enrol;
    static const uint32_t nothing_spent[2];
    enum tremolo_release_kind kind = (enum tremolo_release_kind)study.release;
    enum tremolo_status status =
        client->to_enrol ? tremolo_policy_allows(&left, &client->policy, kind, nothing_spent)
                         : client_budget_left(client, &left, &by_policy);
    if (status == TREMOLO_OK && by_policy && tremolo_study_charge(&study) > left) {
        return client_fails(
            client, TREMOLO_BUDGET_EXHAUSTED, "%s: the policy's epsilon_total of %g is %s",
            tremolo_status_sentence(TREMOLO_BUDGET_EXHAUSTED), client->policy.epsilon_total,
            client->to_enrol ? "less than one report of this study costs"
                             : "spent but for too little");
    }
    return status;
}

static enum tremolo_status make_new(struct tremolo_client *client, uint8_t *report, size_t *length)
{
    enum tremolo_status status = client->to_enrol ? check_total(client) : TREMOLO_OK;
    if (status == TREMOLO_OK) {
        status = client_make_ledger(client); /* or another process did, and spent some of it */
    }
    if (status == TREMOLO_OK) {
        status = check_total(client);
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    status = ask_core(client, report, length, &client->platform);
    return status == TREMOLO_OK ? status : client_fails_plainly(client, status);
}

/* The bytes to send: those of the ledger, or new ones once the round is known
 * to be open. *is_new tells which. */
static enum tremolo_status find_or_make(struct tremolo_client *client, uint8_t *report,
                                        size_t *length, bool *is_new)
{
    bool round_is_known = !client_needs_broadcast(client);
    bool may_repeat = !client->to_enrol; /* a ledger to be made holds nothing */
    enum tremolo_status status = TREMOLO_NO_ENTROPY;
    if (round_is_known && may_repeat) {
        client->round.number = 0;
        status = repeat(client, report, length);
    }
    if (status == TREMOLO_NO_ENTROPY) {
        status = client_find_open_round(client);
        if (status != TREMOLO_OK) {
            return status;
        }
        status =
            round_is_known || !may_repeat ? TREMOLO_NO_ENTROPY : repeat(client, report, length);
    }
    *is_new = status == TREMOLO_NO_ENTROPY;
    if (*is_new) {
        return make_new(client, report, length);
    }
    return status == TREMOLO_OK ? status : client_fails_plainly(client, status);
}

/* Our round is over; a study of one round is, too. */
static enum tremolo_status closed_meanwhile(struct tremolo_client *client, bool is_new)
{
    char answered[sizeof client->why];
    memcpy(answered, client->why, sizeof answered);
    if (tremolo_study_file_device(client->study)->rounds == 1) {
        client->round.state = ROUND_DONE;
    }
    return client_fails(client, TREMOLO_ROUND_CLOSED,
                        is_new ? "%.300s; the round closed while this report was on its way: it "
                                 "was charged, and its bytes are kept"
                               : "%.300s; this report was charged earlier, and its bytes are kept",
                        answered);
}

static enum tremolo_status fill_receipt(struct tremolo_client *client,
                                        struct tremolo_client_receipt *receipt,
                                        const uint8_t *report, size_t length, bool repeated)
{
    struct tremolo_report decoded;
    uint32_t left = 0;
    bool by_policy = false;
    enum tremolo_status status = tremolo_report_decode(&decoded, report, length);
    if (status != TREMOLO_OK) {
        return client_fails_plainly(client, status);
    }
    status = client_budget_left(client, &left, &by_policy);
    if (status != TREMOLO_OK) {
        return status;
    }
    *receipt = (struct tremolo_client_receipt){
        .round = decoded.round,
        .report_bytes = length,
        .repeated = repeated,
        .attempts = client->attempts,
        .budget_left = left,
        .left_by_policy = by_policy,
        .of_epsilon = tremolo_study_file_device(client->study)->release == TREMOLO_RELEASE_BALLOT,
    };
    memcpy(receipt->report_id, decoded.id, sizeof receipt->report_id);
    return TREMOLO_OK;
}

/* Nobody need mend a sample for a study that is over. */
static enum tremolo_status explain_no_sample(struct tremolo_client *client)
{
    char why[sizeof client->why];
    memcpy(why, client->why, sizeof why);
    if (client_find_open_round(client) == TREMOLO_ROUND_CLOSED &&
        client->round.state == ROUND_DONE) {
        return TREMOLO_ROUND_CLOSED;
    }
    return client_fails(client, TREMOLO_BAD_SAMPLE, "%s",
                        why[0] != '\0' ? why : "there is no sample to report");
}

enum tremolo_status tremolo_client_report(struct tremolo_client *client,
                                          struct tremolo_client_receipt *receipt)
{
    uint8_t report[TREMOLO_MAX_REPORT_BYTES];
    size_t length = 0;
    size_t answered = 0;
    bool is_new = false;
    bool repeated = false;
    if (client == NULL || receipt == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    client_start_clock(client);
    if (!client->has_sample) {
        return explain_no_sample(client);
    }
    enum tremolo_status status = find_or_make(client, report, &length, &is_new);
    if (status == TREMOLO_OK) {
        status = client_exchange(client, &answered, "/reports", report, length,
                                 TREMOLO_CLIENT_MAX_RECEIPT_BYTES);
        if (status == TREMOLO_ROUND_CLOSED) {
            status = closed_meanwhile(client, is_new);
        }
    }
    if (status == TREMOLO_OK) {
        status = read_receipt(client, &repeated, answered);
    }
    return status == TREMOLO_OK ? fill_receipt(client, receipt, report, length, repeated) : status;
}
