/* estimate.c -- from a book's sums to the answer an analyst reads.
 *
 * Inference (table, intervals, p) comes from the unbiased estimator,
 * prediction from the shrunken one, and the two are kept apart. Studies with
 * several rounds: where devices have names, the jackknife's buckets hold
 * whole devices and all rounds are pooled; in an open study one person's
 * reports cannot be told to be one person's, so inference uses the round with
 * most reports alone, which is valid if less sharp. */
#include "estimate.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rounds.h"

static const double level = 0.95;

enum { JSON_STYLE = JSON_COMPACT | JSON_REAL_PRECISION(17) };

/* JSON has no infinity; null stands for "no number". */
static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *numbers(const double *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        (void)json_array_append_new(list, number(values[i]));
    }
    return list;
}

/* What the computation works on, so that the lock is held only to fill it. */
struct snapshot {
    struct tremolo_debiased *evidence;
    uint64_t reports;
    uint64_t round_reports;
    unsigned round;
    bool done;
    bool pooled;
    unsigned evidence_round;
    double last[TREMOLO_MAX_FEATURES];
    double average[TREMOLO_MAX_FEATURES];
};

static unsigned largest_round(const struct book *book)
{
    unsigned largest = 0;
    for (unsigned t = 1; t < book->opened; t++) {
        if (tremolo_moments_count(book->rounds[t].moments) >=
            tremolo_moments_count(book->rounds[largest].moments)) {
            largest = t;
        }
    }
    return largest;
}

/* Lock held. */
static enum tremolo_status take_snapshot(struct snapshot *snapshot, struct book *book)
{
    *snapshot = (struct snapshot){.reports = book->reports, .round = book->opened - 1};
    snapshot->done = book_is_done(book);
    snapshot->round_reports = tremolo_moments_count(book->rounds[snapshot->round].moments);
    snapshot->pooled = book->terms->rounds > 1 && book->check.secret != NULL;
    snapshot->evidence_round = largest_round(book);
    if (book->reports < 2) {
        return TREMOLO_OK;
    }
    enum tremolo_status status =
        snapshot->pooled ? rounds_pooled(&snapshot->evidence, book)
                         : rounds_evidence(&snapshot->evidence, book, snapshot->evidence_round);
    if (status == TREMOLO_OK && snapshot->done && book->terms->rounds > 1) {
        struct rounds_result result = {snapshot->last, snapshot->average};
        status = rounds_finish(&result, book);
    }
    /* The next round's starting point is the last iterate so far. */
    if (!snapshot->done) {
        memcpy(snapshot->last, book->rounds[snapshot->round].beta,
               book->study->dimension * sizeof *snapshot->last);
    }
    return status;
}

/* ---------------------------------------------------------------- parts */

struct own_units {
    double centre[TREMOLO_MAX_FEATURES];
    double scale[TREMOLO_MAX_FEATURES];
    struct tremolo_units units;
};

static void set_units(struct own_units *own, const struct book *book)
{
    size_t d = book->study->dimension;
    for (size_t i = 0; i < d; i++) {
        const struct tremolo_study_coordinate *at = tremolo_study_file_coordinate(book->file, i);
        own->centre[i] = (at->low + at->high) / 2.0;
        own->scale[i] = (at->high - at->low) / 2.0;
    }
    const struct tremolo_study_coordinate *y = tremolo_study_file_coordinate(book->file, d);
    own->units = (struct tremolo_units){own->centre, own->scale, (y->low + y->high) / 2.0,
                                        (y->high - y->low) / 2.0};
}

static json_t *coefficient_json(const char *name, const struct tremolo_coefficient *row)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "name", name, "estimate",
                     number(row->estimate), "standard_error", number(row->standard_error), "low",
                     number(row->low), "high", number(row->high), "z", number(row->z), "p",
                     number(row->p), "identified", row->identified);
}

static const char *row_name(const struct book *book, size_t row)
{
    return row == book->study->dimension ? "(intercept)"
                                         : tremolo_study_file_coordinate(book->file, row)->name;
}

static void add_inference(json_t *answer, const struct book *book, const struct snapshot *snapshot,
                          const struct own_units *own)
{
    size_t d = book->study->dimension;
    json_t *table = json_array();
    json_t *unclear = json_array();
    struct tremolo_coefficient *rows = calloc(d + 1, sizeof *rows);
    enum tremolo_status status = TREMOLO_NO_MEMORY;
    if (rows != NULL) {
        status = tremolo_infer(rows, snapshot->evidence, &own->units, true, level);
    }
    for (size_t i = 0; i <= d && status == TREMOLO_OK; i++) {
        char sentence[256];
        (void)json_array_append_new(table, coefficient_json(row_name(book, i), &rows[i]));
        tremolo_identification_sentence(sentence, sizeof sentence, row_name(book, i), &rows[i],
                                        snapshot->reports);
        if (sentence[0] != '\0') {
            (void)json_array_append_new(unclear, json_string(sentence));
        }
    }
    if (status != TREMOLO_OK) {
        (void)json_array_append_new(unclear, json_string(tremolo_status_sentence(status)));
    }
    (void)json_object_set_new(answer, "coefficients", table);
    (void)json_object_set_new(answer, "not_identified", unclear);
    free(rows);
}

static void add_prediction(json_t *answer, const struct book *book, const struct snapshot *snapshot,
                           const struct own_units *own)
{
    size_t d = book->study->dimension;
    double beta[TREMOLO_MAX_FEATURES];
    double intercept = 0.0;
    struct tremolo_fit fit;
    struct tremolo_fit_options options = TREMOLO_FIT_DEFAULTS;
    if (tremolo_fit(beta, &fit, snapshot->evidence, &options) != TREMOLO_OK) {
        (void)json_object_set_new(answer, "r2", json_null());
        return;
    }
    tremolo_fit_to_own(beta, &intercept, beta, fit.intercept, d, &own->units);
    (void)json_object_set_new(answer, "r2", number(fit.r2));
    (void)json_object_set_new(answer, "prediction",
                              json_pack("{s:s, s:o, s:o, s:o}", "method", "auto", "coefficients",
                                        numbers(beta, d), "intercept", number(intercept), "r2",
                                        number(fit.r2)));
}

