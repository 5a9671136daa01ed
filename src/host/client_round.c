/* client_round.c -- the current round: fetch it, check it, follow the next.
 *
 * A broadcast is believed when it is signed by the pinned key and its vectors
 * pass the device core's own check. Even a false one could not harm this
 * device, whose guarantee holds for every choice of vectors; it would harm the
 * estimate. */
#include "client_parts.h"

#include <jansson.h>
#include <string.h>

#include "tremolo_words.h"
#include "study_internal.h"

enum {
    NEXT_DEFAULT_S = 30,
    NEXT_LONGEST_S = 3600,
    POLLS_MAX = 10000000,
    POLL_SHORTEST_MS = 1000,
};

void client_read_next(struct client_round *round, const struct json_t *root)
{
    const json_t *next = json_object_get(root, "next");
    json_int_t earliest = NEXT_DEFAULT_S / 2;
    json_int_t latest = NEXT_DEFAULT_S;
    if (json_is_integer(json_object_get(next, "earliest")) &&
        json_is_integer(json_object_get(next, "latest"))) {
        earliest = json_integer_value(json_object_get(next, "earliest"));
        latest = json_integer_value(json_object_get(next, "latest"));
    }
    earliest = earliest < 1 ? 1 : earliest > NEXT_LONGEST_S ? NEXT_LONGEST_S : earliest;
    latest = latest < earliest ? earliest : latest > NEXT_LONGEST_S ? NEXT_LONGEST_S : latest;
    round->earliest_ms = earliest * 1000;
    round->latest_ms = latest * 1000;
}

static bool read_state(enum round_state *state, const json_t *root)
{
    static const char *const states[] = {"open", "waiting", "done"};
    const char *text = json_string_value(json_object_get(root, "state"));
    size_t place = text != NULL ? tremolo_words_find(text, states, 3) : 3;
    *state = place < 3 ? (enum round_state)place : *state;
    return place < 3;
}

/* m rows of d integers that fit 16 bits, and nothing else. */
static bool read_vectors(int16_t *vectors, const json_t *root, size_t m, size_t d)
{
    const json_t *rows = json_object_get(root, "vectors");
    if (!json_is_array(rows) || json_array_size(rows) != m) {
        return false;
    }
    for (size_t j = 0; j < m; j++) {
        const json_t *row = json_array_get(rows, j);
        if (!json_is_array(row) || json_array_size(row) != d) {
            return false;
        }
        for (size_t i = 0; i < d; i++) {
            const json_t *entry = json_array_get(row, i);
            json_int_t value = json_integer_value(entry);
            if (!json_is_integer(entry) || value < INT16_MIN || value > INT16_MAX) {
                return false;
            }
            vectors[j * d + i] = (int16_t)value;
        }
    }
    return true;
}

static enum tremolo_status check_open_round(struct tremolo_client *client, const json_t *root)
{
    const struct tremolo_study *study = tremolo_study_file_device(client->study);
    const char *text = json_string_value(json_object_get(root, "signature"));
    uint8_t signature[TREMOLO_SIGNATURE_BYTES];
    struct tremolo_round round = {client->round.vectors, client->round.number};
    if (study->vectors > 0 &&
        !read_vectors(client->round.vectors, root, study->vectors, study->dimension)) {
        return client_fails(client, TREMOLO_BAD_ANSWER, "the round's vectors have the wrong shape");
    }
    if (text == NULL || tremolo_base64_decode(signature, sizeof signature, text) != TREMOLO_OK) {
        return client_fails(client, TREMOLO_BAD_ANSWER, "the round is not signed");
    }
    enum tremolo_status status = tremolo_round_verify(signature, study, &round, client->server_key);
    status = status == TREMOLO_OK ? tremolo_round_check(study, &round) : status;
    return status == TREMOLO_OK
               ? status
               : client_fails(client, status, "the round: %s", tremolo_status_sentence(status));
}

static enum tremolo_status read_round(struct tremolo_client *client, const json_t *root)
{
    const struct tremolo_study *study = tremolo_study_file_device(client->study);
    const json_t *number = json_object_get(root, "round");
    enum round_state state = ROUND_WAITING;
    if (!read_state(&state, root)) {
        return client_fails(client, TREMOLO_BAD_ANSWER, "the round has no known state");
    }
    client->round.state = state;
    client_read_next(&client->round, root);
    if (state != ROUND_OPEN) {
        return TREMOLO_OK;
    }
    if (!json_is_integer(number) || json_integer_value(number) < 0 ||
        json_integer_value(number) >= study->rounds) {
        return client_fails(client, TREMOLO_BAD_ANSWER, "the round's number is not the study's");
    }
    client->round.number = (uint16_t)json_integer_value(number);
    return check_open_round(client, root);
}

bool client_needs_broadcast(const struct tremolo_client *client)
{
    const struct tremolo_study *study = tremolo_study_file_device(client->study);
    return study->vectors > 0 || study->rounds > 1;
}

