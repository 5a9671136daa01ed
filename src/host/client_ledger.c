/* client_ledger.c -- a client's ledger.
 *
 * A ledger is made once, for the device's whole life, with the budget of the
 * policy that is in force then. A first attempt that ends in a refusal, by key,
 * policy, date or round, must therefore leave none behind: it is made when the
 * first report is about to be, and no earlier. A later policy cannot raise the
 * budget; one with a smaller total is kept here, since the device core knows
 * none. */
#include "client_parts.h"
#include "study_internal.h"

#include <errno.h>
#include <string.h>

static enum tremolo_status fails_because(struct tremolo_client *client, enum tremolo_status status,
                                         const char *why)
{
    return client_fails(client, status, "%s%s%s", tremolo_status_sentence(status),
                        why[0] != '\0' ? "; " : "", why);
}

/* What the device core finds, which knows of no place. */
static bool is_about_ledger(enum tremolo_status status)
{
    return status == TREMOLO_LEDGER_DAMAGED || status == TREMOLO_LEDGER_ROLLED_BACK ||
           status == TREMOLO_LEDGER_FULL;
}

enum tremolo_status client_fails_plainly(struct tremolo_client *client, enum tremolo_status status)
{
    const char *why = "";
    if (client->ledger != NULL && status == TREMOLO_STORAGE_FAILED) {
        why = tremolo_ledger_file_error(client->ledger);
    } else if (client->ledger != NULL && is_about_ledger(status)) {
        why = client->state;
    }
    return fails_because(client, status, why);
}

static enum tremolo_status copy_names(struct tremolo_client *client,
                                      const struct tremolo_client_options *options)
{
    const char *counter = options->counter_file != NULL ? options->counter_file : "";
    client->ledger_studies = options->ledger_studies;
    return host_copy_path(client->state, options->state_directory) == 0 &&
                   host_copy_path(client->counter, counter) == 0
               ? TREMOLO_OK
               : TREMOLO_BAD_ARGUMENT;
}

static enum tremolo_status open_file(struct tremolo_client *client, bool create,
                                     char why[TREMOLO_LEDGER_FILE_ERROR_BYTES])
{
    struct tremolo_ledger_file_options options = {
        .directory = client->state,
        .counter = client->counter[0] != '\0' ? client->counter : NULL,
        .studies = client->ledger_studies,
        .create = create,
        .files = &client->files,
        .entropy = client->around.entropy,
        .entropy_context = client->around.context,
    };
    enum tremolo_status status = tremolo_ledger_file_open(&client->ledger, why, &options);
    if (status == TREMOLO_OK) {
        client->platform = *tremolo_ledger_file_platform(client->ledger);
        client->platform.mac_key = client->signs ? client->mac_key : NULL;
    }
    return status;
}

enum tremolo_status client_open_ledger(struct tremolo_client *client,
                                       const struct tremolo_client_options *options)
{
    char why[TREMOLO_LEDGER_FILE_ERROR_BYTES] = "";
    uint32_t left = 0;
    uint32_t budget = 0;
    uint32_t epsilon = 0;
    enum tremolo_status status = copy_names(client, options);
    status = status == TREMOLO_OK ? open_file(client, false, why) : status;
    if (status == TREMOLO_LEDGER_MISSING && options->enrol) {
        client->to_enrol = true;
        return TREMOLO_OK;
    }
    if (status != TREMOLO_OK) {
        return fails_because(client, status, why);
    }
    status = tremolo_device_budget(&client->work, &left, &client->platform);
    if (status == TREMOLO_OK) {
        status = tremolo_ledger_file_budget(client->ledger, &budget, &epsilon);
    }
    if (status != TREMOLO_OK) {
        return client_fails_plainly(client, status);
    }
    return epsilon > 0 ? TREMOLO_OK
                       : client_fails(client, TREMOLO_LEDGER_DAMAGED,
                                      "%s: the ledger has no budget of epsilon, so this version "
                                      "did not make it; nothing was charged",
                                      client->state);
}