static void add_guarantee(json_t *answer, const struct book *book)
{
    struct tremolo_study_guarantee promise;
    char words[TREMOLO_STUDY_WORDS_BYTES];
    char neighbours[64] = "any";
    if (book->terms->distance > 0.0) {
        (void)snprintf(neighbours, sizeof neighbours, "distance=%.15g", book->terms->distance);
    }
    if (tremolo_study_file_guarantee(&promise, book->file, book->terms->delta) != TREMOLO_OK ||
        tremolo_study_file_words(words, sizeof words, book->file) != TREMOLO_OK) {
        (void)json_object_set_new(answer, "guarantee", json_null());
        return;
    }
    (void)json_object_set_new(
        answer, "guarantee",
        json_pack("{s:o, s:o, s:o, s:o, s:s, s:s, s:s}", "epsilon", number(promise.epsilon),
                  "delta", number(promise.delta), "mu", number(promise.mu), "rho",
                  number(promise.rho), "neighbours", neighbours, "protects",
                  book->terms->response_private ? "all" : "features", "words", words));
}

static void add_iteration(json_t *answer, const struct book *book, const struct snapshot *snapshot)
{
    size_t d = book->study->dimension;
    if (book->terms->rounds == 1) {
        return;
    }
    json_t *iteration = json_pack("{s:o}", "last", numbers(snapshot->last, d));
    if (snapshot->done) {
        (void)json_object_set_new(iteration, "average", numbers(snapshot->average, d));
    }
    (void)json_object_set_new(answer, "iteration", iteration);
    (void)json_object_set_new(answer, "inference_from",
                              snapshot->pooled
                                  ? json_string("all rounds")
                                  : json_sprintf("round %u", snapshot->evidence_round));
}

static char *compose(const struct book *book, const struct snapshot *snapshot)
{
    struct own_units own;
    json_t *answer =
        json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:f}", "study", book->id_text, "title",
                  book->terms->title, "response",
                  tremolo_study_file_coordinate(book->file, book->study->dimension)->name, "state",
                  snapshot->done ? "done" : "open", "round", (json_int_t)snapshot->round, "rounds",
                  (json_int_t)book->terms->rounds, "reports", (json_int_t)snapshot->reports,
                  "round_reports", (json_int_t)snapshot->round_reports, "level", level);
    set_units(&own, book);
    if (snapshot->evidence != NULL) {
        add_inference(answer, book, snapshot, &own);
        add_prediction(answer, book, snapshot, &own);
    } else {
        (void)json_object_set_new(answer, "coefficients", json_array());
        (void)json_object_set_new(
            answer, "not_identified",
            json_pack("[s]", "nothing can be said before two devices have reported"));
    }
    add_iteration(answer, book, snapshot);
    add_guarantee(answer, book);
    char *text = json_dumps(answer, JSON_STYLE);
    json_decref(answer);
    return text;
}

enum tremolo_status estimate_json(char **json, struct book *book)
{
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    char *text = NULL;
    enum tremolo_status status = TREMOLO_OK;
    if (snapshot == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    (void)pthread_mutex_lock(&book->lock);
    uint64_t generation = book->generation;
    if (book->estimate != NULL && book->estimate_generation == generation) {
        text = strdup(book->estimate);
    } else {
        status = take_snapshot(snapshot, book);
    }
    (void)pthread_mutex_unlock(&book->lock);
    if (status == TREMOLO_OK && text == NULL) {
        text = compose(book, snapshot);
        char *kept = text != NULL ? strdup(text) : NULL;
        (void)pthread_mutex_lock(&book->lock);
        free(book->estimate);
        book->estimate = kept;
        book->estimate_generation = generation;
        (void)pthread_mutex_unlock(&book->lock);
    }
    tremolo_debias_free(snapshot->evidence);
    free(snapshot);
    if (status == TREMOLO_OK && text == NULL) {
        status = TREMOLO_NO_MEMORY;
    }
    if (status == TREMOLO_OK) {
        *json = text;
    }
    return status;
}

/* ---------------------------------------------------------------- rounds */

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
    bool over = book_is_done(book) || now >= book->terms->closes;
    const char *state = over ? "done" : now < book->terms->opens ? "waiting" : "open";
    struct estimate_window next = estimate_next(book, now);
    json_t *answer = json_pack(
        "{s:s, s:I, s:I, s:s, s:o, s:o, s:o, s:I, s:{s:I, s:I}}", "study", book->id_text, "round",
        (json_int_t)number_open, "rounds", (json_int_t)book->terms->rounds, "state", state,
        "vectors", vectors_json(book, newest->vectors), "beta",
        numbers(newest->beta, book->study->dimension), "closes", closing_time(book, newest),
        "reports", (json_int_t)tremolo_moments_count(newest->moments), "next", "earliest",
        (json_int_t)next.earliest, "latest", (json_int_t)next.latest);
    if (strcmp(state, "open") == 0) {
        struct tremolo_round round = {book->study->vectors > 0 ? newest->vectors : NULL,
                                      (uint16_t)number_open};
        add_signature(answer, book, &round, signing_key);
    }
    (void)pthread_mutex_unlock(&book->lock);
    char *text = json_dumps(answer, JSON_STYLE);
    json_decref(answer);
    if (text == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    *json = text;
    return TREMOLO_OK;
}
