/* client_wire.c -- talk to the server until it answers, refuses, or time is up; and say what failed.
 *
 * A repetition always sends the same bytes, because nothing in this file can make a report: a
 * server that lost its answer and one that never got the request look alike from here, and the same
 * bytes under the same id are counted once.
 *
 * Waits double from one second to thirty, with half of each random, so that devices that failed
 * together do not come again together; a server that names a time is obeyed, within an hour.
 * Every call ends: by an answer, by a refusal, or by the caller's deadline. */
#include "client_parts.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "study_internal.h"

enum {
    BACKOFF_FIRST_MS = 1000,
    BACKOFF_LONGEST_MS = 30000,
    ATTEMPTS_MAX = 100000,
    DETAIL_BYTES = 240,
};

enum tremolo_status client_fails(struct tremolo_client *client, enum tremolo_status status,
                                 const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(client->why, sizeof client->why, format, arguments);
    va_end(arguments);
    return status;
}

enum tremolo_status client_fails_because(struct tremolo_client *client, enum tremolo_status status,
                                         const char *why)
{
    return client_fails(client, status, "%s%s%s", tremolo_status_sentence(status),
                        why[0] != '\0' ? "; " : "", why);
}

/* Statuses of the device core, which does not know where the ledger is. */
static bool is_about_ledger(enum tremolo_status status)
{
    return status == TREMOLO_LEDGER_DAMAGED || status == TREMOLO_LEDGER_ROLLED_BACK ||
           status == TREMOLO_LEDGER_FULL;
}

/* The status's own sentence, with the place where it is about the ledger. */
enum tremolo_status client_fails_plainly(struct tremolo_client *client, enum tremolo_status status)
{
    const char *why = "";
    if (client->ledger != NULL && status == TREMOLO_STORAGE_FAILED) {
        why = tremolo_ledger_file_error(client->ledger);
    } else if (client->ledger != NULL && is_about_ledger(status)) {
        why = client->state;
    }
    return client_fails_because(client, status, why);
}

/* Each call of the public interface has give_up_ms from its beginning. */
void client_start_clock(struct tremolo_client *client)
{
    client->deadline_ms = client->around.now_ms(client->around.context) + client->give_up_ms;
    client->attempts = 0;
}

/* ---------------------------------------------------------------- waiting */

/* A number in [0, range]; the middle without entropy, which is safe: the number
 * only spreads devices over time. */
static int64_t random_up_to(const struct tremolo_client *client, int64_t range)
{
    uint32_t word = UINT32_MAX / 2;
    uint8_t bytes[4];
    if (client->around.entropy(client->around.context, bytes, sizeof bytes) == 0) {
        memcpy(&word, bytes, sizeof word);
    }
    return (int64_t)((double)range * (word / 4294967295.0));
}

/* Random, so that devices that failed together do not come again together. */
enum tremolo_status client_wait(struct tremolo_client *client, int64_t low_ms, int64_t high_ms)
{
    int64_t wait = low_ms + (high_ms > low_ms ? random_up_to(client, high_ms - low_ms) : 0);
    if (client->around.sleep_ms(client->around.context, wait) != 0) {
        return client_fails(client, TREMOLO_NETWORK_FAILED, "stopped while waiting");
    }
    return TREMOLO_OK;
}

/* How long to wait after failure number `attempt`, counted from 1: half to all
 * of a time that doubles up to its longest, or what the server asks for. */
static void backoff(int64_t *low_ms, int64_t *high_ms, unsigned attempt, long retry_after_s)
{
    int64_t step = BACKOFF_FIRST_MS;
    for (unsigned i = 1; i < attempt && step < BACKOFF_LONGEST_MS; i++) {
        step *= 2;
    }
    step = step < BACKOFF_LONGEST_MS ? step : BACKOFF_LONGEST_MS;
    *low_ms = step / 2;
    *high_ms = step;
    int64_t asked = retry_after_s > 0 ? (int64_t)retry_after_s * 1000 : 0;
    if (asked > *low_ms) {
        *low_ms = asked;
        *high_ms = asked + asked / 10;
    }
}

/* ---------------------------------------------------------------- answers */

