/* round_json.c -- the current round, as devices ask for it. */
#include "rounds.h"

#include <jansson.h>
#include <string.h>

#include "document.h"
#include "served_study.h"
#include "study_internal.h"

const char *round_state(const struct served_study *served, int64_t now)
{
    bool full = rounds_room(served) == 0;
    bool over = served_is_done(served) || now >= served->terms->closes;
    if (over || (full && served->sums.opened == served->sums.round_limit)) {
        return "done";
    }
    return full || served->sums.closing || now < served->terms->opens ? "waiting" : "open";
}

struct round_window round_next(const struct served_study *served, int64_t now)
{
    const struct served_round *newest = &served->sums.rounds[served->sums.opened - 1];
    if (now < served->terms->opens) {
        return (struct round_window){served->terms->opens - now, served->terms->opens - now + 60};
    }
    if (served->terms->close_seconds == 0) {
        return (struct round_window){1, 10};
    }
    int64_t left = newest->opened_at + (int64_t)served->terms->close_seconds - now;
    int64_t spread = (int64_t)served->terms->close_seconds / 4;
    left = left < 1 ? 1 : left;
    return (struct round_window){left, left + (spread < 1 ? 1 : spread)};
}

static json_t *vectors_json(const struct served_study *served, const int16_t *vectors)
{
    json_t *rows = json_array();
    size_t d = served->study->dimension;
    for (size_t j = 0; j < served->study->vectors; j++) {
        json_t *row = json_array();
        for (size_t i = 0; i < d; i++) {
            json_latch_append(&row, json_integer(vectors[j * d + i]));
        }
        json_latch_append(&rows, row);
    }
    return rows;
}

static void add_signature(json_t **answer, const struct served_study *served,
                          const struct tremolo_round *round, const uint8_t *signing_key)
{
    uint8_t signature[TREMOLO_SIGNATURE_BYTES];
    char text[TREMOLO_BASE64_BYTES(TREMOLO_SIGNATURE_BYTES)];
    if (tremolo_round_sign(signature, served->study, round, signing_key) == TREMOLO_OK &&
        tremolo_base64_encode(text, sizeof text, signature, sizeof signature) == TREMOLO_OK) {
        json_latch_set(answer, "signature", json_string(text));
    }
}

static json_t *closing_time(const struct served_study *served, const struct served_round *round)
{
    if (served->terms->close_seconds > 0) {
        return json_integer(round->opened_at + (int64_t)served->terms->close_seconds);
    }
    return served->terms->closes == INT64_MAX ? json_null() : json_integer(served->terms->closes);
}

enum tremolo_status round_json(char **json, struct served_study *served, const uint8_t *signing_key,
                               int64_t now)
{
    (void)pthread_mutex_lock(&served->sums.lock);
    unsigned number_open = served->sums.opened - 1;
    const struct served_round *newest = &served->sums.rounds[number_open];
    const char *state = round_state(served, now);
    struct round_window next = round_next(served, now);
    json_t *answer = json_pack(
        "{s:s, s:I, s:I, s:s, s:o, s:o, s:o, s:I, s:{s:I, s:I}}", "study", served->id_text, "round",
        (json_int_t)number_open, "rounds", (json_int_t)served->terms->rounds, "state", state,
        "vectors", vectors_json(served, newest->vectors), "beta",
        json_latch_numbers(newest->beta, served->study->dimension), "closes",
        closing_time(served, newest), "reports", (json_int_t)tremolo_moments_count(newest->moments),
        "next", "earliest", (json_int_t)next.earliest, "latest", (json_int_t)next.latest);
    if (strcmp(state, "open") == 0) {
        struct tremolo_round round = {served->study->vectors > 0 ? newest->vectors : NULL,
                                      (uint16_t)number_open};
        add_signature(&answer, served, &round, signing_key);
    }
    (void)pthread_mutex_unlock(&served->sums.lock);
    return json_latch_text(json, answer, JSON_LATCH_EXACT);
}
