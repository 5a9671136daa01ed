/* client.c -- open a client: its ledger, the server it trusts and what its policy allows.
 *
 * The order is section 5 of docs/reference/protocol.md: address, ledger, key, study, policy.
 * Everything that can refuse comes before the device core is asked for a report
 * (client_report.c), so that a refusal costs nothing. */
#include "client_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "file_steps.h"
#include "tremolo_host.h"
#include "study_internal.h"

enum { ID_CHARACTERS = TREMOLO_STUDY_ID_TEXT_BYTES - 1 };

/* ---------------------------------------------------------------- surroundings */

/* The monotonic clock: a date that is set back must not prolong a wait. */
static int64_t system_now_ms(void *context)
{
    struct timespec now;
    (void)context;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t system_unix_seconds(void *context)
{
    (void)context;
    return (int64_t)time(NULL);
}

static int system_sleep_ms(void *context, int64_t milliseconds)
{
    struct timespec left = {.tv_sec = (time_t)(milliseconds / 1000),
                            .tv_nsec = (long)(milliseconds % 1000) * 1000000};
    (void)context;
    return nanosleep(&left, NULL); /* an interrupting signal means stop */
}

/* Each function the caller leaves out is the system's. */
static enum tremolo_status set_surroundings(struct tremolo_client *client,
                                            const struct tremolo_client_options *options,
                                            const struct tremolo_client_surroundings *given)
{
    if (given != NULL) {
        client->around = *given;
    }
    struct tremolo_client_surroundings *around = &client->around;
    client->files = around->files != NULL ? *around->files : tremolo_files_system();
    around->now_ms = around->now_ms != NULL ? around->now_ms : system_now_ms;
    around->sleep_ms = around->sleep_ms != NULL ? around->sleep_ms : system_sleep_ms;
    around->unix_seconds =
        around->unix_seconds != NULL ? around->unix_seconds : system_unix_seconds;
    around->entropy = around->entropy != NULL ? around->entropy : tremolo_host_entropy;
    if (around->exchange == NULL) {
        client->transport = transport_new(&(struct transport_options){.ca_file = options->ca_file});
    }
    return around->exchange == NULL && client->transport == NULL ? TREMOLO_NO_MEMORY : TREMOLO_OK;
}

/* ---------------------------------------------------------------- address */

/* A prefix decides, and each prefix ends the host name: http://localhost.example.org is not safe. */
bool tremolo_client_is_safe_url(const char *url)
{
    static const char *const starts[] = {
        "https://",          "http://127.0.0.1:", "http://127.0.0.1/", "http://localhost:",
        "http://localhost/", "http://[::1]:",     "http://[::1]/"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        if (strncmp(url, starts[i], strlen(starts[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* The URL ends in the study's id; nothing may follow it. */
static enum tremolo_status set_address(struct tremolo_client *client, const char *url)
{
    static const char marker[] = "/v1/studies/";
    size_t length = strlen(url);
    if (length >= sizeof client->url || length < ID_CHARACTERS + sizeof marker) {
        return client_fails(client, TREMOLO_BAD_ADDRESS,
                            "the study's URL must end in /v1/studies/ and its id");
    }
    for (const char *at = url; *at != '\0'; at++) {
        if (*at <= 0x20 || *at > 0x7e || strchr("?#@\\", *at) != NULL) {
            return client_fails(client, TREMOLO_BAD_ADDRESS,
                                "the study's URL has a character it must not have");
        }
    }
    const char *id = url + length - ID_CHARACTERS;
    if (strncmp(id - (sizeof marker - 1), marker, sizeof marker - 1) != 0 ||
        tremolo_base64_decode(client->study_id, sizeof client->study_id, id) != TREMOLO_OK) {
        return client_fails(client, TREMOLO_BAD_ADDRESS,
                            "the study's URL must end in /v1/studies/ and its id");
    }
    if (!tremolo_client_is_safe_url(url)) {
        return client_fails(client, TREMOLO_BAD_ADDRESS,
                            "the study's URL must be https, or http on this machine");
    }
    memcpy(client->url, url, length + 1);
    return TREMOLO_OK;
}

/* Name and key of an enrolled device, or neither. */
static enum tremolo_status set_device(struct tremolo_client *client,
                                      const struct tremolo_client_options *options)
{
    bool has_id = options->device_id != NULL;
    if (has_id != (options->mac_key != NULL)) {
        return client_fails(client, TREMOLO_BAD_DEVICE,
                            "a device's name and its key belong together");
    }
    if (!has_id) {
        return TREMOLO_OK;
    }
    if (options->device_id_length < 1 || options->device_id_length > TREMOLO_DEVICE_ID_MAX) {
        return client_fails(client, TREMOLO_BAD_DEVICE, "a device's name has 1 to %d bytes",
                            TREMOLO_DEVICE_ID_MAX);
    }
    memcpy(client->mac_key, options->mac_key, sizeof client->mac_key);
    return tremolo_base64_encode(client->device_name, sizeof client->device_name,
                                 options->device_id, options->device_id_length);
}

/* ---------------------------------------------------------------- the ledger
 *
 * A ledger is made once, for the device's whole life, with the budget of the
 * policy that is in force then. A first attempt that ends in a refusal, by key,
 * policy, date or round, must therefore leave none behind: it is made when the
 * first report is about to be, and no earlier. A later policy cannot raise the
 * budget; one with a smaller total is kept here, since the device core knows
 * none. */

/* Directory and counter are kept: the ledger may be opened again when it is made. */
static enum tremolo_status copy_names(struct tremolo_client *client,
                                      const struct tremolo_client_options *options)
{
    const char *counter = options->counter_file != NULL ? options->counter_file : "";
    client->ledger_studies = options->ledger_studies;
    return host_copy_path(client->state, options->state_directory) == 0 &&
                   host_copy_path(client->counter, counter) == 0
               ? TREMOLO_OK
               : client_fails_plainly(client, TREMOLO_LONG_NAME);
}

/* Open the ledger's file, and make an empty one with `create`. The platform is the file's, with our
 * MAC key if the study wants one. */
static enum tremolo_status open_ledger_file(struct tremolo_client *client, bool create,
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

/* Open the ledger that is there and see that it is sound. Without one, and with options->enrol, only
 * to_enrol is set: it is made when the first report is. */
static enum tremolo_status open_ledger(struct tremolo_client *client,
                                       const struct tremolo_client_options *options)
{
    char why[TREMOLO_LEDGER_FILE_ERROR_BYTES] = "";
    uint32_t left = 0;
    uint32_t budget = 0;
    uint32_t epsilon = 0;
    enum tremolo_status status = copy_names(client, options);
    status = status == TREMOLO_OK ? open_ledger_file(client, false, why) : status;
    if (status == TREMOLO_LEDGER_MISSING && options->enrol) {
        client->to_enrol = true;
        return TREMOLO_OK;
    }
    if (status != TREMOLO_OK) {
        return client_fails_because(client, status, why);
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

/* Enrol the device in the empty ledger that is open, with the policy's budgets. */
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

/* Keep the server's key in the state directory, if to_pin. Later opens trust this key alone. */
static enum tremolo_status pin_key(struct tremolo_client *client)
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

/* After a failure the file is closed: what there is then may be another process's ledger. */
enum tremolo_status client_make_ledger(struct tremolo_client *client)
{
    char why[TREMOLO_LEDGER_FILE_ERROR_BYTES] = "";
    enum tremolo_status status = TREMOLO_OK;
    if (!client->to_enrol) {
        return TREMOLO_OK;
    }
    if (client->ledger == NULL) {
        status = open_ledger_file(client, true, why);
    }
    if (status != TREMOLO_OK) {
        return client_fails_because(client, status, why);
    }
    status = enrol(client);
    if (status != TREMOLO_OK) {
        (void)client_fails_plainly(client, status);
        tremolo_ledger_file_close(client->ledger); /* the next try opens what there is then */
        client->ledger = NULL;
        return status;
    }
    client->to_enrol = false;
    return pin_key(client);
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

/* What is spent counts in both releases; the policy's total is over both. */
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

/* ---------------------------------------------------------------- trust */

/* The pinned key: the caller's, or that of the state directory. *pinned is
 * false when there is none. */
static enum tremolo_status find_key(struct tremolo_client *client, bool *pinned,
                                    const struct tremolo_client_options *options)
{
    char path[HOST_PATH_BYTES];
    char text[128];
    size_t length = 0;
    *pinned = true;
    if (options->server_key != NULL) {
        memcpy(client->server_key, options->server_key, sizeof client->server_key);
        return TREMOLO_OK;
    }
    if (host_path(path, client->state, "server.key") != 0) {
        return client_fails_plainly(client, TREMOLO_LONG_NAME);
    }
    if (host_read_file(&client->files, path, text, sizeof text, &length) != 0) {
        *pinned = false;
        return errno == ENOENT ? TREMOLO_OK
                               : client_fails(client, TREMOLO_STORAGE_FAILED,
                                              "%s: the pinned key: %s", path, strerror(errno));
    }
    text[strcspn(text, "\n")] = '\0';
    return tremolo_base64_decode(client->server_key, sizeof client->server_key, text) == TREMOLO_OK
               ? TREMOLO_OK
               : client_fails(client, TREMOLO_NOT_TRUSTED, "%s: the pinned key is damaged", path);
}

/* A sentence for each way in which a study can be refused. */
static enum tremolo_status explain_study(struct tremolo_client *client, enum tremolo_status status,
                                         const struct tremolo_study_problems *problems)
{
    switch (status) {
    case TREMOLO_OK: return TREMOLO_OK;
    case TREMOLO_BAD_STUDY:
        return client_fails(client, status, "the server's study is not valid: %s %s (%zu in all)",
                            problems->item[0].path, problems->item[0].reason, problems->count);
    case TREMOLO_WRONG_STUDY:
        return client_fails(client, status, "the server sent another study than the URL names");
    case TREMOLO_BAD_SIGNATURE:
        return client_fails(client, status, "the study is not signed by the pinned key");
    default: return client_fails_plainly(client, status);
    }
}

/* Fetch and verify; `key` is NULL for trust on first use, which leaves the key
 * the server names in client->server_key. */
static enum tremolo_status fetch_study(struct tremolo_client *client, const uint8_t *key)
{
    size_t length = 0;
    uint8_t named[TREMOLO_SIGNING_PUBLIC_BYTES];
    enum tremolo_status status =
        client_exchange(client, &length, "", NULL, 0, TREMOLO_CLIENT_MAX_STUDY_BYTES);
    if (status != TREMOLO_OK) {
        return status;
    }
    struct tremolo_study_problems *problems = calloc(1, sizeof *problems);
    if (problems == NULL) {
        return client_fails(client, TREMOLO_NO_MEMORY, "out of memory");
    }
    status = tremolo_study_receive(&client->study, named, problems, (const char *)client->answer,
                                   length, client->study_id, key);
    if (status == TREMOLO_OK && key == NULL) {
        memcpy(client->server_key, named, sizeof named);
    }
    status = explain_study(client, status, problems);
    free(problems);
    return status;
}

/* The key decides before anything is fetched: without a pinned key nothing is, unless the caller
 * accepts the key that the server names. */
static enum tremolo_status trust_and_fetch(struct tremolo_client *client,
                                           const struct tremolo_client_options *options)
{
    bool pinned = false;
    enum tremolo_status status = find_key(client, &pinned, options);
    if (status != TREMOLO_OK) {
        return status;
    }
    if (!pinned && !options->trust_new) {
        return client_fails_plainly(client, TREMOLO_NOT_TRUSTED);
    }
    client->to_pin = !pinned;
    return fetch_study(client, pinned ? client->server_key : NULL);
}

/* ---------------------------------------------------------------- admission */

/* Room for a round's vectors, and the key where the study wants one. */
static enum tremolo_status prepare_study(struct tremolo_client *client)
{
    const struct tremolo_study *study = tremolo_study_file_device(client->study);
    bool keys = tremolo_study_file_terms(client->study)->enrolment == TREMOLO_STUDY_KEYS;
    if (keys && client->device_name[0] == '\0') {
        return client_fails(client, TREMOLO_BAD_MAC,
                            "the study takes enrolled devices only; give this one's name and key");
    }
    if (!keys) {
        client->device_name[0] = '\0'; /* an open study need not know who reports */
    }
    client->signs = keys;
    client->platform.mac_key = keys ? client->mac_key : NULL;
    if (study->vectors > 0) {
        client->round.vectors =
            calloc((size_t)study->vectors * study->dimension, sizeof *client->round.vectors);
        if (client->round.vectors == NULL) {
            return client_fails(client, TREMOLO_NO_MEMORY, "out of memory");
        }
    }
    return TREMOLO_OK;
}

/* All that can refuse, in the order of the protocol. A client that fails here has charged nothing and
 * left nothing behind. */
static enum tremolo_status begin(struct tremolo_client *client,
                                 const struct tremolo_client_options *options,
                                 const struct tremolo_client_surroundings *surroundings)
{
    client->policy =
        options->policy != NULL ? *options->policy : (struct tremolo_policy)TREMOLO_POLICY_DEFAULTS;
    client->attempt_ms = options->attempt_ms;
    client->give_up_ms = options->give_up_ms;
    client->answer = malloc(TREMOLO_CLIENT_MAX_ROUND_BYTES + 1);
    enum tremolo_status status = client->answer == NULL
                                     ? TREMOLO_NO_MEMORY
                                     : set_surroundings(client, options, surroundings);
    if (status != TREMOLO_OK) {
        return client_fails_plainly(client, status);
    }
    status = set_address(client, options->study_url);
    status = status == TREMOLO_OK ? set_device(client, options) : status;
    status = status == TREMOLO_OK ? open_ledger(client, options) : status;
    if (status == TREMOLO_OK) {
        client_start_clock(client);
        status = trust_and_fetch(client, options);
    }
    if (status == TREMOLO_OK) {
        status =
            tremolo_policy_ask(&client->policy, client->why, sizeof client->why, client->study);
    }
    status = status == TREMOLO_OK ? prepare_study(client) : status;
    /* Without a ledger there is no directory yet; client_make_ledger() pins then. */
    return status == TREMOLO_OK && !client->to_enrol ? pin_key(client) : status;
}

enum tremolo_status tremolo_client_open(struct tremolo_client **client,
                                        char why[TREMOLO_CLIENT_WHY_BYTES],
                                        const struct tremolo_client_options *options,
                                        const struct tremolo_client_surroundings *surroundings)
{
    struct tremolo_client *made = NULL;
    enum tremolo_status status = TREMOLO_BAD_ARGUMENT;
    if (client != NULL && options != NULL && options->study_url != NULL &&
        options->state_directory != NULL && options->attempt_ms >= 1 && options->give_up_ms >= 1) {
        made = calloc(1, sizeof *made);
        status = made != NULL ? begin(made, options, surroundings) : TREMOLO_NO_MEMORY;
    }
    if (status == TREMOLO_OK) {
        *client = made;
        return TREMOLO_OK;
    }
    if (why != NULL) {
        (void)snprintf(why, TREMOLO_CLIENT_WHY_BYTES, "%s",
                       made != NULL ? made->why : tremolo_status_sentence(status));
    }
    tremolo_client_close(made);
    return status;
}

/* The client holds a sample and keys: all of it is wiped. */
void tremolo_client_close(struct tremolo_client *client)
{
    if (client == NULL) {
        return;
    }
    tremolo_ledger_file_close(client->ledger);
    transport_free(client->transport);
    tremolo_study_file_free(client->study);
    free(client->round.vectors);
    free(client->answer);
    explicit_bzero(client, sizeof *client);
    free(client);
}

const struct tremolo_study_file *tremolo_client_study(const struct tremolo_client *client)
{
    return client->study;
}

const char *tremolo_client_why(const struct tremolo_client *client)
{
    return client->why;
}
