/* mqtt_device.c -- a device that reports over MQTT instead of HTTP.
 *
 *     mqtt_device HOST PORT CA-FILE STUDY-FILE STATE-DIRECTORY KEY [NAME MAC-KEY-FILE]
 *
 * The client of host/ does what it always does: it verifies the study under the
 * pinned KEY, asks the policy, stores charge and bytes in the ledger, and
 * repeats the same bytes until they are acknowledged. Only its network is
 * another: the application carries the published study (STUDY-FILE) and its round
 * (STUDY-FILE.round), as the server gives them, and a report is published with QoS 1
 * to tremolo/ID/reports. The broker's PUBACK is the receipt; docs/reference/protocol.md
 * says what it is worth.
 *
 * A one-shot study has one round for its life. The rounds of an iterative one would
 * have to be fetched as they come; this example leaves that to HTTP. */
#include <mosquitto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tremolo_client.h"

enum {
    ALIVE_S = 30,
    LOOP_MS = 50,
    NAME_BYTES_MAX = 32,
    BODY_BYTES_MAX = 1024,
    FILE_MAX = 320 * 1024
};

struct broker {
    const char *host;
    int port;
    const char *ca_file;
    const char *study_file;
    char topic[96];
};

struct publication {
    const uint8_t *body;
    int length;
    const char *topic;
    bool acknowledged;
    int refused; /* the broker's reason, 0: none */
};

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static long read_file(const char *path, uint8_t *bytes, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return -1;
    }
    size_t length = fread(bytes, 1, capacity, file);
    bool whole = feof(file) != 0;
    (void)fclose(file);
    return whole ? (long)length : -1;
}

/* ---------------------------------------------------------------- MQTT */

static void on_connect(struct mosquitto *mosquitto, void *context, int reason)
{
    struct publication *publication = context;
    publication->refused = reason;
    if (reason == 0) {
        (void)mosquitto_publish(mosquitto, NULL, publication->topic, publication->length,
                                publication->body, 1, false);
    }
}

/* With QoS 1 this is the PUBACK. */
static void on_publish(struct mosquitto *mosquitto, void *context, int message)
{
    (void)mosquitto;
    (void)message;
    ((struct publication *)context)->acknowledged = true;
}

/* Connect, publish, wait for the PUBACK. A clean session under a random name: what
 * was not acknowledged is repeated by the client, not by the broker. */
static const char *publish(const struct broker *broker, struct publication *publication,
                           long timeout_ms)
{
    double until = seconds() + (double)timeout_ms / 1000.0;
    struct mosquitto *mosquitto = mosquitto_new(NULL, true, publication);
    if (mosquitto == NULL) {
        return "out of memory";
    }
    mosquitto_connect_callback_set(mosquitto, on_connect);
    mosquitto_publish_callback_set(mosquitto, on_publish);
    int code = mosquitto_tls_set(mosquitto, broker->ca_file, NULL, NULL, NULL, NULL);
    if (code == MOSQ_ERR_SUCCESS) {
        code = mosquitto_connect(mosquitto, broker->host, broker->port, ALIVE_S);
    }
    while (code == MOSQ_ERR_SUCCESS && !publication->acknowledged && publication->refused == 0 &&
           seconds() < until) {
        code = mosquitto_loop(mosquitto, LOOP_MS, 1);
    }
    (void)mosquitto_disconnect(mosquitto);
    mosquitto_destroy(mosquitto);
    if (publication->refused != 0) {
        return mosquitto_connack_string(publication->refused);
    }
    return code != MOSQ_ERR_SUCCESS ? mosquitto_strerror(code) : "no PUBACK in time";
}

/* ---------------------------------------------------------------- the client's network */

/* One report as it is; an enrolled device's as a sequence of two byte strings, name
 * and report, as in a POST of many. */
static size_t put_string(uint8_t *at, const uint8_t *bytes, size_t length)
{
    size_t head = length < 24 ? 1 : length < 256 ? 2 : 3;
    at[0] = (uint8_t)(head == 1 ? 0x40 + length : head == 2 ? 0x58 : 0x59);
    for (size_t i = 1; i < head; i++) {
        at[i] = (uint8_t)(length >> 8 * (head - 1 - i));
    }
    memcpy(at + head, bytes, length);
    return head + length;
}

static size_t write_body(uint8_t body[BODY_BYTES_MAX], const struct tremolo_http_request *request)
{
    uint8_t name[NAME_BYTES_MAX];
    if (request->body_length + NAME_BYTES_MAX + 6 > BODY_BYTES_MAX) {
        return 0;
    }
    if (request->device == NULL) {
        memcpy(body, request->body, request->body_length);
        return request->body_length;
    }
    size_t length = strlen(request->device) * 3 / 4;
    if (length > sizeof name ||
        tremolo_base64_decode(name, length, request->device) != TREMOLO_OK) {
        return 0;
    }
    size_t used = put_string(body, name, length);
    return used + put_string(body + used, request->body, request->body_length);
}

static int answer_with(struct tremolo_http_answer *answer, const char *text)
{
    answer->status = 200;
    answer->length = strlen(text);
    memcpy(answer->body, text, answer->length + 1);
    return 0;
}

