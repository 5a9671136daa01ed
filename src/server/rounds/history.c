/* history.c -- samples over time, and the answer that holds them.
 *
 * The samples cover a study's whole time in bounded memory: when there is no
 * room for the next, every second one goes and the spacing doubles. The rate is
 * taken over the last few ticks. */
#include "history.h"

#include <jansson.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "book.h"
#include "estimate.h"
#include "estimate_json.h"
#include "rounds.h"

/* ---------------------------------------------------------------- samples */

static void add_mark(struct history *history, uint64_t reports, int64_t now_ms)
{
    history->mark[history->marks % HISTORY_MARKS] = (struct history_mark){now_ms, reports};
    history->marks++;
}

/* NaN before two ticks: a study that began this second has no rate, and 0 would be one. */
static double rate_of(const struct history *history)
{
    if (history->marks < 2) {
        return NAN;
    }
    uint64_t kept = history->marks < HISTORY_MARKS ? history->marks : HISTORY_MARKS;
    const struct history_mark *first = &history->mark[(history->marks - kept) % HISTORY_MARKS];
    const struct history_mark *last = &history->mark[(history->marks - 1) % HISTORY_MARKS];
    double seconds = (double)(last->time_ms - first->time_ms) / 1000.0;
    return seconds > 0.0 ? (double)(last->reports - first->reports) / seconds : NAN;
}

static void add_sample(struct history *history, const struct history_sample *sample)
{
    if (history->samples == HISTORY_SAMPLES_MAX) {
        history->samples /= 2;
        for (size_t i = 0; i < history->samples; i++) {
            history->sample[i] = history->sample[2 * i];
        }
        history->spacing *= 2;
    }
    history->sample[history->samples++] = *sample;
}

static bool sample_is_due(struct history *history, uint64_t reports, int64_t now)
{
    if (history->spacing == 0) {
        history->spacing = HISTORY_SPACING_FIRST;
    }
    if (history->samples == 0) {
        return true;
    }
    const struct history_sample *last = &history->sample[history->samples - 1];
    return last->reports != reports && now - last->time >= history->spacing;
}

/* One lock for each round: reports go on being folded between two of them. */
static void refresh_gradient(struct book *book, unsigned round)
{
    (void)pthread_mutex_lock(&book->lock);
    if (round < book->opened) {
        struct book_round *at = &book->rounds[round];
        uint64_t count = tremolo_moments_count(at->moments);
        double norm = NAN;
        if (count != at->gradient_reports &&
            rounds_gradient_norm(&norm, book, round) == TREMOLO_OK) {
            at->gradient_norm = norm;
            at->gradient_reports = count;
        }
    }
    (void)pthread_mutex_unlock(&book->lock);
}

void history_tick(struct book *book, int64_t now, int64_t now_ms)
{
    (void)pthread_mutex_lock(&book->lock);
    add_mark(&book->history, book->reports, now_ms);
    bool due = sample_is_due(&book->history, book->reports, now);
    unsigned opened = book->opened;
    (void)pthread_mutex_unlock(&book->lock);
    for (unsigned t = 0; t < opened && book->terms->rounds > 1; t++) {
        refresh_gradient(book, t);
    }
    char *estimate = NULL;
    if (!due || estimate_json(&estimate, book) != TREMOLO_OK) {
        return;
    }
    free(estimate);
    (void)pthread_mutex_lock(&book->lock);
    struct history_sample sample = {now, book->estimate_reports, book->estimate_r2};
    add_sample(&book->history, &sample);
    (void)pthread_mutex_unlock(&book->lock);
}

/* ---------------------------------------------------------------- answer */

static json_t *samples_json(const struct history *history)
{
    json_t *list = json_array();
    for (size_t i = 0; i < history->samples; i++) {
        const struct history_sample *sample = &history->sample[i];
        (void)json_array_append_new(
            list, json_pack("{s:I, s:I, s:o}", "time", (json_int_t)sample->time, "reports",
                            (json_int_t)sample->reports, "r2", estimate_number(sample->r2)));
    }
    return list;
}

static json_t *round_json(const struct book *book, unsigned round)
{
    const struct book_round *at = &book->rounds[round];
    size_t d = book->study->dimension;
    bool with_beta = (book->opened - round) * d <= HISTORY_NUMBERS_MAX;
    bool known = at->gradient_reports >= 2;
    return json_pack("{s:I, s:I, s:o, s:I, s:o, s:o}", "round", (json_int_t)round, "opened",
                     (json_int_t)at->opened_at, "closed",
                     at->closed_at != 0 ? json_integer(at->closed_at) : json_null(), "reports",
                     (json_int_t)tremolo_moments_count(at->moments), "beta",
                     with_beta ? estimate_numbers(at->beta, d) : json_null(), "gradient_norm",
                     estimate_number(known ? at->gradient_norm : NAN));
}

static json_t *rounds_json(const struct book *book)
{
    json_t *list = json_array();
    for (unsigned t = 0; t < book->opened; t++) {
        (void)json_array_append_new(list, round_json(book, t));
    }
    return list;
}

static json_t *outcomes_json(struct book *book)
{
    json_t *outcomes = json_object();
    for (int i = OUTCOME_PENDING + 1; i < OUTCOME_COUNT; i++) {
        char label[OUTCOME_LABEL_BYTES];
        outcome_label(label, (enum server_outcome)i);
        uint64_t count = atomic_load_explicit(&book->outcome[i], memory_order_relaxed);
        (void)json_object_set_new(outcomes, label, json_integer((json_int_t)count));
    }
    return outcomes;
}

/* Lock held. */
static char *compose(struct book *book, int64_t now)
{
    json_t *answer = json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "study",
        book->id_text, "title", book->terms->title, "state", estimate_state(book, now), "time",
        (json_int_t)now, "since", (json_int_t)book->since, "round", (json_int_t)book->opened - 1,
        "rounds_planned", (json_int_t)book->terms->rounds, "reports", (json_int_t)book->reports,
        "devices", (json_int_t)book_devices(book), "round_reports",
        (json_int_t)tremolo_moments_count(book->rounds[book->opened - 1].moments), "rate",
        estimate_number(rate_of(&book->history)), "r2", estimate_number(book->estimate_r2),
        "outcomes", outcomes_json(book), "samples", samples_json(&book->history), "rounds",
        rounds_json(book));
    char *text = json_dumps(answer, ESTIMATE_JSON);
    json_decref(answer);
    return text;
}

enum tremolo_status history_json(char **json, struct book *book, int64_t now)
{
    (void)pthread_mutex_lock(&book->lock);
    struct history *history = &book->history;
    if (history->text == NULL || history->text_time != now) {
        free(history->text);
        history->text = compose(book, now);
        history->text_time = now;
    }
    char *copy = history->text != NULL ? strdup(history->text) : NULL;
    (void)pthread_mutex_unlock(&book->lock);
    if (copy == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    *json = copy;
    return TREMOLO_OK;
}