/* No answer at all, a timeout, too many requests, or a failure of the server that may pass. Every
 * other status is an answer to these bytes, and the same bytes would get it again. */
static bool is_worth_repeating(long status)
{
    static const long codes[] = {0, 408, 425, 429, 500, 502, 503, 504};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (status == codes[i]) {
            return true;
        }
    }
    return false;
}

/* The server's reason, "detail" or "title" of a problem, after ": "; "" without one. */
static void read_detail(char detail[DETAIL_BYTES], const struct tremolo_http_answer *answer)
{
    json_t *root = json_loadb((const char *)answer->body, answer->length, 0, NULL);
    const char *text = json_string_value(json_object_get(root, "detail"));
    if (text == NULL) {
        text = json_string_value(json_object_get(root, "title"));
    }
    (void)snprintf(detail, DETAIL_BYTES, "%s%s", text != NULL ? ": " : "",
                   text != NULL ? text : "");
    (void)tremolo_text_clean(detail);
    json_decref(root);
}

/* ---------------------------------------------------------------- exchanges */

/* Between two attempts; NETWORK_FAILED when the next would come too late. */
static enum tremolo_status pause_before_next(struct tremolo_client *client,
                                             const struct tremolo_http_answer *answer)
{
    int64_t low = 0;
    int64_t high = 0;
    backoff(&low, &high, client->attempts, answer->retry_after_s);
    int64_t left = client->deadline_ms - client->around.now_ms(client->around.context);
    if (low >= left || client->attempts >= ATTEMPTS_MAX) {
        char detail[DETAIL_BYTES];
        if (answer->status == 0) {
            return client_fails(client, TREMOLO_NETWORK_FAILED,
                                "gave up after %u attempts; last: %s", client->attempts,
                                answer->error);
        }
        read_detail(detail, answer);
        return client_fails(client, TREMOLO_NETWORK_FAILED,
                            "gave up after %u attempts; last: the server answered %ld%s",
                            client->attempts, answer->status, detail);
    }
    return client_wait(client, low, high < left ? high : left);
}

/* One exchange never takes longer than what is left of the call. */
static long time_for_one(const struct tremolo_client *client)
{
    int64_t left = client->deadline_ms - client->around.now_ms(client->around.context);
    int64_t time = left < client->attempt_ms ? left : client->attempt_ms;
    return time > 1 ? (long)time : 1;
}

/* The loop ends: each turn counts an attempt, and pause_before_next() refuses when time or attempts
 * run out. The answer of the last attempt is in client->answer. */
enum tremolo_status client_exchange(struct tremolo_client *client, size_t *length, const char *path,
                                    const uint8_t *body, size_t body_length, size_t most)
{
    char url[TREMOLO_CLIENT_MAX_URL + 32]; /* the study's, and a path of ours */
    bool known = body != NULL && client->device_name[0] != '\0';
    struct tremolo_http_request request = {
        .method = body != NULL ? "POST" : "GET",
        .url = url,
        .media_type = body != NULL ? "application/cbor" : NULL,
        .device = known ? client->device_name : NULL,
        .body = body,
        .body_length = body_length,
        .answer_max = most,
    };
    (void)snprintf(url, sizeof url, "%s%s", client->url, path);
    client->attempts = 0;
    for (;;) {
        struct tremolo_http_answer answer = {.retry_after_s = -1, .body = client->answer};
        request.timeout_ms = time_for_one(client);
        client->attempts++;
        int failed = client->transport != NULL
                         ? transport_exchange(client->transport, &answer, &request)
                         : client->around.exchange(client->around.context, &answer, &request);
        answer.status = failed != 0 ? 0 : answer.status;
        if (answer.status >= 200 && answer.status < 300) {
            *length = answer.length;
            return TREMOLO_OK;
        }
        if (!is_worth_repeating(answer.status)) {
            char detail[DETAIL_BYTES];
            read_detail(detail, &answer);
            return client_fails(
                client, answer.status == 410 ? TREMOLO_ROUND_CLOSED : TREMOLO_SERVER_REFUSED,
                "the server answered %ld%s", answer.status, detail);
        }
        enum tremolo_status status = pause_before_next(client, &answer);
        if (status != TREMOLO_OK) {
            return status;
        }
    }
}