/* GET is the published study or its round from a file, POST is a publication. */
static int exchange(void *context, struct tremolo_http_answer *answer,
                    const struct tremolo_http_request *request)
{
    const struct broker *broker = context;
    answer->status = 0;
    answer->retry_after_s = -1;
    if (strcmp(request->method, "GET") == 0) {
        char path[4096];
        size_t end = strlen(request->url);
        bool round = end > 6 && strcmp(request->url + end - 6, "/round") == 0;
        (void)snprintf(path, sizeof path, "%s%s", broker->study_file, round ? ".round" : "");
        long length = read_file(path, answer->body, request->answer_max);
        answer->length = length > 0 ? (size_t)length : 0;
        answer->body[answer->length] = '\0';
        answer->status = length > 0 ? 200 : 404;
        return 0;
    }
    uint8_t body[BODY_BYTES_MAX];
    struct publication publication = {
        .body = body, .length = (int)write_body(body, request), .topic = broker->topic};
    const char *why = publish(broker, &publication, request->timeout_ms);
    if (publication.acknowledged) {
        return answer_with(answer, "{\"accepted\": 1, \"repeated\": 0, \"failures\": []}");
    }
    (void)snprintf(answer->error, sizeof answer->error, "%s", why);
    return 1;
}

/* ---------------------------------------------------------------- taking part */

static int fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "mqtt_device: %s: %s\n", what, why);
    return 1;
}

/* The id as the published study names it; the client checks that it is right. */
static bool find_id(char id[TREMOLO_STUDY_ID_TEXT_BYTES], const char *path)
{
    static char text[FILE_MAX + 1];
    long length = read_file(path, (uint8_t *)text, FILE_MAX);
    const char *at = length > 0 ? strstr(text, "\"id\"") : NULL;
    return at != NULL && sscanf(at, "\"id\" : \"%43[A-Za-z0-9_-]\"", id) == 1;
}

static int take_part(const struct tremolo_client_options *options, struct broker *broker)
{
    static const char sample[] = "{\"steps\": 7200, \"sleep\": 7.5, \"pulse\": 61, \"score\": 70}";
    struct tremolo_client_surroundings around = {.context = broker, .exchange = exchange};
    struct tremolo_client *client = NULL;
    struct tremolo_client_receipt receipt;
    char why[TREMOLO_CLIENT_WHY_BYTES] = "";
    if (tremolo_client_open(&client, why, options, &around) != TREMOLO_OK) {
        return fail("open", why);
    }
    enum tremolo_status status = tremolo_client_sample(client, sample, sizeof sample - 1);
    if (status == TREMOLO_OK) {
        status = tremolo_client_report(client, &receipt);
    }
    if (status == TREMOLO_OK) {
        (void)printf("%zu bytes acknowledged after %u attempts\n", receipt.report_bytes,
                     receipt.attempts);
    } else {
        (void)fail("report", tremolo_client_why(client));
    }
    tremolo_client_close(client);
    return status == TREMOLO_OK ? 0 : 1;
}

/* An enrolled device's key, base64url, is in a file: arguments are no place for secrets. */
static bool read_key(uint8_t key[TREMOLO_MAC_KEY_BYTES], const char *path)
{
    char text[64] = "";
    long length = read_file(path, (uint8_t *)text, sizeof text - 1);
    text[strcspn(text, "\n")] = '\0';
    return length > 0 && tremolo_base64_decode(key, TREMOLO_MAC_KEY_BYTES, text) == TREMOLO_OK;
}

int main(int argc, char **argv)
{
    uint8_t server_key[TREMOLO_SIGNING_PUBLIC_BYTES];
    uint8_t mac_key[TREMOLO_MAC_KEY_BYTES];
    uint8_t name[NAME_BYTES_MAX];
    char id[TREMOLO_STUDY_ID_TEXT_BYTES] = "";
    char url[128];
    if ((argc != 7 && argc != 9) ||
        tremolo_base64_decode(server_key, sizeof server_key, argv[6]) != TREMOLO_OK ||
        !find_id(id, argv[4])) {
        return fail("usage", "mqtt_device HOST PORT CA-FILE STUDY-FILE STATE-DIRECTORY KEY "
                             "[NAME MAC-KEY-FILE]");
    }
    struct broker broker = {argv[1], (int)strtol(argv[2], NULL, 10), argv[3], argv[4], ""};
    (void)snprintf(broker.topic, sizeof broker.topic, "tremolo/%s/reports", id);
    (void)snprintf(url, sizeof url, "https://mqtt.invalid/v1/studies/%s", id);
    struct tremolo_policy policy = TREMOLO_POLICY_DEFAULTS;
    policy.epsilon_per_study = 8;
    policy.epsilon_total = 16;
    struct tremolo_client_options options = TREMOLO_CLIENT_DEFAULTS;
    options.study_url = url;
    options.state_directory = argv[5];
    options.server_key = server_key;
    options.policy = &policy;
    options.enrol = true; /* when the application is installed */
    if (argc == 9) {
        options.device_id = name;
        options.device_id_length = strlen(argv[7]) * 3 / 4;
        options.mac_key = mac_key;
        if (options.device_id_length > sizeof name ||
            tremolo_base64_decode(name, options.device_id_length, argv[7]) != TREMOLO_OK ||
            !read_key(mac_key, argv[8])) {
            return fail("usage", "NAME is base64url of 1 to 32 bytes, MAC-KEY-FILE of 16");
        }
    }
    (void)mosquitto_lib_init();
    int code = take_part(&options, &broker);
    (void)mosquitto_lib_cleanup();
    return code;
}
