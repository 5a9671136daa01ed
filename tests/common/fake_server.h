/* fake_server.h -- a server without a network, a clock without waiting.
 *
 * It publishes one study, broadcasts a round, takes reports and remembers
 * them. Before it answers it consults a script: a status of 0 is a
 * connection that fails, any other replaces the true answer. */
#ifndef TREMOLO_TESTS_FAKE_SERVER_H
#define TREMOLO_TESTS_FAKE_SERVER_H

#include <ftw.h>
#include <unistd.h>

#include "fake_entropy.h"
#include "study_json.h"
#include "tremolo_client.h"
#include "tremolo_host.h"
#include "study_internal.h"

enum { FAKE_SCRIPT = 32, FAKE_REPORTS = 32, FAKE_SLEEPS = 64 };

struct fake_server {
    struct tremolo_study_file *file;
    char *study_body;
    uint8_t public_key[TREMOLO_SIGNING_PUBLIC_BYTES];
    uint8_t secret_key[TREMOLO_SIGNING_SECRET_BYTES];
    char url[256];
    const char *state; /* of the round */
    uint16_t round;
    bool moves_on; /* after each report, to the next round or to "done" */
    int16_t vectors[64];
    int script[FAKE_SCRIPT]; /* -1: answer truly */
    long retry_after[FAKE_SCRIPT];
    size_t script_length;
    const char *answer;  /* instead of the true body of a 200 */
    const char *receipt; /* instead of a report's */
    size_t requests;
    struct {
        uint8_t bytes[TREMOLO_MAX_REPORT_BYTES];
        size_t length;
        char device[64];
    } report[FAKE_REPORTS];
    size_t reports;
    size_t posts;       /* repeated ones, too */
    size_t round_lasts; /* polls before the next round opens; 0: not by waiting */
    int64_t now_ms;
    int64_t date; /* Unix seconds when now_ms is 0 */
    int64_t slept[FAKE_SLEEPS];
    size_t sleeps;
    struct fake_entropy entropy;
    void (*on_report)(const uint8_t *bytes, size_t length);
};

static inline void fake_server_start(struct fake_server *server, struct tremolo_study_file *file,
                                     uint8_t seed_byte)
{
    uint8_t seed[TREMOLO_SIGNING_SEED_BYTES] = {seed_byte};
    char id[TREMOLO_STUDY_ID_TEXT_BYTES];
    memset(server, 0, sizeof *server);
    server->file = file;
    server->state = "open";
    server->entropy.state = seed_byte;
    server->vectors[0] = TREMOLO_VECTOR_ONE;
    assert_status(tremolo_signing_keys(server->public_key, server->secret_key, seed), TREMOLO_OK);
    assert_status(tremolo_study_publish(&server->study_body, file, server->secret_key), TREMOLO_OK);
    assert_status(
        tremolo_base64_encode(id, sizeof id, tremolo_study_file_id(file), TREMOLO_STUDY_ID_BYTES),
        TREMOLO_OK);
    (void)snprintf(server->url, sizeof server->url, "https://example.org/v1/studies/%s", id);
}

static inline void fake_server_stop(struct fake_server *server)
{
    free(server->study_body);
    tremolo_study_file_free(server->file);
}

static inline void fake_server_say(struct fake_server *server, int status, long retry_after)
{
    assert_true(server->script_length < FAKE_SCRIPT);
    server->script[server->script_length] = status;
    server->retry_after[server->script_length++] = retry_after;
}

static inline int fake_reply(struct tremolo_http_answer *answer,
                             const struct tremolo_http_request *request, long status,
                             const char *body)
{
    answer->status = status;
    answer->length = strlen(body);
    if (answer->length > request->answer_max) {
        answer->status = 0;
        (void)snprintf(answer->error, sizeof answer->error, "the answer is too long");
        return -1;
    }
    memcpy(answer->body, body, answer->length + 1);
    return 0;
}

static inline int fake_round_body(struct fake_server *server, struct tremolo_http_answer *answer,
                                  const struct tremolo_http_request *request)
{
    const struct tremolo_study *study = tremolo_study_file_device(server->file);
    struct tremolo_round round = {study->vectors > 0 ? server->vectors : NULL, server->round};
    uint8_t signature[TREMOLO_SIGNATURE_BYTES];
    char text[TREMOLO_BASE64_BYTES(TREMOLO_SIGNATURE_BYTES)];
    json_t *rows = json_array();
    for (unsigned j = 0; j < study->vectors; j++) {
        json_t *row = json_array();
        for (unsigned i = 0; i < study->dimension; i++) {
            json_array_append_new(row, json_integer(server->vectors[j * study->dimension + i]));
        }
        json_array_append_new(rows, row);
    }
    assert_status(tremolo_round_sign(signature, study, &round, server->secret_key), TREMOLO_OK);
    assert_status(tremolo_base64_encode(text, sizeof text, signature, sizeof signature),
                  TREMOLO_OK);
    json_t *root = json_pack("{s:i, s:s, s:o, s:s, s:{s:i, s:i}}", "round", (int)server->round,
                             "state", server->state, "vectors", rows, "signature", text, "next",
                             "earliest", 10, "latest", 20);
    char *body = json_dumps(root, 0);
    int result = fake_reply(answer, request, 200, body);
    free(body);
    json_decref(root);
    return result;
}

