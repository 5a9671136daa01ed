/* broadcast.c -- the current round, as devices ask for it. */
#include <jansson.h>
#include <string.h>

#include "estimate.h"
#include "estimate_json.h"

const char *estimate_state(const struct book *book, int64_t now)
{
    uint64_t taken = tremolo_moments_count(book->rounds[book->opened - 1].moments);
    bool full = taken >= book->terms->devices * book->terms->samples;
    bool over = book_is_done(book) || now >= book->terms->closes;
    if (over || (full && book->opened == book->terms->rounds)) {
        return "done";
    }
    return full || book->closing || now < book->terms->opens ? "waiting" : "open";
}

struct estimate_window estimate_next(const struct book *book, int64_t now)
{
    const struct book_round *newest = &book->rounds[book->opened - 1];
    if (now < book->terms->opens) {
        return (struct estimate_window){book->terms->opens - now, book->terms->opens - now + 60};
    }
    if (book->terms->close_seconds == 0) {
        return (struct estimate_window){1, 10};
    }
    int64_t left = newest->opened_at + (int64_t)book->terms->close_seconds - now;
    int64_t spread = (int64_t)book->terms->close_seconds / 4;
    left = left < 1 ? 1 : left;
    return (struct estimate_window){left, left + (spread < 1 ? 1 : spread)};
}

static json_t *vectors_json(const struct book *book, const int16_t *vectors)
{
    json_t *rows = json_array();
    size_t d = book->study->dimension;
    for (size_t j = 0; j < book->study->vectors; j++) {
        json_t *row = json_array();
        for (size_t i = 0; i < d; i++) {
            (void)json_array_append_new(row, json_integer(vectors[j * d + i]));
        }
        (void)json_array_append_new(rows, row);
    }
    return rows;
}

static void add_signature(json_t *answer, const struct book *book,
                          const struct tremolo_round *round, const uint8_t *signing_key)
{
    uint8_t signature[TREMOLO_SIGNATURE_BYTES];
    char text[TREMOLO_BASE64_BYTES(TREMOLO_SIGNATURE_BYTES)];
    if (tremolo_round_sign(signature, book->study, round, signing_key) == TREMOLO_OK &&
        tremolo_base64_encode(text, sizeof text, signature, sizeof signature) == TREMOLO_OK) {
        (void)json_object_set_new(answer, "signature", json_string(text));
    }
}

static json_t *closing_time(const struct book *book, const struct book_round *round)
{
    if (book->terms->close_seconds > 0) {
        return json_integer(round->opened_at + (int64_t)book->terms->close_seconds);
    }
    return book->terms->closes == INT64_MAX ? json_null() : json_integer(book->terms->closes);
}

enum tremolo_status estimate_round_json(char **json, struct book *book, const uint8_t *signing_key,
                                        int64_t now)
{
    (void)pthread_mutex_lock(&book->lock);
    unsigned number_open = book->opened - 1;
    const struct book_round *newest = &book->rounds[number_open];
    const char *state = estimate_state(book, now);
    struct estimate_window next = estimate_next(book, now);
    json_t *answer = json_pack(
        "{s:s, s:I, s:I, s:s, s:o, s:o, s:o, s:I, s:{s:I, s:I}}", "study", book->id_text, "round",
        (json_int_t)number_open, "rounds", (json_int_t)book->terms->rounds, "state", state,
        "vectors", vectors_json(book, newest->vectors), "beta",
        estimate_numbers(newest->beta, book->study->dimension), "closes",
        closing_time(book, newest), "reports", (json_int_t)tremolo_moments_count(newest->moments),
        "next", "earliest", (json_int_t)next.earliest, "latest", (json_int_t)next.latest);
    if (strcmp(state, "open") == 0) {
        struct tremolo_round round = {book->study->vectors > 0 ? newest->vectors : NULL,
                                      (uint16_t)number_open};
        add_signature(answer, book, &round, signing_key);
    }
    (void)pthread_mutex_unlock(&book->lock);
    char *text = json_dumps(answer, ESTIMATE_JSON);
    json_decref(answer);
    if (text == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    *json = text;
    return TREMOLO_OK;
}