static enum tremolo_status fetch_round(struct tremolo_client *client)
{
    size_t length = 0;
    enum tremolo_status status =
        client_exchange(client, &length, "/round", NULL, 0, TREMOLO_CLIENT_MAX_ROUND_BYTES);
    if (status == TREMOLO_ROUND_CLOSED) {
        client->round.state = ROUND_DONE; /* the study itself is over */
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    json_t *root = json_loadb((const char *)client->answer, length, JSON_REJECT_DUPLICATES, NULL);
    status = json_is_object(root)
                 ? read_round(client, root)
                 : client_fails(client, TREMOLO_BAD_ANSWER, "the round is not a JSON object");
    json_decref(root);
    return status;
}

/* The dates are part of what was agreed, so the device keeps them by its own
 * clock, whatever the server says. */
static enum tremolo_status check_dates(struct tremolo_client *client)
{
    const struct tremolo_study_terms *terms = tremolo_study_file_terms(client->study);
    int64_t now = client->around.unix_seconds(client->around.context);
    char today[TREMOLO_STUDY_DATE_BYTES];
    char then[TREMOLO_STUDY_DATE_BYTES];
    tremolo_study_date_text(today, now);
    if (now < terms->opens) {
        int64_t left = terms->opens - now < NEXT_LONGEST_S ? terms->opens - now : NEXT_LONGEST_S;
        client->round.state = ROUND_WAITING;
        client->round.earliest_ms = left * 1000;
        client->round.latest_ms = (left + NEXT_DEFAULT_S) * 1000;
        tremolo_study_date_text(then, terms->opens);
        return client_fails(client, TREMOLO_ROUND_CLOSED,
                            "the study opens at %s and it is %s; nothing was charged", then, today);
    }
    if (now >= terms->closes) {
        client->round.state = ROUND_DONE;
        tremolo_study_date_text(then, terms->closes);
        return client_fails(client, TREMOLO_ROUND_CLOSED,
                            "the study closed at %s and it is %s; nothing was charged", then,
                            today);
    }
    return TREMOLO_OK;
}

enum tremolo_status client_find_open_round(struct tremolo_client *client)
{
    enum tremolo_status status = check_dates(client);
    status = status == TREMOLO_OK ? fetch_round(client) : status;
    if (status != TREMOLO_OK || client->round.state == ROUND_OPEN) {
        return status;
    }
    return client_fails(client, TREMOLO_ROUND_CLOSED, "%s; nothing was charged",
                        client->round.state == ROUND_DONE
                            ? "the study is over"
                            : "the study takes no reports now, but will again");
}

/* ---------------------------------------------------------------- following */

/* Is the round that we reported in still the open one? Asking is cheaper for the
 * server than the same report once more. */
static enum tremolo_status wait_for_another(struct tremolo_client *client, bool *is_same, int last)
{
    *is_same = false;
    if (last < 0) {
        return TREMOLO_OK;
    }
    client_start_clock(client);
    enum tremolo_status status = client_find_open_round(client);
    *is_same = status == TREMOLO_OK && client->round.number == last;
    return status;
}

/* Report if the round is new to us; *done when no other can follow. */
static enum tremolo_status follow_once(struct tremolo_client *client, bool *done, int *last,
                                       int (*each)(void *, const struct tremolo_client_receipt *),
                                       void *context)
{
    const struct tremolo_study *study = tremolo_study_file_device(client->study);
    struct tremolo_client_receipt receipt;
    bool is_same = false;
    enum tremolo_status status = wait_for_another(client, &is_same, *last);
    if (is_same) {
        return TREMOLO_OK;
    }
    if (status == TREMOLO_OK) {
        status = tremolo_client_report(client, &receipt);
    }
    if (status == TREMOLO_ROUND_CLOSED) {
        *done = client->round.state == ROUND_DONE;
        if (client->round.state == ROUND_OPEN) {
            *last = client->round.number; /* it was when we asked; our report came too late */
        }
        return TREMOLO_OK;
    }
    if (status != TREMOLO_OK) {
        return status;
    }
    if ((int)receipt.round != *last && each != NULL && each(context, &receipt) != 0) {
        *done = true;
    }
    *last = (int)receipt.round;
    *done = *done || receipt.round + 1u >= study->rounds;
    return TREMOLO_OK;
}

enum tremolo_status tremolo_client_follow(struct tremolo_client *client,
                                          int (*each)(void *context,
                                                      const struct tremolo_client_receipt *receipt),
                                          void *context)
{
    bool done = false;
    int last = -1;
    if (client == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    for (long polls = 0; polls < POLLS_MAX; polls++) {
        enum tremolo_status status = follow_once(client, &done, &last, each, context);
        if (status != TREMOLO_OK || done) {
            return status;
        }
        /* Whatever the server says, or has not said yet: no tight loop. */
        int64_t earliest = client->round.earliest_ms > POLL_SHORTEST_MS ? client->round.earliest_ms
                                                                        : POLL_SHORTEST_MS;
        status = client_wait(client, earliest, client->round.latest_ms);
        if (status != TREMOLO_OK) {
            return status;
        }
    }
    return client_fails(client, TREMOLO_NETWORK_FAILED, "the study never ended");
}