static inline int fake_take_report(struct fake_server *server, struct tremolo_http_answer *answer,
                                   const struct tremolo_http_request *request)
{
    bool known = false;
    server->posts++;
    assert_string_equal(request->media_type, "application/cbor");
    assert_true(request->body_length <= TREMOLO_MAX_REPORT_BYTES);
    for (size_t i = 0; i < server->reports; i++) {
        known =
            known || (server->report[i].length == request->body_length &&
                      memcmp(server->report[i].bytes, request->body, request->body_length) == 0);
    }
    if (!known) {
        assert_true(server->reports < FAKE_REPORTS);
        memcpy(server->report[server->reports].bytes, request->body, request->body_length);
        server->report[server->reports].length = request->body_length;
        (void)snprintf(server->report[server->reports].device, 64, "%s",
                       request->device != NULL ? request->device : "");
        server->reports++;
    }
    if (server->on_report != NULL) {
        server->on_report(request->body, request->body_length);
    }
    if (server->moves_on) {
        server->round++;
        server->state =
            server->round < tremolo_study_file_device(server->file)->rounds ? "open" : "done";
    }
    return fake_reply(answer, request, 200,
                      server->receipt != NULL  ? server->receipt
                      : server->answer != NULL ? server->answer
                      : known                  ? "{\"accepted\":0,\"repeated\":1,\"failures\":[]}"
                                               : "{\"accepted\":1,\"repeated\":0,\"failures\":[]}");
}

static inline int fake_exchange(void *context, struct tremolo_http_answer *answer,
                                const struct tremolo_http_request *request)
{
    struct fake_server *server = context;
    size_t number = server->requests++;
    const char *tail = request->url + strlen(server->url);
    assert_int_equal(strncmp(request->url, server->url, strlen(server->url)), 0);
    if (number < server->script_length && server->script[number] >= 0) {
        if (server->script[number] == 0) {
            (void)snprintf(answer->error, sizeof answer->error, "no route");
            return -1;
        }
        answer->retry_after_s = server->retry_after[number];
        return fake_reply(answer, request, server->script[number],
                          "{\"title\":\"scripted\",\"detail\":\"as the script says\"}");
    }
    if (strcmp(request->method, "POST") == 0) {
        assert_string_equal(tail, "/reports");
        return fake_take_report(server, answer, request);
    }
    if (server->answer != NULL) {
        return fake_reply(answer, request, 200, server->answer);
    }
    if (strcmp(tail, "/round") == 0) {
        return fake_round_body(server, answer, request);
    }
    assert_string_equal(tail, "");
    return fake_reply(answer, request, 200, server->study_body);
}

static inline int64_t fake_now(void *context)
{
    return ((struct fake_server *)context)->now_ms;
}

static inline int64_t fake_date(void *context)
{
    const struct fake_server *server = context;
    return server->date + server->now_ms / 1000;
}

static inline int fake_sleep(void *context, int64_t milliseconds)
{
    struct fake_server *server = context;
    server->now_ms += milliseconds;
    server->slept[server->sleeps++ % FAKE_SLEEPS] = milliseconds;
    if (server->round_lasts > 0 && server->sleeps % server->round_lasts == 0) {
        server->round++;
    }
    return 0;
}

static inline int fake_client_entropy(void *context, uint8_t *bytes, size_t length)
{
    return fake_entropy_fill(&((struct fake_server *)context)->entropy, bytes, length);
}

static inline struct tremolo_client_surroundings fake_surroundings(struct fake_server *server)
{
    return (struct tremolo_client_surroundings){
        .context = server,
        .exchange = fake_exchange,
        .now_ms = fake_now,
        .sleep_ms = fake_sleep,
        .unix_seconds = fake_date,
        .entropy = fake_client_entropy,
    };
}

/* ---------------------------------------------------------------- folders */

static inline int fake_remove_one(const char *path, const struct stat *what, int kind,
                                  struct FTW *place)
{
    (void)what;
    (void)kind;
    (void)place;
    return remove(path);
}

/* A fresh folder, not yet made, within one that is removed at the end; in
 * memory where there is such a place, because a disk would sync in earnest. */
struct fake_folder {
    char root[64];
    char state[80];
    char counter[80];
};

static inline void fake_folder_make(struct fake_folder *folder)
{
    (void)snprintf(folder->root, sizeof folder->root, "%s/tremolo-test-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(folder->root));
    (void)snprintf(folder->state, sizeof folder->state, "%s/state", folder->root);
    (void)snprintf(folder->counter, sizeof folder->counter, "%s/counter", folder->root);
}

static inline void fake_folder_remove(struct fake_folder *folder)
{
    (void)nftw(folder->root, fake_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