static enum tremolo_status enrol(struct tremolo_client *client)
{
    uint32_t budget = 0;
    uint32_t left = 0;
    enum tremolo_status found = tremolo_device_budget(&client->work, &left, &client->platform);
    if (found != TREMOLO_LEDGER_MISSING) {
        return found; /* another process was faster, or it cannot be read */
    }
    enum tremolo_status status = tremolo_policy_budget(&budget, &client->policy);
    if (status == TREMOLO_OK) {
        status = tremolo_device_enrol(&client->work, &client->platform, budget,
                                      tremolo_policy_epsilon(&client->policy));
    }
    /* Nothing is there, but the counter has counted: the ledger was lost. */
    return status == TREMOLO_LEDGER_EXISTS ? TREMOLO_LEDGER_ROLLED_BACK : status;
}

enum tremolo_status client_make_ledger(struct tremolo_client *client)
{
    char why[TREMOLO_LEDGER_FILE_ERROR_BYTES] = "";
    enum tremolo_status status = TREMOLO_OK;
    if (!client->to_enrol) {
        return TREMOLO_OK;
    }
    if (client->ledger == NULL) {
        status = open_file(client, true, why);
    }
    if (status != TREMOLO_OK) {
        return fails_because(client, status, why);
    }
    status = enrol(client);
    if (status != TREMOLO_OK) {
        (void)client_fails_plainly(client, status);
        tremolo_ledger_file_close(client->ledger); /* the next try opens what there is then */
        client->ledger = NULL;
        return status;
    }
    client->to_enrol = false;
    return client_pin_key(client);
}

enum tremolo_status client_pin_key(struct tremolo_client *client)
{
    char path[HOST_PATH_BYTES];
    char text[TREMOLO_BASE64_BYTES(TREMOLO_SIGNING_PUBLIC_BYTES) + 1];
    if (!client->to_pin) {
        return TREMOLO_OK;
    }
    enum tremolo_status status =
        tremolo_base64_encode(text, sizeof text, client->server_key, sizeof client->server_key);
    if (status != TREMOLO_OK) {
        return status;
    }
    size_t length = strlen(text);
    text[length] = '\n';
    if (host_path(path, client->state, "server.key") != 0 ||
        host_replace_file(&client->files, path, text, length + 1) != 0) {
        return client_fails(client, TREMOLO_STORAGE_FAILED, "%s: cannot pin the key: %s",
                            client->state, strerror(errno));
    }
    client->to_pin = false;
    return TREMOLO_OK;
}

/* Both budgets of the ledger and what was spent of them, by enum tremolo_release_kind. */
static enum tremolo_status read_ledger(struct tremolo_client *client, uint32_t whole[2],
                                       uint32_t spent[2])
{
    uint32_t kept[2] = {0, 0};
    enum tremolo_status status =
        tremolo_device_budget(&client->work, &kept[TREMOLO_RELEASE_SAMPLE], &client->platform);
    if (status == TREMOLO_OK) {
        status =
            tremolo_device_epsilon(&client->work, &kept[TREMOLO_RELEASE_BALLOT], &client->platform);
    }
    if (status == TREMOLO_OK) {
        status = tremolo_ledger_file_budget(client->ledger, &whole[TREMOLO_RELEASE_SAMPLE],
                                            &whole[TREMOLO_RELEASE_BALLOT]);
    }
    for (unsigned i = 0; status == TREMOLO_OK && i < 2; i++) {
        spent[i] = whole[i] - kept[i];
    }
    return status;
}

enum tremolo_status client_budget_left(struct tremolo_client *client, uint32_t *left,
                                       bool *by_policy)
{
    uint32_t whole[2] = {0, 0};
    uint32_t spent[2] = {0, 0};
    uint32_t allowed = 0;
    enum tremolo_release_kind kind =
        (enum tremolo_release_kind)tremolo_study_file_device(client->study)->release;
    enum tremolo_status status = read_ledger(client, whole, spent);
    if (status == TREMOLO_OK) {
        status = tremolo_policy_allows(&allowed, &client->policy, kind, spent);
    }
    if (status != TREMOLO_OK) {
        return client_fails_plainly(client, status);
    }
    uint32_t kept = whole[kind] - spent[kind];
    uint32_t capped = allowed > spent[kind] ? allowed - spent[kind] : 0;
    *left = capped < kept ? capped : kept;
    if (by_policy != NULL) {
        *by_policy = capped < kept;
    }
    return TREMOLO_OK;
}
